"""Laws that hold under a condition, and laws of few numbers."""

import json

import numpy as np
import pandas as pd
import pytest
from benchmarks.laws import conditions

import vanishing
from vanishing import discover
from vanishing.app.cli import main
from vanishing.rules import Rules

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


def test_months_of_a_single_year_are_told_by_the_date():
    """The law of the wage in May to October said nothing of the next year."""
    rng = np.random.default_rng(5)
    days = pd.date_range("2020-05-01", periods=60, freq="6D")
    hours = rng.integers(1, 60, 60)
    pay = hours * np.where(days < "2020-11-01", 22.5, 24.0)
    frame = pd.DataFrame({"date": days.strftime("%Y-%m-%d"), "hours": hours, "pay": pay})
    assert {str(law) for law in discover(frame)} == {
        "pay = 22.5*hours where date <= 2020-10-28",
        "pay = 24*hours where date >= 2020-11-03",
    }


def test_rates_that_are_near_each_other_are_no_noise():
    """It came out as 7.07*tax = net*quantity with 7 % noise."""
    rng = np.random.default_rng(0)
    net, quantity = np.round(rng.lognormal(4.5, 1, 135), 2), rng.integers(1, 60, 135)
    code = rng.integers(1, 8, 135)
    rates = np.array([0.16, 0.15, 0.12, 0.15, 0.16, 0.12, 0.15])[code - 1]
    tax = np.round(net * quantity * rates, 2)
    frame = pd.DataFrame({"code": code, "net": net, "quantity": quantity, "tax": tax})
    assert {str(law) for law in discover(frame)} == {
        "tax = 0.15*net*quantity where code = 2, 4 or 7",
        "tax = 0.12*net*quantity where code = 3 or 6",
        "tax = 0.16*net*quantity where code = 1 or 5",
    }


def test_fitted_numbers_do_not_imitate_two_rates():
    """Beside the rates, 1.100007*net = 0.1000071*reduced*net + gross came out."""
    assert not conditions.measure("truth value", 5, 660700)["false"]


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


def test_the_order_of_rows_does_not_matter(invoices):
    rng = np.random.default_rng(3)
    frame = invoices.assign(number=[f"R-{i}" for i in range(120)], weight=rng.normal(size=120))
    shuffled = frame.sample(frac=1, random_state=0).reset_index(drop=True)
    assert {str(law) for law in discover(shuffled)} == {str(law) for law in discover(invoices)}


def test_a_truth_value_is_a_condition(invoices):
    is_reduced = invoices.country == "FR"
    frame = invoices[["net"]].assign(reduced=is_reduced)
    frame["tax"] = np.round(frame.net * np.where(is_reduced, 0.07, 0.19), 2)
    assert {str(law) for law in discover(frame)} == {
        "tax = 0.07*net where reduced = 1",
        "tax = 0.19*net where reduced = 0",
    }


def test_a_weekday_is_a_condition():
    rng = np.random.default_rng(4)
    days = pd.date_range("2024-01-01", periods=200)
    hours = np.round(rng.uniform(1, 12, 200), 2)
    pay = np.round(hours * np.where(days.day_of_week >= 5, 45.0, 30.0), 2)
    laws = discover(pd.DataFrame({"day": days, "hours": hours, "pay": pay}))
    assert {str(law) for law in laws} == {
        "pay = 45*hours where weekday of day = Saturday or Sunday",
        "pay = 30*hours where weekday of day = Monday, Tuesday, Wednesday, Thursday or Friday",
    }


def test_a_number_of_its_own_for_each_row_is_no_law(invoices):
    rng = np.random.default_rng(5)
    frame = invoices.assign(tax=np.round(invoices.net * rng.uniform(0, 0.3, 120), 2))
    frame["invoice"] = [f"R-{i}" for i in range(120)]
    assert len(discover(frame)) == 0


def test_residuals_are_missing_where_a_law_says_nothing(invoices):
    laws = discover(invoices)
    residuals = laws.residuals(invoices)
    for k, law in enumerate(laws):
        spoken = invoices.country == law.where.values[0]
        assert (residuals.iloc[:, k].notna() == spoken).all()


def test_a_running_balance_beside_a_condition(invoices):
    frame = invoices.assign(balance=np.round(500 + invoices.net.cumsum(), 2))
    laws = discover(frame)
    assert "balance = previous balance + net" in {str(law) for law in laws}
    assert "tax = 0.19*net where country = DE" in {str(law) for law in laws}
    wrong = frame.copy()
    wrong.loc[50, "balance"] += 100
    assert np.flatnonzero(laws.check(wrong).broken).tolist() == [1, 50]


