"""Pictures show what the results say, with everything legible on them, and refuse the rest."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.text import Text
from sklearn.ensemble import IsolationForest
from tests.support.processes import run_python

from vanishing import VanishingDetector
from vanishing.equations.text import shorten_name
from vanishing.explain import BrokenEquation, Explanation
from vanishing.plotting import ExplanationDisplay
from vanishing.style import LESS, MORE, diverging_colors


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def explanation(shares, *, names=None, n_equations=3, part="whole"):
    """An explanation with the given shares; features without one are as they should be."""
    shares = np.asarray(shares, dtype=float)
    sample = 10.0 * np.random.default_rng(0).normal(size=len(shares))
    return Explanation(
        sample=sample,
        counterfactual=np.where(shares != 0, sample + 1.0, sample),
        score=1.5 + shares.sum(),
        counterfactual_score=1.5,
        attribution=shares,
        equations=tuple(
            BrokenEquation(
                value=4.0,
                usual=0.0,
                typical=0.5,
                degree=2,
                part=part,
                ideal=(0, 0),
                index=i,
            )
            for i in range(n_equations)
        ),
        feature_names=tuple(names or (f"x{j}" for j in range(len(shares)))),
    )


def names_of(display):
    return [label.get_text() for label in display.axes_[0].get_yticklabels()]


def widths_of(display):
    return [bar.get_width() for bar in display.axes_[0].patches]


def texts_of(display):
    texts = display.figure_.findobj(Text)
    return [text for text in texts if text.get_visible() and text.get_text()]


RANDOM = np.random.default_rng(1).normal(size=60)
LONG = [f"plant_7_line_{i}_temperature_bearing_drive_end_mean_{i}" for i in range(6)]
ALIKE = [
    f"concentration of {i} measured in the laboratory [mg/l]" for i in ("ash", "hue", "Na", "K")
]
TABLES = {
    "both signs": explanation([3, 0.01, -1.2, 2, -0.4]),
    "negative only": explanation([-1.0, -2.0, -0.5]),
    "one feature": explanation([2.5]),
    "60 features": explanation(RANDOM),
    "one of 60": explanation(np.eye(60)[30]),
    "long names": explanation([3, 2, -1, 0.5, 1, 1], names=LONG),
    "long names and equations": explanation(
        [3, 2], names=LONG[:2], part="all rows, quadratic, of normal scores"
    ),
    "large numbers": explanation([3e5, 2e5, -1e5]),
    "one large": explanation([5e4, 1.2, 0.03, -0.0015], names=ALIKE),
    "no equations": explanation([3, 2, -1], n_equations=0),
    "typical": explanation(np.zeros(4)),
}

# --- tables ---------------------------------------------------------------------------------------


def test_bars_are_the_shares_largest_first():
    display = ExplanationDisplay.from_explanation(TABLES["both signs"])
    assert names_of(display) == ["x0", "x3", "x1", "x4", "x2"]
    assert widths_of(display) == [3, 2, 0.01, -0.4, -1.2]
    colors = [to_hex(bar.get_facecolor()).upper() for bar in display.axes_[0].patches]
    assert colors == [MORE, MORE, MORE, LESS, LESS]


def test_the_largest_of_either_sign_are_shown_and_the_rest_is_summed():
    display = ExplanationDisplay.from_explanation(TABLES["60 features"], n_features=5)
    shown = np.argsort(-np.abs(RANDOM))[:5]
    assert set(names_of(display)) == {f"x{j}" for j in shown} | {"55 other features"}
    assert names_of(display)[-1] == "55 other features"
    np.testing.assert_allclose(sum(widths_of(display)), RANDOM.sum())


def test_features_without_a_share_are_not_listed_unless_there_is_only_one():
    display = ExplanationDisplay.from_explanation(TABLES["one of 60"])
    assert names_of(display) == ["x30", "59 other features"]
    display = ExplanationDisplay.from_explanation(explanation([2.0, 0.0]))
    assert names_of(display) == ["x0", "x1"]


def test_scores_values_and_equations_are_written():
    explained = explanation([3.0, 0.0])
    written = {text.get_text() for text in texts_of(ExplanationDisplay.from_explanation(explained))}
    value, other = explained.sample
    assert "Score 4.5, 1.5 with the suggested fix" in written
    assert {f"{value:.4g} → {value + 1:.4g}", f"{other:.4g}".replace("-", "−")} <= written
    line = "whole, degree 2: 8 times as far off as usual"
    assert "\n".join(["Broken equations:", line, line, line]) in written


def test_values_are_written_with_the_digits_that_tell_them_apart():
    explained = Explanation(
        sample=np.array([1013.25]),
        counterfactual=np.array([1013.31]),
        score=2.0,
        counterfactual_score=1.0,
        attribution=np.array([1.0]),
        equations=(),
        feature_names=("pressure",),
    )
    written = [text.get_text() for text in texts_of(ExplanationDisplay(explained).plot())]
    assert "1013.25 → 1013.31" in written


def test_a_typical_sample_has_no_bars():
    display = ExplanationDisplay.from_explanation(TABLES["typical"])
    assert not display.axes_[0].patches
    title, message = sorted((text.get_text() for text in texts_of(display)), key=len)
    assert title == "Score 1.5"
    assert message.startswith("A typical sample")


@pytest.mark.parametrize("name", TABLES)
def test_everything_written_is_on_the_picture_and_apart(name):
    display = ExplanationDisplay.from_explanation(TABLES[name])
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in texts_of(display)]
    whole = display.figure_.bbox
    for i, box in enumerate(boxes):
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_long_names_lose_their_middle():
    assert shorten_name("speed") == "speed"
    short = [shorten_name(name) for name in LONG]
    assert {len(name) for name in short} == {32}
    assert len(set(short)) == len(LONG)


def test_names_stay_different():
    display = ExplanationDisplay.from_explanation(TABLES["one large"])
    assert names_of(display) == ["…ash…", "…hue…", "…Na…", "…K…"]


def test_drawing_into_axes():
    figure, axes = plt.subplots(2)
    display = ExplanationDisplay.from_explanation(TABLES["both signs"], ax=axes[1])
    assert display.figure_ is figure
    assert list(display.axes_) == [axes[1]]
    assert not axes[0].patches


# --- images ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("image_shape", [(4, 3), (4, 3, 1), (2, 2, 3)])
def test_image_suggested_fix_and_attribution(image_shape):
    explained = explanation(RANDOM[:12])
    display = ExplanationDisplay.from_explanation(explained, image_shape=image_shape)
    sample, fix, heat = display.axes_
    drawn = sample.images[0].get_array()
    assert drawn.shape == tuple(size for size in image_shape if size > 1)
    assert (drawn.min(), drawn.max()) == (0, 1)
    assert not np.array_equal(fix.images[0].get_array(), drawn)
    heat = heat.images[-1]
    summed = explained.attribution.reshape(*image_shape[:2], -1).sum(axis=2)
    np.testing.assert_allclose(heat.get_array(), summed)
    assert (heat.norm.vmin, heat.norm.vmax) == (-np.abs(summed).max(), np.abs(summed).max())
    titles = [panel.get_title() for panel in display.axes_]
    expected = f"score {explained.score:.3g}".replace("-", "−")
    assert titles == [expected, "suggested fix: score 1.5", "what each pixel adds"]


def test_a_typical_image_has_no_heat_and_no_scale():
    display = ExplanationDisplay.from_explanation(TABLES["typical"], image_shape=(2, 2))
    assert [len(panel.images) for panel in display.axes_] == [1, 1, 1]
    assert len(display.figure_.axes) == 3


def test_a_blank_image():
    blank = explanation(np.zeros(4))
    blank.sample[:] = blank.counterfactual[:] = 0.0
    assert ExplanationDisplay.from_explanation(blank, image_shape=(2, 2)).axes_.shape == (3,)


def test_no_attribution_is_white():
    np.testing.assert_allclose(diverging_colors()(0.5)[:3], 1.0, atol=0.01)


def test_drawing_an_image_into_axes():
    figure, axes = plt.subplots(1, 3)
    explained = explanation([1.0, 2.0, 3.0, -1.0])
    display = ExplanationDisplay.from_explanation(explained, image_shape=(2, 2), ax=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes)


# --- from a detector ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    speed, force = rng.uniform(1, 2, (2, 300))
    return pd.DataFrame({"speed": speed, "force": force, "power": speed * force})


def test_explains_one_sample_in_any_form(table):
    detector = VanishingDetector().fit(table)
    row = pd.DataFrame([[1.2, 1.5, 3.5]], columns=table.columns)
    for x in (row, row.iloc[0]):
        display = ExplanationDisplay.from_estimator(detector, x, n_equations=2)
        assert "power" in names_of(display)
        assert len(display.explanation.equations) == 2
    detector = VanishingDetector().fit(table.to_numpy())
    for x in ([1.2, 1.5, 3.5], row.to_numpy(), row.to_numpy()[0]):
        assert "x2" in names_of(ExplanationDisplay.from_estimator(detector, x))


def test_refuses_what_is_not_one_sample_of_a_detector(table):
    detector = VanishingDetector().fit(table)
    with pytest.raises(ValueError, match=r"one sample, got 300; pass X\[\[i\]\]"):
        ExplanationDisplay.from_estimator(detector, table)
    with pytest.raises(TypeError, match="got IsolationForest"):
        ExplanationDisplay.from_estimator(IsolationForest(), table.iloc[[0]])


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"image_shape": (3, 3)}, r"\(3, 3\) has 9 values, the sample has 12 features"),
        ({"image_shape": (3, 2, 2)}, "with 1 or 3 channels"),
        ({"image_shape": 12}, r"must be \(height, width\)"),
        ({"image_shape": (-4, -3)}, r"must be \(height, width\)"),
        ({"image_shape": (3, 4), "ax": object()}, "three Axes"),
        ({"ax": [object(), object()]}, "one Axes for a table"),
        ({"n_features": 0}, "at least 1, got 0"),
    ],
)
def test_errors_say_what_was_expected(parameters, message):
    with pytest.raises(ValueError, match=message):
        ExplanationDisplay.from_explanation(explanation(RANDOM[:12]), **parameters)


@pytest.mark.programs
def test_matplotlib_is_needed_for_drawing_only(monkeypatch, table):
    code = "import sys, vanishing.plotting; sys.exit('matplotlib' in sys.modules)"
    assert run_python(code).returncode == 0
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = ExplanationDisplay(TABLES["both signs"])
    with pytest.raises(ImportError, match=r"plot needs matplotlib: .*vanishing\[plot\]"):
        display.plot()
    with pytest.raises(ImportError, match=r"from_estimator needs .*vanishing\[plot\]"):
        ExplanationDisplay.from_estimator(VanishingDetector(), table)
