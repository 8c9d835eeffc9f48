"""Border bases: O and G satisfy their definitions, and are those of slow references."""

import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from tests.support.border import (
    divisors,
    exact_border_basis,
    float_border_basis,
    is_corner,
    scale_to_box,
    terms_of_degree,
)
from tests.support.cases import gaussian_contrast

from vanishing import VanishingDetector, VanishingIdeal, load
from vanishing.algebra import hilbert_function, minimal_generators
from vanishing.construction.border import Abm, AbmGradient, Oavi, resolve_construction
from vanishing.construction.normalizations import Normalization
from vanishing.datasets import make_variety
from vanishing.ideal import ContrastError

NAMES = ("abm", "abm-gradient", "oavi")
VARIETIES = (
    "circle",
    "ellipse",
    "parabola",
    "line-pair",
    "lemniscate",
    "sphere",
    "twisted-cubic",
    "viviani",
    "torus",
    "whitney-umbrella",
    "segre",
)


@cache
def exact_points(name, n_samples=60):
    return make_variety(name, n_samples, exact=True)


def _digits(label):
    images, labels = load_digits(return_X_y=True)
    return PCA(4, random_state=0).fit_transform(images[labels == label]) / 10


def _table(loader, n_components):
    X = StandardScaler().fit_transform(loader().data)
    return PCA(n_components, random_state=0).fit_transform(X)


RANDOM = np.random.default_rng(0)
NOISY = {
    "noisy circle": make_variety("circle", 200, noise=0.02),
    "noisy sphere": make_variety("sphere", 300, noise=0.02),
    "6 points": RANDOM.standard_normal((6, 2)),
    "20 points": RANDOM.standard_normal((20, 3)),
    "digits 0": _digits(0),
    "digits 3": _digits(3),
    "iris": _table(load_iris, 4),
    "wine": _table(load_wine, 4),
}


def fit(X, construction="abm", *, tol=0.0, max_degree=4, **parameters):
    ideal = VanishingIdeal(construction=construction, tol=tol, max_degree=max_degree, **parameters)
    return ideal.fit_part(X)


def check_definition(ideal, X, tol, order="deglex"):
    """O is closed under division, leading terms are the corners, extents are small."""
    terms = set(map(tuple, ideal.order_ideal_.terms.tolist()))
    leading = list(map(tuple, ideal.order_ideal_.leading_terms.tolist()))
    for term in terms:
        assert all(each in terms for each in divisors(term))
    n_degrees = len(ideal.trace_)
    corners = [
        term
        for degree in range(1, n_degrees + 1)
        for term in terms_of_degree(X.shape[1], degree, order)
        if term not in terms and is_corner(term, terms)
    ]
    assert leading == corners
    values = ideal.basis_.evaluate(X)
    rms = np.sqrt(np.mean(values**2, axis=0))
    np.testing.assert_allclose(rms, ideal.extents_, atol=1e-11, rtol=1e-6)
    assert np.all(ideal.extents_ <= max(tol, 1e-11))
    exponents, coefficients = ideal.basis_.expand()
    for polynomial, term in zip(coefficients.T, leading, strict=True):
        size = np.abs(polynomial).max()
        used = set(map(tuple, exponents[np.abs(polynomial) > 1e-9 * size].tolist()))
        assert used <= terms | {term}
        later = terms_of_degree(X.shape[1], sum(term), order)
        assert not used & set(later[later.index(term) + 1 :])
    assert [step.vanishing for step in ideal.trace_] == [
        sum(sum(term) == step.degree for term in leading) for step in ideal.trace_
    ]
    return terms, leading


@pytest.mark.parametrize("order", ["deglex", "degrevlex"])
@pytest.mark.parametrize("kind", [Abm, AbmGradient, Oavi])
@pytest.mark.parametrize("name", VARIETIES)
def test_exact_points_have_the_border_basis_of_their_ideal(name, kind, order):
    exact = exact_points(name)
    ideal = fit(exact.astype(np.float64), kind(order=order))
    terms, leading = exact_border_basis(exact, 4, order)
    assert [tuple(e) for e in ideal.order_ideal_.terms.tolist()] == terms
    assert [tuple(e) for e in ideal.order_ideal_.leading_terms.tolist()] == leading
    check_definition(ideal, exact.astype(np.float64), 0.0, order)


