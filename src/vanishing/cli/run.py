"""One call of the command line: arguments in, exit code out."""

import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, NoReturn

import typer

from vanishing.cli.console import complain, emit, state, warnings_as_notes
from vanishing.cli.exits import CliError, Exit, ReaderGoneError, TerminatedError


def run(app: Any, arguments: Sequence[str]) -> int:
    """Run the command that the arguments name, and return its exit code.

    Parameters
    ----------
    app : typer.Typer
    arguments : sequence of str
        Without the name of the program.
    """
    state.debug = "--debug" in arguments
    state.json = "--json" in arguments
    state.quiet = state.emitted = False
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Terminals that lack a sign, such as a small 2, get its code.
            stream.reconfigure(errors="backslashreplace")
    try:
        with _terminated_like_interrupted(), warnings_as_notes():
            code = typer.main.get_command(app).main(
                args=list(arguments), prog_name="vanishing", standalone_mode=False
            )
            sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = Exit.INTERRUPTED
    except TerminatedError as error:
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
        from vanishing.samples.whole import FULL  # here, since --help needs no libraries

        if error.errno not in FULL:
            return _unexpected(error)
        _close_stdout()  # files say so themselves
        return _fail("standard output takes no more: no space is left there", Exit.OUTPUT)
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's own, whose class depends on its version
            return _fail(_usage(error), Exit.USAGE)
        return _unexpected(error)
    if code == Exit.INTERRUPTED:
        return _fail("interrupted: nothing was left half written", Exit.INTERRUPTED)
    return int(code or 0)


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose errors typer does not turn into its own exit codes."""

    @wraps(command)
    def call(*, quiet: bool = False, debug: bool = False, **given: Any) -> Any:
        state.quiet = quiet
        state.debug = state.debug or debug
        try:
            return command(**given)
        except BrokenPipeError as error:
            raise ReaderGoneError from error

    return call


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


def _fail(message: str, code: int) -> int:
    if state.debug:
        complain(traceback.format_exc().rstrip("\n"))
    line = " ".join(message.split())
    with suppress(BrokenPipeError):
        complain(f"vanishing: {line}")
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
    return f"{error.format_message().rstrip('.')}; see {path} --help"


def _close_stdout() -> None:
    """Keep Python from complaining about the closed pipe when it ends."""
    with suppress(OSError):
        sys.stdout.close()
