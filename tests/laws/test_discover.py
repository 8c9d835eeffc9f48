"""``discover`` on tables whose laws are known, on tables without any, and on bad input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.datasets import load_breast_cancer

import vanishing
from vanishing import discover
from vanishing.data import read_table
from vanishing.laws import Laws
from vanishing.laws.soundness import measure_smoothness

rng = np.random.default_rng(0)


def noisy(X, noise, seed=0):
    """Noise in all columns, relative to their spreads."""
    return X + noise * X.std(axis=0) * np.random.default_rng(seed).normal(size=X.shape)


def kinetic(n_rows=400, seed=0):
    m, v = np.random.default_rng(seed).uniform(1, 5, (2, n_rows))
    return np.column_stack([m, v, m * v**2 / 2])


def coulomb(n_rows=1000, seed=0):
    q, Q, epsilon, r = np.random.default_rng(seed).uniform(1, 5, (4, n_rows))
    return np.column_stack([q, Q, epsilon, r, q * Q / (4 * np.pi * epsilon * r**2)])


def accounts(n_rows=300, seed=0):
    """Three sums of whole numbers; the names of the columns come second."""
    a, b, c, d, e = np.random.default_rng(seed).integers(100, 9000, (5, n_rows)).astype(float)
    X = np.column_stack([a, b, a + b, c, d, c + d + e, e, a + b + c + d + e])
    names = ["gov", "private", "services", "mining", "factories", "goods", "building", "total"]
    return X, names


def terms(law):
    return {
        tuple(powers): value
        for powers, value in zip(law.exponents.tolist(), law.coefficients.tolist(), strict=True)
    }


@pytest.mark.parametrize("noise", [0.0, 1e-3, 1e-2, 3e-2])
def test_a_law_of_two_terms_and_degree_three(noise):
    laws = discover(noisy(kinetic(), noise), ["m", "v", "E"])
    assert [str(law) for law in laws] == ["2*E = m*v^2"]
    if noise:
        assert laws.noise == pytest.approx(noise, rel=0.15)
    else:
        assert laws.noise == 0.0
        assert laws[0].extent < 1e-14


def test_callback_hears_of_laws_and_of_the_search_for_the_next():
    X, names = accounts()
    heard = []
    laws = discover(X, names, callback=lambda *progress: heard.append(progress))
    assert [str(law) for law in laws] == [str(law) for law in discover(X, names)]
    assert heard == sorted(heard)  # never back, but with the next law
    assert heard[0] == (0, 0.0)
    assert heard[-1][0] == len(laws)
    assert all(0 <= share <= 1 for _, share in heard)


@pytest.mark.parametrize("noise", [0.0, 1e-3, 1e-2])
def test_degree_four_in_five_columns(noise):
    laws = discover(noisy(coulomb(), noise))
    assert len(laws) == 1
    found = terms(laws[0])
    assert set(found) == {(1, 1, 0, 0, 0), (0, 0, 1, 2, 1)}
    ratio = found[0, 0, 1, 2, 1] / found[1, 1, 0, 0, 0]
    assert ratio == pytest.approx(-4 * np.pi, rel=1e-12 if not noise else 3 * noise)


@pytest.mark.parametrize("scale", [1e-9, 1e6])
def test_units_do_not_matter(scale):
    X = noisy(kinetic(), 1e-3)
    laws = discover(X * [scale, 1, 1 / scale])
    assert len(laws) == 1
    assert set(terms(laws[0])) == {(0, 0, 1), (1, 2, 0)}


def test_seven_terms():
    x, X, y, Y = np.random.default_rng(1).uniform(1, 5, (4, 600))
    table = np.column_stack([x, X, y, Y, np.hypot(X - x, Y - y)])
    laws = discover(noisy(table, 1e-3), ["x", "X", "y", "Y", "d"])
    expected = sympy.sympify("d**2 - (X - x)**2 - (Y - y)**2")
    assert len(laws) == 1
    assert sympy.expand(laws[0].expression - expected) in (0, -2 * sympy.expand(expected))


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_shortest_identities(noise):
    X, names = accounts()
    laws = discover(noisy(X, noise), names)
    assert sorted(str(law) for law in laws) == [
        "goods = mining + factories + building",
        "services = gov + private",
        "total = services + goods",
    ]


@pytest.mark.parametrize("seed", range(12))
def test_no_law_among_independent_columns(seed):
    random = np.random.default_rng(seed)
    n_rows = int(random.integers(50, 800))
    columns = [
        random.normal(size=n_rows),
        random.uniform(1, 5, n_rows),
        random.integers(0, 2, n_rows),
        random.lognormal(size=n_rows),
        random.integers(0, 10, n_rows),
    ]
    laws = discover(np.column_stack(columns[: 2 + seed % 4]).astype(float))
    assert len(laws) == 0
    assert str(laws).startswith("No law found")
    assert np.isnan(laws.noise)


def test_a_rough_line_is_no_law():
    x = np.random.default_rng(0).uniform(0, 1, 500)
    laws = discover(noisy(np.column_stack([x, x**2 + x]), 1e-3))
    assert {powers for law in laws for powers in terms(law)} == {(1, 0), (0, 1), (2, 0)}


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_outliers_do_not_hide_a_law(noise, share):
    random = np.random.default_rng(3)
    X = noisy(kinetic(600), noise)
    broken = random.random(600) < share
    X[broken, 2] += random.uniform(3, 30, broken.sum())
    laws = discover(X, ["m", "v", "E"])
    assert [str(law) for law in laws] == ["2*E = m*v^2"]
    assert set(np.flatnonzero(broken)).isdisjoint(laws[0].support.rows)


def test_small_errors_in_a_few_rows_hide_no_sums():
    rng = np.random.default_rng(3)
    revenue_parts = rng.uniform(1, 9, (3, 500))
    X = noisy(np.column_stack([*revenue_parts, revenue_parts.sum(axis=0)]), 0.01)
    rows, columns = rng.choice(500, 5, replace=False), rng.integers(0, 4, 5)
    X[rows, columns] += rng.choice([-1, 1], 5) * rng.uniform(0.05, 1.5, 5) * X.std(axis=0)[columns]
    (law,) = discover(X, ["cost", "tax", "profit", "revenue"])
    assert str(law) == "revenue = cost + tax + profit"


@pytest.mark.parametrize("power", [1, 2, 3])
def test_residuals_of_a_law_do_not_depend_on_the_columns(power):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (400, 3))
    noise = 0.02 * rng.normal(size=400)
    assert measure_smoothness(noise, rows, 0.02) < 5
    assert measure_smoothness(noise + 0.06 * rows[:, 1] ** power, rows, 0.02) > 10


def test_given_noise():
    X = noisy(kinetic(), 1e-2)
    assert str(discover(X, ["m", "v", "E"], noise=1e-2)[0]) == "2*E = m*v^2"
    columns = 1e-2 * X.std(axis=0)
    laws = discover(X, ["m", "v", "E"], noise=columns)
    np.testing.assert_array_equal(laws.noise, columns)
    assert str(laws[0]) == "2*E = m*v^2"


def test_weights_leave_rows_out():
    X = np.vstack([kinetic(300), rng.uniform(1, 5, (300, 3))])
    laws = discover(X, ["m", "v", "E"], sample_weight=np.repeat([1.0, 0.0], 300))
    assert [str(law) for law in laws] == ["2*E = m*v^2"]


def test_plain_names_and_formulas():
    frame = pd.DataFrame(rng.uniform(1, 2, (300, 2)), columns=["I", "E"])
    frame["S"] = frame["I"] * frame["E"]
    frame["N"] = "text"
    frame["day"] = pd.date_range("2020-01-01", periods=300)
    laws = discover(frame)
    assert laws.names == ("I", "E", "S")
    assert laws[0].expression.free_symbols == set(sympy.symbols("I E S"))
    assert laws.solve_for("E") == [sympy.Symbol("S") / sympy.Symbol("I")]
    assert laws[0].latex == "S = I E"
    assert [note.split()[0] for note in laws.notes] == ["N", "day"]
    assert "S = I*E" in str(laws)
    assert "<table>" in laws._repr_html_()
    with pytest.raises(ValueError, match="no column 'x'; there are 'I', 'E', 'S'"):
        laws.solve_for("x")


def test_files_and_chunks(tmp_path):
    X = kinetic(2000)
    path = tmp_path / "table.csv"
    pd.DataFrame(X, columns=["m", "v", "E"]).assign(who="x").to_csv(path, index=False)
    assert str(discover(path)[0]) == "2*E = m*v^2"
    chunks = [X[:700], X[700:]]
    assert set(terms(discover(chunks)[0])) == {(0, 0, 1), (1, 2, 0)}


def test_residuals_are_values_of_the_expression():
    X = kinetic(50)
    laws = discover(X, ["m", "v", "E"])
    X[3, 2] += 1
    residuals = laws.residuals(X)
    assert residuals.shape == (50, 1)
    value = laws[0].expression.subs(dict(zip(sympy.symbols("m v E"), X[3], strict=True)))
    assert residuals[3, 0] == pytest.approx(float(value))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (np.column_stack([np.full(50, 5.0), rng.normal(size=(50, 2))]), ["x0 = 5"]),
        (rng.normal(size=(50, 1))[:, [0, 0]], ["x0 = x1"]),
        (np.eye(3)[rng.integers(0, 3, 200)], []),  # three different rows are not evidence
        (rng.normal(size=(1, 4)), []),
        (np.empty((0, 3)), []),
        (rng.normal(size=(90, 1)), []),
        (np.array([["a", "b"]] * 30, dtype=object), []),
        (np.ones((30, 2)) * 1j, []),
        (np.full((30, 2), np.nan), []),
    ],
)
def test_unusual_tables_give_laws_or_a_sentence(table, expected):
    laws = discover(table)
    assert [str(law) for law in laws] == expected
    assert isinstance(laws, Laws)
    assert str(laws)


def test_columns_of_very_different_scales():
    x = rng.normal(size=300)
    laws = discover(np.column_stack([x * 1e12, x, rng.normal(size=300)]))
    assert len(laws) == 1
    assert laws[0].columns == ("x0", "x1")


def test_columns_that_count_have_no_law():
    """Any two columns that rise by the same amount from row to row are linear in each other."""
    step = np.arange(400.0)
    assert not len(discover(np.column_stack([1.7e18 + step * 6e10, 3 + 61.3 * step])))


def test_missing_cells_are_left_out():
    X = kinetic()
    X[::10, 1] = np.nan
    laws = discover(X, ["m", "v", "E"])
    assert [str(law) for law in laws] == ["2*E = m*v^2"]
    assert len(laws[0].rows) + laws[0].n_broken == 360


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (np.ones(5), {}, "expected a table of rows and columns, got an array of 1 dimension;"),
        (
            np.ones((5, 2)),
            {"max_degree": 0},
            "max_degree must be a whole number of at least 1, got 0",
        ),
        (np.ones((5, 2)), {"feature_names": ["a"]}, "feature_names has 1 names"),
        (
            np.ones((5, 2)),
            {"random_state": -1},
            "random_state must be a whole number of at least 0",
        ),
        (
            np.ones((5, 2)),
            {"random_state": True},
            "random_state must be a whole number of at least 0",
        ),
        (np.ones((5, 2)), {"noise": "much"}, "noise must be a number from 0 on, or one for each"),
        (np.ones((5, 2)), {"noise": [1.0]}, "one for each of the 2 numeric columns"),
        (np.ones((5, 2)), {"noise": -1.0}, "noise must be a number from 0 on"),
        (np.eye(9)[:, :2] * 1e200, {}, "column 'x0' holds 1e\\+200 in row 0, too large"),
        (np.eye(9)[:, :2] * 1e-200, {}, "column 'x0' holds numbers up to 1e-200 only, too small"),
        (np.ones((5, 2)), {"feature_names": ["a", "a"]}, "'a' more than once"),
    ],
)
def test_bad_options(table, options, message):
    with pytest.raises(ValueError, match=message):
        discover(table, **options)


def test_the_same_seed_gives_the_same_laws():
    X = noisy(coulomb(), 1e-2)
    first, second = discover(X, random_state=1), discover(X, random_state=1)
    np.testing.assert_array_equal(first[0].coefficients, second[0].coefficients)
    assert first[0].p_value == second[0].p_value


def test_standard_errors_cover_the_truth():
    """The volume of cylinders."""
    misses = 0
    for seed in range(20):
        r, h = np.random.default_rng(seed).uniform(1, 5, (2, 300))
        law = discover(noisy(np.column_stack([r, h, np.pi * r**2 * h]), 1e-2, seed))[0]
        found = terms(law)
        unit = found[0, 0, 1]
        position = [tuple(row) for row in law.exponents.tolist()].index((2, 1, 0))
        error = law.standard_errors[position] / abs(unit)
        misses += abs(found[2, 1, 0] / unit + np.pi) > 3 * error
    assert misses <= 2


@pytest.mark.parametrize("noise", [None, [0.01, 0.01, 0.1]])
def test_saved_laws(tmp_path, noise):
    X = noisy(kinetic(), 1e-2)
    laws = discover(X, ["m", "v", "E"], noise=noise)
    laws.save(tmp_path / "laws.safetensors")
    loaded = vanishing.load(tmp_path / "laws.safetensors")
    assert str(loaded) == str(laws)
    np.testing.assert_array_equal(loaded.residuals(X), laws.residuals(X))
    assert loaded.check(X).sentences() == laws.check(X).sentences()
    older = replace(laws, units=None)  # of a file without them
    older.save(tmp_path / "laws.safetensors")
    assert vanishing.load(tmp_path / "laws.safetensors").units is None


def test_no_laws_are_saved_too(tmp_path):
    laws = discover(rng.normal(size=(100, 2)))
    laws.save(tmp_path / "laws.safetensors")
    assert str(vanishing.load(tmp_path / "laws.safetensors")) == str(laws)


def test_the_law_of_a_constant_column_is_exact():
    laws = discover(np.column_stack([rng.normal(size=50), np.full(50, 7.0)]), ["a", "b"])
    (law,) = laws
    assert str(law) == "b = 7"
    assert law.standard_errors.tolist() == [0.0] * len(law.coefficients)


@pytest.mark.parametrize("n_rows", [8, 9, 10, 14])
@pytest.mark.parametrize("seed", range(3))
def test_few_rows(n_rows, seed):
    """Half of the rows are fitted, and the others test the law: more than it has terms."""
    a, b = np.random.default_rng(seed).integers(1, 99, (2, n_rows)).astype(float)
    laws = discover(np.column_stack([a, b, a + b]), ["a", "b", "s"])
    assert list(map(str, laws.equations)) == ["s = a + b"]


@pytest.mark.parametrize("n_rows", [8, 9, 11])
@pytest.mark.parametrize("n_columns", [3, 4, 5, 8])
def test_few_rows_without_a_law(n_rows, n_columns):
    """Outliers were looked for by more rows than there are."""
    table = np.random.default_rng(0).lognormal(size=(n_rows, n_columns))
    assert not discover(table)


def test_public_name():
    assert vanishing.discover is discover


def test_a_rounded_product_beside_an_exact_sum():
    """Rounding errors of the moments hid the square of the product's law, which was listed."""
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(1, 5, (3, 500))
    a, b, c, d = (np.round(each, 4) for each in (a, b, c, a * b))
    table = np.column_stack([a, b, c, d, np.round(c + d, 4)])
    assert [str(law) for law in discover(table, list("abcde"))] == ["d = a*b", "e = c + d"]


