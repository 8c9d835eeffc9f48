"""Equations as people read them: what is written holds on the data, whatever its scale."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.app.cli.describe import equation_texts
from vanishing.app.playground import scenes as plane
from vanishing.app.report.equations import Formulas
from vanishing.equations import to_c, to_latex, to_python
from vanishing.equations.mathml import element, mathml_equation, render
from vanishing.equations.sizes import (
    ALL_DIGITS,
    DataScale,
    monomial_sizes,
    terms_that_count,
)
from vanishing.equations.text import SHOWN_DIGITS, UNNOTICED, Sum
from vanishing.polynomials.monomials import monomials

SCRIPTS = Path(plane.__file__).parent / "static" / "js"


def pressures(rng):
    pascal = rng.uniform(1e5, 1e6, 200)
    return {"Pa": pascal, "MPa": 1e-6 * pascal}


def thermometer(rng):
    t = rng.uniform(0, 1e3, 200)
    return {"t": t, "E": 2e-5 * t + 3}


def clock(rng):
    """Seconds since 1970: the terms are millions of times what the equation says."""
    t = 1.7e9 + rng.uniform(0, 1e3, 200)
    return {"t": t, "E": 2e-5 * t + 3}


def far_circle(rng):
    angle = rng.uniform(0, 6, 200)
    return {"x": 1000 + np.cos(angle), "y": 2000 + np.sin(angle)}


def noisy_units(rng):
    """Pascal and cubic metres of a gas, with noise."""
    p, v = rng.uniform(1e5, 2e5, 400), rng.uniform(1e-3, 2e-3, 400)
    return {"p": p, "v": v, "T": p * v * (1 + 0.001 * rng.normal(size=400))}


MADE = [pressures, thermometer, clock, far_circle, noisy_units]
NORMALIZATIONS = ["gradient", "vca", "coefficient"]


def fitted(make, normalization="gradient", *, degree=None, **options):
    frame = pd.DataFrame(make(np.random.default_rng(0)))
    degree = degree or (1 if make in (pressures, thermometer, clock) else 2)
    tol = {"vca": 0.02, "coefficient": 1e-3 if make is not noisy_units else 1e-2}.get(
        normalization, 1e-3 if make is not noisy_units else 0.5
    )
    ideal = VanishingIdeal(max_degree=degree, tol=tol, normalization=normalization, **options)
    return ideal.fit(frame), frame


def value_of(text, frame):
    """Evaluate an equation as it is written: LaTeX, or what is read aloud or printed."""
    text = re.sub(r"\\mathrm\{(\w+)\}", r" \1 ", text.replace("−", "-"))
    text = text.partition("=")[0].replace("&", "").replace("\u2248", "")
    text = text.replace("²", "^2")
    text = re.sub(r"\^\{(-?\d+)\}", r"^\1", text).replace(r"\cdot 10^", "e")
    text = re.sub(r" e(-?\d)", r"e\1", text).replace("·", " ").replace("^", "**")
    text = re.sub(r"([+-]) +", r"\1", text)
    terms = []
    for term in text.split():
        starts = not terms or term[0] in "+-"
        terms.append(term if starts else f"*{term}")
    columns = {name: frame[name].to_numpy() for name in frame}
    return eval(" ".join(terms) or "0", {}, columns) * np.ones(len(frame))


def is_right(text, ideal, frame, index, share):
    """Whether what is written differs from the polynomial by a small share of what this says."""
    points = frame.to_numpy()
    exact = ideal.basis_.evaluate(points)[:, index]
    slopes = ideal.basis_.jacobian(points)[:, index] * points.std(axis=0)
    said = np.sqrt(np.mean(np.sum(slopes**2, axis=1)))
    error = np.sqrt(np.mean((value_of(text, frame) - exact) ** 2))
    return error <= share * said + 0.11 * ideal.extents_[index]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_latex_holds_on_the_data(make, normalization):
    ideal, frame = fitted(make, normalization)
    assert ideal.basis_.count()
    for index, text in enumerate(ideal.to_latex()):
        assert is_right(text, ideal, frame, index, 3e-3), text


def test_latex_keeps_small_coefficients_of_large_columns():
    ideal, _ = fitted(pressures)
    assert ideal.to_latex() == [r"-1 \cdot 10^{-6} \mathrm{Pa} +\mathrm{MPa}"]
    ideal, _ = fitted(thermometer)
    assert ideal.to_latex() == [r"-2 \cdot 10^{-5} t +E -3"]


def test_rounding_errors_are_left_out_as_before():
    angle = np.linspace(0, 6, 50)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    (text,) = VanishingIdeal(max_degree=2, tol=1e-8).fit(circle).to_latex()
    assert text == "0.5 x_{0}^{2} +0.5 x_{1}^{2} -0.5"
    assert text == VanishingIdeal(max_degree=2, tol=1e-8).fit(circle).to_latex(digits=12)[0]


def in_the_scale_of(ideal, frame, index, text):
    """What a written equation has to be multiplied with, by its values off the data."""
    rng = np.random.default_rng(1)
    off = frame.apply(rng.permutation)
    exact, written = ideal.basis_.evaluate(off.to_numpy())[:, index], value_of(text, off)
    return exact @ written / (written @ written)


def holds_on_the_data(text, ideal, frame, index):
    """Whether an equation, times any number, differs by less than the noise from the fitted one."""
    exact = ideal.basis_.evaluate(frame.to_numpy())[:, index]
    written = value_of(text, frame) * in_the_scale_of(ideal, frame, index, text)
    slopes = ideal.basis_.jacobian(frame.to_numpy())[:, index] * frame.to_numpy().std(axis=0)
    said = np.sqrt(np.mean(np.sum(slopes**2, axis=1)))
    error = np.sqrt(np.mean((written - exact) ** 2))
    return error <= 3e-3 * said + 0.25 * ideal.extents_[index]


@pytest.mark.parametrize("make", MADE)
def test_notebooks_and_print_hold_on_the_data(make):
    ideal, frame = fitted(make)
    printed = [line.strip().replace("*", " ") for line in str(ideal).splitlines()[1:]]
    lines = [line for line in ideal._repr_latex_().splitlines() if "&= 0" in line]
    rows = ElementTree.fromstring(ideal._equations_html())
    spoken = [row[0].get("aria-label") for row in rows]
    assert len(printed) == len(lines) == len(spoken) == ideal.basis_.count()
    for index, texts in enumerate(zip(printed, lines, spoken, strict=True)):
        for text in texts:
            assert holds_on_the_data(text.partition("&")[0], ideal, frame, index), text


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_printed_lines_hold_on_the_data(make, normalization):
    ideal, frame = fitted(make, normalization)
    for index, text in enumerate(equation_texts(ideal, list(frame))):
        assert is_right(text, ideal, frame, index, 1e-4), text


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_few_digits_never_make_an_equation_wrong(digits):
    ideal, frame = fitted(clock)
    for text in (
        *ideal.to_latex(digits=digits),
        *equation_texts(ideal, list(frame), digits=digits),
    ):
        assert is_right(text, ideal, frame, 0, 3 * 10.0 ** (1 - digits)), text


@pytest.mark.parametrize("write", [to_python, to_c])
def test_comments_of_source_hold_on_the_data(write):
    for make in (pressures, thermometer, clock):
        ideal, frame = fitted(make)
        (text,) = re.findall(r"\[0\] about (.*)", write(ideal))
        text = re.sub(r"\*([a-zA-Z])", r" \1", text)
        assert is_right(text, ideal, frame, 0, 1e-4), text


def test_scaling_before_the_fit_changes_no_equation():
    for make in (pressures, thermometer):
        frame = pd.DataFrame(make(np.random.default_rng(0)))
        whole = make_pipeline(StandardScaler(), VanishingIdeal(max_degree=1, tol=1e-6)).fit(frame)
        (text,) = to_latex(whole, list(frame))
        basis = whole[-1].basis_
        error = value_of(text, frame) - basis.evaluate(whole[:-1].transform(frame))[:, 0]
        assert np.abs(error).max() < 3e-3


def test_sizes_of_monomials_of_independent_variables_are_products():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((20_000, 3)) * [1e3, 1.0, 1e-3] + [0.0, 2.0, 0.0]
    exact = DataScale(points).sizes(3)
    np.testing.assert_allclose(monomial_sizes(points, monomials(3, 3)), exact, rtol=0.1)


def test_nothing_is_left_out_where_the_scale_is_not_known():
    ideal, frame = fitted(pressures)
    kept = np.arange(ideal.basis_.count()) == 0
    cut = VanishingIdeal(max_degree=1, tol=1e-3, max_nonvanishing=1)
    wide = frame.assign(z=np.random.default_rng(1).normal(size=len(frame)))
    cut.fit(wide)
    assert cut.trace_[0].cut
    assert not DataScale.of(cut.basis_, cut).is_complete
    assert all(r"\mathrm{Pa}" in text for text in cut.to_latex())
    assert r"\mathrm{Pa}" in to_latex(ideal.basis_.restrict(kept), list(frame))[0]
    pca = make_pipeline(PCA(1), VanishingIdeal(max_degree=1, tol=1e9)).fit(wide)
    assert r"\mathrm{MPa}" in to_latex(pca, list(wide))[0]


@pytest.mark.parametrize("max_degree", [1, 2])
@pytest.mark.parametrize("tol", [0, 1e-3, "gap"])
def test_euclidean_norms_do_not_make_the_data_larger(max_degree, tol):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=10000), np.zeros(10000)])
    X[:, 1] = X[:, 0] + 0.01
    ideal = VanishingIdeal(
        max_degree=max_degree, tol=tol, normalization="vca", tol_norm="euclidean"
    )
    ideal.fit(X)
    scale = DataScale.of(ideal.basis_, ideal)
    if scale.is_complete:
        np.testing.assert_allclose(scale.points.std(axis=0), X.std(axis=0), rtol=0.1)
    else:
        assert max_degree == 1
        assert scale.points.std(axis=0).max() < 1e-12
    assert len(re.findall("[+-]", ideal.to_latex(digits=2)[0].replace("^{-", ""))) >= 2


def test_reports_hold_on_the_data():
    frame = pd.DataFrame(clock(np.random.default_rng(0)))
    frame["E"] += 1e-6 * np.random.default_rng(1).normal(size=len(frame))
    detector = VanishingDetector(VanishingIdeal(max_degree=1, tol=0.001)).fit(frame)
    (part,) = detector.anomaly_score_.parts
    points = frame.to_numpy()
    formulas = Formulas(part, points, tuple(frame), points.mean(axis=0), points.std(axis=0))
    spoken = formulas.formula(0, 0).element.get("aria-label")
    off = np.sqrt(np.mean(value_of(spoken.replace("≈", "="), frame) ** 2))
    assert off < 3 * formulas.formula(0, 0).usual


def test_reports_hold_where_there_are_too_few_rows_to_tidy(monkeypatch):
    monkeypatch.setattr("vanishing.app.report.equations.have_enough_rows", lambda *_: False)
    test_reports_hold_on_the_data()


def playground_text(x):
    found = plane.fit(x=x, y=[], degree=1, normalization="gradient", tol=1e-6, contrast_tol=0.1)[
        "plain"
    ]
    script = (
        f"import {{ equationText }} from {json.dumps((SCRIPTS / 'mathml.js').as_uri())};"
        f"const found = {json.dumps(found)};"
        "console.log(equationText(found.exponents, found.equations[0]));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", script],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_playground_holds_on_the_points():
    x = np.linspace(0.0, 1.0, 50)
    assert playground_text(np.column_stack([x, 1e-4 * x]).tolist()) == "− 1 × 10⁻⁴ x + y = 0"
    assert playground_text(np.column_stack([x, 2 * x]).tolist()) == "0.894 x − 0.447 y = 0"


@given(
    st.lists(st.floats(-1e3, 1e3).filter(lambda t: abs(t) > 1e-9), min_size=1, max_size=12),
    st.floats(0.0, 1e3),
    st.floats(0.0, 10.0),
    st.sampled_from([None, 1, 4, 17]),
    st.floats(-9, 9),
)
def test_rounding_and_leaving_out_change_little(terms, span, extent, digits, power):
    contributions = np.array(terms)
    sizes = 10.0 ** (power * np.linspace(-1, 1, len(terms)))
    coefficients = contributions / sizes
    kept, of_each = terms_that_count(coefficients, sizes, span=span, extent=extent, digits=digits)
    written = np.zeros(len(terms))
    for i, n_digits in zip(kept, of_each, strict=True):
        written[i] = float(f"{coefficients[i]:.{n_digits}g}")
    errors = np.abs(written - coefficients) * sizes
    largest = np.abs(contributions).max()
    said = min(span, largest)
    floor = 2e-14 * len(terms) * largest
    assert len(kept)
    assert of_each.max() <= ALL_DIGITS
    if digits is None:
        assert (
            errors.sum() <= 2 * max(UNNOTICED * extent, 10.0**-SHOWN_DIGITS * said) * 1.01 + floor
        )
    else:
        assert errors.max() <= 0.5 * 10.0 ** (1 - digits) * said * 1.01 + 10 * floor
        assert of_each.min() >= digits


def test_elements_leave_out_what_is_none_or_false():
    made = element("p", None, "a", ["b", None], title=None, hidden=True, lang=False)
    assert render(made) == '<p hidden="">ab</p>'


def test_products_of_long_names_break_before_their_dots():
    terms = Sum(np.array([[1, 1, 0], [0, 0, 2]]), [2.0, -3.0], 4)
    long = render(mathml_equation(terms, ["speed", "force", "x1"]))
    assert "<wbr>" in long
    assert "<msubsup>" in long
    assert "<wbr>" not in render(mathml_equation(terms, ["a", "b", "x1"]))
