"""Wide data: the construction in the span of the rows."""

import warnings

import numpy as np
import pytest

from vanishing import VanishingIdeal, load
from vanishing.arrays.blocks import BudgetError
from vanishing.construction import loop
from vanishing.ideal import InterpolationWarning
from vanishing.polynomials.evaluation import Complement

pytestmark = pytest.mark.filterwarnings(
    "ignore::vanishing.ideal.InterpolationWarning"  # it has a test of its own
)


def make_rows(n_rows=40, n_columns=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_columns)) * rng.uniform(0.5, 2, n_columns) + 3.0


def fit_both_ways(monkeypatch, X, contrast=None, **parameters):
    """Fit in the span, and by matrices of all columns."""
    given = {} if contrast is None else {"contrast": contrast}
    inside = VanishingIdeal(max_degree=1, **parameters).fit(X, **given)
    with monkeypatch.context() as patched:
        patched.setattr(loop, "MANY_COLUMNS", 10**9)
        usual = VanishingIdeal(max_degree=1, **parameters).fit(X, **given)
    return inside, usual


@pytest.mark.parametrize("rank", [0, 1, 3, 8])
def test_complement_is_orthonormal_and_multiplies_as_its_matrix(rank):
    rng = np.random.default_rng(1)
    directions = np.linalg.qr(rng.normal(size=(9, rank)))[0]
    others = rng.normal(size=(9, 2))
    matrix = Complement.of_span(directions, 0.5, others)
    dense = np.asarray(matrix)
    assert dense.shape == matrix.shape == (9, 9 - rank + 2)
    exact = dense[:, : matrix.n_exact] / 0.5
    np.testing.assert_allclose(exact.T @ exact, np.eye(9 - rank), atol=1e-14)
    np.testing.assert_allclose(exact.T @ directions, 0, atol=1e-14)
    x, outer = rng.normal(size=(9, 4)), rng.normal(size=(matrix.shape[1], 4))
    np.testing.assert_allclose(matrix.evaluate(x), dense.T @ x, atol=1e-14)
    np.testing.assert_allclose(matrix.combine(outer), dense @ outer, atol=1e-14)


def test_complement_depends_on_the_subspace_only():
    rng = np.random.default_rng(2)
    directions = np.linalg.qr(rng.normal(size=(7, 3)))[0]
    rotated = directions @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    first, second = (Complement.of_span(d, 1.0, np.zeros((7, 0))) for d in (directions, rotated))
    np.testing.assert_allclose(np.asarray(first), np.asarray(second), atol=1e-14)


@pytest.mark.parametrize("normalization", ["gradient", "vca"])
@pytest.mark.parametrize("tol", [0.0, 0.9])
def test_span_and_square_matrices_find_the_same(monkeypatch, normalization, tol):
    X = make_rows()
    inside, usual = fit_both_ways(monkeypatch, X, normalization=normalization, tol=tol)
    new = make_rows(seed=3)
    for name in ("candidates", "rank", "vanishing", "nonvanishing", "dropped"):
        assert getattr(inside.trace_[0], name) == getattr(usual.trace_[0], name)
    np.testing.assert_allclose(inside.trace_[0].spectrum, usual.trace_[0].spectrum, atol=1e-12)
    # Exact equations are known up to a rotation; all others have the same values.
    n_exact = inside.basis_.blocks[0].vanishing.n_exact
    values, expected = (ideal.transform(new) for ideal in (inside, usual))
    np.testing.assert_allclose(
        np.linalg.norm(values[:, :n_exact], axis=1), np.linalg.norm(expected[:, :n_exact], axis=1)
    )
    np.testing.assert_allclose(values[:, n_exact:], expected[:, n_exact:], atol=1e-8)
    kept, wanted = (i.basis_.evaluate(new, which="nonvanishing") for i in (inside, usual))
    np.testing.assert_allclose(kept, wanted, atol=1e-8)


def test_contrastive_equations_are_the_same(monkeypatch):
    X, Y = make_rows(), make_rows(60, seed=4) * 2.0
    inside, usual = fit_both_ways(monkeypatch, X, Y, normalization="contrastive", tol=0.5)
    # Outside of the span of X and Y a polynomial may be anything.
    weights = np.random.default_rng(5).dirichlet(np.ones(100), 20)
    new = weights @ np.vstack([X, Y])
    assert inside.trace_[0].vanishing == usual.trace_[0].vanishing
    assert inside.trace_[0].dropped == usual.trace_[0].dropped
    values, expected = (np.linalg.norm(i.transform(new), axis=1) for i in (inside, usual))
    np.testing.assert_allclose(values, expected, rtol=1e-6)


