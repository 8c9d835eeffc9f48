"""Normal data as a union of clusters, each with an ideal of its own."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from vanishing.arrays.blocks import limit_threads
from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.data.source import ArraySource
from vanishing.detectors.sample_weights import mean_and_variance, take_weights
from vanishing.detectors.threshold import can_leave_out
from vanishing.explain.view import Component
from vanishing.ideal import VanishingIdeal, find_smallest_extent
from vanishing.levels import BLOCK

# --- Clusters -------------------------------------------------------------------------------------


def find_clusters(
    points: FloatArray, n_clusters: int, *, seed: int, sample_weight: FloatArray | None = None
) -> IntArray:
    """Label points by k-means with at most ``n_clusters`` labels 0, 1, ... without holes."""
    if n_clusters <= 1:
        return np.zeros(len(points), dtype=np.intp)
    # With less work than a block, threads wait for each other longer than they work.
    n_threads = 1 if points.size * n_clusters < BLOCK else None
    with limit_threads(n_threads, "openmp"), warnings.catch_warnings():
        # Fewer distinct points than clusters: there are then fewer clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(n_clusters, n_init=1, random_state=seed)
        labels = means.fit(points, sample_weight=sample_weight).labels_
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


# --- The ideal of each cluster --------------------------------------------------------------------

#: With more rows to an unknown, unseen rows score as those that were fitted to: their squares are
#: two fiftieths larger.
ROWS_TO_TRUST = 50


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
    return not can_leave_out(n_rows) or n_rows >= ROWS_TO_TRUST * n_candidates


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
