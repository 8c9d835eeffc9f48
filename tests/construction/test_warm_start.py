"""A warm start is a cold one, in less time."""

import pickle
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.cases import NORMALIZATIONS, gaussian_contrast

import vanishing.construction.loop as loop
from vanishing import VanishingIdeal, load

EVERY = pytest.mark.parametrize("normalization", NORMALIZATIONS)


def points(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(n_rows)
    return X


def contrast_for(normalization, X):
    return gaussian_contrast(X) if normalization == "contrastive" else None


def assert_identical(warm, cold):
    assert warm.stop_reason_ == cold.stop_reason_
    assert len(warm.trace_) == len(cold.trace_) == len(warm.basis_.blocks)
    for one, other in zip(warm.trace_, cold.trace_, strict=True):
        for field in fields(one):
            if field.name != "seconds":
                np.testing.assert_array_equal(
                    getattr(one, field.name), getattr(other, field.name), err_msg=field.name
                )
    for one, other in zip(warm.basis_.blocks, cold.basis_.blocks, strict=True):
        for field in fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))
    np.testing.assert_array_equal(warm.extents_, cold.extents_)


@pytest.fixture
def grown(monkeypatch):
    """The degrees that are made, and not taken over."""
    made = []
    grow = loop.grow

    def counting(state, *arguments):
        made.append(len(state.basis.blocks) + 1)
        return grow(state, *arguments)

    monkeypatch.setattr(loop, "grow", counting)
    return made


SETTINGS = st.fixed_dictionaries(
    {
        "max_degree": st.integers(1, 4),
        "tol": st.sampled_from([0.0, 1e-3, 0.05, 0.1, 0.2, 0.5, "gap"]),
        "max_nonvanishing": st.sampled_from([None, 2, 5]),
        "tol_norm": st.sampled_from(["rms", "rms", "euclidean"]),
    }
)


@EVERY
@settings(max_examples=15)
@given(changes=st.lists(SETTINGS, min_size=2, max_size=4))
def test_any_change_of_settings_gives_what_a_cold_fit_gives(changes, normalization):
    X = points()
    contrast = contrast_for(normalization, X)
    warm = VanishingIdeal(normalization=normalization, warm_start=True)
    for parameters in changes:
        warm.set_params(**parameters).fit(X, contrast=contrast)
        cold = VanishingIdeal(normalization=normalization, **parameters)
        assert_identical(warm, cold.fit(X, contrast=contrast))


def test_a_raised_degree_takes_over_the_lower_ones(grown):
    X = points()
    ideal = VanishingIdeal(max_degree=2, warm_start=True).fit(X)
    ideal.set_params(max_degree=4).fit(X)
    assert grown == [1, 2, 3, 4]
    ideal.set_params(max_degree=2).fit(X)
    assert grown == [1, 2, 3, 4]
    assert len(ideal.trace_) == 2


def test_a_changed_tolerance_takes_over_degrees_up_to_the_first_difference(grown):
    X = points()
    ideal = VanishingIdeal(max_degree=3, tol=0.1, warm_start=True).fit(X)
    linear, quadratic, _ = (step.spectrum for step in ideal.trace_)
    between = 0.1 + 0.5 * (min(linear.min(), quadratic[quadratic > 0.1].min()) - 0.1)
    del grown[:]
    ideal.set_params(tol=between).fit(X)
    assert grown in ([], [3])  # degrees 1 and 2 have no extent in between
    del grown[:]
    split = np.sort(quadratic[quadratic < linear.min()])[-2:].mean()
    assert ideal.tol < split < linear.min()
    ideal.set_params(tol=split).fit(X)
    assert grown == [2, 3]


@pytest.mark.parametrize(
    "change",
    [
        "rows",
        "value",
        "value in place",
        "order",
        "dtype",
        "weights",
        "normalization",
        "reduction",
        "budget",
    ],
)
def test_anything_else_that_changed_starts_cold(change, grown):
    X = points()
    ideal = VanishingIdeal(max_degree=2, warm_start=True).fit(X)
    del grown[:]
    weights = None
    if change == "rows":
        X = X[:-1]
    elif change == "value":
        X = X.copy()
        X[17, 1] = np.nextafter(X[17, 1], 5)
    elif change == "value in place":
        X[17, 1] = np.nextafter(X[17, 1], 5)
    elif change == "order":
        X = np.concatenate([X[75:], X[:75]])
    elif change == "dtype":
        X = X.astype(np.float32)
    elif change == "weights":
        weights = np.arange(150)
    elif change == "normalization":
        ideal.set_params(normalization="vca")
    elif change == "reduction":
        ideal.set_params(reduction="gram")
    else:
        ideal.set_params(memory_budget=2**30)
    ideal.fit(X, sample_weight=weights)
    assert grown == [1, 2]


def test_another_contrast_starts_cold(grown):
    X = points()
    ideal = VanishingIdeal(normalization="contrastive", tol=0.3, warm_start=True)
    ideal.fit(X, contrast=gaussian_contrast(X)).fit(X, contrast=gaussian_contrast(X))
    assert grown == [1, 2]
    ideal.fit(X, contrast=gaussian_contrast(X, seed=1))
    assert grown == [1, 2, 1, 2]


def test_without_it_nothing_is_kept(grown):
    ideal = VanishingIdeal(max_degree=2).fit(points()).fit(points())
    assert grown == [1, 2, 1, 2]
    assert not hasattr(ideal, "_progress")
    ideal.set_params(warm_start=True).fit(points()).set_params(warm_start=False).fit(points())
    assert not hasattr(ideal, "_progress")


def test_other_weights_of_as_many_rows_start_cold(grown):
    X = points()
    ideal = VanishingIdeal(max_degree=2, warm_start=True).fit(X, sample_weight=np.ones(150))
    ideal.fit(X, sample_weight=np.ones(150))
    assert grown == [1, 2]
    ideal.fit(X, sample_weight=np.arange(1, 151))
    assert grown == [1, 2, 1, 2]


def test_chunks_in_another_order_start_cold(grown):
    chunks = [points()[:75], points()[75:]]
    ideal = VanishingIdeal(max_degree=2, warm_start=True).fit(chunks).fit(chunks)
    assert grown == [1, 2]
    ideal.fit(chunks[::-1])
    assert_identical(ideal, VanishingIdeal(max_degree=2).fit(chunks[::-1]))
    assert grown == [1, 2, 1, 2, 1, 2]


def test_chunks_and_callback(grown):
    chunks = [points()[:70], points()[70:]]
    called = []
    ideal = VanishingIdeal(max_degree=1, warm_start=True, callback=called.append).fit(chunks)
    ideal.set_params(max_degree=3).fit(chunks)
    assert grown == [1, 2, 3]
    assert [step.degree for step in called] == [1, 1, 2, 3]


@pytest.mark.parametrize("keep", ["pickle", "file"])
def test_it_goes_on_after_loading(keep, grown, tmp_path):
    X = points()
    ideal = VanishingIdeal(max_degree=2, tol=0.1, warm_start=True).fit(X)
    if keep == "pickle":
        loaded = pickle.loads(pickle.dumps(ideal))
    else:
        ideal.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
    del grown[:]
    loaded.set_params(max_degree=3).fit(X)
    assert grown == [3]
    assert_identical(loaded, VanishingIdeal(max_degree=3, tol=0.1).fit(X))
