"""Pieces of the data: clusters that are large enough for their dimension."""

from itertools import combinations

import numpy as np
import pytest

from vanishing import VanishingIdeal
from vanishing.detectors.mixture import (
    find_clusterings,
    find_clusters,
    find_large_clusters,
    fit_clusters,
)


def blobs(sizes, n_dimensions=3, seed=0):
    rng = np.random.default_rng(seed)
    centres = 20 * rng.standard_normal((len(sizes), n_dimensions))
    return np.vstack(
        [c + rng.standard_normal((n, n_dimensions)) for c, n in zip(centres, sizes, strict=True)]
    )


def test_clusters_are_found():
    labels = find_large_clusters(blobs([50, 60, 70]), 3, seed=0)
    assert sorted(np.bincount(labels).tolist()) == [50, 60, 70]
    assert len(set(labels[:50])) == 1


@pytest.mark.parametrize("small", [[4], [3, 4, 5], [1, 2, 3, 4, 5]])
def test_small_clusters_are_merged(small):
    labels = find_large_clusters(blobs([100, 100, *small]), 2 + len(small), seed=0)
    sizes = np.bincount(labels)
    assert sizes.min() >= 2 * 3
    assert sizes.sum() == 200 + sum(small)
    assert len(sizes) >= 2


def test_fewer_distinct_points_than_clusters():
    labels = find_large_clusters(np.repeat(np.eye(2), 50, axis=0), 10, seed=0)
    assert np.bincount(labels).tolist() == [50, 50]


@pytest.mark.parametrize(("n_rows", "n_clusters"), [(5, 4), (100, 1), (12, 50)])
def test_never_more_clusters_than_the_rows_carry(n_rows, n_clusters):
    labels = find_large_clusters(blobs([n_rows]), n_clusters, seed=0)
    assert labels.max() + 1 <= max(1, min(n_clusters, n_rows // (2 * 3)))
    assert set(labels) == set(range(labels.max() + 1))


def test_two_clusters_are_told_apart():
    labels = find_clusters(blobs([50, 60]), 2, seed=0)
    assert sorted(np.bincount(labels).tolist()) == [50, 60]
    np.testing.assert_array_equal(find_clusters(blobs([50, 60]), 1, seed=0), 0)


def test_repeated_numbers_are_starts_that_share_a_weight():
    points = np.random.default_rng(0).uniform(size=(400, 2))
    found = find_clusterings(points, (1, 8, 8, 20), seed=3)
    assert [weight for _, weight in found] == [1, 0.5, 0.5, 1]
    for (labels, _), (n_clusters, seed) in zip(
        found, [(1, 3), (8, 3), (8, 4), (20, 3)], strict=True
    ):
        np.testing.assert_array_equal(labels, find_large_clusters(points, n_clusters, seed=seed))


@pytest.mark.parametrize(
    ("resolutions", "weights"),
    [
        ((1, 50), [1, 1]),
        ((50, 200), [2]),
        ((50, 50, 200), [1, 1]),
        ((1, 1, 50, 200, 200, 200), [1, 2 / 3, 2 / 3, 2 / 3]),
    ],
)
def test_resolutions_that_few_rows_make_equal_add_their_weights(resolutions, weights):
    points = np.random.default_rng(0).uniform(size=(60, 2))  # 15 clusters at most
    found = find_clusterings(points, resolutions, seed=0)
    assert [weight for _, weight in found] == pytest.approx(weights)


def test_starts_that_find_the_same_clusters_are_one():
    found = find_clusterings(np.repeat(np.eye(2), 50, axis=0), (1, 2, 9, 9), seed=0)
    labels = [labels for labels, _ in found]
    assert not any(np.array_equal(a, b) for a, b in combinations(labels, 2))
    assert sum(weight for _, weight in found) == 3


def test_a_cluster_that_grew_does_not_save_the_next_small_one():
    fewest = 2 * 3
    sizes = [fewest // 2, fewest - fewest // 2, fewest - 1, 5 * fewest]
    places = np.array([[0.0, 0, 0], [30, 0, 0], [500, 0, 0], [600, 0, 0]])
    rng = np.random.default_rng(0)
    points = np.vstack(
        [place + rng.normal(size=(n, 3)) for place, n in zip(places, sizes, strict=True)]
    )
    labels = find_large_clusters(points, 4, seed=0)
    assert sorted(np.bincount(labels).tolist()) == [fewest, 6 * fewest - 1]


def test_deviations_are_mean_squares_in_units_of_the_spread():
    points, labels = blobs([80, 120]), np.repeat([0, 1], [80, 120])
    template = VanishingIdeal(max_degree=1, tol=10.0)
    for label, component in enumerate(
        fit_clusters(points, labels, None, template, smallest_scale=0.0)
    ):
        values = component.ideal.basis_.evaluate(points[labels == label])
        z = (values - values.mean(axis=0)) / values.std(axis=0)
        deviations = (values - component.center) ** 2 @ component.weights
        np.testing.assert_allclose(deviations, np.mean(z**2, axis=1))
