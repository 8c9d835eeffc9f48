"""Notebooks show equations and explanations, quickly, and scikit-learn's diagram stays."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.datasets import make_variety
from vanishing.equations.mathml import element, mathml_equation, notebook_html, render
from vanishing.equations.simplification import notebook_latex
from vanishing.equations.text import SHOWN_LINES, SHOWN_TERMS, Sum, shorten_names, significant
from vanishing.polynomials import PolynomialBasis

XY = ["x0", "x1"]


@pytest.fixture(scope="module")
def circle():
    X = pd.DataFrame(make_variety("circle", 100), columns=["height <b>", "y"])
    return VanishingIdeal(max_degree=2, tol=1e-6).fit(X)


# --- ideals and bases -----------------------------------------------------------------------------


def test_a_fitted_ideal_is_a_diagram_and_its_equations(circle):
    bundle = circle._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "text/latex"}
    assert "sk-top-container" in bundle["text/html"]
    assert "<math>" in bundle["text/html"]
    assert bundle["text/html"].split("sk-top-container")[0] != bundle["text/html"]
    assert circle._repr_html_().count("<math>") == bundle["text/html"].count("<math>")
    assert bundle["text/latex"] == circle._repr_latex_()


def test_names_are_the_columns_and_escaped(circle):
    html = circle._repr_mimebundle_()["text/html"]
    equations = html[html.index("vanishing-equations") :]
    assert "height &lt;b&gt;" in equations
    assert "height <b>" not in equations
    assert r"\mathrm{height\ <{}b>}^{2}" in circle._repr_latex_()


def test_an_unfitted_ideal_is_a_diagram_alone():
    ideal = VanishingIdeal()
    assert set(ideal._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert ideal._repr_latex_() is None
    assert "vanishing-equations" not in ideal._repr_html_()


def test_text_is_text_where_it_is_asked_for(circle):
    with sklearn.config_context(display="text"):
        assert set(circle._repr_mimebundle_()) == {"text/plain"}
        assert circle._repr_latex_() is None
        assert not hasattr(circle, "_repr_html_")


def test_diagrams_of_pipelines_are_left_alone():
    pipeline = make_pipeline(StandardScaler(), VanishingIdeal(tol=1e-6))
    pipeline.fit(make_variety("circle", 50))
    html = pipeline._repr_html_()
    assert "VanishingIdeal" in html
    assert "vanishing-equations" not in html


def test_a_basis_shows_numbered_variables(circle):
    latex, html = notebook_latex(circle.basis_, XY), notebook_html(circle.basis_, XY)
    assert latex.startswith("$$\\begin{aligned}")
    assert "x_{0}^{2}" in latex
    (row,) = ElementTree.fromstring(html)  # it is well-formed
    assert row[0].get("aria-label").endswith("= 0")
    assert row[1].text.startswith("degree 2, extent ")


def test_the_equation_is_that_of_the_circle(circle):
    spoken = ElementTree.fromstring(notebook_html(circle.basis_, XY))[0][0].get("aria-label")
    assert spoken == "x0^2 + x1^2 − 1 = 0"


def test_large_bases_are_cut_and_said_to_be():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 30)) @ rng.normal(size=(30, 70))
    ideal = VanishingIdeal(max_degree=1, tol=1e-9).fit(X)
    names = [f"x{j}" for j in range(70)]
    html, latex = notebook_html(ideal.basis_, names), notebook_latex(ideal.basis_, names)
    assert f"{40 - SHOWN_LINES} more equations" in html
    assert f"{40 - SHOWN_LINES} more equations" in latex
    assert latex.count("&= 0") == SHOWN_LINES
    assert r"\cdots" in latex
    assert html.count("⋯") == SHOWN_LINES
    for line in latex.splitlines()[1:3]:
        assert SHOWN_TERMS - 1 <= line.count("x_") <= SHOWN_TERMS  # one may be constant


def test_what_would_take_long_is_not_expanded(monkeypatch):
    X = make_variety("twisted-cubic", 100)
    basis = VanishingIdeal(max_degree=3, tol=1e-9).fit(X).basis_
    counted = basis.degrees().tolist().count
    # As many coefficients as there are up to degree 2.
    monkeypatch.setattr("vanishing.equations.expansion.BLOCK", 10 * 6)
    latex = notebook_latex(basis, ["x", "y", "z"])
    assert latex.count("&= 0") == counted(2) == 3
    assert f"{counted(3)} more equations" in latex
    monkeypatch.setattr("vanishing.equations.expansion.BLOCK", 10)
    monkeypatch.setattr(PolynomialBasis, "expand", None)
    assert f"{basis.count()} equations, too large to be written out" in notebook_latex(basis, XY)


def test_no_equations():
    X = np.random.default_rng(0).normal(size=(50, 2))
    ideal = VanishingIdeal(max_degree=1, tol=1e-9).fit(X)
    assert "nothing vanishes" in ideal._repr_latex_()
    assert "nothing vanishes" in notebook_html(ideal.basis_, XY)


# --- explanations ---------------------------------------------------------------------------------


def test_explanations_are_tables():
    rng = np.random.default_rng(0)
    speed, force = rng.uniform(1, 2, (2, 300))
    table = pd.DataFrame({"speed": speed, "force": force, "a < b": speed * force})
    detector = VanishingDetector().fit(table)
    odd = pd.DataFrame([[1.2, 1.5, 3.5]], columns=table.columns)
    explanation = detector.explain(odd)[0]
    html = explanation._repr_html_()
    page = ElementTree.fromstring(html)
    rows = page.findall(".//tbody/tr")
    assert rows[0][0].text == "a < b"
    assert "a &lt; b" in html
    assert "3.5 → " in rows[0][1].text
    assert html.count("<li>") == len(explanation.equations)
    typical = detector.explain(table.iloc[[0]])[0]
    assert "A typical sample" in typical._repr_html_()


# --- writing --------------------------------------------------------------------------------------


def test_elements_escape_all_that_they_are_given():
    made = element("p", '<b>&"', element("i", "x\x00\ud800"), "</p>", title='"><script>')
    content = render(made)
    assert content.endswith('>&lt;b&gt;&amp;"<i>x\ufffd\ufffd</i>&lt;/p&gt;</p>')
    (read,) = (attrs for tag, attrs in Tags(content).found if tag == "p")
    assert read == [("title", '"><script>')]


class Tags(HTMLParser):
    def __init__(self, content):
        super().__init__()
        self.found = []
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))


def test_mathml_of_powers_indices_and_small_numbers():
    exponents = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]])
    terms = Sum(exponents, [-1.0, 0.5, 1.26e-7, 420.4], 2, n_left_out=3)
    equation = mathml_equation(terms, ["x1", "long name", "z"], relation="≈ 0")
    text = "".join(equation.itertext()).replace("\u2062", "")
    assert text == "−x12 +0.5x1⋅long name +1.3×10−7z +420 +⋯ ≈0"
    assert equation.get("aria-label") == (
        "− x1^2 + 0.5 · x1 · long name + 1.3e−07 · z + 420 + 3 more terms ≈ 0"
    )
    # A term of long names may break into lines.
    assert [each.tag for each in equation] == ["math", "span", *["math"] * 4]


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [(0.0, 3, "0"), (12.34, 1, "10"), (-0.000123, 2, "−0.00012"), (1e6, 2, "1e+06")],
)
def test_significant_digits(value, digits, written):
    assert significant(value, digits) == written


def test_shortened_names_stay_different():
    names = [f"{'a' * 30}_{i}_{'b' * 30}" for i in range(12)]
    short = shorten_names(names, 12)
    assert len(set(short)) == 12
    assert max(map(len, short)) <= 12
    assert shorten_names(["u", "v"], 12) == ["u", "v"]
