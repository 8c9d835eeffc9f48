"""Many parts are one fit, and nothing is kept but a factor of monomials."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.cases import KNOWN_IDEALS, NORMALIZATIONS, counts, gaussian_contrast, tensor

from vanishing import VanishingIdeal, load
from vanishing.arrays.blocks import BudgetError
from vanishing.construction.moments import Frame, Moments, factor_affine
from vanishing.construction.normalizations import Normalization
from vanishing.data import as_source
from vanishing.persistence import ModelFileError
from vanishing.polynomials.monomials import monomials

EVERY = pytest.mark.parametrize("normalization", NORMALIZATIONS)


def points(n_rows=200, seed=0):
    """A noisy surface off the origin."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(n_rows)
    return X + np.array([3.0, 0.0, -1.0])


def contrast_for(normalization, X=None):
    return (
        gaussian_contrast(points() if X is None else X) if normalization == "contrastive" else None
    )


def in_parts(ideal, X, contrast, borders):
    for start, stop in zip([0, *borders], [*borders, len(X)], strict=True):
        part = None if contrast is None else contrast[start:stop]
        ideal.partial_fit(X[start:stop], contrast=part)
    return ideal


def assert_same(ideal, expected, X, rtol=1e-8):
    assert counts(ideal) == counts(expected)
    assert ideal.stop_reason_ == expected.stop_reason_
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=rtol, atol=1e-12)
    values, others = ideal.transform(X), expected.transform(X)
    np.testing.assert_allclose(values, others, rtol=rtol, atol=rtol * np.abs(others).max(initial=0))


@EVERY
@settings(max_examples=15)
@given(
    borders=st.lists(st.integers(30, 190), max_size=4, unique=True).map(sorted),
    degree=st.integers(1, 4),
    seed=st.integers(0, 9),
)
def test_parts_are_one_fit(borders, degree, seed, normalization):
    X = points(seed=seed)
    contrast = gaussian_contrast(X, n_samples=200) if normalization == "contrastive" else None
    ideal = VanishingIdeal(normalization=normalization, tol=0.2, max_degree=degree)
    one = VanishingIdeal(normalization=normalization, tol=0.2, max_degree=degree)
    in_parts(ideal, X, contrast, borders)
    assert_same(ideal, one.fit(X, contrast=contrast), X)
    assert ideal.n_samples_seen_ == 200


@EVERY
@pytest.mark.parametrize("products", ["independent", "all"])
@pytest.mark.parametrize("tol_norm", ["rms", "euclidean"])
def test_all_settings(normalization, products, tol_norm):
    X = points()
    contrast = contrast_for(normalization)
    settings = {
        "normalization": normalization,
        "products": products,
        "tol_norm": tol_norm,
        "tol": 0.2 if tol_norm == "rms" else 3.0,
        "max_nonvanishing": 6,
        "max_degree": 3,
    }
    ideal = VanishingIdeal(**settings)
    for rows in np.array_split(X, 3):
        ideal.partial_fit(rows, contrast=contrast)
        contrast = None  # once is enough
    one = VanishingIdeal(**settings).fit(X, contrast=contrast_for(normalization))
    assert_same(ideal, one, X)


@EVERY
@pytest.mark.parametrize("known", KNOWN_IDEALS, ids=lambda known: known.name)
def test_exact_relations_are_found_in_parts(known, normalization):
    contrast = contrast_for(normalization, known.points)
    ideal = VanishingIdeal(normalization=normalization, tol=0.0, max_degree=known.max_degree)
    for rows in np.array_split(known.points, 4):
        ideal.partial_fit(rows, contrast=contrast)
        contrast = None
    assert tuple(step.nonvanishing for step in ideal.trace_) == known.hilbert
    assert ideal.extents_.max() < 1e-11


@EVERY
def test_one_row_at_a_time(normalization):
    """The worst first part: it says nothing about the spread."""
    X = points(60)
    contrast = contrast_for(normalization, X)
    ideal = VanishingIdeal(normalization=normalization, tol=0.2, max_degree=2)
    for row in X:
        ideal.partial_fit(row[None], contrast=contrast)
        contrast = None
    one = VanishingIdeal(normalization=normalization, tol=0.2, max_degree=2)
    assert_same(ideal, one.fit(X, contrast=contrast_for(normalization, X)), X)
    assert ideal.n_samples_seen_ == 60