def test_values_of_exact_equations_make_the_distance_from_the_span():
    X = make_rows()
    ideal = VanishingIdeal(tol=0.0, max_degree=1).fit(X)
    np.testing.assert_allclose(ideal.transform(X), 0, atol=1e-11)
    new = make_rows(seed=6)
    centred = X - X.mean(axis=0)
    axes = np.linalg.qr(centred.T)[0][:, :-1]
    apart = new - X.mean(axis=0)
    distance = np.linalg.norm(apart - apart @ axes @ axes.T, axis=1)
    np.testing.assert_allclose(np.linalg.norm(ideal.transform(new), axis=1), distance)


def test_order_of_the_rows_does_not_matter():
    X = make_rows()
    first, second = (VanishingIdeal().fit(rows) for rows in (X, X[::-1]))
    new = make_rows(seed=7)
    np.testing.assert_allclose(first.transform(new), second.transform(new), atol=1e-9)


def test_weights_and_repeated_rows_change_the_mean_only():
    X = make_rows()
    weighted = VanishingIdeal().fit(X, sample_weight=np.r_[2.0, np.ones(len(X) - 1)])
    repeated = VanishingIdeal().fit(np.vstack([X[:1], X]))
    new = make_rows(seed=8)
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=1e-9)


@pytest.mark.parametrize("n_rows", [1, 5])
def test_equal_rows_leave_nothing_but_exact_equations(n_rows):
    ideal = VanishingIdeal(max_degree=2).fit(np.tile(make_rows(1), (n_rows, 1)))
    assert ideal.trace_[0].vanishing == 300
    assert ideal.stop_reason_ == "exhausted"
    np.testing.assert_allclose(ideal.transform(make_rows(1)), 0, atol=1e-12)


def test_single_precision_and_its_type():
    X = make_rows()
    values = VanishingIdeal().fit(X).transform(X.astype(np.float32))
    assert values.dtype == np.float32
    assert np.abs(values).max() < 1e-3
    fitted = VanishingIdeal().fit(X.astype(np.float32))
    assert fitted.trace_[0].vanishing == 261


def test_the_fit_stops_where_equations_would_fit_any_data():
    X = make_rows()
    with pytest.warns(InterpolationWarning, match="stopped at degree 1"):
        ideal = VanishingIdeal(max_degree=3).fit(X)
    assert ideal.stop_reason_ == "interpolated"
    assert len(ideal.trace_) == 1


def test_few_directions_are_multiplied_further():
    """A circle in a plane of 300 columns: as in two columns, with exact equations beside it."""
    rng = np.random.default_rng(9)
    angle = rng.uniform(0, 6, 40)
    plane = np.linalg.qr(rng.normal(size=(300, 2)))[0]
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    ideal = VanishingIdeal(tol=1e-6, max_degree=2).fit(circle @ plane.T + 1.0)
    assert [step.vanishing for step in ideal.trace_] == [298, 1]
    flat = VanishingIdeal(tol=1e-6, max_degree=2).fit(circle)
    new = rng.normal(size=(10, 2))
    np.testing.assert_allclose(
        ideal.transform(new @ plane.T + 1.0)[:, 298:], flat.transform(new), atol=1e-10
    )


def test_noise_of_wide_data_is_found():
    rng = np.random.default_rng(10)
    angle = rng.uniform(0, 6, 200)
    plane = np.linalg.qr(rng.normal(size=(300, 2)))[0]
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.01 * rng.normal(size=(200, 2))
    ideal = VanishingIdeal(tol="auto").fit(circle @ plane.T)
    assert [step.vanishing for step in ideal.trace_] == [298, 1]


def test_exact_algebra_goes_on():
    rows = np.zeros((4, 300))
    rows[np.arange(4), np.arange(4)] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ideal = VanishingIdeal(tol=0.0, max_degree=None).fit(rows)
    assert [step.vanishing for step in ideal.trace_] == [297, 6]
    assert ideal.stop_reason_ == "exhausted"


def test_columns_in_very_different_units_are_not_mixed():
    X = make_rows()
    X[:, 0] *= 1e12
    assert not isinstance(VanishingIdeal().fit(X).basis_.blocks[0].vanishing, Complement)


def test_gradients_and_expansions_agree_with_the_matrix():
    X = make_rows(10)
    basis = VanishingIdeal(max_degree=1).fit(X).basis_
    new = make_rows(3, seed=11)
    outer = np.random.default_rng(12).normal(size=(3, basis.count()))
    expected = np.einsum("ng,ngk->nk", outer, basis.jacobian(new))
    np.testing.assert_allclose(basis.pullback(new, outer), expected, atol=1e-12)
    _, coefficients = basis.expand()
    values = np.column_stack([np.ones(3), new]) @ coefficients
    np.testing.assert_allclose(values, basis.evaluate(new), atol=1e-11)
    kept = np.arange(basis.count()) % 2 == 0
    np.testing.assert_allclose(
        basis.restrict(kept).evaluate(new), basis.evaluate(new)[:, kept], atol=1e-12
    )


