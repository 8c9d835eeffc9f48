"""Points on varieties."""

from math import isfinite
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.datasets.variety.catalogue import describe_variety, varieties
from vanishing.datasets.variety.sampler import RationalSampler


def make_variety(
    name: str,
    n_samples: int,
    *,
    noise: float = 0.0,
    exact: bool = False,
    random_state: int | np.random.Generator | None = 0,
) -> npt.NDArray[Any]:
    """Draw points on a variety whose equations, dimension and degree are known.

    Points are drawn uniformly by length, area or volume from the part of the variety that
    ``describe_variety(name).sampling`` names. There are two exceptions: of finitely many points
    each occurs equally often, up to one; and exact points are at rational parameters near those of
    uniform ones.

    Parameters
    ----------
    name : str
        One of :func:`varieties`; :func:`describe_variety` tells what is known of it.
    n_samples : int
    noise : float, default=0.0
        Standard deviation of Gaussian noise, added to every coordinate, in units of the size of
        the variety: the root mean square distance of its points from their mean. The points
        themselves are the same with and without noise.
    exact : bool, default=False
        Return points whose coordinates are fractions, so that they satisfy the equations exactly.
        They are known for all but those varieties that have no rational parametrization.
    random_state : int, numpy.random.Generator or None, default=0
        Seed, a generator, or None for other points each time.

    Returns
    -------
    array of shape (n_samples, n_features)
        In double precision, or of ``fractions.Fraction`` if ``exact``.

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.datasets import make_variety
    >>> X = make_variety("parabola", 100)
    >>> VanishingIdeal(max_degree=2, tol=1e-9).fit(X).basis_.degrees()
    array([2])
    >>> (x, y), *_ = make_variety("circle", 10, exact=True)
    >>> x**2 + y**2
    Fraction(1, 1)
    """
    variety = describe_variety(name)
    n_drawn = index(n_samples)
    if n_drawn < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_drawn}")
    if not (isfinite(noise) and noise >= 0):
        raise ValueError(f"noise must be a finite number ≥ 0, got {noise!r}")
    rng = np.random.default_rng(random_state)
    if not exact:
        points = variety.sampler.draw(rng, n_drawn)
        return points + noise * variety.size * rng.standard_normal(points.shape)
    if noise:
        raise ValueError(
            f"exact points have no noise, got noise={noise!r} and exact=True; leave one out"
        )
    if not isinstance(variety.sampler, RationalSampler):
        without = [each for each in varieties() if not describe_variety(each).rational]
        raise ValueError(
            f"{name!r} has no rational parametrization, so that exact=True cannot draw points on "
            f"it; that is so for {' and '.join(map(repr, without))} only"
        )
    return variety.sampler.draw_exact(rng, n_drawn)
