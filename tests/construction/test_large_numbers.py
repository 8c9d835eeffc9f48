"""Data of any size: a result or a clear error, and no warning from inside."""

import warnings
from functools import cache

import numpy as np
import pytest

from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
)
from vanishing.ideal import OverflowWarning, UndecidedWarning

SIZES = [1e75, 1e100, 1e150, 1e154, 1e200, 1e300, 1e307]
NORMALIZATIONS = ["gradient", "gradient-weighted", "coefficient", "vca", "contrastive"]
DETECTORS = {
    "recipe": VanishingDetector,
    "ideal": lambda: VanishingDetector(VanishingIdeal(tol=0.1)),
    "transformations": TransformationDetector,
}


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Gram matrices of such numbers leave it open which cubics vanish, and say so.
        warnings.simplefilter("ignore", UndecidedWarning)
        warnings.simplefilter("ignore", OverflowWarning)
        yield


def usual(n_rows=60):
    factors = np.random.default_rng(0).uniform(1, 2, (n_rows, 2))
    return np.column_stack([factors, factors[:, 0] * factors[:, 1]])


def large(size, columns):
    return usual() * (size if columns == "all" else [1.0, 1.0, size])


def result_or_error(work):
    """Return what comes out, or None where numbers are said to be too large."""
    try:
        return work()
    except ValueError as error:
        reason = str(error)
    assert "too large" in reason or "lies inside the variety" in reason
    return None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("columns", ["all", "one"])
@pytest.mark.parametrize("reduction", ["tsqr", "gram"])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_ideals(size, columns, reduction, normalization):
    X = large(size, columns)
    contrast = X * np.random.default_rng(1).uniform(0.5, 1, X.shape)
    ideal = VanishingIdeal(max_degree=3, normalization=normalization, reduction=reduction)
    given = {"contrast": contrast} if normalization == "contrastive" else {}
    if result_or_error(lambda: ideal.fit(X, **given)) is not None:
        assert ideal.transform(X).shape == (len(X), ideal.basis_.count())
        assert len(ideal.to_latex()) == ideal.basis_.count()
        assert ideal._repr_latex_()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("columns", ["all", "one"])
@pytest.mark.parametrize("kind", DETECTORS)
def test_detectors(size, columns, kind):
    X = large(size, columns)
    detector = DETECTORS[kind]()
    if result_or_error(lambda: detector.fit(X)) is not None:
        assert np.isfinite(detector.score_samples(X)).all()
        assert all(str(each) and each._repr_html_() for each in detector.explain(X[:2]))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("columns", ["all", "one"])
def test_features_of_classes(size, columns):
    X = large(size, columns)
    features = ClassVanishingFeatures()
    if result_or_error(lambda: features.fit(X, np.arange(len(X)) % 2)) is not None:
        assert len(features.transform(X)) == len(X)


@cache
def fitted(name):
    return DETECTORS[name]().fit(usual())


@pytest.mark.parametrize("size", SIZES)
def test_rows_far_from_usual_data(size):
    far = large(size, "all")
    ideal = VanishingIdeal(max_degree=3).fit(usual())
    assert ideal.transform(far).shape == (len(far), ideal.basis_.count())
    assert not np.isfinite(ideal.transform(far)).all() or size < 1e103
    for detector in map(fitted, DETECTORS):
        assert (detector.predict(far) == -1).all()
        result_or_error_of_far_rows(detector, far[:1])


def result_or_error_of_far_rows(detector, rows):
    if np.isfinite(detector.score_samples(rows)).all():
        assert str(detector.explain(rows)[0])
    else:
        with pytest.raises(ValueError, match="too far from normal data"):
            detector.explain(rows)


@pytest.mark.parametrize("size", [1e-100, 1e-30, 1e-20])
def test_detectors_of_small_numbers(size):
    """All columns in small units were taken for constant, and every row for normal."""
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 80)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    usual, small = (VanishingDetector().fit(unit * circle) for unit in (1.0, size))
    inside = 0.3 * circle[:20]
    assert (small.predict(size * inside) == usual.predict(inside)).all()
    assert (small.predict(size * inside) == -1).all()


def test_detectors_refuse_numbers_too_small_to_be_squared():
    X = 1e-170 * usual()
    with pytest.raises(ValueError, match="too small to be squared; rescale the data"):
        VanishingDetector().fit(X)
