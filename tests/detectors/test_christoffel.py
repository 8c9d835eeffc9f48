"""The Christoffel function is the inverse of the quadratic form of the moment matrix."""

import warnings

import dask.array
import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vanishing import load
from vanishing.datasets import make_variety
from vanishing.detectors import ChristoffelDetector
from vanishing.detectors.christoffel import leave_one_out
from vanishing.ideal import InterpolationWarning
from vanishing.polynomials.monomials import count, monomials


def direct_formula(X, points, degree, weights=None):
    """Return v(x)ᵀ M⁻¹ v(x) with all monomials, computed with 120 digits."""
    exponents = monomials(X.shape[1], degree).exponents
    weights = np.ones(len(X)) if weights is None else weights

    with mpmath.workdps(120):

        def values(rows):
            return mpmath.matrix(
                [
                    [
                        mpmath.fprod(
                            mpmath.mpf(x) ** int(e) for x, e in zip(row, powers, strict=True)
                        )
                        for powers in exponents
                    ]
                    for row in rows.tolist()
                ]
            )

        V, W = values(X), values(points)
        for i, weight in enumerate(weights.tolist()):
            V[i, :] *= mpmath.sqrt(weight)
        inverse = (V.T * V / float(weights.sum())) ** -1
        return np.array([float((W[i, :] * inverse * W[i, :].T)[0]) for i in range(len(points))])


def kernel(detector, points):
    """Return 1 / Λ."""
    return np.exp(-detector.score_samples(points))


def tables():
    rng = np.random.default_rng(0)
    return {
        "normal": rng.normal(size=(80, 2)),
        "three columns": rng.exponential(size=(60, 3)),
        "units": rng.normal(size=(80, 2)) * [1e3, 1e-3] + [1e4, 0],
        "noisy circle": make_variety("circle", 80, noise=0.02),
        "noisy parabola": make_variety("parabola", 80, noise=0.001),
    }


@pytest.mark.parametrize("name", tables())
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_direct_formula(name, degree):
    X = tables()[name]
    rng = np.random.default_rng(1)
    points = np.vstack(
        [X[:3], X.mean(axis=0) + 2 * X.std(axis=0) * rng.normal(size=(3, X.shape[1]))]
    )
    expected = direct_formula(X, points, degree)
    # A tolerance that lets the circle and the parabola vanish changes nothing.
    for tol in (0.0, 0.2):
        detector = ChristoffelDetector(degree, tol=tol).fit(X)
        np.testing.assert_allclose(kernel(detector, points), expected, rtol=1e-10)
    streamed = ChristoffelDetector(degree)
    for part in np.array_split(X, 3):
        streamed.partial_fit(part)
    np.testing.assert_allclose(kernel(streamed, points), expected, rtol=1e-8)


def test_weights():
    X = tables()["noisy circle"]
    weights = np.random.default_rng(2).integers(0, 4, len(X)).astype(float)
    expected = direct_formula(X, X[:4], 3, weights)
    weighted = ChristoffelDetector(3).fit(X, sample_weight=weights)
    repeated = ChristoffelDetector(3).fit(np.repeat(X, weights.astype(int), axis=0))
    streamed = ChristoffelDetector(3)
    for part, w in zip(np.array_split(X, 3), np.array_split(weights, 3), strict=True):
        streamed.partial_fit(part, sample_weight=w)
    for detector in (weighted, repeated, streamed):
        np.testing.assert_allclose(kernel(detector, X[:4]), expected, rtol=1e-9)
        np.testing.assert_allclose(detector.offset_, weighted.offset_, rtol=1e-9)
    assert streamed.n_samples_seen_ == weights.sum()


def test_mean_is_the_number_of_polynomials():
    X = np.random.default_rng(0).normal(size=(200, 3))
    for degree in (1, 2, 3):
        detector = ChristoffelDetector(degree).fit(X)
        np.testing.assert_allclose(kernel(detector, X).mean(), count(3, degree), rtol=1e-10)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_affine_maps_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    matrix, offset = rng.normal(size=(2, 2)) + 2 * np.eye(2), 10 * rng.normal(size=2)
    before, after = (ChristoffelDetector(3).fit(Z) for Z in (X, X @ matrix + offset))
    np.testing.assert_allclose(
        before.score_samples(X[:10] + 0.1), after.score_samples((X[:10] + 0.1) @ matrix + offset),
        rtol=1e-7,
    )  # fmt: skip
    np.testing.assert_allclose(before.offset_, after.offset_, rtol=1e-7)