@pytest.mark.parametrize("columns", [["net", "tax", "country"], ["net", "tax"]])
def test_the_command_line_and_the_report_show_conditions(columns, invoices, tmp_path, capsys):
    path, report = tmp_path / "invoices.csv", tmp_path / "report.html"
    invoices[columns].to_csv(path, index=False)
    assert main(["laws", str(path), "--json", "--report", str(report)]) == 0
    found = json.loads(capsys.readouterr().out)["laws"]
    text = report.read_text(encoding="utf-8")
    assert all(law["text"].split("*")[0] in text for law in found)
    if "country" in columns:
        assert {law["where"] for law in found} == {f"country = {each}" for each in RATES}
        assert "where country = DE" in text
    else:
        assert sorted(-ratio for _, ratio in found[0]["choices"]) == [0, 0.07, 0.19]
        assert "tax/net is 0, 0.07 or 0.19" in text


def test_columns_that_are_never_in_one_row(invoices):
    is_first = np.arange(120) < 60
    frame = invoices.assign(fee=np.where(is_first, np.nan, 5.25), net2=invoices.net)
    frame.loc[~is_first, "net2"] = np.nan
    frame["fee"] = frame.fee * np.arange(1, 121)
    assert "tax = 0.19*net where country = DE" in {str(law) for law in discover(frame)}


def test_a_discount_depends_on_the_quantity():
    """Sizes that have nothing to do with it tell nothing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"price": np.round(rng.lognormal(4, 1, 120), 2)})
    frame["quantity"] = rng.integers(1, 60, 120)
    rates = np.where(frame.quantity < 20, 0.05, 0.15)
    frame["discount"] = np.round(frame.price * frame.quantity * rates, 2)
    laws = discover(frame)
    assert {str(law) for law in laws} == {
        "discount = 0.05*price*quantity where quantity <= 19",
        "discount = 0.15*price*quantity where quantity >= 21",  # of those in the table
    }
    wrong = pd.DataFrame({"price": [100.0], "quantity": [50], "discount": [250.0]})
    assert laws.check(wrong).broken.all()
    other = frame.assign(product=frame.price * frame.quantity).drop(columns="price")
    shuffled = other.assign(quantity=rng.permutation(frame.quantity))
    assert not any("where quantity" in str(law) for law in discover(shuffled))


def test_a_code_of_whole_numbers_is_a_condition(invoices):
    code = invoices.pop("country").map({"DE": 1, "FR": 4, "CH": 7})
    laws = discover(invoices.assign(code=code))
    assert "tax = 0.07*net where code = 4" in {str(law) for law in laws}
    assert np.flatnonzero(laws.check(invoices.assign(code=code)).broken).tolist() == [1]


def test_whole_numbers_of_an_equation_are_no_codes():
    """One law of all rows says more than a law of each number, and needs no condition."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"price": np.round(rng.lognormal(3, 1, 150), 2)})
    frame["packs"], frame["level"] = rng.integers(1, 5, 150), rng.choice([0, 5, 10, 15], 150)
    frame["cost"] = np.round(frame.price * frame.packs**2 * (1 - frame.level / 100), 2)
    frame.loc[[5, 90], "cost"] += 10
    (law,) = discover(frame)
    assert law.where is None
    assert law.choices is None
    assert set(law.columns) == {"price", "packs", "level", "cost"}
    assert np.flatnonzero(discover(frame).check(frame).broken).tolist() == [5, 90]


