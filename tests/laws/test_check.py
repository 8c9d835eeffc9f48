"""``Laws.check``: the rows that break laws, the cells that do, and what they should be."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.laws.test_discover import accounts, kinetic, noisy

from vanishing import discover
from vanishing.laws import Fix


@pytest.fixture(scope="module")
def account_laws():
    X, names = accounts()
    return discover(X, names)


def test_sound_rows_keep_the_laws(account_laws):
    X, _ = accounts(seed=1)
    check = account_laws.check(X)
    assert len(check) == 0
    assert str(check) == "All 300 rows keep the laws.\nAll 8 columns are in a law."


def test_the_cell_that_two_laws_name(account_laws):
    X, names = accounts(50, seed=1)
    right = X[7, 2]
    X[7, 2] += 300
    check = account_laws.check(pd.DataFrame(X, columns=names, index=range(100, 150)))
    (found,) = check
    assert (found.row, found.name) == (7, 107)
    (fix,) = found.fixes
    assert (fix.column, fix.value, fix.fix) == ("services", right + 300, right)
    assert found.alternatives == ()
    sentence = check.sentences()[0]
    assert f"services {right + 300:.0f} breaks" in sentence
    assert sentence.endswith(f"{right:.0f} would fix it.")


def test_all_cells_that_explain_it_are_listed(account_laws):
    X, _ = accounts(50, seed=1)
    X[3, 0] += 10
    (found,) = account_laws.check(X)
    cells = {fix.column: fix.fix for fix in (*found.fixes, *found.alternatives)}
    assert cells == {"gov": X[3, 0] - 10, "private": X[3, 1] - 10}
    assert sum(fix.probability for fix in (*found.fixes, *found.alternatives)) == pytest.approx(1)


def test_two_broken_cells(account_laws):
    X, _ = accounts(50, seed=1)
    X[3, 2] += 400
    X[3, 5] -= 77
    (found,) = account_laws.check(X)
    fixes = {fix.column: fix.fix for fix in found.fixes}
    assert fixes == {"services": X[3, 2] - 400, "goods": X[3, 5] + 77}


def test_pairs_of_cells_share_their_probability():
    parts = np.random.default_rng(0).integers(1, 99, (60, 4)).astype(float)
    X = np.column_stack([parts, parts[:, :2].sum(axis=1), parts[:, 2:].sum(axis=1)])
    laws = discover(X)
    X[3, 4:] += 50, 31
    (found,) = laws.check(X)
    pairs = [found.fixes, *found.ways]
    assert len(pairs) == 9
    assert all(first.probability == second.probability for first, second in pairs)
    shares = [first.probability for first, _ in pairs]
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    assert shares[0] < 0.9


def test_whole_numbers_get_whole_fixes():
    X = noisy(accounts()[0], 1e-4)
    X = np.round(X)
    laws = discover(X)
    X[5, 2] += 5000
    (found,) = [each for each in laws.check(X) if each.row == 5]
    assert found.fixes[0].fix == round(found.fixes[0].fix)


def test_missing_cells_are_filled_where_determined(account_laws):
    X, names = accounts(20, seed=2)
    truth = X.copy()
    X[0, 2] = X[1, 0] = X[2, 7] = np.nan  # one each: determined
    X[3, [0, 1]] = np.nan  # their sum is known, they are not
    X[4, [2, 7]] = np.nan  # services first, then the total
    check = account_laws.check(X)
    filled = {(found.row, fix.column): fix.fix for found in check for fix in found.fixes}
    cells = [(0, 2), (1, 0), (2, 7), (4, 2), (4, 7)]
    assert filled == {(i, names[j]): truth[i, j] for i, j in cells}
    assert all(found.is_missing for found in check)
    assert all(fix.probability == 1 for found in check for fix in found.fixes)
    assert not check.broken.any()


def test_missing_cells_of_linear_laws_that_hold_together():
    a, b = np.random.default_rng(0).uniform(1, 5, (2, 200))
    X = np.column_stack([a, b, a + b, a - b])
    laws = discover(X)
    row = X[:1].copy()
    row[0, :2] = np.nan
    (found,) = laws.check(row)
    filled = {fix.column: fix.fix for fix in found.fixes}
    assert filled == pytest.approx({"x0": a[0], "x1": b[0]})
    assert [fix.probability for fix in found.fixes] == [1, 1]


def test_an_ambiguous_root_is_not_filled():
    x = np.random.default_rng(0).uniform(-2, 2, 300)
    laws = discover(np.column_stack([x, x**2]))
    assert len(laws.check(np.array([[np.nan, 1.0]]))) == 0
    (found,) = laws.check(np.array([[1.5, np.nan]]))
    assert found.fixes[0].fix == pytest.approx(2.25)


def test_power_and_false_alarms():
    random = np.random.default_rng(0)
    laws = discover(noisy(kinetic(1000), 1e-2))
    X = noisy(kinetic(2000, seed=5), 1e-2, seed=6)
    truth = X.copy()
    rows = random.choice(2000, 60, replace=False)
    X[rows, 2] += random.choice([-1, 1], 60) * random.uniform(0.5, 2, 60) * X[:, 2].std()
    check = laws.check(X)
    sound = np.ones(2000, dtype=bool)
    sound[rows] = False
    assert check.broken[rows].mean() >= 0.98
    assert check.broken[sound].mean() <= 0.01
    within = 0
    for found in check:
        fixes = {fix.column: fix for fix in (*found.fixes, *found.alternatives)}
        if found.row in rows and "x2" in fixes:
            fix = fixes["x2"]
            within += abs(fix.fix - truth[found.row, 2]) <= 3 * fix.error
    assert within >= 0.95 * 60


def test_the_table_itself_may_be_broken():
    X, names = accounts()
    X[7, 2] += 300
    X[100, 7] -= 55
    laws = discover(X, names)
    assert len(laws) == 3
    assert {found.row: found.fixes[0].column for found in laws.check(X)} == {
        7: "services",
        100: "total",
    }


def test_rounded_numbers_are_not_broken():
    rng = np.random.default_rng(0)
    parts = rng.uniform(1, 100, (300, 2))
    table = np.round(np.column_stack([parts, parts.sum(axis=1)]), 2)
    laws = discover(table, ["a", "b", "total"])
    assert [str(law) for law in laws] == ["total = a + b"]
    off = np.abs(table[:, 0] + table[:, 1] - table[:, 2]) > 0.005
    assert 0.1 < off.mean() < 0.4  # a cent, each of them
    assert not laws.check(table).broken.any()
    table[7, 2] += 0.1
    (found,) = laws.check(table)
    assert found.row == 7
    # A cent counts where the totals of the table that the law is found in are exact.
    exact = np.column_stack([np.round(parts, 2), np.round(parts, 2).sum(axis=1)])
    exact[7, 2] += 0.01
    assert np.flatnonzero(discover(exact).check(exact).broken).tolist() == [7]


def test_rows_that_are_furthest_off_come_first(account_laws):
    X, _ = accounts(30, seed=1)
    X[3, 2] += 1
    X[5, 2] += 100
    found = account_laws.check(X)
    assert [each.row for each in found] == [3, 5]
    assert [each.row for each in found.ranked()] == [5, 3]
    assert found.verdict() == "2 of 30 rows break a law."
    X[[3, 5], 2] -= [1, 100]
    X[8, 0] = np.nan
    filled = "No row breaks a law; {} can be filled in."
    assert account_laws.check(X).verdict() == filled.format("1 missing cell")
    X[9, 0] = np.nan
    assert account_laws.check(X).verdict() == filled.format("2 missing cells")


def test_a_callback_knows_how_far_the_check_is(account_laws):
    X, _ = accounts(50, seed=1)
    X[[3, 30], 2] += 300
    X[40, 1] = np.nan
    done = []
    assert str(account_laws.check(X, callback=done.append)) == str(account_laws.check(X))
    assert done == [4, 31, 41, 50]


def test_long_tables_are_checked_like_short_ones(account_laws):
    X, _ = accounts(50, seed=1)
    long = np.tile(X, (4000, 1))
    rows = [3, 87_380, 87_381, 87_382, 199_999]
    long[rows, 2] += 300
    assert [found.row for found in account_laws.check(long)] == rows


def test_frame(account_laws):
    X, _ = accounts(50, seed=1)
    X[3, 0] += 10
    frame = account_laws.check(X).to_frame()
    assert list(frame.columns) == [
        *("row", "cell", "value", "fix", "interval", "law", "probability", "alternatives")
    ]
    assert frame["row"].tolist() == [3]
    low, high = frame["interval"][0]
    assert low <= frame["fix"][0] <= high


def test_columns_that_are_not_there(account_laws):
    X, names = accounts(50)
    with pytest.raises(ValueError, match="the table lacks 'gov', which the laws speak about"):
        account_laws.check(pd.DataFrame(X, columns=names).drop(columns="gov"))
    with pytest.raises(ValueError, match=r"laws are about 8 columns \(.* 'total'\), but .* has 3"):
        account_laws.check(X[:, :3])
    more = np.column_stack([X, np.random.default_rng(0).uniform(size=(50, 1))])
    laws = discover(more, [*names, "other"])
    with pytest.raises(
        ValueError, match=r"laws are about 9 columns \(.* 'total' and 1 more\), but"
    ):
        laws.check(X[:, :3])


def test_no_laws():
    laws = discover(np.random.default_rng(0).normal(size=(100, 3)))
    assert str(laws.check(np.ones((2, 3)))) == "There are no laws to check."
    assert laws.residuals(np.ones((2, 3))).shape == (2, 0)


@pytest.mark.parametrize("value", [1e20, 1e100, 1e200, 1e300, -1e300])
@pytest.mark.parametrize("column", range(3))
def test_huge_cells_break_laws(value, column):
    """Sums of squares would overflow, and such a row would be as far from a law as any number."""
    a, b = np.random.default_rng(0).integers(1, 50, (2, 60)).astype(float)
    exact = np.column_stack([a, b, a + b])
    laws = discover(exact, max_degree=1)
    assert len(laws) == 1
    broken = exact.copy()
    broken[4, column] = value
    found = laws.check(broken)
    assert np.flatnonzero(found.broken).tolist() == [4]
    fixes = {fix.column: fix.fix for fix in (*found.rows[0].fixes, *found.rows[0].alternatives)}
    assert fixes[f"x{column}"] == exact[4, column]


def test_a_row_that_rounding_explains_is_not_off_at_all():
    """A total of three numbers, each rounded to cents, is off by a cent now and then."""
    rng = np.random.default_rng(0)
    parts = rng.uniform(1, 50, (300, 3))
    X = np.round(np.column_stack([parts, parts.sum(axis=1)]), 2)
    laws = discover(X)
    off = np.abs(X[:, :3].sum(axis=1) - X[:, 3]) > 0.005
    assert off.any()
    assert len(laws.check(X)) == 0


def test_constant_columns_are_laws_beyond_doubt():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:, 1] = 4.0
    (law,) = discover(X).equations
    assert law.p_value == 0.0
    assert law.extent == 0.0


def test_notes_say_why_a_column_is_set_aside():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [2.0, 4, 6, 8], "city": ["x", "y", "z", "w"]})
    (note,) = [note for note in discover(frame).notes if note.startswith("city")]
    assert "set aside: " in note
    assert not note.endswith("None")
    assert len(note.partition("set aside: ")[2]) > 3


def test_a_check_is_a_sequence_of_broken_rows_and_a_list_on_a_page(account_laws):
    X, _ = accounts(seed=2)
    assert account_laws.check(X)._repr_html_().startswith("<p>All")
    X[[3, 7], 0] += 1000.0
    check = account_laws.check(X)
    assert sorted(found.row for found in check) == [3, 7]
    assert check[0].row in (3, 7)
    np.testing.assert_array_equal(np.flatnonzero(check.broken), [3, 7])
    assert check._repr_html_().count("<li>") == 2


# --- Cells that explain a row equally well: which comes first -------------------------------------


def bills(n_rows=80, seed=3):
    """Net, tax, shipping and their sum, in cents."""
    rng = np.random.default_rng(seed)
    parts = np.round(rng.uniform([100, 20, 1], [900, 170, 9], (n_rows, 3)), 2)
    return np.column_stack([parts, np.round(parts.sum(axis=1), 2)])


@pytest.fixture(scope="module")
def bill_laws():
    laws = discover(bills(), ["net", "tax", "shipping", "gross"])
    assert [str(law) for law in laws] == ["gross = net + tax + shipping"]
    return laws


@pytest.mark.parametrize(
    ("column", "slip"),
    [
        (0, lambda text: text.replace("52", "25", 1)),  # digits swapped
        (0, lambda text: "9" + text[1:]),  # one changed
        (0, lambda text: text[:1] + text[2:]),  # one left out
        (3, lambda text: text[:2] + "4" + text[2:]),  # one added
        (1, lambda text: str(float(text) * 10)),
        (1, lambda text: f"{float(text) / 10:.2f}"),  # the last digit is lost
        (1, lambda text: "-" + text),
    ],
)
def test_typing_errors_come_first(bill_laws, column, slip):
    row = np.array([[527.34, 88.47, 5.12, 620.93]])
    right = row[0, column]
    row[0, column] = float(slip(str(right)))
    assert row[0, column] != right
    (found,) = bill_laws.check(row)
    every = (*found.fixes, *found.alternatives)
    assert (every[0].column, every[0].fix) == (bill_laws.names[column], right)
    chances = [fix.probability for fix in every]
    assert sorted(chances, reverse=True) == chances
    assert sum(chances) == pytest.approx(1)
    assert chances[0] > 2 * chances[1]
    assert len(every) == 4  # what is unlikely is still told
    frame = bill_laws.check(row).to_frame()
    assert frame[["cell", "fix"]].to_numpy().tolist() == [[every[0].column, right]]


def test_values_that_a_column_never_has_come_last(bill_laws):
    row = np.array([[527.34, 88.47, 5.12, 620.93 - 67.81]])
    (found,) = bill_laws.check(row)
    chances = {fix.column: fix.probability for fix in (*found.fixes, *found.alternatives)}
    assert chances["shipping"] < chances["net"] / 10  # -62.69
    row[0, 3] = 620.93 + 67.81
    (found,) = bill_laws.check(row)
    chances = {fix.column: fix.probability for fix in (*found.fixes, *found.alternatives)}
    assert chances["shipping"] < chances["net"] / 10  # 72.93, where the others are below 9


def test_a_single_digit_is_no_evidence_of_a_typing_error():
    rng = np.random.default_rng(0)
    X = rng.integers(1, 9, (60, 2)).astype(float)
    laws = discover(np.column_stack([X, X.sum(axis=1)]), max_degree=1)
    (found,) = laws.check([[3.0, 4.0, 9.0]])
    chances = [fix.probability for fix in (*found.fixes, *found.alternatives)]
    assert chances == pytest.approx([1 / 3] * 3)


def test_fixes_have_the_digits_that_their_errors_warrant():
    rng = np.random.default_rng(0)
    parts = 10 ** rng.uniform(0, 3, (200, 2))
    X = np.column_stack([parts, parts[:, 0] * parts[:, 1]]) * (1 + 0.01 * rng.normal(size=(200, 3)))
    laws = discover(np.round(X, 4), ["flow", "content", "load"])
    check = laws.check([[12.3456, 65.4321, 1600.0]])
    (found,) = check
    for fix in (*found.fixes, *found.alternatives):
        place = 10.0 ** (np.floor(np.log10(fix.error)) - 1)
        written = float(fix.typed[1])
        assert written == pytest.approx(round(fix.fix / place) * place, rel=1e-12)
        assert written != fix.fix
        assert abs(written - fix.fix) <= 0.05 * fix.error
        assert f"{fix.column} {fix.value:.7g} to {fix.typed[1]}" in str(check)


def test_texts_have_plain_minus_signs(bill_laws):
    check = bill_laws.check([[527.34, 88.47, 5.12, 553.12], [-527.34, 88.47, 5.12, 620.93]])
    texts = [str(check), repr(check), *check.sentences(), *check.to_frame()["alternatives"]]
    assert "-62.69" in texts[0]
    assert "net -527.34 to 527.34" in texts[0]
    assert not any("\u2212" in text for text in texts)


# --- several laws at once -------------------------------------------------------------------------


def sums_and_products(n_rows=60, seed=0):
    """Three laws without a column in common: x2 = x0 + x1, x5 = x3 x4, x8 = x6 + x7."""
    X = np.random.default_rng(seed).uniform(1, 5, (n_rows, 9))
    X[:, 2], X[:, 5], X[:, 8] = X[:, 0] + X[:, 1], X[:, 3] * X[:, 4], X[:, 6] + X[:, 7]
    return X


@pytest.fixture(scope="module")
def three_laws():
    laws = discover(sums_and_products())
    found = {frozenset(law.columns) for law in laws}
    assert found == {frozenset(f"x{3 * k + j}" for j in range(3)) for k in range(3)}
    return laws


def test_a_row_that_breaks_three_laws_has_no_fix(three_laws):
    X = sums_and_products(5, seed=1)
    X[2, [2, 5, 8]] += 3
    check = three_laws.check(X)
    (found,) = check
    assert (found.laws, found.fixes) == ((0, 1, 2), ())
    (sentence,) = check.sentences()
    assert " and 1 more law; " in sentence
    assert sentence.endswith("no one or two cells would fix it.")
    (line,) = check.to_frame().to_dict("records")
    assert line["cell"] is None
    assert np.isnan(line["fix"])


def test_a_row_that_breaks_two_laws_has_two_fixes(three_laws):
    X = sums_and_products(5, seed=1)
    X[2, [2, 8]] += 3
    (found,) = three_laws.check(X)
    assert len(found.fixes) == len(found.laws) == 2
    changed = X[[2]]
    for fix in found.fixes:
        changed[0, int(fix.column[1:])] = fix.fix
    assert len(three_laws.check(changed)) == 0


def test_a_row_may_lack_a_cell_and_break_another_law(three_laws):
    X = sums_and_products(5, seed=1)
    right = X[2, 0]
    X[2, 0] = np.nan
    X[2, 5] += 3
    filled, broken = three_laws.check(X)
    assert filled.is_missing
    assert (filled.fixes[0].column, filled.fixes[0].fix) == ("x0", pytest.approx(right))
    assert not broken.is_missing
    assert {fix.column for fix in (*broken.fixes, *broken.alternatives)} <= {"x3", "x4", "x5"}
    assert [set(three_laws[k].columns) for k in broken.laws] == [{"x3", "x4", "x5"}]


def with_two_gaps(a, b, c):
    """A table with two laws, these, and a row that lacks two cells of both."""
    X = np.column_stack([a, b, c, a + 2 * b + 3 * c, 5 * a - b + 2 * c])
    laws = discover(X)
    both = [laws.names.index(name) for name in laws[0].columns if name in laws[1].columns]
    row = X[:1].copy()
    row[0, both[:2]] = np.nan
    return X, laws, both, row


def test_cells_that_two_laws_determine_together():
    X, laws, both, row = with_two_gaps(*np.random.default_rng(0).uniform(1, 5, (3, 60)))
    (found,) = laws.check(row)
    assert {fix.column for fix in found.fixes} == {f"x{j}" for j in both[:2]}
    for fix in found.fixes:
        assert fix.fix == pytest.approx(X[0, int(fix.column[1:])])
        assert fix.error < 1e-6
        assert fix.probability == 1
    row[0, both[2]] = np.nan  # three unknowns
    assert len(laws.check(row)) == 0


def test_whole_cells_that_two_laws_determine_together():
    whole = np.random.default_rng(0).integers(10, 99, (3, 60)).astype(float)
    X, laws, both, row = with_two_gaps(*whole)
    (found,) = laws.check(row)
    assert {fix.column: fix.fix for fix in found.fixes} == {f"x{j}": X[0, j] for j in both[:2]}


def test_a_power_is_never_negative():
    """No value of x0 gives a negative fourth power."""
    x = np.random.default_rng(0).uniform(1, 2, 60)
    laws = discover(np.column_stack([x, x**4]))
    (found,) = laws.check(np.array([[1.5, -2.0]]))
    assert [fix.column for fix in found.fixes] == ["x1"]
    assert found.alternatives == ()


def test_a_switch_has_two_values():
    rng = np.random.default_rng(0)
    switch, price = rng.integers(0, 2, 80).astype(float), rng.uniform(1, 5, 80)
    X = np.column_stack([switch, price, price + 3 * switch])
    laws = discover(X)
    X[4, 2] += 6
    (found,) = laws.check(X)
    assert {fix.column for fix in (*found.fixes, *found.alternatives)} == {"x1", "x2"}


def test_a_fix_without_an_error_is_written_in_full():
    assert Fix("x", 1.0, 2.5, np.inf, 1.0).written == ("1", "2.5")
    assert Fix("x", 1.0, 2.5, 0.0, 1.0).written == ("1", "2.5")


def test_a_row_is_broken_if_it_is_off_by_more_than_rounding():
    """Half a unit of the last digit of what is rounded, here of the product alone."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 9, (2, 200)).round(2)
    X = np.column_stack([a, b, (a * b).round(2)])
    laws = discover(X, ["a", "b", "c"])
    assert laws[0].resolution.tolist() == [0, 0, 0.01]
    assert not laws.check(X).broken.any()
    off = X.copy()
    off[:, 2] += np.where(off[:, 2] < a * b, -0.01, 0.01)
    assert laws.check(off).broken.all()