def test_a_cell_that_is_far_off_does_not_hide_its_law():
    """The first fit to all rows followed the row that is furthest off."""
    rng = np.random.default_rng(0)
    parts = rng.integers(3000, 9000, (120, 2)).cumsum(axis=0) % 4000 + 5000
    others = rng.integers(100, 900, (120, 3))
    table = np.column_stack([parts, parts.sum(axis=1), others, others.sum(axis=1)]).astype(float)
    table[49, 2] /= 9
    laws = discover(table, ["a", "b", "ab", "c", "d", "e", "cde"])
    assert {str(law) for law in laws} == {"ab = a + b", "cde = c + d + e"}
    (found,) = laws.check(table)
    assert found.row == 49
    assert found.fixes[0].fix == pytest.approx(parts[49].sum())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("heavy", [False, True], ids=["even", "of all sizes"])
def test_an_invoice_rounded_to_cents(seed, heavy):
    """Powers of proportional columns come closer than proportions, and squares than laws."""
    rng = np.random.default_rng(seed)
    price = np.round(np.exp(rng.normal(3, 1, 90)) if heavy else rng.uniform(1, 90, 90), 2)
    quantity = rng.integers(1, 40, 90)
    net = np.round(quantity * price, 2)
    vat = np.round(0.19 * net, 2)
    table = np.column_stack([quantity, price, net, vat, net + vat]).round(2)
    names = ["quantity", "price", "net", "vat", "gross"]
    laws = [str(law) for law in discover(table, names)]
    assert laws == ["net = quantity*price", "19*net = 100*vat", "gross = net + vat"]
    table[17, 4] += 270
    (found,) = discover(table, names).check(table)  # not those that rounding explains
    assert found.row == 17
    assert found.fixes[0].column == "gross"


