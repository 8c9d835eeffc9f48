"""Passes over rows, and what partial fits keep instead of the rows."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn

import numpy as np

from vanishing.arrays.factorizations import norms, triangular_factor
from vanishing.arrays.memory import BudgetError, as_text, block_rows
from vanishing.arrays.namespace import Array, FloatArray, IntArray, move_like, namespace, on_host
from vanishing.arrays.threads import at_most
from vanishing.construction.reductions import Factor, Reduction, Tsqr
from vanishing.data.arrays import ArraySource
from vanishing.data.source import SampleSource, Summary, WrappedSource, closed_after
from vanishing.data.streams import ChunkSource
from vanishing.data.weights import WeightedSource
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.evaluation import Evaluator
from vanishing.polynomials.expansion import Expansion, monomials_of_affine
from vanishing.polynomials.monomials import count, monomials

# --- One pass over data: evaluate a block of rows, reduce it, merge -------------------------------

#: Square matrices that a thread holds, at most.
SQUARES_PER_THREAD = 3.5


class _Part(NamedTuple):
    """Summary of some rows, and their number or the sum of their weights."""

    summary: Any
    weight: Any


@dataclass(frozen=True, eq=False)
class Pass:
    """How to go over data: the reduction, and the memory that row blocks may take."""

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
        """Reduce values, shape (n_columns, n_rows * per_row) a block, over all rows of a source."""
        rows = self._block_rows(n_columns, per_row, cpu=source.cpu)

        def summarize(x: Array, root_weights: Array | None = None) -> _Part:
            with _quiet():
                found = values(x)
                if root_weights is None:
                    return _Part(self.reduction.summarize(found), int(x.shape[0]))
                xp = namespace(x)
                # Derivatives are several values to a row, each of the weight of the row.
                repeats = found.shape[1] // x.shape[0]
                found *= xp.tile(root_weights, (repeats,))
                # In double precision: roots of weights have the range of single precision, weights
                # not.
                roots = xp.astype(root_weights, xp.float64)
                weight = repeats * xp.sum(roots * roots)
                return _Part(self.reduction.summarize(found), weight)

        def merge(first: _Part, second: _Part) -> _Part:
            with _quiet():
                summary = self.reduction.merge(first.summary, second.summary)
            return _Part(summary, first.weight + second.weight)

        with at_most(self._threads(n_columns)):
            whole = source.map_reduce(summarize, merge, max_rows=rows)
        with _quiet():
            factor = self.reduction.resolve(whole.summary)
        if not np.isfinite(factor.R).all():
            raise ValueError(
                f"{source.name} contains NaN, infinity, or numbers too large for their products; "
                "impute, drop or rescale them before fitting"
            )
        return factor.with_weight(float(whole.weight)) if source.weighted else factor

    def _block_rows(self, n_columns: int, per_row: int, *, cpu: bool) -> int:
        """Return how many rows to evaluate at a time.

        A block is held up to three times while it is made: values, products, a gathered factor. If
        it had fewer values of each polynomial than there are polynomials, it would be smaller than
        its summary, and merging take as long as summarizing.
        """
        width = 3 * n_columns * per_row
        usual = block_rows(width, cpu=cpu, budget_bytes=self.memory_budget)
        most = max(1, self.memory_budget // (8 * width))
        return max(usual, min(-(-n_columns // per_row), most))

    def _threads(self, n_columns: int) -> int:
        """Return how many threads there is memory for.

        Each holds a block and up to three summaries, which are square matrices; so does who joins
        what they made.
        """
        squares = self.memory_budget / (8 * n_columns**2)
        return max(1, int(min(squares, 1e6) / SQUARES_PER_THREAD) - 1)

    def factor_with_candidates(
        self,
        source: SampleSource,
        blocks: tuple[DegreeBlock, ...],
        left: IntArray,
        right: IntArray,
    ) -> Factor:
        """Reduce the values of [F C_pre] over all rows of a source."""
        evaluator = Evaluator(blocks)

        def values(x: Array) -> Array:
            return evaluator.with_candidates(x, left, right)

        return self.factor(source, values, evaluator.n_nonvanishing + int(left.shape[0]))


def _quiet() -> np.errstate:
    """Return a context in which numbers that are too large become infinite without a warning.

    The end of a pass raises an error that says so. Entered anew in each block: blocks may run in
    threads or on other machines, and a decorator could not travel there.
    """
    return np.errstate(over="ignore", invalid="ignore")


# --- Coordinates in which monomials of points are far from dependent, for ``moments`` -------------

#: Rounding errors of sums, in units of those of their terms.
ROUNDING = 64
#: Coordinates are chosen anew where better ones differ by this factor.
WORTHWHILE = 10.0


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates u = (x - origin) axes, in which monomials are far from dependent.

    Parameters
    ----------
    origin : array of shape (n_features,)
    axes, inverse : arrays of shape (n_features, n_features)
        x = origin + u inverse.
    """

    origin: FloatArray
    axes: FloatArray
    inverse: FloatArray

    @classmethod
    def of(cls, factor: Factor) -> "Frame":
        """Centre and whiten points.

        Parameters
        ----------
        factor : Factor
            Of [1 x] on the points.
        """
        n_features = factor.R.shape[1] - 1
        R = np.zeros((1 + n_features, 1 + n_features))  # fewer rows than columns leave zeros
        found = triangular_factor(factor.R.T.copy())
        R[: len(found)] = found
        origin = R[0, 1:] / R[0, 0]
        # Columns in units of their own; one that is constant so far, in units of its size.
        spread = np.linalg.norm(R[1:, 1:], axis=0)
        error = ROUNDING * factor.relative_error
        rounding = error * np.abs(origin)
        unit = np.where(spread > rounding, spread, np.abs(origin))
        unit = np.where(unit > 0, unit, 1.0)
        _, widths, directions = np.linalg.svd(R[1:, 1:] / unit)
        # Nothing is known about the size of flat directions: later rows may be wide there.
        widest = widths[0] if widths[0] > 0 else 1.0
        flattest = error * widest + np.abs(directions) @ (rounding / unit)
        widths = np.where(widths > flattest, widths, widest)
        return cls(
            origin,
            (directions.T / widths) / unit[:, None],
            (directions * widths[:, None]) * unit,
        )

    def __call__(self, x: Array) -> Array:
        """Return the coordinates of rows, shape (n_features, n_rows)."""
        return move_like(self.axes, x).T @ (x - move_like(self.origin, x)).T

    @property
    def variables(self) -> FloatArray:
        """Coefficients of the variables x on 1, u_1, u_2, ..., one variable a column."""
        return np.vstack([self.origin, self.inverse])

    def coordinates_of(self, other: "Frame") -> FloatArray:
        """Coefficients of the coordinates of another frame on 1, u_1, u_2, ..., one a column."""
        return np.vstack([(self.origin - other.origin) @ other.axes, self.inverse @ other.axes])

    def improved(self, factor: Factor) -> "Frame":
        """Return a frame for points: this one, unless theirs is another altogether.

        Parameters
        ----------
        factor : Factor
            Of [1 x] on the points.
        """
        theirs = Frame.of(factor)
        between = self.coordinates_of(theirs)
        stretch = np.linalg.svd(between[1:], compute_uv=False)
        near = np.linalg.norm(between[0]) <= WORTHWHILE
        alike = stretch[0] <= WORTHWHILE and stretch[-1] >= 1 / WORTHWHILE
        return self if near and alike else theirs


