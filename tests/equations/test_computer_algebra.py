"""Ideals written for computer algebra systems are read by them, and are the right ones."""

import re
from fractions import Fraction
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import sympy
from benchmarks.computer_algebra import systems
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vanishing import VanishingIdeal
from vanishing.app.cli.show import SYSTEMS as COMMAND_LINE
from vanishing.datasets import describe_variety, make_variety
from vanishing.equations import tidy, to_computer_algebra
from vanishing.equations.computer_algebra import SYSTEMS, System, rename_variables

XYZ = ["x", "y", "z"]
#: Names that end comments, strings and commands, or are words of some system.
HOSTILE = [
    *("*/", "/*", "-*", '"""', "\\", "#=", "x;quit;", "a\nb", "--", "//", "é", "ideal", "x_1", " "),
    *("R", "I", "QQ", "x1", "e", "i", "3x", "", "'", "{0}", "${x}", "\u2028", "quit"),
]

each_system = pytest.mark.parametrize("system", SYSTEMS)
run_each = pytest.mark.parametrize(
    "system",
    [
        pytest.param(
            name,
            marks=[
                pytest.mark.programs,
                pytest.mark.skipif(
                    not systems.is_installed(name), reason=f"{name} is not installed"
                ),
            ],
        )
        for name in systems.SYSTEMS
    ],
)


def viviani():
    exact = make_variety("viviani", 60, exact=True)
    return VanishingIdeal(tol=0).fit(exact.astype(float)), exact


def polynomials_of(text, system, names):
    """Read the polynomials of the ideal back."""
    start, end = SYSTEMS[system].ideal.split("{polynomials}")
    inner = text[text.index(start) + len(start) : text.rindex(end)]
    symbols = dict(zip(names, sympy.symbols(names), strict=True))
    parts = inner.replace("^", "**").split(",")
    return [sympy.Poly(sympy.sympify(part, locals=symbols), *symbols.values()) for part in parts]


def test_the_same_systems_everywhere():
    assert set(get_args(System)) == set(SYSTEMS) == set(COMMAND_LINE)


@each_system
def test_exact_equations(system):
    ideal, exact = viviani()
    text = to_computer_algebra(ideal, system, XYZ, points=exact)
    assert polynomials_of(text, system, XYZ) == ideal.to_rational(exact, XYZ)
    assert "RR" not in text
    assert "real" not in text
    assert text == to_computer_algebra(ideal.to_rational(exact, XYZ), system).replace(
        "polynomials.", "VanishingIdeal(tol=0)."
    )


@each_system
def test_decimals_are_those_of_the_model(system):
    ideal = VanishingIdeal(tol=0.03).fit(make_variety("viviani", 200, noise=0.01))
    text = to_computer_algebra(ideal, system, XYZ)
    assert "rounded" in text
    found = polynomials_of(text, system, XYZ)
    for polynomial, expected in zip(found, ideal.to_sympy(XYZ), strict=True):
        expected = sympy.Poly(expected, *polynomial.gens)
        factor = polynomial.coeff_monomial(1) / expected.coeff_monomial(1)
        for powers in expected.monoms():
            ours = float(polynomial.coeff_monomial(powers) / factor)
            assert ours == pytest.approx(float(expected.coeff_monomial(powers)), rel=1e-14)


def test_digits():
    ideal = VanishingIdeal(tol=0.03).fit(make_variety("circle", 200, noise=0.01))
    short, long = (to_computer_algebra(ideal, "macaulay2", digits=d) for d in (2, 17))
    assert len(short) < len(long)


@each_system
def test_pipelines_and_tidy_equations(system):
    X = make_variety("ellipse", 300, noise=0.001)
    model = make_pipeline(StandardScaler(), VanishingIdeal(tol=0.01))
    model.fit(pd.DataFrame(X, columns=["x", "height"]))
    text = to_computer_algebra(tidy(model, X), system)
    assert "y1 is 'height'" not in text  # sorted by name: height first
    (found,) = polynomials_of(text, system, ["y0", "x"])
    x, y = sympy.symbols("x y0")
    assert found.as_expr() == 4 * x**2 + 36 * y**2 - 9
    assert "x, y1" in to_computer_algebra(tidy(model, X), system, ["x", "height"])


