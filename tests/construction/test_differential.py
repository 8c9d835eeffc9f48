"""Fits agree with exact arithmetic: a sample of the campaign, and what the campaign has found."""

import numpy as np
import pytest
from benchmarks.campaigns.differential import Case, compare, run

from vanishing import VanishingIdeal
from vanishing.algebra import hilbert_function
from vanishing.construction.border import Abm, AbmGradient, Oavi
from vanishing.ideal import UndecidedWarning

BORDER = ["abm", "abm-gradient", "oavi"]


def counts(ideal):
    return [(step.vanishing, step.nonvanishing) for step in ideal.trace_]


def rank_of_equations(ideal, where):
    """Return how many equations are independent, whatever their sizes are."""
    values = ideal.basis_.evaluate(where)
    return np.linalg.matrix_rank(values / np.linalg.norm(values, axis=0), tol=1e-8)


def test_a_sample_of_the_campaign():
    tally = run(0, 110, ["numpy"])
    assert tally.failures == []
    assert tally.counts["right"] > 90


@pytest.mark.parametrize("normalization", ["gradient", "gradient-weighted", "coefficient", "vca"])
@pytest.mark.parametrize("scale", [2.0**-6, 1.0])
def test_zeros_beside_a_constant_column(normalization, scale):
    """The column of zeros got the rounding errors of the others, and seemed not to vanish."""
    X = scale * np.array([[0, 5, -5, -3], [0, 5, -1, 0], [0, 5, -5, 2], [0, 5, 0, 4.0]])
    ideal = VanishingIdeal(max_degree=3, tol=0, normalization=normalization).fit(X)
    assert counts(ideal) == [(2, 2), (2, 1), (2, 0)]


def test_zeros_beside_others_are_orthogonal_to_them_under_the_form():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.zeros(50), rng.standard_normal((50, 2)), np.full(50, 3.0)])
    Y = rng.standard_normal((80, 4)) @ rng.standard_normal((4, 4))
    ideal = VanishingIdeal(max_degree=1, tol=0.5, normalization="contrastive")
    values = ideal.fit(X, contrast=Y).basis_.evaluate(Y)
    assert values.shape[1] >= 2
    np.testing.assert_allclose(values.T @ values / 80, np.eye(values.shape[1]), atol=1e-12)


@pytest.mark.parametrize("exponent", [20, 49, 71, 116])
@pytest.mark.parametrize("settings", [{"normalization": "coefficient"}, {"construction": "abm"}])
def test_norms_of_coefficients_at_any_scale(exponent, settings):
    """x² - s² has coefficients of size s², and differences of two such polynomials do not."""
    design = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T * 2.0**exponent
    ideal = VanishingIdeal(max_degree=2, tol=0, **settings).fit(design)
    assert counts(ideal) == [(0, 3), (3, 3)]
    where = 2.0**exponent * np.random.default_rng(0).standard_normal((20, 3))
    assert rank_of_equations(ideal, where) == 3


def test_coefficients_that_cancel_in_the_original_units():
    grid = np.array(np.meshgrid(*[[0, 1, 2]] * 2)).reshape(2, -1).T * 2.0**100
    ideal = VanishingIdeal(construction="abm", tol=0, max_degree=3).fit(grid)
    assert counts(ideal) == [(0, 2), (0, 3), (2, 2)]


def test_gram_matrices_and_columns_in_different_units():
    """A size that is known under the form, below the errors on the points."""
    X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * [2.0**15, 2.0**-13]
    ideal = VanishingIdeal(max_degree=3, tol=0, reduction="gram").fit(X)
    assert counts(ideal)[:2] == [(0, 2), (2, 1)]
    point = np.array([[3.0, -2.0]] * 29) * [2.0**14, 2.0**-14]
    Y = np.random.default_rng(0).integers(-5, 6, (30, 2)) * [2.0**14, 2.0**-14]
    ideal = VanishingIdeal(max_degree=2, tol=0, normalization="contrastive", reduction="gram")
    assert counts(ideal.fit(point, contrast=Y)) == [(2, 0)]