def affine_factor(source: SampleSource, memory_budget: int) -> Factor:
    """Return the factor of [1 x] on the rows of a source, in one pass."""

    def affine(x: Array) -> Array:
        xp = namespace(x)
        ones = xp.ones((1, x.shape[0]), dtype=x.dtype, device=x.device)
        return xp.concat([ones, x.T], axis=0)

    return Pass(Tsqr(), memory_budget).factor(source, affine, 1 + source.n_features)


def joined(first: Factor, second: Factor) -> Factor:
    """Return the factor on two sets of points together."""
    n_rows = first.n_rows + second.n_rows
    stacked = np.vstack([each.R * np.sqrt(each.n_rows / n_rows) for each in (first, second)])
    error = max(first.relative_error, second.relative_error)
    return Factor(triangular_factor(stacked.T.copy()), n_rows, error)


# --- The rows of partial fits themselves, as long as they are few ---------------------------------
#
# R of the monomials takes more memory than the rows do as long as there are no more rows than
# monomials. It also takes coordinates that suit the data, and a handful of rows says little about
# those. So rows are kept until there are twice as many as monomials: up to there ``partial_fit`` is
# ``fit``, and the coordinates of ``Moments`` are then chosen by many rows instead of by the first.


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


# --- Points that are gone, known by the R factor of all their monomials (``partial_fit``) ---------
#
# With φ the monomials of degree at most D and R of the QR factorization of φ(X), a polynomial p =
# φ c
# has the sizes on X that R c has: the rows of R stand in for the points. They are no points,
# though:
# products are taken in the coefficients c, and only then multiplied by R.
#
# Plain monomials of data off the origin nearly depend on each other, so φ is taken in coordinates u
# that are centred and whitened on the data. Where new rows show that those of earlier rows were far
# off (these were few, equal, on a plane, or elsewhere), others are chosen, and R is carried over:
# the
# monomials of u are combinations of those of any other coordinates, of the same degree. A
# polynomial
# of size 1 is then a sum of terms at most about 1e3 in size (uniform, Gaussian, exponential,
# heavy-tailed data up to degree 6), so that three digits are lost; product Chebyshev or Hermite
# polynomials in u gain one digit at best, and Chebyshev polynomials scaled to the range of the data
# lose up to seven.
#
# Rounding errors are kept for each monomial: a direction in which all rows so far agree has a
# factor
# that is nothing but rounding, and that says nothing about the others.

