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
from typing import Any, Self

import numpy as np

from vanishing.arrays.blocks import block_rows, row_slices
from vanishing.arrays.namespace import BoolArray, FloatArray, is_array, lazy, move_to_host, unmask
from vanishing.equations.expansion import expand_basis
from vanishing.equations.sizes import monomial_sizes
from vanishing.equations.text import UNNOTICED
from vanishing.levels import OUTLYING, ROUNDING
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import Monomials, count, monomials, multiples_up_to


@dataclass(frozen=True, eq=False)
class Sample:
    """What the data says about monomials, in the rows of coefficients, and polynomials."""

    basis: PolynomialBasis
    X: FloatArray
    table: Monomials
    coefficients: FloatArray
    nonvanishing: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, basis: PolynomialBasis, X: Any) -> Self:
        """Evaluate a basis on data."""
        points = _checked(X, basis.n_features)
        _, coefficients = expand_basis(basis)
        _, others = basis.expand(which="nonvanishing")
        table = monomials(basis.n_features, len(basis.blocks))
        return cls(basis, points, table, coefficients, others, monomial_sizes(points, table))

    def root_mean_squares(self, coefficients: FloatArray) -> FloatArray:
        """Return the root mean square on X of polynomials given by their coefficients."""
        squares = np.zeros(coefficients.shape[1])
        for rows in row_slices(self.X, width=2 * len(self.table)):
            values = coefficients.T @ self.table.values(self.X[rows].T)
            squares += np.sum(values**2, axis=1)
        return np.asarray(np.sqrt(squares / len(self.X)))

    @lazy
    def _rows(self) -> FloatArray:
        """Some of the rows, spread evenly: as many as are worked on at a time."""
        n_gradients = self.basis.count("nonvanishing") * self.basis.n_features
        n_rows = block_rows(max(len(self.table), n_gradients))
        return self.X[:: -(-len(self.X) // n_rows)]

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

    def extent(self, coefficients: FloatArray, degree: int) -> float:
        """Return the extent of a mixture of polynomials; multiples of lower ones have 0."""
        mixture, extents, own = self._mixture(coefficients, degree)
        return float(np.linalg.norm((mixture * extents)[own]) / np.linalg.norm(mixture[own]))

    def is_loose(self, coefficients: FloatArray, degree: int) -> bool:
        """Say whether multiples of lower equations are much larger on the data than the rest."""
        mixture, extents, own = self._mixture(coefficients, degree)
        values = mixture * extents
        rest = np.hypot(np.linalg.norm(values[own]), self._rounding(coefficients))
        return bool(np.linalg.norm(values[~own]) > OUTLYING * rest)

    def _mixture(
        self, coefficients: FloatArray, degree: int
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return coordinates on summands, extents of these, and which have the degree."""
        coordinates, extents, own = self._summands[degree]
        return coordinates @ (coefficients * self.sizes), extents, own

    @lazy
    def _summands(self) -> dict[int, tuple[FloatArray, FloatArray, BoolArray]]:
        degrees, found = self.basis.degrees(), {}
        for degree in np.unique(degrees).tolist():
            parts, extents = [], []
            for each in np.unique(degrees[degrees <= degree]).tolist()[::-1]:
                same = degrees == each
                own = self.coefficients[:, same]
                parts.append(multiples_up_to(own, each, degree, self.table))
                # The extent of a multiple, as if its factor were independent of the rest.
                sizes = self.sizes[: count(self.basis.n_features, degree - each)]
                extents.append(np.outer(sizes, self.basis.extents[same]))
            spanning = np.hstack(parts) * self.sizes[:, None]
            norms = np.linalg.norm(spanning, axis=0)
            of_each = np.concatenate([each.ravel() for each in extents])
            own = np.arange(len(norms)) < parts[0].shape[1]
            found[degree] = np.linalg.pinv(spanning / norms) / norms[:, None], of_each, own
        return found

    def _errors(self, coefficients: FloatArray, degree: int) -> FloatArray:
        typical = self._typical(coefficients, degree)
        return np.full(self.basis.count("nonvanishing"), typical)

    def _typical(self, coefficients: FloatArray, degree: int) -> float:
        mixture, extents, own = self._mixture(coefficients, degree)
        return float(UNNOTICED * np.linalg.norm((mixture * extents)[own]))


def _checked(X: Any, n_features: int) -> FloatArray:
    X = unmask(X, "X")
    points = np.asarray(move_to_host(X) if is_array(X) else X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != n_features or not len(points):
        raise ValueError(
            f"expected X of shape (n_samples, {n_features}) with at least one row, "
            f"got shape {points.shape}"
        )
    if not np.isfinite(points).all():
        raise ValueError("X contains NaN or infinity; leave these rows out")
    return points
