"""Detectors on rows from files and chunks: as on an array, and passes over what is too large."""

from unittest.mock import patch

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.decomposition import PCA, IncrementalPCA

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal, load
from vanishing.data import as_source
from vanishing.data.source import sample_rows
from vanishing.detectors.base import Moments, find_moments
from vanishing.transformations import FunctionTransformation, Rotations

CONTRASTIVE = VanishingIdeal(max_degree=2, tol=0.5, normalization="contrastive")


def normal(n_samples=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 3)) * [1, 2, 1]
    X[:, 2] = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(n_samples)
    return X


def chunks(X, n=7):
    return lambda: iter(np.array_split(X, n))


def streamed():
    """Take everything for too large to be read into memory."""
    return patch("vanishing.data.inputs.MEMORY", 2000)


def in_threads():
    return dask.config.set(scheduler="threads", num_workers=2)


DETECTORS = {
    "recipe": lambda: VanishingDetector(),
    "ideal": lambda: VanishingDetector(CONTRASTIVE),
    "pieces": lambda: VanishingDetector(CONTRASTIVE, n_components=3, contamination=0.1),
    "calibrated": lambda: VanishingDetector(CONTRASTIVE, contamination=0.1, calibration=0.3),
    "transformations": lambda: TransformationDetector(),
}


@pytest.mark.parametrize("kind", DETECTORS)
def test_small_files_are_read_and_give_the_same_as_an_array(kind, tmp_path):
    X, new = normal(), normal(100, seed=1)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "new.npy", new)
    expected = DETECTORS[kind]().fit(X)
    detector = DETECTORS[kind]().fit(tmp_path / "x.npy")
    assert detector.offset_ == expected.offset_
    scores = detector.score_samples(tmp_path / "new.npy")
    assert isinstance(scores, np.ndarray)
    np.testing.assert_allclose(scores, expected.score_samples(new), rtol=1e-9)
    for data in (chunks(new), as_source(new), [new[:40], new[40:]]):
        np.testing.assert_allclose(detector.score_samples(data), scores, rtol=1e-9)
        np.testing.assert_array_equal(detector.predict(data), detector.predict(new))
    assert detector.score(chunks(new)) == pytest.approx(expected.score(new), rel=1e-9)


@pytest.mark.parametrize("kind", ["ideal", "transformations"])
def test_scores_of_a_dask_array_are_lazy(kind):
    X = normal()
    detector = DETECTORS[kind]().fit(X)
    blocks = da.from_array(X, chunks=(200, 3))
    with in_threads():
        for method in ("score_samples", "decision_function", "predict"):
            found = getattr(detector, method)(blocks)
            assert isinstance(found, da.Array)
            assert found.chunks == ((200, 200, 200, 200, 100),)
            np.testing.assert_allclose(found.compute(), getattr(detector, method)(X), rtol=1e-9)


def as_blocks(X):
    return da.from_array(X, chunks=(200, 3))


@pytest.mark.parametrize("make", [chunks, as_blocks])
@pytest.mark.parametrize("normalization", ["gradient", "contrastive"])
def test_one_ideal_passes_over_what_is_too_large(normalization, make, tmp_path):
    X, new = normal(), normal(200, seed=1)
    ideal = VanishingIdeal(max_degree=2, tol=0.5, normalization=normalization)
    expected = VanishingDetector(ideal, contamination=0.05).fit(X)
    with in_threads(), streamed():
        detector = VanishingDetector(ideal, contamination=0.05).fit(make(X))
    np.testing.assert_allclose(detector.score_samples(new), expected.score_samples(new), rtol=1e-7)
    assert detector.offset_ == pytest.approx(expected.offset_, rel=1e-9)
    assert detector.chosen_ == expected.chosen_
    assert len(detector.explain(new[:1])[0].attribution) == 3
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").score_samples(new), detector.score_samples(new)
    )


@pytest.mark.parametrize("make", [chunks, as_blocks])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"center": False}, {"distance_weight": 1.0}, {"ideal": VanishingIdeal(tol=0.5)}],
    ids=lambda p: "-".join(p) or "default",
)
def test_transformations_are_told_apart_by_passes(parameters, make):
    X, new = normal(1000), normal(200, seed=1)
    with in_threads():
        with streamed():
            detector = TransformationDetector(contamination=0.05, **parameters).fit(make(X))
        expected = TransformationDetector(contamination=0.05, **parameters).fit(X)
        assert detector.offset_ == pytest.approx(expected.offset_, rel=1e-6)
        scores, wanted = detector.score_samples(new), expected.score_samples(new)
    np.testing.assert_allclose(scores, wanted, rtol=1e-5, atol=1e-8)
    ranges, whole = detector.anomaly_score_.ranges, expected.anomaly_score_.ranges
    np.testing.assert_array_equal(ranges.middles, whole.middles)
    np.testing.assert_array_equal(ranges.half_widths, whole.half_widths)