def test_fixes_have_the_decimals_of_the_table_that_the_laws_come_from():
    """Whole numbers in a row or two are no reason for a whole fix."""
    a, b = np.random.default_rng(0).uniform(1, 9, (2, 100)).round(2)
    laws = discover(np.column_stack([a, b, (a + b).round(2)]))
    (found,) = laws.check(np.array([[3.0, 4.0, 7.0], [2.0, 4.0, np.nan], [1.0, 1.0, 2.0]]))
    assert (found.fixes[0].fix, found.fixes[0].decimals) == (6.0, 2)


def test_errors_of_cells_that_two_laws_determine_together():
    """They are as far off as their standard errors say."""
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(1, 5, (3, 200))
    truth = np.column_stack([a, b, c, a + 2 * b + 3 * c, 5 * a - b + 2 * c])
    X = truth + 0.01 * rng.normal(size=truth.shape)
    laws = discover(X, noise=np.full(5, 0.01))
    both = [laws.names.index(name) for name in laws[0].columns if name in laws[1].columns][:2]
    X[:, both] = np.nan
    ratios = [
        (fix.fix - truth[found.row, laws.names.index(fix.column)])
        / np.sqrt(fix.error**2 - 0.01**2)  # which its own noise is part of
        for found in laws.check(X)
        for fix in found.fixes
    ]
    assert len(ratios) == 400
    assert 0.8 < np.std(ratios) < 1.2


