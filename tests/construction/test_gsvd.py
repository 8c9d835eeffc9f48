"""The generalized problem: planted null and infinite directions, scales, signs."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vanishing.construction import gsvd
from vanishing.construction.candidates import Coordinates
from vanishing.construction.gsvd import (
    Side,
    fix_signs,
    solve_in_coordinates,
    solve_on_accelerator,
    solve_pair,
)
from vanishing.construction.loop import measure_orthogonality_loss

EPS = np.finfo(float).eps


def side(factor):
    scale = np.linalg.norm(factor, axis=0)
    return Side(factor, scale, EPS * scale, scale)


def planted(rng, n_regular, n_null, n_infinite, n_common, scale_a, scale_b):
    """Factors with known extents, of which some are 0, some infinite, some undefined."""
    extents = np.sort(10.0 ** rng.uniform(-3, 1, n_regular))
    alpha = np.concatenate([extents, np.zeros(n_null), np.ones(n_infinite), np.zeros(n_common)])
    beta = np.concatenate([np.ones(n_regular + n_null), np.zeros(n_infinite + n_common)])
    n = len(alpha)
    mixing = np.linalg.qr(rng.standard_normal((n, n)))[0] @ np.diag(rng.uniform(0.5, 2, n))
    left_a, left_b = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    a = scale_a * left_a @ np.diag(alpha) @ mixing
    b = scale_b * left_b @ np.diag(beta) @ mixing
    return a, b, extents * scale_a / scale_b


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(*[st.integers(0, 5)] * 4).filter(any),
    scales=st.tuples(*[st.integers(-6, 6)] * 2),
    many=st.sampled_from([1, 128]),
)
def test_planted_directions_are_recovered(seed, sizes, scales, many):
    n_regular, n_null, n_infinite, n_common = sizes
    scale_a, scale_b = 10.0 ** scales[0], 10.0 ** scales[1]
    a, b, extents = planted(np.random.default_rng(seed), *sizes, scale_a, scale_b)
    with patch.object(gsvd, "MANY_COLUMNS", many):  # with at least so many, eigenvectors may do
        solution = solve_pair(side(a), side(b))
    assert solution.dropped == n_common
    assert solution.unbounded.shape[1] == n_infinite
    zero = solution.extents <= solution.noise
    assert int(zero.sum()) == n_null
    np.testing.assert_allclose(solution.extents[~zero], extents, rtol=1e-10)
    gram = solution.vectors.T @ b.T @ b @ solution.vectors
    np.testing.assert_allclose(gram, np.eye(n_regular + n_null), atol=1e-10)
    on_a = solution.vectors.T @ a.T @ a @ solution.vectors
    np.testing.assert_allclose(
        on_a, np.diag(solution.extents**2), atol=1e-10 * (scale_a / scale_b) ** 2 * 100
    )
    np.testing.assert_allclose(
        np.linalg.norm(a @ solution.unbounded, axis=0), np.ones(n_infinite), rtol=1e-10
    )


@pytest.mark.parametrize("zero_side", ["points", "form", "both"])
def test_a_side_that_is_zero(zero_side):
    rng = np.random.default_rng(0)
    a = np.zeros((3, 3)) if zero_side in ("points", "both") else rng.standard_normal((3, 3))
    b = np.zeros((3, 3)) if zero_side in ("form", "both") else rng.standard_normal((3, 3))
    solution = solve_pair(side(a), side(b))
    found = (len(solution.extents), solution.unbounded.shape[1], solution.dropped)
    assert found == {"points": (3, 0, 0), "form": (0, 3, 0), "both": (0, 0, 3)}[zero_side]


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_fewer_rows_than_columns(n_rows):
    a = np.random.default_rng(1).standard_normal((n_rows, 4))
    solution = solve_pair(side(a), side(np.eye(4)))
    assert int(np.sum(solution.extents > solution.noise)) == n_rows
    assert len(solution.extents) == 4


def test_small_extents_keep_their_digits():
    """Gram matrices would lose everything below 1e-8."""
    extents = np.array([1e-13, 1e-10, 1e-7, 1.0])
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0]
    solution = solve_pair(side(np.diag(extents) @ rotation), side(rotation))
    np.testing.assert_allclose(solution.extents, extents, rtol=1e-2)
    np.testing.assert_allclose(solution.extents[1:], extents[1:], rtol=1e-5)


def test_same_bits_every_time():
    a, b, _ = planted(np.random.default_rng(3), 4, 2, 2, 1, 1.0, 1.0)
    first, second = solve_pair(side(a), side(b)), solve_pair(side(a.copy()), side(b.copy()))
    np.testing.assert_array_equal(first.vectors, second.vectors)
    np.testing.assert_array_equal(first.unbounded, second.unbounded)


def test_signs_follow_the_largest_entry_and_ties_the_first():
    vectors = np.array([[-1.0, 0.1, -2.0], [1.0 + 1e-9, -3.0, 0.0]])
    np.testing.assert_array_equal(np.sign(fix_signs(vectors)), [[1, -1, 1], [-1, 1, 0]])


def test_an_accelerator_finds_the_same():
    torch = pytest.importorskip("torch")
    near = torch.zeros(1, dtype=torch.float64)
    rng = np.random.default_rng(0)
    b = rng.standard_normal((40, 30))
    extents = np.linspace(0.1, 1, 30)
    a = extents[:, None] * (np.linalg.qr(rng.standard_normal((30, 30)))[0] @ np.linalg.qr(b)[1])
    expected, found = solve_pair(side(a), side(b)), solve_on_accelerator(side(a), side(b), near)
    np.testing.assert_allclose(found.extents, extents, rtol=1e-10)
    np.testing.assert_allclose(found.vectors, expected.vectors, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.doubt, expected.doubt, rtol=1e-6)


@pytest.mark.parametrize("sizes", [(5, 1, 0, 0), (5, 0, 1, 0), (5, 0, 0, 1)])
def test_an_accelerator_leaves_hard_problems_to_the_processor(sizes):
    torch = pytest.importorskip("torch")
    a, b, _ = planted(np.random.default_rng(0), *sizes, 1.0, 1.0)
    assert solve_on_accelerator(side(a), side(b), torch.zeros(1, dtype=torch.float64)) is None


def test_a_single_direction_has_a_sign_too():
    np.testing.assert_array_equal(fix_signs(np.array([[-2.0]])), [[2.0]])
    assert fix_signs(np.empty((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("ratio", [1.0, 10.0, 1e6])
def test_the_condition_of_a_triangle(ratio):
    assert gsvd.estimate_condition(np.diag([ratio, 1.0])) == pytest.approx(ratio)
    assert gsvd.estimate_condition(np.diag([1.0, 0.0])) == np.inf


def test_directions_without_any_size_are_dropped_and_not_lost():
    """Columns that are zero on both sides say nothing about a loss of accuracy."""
    rng = np.random.default_rng(0)
    a, b, _ = planted(rng, 3, 1, 1, 2, 1.0, 1.0)
    solution = solve_pair(side(a), side(b))
    assert (solution.dropped, solution.lost) == (2, 0)


def test_tiny_extents_beside_unbounded_directions():
    """They are orthogonal on the points, however small the extents."""
    a = np.array([[1e-18, 2e-18, 0.0], [0.0, 3e-19, 0.0], [0.3, -0.7, 1.0]])
    b = np.array([[1.0, 0.2, 0.4], [0.0, 1.0, -0.8], [0.0, 0.0, 0.0]])
    error = EPS * np.array([1e-18, 2e-18, 1.0])
    points = Side(a, np.linalg.norm(a, axis=0), error, np.linalg.norm(a, axis=0))
    solution = solve_pair(points, side(b))
    assert solution.unbounded.shape[1] == 1
    across = (a @ solution.vectors).T @ (a @ solution.unbounded)
    assert np.abs(across).max() < 1e-30


@pytest.mark.parametrize("tiny", [7e-15, 8e-15])
def test_directions_within_the_errors_of_all_columns_are_dropped_and_not_lost(tiny):
    """Larger than the error of one column, but not than those of all that they combine."""
    mixing = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    ones = np.ones(4)
    points = Side(np.diag([1, 1, 1, tiny]) @ mixing, ones, EPS * ones, ones)
    form = Side(np.diag([1, 0.5, 0.2, 3 * tiny]) @ mixing, ones, EPS * ones, ones)
    solution = solve_pair(points, form)
    np.testing.assert_allclose(solution.extents, [1, 2, 5], rtol=1e-4)
    assert (solution.dropped, solution.lost) == (1, 0)


def regular(n_columns):
    """Factors whose extents are about 1."""
    rng = np.random.default_rng(0)
    extents = np.linspace(0.3, 1, n_columns)
    b = rng.standard_normal((2 * n_columns, n_columns))
    turn = np.linalg.qr(rng.standard_normal((n_columns, n_columns)))[0]
    return extents[:, None] * (turn @ np.linalg.qr(b)[1]), b, extents


def test_eigenvectors_do_where_both_sides_are_regular(monkeypatch):
    a, b, extents = regular(6)
    expected = solve_pair(side(a), side(b))
    monkeypatch.setattr(gsvd, "MANY_COLUMNS", 1)
    monkeypatch.setattr(gsvd, "_find_singular_vectors", None)  # not called
    found = solve_pair(side(a), side(b))
    np.testing.assert_allclose(found.extents, extents, rtol=1e-9)
    np.testing.assert_allclose(found.vectors, expected.vectors, rtol=1e-6, atol=1e-9)


def test_singular_values_that_divide_and_conquer_does_not_find(monkeypatch):
    """The slower method of LAPACK finds them."""
    svd = gsvd.svd

    def failing(matrix, **options):
        if "lapack_driver" not in options:
            raise np.linalg.LinAlgError("SVD did not converge")
        return svd(matrix, **options)

    a, b, extents = planted(np.random.default_rng(0), 4, 1, 1, 0, 1.0, 1.0)
    monkeypatch.setattr(gsvd, "svd", failing)
    solution = solve_pair(side(a), side(b))
    np.testing.assert_allclose(solution.extents[1:], extents, rtol=1e-9)


def test_an_accelerator_leaves_uncertain_sizes_to_the_processor():
    torch = pytest.importorskip("torch")
    near = torch.zeros(1, dtype=torch.float64)
    a, b, _ = regular(5)
    assert solve_on_accelerator(side(a), side(b), near) is not None
    assert solve_on_accelerator(side(a[:4]), side(b), near) is None  # fewer rows than columns
    doubtful = Side(b, np.linalg.norm(b, axis=0), np.full(5, 1e-2), np.ones(5))
    assert solve_on_accelerator(side(a), doubtful, near) is None
    blurred = Side(a, np.linalg.norm(a, axis=0), np.full(5, 1e-2), np.ones(5))
    assert solve_on_accelerator(blurred, side(b), near) is None


def test_nothing_is_well_conditioned_and_orthogonal():
    assert gsvd.estimate_condition(np.zeros((0, 0))) == 1.0
    assert measure_orthogonality_loss(np.eye(1)) == 0.0
    assert measure_orthogonality_loss(np.array([[1.0, 0.0], [0.0, 2.0]])) == 3.0


@given(seed=st.integers(0, 2**32 - 1), exponent=st.integers(-30, 30))
def test_directions_in_coordinates_are_orthonormal_under_the_form(seed, exponent):
    """Those that vanish exactly, and the others to them."""
    rng = np.random.default_rng(seed)
    a, _, _ = planted(rng, 4, 2, 0, 0, 1.0, 1.0)
    lengths = 10.0 ** rng.uniform(-1, 1, 6)
    plain = np.linalg.qr(rng.standard_normal((6, 6)))[0] * lengths
    factor = np.linalg.qr(rng.standard_normal((8, 6)))[1]
    found = solve_in_coordinates(side(a), Coordinates(plain, factor, exponent, 1.0))
    np.testing.assert_allclose(np.linalg.norm(a @ found.vectors, axis=0), found.extents, atol=1e-9)
    sizes = np.ldexp(factor, exponent) @ (plain / lengths**2).T @ found.vectors
    np.testing.assert_allclose(sizes.T @ sizes, np.eye(6), atol=1e-9)
    assert np.sum(found.extents < 1e-12 * found.extents.max()) == 2


@pytest.mark.parametrize("extreme", [(1e-6, 1e-7), (1e-4, 1e-6), (1e4, 1e6), (1e6, 1e7)])
def test_extents_of_many_columns_keep_their_digits(extreme):
    """Eigenvectors of squares mix directions whose α² or β² are below rounding errors."""
    rng = np.random.default_rng(0)
    extents = np.r_[np.geomspace(0.5, 2, 148), extreme]
    left, right, mixing = (np.linalg.qr(rng.standard_normal((150, 150)))[0] for _ in range(3))
    large = np.maximum(extents, 1.0)  # both sides in the units of the larger one
    a, b = left @ np.diag(extents / large) @ mixing, right @ np.diag(1 / large) @ mixing
    found = solve_pair(side(a), side(b)).extents
    np.testing.assert_allclose(np.sort(found), np.sort(extents), rtol=1e-9)
