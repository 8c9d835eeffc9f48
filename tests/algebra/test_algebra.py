"""Questions about ideals and varieties get the textbook's answers."""

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq

from vanishing import VanishingIdeal
from vanishing.algebra import (
    contains,
    contains_exactly,
    estimate_variety,
    groebner_basis,
    hilbert_function,
    minimal_generators,
    minimal_generators_exactly,
    project,
)
from vanishing.algebra.varieties import growth
from vanishing.construction.border import Abm, AbmGradient, Oavi
from vanishing.datasets import describe_variety, make_variety, varieties
from vanishing.polynomials.monomials import monomials

NOISE = 0.01
#: At 1 % noise, a conic is within the tolerance of the cubic.
TOO_NOISY = {"cuspidal-cubic"}

#: Degrees of minimal generators of the projective closure.
GENERATORS = {
    "grid": [3, 4],
    "circle": [2],
    "ellipse": [2],
    "line-pair": [2],
    "cuspidal-cubic": [3],
    "twisted-cubic": [2, 2, 2],
    "rational-normal-curve": [2] * 6,
    "viviani": [2, 2],
    "crown": [2, 3],
    "axes": [2, 2, 2],
    "cyclic-4": [1, 1, 4],
    "sphere": [2],
    "torus": [4],
    "veronese": [2] * 6,
    "segre": [2],
    "segre-2x3": [2, 2, 2],
}


def enough_degrees(name):
    """One more than the equations have; points are exhausted later."""
    if name == "grid":
        return 6
    record = describe_variety(name)
    symbols = sympy.symbols(record.variables)
    return 1 + max(sympy.Poly(text, *symbols).total_degree() for text in record.equations)


def fitted(name, *, noise=0.0, max_degree=None, n_samples=1000, seed=0):
    """Points and basis; the tolerance is 1.5 times the noise, whose extents are about once."""
    X = make_variety(name, n_samples, noise=noise, random_state=seed)
    tol = 1.5 * noise * describe_variety(name).size or 1e-9
    degree = enough_degrees(name) if max_degree is None else max_degree
    return X, VanishingIdeal(max_degree=degree, tol=tol).fit(X).basis_


def exact_equations(name):
    record = describe_variety(name)
    return [sympy.Poly(text, *sympy.symbols(record.variables)) for text in record.equations]


def ideal_part(basis, degree):
    """Rank of the multiples x^a g up to a degree: the dimension of what they generate there."""
    table = monomials(basis.n_features, degree)
    exponents, coefficients = basis.expand()
    index = {tuple(e): i for i, e in enumerate(table.exponents.tolist())}
    rows = []
    for g, own in zip(coefficients.T, basis.degrees().tolist(), strict=True):
        for factor in monomials(basis.n_features, degree - own).exponents:
            row = np.zeros(len(table))
            for e, c in zip(exponents, g, strict=True):
                if e.sum() <= own:
                    row[index[tuple((e + factor).tolist())]] = c
            rows.append(row / np.linalg.norm(row))
    return np.linalg.matrix_rank(np.array(rows), tol=1e-7)


