"""``discover_invariants``: what is constant along trajectories."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sympy
from scipy.integrate import solve_ivp

import vanishing
from vanishing import discover
from vanishing.laws import discover_invariants
from vanishing.persistence import ModelFileError

INERTIA = np.array([1.0, 2.0, 3.0])


def run(motion, start, duration, n_rows=120):
    times = np.linspace(0, duration, n_rows)
    return solve_ivp(motion, (0, duration), start, "DOP853", times, rtol=1e-9, atol=1e-11).y.T


def noisy(records, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    spreads = np.concatenate(records).std(axis=0)
    return [each + noise * spreads * rng.normal(size=each.shape) for each in records]


def oscillate(n=6, seed=0):
    rng = np.random.default_rng(seed)
    return [run(lambda t, z: [z[1], -4 * z[0]], start, 5) for start in rng.normal(size=(n, 2))]


def orbit(n=6, seed=0):
    rng = np.random.default_rng(seed)
    records = []
    for _ in range(n):
        angle, speed = rng.uniform([0, 0.8], [2 * np.pi, 1.3])
        c, s = np.cos(angle), np.sin(angle)
        records.append(
            run(
                lambda t, z: np.r_[z[2:], -z[:2] / np.hypot(*z[:2]) ** 3],
                [c, s, -speed * s, speed * c],
                6,
            )
        )
    return records


def infect(people, seed=0):
    rng = np.random.default_rng(seed)
    records = []
    for total in people:
        ill, immune = total * rng.uniform([0.01, 0], [0.05, 0.3])
        records.append(
            run(
                lambda t, z: [-z[0] * z[1], z[0] * z[1] - 0.25 * z[1], 0.25 * z[1]],
                [total - ill - immune, ill, immune],
                30,
            )
        )
    return records


def texts(invariants):
    return [str(each) for each in invariants]


@pytest.mark.parametrize("noise", [0.0, 1e-4, 1e-2])
def test_energy_of_an_oscillator(noise):
    found = discover_invariants(noisy(oscillate(), noise), feature_names=["x", "v"])
    assert texts(found) == ["4*x^2 + v^2 = const"]
    assert not found.laws
    assert found.noise == pytest.approx(noise, rel=0.15)
    assert found[0].p_value < 1e-6
    starts = np.array([each[0] for each in oscillate()])
    np.testing.assert_allclose(found[0].levels, starts**2 @ [4, 1], rtol=0.01)


def test_both_invariants_of_the_euler_top():
    rng = np.random.default_rng(1)
    records = [
        run(lambda t, w: np.cross(INERTIA * w, w) / INERTIA, start, 12)
        for start in rng.normal(size=(6, 3))
    ]
    found = discover_invariants(noisy(records), feature_names=["w1", "w2", "w3"])
    assert len(found) == 2
    squares = [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    coefficients = np.zeros((2, 3))
    for row, invariant in zip(coefficients, found, strict=True):
        for powers, value in zip(invariant.exponents.tolist(), invariant.coefficients, strict=True):
            row[squares.index(powers)] = value
    expected = np.array([INERTIA, INERTIA**2])
    rest = coefficients - coefficients @ np.linalg.pinv(expected) @ expected
    assert np.abs(rest).max() < 0.03


def test_relations_of_single_orbits_are_no_invariants():
    records = noisy(orbit())
    found = discover_invariants(records, feature_names=["x", "y", "vx", "vy"])
    assert texts(found) == ["x*vy - y*vx = const"]
    assert not found.laws
    # Whereas one orbit satisfies many equations.
    rows = np.random.default_rng(0).permutation(records[0])  # in time, neighbors tell as much
    assert len(discover(rows, ["x", "y", "vx", "vy"], max_degree=2)) > 1


def test_energy_of_degree_three():
    rng = np.random.default_rng(3)
    records = []
    while len(records) < 6:
        x, y = rng.uniform(-0.3, 0.3, 2)
        speed = 2 * (rng.uniform(0.08, 0.12) - (x**2 + y**2) / 2 - x**2 * y + y**3 / 3)
        if speed < 0:
            continue
        angle = rng.uniform(0, 2 * np.pi)
        start = [x, y, np.sqrt(speed) * np.cos(angle), np.sqrt(speed) * np.sin(angle)]
        records.append(
            run(
                lambda t, z: [
                    z[2], z[3], -z[0] - 2 * z[0] * z[1], -z[1] - z[0] ** 2 + z[1] ** 2,
                ],
                start, 30, 200,
            )
        )  # fmt: skip
    found = discover_invariants(noisy(records), feature_names=["x", "y", "u", "v"], max_degree=3)
    (expression,) = [each.expression for each in found]
    x, y, u, v = sympy.symbols("x y u v")
    energy = sympy.expand(x**2 + y**2 + u**2 + v**2 + 2 * x**2 * y - sympy.Rational(2, 3) * y**3)
    found_terms = sympy.Poly(expression, x, y, u, v).as_dict()
    scale = found_terms[2, 0, 0, 0]
    expected = sympy.Poly(energy, x, y, u, v).as_dict()
    assert set(found_terms) == set(expected)
    for powers, value in expected.items():
        assert float(found_terms[powers] / scale) == pytest.approx(float(value), rel=0.05)


def test_a_total_is_an_invariant_or_a_law():
    names = ["S", "I", "R"]
    found = discover_invariants(noisy(infect([0.6, 0.9, 1.2, 1.5, 1.8])), feature_names=names)
    assert texts(found) == ["S + I + R = const"]
    assert not found.laws
    found = discover_invariants(noisy(infect([1.0] * 5)), feature_names=names)
    assert not len(found)
    assert texts(found.laws) == ["S + I + R = 1"]
    assert "S + I + R = 1 on all trajectories" in str(found)


@pytest.mark.parametrize("seed", range(4))
def test_random_walks_have_no_invariant(seed):
    rng = np.random.default_rng(seed)
    walks = rng.normal(size=(5, 80, 3)).cumsum(axis=1) + 10 * rng.normal(size=(5, 1, 3))
    found = discover_invariants(walks)
    assert not len(found)
    assert not found.laws
    assert str(found) == "No invariant found in 3 columns of 5 trajectories."
    assert np.isnan(found.noise)


@pytest.mark.parametrize(
    "motion",
    [
        lambda t, z: [z[1], -z[0] - 0.2 * z[1]],
        lambda t, z: [z[1], (1 - z[0] ** 2) * z[1] - z[0]],
    ],
)
def test_dissipative_systems_have_no_invariant(motion):
    rng = np.random.default_rng(5)
    records = [run(motion, start, 8) for start in 2 * rng.normal(size=(6, 2))]
    found = discover_invariants(noisy(records))
    assert not len(found)
    assert not found.laws


def test_units_do_not_matter():
    scale = np.array([1e-6, 1e3])
    records = [each * scale for each in noisy(oscillate())]
    (invariant,) = discover_invariants(records)
    assert sorted(map(tuple, invariant.exponents.tolist())) == [(0, 2), (2, 0)]
    ratio = invariant.coefficients[0] / invariant.coefficients[1]
    expected = 4 * (scale[1] / scale[0]) ** 2
    assert ratio == pytest.approx(expected, rel=0.02) or 1 / ratio == pytest.approx(
        expected, rel=0.02
    )


def test_a_parameter_of_each_trajectory_may_appear():
    rng = np.random.default_rng(7)
    records = []
    for stiffness in rng.uniform(1, 6, 8):
        motion = run(lambda t, z, k=stiffness: [z[1], -k * z[0]], rng.normal(size=2), 6)
        records.append(np.column_stack([motion, np.full(len(motion), stiffness)]))
    for noise in (0.0, 0.01):
        found = discover_invariants(noisy(records, noise), feature_names=["x", "v", "k"])
        assert texts(found) == ["x^2*k + v^2 = const"]
        assert found.notes == ("k is constant along each trajectory",)


def test_lists_tables_and_columns_of_groups_are_the_same(tmp_path):
    records = noisy(oscillate())
    expected = discover_invariants(records, feature_names=["x", "v"])
    whole = pd.DataFrame(np.concatenate(records), columns=["x", "v"])
    labels = np.repeat(list("abcdef"), len(records[0]))
    whole["run"] = labels
    path = tmp_path / "runs.csv"
    whole.to_csv(path, index=False)
    for found in (
        discover_invariants(np.stack(records), feature_names=["x", "v"]),
        discover_invariants([frame[["x", "v"]] for _, frame in whole.groupby("run")]),
        discover_invariants(whole, "run"),
        discover_invariants(whole[["x", "v"]], labels),
        discover_invariants(path, "run"),
    ):
        assert texts(found) == texts(expected)
        np.testing.assert_allclose(found[0].levels, expected[0].levels)
    # Rows of different trajectories may alternate.
    mixed = np.argsort(np.arange(len(whole)) % len(records[0]), kind="stable")
    found = discover_invariants(whole.iloc[mixed], "run")
    np.testing.assert_allclose(found[0].levels, expected[0].levels)
    assert found.labels == tuple("abcdef")


def test_only_chosen_terms_appear():
    records = noisy(oscillate())
    names = ["x", "v"]
    assert len(discover_invariants(records, feature_names=names, terms=["x^2", "v^2", "x*v"])) == 1
    assert not len(discover_invariants(records, feature_names=names, terms=["x", "x*v", "v"]))


def test_rows_with_missing_cells_are_left_out():
    records = noisy(oscillate())
    records[0][3, 0] = np.nan
    records.append(records[0][:4])
    found = discover_invariants(records, feature_names=["x", "v"])
    assert texts(found) == ["4*x^2 + v^2 = const"]
    assert found.notes == (
        "2 of 724 rows have missing cells and were left out",
        "1 of 7 trajectories have fewer than 5 rows and were left out",
    )


def test_values_and_pages():
    records = noisy(oscillate())
    found = discover_invariants(records, feature_names=["x", "v"])
    values = found.values(records[2])
    assert values.shape == (120, 1)
    assert values.mean() == pytest.approx(found[0].levels[2], rel=1e-3)
    assert found[0].latex == r"v^{2} + 4 x^{2} = \mathrm{const}"
    assert "<table>" in found._repr_html_()
    with pytest.raises(ValueError, match=r"2 columns \(x, v\), got shape \(3, 5\)"):
        found.values(np.ones((3, 5)))


def test_progress_is_told():
    heard = []
    discover_invariants(noisy(oscillate()), callback=lambda *each: heard.append(each))
    assert heard[0] == (0, 0.0)
    assert heard[-1][0] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([np.ones((20, 2))],), "at least 2 trajectories of 5 rows or more, got 1"),
        (([],), "empty list"),
        (([np.ones((20, 2)), np.ones((20, 3))],), "trajectory 1 has the columns x0, x1, x2"),
        ((np.ones((20, 2)), np.arange(19)), r"each of the 20 rows, got shape \(19,\)"),
        ((np.ones((20, 2)), "run"), "an array without names"),
        ((pd.DataFrame({"x": [1.0]}), "run"), "no column 'run' for the groups; there are x"),
        (([np.ones((20, 2))] * 2, np.arange(40)), "leave groups out"),
    ],
)
def test_bad_trajectories(arguments, message):
    with pytest.raises(ValueError, match=message):
        discover_invariants(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_degree": 0}, "max_degree must be a whole number of at least 1, got 0"),
        ({"terms": "x"}, "must be a list of terms"),
        ({"terms": ["x0*z"]}, r"the term 'x0\*z', which is no product of powers of x0, x1"),
        ({"terms": ["x0^3"], "max_degree": 2}, "term of degree 3, but max_degree is 2"),
        ({"terms": ["x0^99"]}, "terms of degree 99 in 2 columns are too many to evaluate"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        discover_invariants(noisy(oscillate(2)), **options)


@pytest.mark.parametrize("groups", [["b", "a", "c", "d"], [1.5, 2.5, 3.5, 0.5], [7, 1, 2, 3]])
def test_saved_invariants(tmp_path, groups):
    people = infect([1.0, 2.0, 3.0, 4.0])
    X = np.concatenate(noisy(people, 0.001))
    invariants = discover_invariants(X, np.repeat(groups, len(people[0])), max_degree=1)
    assert len(invariants)
    invariants.save(tmp_path / "invariants.safetensors")
    loaded = vanishing.load(tmp_path / "invariants.safetensors")
    assert str(loaded) == str(invariants)
    assert loaded.labels == invariants.labels == tuple(groups)
    np.testing.assert_array_equal(loaded.values(X), invariants.values(X))
    np.testing.assert_array_equal(loaded[0].levels, invariants[0].levels)
    replace(invariants, labels=invariants.labels[:-1]).save(tmp_path / "invariants.safetensors")
    with pytest.raises(ModelFileError, match="trajectories"):
        vanishing.load(tmp_path / "invariants.safetensors")


def test_dates_name_trajectories(tmp_path):
    days = pd.date_range("2026-01-01", periods=4)
    records = infect([1.0, 2.0, 3.0, 4.0])
    groups = np.repeat(days, len(records[0]))
    invariants = discover_invariants(np.concatenate(records), groups, max_degree=1)
    assert [str(label)[:10] for label in invariants.labels] == [str(day.date()) for day in days]
    invariants.save(tmp_path / "invariants.safetensors")
    assert vanishing.load(tmp_path / "invariants.safetensors").labels == invariants.labels


def test_noise_is_not_constant_along_trajectories():
    """A column of its own level in each trajectory, which varies by more than rounding."""
    rng = np.random.default_rng(0)
    records = [
        np.column_stack([each, 5 * k + 2 * rng.normal(size=len(each))])
        for k, each in enumerate(oscillate())
    ]
    assert not [note for note in discover_invariants(records).notes if "constant" in note]
    still = [np.column_stack([each, np.full(len(each), k)]) for k, each in enumerate(oscillate())]
    assert [note for note in discover_invariants(still).notes if "constant" in note]


def test_noise_around_a_large_number_is_not_constant_along_trajectories():
    rng = np.random.default_rng(0)
    records = [
        np.column_stack([each, 100 + 0.2 * rng.normal(size=len(each))]) for each in oscillate()
    ]
    assert not [note for note in discover_invariants(records).notes if "constant" in note]


def test_needless_terms_are_left_out_of_an_invariant():
    """x v is no part of the energy, and noise alone gives it a coefficient."""
    records, terms = noisy(oscillate(), 1e-2), ["x^2", "v^2", "x*v"]
    found = discover_invariants(records, feature_names=["x", "v"], terms=terms)
    assert texts(found) == ["4*x^2 + v^2 = const"]


def test_columns_that_are_all_constant_have_no_invariant():
    records = [np.tile([k, 2.0 * k], (20, 1)) for k in range(1, 5)]
    found = discover_invariants(records)
    assert len(found) == 0
    assert [note for note in found.notes if "x1 is constant along each trajectory" in note]


def test_of_many_rows_some_are_searched(monkeypatch):
    monkeypatch.setattr("vanishing.laws.invariants.SEARCHED_ROWS", 200)
    found = discover_invariants(noisy(oscillate(), 1e-4), feature_names=["x", "v"])
    assert texts(found) == ["4*x^2 + v^2 = const"]


def test_a_sum_that_is_zero_on_all_trajectories_is_a_law():
    records = [np.column_stack([each, each.sum(axis=1)]) for each in noisy(oscillate(3), 1e-3)]
    found = discover_invariants(records, feature_names=["x", "v", "s"])
    assert [str(law) for law in found.laws] == ["s = x + v"]


def test_a_column_of_zeros_does_not_disturb():
    records = [np.column_stack([each, np.zeros(len(each))]) for each in noisy(oscillate(), 1e-4)]
    found = discover_invariants(records, feature_names=["x", "v", "z"])
    assert texts(found) == ["4*x^2 + v^2 = const"]


def test_the_highest_power_of_an_invariant_is_positive():
    """With as many terms of either sign: v^2 - 2*x, and not 2*x - v^2."""
    t = np.linspace(0, 3, 60)
    starts = np.random.default_rng(0).uniform(-2, 2, (6, 2))
    bodies = [np.column_stack([x + v * t + t**2 / 2, v + t]) for x, v in starts]
    (invariant,) = discover_invariants(bodies, feature_names=["x", "v"], max_degree=2)
    highest = invariant.exponents.sum(axis=1) == 2
    assert len(invariant.coefficients) == 2
    assert invariant.coefficients[highest] > 0


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-150, 1e-100, 1e100, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("columns", [[0, 1], [1]])
def test_sizes_whose_products_are_beyond_all_numbers_are_refused(size, columns):
    units = np.ones(2)
    units[columns] = size
    with pytest.raises(ValueError, match=r"too (large|small) for products of columns; use another"):
        discover_invariants([each * units for each in oscillate()])


@pytest.mark.parametrize("size", [1e-74, 1e-50, 1e50, 1e73])
@pytest.mark.parametrize("terms", [None, ["x^4", "x^2*v^2", "v^4"]])
def test_invariants_do_not_depend_on_large_and_small_units(size, terms):
    records = noisy(oscillate(), 1e-6)
    scaled = [size * each for each in records]
    found = discover_invariants(scaled, feature_names=["x", "v"], terms=terms)
    expected = discover_invariants(records, feature_names=["x", "v"], terms=terms)
    assert str(found) == str(expected)
    degree = found[0].degree
    np.testing.assert_allclose(found[0].levels, expected[0].levels * size**degree, rtol=1e-9)
    np.testing.assert_allclose(
        found[0].level_errors, expected[0].level_errors * size**degree, rtol=1e-6
    )


def test_degrees_whose_products_are_beyond_all_numbers_are_refused():
    scaled = [1e60 * each for each in oscillate()]
    with pytest.raises(ValueError, match="too large for products of columns"):
        discover_invariants(scaled, feature_names=["x", "v"], terms=["x^6", "v^6"])


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_laws_have_no_common_factor(seed):
    rng = np.random.default_rng(seed)
    records = [
        np.column_stack([each, each.sum(axis=1) + 1e-3 * rng.normal(size=len(each))])
        for each in noisy(oscillate(), 1e-3)
    ]
    found = discover_invariants(records, feature_names=["x", "v", "s"])
    assert [str(each) for each in found] == ["4*x^2 + v^2 = const"]
    assert [str(law) for law in found.laws] == ["s = x + v"]


def test_invariants_may_have_a_common_factor():
    rng = np.random.default_rng(0)
    records = []
    for level in (2.0, 3.0, 4.0, 5.0, 6.0):
        x, y = 1.5 + np.cumsum(rng.normal(0, 0.02, (2, 150)), axis=1)
        records.append(np.column_stack([x, y, level / x - y]))
    found = discover_invariants(noisy(records, 1e-3), feature_names=["x", "y", "z"])
    assert [str(each) for each in found] == ["x*y + x*z = const"]


def _joined():
    records = oscillate()
    return np.concatenate(records), np.repeat(np.arange(len(records)), len(records[0]))


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT])
def test_rows_without_a_label_are_no_trajectory(missing):
    rows, groups = _joined()
    labels = groups.astype(object)
    labels[groups == 2] = missing
    with pytest.raises(ValueError, match="groups has no label for 120 of 720 rows"):
        discover_invariants(rows, labels)


def test_labels_of_several_types():
    rows, groups = _joined()
    labels = groups.astype(object)
    labels[groups == 2] = "two"
    found = discover_invariants(rows, labels)
    assert "two" in found.labels
    np.testing.assert_allclose(found[0].levels, discover_invariants(rows, groups)[0].levels)


@pytest.mark.parametrize("terms", [[], 3, {"x": ["x"]}, "x"])
def test_terms_that_are_no_list(terms):
    with pytest.raises(ValueError, match="terms must be a list of terms"):
        discover_invariants(oscillate(), feature_names=["x", "v"], terms=terms)
