"""Values of nested polynomials on a block of rows.

All values here are ``(n_polynomials, n_rows)``: one polynomial a row, so that products run over
contiguous memory and the reductions get the layout they want.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vanishing._xp import Array, FloatArray, IntArray, move_like, multiply_rows, namespace
from vanishing.polynomials.block import DegreeBlock


class Evaluator:
    """Evaluates F, candidates and G of given degrees; matrices are moved to the data once.

    Parameters
    ----------
    blocks : sequence of DegreeBlock
        The degrees 1, 2, ... that are known.
    """

    def __init__(self, blocks: Sequence[DegreeBlock]) -> None:
        self.blocks = tuple(blocks)
        self.offsets = np.cumsum([0, 1, *(b.nonvanishing.shape[1] for b in self.blocks)]).tolist()
        self._moved: dict[tuple[Any, ...], tuple[Any, Array]] = {}

    @property
    def n_nonvanishing(self) -> int:
        """Number of nonvanishing polynomials, the constant included."""
        return int(self.offsets[-1])

    def nonvanishing(self, x: Array, n_extra: int = 0) -> Array:
        """Return the values of F, with ``n_extra`` rows left free below for candidates.

        Parameters
        ----------
        x : array of shape (n_rows, n_features)
        n_extra : int

        Returns
        -------
        array of shape (n_nonvanishing + n_extra, n_rows)
        """
        xp = namespace(x)
        n_rows = x.shape[0]
        shape = (self.n_nonvanishing + n_extra, n_rows)
        values = xp.empty(shape, dtype=x.dtype, device=x.device)
        values[0, :] = 1.0
        for degree, block in enumerate(self.blocks, start=1):
            start, stop = self.offsets[degree], self.offsets[degree + 1]
            if start < stop:
                candidates = self._candidates(x, values, degree, block)
                values[start:stop, :] = self._combine(
                    block.nonvanishing, block.nonvanishing_lower, candidates, values[:start, :]
                )
        return values

    def with_candidates(self, x: Array, left: IntArray, right: IntArray) -> Array:
        """Return the values of F followed by those of the candidates of the next degree."""
        values = self.nonvanishing(x, n_extra=left.shape[0])
        below, products = values[: self.n_nonvanishing, :], values[self.n_nonvanishing :, :]
        self._write_candidates(products, x, below, len(self.blocks) + 1, left, right)
        return values

    def vanishing(self, x: Array) -> Array:
        """Return the values of G, shape (n_vanishing, n_rows), by degree."""
        xp = namespace(x)
        last = last_degree_with_vanishing(self.blocks)
        lower = xp.empty((self.offsets[last], x.shape[0]), dtype=x.dtype, device=x.device)
        lower[:1, :] = 1.0
        found = [lower[:0, :]]
        for degree, block in enumerate(self.blocks[:last], start=1):
            start, stop = self.offsets[degree], self.offsets[degree + 1]
            below = lower[:start, :]
            candidates = self._candidates(x, lower, degree, block)
            found.append(self._combine(block.vanishing, block.vanishing_lower, candidates, below))
            if degree < last:
                lower[start:stop, :] = self._combine(
                    block.nonvanishing, block.nonvanishing_lower, candidates, below
                )
        return xp.concat(found, axis=0)

    def _candidates(self, x: Array, nonvanishing: Array, degree: int, block: DegreeBlock) -> Array:
        if degree == 1 and _are_all_variables(block.left, x):
            return x.T  # without a copy
        shape = (block.n_candidates, x.shape[0])
        products = namespace(x).empty(shape, dtype=x.dtype, device=x.device)
        self._write_candidates(products, x, nonvanishing, degree, block.left, block.right)
        return products

    def _write_candidates(
        self,
        out: Array,
        x: Array,
        nonvanishing: Array,
        degree: int,
        left: IntArray,
        right: IntArray,
    ) -> None:
        """F_1[left] · F_{t-1}[right], or the variables at degree 1."""
        if degree == 1:
            whole = _are_all_variables(left, x)
            out[...] = x.T if whole else namespace(x).take(x.T, self._on(x, left), axis=0)
            return
        first = nonvanishing[self.offsets[1] : self.offsets[2], :]
        last = nonvanishing[self.offsets[degree - 1] : self.offsets[degree], :]
        multiply_rows(out, first, self._on(x, left), last, self._on(x, right))

    def _combine(
        self, on_candidates: FloatArray, on_lower: FloatArray, candidates: Array, lower: Array
    ) -> Array:
        """(C_pre - F L) V, without forming the orthogonalized candidates."""
        values = self._on(lower, on_candidates).T @ candidates
        values -= self._on(lower, on_lower).T @ lower
        return values

    def _on(self, data: Array, matrix: Any) -> Array:
        key = (id(matrix), type(data), data.dtype, data.device)
        if key not in self._moved:
            # The matrix is kept beside its copy, so that its identity is not given to another.
            self._moved[key] = (matrix, move_like(matrix, data))
        return self._moved[key][1]


def _are_all_variables(left: IntArray, x: Array) -> bool:
    return np.array_equal(left, np.arange(x.shape[1]))


def last_degree_with_vanishing(blocks: Sequence[DegreeBlock]) -> int:
    """Return the highest degree that has vanishing polynomials, 0 if none has."""
    degrees = [t for t, block in enumerate(blocks, start=1) if block.vanishing.shape[1]]
    return degrees[-1] if degrees else 0
