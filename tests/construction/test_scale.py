"""Units do not matter: scaling the data keeps the counts."""

import numpy as np
import pytest
from tests.support.cases import KNOWN_IDEALS, NORMALIZATIONS, counts, fit, gaussian_contrast

ELLIPSE = next(k for k in KNOWN_IDEALS if k.name == "ellipse").points


def scaled(exponents):
    """Every normalization at every scale; coefficients have units of their own: scale 1 only."""
    return pytest.mark.parametrize(
        ("normalization", "scale"),
        [(n, 10.0**e) for n in NORMALIZATIONS for e in exponents if n != "coefficient" or e == 0],
    )


@scaled(range(-8, 9))
@pytest.mark.parametrize("tol", [0.0, 1e-9, 1e-3])
def test_counts_of_an_exact_ellipse(normalization, tol, scale):
    unit = scale if normalization.startswith("gradient") else 1.0
    ideal = fit(
        scale * ELLIPSE,
        normalization,
        contrast=scale * gaussian_contrast(ELLIPSE) if normalization == "contrastive" else None,
        tol=tol * unit,
        max_degree=3,
    )
    assert counts(ideal) == [(0, 2), (1, 2), (2, 2)]
    quadric = ideal.extents_[0]
    assert quadric <= 1e-14 * unit


@scaled(range(-8, 9, 2))
def test_gram_sees_the_ellipse_to_half_the_digits(normalization, scale):
    unit = scale if normalization.startswith("gradient") else 1.0
    contrast = scale * gaussian_contrast(ELLIPSE) if normalization == "contrastive" else None
    ideal = fit(
        scale * ELLIPSE, normalization, contrast=contrast, tol=0.0, max_degree=2, reduction="gram"
    )
    assert counts(ideal) == [(0, 2), (1, 2)]
    assert ideal.extents_[0] <= 1e-7 * unit


@pytest.mark.parametrize("normalization", ["vca", "contrastive"])
def test_features_in_units_of_their_own(normalization):
    """Exact relations are found whatever the unit of each single feature."""
    units = np.array([1e-7, 1e6])
    contrast = units * gaussian_contrast(ELLIPSE) if normalization == "contrastive" else None
    ideal = fit(units * ELLIPSE, normalization, contrast=contrast, tol=0.0, max_degree=2)
    assert counts(ideal) == [(0, 2), (1, 2)]


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_repeating_rows_changes_nothing(normalization):
    rng = np.random.default_rng(0)
    X = ELLIPSE + 0.01 * rng.standard_normal(ELLIPSE.shape)
    once = fit(X, normalization, tol=0.05, max_degree=2)
    contrast = gaussian_contrast(X) if normalization == "contrastive" else None
    twice = fit(np.vstack([X, X]), normalization, contrast=contrast, tol=0.05, max_degree=2)
    assert counts(once) == counts(twice)
    np.testing.assert_allclose(twice.extents_, once.extents_, rtol=1e-10)
    np.testing.assert_allclose(twice.transform(X), once.transform(X), rtol=1e-9, atol=1e-11)
