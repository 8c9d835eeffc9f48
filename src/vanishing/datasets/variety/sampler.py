"""What draws points of a variety."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing._xp import FloatArray

#: NumPy array of ``fractions.Fraction``.
FractionArray = npt.NDArray[Any]

#: Of rational numbers with denominators up to this there are about 30 million in an interval of
#: length 1, so that points rarely repeat, and yet those numbers are short.
_MAX_DENOMINATOR = 10_000


class Sampler(ABC):
    """Draws points at random: a small frozen configuration object."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points, an array of shape (n_samples, n_features) in double precision."""


class RationalSampler(Sampler):
    """Draws points whose coordinates are rational numbers, too."""

    @abstractmethod
    def draw_exact(self, rng: np.random.Generator, n_samples: int) -> FractionArray:
        """Draw points exactly, close to those of ``draw`` from the same generator."""


def nearby_fractions(values: FloatArray) -> FractionArray:
    """Round to fractions with small denominators."""

    def nearby(value: float) -> Fraction:
        return Fraction(value).limit_denominator(_MAX_DENOMINATOR)

    return _each(nearby, values)


def exact_rows(coordinates: tuple[Any, ...]) -> FractionArray:
    """Put coordinates side by side, each an array of fractions or one whole number for all."""
    stacked = np.stack(np.broadcast_arrays(*coordinates), axis=1)
    return _each(Fraction, stacked)


def _each(function: Callable[[Any], Fraction], values: npt.NDArray[Any]) -> FractionArray:
    return np.asarray(np.frompyfunc(function, 1, 1)(values), dtype=object)
