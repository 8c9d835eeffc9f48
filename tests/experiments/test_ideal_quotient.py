"""Theorem 17: the ideal of VCA(X, Y) is an ideal quotient, on varieties whose ideals are known."""

from dataclasses import replace
from functools import cache

import pytest

pytest.importorskip("experiments", reason="experiments are in the repository only")

from experiments.ideal_quotient import cells, report, singular, table
from experiments.ideal_quotient.algebra import Ideal, polynomial_ring
from experiments.ideal_quotient.examples import (
    CAYLEY_CUBIC,
    CIRCLE,
    COUNTEREXAMPLES,
    EXAMPLES,
    SEGRE,
    SPHERE,
    TWISTED_CUBIC,
    VIVIANI,
)
from experiments.ideal_quotient.results import record
from experiments.ideal_quotient.theorem import check

BY_NAME = {example.name: example for example in EXAMPLES}
PLANE = polynomial_ring("xy")
SPACE = polynomial_ring("xyz")
x, y, z = SPACE.gens

every = pytest.mark.parametrize("name", BY_NAME)
with_singular = pytest.mark.skipif(not singular.is_installed(), reason="Singular is not installed")


@cache
def finding(name):
    return check(BY_NAME[name])


def ideal(*generators, ring=SPACE):
    return Ideal(ring, generators)


# --- the theorem ---------------------------------------------------------------------------------


@every
def test_components_are_what_the_example_claims(name):
    assert finding(name).components_proved


@every
def test_conclusions_hold_where_the_hypotheses_do(name):
    found = finding(name)
    if all(found.hypotheses.values()):
        assert all(found.conclusions.values())
    assert set(found.fails) == set(BY_NAME[name].fails)


def test_there_are_enough_examples_of_both_kinds():
    holding = [e for e in EXAMPLES if not e.fails]
    assert len(holding) >= 10
    assert len(COUNTEREXAMPLES) >= 2
    assert all(e.fails for e in COUNTEREXAMPLES)


@pytest.mark.parametrize(
    ("name", "remaining"),
    [
        ("plane and axis, cylinder through the axis", ["z"]),
        ("circle, circle and line", ["1"]),
        ("four points, line through one of them", ["x**2 - x", "x*y - x - y + 1", "y**2 - y"]),
    ],
)
def test_what_is_left_where_a_component_lies_in_W(name, remaining):
    assert [str(g) for g in finding(name).quotient.basis] == remaining


def test_dimension_is_the_hypothesis_that_keeps_components_out_of_W():
    # The same X; only the dimension of W tells the two apart.
    small, large = (
        finding("plane and axis, line"),
        finding("plane and axis, cylinder through the axis"),
    )
    assert small.G == large.G
    assert small.hypotheses["dim W = min dim V_i"]
    assert not large.hypotheses["dim W = min dim V_i"]
    assert any(large.ideal_W <= prime for prime in large.primes_V)


def test_G_may_generate_less_than_the_radical():
    found = finding("parabola and line, parabola")
    assert found.generated != found.ideal_V
    assert x * y not in found.generated
    assert (x * y) ** 2 in found.generated
    assert all(found.conclusions.values())


def test_G_may_generate_less_than_the_ideal_of_X():
    found = finding("twisted cubic, parabola")
    cubic = TWISTED_CUBIC.ideal(SPACE)
    assert found.generated <= cubic
    assert found.generated != cubic
    assert found.shared == (x**2 - y,)


def test_false_claims_about_components_are_found():
    example = BY_NAME["twisted cubic, parabola"]
    assert not check(replace(example, V=example.X)).components_proved  # the line is missing
    assert not check(replace(example, V=(*example.V, *example.Y))).components_proved  # not in V
    repeated = replace(example, V=(*example.V, *example.X))
    assert not check(repeated).components_proved


def test_another_sample_gives_the_same():
    for name in ("circle, ellipse", "twisted cubic, parabola", "Viviani's curve, equator"):
        assert check(BY_NAME[name], seed=1).G == finding(name).G


