"""What rounding errors hide is said to be hidden, and never passed off as an equation."""

import numpy as np
import pytest
from benchmarks.campaigns.extents import run
from tests.support.exact import Exact, vanishing_values

from vanishing import VanishingIdeal, load
from vanishing.ideal import UndecidedWarning


def test_exact_arithmetic_is_exact():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 3)) * 1e9, rng.standard_normal((3, 2)) * 1e-9
    np.testing.assert_allclose(
        (Exact.of(a) @ Exact.of(b)).rms(), np.sqrt(np.mean((a @ b) ** 2, axis=0)), rtol=1e-12
    )
    assert (Exact.of(a) + -Exact.of(a)).rms().tolist() == [0, 0, 0]
    # 0.1 + 0.2 is no float: the rounding error of the sum is seen.
    assert (Exact.of([[0.1]]) + Exact.of([[0.2]]) + -Exact.of([[0.1 + 0.2]])).rms() > 0


def test_timestamp_does_not_hide_an_ordinary_column():
    rng = np.random.default_rng(0)
    X = np.c_[1.7e18 + np.arange(500) * 6e10, 20 + 5 * rng.normal(size=500)]
    ideal = VanishingIdeal(max_degree=1, tol=0.1).fit(X)
    assert ideal.basis_.count() == 0
    # The direction without the trend over time.
    slope = np.polyfit(np.arange(500), X[:, 1], 1)
    rest = X[:, 1] - np.polyval(slope, np.arange(500))
    assert ideal.trace_[0].spectrum[0] == pytest.approx(np.sqrt(np.mean(rest**2)), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_one_contrast_point_makes_no_equations(seed):
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, 50)
    circle = np.c_[np.cos(angle), np.sin(angle)]
    ideal = VanishingIdeal(max_degree=4, tol=0, normalization="contrastive")
    ideal.fit(circle, contrast=[[2.0, 1.0]])
    assert ideal.extents_.max() < 1e-14
    assert [step.vanishing for step in ideal.trace_] == [0, 1, 1, 0]


@pytest.mark.parametrize("normalization", ["vca", "gradient", "contrastive"])
def test_high_degrees_end_undecided(normalization, tmp_path):
    X = np.linspace(-1, 1, 60)[:, None]
    contrast = np.random.default_rng(0).uniform(-1, 1, (100, 1))
    ideal = VanishingIdeal(max_degree=None, tol=0, normalization=normalization)
    with pytest.warns(UndecidedWarning, match="1 of degree 48.*the fit stopped there"):
        ideal.fit(X, contrast=contrast if normalization == "contrastive" else None)
    assert ideal.stop_reason_ == "undecided"
    assert ideal.basis_.count() == 0
    assert ideal.trace_[-1].undecided == 1
    ideal.save(tmp_path / "ideal.safetensors")
    kept = load(tmp_path / "ideal.safetensors")
    assert (kept.stop_reason_, kept.trace_[-1].undecided) == ("undecided", 1)


def test_tolerance_above_the_errors_decides():
    X = np.linspace(-1, 1, 60)[:, None]
    ideal = VanishingIdeal(max_degree=None, tol=0.7, normalization="vca").fit(X)
    assert ideal.stop_reason_ == "exhausted"
    exact = vanishing_values(ideal.basis_, X).rms()
    np.testing.assert_allclose(exact, ideal.extents_, rtol=1e-6)


def test_no_equation_is_wrong_in_exact_arithmetic():
    """A part of ``python -m benchmarks.campaigns.extents``, which runs 20,000 fits."""
    assert run(0, 100) == []


def test_points_bound_the_number_of_nonvanishing_polynomials():
    """Six points, columns of sizes 1e-6 to 1e5: rounding errors were taken for polynomials."""
    assert run(5889, 1) == []
