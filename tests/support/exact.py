"""Values of polynomials in exact arithmetic, to judge those in floating point.

Every float is an integer times a power of two, so that sums and products of floats are exact in
Python's integers: an array here is an integer array and one exponent for all of its entries.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True)
class Exact:
    """The array ``digits * 2**exponent``; ``digits`` holds Python's integers."""

    digits: np.ndarray
    exponent: int

    @classmethod
    def of(cls, values) -> "Exact":
        values = np.asarray(values, dtype=np.float64)
        mantissas, exponents = np.frexp(values)
        lowest = int(exponents[values != 0].min(initial=0)) - 53
        digits = np.zeros(values.shape, dtype=object)
        for place in np.ndindex(values.shape):
            shift = int(exponents[place]) - 53 - lowest
            digits[place] = int(mantissas[place] * 2.0**53) << max(shift, 0)
        return cls(digits, lowest)

    def __add__(self, other: "Exact") -> "Exact":
        low = min(self.exponent, other.exponent)
        return Exact(
            self.digits * 2 ** (self.exponent - low) + other.digits * 2 ** (other.exponent - low),
            low,
        )

    def __mul__(self, other: "Exact") -> "Exact":
        return Exact(self.digits * other.digits, self.exponent + other.exponent)

    def __matmul__(self, other: "Exact") -> "Exact":
        return Exact(self.digits @ other.digits, self.exponent + other.exponent)

    def __neg__(self) -> "Exact":
        return Exact(-self.digits, self.exponent)

    def __getitem__(self, key) -> "Exact":
        return Exact(self.digits[key], self.exponent)

    def rms(self) -> np.ndarray:
        """Root mean square of each column, rounded once."""
        n_rows, n_columns = self.digits.shape
        sums = [sum(int(d) ** 2 for d in self.digits[:, j]) for j in range(n_columns)]
        scale = Fraction(2) ** (2 * self.exponent) / n_rows
        return np.array([_root(total * scale) for total in sums])


def _root(value: Fraction) -> float:
    """Square root of a fraction of any size."""
    if value == 0:
        return 0.0
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return float(np.sqrt(float(value / Fraction(4) ** shift))) * 2.0**shift


def stack(parts) -> Exact:
    low = min(part.exponent for part in parts)
    shifted = [part.digits * 2 ** (part.exponent - low) for part in parts]
    return Exact(np.concatenate(shifted, axis=1), low)


def vanishing_values(basis, X) -> Exact:
    """Values of the vanishing polynomials, exactly as their floating-point coefficients say."""
    X = Exact.of(X)
    n_rows = X.digits.shape[0]
    lower = Exact(np.full((n_rows, 1), 1, dtype=object), 0)
    first = last = lower
    found = []
    for degree, block in enumerate(basis.blocks, start=1):
        products = X[:, block.left] if degree == 1 else first[:, block.left] * last[:, block.right]
        candidates = products + -(lower @ Exact.of(block.projection))
        last = candidates @ Exact.of(block.nonvanishing)
        found.append(candidates @ Exact.of(block.vanishing))
        first = last if degree == 1 else first
        if last.digits.shape[1]:
            lower = stack([lower, last])
    return stack(found)
