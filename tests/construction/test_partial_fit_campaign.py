"""``partial_fit`` finds what ``fit`` finds, whatever the parts, the place and the units are."""

import os
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.campaigns.partial_fit import Variant, outcome, variants
from tests.support.cases import NORMALIZATIONS, counts

from vanishing import VanishingIdeal, load
from vanishing.construction.moments import KeptRows
from vanishing.persistence import ModelFileError

#: ``VANISHING_VARIANTS=5000 pytest -k campaign`` runs more of them.
N_VARIANTS = int(os.environ.get("VANISHING_VARIANTS", "30"))

REPORTED = Variant(
    seed=1,
    n_rows=24,
    n_columns=3,
    chunk=2,
    offset=100.0,
    scale=1.0,
    kind="noisy",
    degree=3,
    tol=1e-6,
    normalization="gradient",
)

pytestmark = pytest.mark.filterwarnings("ignore::vanishing.ideal.UndecidedWarning")


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_few_rows_far_from_the_origin_in_pairs(normalization):
    found = outcome(replace(REPORTED, normalization=normalization))
    assert found.parts == found.whole
    if normalization in ("vca", "gradient", "contrastive"):  # others reach the tolerance
        assert found.parts[-1][1] == 10


def test_one_direction_that_is_flat_so_far_does_not_hide_the_others():
    """All directions but one are rounding errors after two rows; they are errors of that one."""
    variant = replace(REPORTED, seed=13, n_rows=21, n_columns=4, chunk=1, degree=1, tol=0.1)
    for normalization in ("vca", "gradient", "gradient-weighted"):
        assert outcome(replace(variant, normalization=normalization)).parts == [(0, 4, 0)]


@pytest.mark.parametrize("most_rows", [60, 200])
def test_campaign(most_rows):
    differing = []
    for variant in variants(N_VARIANTS, seed=1, most_rows=most_rows):
        found = outcome(variant)
        if found.differs and not found.warned:
            differing.append((variant, found.whole, found.parts))
    assert differing == []


def test_rows_are_kept_up_to_twice_the_number_of_monomials():
    X = np.random.default_rng(0).standard_normal((13, 2))
    ideal = VanishingIdeal(tol=0.1).partial_fit(X[:1]).partial_fit(X[1:12])
    np.testing.assert_array_equal(ideal._seen.points.parts[0], X[:12])
    assert ideal.n_samples_seen_ == 12
    ideal.partial_fit(X[12:])
    assert not isinstance(ideal._seen.points, KeptRows)
    assert ideal.n_samples_seen_ == 13
    assert counts(ideal) == counts(VanishingIdeal(tol=0.1).fit(X))


def test_kept_rows_have_precisions_and_weights_of_their_own():
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((9, 2)), rng.integers(1, 4, 9)
    ideal = VanishingIdeal(tol=0.1).partial_fit(X[:3].astype(np.float32))
    ideal.partial_fit(X[3:5].astype(np.float32), sample_weight=weights[3:5])
    ideal.partial_fit(X[5:], sample_weight=weights[5:])
    assert [part.dtype for part in ideal._seen.points.parts] == [np.float32, np.float64]
    np.testing.assert_allclose(ideal._seen.points.weights, [1, 1, 1, *weights[3:]], rtol=1e-6)
    expected = VanishingIdeal(tol=0.1).fit(X, sample_weight=[1, 1, 1, *weights[3:]])
    assert counts(ideal) == counts(expected)
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-4, atol=1e-5)


def test_kept_rows_are_saved(tmp_path):
    X = np.random.default_rng(0).standard_normal((10, 2))
    ideal = VanishingIdeal(tol=0.1).partial_fit(X[:3], sample_weight=[1.0, 2.0, 3.0])
    ideal.save(tmp_path / "model")
    loaded = load(tmp_path / "model").partial_fit(X[3:])
    np.testing.assert_array_equal(loaded.transform(X), ideal.partial_fit(X[3:]).transform(X))


@pytest.mark.parametrize("damage", ["width", "infinite", "none", "weights", "degree"])
def test_damaged_rows_are_refused(damage, tmp_path):
    ideal = VanishingIdeal(tol=0.1).partial_fit(np.eye(3))
    kept = ideal._seen.points
    damaged = {
        "width": replace(kept, parts=(np.ones((3, 2)),)),
        "infinite": replace(kept, parts=(np.full((3, 3), np.inf),)),
        "none": replace(kept, parts=()),
        "weights": replace(kept, weights=np.zeros(3)),
        "degree": replace(kept, degree=10**9),
    }[damage]
    ideal._seen = replace(ideal._seen, points=damaged)
    ideal.save(tmp_path / "model")
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")