@pytest.mark.parametrize("with_gross", [False, True])
@pytest.mark.parametrize("rates", [(7, 19, 19, 19), (5, 10, 20)], ids=["one is usual", "three"])
def test_a_shifted_decimal_point_beside_a_column_of_few_values(rates, with_gross):
    """The usual rate was a law of its own, and products with the shifted row came closer."""
    rng = np.random.default_rng(0)
    net = np.round(np.exp(rng.normal(6.5, 0.9, 200)), 2)
    rate = rng.choice(rates, 200)
    tax = np.round(net * rate / 100, 2)
    right = tax[50]
    tax[50] = np.round(10 * right, 2)
    table = np.column_stack([net, rate, tax])
    names = ["net", "rate", "tax"]
    if with_gross:
        table, names = np.column_stack([table, np.round(net + tax, 2)]), [*names, "gross"]
    laws = discover(table, names)
    texts = {"100*tax = net*rate"} | ({"gross = net + tax"} if with_gross else set())
    assert {str(law) for law in laws} == texts
    (found,) = laws.check(table)
    assert found.row == 50
    fixes = {fix.column: fix.fix for fix in found.fixes}
    assert fixes.get("tax", right) == pytest.approx(right, abs=0.05)


def test_a_percentage_that_is_zero_in_most_rows():
    """Rows of zeros had no noise, so that all others were errors; one fit had no row left."""
    rng = np.random.default_rng(0)
    price = np.round(np.exp(rng.normal(5, 1, 300)), 2)
    percent = rng.choice([0, 0, 0, 5, 10, 25], 300)
    discount = np.round(price * percent / 100, 2)
    assert np.mean(discount == 0) > 0.45
    row = int(np.flatnonzero(percent)[7])
    discount[row] += 90
    table = np.column_stack([price, percent, discount])
    laws = discover(table, ["price", "percent", "discount"])
    (law,) = laws
    assert sorted(law.exponents.tolist()) == [[0, 0, 1], [1, 1, 0]]
    assert law.coefficients[0] / law.coefficients[1] == pytest.approx(-100, rel=1e-3)
    assert row in [found.row for found in laws.check(table)]