#: As long as there are no more rows than this for each monomial, they are kept themselves.
ROWS_PER_MONOMIAL = 2
#: Where more digits are lost than these six, a warning says so.
LARGEST_CANCELLATION = 1e6


@dataclass(frozen=True, eq=False)
class Moments:
    """All that is kept of a set of points.

    Parameters
    ----------
    frame : Frame
    degree : int
        Of the monomials, at most.
    factor : Factor
        Of the monomials on the points.
    error : array of shape (n_monomials,)
        Size of the rounding error of each column of the factor.
    """

    frame: Frame
    degree: int
    factor: Factor
    error: FloatArray

    @classmethod
    def of(cls, source: SampleSource, frame: Frame, degree: int, memory_budget: int) -> "Moments":
        """Go over the rows of a source once."""
        table = monomials(source.n_features, degree)
        passes = Pass(Tsqr(), memory_budget)
        factor = passes.factor(source, lambda x: table.values(frame(x)), len(table))
        return cls(frame, degree, factor, factor.relative_error * factor.column_rms)

    @property
    def n_rows(self) -> float:
        """Number of rows that were seen, or the sum of their weights."""
        return self.factor.n_rows

    def with_rows(self, source: SampleSource, memory_budget: int) -> "Moments":
        """Go over more rows, and join what is kept of them, in coordinates that suit all."""
        frame = self.frame.improved(joined(self._affine, affine_factor(source, memory_budget)))
        return self._moved(frame).joined(Moments.of(source, frame, self.degree, memory_budget))

    def joined(self, other: "Moments") -> "Moments":
        """Return the moments of two sets of points, in the same coordinates, together."""
        both = joined(self.factor, other.factor)
        # The rounding of earlier rows is seen beside all of them.
        error = sum(each.error * np.sqrt(each.n_rows / both.n_rows) for each in (self, other))
        rounding = both.relative_error * both.column_rms
        return replace(self, factor=both, error=np.maximum(error, rounding))

    def _moved(self, frame: Frame) -> "Moments":
        """Return the moments in other coordinates."""
        if frame is self.frame:
            return self
        # Monomials of degree at most D are combinations of such in any other coordinates.
        change = monomials_of_affine(self.frame.coordinates_of(frame), self.degree)
        R = triangular_factor((self.factor.R @ change).T.copy())
        # Errors add up, as sizes do, where terms cancel.
        return replace(
            self, frame=frame, factor=replace(self.factor, R=R), error=self.error @ np.abs(change)
        )

    @property
    def _affine(self) -> Factor:
        """The factor of [1 x] on the points."""
        n_columns = 1 + len(self.frame.origin)
        variables = np.hstack([np.eye(n_columns, 1), self.frame.variables])
        R = self.factor.R[:n_columns, :n_columns] @ variables
        sizes = norms(R)
        errors = self.error[:n_columns] @ np.abs(variables)
        return replace(self.factor, R=R, relative_error=_largest(errors, sizes))


