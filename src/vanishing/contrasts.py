"""Contrasts: a second set of points, made from the data, that breaks its relations."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import FloatArray, IntArray, unmask
from vanishing.arrays.parameters import check_real, check_whole

__all__ = ["Contrast", "GaussianNoise", "Mixture", "Permuted", "Uniform"]


class Contrast(ABC):
    """A way to make a second set of rows from the first.

    Subclasses are small frozen dataclasses and define ``draw``.
    """

    def make(
        self, X: npt.ArrayLike, rng: np.random.Generator, n_samples: int | None = None
    ) -> FloatArray:
        """Draw a second set.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Finite; left as it is.
        rng : numpy.random.Generator
        n_samples : int, optional
            Number of rows to draw, by default as many as X has.

        Returns
        -------
        array of shape (n_samples, n_features)
            In the dtype of X, if that is a floating one, in double precision otherwise.
        """
        rows = np.asarray(unmask(X, "X"))
        if rows.ndim != 2 or rows.size == 0:
            raise ValueError(
                "X must be 2-D, of shape (n_samples, n_features), with at least one row and one "
                f"column, got shape {rows.shape}"
            )
        if rows.dtype.kind not in "fiub":
            raise ValueError(f"X must hold real numbers, got dtype {rows.dtype}")
        if rows.dtype.kind != "f":
            rows = rows.astype(np.float64)
        if not np.isfinite(rows).all():
            raise ValueError("X contains NaN or infinity; impute or drop the rows that do")
        if not isinstance(rng, np.random.Generator):
            raise TypeError(
                f"rng must be a numpy.random.Generator, got {rng!r}; make one from a seed by "
                "numpy.random.default_rng(seed)"
            )
        n_drawn = len(rows) if n_samples is None else check_whole("n_samples", n_samples)
        return self.draw(rows, rng, n_drawn)

    @abstractmethod
    def draw(self, X: FloatArray, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw ``n_samples`` rows, after the arguments of ``make`` were checked."""


@dataclass(frozen=True)
class GaussianNoise(Contrast):
    """Add independent Gaussian noise to each row, in units of the columns' standard deviations.

    Rows come in the order of X if as many are drawn as X has, otherwise at random, each equally
    often up to one. Constant columns have standard deviation 0 and stay as they are.

    Parameters
    ----------
    scale : float, default=1.0
        Standard deviation of the noise, divided by that of the column.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_real("scale", self.scale, zero=False)

    def draw(self, X: FloatArray, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Choose rows and move them."""
        numbers = np.arange(len(X))
        if n_samples != len(X):
            repeats = -(-n_samples // len(X))
            numbers = np.concatenate([rng.permutation(len(X)) for _ in range(repeats)])[:n_samples]
        Y = X[numbers]
        # The mean of equal numbers may be off by a rounding error: no noise of that size.
        varies = X.min(axis=0) < X.max(axis=0)
        spread = np.where(varies, X.std(axis=0, dtype=np.float64), 0.0)
        Y += (self.scale * spread * rng.standard_normal(Y.shape)).astype(X.dtype, copy=False)
        return Y


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
                f"there must be as many weights as contrasts, got {len(shares)} weights for "
                f"{len(contrasts)} contrasts"
            )
        for share in shares:
            check_real("each of the weights", share, zero=False)
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


@dataclass(frozen=True)
class Permuted(Contrast):
    """Shuffle each column independently.

    More rows than X has are made of several shuffles, fewer are the first rows of one: every value
    of a column is drawn equally often, up to one.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.contrasts import Permuted
    >>> X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])
    >>> Y = Permuted().make(X, np.random.default_rng(0))
    >>> np.sort(Y, axis=0)
    array([[ 1., 10.],
           [ 2., 20.],
           [ 3., 30.],
           [ 4., 40.]])
    """

    def draw(self, X: FloatArray, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Shuffle as often as the rows require."""
        Y = np.empty((n_samples, X.shape[1]), dtype=X.dtype)
        for start in range(0, n_samples, len(X)):
            part = Y[start : start + len(X)]
            part[...] = rng.permuted(X, axis=0)[: len(part)]
        return Y


@dataclass(frozen=True)
class Uniform(Contrast):
    """Draw each column uniformly between its least and greatest value on X, and a little beyond.

    The box of a constant column has width 0: it stays constant.

    Parameters
    ----------
    margin : float, default=0.1
        By how much the box is widened on each side, as a share of its width.
    """

    margin: float = 0.1

    def __post_init__(self) -> None:
        check_real("margin", self.margin, zero=True)

    def draw(self, X: FloatArray, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw from the widened box."""
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        beyond = self.margin * (high - low)
        Y = rng.uniform(low - beyond, high + beyond, (n_samples, X.shape[1]))
        return Y.astype(X.dtype, copy=False)