def test_a_law_times_a_factor_is_no_law():
    """The factor was zero in the two rows that break the law, which were called right."""
    rng = np.random.default_rng(1)
    before = rng.uniform(5000, 90_000, 180).round(2)
    debit = np.exp(rng.normal(6, 0.7, 180)).round(2)
    table = np.column_stack([before, debit, (before - debit).round(2)])
    table[[30, 121], 1] *= [10, 1.5]
    laws = discover(table, ["before", "debit", "after"])
    assert [str(law) for law in laws] == ["before = debit + after"]
    assert sorted(found.row for found in laws.check(table)) == [30, 121]


def test_wrong_cells_of_a_wide_table_with_few_rows():
    """There were too few rows for each column to look for outliers: every row was called right."""
    rng = np.random.default_rng(0)
    months = rng.uniform(500, 5000, (55, 12)).round(2)
    quarters = months.reshape(55, 4, 3).sum(axis=2).round(2)
    year = quarters.sum(axis=1).round(2)
    others = rng.uniform(10, 900, (55, 6)).round(1)
    table = np.column_stack([months, quarters, year, others])
    table[6, 4] *= 10
    table[29, 14] += 630
    names = [f"m{k}" for k in range(1, 13)] + ["q1", "q2", "q3", "q4", "year", *"abcdef"]
    laws = discover(table, names)
    assert {str(law) for law in laws} == {
        "q1 = m1 + m2 + m3",
        "q2 = m4 + m5 + m6",
        "q3 = m7 + m8 + m9",
        "q4 = m10 + m11 + m12",
        "year = q1 + q2 + q3 + q4",
    }
    assert sorted(found.row for found in laws.check(table)) == [6, 29]


def test_one_typo_in_few_rows_of_many_columns_hides_no_law():
    rng = np.random.default_rng(0)
    parts = rng.integers(100, 900, (36, 4))
    salary, side = rng.integers(2000, 4000, 36), rng.integers(50, 500, 36)
    spent, income = parts.sum(axis=1) + 145, salary + side
    columns = [salary, side, income, *parts.T, np.full(36, 145), spent, income - spent]
    table = np.column_stack(columns).astype(float)
    table[22, 4] += 90
    names = ["salary", "side", "income", "rent", "food", "car", "fun", "fee", "spent", "left"]
    laws = discover(table, names)
    assert "spent = rent + food + car + fun + 145" in {str(law) for law in laws}
    (found,) = laws.check(table)
    assert found.row == 22
    assert "food" in {fix.column for fix in (*found.fixes, *found.alternatives)}


@pytest.mark.parametrize("noise", [0.003, 0.02])
def test_noise_in_proportion_to_the_values(noise):
    rng = np.random.default_rng(3)
    d, length = np.exp(rng.uniform(0, np.log(50), (2, 400)))
    mass = 0.0617 * d**2 * length
    X = np.column_stack([d, length, mass])
    X *= 1 + noise * rng.normal(size=X.shape)
    laws = discover(X, ["d", "length", "mass"])
    assert laws.proportional
    assert [law.columns for law in laws] == [("d", "length", "mass")]
    assert laws.noise == pytest.approx(noise, rel=0.15)
    assert laws[0].degree == 3
    assert "% of the values" in laws.summary()
    # Small values have little noise: rows are sound all over the range.
    assert laws.check(X).broken.mean() < 0.02
    changed = X.copy()
    smallest = int(np.argmin(mass))
    changed[smallest, 2] *= 1 + 20 * noise
    found = laws.check(changed)
    assert found.broken[smallest]


def test_noise_that_all_rows_have_alike():
    rng = np.random.default_rng(4)
    d, length = np.exp(rng.uniform(0, np.log(50), (2, 400)))
    X = np.column_stack([d, length, d * length])
    X += 0.01 * X.std(axis=0) * rng.normal(size=X.shape)
    laws = discover(X, ["d", "length", "area"])
    assert [str(law) for law in laws] == ["area = d*length"]
    assert not laws.proportional


def test_the_lowest_degree_that_says_the_same():
    rng = np.random.default_rng(2)
    x, y, u = rng.uniform(1, 5, (3, 500))
    X = np.column_stack([x, y, x * y, u, y + u])
    X += 0.001 * X.std(axis=0) * rng.normal(size=X.shape)
    laws = discover(X, ["x", "y", "z", "u", "w"])
    assert {str(law) for law in laws} == {"z = x*y", "w = y + u"}


def test_of_many_chunks_some_rows_are_drawn(monkeypatch):
    monkeypatch.setattr("vanishing.laws.table.MOST_DRAWN", 150)
    X, names = accounts(n_rows=1000)
    laws = discover([X[i : i + 100] for i in range(0, 1000, 100)], names)
    whole = discover(X, names)
    assert [str(law) for law in laws.equations] == [str(law) for law in whole.equations]
    assert any("in 150 of 1000 rows, drawn at random" in note for note in laws.notes)


@pytest.mark.parametrize("seed", range(3))
def test_an_invoice_with_two_tax_rates(seed):
    """Columns of few values have polynomials of their own; what follows from them is no law."""
    rng = np.random.default_rng(seed)
    net = np.round(rng.lognormal(6, 1, 240), 2)
    rate = rng.choice([7.0, 19.0], 240, p=[0.25, 0.75])
    shipping = rng.choice([0.0, 4.9, 9.9], 240, p=[0.1, 0.2, 0.7])
    tax = np.round(net * rate / 100, 2)
    X = np.column_stack([net, rate, tax, shipping, net + tax + shipping])
    X[11, 4] *= 10
    X[50, 2] += 90
    laws = discover(X, ["net", "rate", "tax", "shipping", "gross"])
    true = {"gross = net + tax + shipping", "100*tax = net*rate"}
    assert "gross = net + tax + shipping" in {str(law) for law in laws} <= true
    assert np.flatnonzero(laws.check(X).broken).tolist() == [11, 50]


def test_the_lowest_of_the_powers_that_say_the_same():
    """With noise in proportion to the values, U⁴ = R²P² is as close as U² = R P."""
    rng = np.random.default_rng(0)
    R, current = np.exp(rng.uniform(0, np.log(50), (2, 180)))
    X = np.column_stack([R * current, R, current, R * current**2])
    X *= 1 + 0.01 * rng.normal(size=X.shape)
    laws = discover(X, ["U", "R", "I", "P"])
    assert len(laws) == 2
    assert max(law.degree for law in laws) <= 2