def test_model_files_keep_the_span_not_the_matrix(tmp_path):
    X = make_rows(20, 2000)
    ideal = VanishingIdeal().fit(X)
    ideal.save(tmp_path / "wide.model")
    assert (tmp_path / "wide.model").stat().st_size < 2**21
    np.testing.assert_array_equal(load(tmp_path / "wide.model").transform(X), ideal.transform(X))


def test_more_columns_than_square_matrices_have_room_for():
    X = make_rows(10, 20_000)
    ideal = VanishingIdeal().fit(X)
    assert ideal.transform(X).shape == (10, 19_991)
    with pytest.raises(BudgetError, match="reduce the number of features"):
        ideal.basis_.expand()
    assert "19991 equations, too large to be written out" in ideal._repr_html_()


def test_parts_of_rows_and_chunks_give_the_same():
    X = make_rows()
    whole = VanishingIdeal(max_degree=1).fit(X)
    new = make_rows(seed=13)
    chunked = VanishingIdeal(max_degree=1).fit([X[:15], X[15:]])
    parts = VanishingIdeal(max_degree=1).partial_fit(X[:15]).partial_fit(X[15:])
    for other in (chunked, parts):
        np.testing.assert_allclose(other.transform(new), whole.transform(new), atol=1e-9)


@pytest.mark.parametrize("n_rows", range(5, 12))
def test_degrees_with_as_many_products_as_rows_are_not_tried(n_rows):
    """Four directions have ten products of degree 2, which fit up to ten rows whatever they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)) @ rng.normal(size=(4, 300))
    ideal = VanishingIdeal(max_degree=3, tol=1e-3, normalization="gradient").fit(X)
    n_products = 10
    assert len(ideal.trace_) == (1 if n_products >= n_rows else 2)
    assert ideal.stop_reason_ == "interpolated"


@pytest.mark.parametrize("in_parts", [False, True])
def test_linear_equations_of_many_columns_and_more_rows(in_parts):
    rng = np.random.default_rng(0)
    n_columns = 2 * loop.MANY_COLUMNS + 10
    X = rng.normal(size=(2 * n_columns, n_columns - 3)) @ rng.normal(
        size=(n_columns - 3, n_columns)
    )
    ideal = VanishingIdeal(max_degree=1, tol=1e-6)
    if in_parts:
        for part in np.array_split(X, 2):
            ideal.partial_fit(part)
    else:
        ideal.fit(X)
    assert ideal.basis_.degrees().tolist() == [1] * 3
    np.testing.assert_allclose(ideal.transform(X), 0, atol=1e-8 * np.abs(X).max())


def test_callbacks_hear_of_all_columns():
    """The fit is in the span of the rows, and what is told about it is not."""
    heard = []
    directions = np.random.default_rng(5).normal(size=(2, 300))
    X = np.random.default_rng(6).normal(size=(50, 2)) @ directions
    ideal = VanishingIdeal(max_degree=2, tol=1e-6, callback=heard.append).fit(X)
    assert [step.degree for step in heard] == [1, 2]
    for step, kept in zip(heard, ideal.trace_, strict=True):
        for name in ("candidates", "rank", "vanishing", "nonvanishing"):
            assert getattr(step, name) == getattr(kept, name)
    assert heard[0].candidates == 300


def test_many_contrasting_rows_leave_no_span(monkeypatch):
    """Together they span all columns."""
    monkeypatch.setattr(loop, "MANY_COLUMNS", 20)
    X, Y = make_rows(20, 60), make_rows(50, 60, seed=4) * 2.0
    inside, usual = fit_both_ways(monkeypatch, X, Y, normalization="contrastive", tol=0.5)
    np.testing.assert_array_equal(inside.extents_, usual.extents_)
    assert inside.basis_.count() > 0


def test_parts_of_wide_rows(monkeypatch):
    """Partial fits of many rows keep moments of all columns, and no rows to span a space."""
    X = make_rows(400, 12)
    whole = VanishingIdeal(max_degree=1, tol=0.9).fit(X)
    monkeypatch.setattr(loop, "MANY_COLUMNS", 5)
    parts = VanishingIdeal(max_degree=1, tol=0.9)
    for part in np.array_split(X, 3):
        parts.partial_fit(part)
    np.testing.assert_allclose(parts.extents_, whole.extents_, rtol=1e-6)
