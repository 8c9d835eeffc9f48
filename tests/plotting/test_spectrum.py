"""The display of spectra shows every extent and the tolerance."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from vanishing import VanishingIdeal
from vanishing.datasets import make_variety
from vanishing.plotting import SpectrumDisplay
from vanishing.style import INK, LESS, LOWEST_DRAWN


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def fitted(name="twisted-cubic", **parameters):
    X = make_variety(name, 200, noise=parameters.pop("noise", 0.01))
    return VanishingIdeal(**{"max_degree": 3, "tol": 0.05} | parameters).fit(X)


def heights(display, color):
    """Heights of filled marks of a colour."""
    found = []
    for marks in display.ax_.collections:
        faces = marks.get_facecolors()
        if len(faces) and to_hex(faces[0]).upper() == color:
            found += marks.get_offsets()[:, 1].tolist()
    return sorted(found)


def test_every_extent_is_drawn_and_those_that_vanish_are_filled():
    ideal = fitted()
    display = SpectrumDisplay.from_estimator(ideal)
    everything = [y for marks in display.ax_.collections for y in marks.get_offsets()[:, 1]]
    expected = np.concatenate([step.spectrum for step in ideal.trace_])
    np.testing.assert_allclose(sorted(everything), np.sort(expected))
    np.testing.assert_allclose(heights(display, LESS), np.sort(ideal.extents_))


def test_the_tolerance_is_a_line_in_each_degree():
    ideal = fitted(tol="gap")
    display = SpectrumDisplay.from_estimator(ideal)
    dashed = [line for line in display.ax_.lines if line.get_color() == INK]
    expected = [step.tol for step in ideal.trace_ if step.tol > 0]
    assert [line.get_ydata()[0] for line in dashed] == expected
    assert expected


def test_degrees_are_counted():
    ideal = fitted("circle", max_degree=2)
    labels = SpectrumDisplay.from_estimator(ideal).ax_.get_xticklabels()
    assert [label.get_text() for label in labels] == [
        "degree 1\n0 of 2 vanish",
        "degree 2\n1 of 3 vanish",
    ]


def test_polynomials_that_vanish_on_the_contrast_are_counted():
    """They are nonzero on X and zero on Y: their extent is infinite, and they are not drawn."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    contrast = X.mean(axis=0) + np.outer(rng.standard_normal(50), [1.0, 2.0])
    ideal = VanishingIdeal(max_degree=1, normalization="contrastive", tol=0.1)
    ideal.fit(X, contrast=contrast)
    display = SpectrumDisplay.from_estimator(ideal)
    (label,) = display.ax_.get_xticklabels()
    assert label.get_text() == "degree 1\n0 of 2 vanish\n1 infinite"
    assert sum(len(marks.get_offsets()) for marks in display.ax_.collections) == 1


def test_other_points_show_equations_that_hold_by_chance():
    few = np.random.default_rng(0).normal(size=(5, 2))
    ideal = VanishingIdeal(max_degree=3, tol=0).fit(few)
    display = SpectrumDisplay.from_estimator(ideal, few + 1.0)
    on_others = np.concatenate(display.elsewhere)
    expected = np.sqrt(np.mean(ideal.basis_.evaluate(few + 1.0) ** 2, axis=0))
    np.testing.assert_allclose(on_others, expected)
    assert (on_others > 1e3 * ideal.extents_).all()


def test_zero_extents_have_a_place():
    ideal = VanishingIdeal(max_degree=1, tol=0).fit(np.array([[1.0, 0.0]] * 4))
    display = SpectrumDisplay.from_estimator(ideal)
    assert display.ax_.get_ylim()[0] < LOWEST_DRAWN
    assert min(heights(display, LESS), default=LOWEST_DRAWN) >= LOWEST_DRAWN


@pytest.mark.parametrize("tol", [0, 0.05, "gap"])
def test_everything_written_is_on_the_picture(tol):
    display = SpectrumDisplay.from_estimator(fitted(tol=tol))
    display.figure_.canvas.draw()
    whole, ax = display.figure_.bbox, display.ax_
    written = [*ax.get_legend().get_texts(), *ax.get_xticklabels(), ax.yaxis.label]
    for text in written:
        box = text.get_window_extent()
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1, text
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1, text


def test_minimal_generators_are_drawn_where_they_are_in_the_spectrum():
    X = make_variety("viviani", 300, noise=0.01)
    ideal = VanishingIdeal(max_degree=3, tol=0.03, generators="minimal").fit(X)
    display = SpectrumDisplay.from_estimator(ideal, X)
    second, third = display.elsewhere[1:]
    np.testing.assert_allclose(second, ideal.trace_[1].spectrum[:2])
    assert np.isnan(third).all()
    assert len(third) == 6


def test_drawing_into_axes():
    figure, axes = plt.subplots(1, 2)
    display = SpectrumDisplay.from_estimator(fitted(), ax=axes[1])
    assert (display.ax_, display.figure_) == (axes[1], figure)
    assert not axes[0].collections


def test_errors(monkeypatch):
    with pytest.raises(ValueError, match="3 features"):
        SpectrumDisplay.from_estimator(fitted(), np.zeros((4, 2)))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"vanishing\[plot\]"):
        SpectrumDisplay.from_estimator(fitted())
