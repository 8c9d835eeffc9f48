"""A basis: values, Jacobians and coefficients agree with each other."""

import pickle
from dataclasses import FrozenInstanceError
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import NORMALIZATIONS, fit

from vanishing import VanishingIdeal
from vanishing.arrays.blocks import BudgetError, block_rows
from vanishing.polynomials import PolynomialBasis
from vanishing.polynomials.evaluation import Complement
from vanishing.polynomials.monomials import AffineMap, Monomials, monomials, normalize_columns


@pytest.fixture(params=NORMALIZATIONS, scope="module")
def ideal(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.01 * rng.standard_normal(200)
    return fit(X, request.param, tol=0.05, max_degree=4)


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).standard_normal((50, 3))


@pytest.mark.parametrize("which", ["vanishing", "nonvanishing"])
def test_expansion_has_the_same_values(ideal, x, which):
    exponents, coefficients = ideal.basis_.expand(which=which)
    values = np.prod(x[:, None, :] ** exponents, axis=2) @ coefficients
    expected = ideal.basis_.evaluate(x, which=which)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("which", ["vanishing", "nonvanishing"])
def test_jacobian_is_the_derivative(ideal, x, which):
    step = 1e-5
    numerical = np.stack(
        [
            (ideal.basis_.evaluate(x + e, which=which) - ideal.basis_.evaluate(x - e, which=which))
            / (2 * step)
            for e in step * np.eye(3)
        ],
        axis=2,
    )
    jacobian = ideal.basis_.jacobian(x, which=which)
    assert jacobian.shape == (50, ideal.basis_.count(which), 3)
    np.testing.assert_allclose(jacobian, numerical, atol=1e-7 * np.abs(jacobian).max())


def test_pullback_is_a_product_with_the_jacobian(ideal, x):
    outer = np.random.default_rng(3).standard_normal((len(x), ideal.basis_.count()))
    expected = np.einsum("ng,ngk->nk", outer, ideal.basis_.jacobian(x))
    scale = np.abs(expected).max(initial=1)
    np.testing.assert_allclose(ideal.basis_.pullback(x, outer), expected, atol=1e-12 * scale)


@pytest.mark.parametrize("which", ["vanishing", "nonvanishing"])
def test_degrees_are_those_of_the_expansion(ideal, which):
    exponents, coefficients = ideal.basis_.expand(which=which)
    present = np.abs(coefficients) > 1e-9 * np.abs(coefficients).max(axis=0)
    top = np.where(present, exponents.sum(axis=1)[:, None], 0).max(axis=0)
    np.testing.assert_array_equal(ideal.basis_.degrees(which=which), top)
    assert ideal.basis_.evaluate(np.zeros((1, 3)), which=which).shape[1] == len(top)


def test_basis_is_immutable_and_survives_pickling(ideal, x):
    block = ideal.basis_.blocks[0]
    with pytest.raises(ValueError, match="read-only"):
        block.vanishing[...] = 0
    with pytest.raises(FrozenInstanceError):
        ideal.basis_.blocks = ()
    ideal.basis_.evaluate(x)
    loaded = pickle.loads(pickle.dumps(ideal.basis_))
    np.testing.assert_array_equal(loaded.evaluate(x), ideal.basis_.evaluate(x))
    assert not loaded.blocks[0].vanishing.flags.writeable


def test_empty_basis_is_the_constant():
    basis = PolynomialBasis(2, ())
    assert basis.evaluate(np.zeros((4, 2))).shape == (4, 0)
    np.testing.assert_array_equal(basis.evaluate(np.zeros((4, 2)), which="nonvanishing"), 1)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((3, 2)), r"expected points of shape \(n_samples, 3\), got \(3, 2\)"),
        (np.zeros(3), r"expected points of shape \(n_samples, 3\), got \(3,\)"),
    ],
)
def test_wrong_shape_is_refused(ideal, points, message):
    with pytest.raises(ValueError, match=message):
        ideal.basis_.evaluate(points)


def test_unknown_kind_is_refused(ideal, x):
    with pytest.raises(ValueError, match="which must be 'vanishing' or 'nonvanishing', got 'all'"):
        ideal.basis_.evaluate(x, which="all")


def test_no_rows_are_fine(ideal):
    assert ideal.basis_.evaluate(np.zeros((0, 3))).shape == (0, ideal.basis_.count())
    assert ideal.basis_.jacobian(np.zeros((0, 3))).shape == (0, ideal.basis_.count(), 3)


