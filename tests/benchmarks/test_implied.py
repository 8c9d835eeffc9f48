"""Which equations follow from others, as the benchmarks of laws decide it."""

import numpy as np
import pytest
import sympy
from benchmarks.laws.implied import Equation, follows, read_equation
from hypothesis import given
from hypothesis import strategies as st

NAMES = ["a", "b", "c", "log_c", "k"]


def table(seed=0):
    """Return columns with c = a*b, its logarithm, and a constant column."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(1, 9, (2, 30))
    return np.column_stack([a, b, a * b, np.log(a * b), np.full(30, 3.0)])


def decide(asked, known, X):
    equations = [read_equation(text, NAMES) for text in known]
    return follows(read_equation(asked, NAMES), equations, X, np.ones(len(X), bool))


@given(st.integers(0, 10**6))
@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("5*c = 5*a*b", ["c = a*b"]),
        ("c^2 = a^2*b^2", ["c = a*b"]),
        ("log_c = log(a) + log(b)", ["c = a*b", "log_c = log(c)"]),
        ("a = c/b", ["log_c = log(c)", "log_c = log(a*b)"]),
        ("c = a*b + k - 3", ["c = a*b"]),
    ],
)
def test_consequences_follow(asked, known, seed):
    assert decide(asked, known, table(seed))


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("c = a*b", []),
        ("c = a*b", ["log_c = log(c)"]),
        ("c = a*b", ["c = 1.01*a*b"]),
        ("c = a + b", ["c = a*b"]),
        ("c = a*b", ["a^2 = 5*a - 6", "b^2 = b", "c^2 = c"]),
    ],
)
def test_others_do_not(asked, known):
    assert not decide(asked, known, table())


def test_equations_hold_up_to_the_rounding_of_their_cells():
    X = table()
    X[:, 2] = X[:, 2].round(1)
    equation, units = read_equation("c = a*b", NAMES), np.zeros(X.shape)
    assert not equation.holds(X, units).any()
    units[:, 2] = 0.1
    assert equation.holds(X, units).all()
    X[4, 2] += 0.2
    X[5, 0] = np.nan
    assert np.flatnonzero(~equation.holds(X, units)).tolist() == [4, 5]
    assert np.flatnonzero(~equation.is_there(X)).tolist() == [5]


def test_names_may_be_those_of_functions_and_keywords():
    X = np.arange(1, 25.0).reshape(8, 3)
    X[:, 2] = X[:, 0] * X[:, 1]
    equation = read_equation("return = log*sum", ["log", "sum", "return"])
    assert equation.holds(X, np.zeros(X.shape)).all()
    with pytest.raises(KeyError):
        Equation(sympy.Symbol("another"), ["log", "sum", "return"])
