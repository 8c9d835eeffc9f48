"""What each normalization promises holds on data of any size, rank and scale."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.cases import NORMALIZATIONS

from vanishing import VanishingIdeal

# Many problems here have fewer rows than products, as exact algebra may.
pytestmark = pytest.mark.filterwarnings("ignore::vanishing.ideal.InterpolationWarning")

EPS = np.finfo(float).eps


@st.composite
def problems(draw):
    """Points of some rank, scale, offset and noise; a contrast; a degree; a tolerance."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_features = draw(st.integers(1, 4))
    n_samples = draw(st.integers(1, 60))
    rank = draw(st.integers(1, n_features))
    X = rng.standard_normal((n_samples, rank)) @ rng.standard_normal((rank, n_features))
    if draw(st.booleans()):
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X + draw(st.sampled_from([0.0, 1e-3])) * rng.standard_normal(X.shape)
    Y = rng.standard_normal((draw(st.integers(20, 80)), n_features))
    scale = 10.0 ** draw(st.integers(-6, 6))
    offset = draw(st.sampled_from([0.0, 1.0, 30.0]))
    degree = draw(st.integers(1, 3))
    tol = draw(st.sampled_from([0.0, 0.01, 0.2, 0.7]))
    return scale * (X + offset), scale * (Y + offset), degree, tol, scale


def fitted(problem, normalization, **parameters):
    X, Y, degree, tol, scale = problem
    unit = scale if normalization.startswith("gradient") else 1.0
    ideal = VanishingIdeal(
        normalization=normalization, max_degree=degree, tol=tol * unit, **parameters
    )
    try:
        return ideal.fit(X, contrast=Y if normalization == "contrastive" else None)
    except ValueError as error:
        assume("inside the variety" not in str(error))
        raise


def allowed(ideal):
    """Relative error that MATH §2 allows, from the condition of each degree."""
    per_degree = np.array([max(1e-10, 100 * EPS * step.condition) for step in ideal.trace_])
    return np.maximum.accumulate(per_degree)[ideal.basis_.degrees() - 1]


@pytest.mark.parametrize("products", ["independent", "all"])
@given(problem=problems())
def test_contrastive_has_mean_square_one_on_the_contrast(problem, products):
    ideal = fitted(problem, "contrastive", products=products)
    on_contrast = np.sqrt(np.mean(ideal.transform(problem[1]) ** 2, axis=0))
    assert (np.abs(on_contrast - 1) <= allowed(ideal)).all()


@given(problem=problems())
def test_gradient_has_mean_square_one_on_the_points(problem):
    ideal = fitted(problem, "gradient")
    jacobian = ideal.basis_.jacobian(problem[0])
    size = np.sqrt(np.mean(np.sum(jacobian**2, axis=2), axis=0))
    assert (np.abs(size - 1) <= allowed(ideal)).all()


@given(problem=problems())
def test_coefficient_has_unit_coefficients(problem):
    ideal = fitted(problem, "coefficient")
    size = np.linalg.norm(ideal.basis_.expand()[1], axis=0)
    assert (np.abs(size - 1) <= allowed(ideal)).all()


@given(problem=problems())
def test_gradient_weighted_has_unit_weighted_coefficients(problem):
    X = problem[0]
    ideal = fitted(problem, "gradient-weighted")
    exponents, coefficients = ideal.basis_.expand()
    weights = np.zeros(len(exponents))
    for index, powers in enumerate(exponents):
        if powers.any():
            gradient = [
                powers[k]
                * np.prod(X ** np.where(np.arange(len(powers)) == k, powers - 1, powers), axis=1)
                for k in np.flatnonzero(powers)
            ]
            mean_square = np.mean(np.sum(np.square(gradient), axis=0))
            weights[index] = np.sqrt(mean_square) / np.linalg.norm(powers)
    size = np.linalg.norm(weights[:, None] * coefficients, axis=0)
    assert (np.abs(size - 1) <= allowed(ideal)).all()


@given(problem=problems())
def test_vca_has_unit_coordinates_from_degree_two_on(problem):
    ideal = fitted(problem, "vca")
    for degree, block in enumerate(ideal.basis_.blocks, start=1):
        # Pairs i < j of degree 2 stand for both orders, half each.
        both_orders = (degree == 2) & (block.left != block.right)
        size = np.linalg.norm(
            block.vanishing * np.where(both_orders, np.sqrt(0.5), 1)[:, None], axis=0
        )
        if degree > 1:
            np.testing.assert_allclose(size, 1, rtol=1e-9)


# A Gram matrix of nearly flat points leaves it open at degree 2.
@pytest.mark.filterwarnings("ignore::vanishing.ideal.UndecidedWarning")
@pytest.mark.parametrize("reduction", ["tsqr", "gram"])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@given(problem=problems())
def test_extents_are_measured_and_split_at_the_tolerance(problem, normalization, reduction):
    X = problem[0]
    ideal = fitted(problem, normalization, reduction=reduction)
    values = ideal.basis_.evaluate(X)
    measured = np.sqrt(np.mean(values**2, axis=0))
    # Rounding: each polynomial is a sum of terms of this size.
    exponents, coefficients = ideal.basis_.expand()
    terms = np.abs(np.prod(X[:, None, :] ** exponents, axis=2)) @ np.abs(coefficients)
    digits = 1e-13 if reduction == "tsqr" else 2e-7
    assert (np.abs(measured - ideal.extents_) <= digits * (1 + terms.max(axis=0))).all()
    for step in ideal.trace_:
        assert (np.diff(step.spectrum) >= 0).all()
        assert step.vanishing >= np.sum(step.spectrum <= step.tol)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@given(problem=problems())
def test_nonvanishing_polynomials_are_orthonormal_on_the_points(problem, normalization):
    X = problem[0]
    ideal = fitted(problem, normalization)
    F = ideal.basis_.evaluate(X, which="nonvanishing")
    # An offset of the data costs digits already when the mean is taken off.
    spread = np.sqrt(np.sum(np.var(X, axis=0)))
    offset = 1 + np.linalg.norm(X.mean(axis=0)) / spread if spread > 0 else 1.0
    worst = max(step.condition for step in ideal.trace_)
    error = np.abs(F.T @ F / len(X) - np.eye(F.shape[1])).max()
    assert error <= max(1e-9, 1e3 * EPS * worst * offset)