@given(n_variables=st.integers(1, 5), degree=st.integers(0, 4))
def test_monomials(n_variables, degree):
    table = Monomials(n_variables, degree)
    listed = [
        np.bincount(np.array(chosen, dtype=int), minlength=n_variables).tolist()
        for d in range(degree + 1)
        for chosen in combinations_with_replacement(range(n_variables), d)
    ]
    assert table.exponents.tolist() == listed
    x = np.random.default_rng(0).uniform(0.5, 2, (6, n_variables))
    values = np.prod(x[:, None, :] ** table.exponents, axis=2)
    np.testing.assert_allclose(table.values(x.T).T, values, rtol=1e-13)
    if degree:
        lower = len(monomials(n_variables, degree - 1))
        for variable in range(n_variables):
            raised = table.exponents[table.times_variable[variable]]
            expected = table.exponents[:lower] + np.eye(n_variables, dtype=int)[variable]
            np.testing.assert_array_equal(raised, expected)
            derivative = table.derivative(np.eye(len(table)), variable)
            h = 1e-6 * np.eye(n_variables)[variable]
            numerical = (table.values((x + h).T) - table.values((x - h).T)).T / 2e-6
            np.testing.assert_allclose(
                values[:, :lower] @ derivative, numerical, rtol=1e-6, atol=1e-6
            )


def test_row_blocks_follow_the_budget_and_not_the_number_of_rows():
    assert block_rows(1000, budget_bytes=8 * 10**6) == 1000
    assert block_rows(1000, budget_bytes=1) == block_rows(10**9) == 64
    assert block_rows(1000, cpu=False) > block_rows(1000)


def test_coefficients_are_written_out_up_to_a_limit(monkeypatch):
    directions = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 2)))[0]
    equations = Complement.of_span(directions, 1.0, np.zeros((6, 0)))
    assert equations.shape == (6, 4)
    monkeypatch.setattr("vanishing.polynomials.evaluation.MEMORY", 8 * 6 * 4)
    assert np.abs(directions.T @ np.asarray(equations)).max() < 1e-14
    monkeypatch.setattr("vanishing.polynomials.evaluation.MEMORY", 8 * 6 * 4 - 1)
    with pytest.raises(BudgetError, match="4 equations in 6 variables"):
        np.asarray(equations)


def test_whole_numbers_are_points_too(ideal):
    points = np.array([[1, 2, 3], [0, 1, 1]])
    np.testing.assert_array_equal(
        ideal.basis_.evaluate(points), ideal.basis_.evaluate(points.astype(float))
    )


def test_nonvanishing_polynomials_as_a_basis(ideal):
    X = np.random.default_rng(1).standard_normal((5, 3))
    expected = ideal.basis_.evaluate(X, which="nonvanishing")
    found = ideal.basis_.take_nonvanishing().evaluate(X)
    np.testing.assert_allclose(found, expected[:, expected.shape[1] - found.shape[1] :])


def test_maps_that_do_not_fit(ideal):
    basis = ideal.basis_
    with pytest.raises(ValueError, match="gives 2 coordinates, and the polynomials have 3"):
        basis.compose(AffineMap(np.eye(2), np.zeros(2)))
    with pytest.raises(ValueError, match="expected an offset of 2 and a center of 3 numbers"):
        AffineMap(np.ones((2, 3)), np.zeros(3))
    with pytest.raises(ValueError, match="the first map gives 3 coordinates, and the second"):
        AffineMap.identity(2).after(AffineMap.identity(3))
    with pytest.raises(ValueError, match="has only rank 1, so it does not reach"):
        AffineMap(np.ones((2, 3)), np.zeros(2)).preimage(np.array([0.0, 1.0]))
    empty = PolynomialBasis(3, ()).compose(AffineMap(np.ones((3, 4)), np.zeros(3)))
    assert (empty.n_features, empty.count()) == (4, 0)


def test_columns_of_zeros_stay():
    columns = np.array([[3.0, 0.0], [4.0, 0.0]])
    np.testing.assert_allclose(normalize_columns(columns), [[0.6, 0.0], [0.8, 0.0]])


@pytest.mark.parametrize("kind", [complex, str, "datetime64[s]"])
def test_points_that_are_no_real_numbers_are_refused(kind):
    basis = VanishingIdeal(tol=0.01).fit(np.random.default_rng(0).normal(size=(20, 2))).basis_
    with pytest.raises(ValueError, match="expected points with real numbers, got dtype"):
        basis.evaluate(np.ones((3, 2), dtype=int).astype(kind))
