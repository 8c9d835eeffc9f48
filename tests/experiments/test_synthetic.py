"""The synthetic experiment and the picture of two classes: bounds, laws, and the small size."""

import numpy as np
import pytest
from scipy.special import erf
from scipy.stats import chi2

pytest.importorskip("matplotlib")
pytest.importorskip("experiments", reason="experiments are in the repository only")

from experiments.harness import store
from experiments.synthetic import draws, laws
from experiments.synthetic import experiment as synthetic
from experiments.synthetic.checks import index
from experiments.two_classes import experiment as two_classes
from experiments.two_classes.data import OTHER, RANDOM


@pytest.fixture(scope="module")
def synthetic_results():
    return {cell.name: cell.run() for cell in synthetic.cells("small")}


@pytest.fixture(scope="module")
def two_classes_results():
    return {cell.name: cell.run() for cell in two_classes.cells("small")}


# --- what the paper claims ------------------------------------------------------------------------


def test_all_linear_polynomials_are_found():
    """The paper has 18 or 19 of the n - k = 100."""
    found = draws.figure2(turned=False, n_points=400, draws=2)
    assert found["polynomials"] == [100]
    assert found["largest extent"] < draws.ROUNDING


@pytest.mark.parametrize(("n", "k", "m"), [(8, 2, 5), (12, 5, 5), (30, 5, 1), (40, 10, 20)])
def test_theorem6_holds(n, k, m):
    result = draws.theorem6(n, k, m, sizes=(1000,), trials=4000, fits=2)
    gaussian, fitted = result["rows"]
    assert fitted["found"] == [n - k]
    for row in (gaussian, fitted):
        assert row["largest on V_X"] < draws.ROUNDING
        for multiple, count in zip(draws.MULTIPLES, row["below"], strict=True):
            assert laws.at_least(count, row["trials"], 1 - 1 / multiple**2) == "holds"
        assert laws.at_least(row["large"], row["trials"], laws.large_bound(n, k, m)) == "holds"


def test_fitted_polynomials_need_more_random_points_than_dimensions():
    result = draws.theorem6(105, 5, 5, sizes=(107,), trials=2000, fits=2)
    fitted = result["rows"][1]
    bound = 1 - 1 / draws.MULTIPLES[2] ** 2
    assert laws.at_least(fitted["below"][2], fitted["trials"], bound) == "fails"


def test_average_keeps_the_corrected_curve_and_breaks_the_printed_one():
    turned = draws.figure2(turned=True, n_points=1000, draws=2)
    assert not turned["average breaks 1 - 0.05/t²"]
    assert turned["average breaks 1 - 0.01/t²"]
    assert (
        0 <= turned["share that breaks 1 - 0.05/t²"] < 0.1 < turned["share that breaks 1 - 0.01/t²"]
    )


def test_proposition5_holds_where_it_says_something():
    result = draws.proposition5(5, 20_000, (1.0, 1.5), trials=200)
    for far, bound in zip(result["far"], result["bound"], strict=True):
        assert bound < 1
        assert laws.at_most(far, result["trials"], bound) == "holds"
    assert laws.size_bound(0.5, 100, 10_000) > 1000  # the paper's setting


def test_lemmas_of_the_supplement_are_false():
    lemma = draws.chi_square_lemma(0.1, 1000, trials=10_000)
    assert lemma["probability"] == pytest.approx(0.0146, abs=1e-4)
    assert lemma["printed bound"] < 1e-14
    assert laws.at_most(lemma["above"], lemma["trials"], lemma["printed bound"]) == "fails"
    assert lemma["probability"] < lemma["Chernoff's bound"]
    for key in (
        "corollary at ε=2, M=100: log10 of probability and bound",
        "inner product at ε=0.5, M=1000: log10 of probability and bound",
    ):
        probability, bound = lemma[key]
        assert probability > bound


# --- the laws -------------------------------------------------------------------------------------


