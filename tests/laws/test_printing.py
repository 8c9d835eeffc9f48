"""How laws, checks, invariants and differential equations look in a terminal, a log, a notebook."""

import re
from dataclasses import replace

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vanishing import discover
from vanishing.laws import Law, Laws, discover_invariants


@pytest.fixture(scope="module")
def gas():
    """Pressure, volume and temperature of a gas, rounded as on a lab sheet."""
    rng = np.random.default_rng(0)
    temperature, volume = rng.uniform(280, 320, 60), rng.uniform(1, 2, 60)
    pressure = 8.314 * temperature / volume * (1 + 0.002 * rng.normal(size=60))
    return np.column_stack([temperature.round(1), volume.round(3), pressure.round(1)])


@pytest.fixture(scope="module")
def laws(gas):
    return discover(gas, ["temperature", "volume", "pressure"])


def test_short_in_a_log(laws):
    assert repr(laws) == str(laws)
    assert len(repr(laws)) < 200
    assert repr(laws[0]) == f"<Law: {laws[0]}>"
    assert "array" not in repr(laws) + repr(laws[0]) + repr(list(laws))


def test_numbers_have_the_digits_of_the_law(laws):
    pytest.importorskip("sympy")
    (number,) = {each for each in str(laws[0]).replace("*", " ").split() if each[0].isdigit()}
    (volume,) = laws.solve_for("volume")
    assert number in str(volume)
    assert number in laws[0].latex
    (temperature,) = laws.solve_for("temperature")
    assert len(str(temperature).partition("*")[0]) <= len(number) + 2
    assert laws[0]._repr_latex_() == f"$\\displaystyle {laws[0].latex}$"


def test_latex_has_no_needless_signs():
    pytest.importorskip("sympy")
    a, b = np.random.default_rng(1).integers(1, 99, (2, 40)).astype(float)
    (law,) = discover(np.column_stack([a + b, a, b]), ["total", "a", "b"])
    assert str(law) == "total = a + b"
    assert law.latex == r"\mathrm{total} = a + b"
    negative = replace(law, coefficients=-law.coefficients)  # the same law
    assert str(negative) == str(law)
    assert negative.latex == law.latex


def test_pandas_in_pandas_out(gas, laws):
    pandas = pytest.importorskip("pandas")
    names = list(laws.names)
    frame = pandas.DataFrame(gas, columns=names, index=[f"run {i}" for i in range(60)])
    residuals = laws.residuals(frame[names[::-1]])
    assert list(residuals.columns) == [str(law) for law in laws]
    assert residuals.index.equals(frame.index)
    np.testing.assert_array_equal(residuals.to_numpy(), laws.residuals(gas))


def test_polars_in_polars_out(gas, laws):
    polars = pytest.importorskip("polars")
    residuals = laws.residuals(polars.DataFrame(gas, schema=list(laws.names)))
    assert isinstance(residuals, polars.DataFrame)
    assert residuals.columns == [str(law) for law in laws]


def test_invariants():
    pandas = pytest.importorskip("pandas")
    t = np.linspace(0, 6, 60)
    runs = [
        np.column_stack([a * np.cos(2 * t + a), -2 * a * np.sin(2 * t + a)]) for a in (1, 2, 3, 4)
    ]
    found = discover_invariants(runs, feature_names=["x", "v"])
    assert repr(found) == str(found)
    assert repr(found[0]) == "<Invariant: 4*x^2 + v^2 = const>"
    assert found.summary() == "One invariant in 2 columns of 4 trajectories; exact."
    frame = pandas.DataFrame(runs[0], columns=["x", "v"])
    values = found.values(frame.assign(other="a")[["other", "v", "x"]])
    assert list(values.columns) == ["4*x^2 + v^2"]
    np.testing.assert_array_equal(values.to_numpy(), found.values(runs[0]))


def parse_measured(text):
    """Return the number and the error of "12.552(5)" or "1.2(1)e-07"."""
    digits, error, power = re.fullmatch(r"([\d.]+)\((\d+)\)(?:e([+-]\d+))?", text).groups("0")
    decimals = len(digits.partition(".")[2])
    return float(f"{digits}e{power}"), float(f"{error}e{int(power) - decimals}")


@given(value=st.floats(1e-9, 1e9), share=st.floats(1e-10, 0.5))
def test_standard_errors_are_in_units_of_the_last_digit(value, share):
    error = share * value
    laws = make_laws(("a", "b"), [[1, 0], [0, 1]], [1.0, -value], [0.0, error])
    text = laws[0].with_errors.removeprefix("a = ").removesuffix("*b")
    shown, shown_error = parse_measured(text)
    assert shown == pytest.approx(value, abs=0.51 * shown_error)
    assert shown_error == pytest.approx(error, rel=0.34)
    assert text.partition("e")[0] in laws[0].latex
    assert "(" not in str(laws[0])  # which is copied into programs


