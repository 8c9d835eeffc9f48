"""One number (or row of numbers) of a table or figure, and what was recorded when it was made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Size = Literal["full", "small"]
#: The result of each cell that has been run, by name.
Results = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Cell:
    """A piece of an experiment that is run, timed and stored by itself.

    Parameters
    ----------
    name : str
        Unique in its experiment, and stable: results are found again by it.
    run : callable
        Takes nothing and returns plain figures (what JSON can hold).
    """

    name: str
    run: Callable[[], dict[str, Any]]


class Experiment(Protocol):
    """What a module of this folder offers to ``python -m experiments``."""

    #: Heading of its page.
    TITLE: str

    def cells(self, size: Size) -> Sequence[Cell]:
        """List what has to be run; "small" is for machines without an accelerator."""

    def report(self, results: Results, size: Size) -> str:
        """Draw the figures, where there are some, and return the text of the page (Markdown)."""
