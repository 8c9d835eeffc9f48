"""Laws between tables: totals by key."""

import numpy as np
import pandas as pd
import pytest

from vanishing.laws import discover_joined


def make_pair(seed=0, n_orders=40):
    """Return orders, whose total is the sum of their lines and shipping, and the lines."""
    rng = np.random.default_rng(seed)
    names = [f"A{100 + i}" for i in range(n_orders)]
    lines = pd.DataFrame({"order": np.repeat(names, rng.integers(2, 6, n_orders))})
    lines["quantity"] = rng.integers(1, 20, len(lines))
    lines["price"] = np.round(rng.uniform(1, 90, len(lines)), 2)
    lines["amount"] = np.round(lines["quantity"] * lines["price"], 2)
    orders = pd.DataFrame({"order": names, "shipping": rng.choice([0, 4.9, 9.9], n_orders)})
    sums = lines.groupby("order")["amount"].sum().to_numpy()
    orders["total"] = np.round(sums + orders["shipping"], 2)
    return orders, lines.sample(frac=1, random_state=seed).reset_index(drop=True)


def find(orders, lines):
    (found,) = discover_joined({"orders": orders, "lines": lines})
    return found


def test_a_total_is_the_sum_of_its_lines():
    found = find(*make_pair())
    assert found.write_laws() == ["orders: total = shipping + [sum of lines.amount], by order"]
    assert (found.table, found.lines, found.key) == ("orders", "lines", "order")
    assert not found.check.rows
    assert not found.notes


@pytest.mark.parametrize("number", [4, 17])
def test_a_wrong_total_is_named_by_its_key(number):
    orders, lines = make_pair(1)
    orders.loc[number, "total"] += 7
    (row,) = find(orders, lines).check.rows
    assert row.name == orders.loc[number, "order"]
    assert "total" in [fix.column for fix in (*row.fixes, *row.alternatives)]


def test_the_line_that_breaks_a_law_of_its_own_is_the_wrong_cell():
    orders, lines = make_pair(2)
    lines.loc[11, "amount"] += 50
    found = find(orders, lines)
    (row,) = found.check.rows
    assert row.name == lines.loc[11, "order"]
    assert found.wrong_lines[row.name].row == 11
    (sentence,) = found.sentences()
    assert f"row 11 of lines is wrong: amount {lines.loc[11, 'amount']:g} should be" in sentence


def test_a_wrong_key_breaks_two_rows():
    orders, lines = make_pair(3)
    before, after = lines.loc[5, "order"], lines.loc[6, "order"]
    assert before != after
    lines.loc[5, "order"] = after
    assert {row.name for row in find(orders, lines).check.rows} == {before, after}


def test_the_number_of_lines_beside_a_wrong_key():
    """The few numbers of lines repeat themselves: rows that do not are no more than wrong ones."""
    rng = np.random.default_rng(0)
    names = [f"A{100 + i}" for i in range(60)]
    parcels = rng.integers(1, 9, 60)
    orders = pd.DataFrame({"order": names, "parcels": parcels, "day": rng.integers(1, 366, 60)})
    lines = pd.DataFrame({"order": np.repeat(names, parcels)})
    lines["weight"] = np.round(rng.lognormal(0, 1, len(lines)), 3)
    lines.loc[5, "order"] = names[40]
    found = find(orders, lines)
    assert found.write_laws() == ["orders: parcels = [number of lines], by order"]
    assert len(found.check.rows) == 2


def test_keys_without_a_counterpart_are_said():
    orders, lines = make_pair(4)
    lines = lines[lines["order"] != "A103"]
    lines.loc[lines.index[0], "order"] = "A999"
    found = find(orders, lines)
    assert found.without_lines == ("A103",)
    assert found.without_row == ("A999",)
    assert found.notes == [
        "1 key (A103) of orders without lines",
        "1 key (A999) of lines not in orders",
    ]


def test_a_key_that_occurs_twice_is_said_with_its_rows():
    orders, lines = make_pair(4)
    orders = pd.concat([orders, orders.iloc[[5]]], ignore_index=True)
    found = find(orders, lines)
    assert found.notes == ["A105 occurs twice in orders: rows 5 and 40, which are not checked"]
    assert found.without_row == ()


def test_order_and_names_do_not_matter():
    orders, lines = make_pair(5)
    orders.loc[3, "total"] += 7
    key = orders.loc[3, "order"]
    orders = orders.sample(frac=1, random_state=0).reset_index(drop=True)
    lines = lines.rename(columns={"order": "belongs to"})[::-1].reset_index(drop=True)
    (found,) = discover_joined({"lines": lines, "orders": orders})
    assert found.lines_key == "belongs to"
    assert [row.name for row in found.check.rows] == [key]


def test_unrelated_tables_have_no_law():
    orders, lines = make_pair(6)
    lines["order"] = np.random.default_rng(0).permutation(lines["order"])
    assert discover_joined({"orders": orders, "lines": lines}) == []
    assert discover_joined({"orders": orders, "others": lines.drop(columns="order")}) == []


def test_a_line_in_another_order_is_no_fitted_coefficient():
    orders, lines = make_pair(3, n_orders=60)
    orders["goods"] = np.round(orders["total"] - orders["shipping"], 2)
    orders["positions"] = orders["order"].map(lines["order"].value_counts())
    first, second = orders["order"][[7, 31]]
    moved = lines.index[lines["order"] == first][0]
    lines.loc[moved, "order"] = second
    found = find(orders, lines)
    assert "orders: goods = [sum of lines.amount], by order" in found.write_laws()
    assert {row.name for row in found.check.rows} == {first, second}


def test_few_different_numbers_of_lines():
    orders, lines = make_pair(4, n_orders=80)
    orders["positions"] = orders["order"].map(lines["order"].value_counts())
    assert "orders: positions = [number of lines], by order" in find(orders, lines).write_laws()
