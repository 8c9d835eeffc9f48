"""Exact relations come out as the equations of the textbook, with a proof."""

import pickle
import sys
from fractions import Fraction
from math import gcd

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import NORMALIZATIONS, fit

from vanishing import VanishingIdeal
from vanishing.datasets import make_variety
from vanishing.equations import CertificateError, to_rational
from vanishing.equations import rational as rounding
from vanishing.equations.rational import (
    rational_candidates,
    reduced_echelon,
    reduced_modulo,
)
from vanishing.equations.rounding import simple_number, simplest_fraction

x, y, z, w = sympy.symbols("x y z w")


def parameters(n=200, seed=0):
    """Rational numbers of moderate size, all different."""
    rng = np.random.default_rng(seed)
    drawn = {}
    while len(drawn) < n:
        drawn[Fraction(int(rng.integers(-60, 61)), int(rng.integers(20, 41)))] = None
    return list(drawn)


def unit_circle():
    return [((1 - t**2) / (1 + t**2), 2 * t / (1 + t**2)) for t in parameters()]


def pairs():
    return zip(parameters(seed=1), parameters(seed=2), strict=True)


def singular_matrices():
    numbers = zip(*(parameters(seed=seed) for seed in (3, 4, 5, 6)), strict=True)
    return [(a * c, a * d, b * c, b * d) for a, b, c, d in numbers]


HALF = Fraction(1, 2)
#: Points, largest degree, equations of the ideal up to that degree.
TEXTBOOK = {
    "circle": (unit_circle(), 3, [x**2 + y**2 - 1]),
    "ellipse with rational axes": (
        [(Fraction(7, 3) * c + HALF, Fraction(5, 11) * s) for c, s in unit_circle()],
        2,
        [900 * x**2 - 900 * x + 23716 * y**2 - 4675],
    ),
    "ellipse, turned": (
        [(3 * c - 2 * s, Fraction(1, 7) * c + s) for c, s in unit_circle()],
        2,
        [50 * x**2 + 154 * x * y + 637 * y**2 - 529],
    ),
    "twisted cubic": (
        [(t, t**2, t**3) for t in parameters()],
        3,
        [x**2 - y, x * y - z, x * z - y**2],
    ),
    "Viviani's curve": (
        [(c**2, c * s, s) for c, s in unit_circle()],
        2,
        [x**2 + y**2 - x, z**2 + x - 1],
    ),
    "Cayley's cubic": (
        [(a, b, -a * b / (a * b + a + b)) for a, b in pairs() if a * b + a + b],
        3,
        [x * y * z + x * y + x * z + y * z],
    ),
    "Clebsch's cubic": (
        make_variety("clebsch-cubic", 200, exact=True).tolist(),
        3,
        [sympy.expand((x + y + z + 1) ** 3 - x**3 - y**3 - z**3 - 1) / 3],
    ),
    "cyclic 4-roots": (
        make_variety("cyclic-4", 200, exact=True).tolist(),
        4,
        [x + z, y + w, z**2 * w**2 - 1],
    ),
    "cyclic 4-roots, one component": (
        [(t, 1 / t, -t, -1 / t) for t in parameters(seed=7) if t],
        2,
        [x + z, y + w, z * w - 1],
    ),
    "2x2 determinant": (singular_matrices(), 2, [x * w - y * z]),
    "grid": (
        [(Fraction(i), Fraction(j, 2)) for i in range(4) for j in range(3)],
        4,
        [2 * y**3 - 3 * y**2 + y, x**4 - 6 * x**3 + 11 * x**2 - 6 * x],
    ),
    "line in space": (
        [(t, 2 * t + 1, 3 - t / 5) for t in parameters()],
        2,
        [x + 5 * z - 15, y + 10 * z - 31],
    ),
    "two lines": (
        [(t, 2 * t) for t in parameters()] + [(t, 1 - t / 3) for t in parameters()],
        2,
        [2 * x**2 + 5 * x * y - 6 * x - 3 * y**2 + 3 * y],
    ),
    "line through the origin": ([(t, Fraction(0)) for t in parameters()], 1, [y]),
}
TEXTBOOK_POINTS = {name: points for name, (points, _, _) in TEXTBOOK.items()}

