"""Coefficients as they are written."""

import numpy as np
import pytest

from vanishing import discover
from vanishing.laws import Law


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (2.0, 0.0, "2"),
        (3.0, 0.1, "3"),
        (2.5, 0.0, "2.5"),
        (0.3333333, 0.01, "0.333"),
        (0.3333333, 0.0001, "0.33333"),
        (1234.5678, 1000.0, "1.2e+03"),
        (1e15, 0.0, "1e+15"),
        (2.0**60, 0.0, "1.15292150461e+18"),
    ],
)
def test_digits_that_the_error_leaves(value, error, text):
    errors = np.array([0.0, error])
    law = Law(
        ("x", "y"), np.eye(2, dtype=int), np.array([1, -value]), errors, 0.1, 0.0, np.arange(9)
    )
    assert str(law) == f"x = {text}*y"


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


def test_fractions_become_whole_numbers():
    a, b = np.random.default_rng(0).uniform(1, 9, (2, 80))
    (law,) = discover(np.column_stack([a, b, a + 7 * b / 30]), ["a", "b", "c"])
    assert str(law) == "30*c = 30*a + 7*b"
