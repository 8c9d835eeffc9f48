"""Rows that are totals of others: found, named, checked, and kept out of the other laws."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vanishing
from vanishing import discover
from vanishing.rules import Rule, Rules, parse


def make_ledger(seed, n_blocks=4, columns=("net", "fee", "hours"), label="Subtotal"):
    """Return a ledger with subtotals and a total, and the numbers of the subtotal rows."""
    rng = np.random.default_rng(seed)
    blocks = [
        np.round(rng.lognormal(5, 1, (rng.integers(3, 9), len(columns))), 2)
        for _ in range(n_blocks)
    ]
    rows, texts, subtotals = [], [], []
    for block in blocks:
        rows += [*block, block.sum(axis=0)]
        texts += ["item"] * len(block) + [label]
        subtotals.append(len(rows) - 1)
    rows.append(np.concatenate(blocks).sum(axis=0))
    frame = pd.DataFrame(np.round(rows, 2), columns=list(columns))
    frame.insert(0, "what", [*texts, "Total"])
    return frame, subtotals


def make_year(seed):
    """Return twelve months with a total row."""
    rng = np.random.default_rng(seed)
    revenue, costs = rng.integers(800, 3000, 12), rng.integers(300, 900, 12)
    months = pd.DataFrame({"revenue": revenue, "costs": costs, "profit": revenue - costs})
    frame = pd.concat([months, months.sum().to_frame().T], ignore_index=True)
    frame.insert(0, "month", [*"JFMAMJJASOND", "Total"])
    return frame


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), is_labelled=st.booleans())
def test_subtotals_and_the_total_are_found(seed, is_labelled):
    frame, subtotals = make_ledger(seed)
    laws = discover(frame if is_labelled else frame.drop(columns="what"))
    assert [each.row for each in laws.totals] == [*subtotals, len(frame) - 1]
    assert all(each.columns == ("net", "fee", "hours") for each in laws.totals)
    assert [each.level for each in laws.totals] == [1, 1, 1, 1, 2]
    assert laws.n_rows == len(frame) - 5
    checked = laws.check(frame if is_labelled else frame.drop(columns="what"))
    assert not len(checked)
    assert checked.verdict() == "All totals are the sums of their rows."


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), block=st.integers(0, 3), column=st.integers(1, 3))
def test_a_wrong_subtotal_of_a_ledger_is_named(seed, block, column):
    frame, subtotals = make_ledger(seed)
    right = frame.iloc[subtotals[block], column]
    frame.iloc[subtotals[block], column] = round(right + 300, 2)
    (found,) = discover(frame).check(frame)
    assert found.row == subtotals[block]
    (fix,) = found.fixes
    assert (fix.column, fix.fix) == (frame.columns[column], right)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), column=st.sampled_from(["revenue", "costs", "profit"]))
def test_a_wrong_total_of_a_year_is_named(seed, column):
    frame = make_year(seed)
    right = frame.loc[12, column]
    frame.loc[12, column] = right + 300
    laws = discover(frame)
    assert [str(law) for law in laws] == ["revenue = costs + profit"]
    checked = laws.check(frame)
    assert checked.sentences() == [
        f"row 12 (total of rows 0 to 11): {column} {right + 300} is not the sum {right}."
    ]
    assert checked.verdict() == "All 12 rows keep the law; the total is not the sum of its rows."
    assert checked.to_frame()["law"].tolist() == ["total of rows 0 to 11"]


def test_a_wrong_cell_of_a_row_is_not_a_wrong_total():
    frame = make_year(1)
    frame.loc[4, "costs"] += 90
    (found,) = discover(frame).check(frame)
    assert found.row == 4
    assert [fix.column for fix in (*found.fixes, *found.alternatives)] == ["costs"]


def test_a_total_that_a_missing_cell_completes_is_right():
    heading = pd.DataFrame({"month": ["2024"]})  # a row without numbers: blanks count as 0
    frame = pd.concat([heading, make_year(1), heading, make_year(2)], ignore_index=True)
    laws = discover(frame)
    assert len(laws.totals) == 2
    costs = frame.loc[5, "costs"]
    frame.loc[5, "costs"] = np.nan
    checked = laws.check(frame)
    (found,) = checked.rows
    assert found.is_missing
    assert found.fixes[0].fix == costs
    assert "all totals are the sums of their rows" in checked.verdict()


@pytest.mark.parametrize("seed", range(5))
def test_a_wrong_total_of_an_invoice_is_named(seed):
    """Only the sum of the quantities and the words tell that the last row is a total."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"what": "item", "quantity": rng.integers(1, 40, 12)})
    frame["price"] = np.round(rng.uniform(2, 90, 12), 2)
    frame["amount"] = np.round(frame.quantity * frame.price, 2)
    sums = {"what": "Total", "quantity": frame.quantity.sum(), "amount": frame.amount.sum() + 70}
    frame = pd.concat([frame, pd.DataFrame([sums])], ignore_index=True).round(2)
    laws = discover(frame)
    assert [each.row for each in laws.totals] == [12]
    (found,) = laws.check(frame)
    assert (found.row, found.fixes[0].column) == (12, "amount")


