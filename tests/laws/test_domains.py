"""What holds in every row besides equations: it is found, checked, saved, and hardly by chance."""

import numpy as np
import pandas as pd
import pytest

from vanishing import discover, load
from vanishing.rules import Rule, Rules, parse, read_rules, write_rules

N_ROWS = 240


def make_orders(seed=0, n_rows=N_ROWS, date_format="%Y-%m-%d"):
    rng = np.random.default_rng(seed)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n_rows), unit="D")
    end = start + pd.to_timedelta(rng.integers(0, 30, n_rows), unit="D")
    postcodes = rng.integers(10000, 10030, n_rows)
    prices = rng.lognormal(2, 1, 12).round(2)
    product = rng.integers(0, 12, n_rows)
    qty = rng.integers(0, 40, n_rows)
    return pd.DataFrame(
        {
            "id": rng.permutation(n_rows) + 1000,
            "start": start.strftime(date_format),
            "end": end.strftime(date_format),
            "zip": postcodes,
            "city": [f"city {code % 13}" for code in postcodes],
            "status": rng.choice(["open", "paid", "closed"], n_rows),
            "product": [f"product {k}" for k in product],
            "qty": qty,
            "price": prices[product],
            "amount": (qty * prices[product]).round(2),
        }
    )


def test_broken_rows_are_told_with_their_cells_and_counterparts():
    orders = make_orders()
    laws = discover(orders)
    orders.loc[3, "start"] = "2026-01-01"
    orders.loc[5, "city"] = "Paris"
    orders.loc[9, "id"] = orders.loc[4, "id"]
    said = {each.split(":")[0]: each for each in laws.check(orders).sentences()}
    code = orders.loc[5, "zip"]
    assert f"start 2026-01-01 and end {orders.loc[3, 'end']} break" in said["row 3"]
    assert said["row 5"].startswith(f"row 5: city Paris and zip {code} break city is")
    assert f"; {code} is city {code % 13} in the other rows" in said["row 5"]
    assert f"; {orders.loc[9, 'id']} is also in row 4" in said["row 9"]
    rules = Rules((Rule("zip", parse("determines(zip, city)")),))
    (sentence,) = rules.check(orders).sentences()
    assert sentence.endswith(f"; {code} is city {code % 13} in the other rows.")


EXPECTED = {
    "start <= end", "qty >= 0", "id is unique", "zip determines city",
    "product determines price", "status is closed, open or paid",
}  # fmt: skip


def said(laws):
    return {str(each) for each in laws.domains}


def test_rules_of_orders_are_found_and_printed():
    laws = discover(make_orders())
    assert said(laws) >= EXPECTED
    assert "qty >= 0; " in str(laws)
    assert str(laws) in laws._repr_html_() or "id is unique" in laws._repr_html_()
    assert all(each.bits > 10 for each in laws.domains)


def test_a_row_that_breaks_a_rule_is_named_with_it():
    laws = discover(make_orders())
    new = make_orders(seed=1)
    # Prices and cities are drawn anew, but agree among the new rows.
    assert not laws.check(new).broken.any()
    wrong = {"start": "2026-01-01", "status": "opn", "city": "Paris"}
    for row, (name, cell) in enumerate(wrong.items(), 5):
        new.loc[row, name] = cell
    new.loc[9, "id"] = new.loc[20, "id"]
    found = {each.row: [str(found.laws[k]) for k in each.laws]
             for found in [laws.check(new)] for each in found}  # fmt: skip
    assert "start <= end" in found[5]
    assert "status is closed, open or paid" in found[6]
    assert "zip determines city" in found[7]
    assert found[9] == found[20] == ["id is unique"]
    assert len(found) == 5


def test_other_rules_tell_the_wrong_cell():
    laws = discover(make_orders())
    new = make_orders()
    row = int(np.flatnonzero(new["qty"] > 3)[0])
    new.loc[row, "qty"] += 1
    for found in (laws, Rules.from_laws(laws)):
        (broken,) = found.check(new)
        # Another price would not be that of the product.
        assert "price" not in {fix.column for fix in (*broken.fixes, *broken.alternatives)}


def test_long_ids_are_told_apart():
    ids = [4006381333931.0 + k for k in range(4)]
    frame = pd.DataFrame({"id": ids, "city": ["Rome", "Oslo", "Rome", "Bern"]})
    rules = Rules((Rule("id", parse("unique(id)")), Rule("city", parse("determines(id, city)"))))
    assert not rules.check(frame).broken.any()
    frame.loc[3, "id"] = ids[2]
    assert [each.laws for each in rules.check(frame)] == [(0, 1), (0, 1)]


def test_dates_in_any_format_are_ordered():
    laws = discover(make_orders(date_format="%d.%m.%Y"))
    assert "start <= end" in said(laws)
    new = make_orders(date_format="%d.%m.%Y")
    new.loc[3, "start"] = "31.12.2025"
    assert [each.row for each in laws.check(new)] == [3]
    (unsaid,) = Rules.from_laws(laws).unsaid
    assert "2024-12-31" in unsaid


