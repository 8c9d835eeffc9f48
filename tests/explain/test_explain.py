"""Explanations: shares that add up, references that are normal, faults that are found."""

import tracemalloc
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import skew
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.support.cases import NORMALIZATIONS

from vanishing import TransformationDetector, VanishingDetector, VanishingIdeal
from vanishing.app.wording import list_changes
from vanishing.detectors import ChristoffelDetector
from vanishing.detectors.neighborhoods import ColumnView, KernelView
from vanishing.detectors.score import VIEWS as KINDS
from vanishing.detectors.score import (
    ChristoffelView,
    ClusterView,
    ExactView,
    LikelihoodView,
    Mixture,
    NormView,
    SpanView,
)
from vanishing.explain import Explanation
from vanishing.transformations import AnyOf, FunctionTransformation, Rotations, Translations

N_SENSORS = 8
#: How the sensors see three hidden quantities; the same in all tests.
MIXING = np.random.default_rng(7).standard_normal((3, N_SENSORS))
MIXING /= np.linalg.norm(MIXING, axis=0)
#: From micro to mega, some far from zero.
UNITS = 10.0 ** np.linspace(-6, 6, N_SENSORS)
OFFSETS = UNITS * np.array([0, 1e3, -1e5, 1e6, 0, 10, 1e4, -1e2])


def sensors(n_samples, rng, noise=0.02):
    """Eight sensors of three hidden quantities, with a bent characteristic, of spread 1 or so."""
    mixed = rng.uniform(-1.7, 1.7, (n_samples, 3)) @ MIXING
    return mixed + 0.3 * mixed**2 + noise * rng.standard_normal(mixed.shape)


def broken_sensors(rng):
    """Four samples with one wrong reading, and one that is wrong altogether."""
    X = sensors(5, rng)
    X[np.arange(4), [0, 2, 5, 7]] += [2.0, -1.5, 1.0, 40.0]
    X[4] = 3 * rng.standard_normal(N_SENSORS)
    return X


RNG = np.random.default_rng(0)
NORMAL = sensors(200, RNG)
BROKEN = broken_sensors(RNG)


def contrastive(**parameters):
    defaults = {"max_degree": 2, "tol": 0.2, "reduction": "gram"}
    return VanishingIdeal(normalization="contrastive", **defaults | parameters)


def assert_adds_up(explanation, detector):
    """The shares make up the difference of two scores, and these are the detector's."""
    difference = explanation.score - explanation.counterfactual_score
    assert explanation.attribution.sum() == pytest.approx(difference, rel=1e-6, abs=1e-12)
    both = np.stack([explanation.sample, explanation.counterfactual])
    expected = -detector.score_samples(both)
    found = [explanation.score, explanation.counterfactual_score]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


# --- shares add up -------------------------------------------------------------------------------

TABLES = {
    "recipe": VanishingDetector(),
    **{
        f"{normalization}, {k} pieces": VanishingDetector(
            VanishingIdeal(max_degree=2, tol=0.3, normalization=normalization, reduction="gram"),
            n_components=k,
        )
        for normalization in NORMALIZATIONS
        for k in (1, 3)
    },
    "transformations": TransformationDetector(contamination=0.05),
    "pieces": TransformationDetector(n_components=3, contamination=0.05),
    "not centered, smoothed": TransformationDetector(
        center=False, smoothing=1e-2, contamination=0.05
    ),
    "weights": TransformationDetector(weighting="convex", sparsity=1.0, contamination=0.05),
    "distances": TransformationDetector(
        distance_weight=0.5, n_components=[1, 3], contamination=0.05
    ),
}


@cache
def fitted(name):
    return clone(TABLES[name]).fit(NORMAL)


@pytest.mark.parametrize("name", TABLES.keys())
def test_shares_add_up_on_tables(name):
    detector = fitted(name)
    explanations = detector.explain(BROKEN[1:])
    assert sum(e.score > e.counterfactual_score for e in explanations) >= 2, "some are not typical"
    for explanation in explanations:
        assert_adds_up(explanation, detector)


