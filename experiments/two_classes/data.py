"""Two classes on one surface, as in Figure 1, and their equations under two normalizations."""

import numpy as np
from sklearn.metrics import roc_auc_score

from vanishing import VanishingIdeal

#: The surface V_H is z = 1 - x² (further coordinates 0); class X lies along y = 0 and class Y along
#: y = SLOPE x. Points scatter more within the surface than off it, as images of a class differ
#: more from each other than from images.
SLOPE, WITHIN, OFF = -0.8, 0.1, 0.05
#: An equation vanishes if it is at most this large on X, in root mean square, where it has size 1.
TOL = 0.25
#: Where polynomials have size 1.
RANDOM, OTHER = "random points", "the other class"


def on_surface(x, y):
    """Return the points of V_H above (x, y), in three dimensions."""
    x, y = np.broadcast_arrays(x, y)
    return np.stack([x, y, 1 - x**2], axis=-1)


def sample(rng, number, n, slope):
    """Draw points of a class."""
    x = rng.uniform(-1, 1, number)
    y = slope * x + WITHIN * rng.standard_normal(number)
    points = OFF * rng.standard_normal((number, n))
    points[:, :2] = 0
    points[:, :3] += on_surface(x, y)
    return points


def fit(seed, n, n_points, where):
    """Fit equations of X with size 1 on random points or on Y; draw unseen points of both."""
    rng = np.random.default_rng(seed)
    X, Y = sample(rng, n_points, n, 0), sample(rng, n_points, n, SLOPE)
    Z = rng.uniform(-1, 1, (n_points, n))
    ideal = VanishingIdeal(max_degree=2, tol=TOL, normalization="contrastive")
    ideal.fit(X, contrast=Z if where == RANDOM else Y)
    return ideal, sample(rng, 1000, n, 0), sample(rng, 1000, n, SLOPE)


def best_equation(ideal):
    """Return the number of the equation that holds best on X."""
    return int(np.argmin(ideal.extents_))


def auc(of_X, of_Y):
    """Return the share of pairs in which the point of Y has the larger value."""
    is_Y = np.repeat([0, 1], [len(of_X), len(of_Y)])
    return float(roc_auc_score(is_Y, np.concatenate([of_X, of_Y])))
