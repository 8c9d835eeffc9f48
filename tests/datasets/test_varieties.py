"""Varieties: the records are true of the points, by computer algebra, and points are even."""

import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import sympy
from scipy import integrate, stats

from vanishing import VanishingIdeal
from vanishing.datasets import describe_variety, make_variety, varieties
from vanishing.datasets.varieties import Charts, LineSections, Polynomial
from vanishing.polynomials.monomials import monomials

PRIME = 2_147_483_647  # products of two residues fit into int64
RATIONAL = [name for name in varieties() if describe_variety(name).rational]

every_variety = pytest.mark.parametrize("name", varieties())
every_rational_variety = pytest.mark.parametrize("name", RATIONAL)


# --- equations, dimension, degree ---------------------------------------------------------------


def polynomials(name):
    """Equations as SymPy expressions, and their symbols."""
    record = describe_variety(name)
    symbols = sympy.symbols(record.variables)
    return [sympy.sympify(text) for text in record.equations], symbols


def standard_monomials(equations, symbols, max_degree, **options):
    """Numbers of monomials of each degree that are not leading ones of the ideal.

    Summed up they are the Hilbert function of the ideal in affine space.
    """
    basis = sympy.groebner(equations, *symbols, order="grevlex", **options)
    leading = np.array([each.monoms(order="grevlex")[0] for each in basis.polys])
    exponents = monomials(len(symbols), max_degree).exponents
    divisible = (exponents[:, None, :] >= leading).all(axis=2).any(axis=1)
    return np.bincount(exponents[~divisible].sum(axis=1), minlength=max_degree + 1)


@cache
def equation_degree(name):
    """The highest degree of an equation."""
    equations, symbols = polynomials(name)
    return max(sympy.Poly(equation, *symbols).total_degree() for equation in equations)


def rank_modulo_prime(matrix):
    """Rank of a matrix of residues, by elimination."""
    rows, rank = matrix.copy(), 0
    for column in range(rows.shape[1]):
        below = np.nonzero(rows[rank:, column])[0]
        if len(below) == 0:
            continue
        rows[[rank, rank + below[0]]] = rows[[rank + below[0], rank]]
        rows[rank] = rows[rank] * pow(int(rows[rank, column]), -1, PRIME) % PRIME
        factors = rows[rank + 1 :, column, None].copy()
        rows[rank + 1 :] = (rows[rank + 1 :] - factors * rows[rank] % PRIME) % PRIME
        rank += 1
    return rank


def rank_of_monomials(name, degree):
    """Dimension of the polynomials up to ``degree``, as functions on many points drawn."""
    exponents = monomials(describe_variety(name).n_features, degree).exponents
    n_points = 2 * len(exponents)
    if name in RATIONAL:
        residues = np.array(
            [
                [f.numerator * pow(f.denominator, -1, PRIME) % PRIME for f in point]
                for point in make_variety(name, n_points, exact=True)
            ]
        )
        table = np.ones((n_points, len(exponents)), dtype=np.int64)
        for k, powers in enumerate(exponents.T):
            for used in range(int(powers.max())):
                factor = np.where(powers > used, residues[:, k, None], 1)
                table = table * factor % PRIME
        return rank_modulo_prime(table)
    X = make_variety(name, n_points)
    table = np.prod(X[:, None, :] ** exponents, axis=2)
    return np.linalg.matrix_rank(table / np.linalg.norm(table, axis=0), tol=1e-9)


@every_variety
def test_equations_hold(name):
    record = describe_variety(name)
    X = make_variety(name, 2000)
    assert X.shape == (2000, record.n_features)
    assert X.dtype == np.float64
    assert np.abs(record.evaluate(X)).max() < 1e-12


@every_rational_variety
def test_equations_hold_exactly(name):
    record = describe_variety(name)
    X = make_variety(name, 100, exact=True)
    assert X.shape == (100, record.n_features)
    assert {type(entry) for entry in X.ravel()} == {Fraction}
    assert (record.evaluate(X) == 0).all()
    if record.dimension:
        assert len({tuple(point) for point in X}) == 100


@every_variety
def test_evaluate_is_what_sympy_reads(name):
    equations, symbols = polynomials(name)
    X = np.random.default_rng(0).integers(-5, 6, (4, len(symbols)))
    values = describe_variety(name).evaluate(X)
    for point, row in zip(X.tolist(), values.tolist(), strict=True):
        assert [e.subs(dict(zip(symbols, point, strict=True))) for e in equations] == row


@every_variety
def test_equations_generate_the_ideal_of_the_points(name):
    """No polynomial vanishes on the points, up to a degree, but those of the ideal."""
    degree = equation_degree(name)
    hilbert = standard_monomials(*polynomials(name), degree)
    assert rank_of_monomials(name, degree) == hilbert.sum()


