"""Laws without noise: beside others, in wide and short tables, with blanks, and none by chance."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vanishing import discover
from vanishing.laws.cells import find_resolution


def texts(laws):
    return {str(law) for law in laws}


def invoices(n_rows=40, seed=0):
    """Quantity, price, amount, tax, total."""
    rng = np.random.default_rng(seed)
    quantity, price = rng.integers(1, 60, n_rows), rng.uniform(2, 90, n_rows).round(2)
    amount = (quantity * price).round(2)
    tax = rng.uniform(0.5, 300, n_rows).round(2)
    return np.column_stack([quantity, price, amount, tax, (amount + tax).round(2)])


NAMES = ["quantity", "price", "amount", "tax", "total"]
LAWS = {"amount = quantity*price", "total = amount + tax"}


@pytest.mark.parametrize("seed", range(4))
def test_an_exact_law_does_not_hide_a_noisy_one(seed):
    rng = np.random.default_rng(seed)
    m, v = rng.uniform(1, 5, (2, 500))
    X = np.column_stack([m, v, m * v**2 / 2])
    X += 0.01 * X.std(axis=0) * rng.normal(size=X.shape)
    X = np.column_stack([X, 1000 * X[:, 0]])
    laws = discover(X, ["m", "v", "E", "grams"])
    assert texts(laws) == {"1000*m = grams", "2*E = m*v^2"}
    assert laws.check([[2.0, 3.0, 19.0, 2000.0]]).broken.all()


def test_a_square_among_many_columns():
    rng = np.random.default_rng(0)
    years = rng.integers(1, 51, 500)
    others = rng.integers(0, 2, (500, 12)), rng.lognormal(1.6, 0.5, (500, 10)).round(2)
    X = np.column_stack([years, *others, years**2])
    names = ["years", *(f"x{j}" for j in range(22)), "squared"]
    assert texts(discover(X, names)) == {"squared = years^2"}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_of_one_column_in_a_wide_table(dtype):
    """However many columns there are, and however their numbers were stored."""
    rng = np.random.default_rng(0)
    a, b, c = rng.lognormal(3, 1, (3, 60)).round(1)
    flags, others = rng.integers(0, 2, (60, 20)), rng.lognormal(2, 1, (60, 20)).round(1)
    X = np.column_stack([a, b, c, flags, others, a**2, np.log(b), a / c])
    names = [*"abc", *(f"x{j}" for j in range(40)), "squared", "log_b", "rate"]
    laws = discover(X.astype(dtype), names)
    assert texts(laws) == {"squared = a^2", "log(b) = log_b", "a = c*rate"}


def test_functions_of_a_column_that_is_mostly_blank():
    rng = np.random.default_rng(2)
    a = np.where(rng.random(400) < 0.75, np.nan, rng.lognormal(3, 1, 400).round(2))
    others = rng.lognormal(2, 1, (400, 30)).round(1)
    names = ["a", *(f"x{j}" for j in range(30)), "log_a"]
    laws = discover(np.column_stack([a, others, np.log(a)]), names)
    assert texts(laws) == {"log(a) = log_a"}


def test_the_digits_of_single_precision():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 1000, 50).astype(np.float32).astype(float)
    assert find_resolution(x) == np.spacing(np.float32(x.max()))
    assert find_resolution(x.round(2).astype(np.float32).astype(float)) == 0.01
    assert find_resolution(np.array([1.5, 12345678.0])) == 0.1  # exact in single precision, too
    assert find_resolution(x + 1e-9) < 1e-8


def test_eight_rows_with_a_sum():
    rng = np.random.default_rng(1)
    parts = rng.integers(100, 999, (8, 3))
    laws = discover(np.column_stack([parts, parts.sum(axis=1)]), list("abcd"))
    assert texts(laws) == {"d = a + b + c"}
    assert laws[0].bits > 10
    assert laws[0].p_value == pytest.approx(2 ** -laws[0].bits)


def test_more_columns_than_rows_with_totals_of_neighbors():
    rng = np.random.default_rng(2)
    parts = rng.integers(100, 9999, (15, 60))
    X = np.column_stack([parts[:, :30], parts[:, 3:12].sum(axis=1), parts[:, 30:]])
    names = [f"c{j}" for j in range(61)]
    assert texts(discover(X, names)) == {"c30 = " + " + ".join(f"c{j}" for j in range(3, 12))}


def test_blanks_in_other_columns_do_not_matter():
    X = np.column_stack([invoices(), np.full((40, 2), np.nan)])
    X[::2, 5] = np.arange(20) ** 2 % 7
    X[1::3, 6] = 3.5
    X[3, 6] = 4
    assert texts(discover(X, [*NAMES, "x", "y"])) >= LAWS


def test_a_blank_in_half_of_the_rows_of_a_column():
    X = invoices(60)
    X[::2, 3] = np.nan
    assert texts(discover(X, NAMES)) == LAWS


def test_a_row_counts_from_the_digits_of_its_cells():
    """Whole numbers that are mostly zero carry little evidence."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((2, 20)) < 0.1) * 5.0
    assert not len(discover(np.column_stack([a, b, a + b])))


