"""The overview of a basis counts, sizes and shares."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from vanishing import VanishingIdeal
from vanishing.datasets import make_variety
from vanishing.plotting import BasisDisplay
from vanishing.plotting.overview import MOST_SHOWN, variable_shares


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def segre():
    X = make_variety("segre-2x3", 200)
    return X, VanishingIdeal(max_degree=2, tol=1e-6).fit(X)


def test_numbers_by_degree(segre):
    X, ideal = segre
    display = BasisDisplay.from_estimator(ideal, X)
    vanishing, nonvanishing = display.axes_[0].containers
    assert [bar.get_height() for bar in vanishing] == [step.vanishing for step in ideal.trace_]
    assert [bar.get_height() for bar in nonvanishing] == [s.nonvanishing for s in ideal.trace_]
    assert display.ax_ is display.axes_[0]


def test_extents_in_the_order_of_the_features(segre):
    X, ideal = segre
    panel = BasisDisplay.from_estimator(ideal, X).axes_[1]
    np.testing.assert_allclose(panel.lines[0].get_xdata(), np.clip(ideal.extents_, 1e-17, None))
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert labels == ideal.get_feature_names_out().tolist()


def test_shares_do_not_depend_on_units(segre):
    X, ideal = segre
    shares = variable_shares(ideal.basis_, X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    units = np.array([1.0, 10.0, 0.1, 1.0, 1.0, 1.0])
    x = np.random.default_rng(0).normal(size=(300, 2))
    points = np.column_stack([x, x @ [1.0, -2.0]])
    line = VanishingIdeal(max_degree=1, tol=1e-9).fit(points)
    other = VanishingIdeal(max_degree=1, tol=1e-9).fit(points * units[:3])
    np.testing.assert_allclose(
        variable_shares(line.basis_, points), variable_shares(other.basis_, points * units[:3])
    )


def test_a_variable_without_a_part_has_no_share():
    X = make_variety("cylinder", 200)
    ideal = VanishingIdeal(max_degree=2, tol=1e-6).fit(X)
    np.testing.assert_allclose(variable_shares(ideal.basis_, X)[0, 2], 0.0, atol=1e-9)


def test_many_polynomials_and_variables_are_capped():
    X = np.random.default_rng(0).normal(size=(80, 60))
    ideal = VanishingIdeal(max_degree=1, tol=100.0).fit(X)
    display = BasisDisplay.from_estimator(ideal, X)
    assert display.axes_[1].get_title(loc="left") == f"Extents, {MOST_SHOWN} of 60"
    labels = [label.get_text() for label in display.axes_[2].get_xticklabels()]
    assert len(labels) == MOST_SHOWN + 1
    assert labels[-1] == f"{60 - MOST_SHOWN} others"


def test_without_points_there_are_no_shares(segre):
    display = BasisDisplay.from_estimator(segre[1])
    assert display.shares is None
    assert display.axes_.shape == (2,)


@pytest.mark.parametrize("with_points", [True, False])
def test_nothing_vanishes(with_points):
    X = np.random.default_rng(0).normal(size=(50, 3))
    ideal = VanishingIdeal(max_degree=1, tol=1e-6).fit(X)
    display = BasisDisplay.from_estimator(ideal, X if with_points else None)
    assert display.axes_[1].texts[0].get_text().startswith("Nothing vanishes")


def test_axes(segre):
    X, ideal = segre
    figure, axes = plt.subplots(1, 3)
    assert BasisDisplay.from_estimator(ideal, X, ax=axes).figure_ is figure
    with pytest.raises(ValueError, match="sequence of 3 Axes"):
        BasisDisplay.from_estimator(ideal, X, ax=axes[0])
