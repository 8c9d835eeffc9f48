"""What ``partial_fit`` keeps instead of the rows: a few rows, or the factor of their monomials."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, NoReturn

import numpy as np

from vanishing.arrays.blocks import BudgetError, format_bytes
from vanishing.arrays.kernels import norms, triangular_factor
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    move_like,
    move_to_host,
    namespace,
)
from vanishing.construction.candidates import RecalledSource, Stage
from vanishing.construction.gsvd import CLOSELY, bound_trusted_error
from vanishing.construction.passes import Factor, Pass, Tsqr, find_ranges, join_ranges
from vanishing.data.source import (
    LARGEST,
    ArraySource,
    SampleSource,
    WeightedSource,
    WrappedSource,
    close_after,
)
from vanishing.data.streams import ChunkSource
from vanishing.levels import SAFETY, SAME
from vanishing.polynomials.monomials import CANCELLED, Expansion, count, expand_monomials, monomials

# --- Coordinates in which the monomials of points are far from dependent --------------------------


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates u = (x - origin) axes, in which monomials are far from dependent."""

    origin: Annotated[FloatArray, "n_features"]
    axes: Annotated[FloatArray, "n_features n_features"]
    inverse: Annotated[FloatArray, "n_features n_features"]

    @classmethod
    def fit(cls, factor: Factor) -> "Frame":
        """Centre and whiten points, by the factor of [1 x] on them."""
        n_features = factor.R.shape[1] - 1
        R = np.zeros((1 + n_features, 1 + n_features))  # fewer rows than columns leave zeros
        found = triangular_factor(factor.R.T.copy())
        R[: len(found)] = found
        origin = R[0, 1:] / R[0, 0]
        # Columns in units of their spread; one that is constant so far, in units of its size; one
        # of zeros, in the largest units of others.
        spread = np.linalg.norm(R[1:, 1:], axis=0)
        error = SAFETY * factor.relative_error
        rounding = error * np.abs(origin)
        unit = np.where(spread > rounding, spread, np.abs(origin))
        is_zero = unit == 0
        unit = np.where(is_zero, np.max(unit, initial=0.0) or 1.0, unit)
        if (least := float(np.min(unit, initial=1.0))) < np.finfo(np.float64).tiny:
            raise ValueError(
                f"X has a column of numbers about {least:.0e} in size, too small to be inverted; "
                "rescale the data before fitting"
            )
        # Zeros stay apart, without rounding errors of others.
        rest = np.flatnonzero(~is_zero)
        widths, directions = np.zeros(n_features), np.zeros((n_features, n_features))
        _, widths[: len(rest)], directions[: len(rest), rest] = np.linalg.svd(
            R[1:, 1 + rest] / unit[rest], full_matrices=False
        )
        directions[len(rest) :, is_zero] = np.eye(n_features - len(rest))
        # Nothing is known about the size of flat directions: later rows may be wide there.
        widest = widths[0] if widths[0] > 0 else 1.0
        flattest = error * widest + np.abs(directions) @ (rounding / unit)
        widths = np.where(widths > flattest, widths, widest)
        return cls(
            origin, (directions.T / widths) / unit[:, None], (directions * widths[:, None]) * unit
        )

    def __call__(self, x: Array) -> Array:
        """Return the coordinates of rows, shape (n_features, n_rows)."""
        return move_like(self.axes, x).T @ (x - move_like(self.origin, x)).T

    @property
    def variables(self) -> FloatArray:
        """Coefficients of the variables x on 1, u_1, u_2, ..., one column per variable."""
        return np.vstack([self.origin, self.inverse])

    def express(self, other: "Frame") -> FloatArray:
        """Return coefficients of another frame's coordinates on 1, u_1, u_2, ..., by columns."""
        return np.vstack([(self.origin - other.origin) @ other.axes, self.inverse @ other.axes])

    def improve(self, factor: Factor) -> "Frame":
        """Return this frame, unless that of points, by the factor of [1 x], is very different."""
        theirs = Frame.fit(factor)
        between = self.express(theirs)
        stretch = np.linalg.svd(between[1:], compute_uv=False)
        # Coordinates that differ by less lose no more digits than bounds on errors do.
        near = np.linalg.norm(between[0]) <= CLOSELY
        alike = stretch[0] <= CLOSELY and stretch[-1] >= 1 / CLOSELY
        return self if near and alike else theirs


def factor_affine(source: SampleSource, memory_budget: int) -> Factor:
    """Return the factor of [1 x] on the rows of a source, in one pass."""

    def affine(x: Array) -> Array:
        xp = namespace(x)
        ones = xp.ones((1, x.shape[0]), dtype=x.dtype, device=x.device)
        return xp.concat([ones, x.T], axis=0)

    return Pass(Tsqr(), memory_budget).factor(source, affine, 1 + source.n_features)