def test_factors_that_most_rows_do_not_have():
    rng = np.random.default_rng(4)
    price, rate = rng.integers(10, 900, 80), np.where(rng.random(80) < 0.1, 25.0, 0.0)
    laws = discover(np.column_stack([price, rate, price * (1 - rate / 100)]), ["p", "rate", "t"])
    assert texts(laws) == {"100*p = p*rate + 100*t"}
    assert "t = p" not in texts(laws)


def test_a_wrong_cell_does_not_make_laws_longer():
    rng = np.random.default_rng(5)
    parts, profit = rng.integers(100, 900, (60, 3)), rng.integers(10, 500, 60)
    costs = parts.sum(axis=1)
    X = np.column_stack([parts, costs, profit, costs + profit]).astype(float)
    X[7, 3] += 300
    laws = discover(X, ["wages", "rent", "goods", "costs", "profit", "sales"])
    assert texts(laws) == {"costs = wages + rent + goods", "sales = costs + profit"}
    (found,) = laws.check(X)
    assert (found.row, found.fixes[0].column, found.fixes[0].fix) == (7, "costs", costs[7])


def test_an_equation_that_holds_often_is_not_a_law():
    rng = np.random.default_rng(6)
    plan = rng.integers(1000, 9000, 60)
    actual = np.where(rng.random(60) < 0.8, plan, plan + rng.integers(-500, 500, 60))
    assert "x0 = x1" not in texts(discover(np.column_stack([plan, actual, rng.random(60)])))


@pytest.mark.parametrize("seed", range(3))
def test_whole_numbers_are_not_rounded_together(seed):
    """Numbers with y = x + 2 still are so if both are rounded: 1 to 3 more is another thing."""
    rng = np.random.default_rng(seed)
    before = rng.integers(500, 800, 31)
    after = before + rng.choice([1, 2, 2, 2, 3], 31)
    X = np.column_stack([before, after, rng.integers(1, 900, 31)]).astype(float)
    assert not len(discover(X))
    X[:, 1] = X[:, 0] + 2
    assert texts(discover(X, list("abc"))) == {"b = a + 2"}


@pytest.mark.parametrize("seed", range(3))
def test_rounded_numbers_with_wrong_cells_in_a_short_table(seed):
    rng = np.random.default_rng(seed)
    price = rng.permutation(np.arange(5200, 7500, 100))[:22]
    raised = np.round(1.036 * price)
    raised[[0, 7]] = price[[0, 7]]
    laws = discover(np.column_stack([price, raised]), ["price", "raised"])
    assert texts(laws) == {"259*price = 250*raised"}
    assert np.flatnonzero(laws.check(np.column_stack([price, raised])).broken).tolist() == [0, 7]


def test_columns_that_count_are_not_laws_of_others():
    rng = np.random.default_rng(7)
    trend = np.arange(40) * rng.uniform(5, 50, (3, 1)) + rng.normal(size=(3, 40))
    assert not len(discover(np.column_stack([np.arange(1990, 2030), *trend.round(1)])))


@pytest.mark.parametrize("limit", [0, -1, "soon", float("nan")])
def test_time_limits_are_positive(limit):
    with pytest.raises(ValueError, match="time_limit must be a finite positive number"):
        discover(invoices(), NAMES, time_limit=limit)


def test_a_search_that_is_cut_short_says_so():
    rng = np.random.default_rng(0)
    laws = discover(rng.normal(size=(300, 30)), time_limit=0.01)
    assert any("before everything was tried" in note for note in laws.notes)
    assert texts(discover(invoices(), NAMES, time_limit=None)) == LAWS


# --- What must not change the laws ----------------------------------------------------------------

seeds = st.integers(0, 10**6)


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_the_order_of_rows_and_columns(seed):
    rng = np.random.default_rng(seed)
    X, order = invoices(seed=seed), rng.permutation(5)
    laws = discover(rng.permutation(X)[:, order], [NAMES[j] for j in order])
    assert {frozenset(law.columns) for law in laws} == {
        frozenset({"quantity", "price", "amount"}),
        frozenset({"amount", "tax", "total"}),
    }


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from([1e-6, 0.01, 3.7, 1000.0]))
def test_units(seed, unit):
    X = invoices(seed=seed) * [1, unit, unit, unit, unit]
    assert texts(discover(X, NAMES)) == LAWS


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from(["constant", "switch", "number", "copy", "noise", "sum"]))
def test_a_further_column(seed, kind):
    rng = np.random.default_rng(seed)
    X = invoices(seed=seed)
    column = {
        "constant": np.full(40, 7.0),
        "switch": rng.integers(0, 2, 40),
        "number": np.arange(1, 41),
        "copy": X[:, 0],
        "noise": rng.normal(size=40),
        "sum": X[:, 0] + X[:, 3],
    }[kind]
    laws = discover(np.column_stack([X, column]), [*NAMES, "x"])
    assert texts(laws) >= LAWS
    assert len(laws) == 2 + (kind in ("constant", "copy", "sum"))


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_repeated_rows(seed):
    X = invoices(seed=seed)
    assert texts(discover(np.vstack([X, X[:20]]), NAMES)) == LAWS


