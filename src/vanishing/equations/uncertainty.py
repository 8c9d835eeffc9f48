"""How far the noise of the points leaves a fitted polynomial undetermined.

A fit makes g orthogonal, on the points, to the nonvanishing polynomials f, which have root mean
square 1 there and are orthogonal to each other. The values r of g on N points, which are noise,
make the coefficient of g on f uncertain by √(mean(r² f²) / N), by chance. There is a bias as well:
noise of variance σ² in every variable adds σ² mean(f Δg / 2 + ∇f·∇g) to the mean of f g, to lowest
order, and the fit makes up for it. σ² is about mean(r²) / mean(|∇g|²), if it is the same for all.

How g is mixed with other vanishing polynomials of its degree is another matter, settled by a choice
of coordinates.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from vanishing.arrays.blocks import block_rows, row_slices
from vanishing.arrays.kernels import norms
from vanishing.arrays.namespace import (
    BoolArray,
    FloatArray,
    IntArray,
    is_array,
    lazy,
    move_to_host,
    unmask,
)
from vanishing.equations.expansion import expand_basis
from vanishing.equations.sizes import monomial_sizes, nonvanishing_rms
from vanishing.equations.text import UNNOTICED
from vanishing.levels import ROUNDING, SAFETY, SAME
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import Monomials, monomials, multiples_up_to


class Summands(NamedTuple):
    """Polynomials of known sizes that sum up to any polynomial of a degree."""

    weighted: FloatArray  # coefficients times the sizes of the monomials
    coordinates: FloatArray  # of polynomials on them, from such coefficients
    on_points: FloatArray
    on_contrast: FloatArray
    degrees: IntArray  # -1 for multiples of lower equations
    is_own: BoolArray  # vanishing polynomials of the degree


@dataclass(frozen=True, eq=False)
class Sample:
    """What the data says about monomials, in the rows of coefficients, and polynomials."""

    basis: PolynomialBasis
    X: FloatArray
    table: Monomials
    coefficients: FloatArray
    nonvanishing: FloatArray
    sizes: FloatArray
    model: Any = None
    contrast: FloatArray | None = None

    @classmethod
    def of(cls, basis: PolynomialBasis, X: Any, model: Any = None, contrast: Any = None) -> Self:
        """Evaluate a basis on data."""
        points = _checked(X, "X", basis.n_features)
        others = None if contrast is None else _checked(contrast, "contrast", basis.n_features)
        _, coefficients = expand_basis(basis)
        _, nonvanishing = basis.expand(which="nonvanishing")
        table = monomials(basis.n_features, len(basis.blocks))
        sizes = monomial_sizes(points, table)
        return cls(basis, points, table, coefficients, nonvanishing, sizes, model, others)

    def root_mean_squares(self, coefficients: FloatArray) -> FloatArray:
        """Return the root mean square on X of polynomials given by their coefficients."""
        squares = np.zeros(coefficients.shape[1])
        for rows in row_slices(self.X, width=2 * len(self.table)):
            values = coefficients.T @ self.table.values(self.X[rows].T)
            squares += np.sum(values**2, axis=1)
        return np.asarray(np.sqrt(squares / len(self.X)))

    # --- The extent of any polynomial -------------------------------------------------------------

    def ratios(self, coefficients: FloatArray) -> FloatArray:
        """Return root mean squares on X relative to sizes, 0 where these are rounding errors."""
        values, sizes = norms(self.values_of(coefficients)), self.sizes_of(coefficients)
        rounding = SAFETY * np.array([self._rounding(column) for column in coefficients.T])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(values <= rounding, 0.0, values / sizes)

    def ratio(self, coefficients: FloatArray) -> float:
        """Return the ratio of one polynomial, of which the last coefficients may be missing."""
        return float(self.ratios(self._padded(coefficients))[0])

    def _padded(self, coefficients: FloatArray) -> FloatArray:
        every = np.zeros((len(self.table), 1))
        every[: len(coefficients), 0] = coefficients
        return every

    @lazy
    def limit(self) -> float:
        """The largest ratio of an equation: the tolerance, or the largest one of the fit."""
        ratios, extents = self.ratios(self.coefficients), self.basis.extents
        largest = float(np.max(ratios, initial=0.0, where=np.isfinite(ratios)))
        tol = max((step.tol for step in getattr(self.model, "trace_", ())), default=0.0)
        # Ratios are extents, or more or less in proportion to them.
        return largest * max(1.0, tol / float(extents.max()) if extents.any() else 1.0)

    def allowed(self, coefficients: FloatArray) -> float:
        """Return how large the ratio of a polynomial may become if it is shortened."""
        return max(self.limit, (1 + UNNOTICED) * self.ratio(coefficients))

    def values_of(self, coefficients: FloatArray) -> FloatArray:
        """Return columns whose norms are root mean squares on X."""
        return np.asarray(self._on_points @ coefficients)

    def sizes_of(self, coefficients: FloatArray) -> FloatArray:
        """Return sizes in the normalization of the fit, or in a similar one."""
        if self.has_unknown_contrast:
            return self._least_on_contrast(coefficients)
        return norms(self.measures_of(coefficients))

    def measures_of(self, coefficients: FloatArray) -> FloatArray:
        """Return columns whose norms are sizes, unless these are those on an unknown contrast."""
        if self.contrast is not None:
            return np.asarray(self._on_contrast @ coefficients)
        if self._are_coefficients:
            return coefficients
        return self._slopes(coefficients, self._units)

    @property
    def has_unknown_contrast(self) -> bool:
        """Whether sizes are those on a contrast that is not known."""
        return self.contrast is None and bool(getattr(self.model, "needs_contrast", False))

    @lazy
    def knows_sizes(self) -> bool:
        """Whether sizes are those of the normalization of the fit."""
        return not self.has_unknown_contrast and self._are_units(
            self.measures_of(self.coefficients)
        )

    @lazy
    def _are_coefficients(self) -> bool:
        return self._are_units(self.coefficients)

    @lazy
    def _units(self) -> FloatArray:
        """Return units of the variables: 1 if the fit measured gradients, or their spread."""
        ones = np.ones(self.basis.n_features)
        is_gradient = self._are_units(self._slopes(self.coefficients, ones))
        return ones if is_gradient else np.std(self._rows, axis=0)

    @staticmethod
    def _are_units(columns: FloatArray) -> bool:
        return bool(np.all(np.abs(norms(columns) - 1) < UNNOTICED))

    def _slopes(self, coefficients: FloatArray, units: FloatArray) -> FloatArray:
        """Return columns whose norms are root mean squares of gradients on X."""
        parts = []
        for k, unit in enumerate(units.tolist()):
            derivative = np.zeros_like(coefficients)
            first = self.table.derivative(coefficients, k)
            derivative[: len(first)] = unit * first
            parts.append(self.values_of(derivative))
        return np.vstack(parts)

    @lazy
    def _on_points(self) -> FloatArray:
        return _factor(self._monomial_values)

    @lazy
    def _on_contrast(self) -> FloatArray:
        assert self.contrast is not None
        some = _thinned(self.contrast, len(self.table))
        return _factor(np.asarray(self.table.values(some.T).T))

    def _least_on_contrast(self, coefficients: FloatArray) -> FloatArray:
        """Return lower bounds of root mean squares on the contrast, by what the fit knows of it.

        There, the polynomials of one degree are orthogonal, vanishing or not, and those that vanish
        have size 1. Those of other degrees add or subtract their size at most.
        """
        total = self.table.exponents.sum(axis=1)
        least = np.zeros(coefficients.shape[1])
        for index, column in enumerate(coefficients.T):
            degree = int(total[np.flatnonzero(column)].max(initial=0))
            known = self._summands[degree]
            parts = known.coordinates @ (column * self.sizes) * known.on_contrast
            own = float(np.linalg.norm(parts[known.degrees == degree]))
            others = [parts[known.degrees == d] for d in set(known.degrees.tolist()) - {degree}]
            least[index] = own - sum(float(np.linalg.norm(each)) for each in others)
        return np.maximum(least, 0.0)

    def _on_unknown(self, on_points: FloatArray) -> FloatArray:
        """Return root mean squares of the nonvanishing polynomials on a contrast, by the trace."""
        found = np.ones(len(on_points))
        degrees = self.basis.degrees(which="nonvanishing")
        for step in self.model.trace_ if self.has_unknown_contrast else ():
            # The largest extents are kept if some are cut.
            own = np.flatnonzero(degrees == step.degree)
            found[own] = on_points[own] / np.sort(step.spectrum)[len(step.spectrum) - len(own) :]
        return found

    @lazy
    def _nonvanishing_rms(self) -> FloatArray:
        return norms(self.values_of(self.nonvanishing))

    @lazy
    def _summands(self) -> "list[Summands]":
        """Return polynomials that sum up to any one of each degree."""
        return [self._summands_of(degree) for degree in range(self.table.degree + 1)]

    def _summands_of(self, degree: int) -> "Summands":
        weights, total = self.sizes[:, None], self.table.exponents.sum(axis=1)
        of_others, of_own = self.basis.degrees(which="nonvanishing"), self.basis.degrees()
        below, own = of_others <= degree, of_own == degree
        first = np.hstack([self.nonvanishing[:, below], self.coefficients[:, own]]) * weights
        alone = self._nonvanishing_rms
        values = np.concatenate([alone[below], self.basis.extents[own]])
        contrasts = np.concatenate([self._on_unknown(alone)[below], np.ones(own.sum())])
        degrees = np.concatenate([of_others[below], of_own[own]])
        extents, sizes = [np.zeros(0)], [np.zeros(0)]
        multiples: list[FloatArray] = [np.zeros((len(weights), 0))]
        for each in np.unique(of_own[of_own < degree]).tolist():
            same = of_own == each
            column = self.coefficients[:, same]
            multiples.append(multiples_up_to(column, each, degree, self.table))
            # The size of a multiple, as if its factor were independent of the rest.
            factors = self.sizes[total <= degree - each]
            sizes.append(np.repeat(factors, same.sum()))
            extents.append(np.outer(factors, self.basis.extents[same]).ravel())
        second = np.hstack(multiples) * weights
        # Multiples only where nothing else will do: nothing is known of how they add up on X.
        orthogonal, _ = np.linalg.qr(first / norms(first))
        rest = np.eye(len(weights)) - orthogonal @ orthogonal.T
        of_second = norms(second)
        on_second = np.linalg.pinv(rest @ (second / of_second), rcond=SAME) @ rest
        on_second /= of_second[:, None]
        of_first = norms(first)
        on_first = np.linalg.pinv(first / of_first) / of_first[:, None]
        on_first -= on_first @ second @ on_second
        return Summands(
            np.hstack([first, second]),
            np.vstack([on_first, on_second]),
            np.concatenate([values, *extents]),
            np.concatenate([contrasts, *sizes]),
            np.concatenate([degrees, np.full(second.shape[1], -1)]),
            np.repeat([False, True, False], [below.sum(), own.sum(), second.shape[1]]),
        )

    @lazy
    def _rows(self) -> FloatArray:
        """Some of the rows, spread evenly: as many as are worked on at a time."""
        n_gradients = self.basis.count("nonvanishing") * self.basis.n_features
        return _thinned(self.X, max(len(self.table), n_gradients))

    @lazy
    def _monomial_values(self) -> FloatArray:
        return np.asarray(self.table.values(self._rows.T).T)

    @lazy
    def _nonvanishing_values(self) -> FloatArray:
        return np.asarray(self.basis.evaluate(self._rows, which="nonvanishing"))

    @lazy
    def _nonvanishing_gradients(self) -> FloatArray:
        return np.asarray(self.basis.jacobian(self._rows, which="nonvanishing"))

    def directions(self, coefficients: FloatArray, degree: int) -> FloatArray:
        """Return changes, of one standard error each, of a polynomial that vanishes on X."""
        below = self.basis.degrees(which="nonvanishing") <= degree
        errors = np.hypot(self._errors(coefficients, degree), self._rounding(coefficients))
        return np.asarray((self.nonvanishing * errors)[:, below])

    def _errors(self, coefficients: FloatArray, degree: int) -> FloatArray:
        """Return the standard errors of the coefficients of a polynomial on all f."""
        squares = (self._monomial_values @ coefficients) ** 2
        chance = squares @ self._nonvanishing_values**2 / len(squares) / self._n_free(degree)
        bias = np.mean(squares) * self._bias(coefficients)
        return np.asarray(np.sqrt(chance + bias**2))

    def _bias(self, coefficients: FloatArray) -> FloatArray:
        """Return mean(f Δg / 2 + ∇f·∇g) / mean(|∇g|²) for all f."""
        gradient, laplacian = self._derivatives(coefficients)
        slope = np.mean(np.sum(gradient**2, axis=1))
        mean = laplacian @ self._nonvanishing_values / 2
        mean += np.einsum("ik,ifk->f", gradient, self._nonvanishing_gradients)
        return np.asarray(mean / len(gradient) / slope if slope else np.zeros_like(mean))

    def _derivatives(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ∇g and Δg on some of the rows."""
        values, n_features = self._monomial_values, self.basis.n_features
        gradient = np.empty((len(values), n_features))
        laplacian = np.zeros(len(values))
        lower = monomials(n_features, self.table.degree - 1)
        for k in range(n_features):
            first = self.table.derivative(coefficients[:, None], k)
            gradient[:, k] = values[:, : len(first)] @ first[:, 0]
            if lower.degree:
                second = lower.derivative(first, k)
                laplacian += values[:, : len(second)] @ second[:, 0]
        return gradient, laplacian

    def roundings(self, coefficients: FloatArray, degree: int) -> FloatArray:
        """Return changes of coefficients by a quarter of a standard error in the values."""
        typical = np.hypot(self._typical(coefficients, degree), self._rounding(coefficients))
        occurs = self.table.exponents.sum(axis=1) <= degree
        return np.where(occurs, typical / 4 / self.sizes, 0.0)

    def _typical(self, coefficients: FloatArray, degree: int) -> float:
        """Return the standard error of the coefficient on a typical f."""
        values = self._monomial_values @ coefficients
        return float(np.sqrt(np.mean(values**2) / self._n_free(degree)))

    def is_lost(self, coefficients: FloatArray) -> bool:
        """Say whether rounding hides how the polynomial changes over the spread of the data."""
        return self._rounding(coefficients) > UNNOTICED * self.change(coefficients) > 0

    def change(self, coefficients: FloatArray) -> float:
        """Return how far a polynomial changes over a standard deviation of the data."""
        # A constant column has terms in others that are rounding errors.
        counts = np.abs(coefficients) * self.sizes > self._rounding(coefficients)
        gradient, _ = self._derivatives(np.where(counts, coefficients, 0.0))
        spread = np.std(self._rows, axis=0)
        return float(np.sqrt(np.mean(np.sum((gradient * spread) ** 2, axis=1))))

    def _n_free(self, degree: int) -> int:
        """Return the number of rows less that of coefficients which were fitted to them."""
        n_fitted = int(np.sum(self.basis.degrees(which="nonvanishing") <= degree))
        return max(1, len(self.X) - n_fitted)

    def _rounding(self, coefficients: FloatArray) -> float:
        """Return the rounding errors of the values, whose largest terms are products."""
        return float(4 * ROUNDING * np.max(np.abs(coefficients) * self.sizes))


