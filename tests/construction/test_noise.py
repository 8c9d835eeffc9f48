"""The noise of points, and equations that it does not bias."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermeval

from vanishing import VanishingIdeal, load
from vanishing.algebra import estimate_variety
from vanishing.construction.moments import Frame, factor_affine
from vanishing.construction.noise import (
    MomentConditions,
    MomentSeries,
    Noise,
    NoisyMoments,
    noise_of,
)
from vanishing.data import as_source
from vanishing.datasets import describe_variety, make_variety, varieties
from vanishing.polynomials.monomials import monomials

DEGREES = {
    "ellipse": 2,
    "lemniscate": 4,
    "sphere": 2,
    "torus": 4,
    "cayley-cubic": 3,
    "cuspidal-cubic": 3,
    "parabola": 2,
    "nodal-cubic": 3,
    "whitney-umbrella": 3,
    "segre": 2,
}
#: RMS of g over RMS of its gradient at the points without noise, in percent, at 10 % noise.
ACCURACY = {
    "ellipse": 0.11,
    "lemniscate": 0.36,
    "sphere": 0.16,
    "torus": 0.44,
    "cayley-cubic": 0.31,
    "cuspidal-cubic": 0.33,
}


def noisy_points(name, n_samples, noise, seed=0):
    """Points with standardized columns, without and with noise."""
    clean = make_variety(name, n_samples, random_state=seed)
    clean = (clean - clean.mean(axis=0)) / clean.std(axis=0)
    rng = np.random.default_rng(1000 + seed)
    return clean, clean + noise * rng.normal(size=clean.shape)


def error_of(ideal, clean):
    """Distance of true points from the equation of the highest degree."""
    value = ideal.basis_.evaluate(clean)[:, -1]
    slope = ideal.basis_.jacobian(clean)[:, -1]
    return np.sqrt(np.mean(value**2) / np.mean(np.sum(slope**2, axis=1)))


class TestMomentsWithoutNoise:
    @given(st.floats(-2, 2), st.floats(0.01, 1))
    @settings(max_examples=30)
    def test_powers_become_hermite_polynomials(self, x, variance):
        frame = Frame(np.zeros(1), np.eye(1), np.eye(1))
        powers = x ** np.arange(7.0)
        series = NoisyMoments(frame, 3, powers[None]).series([0])
        matrix = series.matrix(variance, 3)
        scale = np.sqrt(variance)
        for a in range(4):
            for b in range(4):
                n = a + b
                expected = scale**n * hermeval(x / scale, [0] * n + [1])
                assert matrix[a, b] == pytest.approx(expected, abs=1e-9)

    def test_moments_are_those_of_the_true_points(self):
        clean, noisy = noisy_points("viviani", 400_000, 0.2)
        frame = Frame.fit(factor_affine(as_source(noisy), 2**31))
        found, true = (
            NoisyMoments.compute(as_source(points), frame, 2, 2**31).series(range(5))
            for points in (noisy, clean)
        )
        assert isinstance(found, MomentSeries)
        plain = np.abs(found.matrix(0.0, 2) - true.matrix(0.0, 2)).max()
        corrected = np.abs(found.matrix(0.04, 2) - true.matrix(0.0, 2)).max()
        assert corrected < plain / 10


class TestMomentConditions:
    @pytest.fixture(scope="class")
    @classmethod
    def cubic(cls):
        clean, noisy = noisy_points("cuspidal-cubic", 20_000, 0.1, seed=2)
        frame = Frame.fit(factor_affine(as_source(noisy), 2**31))
        return clean, NoisyMoments.compute(as_source(noisy), frame, 4, 2**31), as_source(noisy)

    @staticmethod
    def error(moments, vector, clean):
        values = vector @ monomials(2, 3).values(moments.frame(clean))
        size = vector @ moments.series(range(5)).gradients(0.01, 3) @ vector
        return np.sqrt(np.mean(values**2) / size)

    def test_more_accurate_than_adjusted_least_squares(self, cubic):
        clean, moments, source = cubic
        conditions = MomentConditions(moments, 3, source, 2**31)
        best = conditions.solve(1)
        assert np.sqrt(best.variance) == pytest.approx(0.1, rel=0.01)
        assert 20_000 * best.misfits[0] < 2 < 8 < 20_000 * best.misfits[1]
        # Standard errors tell so in advance.
        assert conditions.gain(best) > 2
        assert self.error(moments, best.polynomials[:, 0], clean) < 0.005

    def test_weights_are_those_of_the_sampling_errors(self):
        """In one variable, products without noise are sums of Hermite polynomials."""
        x = np.random.default_rng(0).normal(size=300)
        frame = Frame(np.zeros(1), np.eye(1), np.eye(1))
        source = as_source(x[:, None])
        noisy = NoisyMoments.compute(source, frame, 3, 2**31)
        variance, g = 0.3, np.array([0.5, -1.0, 2.0])
        scale = np.sqrt(variance)
        hermite = [scale**n * hermeval(x / scale, [0] * n + [1]) for n in range(6)]
        conditions = np.array([g @ hermite[n : n + 3] for n in range(4)])
        weights = MomentConditions(noisy, 2, source, 2**31).weights(variance, g[:, None])
        covariance = conditions @ conditions.T / len(x)
        np.testing.assert_allclose(weights @ covariance @ weights.T, np.eye(4), atol=1e-8)

    def test_refute_a_lower_degree(self, cubic):
        _, moments, source = cubic
        conic = MomentConditions(moments, 2, source, 2**31).solve(1)
        assert np.sqrt(conic.variance) < 0.103  # the distances alone say little
        assert 20_000 * conic.misfits[0] > 100

    @pytest.mark.parametrize("seed", range(4))
    def test_no_preference_for_a_conic(self, seed):
        clean, X = noisy_points("cuspidal-cubic", 20_000, 0.1, seed)
        ideal = VanishingIdeal(max_degree=3, tol="auto").fit(X)
        assert [step.vanishing for step in ideal.trace_] == [0, 0, 1]
        assert ideal.noise_.n_equations == 1
        assert error_of(ideal, clean) < 0.00495

    def test_a_degree_that_meets_them_is_kept(self):
        _, X = noisy_points("whitney-umbrella", 20_000, 0.03, seed=3)
        ideal = VanishingIdeal(max_degree=3, tol="auto").fit(X)
        assert ideal.noise_.degree == 3

    def test_several_equations(self):
        clean, X = noisy_points("veronese", 20_000, 0.1, seed=1)
        ideal = VanishingIdeal(max_degree=2, tol="auto").fit(X)
        assert ideal.noise_.n_equations == ideal.basis_.count() == 6
        values, slopes = ideal.basis_.evaluate(clean), ideal.basis_.jacobian(clean)
        errors = np.sqrt(np.mean(values**2, axis=0) / np.mean(np.sum(slopes**2, axis=2), axis=0))
        assert errors.max() < 0.006


class TestLevel:
    @pytest.mark.parametrize("noise", [0.03, 0.1])
    def test_within_two_percent_on_eight_of_ten(self, noise):
        right = []
        for name, degree in DEGREES.items():
            _, X = noisy_points(name, 20_000, noise)
            found = VanishingIdeal(max_degree=degree, tol="auto").fit(X).noise_
            right.append(abs(found.level / noise - 1) < 0.02)
        assert sum(right) >= 8

    @pytest.mark.parametrize("name", sorted(ACCURACY))
    def test_equations_are_not_biased(self, name):
        clean, X = noisy_points(name, 20_000, 0.1)
        degree = DEGREES[name]
        ideal = VanishingIdeal(max_degree=degree, tol="auto").fit(X)
        assert ideal.noise_.corrected
        assert ideal.basis_.degrees().max() == degree
        assert 100 * error_of(ideal, clean) < 1.5 * ACCURACY[name]
        biased = VanishingIdeal(max_degree=degree, tol=ideal.noise_.level * 1.02).fit(X)
        if biased.basis_.count():
            assert error_of(ideal, clean) < error_of(biased, clean)

    @pytest.mark.parametrize("name", varieties())
    def test_exact_points(self, name):
        record = describe_variety(name)
        degree = max(DEGREES.get(name, 2), 4 if name == "grid" else 2)
        X = make_variety(name, 400)
        auto = VanishingIdeal(max_degree=degree, tol="auto").fit(X)
        exact = VanishingIdeal(max_degree=degree, tol=0).fit(X)
        assert [step.vanishing for step in auto.trace_] == [step.vanishing for step in exact.trace_]
        if auto.basis_.count():
            assert auto.noise_.level == 0, record
            assert auto.noise_.degree == exact.basis_.degrees().min()

    @pytest.mark.parametrize("seed", range(10))
    def test_nothing_is_found_in_nothing(self, seed):
        rng = np.random.default_rng(seed)
        X = [rng.normal(size=(500, 3)), rng.uniform(size=(300, 2)), rng.exponential(size=(800, 4))]
        for table in X:
            ideal = VanishingIdeal(tol="auto").fit(table)
            assert ideal.basis_.count() == 0
            assert np.isnan(ideal.noise_.level)
            assert "no equation" in str(ideal.noise_)

    def test_what_is_said(self):
        _, X = noisy_points("sphere", 2000, 0.008)
        ideal = VanishingIdeal(tol="auto").fit(X)
        assert str(ideal.noise_) == (
            "noise 0.81 % of the spread; equations from degree 2 on; degree 3 is no closer"
        )
        assert len(ideal.noise_.levels) == 3
        assert [step.closest for step in ideal.trace_] == list(ideal.noise_.levels[:2])
        assert np.isnan(VanishingIdeal().fit(X).trace_[0].closest)

    def test_exact_planes_do_not_hide_noise(self):
        _, X = noisy_points("circle", 2000, 0.01)
        plane = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 2)))[0]
        ideal = VanishingIdeal(tol="auto").fit(X @ plane.T)
        assert [step.vanishing for step in ideal.trace_] == [1, 1]

    def test_exact_columns_do_not_hide_noise(self):
        _, X = noisy_points("circle", 2000, 0.01)
        answers = np.random.default_rng(0).integers(0, 2, len(X))
        ideal = VanishingIdeal(tol="auto").fit(np.column_stack([X, answers]))
        assert [step.vanishing for step in ideal.trace_] == [0, 2]  # of the circle, and x² = x
        assert ideal.noise_.level == pytest.approx(0.01, rel=0.1)
        whole = np.random.default_rng(0).integers(0, 2, (200, 3)).astype(float)
        assert VanishingIdeal(tol="auto").fit(whole).noise_.level == 0

    def test_known_dimension_and_degree(self):
        right = 0
        names = ["nodal-cubic", "whitney-umbrella", "torus", "twisted-cubic", "veronese"]
        for name in names:
            record = describe_variety(name)
            degree = DEGREES.get(name, 2) + 1
            X = make_variety(name, 1000, noise=0.03)
            found = estimate_variety(VanishingIdeal(max_degree=degree, tol="auto").fit(X).basis_, X)
            right += (found.dimension, found.degree, found.settled) == (
                record.dimension,
                record.degree,
                True,
            )
        assert right >= 4  # with tol=1.5 * noise, one of them is

    @pytest.mark.parametrize(
        "normalization", ["contrastive", "vca", "coefficient", "gradient-weighted"]
    )
    def test_other_normalizations(self, normalization):
        _, X = noisy_points("ellipse", 2000, 0.02)
        contrast = None
        if normalization == "contrastive":
            contrast = np.random.default_rng(0).normal(size=X.shape)
        ideal = VanishingIdeal(tol="auto", normalization=normalization).fit(X, contrast=contrast)
        assert [step.vanishing for step in ideal.trace_] == [0, 1]


class TestInvariance:
    def fit(self, X, **options):
        return VanishingIdeal(max_degree=3, tol="auto").fit(X, **options)

    @pytest.fixture(scope="class")
    @classmethod
    def points(cls):
        return noisy_points("twisted-cubic", 1000, 0.02)[1]

    def test_units(self, points):
        found, other = self.fit(points), self.fit(1e4 * points + 3e5)
        assert other.noise_.level == pytest.approx(1e4 * found.noise_.level, rel=1e-6)
        assert other.basis_.degrees().tolist() == found.basis_.degrees().tolist()

    @pytest.mark.parametrize("size", [1, 7, 400])
    def test_chunks(self, points, size):
        chunks = [points[start : start + size] for start in range(0, len(points), size)]
        found, other = self.fit(points), self.fit(chunks)
        assert other.noise_.level == pytest.approx(found.noise_.level, rel=1e-7)
        new = points[:50] + 0.1
        np.testing.assert_allclose(
            np.linalg.norm(other.transform(new), axis=1),
            np.linalg.norm(found.transform(new), axis=1),
            rtol=1e-6,
        )

    def test_weights_are_repeated_rows(self, points):
        weights = np.random.default_rng(0).integers(1, 4, size=len(points))
        found = self.fit(points, sample_weight=weights)
        repeated = self.fit(np.repeat(points, weights, axis=0))
        assert found.noise_.level == pytest.approx(repeated.noise_.level, rel=0.06)

    def test_saved(self, points, tmp_path):
        ideal = self.fit(points)
        ideal.save(tmp_path / "model.vanishing")
        again = load(tmp_path / "model.vanishing")
        assert again.noise_ == ideal.noise_
        assert str(again.noise_) == str(ideal.noise_)


class TestRefused:
    def test_euclidean(self):
        with pytest.raises(ValueError, match="tol_norm='rms'"):
            VanishingIdeal(tol="auto", tol_norm="euclidean").fit(np.eye(3))

    def test_partial_fit(self):
        with pytest.raises(ValueError, match="use fit"):
            VanishingIdeal(tol="auto").partial_fit(np.eye(3))

    def test_few_rows(self):
        rng = np.random.default_rng(0)
        ideal = VanishingIdeal(max_degree=1, tol="auto").fit(rng.normal(size=(4, 2)))
        assert ideal.basis_.count() == 0


def test_noise_explains_nothing_below_the_degree_of_its_equations():
    noise = Noise(0.1, 1.0, 2, (0.5, 0.1))
    extents, lengths = np.array([0.05, 0.2]), np.ones(2)
    assert noise.most_distant(1, extents, lengths, 1000.0) == 0.0
    assert noise.most_distant(2, extents, lengths, 1000.0) == pytest.approx(0.05)
    assert noise.most_distant(3, extents, lengths, 1000.0) == pytest.approx(0.05)
    without = Noise(0.0, 1.0, 2, (0.5, 0.0))
    assert without.most_distant(2, extents, lengths, 1000.0) == 0.0
    assert Noise(0.1, 1.0, None, ()).most_distant(2, extents, lengths, 1000.0) == 0.0


def test_noise_of_few_rows_is_not_underestimated():
    """Equations are closer to the rows that they were fitted to, by a known factor."""
    levels = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        clean = rng.normal(size=(40, 2)) @ np.array([[1.0, 0, 1, 1], [0, 1, 1, -1]])
        noise = (
            VanishingIdeal(max_degree=1, tol="auto")
            .fit(clean + 0.1 * rng.normal(size=clean.shape))
            .noise_
        )
        levels.append(noise.level)
    assert np.sqrt(np.mean(np.square(levels))) == pytest.approx(0.1, rel=0.04)


@pytest.mark.filterwarnings("ignore")  # of decisions at high degrees
def test_noise_without_a_highest_degree_is_told_but_not_taken_out():
    _, X = noisy_points("ellipse", 400, 0.02)
    ideal = VanishingIdeal(max_degree=None, tol="auto").fit(X)
    assert ideal.noise_.degree == 2
    assert not ideal.noise_.corrected
    assert ideal.noise_.level == pytest.approx(0.02, rel=0.15)


def test_exact_equations_have_no_noise_in_words():
    assert str(Noise(0.0, 1.0, 2, (0.5, 0.0))) == "no noise; equations from degree 2 on"
    assert str(Noise(1.0, 100.0, 2, (9.0, 1.0))).startswith("noise 1 % of the spread; equations")


def test_a_double_root_that_sampling_makes_complex_is_the_noise():
    """The mean square of the square of an equation, with another root far above."""
    power_series = np.polynomial.polynomial
    complex_roots = [0.1 + 1e-3j, 0.1 - 1e-3j, 3 + 0.3j, 3 - 0.3j]
    mean_square = power_series.polyfromroots(complex_roots).real
    variance, condition = noise_of(mean_square)
    assert variance == pytest.approx(0.1, rel=1e-2)
    assert condition == np.inf


def test_the_condition_of_noise_is_how_much_errors_grow():
    mean_square = np.polynomial.polynomial.polyfromroots([0.1, 0.7, 2.0])
    variance, condition = noise_of(mean_square)
    assert variance == pytest.approx(0.1)
    moved, _ = noise_of(mean_square * [1 + 1e-6, 1, 1, 1])
    assert abs(moved / variance - 1) == pytest.approx(1e-6 * condition, rel=1e-3)


@pytest.mark.parametrize("normalization", ["gradient", "gradient-weighted", "coefficient", "vca"])
def test_noise_is_a_distance_whatever_the_normalization(normalization):
    """The extent of y - x², whose gradient is large beside its coefficients, is its size on X."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-20, 20, 400)
    X = np.column_stack([x, x**2]) + rng.normal(0, 0.3, (400, 2))
    ideal = VanishingIdeal(tol="auto", normalization=normalization).fit(X)
    assert ideal.basis_.degrees().tolist() == [2]
    size = np.sqrt(np.mean(ideal.transform(X) ** 2))
    np.testing.assert_allclose(ideal.extents_, [size], rtol=0.05)
    assert np.isclose(ideal.trace_[1].spectrum, size, rtol=0.05).any()