IMAGE_DETECTORS = {
    "rotations": (Rotations((8, 8)), PCA(12, random_state=0), {}),
    "rotations and shifts": (
        AnyOf(Rotations((8, 8)), Translations((8, 8), shift=2, identity=False)),
        make_pipeline(StandardScaler(), PCA(8, random_state=0)),
        {"ideal": contrastive(max_degree=1, tol=0.8)},
    ),
    "pixels": (Rotations((8, 8)), None, {"ideal": contrastive(max_degree=1, tol=0.7)}),
    "weights": (
        Rotations((8, 8)),
        PCA(12, random_state=0),
        {"weighting": "convex", "smoothing": 1e-3, "center": False},
    ),
    "pieces": (
        Rotations((8, 8)),
        PCA(12, random_state=0),
        {"ideal": contrastive(max_degree=1, tol=0.8), "n_components": 4},
    ),
    "distances": (
        Rotations((8, 8)),
        PCA(12, random_state=0),
        {"distance_weight": 1.0, "n_components": [1, 2]},
    ),
}


@pytest.fixture(scope="module")
def digits():
    """Even digits to train on, others of them, and odd ones."""
    X, y = load_digits(return_X_y=True)
    even = y % 2 == 0
    return X[:600][even[:600]] / 16, X[600:][even[600:]] / 16, X[600:][~even[600:]] / 16


@pytest.mark.parametrize("parts", IMAGE_DETECTORS.values(), ids=IMAGE_DETECTORS.keys())
def test_shares_add_up_on_images(digits, parts):
    normal, _, odd = digits
    transformations, preprocessor, others = parts
    detector = TransformationDetector(
        transformations, preprocessor=preprocessor, **others, contamination=0.05
    )
    detector.fit(normal)
    worst = np.argsort(detector.score_samples(odd))[:1]
    for explanation in detector.explain(odd[worst]):
        assert explanation.score > explanation.counterfactual_score
        assert_adds_up(explanation, detector)


@pytest.mark.parametrize(
    "detector",
    [VanishingDetector(), TransformationDetector(contamination=0.05)],
    ids=["recipe", "transformations"],
)
class TestUnits:
    def test_single_precision(self, detector):
        detector.fit(NORMAL.astype(np.float32))
        for explanation in detector.explain(BROKEN[2:].astype(np.float32)):
            assert explanation.sample.dtype == explanation.attribution.dtype == np.float64
            assert_adds_up(explanation, detector)

    def test_columns_of_any_scale_and_offset(self, detector):
        some = BROKEN[2:4]
        plain = detector.fit(NORMAL).explain(some)
        scaled = detector.fit(NORMAL * UNITS + OFFSETS).explain(some * UNITS + OFFSETS)
        for one, other in zip(plain, scaled, strict=True):
            assert_adds_up(other, detector)
            np.testing.assert_allclose(one.attribution, other.attribution, rtol=1e-3, atol=1e-3)

    @settings(max_examples=3)
    @given(
        exponents=st.lists(st.integers(-6, 6), min_size=N_SENSORS, max_size=N_SENSORS),
        offsets=st.lists(st.integers(-1000, 1000), min_size=N_SENSORS, max_size=N_SENSORS),
        size=st.floats(0.1, 1e4),
        seed=st.integers(0, 2**16),
    )
    def test_any_sample(self, detector, exponents, offsets, size, seed):
        units = 10.0 ** np.array(exponents)
        detector.fit((NORMAL[:100] + offsets) * units)
        sample = size * np.random.default_rng(seed).standard_normal(N_SENSORS)
        assert_adds_up(detector.explain([(sample + offsets) * units])[0], detector)


@pytest.mark.parametrize("size", [1e4, 1e20, 1e60])
@pytest.mark.parametrize("name", ["recipe", "contrastive, 1 pieces", "contrastive, 3 pieces"])
def test_shares_add_up_far_away(name, size):
    """Most of a logarithm is gathered close to the reference, however long the way is."""
    far = NORMAL[:1].copy()
    far[0, 3] = size
    detector = fitted(name)
    explanation = detector.explain(far)[0]
    assert explanation.counterfactual_score <= detector.anomaly_score_.normal.score
    assert explanation.ranked(1)[0][0] == "x3"
    assert_adds_up(explanation, detector)


# --- constant columns ----------------------------------------------------------------------------


def with_constants(X):
    """0.3 has a spread of 6e-17 by rounding."""
    return np.column_stack([X, np.full(len(X), 7.0), np.full(len(X), 0.3)])


