"""Points and values of polynomials in exact arithmetic."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from vanishing._xp import FloatArray, unmasked


@dataclass(frozen=True, eq=False)
class ExactPoints:
    """Rational points; each as integer coordinates over one denominator.

    Parameters
    ----------
    numerators : list of lists of int, (n_points, n_features)
    denominators : list of int, (n_points,)
    """

    numerators: list[list[int]]
    denominators: list[int]

    @classmethod
    def of(cls, points: Any, *, denominator: int, n_features: int) -> "ExactPoints":
        """Read points of any kind that ``to_rational`` takes."""
        table = np.asarray(unmasked(points, "points"), dtype=object)
        if table.ndim != 2 or table.shape[1] != n_features or not len(table):
            raise ValueError(
                f"expected points of shape (n_samples, {n_features}) with at least one row, "
                f"got shape {table.shape}"
            )
        if denominator < 1:
            raise ValueError(f"denominator must be a positive integer, got {denominator}")
        numerators, denominators = [], []
        for row in table.tolist():
            coordinates = [_exact(value) / denominator for value in row]
            common = lcm(*(c.denominator for c in coordinates))
            numerators.append([int(c * common) for c in coordinates])
            denominators.append(common)
        return cls(numerators, denominators)

    def __len__(self) -> int:
        return len(self.denominators)

    def root_mean_squares(self) -> FloatArray:
        """Return the size of each coordinate; of all together where one is always zero."""
        rounded = [
            [numerator / denominator for numerator in row]
            for row, denominator in zip(self.numerators, self.denominators, strict=True)
        ]
        squares = np.mean(np.square(rounded), axis=0)
        squares[squares == 0] = squares.mean() or 1.0
        return np.asarray(np.sqrt(squares))

    def values(
        self, exponents: Sequence[Sequence[int]], coefficients: Sequence[Fraction]
    ) -> Iterator[Fraction]:
        """Evaluate one polynomial exactly, point by point.

        Parameters
        ----------
        exponents : sequence of shape (n_monomials, n_features)
        coefficients : sequence of Fraction
            One a monomial.
        """
        terms = [(a, c) for a, c in zip(exponents, coefficients, strict=True) if c]
        scale = lcm(*(c.denominator for _, c in terms))
        # Homogenized, everything is an integer: c x^a = c p^a d^(t - |a|) / d^t for x = p/d.
        degree = max((sum(a) for a, _ in terms), default=0)
        integer_terms = [(a, int(c * scale), degree - sum(a)) for a, c in terms]
        for row, denominator in zip(self.numerators, self.denominators, strict=True):
            total = 0
            for powers, coefficient, missing in integer_terms:
                value = coefficient * denominator**missing
                for numerator, power in zip(row, powers, strict=True):
                    if power:
                        value *= numerator**power
                total += value
            yield Fraction(total, scale * denominator**degree)


def _exact(value: Any) -> Fraction:
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"expected points of fractions, integers or finite floats, got {value!r}"
        ) from error
