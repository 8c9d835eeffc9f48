"""Laws of other rows and functions of a row, and the cells that break them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vanishing
from vanishing import discover
from vanishing.rules import Rules


def statement(n_rows=80, seed=0, opening=1000.0):
    rng = np.random.default_rng(seed)
    is_credit = rng.random(n_rows) < 0.4
    amounts = np.round(rng.lognormal(5, 1, n_rows), 2)
    frame = pd.DataFrame({"credit": np.where(is_credit, amounts, 0.0)})
    frame["debit"] = np.where(is_credit, 0.0, amounts)
    frame["balance"] = (opening + (frame.credit - frame.debit).cumsum()).round(2)
    return frame


def accounts(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"account": rng.choice(["A", "B", "C"], n_rows)})
    frame["amount"] = np.round(rng.normal(0, 300, n_rows), 2)
    frame["balance"] = frame.groupby("account").amount.cumsum() + frame.account.map(
        {"A": 100.0, "B": 2500.5, "C": 12.25}
    )
    return frame.round(2)


BALANCE = "balance = previous balance + credit - debit"


def texts(X):
    return [str(law) for law in discover(X)]


def test_a_running_balance():
    laws = discover(statement())
    assert [str(law) for law in laws] == [BALANCE]
    assert not laws.check(statement()).broken.any()
    assert np.nanmax(np.abs(laws.residuals(statement()))) < 1e-9


def test_a_statement_that_begins_with_the_last_day():
    assert texts(statement()[::-1]) == ["balance = next balance + credit - debit"]


@pytest.mark.parametrize("column", ["received", "sold", "stock"])
def test_the_balance_stands_on_the_left_whatever_is_wrong(column):
    """In short tables with a wrong number of sales, the law told the sales."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 60, (24, 2)), columns=["received", "sold"])
    frame["stock"] = 2000 + (frame.received - frame.sold).cumsum()
    frame.loc[12, column] += 40
    assert texts(frame) == ["stock = previous stock + received - sold"]


def test_blank_credits_and_debits_are_zeros():
    frame = statement()
    frame[["credit", "debit"]] = frame[["credit", "debit"]].replace(0.0, np.nan)
    laws = discover(frame)
    assert [str(law) for law in laws] == [BALANCE]
    assert set(laws.zeros) == {"credit", "debit"}


@settings(max_examples=10, deadline=None)
@given(row=st.integers(2, 76), change=st.integers(500, 10**5), seed=st.integers(0, 99))
def test_a_wrong_balance_breaks_its_own_row_only(row, change, seed):
    frame = statement(seed=seed)
    right = frame.loc[row, "balance"]
    frame.loc[row, "balance"] = round(right + change / 100, 2)
    (found,) = discover(frame).check(frame)
    assert found.row == row
    assert found.fixes[0].column == "balance"
    assert not found.alternatives
    assert found.fixes[0].fix == pytest.approx(right)


@settings(max_examples=10, deadline=None)
@given(row=st.integers(2, 76), change=st.integers(500, 10**5), seed=st.integers(0, 99))
def test_a_wrong_amount_is_not_a_wrong_balance(row, change, seed):
    frame = statement(seed=seed)
    frame.loc[row, "debit"] = round(frame.loc[row, "debit"] + change / 100, 2)
    (found,) = discover(frame).check(frame)
    columns = {fix.column for fix in (*found.fixes, *found.alternatives)}
    assert found.row == row
    assert "debit" in columns
    assert "balance" not in columns


def test_missing_cells_of_a_chain_are_filled_in():
    frame = statement()
    frame.loc[[20, 21], "balance"] = np.nan
    frame.loc[40, "debit"] = np.nan
    check = discover(statement()).check(frame)
    filled = {(each.row, fix.column): fix.fix for each in check for fix in each.fixes}
    assert not check.broken.any()
    expected = {(20, "balance"), (21, "balance"), (40, "debit")}
    assert filled == {cell: pytest.approx(statement().loc[cell]) for cell in expected}


def test_balances_by_account():
    frame = accounts()
    laws = discover(frame)
    assert [str(law) for law in laws] == ["balance = previous balance by account + amount"]
    frame.loc[60, "balance"] += 10
    (found,) = laws.check(frame)
    assert (found.row, found.fixes[0].column) == (60, "balance")
    with pytest.raises(ValueError, match="lacks 'account'"):
        laws.check(frame.drop(columns="account"))


