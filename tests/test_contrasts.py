"""Contrasts made out of X: what they keep, what they break, what they refuse."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

from vanishing.contrasts import Contrast, GaussianNoise, Mixture, Permuted, Uniform

CONTRASTS = {
    "permuted": Permuted(),
    "noise": GaussianNoise(),
    "weak noise": GaussianNoise(scale=0.1),
    "uniform": Uniform(),
    "tight uniform": Uniform(margin=0.0),
    "mixture": Mixture(Permuted(), GaussianNoise(), Uniform()),
    "weighted mixture": Mixture(Permuted(), Mixture(Uniform(), GaussianNoise()), weights=[3, 1]),
}


def table(n_rows=400, dtype=np.float64, seed=0):
    """Columns of different scales, the second tied to the first."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 4)) * [1.0, 1.0, 100.0, 1e-3] + [0.0, 0.0, 5.0, 1.0]
    X[:, 1] = 3 * X[:, 0] + 0.1 * X[:, 1]
    return X.astype(dtype)


def make(contrast, X, n_samples=None, seed=0):
    return contrast.make(X, np.random.default_rng(seed), n_samples)


def finite_tables(**shape):
    return hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=8, **shape),
        elements=st.floats(-1e6, 1e6),
    )


# --- every contrast -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_samples", [None, 1, 7, 400, 1001])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CONTRASTS)
def test_shape_dtype_and_input(name, dtype, n_samples):
    X = table(dtype=dtype)
    before = X.copy()
    Y = make(CONTRASTS[name], X, n_samples)
    assert Y.shape == (n_samples or 400, 4)
    assert Y.dtype == dtype
    assert np.isfinite(Y).all()
    assert not np.shares_memory(X, Y)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", CONTRASTS)
def test_seeds(name):
    X, contrast = table(), CONTRASTS[name]
    np.testing.assert_array_equal(make(contrast, X), make(contrast, X))
    assert not np.array_equal(make(contrast, X), make(contrast, X, seed=1))
    rng = np.random.default_rng(0)
    assert not np.array_equal(contrast.make(X, rng), contrast.make(X, rng))


