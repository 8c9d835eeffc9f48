"""The library agrees with the straightforward implementation in reference.py."""

import numpy as np
import pytest
from tests.support import reference
from tests.support.cases import NORMALIZATIONS, norms_by_degree

from vanishing import VanishingIdeal


def problem(seed):
    rng = np.random.default_rng(seed)
    n_features, n_samples = int(rng.integers(1, 5)), int(rng.integers(3, 70))
    X = rng.standard_normal((n_samples, n_features)) @ rng.standard_normal((n_features, n_features))
    if seed % 3 == 0:
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        X += 1e-3 * rng.standard_normal(X.shape)
    Y = 2 * rng.standard_normal((60, n_features))
    tol = float(rng.choice([0.0, 0.05, 0.3, 0.6]))
    return X, Y, tol, int(rng.integers(1, 4)), rng.standard_normal((20, n_features))


@pytest.mark.filterwarnings("ignore::vanishing.ideal.InterpolationWarning")
@pytest.mark.parametrize("tol_norm", ["rms", "euclidean"])
@pytest.mark.parametrize("products", ["independent", "all"])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("seed", range(20))
def test_same_polynomials(seed, normalization, products, tol_norm):
    X, Y, tol, degree, x = problem(seed)
    contrast = Y if normalization == "contrastive" else None
    options = {
        "normalization": normalization,
        "tol": tol,
        "max_degree": degree,
        "products": products,
        "tol_norm": tol_norm,
    }
    ideal = VanishingIdeal(**options, output="signed").fit(X, contrast=contrast)
    expected = reference.fit(X, contrast=contrast, **options)

    assert ideal.stop_reason_ == expected.stop_reason
    blocks = ideal.basis_.blocks
    assert [b.vanishing.shape[1] for b in blocks] == [g.shape[1] for g in expected.vanishing]
    assert [b.nonvanishing.shape[1] for b in blocks] == [
        f.shape[1] for f in expected.nonvanishing[1:]
    ]
    extents = np.concatenate(expected.extents)
    np.testing.assert_allclose(ideal.extents_, extents, rtol=1e-8, atol=1e-11)

    coefficients = np.hstack(expected.vanishing)
    values = reference.values(coefficients, expected.exponents, x)
    degrees = ideal.basis_.degrees()
    # All products: some polynomials are zero; which, depends on LAPACK where extents are equal.
    np.testing.assert_allclose(
        norms_by_degree(ideal.transform(x), degrees),
        norms_by_degree(values, degrees),
        rtol=1e-6,
        atol=1e-8,
    )
    if extents.size and np.min(np.diff(np.sort(extents)), initial=1) > 1e-3:
        # Separated extents: single polynomials agree too. Signs as well, where the coordinates
        # that they are read off are unique.
        single = ideal.transform(x)
        if products == "all" or normalization == "vca":
            single, values = np.abs(single), np.abs(values)
        np.testing.assert_allclose(single, values, rtol=1e-6, atol=1e-7)