def test_one_of_the_accounts_starts_at_zero():
    """The balances of the others were said to be wrong in their first rows."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"account": np.repeat(["Main", "Savings", "Card"], [18, 12, 10])})
    frame["amount"] = np.round(rng.normal(0, 300, 40), 2)
    opening = frame.account.map({"Main": 1000, "Savings": 500, "Card": 0})
    frame["balance"] = (opening + frame.groupby("account").amount.cumsum()).round(2)
    laws = discover(frame)
    assert [str(law) for law in laws] == ["balance = previous balance by account + amount"]
    assert not len(laws.check(frame))


def test_a_column_may_be_called_as_a_derived_one_is():
    amounts = np.random.default_rng(0).integers(1, 1000, 60).astype(float)
    balance = amounts.cumsum()
    frame = pd.DataFrame({"balance": balance, "amount": amounts})
    frame.insert(1, "previous balance", np.append(0.0, balance[:-1]))
    laws = discover(frame)
    assert [str(law) for law in laws] == ["balance = [previous balance] + amount"]
    frame.loc[9, "balance"] += 10
    assert 9 in [each.row for each in laws.check(frame)]


@pytest.mark.parametrize("seed", range(3))
def test_a_blank_balance_on_the_first_of_a_month_does_not_end_the_chain(seed):
    frame = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d")})
    frame["amount"] = np.round(np.random.default_rng(seed).normal(0, 200, 60), 2)
    frame["balance"] = (1000 + frame.amount.cumsum()).round(2)
    frame.loc[31, "balance"] = np.nan
    assert texts(frame) == ["balance = previous balance + amount"]


@pytest.mark.parametrize("n_rows", [5000, 10_000])
def test_blanks_count_as_zero_in_long_tables(n_rows):
    """So many rows that are blank in one of two columns, none of which is a total."""
    rng = np.random.default_rng(0)
    amounts = np.round(rng.lognormal(4, 1, n_rows), 2)
    is_debit = rng.random(n_rows) < 0.5
    frame = pd.DataFrame({"debit": np.where(is_debit, amounts, np.nan)})
    frame["credit"] = np.where(is_debit, np.nan, amounts)
    frame["balance"] = (1e5 + np.where(is_debit, -amounts, amounts).cumsum()).round(2)
    assert texts(frame) == ["balance = previous balance - debit + credit"]


def test_changes_that_are_blank_in_the_first_year_are_of_each_county():
    """The blanks would have been filled in from the last year of another county."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"county": np.repeat(np.arange(1, 41), 5), "year": [*range(2001, 2006)] * 40}
    )
    frame["rate"] = rng.lognormal(3, 0.5, 200).round(2)
    frame["change"] = frame.groupby("county").rate.diff().round(2)
    laws = discover(frame)
    assert [str(law) for law in laws] == ["rate = previous rate by county + change"]
    assert not len(laws.check(frame))


@pytest.mark.parametrize("key", ["date", "text", "year", "month"])
def test_a_sum_that_starts_again_each_year(key):
    days = pd.date_range("2015-01-01", periods=72, freq="MS")
    sales = np.random.default_rng(0).integers(100, 2000, 72)
    columns = {
        "date": days,
        "text": days.strftime("%d.%m.%Y"),
        "year": days.year,
        "month": days.month,
    }
    frame = pd.DataFrame({key: columns[key], "sales": sales})
    frame["ytd"] = frame.groupby(days.year).sales.cumsum()
    group = {"date": "year of date", "text": "year of text", "year": "year"}
    expected = group.get(key, "cycle of month")
    assert texts(frame) == [f"ytd = previous ytd by {expected} + sales"]


def test_a_wrong_amount_in_the_first_of_three_years_to_date():
    days = pd.date_range("2012-01-01", periods=27, freq="MS")
    frame = pd.DataFrame({"month": days, "sales": np.random.default_rng(0).integers(100, 5000, 27)})
    frame["ytd"] = frame.groupby(days.year).sales.cumsum()
    frame.loc[12, "sales"] += 951
    laws = discover(frame)
    assert [str(law) for law in laws] == ["ytd = previous ytd by year of month + sales"]
    assert [found.row for found in laws.check(frame)] == [12]


@pytest.mark.parametrize(
    ("text", "compute"),
    [
        ("max(a, b)", np.maximum),
        ("min(a, b)", np.minimum),
        ("|a - b|", lambda a, b: np.abs(a - b)),
        ("max(a - b, 0)", lambda a, b: np.maximum(a - b, 0)),
    ],
)
def test_functions_of_two_columns(text, compute):
    a, b = np.round(np.random.default_rng(0).lognormal(4, 0.5, (2, 80)), 2)
    frame = pd.DataFrame({"a": a, "b": b, "m": np.round(compute(a, b), 2)})
    laws = discover(frame)
    assert [str(law) for law in laws] == [f"m = {text}"]
    right = frame.loc[5, "m"]
    frame.loc[5, "m"] = right + 200
    (found,) = laws.check(frame)
    fixes = {fix.column: fix.fix for fix in (*found.fixes, *found.alternatives)}
    assert found.row == 5
    assert fixes["m"] == pytest.approx(right)


def test_a_sum_that_does_not_become_negative():
    """It came out as equalities with the zeros in part of the rows."""
    a, b = np.round(np.random.default_rng(0).normal(0, 100, (2, 40)), 2)
    frame = pd.DataFrame({"a": a, "b": b, "m": np.maximum(np.round(a + b, 2), 0.0)})
    frame.loc[4, "m"] += 5
    laws = discover(frame)
    assert [str(law) for law in laws] == ["m = max(a + b, 0)"]
    assert [found.row for found in laws.check(frame)] == [4]
    assert Rules.from_laws(laws).check(frame).sentences() == laws.check(frame).sentences()