@pytest.mark.parametrize(
    ("name", "order", "n_generators"),
    [
        ("circle", "deglex", 1),
        ("viviani", "deglex", 2),
        ("twisted-cubic", "deglex", 4),
        ("twisted-cubic", "degrevlex", 3),
        ("20 points", "deglex", 15),
    ],
)
@pytest.mark.parametrize("kind", [Abm, AbmGradient, Oavi])
def test_numbers_of_generators_on_exact_points(name, order, n_generators, kind):
    X = NOISY[name] if name in NOISY else make_variety(name, 60)
    assert fit(X, kind(order=order)).basis_.count() == n_generators


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("tol", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("name", NOISY)
def test_noisy_points_agree_with_a_slow_reference(name, tol, kind):
    X = NOISY[name]
    scaled = scale_to_box(X) if kind == "oavi" else X
    ideal = fit(X, kind, tol=tol, max_degree=3)
    terms, leading, extents, values = float_border_basis(scaled, tol, 3, kind)
    assert [tuple(e) for e in ideal.order_ideal_.terms.tolist()] == terms
    assert [tuple(e) for e in ideal.order_ideal_.leading_terms.tolist()] == leading
    np.testing.assert_allclose(ideal.extents_, extents, rtol=1e-6, atol=1e-12)
    signed = ideal.transform(X, output="signed")
    signs = np.sign(np.sum(signed * values, axis=0))
    np.testing.assert_allclose(signed * signs, values, rtol=1e-6, atol=1e-8)
    check_definition(ideal, X, tol)


@pytest.mark.parametrize("kind", ["abm", "oavi"])
def test_contrastive_variants_agree_with_a_slow_reference(kind):
    X = NOISY["noisy circle"]
    contrast = gaussian_contrast(X)
    # The size on the contrast does not depend on the units of the columns.
    terms, leading, extents, _ = float_border_basis(X, 0.1, 3, kind, contrast=contrast)
    ideal = VanishingIdeal(
        construction=kind, normalization="contrastive", tol=0.1, max_degree=3
    ).fit(X, contrast=contrast)
    assert [tuple(e) for e in ideal.order_ideal_.terms.tolist()] == terms
    assert [tuple(e) for e in ideal.order_ideal_.leading_terms.tolist()] == leading
    assert leading
    np.testing.assert_allclose(ideal.extents_, extents, rtol=1e-6)
    on_contrast = ideal.transform(contrast)
    np.testing.assert_allclose(np.sqrt(np.mean(on_contrast**2, axis=0)), 1.0, rtol=1e-9)


@pytest.mark.parametrize("kind", ["abm", "oavi"])
def test_contrastive_variants_tell_an_arc_from_the_rest_of_its_circle(kind):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    arc = angle < 1.0
    ideal = VanishingIdeal(
        construction=kind, normalization="contrastive", tol=0.05, max_degree=2
    ).fit(circle[arc], contrast=circle[~arc])
    # The equation of the circle holds on both.
    assert ideal.basis_.count() > 0
    scores = np.linalg.norm(ideal.transform(circle), axis=1)
    assert np.max(scores[arc]) < np.quantile(scores[~arc], 0.05)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_gradient_weights_find_the_circle_at_any_scale(scale):
    X = make_variety("circle", 50)
    ideal = fit(scale * X, "abm-gradient", tol=1e-3 * scale)
    assert ideal.order_ideal_.leading_terms.tolist() == [[2, 0]]
    exponents, coefficients = ideal.basis_.expand()
    expected = {(2, 0): 1.0, (0, 2): 1.0, (0, 0): -(scale**2)}
    found = coefficients[:, 0] / coefficients[exponents.tolist().index([2, 0]), 0]
    wanted = [expected.get(tuple(e), 0.0) for e in exponents.tolist()]
    units = scale ** (2.0 - exponents.sum(axis=1))
    np.testing.assert_allclose(found / units, wanted / units, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("name", NOISY)
def test_gradient_weights_do_not_depend_on_the_scale(name, scale):
    X, tol = NOISY[name], 0.1
    one, other = fit(X, "abm-gradient", tol=tol), fit(scale * X, "abm-gradient", tol=scale * tol)
    np.testing.assert_array_equal(one.order_ideal_.terms, other.order_ideal_.terms)
    np.testing.assert_allclose(scale * one.extents_, other.extents_, rtol=1e-6, atol=1e-12 * scale)


@pytest.mark.parametrize("kind", [Abm, AbmGradient, Oavi])
@pytest.mark.parametrize("name", VARIETIES)
def test_the_full_border_on_request(name, kind):
    X = exact_points(name).astype(np.float64)
    corners, full = fit(X, kind(), max_degree=3), fit(X, kind(border="full"), max_degree=3)
    np.testing.assert_array_equal(corners.order_ideal_.terms, full.order_ideal_.terms)
    terms = set(map(tuple, full.order_ideal_.terms.tolist()))
    border = {
        (*term[:j], power + 1, *term[j + 1 :]) for term in terms for j, power in enumerate(term)
    }
    leading = list(map(tuple, full.order_ideal_.leading_terms.tolist()))
    assert set(leading) == {term for term in border - terms if sum(term) <= len(full.trace_)}
    assert np.max(np.abs(full.transform(X)), initial=0.0) < 1e-9
    assert full.basis_.count() == len(leading)


def test_the_full_border_in_columns_of_different_units():
    """The derivative of x y² - x y by x is zero on the points, and that by y is small."""
    points = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]) * [2.0**-24, 2.0**26]
    ideal = VanishingIdeal(
        construction=Abm(border="full"), normalization="gradient", max_degree=None, tol=0
    )
    leading = ideal.fit(points).order_ideal_.leading_terms.tolist()
    assert leading == [[0, 2], [2, 0], [1, 2], [2, 1]]


