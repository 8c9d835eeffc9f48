"""What the equations say near single points: distances, and the dimension by the Jacobian.

At a point where a variety is smooth, the gradients of its equations span the normal space: its
dimension there is n - rank. Near it, by a distance δ, gradients turn by about δ over the size of
the variety, which is how small a singular value may be without meaning anything.
"""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.polynomials import PolynomialBasis
from vanishing.polynomials.basis import Which

#: Shares of the largest singular value below this are rounding errors.
ROUNDING = 1e-6
#: Singular values below this many times the relative noise are noise.
TIMES_NOISE = 5.0


@dataclass(frozen=True, eq=False)
class Gradients:
    """Gradients of equations at points, each equation scaled to root mean square gradient 1.

    Parameters
    ----------
    jacobian : array of shape (n_samples, n_equations, n_features)
    relative_noise : float
        Distance of the points of the fit from the worst equation, to first order, over the size
        of the points here.
    """

    jacobian: FloatArray
    relative_noise: float

    @classmethod
    def of(cls, basis: PolynomialBasis, points: FloatArray) -> "Gradients":
        """Evaluate the vanishing polynomials of a basis at points."""
        jacobian = basis.jacobian(points)
        scale = np.sqrt(np.mean(np.sum(jacobian**2, axis=2), axis=0))
        scale = np.where(scale > 0, scale, 1.0)
        noise = float(np.max(basis.extents / scale, initial=0.0))
        return cls(jacobian / scale[:, None], noise / size_about_center(basis, points))

    @property
    def negligible(self) -> float:
        """Share below which numbers of size 1 say nothing."""
        return max(ROUNDING, TIMES_NOISE * self.relative_noise)

    def ranks(self) -> IntArray:
        """Return the rank of the Jacobian at each point, up to noise."""
        singular = np.linalg.svd(self.jacobian, compute_uv=False)
        # Beside the usual gradient, 1, as well: at a singular point all of them are small.
        largest = np.maximum(singular.max(axis=1, initial=0.0), 1.0)
        return np.asarray(np.sum(singular > self.negligible * largest[:, None], axis=1))


def size_about_center(basis: PolynomialBasis, points: FloatArray) -> float:
    """Return the root mean square distance of points from the mean of the points of the fit.

    Single points have a size too, in this way. It is 1 where the distances are all zero.
    """
    # At degree 1 the candidates are the variables, and their projection on the constant the mean.
    center = basis.blocks[0].projection[0]
    return float(np.sqrt(np.mean(np.sum((points - center) ** 2, axis=1)))) or 1.0


def first_order_distances(
    basis: PolynomialBasis, points: FloatArray, *, which: Which
) -> FloatArray:
    """Return how far points are from the zeros of each polynomial, to first order.

    Parameters
    ----------
    basis : PolynomialBasis
    points : array of shape (n_samples, n_features)
    which : {"vanishing", "nonvanishing"}

    Returns
    -------
    array of shape (n_polynomials that are not constant,)
        Root mean square of the values over that of the gradients.
    """
    values = np.sqrt(np.mean(basis.evaluate(points, which=which) ** 2, axis=0))
    squared = np.sum(basis.jacobian(points, which=which) ** 2, axis=2)
    gradients = np.sqrt(np.mean(squared, axis=0))
    moves = gradients > 0
    return np.asarray(values[moves] / gradients[moves])


def most_frequent(numbers: IntArray) -> int:
    """Return the number that occurs most often, the smallest of several."""
    return int(np.argmax(np.bincount(numbers)))