def _largest(errors: FloatArray, sizes: FloatArray) -> float:
    """Return the largest error relative to the size of what it is an error of."""
    ratios = np.divide(errors, sizes, out=np.zeros_like(errors), where=sizes > 0)
    return float(np.max(ratios, initial=0.0))


@dataclass(frozen=True, eq=False)
class Seen:
    """All that is kept of X and of the contrast.

    Parameters
    ----------
    points : KeptRows or Moments
    contrast : KeptRows, Moments or None
    """

    points: KeptRows | Moments
    contrast: KeptRows | Moments | None

    @staticmethod
    def after(
        seen: "Seen | None",
        points: SampleSource,
        contrast: SampleSource | None,
        degree: int,
        memory_budget: int,
    ) -> "Seen":
        """Add new rows to what was seen before."""
        _check_budget(points.n_features, degree, memory_budget)
        kept, kept_contrast = (None, None) if seen is None else (seen.points, seen.contrast)
        if contrast is not None:
            kept_contrast = _added(kept_contrast, contrast, degree, memory_budget)
        return Seen(_added(kept, points, degree, memory_budget), kept_contrast)


def _added(
    kept: KeptRows | Moments | None, source: SampleSource, degree: int, memory_budget: int
) -> KeptRows | Moments:
    """Keep the rows as long as they are few, and their moments afterwards."""
    if isinstance(kept, Moments):
        return kept.with_rows(source, memory_budget)
    limit = ROWS_PER_MONOMIAL * count(source.n_features, degree)
    limit -= 0 if kept is None else len(kept)
    rows = KeptRows.of(source, degree, limit) if limit > 0 else None
    if rows is not None:
        return rows if kept is None else kept.joined(rows)
    if kept is None:
        frame = Frame.of(affine_factor(source, memory_budget))
        return Moments.of(source, frame, degree, memory_budget)
    earlier = kept.source(source.name)
    frame = Frame.of(joined(*(affine_factor(each, memory_budget) for each in (earlier, source))))
    both = [Moments.of(each, frame, degree, memory_budget) for each in (earlier, source)]
    return both[0].joined(both[1])


def as_source_of_fit(kept: KeptRows | Moments, name: str) -> "KeptSource | MomentSource":
    """Return what was seen as something that an ideal can be fitted to."""
    return kept.source(name) if isinstance(kept, KeptRows) else MomentSource(kept, name)


def _check_budget(n_features: int, degree: int, memory_budget: int) -> None:
    """Refuse more monomials than the budget has place for."""
    n_monomials = count(n_features, degree)
    needed = 8 * 8 * n_monomials**2  # two factors, the change of coordinates, and work on them
    if needed > memory_budget:
        raise BudgetError(
            f"partial_fit keeps the factor of all {n_monomials} monomials of degree at most "
            f"{degree} in {n_features} features, which with the work on it takes "
            f"{as_text(needed)}, over the memory budget of {as_text(memory_budget)}; reduce the "
            "number of features, lower max_degree, raise memory_budget, or use fit with chunks"
        )


