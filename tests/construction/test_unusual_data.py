"""Data that is unusual but right gives right answers, under every normalization."""

import numpy as np
import pytest
from tests.support.cases import NORMALIZATIONS, REDUCTIONS, counts, fit, gaussian_contrast

from vanishing import VanishingIdeal
from vanishing.ideal import NothingVanishesWarning

EVERY = pytest.mark.parametrize("normalization", NORMALIZATIONS)
SPAN_BASED = [name for name in NORMALIZATIONS if name != "vca"]


def cloud(n_samples=40, n_features=3, seed=0):
    """Points in general position."""
    return np.random.default_rng(seed).standard_normal((n_samples, n_features))


def circle(n_samples=60, seed=1):
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, n_samples)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def linear_generators(ideal):
    """Coefficients (1, x_0, x_1, ...) of the vanishing polynomials of degree 1, one a row."""
    exponents, coefficients = ideal.basis_.expand()
    assert exponents[: ideal.n_features_in_ + 1].sum(axis=1).max() == 1
    return coefficients[: ideal.n_features_in_ + 1, ideal.basis_.degrees() == 1].T


def distance_to_span(vector, rows):
    """Relative distance of a vector to the span of the rows."""
    vector = np.asarray(vector, dtype=float)
    weights = np.linalg.lstsq(rows.T, vector)[0]
    return np.linalg.norm(rows.T @ weights - vector) / np.linalg.norm(vector)


# --- few rows, few columns -----------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("n_features", [1, 3])
def test_one_row_gives_the_linear_equations_of_that_point(normalization, n_features):
    point = np.array([2.5, -1.0, 4.0])[:n_features]
    contrast = cloud(50, n_features) + point
    contrast = contrast if normalization == "contrastive" else None
    ideal = fit(point[None], normalization, contrast=contrast, tol=0.0)
    assert counts(ideal) == [(n_features, 0)]
    assert ideal.stop_reason_ == "exhausted"
    np.testing.assert_allclose(ideal.transform(point[None]), 0.0, atol=1e-14)
    rows = linear_generators(ideal)
    for j in range(n_features):
        minus = np.eye(n_features)[j]
        assert distance_to_span([-point[j], *minus], rows) <= 1e-12


@EVERY
def test_one_column_gives_the_polynomial_with_its_values_as_roots(normalization):
    values = np.array([-1.0, -0.25, 0.5, 1.5])
    X = np.repeat(values, 3)[:, None]
    ideal = fit(X, normalization, tol=0.0, max_degree=None)
    assert counts(ideal) == [(0, 1), (0, 1), (0, 1), (1, 0)]
    assert ideal.stop_reason_ == "exhausted"
    exponents, coefficients = ideal.basis_.expand()
    np.testing.assert_array_equal(exponents[:, 0], np.arange(5))
    np.testing.assert_allclose(np.sort(np.roots(coefficients[::-1, 0])), values, atol=1e-9)


@EVERY
def test_fewer_rows_than_columns(normalization):
    X = cloud(4, 7)
    ideal = fit(X, normalization, tol=0.0, max_degree=None)
    assert counts(ideal)[0] == (4, 3)  # the affine hull of 4 points has dimension 3
    assert ideal.basis_.count("nonvanishing") == 4
    assert ideal.stop_reason_ == "exhausted"
    np.testing.assert_allclose(ideal.transform(X), 0.0, atol=1e-12)
    assert ideal.transform(cloud(5, 7, seed=9)).max(axis=1).min() > 1e-3


@EVERY
def test_points_given_many_times_are_the_points(normalization):
    X = cloud(3, 2)
    ideal = fit(np.tile(X, (20, 1)), normalization, tol=0.0, max_degree=None)
    assert ideal.basis_.count("nonvanishing") == 3
    assert ideal.stop_reason_ == "exhausted"


# --- columns -------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("constant", [0.0, 7.5, -300.0])
def test_constant_column_is_a_generator(normalization, constant):
    X = cloud(60, 3)
    X[:, 1] = constant
    contrast = X + cloud(60, 3, seed=5) if normalization == "contrastive" else None
    ideal = fit(X, normalization, contrast=contrast, tol=1e-10)
    assert counts(ideal)[0] == (1, 2)
    (row,) = linear_generators(ideal)
    row = row / row[2]
    np.testing.assert_allclose(row, [-constant, 0.0, 1.0, 0.0], atol=1e-12 * max(1, abs(constant)))


