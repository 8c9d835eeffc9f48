"""Expressions of rules: what is written is read again, and what is read runs nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.hostile import HOSTILE_NAMES

from vanishing.rules import RuleError
from vanishing.rules import expression as e
from vanishing.rules.evaluation import Columns, compute, decide
from vanishing.rules.expression import parse, parse_condition

NAMES = ["a", "net", "max", "previous", "and", "true", "19"]
NAMES += [name for what, name in HOSTILE_NAMES.items() if what != "long"]
# Deferred, since what is shown of a strategy contains all that it is made of.
names = st.deferred(lambda: st.one_of(st.sampled_from(NAMES), st.text(min_size=1, max_size=8)))
numbers = st.floats(0, 1e300).map(e.Number)
columns = names.map(e.Column)
previous = st.builds(
    e.Previous, names, st.sampled_from([1, -1]),
    st.lists(st.tuples(names, st.sampled_from(["", *e.PARTS])), max_size=2).map(tuple),
    st.one_of(st.just(""), names), st.booleans(),
)  # fmt: skip


def several(inner):
    return st.lists(inner, min_size=2, max_size=3).map(tuple)


def call(names, *arguments):
    """Calls of one of some names, of a fixed number of arguments or of several."""
    given = st.tuples(*arguments) if len(arguments) != 1 else arguments[0]
    return st.builds(e.Call, st.sampled_from(names), given)


def grow(inner):
    return st.one_of(
        call(["+", "*", "max"], several(inner)), call(["/", "**"], inner, inner),
        call(["-", "abs"], st.tuples(inner)), call(["round"], inner, st.just(e.Number(2.0))),
    )  # fmt: skip


values = st.deferred(
    lambda: st.recursive(st.one_of(numbers, columns, previous), grow, max_leaves=6)
)
lists = st.lists(st.deferred(lambda: constants), max_size=3)
constants = st.one_of(numbers, st.text().map(e.Text), call(["-"], st.tuples(numbers)))
atoms = st.one_of(
    call(list(e.COMPARISONS), values, values),
    call(
        ["in"],
        st.builds(lambda value, some: (value, *some), values, st.lists(constants, max_size=3)),
    ),
    call(["is null"], st.tuples(values)),
    call(["totals"], st.lists(columns, max_size=3).map(tuple)),
    call(["unique"], st.tuples(columns)),
)
conditions = st.deferred(
    lambda: st.recursive(
        atoms,
        lambda inner: st.one_of(
            call(["and", "or"], several(inner)), call(["not"], st.tuples(inner))
        ),
        max_leaves=4,
    )
)


@given(condition=conditions)
@settings(max_examples=300, deadline=None)
def test_what_is_written_is_read_again(condition):
    text = str(condition)
    assert text.isprintable()
    assert parse(text) == condition


@pytest.mark.parametrize("name", HOSTILE_NAMES.values(), ids=list(HOSTILE_NAMES))
def test_hostile_names(name):
    condition = e.Call("==", (e.Column(name), e.Text(name)))
    assert parse(str(condition)) == condition
    table = Columns(2, {}, {name: [name, "other"]})
    keeps, known = decide(condition, table)
    assert known.all()
    assert keeps.tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gross = net", "equality is written =="),
        ("gross ==", "found the end"),
        ("gross + net", "a rule compares something"),
        ("foo(a) == 1", "no foo of this kind; there are abs"),
        ("a == 'x", "close the quote"),
        ("(a == b) + 1 == 2", "only numbers can be computed with"),
        ("a and b == 1", "and needs a condition"),
        ("abs(a, b) == 1", "abs takes 1 arguments"),
        ("a == 1e999", "finite"),
        ("a == b c", "an operator or the end, found 'c'"),
        ("a in (1, 2)", r"expected '\["),
        ("year(a) == 1", "== needs a number or a text"),
        ("year(a)", "written within by="),
        ("a in [b]", "must be numbers or texts"),
        ("previous(a, by=b) == 1", r"written previous\(a, by=\[b"),
        ("previous(a, start=1) == 1", "start=0"),
        ("a.b == 1", "expected an operator"),
        ("__import__('os') == 1", "no __import__ of this kind"),
        ("", "found the end"),
        ("(" * 9999 + "a == 1", r"expected .*'\)'"),
        ("not " * 99 + "a == 1", "levels deep"),
        ("-" * 99 + "a == 1", "levels deep"),
        ("a == " + "1 / " * 99 + "1", "levels deep"),
        (r"a == '\u{110000}'", "there is no character"),
    ],
)
def test_mistakes_are_explained(text, said):
    with pytest.raises(RuleError, match=said):
        parse_condition(text)


@given(text=st.text(alphabet="ab1.\"'`\\()[]<>=!+-*/, \nandorinot", max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_text_is_read_or_refused(text):
    try:
        found = parse(text)
    except RuleError:
        return
    assert parse(str(found)) == found


A = np.array([1.0, 2.0, np.nan, -4.0])
B = np.array([2.0, 2.0, 2.0, 0.0])
DAYS = ["2024-01-02", "", "2024-02-01", "2023-12-31"]
TABLE = Columns(4, {"a": A, "b": B}, {"s": ["x", "y", "", "x"], "d": DAYS})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + 2 * b - 1", A + 2 * B - 1),
        ("a ** 2 / 4", A**2 / 4),
        ("-a ** 2", -(A**2)),
        ("max(a, b, 1)", np.maximum(np.maximum(A, B), 1)),
        ("abs(a) + min(a, b)", np.abs(A) + np.minimum(A, B)),
        ("previous(a)", [np.nan, 1.0, 2.0, np.nan]),
        ("next(b, start=0)", [2.0, 2.0, 0.0, 0.0]),
        ("previous(b, by=[s])", [np.nan, np.nan, np.nan, 2.0]),
        ("coalesce(a, 7)", [1.0, 2.0, 7.0, -4.0]),
        ("round(a / 8, 1)", [0.1, 0.3, np.nan, -0.5]),
    ],
)
def test_values(text, expected):
    cells = compute(parse(text), TABLE)
    known = np.broadcast_to(cells.known, 4)
    np.testing.assert_allclose(np.where(known, cells.values, np.nan), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <= b", [1, 1, None, 1]),
        ("a < b < 3", [1, 0, None, 1]),
        ("not a == 1", [0, 1, None, 1]),
        ("a == 1 or b == 2", [1, 1, 1, 0]),
        ("a == 1 and b == 0", [0, 0, 0, 0]),
        ("a is null", [0, 0, 1, 0]),
        ("s is not null and a is not null", [1, 1, 0, 1]),
        ("s in ['x', 'z']", [1, 0, None, 1]),
        ("a not in [1, -4]", [0, 1, None, 0]),
        ("d >= '2024-01-02'", [1, None, 1, 0]),
        ("d >= '2024'", [1, None, 1, 0]),
        ("log(a) < 1", [1, 1, None, 0]),  # not a number, and so not kept
        ("b / b == 1", [1, 1, 1, 0]),
    ],
)
def test_three_values_of_truth(text, expected):
    keeps, known = decide(parse_condition(text), TABLE)
    found = [int(each) if is_known else None for each, is_known in zip(keeps, known, strict=True)]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("missing == 1", "does not have the column 'missing'"),
        ("s == 1", "compares texts with numbers"),
        ("s < 'y'", "not a date"),
        ("d < '20240101'", "not a date"),
        ("s + 1 == 2", "computes with it as a number"),
        ("totals(a)", "not decided row by row"),
    ],
)
def test_what_a_table_cannot_answer(text, said):
    with pytest.raises(RuleError, match=said):
        decide(parse_condition(text), TABLE)