textbook = pytest.mark.parametrize(
    ("points", "degree", "expected"), TEXTBOOK.values(), ids=TEXTBOOK
)


def rounded(points):
    return np.array(points, dtype=np.float64)


def names_of(points):
    return ["x", "y", "z", "w"][: len(points[0])]


def polys(expressions, points):
    return [sympy.Poly(e, *sympy.symbols(names_of(points))) for e in expressions]


def groebner(expressions, points):
    """The ideal: its reduced Groebner basis, over the rationals."""
    return sympy.groebner(expressions, *sympy.symbols(names_of(points)), order="grevlex").exprs


def rational(points, *, max_degree=2, certificate=None, **options):
    ideal = VanishingIdeal(max_degree=max_degree, tol=0).fit(rounded(points))
    certificate = points if certificate is None else certificate
    return ideal.to_rational(certificate, names_of(points), **options)


# --- equations -----------------------------------------------------------------------------------


@textbook
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_textbook_equations_come_out(points, degree, expected, normalization):
    ideal = fit(rounded(points), normalization, tol=0.0, max_degree=degree)
    assert ideal.to_rational(points, names_of(points)) == polys(expected, points)


@textbook
def test_equations_are_coprime_integers_and_vanish_exactly(points, degree, expected):
    for equation in rational(points, max_degree=degree):
        coefficients = [int(c) for c in equation.coeffs()]
        assert equation.domain == sympy.ZZ
        assert gcd(*coefficients) == 1
        assert equation.LC(order="grlex") > 0
        evaluate = sympy.lambdify(equation.gens, equation.as_expr())
        assert all(evaluate(*point) == 0 for point in points)


@pytest.mark.parametrize("scale", [Fraction(1, 5000), Fraction(3000)])
@pytest.mark.parametrize("name", ["circle", "twisted cubic", "Viviani's curve"])
def test_units_of_the_variables_do_not_matter(name, scale):
    points, degree, expected = TEXTBOOK[name]
    scaled = [(scale * first, *others) for first, *others in points]
    found = rational(scaled, max_degree=degree)
    back = [equation.as_expr().subs(x, scale * x) for equation in found]
    assert groebner(back, points) == groebner(expected, points)


def test_multiples_of_lower_equations_give_none():
    points, _, expected = TEXTBOOK["circle"]
    ideal = VanishingIdeal(max_degree=5, tol=0).fit(rounded(points))
    assert ideal.basis_.count("vanishing") > 1
    assert ideal.to_rational(points, ["x", "y"]) == polys(expected, points)


def test_minimal_generators_generate_the_same_ideal():
    points = TEXTBOOK_POINTS["twisted cubic"]
    every, minimal = rational(points), rational(points, minimal=True)
    assert minimal == polys([x**2 - y, x * y - z], points)
    assert groebner(minimal, points) == groebner(every, points)


def test_minimal_keeps_what_does_not_follow():
    points = TEXTBOOK_POINTS["Viviani's curve"]
    assert rational(points, minimal=True) == rational(points)
    assert rational(TEXTBOOK_POINTS["circle"], minimal=True) == rational(TEXTBOOK_POINTS["circle"])


def test_finite_set_has_its_whole_ideal():
    rng = np.random.default_rng(0)
    points = [tuple(Fraction(int(c)) for c in row) for row in rng.integers(-5, 6, size=(7, 2))]
    found = rational(points, max_degree=None)
    basis = sympy.groebner(found, order="grevlex")
    # The ideal of seven different points has seven standard monomials.
    leading = [p.LM(order="grevlex").exponents for p in basis.polys]
    standard = [
        (i, j) for i in range(8) for j in range(8) if not any(a <= i and b <= j for a, b in leading)
    ]
    assert len(standard) == len(set(points)) == 7


