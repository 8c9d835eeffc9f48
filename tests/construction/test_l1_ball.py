"""Least squares with few terms and in an ℓ1 ball, beside the plain definitions."""

import numpy as np
import pytest

from vanishing.construction.leading_terms import fit_in_ball, fit_with_few_terms


def problem(n_columns=8, seed=0):
    rng = np.random.default_rng(seed)
    R = np.triu(rng.standard_normal((n_columns, n_columns))) + 2 * np.eye(n_columns)
    return R, rng.standard_normal(n_columns)


def project_onto_ball(c, radius):
    """The nearest point of the ℓ1 ball, by its definition."""
    if np.abs(c).sum() <= radius:
        return c
    sizes = np.sort(np.abs(c))[::-1]
    excess = (np.cumsum(sizes) - radius) / np.arange(1, len(c) + 1)
    threshold = excess[np.flatnonzero(sizes > excess)[-1]]
    return np.sign(c) * np.maximum(np.abs(c) - threshold, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_each_fit_has_one_term_more_and_is_the_best_on_its_support(seed):
    R, target = problem(seed=seed)
    fits = list(fit_with_few_terms(R, target))
    supports = [np.flatnonzero(c) for _, c in fits]
    assert [len(support) for support in supports] == list(range(9))
    for (missing, c), support in zip(fits[1:], supports[1:], strict=True):
        assert np.linalg.norm(target - R @ c) == pytest.approx(missing, abs=1e-12)
        best = np.linalg.lstsq(R[:, support], target, rcond=None)[0]
        np.testing.assert_allclose(c[support], best, atol=1e-10)
    np.testing.assert_allclose(fits[-1][1], np.linalg.solve(R, target), atol=1e-10)
    all_missing = [missing for missing, _ in fits]
    assert all_missing == sorted(all_missing, reverse=True)


def test_a_term_that_explains_everything_comes_first():
    R, _ = problem()
    missing, c = list(fit_with_few_terms(R, 3 * R[:, 5]))[1]
    assert missing < 1e-12
    np.testing.assert_allclose(c, 3 * np.eye(8)[5], atol=1e-12)


def best_in_ball(R, target, radius):
    """The residual of the best fit in the ball, by projected gradients."""
    step, best = 1 / np.linalg.norm(R, 2) ** 2, np.zeros(len(target))
    for _ in range(10_000):
        best = project_onto_ball(best - step * R.T @ (R @ best - target), radius)
    return np.linalg.norm(R @ best - target)


@pytest.mark.parametrize("radius", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_fit_in_the_ball_is_better(seed, radius):
    R, target = problem(seed=seed)
    best = best_in_ball(R, target, radius)
    found = fit_in_ball(R, target, radius)
    assert np.abs(found).sum() <= radius * (1 + 1e-12)
    assert np.linalg.norm(R @ found - target) <= best * (1 + 1e-9)


def test_a_large_ball_holds_the_least_squares_fit():
    R, target = problem()
    found = fit_in_ball(R, target, 100.0)
    np.testing.assert_allclose(R @ found, target, atol=1e-9)
