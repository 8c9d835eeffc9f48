"""Values and what they are mended to, as terminals, pages and pictures write them."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.equations.text import as_given, changed_number
from vanishing.explain import Explanation


def explanation(sample, reference, spread=None):
    sample, reference = (np.array(each, dtype=float) for each in (sample, reference))
    return Explanation(
        sample=sample,
        counterfactual=reference,
        score=2.0,
        counterfactual_score=1.0,
        attribution=np.full(len(sample), 1.0 / len(sample)),
        equations=(),
        feature_names=tuple(f"x{j}" for j in range(len(sample))),
        spread=None if spread is None else np.array(spread, dtype=float),
    )


@pytest.mark.parametrize(
    ("value", "mended", "written"),
    [
        (113094, 112873.41827, ("113094", "112873")),
        (24800, 24790.3, ("24800", "24790")),
        (24800, 24799.63, ("24800", "24799.63")),
        (113094, 113093.5, ("113094", "113093.5")),
        (1013.25, 1013.31, ("1013.25", "1013.31")),
        (0.5, -0.25, ("0.5", "−0.25")),
        (1700000000.0, 1700000123.4567, ("1700000000", "1700000123")),
        (1e-7, 3.14159265e-7, ("1e−07", "3.142e−07")),
        (1e300, 1.2345678e299, ("1e+300", "1.235e+299")),
        (1 / 3, 2 / 3, ("0.3333", "0.6667")),
        (0.0, 1e-5, ("0", "1e−05")),
        (3.0, 0.0, ("3", "0")),
        (-1e308, 1e308, ("−1e+308", "1e+308")),
    ],
)
def test_values_are_as_in_the_data_and_changes_are_seen(value, mended, written):
    assert changed_number(value, mended) == written


def number_in(text):
    return float(text.replace("−", "-"))


@given(
    st.floats(-1e12, 1e12, allow_subnormal=False),
    st.floats(-1e12, 1e12, allow_subnormal=False),
)
def test_what_is_written_shows_the_change(value, mended):
    before, after = map(number_in, changed_number(value, mended))
    change = mended - value
    assert abs((after - before) - change) <= 0.1 * abs(change) + 1e-15 * (abs(value) + abs(mended))
    assert (before == after) == (value == mended)


@given(st.integers(-(10**9), 10**9), st.integers(0, 4))
def test_short_numbers_are_written_as_they_are(whole, decimals):
    if len(str(abs(whole)).strip("0")) > 9:
        return
    value = whole / 10**decimals
    assert number_in(as_given(value)) == value


def test_rounding_is_no_change():
    same = explanation([113094, 1.0], [113094 * (1 + 4e-16), 2.0])
    assert same.format_change(0) == "113094"
    assert same.format_values(0) == ("113094", "unchanged")
    assert same.format_values(1) == ("1", "2")


def test_what_the_search_leaves_is_no_change():
    sample, reference = [113094, 24800, 3.0], [113094.0000001, 24795, 4.0]
    found = explanation(sample, reference, [1e4, 1e2, 0.5])
    assert found.changed.tolist() == [False, True, True]
    assert [found.format_change(j) for j in range(3)] == ["113094", "24800 → 24795", "3 → 4"]
    # Small changes count where all of them are small, and in columns that were constant.
    assert explanation([5.0], [5.0000001], [10.0]).changed.all()
    assert explanation([5.0, 3.0], [5.0000001, 9.0], [0.0, 1.0]).changed.all()


def test_numbers_at_the_end_of_the_range_make_no_noise():
    with np.errstate(all="raise"):
        found = explanation([1e308, 0.0], [-1e308, 0.0], [1.0, 1.0])
        assert found.format_change(0) == "1e+308 → −1e+308"
        assert found.changed.tolist() == [True, False]


@pytest.fixture(scope="module")
def readings():
    rng = np.random.default_rng(0)
    counter = rng.integers(100000, 120000, 300).astype(float)
    gain = rng.integers(2, 9, 300).astype(float)
    return pd.DataFrame({"counter": counter, "gain": gain, "total": 3 * counter + gain})


def test_text_and_pages_agree(readings):
    detector = VanishingDetector(VanishingIdeal(max_degree=1, tol=1e-3)).fit(readings)
    odd = pd.DataFrame([[113094.0, 4.0, 339290.0]], columns=readings.columns)
    (why,) = detector.explain(odd)
    j = int(np.argmax(why.attribution))
    before, after = why.format_values(j)
    assert before == as_given(float(odd.iloc[0, j]))
    assert f"{before} instead of {after}".replace("−", "-") in str(why)
    assert f"{before} → {after}" in why._repr_html_()
    assert "e+0" not in str(why).splitlines()[1]


def test_terminal_and_json_agree(readings, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from vanishing.app.cli.commands import make_app

    monkeypatch.chdir(tmp_path)
    readings.to_csv("normal.csv", index=False)
    odd = readings.iloc[:5].copy()
    odd.loc[2, "total"] += 40
    odd.to_csv("new.csv", index=False)
    options = ["new.csv", "--train", "normal.csv", "--degree", "1", "--tol", "0.001", "--row", "3"]
    text = CliRunner().invoke(make_app(), ["explain", *options]).stdout
    record = json.loads(CliRunner().invoke(make_app(), ["explain", *options, "--json"]).stdout)
    for each in record["rows"][0]["features"]:
        (value, mended) = re.search(rf"{each['name']} +(\S+) +(\S+)", text).groups()
        assert float(value) == each["value"]
        assert (mended != "unchanged") == each["changed"]
    assert "unchanged" in text


def alarm(readings):
    """A detector, and rows that it has to explain."""
    detector = VanishingDetector(VanishingIdeal(max_degree=1, tol=1e-3)).fit(readings)
    rows = [[113094.0, 4.0, 339290.0], [113094.0, 4.0, 339286.0], [110000.0, 3.0, 3.0]]
    return detector, pd.DataFrame(rows, columns=readings.columns)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_rows_of_frames_keep_their_names(readings):
    detector, broken = alarm(readings)
    named = broken.set_axis([f"pump {i}" for i in range(len(broken))], axis=0)
    explained = detector.explain(named)
    assert [each.row for each in explained] == list(named.index)
    for each, plain in zip(explained, detector.explain(broken.to_numpy()), strict=True):
        assert plain.row is None
        assert str(each) == f"row {each.row}: {plain}"
        assert repr(each).startswith(f"Explanation(row={each.row!r}, score=")
        assert f"Row {each.row}: score" in each._repr_html_()


def test_an_explanation_as_a_frame(readings):
    detector, broken = alarm(readings)
    (explained,) = detector.explain(broken[:1])
    frame = explained.to_frame()
    assert set(frame.index) == set(broken.columns)
    assert frame["attribution"].is_monotonic_decreasing
    np.testing.assert_array_equal(frame["value"], broken.iloc[0][frame.index])
    assert frame["attribution"].sum() == pytest.approx(
        explained.score - explained.counterfactual_score
    )
    changed = frame["fix"] != frame["value"]
    assert set(frame.index[changed]) == set(broken.columns[explained.changed])