@pytest.mark.parametrize("seed", range(5))
def test_a_sum_that_is_off_by_one_is_wrong(seed):
    """Whole numbers counted as rounded ones, although prices times them are right to the cent."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"quantity": rng.integers(1, 40, 14), "price": rng.uniform(2, 90, 14)})
    frame = frame.round(2)
    frame["amount"] = np.round(frame.quantity * frame.price, 2)
    sums = frame[["quantity", "amount"]].sum().to_frame().T
    frame = pd.concat([frame, sums], ignore_index=True).round(2)
    frame.loc[14, "quantity"] += 1
    (found,) = discover(frame).check(frame)
    assert (found.row, found.fixes[0].column) == (14, "quantity")


@pytest.mark.parametrize("seed", range(5))
def test_numbers_that_were_rounded_after_they_were_added_up(seed):
    rng = np.random.default_rng(seed)
    parts = rng.lognormal(4, 1, (20, 4))
    X = np.round(np.vstack([parts, parts.sum(axis=0)]))
    assert (X[-1] != X[:-1].sum(axis=0)).any()
    laws = discover(X)
    assert [each.row for each in laws.totals] == [20]
    assert not laws.check(X).broken.any()


def test_a_total_of_totals_tells_that_a_row_is_wrong():
    frame, subtotals = make_ledger(5)
    frame.loc[1, "net"] += 50
    checked = discover(frame).check(frame)
    assert [found.row for found in checked] == [subtotals[0]]
    assert checked[0].fixes == ()
    assert "one of its rows is wrong" in checked.sentences()[0]


def test_total_rows_do_not_count_for_other_laws():
    frame, _ = make_ledger(3, columns=("quantity", "price", "amount"))
    rows = frame["what"] == "item"
    frame["amount"] = frame["quantity"] * frame["price"]
    block = (~rows).cumsum().shift(fill_value=0)
    for name in ("quantity", "amount"):
        sums = frame[name].where(rows).groupby(block).sum()
        frame.loc[~rows, name] = sums.reindex(range(len(frame[~rows]))).to_numpy()
        frame.loc[len(frame) - 1, name] = frame.loc[rows, name].sum()
    frame.loc[~rows, "price"] = np.nan
    laws = discover(frame)
    assert [str(law) for law in laws] == ["amount = quantity*price"]
    assert laws[0].n_broken == 0
    assert {each.columns for each in laws.totals} == {("quantity", "amount")}
    assert frame["what"][laws[0].rows].eq("item").all()


@pytest.mark.parametrize("kind", ["integers", "amounts", "walk", "multiples", "shuffled"])
def test_tables_without_totals_have_none(kind):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.choice([12, 30, 60]))
        if kind == "integers":
            X = rng.integers(0, 10, (n_rows, 5)).astype(float)
        elif kind == "amounts":
            X = np.round(rng.lognormal(3, 1, (n_rows, 3)), 2)
        elif kind == "walk":
            X = np.cumsum(rng.integers(-1, 2, (n_rows, 4)), axis=0).astype(float)
        elif kind == "multiples":
            X = rng.integers(1, 100, n_rows)[:, None] * np.array([1.0, 2.0, 5.0, 7.0])
        else:
            X = make_ledger(seed)[0].sample(frac=1, random_state=seed)
        assert not discover(X, time_limit=1).totals


@pytest.mark.parametrize("digits", [1, 2, 15])
def test_equal_steps_are_no_totals(digits):
    for seed, last in enumerate((40.0, 7.3, 100.0)):
        t = np.linspace(0, last, 100).round(digits)  # the fourth is the sum of two before
        temperature = 70 * np.exp(-t / last) + np.random.default_rng(seed).normal(size=100)
        assert not discover(np.column_stack([t, temperature]), time_limit=1).totals


@pytest.mark.parametrize("seed", range(5))
def test_rows_without_numbers_are_no_totals(seed):
    """Two columns with the same blanks made totals of these rows, since one was a sum by chance."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(10, 9999, (60, 3)).astype(float), columns=["a", "b", "d"])
    frame.loc[5::6, ["a", "b", "d"]] = np.nan
    frame.loc[11, "d"] = frame.d[6:11].sum()
    assert not discover(frame).totals