class MomentSource(SampleSource):
    """A set of points by its moments: sizes of polynomials can be had, rows cannot.

    Parameters
    ----------
    moments : Moments
    name : str
    """

    def __init__(self, moments: Moments, name: str) -> None:
        self.moments = moments
        self.name = name

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.moments.frame.origin)

    @property
    def n_samples(self) -> int:
        """Number of rows that were seen."""
        return int(self.moments.factor.n_rows)

    @property
    def cpu(self) -> bool:
        """True: factors are kept on the host."""
        return True

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Raise: the rows are gone."""
        refuse_reading(self.name)

    def factor_with_candidates(
        self,
        blocks: tuple[DegreeBlock, ...],
        left: IntArray,
        right: IntArray,
        amplification: FloatArray,
    ) -> Factor:
        """Return the factor of [F C_pre] on the points; ``amplification`` as in ``Stage``."""
        degree = len(blocks) + 1
        coefficients, n_lower = self._coefficients(blocks, left, right)
        R = self._up_to(degree)
        values = R @ coefficients
        rms = norms(values)
        # A product may be small because its factors are large in different places; its errors are
        # those of the factors all the same.
        sizes = rms.copy()
        if degree > 1:
            n_first, n_last = blocks[0].nonvanishing.shape[1], blocks[-1].nonvanishing.shape[1]
            first, last = rms[1 : 1 + n_first], rms[n_lower - n_last : n_lower]
            sizes[n_lower:] = np.maximum(rms[n_lower:], first[left] * last[right])
        errors = self._error_up_to(degree) @ np.abs(coefficients)
        error = self._relative_error(errors, sizes, amplification)
        triangle = triangular_factor(np.ascontiguousarray(values.T))
        return Factor(np.asarray(triangle), self.moments.factor.n_rows, error)

    def gradients(
        self,
        blocks: tuple[DegreeBlock, ...],
        left: IntArray,
        right: IntArray,
        amplification: FloatArray,
    ) -> tuple[FloatArray, float]:
        """Return M with ‖M p‖² the mean of ‖∇p‖² for combinations p of [F C_pre], and its error."""
        degree = len(blocks) + 1
        coefficients, _ = self._coefficients(blocks, left, right)
        table = monomials(self.n_features, degree)
        by_u = np.stack([table.derivative(coefficients, k) for k in range(self.n_features)])
        # ∂/∂x_i = Σ_k axes_ik ∂/∂u_k
        by_x = np.tensordot(self.moments.frame.axes, by_u, axes=1)
        R = self._up_to(degree - 1)
        values = np.vstack([R @ part for part in by_x])
        rounding = self._error_up_to(degree - 1)
        sizes = norms(values)
        errors = norms(np.stack([rounding @ np.abs(part) for part in by_x]))
        return values, self._relative_error(errors, sizes, amplification)

    def mean_squares(self, degree: int, exponents: IntArray) -> FloatArray:
        """Return the means of the squared monomials of x / 2**exponents up to ``degree``."""
        variables = np.ldexp(self.moments.frame.variables, -exponents)
        coefficients = monomials_of_affine(variables, degree)
        return np.asarray(np.sum((self._up_to(degree) @ coefficients) ** 2, axis=0))

    def _coefficients(
        self, blocks: tuple[DegreeBlock, ...], left: IntArray, right: IntArray
    ) -> tuple[FloatArray, int]:
        """Coefficients of [F C_pre] on the monomials of u, and the number of F."""
        degree = len(blocks) + 1
        expansion = Expansion(self.n_features, blocks, variables=self.moments.frame.variables)
        lower = expansion.nonvanishing(degree - 1)
        candidates = expansion.candidates(degree, left, right)
        padded = np.zeros((len(candidates), lower.shape[1]))
        padded[: len(lower)] = lower
        return np.hstack([padded, candidates]), lower.shape[1]

    def _up_to(self, degree: int) -> FloatArray:
        """R of the monomials of a degree and less, which come first."""
        if degree > self.moments.degree:
            raise ValueError(
                f"partial_fit keeps monomials of degree at most {self.moments.degree}, but degree "
                f"{degree} was asked for"
            )
        n_monomials = count(self.n_features, degree)
        return self.moments.factor.R[:n_monomials, :n_monomials]

    def _error_up_to(self, degree: int) -> FloatArray:
        """Return the rounding errors of the monomials of a degree and less."""
        return self.moments.error[: count(self.n_features, degree)]

    def _relative_error(
        self, errors: FloatArray, sizes: FloatArray, amplification: FloatArray
    ) -> float:
        """Return rounding errors of sums relative to what is left of them where they cancel.

        Polynomials are known by their coefficients, with errors that are one unit of rounding
        times their amplification, which the construction multiplies by what is returned here. The
        errors of the factor come on top of those: they are not multiplied as well.
        """
        unit = self.moments.factor.relative_error
        relative = _largest(errors, sizes)
        if relative > LARGEST_CANCELLATION * unit:
            warnings.warn(
                f"{self.name} is spread so unevenly that {np.log10(relative / unit):.0f} digits "
                "are lost in sums of its monomials; leave rows out that are far from all others, "
                "lower max_degree, or use fit",
                UserWarning,
                stacklevel=2,
            )
        n_lower = len(errors) - len(amplification)
        least = np.full(n_lower, np.min(amplification, initial=np.inf))
        known = sizes * np.concatenate([least, amplification])
        return unit + _largest(errors, known)