@EVERY
def test_each_constant_column_is_a_generator(normalization):
    X = cloud(60, 4)
    X[:, 0], X[:, 3] = 2.0, -5.0
    contrast = X + cloud(60, 4, seed=5) if normalization == "contrastive" else None
    ideal = fit(X, normalization, contrast=contrast, tol=1e-10)
    assert counts(ideal)[0] == (2, 2)
    rows = linear_generators(ideal)
    assert distance_to_span([-2, 1, 0, 0, 0], rows) <= 1e-12
    assert distance_to_span([5, 0, 0, 0, 1], rows) <= 1e-12
    assert distance_to_span([0, 0, 1, 0, 0], rows) > 0.5


def test_constant_column_shows_in_sympy():
    sympy = pytest.importorskip("sympy")
    X = cloud(60, 2)
    X[:, 1] = 7.5
    (equation,) = VanishingIdeal(max_degree=1, tol=1e-10).fit(X).to_sympy(["u", "v"])
    u, v = sympy.symbols("u v")
    difference = sympy.Poly(equation / sympy.Poly(equation, v).LC() - (v - 7.5), u, v)
    assert all(abs(c) <= 1e-12 for c in difference.coeffs())


@EVERY
def test_columns_that_are_all_constant_are_one_point(normalization):
    X = np.tile([1.0, 0.0, -2.0], (25, 1))
    contrast = cloud(60, 3) if normalization == "contrastive" else None
    ideal = fit(X, normalization, contrast=contrast, tol=0.0)
    assert counts(ideal) == [(3, 0)]
    np.testing.assert_allclose(ideal.transform(X), 0.0, atol=1e-14)


@EVERY
def test_duplicated_column_is_a_generator(normalization):
    X = circle()[:, [0, 1, 0]]
    ideal = fit(X, normalization, tol=1e-8)
    assert counts(ideal) == [(1, 2), (1, 2)]  # x0 - x2, and the circle
    (row,) = linear_generators(ideal)
    np.testing.assert_allclose(row / row[1], [0, 1, 0, -1], atol=1e-12)


@pytest.mark.parametrize("normalization", ["vca", "gradient", "contrastive"])
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_huge_offset_does_not_hide_the_circle(normalization, offset):
    X = circle() + offset
    ideal = fit(X, normalization, tol=1e-6)
    assert counts(ideal) == [(0, 2), (1, 2)]
    assert ideal.extents_[0] <= 1e-15 * offset
    angle = np.linspace(0, 6, 7)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    on, off = ideal.transform(ring + offset), ideal.transform(1.1 * ring + offset)
    assert on.max() <= 1e-6 * off.min()


@pytest.mark.parametrize("normalization", ["coefficient", "gradient-weighted"])
def test_offset_does_not_hide_the_circle_from_forms_on_coefficients(normalization):
    # Coefficients on monomials of x grow with the square of the offset, and extents fall with it.
    X = circle() + 100.0
    ideal = fit(X, normalization, tol=0.0)
    assert counts(ideal) == [(0, 2), (1, 2)]
    centre = ideal.basis_.evaluate(np.full((1, 2), 100.0))
    assert np.abs(ideal.basis_.evaluate(X)).max() <= 1e-9 * np.abs(centre).max()


@EVERY
@pytest.mark.parametrize("tol", [0.0, 1e-6])
def test_columns_of_very_different_size(normalization, tol):
    X = circle() * [1.0, 1e5]
    contrast = gaussian_contrast(circle()) * [1.0, 1e5]
    contrast = contrast if normalization == "contrastive" else None
    if normalization == "coefficient":
        tol = 0.0  # coefficients have units
    ideal = fit(X, normalization, contrast=contrast, tol=tol)
    assert counts(ideal) == [(0, 2), (1, 2)]