def join_factors(first: Factor, second: Factor) -> Factor:
    """Return the factor on two sets of points together."""
    n_rows = first.n_rows + second.n_rows
    stacked = np.vstack([each.R * np.sqrt(each.n_rows / n_rows) for each in (first, second)])
    error = max(first.relative_error, second.relative_error)
    return Factor(triangular_factor(stacked.T.copy()), n_rows, error)


# --- The rows themselves, as long as they are few -------------------------------------------------
#
# R of the monomials takes more memory than the rows as long as there are fewer rows than monomials.
# It also needs coordinates that suit the data, about which a handful of rows says little. So rows
# are kept until there are twice as many as monomials: until then ``partial_fit`` is ``fit``, and
# afterwards the coordinates of ``Moments`` are chosen by many rows instead of by the first.


@dataclass(frozen=True, eq=False)
class KeptRows:
    """A few rows."""

    parts: tuple[FloatArray, ...]  # in the precision in which they came
    weights: Annotated[FloatArray | None, "n_rows"]
    degree: int  # of the monomials to be kept once there are more rows

    @classmethod
    def copy(cls, source: SampleSource, degree: int, limit: int) -> "KeptRows | None":
        """Copy the rows of a source, or return None if they are more than ``limit``."""
        n_rows = 0
        with close_after(source.blocks(limit + 1)) as blocks:
            for block in blocks:
                n_rows += int(block.shape[0])
                if n_rows > limit:
                    return None

        def copy_block(rows: Array, root_weights: Array | None = None) -> KeptRows:
            weights = None
            if root_weights is not None:
                weights = np.asarray(move_to_host(root_weights), dtype=np.float64) ** 2
            return cls((np.array(move_to_host(rows)),), weights, degree)

        return source.map_reduce(copy_block, KeptRows.join, max_rows=limit + 1)

    @property
    def n_rows(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def join(self, other: "KeptRows") -> "KeptRows":
        """Return the rows of both."""
        last, first = self.parts[-1], other.parts[0]
        parts = (*self.parts, *other.parts)
        if last.dtype == first.dtype:  # one array for each run of one precision
            parts = (*self.parts[:-1], np.concatenate([last, first]), *other.parts[1:])
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = np.concatenate(
                [np.ones(len(e)) if e.weights is None else e.weights for e in (self, other)]
            )
        return KeptRows(parts, weights, self.degree)

    def source(self, name: str) -> SampleSource:
        """Return the rows as a source that an ideal can be fitted to."""
        rows: SampleSource = ChunkSource(self.parts)
        if len(self.parts) == 1:
            rows = ArraySource(self.parts[0])
        if self.weights is not None:
            rows = WeightedSource(rows, self.weights)
        return KeptSource(rows.named(name))


class KeptSource(WrappedSource):
    """Rows that polynomials may be summed over, but not read: later on they will be gone."""

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Raise, as it will be with more rows."""
        refuse_reading(self.name)


def refuse_reading(name: str) -> NoReturn:
    """Raise because a normalization reads the rows themselves."""
    raise ValueError(
        f"the normalization reads the rows of {name}, which partial_fit does not keep; "
        "use fit, or one of the normalizations that ship with the library"
    )


# --- Rows that are gone, known by the R factor of all their monomials -----------------------------
#
# Let φ be the monomials of degree at most D and R the factor of the QR factorization of φ(X). A
# polynomial p = φ c has ‖p(X)‖ = ‖R c‖: the rows of R stand in for those of X. They are not points,
# though, and evaluating products on them would be wrong. Products are taken in the coefficients c,
# which are then multiplied by R.
#
# Plain monomials of data off the origin nearly depend on each other, so φ is taken in coordinates u
# that are centred and whitened on the data. If new rows show that the coordinates are far off
# (earlier rows were few, equal, on a plane, or elsewhere), others are chosen and R is carried over:
# the monomials of u are combinations of those of any other coordinates, of the same degree. A
# polynomial of size 1 is then a sum of terms of size at most about 1e3 (uniform, Gaussian,
# exponential and heavy-tailed data up to degree 6), so that three digits are lost. Product
# Chebyshev or Hermite polynomials in u gain one digit at best, and Chebyshev polynomials scaled to
# the range of the data lose up to seven.
#
# Rounding errors are kept for each monomial: the factor of a direction in which all rows so far
# agree is nothing but rounding, which says nothing about the other directions.


@dataclass(frozen=True, eq=False)
class Moments:
    """The factor of the monomials of a set of points."""

    frame: Frame
    degree: int
    factor: Factor
    error: Annotated[FloatArray, "n_monomials"]  # size of the rounding error of each column

    @classmethod
    def compute(
        cls, source: SampleSource, frame: Frame, degree: int, memory_budget: int
    ) -> "Moments":
        """Pass over the rows of a source once."""
        table = monomials(source.n_features, degree)
        passes = Pass(Tsqr(), memory_budget)
        factor = passes.factor(source, lambda x: table.values(frame(x)), len(table))
        return cls(frame, degree, factor, factor.relative_error * factor.column_rms)

    @property
    def n_rows(self) -> float:
        """Number of rows, or the sum of their weights."""
        return self.factor.n_rows

    def source(self, name: str) -> SampleSource:
        """Return the points as a source that an ideal can be fitted to."""
        return MomentSource(self, name)

    def add_rows(self, source: SampleSource, memory_budget: int) -> "Moments":
        """Return the moments of these points and of the rows of a source."""
        affine = join_factors(self._affine, factor_affine(source, memory_budget))
        frame = self.frame.improve(affine)
        return self._change_frame(frame).join(
            Moments.compute(source, frame, self.degree, memory_budget)
        )

    def join(self, other: "Moments") -> "Moments":
        """Return the moments of two sets of points, in the same coordinates, together."""
        both = join_factors(self.factor, other.factor)
        error = sum(each.error * np.sqrt(each.n_rows / both.n_rows) for each in (self, other))
        rounding = both.relative_error * both.column_rms
        return replace(self, factor=both, error=np.maximum(error, rounding))

    def _change_frame(self, frame: Frame) -> "Moments":
        if frame is self.frame:
            return self
        change = expand_monomials(self.frame.express(frame), self.degree)
        R = triangular_factor((self.factor.R @ change).T.copy())
        # Where terms cancel, sizes do not add up, but errors do.
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
        return replace(self.factor, R=R, relative_error=_largest_ratio(errors, sizes))


def _largest_ratio(errors: FloatArray, sizes: FloatArray) -> float:
    ratios = np.divide(errors, sizes, out=np.zeros_like(errors), where=sizes > 0)
    return float(np.max(ratios, initial=0.0))


@dataclass(frozen=True, eq=False)
class Seen:
    """All that is kept of X and of the contrast."""

    points: KeptRows | Moments
    contrast: KeptRows | Moments | None
    ranges: Annotated[FloatArray | None, "2 n_features"] = None

    @staticmethod
    def update(
        seen: "Seen | None",
        points: SampleSource,
        contrast: SampleSource | None,
        degree: int,
        memory_budget: int,
    ) -> "Seen":
        """Add new rows to what was seen before."""
        _check_budget(points.n_features, degree, memory_budget)
        kept, kept_contrast = (None, None) if seen is None else (seen.points, seen.contrast)
        ranges = find_ranges(points)
        if (largest := float(np.max(np.abs(ranges)))) > LARGEST:
            raise ValueError(
                f"X holds numbers about {largest:.0e} in size, too large to be squared; rescale "
                "the data before fitting, or leave such rows out"
            )
        if contrast is not None:
            kept_contrast = _add_rows(kept_contrast, contrast, degree, memory_budget)
        if seen is not None and seen.ranges is not None:
            ranges = join_ranges(seen.ranges, ranges)
        return Seen(_add_rows(kept, points, degree, memory_budget), kept_contrast, ranges)


def _add_rows(
    kept: KeptRows | Moments | None, source: SampleSource, degree: int, memory_budget: int
) -> KeptRows | Moments:
    """Keep the rows as long as they are few, and their moments afterwards."""
    if isinstance(kept, Moments):
        return kept.add_rows(source, memory_budget)
    limit = 2 * count(source.n_features, degree)
    limit -= 0 if kept is None else len(kept)
    rows = KeptRows.copy(source, degree, limit) if limit > 0 else None
    if rows is not None:
        return rows if kept is None else kept.join(rows)
    if kept is None:
        frame = Frame.fit(factor_affine(source, memory_budget))
        return Moments.compute(source, frame, degree, memory_budget)
    sources = (kept.source(source.name), source)
    frame = Frame.fit(join_factors(*(factor_affine(each, memory_budget) for each in sources)))
    earlier, new = (Moments.compute(each, frame, degree, memory_budget) for each in sources)
    return earlier.join(new)


def _check_budget(n_features: int, degree: int, memory_budget: int) -> None:
    """Refuse more monomials than there is memory for."""
    n_monomials = count(n_features, degree)
    needed = 8 * 8 * n_monomials**2  # two factors, the change of coordinates, and work on them
    if needed > memory_budget:
        raise BudgetError(
            f"partial_fit keeps the factor of all {n_monomials} monomials of degree at most "
            f"{degree} in {n_features} features, which with the work on it takes "
            f"{format_bytes(needed)}, over the memory budget of {format_bytes(memory_budget)}; "
            "reduce the number of features, lower max_degree, raise memory_budget, or use fit "
            "with chunks"
        )


class MomentSource(RecalledSource):
    """Points by their moments: sizes of polynomials are known, rows are not."""

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

    def recall_factor(self, stage: Stage) -> Factor:
        """Return the factor of [F C_pre] on the points."""
        coefficients = self._expand(stage)
        values = self._factor_up_to(stage.degree) @ coefficients
        rms = norms(values)
        # A product may be small because its factors are large in different places; its errors are
        # those of the factors all the same.
        sizes, n_lower = rms.copy(), stage.n_lower
        errors = self._error_up_to(stage.degree) @ np.abs(coefficients)
        if stage.degree > 1:
            n_last = stage.blocks[-1].nonvanishing.shape[1]
            first, last = 1 + stage.left, n_lower - n_last + stage.right
            sizes[n_lower:] = np.maximum(rms[n_lower:], rms[first] * rms[last])
            # With the full border, F_1 holds variables that are zero: nothing is relative to them.
            is_zero = (rms <= SAFETY * errors) & (rms <= SAME)
            is_zero[n_lower:] = is_zero[first] | is_zero[last]
            errors = np.where(is_zero, 0.0, errors)
            # On rows such a product would be zero exactly, as x y on the axes of the plane. Here it
            # has the errors of its factors, and these would count as relative to its own size.
            negligible = bound_trusted_error(self.moments.factor.relative_error) * sizes
            is_noise = (sizes > 0) & (rms <= SAFETY * errors) & (rms <= negligible)
            is_noise[:n_lower] = False
            values[:, is_noise] = 0.0
        error = self._relative_error(errors, sizes, stage.amplification)
        triangle = triangular_factor(np.ascontiguousarray(values.T))
        return Factor(np.asarray(triangle), self.moments.factor.n_rows, error)

    def recall_gradients(self, stage: Stage) -> tuple[FloatArray, float]:
        """Return M with ‖M p‖² the mean of ‖∇p‖² for combinations p of [F C_pre], and its error."""
        coefficients = self._expand(stage)
        table = monomials(self.n_features, stage.degree)
        by_u = np.stack([table.derivative(coefficients, k) for k in range(self.n_features)])
        # ∂/∂x_i = Σ_k axes_ik ∂/∂u_k
        by_x = np.tensordot(self.moments.frame.axes, by_u, axes=1)
        R = self._factor_up_to(stage.degree - 1)
        values = np.vstack([R @ part for part in by_x])
        rounding = self._error_up_to(stage.degree - 1)
        errors = norms(np.stack([rounding @ np.abs(part) for part in by_x]))
        return values, self._relative_error(errors, norms(values), stage.amplification)

    def recall_mean_squares(self, degree: int, exponents: IntArray) -> FloatArray:
        """Return the means of the squared monomials of x / 2**exponents up to ``degree``."""
        variables = np.ldexp(self.moments.frame.variables, -exponents)
        coefficients = expand_monomials(variables, degree)
        return np.asarray(np.sum((self._factor_up_to(degree) @ coefficients) ** 2, axis=0))

    def _expand(self, stage: Stage) -> FloatArray:
        """Return the coefficients of [F C_pre] on the monomials of u."""
        frame = self.moments.frame
        expansion = Expansion(self.n_features, stage.blocks, variables=frame.variables)
        candidates = expansion.candidates(stage.degree, stage.left, stage.right)
        lower = expansion.nonvanishing(stage.degree - 1)
        padded = np.zeros((len(candidates), lower.shape[1]))
        padded[: len(lower)] = lower
        return np.hstack([padded, candidates])

    def _factor_up_to(self, degree: int) -> FloatArray:
        """Return R of the monomials of degree at most ``degree``, which come first."""
        if degree > self.moments.degree:
            raise ValueError(
                f"partial_fit keeps monomials of degree at most {self.moments.degree}, but degree "
                f"{degree} was asked for"
            )
        n_monomials = count(self.n_features, degree)
        return self.moments.factor.R[:n_monomials, :n_monomials]

    def _error_up_to(self, degree: int) -> FloatArray:
        return self.moments.error[: count(self.n_features, degree)]

    def _relative_error(
        self, errors: FloatArray, sizes: FloatArray, amplification: FloatArray
    ) -> float:
        """Return the rounding errors of sums, over amplification, relative to what is left."""
        unit = self.moments.factor.relative_error
        relative = _largest_ratio(errors, sizes)
        if CANCELLED * relative > unit:
            warnings.warn(
                f"{self.name} is spread so unevenly that {np.log10(relative / unit):.0f} digits "
                "are lost in sums of its monomials; leave out rows that are far from all others, "
                "lower max_degree, or use fit",
                UserWarning,
                stacklevel=2,
            )
        n_lower = len(errors) - len(amplification)
        least = np.full(n_lower, np.min(amplification, initial=np.inf))
        known = sizes * np.concatenate([least, amplification])
        return unit + _largest_ratio(errors, known)