def test_formulas_of_a_column():
    """Each once, and none from laws that do not name it or that have none."""
    rng = np.random.default_rng(0)
    a, b, x = rng.uniform(1, 2, (3, 60))
    laws = discover(np.column_stack([a, b, a * b, x, x**2]), ["a", "b", "c", "x", "y"])
    assert [str(formula) for formula in laws.solve_for("a")] == ["c/b"]
    assert sorted(str(formula) for formula in laws.solve_for("x")) == ["-sqrt(y)", "sqrt(y)"]
    with pytest.raises(ValueError, match="there is no column 'z'"):
        laws.solve_for("z")


@pytest.mark.parametrize(("n_columns", "degree"), [(5, None), (30, 3), (70, 2)])
def test_many_columns_are_searched_to_a_lower_degree(n_columns, degree):
    table = np.random.default_rng(0).normal(size=(100, n_columns))
    notes = [note for note in discover(table).notes if "degree" in note]
    expected = f"laws of degree {degree} and more were not looked for in {n_columns} columns"
    assert notes == ([] if degree is None else [expected])
    assert not discover(table, max_degree=1).notes


def test_noise_of_zero_is_that_of_exact_laws():
    a, b = np.random.default_rng(0).uniform(1, 2, (2, 60))
    X = np.column_stack([a, b, a + b])
    assert [str(law) for law in discover(X, noise=0.0)] == ["x2 = x0 + x1"]
    X[:, 2] += 1e-3 * np.random.default_rng(1).normal(size=60)
    assert len(discover(X, noise=0.0)) == 0


def test_a_law_of_four_terms_and_degree_three():
    x, y, z = np.random.default_rng(0).uniform(1, 2, (3, 80))
    (law,) = discover(np.column_stack([x, y, z, x**3 - x * y + 2 * z]), ["x", "y", "z", "w"])
    assert str(law) == "x*y + w = x^3 + 2*z"


def test_of_many_rows_the_coefficients_come_from_all():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 2, (2, 50_000))
    X = np.column_stack([a, b, 1.234567 * a * b]) + 0.02 * rng.normal(size=(50_000, 3))
    (law,) = discover(X)
    ratio = np.abs(law.coefficients).max() / np.abs(law.coefficients).min()
    assert ratio == pytest.approx(1.234567, abs=3e-4)


@pytest.mark.parametrize("seed", [3, 12])
def test_the_better_law_may_be_just_beyond_a_noise_level(seed):
    """Of noisy rows a wrong law is a little closer than the true one; it is less likely."""
    draw = np.random.default_rng(seed)
    a, b, c = np.exp(2 * draw.uniform(-1, 1, (3, 200)))
    X = np.column_stack([a, b, c, a * b / c])
    X += 0.03 * X.std(axis=0) * draw.standard_normal(X.shape)
    assert list(map(str, discover(X, ["a", "b", "c", "d"]).equations)) == ["a*b = c*d"]


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_laws_are_not_multiplied_by_known_ones(seed):
    """With f = c² known, c² d = c² a + f b is as short and as close as d = a + b."""
    draw = np.random.default_rng(seed)
    a, b, c = draw.uniform(1, 5, (3, 400))
    X = np.column_stack([a, b, c, a + b, a * b + c, c**2])
    X += 0.01 * X.std(axis=0) * draw.standard_normal(X.shape)
    found = sorted(map(str, discover(X, list("abcdef")).equations))
    assert found == ["d = a + b", "e = a*b + c", "f = c^2"]


def test_a_power_of_a_law_is_replaced_by_the_law():
    """U^4 = R^2 P^2 says that U^2 = R P."""
    r, p = np.random.default_rng(0).uniform(1, 2, (2, 100))
    laws = discover(np.column_stack([np.sqrt(r * p), r, p]), ["U", "R", "P"])
    assert [str(law) for law in laws] == ["U^2 = R*P"]


def freight(n_rows=300, seed=0):
    """Prices in cents: weight times rate, an eighth more for fuel, and the sum."""
    rng = np.random.default_rng(seed)
    weight, rate = rng.lognormal(2, 1, n_rows).round(2), rng.choice([0.95, 1.3, 2.25, 3.6], n_rows)
    cost = (weight * rate).round(2)
    fuel = (0.15 * cost).round(2)
    table = {"weight": weight, "rate": rate, "cost": cost, "fuel": fuel}
    return pd.DataFrame(table | {"price": (cost + fuel).round(2)})


def test_proportional_columns_do_not_replace_those_of_a_product():
    found = {str(law) for law in discover(freight())}
    assert "cost = weight*rate" in found  # not 23*cost^2 = 20*weight*rate*price
    assert "price = cost + fuel" in found


def test_rounded_numbers_have_simple_coefficients():
    rng = np.random.default_rng(1)
    base = rng.lognormal(8, 0.5, 200).round(2)
    table = pd.DataFrame({"gross": base, "tax": (0.1935 * base).round(2)})
    assert [str(law) for law in discover(table)] == ["387*gross = 2000*tax"]
    volume = rng.integers(5000, 600000, 300)
    table = pd.DataFrame({"volume": volume, "weight": (volume / 6000).round(2)})
    assert [str(law) for law in discover(table)] == ["volume = 6000*weight"]


@pytest.mark.parametrize("n_values", [2, 3])
def test_what_follows_from_the_values_of_a_switch_is_no_law(n_values):
    """Of k in {0, 1}, k² = k, and so y = k x says that y² = k x²."""
    rng = np.random.default_rng(0)
    k, x = rng.integers(0, n_values, 200), rng.uniform(1, 5, 200)
    laws = discover(np.column_stack([k, x, k * x]), ["k", "x", "y"])
    assert [str(law) for law in laws] == ["y = k*x"]


@pytest.mark.parametrize("unit", [1e-60, 1e-30, 1e30, 1e60])
def test_coefficients_in_large_and_small_units(unit):
    rows = np.random.default_rng(0).uniform(1, 3, (200, 4))
    table = unit * np.column_stack([rows, rows.prod(axis=1)])
    (law,) = discover(table)
    ratio = (
        law.coefficients[law.exponents.sum(axis=1) == 1]
        / law.coefficients[law.exponents.sum(axis=1) == 4]
    )
    assert float(np.log10(-ratio[0])) == pytest.approx(3 * np.log10(unit), abs=1e-9)


def test_coefficients_beyond_all_numbers_are_refused():
    rows = np.random.default_rng(0).uniform(1, 3, (200, 4))
    table = np.column_stack([1e70 * rows, 1e-70 * rows.prod(axis=1)])
    with pytest.raises(ValueError, match="coefficients differ by more than a factor of 4e\\+292"):
        discover(table)