def test_linear_relations_and_constant_columns():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 50))
    X = np.column_stack([2 * x - y + 1, x, y, np.full(50, 3.0), x * y])
    for construction in (*NAMES, Abm(border="full"), Oavi(border="full")):
        ideal = fit(X, construction, max_degree=2)
        terms = set(map(tuple, ideal.order_ideal_.terms.tolist()))
        assert [sum(t) for t in terms].count(1) == 3
        assert np.abs(ideal.transform(X)).max() < 1e-10


@pytest.mark.parametrize("kind", NAMES)
def test_columns_far_from_the_origin_and_in_other_units(kind):
    X = make_variety("circle", 60)
    far = X * np.array([1e-3, 1e4]) + np.array([5.0, -1e6])
    ideal = fit(far, kind, max_degree=3)
    assert ideal.order_ideal_.leading_terms.tolist() == [[2, 0]]


@pytest.mark.parametrize("kind", NAMES)
def test_default_reduction_is_as_accurate_as_tsqr(kind):
    noisy = np.random.default_rng(0).standard_normal((3000, 3)) @ np.diag([1, 0.5, 0.02]) + 0.3
    noisy[:, 2] += noisy[:, 0] ** 2
    for X, tol in ((noisy, 0.05), (make_variety("circle", 300), 0.01)):
        by_default, by_qr = (
            VanishingIdeal(construction=kind, tol=tol, max_degree=3, **more).fit(X)
            for more in ({}, {"reduction": "tsqr"})
        )
        assert by_default.basis_.count()
        np.testing.assert_array_equal(by_default.order_ideal_.terms, by_qr.order_ideal_.terms)
        np.testing.assert_allclose(by_default.extents_, by_qr.extents_, rtol=1e-8, atol=1e-15)
    assert by_default.extents_.max() < 1e-14  # the circle is exact


