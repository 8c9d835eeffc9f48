"""What no table may change: exact laws are found, they stay, and chance makes none.

The slow runs try more tables: over 500 changed ones, and 300 without a law.
"""

from functools import cache

import numpy as np
import pytest
from benchmarks.laws import correlated, metamorphic, null_tables
from benchmarks.laws.implied import Equation, follows, read_equation
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from vanishing import discover

seeds = st.integers(0, 10**6)


def run(property_, strategy, n_examples):
    """Try a property on some examples; smaller seeds are not simpler, so none is sought."""
    settings(max_examples=n_examples, phases=[Phase.generate])(given(strategy)(property_))()


def examples(few, many):
    return pytest.mark.parametrize("n_examples", [few, pytest.param(many, marks=pytest.mark.slow)])


# --- Exact laws are found -------------------------------------------------------------------------

#: Laws of up to three terms and degree up to 2: the last column follows from those before it.
FORMS = {
    "b = 12*a": lambda a: 12 * a,
    "b = a^2": lambda a: a**2,
    "c = a + b": lambda a, b: a + b,
    "c = a*b": lambda a, b: a * b,
    "c = a*b/100": lambda a, b: a * b / 100,
    "c = a - 4*b": lambda a, b: a - 4 * b,
    "c = a^2 + b": lambda a, b: a**2 + b,
    "c = a^2 - b^2": lambda a, b: a**2 - b**2,
    "d = a*b + c": lambda a, b, c: a * b + c,
    "e = a*b - c*d": lambda a, b, c, d: a * b - c * d,
}


def draw_other(rng, n):
    """Draw a column that has nothing to do with others."""
    return (
        rng.normal(size=n).round(3),
        rng.lognormal(3, 1, n).round(2),
        rng.integers(0, 2, n),
        rng.integers(1, 1000, n),
        rng.permutation(n) + 1,
        np.full(n, float(rng.integers(1, 9))),
    )[rng.integers(6)]


def table_with(form, seed, n_columns):
    """Draw a table with a law among its first columns, of 12 different rows or more."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 80))
    function = FORMS[form]
    n_inputs = function.__code__.co_argcount
    inputs = rng.choice(np.arange(20, 1000), (n_inputs, n), replace=False)
    columns = [*inputs, function(*inputs)]
    names = [*"abcde"[: len(columns)]]
    while len(columns) < n_columns:
        columns.append(draw_other(rng, n))
        names.append(f"other{len(names)}")
    order = rng.permutation(len(columns))
    return np.column_stack(columns)[:, order].astype(float), [names[j] for j in order]


def is_found(form, seed, n_columns):
    X, names = table_with(form, seed, n_columns)
    laws = [Equation(law.expression, names) for law in discover(X, names)]
    return follows(read_equation(form, names), laws, X, np.ones(len(X), bool))


@examples(2, 20)
@pytest.mark.parametrize("form", FORMS)
def test_exact_laws_are_found(form, n_examples):
    def holds(case):
        assert is_found(form, *case)

    run(holds, st.tuples(seeds, st.integers(2, 12)), n_examples)


@pytest.mark.slow  # half a minute for each table
@examples(1, 5)
@pytest.mark.parametrize("form", FORMS)
def test_exact_laws_are_found_among_up_to_200_columns(form, n_examples):
    def holds(case):
        assert is_found(form, *case)

    run(holds, st.tuples(seeds, st.integers(100, 200)), n_examples)


# --- Changes keep the laws ------------------------------------------------------------------------


@cache
def found_before(number, seed):
    """Return a table, and its laws as expressions that are zero."""
    kind, table = metamorphic.make_table(number, seed)
    laws = [law.expression for law in discover(table.X, table.names)]
    return kind, metamorphic.Table(table.X, table.names, laws)


@examples(1, 14)
@pytest.mark.parametrize("change", metamorphic.CHANGES)
def test_changes_keep_the_laws(change, n_examples):
    """Laws from before are found or implied, and all others follow from them and the change."""

    def keeps(seed):
        for number in range(len(metamorphic.BASES)):
            kind, before = found_before(number, seed)
            changed = metamorphic.CHANGES[change](before, np.random.default_rng(seed))
            expected = [Equation(law, changed.names) for law in changed.laws]
            laws = discover(changed.X, changed.names)
            now = [Equation(law.expression, changed.names) for law in laws]
            tolerance, n_before = metamorphic.TOLERANCES[kind], len(before.laws)
            compared = (expected[:n_before], now), (now, expected)
            for asked, known in compared:
                lacking = metamorphic.lacking(asked, known, changed.X, tolerance)
                assert not lacking, (kind, metamorphic.write_down(lacking), laws)

    run(keeps, seeds, n_examples)


# --- Nothing by chance ----------------------------------------------------------------------------


@examples(5, 100)
def test_no_law_in_independent_columns(n_examples):
    def has_none(seed):
        X, _ = null_tables.make_table(0, seed)
        assert not len(discover(X))

    run(has_none, seeds, n_examples)


@examples(8, 100)
def test_no_law_in_smooth_functions_that_no_law_describes(n_examples):
    def has_none(case):
        X, _ = null_tables.make_smooth(*case)
        assert not len(discover(X))

    run(has_none, st.tuples(st.integers(0, 2 * len(null_tables.SMOOTH) - 1), seeds), n_examples)


@examples(5, 100)
def test_no_law_in_correlated_columns(n_examples):
    def has_none(case):
        kind, noise, seed = case
        number = kind * len(correlated.NOISES) + noise
        _, noise, _, X = correlated.make_table(number, seed)
        assert noise >= correlated.NO_LAW
        assert not len(discover(X))

    kinds = st.integers(0, len(correlated.KINDS) - 1)
    noisy = st.sampled_from([j for j, n in enumerate(correlated.NOISES) if n >= correlated.NO_LAW])
    run(has_none, st.tuples(kinds, noisy, seeds), n_examples)
