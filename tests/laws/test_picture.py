"""Pictures of laws: all rows in sight, broken ones marked and named, words beside the points."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.text import Text

from vanishing import discover
from vanishing.style import LESS, MORE


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def gas(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    T, V, n = rng.uniform([[280], [0.5], [10]], [[360], [2], [60]], (3, n_rows))
    p = 0.008314 * n * T / V * (1 + 0.01 * rng.normal(size=n_rows))
    return pd.DataFrame({"T": T, "p": p, "V": V, "n": n})


def ledger(n_rows, n_laws=1, seed=0):
    """Sums of amounts, without noise."""
    rng, columns = np.random.default_rng(seed), {}
    for k in range(n_laws):
        net, tax = rng.lognormal(3, 1, (2, n_rows)).round(2)
        columns |= {f"net {k}": net, f"tax {k}": tax, f"gross {k}": (net + tax).round(2)}
    return pd.DataFrame(columns)


def points_of(ax, color):
    """Return the points of one colour that the axes show."""
    drawn = [
        each for each in ax.collections if len(each.get_offsets()) and len(each.get_facecolor())
    ]
    chosen = [
        each.get_offsets() for each in drawn if to_hex(each.get_facecolor()[0]) == color.lower()
    ]
    return np.concatenate(chosen) if chosen else np.empty((0, 2))


def test_a_law_of_measurements_with_broken_rows():
    table = gas()
    laws = discover(table)
    table.loc[7, "p"] *= 1.5
    table.loc[20, "n"] *= 30
    axes = laws.plot(table)
    assert axes.shape == (1, 2)
    upper, lower = axes[0]
    broken = laws.check(table).broken
    assert broken[[7, 20]].all()
    for ax in (upper, lower):
        assert len(points_of(ax, MORE)) == broken.sum()
        assert len(points_of(ax, LESS)) == (~broken).sum()
        for color in (LESS, MORE):  # none is cut off
            x, y = points_of(ax, color).T
            (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
            assert ((x >= left) & (x <= right) & (y >= low) & (y <= high)).all()
    words = [each.get_text() for each in upper.texts]
    assert {"row 7", "row 20"} <= set(words)
    assert upper.get_title(loc="left").replace("\n", " ") == laws[0].with_errors


@pytest.mark.parametrize("n_laws", [1, 2, 5, 12])
def test_words_are_over_no_point_and_inside_of_the_figure(n_laws):
    table = ledger(60, n_laws)
    laws = discover(table, max_degree=1)
    assert len(laws) == n_laws
    table.iloc[[3, 4, 5, 6, 30], 2] += [500, 501, 502, 80, 9]
    axes = laws.plot(table)
    figure = axes[0, 0].figure
    figure.canvas.draw()
    frame = figure.bbox
    for upper, lower in axes:
        spots = [
            ax.transData.transform(points_of(ax, color))
            for ax in (upper, lower)
            for color in (LESS, MORE)
        ]
        spots = np.concatenate(spots)
        texts = [
            *upper.texts,
            *lower.texts,
            upper.yaxis.label,
            lower.xaxis.label,
            lower.yaxis.label,
        ]
        boxes = [Text.get_window_extent(each) for each in texts]  # without the lines to points
        for box in boxes:
            assert frame.x0 <= box.x0 < box.x1 <= frame.x1
            assert box.y1 <= frame.y1
            inside = (spots > [box.x0, box.y0]) & (spots < [box.x1, box.y1])
            assert not inside.all(axis=1).any()
    names = [each.get_text() for each in axes[0, 0].texts if each.get_text().startswith("row")]
    assert sorted(names) == ["row 3", "row 30", "row 4", "row 5", "row 6"]


def test_long_names_are_not_cut_off():
    rng = np.random.default_rng(0)
    july, cars = rng.uniform(1e-9, 5e-9, 60), rng.uniform(1e12, 9e12, 60)
    names = ["mean temperature in July (°C)", "number of all cars that were counted", "product"]
    table = pd.DataFrame(dict(zip(names, (july, cars, july * cars), strict=True)))
    laws = discover(table)
    table.index = [f"station {k} at the very long river" for k in range(60)]
    table.iloc[5, 2] *= 2
    figure = laws.plot(table)[0, 0].figure
    figure.canvas.draw()
    for text in figure.findobj(lambda each: isinstance(each, Text) and each.get_text()):
        box = Text.get_window_extent(text)
        is_tick = "e" not in text.get_text() and text.get_text().replace("\u2212", "").isdigit()
        assert is_tick or (box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1), text.get_text()


def test_lines_of_a_title_end_between_terms():
    frame = ledger(60).set_axis(["net of tax (EUR)", "tax (EUR)", "gross amount (EUR)"], axis=1)
    upper, _ = discover(frame).plot(frame)[0]
    lines = upper.get_title(loc="left").splitlines()
    assert len(lines) > 1
    assert all(line.count("[") == line.count("]") for line in lines)


def test_the_most_of_many_laws_are_drawn_and_it_is_said():
    laws = discover(ledger(60, 14), max_degree=1)
    assert len(laws) == 14
    axes = laws.plot(ledger(60, 14))
    assert axes.shape == (12, 2)
    assert "The first 12 are drawn." in axes[0, 0].figure.get_suptitle().replace("\n", " ")


def test_of_many_rows_all_broken_ones_are_drawn():
    table = ledger(100_000)
    laws = discover(table[:500])
    places = np.arange(17, 100_000, 20_000)
    table.loc[places, "gross 0"] += 1000
    upper, _ = laws.plot(table)[0]
    assert len(points_of(upper, MORE)) == len(places)
    assert 500 < len(points_of(upper, LESS)) <= 1000


@pytest.mark.parametrize("name", ["x^2 + y^2 = 1", "period", "a + b"])
def test_each_law_has_a_side_that_varies(name):
    """A constant side would be a single point, and a law of products is one of a column."""
    rng = np.random.default_rng(0)
    angle, d = rng.uniform(0, 6.28, 200), rng.uniform(1, 400, 200)
    a, b, c = rng.integers(1, 500, (3, 200)).astype(float)
    tables = {
        "x^2 + y^2 = 1": {"x": np.cos(angle), "y": np.sin(angle)},
        "period": {"distance": d, "period": 365.25 * d**1.5 * (1 + 0.001 * rng.normal(size=200))},
        "a + b": {"a": a, "b": b, "c": c, "d": a + b - c},
    }
    laws = discover(pd.DataFrame(tables[name]))
    assert len(laws) == 1
    found = laws[0].predict(pd.DataFrame(tables[name]).to_numpy())
    assert np.std(found.measured) > 0
    np.testing.assert_allclose(found.measured, found.predicted, rtol=0.01)
    laws.plot(pd.DataFrame(tables[name]))[0, 0].figure.canvas.draw()


def test_rows_without_a_cell_are_counted():
    table = ledger(50)
    laws = discover(table)
    table.loc[3, "net 0"] = np.nan
    upper, _ = laws.plot(table)[0]
    assert len(points_of(upper, LESS)) == 49
    assert "1 lacks cells" in upper.texts[-1].get_text()


def test_axes_of_the_user_and_no_law():
    laws = discover(ledger(50))
    _, axes = plt.subplots(1, 2)
    assert laws.plot(ledger(50), axes=[axes])[0, 1] is axes[1]
    with pytest.raises(ValueError, match=r"axes must have the shape \(1, 2\)"):
        laws.plot(ledger(50), axes=axes)
    none = discover(np.random.default_rng(0).normal(size=(60, 2)))
    assert none.plot(np.ones((2, 2))).shape == (0, 2)


def test_names_with_dollars_are_as_they_are():
    X = np.random.default_rng(0).uniform(1, 5, (60, 1)) * [1.0, 2.0]
    laws = discover(X, ["price ${", "cost ${"])
    upper, _ = laws.plot(X)[0]
    upper.figure.canvas.draw()
    assert upper.get_title(loc="left").replace("\u00a0", " ") == str(laws[0])


def test_on_dark_paper_the_ink_is_light():
    with plt.style.context("dark_background"):
        upper, _ = discover(ledger(50)).plot(ledger(50))[0]
    brightness = int(to_hex(upper.title.get_color())[1:3], 16)
    label = int(to_hex(upper.yaxis.label.get_color())[1:3], 16)
    assert min(label, brightness) > 128


def test_a_law_under_a_condition_is_drawn_on_its_rows():
    """Rows of other countries stood there as broken."""
    rng = np.random.default_rng(0)
    country = rng.choice(["DE", "FR"], 100)
    net = rng.lognormal(5, 1, 100).round(2)
    tax = np.round(net * np.where(country == "DE", 0.19, 0.2), 2)
    frame = pd.DataFrame({"country": country, "net": net, "tax": tax})
    laws = discover(frame)
    assert len(laws) == 2
    for law, (upper, _) in zip(laws, laws.plot(frame), strict=True):
        assert len(points_of(upper, MORE)) == 0
        assert len(points_of(upper, LESS)) == (country == law.where.values[0]).sum()


def test_titles_are_broken_between_words():
    rng = np.random.default_rng(0)
    flow, drop = rng.uniform(1, 30, (2, 200))
    names = [
        "Volumetric flow rate of coolant, primary loop [m3/h]",
        "Temperature difference between inlet and outlet [K]",
        "Thermal power transferred to secondary circuit [kW]",
    ]
    heat = 1.163 * flow * drop * (1 + 0.01 * rng.normal(size=200))
    table = pd.DataFrame(dict(zip(names, (flow, drop, heat), strict=True)))
    laws = discover(table)
    lines = laws.plot(table)[0, 0].get_title(loc="left").split("\n")
    assert len(lines) > 2
    assert " ".join(lines) == laws[0].with_errors


def test_a_plot_without_a_law_says_so():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 3)), columns=["a", "b", "c"])
    axes = discover(table).plot(table)
    assert axes.shape == (0, 2)
    words = [each.get_text() for each in plt.gcf().findobj(Text)]
    assert any("there is no law" in each for each in words)


def test_the_axis_of_a_law_of_zeros_is_one_that_can_be_read():
    rng = np.random.default_rng(0)
    countries = rng.choice(["DE", "CH"], 120)
    net = rng.lognormal(5, 1, 120).round(2)
    tax = np.where(countries == "DE", 0.19 * net, 0.0).round(2)
    table = pd.DataFrame({"net": net, "tax": tax, "country": countries})
    laws = discover(table)
    which = [k for k, law in enumerate(laws) if str(law).startswith("tax = 0 ")]
    lower = np.ravel(laws.plot(table, which=which))[1]
    assert np.ptp(lower.get_ylim()) > 1e-3