@pytest.mark.parametrize("name", CONTRASTS)
def test_single_precision_is_the_same_draw(name):
    X = table(dtype=np.float32)
    double = make(CONTRASTS[name], X.astype(np.float64))
    np.testing.assert_allclose(make(CONTRASTS[name], X), double, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", CONTRASTS)
def test_integers_become_double_precision(name):
    X = np.arange(40).reshape(20, 2)
    assert make(CONTRASTS[name], X).dtype == np.float64
    np.testing.assert_array_equal(make(CONTRASTS[name], X), make(CONTRASTS[name], X.astype(float)))


@pytest.mark.parametrize("name", CONTRASTS)
@given(X=finite_tables(), value=st.floats(-1e6, 1e6), n_samples=st.integers(1, 20))
def test_constant_columns_stay_constant(name, X, value, n_samples):
    X[:, 0] = value
    Y = make(CONTRASTS[name], X, n_samples)
    assert Y.shape == (n_samples, X.shape[1])
    assert np.isfinite(Y).all()
    np.testing.assert_array_equal(Y[:, 0], value)


@pytest.mark.parametrize("name", CONTRASTS)
def test_one_row_is_constant(name):
    X = table(1)
    np.testing.assert_array_equal(make(CONTRASTS[name], X, 5), np.repeat(X, 5, axis=0))


@pytest.mark.parametrize("name", CONTRASTS)
@given(scales=hnp.arrays(np.float64, 4, elements=st.floats(1e-6, 1e6)))
def test_units_of_the_columns_do_not_matter(name, scales):
    X = table(50)
    Y = make(CONTRASTS[name], X)
    np.testing.assert_allclose(make(CONTRASTS[name], X * scales) / scales, Y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("restore", [lambda o: pickle.loads(pickle.dumps(o)), copy.deepcopy])
@pytest.mark.parametrize("name", CONTRASTS)
def test_saved_and_restored(name, restore):
    original = CONTRASTS[name]
    restored = restore(original)
    assert isinstance(restored, Contrast)
    assert restored == original
    assert hash(restored) == hash(original)
    assert repr(restored) == repr(original)
    assert clone(original, safe=False) == original
    np.testing.assert_array_equal(make(restored, table()), make(original, table()))
    with pytest.raises(AttributeError):
        restored.scale = 2.0


def test_different_contrasts_differ():
    assert all(CONTRASTS[a] != CONTRASTS[b] for a in CONTRASTS for b in CONTRASTS if a != b)


def test_repr_can_be_read_back():
    assert all(eval(repr(contrast)) == contrast for contrast in CONTRASTS.values())


# --- each by itself -----------------------------------------------------------------------------


@given(X=finite_tables(), repeats=st.integers(1, 3))
def test_permuted_keeps_the_values_of_each_column(X, repeats):
    Y = make(Permuted(), X, repeats * len(X))
    np.testing.assert_array_equal(np.sort(Y, axis=0), np.sort(np.tile(X, (repeats, 1)), axis=0))


@given(n_rows=st.integers(1, 9), n_samples=st.integers(1, 30))
def test_permuted_draws_all_values_equally_often(n_rows, n_samples):
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    Y = make(Permuted(), X, n_samples)
    for column in range(2):
        times = [np.count_nonzero(Y[:, column] == value) for value in X[:, column]]
        assert sum(times) == n_samples
        assert max(times) - min(times) <= 1


def test_permuted_breaks_correlation():
    X = table(2000)
    assert np.corrcoef(X.T)[0, 1] > 0.99
    for n_samples in (1000, 2000, 4000):
        correlations = np.corrcoef(make(Permuted(), X, n_samples).T)
        off_diagonal = correlations[~np.eye(4, dtype=bool)]
        assert np.abs(off_diagonal).max() < 5 / np.sqrt(n_samples)


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
def test_noise_has_the_asked_size(scale):
    X = table(4000)
    noise = (make(GaussianNoise(scale), X) - X) / X.std(axis=0)
    assert np.abs(noise.mean(axis=0)).max() < 5 * scale / np.sqrt(4000)
    np.testing.assert_allclose(noise.std(axis=0), scale, rtol=0.06)
    assert np.abs(np.corrcoef(noise.T)[~np.eye(4, dtype=bool)]).max() < 0.08


@given(n_rows=st.integers(2, 9), n_samples=st.integers(1, 30))
def test_noise_uses_all_rows_equally_often(n_rows, n_samples):
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    rows = np.rint(make(GaussianNoise(1e-6), X, n_samples)[:, 0] / 2).astype(int)
    times = np.bincount(rows, minlength=n_rows)
    assert times.max() - times.min() <= 1
    if n_samples == n_rows:
        np.testing.assert_array_equal(rows, np.arange(n_rows))


@given(X=finite_tables(), margin=st.floats(0, 2))
def test_uniform_stays_in_the_widened_box(X, margin):
    Y = make(Uniform(margin), X, 50)
    low, high = X.min(axis=0), X.max(axis=0)
    beyond = margin * (high - low) + 1e-9 * np.abs(X).max()
    assert (low - beyond <= Y).all()
    assert (high + beyond >= Y).all()


def test_uniform_fills_the_box():
    X = np.array([[0.0, -1.0], [10.0, 1.0]])
    Y = make(Uniform(margin=0.1), X, 20_000)
    quantiles = np.quantile(Y, [0, 0.25, 0.5, 0.75, 1], axis=0)
    np.testing.assert_allclose(quantiles[:, 0], [-1, 2, 5, 8, 11], atol=0.2)
    np.testing.assert_allclose(quantiles[:, 1], [-1.2, -0.6, 0, 0.6, 1.2], atol=0.04)
    assert abs(np.corrcoef(Y.T)[0, 1]) < 0.04


def test_mixture_meets_its_shares():
    # Told apart by where they lie: on a grid, around it, and beyond it.
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    contrasts = (Permuted(), GaussianNoise(1e-6), Uniform())
    Y = make(Mixture(*contrasts, weights=(5, 3, 2)), X, 1000)
    on_grid = (Y == 0) | (Y == 1)
    near = (np.abs(Y) < 1e-4) | (np.abs(Y - 1) < 1e-4)
    assert on_grid.all(axis=1).nonzero()[0].tolist() == list(range(500))
    assert 500 <= (near & ~on_grid).sum() + 200 <= 505
    np.testing.assert_array_equal(near[:800], True)


@given(
    weights=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5), n_samples=st.integers(1, 100)
)
def test_mixture_shares_are_within_one_row(weights, n_samples):
    # Constant tables would hide the source, so that each contrast is asked how much it drew.
    drawn = []

    class Recording(Permuted):
        def draw(self, X, rng, n_samples):
            drawn.append(n_samples)
            return super().draw(X, rng, n_samples)

    Y = make(Mixture(*(Recording() for _ in weights), weights=weights), table(5), n_samples)
    assert sum(drawn) == len(Y) == n_samples
    assert all(drawn)
    exact = n_samples * np.array(weights) / sum(weights)
    if len(drawn) == len(weights):
        assert np.abs(drawn - exact).max() < 1
    assert len(drawn) >= np.count_nonzero(exact >= 1)


def test_mixture_rounds_the_largest_remainder_up():
    # 7 rows in shares 2 : 1 are 4.67 and 2.33; only the rows of Uniform are off the grid.
    X = np.array([[0.0], [1.0]])
    Y = make(Mixture(Permuted(), Uniform(), weights=(2, 1)), X, 7)
    np.testing.assert_array_equal((Y == 0) | (Y == 1), [[True]] * 5 + [[False]] * 2)


def test_equal_shares_by_default():
    contrasts = (Permuted(), Uniform())
    assert Mixture(*contrasts) == Mixture(*contrasts, weights=[1, 1])
    assert Mixture(*contrasts) != Mixture(*contrasts, weights=[2, 1])


def test_custom_contrast():
    class Mirrored(Contrast):
        def draw(self, X, rng, n_samples):
            return -X[rng.integers(len(X), size=n_samples)]

    X = table(10)
    assert make(Mirrored(), X).shape == X.shape
    assert make(Mixture(Mirrored(), Permuted()), X, 5).shape == (5, 4)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONTRASTS)
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"must be 2-D.*got shape \(3,\)"),
        (np.zeros((0, 3)), r"at least one row.*got shape \(0, 3\)"),
        (np.zeros((3, 0)), r"one column, got shape \(3, 0\)"),
        (np.array([[1.0, np.nan]]), "NaN or infinity"),
        (np.array([[1.0, np.inf]]), "NaN or infinity"),
        (np.array([["a", "b"]]), "real numbers, got dtype <U1"),
        (np.array([[1j]]), "real numbers, got dtype complex128"),
    ],
)
def test_bad_tables(name, X, message):
    with pytest.raises(ValueError, match=message):
        make(CONTRASTS[name], X)


