"""Points to start from: parts of a circle, known curves, contrasts made out of X."""

from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.contrasts import GaussianNoise, Permuted, Uniform
from vanishing.contrasts.base import Contrast
from vanishing.datasets import describe_variety, make_variety, varieties

#: Names of the curves in the plane that `make_variety` knows; single points are no curve.
CURVES = tuple(
    name
    for name in varieties()
    if describe_variety(name).n_features == 2 and describe_variety(name).dimension == 1
)
#: Angles between which the parts of the unit circle lie.
ARCS = {"arc": (-1.2, 1.2), "rest": (1.5, 2 * np.pi - 1.5)}
CONTRASTS: dict[str, Contrast] = {
    "permuted": Permuted(),
    "uniform": Uniform(margin=0.25),
    "moved": GaussianNoise(scale=0.5),
}
X_SOURCES = (*ARCS, *CURVES)
Y_SOURCES = (*ARCS, *CONTRASTS, *CURVES)


def scene(
    *, x: str | list[Any], y: str | list[Any], n_points: int, noise: float, seed: int
) -> dict[str, Any]:
    """Draw the points of both sets.

    Parameters
    ----------
    x, y : str or list of points
        A source, or the points themselves.
    n_points : int
        Of each set that is drawn.
    noise : float
        Standard deviation, in units of the size of the curve.
    seed : int

    Returns
    -------
    dict
        The lists "x" and "y".
    """
    X = np.asarray(x) if isinstance(x, list) else _on_curve(x, n_points, noise, (seed, 0))
    if isinstance(y, list):
        Y = np.asarray(y)
    elif y in CONTRASTS:
        rng = np.random.default_rng((seed, 1))
        Y = CONTRASTS[y].make(X, rng, n_points) if len(X) else X
    else:
        Y = _on_curve(y, n_points, noise, (seed, 1))
    return {"x": X.tolist(), "y": Y.tolist()}


def _on_curve(name: str, n_points: int, noise: float, seed: tuple[int, int]) -> FloatArray:
    rng = np.random.default_rng(seed)
    if name not in ARCS:
        return make_variety(name, n_points, noise=noise, random_state=rng)
    angle = rng.uniform(*ARCS[name], n_points)
    exact = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(exact + noise * rng.standard_normal(exact.shape))
