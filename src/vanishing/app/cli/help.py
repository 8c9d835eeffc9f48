"""Help texts: plain, in 80 columns, options under headings, with examples.

typer's own panels spend half of a line on types and frames, and load rich for it.
"""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from vanishing.app.cli.options import OPTIONS, OUTPUT, PANELS

#: Columns that names of options take, at most: longer ones have a line of their own.
NAMES = 25


class Command(TyperCommand):
    """A command with a help text of our own."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text."""
        panels: dict[str, list[Any]] = {panel: [] for panel in ("Arguments", *PANELS)}
        for each in self.get_params(ctx):
            is_argument = each.param_type_name == "argument"
            by_default = "Arguments" if is_argument else OUTPUT if each.name == "help" else OPTIONS
            panels[getattr(each, "rich_help_panel", None) or by_default].append(each)
        arguments = panels["Arguments"]
        usage = [each.metavar if each.required else f"[{each.metavar}]" for each in arguments]
        formatter.write_usage(ctx.command_path, " ".join([*usage, "[OPTIONS]"]))
        formatter.write_paragraph()
        formatter.write_text(self.help or "")
        formatter.write(f"\n{_heading('Examples')}:\n{self.epilog}\n")
        for panel, parameters in panels.items():
            _write_section(formatter, panel, [_describe(each, ctx) for each in parameters])


class Group(TyperGroup):
    """All commands, with a help text of our own."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text."""
        formatter.write_usage(ctx.command_path, "COMMAND [ARGUMENTS] [OPTIONS]")
        formatter.write_paragraph()
        formatter.write_text(self.help or "")
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            first_sentence = command.help.partition("\n")[0]
            # As wide as the longest of all, so that the headings share one second column.
            padded = name.ljust(max(map(len, self.list_commands(ctx))))
            panels.setdefault(command.rich_help_panel, []).append((padded, first_sentence))
        panels[OPTIONS] = [_describe(each, ctx) for each in self.get_params(ctx)]
        for heading, lines in panels.items():
            _write_section(formatter, heading, lines)
        formatter.write(f"\n{self.epilog}\n")


def _heading(text: str) -> str:
    return str(typer.style(text, bold=True))  # plain unless it is a terminal


def _write_section(formatter: Any, heading: str, lines: list[tuple[str, str]]) -> None:
    if lines:
        with formatter.section(_heading(heading)):
            formatter.write_dl(lines, col_max=NAMES)


def _describe(parameter: Any, ctx: Any) -> tuple[str, str]:
    """Return the names of a parameter with what it takes, and what it means with its default."""
    words, default = parameter.help or "", parameter.show_default
    if parameter.param_type_name == "argument":
        return parameter.metavar, words
    names = parameter.get_help_record(ctx)[0]
    if not isinstance(default, str):
        default = parameter.opts[0] if parameter.default is True else parameter.default
    if default not in (None, False, "") and parameter.name != "help":
        words += f" (default: {default})"
    return f"    {names}" if names.startswith("--") else names, words