# --- nothing, everything -------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nothing_vanishes(normalization, dtype):
    X = cloud(60, 3).astype(dtype)
    contrast = gaussian_contrast(X).astype(dtype) if normalization == "contrastive" else None
    ideal = fit(X, normalization, contrast=contrast, tol=0.0)
    assert counts(ideal) == [(0, 3), (0, 6)]
    assert ideal.stop_reason_ == "max_degree"
    for output in ("abs", "signed"):
        features = ideal.transform(X[:7], output=output)
        assert features.shape == (7, 0)
        assert features.dtype == dtype
    assert ideal.extents_.shape == (0,)
    assert ideal.get_feature_names_out().shape == (0,)
    assert ideal.basis_.jacobian(X[:7]).shape == (7, 0, 3)
    assert ideal.basis_.degrees().shape == (0,)
    for write in (ideal.to_sympy, ideal.to_latex):
        with pytest.warns(NothingVanishesWarning, match="no polynomial up to degree 2 vanishes"):
            assert write() == []


def test_nothing_vanishes_on_a_tensor():
    torch = pytest.importorskip("torch")
    X = torch.asarray(cloud(60, 3), dtype=torch.float32)
    features = VanishingIdeal(tol=0.0).fit(X).transform(X)
    assert isinstance(features, torch.Tensor)
    assert tuple(features.shape) == (60, 0)
    assert features.dtype == torch.float32


def test_nothing_vanishes_on_chunks():
    chunks = [cloud(20, 3), cloud(40, 3, seed=1)]
    features = VanishingIdeal(tol=0.0).fit(chunks).transform(chunks)
    assert features.n_features == 0
    assert [block.shape for block in features.blocks(1000)] == [(20, 0), (40, 0)]


@EVERY
def test_everything_vanishes(normalization):
    X = cloud(60, 3)
    ideal = fit(X, normalization, tol=1e6, max_degree=5)
    assert counts(ideal) == [(3, 0)]
    assert ideal.stop_reason_ == "exhausted"
    assert ideal.transform(X).shape == (60, 3)
    np.testing.assert_array_equal(ideal.basis_.evaluate(X, which="nonvanishing"), np.ones((60, 1)))


@EVERY
def test_everything_of_degree_2_vanishes(normalization):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ideal = fit(X, normalization, tol=0.0, max_degree=None)
    assert counts(ideal) == [(0, 2), (3, 0)]
    assert ideal.stop_reason_ == "exhausted"
    np.testing.assert_allclose(ideal.transform(X), 0.0, atol=1e-14)