def test_simple_numbers_have_no_standard_errors():
    laws = make_laws(("a", "b"), [[2, 0], [0, 1]], [2.0, -3.0], [0.0, 0.0])
    assert laws[0].with_errors == str(laws[0]) == "3*b = 2*a^2"


@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=25),
    bits=st.floats(10, 1e6),
    n_broken=st.integers(0, 99),
    numbered=st.booleans(),
)
def test_evidence_is_in_columns_of_a_terminal(lengths, bits, n_broken, numbered):
    laws = make_laws(("a", "b"), [[1, 0], [0, 1]], [1.0, -2.0], [0.0, 0.0])
    listed = tuple(
        replace(laws[0], names=("a", length * "b"), bits=bits, n_broken=n_broken * (k % 2))
        for k, length in enumerate(lengths)
    )
    lines = replace(laws, equations=listed).lines(numbered=numbered)
    beside = [line for line in lines if " bits" in line]
    assert len(beside) == len(listed)
    assert len({line.index(" bits") for line in beside}) == 1
    assert all(f"{bits:,.0f} bits  noise 1 %  300 rows" in line for line in beside)
    assert sum("break" in line for line in beside) == (len(listed) // 2) * (n_broken > 0)
    assert all(len(line) <= 78 for line in beside)  # and two spaces before it
    assert all(any(str(law) in line for line in lines) for law in listed)
    assert len(lines) == len(listed) or max(lengths) > 10


def test_evidence_of_a_notebook(laws):
    pytest.importorskip("sympy")
    html = laws._repr_html_()
    assert " · ".join(filter(None, laws[0].evidence)) in html
    assert laws[0].evidence[1].startswith("noise 0.")
    assert "p-value" not in html


def test_laws_without_noise_are_exact_or_rounded():
    net = np.random.default_rng(0).integers(100, 99999, 60) / 100
    gross = np.round(1.19 * net, 2)
    gross[7] += 3
    (law,) = discover(np.column_stack([net, gross]), ["net", "gross"])
    assert law.evidence[1:] == ("rounded", "59 rows", "1 breaks it")
    (law,) = discover(np.column_stack([net, 2 * net]), ["net", "gross"])
    assert law.evidence[1:] == ("exact", "60 rows", "")
    (law,) = discover(np.full((20, 1), 3.0), ["c"])
    assert law.evidence == ("", "exact", "20 rows", "")


def test_a_check_of_many_rows_is_short():
    X = np.arange(1.0, 401.0)[:, None] * [1.0, 2.0]
    laws = discover(X, ["a", "b"])
    broken = X.copy()
    broken[:100, 1] += 25
    lines = str(laws.check(broken)).splitlines()
    assert lines[0] == "100 of 400 rows break a law."
    assert len(lines) == 53
    assert lines[-2] == "  ... and 50 more of 100 rows"
    assert lines[-1] == "All 2 columns are in a law."
    assert len(laws.check(broken).sentences()) == 100
    assert laws.check(broken)._repr_html_().count("<li>") == 51


def test_laws_by_number(laws, gas):
    broken = gas.copy()
    broken[3, 2] *= 2
    (sentence,) = laws.check(broken).sentences(numbered=True)
    assert "breaks [1]" in sentence
    assert str(laws[0]) not in sentence


@pytest.mark.parametrize("coefficients", [(-0.5, 0.25, 0.25), (0.5, -2.0, 3.0), (-3.0, -0.1, 0.2)])
def test_both_sides_have_terms_without_a_minus_sign(coefficients):
    law = Law(("a", "b", "c"), np.eye(3, dtype=int), np.array(coefficients), np.zeros(3), 0.0, 0.0,
              np.arange(9))  # fmt: skip
    assert "-" not in str(law)
    assert not any(term.is_negative for side in law.sides for term in side)


def make_laws(names, exponents, coefficients, errors):
    law = Law(
        names,
        np.array(exponents),
        np.array(coefficients),
        np.array(errors),
        extent=0.01,
        p_value=0.0,
        rows=np.arange(300),
    )
    ranges = np.array([np.zeros(len(names)), np.ones(len(names))])
    whole = np.zeros(len(names), dtype=bool)
    return Laws((law,), 0.01, names, np.ones(len(names)), ranges, whole, 300)


@pytest.mark.parametrize("scale", [1.0, 0.2377, 2.377e4])
def test_formulas_are_in_the_scale_of_the_data(scale):
    """v = 4.207*S/(1.703 + S), whatever number the law is multiplied by."""
    pytest.importorskip("sympy")
    coefficients = scale * np.array([1.0, 1.7034, -4.2071])
    errors = scale * np.array([0.0, 0.002, 0.004])
    laws = make_laws(("S", "v"), [[1, 1], [0, 1], [1, 0]], coefficients, errors)
    assert [str(each) for each in laws.solve_for("v")] == ["4.207*S/(S + 1.703)"]
    assert [str(each) for each in laws.solve_for("S")] == ["-1.703*v/(v - 4.207)"]


def test_roots_are_in_the_scale_of_the_data():
    pytest.importorskip("sympy")
    exponents = [[2, 0], [1, 0], [0, 1]]
    laws = make_laws(("x", "y"), exponents, [1.3699, 0.7132, -1.0], [0.001, 0.001, 0.0])
    assert [str(each) for each in laws.solve_for("y")] == ["1.37*x**2 + 0.7132*x"]
    for root in laws.solve_for("x"):
        assert all(0.01 < abs(each) < 100 for each in root.atoms(sympy.Float))
    laws = make_laws(("x", "y"), exponents, [2.0, 3.0, -1.0], [0.0, 0.0, 0.0])
    assert [str(each) for each in laws.solve_for("y")] == ["x*(2*x + 3)"]


def test_records_are_printed_in_one_line():
    X = np.random.default_rng(0).integers(1, 99, (60, 2))
    X = np.column_stack([X, X.sum(axis=1)]).astype(float)
    laws = discover(X, ["a", "b", "c"])
    broken = X.copy()
    broken[7, 2] += 50
    broken[9, 1] = np.nan
    first, second = laws.check(broken)
    c = int(broken[7, 2])
    assert f"c {c} to {c - 50}" in repr(first)
    assert repr(first).startswith("<BrokenRow 7: ")
    assert repr(second) == f"<BrokenRow 9: b missing to {X[9, 1]:g}>"
    assert repr(laws[0].support) == "<Support: 60 rows, columns a, b, c>"
    assert "\n" not in repr(first) + repr(second) + repr(first.fixes[0])


def test_names_that_are_no_words_are_set_apart():
    rng = np.random.default_rng(0)
    a = rng.integers(1, 50, 60) / 4
    names = ["m/s2", "b", "net price"]
    laws = discover(np.column_stack([a, a**2, 2 * a]), names)
    assert {str(law) for law in laws} == {"b = [m/s2]^2", "2*[m/s2] = [net price]"}


def test_a_fitted_coefficient_of_rounded_numbers_has_an_error():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 99, 300).round(2)
    laws = discover(np.column_stack([x, (0.73451234 * x).round(2)]), ["x", "y"])
    (law,) = laws
    assert sorted(law.standard_errors > 0) == [False, True]
    (error,) = law.standard_errors[law.standard_errors > 0]
    (value,) = -law.coefficients[law.standard_errors > 0]
    assert abs(value - 1 / 0.73451234) <= 3 * error <= 1e-4
    assert re.fullmatch(r"x = 1\.3614\d+\(\d+\)\*y", law.with_errors)
    assert len(str(law)) <= len(law.with_errors)
    # Numbers that people write have none.
    laws = discover(np.column_stack([x, (0.19 * x).round(2)]), ["net", "tax"])
    assert not laws[0].standard_errors.any()


def test_the_headline_says_that_numbers_are_rounded():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 9, (2, 100)).round(2)
    rounded = discover(np.column_stack([a, b, (a * b).round(2)]))
    assert rounded.summary() == "One law in 3 columns of 100 rows; exact up to rounding."
    exact = discover(np.column_stack([a, b, a * b]))
    assert exact.summary() == "One law in 3 columns of 100 rows; exact."


def test_the_list_of_laws_and_the_check_count_the_same_broken_rows():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 9, (2, 100)).round(2)
    X = np.column_stack([a, b, (a * b).round(2)])
    X[5, 2] = 1e12  # the law is not fitted to it
    X[8, 2] += 3
    X[9, 1] = np.nan
    laws = discover(X)
    (law,) = laws
    assert np.flatnonzero(laws.check(X).broken).tolist() == [5, 8]
    assert law.n_broken == 2
    assert law.rows.tolist() == [i for i in range(100) if i not in (5, 8, 9)]