@pytest.mark.parametrize("rng", [0, None, np.random.RandomState(0)])
def test_generators_only(rng):
    with pytest.raises(TypeError, match=r"must be a numpy.random.Generator.*default_rng\(seed\)"):
        Permuted().make(table(), rng)


def test_at_least_one_sample():
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1, got 0"):
        make(Permuted(), table(), 0)


@pytest.mark.parametrize(
    ("make_it", "error", "message"),
    [
        (lambda: GaussianNoise(0), ValueError, "scale must be a finite positive number, got 0"),
        (lambda: GaussianNoise(-1.0), ValueError, "scale .*got -1.0"),
        (lambda: GaussianNoise(np.inf), ValueError, "scale .*got inf"),
        (lambda: Uniform(-0.1), ValueError, "margin must be a finite number ≥ 0, got -0.1"),
        (lambda: Uniform(np.nan), ValueError, "margin .*got nan"),
        (lambda: Mixture(), ValueError, "at least one contrast"),
        (lambda: Mixture([Permuted()]), TypeError, r"takes contrasts.*got \[Permuted\(\)\]"),
        (lambda: Mixture(Permuted(), weights=[1, 2]), ValueError, "2 weights for 1 contrasts"),
        (lambda: Mixture(Permuted(), weights=[0]), ValueError, "each of the weights .*got 0.0"),
    ],
)
def test_bad_parameters_are_refused_when_given(make_it, error, message):
    with pytest.raises(error, match=message):
        make_it()
