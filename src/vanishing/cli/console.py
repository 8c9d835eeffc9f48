"""What people see: tables and notes, progress on standard error, JSON for machines.

All that goes to a terminal passes here, and is made visible: it holds names that others chose.
"""

import json
import math
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import typer

from vanishing.cli.visible import visible, visible_json

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


def out() -> Any:
    """Return rich's console of standard output."""
    return _console()


def err() -> Any:
    """Return rich's console of standard error."""
    return _console(stderr=True)


def _console(**options: Any) -> Any:
    from rich.console import Console
    from rich.segment import Segment

    class Visible(Console):
        """Escapes what is in texts, and not rich's own colours."""

        def render(self, renderable: Any, options: Any = None) -> Any:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    return Visible(highlight=False, **options)


def cell(text: str) -> Any:
    """Return a text as it is for a table of rich, which takes others for markup."""
    from rich.text import Text

    return Text(visible(text))  # here already, for the width of the column


def say(text: str = "") -> None:
    """Write a line to standard output, as long as it is."""
    typer.echo(visible(text))


def complain(text: str) -> None:
    """Write a line to standard error."""
    typer.echo(visible(text), err=True)


def note(text: str) -> None:
    """Write a line to standard error, unless the user wants none."""
    if not state.quiet:
        complain(f"note: {text}")


def emit(value: Any) -> None:
    """Write a value to standard output as JSON; numbers that JSON does not have are null."""
    state.emitted = True
    text = json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(visible_json(text))


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
def working(what: str, total: int | None = None) -> Iterator[Any]:
    """Show progress after a second, if standard error is a terminal.

    Parameters
    ----------
    what : str
        What is being done.
    total : int or None
        Number of steps, where it is known.

    Yields
    ------
    callable
        To be called with the number of steps that were done, or with ``what=`` a new text.
    """
    console = err()
    if state.quiet or state.working or not console.is_terminal or console.is_dumb_terminal:
        yield lambda steps=0, *, what=None: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    task = progress.add_task(what, total=total)
    timer = threading.Timer(SECONDS_BEFORE_PROGRESS, progress.start)
    timer.daemon = True

    def step(steps: int = 0, *, what: str | None = None) -> None:
        progress.update(task, advance=steps, description=what)

    timer.start()
    state.working = True
    try:
        yield step
    finally:
        state.working = False
        timer.cancel()
        timer.join()  # or it could start after the stop
        progress.stop()


def tracked(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Go through items, with progress."""
    with working(what, total) as step:
        for item in items:
            yield item
            step(1)