def test_incremental_preprocessor_is_fitted_by_passes():
    rng = np.random.default_rng(0)
    images = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 64))
    images += 0.01 * rng.standard_normal(images.shape)
    detector = TransformationDetector(
        Rotations(image_shape=(8, 8)),
        preprocessor=IncrementalPCA(12),
        ideal=VanishingIdeal(max_degree=1, tol=0.99, normalization="contrastive"),
    )
    with streamed():
        detector.fit(lambda: iter([images[:7], images[7:300], images[300:495], images[495:]]))
    assert detector.preprocessor_.n_samples_seen_ == 4 * 500
    whole = PCA(12).fit(np.concatenate([t(images) for t in detector.transformations_]))
    variances = detector.preprocessor_.explained_variance_[:8]  # two directions, four ways
    np.testing.assert_allclose(variances, whole.explained_variance_[:8], rtol=1e-3)
    assert np.isfinite(detector.score_samples(images)).all()


@pytest.mark.parametrize(
    ("detector", "words"),
    [
        (VanishingDetector(), "the recipe.*needs all rows of X at once.*1000 bytes.*fit one ideal"),
        (VanishingDetector(CONTRASTIVE, n_components=4), "n_components=4 needs all rows"),
        (
            VanishingDetector(CONTRASTIVE, calibration=0.2, contamination=0.1),
            "calibration=0.2 needs all rows",
        ),
        (TransformationDetector(n_components=(1, 4)), r"n_components=\(1, 4\) needs all rows"),
        (TransformationDetector(weighting="convex"), "weighting='convex' needs all rows"),
        (TransformationDetector(preprocessor=PCA(2)), "PCA needs all rows.*IncrementalPCA"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_needs_all_rows_says_so(detector, words):
    with streamed(), pytest.raises(ValueError, match=words):
        detector.fit(chunks(normal()))
    assert not hasattr(detector, "offset_")


def test_explanations_and_criteria_need_few_rows():
    detector = VanishingDetector(CONTRASTIVE).fit(normal())
    assert len(detector.explain([normal(2)])) == 2
    with streamed(), pytest.raises(ValueError, match="VanishingDetector needs all rows of X"):
        detector.score(chunks(normal()))


def test_identical_copies_are_refused_only_if_all_rows_agree():
    turned = FunctionTransformation([lambda x: x.copy(), lambda x: np.where(x > 0, x, -x)])
    X = np.abs(np.random.default_rng(0).standard_normal((300, 2)))
    with streamed():
        with pytest.raises(ValueError, match="identical copies"):
            TransformationDetector(turned).fit(chunks(X))
        X[-100:] *= -1
        TransformationDetector(turned).fit(chunks(X))


@pytest.mark.parametrize("detector", [VanishingDetector(CONTRASTIVE), TransformationDetector()])
def test_failing_chunk_is_named_and_the_detector_is_left_as_it_was(detector):
    def bad():
        yield normal(60)
        raise OSError("disk on fire")

    for _ in range(2):
        state = dict(vars(detector))
        with streamed(), pytest.raises(OSError, match="chunk 1 of X could not be read: OSError"):
            detector.fit(bad)
        assert vars(detector) == state
        detector.fit(normal())
    with pytest.raises(OSError, match="chunk 1 of X could not be read: OSError"):
        detector.score_samples(bad)
    with pytest.raises(ValueError, match="X has 2 features"):
        detector.score_samples([normal()[:, :2]])


# --- pieces --------------------------------------------------------------------------------------


def test_moments_do_not_depend_on_blocks_and_survive_an_offset():
    X = np.random.default_rng(0).standard_normal((1000, 2))
    X[:, 0] += 1e8
    for n in (1, 3, 1000):
        found = find_moments(as_source(chunks(X, n)))
        assert isinstance(found, Moments)
        np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.variance, X.var(axis=0), rtol=1e-7)


def test_drawn_rows_are_equally_likely_and_do_not_depend_on_blocks():
    X = np.arange(3000.0)[:, None]
    drawn = sample_rows(as_source(X), 300, seed=1)
    again = sample_rows(as_source(chunks(X, 50)), 300, seed=1)
    many = np.concatenate([sample_rows(as_source(X), 300, seed=s)[:, 0] for s in range(40)])
    np.testing.assert_array_equal(drawn, again)
    assert len(np.unique(drawn)) == 300
    assert (np.diff(drawn[:, 0]) > 0).all()
    counted = np.histogram(many, bins=10, range=(0, 3000))[0]  # 1200 expected in each
    assert np.abs(counted - 1200).max() < 5 * np.sqrt(1200)
    assert sample_rows(as_source(X[:50]), 300, seed=0).tolist() == X[:50].tolist()


def test_chunks_without_rows_have_no_scores():
    detector = VanishingDetector(CONTRASTIVE).fit(normal(200))
    with pytest.raises(ValueError, match="at least one row is required"):
        detector.score_samples(lambda: iter([np.empty((0, 3))]))


def test_more_principal_components_than_columns_are_refused():
    model = TransformationDetector(preprocessor=PCA(9))
    with pytest.raises(ValueError, match="n_components=9"):
        model.fit(normal(200))