@EVERY
def test_weights(normalization):
    X, weights = points(), np.random.default_rng(1).integers(0, 3, 200)
    contrast = contrast_for(normalization)
    ideal = VanishingIdeal(normalization=normalization, tol=0.2, max_degree=3)
    ideal.partial_fit(X[:90], contrast=contrast, sample_weight=weights[:90])
    ideal.partial_fit(X[90:], sample_weight=weights[90:])
    one = VanishingIdeal(normalization=normalization, tol=0.2, max_degree=3)
    assert_same(ideal, one.fit(X, contrast=contrast, sample_weight=weights), X)
    assert ideal.n_samples_seen_ == weights.sum()


@pytest.mark.parametrize("normalization", ["vca", "contrastive"])
def test_columns_in_units_of_their_own(normalization):
    units = np.array([1e-7, 1e6, 1.0])
    X, contrast = points() * units, contrast_for(normalization)
    contrast = None if contrast is None else contrast * units
    ideal = VanishingIdeal(normalization=normalization, tol=0.3, max_degree=3)
    one = VanishingIdeal(normalization=normalization, tol=0.3, max_degree=3)
    ideal.partial_fit(X[:100], contrast=contrast).partial_fit(X[100:])
    assert_same(ideal, one.fit(X, contrast=contrast), X)


@EVERY
def test_columns_far_from_the_origin_and_nearly_dependent(normalization):
    """Plain monomials of such data agree in seven digits: the coordinates make the difference."""
    turn = np.array([[1.0, 1.0, 0.0], [0.0, 1e-2, 1.0], [1.0, -1.0, 1.0]])
    X = 100 + points() @ turn
    contrast = gaussian_contrast(X, n_samples=200) if normalization == "contrastive" else None
    parameters = {"normalization": normalization, "tol": 0.01, "max_degree": 3}
    ideal = in_parts(VanishingIdeal(**parameters), X, contrast, [60, 110])
    one = VanishingIdeal(**parameters).fit(X, contrast=contrast)
    assert_same(ideal, one, X)


