"""An explanation in words and numbers, as pictures and pages write it."""

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.explain.result import BrokenEquation, Explanation
from vanishing.export.writing import as_given, changed_number

#: Shares that are this small beside the largest are rounding.
ROUNDING = 1e-12
UNCHANGED = "unchanged"
TYPICAL = (
    "A typical sample: it keeps the equations as well as nine of ten training samples do, and no "
    "feature adds to its score."
)


def chosen_features(shares: FloatArray, n_features: int) -> tuple[IntArray, IntArray]:
    """Return the features that are shown, largest share first, and the rest.

    Those with the largest shares of either sign are shown. Features without a share go into the
    rest; a rest of one is shown as well, since "1 other feature" would take as much space.
    """
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features}")
    sizes = np.abs(shares)
    order = np.argsort(-sizes, kind="stable")
    n_shown = min(n_features, int(np.sum(sizes > ROUNDING * sizes.max())))
    if n_shown and n_shown == len(shares) - 1:
        n_shown += 1
    shown, rest = order[:n_shown], order[n_shown:]
    return shown[np.argsort(-shares[shown], kind="stable")], rest


def written_values(explanation: Explanation, j: int) -> tuple[str, str]:
    """Write the value of a feature, and the mended one, which may be "unchanged"."""
    value, mended = float(explanation.sample[j]), float(explanation.reference[j])
    if not explanation.changed[j]:
        return as_given(value), UNCHANGED
    return changed_number(value, mended)


def written_change(explanation: Explanation, j: int) -> str:
    """Write the value of a feature and the mended one in short."""
    before, after = written_values(explanation, j)
    return before if after == UNCHANGED else f"{before} → {after}"


def written_equation(equation: BrokenEquation) -> str:
    """Write in short how far off an equation is."""
    times = f"{equation.times_typical:.3g} times as far off as usual"
    return f"{equation.part}, degree {equation.degree}: {times}"