# --- Singular ------------------------------------------------------------------------------------


@with_singular
@every
def test_singular_agrees(name):
    assert singular.ask(finding(name)).agree_with(finding(name))


@with_singular
def test_singular_would_disagree():
    found = finding("circle, ellipse")
    assert not singular.ask(found).agree_with(replace(found, ideal_V=found.ideal_W))


# --- ideals --------------------------------------------------------------------------------------


def test_intersection():
    assert ideal(x) & ideal(y) == ideal(x * y)
    assert ideal(x, y) & ideal(z) == ideal(x * z, y * z)
    assert ideal(x**2) & ideal(x) == ideal(x**2)
    assert ideal() & ideal(x) == ideal()


def test_quotient():
    assert ideal(x * z, y * z).quotient(ideal(z)) == ideal(x, y)
    assert ideal(x * z, y * z).quotient(ideal(x, y)) == ideal(z)
    assert ideal(x**2 * y).quotient(ideal(x)) == ideal(x * y)
    assert ideal(x).quotient(ideal(x, y)) == ideal(x)
    assert ideal(x).quotient(ideal(x)) == ideal(SPACE.one)
    assert ideal(x).quotient(ideal()) == ideal(SPACE.one)


def test_saturation_divides_all_powers_out():
    assert ideal(x**2 * y).saturation(ideal(x)) == ideal(y)
    assert ideal(x**3 * z, y * z).saturation(ideal(x, y)) == ideal(z)


def test_membership_in_radicals():
    double = ideal(x**2, y - z)
    assert x not in double
    assert double.radical_contains(x)
    assert not double.radical_contains(y)


@pytest.mark.parametrize(
    ("generators", "dimension"),
    [((), 3), ((x,), 2), ((x * z, y * z), 2), ((x, y), 1), ((x, y**2, z**3), 0), ((x, x - 1), -1)],
)
def test_dimension(generators, dimension):
    assert ideal(*generators).dimension == dimension


def test_ideals_do_not_depend_on_generators():
    assert ideal(x - y, y - z) == ideal(x - z, x - y, 2 * y - 2 * z)
    assert len({ideal(x, y), ideal(y, x + y)}) == 1
    assert ideal(x) != ideal(x**2)


def test_implicitization():
    assert TWISTED_CUBIC.ideal(SPACE) == ideal(x**2 - y, x * y - z)
    assert VIVIANI.ideal(SPACE) == ideal(x**2 + y**2 + z**2 - 1, x**2 + y**2 - x)
    assert SPHERE.ideal(SPACE) == ideal(x**2 + y**2 + z**2 - 1)
    assert CAYLEY_CUBIC.ideal(SPACE) == ideal(x * y * z + x * y + x * z + y * z)
    u, v = PLANE.gens
    assert CIRCLE.ideal(PLANE) == ideal(u**2 + v**2 - 1, ring=PLANE)
    matrices = polynomial_ring("abcd")
    a, b, c, d = matrices.gens
    assert SEGRE.ideal(matrices) == ideal(a * d - b * c, ring=matrices)


# --- report --------------------------------------------------------------------------------------


def test_records_are_plain_and_make_a_table():
    found = [record(BY_NAME[name]) for name in ("circle, ellipse", "circle, circle and line")]
    assert found[0]["G"] == ["x**2 + y**2 - 1"]
    assert found[0]["(3)'"]
    assert not found[1]["(1)"]
    assert all(row["as expected"] for row in found)
    assert found[0]["Singular agrees"] is (True if singular.is_installed() else None)
    lines = table(found).splitlines()
    assert len(lines) == 4
    assert lines[2].count("| yes ") == 4
    assert lines[3].count("| **no** ") == 4
    assert "not: W irreducible" in lines[3]
    page = report({row["example"]: row for row in found}, "full")
    assert lines[3] in page
    assert "a reducible W can contain V" in page


def test_every_example_is_a_cell():
    assert [cell.name for cell in cells("small")] == list(BY_NAME)
