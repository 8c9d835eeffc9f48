"""Coordinates in which monomials of points are far from dependent, for ``moments``."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import Array, FloatArray, move_like, namespace, triangular_factor
from vanishing.normalizations.passes import Pass
from vanishing.reductions import Factor, Tsqr
from vanishing.samples import SampleSource

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