@pytest.mark.parametrize("sign", [-1, 1])
def test_of_two_roots_the_one_that_fits_the_other_laws(sign):
    rng = np.random.default_rng(0)
    v, m = rng.uniform(-5, 5, 200), rng.uniform(1, 5, 200)
    table = np.column_stack([v, m, v**2, m * v])
    laws = discover(table, ["v", "m", "square", "momentum"])
    row = np.array([[7.5, 2.0, 9.0, sign * 6.0]])
    (found,) = laws.check(row)
    assert found.fixes[0].column == "v"
    assert found.fixes[0].fix == pytest.approx(3 * sign)


@pytest.mark.parametrize("seed", [1, 2])
def test_of_the_roots_of_two_laws_the_one_that_fits_both(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(1, 3, 200) * rng.choice([-1, 1], 200)
    truth = np.column_stack([x, x**2, x**3])
    table = noisy(truth, 0.002, seed)
    laws = discover(table, ["x", "square", "cube"])
    table[:20, 0] += 1.7
    fixes = {found.row: found.fixes for found in laws.check(table)}
    for row in range(20):
        (fix,) = fixes[row]
        assert fix.column == "x"
        assert fix.fix == pytest.approx(x[row], abs=0.05)


@pytest.mark.parametrize("value", [-4.0, 4.0])
def test_of_two_roots_that_fit_the_one_nearest_to_the_cell(value):
    v = np.random.default_rng(0).uniform(-5, 5, 200)
    laws = discover(np.column_stack([v, v**2]), ["v", "square"])
    (found,) = laws.check(np.array([[value, 9.0]]))
    fixes = {fix.column: fix.fix for fix in (*found.fixes, *found.alternatives)}
    assert fixes["v"] == pytest.approx(np.copysign(3.0, value))


def test_a_root_of_a_sign_that_the_column_never_has_fills_no_cell():
    v = np.random.default_rng(0).uniform(1, 5, 200)
    laws = discover(np.column_stack([v, v**2]), ["v", "square"])
    (found,) = laws.check(np.array([[np.nan, 9.0]]))
    assert [(fix.column, fix.fix) for fix in found.fixes] == [("v", pytest.approx(3.0))]


def test_shares_below_one_are_not_unusual():
    rng = np.random.default_rng(0)
    whole, share = rng.uniform(10, 20, 200), rng.uniform(0.1, 0.9, 200)
    laws = discover(np.column_stack([whole, share, whole * share]), ["whole", "share", "part"])
    (found,) = laws.check(np.array([[15.0, 4.3, 7.5]]))
    assert (found.fixes[0].column, found.fixes[0].fix) == ("share", pytest.approx(0.5))
    assert found.fixes[0].probability > 0.9


def test_a_cell_is_not_changed_beyond_the_digits_of_its_column():
    """1942.38 to 1942.37999 is no fix of an amount; a cell with more digits is to be changed."""
    rng = np.random.default_rng(0)
    amount, rate = rng.uniform(1000, 3000, 100).round(2), rng.uniform(1, 2, 100)
    X = np.column_stack([amount, rate, amount * rate])
    laws = discover(X, ["amount", "rate", "value"])
    X[4, 2] += 1e-4
    (found,) = laws.check(X)
    assert {fix.column for fix in (*found.fixes, *found.alternatives)} == {"rate", "value"}
    assert Fix("amount", 1942.38, 1942.37999, 0.0, 1.0, 2).written == ("1942.38", "1942.38")


def test_a_lost_sign_comes_first():
    rng = np.random.default_rng(0)
    parts = rng.normal(0, 100, (200, 2))
    table = np.column_stack([parts, parts.sum(axis=1)]) + rng.normal(0, 0.5, (200, 3))
    laws = discover(table, ["in", "out", "net"])
    (found,) = laws.check(np.array([[150.31, 87.32, 63.4]]))
    assert (found.fixes[0].column, found.fixes[0].fix) == ("out", pytest.approx(-87, abs=1))
    assert found.fixes[0].probability > 0.5


def test_a_cell_is_restored_by_the_law_that_is_exact():
    rng = np.random.default_rng(0)
    net = rng.lognormal(6, 1, 300).round(2)
    fee = (0.02 * net).round(2)
    table = pd.DataFrame({"net": net, "fee": fee, "total": (net + fee).round(2)})
    laws = discover(table)
    broken = table.copy()
    broken.loc[5, "total"] = table.total[5] * 10
    broken.loc[7, "total"] = table.total[7] + 0.01  # less than the noise of net = 50*fee
    found = {each.row: each for each in laws.check(broken)}
    assert sorted(found) == [5, 7]
    for row, each in found.items():
        fix = next(fix for fix in (*each.fixes, *each.alternatives) if fix.column == "total")
        assert fix.fix == table.total[row]


@pytest.fixture(scope="module")
def motion_laws():
    """Two laws of mass, speed, energy and momentum."""
    m, v = np.random.default_rng(0).uniform(1, 5, (2, 300))
    table = pd.DataFrame({"m": m, "v": v, "E": m * v**2 / 2, "p": m * v})
    return discover(table), table


def test_rows_without_the_cells_of_any_law_are_not_said_to_keep_them(motion_laws):
    laws, table = motion_laws
    empty = laws.check(table.iloc[:5] * np.nan)
    assert str(empty).splitlines() == [
        "No row can be checked.",
        "All 4 columns are in a law.",
        "5 rows lack cells that the laws need: m in 5, v in 5, E in 5 and p in 5.",
    ]
    assert empty.unchecked == (0, 1, 2, 3, 4)
    assert not empty.broken.any()

    some = table.iloc[:5].copy()
    some.iloc[1] = np.nan
    some.loc[2, ["m", "E"]] = np.nan  # filled in, and nothing is left to check
    some.loc[3, "E"] = np.nan  # filled in, and p = m v is left
    check = laws.check(some)
    assert check.unchecked == (1, 2)
    assert check.incomplete == (1, 2, 3)
    assert check.summary() == (
        "No row breaks a law; 3 missing cells can be filled in. All 4 columns are in a law. "
        "3 rows lack cells that the laws need: E in 3, m in 2, v in 1 and p in 1."
    )
    first, *rows, columns, cells = str(check).splitlines()
    assert f"{first} {columns} {cells}" == check.summary()
    assert rows[0] == "Missing cells:"  # which are not broken
    assert [row.partition(":")[0] for row in rows[1:]] == ["  row 2", "  row 3"]
    assert check.ranked().unchecked == check.unchecked

    some.loc[4, "p"] += 1
    assert (
        laws.check(some).verdict() == "1 of 5 rows breaks a law; 3 missing cells can be filled in."
    )


def test_a_clean_bill_says_what_it_covers(motion_laws):
    laws, table = motion_laws
    more = table.iloc[:9].assign(region=3.5, who="Ada", when=pd.Timestamp("2024-01-01"))
    check = laws.check(more)
    assert check.in_no_law == ("region", "who", "when")
    assert check.summary() == (
        "All 9 rows keep the laws. "
        "4 of 7 columns are in a law; nothing checks region, who and when."
    )
    assert laws.check(table.iloc[:1]).summary() == (
        "The row keeps the laws. All 4 columns are in a law."
    )


@given(blanks=arrays(bool, (12, 4)), n_more=st.integers(0, 12))
@settings(max_examples=50, deadline=None)
def test_rows_and_columns_that_nothing_checks_are_counted(motion_laws, blanks, n_more):
    laws, table = motion_laws
    rows = table.iloc[:12].mask(blanks)
    rows = rows.assign(**{f"other{k}": float(k) for k in range(n_more)})
    check = laws.check(rows)
    assert not check.broken.any()
    assert set(check.unchecked) <= set(check.incomplete)
    assert list(check.incomplete) == np.flatnonzero(blanks.any(axis=1)).tolist()
    counts = dict(zip(table.columns, blanks.sum(axis=0).tolist(), strict=True))
    assert {name: len(found) for name, found in check.gaps.items()} == {
        name: count for name, count in counts.items() if count
    }
    said = check.summary()
    assert ("keep the laws" in said) == (not blanks.any())
    assert (f"4 of {4 + n_more} columns" if n_more else "All 4 columns") in said
    assert all(f"{name} in {count}" in said for name, count in counts.items() if count)
    assert str(check).splitlines()[0] == check.verdict()


def test_no_rows_keep_no_laws(motion_laws):
    laws, table = motion_laws
    assert laws.check(table.iloc[:0]).verdict() == "There are no rows to check."


@pytest.mark.parametrize("size", [1e10, 1e160, 1e200, 1e300])
def test_huge_cells_beside_missing_ones_break_laws(motion_laws, size):
    laws, table = motion_laws
    broken = table.iloc[:5].copy()
    broken.loc[2, ["m", "E"]] = size, np.nan
    broken.loc[3, "p"] += 0.5
    check = laws.check(broken)
    assert check.broken.tolist() == [False, False, True, True, False]
    # It is as far off as without the missing cell.
    assert check.ranked()[0].row == 2


def test_rounded_cells_beside_missing_ones_break_no_law():
    rng = np.random.default_rng(0)
    a, b, c, d = np.round(rng.uniform(1, 9, (4, 400)), 1)
    fine = pd.DataFrame({"a": a, "b": b, "ab": a * b, "c": c, "d": d, "cd": c * d})
    fine[["ab", "cd"]] += rng.normal(0, 0.05, (400, 2))
    laws = discover(fine)
    assert len(laws) == 2
    # A table with fewer decimals than that of the laws.
    coarse = fine.round({"ab": 0, "cd": 0})
    assert laws.check(coarse).broken.sum() <= 5
    coarse.loc[::2, "cd"] = np.nan
    assert laws.check(coarse).broken.sum() <= 5


def test_one_broken_cell_in_a_row_of_large_noise():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 3, 200) * rng.choice([-1, 1], 200)
    table = pd.DataFrame({"x": x, "square": x**2, "cube": x**3})
    table += rng.normal(0, 0.002, table.shape) * table.std().to_numpy()
    laws = discover(table)
    # Row 2 is 3.9 standard deviations off a law by noise alone, and no cell restores both laws.
    for column, change in (("x", 1.7), ("square", 3.0), ("cube", -5.0)):
        for row in range(20):
            broken = table.iloc[:40].copy()
            broken.loc[row, column] += change
            (found,) = (each for each in laws.check(broken) if each.row == row)
            assert [fix.column for fix in found.fixes] == [column]
            assert found.fixes[0].fix == pytest.approx(table.loc[row, column], abs=0.3)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e150, 1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("columns", [[0], [0, 1, 2]])
