"""The search for short relations, beside one that tries everything."""

from itertools import combinations

import numpy as np
import pytest

from vanishing.laws.search import (
    even_weights,
    find_singular_vectors,
    make_terms,
    search_supports,
    shorten,
    solve,
)


def table(seed, n_rows=200):
    """Five columns, two of them sums of others, one a product."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(0.5, 2, (3, n_rows))
    X = np.column_stack([a, b, c, a - b, a + c]) + 1e-3 * rng.normal(size=(n_rows, 5))
    return X / np.sqrt(np.mean(X**2, axis=0))


def terms_of(X, degree=1):
    return make_terms(X, X.std(axis=0), degree, np.full(X.shape[1], 9))


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_supports_are_those_of_an_exhaustive_search(size, seed):
    terms = terms_of(table(seed))
    noise = 0.01
    shifted = terms.shifted(noise)

    def singular(support):
        return np.linalg.eigvalsh(shifted[np.ix_(support, support)])[0] <= 0

    expected = [
        support
        for support in combinations(range(len(shifted)), size)
        if singular(support)
        and not any(singular(part) for k in range(1, size) for part in combinations(support, k))
    ]
    found = sorted(map(tuple, np.sort(search_supports(terms, noise, size), axis=1).tolist()))
    assert found == expected
    assert size == 2 or size == 4 or found


def test_short_polynomials_are_found_among_those_that_vanish():
    terms = terms_of(table(0))
    supports = shorten(terms, 0.01)
    columns = [sorted(np.flatnonzero(terms.exponents[list(s)].any(axis=0))) for s in supports]
    assert [0, 1, 3] in columns
    assert [0, 2, 4] in columns


def test_units_of_terms_do_not_matter_to_the_weights_of_rows():
    values = np.random.default_rng(0).uniform(0.1, 3, (4, 50))
    weights = even_weights(values)
    np.testing.assert_allclose(even_weights(values * [[1e3], [1.0], [1e-4], [7.0]]), weights)
    assert weights.sum() == pytest.approx(1.0)


def test_units_of_columns_do_not_matter_to_short_polynomials():
    X = table(0)
    expected = shorten(terms_of(X), 0.01)
    assert shorten(terms_of(X * [1e3, 1.0, 1e-3, 1e2, 1.0]), 0.01) == expected


def test_terms_are_singular_from_the_smallest_extent_on():
    terms = terms_of(table(0))
    smallest = solve(terms)[0].min()
    assert 1e-4 < smallest < 1e-2
    for factor, is_singular in ((0.9, False), (1.1, True)):
        lowest = np.linalg.eigvalsh(terms.shifted(factor * smallest))[0]
        assert (lowest <= 0) == is_singular


def test_singular_values_that_divide_and_conquer_does_not_find(monkeypatch):
    """The slower method of LAPACK finds them; `discover` ended in an error of NumPy."""

    def fail(matrix, **options):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", fail)
    matrix = np.random.default_rng(0).normal(size=(10, 4))
    left, singular, right = find_singular_vectors(matrix)
    np.testing.assert_allclose(left * singular @ right, matrix, atol=1e-12)
    assert solve(terms_of(table(0)))[0][-1] < 0.01