def test_broken_constants_are_mended_by_themselves():
    detector = VanishingDetector().fit(with_constants(NORMAL))
    X = with_constants(BROKEN[:2])
    X[:, -2] = 8.0
    X[::2, -1] = -1.0
    # Five times what the four witnesses can say of a row that is beyond all others.
    least = 5 * 4 * np.log(1 + len(NORMAL))
    for explanation, constant in zip(detector.explain(X), X[:, -1], strict=True):
        assert_adds_up(explanation, detector)
        np.testing.assert_allclose(explanation.counterfactual[-2:], [7.0, 0.3])
        assert explanation.attribution[-2] == pytest.approx(least + np.log(1 + 1 / 7))
        assert (explanation.attribution[-1] > least) == (constant != 0.3)


@pytest.mark.parametrize(
    "detector",
    [
        TransformationDetector(contamination=0.05),
        VanishingDetector(VanishingIdeal(max_degree=1, tol=0.05)),
    ],
)
def test_constants_have_no_tiny_units(detector):
    """The spread of a constant column is rounding, and moving by that much tells nothing."""
    detector.fit(with_constants(NORMAL))
    X = with_constants(NORMAL[:1])
    X[0, -1] = 40.0
    explanation = detector.explain(X)[0]
    assert_adds_up(explanation, detector)
    assert explanation.ranked(1)[0][0] == "x9"


def test_constant_that_held_out_rows_break():
    """The mean over all rows is then not the constant."""
    detector = VanishingDetector(contamination=0.1, calibration=0.3)
    first = np.argmin(skew(NORMAL))  # in the order of this column rows are drawn
    rows = NORMAL[np.argsort(NORMAL[:, first])]
    X = np.column_stack([rows, np.ones(len(rows))])
    held_out = np.random.default_rng(0).permutation(len(X))[:10]
    X[held_out, -1] = 2.0
    sample = np.append(NORMAL[0], 3.0)
    explanation = detector.fit(X).explain([sample])[0]
    assert explanation.counterfactual[-1] == 1.0
    assert explanation.counterfactual_score <= detector.anomaly_score_.normal.score