@pytest.mark.parametrize("construction", BORDER)
@pytest.mark.parametrize("reduction", ["tsqr", "gram"])
@pytest.mark.parametrize("scale", [1.0, 2.0**-57, 2.0**43])
def test_constant_columns_of_border_bases(construction, reduction, scale):
    """The spread of a constant column is a rounding error, and no unit."""
    X = scale * np.array([[2.0, 1.0, 4.0]] * 12)
    ideal = VanishingIdeal(construction=construction, tol=0, reduction=reduction).fit(X)
    assert counts(ideal) == [(3, 0)]
    assert ideal.trace_[0].undecided == 0


@pytest.mark.parametrize("construction", ["vca", *BORDER])
@pytest.mark.parametrize("partial", [True, False])
def test_zeros_have_the_units_of_other_columns(construction, partial):
    scale = 2.0**-102
    t = np.arange(-4.0, 6.0)
    X = scale * np.column_stack([t, 0 * t, t, t])
    ideal = VanishingIdeal(construction=construction, tol=0, max_degree=1)
    if partial:
        ideal.partial_fit(X[:4]).partial_fit(X[4:])
    else:
        ideal.fit(X)
    assert counts(ideal) == [(3, 1)]
    where = scale * np.random.default_rng(0).standard_normal((20, 4))
    values = ideal.basis_.evaluate(where)
    values /= np.linalg.norm(values, axis=0)
    # The equation of the second column is in the span.
    second = where[:, 1] / np.linalg.norm(where[:, 1])
    found = values @ np.linalg.lstsq(values, second, rcond=None)[0]
    np.testing.assert_allclose(found, second, atol=1e-8)


@pytest.mark.parametrize("kind", [Abm, AbmGradient, Oavi])
@pytest.mark.parametrize("border", ["corners", "full"])
def test_hilbert_function_of_a_full_border(kind, border):
    """With the full border, F holds all variables."""
    t = np.arange(-3.0, 4.0)
    X = np.column_stack([t, 2 * t + 1, t**2])
    ideal = VanishingIdeal(construction=kind(border=border), tol=0, max_degree=3).fit(X)
    assert hilbert_function(ideal.basis_).tolist() == [1, 3, 5, 7]


