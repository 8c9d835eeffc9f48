"""One pass over rows: evaluate a block, reduce it to a triangular factor, merge the factors.

Two reductions give R with R'R = mean of (values)(values)'. TSQR keeps every digit; a Gram matrix
takes one symmetric product per block and loses half of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from array_api_compat import is_numpy_array
from scipy.linalg import solve_triangular

from vanishing.arrays.blocks import block_rows, limit_workers
from vanishing.arrays.kernels import (
    cholesky_or_none,
    factor_if_regular,
    factor_of_shifted,
    gram,
    merge_triangular,
    norms,
    triangular_factor,
)
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    is_on_cpu,
    machine_epsilon,
    move_like,
    move_to_numpy,
    namespace,
    promote_dtypes,
)
from vanishing.data.source import SampleSource
from vanishing.levels import SAFETY, SAME

__all__ = ["Auto", "Factor", "Gram", "Pass", "Reduction", "Tsqr", "resolve_reduction"]


# --- The result of a pass: a triangular factor on the host, in double precision -------------------


@dataclass(frozen=True, eq=False)
class Factor:
    """Triangular R with ‖R c‖ the root mean square of the combination c of polynomials."""

    R: Annotated[FloatArray, "rank n_columns"]
    n_rows: float  # or the sum of their weights
    relative_error: float  # rounding errors of R, relative to the norms of columns
    near: Array | None = None  # something on the accelerator of the rows

    @property
    def column_rms(self) -> FloatArray:
        """Root mean square of each column."""
        return norms(self.R)

    def split(self, n_lower: int) -> tuple[FloatArray, FloatArray]:
        """Return L = argmin ‖C - F L‖ of trailing columns C, and R of C - F L (paper, Step 1)."""
        leading = self.R[:n_lower, :n_lower]
        projection = solve_triangular(leading, self.R[:n_lower, n_lower:])
        return projection, self.R[n_lower:, n_lower:]


# --- Gram matrices: one symmetric product per block -----------------------------------------------
#
# Faster than TSQR, but blind below sqrt(eps): an exact relation gets an extent near 1e-8 of the
# candidates' size (float64), and extents below about 1e-7 (3e-3 in float32) count as vanishing
# whatever the tolerance. Noisy data has tolerances well above that, and loses nothing.


class GramSummary(NamedTuple):
    """Sum of the outer products of rows, their number, and the largest eps among them.

    Values are in ``units``: powers of two where squares would overflow or underflow, 1 elsewhere.
    """

    matrix: Array
    n_rows: int
    eps: float
    units: FloatArray

    def convert(self, units: FloatArray) -> "GramSummary":
        """Change the units."""
        if np.array_equal(units, self.units):
            return self
        ratio = move_like(self.units / units, self.matrix)
        return self._replace(matrix=self.matrix * ratio[:, None] * ratio, units=units)


@dataclass(frozen=True)
class Gram:
    """Gram matrix: the fast choice for tolerances far above 1e-8."""

    def summarize(self, values: Array) -> GramSummary:
        """Multiply one block with itself."""
        n_rows, eps = int(values.shape[1]), machine_epsilon(values)
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = gram(values)
        units: FloatArray = np.ones(matrix.shape[0])
        if not _squares_hold(matrix):
            xp = namespace(values)
            units = _powers_of_two(move_to_numpy(xp.max(xp.abs(values), axis=1)))
            matrix = gram(values / move_like(units, values)[:, None])
        return GramSummary(matrix, n_rows, eps, units)

    def merge(self, first: GramSummary, second: GramSummary) -> GramSummary:
        """Add two Gram matrices."""
        units = np.maximum(first.units, second.units)
        a, b = promote_dtypes(first.convert(units).matrix, second.convert(units).matrix)
        n_rows, eps = first.n_rows + second.n_rows, max(first.eps, second.eps)
        return GramSummary(a + b, n_rows, eps, units)

    def resolve(self, summary: GramSummary) -> Factor:
        """Take the triangular root of the mean."""
        near = _find_accelerator(summary.matrix)
        # Small matrices are faster in NumPy than in other libraries on a processor.
        matrix = move_to_numpy(summary.matrix) if near is None else summary.matrix
        factor = _triangular_root(matrix / summary.n_rows, summary.eps)
        # Eigenvalues have errors of a few eps relative to 1, and R is their square root.
        error = float(np.sqrt(summary.eps / SAFETY))
        return Factor(factor * summary.units, summary.n_rows, error, near)


def _squares_hold(matrix: Array) -> bool:
    """Say whether the sums of squares are far from overflow and underflow."""
    xp = namespace(matrix)
    information = xp.finfo(matrix.dtype)
    squares = xp.linalg.diagonal(matrix)
    least, most = information.smallest_normal / information.eps**2, information.max / 2**20
    return bool(xp.all((squares > least) & (squares < most)))


def _powers_of_two(sizes: FloatArray) -> FloatArray:
    """Return powers of two near sizes; 1 where these are zero or not finite."""
    known = np.isfinite(sizes) & (sizes > 0)
    return np.where(known, np.ldexp(1.0, np.frexp(np.where(known, sizes, 1.0))[1] - 1), 1.0)


def _find_accelerator(summary: Array) -> Array | None:
    """Return a small array beside a summary on an accelerator; None on a processor."""
    if is_on_cpu(summary):  # pragma: no branch - needs an accelerator
        return None
    xp = namespace(summary)  # pragma: no cover - needs an accelerator
    return xp.zeros(1, dtype=xp.float64, device=summary.device)


def _triangular_root(matrix: Array, eps: float) -> FloatArray:
    """Return R with R'R a positive semidefinite matrix.

    The Cholesky factorization is by far the fastest, but fails if a column nearly depends on those
    before it. Then eigenvalues that rounding made negative are set to zero.
    """
    xp = namespace(matrix)
    matrix = xp.astype(matrix, xp.float64)
    scale = xp.sqrt(xp.linalg.diagonal(matrix))
    if not bool(xp.all(xp.isfinite(scale))):
        return move_to_numpy(matrix)  # the caller reports it
    unit = xp.where(scale > 0, scale, xp.ones_like(scale))
    matrix = matrix / unit[:, None] / unit
    root = cholesky_or_none(matrix)
    if root is None or float(xp.min(xp.linalg.diagonal(root))) <= SAFETY * np.sqrt(eps):
        eigenvalues, vectors = np.linalg.eigh(move_to_numpy(matrix))
        rows = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T
        return np.asarray(np.linalg.qr(rows, mode="r") * move_to_numpy(scale))
    return move_to_numpy(root * scale)


# --- TSQR: the summary of a block is R of its QR; merging is the QR of two stacked R --------------
#
# Relations that hold to the last digit are seen to the last digit: the quadric of an exact ellipse
# has an extent near 1e-16, where Gram matrices cannot go below 1e-8.


class TriangularSummary(NamedTuple):
    """R of some rows, their number, and the largest eps among them."""

    R: Array
    n_rows: int
    eps: float


@dataclass(frozen=True)
class Tsqr:
    """Tall-skinny QR, the default: accurate to the rounding of the data."""

    def summarize(self, values: Array) -> TriangularSummary:
        """Factor one block."""
        n_rows = int(values.shape[1])
        R = factor_of_shifted(values) if is_numpy_array(values) else triangular_factor(values)
        return TriangularSummary(R, n_rows, machine_epsilon(values))

    def merge(self, first: TriangularSummary, second: TriangularSummary) -> TriangularSummary:
        """Factor two stacked factors."""
        merged = merge_triangular(*promote_dtypes(first.R, second.R))
        return TriangularSummary(merged, first.n_rows + second.n_rows, max(first.eps, second.eps))

    def resolve(self, summary: TriangularSummary) -> Factor:
        """Scale R to means."""
        factor = move_to_numpy(summary.R) / np.sqrt(summary.n_rows)
        return Factor(factor, summary.n_rows, summary.eps, _find_accelerator(summary.R))


# --- Cholesky factors of blocks, where they are as good as TSQR -----------------------------------
#
# If the norms of all combinations are known to half of their digits on each block, they are on all
# rows. Noisy data is like that. A relation that holds exactly is not, and goes to TSQR.


@dataclass(frozen=True)
class Auto(Tsqr):
    """Cholesky factors of the blocks on which they keep half of the digits, TSQR of others."""

    def summarize(self, values: Array) -> TriangularSummary:
        """Factor one block."""
        factor = factor_if_regular(values, SAME) if is_numpy_array(values) else None
        if factor is None:
            return super().summarize(values)
        return TriangularSummary(factor, int(values.shape[1]), machine_epsilon(values))


# --- What a reduction is, and the names of those that ship with the library -----------------------


@runtime_checkable
class Reduction(Protocol):
    """A summary of rows that can be computed by blocks and merged in any grouping."""

    def summarize(self, values: Array) -> Any:
        """Summarize values of shape (n_polynomials, n_rows), which may be overwritten."""

    def merge(self, first: Any, second: Any) -> Any:
        """Join the summaries of two sets of rows."""

    def resolve(self, summary: Any) -> Factor:
        """Turn a summary into a triangular factor."""


def resolve_choice(
    name: str, choice: Any, known: Mapping[str, Callable[[], Any]], kind: type, described: str
) -> Any:
    """Return what the name of a choice stands for, or the choice itself if it is of a kind."""
    if isinstance(choice, str):
        if choice not in known:
            raise ValueError(f"{name} must be one of {list(known)}, got {choice!r}")
        return known[choice]()
    if not isinstance(choice, kind):
        raise TypeError(
            f"{name} must be one of {list(known)} or {described}, got {type(choice).__name__}"
        )
    return choice


def resolve_reduction(reduction: "str | Reduction") -> Reduction:
    """Return the reduction of a name, or the object itself."""
    known = {"auto": Auto, "gram": Gram, "tsqr": Tsqr}
    described = "an object with summarize, merge and resolve"
    found: Reduction = resolve_choice("reduction", reduction, known, Reduction, described)
    return found


# --- A pass over the rows of a source -------------------------------------------------------------


def find_ranges(source: SampleSource) -> FloatArray:
    """Return the least and the largest value of each column, shape (2, n_features)."""

    def find(x: Array, root_weights: Array | None = None) -> FloatArray:
        xp = namespace(x)
        # NumPy takes fifty times as long along the rows of a narrow table.
        columns = np.ascontiguousarray(x.T) if is_numpy_array(x) else x.T
        ends = xp.min(columns, axis=1), xp.max(columns, axis=1)
        return np.stack([move_to_numpy(each) for each in ends])

    rows = block_rows(source.n_features, cpu=source.cpu)
    return source.map_reduce(find, join_ranges, max_rows=rows)


def join_ranges(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the ranges of two sets of rows together."""
    return np.stack([np.minimum(first[0], second[0]), np.maximum(first[1], second[1])])


