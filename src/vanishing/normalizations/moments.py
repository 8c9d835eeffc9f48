"""Points that are gone, known by the R factor of all their monomials (``partial_fit``).

With φ the monomials of degree at most D and R of the QR factorization of φ(X), a polynomial p = φ c
has the sizes on X that R c has: the rows of R stand in for the points. They are no points, though:
products are taken in the coefficients c, and only then multiplied by R.

Plain monomials of data off the origin nearly depend on each other, so φ is taken in coordinates u
that are centred and whitened on the data. Where new rows show that those of earlier rows were far
off (these were few, equal, on a plane, or elsewhere), others are chosen, and R is carried over: the
monomials of u are combinations of those of any other coordinates, of the same degree. A polynomial
of size 1 is then a sum of terms at most about 1e3 in size (uniform, Gaussian, exponential,
heavy-tailed data up to degree 6), so that three digits are lost; product Chebyshev or Hermite
polynomials in u gain one digit at best, and Chebyshev polynomials scaled to the range of the data
lose up to seven.

Rounding errors are kept for each monomial: a direction in which all rows so far agree has a factor
that is nothing but rounding, and that says nothing about the others.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from vanishing._xp import Array, FloatArray, IntArray, norms, triangular_factor
from vanishing.normalizations.frame import Frame, affine_factor, joined
from vanishing.normalizations.kept import KeptRows, KeptSource, refuse_reading
from vanishing.normalizations.passes import Pass
from vanishing.polynomials.block import DegreeBlock
from vanishing.polynomials.expand import Expansion, monomials_of_affine
from vanishing.polynomials.memory import BudgetError, as_text
from vanishing.polynomials.monomials import count, monomials
from vanishing.reductions import Factor, Tsqr
from vanishing.samples import SampleSource

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