class TestMinimalGenerators:
    @pytest.mark.parametrize("max_degree", range(2, 7))
    def test_sphere_has_one_at_every_degree(self, max_degree):
        _, basis = fitted("sphere", max_degree=max_degree)
        assert minimal_generators(basis).degrees().tolist() == [2]

    @pytest.mark.parametrize(
        ("name", "noise"),
        [(name, 0.0) for name in GENERATORS]
        # Of the others the noisy fit itself is not right.
        + [(name, NOISE) for name in GENERATORS if name not in TOO_NOISY],
    )
    def test_numbers_of_the_textbook(self, name, noise):
        _, basis = fitted(name, noise=noise)
        assert minimal_generators(basis).degrees().tolist() == GENERATORS[name]

    @pytest.mark.parametrize("name", ["sphere", "crown", "twisted-cubic", "grid", "segre-2x3"])
    def test_they_generate_the_same_ideal(self, name):
        _, basis = fitted(name)
        degree = len(basis.blocks)
        assert ideal_part(minimal_generators(basis), degree) == ideal_part(basis, degree)

    @pytest.mark.parametrize("name", ["circle", "ellipse", "twisted-cubic", "viviani", "segre"])
    def test_exact_ones_agree(self, name):
        X = make_variety(name, 60, exact=True)
        degree = enough_degrees(name)
        ideal = VanishingIdeal(max_degree=degree, tol=0).fit(X.astype(float))
        exact = ideal.to_rational(X)
        x = exact[0].gens[0]
        redundant = [exact[0] * sympy.Poly(x, *exact[0].gens)]
        found = minimal_generators_exactly([*redundant, *exact])
        assert [p.total_degree() for p in found] == GENERATORS[name]
        assert minimal_generators(ideal.basis_).degrees().tolist() == GENERATORS[name]

    def test_nothing_vanishes(self):
        X = np.random.default_rng(0).normal(size=(100, 2))
        basis = VanishingIdeal(max_degree=2, tol=1e-9).fit(X).basis_
        assert minimal_generators(basis).count() == 0

    @pytest.mark.parametrize("scales", [(1e3, 1e3, 1e3), (1e3, 1.0, 1e-3)])
    def test_units_and_position_do_not_matter(self, scales):
        X = np.array(scales) * (make_variety("crown", 1000) + 0.5)
        basis = VanishingIdeal(max_degree=4, tol=0).fit(X).basis_
        assert minimal_generators(basis).degrees().tolist() == [2, 3]

    @pytest.mark.parametrize("noise", [0.0, 1e-4, 1e-3])
    def test_noise_does_not_hide_generators_behind_syzygies(self, noise):
        # On the cone over the twisted cubic, three quadrics with two linear relations, a cubic.
        rng = np.random.default_rng(0)
        a = rng.uniform(-1.3, 1.3, 2000)
        b = np.cbrt(np.cbrt(1 - a**9))
        X = np.column_stack([a**3, a * a * b, a * b * b, b**3])
        X += noise * rng.normal(size=X.shape)
        basis = VanishingIdeal(max_degree=3, tol=2 * noise or 1e-9).fit(X).basis_
        n_cubics = int(np.sum(basis.degrees() == 3))
        expected = [2, 2, 2] + [3] * (n_cubics - 10)
        assert minimal_generators(basis).degrees().tolist() == expected
        assert n_cubics > 10

    def test_linear_equations_eliminate_variables(self):
        circle = make_variety("circle", 200)
        X = np.column_stack([circle, circle.sum(axis=1), np.ones(200)])
        basis = VanishingIdeal(max_degree=4, tol=1e-9).fit(X).basis_
        assert minimal_generators(basis).degrees().tolist() == [1, 1, 2]

    def test_what_is_refused(self):
        with pytest.raises(TypeError, match=r"sympy\.Poly"):
            minimal_generators_exactly([sympy.Symbol("x")])


class TestDimensionAndDegree:
    def test_hilbert_function_of_the_twisted_cubic(self):
        _, basis = fitted("twisted-cubic", max_degree=4)
        assert hilbert_function(basis).tolist() == [1, 4, 7, 10, 13]

    @pytest.mark.parametrize("name", varieties())
    def test_clean(self, name):
        record = describe_variety(name)
        X, basis = fitted(name)
        found = estimate_variety(basis, X)
        assert (found.dimension, found.degree) == (record.dimension, record.degree)
        assert found.local_dimension == record.dimension
        assert found.settled, found.doubts

    @pytest.mark.parametrize("seed", [0, 1])
    @pytest.mark.parametrize("name", sorted(set(varieties()) - TOO_NOISY))
    def test_noisy(self, name, seed):
        record = describe_variety(name)
        X, basis = fitted(name, noise=NOISE, seed=seed)
        found = estimate_variety(basis, X)
        assert (found.dimension, found.degree) == (record.dimension, record.degree)
        assert found.settled, found.doubts

    @pytest.mark.parametrize("n_samples", [50, 1000])
    @pytest.mark.parametrize("name", sorted(set(varieties()) - {"cyclic-4"}))
    def test_settled_is_right_at_every_degree(self, name, n_samples):
        record = describe_variety(name)
        for max_degree in range(1, enough_degrees(name)):
            X, basis = fitted(name, max_degree=max_degree, n_samples=n_samples)
            found = estimate_variety(basis, X)
            right = (found.dimension, found.degree) == (record.dimension, record.degree)
            assert right or not found.settled

    def test_equations_after_a_gap_of_degrees_cannot_be_known(self):
        X, basis = fitted("cyclic-4", max_degree=3)  # two of degree 1, and the next is of degree 4
        found = estimate_variety(basis, X)
        assert (found.dimension, found.degree, found.settled) == (2, 1, True)

    def test_too_low_a_degree_is_said(self):
        X, basis = fitted("viviani", max_degree=2)
        found = estimate_variety(basis, X)
        assert (found.dimension, found.degree, found.settled) == (1, None, False)
        assert "too low" in found.doubts[-1]

    def test_too_few_points_are_said(self):
        X = np.random.default_rng(0).normal(size=(10, 2))
        basis = VanishingIdeal(max_degree=None, tol=0).fit(X).basis_
        found = estimate_variety(basis, X)
        assert (found.dimension, found.degree, found.settled) == (0, 10, False)

    def test_no_equations_are_said(self):
        X = np.random.default_rng(0).normal(size=(100, 2))
        found = estimate_variety(VanishingIdeal(max_degree=3, tol=0).fit(X).basis_, X)
        assert (found.dimension, found.degree) == (2, 1)
        assert found.doubts == ("there are no equations of degree 3 or less",)

    def test_growth_needs_two_degrees(self):
        assert growth(np.array([1])) is None


