"""Masked arrays are refused wherever data comes in, unless they hide nothing."""

import numpy as np
import pytest

from vanishing import ClassVanishingFeatures, VanishingIdeal
from vanishing.algebra import estimate_variety, project
from vanishing.contrasts import GaussianNoise
from vanishing.data import ArraySource, as_source
from vanishing.detectors import TransformationDetector, VanishingDetector, select_without_labels
from vanishing.equations import tidy, to_rational
from vanishing.transformations import RandomAffine

REFUSED = (
    r"(X|x|y|contrast|points|groups|chunk \d of X|weights of \w+) is a masked array, which hides"
)

rng = np.random.default_rng(0)
ANGLE = rng.uniform(0, 6, 200)
X = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) + 0.01 * rng.normal(size=(200, 2))
Y = rng.normal(size=(200, 2))
LABELS = rng.integers(0, 2, 200)
WEIGHTS = rng.integers(1, 3, 200).astype(float)

IDEAL = VanishingIdeal(max_degree=2, tol=0.1).fit(X)
CLASSES = ClassVanishingFeatures().fit(X, LABELS)
DETECTOR = VanishingDetector(VanishingIdeal(max_degree=2, tol=0.1)).fit(X)
GOAD = TransformationDetector(RandomAffine(3), preprocessor=None).fit(X)


def ideal():
    return VanishingIdeal(max_degree=2, tol=0.1)


TAKES_X = {
    "fit": lambda X: ideal().fit(X),
    "partial_fit": lambda X: ideal().partial_fit(X),
    "fit_transform": lambda X: ideal().fit_transform(X),
    "transform": IDEAL.transform,
    "contrast": lambda Y: VanishingIdeal(tol=0.5, normalization="contrastive").fit(X, contrast=Y),
    "chunks": lambda X: ideal().fit([X[:100], X[100:]]),
    "callable": lambda X: ideal().fit(lambda: iter([X[:100], X[100:]])),
    "chunks of transform": lambda X: list(IDEAL.transform([X]).blocks(10)),
    "rows of a list": lambda X: ideal().fit([X[i] for i in range(len(X))]),
    "as_source": as_source,
    "ArraySource": ArraySource,
    "classes": lambda X: ClassVanishingFeatures().fit(X, LABELS),
    "classes transform": CLASSES.transform,
    "detector": lambda X: VanishingDetector().fit(X),
    "detector score": DETECTOR.score_samples,
    "detector predict": DETECTOR.predict,
    "detector explain": lambda X: DETECTOR.explain(X[:2]),
    "detector chunks": lambda X: DETECTOR.score_samples([X]),
    "transformations": lambda X: TransformationDetector(RandomAffine(3)).fit(X),
    "transformations score": GOAD.score_samples,
    "selection": lambda X: select_without_labels({"one": VanishingDetector()}, X),
    "noise": lambda X: GaussianNoise().make(X, np.random.default_rng(0)),
    "evaluate": IDEAL.basis_.evaluate,
    "jacobian": IDEAL.basis_.jacobian,
    "project": lambda X: project(IDEAL.basis_, X),
    "estimate_variety": lambda X: estimate_variety(IDEAL.basis_, X),
    "tidy": lambda X: tidy(IDEAL, X),
    "to_rational": lambda X: to_rational(IDEAL, X),
}
OTHERS = {
    "weights": (WEIGHTS, lambda w: ideal().fit(X, sample_weight=w)),
    "weights of rows": (WEIGHTS, lambda w: as_source(X, weights=w)),
    "weights of a detector": (WEIGHTS, lambda w: VanishingDetector().fit(X, sample_weight=w)),
    "weights of classes": (
        WEIGHTS,
        lambda w: ClassVanishingFeatures().fit(X, LABELS, sample_weight=w),
    ),
    "y": (LABELS, lambda y: ClassVanishingFeatures().fit(X, y)),
}


def masked(values):
    """Hide one of the first entries."""
    mask = np.zeros(values.shape, dtype=bool)
    mask[(1, 0) if values.ndim == 2 else 1] = True
    return np.ma.masked_array(values, mask)


@pytest.mark.parametrize("name", TAKES_X)
def test_hidden_entries_are_refused(name):
    with pytest.raises(TypeError, match=REFUSED) as caught:
        TAKES_X[name](masked(X))
    assert "drop the rows" in str(caught.value)
    assert ".filled(" in str(caught.value)


@pytest.mark.parametrize("name", OTHERS)
def test_hidden_weights_and_labels_are_refused(name):
    values, call = OTHERS[name]
    with pytest.raises(TypeError, match=REFUSED):
        call(masked(values))


@pytest.mark.parametrize("name", TAKES_X)
def test_a_mask_that_hides_nothing_makes_no_difference(name):
    if name in ("selection", "to_rational"):
        pytest.skip("takes long")
    rows = np.ma.masked_array(X, mask=np.zeros(X.shape, dtype=bool))
    found, expected = TAKES_X[name](rows), TAKES_X[name](X)
    assert type(found) is type(expected)
    assert not isinstance(found, np.ma.MaskedArray)
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
    if isinstance(expected, VanishingIdeal):
        np.testing.assert_array_equal(found.extents_, expected.extents_)


@pytest.mark.parametrize("name", OTHERS)
def test_a_mask_that_hides_no_weight(name):
    values, call = OTHERS[name]
    call(np.ma.masked_array(values, mask=np.zeros(values.shape, dtype=bool)))


def test_blocks_of_dask():
    da = pytest.importorskip("dask.array")
    blocks = da.ma.masked_array(da.from_array(X, chunks=(50, 2)), mask=False)
    np.testing.assert_allclose(ideal().fit(blocks).extents_, IDEAL.extents_, rtol=1e-9)
    with pytest.raises(TypeError, match=r"chunk \d .*of X is a masked array"):
        ideal().fit(da.ma.masked_greater(blocks, 0.9))


def test_pyod():
    pytest.importorskip("pyod")
    from vanishing.detectors.pyod import VanishingOD

    with pytest.raises(TypeError, match=REFUSED):
        VanishingOD().fit(masked(X))
    with pytest.raises(TypeError, match=REFUSED):
        VanishingOD().fit(X).predict(masked(X))


def test_plots_and_reports(tmp_path):
    pytest.importorskip("matplotlib")
    from vanishing.app.report import write_report
    from vanishing.plotting import ZeroSetDisplay

    with pytest.raises(TypeError, match=REFUSED):
        ZeroSetDisplay.from_estimator(IDEAL, masked(X))
    with pytest.raises(TypeError, match=REFUSED):
        write_report(tmp_path / "report.html", DETECTOR, masked(X))