class _Part(NamedTuple):
    """Summary of some rows, and their number or the sum of their weights."""

    summary: Any
    weight: Any


@dataclass(frozen=True, eq=False)
class Pass:
    """How to pass over rows: the reduction, and the memory that blocks may take."""

    reduction: Reduction
    memory_budget: int

    def factor(
        self,
        source: SampleSource,
        values: Callable[[Array], Array],
        n_columns: int,
        *,
        per_row: int = 1,
    ) -> Factor:
        """Reduce the values of functions, several for each row, over all rows of a source."""
        reduction = self.reduction

        def summarize(x: Array, root_weights: Array | None = None) -> _Part:
            # In each block: it may run in another thread, or on another machine.
            with np.errstate(over="ignore", invalid="ignore"):
                found = values(x)
                if root_weights is None:
                    return _Part(reduction.summarize(found), int(x.shape[0]))
                xp = namespace(x)
                repeats = found.shape[1] // x.shape[0]
                found *= xp.tile(root_weights, (repeats,))
                # Squares of root weights may leave the range of single precision.
                roots = xp.astype(root_weights, xp.float64)
                return _Part(reduction.summarize(found), repeats * xp.sum(roots * roots))

        def merge(first: _Part, second: _Part) -> _Part:
            with np.errstate(over="ignore", invalid="ignore"):
                summary = reduction.merge(first.summary, second.summary)
            return _Part(summary, first.weight + second.weight)

        with limit_workers(self._count_threads(n_columns)):
            whole = source.map_reduce(
                summarize, merge, max_rows=self._count_rows(n_columns, per_row, cpu=source.cpu)
            )
        with np.errstate(over="ignore", invalid="ignore"):
            factor = reduction.resolve(whole.summary)
        if not np.isfinite(factor.R).all():
            raise ValueError(
                f"{source.name} contains NaN, infinity, or numbers too large for their products; "
                "impute, drop or rescale them before fitting"
            )
        if not source.weighted:
            return factor
        weight = float(whole.weight)
        return replace(factor, R=factor.R * np.sqrt(factor.n_rows / weight), n_rows=weight)

    def _count_rows(self, n_columns: int, per_row: int, *, cpu: bool) -> int:
        """Return how many rows to evaluate at a time; a block is larger than its summary."""
        width = 3 * n_columns * per_row
        usual = block_rows(width, cpu=cpu, budget_bytes=self.memory_budget)
        most = max(1, self.memory_budget // (8 * width))
        return max(usual, min(-(-n_columns // per_row), most))

    def _count_threads(self, n_columns: int) -> int:
        """Return how many threads there is memory for, each with three summaries and a block."""
        return max(1, self.memory_budget // (4 * 8 * n_columns**2) - 1)