def test_rational_coefficients_become_whole():
    x, y = sympy.symbols("x y")
    text = to_computer_algebra([x / 3 + sympy.Rational(1, 2) * y], "oscar")
    assert "[2*x + 3*y]" in text
    assert to_computer_algebra([x / 3 + y / 2, 0 * x, x - x], "oscar", ["x", "y"]) == text
    mixed = [x - sympy.Rational(1, 2), 0.25 * y]
    assert "100*y" not in to_computer_algebra(mixed, "cocoa")
    assert "25*y" in to_computer_algebra(mixed, "cocoa")
    assert "0.25*y" in to_computer_algebra(mixed, "sage")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text(max_size=4) | st.sampled_from(HOSTILE), min_size=1, max_size=60, unique=True)
)
def test_names_become_different_and_harmless(names):
    renamed = rename_variables(names)
    assert len(set(renamed)) == len(names)
    assert all(re.fullmatch("[a-z][0-9]*", name) for name in renamed)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text(max_size=6) | st.sampled_from(HOSTILE), min_size=1, max_size=5, unique=True)
)
def test_names_cannot_leave_the_comment(names):
    polynomial = sum(k * sympy.Symbol(name) for k, name in enumerate(names, start=1))
    for system, syntax in SYSTEMS.items():
        text = to_computer_algebra([polynomial], system, names)
        assert text.isascii()
        lines = text.splitlines()
        n_changed = sum(a != b for a, b in zip(rename_variables(names), names, strict=True))
        assert sum(line.startswith(f"{syntax.comment} ") for line in lines) == 1 + n_changed


def test_sage_files_are_python(sage):
    ideal, exact = viviani()
    for points in (exact, None):
        found = {}
        exec(to_computer_algebra(ideal, "sage", ["x", "tall", "z"], points=points), found)
        assert len(found["I"]) == 2
    line = VanishingIdeal(max_degree=1, tol=0).fit(np.ones((3, 1)))
    exec(to_computer_algebra(line, "sage"), found)
    (x0,) = found["I"][0].free_symbols
    assert found["I"] == [x0 - 1] or found["I"] == [1 - x0]


@run_each
@pytest.mark.parametrize("name", ["twisted-cubic", "grid"])
def test_programs_read_the_true_ideal(system, name):
    record = describe_variety(name)
    exact = make_variety(name, 100, exact=True)
    ideal = VanishingIdeal(max_degree=4, tol=0, generators="minimal").fit(exact.astype(float))
    text = to_computer_algebra(ideal, system, record.variables, points=exact)
    assert systems.is_equal(system, text, record.equations)
    assert not systems.is_equal(system, text, record.equations[1:])


@run_each
def test_programs_read_hostile_names_and_any_decimal(system):
    coefficients = [1.5e-7, 3e20, 0.1, 1 / 3, 12345678.9, 1.0, 2**0.5 * 1e-30]
    names = [*HOSTILE, "x", "y"]
    symbols = [sympy.Symbol(name) for name in names]
    values = (coefficients * len(names))[: len(names)]
    polynomial = sum(value * symbol for value, symbol in zip(values, symbols, strict=True))
    text = to_computer_algebra([polynomial], system, names)
    show = {
        "singular": 'print("answer " + string(size(I[1])));',
        "macaulay2": 'print concatenate("answer ", toString size I_0);',
    }
    answer = systems.run(system, text + show[system])
    assert f"answer {len(names)}" in answer


def test_what_is_refused():
    ideal, exact = viviani()
    x = sympy.Symbol("x")
    with pytest.raises(ValueError, match="system must be one of macaulay2, singular"):
        to_computer_algebra(ideal, "maple")
    with pytest.raises(ValueError, match="points is for equations of a fitted model"):
        to_computer_algebra([x], "sage", points=exact)
    with pytest.raises(ValueError, match="rational coefficients or decimals"):
        to_computer_algebra([sympy.sqrt(2) * x], "sage")
    with pytest.raises(TypeError, match="got str in the sequence"):
        to_computer_algebra(["x - 1"], "sage")
    with pytest.raises(ValueError, match="the variables are y; got x as well"):
        to_computer_algebra([x], "sage", ["y"])
    nothing = VanishingIdeal(tol=0).fit(np.random.default_rng(0).normal(size=(50, 2)))
    with pytest.raises(ValueError, match="nothing vanishes"):
        to_computer_algebra(nothing, "sage")
    moved = exact + Fraction(1, 7)
    with pytest.raises(ValueError, match="no certificate"):
        to_computer_algebra(ideal, "sage", points=moved)


@pytest.mark.parametrize("system", ["cocoa", "oscar", "singular"])
def test_decimals_are_written_as_they_are_shown(system):
    x, y = sympy.symbols("x y")
    text = to_computer_algebra([0.1 * x + 1.7 * y - 0.3], system).split("\n", 2)[-1]
    expected = ("x + 17*y - 3",) if system != "singular" else ("0.1*x + 1.7*y - 0.3",)
    assert any(each in text for each in expected), text