@pytest.mark.parametrize("error", [1e4, -1e6, 1e9, 1e12, 1e15, 2.0**63, 1e25, 1e70])
@pytest.mark.parametrize("law", ["sum", "product", "steps"])
def test_one_gross_error_hides_no_law(law, error):
    rng = np.random.default_rng(0)
    table = rng.uniform(1, 3, (60, 3))
    table[:, 2] = table[:, 0] + table[:, 1] if law == "sum" else table[:, 0] * table[:, 1] ** 2
    if law == "steps":
        table = np.arange(180.0).reshape(60, 3)
    broken = table.copy()
    broken[1, 2] = error
    laws = discover(broken)
    check = laws.check(broken)
    assert [found.row for found in check] == [1]
    fixes = {fix.column: fix.fix for fix in (*check[0].fixes, *check[0].alternatives)}
    assert fixes["x2"] == pytest.approx(table[1, 2])
    for each in laws:
        assert np.abs(each.values(table)).max() < 1e-9 * np.abs(table).max() ** each.degree
    if abs(error) >= 1e7 and law == "product":  # others are found without noise
        assert f"no law was fitted to a row with {error:.3g} in x2" in laws.notes[0]


def test_large_and_small_numbers_are_no_gross_errors():
    x = 10.0 ** np.random.default_rng(0).uniform(-8, 8, 100)
    laws = discover(np.column_stack([x, 3 * x**2]))
    assert [str(law) for law in laws] == ["x1 = 3*x0^2"]
    assert laws.n_rows == 100


@pytest.mark.parametrize("n_columns", [60, 150])
def test_sums_in_wide_tables(n_columns):
    """Tables of 60 columns and more had no law of more than four terms."""
    table = np.random.default_rng(0).normal(100, 20, (300, n_columns)).round(1)
    table[:, 7] = table[:, 10:18].sum(axis=1)
    table[:, 8] = table[:, 20] - table[:, 21:25].sum(axis=1)
    assert {str(law) for law in discover(table)} == {
        "x7 = x10 + x11 + x12 + x13 + x14 + x15 + x16 + x17",
        "x20 = x8 + x21 + x22 + x23 + x24",
    }


@pytest.mark.parametrize("n_rows", [100, 400])
@pytest.mark.parametrize("share", [0.08, 0.12, 0.2])
def test_a_column_that_is_zero_in_most_rows(share, n_rows):
    """gross = base was the law, and all who got a bonus broke it."""
    rng = np.random.default_rng(0)
    base = rng.integers(1000, 5000, n_rows)
    bonus = np.where(rng.random(n_rows) < share, rng.integers(100, 900, n_rows), 0)
    overtime = np.where(rng.random(n_rows) < share, rng.integers(100, 900, n_rows), 0)
    gross = base + bonus + overtime
    table = np.column_stack([base, bonus, overtime, gross, rng.integers(20, 60, n_rows)])
    laws = discover(table, ["base", "bonus", "overtime", "gross", "age"])
    assert [str(law) for law in laws] == ["gross = base + bonus + overtime"]
    table[3, 3] += 90
    (found,) = laws.check(table)
    assert found.row == 3


@pytest.mark.parametrize(("share", "n_rows"), [(0.05, 400), (0.2, 100), (0.1, 4000)])
def test_a_discount_that_few_get(share, n_rows):
    """Totals without a discount are exact, those with one are rounded."""
    rng = np.random.default_rng(1)
    quantity, price = rng.integers(1, 50, n_rows), rng.uniform(1, 90, n_rows).round(2)
    discount = np.where(rng.random(n_rows) < share, rng.choice([5, 10, 15], n_rows), 0)
    total = (quantity * price * (100 - discount) / 100).round(2)
    table = np.column_stack([quantity, price, discount, total])
    laws = discover(table, ["quantity", "price", "discount", "total"])
    assert [str(law) for law in laws] == [
        "100*quantity*price = quantity*price*discount + 100*total"
    ]
    assert len(laws.check(table)) == 0


def test_broken_rows_stay_broken_beside_a_rare_column():
    rng = np.random.default_rng(0)
    base = rng.integers(1000, 5000, 200)
    rare = np.where(rng.random(200) < 0.1, rng.integers(100, 900, 200), 0)
    total = base.copy()
    total[[5, 50, 150]] += [90, 130, 270]
    laws = discover(np.column_stack([base, rare, total]), ["base", "rare", "total"])
    assert [str(law) for law in laws] == ["base = total"]
    assert [found.row for found in laws.check(np.column_stack([base, rare, total]))] == [5, 50, 150]


def test_laws_are_divided_by_what_other_laws_give_all_terms():
    """Each was found times a column: w*area = 2*w^2*h + 2*w^2*l + 2*volume."""
    rng = np.random.default_rng(1)
    w, h, length = rng.uniform(1, 10, (3, 200))
    area = 2 * (w * h + w * length + h * length)
    table = np.column_stack([w, h, length, area, w * h * length]).round(3)
    laws = discover(table, ["w", "h", "l", "area", "volume"])
    assert {str(law) for law in laws} == {"volume = w*h*l", "area = 2*w*h + 2*w*l + 2*h*l"}
    hours, rate = rng.integers(120, 180, 120), rng.uniform(15, 60, 120).round(2)
    gross = (hours * rate).round(2)
    bonus = np.where(rng.random(120) < 0.3, rng.uniform(100, 900, 120).round(2), 0.0)
    tax = (0.25 * (gross + bonus)).round(2)
    laws = discover(np.column_stack([hours, rate, gross, bonus, tax]))
    assert {str(law) for law in laws} == {"x2 = x0*x1", "4*x4 = x2 + x3"}


def test_a_cubic_law_beside_broken_rows_of_an_invoice():
    """Rows that hide a law of degree 3 were found in tables of up to 6 columns."""
    rng = np.random.default_rng(0)
    quantity, price = rng.integers(1, 40, 300), rng.lognormal(3, 1, 300).round(2)
    discount, rate = rng.choice([0, 5, 10, 15], 300), rng.choice([7, 19], 300)
    net = (quantity * price * (100 - discount) / 100).round(2)
    vat = (net * rate / 100).round(2)
    columns = {"quantity": quantity, "price": price, "discount": discount, "net": net}
    table = pd.DataFrame(columns | {"rate": rate, "vat": vat, "total": (net + vat).round(2)})
    table.loc[5, "total"] += 9
    table.loc[100, "quantity"] += 10
    table.loc[200, "vat"] *= 10
    laws = discover(table)
    assert {str(law) for law in laws} == {
        "total = net + vat",
        "100*vat = net*rate",
        "100*quantity*price = quantity*price*discount + 100*net",
    }
    found = {each.row: each.fixes[0].column for each in laws.check(table)}
    assert set(found) == {5, 100, 200}
    assert (found[5], found[200]) == ("total", "vat")