def test_chunks_and_frames():
    X = points()
    expected = VanishingIdeal(tol=0.2).fit(X)
    chunked = VanishingIdeal(tol=0.2).partial_fit([X[:50], X[50:90]]).partial_fit([X[90:]])
    assert_same(chunked, expected, X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = VanishingIdeal(tol=0.2).partial_fit(frame[:90])
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        named.partial_fit(frame[["a", "c", "b"]])
    with pytest.raises(ValueError, match="2 features, but VanishingIdeal is expecting 3"):
        chunked.partial_fit([X[:, :2]])


def test_chunks_of_tensors():
    X = points()
    tensors = VanishingIdeal(tol=0.2).partial_fit(tensor(X[:90])).partial_fit(tensor(X[90:]))
    assert_same(tensors, VanishingIdeal(tol=0.2).fit(X), X)


def test_single_precision_is_known_to_single_precision():
    X = points().astype(np.float32)
    expected = VanishingIdeal(tol=0.2, max_degree=2).fit(X)
    ideal = VanishingIdeal(tol=0.2, max_degree=2).partial_fit(X[:90]).partial_fit(X[90:])
    assert_same(ideal, expected, X, rtol=1e-3)


def test_settings_may_change_on_the_way():
    X = points()
    contrast = contrast_for("contrastive")
    ideal = VanishingIdeal(normalization="contrastive", tol=0.1, max_degree=3)
    ideal.partial_fit(X[:90], contrast=contrast)
    ideal.set_params(normalization="gradient", tol=0.2, max_degree=2).partial_fit(X[90:])
    assert_same(ideal, VanishingIdeal(tol=0.2, max_degree=2).fit(X), X)
    ideal.set_params(max_degree=4)
    with pytest.raises(ValueError, match=r"raised to 4.*degree at most 3"):
        ideal.partial_fit(X)


def test_a_part_that_fails_changes_nothing():
    X = points()
    ideal = VanishingIdeal(tol=0.2).partial_fit(X[:90])
    bad = X[90:].copy()
    bad[3, 1] = np.nan
    before = pickle.dumps(ideal)
    with pytest.raises(ValueError, match="NaN"):
        ideal.partial_fit([bad])
    assert pickle.dumps(ideal) == before
    assert_same(ideal.partial_fit(X[90:]), VanishingIdeal(tol=0.2).fit(X), X)


def test_too_many_monomials_are_refused_before_any_work():
    read = []

    def chunks():
        read.append(1)
        yield np.random.default_rng(0).standard_normal((10, 50))

    ideal = VanishingIdeal(max_degree=3, memory_budget=2**26)
    with pytest.raises(BudgetError, match=r"23426 monomials.*over the memory budget of 64 MiB"):
        ideal.partial_fit(chunks)
    assert len(read) == 1  # the first chunk says how wide the rows are
    assert not hasattr(ideal, "basis_")


def test_a_bound_on_the_degree_is_required():
    with pytest.raises(ValueError, match="set max_degree"):
        VanishingIdeal(max_degree=None).partial_fit(points())


def test_contrast_is_required_once_and_refused_where_it_is_not_used():
    X = points()
    with pytest.raises(ValueError, match="second set of points"):
        VanishingIdeal(normalization="contrastive").partial_fit(X)
    with pytest.raises(ValueError, match="does not use one"):
        VanishingIdeal().partial_fit(X, contrast=X)


def test_fit_begins_anew_and_so_does_partial_fit_after_it():
    X = points()
    ideal = VanishingIdeal(tol=0.2).partial_fit(X[:50]).fit(X)
    assert not hasattr(ideal, "n_samples_seen_")
    with pytest.warns(UserWarning, match="starts from scratch"):
        ideal.partial_fit(X[:100])
    assert_same(ideal, VanishingIdeal(tol=0.2).fit(X[:100]), X)


def degenerate(X):
    """First parts that say little or nothing about the spread of X."""
    n_features = X.shape[1]
    return {
        "one row": X[:1],
        "two rows": X[:2],
        "equal rows": np.repeat(X[:1], 30, axis=0),
        "zeros": np.zeros((5, n_features)),
        "a constant column": np.column_stack([np.full(40, 2.0), X[:40, 1:]]),
        "a column of zeros": np.column_stack([np.zeros(40), X[:40, 1:]]),
        "a column that is nearly constant": X[:40] * [1.0, 1e-9, 1.0],
        "a line": np.outer(X[:40, 0], [1.0, 2.0, -3.0]),
        "a plane": np.column_stack([X[:40, 0], X[:40, 1], X[:40, 0] - X[:40, 1]]),
        "far away": 1e3 + X[:40],
        "a row far away": 1e3 + X[:1],
    }


@EVERY
@pytest.mark.parametrize("first", degenerate(points()))
@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_any_first_part_will_do(first, unit, normalization):
    units = np.array([unit, 1.0, unit])
    X, part = points() * units, degenerate(points())[first]
    contrast = contrast_for(normalization, X)
    settings = {"normalization": normalization, "tol": 0.2, "max_degree": 3}
    ideal = VanishingIdeal(**settings)
    ideal.partial_fit(part, contrast=contrast).partial_fit(X[:100]).partial_fit(X[100:])
    everything = np.concatenate([part, X])
    expected = VanishingIdeal(**settings).fit(everything, contrast=contrast)
    assert counts(ideal) == counts(expected)
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-7, atol=1e-9)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(1, 40), st.floats(-3, 3), st.floats(-100, 100)),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 9),
)
def test_data_that_wanders(parts, seed):
    """Parts of any length, size and place, and at last one that is like the sum of all."""
    X = points(400, seed)
    pieces = [X[:n] * 10**power + shift for n, power, shift in parts]
    scale = max(np.abs(piece).max() for piece in pieces)
    pieces.append(X * scale)
    ideal = VanishingIdeal(normalization="vca", tol=0.1)
    for piece in pieces:
        ideal.partial_fit(piece)
    together = np.concatenate(pieces)
    expected = VanishingIdeal(normalization="vca", tol=0.1).fit(together)
    assert counts(ideal) == counts(expected)
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-6, atol=1e-9)


def test_a_contrast_may_begin_with_one_row():
    X, contrast = points() * 1e3, contrast_for("contrastive", points() * 1e3)
    settings = {"normalization": "contrastive", "tol": 0.3}
    ideal = VanishingIdeal(**settings).partial_fit(X[:1], contrast=contrast[:1])
    ideal.partial_fit(X[1:50]).partial_fit(X[50:], contrast=contrast[1:])
    assert_same(ideal, VanishingIdeal(**settings).fit(X, contrast=contrast), X)


def test_coordinates_stay_where_the_first_part_is_typical():
    X = points()
    ideal = VanishingIdeal(tol=0.2).partial_fit(X[:100])
    frame = ideal._seen.points.frame
    assert ideal.partial_fit(X[100:])._seen.points.frame is frame
    assert ideal.partial_fit(1e3 * X)._seen.points.frame is not frame


def test_a_row_too_far_from_all_others_is_warned_of():
    X = points()
    ideal = VanishingIdeal(max_degree=3, tol=1.0).partial_fit(np.full((1, 3), 1e8))
    with pytest.warns(UserWarning, match="X is spread so unevenly that .* digits are lost"):
        ideal.partial_fit(X)


def test_a_normalization_that_reads_rows_is_refused():
    @dataclass(frozen=True)
    class Reading(Normalization):
        def form(self, stage):
            return stage.form(stage.values(next(stage.source.blocks(100))))

    with pytest.raises(ValueError, match="which partial_fit does not keep"):
        VanishingIdeal(normalization=Reading()).partial_fit(points())