@every_variety
def test_dimension_and_degree_are_those_of_the_hilbert_polynomial(name):
    """For d large, Σ_{t ≤ d} standard monomials = degree · d^dimension / dimension! + ..."""
    record = describe_variety(name)
    values = np.cumsum(standard_monomials(*polynomials(name), 10))
    for _ in range(record.dimension):
        values = np.diff(values)
    assert values[-3:].tolist() == [record.degree] * 3


@every_variety
def test_dimension_is_the_corank_of_the_jacobian(name):
    record = describe_variety(name)
    equations, symbols = polynomials(name)
    jacobian = sympy.lambdify(symbols, sympy.Matrix(equations).jacobian(symbols), "numpy")
    for point in make_variety(name, 5, random_state=1):
        rank = np.linalg.matrix_rank(jacobian(*point), tol=1e-8)
        assert rank == record.n_features - record.dimension


@every_variety
def test_degree_is_the_number_of_points_on_a_linear_space(name):
    record = describe_variety(name)
    equations, symbols = polynomials(name)
    rng = np.random.default_rng(2)
    inside = sympy.symbols(f"t:{record.n_features - record.dimension}")
    matrix = rng.integers(-1000, 1000, (len(symbols), len(inside) + 1)).tolist()
    values = [sum(a * t for a, t in zip(row, (*inside, 1), strict=True)) for row in matrix]
    section = [e.subs(dict(zip(symbols, values, strict=True))) for e in equations]
    counts = standard_monomials(section, inside, record.degree, modulus=PRIME)
    assert counts[-1] == 0, "finitely many"
    assert counts.sum() == record.degree
    if len(inside) == 1:
        assert sympy.Poly(section[0], *inside, modulus=PRIME).is_sqf, "and no two alike"


@every_variety
def test_an_ideal_is_fitted_with_as_many_polynomials_as_there_are(name):
    degree = equation_degree(name)
    hilbert = standard_monomials(*polynomials(name), degree)
    ideal = VanishingIdeal(max_degree=degree, tol=1e-8).fit(make_variety(name, 400))
    assert [1, *(step.nonvanishing for step in ideal.trace_)] == hilbert.tolist()


# --- sampling -----------------------------------------------------------------------------------


@every_variety
def test_size(name):
    X = make_variety(name, 20_000, random_state=3)
    size = np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
    assert size == pytest.approx(describe_variety(name).size, rel=0.015)


@every_variety
def test_noise_has_the_given_size_and_leaves_the_points(name):
    clean, noisy = make_variety(name, 5000), make_variety(name, 5000, noise=0.1)
    noise = (noisy - clean) / (0.1 * describe_variety(name).size)
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.06)
    np.testing.assert_allclose(np.cov(noise.T), np.eye(noise.shape[1]), atol=0.08)


@every_variety
@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_few_points(name, n_samples):
    assert make_variety(name, n_samples).shape[0] == n_samples
    if name in RATIONAL:
        assert make_variety(name, n_samples, exact=True).shape[0] == n_samples


@every_variety
def test_seeds(name):
    first = make_variety(name, 10)
    np.testing.assert_array_equal(first, make_variety(name, 10, random_state=0))
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(first, make_variety(name, 10, random_state=rng))
    assert (first != make_variety(name, 10, random_state=rng)).any(), "the generator has moved on"
    assert (first != make_variety(name, 10, random_state=1)).any()
    assert (first != make_variety(name, 10, random_state=None)).any()


@every_rational_variety
def test_exact_points_are_near_those_in_double_precision(name):
    exact = make_variety(name, 200, exact=True).astype(np.float64)
    np.testing.assert_allclose(exact, make_variety(name, 200), atol=1e-3)


@every_variety
def test_bound_of_the_rejection_holds(name):
    sampler = describe_variety(name).sampler
    for chart in sampler.charts if isinstance(sampler, Charts) else ():
        low, high = np.transpose([(each.low, each.high) for each in chart.parameters])
        anywhere = np.random.default_rng(4).uniform(low, high, (50_000, len(low)))
        assert chart.stretch(anywhere).max() < 1.05 * chart.stretch(chart.grid()).max()


def assert_uniform(values, low, high):
    assert stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue > 0.01


def angle(x, y):
    return np.arctan2(y, x)


def test_circle_sphere_and_torus_are_even():
    x, y = make_variety("circle", 4000).T
    assert_uniform(angle(x, y), -np.pi, np.pi)
    x, y, z = make_variety("sphere", 4000).T
    assert_uniform(z, -1, 1)  # Archimedes
    assert_uniform(angle(x, y), -np.pi, np.pi)
    x, y, z = make_variety("torus", 4000).T
    tube = angle(np.hypot(x, y) - 1, z)
    assert_uniform(tube + np.sin(tube) / 2, -np.pi, np.pi)  # area grows with 1 + cos / 2


def test_parabola_is_even_by_length():
    x, _ = make_variety("parabola", 4000).T
    length = (x * np.sqrt(1 + 4 * x**2) + np.arcsinh(2 * x) / 2) / 2
    end = (np.sqrt(5) + np.arcsinh(2) / 2) / 2
    assert_uniform(length, -end, end)


