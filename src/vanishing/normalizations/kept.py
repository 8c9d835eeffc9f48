"""The rows of partial fits themselves, as long as they are few.

R of the monomials takes more memory than the rows do as long as there are no more rows than
monomials. It also takes coordinates that suit the data, and a handful of rows says little about
those. So rows are kept until there are twice as many as monomials: up to there ``partial_fit`` is
``fit``, and the coordinates of ``Moments`` are then chosen by many rows instead of by the first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from vanishing._xp import Array, FloatArray, on_host
from vanishing.samples import ArraySource, ChunkSource, SampleSource, WeightedSource
from vanishing.samples.source import Summary, closed_after
from vanishing.samples.wrapped import WrappedSource


@dataclass(frozen=True, eq=False)
class KeptRows:
    """A few rows.

    Parameters
    ----------
    parts : tuple of arrays of shape (n_rows, n_features)
        In the precision in which they came.
    weights : array of shape (n_rows of all parts,) or None
    degree : int
        Of the monomials that are to be kept once there are more rows.
    """

    parts: tuple[FloatArray, ...]
    weights: FloatArray | None
    degree: int

    @classmethod
    def of(cls, source: SampleSource, degree: int, limit: int) -> "KeptRows | None":
        """Copy the rows of a source, or return None if they are more than ``limit``."""
        n_rows = 0
        with closed_after(source.blocks(limit + 1)) as blocks:
            for block in blocks:
                n_rows += int(block.shape[0])
                if n_rows > limit:
                    return None

        def copied(rows: Array, root_weights: Array | None = None) -> KeptRows:
            weights = None
            if root_weights is not None:
                weights = np.asarray(on_host(root_weights), dtype=np.float64) ** 2
            return cls((np.array(on_host(rows)),), weights, degree)

        return source.map_reduce(copied, KeptRows.joined, max_rows=limit + 1)

    @property
    def n_rows(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def joined(self, other: "KeptRows") -> "KeptRows":
        """Return the rows of both."""
        last, first = self.parts[-1], other.parts[0]
        parts = (*self.parts, *other.parts)
        if last.dtype == first.dtype:  # one array for each run of a precision
            parts = (*self.parts[:-1], np.concatenate([last, first]), *other.parts[1:])
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = np.concatenate([each.all_weights for each in (self, other)])
        return KeptRows(parts, weights, self.degree)

    @property
    def all_weights(self) -> FloatArray:
        """The weights; ones where there are none."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def source(self, name: str) -> "KeptSource":
        """Return the rows for a pass over them.

        Parameters
        ----------
        name : str
            What the rows are called in error messages.
        """
        rows: SampleSource = ChunkSource(self.parts)
        if len(self.parts) == 1:
            rows = ArraySource(self.parts[0])
        if self.weights is not None:
            rows = WeightedSource(rows, self.weights)
        return KeptSource(rows.named(name))


class KeptSource(WrappedSource):
    """Rows that polynomials may be summed over, but not read: later ones will be gone.

    Parameters
    ----------
    source : SampleSource
    """

    @property
    def weighted(self) -> bool:
        """Whether the rows have weights."""
        return self.source.weighted

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Raise, as it will be with more rows."""
        refuse_reading(self.name)

    def summarize(
        self,
        kernel: Callable[..., Summary],
        merge: Callable[[Summary, Summary], Summary],
        *,
        max_rows: int,
    ) -> Summary | None:
        """Let the rows' own source do it."""
        return self.source.summarize(kernel, merge, max_rows=max_rows)


def refuse_reading(name: str) -> NoReturn:
    """Raise because a normalization wants the rows themselves."""
    raise ValueError(
        f"the normalization reads the rows of {name}, which partial_fit does not keep; "
        "use fit, or one of the normalizations that ship with the library"
    )