@pytest.mark.parametrize("seed", [4, 5])
def test_values_far_off_make_no_false_law(seed):
    """Up to three equations of degree 4 with 8 % of noise were found."""
    rng = np.random.default_rng(0)
    opening, received, shipped = rng.integers(0, 1000, (3, 150)).astype(float)
    closing, cost = opening + received - shipped, rng.uniform(1, 50, 150).round(2)
    value = rng.uniform(1, 5000, 150).round(2)
    table = np.column_stack([opening, received, shipped, closing, cost, value])
    rng = np.random.default_rng(seed)
    far = rng.random(table.shape) < 0.08
    table = np.where(far, table * rng.choice([0.1, 10], table.shape) + 1, table)
    assert {str(law) for law in discover(table)} <= {"x0 + x1 = x2 + x3"}


@pytest.mark.parametrize("n_rows", [41, 300])
def test_a_row_beyond_comparison_is_left_out_and_noted(n_rows):
    a, b = np.random.default_rng(0).uniform(1, 5, (2, n_rows))
    X = np.column_stack([a, b, a + b])
    X[7, 0] = 1e14
    laws = discover(X, ["a", "b", "total"])
    assert "no law was fitted to a row with 1e+14 in a" in " ".join(laws.notes)
    assert [str(law) for law in laws] == ["total = a + b"]