@pytest.mark.parametrize("normalization", ["gradient", "gradient-weighted", "coefficient", "vca"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", ["tsqr", "gram"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_equal_products_of_factors_with_rounding_errors(normalization, dtype, reduction, order):
    """x (yz) and y (xz) differ by rounding errors, which were listed as equations."""
    design = np.array(np.meshgrid(*[[-1, 1]] * 3), dtype=dtype).reshape(3, -1).T
    X = np.random.default_rng(order).permutation(design)
    ideal = VanishingIdeal(
        max_degree=3, tol=0, normalization=normalization, reduction=reduction
    ).fit(X)
    assert counts(ideal) == [(0, 3), (3, 3), (6, 1)]
    assert [step.undecided for step in ideal.trace_] == [0, 0, 0]


@pytest.mark.parametrize("scale", [1.0, 0.1, 1e-10])
def test_a_contrast_far_from_the_origin_is_not_refused(scale):
    """Projection leaves little of columns far from the origin, and of a constant one nothing."""
    near, far = ([0, 0, 0, 0], [4, -3, -2, 0]), ([0, 0, 0, 0], [6, -3, -4, -1])
    offset = np.array([-1999, 873, -1003, 405])
    X, Y = (scale * (offset + rows) for rows in (near, far))
    ideal = VanishingIdeal(max_degree=2, tol=0, normalization="contrastive").fit(X, contrast=Y)
    # A combination of the three equations of degree 1; two others hold on the contrast as well.
    assert counts(ideal) == [(1, 1), (1, 0)]
    assert np.abs(ideal.basis_.evaluate(Y)).max() > 0.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_far_from_the_origin_are_no_rounding_errors(dtype):
    """They were dropped with a direction that is zero, as the condition of both was moderate."""
    offset = np.array([950.0, 1850.0, -1060.0])
    rows = ([0, 0, 0], [0, 1, 0], [0, 2, 0]), ([0, 0, 0], [0, 1, 0], [2, 3, 0])
    X, Y = ((offset + each).astype(dtype) for each in rows)
    ideal = VanishingIdeal(max_degree=2, tol=0, normalization="contrastive").fit(X, contrast=Y)
    assert counts(ideal) == [(1, 1), (0, 1)]


@pytest.mark.parametrize("products", ["all", "independent"])
@pytest.mark.parametrize("reduction", ["tsqr", "gram"])
@pytest.mark.parametrize("columns", ["in one unit", "in different units"])
def test_errors_of_the_projection_are_no_relations(products, reduction, columns):
    """Products that coincide differ on the contrast by the errors of L, which were equations."""
    circle = [(3, 4), (3, -4), (-3, 4), (-3, -4), (4, 3), (4, -3), (-4, 3), (-4, -3)]
    x, y = np.array([*circle, (5, 0), (5, 0), (-5, 0), (-5, 0), (0, 5), (0, -5), (0, 5), (0, -5)]).T
    if columns == "in one unit":
        units, n_linear = 2.0**-56, 1
        X, Y = np.column_stack([x, y, y, 0 * x]), np.array([[-1, -3, 4, -3]])
    else:
        units, n_linear = np.array([2.0**5, 0.5, 2.0**-7, 0.5]), 2
        X, Y = np.column_stack([x, y, x + y, -x - y]), np.array([[4, 4, 4, -1], [-1, -3, 2, 1]])
    ideal = VanishingIdeal(
        max_degree=2, tol=0, normalization="contrastive", products=products, reduction=reduction
    ).fit(units * X, contrast=units * Y)
    assert counts(ideal) == [(n_linear, 2), (1, 2)]


def test_minimal_generators_of_columns_in_different_units():
    """Two equations of degree 2 were nearly parallel, and one of them was left out."""
    axes = 3.0 * np.vstack([np.eye(4), -np.eye(4), np.zeros((1, 4))])
    X = axes * [2.0**-14, 2.0**10, 2.0**10, 2.0**10]
    ideal = VanishingIdeal(max_degree=2, tol=0, generators="minimal").fit(X)
    assert ideal.basis_.degrees().tolist() == [2] * 6


def test_equal_products_of_all_in_larger_units():
    """The errors of L exceed the coefficients of x y - y x, which was an equation."""
    t = np.array([(3, 4), (3, -4), (-3, 4), (-3, -4), (5, 0), (-5, 0), (0, 5), (0, -5)])
    X = 16.0 * np.column_stack([t, -t[:, 0]])
    settings = {"normalization": "coefficient", "products": "all"}
    ideal = VanishingIdeal(max_degree=2, tol=0, **settings).fit(X)
    assert counts(ideal) == [(1, 2), (1, 2)]


def test_products_that_nearly_coincide_are_no_equations():
    """z_1 (z_0²) and z_0 (z_0 z_1) differ by δ z_1³, whose equation has few digits."""
    t = np.array([(3, 4), (3, -4), (-3, 4), (-3, -4), (4, 3), (4, -3), (-4, 3), (-4, -3)])
    circle = np.vstack([t, [(5, 0), (-5, 0), (0, 5), (0, -5)]])
    X = np.column_stack([circle * [2.0**14, 0.5], np.zeros(12)])
    ideal = VanishingIdeal(max_degree=4, tol=0, products="all").fit(X)
    assert [f for _, f in counts(ideal)] == [2, 2, 2, 2]
    # Multiples of two equations, on other points; a third direction would be rounding errors.
    x, y = np.random.default_rng(0).integers(-9, 10, (2, 60))
    values = ideal.basis_.evaluate(np.column_stack([2.0**14 * x, 0.5 * y, 0 * x]))
    on_circle = (x**2 + y**2 - 25.0)[:, None] * np.column_stack([x**a * y**b for a, b in BELOW])
    known = np.linalg.qr(on_circle / np.linalg.norm(on_circle, axis=0))[0]
    values = values[:, ideal.basis_.degrees() > 1]
    values = values / np.linalg.norm(values, axis=0)
    np.testing.assert_allclose(known @ (known.T @ values), values, atol=1e-11)


BELOW = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]


@pytest.mark.filterwarnings("ignore::vanishing.ideal.FragileWarning")
@pytest.mark.parametrize("normalization", ["gradient", "gradient-weighted", "coefficient"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", ["tsqr", "gram"])
def test_all_products_of_columns_in_different_units(normalization, dtype, reduction):
    """Sizes of equal products were mixed with those of an equation, which was dropped."""
    design = np.array(np.meshgrid(*[[-1, 1]] * 4), dtype=dtype).reshape(4, -1).T
    X = design * np.array([8, 1 / 32, 1 / 16, 1 / 64], dtype=dtype)
    settings = {"normalization": normalization, "reduction": reduction, "products": "all"}
    ideal = VanishingIdeal(max_degree=2, tol=0, **settings).fit(X)
    assert counts(ideal) == [(0, 4), (4, 6)]


@pytest.mark.parametrize("construction", BORDER)
@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 2.0**90])
def test_products_with_a_constant_column_are_decided(construction, scale):
    """Of a constant column nothing is left, and its products were undecided."""
    kinds = {"abm": Abm, "abm-gradient": AbmGradient, "oavi": Oavi}
    t = np.arange(-3.0, 4.0)
    X = scale * np.column_stack([t, -np.ones(7)])
    full = VanishingIdeal(construction=kinds[construction](border="full"), tol=0, max_degree=3)
    full.fit(X)
    assert [step.undecided for step in full.trace_] == [0, 0, 0]
    assert hilbert_function(full.basis_).tolist() == [1, 2, 3, 4]


def test_zero_variables_of_partial_fits_do_not_hide_others():
    """The full border holds a variable that is zero, and all errors were relative to it."""
    y = np.array([6, -6, 4, -4, -2, 8, 2, 6, 4, -4, 2, -2] * 3, dtype=float)
    X = np.column_stack([np.full(36, 32768.0), 512 * y])
    ideal = VanishingIdeal(construction=Oavi(border="full"), tol=0, max_degree=3)
    for rows in np.array_split(X, 3):
        ideal.partial_fit(rows)
    assert counts(ideal) == [(1, 1), (1, 1), (1, 1)]


@pytest.mark.parametrize("exponent", [-480, -300, -190, 190, 300, 480])
@pytest.mark.parametrize(
    "settings",
    [{"construction": name} for name in BORDER]
    + [{"normalization": name} for name in ("gradient", "gradient-weighted", "coefficient", "vca")],
    ids=lambda settings: next(iter(settings.values())),
)
@pytest.mark.parametrize("generators", ["all", "minimal"])
def test_any_scale_is_fitted_or_refused(exponent, settings, generators):
    """Coefficients overflowed in silence, or gave NaN."""
    design = np.array(np.meshgrid(*[[-1, 1]] * 2)).reshape(2, -1).T
    X = np.column_stack([design, np.ones(4)]) * 2.0**exponent
    ideal = VanishingIdeal(max_degree=3, tol=0, generators=generators, **settings)
    if "coefficient" in settings.values() or "abm" in settings.values():
        if abs(exponent) > 300:
            with pytest.raises(ValueError, match="standardize the columns"):
                ideal.fit(X)
            return
        if abs(exponent) == 300:
            ideal.set_params(max_degree=1)
    ideal.fit(X)
    n_first = ideal.get_params()["max_degree"] > 1
    assert counts(ideal)[: 1 + n_first] == [(1, 2), (2, 1)][: 1 + n_first]
    values = ideal.basis_.evaluate(X * 0.75)
    assert np.isfinite(values).all()
    assert values.any(axis=0).all()


@pytest.mark.parametrize("products", ["independent", "all"])
@pytest.mark.parametrize("exponents", [[15, 20, 8, -20], [33, -4, -26, 0], [100, 0, -100, 30]])
def test_derivatives_by_columns_in_very_different_units(products, exponents):
    """Derivatives by columns in large units hid those of equations, which were dropped."""
    design = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T[[0, 1, 3, 6, 7, 9, 10, 12, 14]]
    plain = VanishingIdeal(max_degree=3, tol=0).fit(design)
    ideal = VanishingIdeal(max_degree=3, tol=0, products=products)
    ideal.fit(np.ldexp(design + 5.0, exponents))
    assert [step.nonvanishing for step in ideal.trace_] == [4, 4, 0]
    assert [step.nonvanishing for step in plain.trace_] == [4, 4, 0]
    assert [step.undecided for step in ideal.trace_] == [0, 0, 0]
    where = np.random.default_rng(0).integers(-9, 10, (30, 4))
    values = ideal.basis_.evaluate(np.ldexp(where + 5.0, exponents))[:, :6]
    expected = plain.basis_.evaluate(where)[:, :6]
    assert ideal.basis_.degrees()[:6].tolist() == plain.basis_.degrees()[:6].tolist() == [2] * 6
    values, expected = (each / np.linalg.norm(each, axis=0) for each in (values, expected))
    known = np.linalg.qr(expected)[0]
    np.testing.assert_allclose(known @ (known.T @ values), values, atol=1e-9)


@pytest.mark.parametrize("products", ["independent", "all"])
def test_relations_whose_sizes_differ_by_degrees(products):
    """Each was like the next one in size, and the first mixed with the last lost all its digits."""
    axes = 3.0 * np.vstack([np.eye(4), -np.eye(4), np.zeros((1, 4))])
    units = [2.0**36, 2.0**6, 2.0**24, 2.0**32]
    settings = {"normalization": "coefficient", "products": products}
    ideal = VanishingIdeal(max_degree=3, tol=0, **settings).fit(axes * units)
    assert [f for _, f in counts(ideal)] == [4, 4, 0]
    where = np.random.default_rng(0).integers(-9, 10, (90, 4))
    values = ideal.basis_.evaluate(where * units)[:, ideal.basis_.degrees() == 3]
    # Pairs of variables and x³ - 9x generate the ideal: 26 cubics modulo them are zero on the axes.
    assert np.abs(ideal.basis_.evaluate(axes * units)).max() <= 1e-9 * np.abs(values).max()
    assert rank_of_equations(ideal, where * units) == ideal.basis_.count()


@pytest.mark.filterwarnings("ignore::vanishing.ideal.UndecidedWarning")
def test_sizes_that_are_lost_are_undecided():
    """x² - y² is small beside x² + y² - 512, and its size was lost: it was dropped in silence."""
    X = np.array([[16, 16], [16, -16], [-16, 16], [-16, -16]], dtype=np.float32)
    settings = {"normalization": "coefficient", "reduction": "gram"}
    ideal = VanishingIdeal(max_degree=2, tol=0, **settings).fit(X)
    assert [(s.vanishing, s.nonvanishing, s.undecided) for s in ideal.trace_] == [
        (0, 2, 0),
        (1, 1, 1),
    ]


@pytest.mark.parametrize("products", ["independent", "all"])
@pytest.mark.parametrize("normalization", ["coefficient", "gradient", "gradient-weighted", "vca"])
@pytest.mark.parametrize("exponent", [-90, 90])
def test_euclidean_norms_with_tiny_and_huge_weights(products, normalization, exponent):
    """F of norm 1 had coefficients of size 1e13, and products of it were taken for each other."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (17, 2)).astype(float)
    ideal = VanishingIdeal(
        tol=0, normalization=normalization, products=products, tol_norm="euclidean"
    )
    ideal.fit(X, sample_weight=np.ldexp(rng.uniform(1, 4, 17), exponent))
    assert [step.nonvanishing for step in ideal.trace_] == [2, 3]
    assert max(step.amplification for step in ideal.trace_) < 100


def test_extents_beside_a_relation_of_columns_in_different_units():
    """F was made of the column in the smallest units, so that extents were 1e4 times too small."""
    a, b = np.random.default_rng(0).integers(-50, 51, (2, 30)) / 8
    X = np.column_stack([a * 2.0**36, b * 2.0**-18, (a + b) * 2.0**-4])
    # The relation is nearly a multiple of the second column, and F is nearly without it.
    steps = VanishingIdeal(tol=0).fit(X).trace_
    without = VanishingIdeal(tol=0).fit(X[:, [0, 2]]).trace_
    assert [step.vanishing for step in steps] == [1, 0]
    np.testing.assert_allclose(steps[1].spectrum, without[1].spectrum, rtol=1e-6)


def test_norms_of_coefficients_beside_a_large_constant_column():
    grid = np.stack(np.meshgrid([0, 1, 2], [0, 1, 2]), -1).reshape(-1, 2).astype(float)
    spectra = [
        VanishingIdeal(tol=0, normalization="coefficient")
        .fit(np.column_stack([grid, np.full(9, constant)]))
        .trace_[1]
        .spectrum
        for constant in (1e3, 1e9)
    ]
    np.testing.assert_allclose(*spectra, rtol=1e-4)


@pytest.mark.parametrize("construction", ["vca", *BORDER])
def test_products_that_are_zero_in_partial_fits(construction):
    """On one-hot columns x y is zero; as a sum of monomials it was a rounding error, and joined."""
    rng = np.random.default_rng(0)
    X = np.zeros((40, 2))
    X[np.arange(40), rng.integers(2, size=40)] = rng.integers(-5, 6, 40)
    weights = rng.uniform(0.05, 1, 40)
    once, arriving = (
        VanishingIdeal(max_degree=2, tol=0, construction=construction) for _ in range(2)
    )
    for rows in np.array_split(np.arange(40), 3):
        arriving.partial_fit(X[rows], sample_weight=weights[rows])
    assert counts(arriving) == counts(once.fit(X, sample_weight=weights)) == [(0, 2), (1, 2)]


def test_a_relation_in_small_units_beside_a_constant_column():
    """The two were mixed, and the relation kept the errors of the constant when they were not."""
    X = np.array([[-2, -6, 0], [-2, -6, 0], [-2, -1, 5]]) * [2.0**-14, 2.0**-31, 2.0**-15]
    assert counts(VanishingIdeal(max_degree=1, tol=0).fit(X)) == [(2, 1)]


@pytest.mark.parametrize("scale", [8.711228593176025e40, 5.711665739654148e47, 1e90])
@pytest.mark.parametrize("products", ["all", "independent"])
def test_norms_of_coefficients_beside_a_column_of_zeros_in_large_units(products, scale):
    """The zeros mixed the constant with other coefficients, which lost their digits."""
    grid = np.array([[0, a, b, c] for a in range(3) for b in range(3) for c in range(3)])
    ideal = VanishingIdeal(max_degree=1, tol=0, normalization="coefficient", products=products)
    ideal.fit(np.array_split(grid * scale, 3))
    assert counts(ideal) == [(1, 3)]
    # x + y + z - 3, whose constant is the largest coefficient, and x - y, which has none
    expected = np.sqrt(2) / 3, np.sqrt(2 / 3) * scale, np.sqrt(2 / 3) * scale
    np.testing.assert_allclose(ideal.trace_[0].spectrum, [0, *expected], rtol=1e-9)


def test_single_precision_without_a_digit_left_is_undecided():
    """Nothing was known of the products of degree 2, and all of them counted as vanishing."""
    rows = [[0, 0], [0, 2], [-2, 0], [1, 0], [0, -3], [2, 0], [-2, 0]]
    X = np.array(rows, dtype=np.float32) * 2**24
    ideal = VanishingIdeal(max_degree=2, tol=0, normalization="coefficient", products="all")
    with pytest.warns(UndecidedWarning, match="degree 2"):
        ideal.fit(np.array_split(X, 3))
    assert ideal.trace_[1].vanishing == 0


def test_products_that_are_zero_in_partial_fits_in_single_precision():
    axis = np.arange(-5, 6)[:, None] * np.array([[8.0, 0.0]])
    X = np.vstack([axis, axis[:, ::-1]]).astype(np.float32)
    ideal = VanishingIdeal(
        max_degree=2, tol=0, construction="abm-gradient", normalization="contrastive"
    )
    for k, rows in enumerate(np.array_split(X[np.random.default_rng(0).permutation(22)], 3)):
        ideal.partial_fit(rows, contrast=np.array([[8.0, 8.0]], np.float32) if k == 0 else None)
    assert counts(ideal) == [(0, 2), (1, 2)]


@pytest.mark.parametrize("reduction", ["tsqr", "gram"])
def test_units_of_columns_that_are_zero_on_the_contrast(reduction):
    """Their errors hid the other columns, which seemed to depend on each other."""
    X = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    Y = np.array([[0.0, -4.0, -1.0, 0.0]])
    units = 2.0 ** np.array([40, -37, 5, -2])
    found = [
        VanishingIdeal(max_degree=3, tol=0, normalization="contrastive", reduction=reduction)
        .fit(X * scale, contrast=Y * scale)
        .trace_
        for scale in (1.0, units)
    ]
    assert [step.nonvanishing for step in found[0]] == [4, 6, 4]
    assert [step.nonvanishing for step in found[1]] == [4, 6, 4]


def test_minimal_generators_of_axes_far_from_the_origin_in_single_precision():
    """Multiples of equations seemed independent that are not, and took the place of a generator."""
    axes = [[0, -5, 0, 0], [0, -2, 0, 0], [0, 3, 0, 0], [4, 0, 0, 0], [5, 0, 0, 0]]
    axes += [[0, 0, 1, 0], [0, 0, 0, -2], [0, 0, 0, 1], [0, 0, 0, 2]]
    X = np.add(sorted(axes), [7, 2, 7, 9]).astype(np.float32)
    weights = np.ldexp(1.0 + (X[:, 0] == 12), -100)
    ideal = VanishingIdeal(max_degree=3, tol=0, normalization="vca", generators="minimal")
    ideal.fit(X, sample_weight=weights)
    assert ideal.basis_.degrees().tolist() == [2] * 7 + [3] * 2


def rank_of_multiples(ideal, X):
    """Return how many multiples of equations, up to the largest degree of one, are independent."""
    scale = np.abs(X).max()
    where = np.random.default_rng(0).uniform(-1, 1, (200, X.shape[1]))
    values, degrees = ideal.basis_.evaluate(scale * where), ideal.basis_.degrees()
    factors = np.column_stack([np.ones(len(where)), where])
    lower = [values[:, [k]] * factors for k in np.flatnonzero(degrees < degrees.max())]
    columns = np.hstack([*lower, values[:, degrees == degrees.max()]])
    columns = columns / np.abs(columns).max(axis=0)
    return np.linalg.matrix_rank(columns / np.linalg.norm(columns, axis=0), tol=1e-9)


CUBIC = np.array([[t, t**3, t**2] for t in range(-4, 5)], dtype=float)
SIGNS = 2.0 * np.delete(list(np.ndindex(2, 2, 2, 2)), [7, 13], axis=0) - [741, -958, -57, 726]


@pytest.mark.parametrize(
    # 20 monomials less 9 points, and 35 less 14
    ("points", "n_equations"),
    [(CUBIC, 11), (SIGNS, 21)],
    ids=["cubic", "signs"],
)
def test_forms_that_are_rounding_errors_are_no_minimal_generators(points, n_equations):
    """The leading terms of an equation cancelled, and it took the place of one that was needed."""
    for seed in (2, 13, 37):
        rng = np.random.default_rng(seed)
        repeated = rng.integers(0, len(points), rng.integers(1, 14))
        X = np.vstack([points, points[repeated]]) * 2.0 ** -(115 + rng.random())
        ideal = VanishingIdeal(
            max_degree=3, tol=0, normalization="coefficient", products="all", generators="minimal"
        ).fit(rng.permutation(X))
        assert np.sum(ideal.basis_.degrees() == 3) == 1
        assert rank_of_multiples(ideal, X) == n_equations


@pytest.mark.parametrize("normalization", ["gradient", "gradient-weighted", "vca", "coefficient"])
@pytest.mark.parametrize("partial", [False, True])
def test_relations_of_columns_in_different_units(normalization, partial):
    """Rotating the two gave one the rounding errors of the other, and it seemed not to vanish."""
    for seed in (3, 4, 60, 92, 119):
        rng = np.random.default_rng(seed)
        t = rng.integers(-4, 5, 14)
        X = np.column_stack([t, t, t**3, t**3]) * 2.0 ** rng.integers(-10, 11, 4)
        ideal = VanishingIdeal(max_degree=1, tol=0, normalization=normalization)
        if partial:
            for rows in np.array_split(X, 3):
                ideal.partial_fit(rows)
        else:
            ideal.fit(X)
        assert counts(ideal) == [(2, 2)]


@pytest.mark.parametrize("normalization", ["gradient", "gradient-weighted"])
@pytest.mark.parametrize("scale", [2.0**-30, 0.25, 4.0, 32.0, 2.0**30])
def test_constant_columns_change_no_extents(normalization, scale):
    """A power of two was wrong: the units of a column that no polynomial contains were used."""
    y = scale * np.array([-5.0, -4, -3, -2, -1, 0, 1, 2, 2, 5])
    constants = scale * np.outer(np.ones(len(y)), [0.0, 8.0])
    wide = np.column_stack([constants[:, 0], y, constants[:, 1]])
    found = [
        VanishingIdeal(max_degree=3, tol=0, normalization=normalization).fit(X).trace_
        for X in (y[:, None], wide)
    ]
    assert [step.vanishing for step in found[1]] == [2, 0, 0]
    for alone, beside in zip(*found, strict=True):
        extents = beside.spectrum[beside.vanishing :]
        np.testing.assert_allclose(extents, alone.spectrum, rtol=1e-9)


@pytest.mark.parametrize("source", ["weights", "array"])
def test_extents_of_relations_by_gram_matrices_are_no_other_extents(source):
    """The campaign took the rounding error of a relation for a polynomial that does not vanish."""
    t = np.array([4, 4, 2, 2, 1, 1, -1, -4, -2, 1, -3, -4, -4, -4]) ** 3
    settings = {"tol": 0.0, "max_degree": 4, "construction": Abm(border="full"), "tol_norm": "rms"}
    case = Case(
        seed=1,
        kind="curve",
        points=np.column_stack([t, t]),
        contrast=None,
        scale=2.0,
        degree=4,
        settings=settings | {"reduction": "gram", "generators": "all"},
        backend="numpy",
        dtype="float64",
        source=source,
        offset=np.zeros(2, dtype=int),
    )
    assert compare(case) == "right"


@pytest.mark.parametrize("construction", ["vca", *BORDER])
@pytest.mark.parametrize("distance", [2.0**-12, 2.0**-8, 2.0**-4])
def test_minimal_generators_of_points_that_are_nearly_on_a_conic(construction, distance):
    """Two leading forms nearly coincided, and one of the two equations was left out."""
    X = np.array([[0, 2], [-1, 3], [-2, 2], [-1, 2], [-1, 0]], dtype=float)
    X += distance * np.array([[-1, -1], [0, 0], [0, 0], [1, 1], [1, 1]])
    ideal = VanishingIdeal(max_degree=3, tol=0, construction=construction, generators="minimal")
    ideal.fit(X)
    assert rank_of_multiples(ideal, X) == 10 - 5


@pytest.mark.parametrize("partial", [False, True])
def test_proportional_columns_in_different_units_beside_a_contrast(partial):
    for seed in (0, 2, 4, 7, 21, 41, 49):
        rng = np.random.default_rng(seed)
        X = np.outer(rng.integers(-5, 6, 20), [-1, 1, 1, -1]) * 2.0 ** rng.integers(-12, 13, 4)
        Y = X[rng.permutation(20)] + rng.integers(-5, 6, X.shape) * 2.0 ** rng.integers(-12, 13, 4)
        ideal = VanishingIdeal(max_degree=1, tol=0, normalization="contrastive")
        if partial:
            for k, rows in enumerate(np.array_split(X, 3)):
                ideal.partial_fit(rows, contrast=Y if k == 0 else None)
        else:
            ideal.fit(X, contrast=Y)
        assert counts(ideal) == [(3, 1)]


@pytest.mark.parametrize("construction", BORDER)
@pytest.mark.parametrize("reduction", ["gram", "tsqr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_coefficients_in_coarse_arithmetic(construction, reduction, dtype):
    """The constant, 8 of 1184 in another frame, was below the bound on errors and set to zero."""
    X = np.array([[1184, 6], [176, 0]], dtype=dtype)
    ideal = VanishingIdeal(max_degree=1, tol=0, construction=construction, reduction=reduction)
    _, coefficients = ideal.fit(X).basis_.expand()
    equation = coefficients[:, 0] / coefficients[1, 0]
    np.testing.assert_allclose(equation, [-176, 1, -168], rtol=1e-6)