@pytest.mark.parametrize("reduction", ["auto", "tsqr", "gram"])
@pytest.mark.parametrize("kind", NAMES)
def test_chunks_weights_and_reductions_give_the_same(kind, reduction):
    X = NOISY["noisy sphere"]
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    parameters = {"tol": 0.1, "max_degree": 3, "reduction": reduction}
    ideal = VanishingIdeal(construction=kind, **parameters)
    repeated = ideal.fit(np.repeat(X, weights, axis=0))
    expected = repeated.order_ideal_.leading_terms, repeated.transform(X)
    assert len(expected[0])
    by_weight = VanishingIdeal(construction=kind, **parameters).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(by_weight.order_ideal_.leading_terms, expected[0])
    np.testing.assert_allclose(by_weight.transform(X), expected[1], atol=1e-7)
    chunks = [X[:100], X[100:101], X[101:]]
    by_chunks = VanishingIdeal(construction=kind, **parameters).fit(chunks, sample_weight=weights)
    np.testing.assert_allclose(by_chunks.transform(X), expected[1], atol=1e-7)


@pytest.mark.parametrize("kind", NAMES)
def test_partial_fit_is_fit(kind):
    X = NOISY["noisy sphere"]
    whole = fit(X, kind, tol=0.05, max_degree=3)
    parts = VanishingIdeal(construction=kind, tol=0.05, max_degree=3)
    for part in np.array_split(X, 7):
        parts.partial_fit(part)
    assert whole.basis_.count()
    np.testing.assert_array_equal(parts.order_ideal_.terms, whole.order_ideal_.terms)
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-9)


def test_few_terms_within_the_tolerance():
    X = NOISY["wine"]
    dense = fit(X, "oavi", tol=0.15, max_degree=3)
    sparse = fit(X, Oavi(oracle="l1"), tol=0.15, max_degree=3)
    np.testing.assert_array_equal(dense.order_ideal_.terms, sparse.order_ideal_.terms)
    assert dense.order_ideal_.sparsity < 0.1 < sparse.order_ideal_.sparsity
    assert np.all(sparse.extents_ <= 0.15)
    np.testing.assert_allclose(
        np.sqrt(np.mean(sparse.transform(X) ** 2, axis=0)), sparse.extents_, rtol=1e-9
    )


def test_a_small_ball_bounds_the_coefficients():
    X = scale_to_box(NOISY["wine"])
    radius = 0.2
    ideal = fit(X, Oavi(oracle="l1", radius=radius), tol=0.15, max_degree=3)
    exponents, coefficients = ideal.basis_.expand()
    place = {tuple(e): i for i, e in enumerate(exponents.tolist())}
    assert ideal.basis_.count() > 0
    for polynomial, term in zip(
        coefficients.T, ideal.order_ideal_.leading_terms.tolist(), strict=True
    ):
        assert polynomial[place[tuple(term)]] == pytest.approx(1.0)
        assert np.abs(polynomial).sum() - 1 <= radius * (1 + 1e-9)
    assert np.all(ideal.extents_ <= 0.15)
    free = fit(X, "oavi", tol=0.15, max_degree=3)
    assert len(ideal.order_ideal_.terms) > len(free.order_ideal_.terms)


