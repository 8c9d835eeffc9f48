"""Written out, the polynomials are those that are evaluated."""

import re

import numpy as np
import pandas as pd
import pytest
import sympy
from sympy.parsing.sympy_parser import parse_expr
from tests.support.cases import NORMALIZATIONS, fit

from vanishing import VanishingIdeal

#: So that something vanishes and something does not, up to degree 4.
TOL = dict.fromkeys(NORMALIZATIONS, 0.03) | {"contrastive": 0.012}
EVERY = pytest.mark.parametrize("normalization", NORMALIZATIONS)


def points(n_samples=80, seed=0):
    """A noisy curve in the plane."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n_samples)
    return np.column_stack([t, t**2 - 0.5 * t]) + 0.005 * rng.standard_normal((n_samples, 2)) + 0.3


def space(n_samples=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_samples, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.005 * rng.standard_normal(n_samples)
    return X


def evaluate(expressions, names, X):
    symbols = [sympy.Symbol(name) for name in names]
    return np.column_stack(
        [sympy.lambdify(symbols, e, "numpy")(*X.T) * np.ones(len(X)) for e in expressions]
    )


def size_of_terms(ideal, X):
    """Sum of the absolute values of the terms of each polynomial: what 1e-10 is relative to."""
    exponents, coefficients = ideal.basis_.expand()
    monomials = np.prod(X[:, None, :] ** exponents, axis=2)
    return np.abs(monomials) @ np.abs(coefficients)


def from_latex(text, names):
    """Read LaTeX of this library back, digits and all."""
    text = re.sub(r"\\cdot 10\^\{(-?\d+)\}", r"* 10**(\1)", text)
    for latex, name in names.items():
        text = text.replace(latex, f" {name} ")
    text = re.sub(r"\^\{(\d+)\}", r"**\1", text)
    text = re.sub(r"\s+\*\*", "**", text)
    text = re.sub(r"(?<=[\w)])\s+(?=[\w(])", " * ", text)
    return parse_expr(text, local_dict={n: sympy.Symbol(n) for n in names.values()})


@EVERY
@pytest.mark.parametrize(("X", "max_degree"), [(points(), 4), (space(), 3)], ids=["plane", "space"])
def test_sympy_agrees_with_evaluation(normalization, X, max_degree):
    ideal = fit(X, normalization, tol=TOL[normalization], max_degree=max_degree)
    assert ideal.basis_.degrees().max() == max_degree
    new = np.random.default_rng(5).uniform(-1, 1, (40, X.shape[1]))
    names = [f"x{i}" for i in range(X.shape[1])]
    values = evaluate(ideal.to_sympy(), names, new)
    wanted = ideal.basis_.evaluate(new)
    assert np.max(np.abs(values - wanted) / size_of_terms(ideal, new)) <= 1e-10


@EVERY
def test_latex_with_all_digits_agrees_with_evaluation(normalization):
    ideal = fit(points(), normalization, tol=TOL[normalization], max_degree=4)
    new = np.random.default_rng(5).uniform(-1, 1, (40, 2))
    lines = ideal.to_latex(digits=17)
    assert len(lines) == ideal.basis_.count("vanishing") > 1
    expressions = [from_latex(line, {"x_{0}": "x0", "x_{1}": "x1"}) for line in lines]
    values = evaluate(expressions, ["x0", "x1"], new)
    wanted = ideal.basis_.evaluate(new)
    assert np.max(np.abs(values - wanted) / size_of_terms(ideal, new)) <= 1e-10


@EVERY
def test_sympy_knows_the_degrees(normalization):
    ideal = fit(points(), normalization, tol=TOL[normalization], max_degree=4)
    degrees = [sympy.Poly(e).total_degree() for e in ideal.to_sympy()]
    assert degrees == ideal.basis_.degrees().tolist()


@EVERY
def test_derivatives_in_sympy_agree_with_the_jacobian(normalization):
    ideal = fit(points(), normalization, tol=TOL[normalization], max_degree=3)
    new = np.random.default_rng(5).uniform(-1, 1, (20, 2))
    jacobian = ideal.basis_.jacobian(new)
    for j, name in enumerate(["x0", "x1"]):
        derivatives = [e.diff(sympy.Symbol(name)) for e in ideal.to_sympy()]
        values = evaluate(derivatives, ["x0", "x1"], new)
        size = 10 * size_of_terms(ideal, np.ones((1, 2)))
        assert np.max(np.abs(values - jacobian[:, :, j]) / size) <= 1e-10


@EVERY
def test_vanishing_polynomials_of_an_exact_circle_are_the_circle(normalization):
    angle = np.linspace(0, 6, 50)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    (equation,) = fit(X, normalization, tol=1e-8, max_degree=2).to_sympy(["u", "v"])
    u, v = sympy.symbols("u v")
    scaled = equation / sympy.Poly(equation, u, v).coeff_monomial(u**2)
    difference = sympy.Poly(sympy.expand(scaled) - (u**2 + v**2 - 1), u, v)
    assert max(abs(c) for c in difference.coeffs()) <= 1e-12


# --- names ---------------------------------------------------------------------------------------


def ideal_of(X, **parameters):
    return VanishingIdeal(max_degree=2, tol=0.1, **parameters).fit(X)


def symbols_of(expressions):
    return set().union(*(expression.free_symbols for expression in expressions))


def test_symbols_are_plain_and_numbered():
    # Plain: equal to sympy.Symbol(name), with no assumptions.
    assert symbols_of(ideal_of(points()).to_sympy()) == {sympy.Symbol("x0"), sympy.Symbol("x1")}


def test_column_names_are_the_symbols():
    ideal = ideal_of(pd.DataFrame(points(), columns=["height", "body mass"]))
    expected = {sympy.Symbol("height"), sympy.Symbol("body mass")}
    assert symbols_of(ideal.to_sympy()) == expected
    text = " ".join(ideal.to_latex())
    assert r"\mathrm{height}" in text
    assert r"\mathrm{body\ mass}" in text


def test_given_names_come_before_column_names():
    ideal = ideal_of(pd.DataFrame(points(), columns=["height", "mass"]))
    assert symbols_of(ideal.to_sympy(["u", "v"])) == set(sympy.symbols("u v"))
    text = " ".join(ideal.to_latex(["u", "v"]))
    assert "u^{2}" in text
    assert "height" not in text


def test_names_may_be_an_array():
    names = np.array(["u", "v"], dtype=object)
    assert symbols_of(ideal_of(points()).to_sympy(names)) == set(sympy.symbols("u v"))


def test_names_that_mean_something_to_sympy_are_symbols_too():
    ideal = ideal_of(pd.DataFrame(points(), columns=["I", "lambda"]))
    assert symbols_of(ideal.to_sympy()) == {sympy.Symbol("I"), sympy.Symbol("lambda")}


@pytest.mark.parametrize("method", ["to_sympy", "to_latex"])
@pytest.mark.parametrize("names", [["u"], ["u", "v", "w"], []])
def test_wrong_number_of_names_is_refused(method, names):
    with pytest.raises(ValueError, match=f"expected 2 feature names, got {len(names)}"):
        getattr(ideal_of(points()), method)(names)


def test_latex_escapes_what_latex_would_not_print():
    ideal = ideal_of(pd.DataFrame(points(), columns=["body_mass", "50%"]))
    text = " ".join(ideal.to_latex())
    assert r"\mathrm{body\_mass}" in text
    assert r"\mathrm{50\%}" in text


def test_latex_numbers_letters_with_an_index():
    X = np.column_stack([points(), np.random.default_rng(1).uniform(-1, 1, 80)])
    text = " ".join(ideal_of(X).to_latex(["x1", "x12", "y"]))
    assert "x_{1}" in text
    assert "x_{12}" in text
    assert re.search(r"(?<!\{)\by\b", text)


# --- how LaTeX looks -----------------------------------------------------------------------------


def test_latex_of_the_circle():
    angle = np.linspace(0, 6, 50)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    ideal = VanishingIdeal(max_degree=2, tol=1e-8).fit(X)
    # Root mean square gradient 1: (x² + y² - 1) / 2. Highest degree first, no empty terms.
    (text,) = ideal.to_latex()
    assert text.replace(" ", "") == "0.5x_{0}^{2}+0.5x_{1}^{2}-0.5"


@pytest.mark.parametrize("digits", [1, 2, 5])
def test_latex_rounds_to_the_digits_asked_for(digits):
    ideal = fit(points(), "contrastive", tol=TOL["contrastive"], max_degree=2)
    mantissas = re.findall(r"\d+\.\d+", " ".join(ideal.to_latex(digits=digits)))
    longest = max((len(m.replace(".", "").lstrip("0")) for m in mantissas), default=1)
    assert longest == digits


def test_latex_writes_powers_of_ten():
    angle = np.linspace(0, 6, 50)
    X = 1e-6 * np.column_stack([np.cos(angle), np.sin(angle)])
    (text,) = VanishingIdeal(max_degree=2, tol=1e-12).fit(X).to_latex(digits=3)
    assert r"5 \cdot 10^{5} x_{0}^{2}" in text
    assert "e+" not in text
    assert "e-" not in text