def test_law_of_g_is_that_of_the_draws():
    n, k, m = 12, 4, 3
    row = draws.theorem6(n, k, m, sizes=(), trials=20_000, fits=1)["rows"][0]
    exact = laws.below(np.array(draws.MULTIPLES) * np.sqrt(m / (n - k)), n, k, m)
    for probability, count in zip(exact, row["below"], strict=True):
        low, high = laws.interval(count, row["trials"])
        assert low <= probability <= high
    low, high = laws.interval(row["large"], row["trials"])
    assert low <= 1 - laws.below(laws.large_threshold(n, k, m), n, k, n - k - m) <= high


def test_law_of_the_size_is_that_of_the_draws():
    result = draws.proposition5(4, 50, (0.1, 0.3, 0.6), trials=4000)
    for probability, count in zip(result["exact"], result["far"], strict=True):
        low, high = laws.interval(count, result["trials"])
        assert low <= probability <= high


def test_law_of_the_size_with_many_points_is_that_of_w():
    exact = np.exp(laws.log_size_probability(1.0, 10, 10**7))
    assert exact == pytest.approx(chi2.sf(30, 10), rel=1e-3)


@pytest.mark.parametrize("M", [1, 10])
def test_law_of_the_inner_product_is_that_of_draws(M):
    x, y = np.random.default_rng(0).standard_normal((2, 50_000, M))
    far = np.abs(np.sum(x * y, axis=1)) >= 0.5 * M
    low, high = laws.interval(far.sum(), len(far))
    assert low <= np.exp(laws.log_inner_product_probability(0.5, M)) <= high


def test_share_of_breakers_is_that_of_random_directions():
    n, k, m = 105, 5, 5
    directions = np.random.default_rng(0).standard_normal((5000, n - k))
    size_on_V = np.linalg.norm(directions[:, :m], axis=1) / np.linalg.norm(directions, axis=1)
    t = np.linspace(0.23, 1.5, 200)
    curves = erf(t / np.sqrt(2) / size_on_V[:, None])  # P[|g| < t] of each
    breaks = np.any(curves < laws.below_bound(t, n, k, m), axis=1)
    low, high = laws.interval(breaks.sum(), len(breaks))
    assert low <= laws.expected_share_of_breakers(n, k, m) <= high


@pytest.mark.parametrize(("successes", "verdict"), [(99, "holds"), (80, "open"), (10, "fails")])
def test_verdicts(successes, verdict):
    assert laws.at_least(successes, 100, 0.8) == verdict
    assert laws.at_most(100 - successes, 100, 0.2) == verdict


# --- the small size -------------------------------------------------------------------------------


@pytest.fixture
def results_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    return tmp_path / "small" / "figures"


def test_synthetic_report(synthetic_results, results_elsewhere):
    text = synthetic.report(synthetic_results, "small")
    for figure in ("synthetic", "synthetic_bounds"):
        assert f"{figure}.svg" in text
        assert (results_elsewhere / f"{figure}.png").stat().st_size > 10_000
    assert "100 = n − k" in text


def test_index_has_one_verdict_a_line(synthetic_results):
    head, _, *lines = index(synthetic_results).split("\n")
    for line in lines:
        cells = line.replace("\\|", "").strip("|").split("|")
        assert len(cells) == head.count("|") - 1
        assert any(word in cells[2] for word in ("holds", "fails", "open", "empty"))


def test_two_classes_report(two_classes_results, results_elsewhere):
    text = two_classes.report(two_classes_results, "small")
    assert "two_classes.svg" in text
    assert (results_elsewhere / "two_classes.png").stat().st_size > 10_000


def test_contrast_discriminates_where_random_points_do_not(two_classes_results):
    for name, result in two_classes_results.items():
        values = result["AUC, equation that holds best"]
        if name.endswith(OTHER):
            assert min(values) > 0.85
        else:
            assert name.endswith(RANDOM)
            assert max(values) < 0.7


def test_what_is_missing_is_named():
    assert "χ² lemma" in synthetic.report({}, "small")
    assert "3 dimensions" in two_classes.report({}, "small")
