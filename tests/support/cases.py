"""Tables that drive the tests: normalizations, known ideals, array libraries."""

from dataclasses import dataclass
from typing import Any

import array_api_strict
import numpy as np
import pytest

from vanishing import VanishingIdeal

NORMALIZATIONS = ("vca", "coefficient", "gradient", "gradient-weighted", "contrastive")
REDUCTIONS = ("tsqr", "gram")


def tensor(x):
    """Numbers as a tensor of torch; tests that need one skip where it is not installed."""
    return pytest.importorskip("torch").asarray(np.array(x))


def to_numpy(x):
    """An array of any library as one of NumPy."""
    return x.numpy() if type(x).__module__ == "torch" else np.asarray(x)


BACKENDS: dict[str, Any] = {
    "numpy": np.asarray,
    "torch": tensor,
    "array_api_strict": lambda x: array_api_strict.asarray(np.array(x)),
}


def gaussian_contrast(X, n_samples=400, seed=99):
    """A Gaussian cloud around X, wider than it."""
    rng = np.random.default_rng(seed)
    spread = max(float(np.std(X)), 1e-300)
    return np.mean(X, axis=0) + 2 * spread * rng.standard_normal((n_samples, X.shape[1]))


def fit(X, normalization, *, contrast=None, **parameters):
    """Fit an ideal, with a Gaussian contrast where the normalization wants one."""
    if normalization == "contrastive" and contrast is None:
        contrast = gaussian_contrast(np.asarray(X))
    ideal = VanishingIdeal(normalization=normalization, **parameters)
    return ideal.fit(X, contrast=contrast)


def counts(ideal):
    """Numbers of vanishing and of nonvanishing polynomials, degree by degree."""
    return [(step.vanishing, step.nonvanishing) for step in ideal.trace_]


def norms_by_degree(values, degrees):
    """‖G_t(x)‖ for each degree t: the same for every basis of a degenerate spectrum."""
    return np.stack(
        [np.linalg.norm(values[:, degrees == d], axis=1) for d in np.unique(degrees)]
        or [np.zeros(len(values))],
        axis=1,
    )


@dataclass(frozen=True)
class KnownIdeal:
    """Points on a variety, with what must be found on them.

    ``hilbert`` is the number of nonvanishing polynomials of each degree, 1 first: the Hilbert
    function of the variety in affine space, whatever the normalization.
    """

    name: str
    points: np.ndarray
    hilbert: tuple[int, ...]
    off_points: np.ndarray

    @property
    def max_degree(self):
        return len(self.hilbert)


def _angles(n, seed):
    return np.random.default_rng(seed).uniform(0, 2 * np.pi, n)


def _circle(n=60):
    t = _angles(n, 1)
    return np.column_stack([np.cos(t), np.sin(t)])


def _ellipse(n=60):
    t = _angles(n, 2)
    return np.column_stack([1 + 2 * np.cos(t) - 0.3 * np.sin(t), -0.5 + 0.7 * np.sin(t)])


def _sphere(n=120):
    v = np.random.default_rng(3).standard_normal((n, 3))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def _twisted_cubic(n=60):
    t = np.random.default_rng(4).uniform(-1, 1, n)
    return np.column_stack([t, t**2, t**3])


def _two_lines(n=60):
    rng = np.random.default_rng(5)
    t, first = rng.uniform(-1, 1, n), rng.uniform(size=n) < 0.5
    return np.where(first[:, None], np.column_stack([t, 2 * t]), np.column_stack([t, 1 - t]))


def _segre(n=120):
    a, b, c, d = np.random.default_rng(6).uniform(-1, 1, (4, n))
    return np.column_stack([a * c, a * d, b * c, b * d])


def _random_points(n=12):
    return np.random.default_rng(7).uniform(-1, 1, (n, 2))


def _off(n_features, seed=8):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (25, n_features))


KNOWN_IDEALS = (
    KnownIdeal("circle", _circle(), (2, 2, 2), _off(2)),
    KnownIdeal("ellipse", _ellipse(), (2, 2, 2), _off(2)),
    KnownIdeal("sphere", _sphere(), (3, 5, 7), _off(3)),
    KnownIdeal("twisted cubic", _twisted_cubic(), (3, 3, 3), _off(3)),
    KnownIdeal("two lines", _two_lines(), (2, 2, 2), _off(2)),
    KnownIdeal("Segre variety", _segre(), (4, 9, 16), _off(4)),
    KnownIdeal("twelve points", _random_points(), (2, 3, 4, 2, 0), _off(2)),
)
