"""Rules decide the rows that laws decide, and people's rules are checked beside them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.laws import rows, totals, wrong_cells
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.hostile import HOSTILE_NAMES

from vanishing import discover
from vanishing.rules import Rule, Rules, parse
from vanishing.rules.export import to_sql
from vanishing.rules.file import read_rules, write_rules


def noisy(n_rows, rng):
    m, v = rng.uniform(1, 5, (2, n_rows))
    energy = m * v**2 / 2 * (1 + rng.normal(0, 1e-3, n_rows))
    return pd.DataFrame({"m": m, "v": v, "energy": energy})


def power_law(n_rows, rng):
    x = rng.lognormal(1, 1, n_rows)
    return pd.DataFrame({"x": x, "y": 3 * x**1.5 * (1 + rng.normal(0, 1e-3, n_rows))})


def invoices(n_rows, rng):
    net = rng.uniform(1, 100, n_rows).round(2)
    tax = (net * 0.19).round(2)
    return pd.DataFrame({"net": net, "tax": tax, "gross": (net + tax).round(2)})


def blanks(n_rows, rng):
    frame = invoices(n_rows, rng)
    extra = np.where(rng.random(n_rows) < 0.5, np.nan, rng.uniform(1, 9, n_rows).round(2))
    return frame.assign(extra=extra, total=(frame.gross + np.nan_to_num(extra)).round(2))


def wrong(n_rows, rng):
    X, _ = wrong_cells.make_table(rng)
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


KINDS = {
    "noise": noisy, "power": power_law, "invoices": invoices, "blanks": blanks, "wrong": wrong,
    **{kind: lambda n, rng, make=make: make(n, rng)[0] for kind, make in rows.KINDS.items()},
    "totals": lambda n, rng: totals.make_table("subtotals", rng)[0],
}  # fmt: skip


def spoil(frame, rng, largest):
    """Change some cells, and leave some out."""
    frame = frame.copy()
    numbers = [name for name in frame if frame[name].dtype.kind in "if"]
    frame[numbers] = frame[numbers].astype(float)
    for factor in (np.nan, 1.5, 10.0, -1.0, largest):
        place = rng.integers(len(frame)), frame.columns.get_loc(rng.choice(numbers))
        frame.iloc[place] = frame.iloc[place] * factor + 1
    return frame


def told(check):
    return [(each.row, each.laws, each.is_missing, bool(each.fixes)) for each in check]


@pytest.mark.parametrize("kind", KINDS)
def test_rules_decide_what_laws_decide(kind):
    rng = np.random.default_rng(7)
    frame = KINDS[kind](80, rng)
    laws = discover(frame)
    rules = read_rules(write_rules(Rules.from_laws(laws)))
    assert len(rules) == len(laws) + bool(laws.totals) + len(laws.domains)
    assert not rules.unsaid
    assert [rule.text for rule in rules][: len(laws)] == [str(law) for law in laws]
    rounded = frame.round({name: 0 for name in frame if frame[name].dtype.kind == "f"})
    largest = 1e100 if kind == "totals" else 1e200  # its square overflows
    for table in (frame, spoil(frame, rng, largest), spoil(frame, rng, largest), rounded):
        expected, found = laws.check(table), rules.check(table)
        assert told(found) == told(expected)
        assert laws.totals or found.coverage() == expected.coverage()
        assert found.unchecked == expected.unchecked
        if any(rule.kind in ("chain", "total") for rule in rules):
            continue  # a wrong cell of another row breaks a chain in two rows
        adapted = rules.adapt(table)
        broken = [adapted.find_broken(rule, table)[0] for rule in adapted]
        assert (np.any(broken, axis=0) == expected.broken).all() if broken else not len(laws)


def test_an_array_is_checked_by_the_places_of_its_columns():
    X = invoices(60, np.random.default_rng(0)).to_numpy().copy()
    laws = discover(X)
    X[5, 2] += 1
    assert str(Rules.from_laws(laws).check(X)) == str(laws.check(X))


def of_people(*texts, **options):
    return Rules(tuple(Rule(text, parse(text), **options) for text in texts))


FRAME = pd.DataFrame(
    {
        "net": [1.0, 2.0, 3.0, np.nan], "tax": [0.1, 0.2, 0.3, 0.4], "gross": [1.1, 2.2, 9.3, 4.4],
        "start": ["2024-01-01", "2024-01-01", "2024-05-01", "2024-01-01"],
        "end": ["2024-01-02", "2024-01-01", "2024-01-01", ""],
        "status": ["open", "closed", "opne", ""],
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("gross == net + tax", [2]),
        ("start <= end", [2]),
        ("status in ['open', 'closed']", [2]),
        ("status == 'open' or gross > 2", []),
        ("gross - net == tax", [2]),
        ("gross / net == 1.1", [2]),
        ("start == end", [0, 2]),
        ("net is not null", [3]),
        ("gross == round(net * 1.1, 1)", [2]),
        ("gross * gross == net ** 2 + 2 * net * tax + tax ** 2", [2]),
    ],
)
def test_rules_of_people(text, broken):
    check = of_people(text).check(FRAME)
    assert np.flatnonzero(check.broken).tolist() == broken
    (rule,) = of_people(text)
    found, _ = of_people(text).find_broken(rule, FRAME)
    assert np.flatnonzero(found).tolist() == broken


def test_the_cell_of_an_equation_of_people_is_found():
    check = of_people("gross == net + tax", "start <= end").check(FRAME)
    (row,) = [each for each in check if not each.is_missing]
    assert row.laws == (0, 1)
    assert {fix.column: round(fix.fix, 9) for fix in (*row.fixes, *row.alternatives)}[
        "gross"
    ] == 3.3
    assert "start <= end" in check.sentences()[0]


def test_a_rule_of_some_rows():
    (rule,) = of_people("gross == net + tax")
    rule = replace(rule, where=parse("status != 'opne'"))
    assert rule.kind == "condition"
    rules = Rules((rule,))
    assert not rules.check(FRAME).broken.any()
    assert rules.find_broken(rule, FRAME)[1].tolist() == [True, True, False, False]


@pytest.mark.parametrize(("tolerance", "broken"), [(5.9, [2]), (6.1, [])])
def test_a_tolerance(tolerance, broken):
    equation = "gross == net + tax"
    for text in (equation, "gross == round(net + tax, 1)", "2 * gross == gross + net + tax"):
        rules = of_people(text, tolerance=tolerance)
        assert np.flatnonzero(rules.check(FRAME).broken).tolist() == broken
        assert np.flatnonzero(rules.find_broken(rules[0], FRAME)[0]).tolist() == broken


def test_hostile_names_in_tables_and_files():
    names = list(dict.fromkeys(name for name in HOSTILE_NAMES.values() if name.strip()))
    rng = np.random.default_rng(0)
    for first, second, third in zip(names[::3], names[1::3], names[2::3], strict=False):
        a, b = rng.integers(1, 1000, (2, 40)).astype(float)
        frame = pd.DataFrame({first: a, second: b, third: a + b})
        laws = discover(frame)
        rules = Rules.from_laws(laws)
        assert len(rules) == 1 + len(laws.domains)
        assert read_rules(write_rules(rules)) == rules
        frame.iloc[3, 2] += 1
        assert told(rules.check(frame)) == told(laws.check(frame))


@settings(max_examples=50, deadline=None)
@given(
    coefficients=st.lists(st.floats(0.01, 1e6), min_size=2, max_size=4),
    seed=st.integers(0, 99),
)
def test_a_sum_is_kept_up_to_rounding_errors(coefficients, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, len(coefficients)))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(len(coefficients))])
    text = " + ".join(f"{value} * c{j}" for j, value in enumerate(coefficients))
    frame["y"] = X @ coefficients
    rules = of_people(f"y == {text}")
    assert not rules.check(frame).broken.any()
    frame.loc[7, "y"] += 1e-3 * np.abs(X * coefficients).sum()
    for found in (rules.check(frame).broken, rules.find_broken(rules[0], frame)[0]):
        assert np.flatnonzero(found).tolist() == [7]


@pytest.mark.parametrize(
    ("texts", "cells"),
    [
        ((), ["gross", "net", "tax"]),
        (("gross <= 5",), ["gross"]),
        (("net < 5", "tax < 2"), ["gross"]),
        (("gross > 5 or net > 5",), ["gross", "net", "tax"][1:]),
        (("tax in [0.1, 0.2, 0.3]",), ["gross", "net"]),
        (("gross < 1",), ["gross", "net", "tax"]),  # none of them restores it
    ],
)
def test_rules_of_people_rule_out_fixes(texts, cells):
    check = of_people("gross == net + tax", *texts).check(FRAME[:3])
    (row,) = [each for each in check if each.row == 2]
    fixes = [*row.fixes, *row.alternatives]
    assert [fix.column for fix in fixes] == cells
    assert sum(fix.probability for fix in fixes) == pytest.approx(1)


def test_rules_of_people_are_not_checked_in_totals():
    frame = totals.make_table("subtotals", np.random.default_rng(7))[0]
    laws = discover(frame)
    rules = Rules.from_laws(laws)
    name = laws.totals[0].columns[0]
    sums = [each.row for each in laws.totals]
    most = np.delete(frame[name].to_numpy(dtype=float), sums).max()
    own = of_people(f"`{name}` <= {most}")
    assert own.check(frame).broken[sums].any()
    assert not replace(rules, rules=(*rules, *own)).check(frame).broken.any()


def test_a_column_without_a_cell_is_not_checked():
    frame = FRAME.assign(net=[None] * 4, status=[""] * 4)
    rules = of_people("gross == net + tax", "status in ['open']", "net <= 3", "status == 'x'")
    check = rules.check(frame)
    assert not check.broken.any()
    assert check.gaps.keys() == {"net", "status"}


def make_invoices(n_rows=240):
    """Invoices whose rate depends on a country, a truth value and a date."""
    rng = np.random.default_rng(5)
    net = np.round(rng.lognormal(5, 1, n_rows), 2)
    country = rng.choice(["DE", "FR"], n_rows)
    reduced = rng.integers(0, 2, n_rows).astype(float)
    day = np.datetime_as_string(np.datetime64("2021-01-01") + np.arange(n_rows))
    return {
        "country": (country, np.where(country == "DE", 0.19, 0.2)),
        "reduced": (reduced, np.where(reduced == 1, 0.07, 0.19)),
        "day": (day, np.where(day < "2021-05-11", 0.16, 0.19)),
    }, net


@pytest.mark.parametrize("name", ["country", "reduced", "day"])
def test_laws_under_conditions_are_rules_with_where(name):
    columns, net = make_invoices()
    cells, rate = columns[name]
    tax = np.round(net * rate, 2)
    tax[17] += 1.25
    frame = pd.DataFrame({name: cells, "net": net, "tax": tax})
    laws = discover(frame)
    assert sum(law.where is not None for law in laws) == 2
    rules = read_rules(write_rules(Rules.from_laws(laws)))
    assert not rules.unsaid
    assert sum(rule.where is not None for rule in rules) == 2
    assert {row.row for row in rules.check(frame)} == {row.row for row in laws.check(frame)} == {17}


def test_laws_of_few_numbers_are_named_as_unsaid():
    columns, net = make_invoices()
    tax = np.round(net * columns["country"][1] * columns["reduced"][0], 2)
    laws = discover(pd.DataFrame({"net": net, "tax": tax}))
    (said,) = Rules.from_laws(laws).unsaid
    assert said.startswith("tax/net is 0, 0.19 or 0.2: ")


def test_a_law_under_a_condition_says_the_same_as_a_rule():
    """Rates of countries, one of which is 0: the cells are named as by the laws."""
    rng = np.random.default_rng(5)
    rates = {"DE": 0.19, "FR": 0.2, "US": 0.0}
    country = rng.choice(list(rates), 150)
    net = rng.lognormal(5, 1, 150).round(2)
    tax = np.round(net * [rates[each] for each in country], 2)
    frame = pd.DataFrame({"country": country, "net": net, "tax": tax, "gross": net + tax})
    frame = frame.round(2)
    laws = discover(frame)
    rules = read_rules(write_rules(Rules.from_laws(laws)))
    assert rules.unsaid == ()
    broken = frame.copy()
    for name in rates:
        row = int(np.flatnonzero(country == name)[2])
        broken.loc[row, ["tax", "gross"]] += 7
    expected, found = laws.check(broken), rules.check(broken)
    assert expected.broken.sum() == len(rates)
    assert [each.fixes for each in found] == [each.fixes for each in expected]
    assert not rules.check(frame).broken.any()


def test_columns_with_noise_in_percent_beside_others():
    def draw(seed, n_rows):
        rng = np.random.default_rng(seed)
        c, T = 10 ** rng.uniform(-4, 0, n_rows), rng.uniform(280, 340, n_rows)
        E = 0.34 + 4.31e-5 * T * np.log(c) + 0.0005 * rng.normal(size=n_rows)
        c = c * (1 + 0.01 * rng.normal(size=n_rows))
        return pd.DataFrame({"T": T + 0.1 * rng.normal(size=n_rows), "c": c, "E": E})

    laws = discover(draw(0, 600))
    assert laws.proportional_columns == ("c",)
    found = Rules.from_laws(laws)
    rules = read_rules(write_rules(found))
    assert rules == found
    assert [each.name for each in rules.columns if each.proportional] == ["c"]
    other = draw(1, 400)
    other.loc[3, "E"] += 0.01
    broken, checked = rules.adapt(other).find_broken(rules[0], other)
    assert checked.all()
    assert broken[3]
    assert broken.tolist() == laws.check(other).broken.tolist()
    assert rules.check(other).broken.tolist() == broken.tolist()


def test_dates_are_ordered_as_days():
    days = ["02.01.2025", "15.06.2025", None, "31.12.2024", "3l.01.2025"]
    ends = ["03.01.2025", "01.07.2025", "x", "01.01.2025", "01.02.2025"]
    frame = pd.DataFrame({"day": days, "to": ends})
    for text, broken in (
        ("day >= '2025-01-01'", [3, 4]), ("day < '01.06.2025'", [1, 4]), ("day <= to", [4]),
    ):  # fmt: skip
        rules = Rules((Rule("own", parse(text)),))
        assert [each.row for each in rules.check(frame).rows] == broken
    export = to_sql(Rules((Rule("own", parse("day < '01.06.2025'")),)), "orders", "duckdb")
    assert len(export.unsaid) == 1


@pytest.mark.parametrize("bound", [-5, 0])
def test_cells_under_bounds_of_any_sign_are_corrected(bound):
    x = np.arange(-20.0, 20.0)
    frame = pd.DataFrame({"x": x, "y": np.where(x >= bound, 2 * x + 1, 7 * x**2)})
    frame.loc[30, "y"] = 999
    rule = Rule("line", parse("y == 2 * x + 1"), parse(f"x >= {bound}"), source="found")
    (found,) = Rules((rule,)).check(frame)
    assert [(fix.column, fix.fix) for fix in found.fixes] == [("y", 21.0)]