# --- types and memory layout ---------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
def test_integers_and_booleans_are_read_as_numbers(normalization, reduction, dtype):
    # 8-bit products would overflow if they were taken in the type of the data.
    X = np.random.default_rng(3).integers(0, 2 if dtype is bool else 11, (80, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    X = X.astype(dtype)
    contrast = np.random.default_rng(4).integers(0, 100, (90, 3))
    contrast = contrast if normalization == "contrastive" else None
    ideal, expected = (
        fit(x, normalization, contrast=contrast, tol=1e-6, max_degree=3, reduction=reduction)
        for x in (X, X.astype(np.float64))
    )
    assert expected.basis_.count("vanishing") > 0
    assert counts(ideal) == counts(expected)
    features = ideal.transform(X)
    assert features.dtype == np.float64
    np.testing.assert_array_equal(features, expected.transform(X.astype(np.float64)))


def test_lists_of_numbers_are_read_as_numbers():
    X = circle()
    expected = VanishingIdeal(tol=1e-6).fit(X)
    ideal = VanishingIdeal(tol=1e-6).fit(X.tolist())
    features = ideal.transform([[1, 0], [2, 0]])
    assert features.shape == (2, 1)
    np.testing.assert_array_equal(features, expected.transform(np.array([[1.0, 0], [2, 0]])))


@EVERY
def test_single_precision_stays_single(normalization):
    X, new = circle().astype(np.float32), cloud(20, 2, seed=4).astype(np.float32)
    exact = fit(circle(), normalization, tol=1e-3)
    ideal = fit(X, normalization, tol=1e-3)
    assert counts(ideal) == counts(exact) == [(0, 2), (1, 2)]
    features = ideal.transform(new)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, exact.transform(new.astype(np.float64)), atol=1e-4)


def fortran(X):
    return np.asfortranarray(X)


def every_other(X):
    wide = np.full((2 * X.shape[0], 2 * X.shape[1]), np.nan)
    wide[::2, ::2] = X
    return wide[::2, ::2]


def backwards(X):
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


@EVERY
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("layout", [fortran, every_other, backwards, read_only])
def test_memory_layout_does_not_matter(normalization, layout, reduction):
    X = circle() + 1e-2 * cloud(60, 2)
    parameters = {"tol": 0.1, "max_degree": 3, "reduction": reduction}
    expected = fit(X, normalization, **parameters)
    contrast = layout(gaussian_contrast(X)) if normalization == "contrastive" else None
    x = layout(X)
    ideal = fit(x, normalization, contrast=contrast, **parameters)
    assert expected.basis_.count("vanishing") > 0
    assert counts(ideal) == counts(expected)
    np.testing.assert_allclose(ideal.transform(x), expected.transform(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(x, X)  # it was read, not worked on


@EVERY
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_input_is_not_changed(normalization, reduction):
    X, Y = cloud(60, 3), cloud(80, 3, seed=1)
    given_X, given_Y = X.copy(), Y.copy()
    contrast = given_Y if normalization == "contrastive" else None
    ideal = fit(given_X, normalization, contrast=contrast, tol=0.9, reduction=reduction)
    ideal.transform(given_X)
    ideal.basis_.jacobian(given_X)
    np.testing.assert_array_equal(given_X, X)
    np.testing.assert_array_equal(given_Y, Y)


def test_basis_cannot_be_written_to():
    block = VanishingIdeal(tol=1e-6).fit(circle()).basis_.blocks[1]
    for matrix in (block.vanishing, block.nonvanishing, block.projection, block.extents):
        with pytest.raises(ValueError, match="read-only"):
            matrix[...] = 0


# --- caps and bounds -----------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cap_keeps_the_largest_extents_and_says_what_it_cut(normalization, reduction):
    X = cloud(200, 5) * [5, 4, 3, 2, 1]
    contrast = cloud(300, 5, seed=2) if normalization == "contrastive" else None
    parameters = {"contrast": contrast, "tol": 0.0, "reduction": reduction}
    free = fit(X, normalization, **parameters)
    ideal = fit(X, normalization, max_nonvanishing=2, **parameters)
    assert [(step.nonvanishing, step.cut) for step in free.trace_] == [(5, 0), (15, 0)]
    # Two polynomials are left at degree 1; of their three products two are left.
    assert [(step.nonvanishing, step.cut) for step in ideal.trace_] == [(2, 3), (2, 1)]
    assert ideal.trace_[1].candidates == 3
    np.testing.assert_allclose(ideal.trace_[0].spectrum, free.trace_[0].spectrum)
    kept, all_ = (i.basis_.blocks[0].nonvanishing for i in (ideal, free))
    np.testing.assert_allclose(kept, all_[:, :2], rtol=1e-9, atol=1e-12)


def test_cap_above_what_there_is_cuts_nothing():
    X = cloud(50, 3)
    ideal = VanishingIdeal(tol=0.0, max_nonvanishing=6).fit(X)
    assert [step.cut for step in ideal.trace_] == [0, 0]
    assert counts(ideal) == [(0, 3), (0, 6)]


@EVERY
def test_memory_budget_leaves_out_products_and_says_so(normalization):
    X = cloud(60, 3) * [3, 2, 1]
    contrast = cloud(80, 3, seed=2) if normalization == "contrastive" else None
    parameters = {"contrast": contrast, "tol": 0.0, "max_degree": 4}
    free = fit(X, normalization, **parameters)
    assert [step.left_out for step in free.trace_] == [0, 0, 0, 0]
    with pytest.warns(UserWarning, match="raise memory_budget, or set max_nonvanishing") as caught:
        ideal = fit(X, normalization, memory_budget=86_667, **parameters)
    left_out = ideal.trace_[3].left_out
    assert 0 < left_out < ideal.trace_[2].nonvanishing
    assert [step.left_out for step in ideal.trace_[:3]] == [0, 0, 0]
    assert f"({left_out} at degree 4)" in str(caught[0].message)
    assert ideal.trace_[3].candidates < free.trace_[3].candidates
    # What is found is right nonetheless.
    nonvanishing = ideal.basis_.evaluate(X, which="nonvanishing")
    k = nonvanishing.shape[1]
    np.testing.assert_allclose(nonvanishing.T @ nonvanishing / len(X), np.eye(k), atol=1e-8)


def test_warning_of_left_out_products_points_at_the_caller():
    with pytest.warns(UserWarning, match="left out products") as caught:
        VanishingIdeal(tol=0.0, max_degree=4, memory_budget=86_667).fit(cloud(60, 3))
    assert caught[0].filename == __file__


@EVERY
def test_callback_gets_the_trace_of_each_degree_as_it_is_done(normalization):
    seen = []
    ideal = fit(circle(), normalization, tol=1e-6, max_degree=4, callback=seen.append)
    assert [step.degree for step in seen] == [1, 2, 3, 4]
    assert len(ideal.trace_) == 4
    assert all(given is kept for given, kept in zip(seen, ideal.trace_, strict=True))


def test_callback_may_stop_the_fit():
    class Enough(Exception):  # noqa: N818
        pass

    degrees = []

    def stop_after_two(step):
        degrees.append(step.degree)
        if step.degree == 2:
            raise Enough

    ideal = VanishingIdeal(tol=0.0, max_degree=None, callback=stop_after_two)
    with pytest.raises(Enough):
        ideal.fit(cloud(200, 3))
    assert degrees == [1, 2]
    assert not hasattr(ideal, "basis_")


@EVERY
def test_without_a_bound_the_loop_runs_to_exhaustion(normalization):
    X = np.random.default_rng(7).uniform(-1, 1, (12, 2))
    ideal = fit(X, normalization, tol=0.0, max_degree=None)
    assert ideal.stop_reason_ == "exhausted"
    assert ideal.trace_[-1].nonvanishing == 0
    assert ideal.basis_.count("nonvanishing") == 12
    bounded = fit(X, normalization, tol=0.0, max_degree=len(ideal.trace_) - 1)
    assert bounded.stop_reason_ == "max_degree"
    assert counts(bounded) == counts(ideal)[:-1]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("normalization", SPAN_BASED)
def test_euclidean_tolerance_is_rms_times_root_n(normalization, reduction):
    X = circle(150) + 0.02 * cloud(150, 2)
    parameters = {"max_degree": 4, "reduction": reduction}
    by_rms = fit(X, normalization, tol=0.05, **parameters)
    by_norm = fit(X, normalization, tol=0.05 * np.sqrt(150), tol_norm="euclidean", **parameters)
    assert by_rms.basis_.count("vanishing") > 0
    assert counts(by_norm) == counts(by_rms)
    np.testing.assert_allclose(by_norm.extents_, by_rms.extents_, rtol=1e-8)
    new = cloud(20, 2, seed=9)
    np.testing.assert_allclose(by_norm.transform(new), by_rms.transform(new), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose([s.tol for s in by_norm.trace_], 0.05)


@EVERY
def test_euclidean_tolerance_grows_with_the_sample(normalization):
    X = circle(100) + 0.02 * cloud(100, 2)
    more = np.tile(X, (9, 1))
    contrast = gaussian_contrast(X) if normalization == "contrastive" else None
    parameters = {"contrast": contrast, "tol_norm": "euclidean"}
    once = fit(X, normalization, tol=0.3, **parameters)
    same_number, same_share = (
        fit(more, normalization, tol=tol, **parameters) for tol in (0.3, 0.9)
    )
    assert [step.tol for step in same_number.trace_] == [0.01, 0.01]
    if normalization != "vca":
        assert counts(same_share) == counts(once)


@pytest.mark.parametrize("normalization", ["gradient", "gradient-weighted", "coefficient", "vca"])
def test_a_column_of_zeros_in_chunks(normalization):
    """The decomposition mixed it with columns of other sizes: an extent of 1e-41 beside 1e2."""
    grid = np.stack(np.meshgrid(range(3), range(3), range(1), range(3)), -1).reshape(-1, 4)
    X = grid * 2.0 ** np.array([7, -2, 8, -16])
    ideal = VanishingIdeal(tol=0, normalization=normalization)
    assert [step.vanishing for step in ideal.fit(np.array_split(X, 3)).trace_] == [1, 0]
    assert [step.vanishing for step in ideal.fit(X).trace_] == [1, 0]
