"""What print and notebooks show of a fit: the shortest equations, which it tells without data."""

import re

import numpy as np
import pandas as pd
import pytest
import sympy
from hypothesis import example, given
from hypothesis import strategies as st
from tests.equations.test_tidy import (
    cells_of_digits,
    degree_of,
    extent_of,
    points_of,
    true_equations,
)
from tests.support.cases import NORMALIZATIONS, fit

from vanishing import VanishingIdeal, vca
from vanishing.datasets import describe_variety, make_variety, varieties
from vanishing.equations.text import SHOWN_LINES


def printed(ideal):
    """Equations and extents that are printed, and the note below them."""
    _, *lines = str(ideal).splitlines()
    note = lines.pop().strip() if lines[-1].startswith("  (") else ""
    found = [re.fullmatch(r"  (.*) = 0   \(extent (\S+)\)", line) for line in lines]
    return [each[1] for each in found], [float(each[2]) for each in found], note


@pytest.mark.parametrize("name", varieties())
def test_exact_points_give_the_equations_of_the_textbook(name):
    variables = describe_variety(name).variables
    X = pd.DataFrame(make_variety(name, 200), columns=variables)
    ideal = VanishingIdeal(max_degree=degree_of(name), tol=1e-9).fit(X)
    texts, _, note = printed(ideal)
    if len(texts) < SHOWN_LINES:
        symbols = dict(zip(variables, sympy.symbols(variables), strict=True))
        found = [sympy.sympify(text.replace("^", "**"), locals=symbols) for text in texts]
        truth = true_equations(name)
        assert sympy.groebner(found, *truth.gens, order="grevlex") == truth
        n_implied = int(note.split()[0][1:]) if note else 0
        assert len(texts) + n_implied == ideal.basis_.count()


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_every_normalization_prints_its_extents(normalization):
    X = make_variety("ellipse", 300, noise=0.001)
    ideal = fit(X, normalization, max_degree=2, tol=0.05)
    texts, extents, note = printed(ideal)
    assert texts == ["4*x0^2 + 36*x1^2 - 9"]
    assert extents == pytest.approx(ideal.extents_, rel=0.05)  # of the rounded equation
    assert not note


@given(st.integers(0, 2**32 - 1), st.sampled_from(["points", "twisted-cubic", "viviani"]))
@example(2, "twisted-cubic")
@example(9, "viviani")
@example(5, "points")
@example(12, "points")
def test_extents_are_those_of_what_is_printed(seed, name):
    """Multiples of lower equations leave nothing but noise of some: these are not printed."""
    X, n_true = points_of(name, seed)
    ideal = VanishingIdeal(max_degree=3, tol=0.005).fit(X)
    texts, extents, _ = printed(ideal)
    assert len(texts) >= n_true
    symbols = sympy.symbols("x0 x1 x2")
    found = [sympy.Poly(sympy.sympify(text.replace("^", "**")), *symbols) for text in texts]
    true = [extent_of(*terms_of(each), X) for each in found]
    np.testing.assert_allclose(extents, true, rtol=0.3)
    assert max(true) <= 0.005


def terms_of(polynomial):
    exponents, coefficients = zip(*polynomial.terms(), strict=True)
    return np.array(exponents), np.array(coefficients, dtype=float)


@pytest.mark.parametrize("digit", [0, 3, 8])
@pytest.mark.parametrize("tol", [0.1, 0.3])
def test_extents_with_a_contrast_are_ratios(digit, tol):
    X, Y = cells_of_digits(digit)
    ideal = vca(X, Y, tol=tol)
    texts, extents, _ = printed(ideal)
    symbols = sympy.symbols([f"x{k}" for k in range(8)])
    n_compared = 0
    for text, extent in zip(texts, extents, strict=True):
        if "more terms" not in text:
            found = sympy.Poly(sympy.sympify(text.replace("^", "**")), *symbols)
            assert extent_of(*terms_of(found), X, Y) == pytest.approx(extent, rel=0.15)
            n_compared += 1
    assert n_compared


@pytest.mark.parametrize("noise", [0.001, 0.01])
def test_extents_of_mixtures_lie_between_those_that_are_mixed(noise):
    X = make_variety("twisted-cubic", 300, noise=noise)
    ideal = VanishingIdeal(max_degree=2, tol=4 * noise).fit(X)
    texts, extents, _ = printed(ideal)
    assert texts == ["x0^2 - x1", "x0*x1 - x2", "x0*x2 - x1^2"]
    low, high = ideal.extents_.min(), ideal.extents_.max()
    assert all(0.99 * low <= extent <= 1.01 * high for extent in extents)


