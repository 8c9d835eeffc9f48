"""Deviations from many linear ideals at once are those from one after the other."""

import numpy as np
import pytest

from vanishing.explain.view import LinearDeviations, LinearForms, WideForms
from vanishing.levels import SAME


def ideals_with_a_metric(n_ideals=7, n_coordinates=5, seed=0):
    """Orthonormal directions in coordinates w = W' z, fewer than all of them."""
    rng = np.random.default_rng(seed)
    metric = rng.normal(size=(n_coordinates, n_coordinates)) + 2 * np.eye(n_coordinates)
    ideals = []
    for j in range(n_ideals):
        rotation = np.linalg.qr(rng.normal(size=(n_coordinates, n_coordinates)))[0]
        slopes = metric @ rotation[:, : n_coordinates - j % 3]
        slopes[:, -1] *= 0.8
        ideals.append(LinearForms(slopes, slopes.T @ rng.normal(size=n_coordinates)))
    return ideals, metric


def one_after_the_other(ideals, z):
    return np.stack([np.sum((z @ each.slopes - each.offsets) ** 2, axis=1) for each in ideals], 1)


@pytest.fixture
def points():
    return np.random.default_rng(1).normal(size=(40, 5))


@pytest.mark.parametrize("with_metric", [True, False])
def test_deviations(points, with_metric):
    ideals, metric = ideals_with_a_metric()
    measure = LinearDeviations(ideals, metric if with_metric else None)
    expected = one_after_the_other(ideals, points)
    np.testing.assert_allclose(measure(points), expected, rtol=1e-10, atol=1e-11)


def test_far_points_lose_no_digits(points):
    ideals, metric = ideals_with_a_metric()
    far = points.copy()
    # Along a direction in which the first ideal that lacks one does not see anything.
    null = np.linalg.svd(ideals[1].slopes.T)[2][-1]
    far[::2] += 10 * np.sqrt(1 / SAME) * null
    found = LinearDeviations(ideals, metric)(far)
    np.testing.assert_allclose(found, one_after_the_other(ideals, far), rtol=1e-6)


def test_points_beyond_all_numbers_are_near_nothing(points):
    ideals, metric = ideals_with_a_metric()
    points[3] = 1e300
    with np.errstate(over="ignore", invalid="ignore"):
        found = LinearDeviations(ideals, metric)(points)
    assert not (found[3] < 1e300).any()
    np.testing.assert_allclose(found[4:], one_after_the_other(ideals, points[4:]), atol=1e-10)


@pytest.mark.parametrize("metric", [np.zeros((5, 5)), np.eye(5)], ids=["singular", "another"])
def test_a_metric_that_is_not_theirs_changes_nothing(points, metric):
    ideals, _ = ideals_with_a_metric()
    expected = one_after_the_other(ideals, points)
    np.testing.assert_allclose(LinearDeviations(ideals, metric)(points), expected, rtol=1e-9)


def test_other_libraries(points):
    torch = pytest.importorskip("torch")
    ideals, metric = ideals_with_a_metric()
    measure = LinearDeviations(ideals, metric)
    for _ in range(2):  # the second time with matrices that were moved before
        found = measure(torch.asarray(points)).numpy()
        np.testing.assert_allclose(found, measure(points), rtol=1e-12, atol=1e-12)


def test_gradients_of_sums_of_deviations(points):
    ideals, _ = ideals_with_a_metric()
    ideals.insert(2, LinearForms(np.zeros((5, 0)), np.zeros(0)))
    slopes = np.random.default_rng(2).normal(size=(40, 8))
    slopes[:, 4] = 0.0
    found = WideForms(ideals).pull_back(points, slopes)
    step = 1e-6
    for k, unit in enumerate(np.eye(5)):
        difference = one_after_the_other(ideals, points + step * unit)
        difference -= one_after_the_other(ideals, points - step * unit)
        expected = np.sum(slopes * difference, axis=1) / (2 * step)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-5, atol=1e-5)
