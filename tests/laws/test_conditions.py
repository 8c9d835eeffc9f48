"""Laws that hold under a condition, and laws of few numbers."""

import numpy as np
import pandas as pd
import pytest

import vanishing
from vanishing import discover

RATES = {"DE": 0.19, "FR": 0.07, "CH": 0.0}


@pytest.fixture
def invoices():
    """Invoices with three rates of tax; that of row 1 is wrong."""
    rng = np.random.default_rng(0)
    net = np.round(rng.lognormal(5, 1, 120), 2)
    country = rng.choice(list(RATES), 120, p=[0.5, 0.3, 0.2])
    country[1] = "FR"
    tax = np.round(net * [RATES[each] for each in country], 2)
    tax[1] = round(net[1] * 0.16, 2)
    return pd.DataFrame({"net": net, "tax": tax, "country": country})


def test_each_country_has_its_rate(invoices):
    assert {str(law) for law in discover(invoices)} == {
        "tax = 0.19*net where country = DE",
        "tax = 0.07*net where country = FR",
        "tax = 0 where country = CH",
    }


def test_the_invoice_with_the_wrong_rate_is_broken(invoices):
    checked = discover(invoices).check(invoices)
    assert np.flatnonzero(checked.broken).tolist() == [1]
    fixes = (*checked[0].fixes, *checked[0].alternatives)
    assert {fix.column for fix in fixes} == {"net", "tax"}


def test_a_rate_of_another_country_is_broken(invoices):
    laws = discover(invoices)
    row = pd.DataFrame({"net": [100.0], "tax": [7.0], "country": ["DE"]})
    assert laws.check(row).broken.all()
    assert not laws.check(row.assign(country="FR")).broken.any()


def test_few_numbers_without_a_category(invoices):
    laws = discover(invoices[["net", "tax"]])
    assert [str(law) for law in laws] == ["tax/net is 0, 0.07 or 0.19"]
    assert np.flatnonzero(laws.check(invoices).broken).tolist() == [1]


def test_a_law_that_changed_at_a_date():
    rng = np.random.default_rng(1)
    days = np.datetime64("2021-01-01") + np.arange(150)
    net = np.round(rng.lognormal(5, 1, 150), 2)
    tax = np.round(net * np.where(days < np.datetime64("2021-04-12"), 0.16, 0.19), 2)
    frame = pd.DataFrame({"day": days, "net": net, "tax": tax})
    assert {str(law) for law in discover(frame)} == {
        "tax = 0.16*net where day <= 2021-04-11",
        "tax = 0.19*net where day >= 2021-04-12",
    }


def test_categories_without_meaning_give_nothing(invoices):
    rng = np.random.default_rng(2)
    shuffled = invoices.assign(tax=np.round(rng.lognormal(3, 1, len(invoices)), 2))
    assert len(discover(shuffled)) == 0


def test_conditions_are_saved(invoices, tmp_path):
    for frame in (invoices, invoices[["net", "tax"]]):
        laws = discover(frame)
        laws.save(tmp_path / "laws")
        again = vanishing.load(tmp_path / "laws")
        assert [str(law) for law in again] == [str(law) for law in laws]
        assert (again.check(frame).broken == laws.check(frame).broken).all()


def test_the_column_of_a_condition_must_be_there(invoices):
    with pytest.raises(ValueError, match="lacks 'country'"):
        discover(invoices).check(invoices[["net", "tax"]])


def test_a_file_gives_the_same_laws(invoices, tmp_path):
    path = tmp_path / "invoices.csv"
    invoices.to_csv(path, index=False)
    laws = discover(path)
    assert [str(law) for law in laws] == [str(law) for law in discover(invoices)]
    assert laws.check(path).broken.sum() == 1
