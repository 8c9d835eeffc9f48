"""What a fit says about its own decisions: margins, fragile decisions, amplified errors."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from vanishing import ClassVanishingFeatures, VanishingIdeal, load
from vanishing.datasets import make_variety
from vanishing.ideal import FragileWarning, NothingVanishesWarning


def line(spread):
    """Points whose second column has the given root mean square."""
    x = np.array([-1.0, -1.0, 1.0, 1.0])
    return np.column_stack([10 * x, spread * np.array([1.0, -1.0, 1.0, -1.0])])


@pytest.mark.parametrize("spread", [0.5, 0.9, 1.1, 4.0])
def test_the_margin_is_the_factor_to_the_tolerance(spread):
    step = VanishingIdeal(max_degree=1, tol=1.0).fit(line(spread)).trace_[0]
    assert step.vanishing == (spread < 1)
    assert step.margin == pytest.approx(max(spread, 1 / spread))
    assert step.fragile == 0


@pytest.mark.parametrize("factor", [1.0, 1 - 2e-16, 1 + 2e-16])
def test_an_extent_at_the_tolerance_is_fragile(factor):
    with pytest.warns(FragileWarning, match=r"1 of degree 1\) are equal to the tolerance"):
        step = VanishingIdeal(max_degree=1, tol=1.0).fit(line(factor)).trace_[0]
    assert step.fragile == 1
    assert step.margin == pytest.approx(1, abs=1e-12)


def test_single_precision_is_fragile_in_a_wider_range():
    X = line(1 + 1e-7)
    VanishingIdeal(max_degree=1, tol=1.0).fit(X)
    with pytest.warns(FragileWarning):
        VanishingIdeal(max_degree=1, tol=1.0).fit(X.astype(np.float32))


@pytest.mark.parametrize("tol", [0, 1e-13])
def test_exact_equations_are_not_fragile(tol):
    X = make_variety("viviani", 200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps = VanishingIdeal(max_degree=3, tol=tol).fit(X).trace_
    assert all(step.margin > 1 for step in steps)


def test_errors_pile_up_with_the_degree():
    X = np.linspace(-1, 1, 40)[:, None]
    steps = VanishingIdeal(max_degree=20, tol=0).fit(X).trace_
    amplification = [step.amplification for step in steps]
    assert amplification == sorted(amplification)
    assert amplification[-1] > 10 * amplification[0]


# --- Ranks ----------------------------------------------------------------------------------------


def nearly_dependent(difference):
    """Three columns, the last of which repeats the first one up to a small difference."""
    rng = np.random.default_rng(0)
    x, y, other = rng.normal(size=(3, 200))
    return np.column_stack([x, y, x + difference * other])


@pytest.mark.parametrize("construction", ["vca", "abm", "abm-gradient"])
@pytest.mark.parametrize(("difference", "depends"), [(1.5e-14, True), (8e-14, False)])
def test_a_rank_that_rounding_errors_decide_is_fragile(construction, difference, depends):
    ideal = VanishingIdeal(max_degree=1, tol=0, construction=construction)
    with pytest.warns(
        FragileWarning, match=r"rounding errors nearly decide .*rank_margin is \d\.\d at"
    ):
        step = ideal.fit(nearly_dependent(difference)).trace_[0]
    assert step.vanishing == depends
    nearest = step.rank_rejected if depends else 1 / step.rank_accepted
    assert 1 / 4 < nearest <= 1
    assert step.rank_margin == 1 / nearest


@pytest.mark.parametrize("construction", ["vca", "abm", "abm-gradient"])
def test_columns_that_are_constant_up_to_some_roundings_are_fragile(construction):
    """Single precision has steps of 1/16 at one million: 1 is 16 of them, and taken for zero."""
    X = (1e6 + np.array([[0, 5], [3, 1], [2, 7], [6, 3]])).astype(np.float32)
    ideal = VanishingIdeal(max_degree=1, tol=0, construction=construction)
    with pytest.warns(FragileWarning, match="rounding errors nearly decide"):
        assert ideal.fit(X).basis_.count() > 0
    assert ideal.fit(X.astype(np.float64)).basis_.count() == 0


@pytest.mark.parametrize("construction", ["vca", "abm", "oavi", "abm-gradient"])
@pytest.mark.parametrize(("difference", "depends"), [(0, True), (1e-16, True), (1e-11, False)])
def test_a_rank_far_from_rounding_errors_is_not_fragile(construction, difference, depends):
    ideal = VanishingIdeal(max_degree=1, tol=0, construction=construction)
    step = ideal.fit(nearly_dependent(difference)).trace_[0]
    assert step.vanishing == depends
    assert step.rank_accepted > 20
    assert step.rank_rejected < 0.05
    assert step.rank_margin > 20


def test_the_rank_margin_grows_with_the_size_of_the_pivot():
    margins = [
        VanishingIdeal(max_degree=1, tol=0).fit(nearly_dependent(each)).trace_[0].rank_accepted
        for each in (1e-11, 1e-10, 1e-9)
    ]
    np.testing.assert_allclose(np.divide(margins[1:], margins[:-1]), 10, rtol=0.1)


def test_the_tolerance_decides_about_extents_above_rounding_errors():
    """The same columns, decided by the tolerance: the rank is not in question."""
    step = VanishingIdeal(max_degree=1, tol=1e-3).fit(nearly_dependent(1e-13)).trace_[0]
    assert step.vanishing == 1
    assert step.rank_margin > 1e6


def test_rank_margins_are_saved(tmp_path):
    ideal = VanishingIdeal(max_degree=2, tol=0).fit(nearly_dependent(1e-10))
    ideal.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for one, other in zip(ideal.trace_, loaded.trace_, strict=True):
        assert one.rank_margin == other.rank_margin < np.inf


# --- Nothing vanishes -----------------------------------------------------------------------------


def test_users_notice_that_nothing_vanishes():
    X = np.random.default_rng(0).normal(size=(300, 2))
    ideal = VanishingIdeal(tol=0.01, max_degree=2).fit(X)
    said = r"no polynomial up to degree 2 vanishes with tol=0.01: .*; tol=(\S+) gives the first"
    assert re.search(said, str(ideal))
    with pytest.warns(NothingVanishesWarning, match=said) as caught:
        assert ideal.to_latex() == []
    assert caught[0].filename == __file__
    assert ideal.transform(X).shape == (300, 0)  # once for a model is enough
    # The tolerance that the text names gives an equation.
    tol = float(re.search(said, str(ideal))[1])
    found = VanishingIdeal(tol=tol, max_degree=2).fit(X)
    assert found.transform(X).shape[1] > 0
    assert "gives the first equation" not in str(found)


@pytest.mark.parametrize("tol_norm", ["rms", "euclidean"])
def test_loss_of_orthogonality_is_measured(tol_norm):
    X = np.random.default_rng(0).standard_normal((200, 3))
    steps = VanishingIdeal(max_degree=3, tol=0, tol_norm=tol_norm).fit(X).trace_
    losses = [step.orthogonality_loss for step in steps]
    assert losses[0] == 0
    assert all(0 < loss < 1e-13 for loss in losses[1:])
    coarse = VanishingIdeal(max_degree=3, tol=0, tol_norm=tol_norm).fit(X.astype(np.float32))
    assert coarse.trace_[-1].orthogonality_loss > 1e-8


@pytest.mark.parametrize(
    "step",
    [VanishingIdeal(tol=1e-9), ClassVanishingFeatures(VanishingIdeal(tol=1e-9))],
    ids=lambda step: type(step).__name__,
)
def test_users_of_pipelines_notice_that_nothing_vanishes(step):
    """The next step sees no columns, and cannot say why."""
    X, y = load_iris(return_X_y=True)
    said = r"no polynomial up to degree 2 vanishes with tol=1e-09: .*; tol=(\S+) gives the first"
    with (
        pytest.warns(NothingVanishesWarning, match=said) as caught,
        pytest.raises(ValueError, match="0 feature"),
    ):
        make_pipeline(step, LinearRegression()).fit(X, y)
    with pytest.warns(NothingVanishesWarning, match=said) as direct:
        step.fit_transform(X, y)
    assert direct[0].filename == __file__
    tol = float(re.search(said, str(caught[0].message))[1])
    (name,) = (each for each in step.get_params() if each.endswith("tol"))
    raised = clone(step).set_params(**{name: tol})
    make_pipeline(raised, LinearRegression()).fit(X, y)


def test_nonvanishing_polynomials_need_no_vanishing_ones():
    X = np.random.default_rng(0).normal(size=(300, 2))
    assert VanishingIdeal(tol=1e-9, output="nonvanishing").fit_transform(X).shape == (300, 5)
