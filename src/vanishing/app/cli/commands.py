"""The commands, and what happens around each of them."""

import functools
import inspect
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

import vanishing
from vanishing.app.cli.console import (
    CliError,
    Exit,
    ReaderGoneError,
    TerminatedError,
    emit,
    say,
    state,
    warnings_as_notes,
)
from vanishing.app.cli.options import (
    Console,
    Options,
    Panel,
    describe_option,
    list_options,
)

# --- One call of the command line: arguments in, exit code out ------------------------------------


def run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name, and return its exit code."""
    arguments = list(arguments) or ["--help"]
    state.debug = "--debug" in arguments
    state.json = "--json" in arguments
    state.quiet = state.emitted = False
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Terminals that lack a sign, such as a small 2, get its code.
            stream.reconfigure(errors="backslashreplace")
    try:
        with _terminated_like_interrupted(), warnings_as_notes():
            code = typer.main.get_command(make_app(arguments)).main(
                args=arguments, prog_name="vanishing", standalone_mode=False
            )
            sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = Exit.INTERRUPTED
    except TerminatedError as error:
        _remove_unfinished()
        return _fail("terminated: nothing was left half written", error.code)
    except (ReaderGoneError, BrokenPipeError):
        _close_stdout()
        return Exit.READER_GONE
    except CliError as error:
        return _fail(str(error), error.code)
    except MemoryError as error:
        return _fail(f"not enough memory: {error}; use fewer rows, columns or degrees", Exit.DATA)
    except ImportError as error:
        return _fail(str(error), Exit.MISSING)
    except OSError as error:
        from vanishing.data.atomic import FULL  # here, since --help needs no libraries

        if error.errno not in FULL:
            return _unexpected(error)
        _close_stdout()  # files say so themselves
        return _fail("cannot write to standard output: no space left on the device", Exit.OUTPUT)
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's own, whose class depends on its version
            return _fail(_usage(error), Exit.USAGE)
        return _unexpected(error)
    if code == Exit.INTERRUPTED:
        _remove_unfinished()
        return _fail("interrupted: nothing was left half written", Exit.INTERRUPTED)
    return int(code or 0)


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Make other ends than Ctrl-C exceptions too, so that what is unfinished is cleaned up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, _: Any) -> NoReturn:
        raise TerminatedError(number)

    # Not where they are ignored, as after nohup.
    before = {
        number: signal.signal(number, terminate)
        for name in ("SIGTERM", "SIGHUP")
        if (number := getattr(signal, name, None)) is not None
        and signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _remove_unfinished() -> None:
    """Remove what a signal left behind between two steps of a write."""
    if atomic := sys.modules.get("vanishing.data.atomic"):  # else nothing was written
        atomic.remove_unfinished()


def _fail(message: str, code: int) -> int:
    if state.debug:
        say(traceback.format_exc().rstrip("\n"), is_error=True)
    line = " ".join(message.split())
    with suppress(BrokenPipeError):
        say(f"vanishing: {line}", is_error=True)
    if state.json and not state.emitted and not sys.stdout.closed:
        with suppress(OSError):  # standard error has it
            emit({"error": line, "code": int(code)})
            sys.stdout.flush()
    return code


def _unexpected(error: Exception) -> int:
    reason = f"{type(error).__name__}: {error}"
    return _fail(f"unexpected error, please report it: {reason}", Exit.BUG)


def _usage(error: Any) -> str:
    path = error.ctx.command_path if getattr(error, "ctx", None) else "vanishing"
    message = error.format_message().rstrip(".")
    return f"{message}{' See' if message.endswith('?') else '; see'} {path} --help"


def _close_stdout() -> None:
    """Keep Python from complaining about the closed pipe when it ends."""
    with suppress(OSError):
        sys.stdout.close()


# --- Help texts: plain, in 80 columns, options under headings, with examples ----------------------
#
# typer's own panels spend half of a line on types and frames, and load rich for it.

#: Headings that are longer than what options say of them.
LONG_HEADINGS = {
    "Columns": "Columns and rows",
    "Layout": "Layout of tables (guessed by default)",
}
#: Columns that names of options take, at most: longer ones have a line of their own.
NAMES = 25


class Command(TyperCommand):
    """A command with a help text of our own."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text."""
        panels: dict[str, list[Any]] = {panel: [] for panel in ("Arguments", *get_args(Panel))}
        for each in self.get_params(ctx):
            is_argument = each.param_type_name == "argument"
            by_default = "Arguments" if is_argument else "Output"  # --help
            panels[getattr(each, "rich_help_panel", None) or by_default].append(each)
        arguments = panels["Arguments"]
        usage = [each.metavar if each.required else f"[{each.metavar}]" for each in arguments]
        formatter.write_usage(ctx.command_path, " ".join([*usage, "[OPTIONS]"]))
        formatter.write_paragraph()
        formatter.write_text(self.help or "")
        formatter.write(f"\n{_heading('Examples')}:\n{self.epilog}\n")
        for panel, parameters in panels.items():
            heading = LONG_HEADINGS.get(panel, panel)
            _write_section(formatter, heading, [_describe(each, ctx) for each in parameters])


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
        panels["Options"] = [_describe(each, ctx) for each in self.get_params(ctx)]
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