@pytest.mark.parametrize("kind", ["date32[day][pyarrow]", "timestamp[s][pyarrow]"])
def test_dates_beyond_the_year_9999(kind, tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(
        c=lambda each: each.a + each.b
    )
    step, number = (1, "int32") if kind.startswith("date") else (86400, "int64")
    days = pd.Series((3_500_000 + np.arange(60)) * step, dtype=f"{number}[pyarrow]")
    table["day"] = days.astype(kind)
    laws = discover(table)
    assert [str(law) for law in laws] == ["c = a + b"]
    assert laws.notes[0].startswith("day is set aside: text, '11552-09-04")
    table.to_parquet(tmp_path / "table.parquet")
    laws = discover(tmp_path / "table.parquet")
    assert [str(law) for law in laws] == ["c = a + b"]
    assert "day is set aside" in laws.notes[0]
    assert "11552-09-04" in laws.notes[0]


def spoil(X, rng, share):
    """Replace cells by those of other rows, or by ten times their value."""
    wrong = rng.uniform(size=X.shape) < share
    others = rng.permuted(X, axis=0)
    return np.where(wrong, np.where(rng.uniform(size=X.shape) < 0.5, 10 * X, others), X), wrong


@pytest.mark.parametrize("decimals", [2, 15])
def test_one_cell_in_twenty_is_wrong(decimals):
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(1, 9, (3, 500))
    columns = {"a": a, "b": b, "c": c, "d": a + b + c, "e": c * a, "f": rng.normal(size=500)}
    X = np.round(np.column_stack(list(columns.values())), decimals)
    spoiled, wrong = spoil(X, rng, 0.05)
    laws = discover(spoiled, list(columns))
    assert {str(law) for law in laws} == {"d = a + b + c", "e = a*c"}
    broken = laws.check(spoiled).broken
    changed = (np.abs(spoiled - X) > 0.1)[:, :5].any(axis=1)
    assert broken[changed].mean() > 0.98
    assert broken[~wrong.any(axis=1)].mean() < 0.02


def test_wrong_cells_make_no_law():
    rng = np.random.default_rng(1)
    for _ in range(5):
        X, _ = spoil(rng.lognormal(1, 0.6, (300, 5)), rng, 0.05)
        assert not len(discover(X))


def test_sums_of_small_prices():
    rng = np.random.default_rng(2)
    parts = np.round(rng.uniform(1, 9, (3, 400)), 3)
    X = np.round(np.column_stack([*parts, parts.sum(axis=0)]), 2)  # a third is off by a cent
    assert [str(law) for law in discover(X, ["a", "b", "c", "d"])] == ["d = a + b + c"]


def test_a_column_of_zeros():
    a, b = np.random.default_rng(0).uniform(1, 5, (2, 60))
    laws = discover(np.column_stack([a, b, a * b, np.zeros(60)]))
    assert {str(law) for law in laws} == {"x3 = 0", "x2 = x0*x1"}


@pytest.mark.parametrize("seed", range(15))
def test_rows_in_which_all_terms_are_zero_are_not_evidence(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, 100, 20).astype(float), np.zeros(20)
    b[rng.choice(20, 3, replace=False)] = rng.integers(1, 50, 3)
    laws = discover(np.column_stack([a, b, a * b, rng.normal(size=20)]), list("abcd"))
    assert not laws.check([[7.0, 0.0, 0.0, 0.1]]).broken.any()


def test_rows_of_files_are_numbered_from_one(tmp_path):
    a, b = np.random.default_rng(0).integers(1, 100, (2, 40))
    total = a + b
    total[9] += 50
    path = tmp_path / "sums.csv"
    lines = [f"{x},{y},{z}" for x, y, z in zip(a, b, total, strict=True)]
    path.write_text("\n".join(["a,b,total", *lines]) + "\n")
    table = read_table(path)
    laws = discover(table)
    assert [str(law) for law in laws] == ["total = a + b"]
    for X in (path, table):
        (broken,) = laws.check(X)
        assert (broken.row, str(broken.name)) == (9, "10")
    (broken,) = laws.check(table.keep(np.arange(5, 40)))
    assert (broken.row, str(broken.name)) == (4, "10")
    lines[19] = "1e300,1,2"
    path.write_text("\n".join(["a,b,total", *lines]) + "\n")
    for X in (path, read_table(path)):
        with pytest.raises(ValueError, match="1e\\+300 in row 20, too large"):
            discover(X)
    with pytest.raises(ValueError, match="1e\\+300 in row 19, too large"):
        discover(read_table(path).values)


@pytest.mark.parametrize("seed", range(3))
def test_heavy_tails_are_correlated_like_their_logarithms(seed):
    """A few large numbers make up the spread, and any equation fits the others well beside it."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(250, 2)) @ rng.normal(size=(2, 5))
    X = factors / factors.std(axis=0) + 0.15 * rng.normal(size=factors.shape)
    assert not len(discover(X))
    assert not len(discover(np.exp(X)))


def test_columns_that_measure_the_same_thing_have_no_law():
    data = load_breast_cancer()
    assert not len(discover(data.data[:, :10], list(data.feature_names[:10])))


def test_a_power_of_an_equation_is_not_another_equation():
    """Most rows are within rounding to thousands, and the others are not."""
    rng = np.random.default_rng(3)
    flash = rng.normal(0, 3e6, 18).round(2)
    report = (flash / 1000).round() * 1000
    flash[[0, 4]] += 20_000
    laws = discover(np.column_stack([flash, report, report - flash]), ["flash", "report", "off"])
    assert {law.degree for law in laws} == {1}


CURVES = {
    "period of a pendulum": ((0.3, 1.5), lambda x: 2.006 * np.sqrt(x), {(1, 0), (0, 2)}),
    "way of a falling body": ((0.2, 2.0), lambda x: 4.905 * x**2, {(2, 0), (0, 1)}),
    "pressure of a gas": ((1.0, 6.0), lambda x: 13.3 / x, {(0, 0), (1, 1)}),
    "volume of a sphere": ((1.0, 4.0), lambda x: 4.189 * x**3, {(3, 0), (0, 1)}),
}


@pytest.mark.parametrize("name", CURVES)
def test_powers_of_one_column_are_laws(name):
    """A polynomial regression says as much, but takes more coefficients to do so."""
    (low, high), curve, expected = CURVES[name]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.uniform(low, high, 120)
        X = noisy(np.column_stack([x, curve(x)]), 0.003, seed)
        (law,) = discover(np.column_stack([X, rng.normal(10, 2, (120, 2))]))
        assert {powers[:2] for powers in terms(law)} == expected


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_law_of_a_curve_says_more_than_regression(noise):
    """Two coefficients of Michaelis and Menten, and many of any polynomial as close as that."""
    rng = np.random.default_rng(0)
    S = rng.uniform(0.2, 12, 300)
    laws = discover(noisy(np.column_stack([S, 2.46 * S / (S + 1.02)]), noise), ["S", "v"])
    assert [terms(law).keys() for law in laws] == [{(1, 0), (0, 1), (1, 1)}]


# --- What noise does to constants and rows --------------------------------------------------------


def nernst(seed, n_rows=600):
    """Voltages that are off by as much everywhere, and concentrations by 1 %."""
    rng = np.random.default_rng(seed)
    c, T = 10 ** rng.uniform(-4, 0, n_rows), rng.uniform(280, 340, n_rows)
    E = 0.34 + 4.31e-5 * T * np.log(c) + 0.0005 * rng.normal(size=n_rows)
    T = T + 0.1 * rng.normal(size=n_rows)
    return pd.DataFrame({"T": T, "c": c * (1 + 0.01 * rng.normal(size=n_rows)), "E": E})


@pytest.mark.parametrize("seed", [0, 2])
def test_columns_that_range_over_powers_of_ten_have_noise_in_percent(seed):
    laws = discover(nernst(seed))
    assert [law.columns for law in laws] == [("T", "c", "E")]
    assert laws.proportional_columns == ("c",)
    assert "of the values of c" in laws.summary()
    # The documentation promises one false alarm in 200 rows.
    assert laws.check(nernst(seed + 100, 2000)).broken.mean() < 0.01


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_standard_errors_cover_the_constant(noise):
    scores = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 5])
        m, v = rng.uniform(1, 5, (2, 200))
        X = np.column_stack([m, v, 0.4871 * m * v**2])
        (law,) = discover(X * (1 + noise * rng.normal(size=X.shape)), ["m", "v", "E"])
        assert law.columns == ("m", "v", "E")
        constant = np.abs(law.coefficients)
        error = law.standard_errors.max()
        assert error > 0
        scores.append((constant.max() - 1 / 0.4871) / error)
    # For 12 scores of a standard normal variable, once in a thousand times it is more.
    assert np.sqrt(np.mean(np.square(scores))) < 1.6
    assert abs(np.mean(scores)) < 3.3 / np.sqrt(12)


def test_numbers_that_nobody_writes_do_not_replace_a_constant():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, T, V = rng.uniform([[0.5], [250], [5]], [[3], [450], [40]], (3, 120))
        X = np.column_stack([n * 8.314462618 * T / V, V, n, T])
        (law,) = discover(X * (1 + 0.004 * rng.normal(size=X.shape)), ["p", "V", "n", "T"])
        assert law.standard_errors.any(), str(law)


def test_a_half_is_still_a_half():
    texts = []
    for seed in range(8):
        rng = np.random.default_rng([seed, 1])
        X = kinetic(200, seed) * (1 + 0.02 * rng.normal(size=(200, 3)))
        texts += [str(law) for law in discover(X, ["m", "v", "E"])]
    assert texts.count("2*E = m*v^2") >= 7


def test_rows_that_break_a_law_are_counted_alike():
    pytest.importorskip("matplotlib").use("Agg")
    X = noisy(coulomb(600), 0.01)
    X[7, 4] *= 3
    laws = discover(X)
    broken = laws.check(X).broken
    (law,) = laws
    assert law.n_broken == broken.sum() > 0
    assert len(law.rows) + law.n_broken == len(X)
    texts = [text.get_text() for text in laws.plot(X)[0, 0].texts]
    assert any(f"{law.n_broken} break" in text for text in texts)


def pendulum(n_rows=400):
    rng = np.random.default_rng(0)
    length = rng.uniform(0.2, 2, n_rows)
    period = 2 * np.pi * np.sqrt(length / 9.81)
    noise = np.array([0.002, 0.01])
    X = np.column_stack([length, period]) + noise * rng.normal(size=(n_rows, 2))
    return X, noise


@pytest.mark.parametrize("factor", [0.6, 0.8, 1.5])
def test_noise_that_is_given_a_little_wrong(factor):
    X, noise = pendulum()
    laws = discover(X, ["L", "T"], noise=factor * noise)
    assert [law.exponents.tolist() for law in laws] == [[[1, 0], [0, 2]]]
    assert any("times the one that was given" in note for note in laws.notes)
    assert laws.noise == pytest.approx(noise, rel=0.15)


def test_noise_that_is_given_far_too_large():
    X, noise = pendulum()
    laws = discover(X, ["L", "T"], noise=5 * noise)
    assert not len(laws)
    assert any("without it, the noise is estimated" in note for note in laws.notes)
    assert discover(X, noise=0).notes == ()


def test_few_rows_with_noise_get_a_note():
    X = noisy(kinetic(30), 0.01)
    assert discover(X).notes == (
        "30 rows are too few for a law with noise: at least 49 are needed",
    )
    assert discover(kinetic(30)).notes == ()