def test_a_model_file_keeps_total_rows(tmp_path):
    frame, _ = make_ledger(0)
    laws = discover(frame)
    laws.save(tmp_path / "laws.npz")
    loaded = vanishing.load(tmp_path / "laws.npz")
    assert [str(each) for each in loaded.totals] == [str(each) for each in laws.totals]
    assert str(loaded.check(frame)) == str(laws.check(frame))


def make_invoices(seed, n_rows=60):
    """Return invoices, some without tax, whose blanks are zeros, with a total row."""
    rng = np.random.default_rng(seed)
    net = np.round(rng.lognormal(5, 1, n_rows), 2)
    tax = np.round(net * rng.choice([0.19, 0.07, 0.0], n_rows), 2)
    frame = pd.DataFrame({"net": net, "tax": tax, "gross": np.round(net + tax, 2)})
    frame.loc[n_rows] = frame.sum().round(2)
    frame.insert(0, "number", [*(f"R{i}" for i in range(n_rows)), "Total"])
    return frame


@pytest.mark.parametrize("has_blanks", [False, True])
@pytest.mark.parametrize("factor", [0.1, 0.997, 10])
def test_a_total_that_the_laws_of_its_rows_tell_is_checked(factor, has_blanks):
    frame = make_invoices(0)
    if has_blanks:
        frame["tax"] = frame.tax.replace(0, np.nan)
    right = frame.tax.iloc[-1]
    frame.loc[60, "tax"] = wrong = round(right * factor, 2)
    laws = discover(frame)
    for checked in (laws.check(frame), Rules.from_laws(laws).check(frame)):
        assert checked.sentences() == [
            f"row 60 (total of rows 0 to 59): tax {wrong:g} is not the sum {right:g}."
        ]
    assert set(laws.totals[0].columns) == {"net", "tax", "gross"}


def test_columns_of_a_rule_about_totals_are_checked():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(np.round(rng.lognormal(5, 1, (30, 3)), 2), columns=["a", "b", "d"])
    frame.loc[30] = frame.sum().round(2)
    frame.loc[30, "d"] = 17.0
    assert not len(discover(frame).check(frame))
    rules = Rules([Rule("t", parse("totals(a, b, d)"))])
    (found,) = rules.check(frame)
    assert found.row == 30
    assert [fix.column for fix in found.sums] == ["d"]


def test_numbers_near_the_largest_are_no_error():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(1, 900, (60, 2)).astype(float), columns=["a", "b"])
    frame["c"] = frame.a + frame.b
    laws = discover(frame)
    frame.loc[[3, 5], "b"] = 1.7e308
    assert [each.row for each in laws.check(frame)] == [3, 5]