class TestMembership:
    x, y, z = sympy.symbols("x y z")

    @pytest.mark.parametrize("name", ["viviani", "crown", "twisted-cubic"])
    def test_equations_and_their_multiples_are_contained(self, name):
        _, basis = fitted(name)
        names = describe_variety(name).variables
        for p in exact_equations(name):
            for factor in (1, 1 + self.x, self.y * self.z - 3):
                found = contains(basis, p.as_expr() * factor, names)
                assert found.contained
                assert found.residual < 1e-9
                assert not contains(basis, p.as_expr() * factor + 0.01, names).contained

    def test_numbers_are_the_same_as_expressions(self):
        _, basis = fitted("circle")
        on_monomials = [-1.0, 0, 0, 1.0, 0, 1.0]
        assert contains(basis, on_monomials).contained
        assert contains(basis, [0.0]).contained
        assert contains(basis, sympy.sympify("x0**2 + x1**2 - 1")).contained

    def test_multiples_of_a_higher_degree(self):
        """xz - y² is in the ideal of x² - y and xy - z, by multiples of degree 3 only."""
        two = [sympy.Poly(p, self.x, self.y, self.z) for p in ("x**2 - y", "x*y - z")]
        third = sympy.Poly("x*z - y**2", self.x, self.y, self.z)
        assert contains_exactly(two, third)
        assert minimal_generators_exactly([*two, third, -two[0]]) == [*two, third]

    def test_a_degree_above_the_own(self):
        _, basis = fitted("circle", max_degree=2)
        p = self.x**2 + self.y**2 - 1
        assert contains(basis, p, ["x", "y"], degree=5).contained
        assert not contains(basis, p + self.x, ["x", "y"], degree=5).contained

    def test_noise_needs_a_tolerance(self):
        _, basis = fitted("circle", noise=NOISE)
        p = self.x**2 + self.y**2 - 1
        assert not contains(basis, p, ["x", "y"]).contained
        assert contains(basis, p, ["x", "y"], tol=5 * NOISE).contained

    @pytest.mark.parametrize(
        ("polynomial", "options", "message"),
        [
            ([1.0, 2.0], {}, "one coefficient for each monomial"),
            (sympy.Symbol("a"), {}, "the variables are x0, x1"),
            (sympy.Symbol("a"), {"names": ["a"]}, "expected 2 feature names"),
            (sympy.Symbol("x0") ** 3, {"degree": 2}, "at least the polynomial's 3"),
        ],
    )
    def test_what_is_refused(self, polynomial, options, message):
        with pytest.raises(ValueError, match=message):
            contains(fitted("circle")[1], polynomial, **options)

    def test_exactly(self):
        curve = exact_equations("viviani")
        assert contains_exactly(curve, self.z**2 + self.x - 1)
        assert not contains_exactly(curve, self.z + self.x - 1)
        with pytest.raises(ValueError, match="rational coefficients"):
            contains_exactly(curve, 0.5 * self.x)


class TestGroebner:
    def test_same_ideal(self):
        equations = exact_equations("crown")
        basis = groebner_basis(equations)
        assert all(contains_exactly(basis, p) for p in equations)
        assert all(contains_exactly(equations, p) for p in basis)

    def test_of_nothing(self):
        x = sympy.Symbol("x")
        assert groebner_basis([sympy.Poly(0, x)]) == []

    def test_what_is_refused(self):
        x, y = sympy.symbols("x y")
        with pytest.raises(ValueError, match="rational coefficients"):
            groebner_basis([sympy.Poly(0.5 * x, x)])
        with pytest.raises(ValueError, match="same variables"):
            groebner_basis([sympy.Poly(x, x), sympy.Poly(y, y)])
        with pytest.raises(TypeError, match=r"sympy\.Poly"):
            groebner_basis([x + y])
        with pytest.raises(ValueError, match="at least one"):
            groebner_basis([])
        with pytest.raises(ValueError, match="order"):
            groebner_basis([sympy.Poly(x, x)], order="degree")