def test_infinite_cells_are_not_explained_by_rounding(value, columns):
    a, b = np.random.default_rng(0).uniform(1, 3, (2, 100)).round(2)
    table = np.column_stack([a, b, (a * b).round(2)])
    laws = discover(table)
    assert [str(law) for law in laws] == ["x2 = x0*x1"]
    broken = table[:5].copy()
    broken[2, columns] = value
    assert laws.check(broken).broken.tolist() == [False, False, True, False, False]


def test_whole_numbers_are_not_rounded_where_finer_columns_are():
    """An error of 9 was as small as half a percent of the rate."""
    rng = np.random.default_rng(1)
    net = rng.lognormal(5, 1, 300).round(2)
    rate = rng.choice([7, 19], 300)
    vat = (net * rate / 100).round(2)
    table = pd.DataFrame({"net": net, "rate": rate, "vat": vat, "total": (net + vat).round(2)})
    table.loc[5, "total"] += 9
    table.loc[9, "vat"] += 1
    check = discover(table).check(table)
    assert [found.row for found in check] == [5, 9]
    assert [[fix.column for fix in found.fixes] for found in check] == [["total"], ["vat"]]
    assert not any(found.alternatives for found in check)


def test_two_cells_are_the_most_plausible_ones():
    """A total of a wrong number keeps its law; both have to be changed."""
    rng = np.random.default_rng(0)
    net = rng.lognormal(6.5, 0.9, 200).round(2)
    rate = rng.choice([5, 10, 20], 200)
    tax = (net * rate / 100).round(2)
    right = tax[50]
    tax[50] *= 10
    table = np.column_stack([net, rate, tax, net + tax]).round(2)
    (found,) = discover(table, ["net", "rate", "tax", "gross"]).check(table)
    assert {fix.column: fix.fix for fix in found.fixes} == {
        "tax": pytest.approx(right, abs=0.005),
        "gross": pytest.approx(net[50] + right, abs=0.005),
    }


