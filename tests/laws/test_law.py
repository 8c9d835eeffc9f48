"""Coefficients as they are written."""

import numpy as np
import pytest
from numpy.polynomial.legendre import legval

from vanishing import discover
from vanishing.laws.discovery import combine
from vanishing.laws.fit import Relation, explained_share, find_outliers
from vanishing.laws.law import LARGEST_DENOMINATOR, _fraction, write_coefficient


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (2.0, 0.0, "2"),
        (-3.0, 0.1, "-3"),
        (2.5, 0.0, "2.5"),
        (0.3333333, 0.01, "0.333"),
        (0.3333333, 0.0001, "0.33333"),
        (1234.5678, 1000.0, "1.2e+03"),
        (1e15, 0.0, "1e+15"),
        (2.0**60, 0.0, "1.15292150461e+18"),
    ],
)
def test_digits_that_the_error_leaves(value, error, text):
    assert write_coefficient(value, error) == text


def test_fractions_have_small_denominators():
    assert _fraction(1 / LARGEST_DENOMINATOR, 0.0) is not None
    assert _fraction(1 / (LARGEST_DENOMINATOR + 1), 0.0) is None
    assert _fraction(0.0, 0.0) is None


def relation(exponents, coefficients):
    n = len(coefficients)
    ones = np.ones(5)
    return Relation(
        np.array(exponents), np.array(coefficients), ones, np.ones((5, n)), 0.0, ones > 0
    )


def test_a_term_that_two_relations_share_is_eliminated():
    """From a + b + c + d and a + b remains c + d; others leave nothing that is shorter."""
    unit = np.eye(6, dtype=int)
    long = relation(unit[[0, 1, 2, 3]], [1.0, 1.0, 1.0, 1.0])
    short = relation(unit[[0, 1]], [2.0, 2.0])
    found = combine(long, short)
    assert found
    for exponents in found:
        assert sorted(exponents.tolist()) == sorted(unit[[2, 3]].tolist())
    assert combine(long, relation(unit[[2, 3, 4, 5]], [1.0, 1.0, 1.0, -1.0])) == []


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_deviations_that_are_a_function_of_the_columns_are_explained(degree):
    """Also by a cubic one that is not seen in linear terms; noise is not."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (400, 2))
    curve = legval(rows[:, 0], np.eye(4)[degree])
    share, error = explained_share(0.01 * curve, rows, rows.std(axis=0), target=1)
    assert share > 0.9
    assert error < 0.1
    share, error = explained_share(0.01 * rng.normal(size=400), rows, rows.std(axis=0), target=1)
    assert share < 3 * error + 0.01


def test_rows_that_hide_a_relation_are_found():
    """Most of them, and few others: all that is needed to see the relation in the rest."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(1, 2, (2, 100))
    rows = np.column_stack([x, y, x + y]) + 1e-3 * rng.normal(size=(100, 3))
    rows[:5, 2] += [1, -1, 2, -2, 3]
    found = find_outliers(rows, rows.std(axis=0), [], np.random.default_rng(0))
    assert found[:5].sum() >= 4
    assert found[5:].sum() <= 5


@pytest.mark.parametrize("X", [np.ones((3, 5)), np.ones(2), np.ones((3, 1))])
def test_rows_of_another_width_are_refused(X):
    x = np.random.default_rng(0).uniform(1, 3, 50)
    (law,) = discover(np.column_stack([x, x**2]))
    for function in (law.values, law.gradients):
        with pytest.raises(ValueError, match="expected rows of 2 columns"):
            function(X)


@pytest.mark.parametrize("seed", [71, 110])
def test_coefficients_become_simple_together(seed):
    """With the coefficient of a small column rounded on its own, those of the others stay off."""
    rng = np.random.default_rng(seed)
    a, c, b = rng.normal(287, 67, 150), rng.normal(233, 54, 150), rng.uniform(1.4, 8.2, 150)
    X = np.column_stack([a, b, c, a + b + c])
    X = X + 0.01 * X.std(axis=0) * rng.normal(size=X.shape)
    for i in rng.choice(150, 3, replace=False):
        X[i, rng.integers(4)] *= 10
    laws = discover(X * [10, 0.1, 1, 0.1], ["c0", "c1", "c2", "c3"])
    assert [str(law) for law in laws] == ["100*c3 = c0 + 100*c1 + 10*c2"]
