"""Rows drawn from several contrasts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.contrasts.base import Contrast, check_number


@dataclass(frozen=True, init=False, repr=False)
class Mixture(Contrast):
    """Draw given shares of the rows from several contrasts, those of the first contrast first.

    The shares are met exactly, up to rounding to whole rows.

    Parameters
    ----------
    *contrasts : Contrast
    weights : sequence of float, optional
        Shares, up to a common factor; equal by default.

    Examples
    --------
    >>> from vanishing.contrasts import Mixture, Permuted, Uniform
    >>> Mixture(Permuted(), Uniform(), weights=[3, 1])
    Mixture(Permuted(), Uniform(margin=0.1), weights=(3.0, 1.0))
    """

    contrasts: tuple[Contrast, ...]
    weights: tuple[float, ...]

    def __init__(self, *contrasts: Contrast, weights: Sequence[float] | None = None) -> None:
        if not contrasts:
            raise ValueError("Mixture needs at least one contrast")
        for contrast in contrasts:
            if not isinstance(contrast, Contrast):
                raise TypeError(f"Mixture takes contrasts, such as Permuted(), got {contrast!r}")
        shares = (1.0,) * len(contrasts) if weights is None else tuple(map(float, weights))
        if len(shares) != len(contrasts):
            raise ValueError(
                f"weights must be as many as contrasts, got {len(shares)} weights for "
                f"{len(contrasts)} contrasts"
            )
        for share in shares:
            check_number("each of the weights", share, zero=False)
        object.__setattr__(self, "contrasts", contrasts)
        object.__setattr__(self, "weights", shares)

    def __repr__(self) -> str:
        return f"Mixture({', '.join(map(repr, self.contrasts))}, weights={self.weights})"

    def draw(self, X: FloatArray, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw from each contrast in turn."""
        numbers = _whole_shares(self.weights, n_samples)
        drawn = [
            contrast.draw(X, rng, int(number))
            for contrast, number in zip(self.contrasts, numbers, strict=True)
            if number
        ]
        return np.concatenate(drawn)


def _whole_shares(weights: Sequence[float], total: int) -> IntArray:
    """Split ``total`` in proportion to the weights; the largest remainders are rounded up."""
    exact = total * (np.asarray(weights) / np.sum(weights))
    whole: IntArray = np.floor(exact).astype(np.intp)
    largest = np.argsort(whole - exact, kind="stable")[: total - int(whole.sum())]
    whole[largest] += 1
    return whole
