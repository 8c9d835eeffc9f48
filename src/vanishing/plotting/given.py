"""What displays of a fitted ideal are given, checked."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vanishing._xp import FloatArray, move_to_numpy
from vanishing.estimators import VanishingIdeal
from vanishing.estimators.inputs import new_table


def fitted_ideal(ideal: Any) -> VanishingIdeal:
    """Return a fitted VanishingIdeal, or raise."""
    if not isinstance(ideal, VanishingIdeal):
        raise TypeError(
            f"expected a fitted VanishingIdeal, got {type(ideal).__name__}; of a detector pass one "
            "of its ideals, such as detector.ideals_[0][0]"
        )
    check_is_fitted(ideal)
    return ideal


def points_of(ideal: VanishingIdeal, X: Any) -> FloatArray | None:
    """Return points of the width of the ideal as a NumPy array; None stays None."""
    if X is None:
        return None
    points: FloatArray = np.asarray(move_to_numpy(new_table(ideal, X)), dtype=np.float64)
    return points


def chosen_polynomials(ideal: VanishingIdeal, polynomials: Any) -> list[int]:
    """Return the vanishing polynomials that are asked for, all by default, or raise."""
    n_vanishing = ideal.basis_.count()
    if n_vanishing == 0:
        smallest = min(
            (float(s.spectrum[0]) for s in ideal.trace_ if len(s.spectrum)), default=np.nan
        )
        raise ValueError(
            f"nothing vanishes, so that there is no zero set: the smallest extent is "
            f"{smallest:.3g}; raise tol or max_degree"
        )
    if polynomials is None:
        return list(range(n_vanishing))
    chosen = [int(number) for number in np.atleast_1d(polynomials)]
    if not chosen or not all(0 <= number < n_vanishing for number in chosen):
        raise ValueError(
            f"polynomials must be numbers from 0 to {n_vanishing - 1}, at least one, got "
            f"{polynomials!r}"
        )
    return chosen