def test_polynomials_shared_with_the_contrast_are_reduced_away():
    points = TEXTBOOK_POINTS["Viviani's curve"]
    equator = [(c, s, Fraction(0)) for c, s in unit_circle()]
    ideal = fit(rounded(points), "contrastive", contrast=rounded(equator), tol=0.0, max_degree=2)
    assert ideal.trace_[1].dropped == 1
    sphere = polys([x**2 + y**2 + z**2 - 1], points)
    assert ideal.to_rational(points, "xyz", modulo=sphere) == polys([z**2 + x - 1], points)


def test_nothing_vanishes():
    points = [(a, b) for a, b in pairs()]
    assert rational(points, max_degree=2) == []


# --- points --------------------------------------------------------------------------------------


INTEGERS = np.array([[i, j, i * j] for i in range(-4, 5) for j in range(-4, 5)])
#: The surface z = 10 x y, at points with denominator 10.
KINDS = {
    "fractions": [[Fraction(int(c), 10) for c in row] for row in INTEGERS],
    "array of fractions": np.array([[Fraction(int(c), 10) for c in row] for row in INTEGERS]),
    "SymPy rationals": [[sympy.Rational(int(c), 10) for c in row] for row in INTEGERS],
    "strings": [[f"{c}/10" for c in row] for row in INTEGERS],
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_points(kind):
    found = rational(INTEGERS / 10, certificate=KINDS[kind])
    assert found == polys([10 * x * y - z], INTEGERS)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float64, np.float32])
def test_integers_over_a_common_denominator(dtype):
    found = rational(INTEGERS / 10, certificate=INTEGERS.astype(dtype), denominator=10)
    assert found == polys([10 * x * y - z], INTEGERS)


def test_floats_are_taken_literally():
    eighths = INTEGERS / np.array([8, 8, 64])
    assert rational(eighths, certificate=eighths) == polys([x * y - z], INTEGERS)
    tenths = INTEGERS / 10
    with pytest.raises(CertificateError, match="rounded numbers"):
        rational(tenths, certificate=tenths)


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        ([[1, 2, 3]], {}, r"expected points of shape \(n_samples, 2\)"),
        ([], {}, r"expected points of shape \(n_samples, 2\)"),
        ([[1.0, float("nan")]], {}, "finite floats, got nan"),
        ([[1.0, float("inf")]], {}, "finite floats, got inf"),
        ([[1, None]], {}, "got None"),
        ([[1, 0]], {"denominator": 0}, "denominator must be a whole number of at least 1"),
    ],
)
def test_bad_points_are_refused(points, options, message):
    with pytest.raises(ValueError, match=message):
        rational(TEXTBOOK_POINTS["circle"], certificate=points, **options)


def test_names():
    points = TEXTBOOK_POINTS["circle"]
    ideal = VanishingIdeal(tol=0).fit(rounded(points))
    (default,) = ideal.to_rational(points)
    assert default.gens == sympy.symbols("x0 x1")
    with pytest.raises(ValueError, match="expected 2 feature names, got 1"):
        ideal.to_rational(points, ["x"])


def test_without_sympy_the_extra_is_named(monkeypatch):
    points = TEXTBOOK_POINTS["circle"]
    ideal = VanishingIdeal(tol=0).fit(rounded(points))
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(ImportError, match=r"to_rational needs sympy.*vanishing\[symbolic\]"):
        to_rational(ideal.basis_, points, ["x", "y"])


# --- certificate ---------------------------------------------------------------------------------


def test_point_off_the_variety_is_found():
    points = unit_circle()
    moved = [*points[:-1], (points[-1][0] + Fraction(1, 10**30), points[-1][1])]
    with pytest.raises(
        CertificateError, match="equation 1 of degree 2 has no certificate"
    ) as caught:
        rational(points, certificate=moved)
    error = caught.value
    assert error.polynomial.as_expr() == x**2 + y**2 - 1
    assert error.residual == abs(moved[-1][0] ** 2 + moved[-1][1] ** 2 - 1)
    assert "x**2 + y**2 - 1.0" in str(error)
    assert f"{float(error.residual):.3g}" in str(error)


