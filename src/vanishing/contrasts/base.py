"""What a contrast is."""

from abc import ABC, abstractmethod
from math import isfinite
from operator import index

import numpy as np
import numpy.typing as npt

from vanishing._xp import FloatArray, unmasked


class Contrast(ABC):
    """A way to make a second set of rows out of the first.

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
        rows = np.asarray(unmasked(X, "X"))
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
        n_drawn = len(rows) if n_samples is None else index(n_samples)
        if n_drawn < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_drawn}")
        return self.draw(rows, rng, n_drawn)

    @abstractmethod
    def draw(self, X: FloatArray, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw ``n_samples`` rows, after the arguments of ``make`` were checked."""


def check_number(name: str, value: float, *, zero: bool) -> None:
    """Raise if ``value`` is not a finite positive number (or zero, if that is allowed)."""
    if not (isfinite(value) and (value > 0 or (zero and value == 0))):
        raise ValueError(
            f"{name} must be a finite {'number ≥ 0' if zero else 'positive number'}, got {value!r}"
        )
