"""torch on CUDA gives the answers of NumPy: ``pytest -m gpu`` on a machine that has one."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from tests.support.cases import NORMALIZATIONS, REDUCTIONS, counts, gaussian_contrast

from vanishing import TransformationDetector, VanishingIdeal
from vanishing.arrays.kernels import factor_by_cholesky
from vanishing.data import DeviceSource
from vanishing.polynomials import evaluation
from vanishing.transformations import Rotations

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def noisy_surface(n_samples=20_000):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, 5))
    X[:, 3] = X[:, 0] * X[:, 1] + 1e-3 * rng.standard_normal(n_samples)
    return X, gaussian_contrast(X, n_samples=3_000)


def fitted(to, normalization, reduction):
    X, Y = noisy_surface()
    ideal = VanishingIdeal(max_degree=3, tol=0.05, normalization=normalization, reduction=reduction)
    return ideal.fit(to(X), contrast=to(Y) if normalization == "contrastive" else None)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_same_as_numpy(normalization, reduction):
    expected = fitted(np.asarray, normalization, reduction)
    ideal = fitted(lambda x: torch.asarray(x, device="cuda"), normalization, reduction)
    assert counts(ideal) == counts(expected)
    rtol = 1e-9 if reduction == "tsqr" else 1e-6
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=rtol)
    x = noisy_surface()[0][:500]
    features = ideal.transform(torch.asarray(x, device="cuda"))
    assert features.device.type == "cuda"
    np.testing.assert_allclose(
        features.cpu().numpy(), expected.transform(x), rtol=rtol, atol=10 * rtol
    )
    jacobian = ideal.basis_.jacobian(torch.asarray(x, device="cuda"))
    np.testing.assert_allclose(
        jacobian.cpu().numpy(), ideal.basis_.jacobian(x), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_single_precision(normalization):
    expected = fitted(np.asarray, normalization, "tsqr")
    ideal = fitted(
        lambda x: torch.asarray(x, device="cuda", dtype=torch.float32), normalization, "tsqr"
    )
    assert counts(ideal) == counts(expected)
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("normalization", [None, "contrastive"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("construction", ["abm", "abm-gradient", "oavi"])
def test_border_bases_are_those_of_numpy(construction, reduction, normalization):
    X, Y = noisy_surface()

    def fit(to):
        contrast = None if normalization is None else to(Y)
        return VanishingIdeal(
            construction=construction,
            normalization=normalization,
            reduction=reduction,
            tol=0.05,
            max_degree=3,
        ).fit(to(X), contrast=contrast)

    expected, ideal = fit(np.asarray), fit(lambda x: torch.asarray(x, device="cuda"))
    assert expected.basis_.count()
    np.testing.assert_array_equal(ideal.order_ideal_.terms, expected.order_ideal_.terms)
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-6)
    features = ideal.transform(torch.asarray(X[:500], device="cuda"))
    assert features.device.type == "cuda"
    np.testing.assert_allclose(
        features.cpu().numpy(), expected.transform(X[:500]), rtol=1e-6, atol=1e-6
    )
    single = torch.asarray(X, device="cuda", dtype=torch.float32)
    if normalization is None:
        again = VanishingIdeal(construction=construction, tol=0.05, max_degree=3).fit(single)
        np.testing.assert_array_equal(again.order_ideal_.terms, expected.order_ideal_.terms)


def test_exact_ellipse():
    t = torch.linspace(0, 6, 500, device="cuda", dtype=torch.float64)
    X = torch.stack([3 * torch.cos(t), torch.sin(t)], dim=1)
    ideal = VanishingIdeal(max_degree=2, tol=0.0).fit(X)
    assert counts(ideal) == [(0, 2), (1, 2)]
    assert ideal.extents_[0] < 1e-14


def test_transformation_detector():
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((3000, 3))
    images = latent @ rng.standard_normal((3, 64)) + 0.1 * rng.standard_normal((3000, 64))
    parameters = {"preprocessor": PCA(12, svd_solver="full"), "n_components": (1, 4)}
    detectors = [
        TransformationDetector(Rotations((8, 8)), distance_weight=0.5, **parameters).fit(data)
        for data in (images, torch.asarray(images, device="cuda"))
    ]
    new = images[:500] + 0.3 * rng.standard_normal((500, 64))
    expected = detectors[0].score_samples(new)
    scores = detectors[1].score_samples(torch.asarray(new, device="cuda"))
    assert scores.device.type == "cuda"
    np.testing.assert_allclose(scores.cpu().numpy(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_streamed_from_the_host(dtype, monkeypatch):
    monkeypatch.setattr("vanishing.data.streams.BLOCK", 5_000)  # many small transfers
    X, Y = noisy_surface()
    ideal = VanishingIdeal(max_degree=3, tol=0.05, normalization="contrastive")
    expected = ideal.fit(X, contrast=Y).extents_
    ideal.fit(DeviceSource(X, "cuda", dtype=dtype), contrast=DeviceSource(Y, "cuda", dtype=dtype))
    rtol = 1e-9 if dtype == "float64" else 1e-3
    np.testing.assert_allclose(ideal.extents_, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("n_rows", [0, 1, 1023, 1025, 100_000])
def test_products_in_one_kernel(dtype, n_rows):
    """The kernel in Triton is used, and gives the bits of the plain way."""
    rng = torch.Generator(device="cuda").manual_seed(0)
    values = torch.randn((80, n_rows), generator=rng, device="cuda", dtype=dtype)
    first, last = values[:7], values[7:30]
    left = torch.randint(0, 7, (50,), generator=rng, device="cuda")
    right = torch.randint(0, 23, (50,), generator=rng, device="cuda")
    assert evaluation._find_fused_kernel(values[30:], first, last) is not None
    expected = torch.empty_like(values[30:])
    evaluation.multiply_gathered(expected, first, left, last, right)
    evaluation.multiply_rows(values[30:], first, left, last, right)
    assert torch.equal(values[30:], expected)


def test_products_have_gradients():
    ideal = fitted(lambda x: torch.asarray(x, device="cuda"), "gradient", "tsqr")
    x = torch.asarray(noisy_surface()[0][:50], device="cuda").requires_grad_()
    ideal.basis_.evaluate(x).sum().backward()
    expected = ideal.basis_.jacobian(x.detach()).sum(1)
    torch.testing.assert_close(x.grad, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n_columns", [1, 6, 231])
def test_factor_of_many_rows(n_columns):
    """The way by Cholesky is taken, agrees with Householder's, and is not slow for many rows."""
    rng = torch.Generator(device="cuda").manual_seed(0)
    shape = (n_columns, 2_000_000 // n_columns)
    values = torch.randn(shape, generator=rng, device="cuda", dtype=torch.float64)
    factor = factor_by_cholesky(values)
    assert factor is not None
    expected = torch.linalg.qr(values.T, mode="r").R
    expected *= torch.sign(torch.diagonal(expected))[:, None]
    torch.testing.assert_close(factor, expected, rtol=1e-10, atol=1e-11)
    values[-1] = values[0]
    assert n_columns == 1 or factor_by_cholesky(values) is None