def test_a_fix_is_another_number():
    rng = np.random.default_rng(2)
    count, price = rng.integers(1, 50, 400), rng.uniform(1, 90, 400).round(2)
    table = np.column_stack([count, price, count * price]).round(2)
    laws = discover(table, ["count", "price", "total"])
    table[::7, 2] += 0.02
    for found in laws.check(table):
        assert all(fix.fix != fix.value for fix in (*found.fixes, *found.alternatives))


def test_fixes_have_the_digits_of_the_table_that_is_checked():
    rng = np.random.default_rng(0)
    cents, fine = np.round(rng.uniform(1, 5, (60, 2)), 2), np.round(rng.uniform(1, 5, (40, 2)), 4)
    laws = discover(np.column_stack([cents, cents.sum(axis=1)]), ["a", "b", "total"])
    X = np.column_stack([fine, fine.sum(axis=1)]).round(4)
    X[3, 2] += 1
    (found,) = laws.check(X)
    fixes = {fix.column: fix for fix in (*found.fixes, *found.alternatives)}
    assert {fix.decimals for fix in fixes.values()} == {4}
    assert fixes["total"].fix == pytest.approx(fine[3].sum(), abs=1e-9)


def test_zero_has_no_sign():
    assert Fix("a", 5.0, -0.0, 0.0, 1.0, decimals=0).typed == ("5", "0")
    assert Fix("a", 5.25, -0.004, 0.0, 1.0, decimals=2).typed == ("5.25", "0")
    assert Fix("a", np.nan, -0.02, 3.0, 1.0).typed == ("missing", "0")
    assert str(Fix("a", 5.0, -0.0, 0.0, 1.0).fix) == "0.0"