def test_names_resolve_in_one_place():
    assert resolve_construction("vca") is None
    assert resolve_construction("abm") == Abm()
    assert resolve_construction("oavi") == Oavi()
    with pytest.raises(ValueError, match="construction must be one of"):
        VanishingIdeal(construction="buchberger").fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="order must be one of"):
        VanishingIdeal(construction=Abm(order="lex")).fit([[0.0], [1.0]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tol": "gap"}, "give tol as a number"),
        ({"tol": "auto"}, "give tol as a number"),
        ({"products": "all"}, "products chooses products of VCA"),
        ({"max_nonvanishing": 3}, "max_nonvanishing chooses products of VCA"),
        ({"normalization": "vca"}, "choose another one"),
        ({"normalization": "contrastive"}, "contrast=Y"),
    ],
)
@pytest.mark.parametrize("kind", NAMES)
def test_combinations_without_a_meaning_are_refused(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        VanishingIdeal(construction=kind, **parameters).fit(np.eye(3))


@pytest.mark.parametrize("construction", [*NAMES, Oavi(oracle="l1", radius=10.0)], ids=str)
def test_model_files_exports_and_detectors(construction, tmp_path):
    X = NOISY["noisy sphere"]
    ideal = fit(X, construction, tol=0.1, max_degree=2)
    ideal.save(tmp_path / "model.vanishing")
    loaded = load(tmp_path / "model.vanishing")
    np.testing.assert_array_equal(loaded.transform(X), ideal.transform(X))
    np.testing.assert_array_equal(loaded.order_ideal_.terms, ideal.order_ideal_.terms)
    assert loaded.get_params() == ideal.get_params()
    x, y, z = ideal.to_sympy(["x", "y", "z"])[0].free_symbols
    assert {str(x), str(y), str(z)} == {"x", "y", "z"}
    detector = VanishingDetector(VanishingIdeal(construction=construction, tol=0.1)).fit(X)
    scores = detector.score_samples(np.vstack([X[:1], [[0.0, 0.0, 0.0]]]))
    assert scores[0] > scores[1]


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("name", ["viviani", "twisted-cubic", "sphere"])
def test_algebra_of_border_bases_is_that_of_vca(name, kind):
    exact = exact_points(name)
    X = exact.astype(np.float64)
    border, vca = fit(X, kind, max_degree=3), fit(X, "vca", max_degree=3)
    np.testing.assert_array_equal(hilbert_function(border.basis_), hilbert_function(vca.basis_))
    assert minimal_generators(border.basis_).count() == minimal_generators(vca.basis_).count()
    assert all(
        polynomial(*point) == 0 for polynomial in border.to_rational(exact) for point in exact
    )


def test_a_custom_normalization_measures_border_bases_too():
    @dataclass(frozen=True)
    class Origin(Normalization):
        """The absolute value at one point."""

        def form(self, stage):
            return stage.form(stage.values(np.zeros((1, 2))))

    X = NOISY["noisy circle"]
    for kind in ("abm", "oavi"):
        ideal = fit(X, kind, tol=0.2, max_degree=2, normalization=Origin())
        assert ideal.basis_.count() > 0
        np.testing.assert_allclose(ideal.transform(np.zeros((1, 2))), 1.0)


def test_a_restricted_ideal_keeps_its_leading_terms():
    ideal = fit(NOISY["wine"], "oavi", tol=0.15, max_degree=3)
    kept = np.arange(ideal.basis_.count()) % 2 == 0
    part = ideal.restrict(kept)
    np.testing.assert_array_equal(
        part.order_ideal_.leading_terms, ideal.order_ideal_.leading_terms[kept]
    )
    np.testing.assert_allclose(
        part.transform(NOISY["wine"]), ideal.transform(NOISY["wine"])[:, kept], atol=1e-12
    )
    assert len(ideal.order_ideal_.leading_terms) == ideal.basis_.count()


@pytest.mark.parametrize("construction", ["abm", "abm-gradient", "oavi"])
def test_minimal_generators_keep_their_leading_terms(construction):
    """The cubic of the twisted cubic's border basis follows from its quadrics."""
    X = make_variety("twisted-cubic", 100, random_state=0)
    ideal = VanishingIdeal(construction=construction, max_degree=4, tol=0, generators="minimal")
    ideal.fit(X)
    assert ideal.basis_.degrees().tolist() == [2, 2, 2]
    assert ideal.order_ideal_.leading_terms.sum(axis=1).tolist() == [2, 2, 2]


@pytest.mark.parametrize("kind", ["abm", "oavi"])
def test_a_contrast_on_the_same_curve_is_refused(kind):
    X = make_variety("circle", 200)
    ideal = VanishingIdeal(construction=kind, normalization="contrastive", tol=1e-9)
    with pytest.raises(ContrastError, match="1 of degree 2"):
        ideal.fit(X[:100], contrast=X[100:])


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(
    "points",
    [
        [[-79], [-47], [-34], [-23], [-14], [-2], [1], [2]],
        np.add(
            [[-11, 15], [-10, 6], [-7, -9], [-2, 6], [-1, 15], [0, 26], [3, 71]], [-82800, 65478]
        ),
    ],
    ids=["degree 8", "far from the origin"],
)
def test_equations_of_a_contrast_inside_x_are_dropped(points, kind):
    """Errors of the coefficients make their values on the contrast differ from zero."""
    X = np.asarray(points, dtype=float)
    ideal = VanishingIdeal(construction=kind, normalization="contrastive", max_degree=None, tol=0)
    for contrast in (X[-1:], X[::2]):
        with pytest.raises(ContrastError, match="inside the variety"):
            ideal.fit(X, contrast=contrast)


@pytest.mark.parametrize("seed", range(12))
def test_random_points_with_small_coordinates(seed):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 5))
    points = rng.integers(-5, 6, (int(rng.integers(1, 41)), n_features)) * Fraction(1)
    X = (points + [Fraction(0), Fraction(1000)][seed % 2]).astype(np.float64)
    terms, leading = exact_border_basis(points, 6)
    for kind in NAMES:
        ideal = fit(X, kind, max_degree=6)
        assert [tuple(e) for e in ideal.order_ideal_.terms.tolist()] == terms
        assert [tuple(e) for e in ideal.order_ideal_.leading_terms.tolist()] == leading


