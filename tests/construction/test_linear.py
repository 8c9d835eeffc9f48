"""Linear ideals of many point sets at once."""

import numpy as np
import pytest

from vanishing import VanishingIdeal
from vanishing.construction.linear import PointSets, fit_linear


def sets(n_sets=5, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n_sets, n_features, n_features))
    return [
        rng.normal(size=(60 + 10 * i, n_features)) @ mixing[i] + rng.normal(size=n_features)
        for i in range(n_sets)
    ]


def measure(points):
    return PointSets(
        np.array([len(x) for x in points], dtype=float),
        np.stack([x.mean(axis=0) for x in points]),
        np.stack([np.cov(x.T, bias=True) for x in points]),
    )


def test_unions_have_the_moments_of_their_rows():
    points = sets()
    members = np.array([[1.0, 0, 1, 0, 1], [0, 1, 1, 0, 0]])
    joined = measure(points).join(members)
    for i, chosen in enumerate(members.astype(bool)):
        rows = np.vstack([x for x, taken in zip(points, chosen, strict=True) if taken])
        assert joined.n_rows[i] == len(rows)
        np.testing.assert_allclose(joined.means[i], rows.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(joined.covariances[i], np.cov(rows.T, bias=True), rtol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_ideals_are_those_of_single_fits(shared):
    points = sets()
    everything = np.vstack(points)
    contrasts = [everything if shared else everything[i::2] for i in range(len(points))]
    found = fit_linear(measure(points), measure(contrasts[:1] if shared else contrasts), 0.7)
    for x, contrast, batched in zip(points, contrasts, found, strict=True):
        single = VanishingIdeal(
            max_degree=1, tol=0.7, normalization="contrastive", reduction="gram"
        ).fit(x, contrast=contrast)
        assert batched is not None
        np.testing.assert_allclose(batched.trace[0].spectrum, single.trace_[0].spectrum, rtol=1e-9)
        for which in ("vanishing", "nonvanishing"):
            np.testing.assert_allclose(
                batched.basis.evaluate(everything, which=which),
                single.basis_.evaluate(everything, which=which),
                rtol=1e-7,
                atol=1e-7,
            )
        assert batched.stop_reason == single.stop_reason_
        assert batched.n_rows == len(x)


def test_what_rounding_hides_is_left_to_other_methods():
    points = sets()
    flat = points[0].copy()
    flat[:, 1:3] = 2 * flat[:, :1] + 1  # exact relations
    found = fit_linear(measure([flat, points[1]]), measure([np.vstack(points)]), 0.7)
    assert found[0] is None
    assert found[1] is not None
    assert fit_linear(measure(points[1:2]), measure([flat]), 0.7) == [None]
    constant = np.zeros_like(flat)
    assert fit_linear(measure([constant]), measure([constant]), 0.7) == [None]
