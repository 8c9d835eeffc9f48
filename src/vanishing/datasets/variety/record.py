"""What is known of a variety."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing._xp import unmasked
from vanishing.datasets.variety.polynomial import Polynomial
from vanishing.datasets.variety.sampler import RationalSampler, Sampler


@dataclass(frozen=True)
class Variety:
    """An algebraic set in real affine space, with what is known of it.

    All of it is about the smallest algebraic set that holds every point that is drawn.

    Parameters
    ----------
    name : str
    variables : tuple of str
        Names of the coordinates.
    equations : tuple of str
        Polynomials in the syntax of Python and SymPy, with whole coefficients. They generate the
        ideal of the variety: every polynomial that vanishes on it is a combination of them.
    dimension : int
        0 for points, 1 for curves, 2 for surfaces. All components have the same.
    degree : int
        In how many complex points a general linear space of complementary dimension meets it.
    size : float
        Root mean square distance of the points drawn from their mean: the unit of noise.
    sampling : str
        Which part of the variety points are drawn from. They are uniform by length, area or
        volume there.
    sampler : Sampler
        Draws the points.

    Examples
    --------
    >>> from vanishing.datasets import describe_variety
    >>> circle = describe_variety("circle")
    >>> circle.equations, circle.dimension, circle.degree
    (('x**2 + y**2 - 1',), 1, 2)
    >>> circle.evaluate([[0.0, 1.0], [1.0, 1.0]])
    array([[0.],
           [1.]])
    """

    name: str
    variables: tuple[str, ...]
    equations: tuple[str, ...]
    dimension: int
    degree: int
    size: float
    sampling: str
    sampler: Sampler = field(repr=False, compare=False)

    @property
    def n_features(self) -> int:
        """Dimension of the space around it."""
        return len(self.variables)

    @property
    def rational(self) -> bool:
        """Whether points can be drawn exactly, as fractions."""
        return isinstance(self.sampler, RationalSampler)

    def evaluate(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the values of the equations.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Of floats, whole numbers or fractions.

        Returns
        -------
        array of shape (n_samples, n_equations)
        """
        points = np.asarray(unmasked(X, "X"))
        if points.ndim != 2 or points.shape[1] != self.n_features:
            raise ValueError(
                f"X must have the shape (n_samples, {self.n_features}), one column for each of "
                f"{', '.join(self.variables)}, got shape {points.shape}"
            )
        polynomials = [Polynomial(text, self.variables) for text in self.equations]
        return np.stack([polynomial(points) for polynomial in polynomials], axis=1)
