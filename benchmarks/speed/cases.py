"""The data: points with known structure, seeds fixed.

The cases a, b and c are those on which the peers were measured (``peers.py``).
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

#: Rows that are drawn at a time, so that large samples can be written to a file piece by piece.
CHUNK = 50_000
#: Spread of the last direction of the Gaussian relative to the first: 0.85^i for 20 features.
SMALLEST_SPREAD = 0.85**19


def sphere(rows: int, features: int = 3) -> FloatArray:
    """Case a: the unit sphere, with noise 0.01."""
    rng = np.random.default_rng(1)
    points = rng.standard_normal((rows, features))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points + 0.01 * rng.standard_normal(points.shape)


def quadratic_image(rows: int, features: int = 10) -> FloatArray:
    """Case b: the 9 monomials of degree 1 and 2 in 3 latents, mixed, with noise 1e-3."""
    rng = np.random.default_rng(2)
    z = rng.uniform(-1, 1, (rows, 3))
    left, right = np.triu_indices(3)
    monomials = np.hstack([z, z[:, left] * z[:, right]])
    mixing = rng.standard_normal((monomials.shape[1], features)) / 3
    return monomials @ mixing + 1e-3 * rng.standard_normal((rows, features))


def gaussian(rows: int, features: int = 20) -> FloatArray:
    """Case c: a Gaussian with spreads 0.85^i along the columns of an orthogonal matrix.

    With other than 20 features the spreads fall from 1 to the same smallest one.
    """
    return np.concatenate(list(gaussian_chunks(rows, features)))


def gaussian_chunks(rows: int, features: int = 20) -> Iterator[FloatArray]:
    """Yield the rows of ``gaussian`` in chunks."""
    rng = np.random.default_rng(3)
    rotation = np.linalg.qr(rng.standard_normal((features, features))).Q
    spreads = SMALLEST_SPREAD ** (np.arange(features) / max(1, features - 1))
    for start in range(0, rows, CHUNK):
        n_rows = min(CHUNK, rows - start)
        yield (rng.standard_normal((n_rows, features)) * spreads) @ rotation


def contrast_chunks(like: FloatArray, rows: int) -> Iterator[FloatArray]:
    """Yield a round Gaussian with the mean and the mean variance of ``like``, in chunks."""
    rng = np.random.default_rng(4)
    center, scale = like.mean(axis=0), np.sqrt(like.var(axis=0).mean())
    for start in range(0, rows, CHUNK):
        n_rows = min(CHUNK, rows - start)
        yield center + scale * rng.standard_normal((n_rows, like.shape[1]))


def contrast(like: FloatArray, rows: int) -> FloatArray:
    """Return all rows of ``contrast_chunks``."""
    return np.concatenate(list(contrast_chunks(like, rows)))


CASES: dict[str, Callable[[int, int], FloatArray]] = {
    "sphere": sphere,
    "quadratic": quadratic_image,
    "gaussian": gaussian,
}