def test_matrices_of_rank_one_are_even_in_the_ball():
    for name, dimension in (("segre", 3), ("segre-2x3", 4)):
        radius = np.linalg.norm(make_variety(name, 4000), axis=1)
        assert_uniform(radius**dimension, 0, 1)


def test_pieces_have_their_shares():
    x, y = make_variety("line-pair", 4000).T
    rising = np.mean(np.isclose(y, 2 * x))
    assert rising == pytest.approx(np.sqrt(5) / (np.sqrt(5) + np.sqrt(2)), abs=0.02)
    axes = make_variety("axes", 3000)
    np.testing.assert_allclose(np.mean(axes != 0, axis=0), 1 / 3, atol=0.03)


@pytest.mark.parametrize("name", ["ellipse", "lemniscate", "sphere", "torus"])
def test_sections_by_lines_are_even(name):
    """Points that were found by random lines look like those that were drawn by parameters."""
    record = describe_variety(name)
    equation = Polynomial(record.equations[0], record.variables)
    X = LineSections(equation, record.degree, radius=2.0).draw(np.random.default_rng(5), 4000)
    Y = make_variety(name, 4000)
    directions = np.random.default_rng(6).standard_normal((3, X.shape[1]))
    for direction in (*np.eye(X.shape[1]), *directions):
        assert stats.ks_2samp(X @ direction, Y @ direction).pvalue > 0.01


def test_shares_of_the_elliptic_curve():
    """The share of points on the oval is that of its length."""

    def length(low, high):
        """Length of both halves, by x = the middle of an interval plus half of it times a sine."""
        middle, half = (low + high) / 2, (high - low) / 2

        def speed(t):
            x = middle + half * np.sin(t)
            slope_squared = (3 * x**2 - 1) ** 2 / (4 * (x**3 - x))
            return np.sqrt(1 + slope_squared) * half * np.cos(t)

        return 2 * integrate.quad(speed, -np.pi / 2, np.pi / 2)[0]

    end = max(np.roots([1, 1, -1, -4]).real)  # x² + (x³ - x) = 4 at the edge of the disk
    oval, branch = length(-1, 0), length(1, end)
    x, y = make_variety("elliptic-curve", 20_000).T
    assert np.mean(x < 0.5) == pytest.approx(oval / (oval + branch), abs=0.01)
    assert np.hypot(x, y).max() <= 2


def test_every_point_of_the_grid_occurs():
    points, counts = np.unique(make_variety("grid", 30), axis=0, return_counts=True)
    assert len(points) == describe_variety("grid").degree
    assert set(counts) == {2, 3}
    assert len(np.unique(make_variety("grid", 12, exact=True).astype(float), axis=0)) == 12


def test_exact_points_near_lines_without_parameters():
    """Of the cubic surface of Clebsch: with many points, some are lost and drawn again."""
    X = make_variety("clebsch-cubic", 1500, exact=True, random_state=7)
    assert (describe_variety("clebsch-cubic").evaluate(X) == 0).all()
    assert np.linalg.norm(X.astype(np.float64), axis=1).max() < 2.02


# --- records and errors -------------------------------------------------------------------------


def test_there_are_varieties_of_all_kinds():
    records = [describe_variety(name) for name in varieties()]
    assert len(records) == len({record.name for record in records}) >= 16
    assert {record.dimension for record in records} == {0, 1, 2, 3, 4}
    assert [record.name for record in records if not record.rational] == [
        "elliptic-curve",
        "tanglecube",
    ]


@every_variety
def test_records(name):
    record = describe_variety(name)
    assert record.name == name
    assert record.sampling
    record.evaluate(make_variety(name, 3))
    assert pickle.loads(pickle.dumps(record)) == record
    assert "sampler" not in repr(record)


@pytest.mark.parametrize("call", [describe_variety, lambda name: make_variety(name, 10)])
def test_unknown_names(call):
    with pytest.raises(ValueError, match=r"no variety 'tors'\. Did you mean 'torus'\? The names"):
        call("tors")
    with pytest.raises(ValueError, match=r"no variety 'qqq'\. The names are grid, circle"):
        call("qqq")


def test_exact_points_without_a_rational_parametrization():
    with pytest.raises(ValueError, match="'elliptic-curve' has no rational parametrization"):
        make_variety("elliptic-curve", 10, exact=True)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1, got 0"),
        ({"noise": -0.1}, "noise must be a finite number ≥ 0, got -0.1"),
        ({"noise": np.inf}, "noise must be a finite number"),
        ({"noise": 0.1, "exact": True}, "exact points have no noise"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_variety("circle", **{"n_samples": 5} | parameters)


def test_points_of_another_space():
    with pytest.raises(ValueError, match=r"shape \(n_samples, 3\), one column for each of x, y, z"):
        describe_variety("sphere").evaluate(np.zeros((5, 2)))
