"""Units in headers and in a row below them: read, and never a reason to drop a column."""

import numpy as np
import pandas as pd
import pytest

from vanishing import discover
from vanishing.data import read_table
from vanishing.data.units import measure_unit, read_unit


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("km/h", "m s⁻¹"), ("kW", "J/s"), ("kWh", "N·m"), ("W/(m²*K)", "kg/s3/K"), ("°C", "°F"),
        ("hPa", "bar"), ("EUR/kWh", "EUR/J"), ("%", "1"), ("mol/L", "mol m-3"), ("min", "d"),
    ],
)  # fmt: skip
def test_units_that_measure_the_same(text, same):
    assert measure_unit(text) == measure_unit(same) is not None


@pytest.mark.parametrize(("text", "other"), [("m", "s"), ("m", "m2"), ("USD", "EUR"), ("N", "J")])
def test_units_that_measure_something_else(text, other):
    assert measure_unit(text) != measure_unit(other)


@pytest.mark.parametrize("text", ["", "items", "J/kg K", "(", "m/", "x²", "/", "^2"])
def test_texts_that_are_no_units(text):
    assert measure_unit(text) is None


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("speed [m/s]", "m/s"), ("power (kW)", "kW"), ("temp °C", "°C"), ("amount, EUR", "EUR"),
        ("share (%)", "%"), ("speed", ""), ("group (b)", ""), ("f(x)", ""), ("", ""),
        ("I / mA", "mA"), ("R/Ω", "Ω"), ("p_1/kPa", "kPa"), ("v / (m/s)", "m/s"),
        ("km/h", ""), ("requests/s", ""), ("y/x", ""), ("I / mA / 2", ""),
    ],
)  # fmt: skip
def test_units_of_headers(header, unit):
    assert read_unit(header) == unit


def make_trips(n_rows=60):
    rng = np.random.default_rng(0)
    distance, time = rng.uniform(1, 9, (2, n_rows)).round(2)
    return pd.DataFrame({"distance": distance, "time": time, "speed": distance / time})


def test_a_row_of_units_is_not_a_row_of_the_table(tmp_path):
    trips = make_trips()
    path = tmp_path / "trips.csv"
    units = {"distance": "km", "time": "h", "speed": "km/h"}
    pd.concat([pd.DataFrame([units]), trips.astype(object)]).to_csv(path, index=False)
    table = read_table(path)
    assert table.units == units
    assert not table.strays
    np.testing.assert_allclose(table.values, trips)
    assert table.rows[0] == 2
    laws = discover(path)
    assert [str(law) for law in laws] == ["distance = time*speed"]
    assert laws.column_units == ("km", "h", "km/h")
    assert "row 1 holds units" in str(laws)
    assert not laws.check(path).broken.any()


def test_typos_in_the_first_row_are_no_units(tmp_path):
    path = tmp_path / "trips.csv"
    lines = make_trips().to_csv(index=False).splitlines()
    path.write_text("\n".join([lines[0], "km,two,x", *lines[1:]]))
    table = read_table(path)
    assert not table.units
    assert len(table) == len(lines)


def test_terms_that_measure_different_things_pay_for_it():
    trips = make_trips()
    names = {"distance": "distance [m]", "time": "time [s]", "speed": "speed [m/s]"}
    right, wrong = names, names | {"speed": "speed [kg]"}
    (first,), (second,) = (discover(trips.rename(columns=each)) for each in (right, wrong))
    assert first.bits - second.bits == pytest.approx(10)
