"""What a reduction is, and the strings that stand for the two that ship."""

from typing import Any, Protocol, runtime_checkable

from vanishing._xp import Array
from vanishing.reductions.factor import Factor


@runtime_checkable
class Reduction(Protocol):
    """A summary of rows that can be computed by blocks and merged in any grouping."""

    def summarize(self, values: Array) -> Any:
        """Summarize values of shape (n_polynomials, n_rows), which may be overwritten."""

    def merge(self, first: Any, second: Any) -> Any:
        """Join the summaries of two sets of rows."""

    def resolve(self, summary: Any) -> Factor:
        """Turn a summary into a triangular factor."""


def resolve_reduction(reduction: "str | Reduction") -> Reduction:
    """Return the reduction that a string stands for, or the object itself."""
    from vanishing.reductions.gram import Gram
    from vanishing.reductions.tsqr import Tsqr

    if isinstance(reduction, str):
        known: dict[str, type[Reduction]] = {"tsqr": Tsqr, "gram": Gram}
        if reduction not in known:
            raise ValueError(f"reduction must be one of {sorted(known)}, got {reduction!r}")
        return known[reduction]()
    if not isinstance(reduction, Reduction):
        raise TypeError(
            "reduction must be 'tsqr', 'gram' or an object with summarize, merge and resolve, "
            f"got {type(reduction).__name__}"
        )
    return reduction
