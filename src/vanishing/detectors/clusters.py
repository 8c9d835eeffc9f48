"""Normal data as a union of pieces, each with an ideal of its own (mixture of ideals)."""

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from vanishing.arrays.blocks import limit_threads
from vanishing.arrays.namespace import FloatArray, IntArray

#: A piece needs this many rows per dimension for its relations to mean anything.
ROWS_PER_DIMENSION = 2
#: With fewer rows, threads of k-means wait for each other longer than they work.
ROWS_FOR_THREADS = 10_000


def resolutions_of(n_components: Any) -> list[int]:
    """Return the numbers of pieces that are asked for: one, or one a resolution."""
    numbers = np.atleast_1d(np.asarray(n_components))
    if numbers.ndim > 1 or not numbers.size or numbers.dtype.kind not in "iu" or min(numbers) < 1:
        raise ValueError(
            f"n_components must be a positive int or a sequence of them, got {n_components!r}"
        )
    return [int(k) for k in numbers]


def cluster(
    points: FloatArray, n_pieces: int, *, seed: int, counts: FloatArray | None = None
) -> IntArray:
    """Cluster points by k-means into at most ``n_pieces`` pieces 0, 1, ... without holes."""
    if n_pieces <= 1:
        return np.zeros(len(points), dtype=np.intp)
    n_threads = 1 if len(points) < ROWS_FOR_THREADS else None
    with limit_threads(n_threads, "openmp"), warnings.catch_warnings():
        # Fewer distinct points than pieces: there are then fewer pieces.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(n_pieces, n_init=1, random_state=seed)
        labels = means.fit(points, sample_weight=counts).labels_
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def split_into_pieces(
    points: FloatArray, n_pieces: int, *, seed: int, counts: FloatArray | None = None
) -> IntArray:
    """Cluster points; pieces with too few rows for their dimension join their neighbours.

    Parameters
    ----------
    points : array of shape (n_samples, n_dimensions)
    n_pieces : int
        Upper bound.
    seed : int
    counts : array of shape (n_samples,), optional
        How often each point counts. For the number of rows of a piece every row counts once.

    Returns
    -------
    int array of shape (n_samples,)
        Piece of each point, 0, 1, ... without holes.
    """
    n_samples, n_dimensions = points.shape
    fewest = ROWS_PER_DIMENSION * n_dimensions
    n_pieces = max(1, min(n_pieces, n_samples // fewest))
    labels = cluster(points, n_pieces, seed=seed, counts=counts)
    n_pieces = int(labels.max()) + 1
    centres = np.stack([points[labels == piece].mean(axis=0) for piece in range(n_pieces)])
    sizes = np.bincount(labels, minlength=n_pieces)
    for small in np.argsort(sizes, kind="stable"):
        alive = np.flatnonzero(sizes)
        if sizes[small] >= fewest or len(alive) == 1:
            continue  # it may have grown by a merge since the order was made
        others = alive[alive != small]
        nearest = others[np.argmin(np.sum((centres[others] - centres[small]) ** 2, axis=1))]
        labels[labels == small] = nearest
        sizes[nearest] += sizes[small]
        sizes[small] = 0
    return np.unique(labels, return_inverse=True)[1]


class ContrastDraw:
    """Draws rows of all components but one, out of all copies stacked on each other.

    Parameters
    ----------
    pieces : int array of shape (n_samples,)
        The same in each copy.
    n_copies : int
    seed : int
    """

    def __init__(self, pieces: IntArray, n_copies: int, seed: int) -> None:
        n_pieces = int(pieces.max()) + 1
        self.component = np.concatenate([i * n_pieces + pieces for i in range(n_copies)])
        self.sizes = np.bincount(self.component)
        # One order for all components, who begin at different places: shuffling each time takes
        # longer than the fits.
        self.order = np.random.default_rng(seed).permutation(len(self.component))

    def others(self, own: int, most: int) -> IntArray:
        """Return at most ``most`` rows that do not belong to component ``own``, sorted."""
        n_rows = len(self.order)
        places = (own * most + np.arange(min(n_rows, most + self.sizes[own]))) % n_rows
        drawn = self.order[places]
        return np.sort(drawn[self.component[drawn] != own][:most])