def test_a_normalization_with_points_of_its_own_is_taken():
    @dataclass(frozen=True)
    class Around(Normalization):
        def form(self, stage):
            found = stage.factor_on(as_source(gaussian_contrast(points())))
            return stage.form(found.R, found.relative_error)

    X = points()
    ideal = VanishingIdeal(normalization=Around(), tol=0.3)
    one = VanishingIdeal(normalization=Around(), tol=0.3)
    assert_same(ideal.partial_fit(X[:90]).partial_fit(X[90:]), one.fit(X), X)


@EVERY
@pytest.mark.parametrize("keep", ["pickle", "file"])
def test_it_goes_on_after_loading(keep, normalization, tmp_path):
    X, contrast = points(), contrast_for(normalization)
    ideal = VanishingIdeal(normalization=normalization, tol=0.2)
    ideal.partial_fit(X[:90], contrast=contrast)
    if keep == "pickle":
        loaded = pickle.loads(pickle.dumps(ideal))
    else:
        ideal.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
    assert loaded.n_samples_seen_ == 90
    loaded.partial_fit(X[90:])
    ideal.partial_fit(X[90:])
    np.testing.assert_array_equal(loaded.transform(X), ideal.transform(X))


@EVERY
def test_no_rows_are_kept(normalization):
    sizes = []
    for n_rows in (200, 20_000):
        X = points(n_rows)
        ideal = VanishingIdeal(normalization=normalization, tol=0.0)
        ideal.partial_fit(X, contrast=contrast_for(normalization, X))
        sizes.append(len(pickle.dumps(ideal)))
    assert abs(sizes[0] - sizes[1]) < 300


@pytest.mark.parametrize("damage", ["width", "degree", "frame", "weight"])
def test_damaged_factors_are_refused(damage, tmp_path):
    ideal = VanishingIdeal(tol=0.2).partial_fit(points())
    seen = ideal._seen
    kept = seen.points
    damaged = {
        "width": replace(kept, factor=replace(kept.factor, R=kept.factor.R[:, :-1])),
        "degree": replace(kept, degree=10**9),
        "frame": replace(kept, frame=replace(kept.frame, axes=np.eye(2))),
        "weight": replace(kept, factor=replace(kept.factor, n_rows=0.0)),
    }[damage]
    for wrong in (replace(seen, points=damaged), replace(seen, contrast=damaged)):
        ideal._seen = wrong
        ideal.save(tmp_path / "model")
        with pytest.raises(ModelFileError):
            load(tmp_path / "model")


def test_factors_that_are_not_finite_are_not_loaded(tmp_path):
    rng = np.random.default_rng(0)
    ideal = VanishingIdeal().partial_fit(rng.standard_normal((30, 2)))
    ideal._seen.points.factor.R[0, 0] = np.nan
    ideal.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="monomials of partial fits"):
        load(tmp_path / "model")


def test_weights_of_rows_that_are_still_kept_count():
    """Few rows are kept as they are, with their weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    weights = rng.integers(1, 5, 12).astype(float)
    weighted = VanishingIdeal(max_degree=2, tol=0.0).partial_fit(X, sample_weight=weights)
    repeated = VanishingIdeal(max_degree=2, tol=0.0).fit(np.repeat(X, weights.astype(int), axis=0))
    plain = VanishingIdeal(max_degree=2, tol=0.0).fit(X)
    spectra = [each.trace_[0].spectrum for each in (weighted, repeated, plain)]
    np.testing.assert_allclose(spectra[0], spectra[1], rtol=1e-9)
    assert np.abs(spectra[0] - spectra[2]).max() > 1e-3


def test_moments_know_no_higher_degree_and_no_rows():
    """Means of squares are those of the rows, up to the degree that was kept."""
    X = points()
    source = as_source(X)
    frame = Frame.fit(factor_affine(source, 10**8))
    moments = Moments.compute(source, frame, 2, 10**8).source("X")
    assert (moments.n_samples, moments.n_features, moments.cpu) == (len(X), X.shape[1], True)
    means = moments.recall_mean_squares(2, np.zeros(X.shape[1], dtype=int))
    values = monomials(X.shape[1], 2).values(X.T)
    np.testing.assert_allclose(means, np.mean(values**2, axis=1), rtol=1e-9)
    with pytest.raises(ValueError, match="keeps monomials of degree at most 2, but degree 3"):
        moments.recall_mean_squares(3, np.zeros(X.shape[1], dtype=int))
    with pytest.raises(ValueError, match="X"):
        next(iter(moments.blocks(10)))