def test_degree_one_is_the_distance_of_mahalanobis():
    X = np.random.default_rng(0).normal(size=(100, 3)) @ np.diag([1, 5, 0.1])
    centered = X - X.mean(axis=0)
    squared = np.einsum("ij,jk,ik->i", centered, np.linalg.inv(np.cov(X.T, bias=True)), centered)
    np.testing.assert_allclose(kernel(ChristoffelDetector(1).fit(X), X), 1 + squared)


def test_scores_without_the_row_itself():
    X = tables()["noisy circle"]
    scores = ChristoffelDetector(2).fit(X).score_samples(X)
    found = leave_one_out(scores, len(X))
    for i in (0, 7):
        rest = ChristoffelDetector(2).fit(np.delete(X, i, axis=0))
        np.testing.assert_allclose(found[i], rest.score_samples(X[[i]])[0], rtol=1e-9)


# --- equations that hold exactly -----------------------------------------------------------------


def test_on_a_circle():
    X = make_variety("circle", 300)
    detector = ChristoffelDetector(4).fit(X)
    on, off = make_variety("circle", 500, random_state=1), [[0.0, 0.0], [1.01, 0.0]]
    # On the circle there are the trigonometric polynomials, of constant sum of squares.
    np.testing.assert_allclose(kernel(detector, X).mean(), 9)
    assert np.mean(detector.predict(on) == 1) > 0.94
    assert (detector.predict(off) == -1).all()
    assert np.isfinite(detector.score_samples(off)).all()
    assert (kernel(detector, off) > 1e4).all()


def test_regularization_is_an_error_that_is_allowed():
    X = make_variety("circle", 300)
    loose, strict = (ChristoffelDetector(2, regularization=r).fit(X) for r in (0.1, 1e-6))
    near = [[1.02, 0.0]]
    assert strict.score_samples(near)[0] < loose.score_samples(near)[0] - 10
    np.testing.assert_allclose(strict.score_samples(X), loose.score_samples(X))


def test_constant_columns():
    X = np.column_stack([make_variety("circle", 100, noise=0.1), np.full(100, 1e6)])
    detector = ChristoffelDetector(2).fit(X)
    assert (detector.predict(X) == 1).mean() > 0.9
    assert detector.predict(X[:1] + np.array([0, 0, 1.0]))[0] == -1


# --- partial fits ---------------------------------------------------------------------------------


def test_partial_fits_of_rows_that_move():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(2, 2)) * 1e-3, rng.normal(size=(400, 2)) * [1, 100] + 50])
    streamed = ChristoffelDetector(3).partial_fit(X[:2])
    for part in np.array_split(X[2:], 8):
        streamed.partial_fit(part)
    whole = ChristoffelDetector(3).fit(X)
    np.testing.assert_allclose(streamed.score_samples(X), whole.score_samples(X), rtol=1e-7)
    np.testing.assert_allclose(streamed.offset_, whole.offset_, rtol=1e-6)


def test_threshold_of_many_rows_is_that_of_a_sample():
    X = np.random.default_rng(0).normal(size=(6000, 2))
    streamed = ChristoffelDetector(2, contamination=0.1)
    for part in np.array_split(X, 4):
        streamed.partial_fit(part)
    again = ChristoffelDetector(2, contamination=0.1)
    for part in np.array_split(X, 4):
        again.partial_fit(part)
    assert streamed.offset_ == again.offset_
    assert 0.07 < np.mean(streamed.predict(X) == -1) < 0.13