@pytest.mark.parametrize(
    ("text", "compute"),
    [
        ("floor(x/7)", lambda x: x // 7),
        ("ceil(x/12)", lambda x: -(-x // 12)),
        ("floor(x)", np.floor),
        ("floor(x/0.25)", lambda x: np.floor(x / 0.25)),
    ],
)
def test_whole_numbers_of_parts(text, compute):
    """They came out as equations with two fitted numbers, which a wrong cell did not break."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 500, 80) / (1 if "7" in text or "12" in text else 8)
    frame = pd.DataFrame({"x": x, "y": compute(x).astype(float)})
    frame.loc[5, "y"] += 1
    laws = discover(frame)
    assert [str(law) for law in laws] == [f"y = {text}"]
    (found,) = laws.check(frame)
    assert (found.row, found.fixes[0].column) == (5, "y")
    assert found.fixes[0].fix == frame.loc[5, "y"] - 1
    assert Rules.from_laws(laws).check(frame).sentences() == laws.check(frame).sentences()


def test_functions_of_a_row_imply_sums():
    """Larger and smaller one add up to both: 2 max(a, b) = a + b + |a - b| was a law, too."""
    a, b = np.round(np.random.default_rng(0).lognormal(4, 0.5, (2, 80)), 2)
    frame = pd.DataFrame({"a": a, "b": b, "m": np.maximum(a, b), "d": np.round(abs(a - b), 2)})
    assert set(texts(frame)) == {"m = max(a, b)", "d = |a - b|"}


@pytest.mark.parametrize("share_of_zeros", [0.0, 0.4])
def test_equal_columns_are_equal_in_a_table_with_zeros(share_of_zeros):
    """Beside products, a = b came out as a^2 = a*b."""
    rng = np.random.default_rng(0)
    a = np.where(rng.random(60) < share_of_zeros, 0, rng.integers(1, 500, 60))
    frame = pd.DataFrame({"a": a, "b": a, "c": rng.integers(1, 500, 60)})
    assert texts(frame) == ["a = b"]


def test_a_mean_is_called_so():
    X = 3.0 * np.random.default_rng(0).integers(1, 500, (60, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(m=X.mean(axis=1))
    assert texts(frame) == ["m = mean(a, b, c)"]


@pytest.mark.parametrize("seed", range(5))
def test_walks_counters_and_shuffled_rows_have_no_law(seed):
    rng = np.random.default_rng(seed)
    walks = pd.DataFrame(np.cumsum(rng.integers(-3, 4, (100, 3)), axis=0), columns=["x", "y", "z"])
    assert texts(walks.assign(number=np.arange(100), step=rng.integers(-3, 4, 100))) == []
    assert texts(statement(seed=seed).iloc[rng.permutation(80)]) == []


def test_saved_laws_of_rows_check_as_before(tmp_path):
    frame = accounts()
    laws = discover(frame)
    laws.save(tmp_path / "laws.safetensors")
    loaded = vanishing.load(tmp_path / "laws.safetensors")
    frame.loc[60, "balance"] += 10
    assert loaded.derived == laws.derived
    assert loaded.check(frame).sentences() == laws.check(frame).sentences()


def test_the_first_rows_of_chains_are_not_said_to_keep_the_law():
    frame = accounts()
    first = frame.groupby("account").head(1).index
    frame.loc[first[0], "amount"] += 500
    checked = discover(frame).check(frame)
    assert checked.verdict() == "117 of 120 rows keep the laws."
    (outside,) = checked.outside
    assert outside.rows == tuple(first)
    assert "is not checked in 3 rows that have no previous row by account" in checked.coverage()


def test_a_blank_balance_at_the_end_of_a_year_does_not_divide_the_chain():
    """By year, it said as much, but not of the first row of each year."""
    frame = statement(500).assign(day=pd.date_range("2023-06-01", periods=500).strftime("%Y-%m-%d"))
    new_year = int(np.flatnonzero(frame.day == "2024-01-01")[0])
    frame.loc[new_year - 1, "balance"] = np.nan
    frame = frame[::-1].reset_index(drop=True)
    assert texts(frame) == ["balance = next balance + credit - debit"]


def test_columns_before_of_one_name_are_one_column_of_the_laws():
    """Where blanks may count as 0, the first row is also looked at as one that starts at 0."""
    rng = np.random.default_rng(0)
    a, b = rng.lognormal(3, 0.3, (2, 42)).round(2)
    before = [np.append(np.nan, x[:-1]) for x in (a, b)]
    X = np.column_stack([np.arange(42.0), a, b, *before, a - before[0], b - before[1]]).round(2)
    laws = discover(X, ["t", "a", "b", "a_1", "b_1", "da", "db"])
    assert [each.name for each in laws.derived] == ["previous a", "previous b"]
    assert laws.check(X).n_rows == 42