def test_constant_table():
    typical, odd = VanishingDetector().fit(np.ones((30, 2))).explain([[1.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(typical.attribution, [0, 0])
    np.testing.assert_allclose(odd.attribution, [0, odd.score])
    assert odd.equations == ()


# --- derivatives ---------------------------------------------------------------------------------


def smoothed():
    return TransformationDetector(
        smoothing=1e-2, center=False, weighting="convex", n_components=2, contamination=0.05
    )


#: A detector with views of a kind, and which of them.
VIEWS = {
    "norm": (VanishingDetector(contrastive()), 0, NormView),
    "whole": (VanishingDetector(), 0, ClusterView),
    "clusters": (VanishingDetector(), 1, LikelihoodView),
    "exact": (VanishingDetector(), -4, ExactView),
    "values of columns": (VanishingDetector(), -3, ColumnView),
    "density of rows": (VanishingDetector(), -2, KernelView),
    "Christoffel function": (ChristoffelDetector(), 0, ChristoffelView),
    "span": (VanishingDetector(), 0, SpanView),
    "transformed": (TransformationDetector(contamination=0.05), 0, Mixture),
    "smoothed, weights": (smoothed(), 0, Mixture),
    "logarithm of a sum": (
        TransformationDetector(n_components=[1, 2], contamination=0.05),
        1,
        Mixture,
    ),
    "distance": (TransformationDetector(distance_weight=1.0, contamination=0.05), -1, ClusterView),
}


#: Rows that lead to a view; others are seen by the normal ones.
ROWS = {"exact": np.column_stack([NORMAL[:, 1:], NORMAL @ np.arange(8)]), "span": NORMAL[:7]}


@cache
def view_and_coordinates(name):
    detector, number, kind = VIEWS[name]
    landscape = detector.fit(ROWS.get(name, NORMAL)).anomaly_score_.landscape
    assert type(landscape.views[number]) is kind
    return landscape.views[number], landscape.maps[number]


def test_all_views_are_tested():
    assert set(KINDS) == {kind for _, _, kind in VIEWS.values()}


@pytest.mark.parametrize("name", VIEWS.keys())
@settings(max_examples=8)
@given(seed=st.integers(0, 2**16), size=st.floats(0.1, 5.0))
def test_derivatives_agree_with_differences(name, seed, size):
    view, coordinates = view_and_coordinates(name)
    rng = np.random.default_rng(seed)
    z = coordinates(size * rng.standard_normal((3, N_SENSORS)))
    scale = 1 + np.abs(view.contributions(z)).max()
    for point, gradient in zip(z, view.gradients(z), strict=True):
        error = np.inf
        for step in (1e-4, 1e-6):  # against the curvature, against rounding
            moved = step * np.eye(len(point))
            ends = (view.contributions(point + sign * moved) for sign in (1, -1))
            differences = np.subtract(*ends) / (2 * step)
            error = min(error, np.linalg.norm(gradient - differences))
        assert error <= 1e-6 * np.linalg.norm(gradient) + 1e-8 * scale
    values, jacobian = view.residuals(z[:1])
    step = 1e-6 * rng.standard_normal(z.shape[1])
    differences = (view.residuals(z[:1] + step)[0] - view.residuals(z[:1] - step)[0]) / 2
    tolerance = 1e-9 * (np.abs(jacobian @ step).max() / 1e-6 + np.abs(values).max())
    np.testing.assert_allclose(jacobian @ step, differences, rtol=0, atol=tolerance)


# --- references ----------------------------------------------------------------------------------


@cache
def circle(normalization):
    angles = np.random.default_rng(1).uniform(0, 2 * np.pi, 60)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    tol = 1e-9 if normalization == "contrastive" else 0.0
    return VanishingDetector(
        VanishingIdeal(max_degree=2, tol=tol, normalization=normalization)
    ).fit(X)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("radius", [0.05, 0.9, 1.0001, 3.0])
def test_projection_onto_a_circle(normalization, radius):
    """Where features are mended together, as pixels are, the nearest point is the radial one."""
    landscape = circle(normalization).anomaly_score_.landscape
    landscape = replace(landscape, few_features=False, scale=np.ones(2))
    for angle in (0.1, 4.0):
        on_circle = np.array([np.cos(angle), np.sin(angle)])
        explanation = landscape.explain(radius * on_circle, 1, ("x", "y"))
        assert np.linalg.norm(explanation.counterfactual) == pytest.approx(1, abs=1e-8)
        np.testing.assert_allclose(explanation.counterfactual, on_circle, atol=1e-6)


@pytest.mark.parametrize(("x", "y"), [(0.1, 0.2), (-0.6, 0.3), (0.9, 0.8), (1.3, 0.4), (-0.2, -5)])
def test_single_columns_of_a_table_are_mended_first(x, y):
    """Columns fail one by one, so that the nearest point in one of them alone is taken.

    It is farther than the radial one; but where a single reading is wrong, it is what should have
    been read.
    """
    reference = circle("vca").explain([[x, y]])[0].counterfactual
    offered = [(sign * np.sqrt(1 - y**2), y) for sign in (1, -1) if abs(y) <= 1]
    offered += [(x, sign * np.sqrt(1 - x**2)) for sign in (1, -1) if abs(x) <= 1]
    nearest = min(offered, key=lambda point: np.linalg.norm(np.subtract(point, (x, y))))
    assert np.linalg.norm(reference) == pytest.approx(1, abs=1e-8)
    np.testing.assert_allclose(reference, nearest, atol=1e-3)


def test_reference_at_a_critical_point():
    """All derivatives vanish in the middle of a circle, which is no reason to stay there."""
    middle = circle("vca").explain([[0.0, 0.0]])[0]
    assert np.linalg.norm(middle.counterfactual) == pytest.approx(1, abs=1e-8)
    assert middle.attribution.sum() == pytest.approx(middle.score)


@pytest.mark.parametrize("name", ["recipe", "transformations", "vca, 1 pieces", "vca, 3 pieces"])
def test_typical_samples_have_no_shares(name):
    detector = fitted(name)
    scores = detector.score_samples(NORMAL)
    typical = NORMAL[np.argsort(-scores)[[0, 50, 100, 150]]]
    for explanation in detector.explain(typical):
        np.testing.assert_array_equal(explanation.attribution, 0)
        np.testing.assert_array_equal(explanation.counterfactual, explanation.sample)
        assert explanation.score == explanation.counterfactual_score


@pytest.mark.parametrize("name", ["recipe", "transformations", "vca, 3 pieces"])
def test_an_explanation_does_not_depend_on_the_others(name):
    detector = fitted(name)
    together = detector.explain(BROKEN)
    for row, explanation in zip(BROKEN[3:], together[3:], strict=True):
        alone = detector.explain(row[None])[0]
        np.testing.assert_array_equal(alone.attribution, explanation.attribution)
        np.testing.assert_array_equal(alone.counterfactual, explanation.counterfactual)
        assert alone.equations == explanation.equations


# --- faults --------------------------------------------------------------------------------------


def finds_the_fault(detector, seed, *, n_samples, standardized):
    """Whether the sensor that is off by one to two spreads is named first."""
    rng = np.random.default_rng(seed)
    X = sensors(n_samples + 1, rng)
    faulty = rng.integers(N_SENSORS)
    X[-1, faulty] += rng.choice([-1, 1]) * rng.uniform(1, 2) * X[:-1, faulty].std()
    units = 10.0 ** rng.uniform(-6, 6, N_SENSORS)
    X = X * units + units * rng.uniform(-100, 100, N_SENSORS)
    if standardized:
        X = StandardScaler().fit(X[:-1]).transform(X)
    explanation = detector.fit(X[:-1]).explain(X[-1:])[0]
    return explanation.ranked(1)[0][0] == f"x{faulty}"


@pytest.mark.slow
def test_a_faulty_sensor_is_named_by_one_ideal():
    detector = VanishingDetector(contrastive())
    found = [
        finds_the_fault(detector, seed, n_samples=2400, standardized=True) for seed in range(200)
    ]
    assert np.mean(found) >= 0.95


@pytest.mark.parametrize("n_trials", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_a_faulty_sensor_is_named_by_the_recipe(n_trials):
    found = [
        finds_the_fault(VanishingDetector(), seed, n_samples=400, standardized=False)
        for seed in range(n_trials)
    ]
    assert np.mean(found) >= 0.95


def test_two_faulty_sensors_are_both_named():
    detector = VanishingDetector(contrastive()).fit(NORMAL)
    rng = np.random.default_rng(5)
    found = []
    for _ in range(30):
        sample = sensors(1, rng)
        faulty = rng.choice(N_SENSORS, size=2, replace=False)
        sample[0, faulty] += rng.choice([-1, 1], size=2) * rng.uniform(1.5, 2.5, size=2)
        named = detector.explain(sample)[0].ranked(2)
        found.append({name for name, _ in named} == {f"x{j}" for j in faulty})
    assert np.mean(found) >= 0.5


@pytest.mark.slow
def test_broken_pixels_stand_out(digits):
    """Of images whose score a broken block of 2 × 2 pixels makes unusual.

    A pixel of the block has at least four times the share of others (median), and the pixel with
    the largest share is in it for at least half of them: chance would be one in sixteen.
    """
    normal, others, _ = digits
    detector = TransformationDetector(
        Rotations((8, 8)),
        preprocessor=PCA(40, random_state=0),
        ideal=contrastive(max_degree=1, tol=0.7),
        contamination=0.05,
    ).fit(normal)
    rng = np.random.default_rng(0)
    times, largest = [], []
    for image in others[:48]:  # few of which a block makes unusual
        row, column = rng.integers(0, 7, 2)
        block = np.zeros((8, 8), dtype=bool)
        block[row : row + 2, column : column + 2] = True
        broken = np.where(block.ravel(), 1 - image, image)
        explanation = detector.explain(broken[None])[0]
        if explanation.score > explanation.counterfactual_score:
            positive = np.maximum(explanation.attribution, 0)
            inside = block.ravel()
            times.append(positive[inside].mean() / positive[~inside].mean())
            largest.append(inside[np.argmax(positive)])
    assert len(times) >= 8
    assert np.median(times) >= 4
    assert np.mean(largest) >= 1 / 2


# --- what is said --------------------------------------------------------------------------------


def test_equations_are_those_of_the_ideals():
    detector = VanishingDetector(contrastive()).fit(NORMAL)
    ideal = detector.ideals_[0][0]
    values, usual = ideal.basis_.evaluate(BROKEN[:1])[0], ideal.basis_.evaluate(NORMAL)
    equations = detector.explain(BROKEN[:1], n_equations=1000)[0].equations
    assert sorted(e.index for e in equations) == list(range(len(values)))
    assert np.all(np.diff([abs(e.value) for e in equations]) <= 0), "the worst first"
    for e in equations:
        assert e.value == pytest.approx(values[e.index])
        assert e.degree == ideal.basis_.degrees()[e.index]
        assert e.typical == pytest.approx(np.sqrt(np.mean(usual[:, e.index] ** 2)), rel=1e-6)
        assert e.times_typical == pytest.approx(abs(e.value) / e.typical)


def test_equations_of_transformations(digits):
    normal, _, odd = digits
    detector = TransformationDetector(
        Rotations((8, 8)),
        preprocessor=PCA(10, random_state=0),
        ideal=contrastive(max_degree=1, tol=0.8),
        n_components=[1, 3],
        contamination=0.05,
    ).fit(normal)
    names = [transformation.name for transformation in detector.transformations_]
    for e in detector.explain(odd[:1], n_equations=20)[0].equations:
        i, piece = e.ideal
        z = detector.preprocessor_.transform(detector.transformations_[i](odd[:1]))
        value = detector.ideals_[i][piece].basis_.evaluate(z)[0, e.index]
        assert e.value == pytest.approx(value)
        assert e.part == names[i]


@pytest.mark.parametrize("n_equations", [0, 1, 7])
def test_number_of_equations(n_equations):
    explanation = fitted("recipe").explain(BROKEN[:1], n_equations=n_equations)[0]
    assert len(explanation.equations) == n_equations


def test_pixels_are_measured_in_one_unit(digits):
    normal, _, _ = digits
    preprocessor = PCA(5, random_state=0)
    detector = TransformationDetector(
        Rotations((8, 8)), preprocessor=preprocessor, ideal=contrastive(max_degree=1, tol=0.8)
    ).fit(normal)
    score = detector.anomaly_score_
    assert np.ptp(score.normal.spread) > 0.1
    np.testing.assert_allclose(
        score.landscape.scale, np.sqrt(np.mean(score.normal.spread**2)), rtol=1e-12
    )


def test_five_equations_by_default():
    assert len(fitted("recipe").explain(BROKEN[:1])[0].equations) == 5


def test_names_and_words():
    names = [f"sensor {j}" for j in range(N_SENSORS)]
    detector = VanishingDetector(contrastive()).fit(pd.DataFrame(NORMAL, columns=names))
    explanation = detector.explain(pd.DataFrame(BROKEN[:1], columns=names), n_equations=1)[0]
    assert explanation.feature_names == tuple(names)
    assert explanation.ranked(1)[0] == ("sensor 0", explanation.attribution.max())
    shares = [share for _, share in explanation.ranked()]
    assert shares == sorted(explanation.attribution, reverse=True)
    first, second, *_, last = str(explanation).splitlines()
    assert first.startswith(f"row 0: score {explanation.score:.4g}, ")
    assert second.startswith("  sensor 0: +")
    assert f"{explanation.sample[0]:.4g} instead of {explanation.counterfactual[0]:.4g}" in second
    assert "times what is typical" in last


# --- errors --------------------------------------------------------------------------------------


def test_use_before_fit():
    for detector in (VanishingDetector(), TransformationDetector(contamination=0.05)):
        with pytest.raises(NotFittedError):
            detector.explain(BROKEN)


@pytest.mark.parametrize(
    "detector", [VanishingDetector(contrastive()), TransformationDetector(contamination=0.05)]
)
def test_bad_samples(detector):
    detector.fit(NORMAL)
    holes = BROKEN.copy()
    holes[1, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        detector.explain(holes)
    with pytest.raises(ValueError, match=r"7 features.*expecting 8"):
        detector.explain(BROKEN[:, 1:])
    with pytest.raises(
        ValueError, match="n_equations must be a whole number of at least 0, got -1"
    ):
        detector.explain(BROKEN, n_equations=-1)


@pytest.mark.parametrize("name", ["recipe", "vca, 1 pieces", "vca, 3 pieces", "transformations"])
def test_scores_beyond_all_numbers(name):
    far = BROKEN.copy()
    far[2] = 1e200
    with pytest.raises(ValueError, match=r"the score of row 2 is not finite.*leave it out"):
        fitted(name).explain(far)


def _squared(X):
    return X**2


@pytest.mark.parametrize(
    "detector",
    [
        TransformationDetector(preprocessor=FunctionTransformer(np.tanh)),
        TransformationDetector(FunctionTransformation([np.positive, _squared])),
        TransformationDetector(FunctionTransformation([np.negative, np.exp]), preprocessor=PCA(3)),
    ],
    ids=["preprocessor", "transformation", "both"],
)
def test_maps_that_are_not_affine(detector):
    with pytest.raises(ValueError, match=r"must be affine.*leave the nonlinear step out"):
        detector.fit(NORMAL).explain(BROKEN)


def test_maps_that_are_affine_on_normal_data_only():
    detector = TransformationDetector(
        FunctionTransformation([np.abs, np.negative]), ideal=contrastive(max_degree=1, tol=0.9)
    ).fit(NORMAL + 100)
    assert np.isfinite(detector.explain(BROKEN[:1] + 100)[0].attribution).all()
    with pytest.raises(ValueError, match="must be affine"):
        detector.explain([np.r_[-200.0, NORMAL[0, 1:] + 100]])


def test_equations_of_every_view_are_named():
    """An exact equation, a quadratic one and those of clusters, each where it says it is."""
    rng = np.random.default_rng(0)
    free = rng.normal(size=(400, 3))
    total, square = free @ [1.0, 2.0, -1.0], free[:, 0] ** 2 + 0.05 * rng.normal(size=400)
    detector = VanishingDetector().fit(np.column_stack([free, total, square]))
    row = np.array([[0.3, -0.2, 0.5, 1.0, 1.5]])
    score = detector.anomaly_score_
    explanation = detector.explain(row, n_equations=1000)[0]
    # Values of columns and density have no equations, and come last.
    views = [view for view in score.views if not isinstance(view, ColumnView | KernelView)]
    assert views == score.views[: len(views)]
    names = [view.names[0] for view in views]
    assert {equation.part for equation in explanation.equations} == set(names)
    measured = score.measure(row)[: len(views), 0]
    for place, (view, value) in enumerate(zip(views, measured, strict=True)):
        own = [equation for equation in explanation.equations if equation.part == view.names[0]]
        z = score.parts[place].coordinates(row)
        for equation in own:
            part, cluster = equation.ideal
            ideal = detector.ideals_[part][cluster]
            assert part == place
            found = ideal.basis_.evaluate(z)[0, equation.index]
            np.testing.assert_allclose(equation.value, found, atol=1e-9)
        if "clusters" in view.names[0]:
            # The squares of all equations of a cluster are its squared Mahalanobis distance.
            squares = sum(equation.times_typical**2 for equation in own)
            distance = view.measure(z)[0, own[0].ideal[1]]
            np.testing.assert_allclose(squares, distance, rtol=1e-9)
        assert np.isfinite(value)


def test_explanations_of_wide_tables_need_no_square_matrices():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4000))
    detector = VanishingDetector().fit(X)
    broken, odd = X[0].copy(), X[1] + rng.normal(size=4000)
    broken[7] += 1e4  # one cell, far away
    tracemalloc.start()
    try:
        one, all_of_them, far = detector.explain([broken, odd, 100 * odd])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 4000**2
    np.testing.assert_array_equal(np.flatnonzero(one.counterfactual != one.sample), [7])
    for explanation in (one, all_of_them, far):
        assert_adds_up(explanation, detector)
        assert explanation.counterfactual_score <= detector.anomaly_score_.normal.score


def test_equations_of_wide_tables_are_named():
    rng = np.random.default_rng(1)
    detector = VanishingDetector().fit(rng.normal(size=(40, 120)))
    row = 3 * rng.normal(size=(1, 120))
    equations = detector.explain(row, n_equations=1000)[0].equations
    assert len(equations) == 120
    squares = sum(equation.times_typical**2 for equation in equations) / 120
    view = detector.anomaly_score_.views[0]
    z = detector.anomaly_score_.parts[0].coordinates(row)
    np.testing.assert_allclose(squares, view.measure(z)[0, 0])


def test_a_change_in_digits_that_the_column_does_not_have_is_none():
    explanation = Explanation(
        sample=np.array([1942.38, 19.0, 0.5]),
        counterfactual=np.array([1942.37999, 16.0, 0.500001]),
        score=2.0,
        counterfactual_score=1.0,
        attribution=np.array([0.4, 0.5, 0.1]),
        equations=(),
        feature_names=("net", "rate", "share"),
        units=np.array([0.01, 1.0, 0.0]),
    )
    assert explanation.format_values(0) == ("1942.38", "unchanged")
    assert explanation.format_values(1) == ("19", "16")
    assert explanation.format_values(2) == ("0.5", "0.500001")  # not rounded
    assert [change.name for change in list_changes(explanation)] == ["rate", "share"]