def test_a_long_list_is_cut_and_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 30))
    texts, _, note = printed(VanishingIdeal(max_degree=1, tol=1e-9).fit(X))
    assert len(texts) == SHOWN_LINES
    assert note == f"({28 - SHOWN_LINES} more equations)"


def test_border_bases_are_printed_as_they_are_found():
    X = make_variety("twisted-cubic", 300)
    ideal = VanishingIdeal(max_degree=2, tol=1e-6, construction="abm").fit(X)
    texts, extents, _ = printed(ideal)
    assert len(texts) == ideal.basis_.count()
    assert extents == [float(f"{extent:.2g}") for extent in ideal.extents_]


def test_repr_is_that_of_scikit_learn():
    ideal = VanishingIdeal(tol=1e-6)
    assert str(ideal) == repr(ideal) == "VanishingIdeal(tol=1e-06)"
    assert repr(ideal.fit(make_variety("circle", 50))) == "VanishingIdeal(tol=1e-06)"


def test_a_mixture_is_not_printed_where_a_shorter_basis_is_there():
    """The span of a = d² and a c = b², of which a fit finds two mixtures."""
    rng = np.random.default_rng(0)
    b, d = rng.uniform(1, 2, (2, 300))
    X = pd.DataFrame({"a": d**2, "b": b, "c": (b / d) ** 2, "d": d})
    texts, _, _ = printed(vca(X, rng.normal(1.5, 1, (500, 4)), tol=1e-9))
    assert texts == ["a*c - b^2", "d^2 - a"]


def values_of(text, X):
    return eval(text.replace("^", "**"), {}, {f"x{j}": X[:, j] for j in range(X.shape[1])})


@pytest.mark.parametrize("seed", range(5))
def test_multiples_of_loose_equations_do_not_hide_a_tight_one(seed):
    """Points near y = 0 on the surface z = 1 - x²: what is printed holds as it is said to."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, 500)
    X = np.column_stack([x, 0.1 * rng.normal(size=500), 1 - x**2])
    texts, extents, _ = printed(VanishingIdeal(tol=0.2).fit(X))
    assert len(texts) > 1
    for text, extent in zip(texts, extents, strict=True):
        # In the fit gradients have size 1, and here a coefficient.
        assert np.sqrt(np.mean(values_of(text, X) ** 2)) <= 5 * extent


def test_printed_equations_keep_their_contrast():
    """Nothing is printed that is as small on Y as on X."""
    rng = np.random.default_rng(0)
    x, u = rng.uniform(-1, 1, (2, 500))
    noise = 0.1 * rng.normal(size=(2, 500))
    X = np.column_stack([x, noise[0], 1 - x**2])
    Y = np.column_stack([u, noise[1] - 0.8 * u, 1 - u**2])
    texts, _, _ = printed(vca(X, Y, tol=0.3))
    assert texts
    for text in texts:
        on_x, on_y = (np.sqrt(np.mean(values_of(text, Z) ** 2)) for Z in (X, Y))
        assert on_x < 0.5 * on_y


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e-8, 1e8, 1e100, 1e150])
def test_any_unit_can_be_printed(scale):
    X = make_variety("circle", 100) * scale
    texts, _, _ = printed(VanishingIdeal(tol=1e-6, normalization="vca").fit(X))
    assert len(texts) == 1


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_units_do_not_change_which_terms_are_printed(factor):
    X = make_variety("ellipse", 300, noise=0.001) * factor
    (text,), (extent,), _ = printed(VanishingIdeal(tol=0.05, normalization="vca").fit(X))
    assert set(re.findall(r"x\d\^2", text)) == {"x0^2", "x1^2"}
    assert text.count("x") == 2
    assert 0 < extent < 0.01


def test_columns_of_zeros_are_said_to_be_zero():
    """The synthetic experiment of the paper: X lies in the first of many coordinates."""
    rng = np.random.default_rng(0)
    X = np.zeros((500, 9))
    X[:, :3] = rng.normal(size=(500, 3))
    texts, _, note = printed(vca(X, rng.normal(size=(500, 9)), tol=1e-9, max_degree=1))
    assert texts == [f"x{j}" for j in range(3, 9)]
    assert not note


def test_exact_coefficients_have_the_digits_that_are_read():
    X = np.random.default_rng(0).normal(size=(3, 2))
    texts, _, _ = printed(VanishingIdeal(tol=0, max_degree=None).fit(X))
    numbers = [n for text in texts for n in re.findall(r"\d+\.\d+", text)]
    assert numbers
    assert max(len(number.replace(".", "").lstrip("0")) for number in numbers) <= 5