def test_fit_forgets_and_partial_fit_starts_anew():
    X = np.random.default_rng(0).normal(size=(60, 2))
    detector = ChristoffelDetector().partial_fit(X + 5).fit(X)
    with pytest.raises(AttributeError, match="only after partial_fit"):
        _ = detector.n_samples_seen_
    with pytest.warns(UserWarning, match="starts from scratch"):
        detector.partial_fit(X)
    assert detector.n_samples_seen_ == 60
    detector.max_degree = 4
    with pytest.raises(ValueError, match="max_degree was raised to 4"):
        detector.partial_fit(X)
    assert detector.n_samples_seen_ == 60


# --- the rest of the contract ---------------------------------------------------------------------


def test_files(tmp_path):
    X = tables()["noisy circle"]
    detector = ChristoffelDetector(3).fit(pd.DataFrame(X, columns=["a", "b"]))
    detector.save(tmp_path / "fitted")
    loaded = load(tmp_path / "fitted")
    frame = pd.DataFrame(X + 0.1, columns=["a", "b"])
    np.testing.assert_array_equal(
        loaded.decision_function(frame), detector.decision_function(frame)
    )
    streamed = ChristoffelDetector(3).partial_fit(X[:50])
    streamed.save(tmp_path / "streamed")
    loaded = load(tmp_path / "streamed").partial_fit(X[50:])
    streamed.partial_fit(X[50:])
    np.testing.assert_array_equal(loaded.decision_function(X), streamed.decision_function(X))


def test_chunks_and_guarantees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    chunked = ChristoffelDetector(3).fit([X[:900], X[900:]])
    np.testing.assert_allclose(
        chunked.score_samples(X), ChristoffelDetector(3).fit(X).score_samples(X), rtol=1e-9
    )
    guarded = ChristoffelDetector(4, contamination=0.1, calibration=0.3).fit(X)
    assert np.mean(guarded.predict(rng.normal(size=(5000, 2))) == -1) < 0.13


@pytest.mark.parametrize("kind", ["chunks", "dask"])
def test_rows_that_do_not_fit_into_memory(monkeypatch, kind):
    X = np.random.default_rng(0).normal(size=(600, 2)) * [1, 1000]
    whole = ChristoffelDetector(3).fit(X)
    monkeypatch.setattr("vanishing.data.inputs.MEMORY", 2000)
    rows = [X[:200], X[200:]] if kind == "chunks" else dask.array.from_array(X, chunks=(100, 2))
    streamed = ChristoffelDetector(3).fit(rows)
    np.testing.assert_allclose(streamed.score_samples(X), whole.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(streamed.offset_, whole.offset_, rtol=1e-9)
    with pytest.raises(ValueError, match="needs all rows of X at once"):
        ChristoffelDetector(3, contamination=0.1, calibration=0.2).fit(rows)
    with pytest.raises(ValueError, match="parts of it one after the other"):
        ChristoffelDetector(3).partial_fit(rows)


def test_false_alarms_on_new_rows():
    rng = np.random.default_rng(0)
    for n_rows, n_features, degree in ((300, 2, 4), (200, 5, 2), (500, 10, 2)):
        detector = ChristoffelDetector(degree).fit(rng.normal(size=(n_rows, n_features)))
        new = rng.normal(size=(4000, n_features))
        assert np.mean(detector.predict(new) == -1) < 0.08


def test_explanations_name_equations_within_the_tolerance():
    X = make_variety("circle", 500, noise=0.02)
    explanation = ChristoffelDetector(2, tol=0.1).fit(X).explain([[1.3, 0.0]])[0]
    assert [equation.degree for equation in explanation.equations] == [2]
    assert abs(explanation.attribution[0]) > 5 * abs(explanation.attribution[1])
    assert explanation.counterfactual_score < explanation.score
    assert not ChristoffelDetector(2, tol=0).fit(X).explain([[1.3, 0.0]])[0].equations


def test_errors():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.warns(InterpolationWarning, match="X has 20 rows, and as many independent"):
        ChristoffelDetector(3).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ChristoffelDetector(2).fit(X)
    with pytest.raises(ValueError, match=r"calibration=0\.3 keeps rows"):
        ChristoffelDetector(calibration=0.3).partial_fit(X)
    with pytest.raises(ValueError, match="regularization"):
        ChristoffelDetector(regularization=0).fit(X)
