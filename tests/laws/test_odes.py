"""``discover_odes``: differential equations of trajectories."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sympy
from scipy.integrate import solve_ivp

import vanishing
from vanishing.laws import discover_odes
from vanishing.persistence import ModelFileError


def hunt(t, z):
    """Predators with a limited appetite: a rational system."""
    x, y = z
    return [x * (1 - x / 3) - x * y / (1 + x), y * (-0.4 + 0.8 * x / (1 + x))]


def run(motion, starts, duration, n_rows=200, noise=0.01, times=None):
    rng = np.random.default_rng(0)
    t = np.linspace(0, duration, n_rows) if times is None else times
    records = [
        solve_ivp(motion, (0, t[-1]), start, "DOP853", t, rtol=1e-9, atol=1e-11).y.T
        for start in starts
    ]
    spreads = np.concatenate(records).std(axis=0)
    return [each + noise * spreads * rng.normal(size=each.shape) for each in records], t


def oscillate(**options):
    starts = np.random.default_rng(1).normal(size=(5, 2))
    return run(lambda t, z: [z[1], -4 * z[0] - 0.3 * z[1]], starts, 6, **options)


def saturate(**options):
    starts = [[1.0], [2.0], [3.0], [4.0], [5.0]]
    return run(lambda t, z: -z / (1 + z), starts, 8, **options)


def test_a_planar_rational_system():
    starts = np.random.default_rng(2).uniform(0.3, 2.5, (6, 2))
    records, t = run(hunt, starts, 20)
    odes = discover_odes(records, t, feature_names=["x", "y"], max_degree=3)
    assert len(odes) == 2
    x, y = sympy.symbols("x y")
    for equation, expected in zip(
        odes, [x * (1 - x / 3) - x * y / (1 + x), y * (0.8 * x / (1 + x) - 0.4)], strict=True
    ):
        # The same terms, and the same function up to noise.
        numerator = sympy.fraction(sympy.together(expected))[0]
        assert set(sympy.Poly(equation.solution.as_numer_denom()[0], x, y).monoms()) == set(
            sympy.Poly(sympy.expand(numerator), x, y).monoms()
        )
        for place in ({x: 0.5, y: 1.0}, {x: 2.0, y: 1.5}, {x: 1.5, y: 0.7}):
            value = float(equation.solution.subs(place))
            assert value == pytest.approx(float(expected.subs(place)), abs=0.01)


def test_a_function_is_preferred_to_longer_approximations():
    rng = np.random.default_rng([17, 2])
    records, t = run(
        lambda t, z: [1 / (1 + z[1] ** 2) - 0.5 * z[0], 2 * z[0] - z[1]],
        rng.uniform(0, 3, (8, 2)),
        10,
        noise=0.0,
    )
    spreads = np.concatenate(records).std(axis=0)
    noisy = [each + 0.01 * spreads * rng.normal(size=each.shape) for each in records]
    odes = discover_odes(noisy, t, feature_names=["x", "y"])
    assert sorted(map(tuple, odes["x"].exponents.tolist())) == sorted(
        [(0, 0, 1), (0, 2, 1), (1, 0, 0), (1, 2, 0), (0, 0, 0)]
    )
    assert str(odes["y"]) == "dy/dt = 2*x - y"


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_an_equation_that_is_rational(noise):
    records, t = saturate(noise=noise)
    odes = discover_odes(records, t, feature_names=["x"])
    assert [str(equation) for equation in odes] == ["(x + 1)*dx/dt = -x"]
    assert odes[0].latex == r"\frac{d x}{dt} = - \frac{x}{x + 1}"
    assert odes.rhs(0.0, [3.0]) == pytest.approx([-0.75])
    assert "<table>" in odes._repr_html_()


def test_a_linear_system():
    records, t = oscillate()
    odes = discover_odes(records, t, feature_names=["x", "v"])
    assert str(odes["x"]) == "dx/dt = v"
    assert odes["v"].evaluate(np.array([[1.0, 0.0], [0.0, 1.0]])) == pytest.approx(
        [-4, -0.3], abs=0.02
    )
    assert odes.summary() == "2 equations for 2 columns of 5 trajectories."
    with pytest.raises(KeyError, match="no equation for 'y'"):
        odes["y"]


def test_times_may_be_uneven_and_given_in_many_ways():
    rng = np.random.default_rng(3)
    uneven = np.r_[0, np.sort(rng.uniform(0, 6, 198)), 6]
    records, t = oscillate(times=uneven)
    assert str(discover_odes(records, t, feature_names=["x", "v"])[0]) == "dx/dt = v"
    records, t = oscillate()
    expected = str(discover_odes(records, t, feature_names=["x", "v"]))
    frame = pd.DataFrame(np.concatenate(records), columns=["x", "v"])
    frame["run"] = np.repeat(np.arange(5), 200)
    frame["t"] = np.tile(t, 5)
    assert str(discover_odes(records, [t] * 5, feature_names=["x", "v"])) == expected
    assert str(discover_odes(records, t[1], feature_names=["x", "v"])) == expected
    assert str(discover_odes(frame, "t", "run")) == expected
    assert str(discover_odes(frame[["x", "v"]], t[1], frame["run"])) == expected


def test_one_trajectory():
    records, t = run(lambda t, z: [z[1], -z[0] - 0.1 * z[0] ** 3], [[2.0, 0.0]], 20, 400)
    odes = discover_odes(records[0], t, feature_names=["x", "v"])
    assert str(odes["x"]) == "dx/dt = v"


def test_only_chosen_terms_appear():
    records, t = saturate()
    names = ["x"]
    # No rational function: a polynomial on the right-hand side.
    odes = discover_odes(records, t, feature_names=names, terms=["x", "dx/dt", "x*dx/dt"])
    assert str(odes[0]) == "(x + 1)*dx/dt = -x"
    assert not len(discover_odes(records, t, feature_names=names, terms=["1", "x"]))
    odes = discover_odes(records, t, feature_names=names, terms={"x": ["x", "x*dx/dt", "dx/dt"]})
    assert len(odes) == 1


@pytest.mark.parametrize("seed", range(3))
def test_random_walks_have_no_equation(seed):
    walks = np.random.default_rng(seed).normal(size=(5, 150, 2)).cumsum(axis=1)
    odes = discover_odes(walks, 0.1)
    assert not len(odes)
    with pytest.raises(ValueError, match="no equation for x0, x1"):
        odes.rhs(0.0, [0.0, 0.0])


def test_constant_columns_have_no_equation():
    records, t = saturate()
    records = [np.column_stack([each, np.full(len(each), 2.0)]) for each in records]
    odes = discover_odes(records, t, feature_names=["x", "c"])
    assert [equation.derivative for equation in odes] == ["dx/dt"]
    assert odes.notes == ("c is constant along each trajectory",)


@pytest.mark.parametrize(
    ("t", "options", "message"),
    [
        (None, {}, "derivatives need times"),
        (np.linspace(1, 0, 200), {}, "times of trajectory 0 must rise"),
        (np.arange(50), {}, r"the trajectories have \[200, 200, 200, 200, 200\] rows"),
        ("time", {}, "no column 'time' of numbers for the times; there are x"),
        (0.1, {"terms": {"y": ["x"]}}, "equations for 'y', but the columns are x"),
        (0.1, {"terms": ["x", "dy/dt"]}, "the term 'dy/dt', which is no product"),
        (0.1, {"max_degree": 0}, "max_degree must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_input(t, options, message):
    records, _ = saturate()
    with pytest.raises(ValueError, match=message):
        discover_odes(records, t, feature_names=["x"], **options)


def test_short_trajectories():
    with pytest.raises(ValueError, match="has 10 rows, but derivatives need 15 or more"):
        discover_odes([np.random.default_rng(0).normal(size=(10, 2))], 0.1)


def test_saved_odes(tmp_path):
    records, t = oscillate()
    odes = discover_odes(records, t, feature_names=["x", "v"])
    odes.save(tmp_path / "odes.safetensors")
    loaded = vanishing.load(tmp_path / "odes.safetensors")
    assert len(loaded) == 2
    assert str(loaded) == str(odes)
    np.testing.assert_array_equal(loaded.rhs(0.0, [0.3, -0.2]), odes.rhs(0.0, [0.3, -0.2]))
    replace(odes, names=("x", "y")).save(tmp_path / "odes.safetensors")
    with pytest.raises(ModelFileError, match="columns"):
        vanishing.load(tmp_path / "odes.safetensors")


def test_progress_is_told_and_short_trajectories_are_refused():
    records, t = oscillate()
    heard = []
    discover_odes(records, t, callback=lambda n_found, share: heard.append((n_found, share)))
    assert heard
    assert all(0 <= share <= 1 for _, share in heard)
    with pytest.raises(ValueError, match="too few for derivatives"):
        discover_odes([each[:3] for each in records], t[:3])


def test_times_are_as_many_as_rows():
    records, t = oscillate()
    with pytest.raises(ValueError, match="t must have one time for each of the 200 rows"):
        discover_odes(records[0], t[:-1])


def test_equations_that_are_not_linear_in_the_derivative():
    """They are written as they are, and have no formula of the derivative."""
    records, t = oscillate()
    (ode, _) = discover_odes(records, t, feature_names=["x", "v"])
    assert str(ode) == "dx/dt = v"
    exponents = ode.exponents.copy()
    exponents[:, -1] *= 2
    squared = replace(ode, exponents=exponents)
    assert not squared.is_linear
    assert "dx/dt]^2" in str(squared).replace("dx/dt^2", "dx/dt]^2")
    assert "^{2}" in squared.latex
    for ask in (lambda: squared.solution, lambda: squared.evaluate(records[0])):
        with pytest.raises(ValueError, match=r"is not linear in dx/dt; solve it numerically"):
            ask()


def test_terms_of_some_equations():
    records, t = oscillate()
    names = ["x", "v"]
    (ode,) = discover_odes(records, t, feature_names=names, terms={"x": ["v", "x"]})
    assert str(ode) == "dx/dt = v"
    (ode,) = discover_odes(records, t, feature_names=names, terms=["dx/dt", "v"])
    assert str(ode) == "dx/dt = v"
    with pytest.raises(ValueError, match="no term that any equation may have"):
        discover_odes(records, t, feature_names=names, terms={"x": ["dv/dt"]})


def test_trajectories_are_counted_in_words():
    records, t = run(lambda t, z: [z[1], -z[0]], [[2.0, 0.0], [1.0, 1.0]], 10, 200)
    assert "of one trajectory" in discover_odes(records[0], t).summary()
    assert "of 2 trajectories" in discover_odes(records, t).summary()


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_one_short_run_of_cooling(noise):
    """There were too few rows for averages as wide as one trajectory has the best of."""
    t = np.linspace(0, 20, 200)
    cooling = 20 + 60 * np.exp(-0.2 * t)
    cooling += noise * cooling.std() * np.random.default_rng(0).normal(size=200)
    (ode,) = discover_odes(cooling[:, None], t, feature_names=["T"])
    assert float(ode.solution.subs("T", 70)) == pytest.approx(-10, rel=0.01)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-150, 1e-100, 1e100, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("what", ["columns", "one column", "times"])
def test_sizes_whose_products_are_beyond_all_numbers_are_refused(size, what):
    records, t = oscillate(noise=0.0)
    units = {"columns": [size, size], "one column": [1.0, size], "times": [1.0, 1.0]}[what]
    time_unit = size if what == "times" else 1.0
    with pytest.raises(ValueError, match=r"too (large|small) for products of columns; use another"):
        discover_odes([each * units for each in records], time_unit * t)


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_equations_do_not_depend_on_large_and_small_units(size):
    records, t = oscillate(noise=1e-6)
    odes = discover_odes([size * each for each in records], t, feature_names=["x", "v"])
    expected = discover_odes(records, t, feature_names=["x", "v"])
    assert str(odes) == str(expected)
    # Derivatives are as large as columns of that size per time.
    with pytest.raises(ValueError, match=r"'dx/dt' holds .* too (large|small) for products"):
        discover_odes([size * each for each in records], t / size, feature_names=["x", "v"])


@pytest.mark.parametrize("options", [{"max_degree": True}, {"random_state": -1}])
def test_options_that_are_no_whole_numbers(options):
    records, t = oscillate()
    with pytest.raises(ValueError, match=r"must be a whole number of at least \d, got (True|-1)"):
        discover_odes(records, t, **options)


@pytest.mark.parametrize(
    ("t", "error", "message"),
    [
        (pd.date_range("2020", periods=200, freq="h"), TypeError, "t holds dates or durations"),
        (list(pd.date_range("2020", periods=200)), TypeError, "t holds dates or durations"),
        (pd.to_timedelta(range(200), unit="s"), TypeError, "t holds dates or durations"),
        (np.arange(200) + 1j, TypeError, "t must hold numbers, got complex128"),
        (["a"] * 200, TypeError, "t must hold numbers, got <U1"),
        ([], ValueError, "t must have one time for each row"),
        (0.0, ValueError, "t must be a finite positive number, got 0.0"),
        (np.timedelta64(1, "s"), ValueError, "t must be a finite positive number"),
    ],
)
def test_times_that_are_no_numbers(t, error, message):
    records, _ = oscillate()
    with pytest.raises(error, match=message):
        discover_odes(records, t)
    with pytest.raises(error, match=message.replace("each row", "each of the 200 rows")):
        discover_odes(records[0], t)


def test_a_column_of_dates_is_no_column_of_times():
    records, _ = oscillate()
    frame = pd.DataFrame(records[0], columns=["x", "v"])
    with pytest.raises(ValueError, match="there is no column 't' of numbers for the times"):
        discover_odes(frame.assign(t=pd.date_range("2020", periods=200)), "t")


def test_states_of_another_width_are_refused():
    records, t = oscillate()
    odes = discover_odes(records, t, feature_names=["x", "v"])
    for state in (1.0, [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="expected a state of 2 numbers"):
            odes.rhs(0.0, state)
    with pytest.raises(ValueError, match="expected rows of 2 columns"):
        odes[0].evaluate(np.ones((3, 3)))


def test_equations_are_printed_with_their_errors():
    rng = np.random.default_rng(1)
    t = np.linspace(0, 60, 200)
    runs = [21 + start * np.exp(-t / 18) + 0.2 * rng.normal(size=200) for start in (-20, 20, 55)]
    found = discover_odes([each[:, None] for each in runs], t, feature_names=["T"])
    (ode,) = found
    assert "(" not in str(ode)
    assert ode.with_errors in str(found)
    left, right = ode.with_errors.split(" = ")
    assert left.endswith(")*dT/dt")
    assert right.endswith(")")