@pytest.mark.filterwarnings("ignore::vanishing.ideal.UndecidedWarning")
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("n_points", [3, 12, 30])
def test_many_points_on_a_line_are_counted_or_left_undecided(n_points, kind):
    X = np.linspace(0, 1, n_points)[:, None]
    ideal = VanishingIdeal(construction=kind, tol=0, max_degree=None).fit(X)
    is_decided = ideal.stop_reason_ == "exhausted"
    assert is_decided == (n_points < 20)
    assert is_decided == (len(ideal.order_ideal_.terms) == n_points)


@pytest.mark.parametrize(
    ("construction", "message"),
    [
        (Abm(order="lexical"), "order must be one of"),
        (Abm(border="half"), "border must be 'corners' or 'full', got 'half'"),
        (Oavi(oracle="l2"), "oracle must be None or 'l1', got 'l2'"),
        (Oavi(radius=0.0), "radius must be a finite positive number, got 0.0"),
        (Oavi(radius=np.inf), "radius must be a finite positive number, got inf"),
    ],
)
def test_options_without_meaning_are_refused(construction, message):
    with pytest.raises(ValueError, match=message):
        VanishingIdeal(construction=construction).fit(np.eye(4))


def test_constructions_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="construction must be one of"):
        resolve_construction(3)


def test_few_terms_of_exact_points():
    """Without a tolerance a fit of few terms is as exact as that of all."""
    x, y = np.mgrid[-4:5, -4:5].reshape(2, -1) / 4
    ideal = fit(np.column_stack([x, y, x * y]), Oavi(oracle="l1"), tol=0.0, max_degree=2)
    exponents, coefficients = ideal.basis_.expand()
    found = exponents[coefficients[:, 0] != 0].tolist()
    assert sorted(found) == [[0, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize("kind", ["abm", "oavi"])
def test_a_finite_set_of_points_exhausts_its_border(kind):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    ideal = VanishingIdeal(construction=kind, tol=0.0, max_degree=None).fit(X)
    assert ideal.stop_reason_ == "exhausted"
    assert len(ideal.order_ideal_.terms) == 3


def test_equations_on_a_contrast_that_is_much_wider_are_not_dropped():
    """Errors of Gram matrices are large there; whether an equation is zero is undecided at most."""
    axes = [[-4, 0], [0, -2], [0, 0], [0, 1], [0, 2], [0, 4], [0, 5], [2, 0], [4, 0]]
    X = np.add(axes, [1.0, -2.0])
    Y = np.random.default_rng(0).integers(-5, 6, (40, 2)) * [4, 256] + [1.0, -2.0]
    ideal = VanishingIdeal(
        max_degree=5,
        tol=0,
        construction=AbmGradient(order="degrevlex"),
        normalization="contrastive",
        reduction="gram",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ideal.fit(X, contrast=Y)
    assert not any(step.dropped for step in ideal.trace_)