def nearest_on_ellipse(point, axes):
    """Nearest point of (x/a)² + (y/b)² = 1, by the root of the secular equation."""
    a2, b2 = np.square(axes)
    x, y = np.abs(point)

    def excess(t):
        return a2 * x**2 / (t + a2) ** 2 + b2 * y**2 / (t + b2) ** 2 - 1

    t = brentq(excess, -b2 + np.sqrt(b2) * y, 1e3, xtol=1e-15)
    return np.copysign([a2 * x / (t + a2), b2 * y / (t + b2)], point)


class TestProjection:
    @pytest.mark.parametrize("name", ["circle", "sphere"])
    @pytest.mark.parametrize("max_degree", [2, 4])
    def test_round_ones(self, name, max_degree):
        X, basis = fitted(name, max_degree=max_degree)
        points = np.random.default_rng(0).normal(size=(100, X.shape[1]))
        radii = np.linalg.norm(points, axis=1)
        found = project(basis, points)
        assert found.converged.all()
        np.testing.assert_allclose(found.points, points / radii[:, None], atol=1e-9)
        np.testing.assert_allclose(found.distances, np.abs(radii - 1), atol=1e-12)

    def test_ellipse(self):
        _, basis = fitted("ellipse", max_degree=2)
        points = np.random.default_rng(0).normal(size=(200, 2))
        expected = np.array([nearest_on_ellipse(p, (1.5, 0.5)) for p in points])
        found = project(basis, points)
        assert found.converged.all()
        best = np.linalg.norm(points - expected, axis=1)
        # The way is at right angles to the ellipse at every point found; nearest are most of them.
        gradients = found.points * [1 / 1.5**2, 1 / 0.5**2]
        way = points - found.points
        assert np.abs(way[:, 0] * gradients[:, 1] - way[:, 1] * gradients[:, 0]).max() < 1e-7
        same = np.abs(found.distances - best) < 1e-9
        assert same.mean() > 0.97
        outside = np.sum(points**2 / [1.5**2, 0.5**2], axis=1) > 1
        assert same[outside].all()

    @pytest.mark.parametrize("name", ["twisted-cubic", "viviani", "torus", "veronese", "lissajous"])
    def test_points_near_others(self, name):
        record = describe_variety(name)
        X, basis = fitted(name)
        off = 0.05 * record.size * np.random.default_rng(1).normal(size=(100, X.shape[1]))
        found = project(basis, X[:100] + off)
        assert found.converged.all()
        assert np.abs(record.evaluate(found.points)).max() < 1e-9
        assert (found.distances <= np.linalg.norm(off, axis=1) + 1e-12).all()
        again = project(basis, found.points)
        assert again.distances.max() < 1e-8

    @pytest.mark.parametrize("name", ["twisted-cubic", "torus", "veronese"])
    def test_noisy_equations_that_do_not_hold_together(self, name):
        record = describe_variety(name)
        X, basis = fitted(name, noise=NOISE)
        found = project(basis, X[:300])
        assert found.converged.mean() > 0.98
        codimension = record.n_features - record.dimension
        expected = NOISE * record.size * np.sqrt(codimension)
        assert np.sqrt(np.mean(found.distances**2)) == pytest.approx(expected, rel=0.1)

    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    def test_one_point_at_a_time(self, scale):
        X = scale * (make_variety("twisted-cubic", 1000, noise=NOISE) + 7)
        basis = VanishingIdeal(max_degree=2, tol=2 * NOISE * scale).fit(X).basis_
        together = project(basis, X[:8], dimension=1)
        one_by_one = [project(basis, x[None, :]) for x in X[:8]]
        assert all(found.converged[0] for found in one_by_one)
        points = np.vstack([found.points for found in one_by_one])
        # How equations are weighed depends on the points, and noise makes that matter.
        np.testing.assert_allclose(points, together.points, atol=NOISE * scale)

    def test_singular_points_are_told(self):
        _, cusp = fitted("cuspidal-cubic", max_degree=3)
        found = project(cusp, [[-1.0, 0.0], [0.5, 0.5]], max_steps=30)
        assert found.converged.tolist() == [False, True]
        assert found.distances[0] == pytest.approx(1.0, abs=0.02)
        _, cone = fitted("cone", max_degree=2)
        found = project(cone, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
        assert found.converged.tolist() == [False, True, True]

    def test_too_few_steps_are_told(self):
        _, basis = fitted("ellipse", max_degree=2)
        assert not project(basis, [[3.0, 2.0]], max_steps=1).converged.any()

    def test_what_is_refused(self):
        X = np.random.default_rng(0).normal(size=(100, 2))
        nothing = VanishingIdeal(max_degree=2, tol=1e-9).fit(X).basis_
        with pytest.raises(ValueError, match="nothing vanishes"):
            project(nothing, X)
        with pytest.raises(ValueError, match="dimension must be"):
            project(fitted("circle")[1], X, dimension=2)


def test_nearest_points_of_a_finite_set_are_its_points():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ideal = VanishingIdeal(tol=0, max_degree=None).fit(X)
    off = np.array([[0.05, 0.02], [-0.03, 0.04], [0.02, -0.05]])
    np.testing.assert_allclose(project(ideal.basis_, X + off).points, X, atol=1e-6)


def test_a_plane_and_a_line_with_more_points_have_two_dimensions():
    rng = np.random.default_rng(0)
    plane, line = np.zeros((60, 3)), np.zeros((150, 3))
    plane[:, :2], line[:, 2] = rng.normal(size=(60, 2)), rng.normal(size=150)
    X = np.vstack([plane, line])
    found = estimate_variety(VanishingIdeal(max_degree=4, tol=1e-6).fit(X).basis_, X)
    assert "the Hilbert function gives dimension 2, the Jacobian 1" in found.doubts
    assert not found.settled


@pytest.mark.parametrize("kind", [Abm, AbmGradient, Oavi])
@pytest.mark.parametrize("units", [1.0, [2.0**30, 1.0, 2.0**-30]])
def test_minimal_generators_of_a_full_border(kind, units):
    """Multiples of linear equations were kept, since F_1 is all variables."""
    t = np.arange(-4.0, 5)
    X = np.column_stack([t, 2 * t + 1, 3 - t]) * units
    construction = kind(border="full")
    for degree in (2, 3):
        ideal = VanishingIdeal(
            construction=construction, generators="minimal", max_degree=degree, tol=0
        )
        assert ideal.fit(X).basis_.degrees().tolist() == [1, 1]


def test_members_of_equations_that_nearly_depend_on_each_other():
    """A combination of multiples was so small that it was taken for zero, and left out."""
    points = [[-2, -1, 1, 4, 5, 2, -3], [5, -5, 0, -4, -2, 5, 0], [-1, -5, 5, 1, -3, 3, 0]]
    points += [[-1, -1, 3, 1, -2, 5, 2], [-5, -3, 5, 1, -2, 0, -4]]
    X = 8.0 * np.array(points)
    construction = AbmGradient(order="degrevlex")
    basis = VanishingIdeal(construction=construction, max_degree=2, tol=0).fit(X).basis_
    values = np.prod(X[:, None] ** monomials(7, 2).exponents, axis=2)
    _, singular, right = np.linalg.svd(values / np.abs(values).max(axis=0))
    for vanishing in right[len(singular) :] / np.abs(values).max(axis=0):
        assert contains(basis, vanishing).contained


def test_minimal_generators_of_two_clusters():
    """Multiples of lower generators seemed to depend on each other, and one was kept for them."""
    near = [[-1, 1], [-2, -1], [2, -1], [-1, 0], [-3, -2], [3, -1]]
    far = [[37, 39], [38, 38], [43, 41], [37, 41], [42, 42], [41, 38]]
    X = np.array(near + far) * 2.0**-18
    construction = AbmGradient()
    ideal = VanishingIdeal(max_degree=5, tol=0, construction=construction, generators="minimal")
    assert ideal.fit(X).basis_.degrees().tolist() == [4, 4, 4]


@pytest.mark.parametrize("normalization", ["coefficient", "gradient-weighted", "vca"])
def test_minimal_generators_in_single_precision(normalization):
    """Multiples that differ by single rounding errors seemed to be independent."""
    points = [[0, -5], [0, 4], [4, 0], [0, -1]], [[3, 0], [5, 4], [-4, 5], [1, -4]]
    for products in ("independent", "all"):
        for X in map(np.array, points):
            ideal = VanishingIdeal(
                max_degree=4,
                tol=0,
                products=products,
                normalization=normalization,
                generators="minimal",
            )
            exact = ideal.fit(X.astype(np.float64)).basis_.degrees().tolist()
            assert ideal.fit(X.astype(np.float32)).basis_.degrees().tolist() == exact