@dataclass(frozen=True, eq=False)
class FittedSample(Sample):
    """What a fit says about its polynomials, on points with the mean and covariance of its data."""

    def allowed(self, coefficients: FloatArray) -> float:
        """Return how large the ratio of a polynomial may become if nobody is to notice."""
        return (1 + UNNOTICED) * self.ratio(coefficients)

    def extent(self, coefficients: FloatArray) -> float:
        """Return the extent of a mixture of polynomials, as far as the fit knows it."""
        every = self._padded(coefficients)
        known, coordinates = self._parts(every)
        rms = float(norms(self.values_of(every))[0])
        if rms <= SAFETY * self._rounding(every[:, 0]):  # all but the equations is rounding errors
            rms = float(np.linalg.norm((coordinates[:, 0] * known.on_points)[known.is_own]))
        if self.knows_sizes or self.has_unknown_contrast:
            return rms / float(self.sizes_of(every)[0])
        # The size of a mixture of polynomials of one degree, modulo those of lower ones.
        return rms / float(np.linalg.norm(coordinates[known.is_own]))

    def _parts(self, coefficients: FloatArray) -> tuple[Summands, FloatArray]:
        """Return summands of polynomials, and how much of each is in them."""
        total = self.table.exponents.sum(axis=1)
        known = self._summands[int(total[coefficients.any(axis=1)].max(initial=0))]
        return known, known.coordinates @ (coefficients * self.sizes[:, None])

    def values_of(self, coefficients: FloatArray) -> FloatArray:
        """Return columns whose norms are about the root mean squares on the data of the fit."""
        known, coordinates = self._parts(coefficients)
        rest = coefficients * self.sizes[:, None] - known.weighted @ coordinates
        return np.vstack([coordinates * known.on_points[:, None], rest])

    @lazy
    def _nonvanishing_rms(self) -> FloatArray:
        constant = self.basis.degrees(which="nonvanishing") == 0
        rms = nonvanishing_rms(self.basis, self.model) or 1.0
        return np.where(constant, np.abs(self.nonvanishing[0]), rms)

    def _errors(self, coefficients: FloatArray, degree: int) -> FloatArray:
        typical = self._typical(coefficients, degree)
        return np.full(self.basis.count("nonvanishing"), typical)

    def _typical(self, coefficients: FloatArray, degree: int) -> float:
        return float(UNNOTICED * norms(self.values_of(coefficients[:, None]))[0])


def _factor(values: FloatArray) -> FloatArray:
    """Return a matrix that takes coefficients to as long vectors as values on rows, on average."""
    triangle = np.linalg.qr(values, mode="r")
    factor = np.zeros((values.shape[1], values.shape[1]))
    factor[: len(triangle)] = triangle / np.sqrt(len(values))
    return factor


def _thinned(X: FloatArray, width: int) -> FloatArray:
    """Return some of the rows, spread evenly: as many as are worked on at a time."""
    return X[:: -(-len(X) // block_rows(width))]


def _checked(X: Any, name: str, n_features: int) -> FloatArray:
    X = unmask(X, name)
    points = np.asarray(move_to_host(X) if is_array(X) else X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != n_features or not len(points):
        raise ValueError(
            f"expected {name} of shape (n_samples, {n_features}) with at least one row, "
            f"got shape {points.shape}"
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} contains NaN or infinity; leave these rows out")
    return points