def test_two_cells_that_change_together():
    a, b, d = np.random.default_rng(0).integers(1, 99, (3, 60)).astype(float)
    X = np.column_stack([a, b, 2 * a, a + b, d, b - d])
    laws = discover(X, list("abcdef"))
    X[5, [0, 2]] += 7.0
    (sentence,) = laws.check(X).sentences()
    # Or a is right, and both that are computed from it are wrong.
    assert sentence == (
        "row 5: breaks 2*a = c and d = a + b; change a 12 to 5 and c 17 to 10, "
        "or c 17 to 24 and d 19 to 26."
    )


def test_roots_that_overflow_are_no_fixes():
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 99, (2, 60)).astype(float)
    laws = discover(np.column_stack([a, b, a * b]), list("abc"))
    (broken,) = laws.check([[1e-300, 3.0, 1e10]]).rows
    assert broken.row == 0


@pytest.mark.parametrize("seed", range(4))
def test_fixes_differ_from_what_is_there(seed):
    """A copy in other units holds a cell where it is."""
    rng = np.random.default_rng(seed)
    m, v = rng.uniform(1, 5, (2, 120)).round(4)
    energy = (m * v**2 / 2 * (1 + 0.01 * rng.normal(size=120))).round(3)
    energy[7] *= 1.2
    X = np.column_stack([m, (1000 * m).round(1), v, energy])
    found = discover(X, ["m", "grams", "v", "E"]).check(X)
    assert any(broken.row == 7 for broken in found.rows)
    for broken in found.rows:
        assert all(fix.typed[0] != fix.typed[1] for fix in (*broken.fixes, *broken.alternatives))


def test_a_zero_under_a_logarithm_is_broken_without_a_warning():
    rng = np.random.default_rng(0)
    x, z = np.exp(rng.uniform(0, 3, 200)), rng.uniform(1, 9, 200)
    X = np.column_stack([x, z, 2 * np.log(x) + 3 * z])
    laws = discover(X)
    X[3, 0] = 0.0
    assert [each.row for each in laws.check(X)] == [3]


def test_the_error_of_a_fix_counts_the_rounding_of_its_cell_once():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 9, (2, 200)).round(2)
    X = np.column_stack([a, b, (a * b).round(2)])
    laws = discover(X, ["a", "b", "c"])
    X[5, 2] += 3
    (found,) = laws.check(X)
    errors = {fix.column: fix.error for fix in (*found.fixes, *found.alternatives)}
    assert errors["c"] == pytest.approx(0.01 / np.sqrt(12))
    # The right product is within half a unit of the one of the factors.
    assert errors["a"] == pytest.approx(0.01 / np.sqrt(12) / b[5])