@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from(["normal", "cents", "whole", "codes", "sparse", "walk", "factor"]))
def test_no_law_by_chance(seed, kind):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 120)), int(rng.integers(3, 8))
    amounts = rng.lognormal(3, 1, (n, d))
    X = {
        "normal": rng.normal(size=(n, d)),
        "cents": amounts.round(2),
        "whole": rng.integers(0, 1000, (n, d)),
        "codes": rng.choice([0, 1, 2, 5], (n, d)),
        "sparse": amounts.round() * (rng.random((n, d)) < 0.3),
        "walk": np.cumsum(rng.normal(size=(n, d)), axis=0).round(1),
        "factor": rng.normal(size=(n, 1)) + 0.15 * rng.normal(size=(n, d)),
    }[kind]
    found = [law for law in discover(X.astype(float)) if len(law.columns) > 1]
    assert not found


def test_a_product_of_two_equations_is_not_a_law():
    """Each row keeps y = x - 4 or y = -x: neither is an equation of the table."""
    rng = np.random.default_rng(3)
    x = rng.integers(5, 1000, 60).astype(float)
    y = np.where(rng.random(60) < 0.5, x - 4, -x)
    assert not len(discover(np.column_stack([x, y]), ["x", "y"]))


def test_every_column_of_a_law_has_a_part_in_it():
    """before - after is 1 or 2, and so is c/d up to rounding: that says nothing about c and d."""
    rng = np.random.default_rng(1)
    before = rng.integers(500, 800, 31)
    after = before - rng.integers(1, 3, 31)
    c = rng.integers(700, 900, 31)
    d = np.round(c * rng.uniform(1.3, 1.5, 31))
    laws = discover(np.column_stack([before, after, c, d]).astype(float), list("abcd"))
    assert not {"c", "d"} & {name for law in laws.equations for name in law.columns}


def test_rows_of_zeros_say_nothing():
    """One row that is not zero keeps many equations."""
    rng = np.random.default_rng(0)
    rate = rng.integers(1, 100, 15) / 100
    amount = np.zeros(15)
    rate[0], amount[0] = 1.0, 2997378
    assert not len(discover(np.column_stack([rate, amount, amount])))


@pytest.mark.parametrize("seed", range(5))
def test_blanks_that_are_zero_in_sums(seed):
    """A total that was added up over blank cells shows that these are zero."""
    rng = np.random.default_rng(seed)
    parts = np.round(rng.lognormal(4, 1, (40, 3)), 2)
    blank = rng.random(parts.shape) < 0.3
    names = ["net", "tax", "fee", "total"]
    added_up = np.column_stack([np.where(blank, np.nan, parts), np.where(blank, 0, parts).sum(1)])
    laws = discover(added_up.round(2), names)
    assert [str(law) for law in laws.equations] == ["total = net + tax + fee"]
    assert "blanks in net, tax and fee count as 0" in laws.notes
    assert not laws.check(added_up.round(2)).rows
    wrong = added_up.round(2)
    row = int(np.flatnonzero(blank.any(axis=1))[0])
    wrong[row, 3] += 10
    assert [broken.row for broken in laws.check(wrong).rows] == [row]


@pytest.mark.parametrize("seed", range(5))
def test_blanks_that_are_unknown(seed):
    """The total was known before cells went missing: these are restored, not taken for zero."""
    rng = np.random.default_rng(seed)
    parts = np.round(rng.lognormal(4, 1, (40, 3)), 2)
    table = np.column_stack([parts, parts.sum(axis=1).round(2)])
    table[:, :3][rng.random(parts.shape) < 0.1] = np.nan
    laws = discover(table, ["net", "tax", "fee", "total"])
    assert [str(law) for law in laws.equations] == ["total = net + tax + fee"]
    assert not any("count as 0" in note for note in laws.notes)


@pytest.mark.parametrize("seed", range(4))
def test_a_wrong_cell_does_not_make_a_longer_law(seed):
    """If net is wrong once, gross = quantity*price + tax has an exception less than net + tax."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"quantity": rng.integers(1, 40, 60).astype(float)})
    frame["price"] = np.round(rng.lognormal(2, 1, 60), 2)
    frame["net"] = (frame.quantity * frame.price).round(2)
    frame["tax"] = (0.19 * frame.net).round(2)
    frame["gross"] = (frame.net + frame.tax).round(2)
    frame.loc[7, "net"] *= 10
    found = [str(law) for law in discover(frame)]
    assert "net = quantity*price" in found
    assert "gross = net + tax" in found
    assert "gross = quantity*price + tax" not in found


def test_long_ids_are_not_constant():
    a = np.random.default_rng(0).integers(1, 1000, 60).astype(float)
    laws = discover(pd.DataFrame({"id": 1e15 + np.arange(60), "a": a}))
    assert not len(laws)


def test_a_total_of_many_columns_is_found():
    """The parts of a sum are as many as its subsets: not all of them are looked at."""
    values = np.random.default_rng(0).integers(1, 1000, (80, 30)).astype(float)
    (law,) = discover(np.column_stack([values, values.sum(axis=1)]))
    assert len(law.columns) == 31
