"""Columns of very different scales: what is printed of an equation is what holds."""

import json
import re

import numpy as np
import pytest
from tests.support.command_line import write_csv

import vanishing
from vanishing import VanishingIdeal
from vanishing.app.cli.describe import equation_texts
from vanishing.equations.sizes import DataScale, terms_that_count
from vanishing.polynomials.monomials import monomials

NAMES = ["temperature", "pressure", "volume", "amount"]
FAULTS = [31, 90, 212, 333]


def gas(n_rows, *, seed):
    """Kelvin, kPa, m³ and mol of a gas with pV = nRT, up to one percent."""
    rng = np.random.default_rng(seed)
    temperature, volume = rng.uniform(280, 360, n_rows), rng.uniform(0.5, 2, n_rows)
    amount = rng.uniform(10, 60, n_rows)
    pressure = 0.008314 * amount * temperature / volume * (1 + 0.01 * rng.normal(size=n_rows))
    return np.column_stack([temperature, pressure, volume, amount])


def value_of(text, rows):
    """Evaluate the left side of a printed equation."""
    left, _, right = text.partition(" = ")
    assert right.startswith("0")
    values = np.zeros(len(rows))
    for sign, term in re.findall(r"(^-?|[+-] )([^ ].*?)(?= [+-] |$)", left):
        product = np.full(len(rows), -1.0 if sign.startswith("-") else 1.0)
        for factor in term.split():
            name = factor.rstrip("²")
            if name in NAMES:
                product *= rows[:, NAMES.index(name)] ** (2 if factor.endswith("²") else 1)
            else:
                product *= float(factor)
        values += product
    return values


def off_by(text, rows):
    return float(np.sqrt(np.mean(value_of(text, rows) ** 2)))


@pytest.fixture
def plant(tmp_path):
    normal, new = gas(500, seed=0), gas(400, seed=1)
    new[FAULTS, 1] *= 1.2
    write_csv(tmp_path / "normal.csv", NAMES, normal)
    write_csv(tmp_path / "new.csv", NAMES, new)
    return normal


def test_printed_equation_has_the_extent_that_is_claimed(call, plant):
    done = call("fit", "normal.csv", "--degree", "2", "--tol", "0.02", "--save", "m.safetensors")
    text, off = re.search(r"  (.*)   \(off by (.*) % of the spread\)", done.out).groups()
    spreads = plant.std(axis=0)
    steps = 1e-6 * np.diag(spreads)
    slopes = [
        (value_of(text, plant + step) - value_of(text, plant - step)) / 2e-6 for step in steps
    ]
    distance = off_by(text, plant) / np.sqrt(np.mean(np.sum(np.square(slopes), axis=0)))
    assert 100 * distance == pytest.approx(float(off), rel=0.05)
    assert float(off) < 2  # in the scale of --tol
    assert set(re.findall("[a-z]+", text)) == set(NAMES)
    assert text.count(" + ") + text.count(" - ") == 1  # pV and nT, and nothing else

    (line,) = re.findall(r"g2_0: (.*)", call("show", "m.safetensors", "--terms", "0").out)
    text, extent = re.match(r"(.*)   \(extent (.*)\)", line).groups()
    assert off_by(text, plant) == pytest.approx(float(extent), rel=0.1)
    shown = json.loads(call("show", "m.safetensors", "--json").out)["equations"][0]
    assert off_by(shown["text"], plant) == pytest.approx(shown["extent"], rel=0.1)


def test_terms_that_count_most_are_shown_first(call, plant):
    ideal = VanishingIdeal(max_degree=2, tol=0.02).fit(plant)
    (text,) = equation_texts(ideal, NAMES, terms=2)
    assert "temperature amount" in text
    assert "pressure volume" in text
    (one_less,) = equation_texts(ideal, NAMES, terms=13)
    assert one_less.endswith("+ (1 smaller term) = 0")