# --- The commands ---------------------------------------------------------------------------------

#: Commands by heading: the module of each, and its examples. To add one, write a function there and
#: add it here.
COMMANDS: dict[str, dict[str, tuple[str, Sequence[str]]]] = {
    "Start here": {
        "demo": ("demo", [""]),
        "info": ("show", ["table.csv", "model.safetensors", ""]),
    },
    "Laws and broken cells": {
        "laws": (
            "laws",
            [
                "table.csv",
                "sales.xlsx --sheet 2026 --report laws.html",
                "table.csv --save rules.toml",
            ],
        ),
        "check": (
            "laws",
            [
                "table.csv --id date",
                "new.csv --train good.csv --out broken.csv",
                "new.csv --rules rules.toml --max-broken 0.1%",
            ],
        ),
    },
    "Anomalous rows": {
        "detect": (
            "detect",
            [
                "table.csv --id name --report anomalies.html",
                "new.csv --train normal.csv --save alarm.safetensors",
            ],
        ),
        "explain": ("detect", ["table.csv --row 17", "new.csv --model alarm.safetensors --row 17"]),
    },
    "Models": {
        "fit": (
            "fit",
            [
                "table.csv --save law.safetensors --report law.html",
                "table.csv --degree 3 --tol 0.01 --drop year",
            ],
        ),
        "score": ("fit", ["new.csv --model law.safetensors --out scores.csv"]),
        "transform": ("fit", ["new.csv --model law.safetensors --out features.parquet"]),
        "show": ("show", ["law.safetensors", "law.safetensors spectrum --picture spectrum.png"]),
        "export": ("show", ["table.csv latex", "law.safetensors c --name law --out law.c"]),
    },
    "In the browser": {"serve": ("demo", ["--open"])},
    "For agents": {"mcp": ("demo", [""])},
}


def make_app(arguments: Sequence[str] = ()) -> typer.Typer:
    """Make the command that the arguments begin with; all of them for help and completion."""
    app = typer.Typer(
        cls=Group,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="To start: vanishing demo. Help for a command: vanishing laws --help",
    )
    app.callback()(_vanishing)
    named = {name for name in arguments[:1] if any(name in each for each in COMMANDS.values())}
    for heading, commands in COMMANDS.items():
        for name, (module, examples) in commands.items():
            if named and name not in named:
                continue
            command = getattr(import_module(f"vanishing.app.cli.{module}"), name)
            # Each paragraph in one line, for the terminal to wrap.
            paragraphs = (inspect.getdoc(command) or "").split("\n\n")
            app.command(
                name,
                cls=Command,
                rich_help_panel=heading,
                help="\n\n".join(" ".join(each.split()) for each in paragraphs),
                epilog="\n".join(f"  vanishing {name} {each}".rstrip() for each in examples),
            )(_with_plain_options(command))
    return app


def _with_plain_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command as typer, which has no shared groups of options, takes it."""
    hints = get_type_hints(command, include_extras=True)
    arguments = inspect.signature(command).parameters.values()
    parameters = [
        each.replace(annotation=hints[each.name]) for each in arguments if each.name != "asked"
    ]
    groups: dict[str, type[Options]] = {"asked": hints["asked"]} if "asked" in hints else {}
    groups["console"] = Console
    offered = {name: list_options(kind) for name, kind in groups.items()}
    if command.__name__ == "mcp":  # which speaks to programs alone
        offered["console"] = [each for each in offered["console"] if each.name != "json"]
    for name, kind in groups.items():
        types = get_type_hints(kind)
        parameters += [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=Annotated[types[each.name], describe_option(each)],
            )
            for each in offered[name]
        ]

    @functools.wraps(command)
    def call(**given: Any) -> Any:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in offered[name]})
        console = given.pop("console")
        state.json, state.quiet = console.json, console.quiet
        state.debug = state.debug or console.debug
        try:
            return command(**given)
        except BrokenPipeError as error:
            raise ReaderGoneError from error  # typer would end with its own exit code

    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    call.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    return call


def _version(wanted: bool) -> None:
    if wanted:
        say(f"vanishing {vanishing.__version__}")
        raise typer.Exit


def _vanishing(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Find the equations that data obeys, and the rows and cells that break them."""