def test_errors_survive_pickling():
    points = TEXTBOOK_POINTS["circle"]
    with pytest.raises(CertificateError) as caught:
        rational(points, certificate=[(1, 1)])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.residual) == (str(caught.value), Fraction(1))
    assert again.polynomial.as_expr() == x**2 + y**2 - 1


@pytest.mark.parametrize("noise", [1e-12, 1e-6, 1e-2])
def test_noise_is_refused(noise):
    points = rounded(unit_circle())
    points += noise * np.random.default_rng(0).standard_normal(points.shape)
    ideal = VanishingIdeal(tol=10 * noise).fit(points)
    assert ideal.basis_.count("vanishing") == 1
    with pytest.raises(CertificateError) as caught:
        ideal.to_rational(points)
    assert 0 < caught.value.residual < 100 * noise


def test_irrational_coefficients_are_refused():
    points = [(t, np.sqrt(2) * float(t)) for t in parameters()]
    with pytest.raises(CertificateError, match="equation 1 of degree 1"):
        rational(points, max_degree=1)


def test_errors_of_the_last_equation_leave_no_partial_answer():
    # The plane z = 0 is certified; the circle in it has one point off.
    points = [(c, s, Fraction(0)) for c, s in unit_circle()]
    moved = [*points, (Fraction(1), Fraction(1), Fraction(0))]
    with pytest.raises(CertificateError, match="equation 1 of degree 2"):
        rational(points, certificate=moved)


# --- rounding and echelon form -------------------------------------------------------------------


@given(
    st.fractions(min_value=-100, max_value=100, max_denominator=10**6),
    st.floats(-1, 1),
)
def test_fractions_are_recovered_from_their_neighbours(fraction, share):
    error = 0.4 / fraction.denominator**2
    error = min(error, 1e-3)
    value = float(fraction) + 0.5 * share * error
    assert simplest_fraction(value, error) == fraction


def test_simplest_fraction_near_zero_is_zero():
    assert simplest_fraction(-1e-17, 1e-15) == 0


def test_the_ends_of_the_interval_belong_to_it():
    assert simplest_fraction(2.25, 0.25) == 2
    assert simplest_fraction(-2.25, 0.25) == -2
    assert simplest_fraction(1.75, 0.25) == 2
    assert simplest_fraction(0.4, 0.0) == Fraction(0.4)


def test_simple_numbers_nearby():
    assert simple_number(2.5001, 1e-3).value == Fraction(5, 2)
    assert simple_number(-0.33334, 1e-4).value == Fraction(-1, 3)
    found = simple_number(9.81, 1e-5)
    assert found.value == Fraction(981, 100)
    assert found.coincidence == pytest.approx(0.2)
    assert simple_number(np.pi, 1e-2).coincidence > 0.5
    assert simple_number(0.0, 1e-2).value == 0


def test_lattice_reduction_reaches_denominators_that_fractions_alone_do_not(monkeypatch):
    # The conic through five points has determinants of their coordinates as coefficients.
    points = np.random.default_rng(4).integers(-100, 101, size=(5, 2))
    (conic,) = rational(points)
    assert max(map(abs, conic.coeffs())) > 10**8
    monkeypatch.setattr(rounding, "LARGEST_LATTICE", 0)
    with pytest.raises(CertificateError):
        rational(points)


def test_proposals_do_not_repeat():
    proposals = list(rational_candidates([1.0, 1 / 3, np.pi], [1.0, 1.0, 1.0]))
    assert len({tuple(p) for p in proposals}) == len(proposals) > 1


@pytest.mark.parametrize("seed", range(5))
def test_echelon_form_spans_the_same(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((4, 3)) @ rng.integers(-3, 4, size=(3, 9)).astype(float)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    echelon, pivots = reduced_echelon(rows, np.arange(9))
    assert echelon.shape == (3, 9)
    assert (echelon[:, pivots] == np.eye(3)).all()
    assert np.abs(reduced_modulo(rows, echelon, pivots)).max() <= 1e-12


def test_echelon_form_passes_over_small_pivots():
    rows = np.array([[1e-3, 1.0, 0.5]])
    _, pivots = reduced_echelon(rows, np.arange(3))
    assert pivots.tolist() == [1]