def test_rules_in_a_file_break_the_same_rows(tmp_path):
    laws = discover(make_orders())
    rules = read_rules(write_rules(Rules.from_laws(laws)))
    assert not rules.unsaid
    assert {rule.source for rule in rules} == {"found"}
    new = make_orders(seed=2)
    new.loc[3, ["start", "qty"]] = ["2030-01-01", -3]
    new.loc[4, ["status", "city"]] = ["?", ""]
    new.loc[5, ["id", "city"]] = [new.loc[6, "id"], "elsewhere"]
    expected, found = laws.check(new), rules.check(new)
    assert [(each.row, each.laws) for each in found] == [(each.row, each.laws) for each in expected]
    assert [each.row for each in found] == [3, 4, 5, 6]


def test_laws_are_loaded_with_them(tmp_path):
    laws = discover(make_orders())
    laws.save(tmp_path / "laws")
    assert load(tmp_path / "laws").domains == laws.domains


def test_columns_that_are_not_there_are_not_checked():
    laws = discover(make_orders())
    new = make_orders()[["qty", "price", "amount"]]
    new.loc[0, "qty"] = np.nan
    assert not laws.check(new).broken.any()


def test_what_follows_from_others_is_left_out():
    rng = np.random.default_rng(0)
    first = rng.exponential(size=200).round(2)
    second, third = (first + rng.exponential(size=(2, 200)).round(2).cumsum(axis=0)).round(2)
    frame = pd.DataFrame({"a": first, "b": second, "c": third, "sum": (first + second).round(2)})
    laws = discover(frame)
    assert [str(law) for law in laws] == ["sum = a + b"]
    assert {"a <= b", "b <= c", "a >= 0"} <= said(laws)
    assert said(laws).isdisjoint({"a <= c", "a <= sum", "b <= sum", "b >= 0", "sum >= 0"})


def walks(rng):
    return rng.normal(size=(200, 4)).cumsum(axis=0)


def normal(rng):
    return rng.normal(rng.uniform(-3, 3, 4), 1, (200, 4))


def counts(rng):
    return rng.poisson(rng.uniform(3, 20, 4), (200, 4)).astype(float)


@pytest.mark.parametrize("make", [walks, normal, counts])
def test_new_rows_of_tables_without_rules_break_nothing(make):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = make(rng)
        laws = discover(values[:100])
        assert not laws.check(values[100:]).broken.any() or len(laws)


def test_bounds_that_say_nothing_are_not_rules():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "near 25": rng.uniform(20, 30, 300),
            "large": rng.uniform(1000, 2000, 300),
            "number": rng.integers(0, 10**9, 300),
            "note": ["".join(rng.choice(list("abcdefgh"), 9)) for _ in range(300)],
            "rare": rng.choice(["a", "b", "c"], 300, p=[0.7, 0.29, 0.01]),
        }
    )
    assert said(discover(frame)) <= {"number >= 0"}


def test_the_order_of_rows_does_not_matter():
    frame = make_orders()
    expected = said(discover(frame))
    found = said(discover(frame.sample(frac=1, random_state=0)))
    assert expected & found >= EXPECTED


def test_columns_of_which_only_a_rule_speaks_are_in_no_law():
    rng = np.random.default_rng(0)
    start = rng.uniform(0, 5, 100)
    table = pd.DataFrame({"start": start, "end": start + rng.exponential(1, 100)})
    laws = discover(table)
    assert not len(laws)
    assert "start <= end" in [str(each) for each in laws.domains]
    assert laws.check(table).coverage() == "All 2 columns are in a law or a rule."


@pytest.mark.parametrize("header", ["value (kUSD)", "value (kUSD, rounded)", "value [EUR]"])
def test_numbers_in_other_units_have_no_order(header):
    rng = np.random.default_rng(0)
    value = np.round(rng.uniform(5, 80, 150), 1)
    price = np.round(value + rng.exponential(30, 150), 2)
    plain = pd.DataFrame({"value": value, "price": price})
    frame = pd.DataFrame({header: value, "price (USD)": price})
    assert any(each.kind == "order" for each in discover(plain).domains)
    assert not any(each.kind == "order" for each in discover(frame).domains)


def test_columns_of_few_values_are_equal():
    rng = np.random.default_rng(0)
    a = rng.integers(1, 6, 80)
    frame = pd.DataFrame({"a": a, "b": a, "x": rng.normal(size=80).round(3)})
    laws = discover(frame)
    assert "a = b" in map(str, laws.domains)
    assert not any(each.kind == "dependency" for each in laws.domains)
    frame.loc[7, "b"] = frame.a[7] % 5 + 1
    (found,) = laws.check(frame)
    assert found.row == 7
    rules = Rules.from_laws(laws)
    assert "a == b" in {str(rule.expression) for rule in rules}
    assert [each.row for each in rules.check(frame)] == [7]
