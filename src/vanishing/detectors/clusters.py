"""Normal data as a union of clusters, each with an ideal of its own."""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from vanishing.arrays.blocks import limit_threads
from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.data.source import ArraySource
from vanishing.detectors.sample_weights import mean_and_variance, take_weights
from vanishing.explain.view import Component
from vanishing.ideal import VanishingIdeal, find_smallest_extent

# --- Clusters -------------------------------------------------------------------------------------

#: A cluster needs this many rows per dimension for its relations to mean anything.
ROWS_PER_DIMENSION = 2
#: With fewer rows, threads of k-means wait for each other longer than they work.
ROWS_FOR_THREADS = 10_000


def resolutions_of(n_components: Any) -> list[int]:
    """Return the numbers of clusters that are asked for: one, or one for each resolution."""
    numbers = np.atleast_1d(np.asarray(n_components))
    if numbers.ndim > 1 or not numbers.size or numbers.dtype.kind not in "iu" or min(numbers) < 1:
        raise ValueError(
            f"n_components must be a positive int or a sequence of them, got {n_components!r}"
        )
    return [int(k) for k in numbers]


def find_clusters(
    points: FloatArray, n_clusters: int, *, seed: int, sample_weight: FloatArray | None = None
) -> IntArray:
    """Label points by k-means with at most ``n_clusters`` labels 0, 1, ... without holes."""
    if n_clusters <= 1:
        return np.zeros(len(points), dtype=np.intp)
    n_threads = 1 if len(points) < ROWS_FOR_THREADS else None
    with limit_threads(n_threads, "openmp"), warnings.catch_warnings():
        # Fewer distinct points than clusters: there are then fewer clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(n_clusters, n_init=1, random_state=seed)
        labels = means.fit(points, sample_weight=sample_weight).labels_
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def find_clusterings(
    points: FloatArray,
    resolutions: Sequence[int],
    *,
    seed: int,
    sample_weight: FloatArray | None = None,
) -> list[tuple[IntArray, float]]:
    """Cluster points at several resolutions, and from several starts where a number is repeated.

    Returns different labels of the points with their weights: every resolution has weight 1, which
    its starts share. The seed is raised by one for each further start.
    """
    starts: dict[int, int] = {}
    weights: dict[int, int] = {}
    # Few rows carry few clusters, and several resolutions may come out as the same.
    for number, times in Counter(resolutions).items():
        most = min(number, count_large_clusters(points))
        starts[most] = max(starts.get(most, 1), times if most > 1 else 1)
        weights[most] = weights.get(most, 0) + 1
    found: list[tuple[IntArray, float]] = []
    for most, n_starts in starts.items():
        for start in range(n_starts):
            labels = find_large_clusters(
                points, most, seed=seed + start, sample_weight=sample_weight
            )
            weight = weights[most] / n_starts
            same = [i for i, (other, _) in enumerate(found) if np.array_equal(labels, other)]
            if same:
                found[same[0]] = (labels, found[same[0]][1] + weight)
            else:
                found.append((labels, weight))
    return found


def count_large_clusters(points: FloatArray) -> int:
    """Return how many clusters of points can have enough rows for their dimension."""
    n_samples, n_dimensions = points.shape
    return max(1, int(n_samples) // (ROWS_PER_DIMENSION * int(n_dimensions)))


def find_large_clusters(
    points: FloatArray, n_clusters: int, *, seed: int, sample_weight: FloatArray | None = None
) -> IntArray:
    """Label points; clusters with too few rows for their dimension join their neighbours.

    Labels are 0, 1, ... without holes. The number of rows of a cluster does not depend on weights.
    """
    fewest = ROWS_PER_DIMENSION * points.shape[1]
    n_clusters = min(n_clusters, count_large_clusters(points))
    labels = find_clusters(points, n_clusters, seed=seed, sample_weight=sample_weight)
    n_clusters = int(labels.max()) + 1
    centers = np.stack([points[labels == label].mean(axis=0) for label in range(n_clusters)])
    sizes = np.bincount(labels, minlength=n_clusters)
    for small in np.argsort(sizes, kind="stable"):
        alive = np.flatnonzero(sizes)
        if sizes[small] >= fewest or len(alive) == 1:
            continue  # it may have grown by a merge since the order was made
        others = alive[alive != small]
        nearest = others[np.argmin(np.sum((centers[others] - centers[small]) ** 2, axis=1))]
        labels[labels == small] = nearest
        sizes[nearest] += sizes[small]
        sizes[small] = 0
    return np.unique(labels, return_inverse=True)[1]


# --- The ideal of each cluster --------------------------------------------------------------------

#: With more rows to a candidate, unseen rows score as those that were fitted to.
ROWS_PER_CANDIDATE_TO_TRUST = 50
#: With fewer rows, none can be left out.
FEWEST_ROWS = 10


def fit_clusters(
    points: FloatArray,
    labels: IntArray,
    contrast: FloatArray | None,
    template: VanishingIdeal,
    *,
    smallest_scale: float,
    sample_weight: FloatArray | None = None,
) -> list[Component]:
    """Fit an ideal to each cluster; clusters on which nothing vanishes are left out.

    All clusters have the same contrast. D of a component is the mean square of its polynomials in
    units of their spread, which is at least ``smallest_scale`` in units of the normalization: a
    cluster with few rows satisfies equations exactly that hold by chance.
    """
    # Sources, which are not checked again for every cluster.
    other = None
    if contrast is not None and template.needs_contrast:
        other = ArraySource(contrast)
    components = []
    for label in np.unique(labels):
        own = labels == label
        rows, own_weight = points[own], take_weights(sample_weight, own)
        ideal: VanishingIdeal = clone(template)
        ideal.fit_part(ArraySource(rows), other, sample_weight=own_weight)
        if ideal.basis_.count():
            mean, variance = mean_and_variance(ideal.basis_.evaluate(rows), own_weight)
            components.append(scale_component(ideal, mean, np.sqrt(variance + smallest_scale**2)))
    if not components:
        check_vanishing(ideal)
    return components


def scale_component(ideal: VanishingIdeal, center: FloatArray, scale: FloatArray) -> Component:
    """Return a component whose D is the mean square of (g - center) / scale."""
    return Component(ideal, center, scale, 1 / (len(scale) * scale**2) if len(scale) else scale)


def are_trusted(components: list[Component], n_rows: int) -> bool:
    """Whether rows that were fitted to score as new ones do, or are too few to tell."""
    n_candidates = sum(step.candidates for each in components for step in each.ideal.trace_)
    return n_rows < FEWEST_ROWS or n_rows >= ROWS_PER_CANDIDATE_TO_TRUST * n_candidates


class NothingVanishesError(ValueError):
    """No polynomial is below the tolerance; ``smallest`` is the smallest extent there is."""

    def __init__(self, smallest: float, tol: float | str) -> None:
        super().__init__(smallest, tol)  # so that it can be sent between processes
        self.smallest = smallest
        self.tol = tol

    def __str__(self) -> str:
        return (
            f"no polynomial vanishes on X: the smallest extent is {self.smallest:.3g}, over "
            f"tol={self.tol}; raise tol or max_degree of the ideal, or choose another contrast"
        )


def check_vanishing(ideal: VanishingIdeal) -> None:
    """Raise if nothing vanishes under a fitted ideal."""
    if not ideal.basis_.count():
        raise NothingVanishesError(find_smallest_extent(ideal), ideal.tol)
