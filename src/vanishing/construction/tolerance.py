"""Where vanishing ends: a fixed tolerance, or the widest gap of the spectrum."""

from typing import Literal

import numpy as np

from vanishing._xp import FloatArray

Tolerance = float | Literal["gap"]

#: Neighbouring extents that differ by less than this factor are not split.
NARROWEST_GAP = 5.0


def widest_gap(extents: FloatArray, noise: FloatArray, reference: float | None) -> float:
    """Choose a tolerance in the widest gap of a spectrum.

    Parameters
    ----------
    extents : array of shape (n_extents,)
        Ascending.
    noise : array of shape (n_extents,)
        Extents below this are rounding errors: they vanish in any case, and a gap above them says
        nothing about the noise of the data.
    reference : float or None
        An extent known not to vanish, from the degree below: it lets a degree vanish as a whole.

    Returns
    -------
    float
        The geometric middle of the gap; 0 if no gap is wide enough.
    """
    known = extents[extents > noise]
    if reference is not None and known.size and reference > known[-1]:
        known = np.append(known, reference)
    if known.size < 2:
        return 0.0
    gaps = known[1:] / known[:-1]
    widest = int(np.argmax(gaps))
    if gaps[widest] < NARROWEST_GAP:
        return 0.0
    return float(np.sqrt(known[widest] * known[widest + 1]))
