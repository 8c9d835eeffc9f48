"""What the command line prints, and how it ends."""

import json
import math
import re
import shutil
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

import typer

# --- Text of others, made harmless for terminals: names of columns, of rows, of files -------------

#: All that moves the cursor, changes colours or the order of writing, or asks the terminal for
#: something; ends of lines and tabs are our own.
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]"
)


def visible(text: str) -> str:
    r"""Return a text with control characters as Python writes them, such as ``\x1b``."""
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def visible_json(text: str) -> str:
    r"""Return JSON that says the same, with control characters in strings as ``\u009b``."""
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# --- What people see: tables and notes, progress on standard error, JSON for machines -------------
#
# All that goes to a terminal passes here, and is made visible: it holds names that others chose.

T = TypeVar("T")

#: Work that takes less is done before anyone wonders.
SECONDS_BEFORE_PROGRESS = 1.0


@dataclass
class State:
    """How much is said; set anew by each call of ``main``."""

    debug: bool = False
    quiet: bool = False
    working: bool = False  # there is room for one progress bar
    json: bool = False
    emitted: bool = False  # standard output has its one object


state = State()


def out(*, is_error: bool = False) -> Any:
    """Return rich's console of standard output, or of standard error."""
    from rich.console import Console
    from rich.segment import Segment

    class Visible(Console):
        """Escapes what is in texts, and not rich's own colours."""

        def render(self, renderable: Any, options: Any = None) -> Any:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    return Visible(highlight=False, stderr=is_error)


def make_table(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: Sequence[str] = (),
    unbroken: Sequence[str] = (),
) -> Any:
    """Return a table of rich; columns that are not on the left hold numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for title in titles:
        side = "left" if title in left else "right"
        table.add_column(title, justify=side, overflow="fold", no_wrap=title in unbroken)
    for row in rows:
        # As they are, since rich takes plain strings for markup; escaped here already, for the
        # width of the column.
        table.add_row(*(Text(visible(each)) for each in row))
    return table


def say(text: str = "", *, is_error: bool = False) -> None:
    """Write a line to standard output or standard error, as long as it is."""
    typer.echo(visible(text), err=is_error)


def fit_width(text: str, stream: Any = None) -> str:
    """Break a sentence between words at the width of the terminal; not for files and pipes."""
    stream = sys.stdout if stream is None else stream
    if not stream.isatty():
        return text
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.fill(
        text,
        shutil.get_terminal_size().columns,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def note(text: str) -> None:
    """Write a line to standard error, unless the user wants none."""
    if not state.quiet:
        say(fit_width(f"note: {text}", sys.stderr), is_error=True)


def note_files(*paths: str | None) -> None:
    """Say which files were written."""
    for path in paths:
        if path not in (None, "-"):
            note(f"wrote {path}")


#: Lines of a list: more push what was said first out of a small terminal.
MOST_LINES = 20
#: Names that an error or a note lists, as in ``equations.text``, which takes longer to load.
MOST_NAMED = 8


def list_some(names: Sequence[str], between: str = ", ") -> str:
    """Write names in a row, the first ones if they are many."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return between.join(names[:MOST_NAMED]) + more


def emit(value: Any) -> None:
    """Write a value to standard output as JSON; numbers that JSON does not have are null."""
    state.emitted = True
    text = json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(visible_json(text))


def pick(found: Any, *names: str) -> dict[str, Any]:
    """Return attributes of an object by their names, for JSON."""
    return {name: getattr(found, name) for name in names}


def list_lines(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return columns line by line, for JSON."""
    lines = zip(*columns.values(), strict=True)
    return [dict(zip(columns, line, strict=True)) for line in lines]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # NumPy
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show warnings of the libraries as one line each."""
    with warnings.catch_warnings():
        if not sys.warnoptions:  # -W and PYTHONWARNINGS come first
            warnings.simplefilter("default")
            for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", category)
        warnings.showwarning = lambda message, *rest, **more: note(f"warning: {message}")
        yield


@contextmanager
def working(what: str, total: float | None = None) -> Iterator[Any]:
    """Show progress after a second, if standard error is a terminal.

    With a total, the time left is estimated. Yields a function to call with the number of steps
    done, with all steps so far, ``done=...``, or with a new text, ``what=...``.
    """
    console = out(is_error=True)
    if state.quiet or state.working or not console.is_terminal or console.is_dumb_terminal:
        yield lambda steps=0, *, done=None, what=None: None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = [TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()]
    if total is not None:
        columns += [TimeRemainingColumn(compact=True), TextColumn("left")]
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task(what, total=total)
    timer = threading.Timer(SECONDS_BEFORE_PROGRESS, progress.start)
    timer.daemon = True

    def step(steps: int = 0, *, done: float | None = None, what: str | None = None) -> None:
        progress.update(task, advance=steps or None, completed=done, description=what)

    timer.start()
    state.working = True
    try:
        yield step
    finally:
        state.working = False
        timer.cancel()
        timer.join()  # or it could start after the stop
        progress.stop()


def track(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Go through items, with progress."""
    with working(what, total) as step:
        for item in items:
            yield item
            step(1)


# --- Bars of text ---------------------------------------------------------------------------------

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int = 20) -> str:
    """Return a bar that fills a share of the width; nothing for what is not a number."""
    share = min(max(share, 0.0), 1.0) if share == share else 0.0
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


# --- Exit codes, and the errors that carry them ---------------------------------------------------
#
# The codes are part of the interface: scripts branch on them. ``docs/cli.md`` lists them.


class Exit(IntEnum):
    """What a command ends with."""

    DONE = 0
    ANOMALIES = 1  # found, with --fail-on-anomaly
    USAGE = 2
    DATA = 3
    MODEL = 4
    OUTPUT = 5
    MISSING = 6  # an optional package
    BUG = 70  # EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130  # 128 + SIGINT
    READER_GONE = 141  # 128 + SIGPIPE


class CliError(Exception):
    """Something the user can fix; the message is one line and says how."""

    code = Exit.BUG


class UsageError(CliError):
    """Options that do not go together."""

    code = Exit.USAGE


class DataError(CliError):
    """A table that cannot be read or used."""

    code = Exit.DATA


class ModelError(CliError):
    """A model file that cannot be read, or a model that cannot do what is asked."""

    code = Exit.MODEL


class OutputError(CliError):
    """A file that cannot be written."""

    code = Exit.OUTPUT


class ReaderGoneError(CliError):
    """Who reads our output has closed the pipe, as ``head`` does: nothing to complain about."""

    code = Exit.READER_GONE


class TerminatedError(BaseException):
    """SIGTERM or SIGHUP: unwinds like Ctrl-C, so that unfinished files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
