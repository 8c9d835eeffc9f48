"""Data of any size and in any units: exact relations are neither lost nor invented."""

import os
import warnings

import numpy as np
import pytest
from benchmarks.campaigns.sizes import cases, verdict
from tests.support.cases import NORMALIZATIONS, REDUCTIONS, counts, fit, gaussian_contrast

from vanishing import VanishingIdeal

#: All of the 3,600 fits: ``VANISHING_SIZES=1 pytest tests/test_sizes.py``.
EVERY = int(os.environ.get("VANISHING_SIZES", "23"))


def axes(seed=0):
    """Points on the coordinate axes of the plane: xy = 0."""
    a, b = np.random.default_rng(seed).uniform(-1, 1, (2, 25))
    return np.vstack([np.column_stack([a, 0 * a]), np.column_stack([0 * b, b])])


def positive_axes():
    return np.abs(axes()) * [1.0, 2.0]


@pytest.mark.parametrize("products", ["independent", "all"])
@pytest.mark.parametrize("points", [axes, positive_axes])
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e-3, 1e3, 1e4, 1e5, 1e7, 1e10, 1e20])
def test_coefficients_do_not_lose_a_relation(scale, points, products):
    ideal = fit(scale * points(), "coefficient", tol=0.0, max_degree=4, products=products)
    assert [f for _, f in counts(ideal)] == [2, 2, 2, 2]
    assert counts(ideal)[1] == (1, 2)
    exponents, coefficients = ideal.basis_.expand()
    quadric = coefficients[:, ideal.basis_.degrees() == 2][:, 0]
    # As large as it can be told: rounding errors of the constant are about eps·scale².
    assert quadric[exponents.tolist().index([1, 1])] != 0
    if scale <= 1e5:
        np.testing.assert_allclose(np.linalg.norm(quadric), 1, rtol=1e-4)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("offset", [0.0, 0.5, 3.0])
@pytest.mark.parametrize(
    "units", [(100, 0.001, 0.1), (1e-7, 1e6, 1.0), (1e-9, 1e9, 1.0), (1e5, 1e5, 1e5)]
)
def test_units_of_columns_neither_make_nor_hide_relations(units, offset, normalization):
    X = np.random.default_rng(1).standard_normal((80, 3))
    sphere = X / np.linalg.norm(X, axis=1, keepdims=True) + offset
    parabola = np.column_stack([X[:, :2], X[:, 0] ** 2]) + offset
    for points, expected in ((sphere, [3, 5, 7]), (parabola, [3, 5, 7]), (X, [3, 6, 10])):
        contrast = None
        if normalization == "contrastive":
            contrast = gaussian_contrast(points) * units
        ideal = fit(points * units, normalization, contrast=contrast, tol=0.0, max_degree=3)
        assert [f for _, f in counts(ideal)] == expected


@pytest.mark.parametrize("normalization", ["coefficient", "gradient-weighted"])
def test_both_ways_to_the_form_agree(normalization, monkeypatch):
    """On data of ordinary size, where the plain way is accurate too."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(200)
    X += [0.5, -1.0, 0.0]
    plain = fit(X, normalization, tol=0.1, max_degree=4)
    monkeypatch.setattr("vanishing.construction.normalizations.ORDINARY", -1.0)
    graded = fit(X, normalization, tol=0.1, max_degree=4)
    assert counts(graded) == counts(plain)
    for one, other in zip(graded.trace_, plain.trace_, strict=True):
        np.testing.assert_allclose(one.spectrum, other.spectrum, rtol=1e-9)
    np.testing.assert_allclose(graded.transform(X), plain.transform(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("constant", [0.0, 1e-9, 5.0])
@pytest.mark.parametrize("units", [(1.0, 1.0), (64.0, 64.0), (1e9, 1e9), (2.0**20, 2.0**45)])
@pytest.mark.parametrize("construction", ["vca", "abm-gradient"])
def test_a_constant_column_leaves_extents_as_they_are(construction, units, constant):
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 200)
    X = np.column_stack([x, x**2 + 0.01 * rng.standard_normal(200)]) * units

    def extents(points):
        ideal = VanishingIdeal(
            construction=construction, normalization="gradient-weighted", max_degree=2, tol=0
        )
        return ideal.fit(points).trace_[1].spectrum

    with_constant = np.column_stack([X, np.full(200, constant)])
    np.testing.assert_allclose(extents(with_constant), extents(X), rtol=1e-9)


@pytest.mark.parametrize("n_rows", [200, 20_000])
@pytest.mark.parametrize("constant", [1e-9, 0.1, 0.7, 1234.5])
def test_constant_columns_are_far_from_the_bound_on_rounding_errors(constant, n_rows):
    """In long sums of equal numbers, rounding errors add up; how many depends on the processor."""
    X = np.random.default_rng(4).standard_normal((n_rows, 3))
    X[:, 2] = constant
    step = VanishingIdeal(max_degree=1, tol=0).fit(X).trace_[0]
    assert step.vanishing == 1
    assert step.rank_margin > 1e6


def test_border_bases_keep_size_1_beside_columns_of_other_units():
    """Coefficients that are rounding errors are set to zero, and must not count for the size."""
    X = np.random.default_rng(5).integers(-4, 5, (12, 3)) / 10
    X[:, 0] = -0.1
    ideal = VanishingIdeal(construction="abm-gradient", max_degree=1, tol=0)
    exponents, coefficients = ideal.fit(X * [2.0**29, 2.0**-25, 2.0**-19]).basis_.expand()
    linear = coefficients[exponents.sum(axis=1) == 1]
    np.testing.assert_allclose(np.linalg.norm(linear, axis=0), 1, rtol=1e-9)


def test_coefficients_of_data_in_parts_do_not_depend_on_units():
    X = np.random.default_rng(3).standard_normal((126, 3))
    X[:, 2] = X[:, 0] ** 2
    ideal = VanishingIdeal(normalization="coefficient", tol=1e-6, max_degree=3)
    for row in 1e6 * X:
        ideal.partial_fit(row[None])
    assert [f for _, f in counts(ideal)] == [3, 5, 7]


@pytest.mark.parametrize("case", list(cases())[::EVERY], ids=str)
def test_campaign(case):
    """The same counts or a clear error; no stray warning."""
    found = verdict(case)
    if found.startswith("error"):
        extreme = not 1e-80 < case.size < 1e80
        assert extreme
        what = "too large" if case.size > 1 else "too small"
        assert what in found
        assert "rescale" in found or "standardize" in found
    else:
        assert found == "same"


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("size", [1e-90, 1e90])
def test_sizes_that_can_be_squared_are_taken(size, reduction):
    X = size * axes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ideal = VanishingIdeal(tol=0.0, reduction=reduction).fit(X)
    assert counts(ideal) == [(0, 2), (1, 2)]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("size", "what"), [(1e154, "large"), (1e-200, "small")])
def test_sizes_that_cannot_be_squared_are_named(size, what, reduction):
    with pytest.raises(ValueError, match=f"in size, too {what} to be squared; rescale"):
        VanishingIdeal(reduction=reduction).fit(size * axes())


def test_a_column_of_zeros_beside_a_tiny_one_in_gram_matrices():
    X = np.column_stack([1e-100 * axes(), np.zeros(50)])
    chunks = [X[:30] * 1e-20, X[30:]]
    for reduction in REDUCTIONS:
        ideal = VanishingIdeal(tol=0.0, reduction=reduction).fit(chunks)
        assert counts(ideal)[0] == (1, 2)
