"""Parameters that are numbers: True, False and texts are refused by whatever takes them."""

import numpy as np
import pytest

from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
    discover,
)
from vanishing.algebra import contains, project
from vanishing.arrays.parameters import check_real, check_whole
from vanishing.construction.border import Oavi
from vanishing.contrasts import GaussianNoise, Permuted, Uniform
from vanishing.datasets import make_variety
from vanishing.detectors import (
    ChristoffelDetector,
    OrientedGradients,
    score_unseen,
    select_without_labels,
)
from vanishing.equations import tidy, to_computer_algebra, to_latex, to_rational
from vanishing.laws import discover_invariants, discover_odes
from vanishing.transformations import RandomAffine, Rotations, Translations

ESTIMATORS = (
    VanishingIdeal,
    VanishingDetector,
    TransformationDetector,
    ClassVanishingFeatures,
    ChristoffelDetector,
)
NUMBERS = [
    (estimator, name)
    for estimator in ESTIMATORS
    for name, allowed in estimator._parameter_constraints.items()
    if any(type(each).__name__ == "NumberRange" for each in allowed)
]


@pytest.mark.parametrize(("estimator", "name"), NUMBERS)
@pytest.mark.parametrize("value", [True, False, np.True_, "3", [1.5], 1j, float("nan")], ids=repr)
def test_estimators_take_numbers_only(estimator, name, value):
    X = make_variety("circle", 40, noise=0.01)
    with pytest.raises((ValueError, TypeError), match=f"{name}.*must be"):
        estimator(**{name: value}).fit(X, np.arange(40) % 2)


def test_estimators_have_such_parameters():
    assert len(NUMBERS) > 20


CIRCLE = make_variety("circle", 60)
IDEAL = VanishingIdeal(max_degree=2, tol=1e-9).fit(CIRCLE)
DETECTOR = VanishingDetector().fit(CIRCLE)
RECORDS = np.random.default_rng(0).normal(size=(3, 40, 2)).cumsum(axis=1)
RNG = np.random.default_rng(0)
CALLS = {
    "max_degree of discover": lambda value: discover(CIRCLE, max_degree=value),
    "random_state of discover": lambda value: discover(CIRCLE, random_state=value),
    "noise of discover": lambda value: discover(CIRCLE, noise=value),
    "max_degree of invariants": lambda value: discover_invariants(RECORDS, max_degree=value),
    "t of equations": lambda value: discover_odes(RECORDS, value),
    "random_state of equations": lambda value: discover_odes(RECORDS, 0.1, random_state=value),
    "n_equations": lambda value: DETECTOR.explain([[3, 3]], n_equations=value),
    "n_samples of a variety": lambda value: make_variety("circle", value),
    "noise of a variety": lambda value: make_variety("circle", 9, noise=value),
    "n_samples of a contrast": lambda value: Permuted().make(CIRCLE, RNG, value),
    "scale": lambda value: GaussianNoise(value),
    "margin": lambda value: Uniform(value),
    "n_transformations": lambda value: RandomAffine(value),
    "shift": lambda value: Translations((8, 8), shift=value),
    "image_shape": lambda value: Rotations((value, value)),
    "image_shape of gradients": lambda value: OrientedGradients((8, value)).fit(np.ones((3, 8))),
    "radius": lambda value: VanishingIdeal(construction=Oavi(radius=value)).fit(CIRCLE),
    "digits": lambda value: to_latex(IDEAL, digits=value),
    "digits of tidy equations": lambda value: tidy(IDEAL, CIRCLE, digits=value),
    "drop": lambda value: tidy(IDEAL, CIRCLE, drop=value),
    "digits for Singular": lambda value: to_computer_algebra(IDEAL, "singular", digits=value),
    "denominator": lambda value: to_rational(IDEAL, CIRCLE, denominator=value),
    "max_steps": lambda value: project(IDEAL.basis_, CIRCLE, max_steps=value),
    "dimension": lambda value: project(IDEAL.basis_, CIRCLE, dimension=value),
    "tol of membership": lambda value: contains(IDEAL.basis_, [0.0, 1.0, 0.0], tol=value),
    "degree of membership": lambda value: contains(IDEAL.basis_, [0.0, 1.0, 0.0], degree=value),
    "random_state of unseen scores": lambda value: score_unseen(
        VanishingDetector(), CIRCLE, random_state=value
    ),
    "n_groups": lambda value: select_without_labels(
        {"one": VanishingDetector()}, CIRCLE, n_groups=value
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", [True, False, np.True_, "3", -1, 1j], ids=repr)
def test_functions_take_numbers_only(call, value):
    if value == -1 and call == "image_shape of gradients":
        pytest.skip("the product of the shape is checked")
    with pytest.raises(ValueError, match=r"must be|there is no column '3' of numbers"):
        CALLS[call](value)


@pytest.mark.parametrize("value", [3, np.int8(3), np.array(3)])
def test_whole_numbers_of_any_kind(value):
    assert check_whole("number", value) == 3
    assert check_real("number", value, zero=False) == 3.0


@pytest.mark.parametrize("value", [2.0, np.inf, np.nan, None, "2", b"2", [1, 2], 0])
def test_what_is_no_whole_number(value):
    with pytest.raises(ValueError, match="number must be a whole number of at least 1, got"):
        check_whole("number", value)


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan, None, "2", b"2", [1, 2], 10**400])
def test_what_is_no_positive_number(value):
    with pytest.raises(ValueError, match="number must be a finite positive number, got"):
        check_real("number", value, zero=False)
