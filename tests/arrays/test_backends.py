"""NumPy, torch and array-api-strict give the same answers through one code path."""

import array_api_strict
import numpy as np
import pytest
from tests.support.cases import (
    BACKENDS,
    NORMALIZATIONS,
    REDUCTIONS,
    counts,
    gaussian_contrast,
    tensor,
    to_numpy,
)

from vanishing import VanishingIdeal


def noisy_surface(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    X[:, 3] = X[:, 0] * X[:, 1] + 1e-3 * rng.standard_normal(500)
    return X.astype(dtype), gaussian_contrast(X).astype(dtype)


def fitted(make, normalization, reduction, dtype=np.float64):
    X, Y = noisy_surface(dtype)
    contrast = make(Y) if normalization == "contrastive" else None
    ideal = VanishingIdeal(max_degree=3, tol=0.05, normalization=normalization, reduction=reduction)
    return ideal.fit(make(X), contrast=contrast), make(X)


@pytest.mark.parametrize("backend", ["torch", "array_api_strict"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_same_as_numpy(normalization, reduction, backend):
    expected, X = fitted(BACKENDS["numpy"], normalization, reduction)
    ideal, x = fitted(BACKENDS[backend], normalization, reduction)
    assert counts(ideal) == counts(expected)
    rtol = 1e-9 if reduction == "tsqr" else 1e-6
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=rtol)
    features = ideal.transform(x)
    assert type(features) is type(x)
    np.testing.assert_allclose(to_numpy(features), expected.transform(X), rtol=rtol, atol=rtol * 10)
    for which in ("vanishing", "nonvanishing"):
        jacobian = expected.basis_.jacobian(x, which=which)
        assert type(jacobian) is type(x)
        np.testing.assert_allclose(
            to_numpy(jacobian), expected.basis_.jacobian(X, which=which), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("backend", ["torch", "array_api_strict"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("construction", ["abm", "abm-gradient", "oavi"])
def test_border_bases_are_those_of_numpy(construction, dtype, backend):
    X, _ = noisy_surface()
    expected = VanishingIdeal(construction=construction, max_degree=3, tol=0.05).fit(X)
    x = BACKENDS[backend](X.astype(dtype))
    ideal = VanishingIdeal(construction=construction, max_degree=3, tol=0.05).fit(x)
    assert expected.basis_.count()
    np.testing.assert_array_equal(ideal.order_ideal_.terms, expected.order_ideal_.terms)
    features = ideal.transform(x)
    assert type(features) is type(x)
    atol = 1e-8 if dtype is np.float64 else 1e-3
    np.testing.assert_allclose(to_numpy(features), expected.transform(X), atol=atol)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_single_precision_to_its_own_accuracy(normalization, backend):
    exact, _ = fitted(BACKENDS["numpy"], normalization, "tsqr")
    ideal, x = fitted(BACKENDS[backend], normalization, "tsqr", np.float32)
    assert counts(ideal) == counts(exact)
    features = ideal.transform(x)
    assert features.dtype == x.dtype
    np.testing.assert_allclose(ideal.extents_, exact.extents_, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(
        to_numpy(features), exact.transform(noisy_surface()[0]), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_exact_ellipse_in_single_precision(backend):
    t = np.linspace(0, 6, 80)
    X = np.column_stack([3 * np.cos(t), np.sin(t)]).astype(np.float32)
    ideal = VanishingIdeal(max_degree=2, tol=0.0).fit(BACKENDS[backend](X))
    assert counts(ideal) == [(0, 2), (1, 2)]
    assert ideal.extents_[0] < 1e-5


def test_library_of_contrast_may_differ():
    X, Y = noisy_surface()
    same = VanishingIdeal(normalization="contrastive").fit(X, contrast=Y)
    mixed = VanishingIdeal(normalization="contrastive").fit(
        tensor(X), contrast=array_api_strict.asarray(Y)
    )
    np.testing.assert_allclose(mixed.extents_, same.extents_, rtol=1e-9)


def test_gradients_do_not_follow_the_fit_out():
    X, _ = noisy_surface()
    x = tensor(X).requires_grad_()
    ideal = VanishingIdeal().fit(x.detach())
    values = ideal.basis_.evaluate(x)
    jacobian = ideal.basis_.jacobian(x.detach())
    values[:, 0].sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), jacobian[:, 0, :].numpy(), rtol=1e-8, atol=1e-9)