def test_explanation_names_the_law(call, plant, tmp_path):
    done = call("detect", "new.csv", "--train", "normal.csv", "--degree", "2", "--tol", "0.02",
                "--save", "d.safetensors")  # fmt: skip
    assert done.code == 0, done.err
    row = FAULTS[0] + 1
    for arguments in (["--model", "d.safetensors"],
                      ["--train", "normal.csv", "--degree", "2", "--tol", "0.02"]):  # fmt: skip
        text = call("explain", "new.csv", *arguments, "--row", row).out
        (law,) = re.findall("rounded and scaled: (.*)", text)
        assert "temperature amount" in law
        assert "pressure volume" in law
    few = write_csv(tmp_path / "few.csv", NAMES, gas(3, seed=2) * [1, 1.3, 1, 1])
    text = call("explain", few, "--model", "d.safetensors", "--row", 1).out
    assert "rounded" not in text
    assert "temperature amount" in text


@pytest.mark.parametrize(
    "normalization", ["contrastive", "gradient", "gradient-weighted", "coefficient", "vca"]
)
@pytest.mark.parametrize("tol", [0.0, 0.3])
def test_sizes_are_those_of_the_data(normalization, tol):
    points = gas(400, seed=3)
    contrast = points + np.random.default_rng(0).normal(size=points.shape) * points.std(axis=0)
    ideal = VanishingIdeal(max_degree=2, tol=tol, normalization=normalization)
    ideal.fit(points, contrast=contrast if normalization == "contrastive" else None)
    sizes = DataScale.of(ideal.basis_, ideal).sizes(len(ideal.basis_.blocks))
    values = monomials(4, len(ideal.basis_.blocks)).values(points.T.copy())
    assert np.allclose(sizes, np.sqrt(np.mean(values**2, axis=1)), rtol=0.3)


def test_nothing_is_left_out_where_sizes_are_not_known():
    points = gas(100, seed=4)
    ideal = VanishingIdeal(max_degree=2, tol=0.5, max_nonvanishing=2).fit(points)
    assert ideal.trace_[0].cut
    assert not DataScale.of(ideal.basis_, ideal).is_complete
    coefficients = np.array([3.0, 0.0, 1e-12, 5.0])
    for sizes in (None, np.ones(4)):
        kept, _ = terms_that_count(coefficients, sizes, span=1.0, extent=1.0, is_complete=False)
        assert kept.tolist() == [3, 2, 0]


def test_saved_model_has_the_sizes(tmp_path):
    ideal = VanishingIdeal(max_degree=2, tol=0.02).fit(gas(100, seed=5))
    ideal.save(tmp_path / "m.safetensors")
    again = vanishing.load(tmp_path / "m.safetensors")
    of_both = [DataScale.of(each.basis_, each) for each in (ideal, again)]
    assert all(each.is_complete for each in of_both)
    assert np.array_equal(*(each.points for each in of_both))


@pytest.mark.parametrize("command", [["fit", "normal.csv"], ["detect", "normal.csv"]])
def test_without_equations_a_tolerance_is_suggested(call, plant, command):
    done = call(*command, "--degree", "1", "--tol", "0.02")
    (said,) = re.findall(r"no equation holds up to --tol 0\.02;.*", done.out + done.err)
    reached, suggested = re.search(
        "reaches (.*): try --tol (.*) or a larger --degree", said
    ).groups()
    assert float(reached) < float(suggested)
    assert call(*command, "--degree", "1", "--tol", suggested).code == 0


def test_misspelt_names_are_noticed(call, plant, tmp_path):
    text = (tmp_path / "normal.csv").read_text().splitlines()
    lines = ["time," + text[0], *(f"{8 + i % 10}:00,{line}" for i, line in enumerate(text[1:]))]
    (tmp_path / "timed.csv").write_text("\n".join(lines) + "\n")
    done = call("detect", "timed.csv", "--train", "timed.csv", "--drop", "tyme")
    assert "timed.csv has no column 'tyme' to leave out" in done.err
    assert "column 'time' is left out (text, '8:00' in row 1)" in done.err
    done = call("detect", "timed.csv", "--drop", "tyme")
    assert done.code == 3
    assert "has no column 'tyme'; it has the columns 'time', 'temperature'" in done.err


@pytest.mark.parametrize(
    "command",
    [["detect", "no.csv", "--train", "normal.csv"], ["fit", "normal.csv", "--contrast", "no.csv"]],
)
def test_missing_files_are_noticed_before_others_are_read(call, plant, command, monkeypatch):
    monkeypatch.setattr("vanishing.app.cli.tables.open_table", None)
    done = call(*command)
    assert done.code == 3
    assert "there is no file no.csv" in done.err