@pytest.mark.parametrize("seed", range(3))
def test_bounds_stand_at_rows_that_are_right(seed):
    """Where a law changed, a wrong cell, a blank and a small amount do not say on which side."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2021-01-01") + np.arange(160)
    net = np.round(rng.lognormal(5, 1, 160), 2)
    net[81] = 0.01
    frame = pd.DataFrame({"day": days, "net": net})
    frame["tax"] = np.round(net * np.where(np.arange(160) < 83, 0.16, 0.19), 2)
    frame.loc[80, "tax"] = np.nan
    frame.loc[82, "tax"] += 7
    laws = discover(frame)
    assert {str(law.where) for law in laws} == {f"day <= {days[79]}", f"day >= {days[83]}"}
    sound = pd.DataFrame({"day": days[78:86], "net": 100.0, "tax": [16.0] * 5 + [19.0] * 3})
    assert not laws.check(sound).broken.any()


def test_all_rows_of_a_branch_may_be_known_less_well():
    """Rates of small amounts are known less well: none of these was among the better half."""
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b", "c"], [60, 40, 25])
    net = np.round(rng.lognormal(np.where(kind == "c", 2, 7), 0.3), 2)
    tax = np.round(net * np.select([kind == "a", kind == "b"], [0.0, 0.08], 0.21), 2)
    laws = discover(pd.DataFrame({"kind": kind, "net": net, "tax": tax}))
    assert {str(law) for law in laws} == {
        "tax = 0 where kind = a",
        "tax = 0.08*net where kind = b",
        "tax = 0.21*net where kind = c",
    }


def test_sizes_with_fractions_are_not_conditions():
    """Brackets of a discount are few numbers: of other columns, they would tell anything."""
    size = np.cumsum(np.full(120, 0.05)) + 3  # with rounding errors
    discount = size * np.where(size < 5.02, 0.04, 0.1)
    laws = discover(pd.DataFrame({"size": size, "discount": discount}))
    assert [str(law) for law in laws] == ["discount/size is 0.04 or 0.1"]


def test_one_number_and_zero_are_one_law():
    """Rows of zeros do not follow the law of the others, and are not another one."""
    rng = np.random.default_rng(0)
    net = rng.integers(100, 9000, 200).astype(float)
    paid = np.where(rng.random(200) < 0.6, net, 0.0)
    paid[:12] = rng.integers(100, 9000, 12)
    laws = discover(np.column_stack([net, paid]))
    assert not any(law.choices is not None for law in laws)


def test_two_wrong_cells_where_a_law_says_zero(invoices):
    """Of tax = 0 where country = CH, all terms are zero, and gross = net + tax ties the others."""
    sound = invoices.drop(index=1)
    sound = sound.assign(gross=np.round(sound.net + sound.tax, 2)).reset_index(drop=True)
    wrong = sound.copy()
    row = int(np.flatnonzero(wrong.country == "CH")[3])
    wrong.loc[row, "tax"] = 41.5
    wrong.loc[row, "gross"] = round(wrong.gross[row] + 12.0, 2)
    checked = discover(wrong).check(wrong)
    assert np.flatnonzero(checked.broken).tolist() == [row]
    fixes = {fix.column: fix.fix for fix in checked[0].fixes}
    assert fixes["tax"] == 0.0
    assert len(fixes) == 2  # with net or gross, whichever is wrong


@pytest.fixture
def sound(invoices):
    """The invoices without the wrong one."""
    return invoices.drop(index=1).reset_index(drop=True)


@pytest.mark.parametrize("by_rules", [False, True])
def test_rows_in_no_case_are_not_said_to_keep_the_laws(sound, by_rules):
    laws = discover(sound)
    sound.loc[[4, 9], "country"] = ["De", "Fr"]
    checked = (Rules.from_laws(laws) if by_rules else laws).check(sound)
    (outside,) = checked.outside
    assert outside.rows == (4, 9)
    assert outside.laws == (0, 1, 2)
    assert checked.lines(numbered=True)[-1] == (
        "2 rows are in no case of [1], [2] and [3]: country = De (row 4) and Fr (row 9)."
    )


def test_rows_without_the_cell_of_a_condition_are_incomplete(sound):
    laws = discover(sound)
    sound.loc[7, "country"] = None
    checked = laws.check(sound)
    assert checked.verdict() == "No row breaks a law."
    assert checked.incomplete == (7,)
    assert checked.unchecked == (7,)
    assert not checked.outside


def test_other_cases_may_be_those_of_other_columns(sound):
    sound["fee"] = np.where(sound.country == "DE", 0.02 * sound.net, 1.0 + sound.index % 7).round(4)
    laws = discover(sound)
    cases = {str(laws[k]) for each in laws.check(sound).outside for k in each.laws}
    assert not any("tax" in each for each in cases)


def test_a_clean_bill_leaves_out_rows_in_no_case(sound, tmp_path, capsys):
    sound.loc[4, ["country", "tax"]] = ["De", 1.0]
    assert discover(sound).check(sound).verdict() == "118 of 119 rows keep the laws."
    sound.to_csv(tmp_path / "invoices.csv", index=False)
    assert main(["check", str(tmp_path / "invoices.csv"), "--json", "--fail-on-broken"]) == 0
    (outside,) = json.loads(capsys.readouterr().out)["outside"]
    assert outside["reason"] == "country = De (row 5)"
    assert [row["line"] for row in outside["rows"]] == [6]


def test_pairs_of_cells_and_the_condition_share_their_probability(sound):
    sound["gross"] = (sound.net + sound.tax).round(2)
    laws = discover(sound)
    row = int(np.flatnonzero(sound.country == "DE")[0])
    sound.loc[row, "tax"] = round(sound.net[row] * 0.07, 2)
    sound.loc[row, "gross"] = round(sound.net[row] + sound.tax[row], 2)
    (found,) = laws.check(sound)
    ways = [{fix.column for fix in way} for way in (found.fixes, *found.ways)]
    assert {"tax", "gross"} in ways
    assert {"net", "tax"} in ways
    assert ways[-1] == {"country"}
    assert found.ways[-1][0].wanted == "FR"
    total = sum(way[0].probability for way in (found.fixes, *found.ways))
    assert total == pytest.approx(1)
    assert found.fixes[0].probability < 0.5
    assert "or country 'DE' to 'FR'" in laws.check(sound).sentences()[0]


def test_a_wrong_condition_is_the_fix(sound):
    """Other laws of net, tax and gross rule out that one of these is wrong."""
    sound["gross"] = (sound.net + sound.tax).round(2)
    sound["open"] = (sound.gross - np.arange(len(sound))).round(2)
    sound["paid"] = np.arange(len(sound)) * 1.0
    laws = discover(sound)
    row = int(np.flatnonzero(sound.country == "DE")[0])
    sound.loc[row, "country"] = "FR"
    check = laws.check(sound)
    assert [each.row for each in check] == [row]
    assert "country 'FR' to 'DE'" in check.sentences()[0]
    assert "no one or two cells" not in check.sentences()[0]
