"""Displays of pipelines and detectors: the polynomials in the columns of the data."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.datasets import make_variety
from vanishing.plotting import (
    BasisDisplay,
    ExplanationDisplay,
    SpectrumDisplay,
    ZeroSetDisplay,
)
from vanishing.plotting.overview import fitted_ideal

DISPLAYS = [BasisDisplay, SpectrumDisplay, ZeroSetDisplay]


@pytest.fixture(scope="module")
def table():
    points = make_variety("ellipse", 300, noise=0.01, random_state=0)
    return pd.DataFrame(points * [100, 0.1] + [500, 2], columns=["length", "weight"])


def models(table):
    ideal = VanishingIdeal(tol=0.1)
    return {
        "pipeline": make_pipeline(StandardScaler(), ideal).fit(table),
        "two steps": make_pipeline(StandardScaler(), PCA(2), ideal).fit(table),
        "default detector": VanishingDetector().fit(table),
        "detector": VanishingDetector(ideal).fit(table),
        "detector behind a scaler": make_pipeline(
            StandardScaler(), VanishingDetector(VanishingIdeal(tol=0.1))
        ).fit(table),
    }


def test_polynomials_are_carried_back(table):
    for name, model in models(table).items():
        carried = fitted_ideal(model)
        assert carried.n_features_in_ == 2
        assert carried.feature_names_in_.tolist() == ["length", "weight"], name
        if name in ("pipeline", "two steps"):
            np.testing.assert_allclose(carried.transform(table), model.transform(table), atol=1e-9)
            assert not hasattr(model[-1], "feature_names_in_")


def test_the_default_detector_shows_its_view_of_all_rows(table):
    detector = VanishingDetector().fit(table)
    carried = fitted_ideal(detector)
    image = detector.anomaly_score_.coordinates.image(0, table.to_numpy())
    expected = detector.ideals_[0][0].basis_.evaluate(image)
    np.testing.assert_allclose(carried.basis_.evaluate(table.to_numpy()), expected, atol=1e-9)


@pytest.mark.parametrize("display", DISPLAYS)
def test_every_display_takes_every_model(table, display):
    for model in models(table).values():
        shown = display.from_estimator(model, table)
        assert shown.figure_ is not None


def pictures(table):
    """All displays: in figures of their own, in a part of a figure, and in space."""
    model = VanishingDetector(VanishingIdeal(tol=0.1)).fit(table)
    row = table.iloc[[0]] * [1.0, 1.5]
    sphere = make_variety("sphere", 100)
    for display in DISPLAYS:
        yield display.from_estimator(model, table)
    yield ZeroSetDisplay.from_estimator(model, table, polynomials=0, sign_regions=True)
    yield ZeroSetDisplay.from_estimator(VanishingIdeal(tol=1e-6).fit(sphere), sphere, resolution=8)
    yield ExplanationDisplay.from_estimator(model, row)
    yield ExplanationDisplay.from_estimator(model, row, image_shape=(1, 2))
    part = plt.figure().subfigures(1, 2)[0]
    yield SpectrumDisplay.from_estimator(model, ax=part.subplots())


def test_on_dark_paper_the_ink_is_light(table):
    plt.close("all")
    with plt.style.context("dark_background"):
        for shown in pictures(table):
            shown.figure_.figure.canvas.draw()
            texts = [t for t in shown.figure_.findobj(Text) if t.get_visible() and t.get_text()]
            dark = [t.get_text() for t in texts if max(to_rgb(t.get_color())) < 0.5]
            # Only large shares stand on bright cells.
            is_basis = isinstance(shown, BasisDisplay)
            assert texts
            assert [each for each in dark if not (is_basis and int(each) > 80)] == []
            plt.close("all")


def test_others_are_refused(table):
    with pytest.raises(TypeError, match="pipeline that ends in one, or a detector, got StandardSc"):
        fitted_ideal(StandardScaler().fit(table))
    with pytest.raises(TypeError, match=r"detector\.ideals_\[transformation\]\[cluster\]"):
        fitted_ideal(TransformationDetector().fit(table))
    bins = KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf")
    ideal = VanishingIdeal(tol=0.5)
    with pytest.raises(ValueError, match="carried back through StandardScaler"):
        fitted_ideal(make_pipeline(bins, ideal).fit(table))


def test_a_detector_of_constant_columns_has_nothing_to_draw():
    detector = VanishingDetector().fit(np.ones((30, 2)))
    with pytest.raises(ValueError, match="all columns were constant in training"):
        SpectrumDisplay.from_estimator(detector)
