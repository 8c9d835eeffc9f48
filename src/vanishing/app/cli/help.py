"""Help texts: plain, in 80 columns, options under headings, with examples.

typer's own panels spend half of a line on types and frames, and load rich for it.
"""

import shutil
import textwrap
from collections.abc import Iterable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from vanishing.app.cli.options import OPTIONS, OUTPUT, PANELS

#: Columns of the terminal that are used, at least and at most, and those that names take.
NARROWEST, WIDEST, NAMES = 50, 100, 28


class Command(TyperCommand):
    """A command with a help text of our own."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text."""
        arguments = [each for each in self.get_params(ctx) if each.param_type_name == "argument"]
        options = [each for each in self.get_params(ctx) if each.param_type_name == "option"]
        usage = " ".join([ctx.command_path, *map(_usage, arguments), "[OPTIONS]"])
        formatter.write(f"{_heading('Usage')} {usage}\n\n{_wrap(self.help or '')}\n")
        formatter.write(f"\n{_heading('Examples')}\n{self.epilog}\n")
        lines = [(_metavar(each), _describe(each)) for each in arguments]
        formatter.write(_section("Arguments", lines))
        for panel in PANELS:
            lines = [
                (_names(each), _describe(each))
                for each in options
                if (
                    getattr(each, "rich_help_panel", None)
                    or (OUTPUT if _is_help(each) else OPTIONS)
                )
                == panel
            ]
            formatter.write(_section(panel, lines))


class Group(TyperGroup):
    """All commands, with a help text of our own."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text."""
        formatter.write(f"{_heading('Usage')} vanishing COMMAND [ARGUMENTS] [OPTIONS]\n\n")
        formatter.write(f"{_wrap(self.help or '')}\n")
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            first_sentence = command.help.partition("\n")[0]
            panels.setdefault(command.rich_help_panel, []).append((name, first_sentence))
        for heading, lines in panels.items():
            formatter.write(_section(heading, lines, width=13))
        options = [(_names(each), _describe(each)) for each in self.get_params(ctx)]
        formatter.write(_section(OPTIONS, options))
        formatter.write(f"\n{self.epilog}\n")


def _heading(text: str) -> str:
    return str(typer.style(f"{text}:", bold=True))  # plain unless it is a terminal


def _width() -> int:
    return max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))


def _wrap(text: str) -> str:
    return "\n\n".join(textwrap.fill(each, _width()) for each in text.split("\n\n"))


def _section(heading: str, lines: Iterable[tuple[str, str]], width: int = NAMES) -> str:
    """Return a heading with names and what they mean, in two columns."""
    written = []
    for name, words in lines:
        first = f"  {name}"
        if len(first) > width - 2:  # which has a line of its own
            written.append(first)
            first = ""
        written += textwrap.wrap(
            words,
            _width(),
            initial_indent=first.ljust(width),
            subsequent_indent=" " * width,
            break_on_hyphens=False,
        )
    return "\n".join(["", _heading(heading), *written, ""]) if written else ""


def _usage(argument: Any) -> str:
    name = _metavar(argument)
    return name if argument.required else f"[{name}]"


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _names(option: Any) -> str:
    """Return the spellings of an option, and what it takes: "-d, --degree N"."""
    short = [name for name in option.opts if not name.startswith("--")]
    long = [name for name in (*option.opts, *option.secondary_opts) if name.startswith("--")]
    spelled = f"{f'{short[0]}, ' if short else '    '}{', '.join(long)}"
    return spelled if option.is_flag else f"{spelled} {_metavar(option)}"


def _describe(parameter: Any) -> str:
    """Return what a parameter means, with its default."""
    words = str(parameter.help or "")
    default = parameter.show_default if isinstance(parameter.show_default, str) else None
    if default is None and parameter.default not in (None, False, True, ""):
        default = str(parameter.default)
    if parameter.default is True:
        default = parameter.opts[0]
    return f"{words} (default: {default})" if default and not _is_help(parameter) else words


def _is_help(parameter: Any) -> bool:
    return "--help" in getattr(parameter, "opts", ())
