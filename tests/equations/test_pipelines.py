"""Polynomials carried back through preprocessing are the same functions of the raw data."""

import numpy as np
import pandas as pd
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from tests.support.cases import NORMALIZATIONS, fit

from vanishing import ClassVanishingFeatures, VanishingIdeal
from vanishing.datasets import make_variety
from vanishing.equations import affine_map, expansion, to_latex, to_rational, to_sympy
from vanishing.polynomials import AffineMap

PREPROCESSORS = {
    "standard": StandardScaler(),
    "mean only": StandardScaler(with_std=False),
    "scale only": StandardScaler(with_mean=False),
    "neither": StandardScaler(with_mean=False, with_std=False),
    "min-max": MinMaxScaler((-1, 3)),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, scale only": RobustScaler(with_centering=False),
    "robust, center only": RobustScaler(with_scaling=False),
    "PCA": PCA(2),
    "whitened": PCA(2, whiten=True),
    "pipeline": make_pipeline(MaxAbsScaler(), "passthrough", PCA(2, whiten=True)),
    "pipelines": make_pipeline(make_pipeline(RobustScaler(), PCA(3)), MinMaxScaler(), PCA(2)),
}
EVERY = pytest.mark.parametrize("name", PREPROCESSORS)


def points(n_samples=100, n_features=4, seed=0):
    """A plane in space, of large and different offsets and scales."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, (n_samples, 2))
    t[:, 1] = t[:, 0] ** 2 + 0.01 * rng.standard_normal(n_samples)
    X = t @ rng.standard_normal((2, n_features)) + 0.01 * rng.standard_normal(
        (n_samples, n_features)
    )
    return X * np.array([1.0, 20.0, 0.1, 3.0])[:n_features] + np.arange(n_features)


def values_of(expressions, names, X):
    """Values of expressions, and the sizes of their terms."""
    symbols = sympy.symbols(names)
    polynomials = [sympy.Poly(e, *symbols) for e in expressions]
    values, sizes = [], []
    for polynomial in polynomials:
        terms = [float(c) * np.prod(X ** np.array(a), axis=1) for a, c in polynomial.terms()]
        values.append(np.sum(terms, axis=0))
        sizes.append(np.sum(np.abs(terms), axis=0))
    return np.transpose(values), np.transpose(sizes)


@EVERY
def test_maps_are_those_of_scikit_learn(name):
    X = points()
    fitted = clone(PREPROCESSORS[name]).fit(X)
    found = affine_map(fitted)
    new = points(seed=1)
    np.testing.assert_allclose(found(new), fitted.transform(new), rtol=1e-12, atol=1e-12)
    center = fitted.transform(X).mean(axis=0)
    np.testing.assert_allclose(found(found.preimage(center)[None])[0], center, atol=1e-11)


@pytest.mark.parametrize(
    ("name", "normalization"),
    [
        *((name, "gradient") for name in PREPROCESSORS),
        *(("pipelines", name) for name in NORMALIZATIONS if name != "gradient"),
    ],
)
def test_sympy_agrees_with_the_pipeline(name, normalization):
    X, new = points(), points(seed=1)
    preprocessor = clone(PREPROCESSORS[name])
    tol = {"contrastive": 0.05, "coefficient": 1.0}.get(normalization, 0.3)
    ideal = fit(preprocessor.fit_transform(X), normalization, max_degree=5, tol=tol)
    ends = np.zeros(ideal.basis_.count(), dtype=bool)
    ends[[0, -1]] = True
    basis = ideal.basis_.restrict(ends)
    values, sizes = values_of(to_sympy(basis, preprocessor=preprocessor), "x0 x1 x2 x3", new)
    wanted = basis.evaluate(preprocessor.transform(new))
    assert np.max(np.abs(values - wanted) / sizes) <= 1e-10


@EVERY
def test_composed_bases_have_the_values_and_derivatives_of_the_pipeline(name):
    X, new = points(), points(seed=1)
    preprocessor = clone(PREPROCESSORS[name])
    basis = VanishingIdeal(max_degree=3, tol=0.3).fit(preprocessor.fit_transform(X)).basis_
    inner = affine_map(preprocessor)
    composed = basis.compose(inner)
    transformed = preprocessor.transform(new)
    for which in ("vanishing", "nonvanishing"):
        wanted = basis.evaluate(transformed, which=which)
        found = composed.evaluate(new, which=which)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
        chain = basis.jacobian(transformed, which=which) @ inner.matrix
        found = composed.jacobian(new, which=which)
        np.testing.assert_allclose(found, chain, rtol=1e-8, atol=1e-9 * np.abs(chain).max())
    assert (composed.degrees() == basis.degrees()).all()
    assert (composed.extents == basis.extents).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 3))
def test_composition_is_associative_and_preimages_are_nearest(seed, n_out, n_more):
    rng = np.random.default_rng(seed)
    n_in = n_out + n_more
    first = AffineMap(rng.normal(size=(n_in, n_in)), rng.normal(size=n_in))
    second = AffineMap(
        rng.normal(size=(n_out, n_in)), rng.normal(size=n_out), rng.normal(size=n_in)
    )
    x = rng.normal(size=(5, n_in))
    both = second.after(first)
    np.testing.assert_allclose(both(x), second(first(x)), atol=1e-9)
    np.testing.assert_allclose(first(both.center[None])[0], second.center, atol=1e-6)
    centred = AffineMap(first.matrix, first.offset, rng.normal(size=n_in))
    plain = AffineMap(second.matrix, second.offset)
    np.testing.assert_array_equal(plain.after(centred).center, centred.center)
    image = rng.normal(size=n_out)
    found = second.preimage(image)
    np.testing.assert_allclose(second(found[None])[0], image, atol=1e-6)
    null = np.linalg.svd(second.matrix)[2][n_out:]
    np.testing.assert_allclose(null @ (found - second.center), 0, atol=1e-6)


def test_maps_that_do_not_reach_everything_are_refused():
    basis = VanishingIdeal(tol=0.3).fit(points()[:, :2]).basis_
    with pytest.raises(ValueError, match="only rank 1"):
        basis.compose(AffineMap(np.ones((2, 3)), np.zeros(2)))
    with pytest.raises(ValueError, match="only rank 1"):
        basis.compose(AffineMap(np.diag([1.0, 0.0]), np.zeros(2)))
    with pytest.raises(ValueError, match="gives 3 coordinates, and the polynomials have 2"):
        basis.compose(AffineMap.identity(3))
    with pytest.raises(ValueError, match="got shapes"):
        AffineMap(np.eye(2), np.zeros(3))
    with pytest.raises(ValueError, match="gives 2 coordinates, and the second takes 3"):
        AffineMap.identity(3).after(AffineMap.identity(2))


# --- whole pipelines -----------------------------------------------------------------------------


def pipeline(X=None, **parameters):
    X = points() if X is None else X
    return make_pipeline(StandardScaler(), PCA(2), VanishingIdeal(tol=0.1, **parameters)).fit(X)


def test_pipeline_ideal_with_preprocessor_and_composed_basis_say_the_same():
    X = points()
    whole = pipeline(X)
    ideal = whole[-1]
    preprocessor = whole[:-1]
    composed = ideal.basis_.compose(affine_map(preprocessor))
    expected = to_sympy(whole)
    assert len(expected) == ideal.basis_.count() > 0
    assert to_sympy(ideal, preprocessor=preprocessor) == expected
    assert ideal.to_sympy(preprocessor=preprocessor) == expected
    assert to_sympy(composed) == expected
    assert to_sympy(Pipeline([("before", preprocessor), ("after", ideal)])) == expected
    rest = Pipeline(whole.steps[1:])
    assert to_sympy(rest, preprocessor=whole[0]) == expected
    assert ideal.to_latex(preprocessor=preprocessor) == to_latex(whole)


def test_names_are_those_of_the_data():
    frame = pd.DataFrame(points(), columns=["speed", "höhe", "x y", "*/"])
    expressions = to_sympy(pipeline(frame))
    assert {s.name for e in expressions for s in e.free_symbols} == set(frame.columns)
    renamed = to_sympy(pipeline(frame), ["a", "b", "c", "d"])
    assert {s.name for e in renamed for s in e.free_symbols} == set("abcd")
    with pytest.raises(ValueError, match="expected 4 feature names, got 2"):
        to_sympy(pipeline(frame), ["a", "b"])
    with pytest.raises(ValueError, match="feature names must differ, got b more than once"):
        to_sympy(pipeline(frame), ["a", "b", "b", "c"])


def test_names_of_columns_in_between_are_not_used():
    frame = pd.DataFrame(points(), columns=list("abcd"))
    scaler = StandardScaler().set_output(transform="pandas").fit(frame)
    pca = PCA(2).set_output(transform="pandas").fit(scaler.transform(frame))
    ideal = VanishingIdeal(tol=0.1).fit(pca.transform(scaler.transform(frame)))
    names = {s.name for e in to_sympy(make_pipeline(scaler, pca, ideal)) for s in e.free_symbols}
    assert names == set("abcd")
    assert {s.name for e in to_sympy(ideal) for s in e.free_symbols} == {"pca0", "pca1"}


def test_exact_equations_through_irrational_scaling():
    exact = make_variety("circle", 200, exact=True)
    X = exact.astype(float)
    whole = make_pipeline(StandardScaler(), PCA(2, whiten=True), VanishingIdeal(tol=0)).fit(X)
    (equation,) = to_rational(whole, exact, ["x", "y"])
    assert str(equation.as_expr()) == "x**2 + y**2 - 1"


def test_float32_preprocessing():
    X = points().astype(np.float32)
    whole = pipeline(X)
    values, sizes = values_of(to_sympy(whole), "x0 x1 x2 x3", X.astype(float))
    wanted = whole[-1].transform(whole[:-1].transform(X), output="signed")
    assert np.max(np.abs(values - wanted) / sizes) < 1e-5


# --- what is refused -----------------------------------------------------------------------------


class OwnScaler(StandardScaler):
    pass


@pytest.mark.parametrize(
    "step", [FunctionTransformer(np.log1p), OwnScaler(), VanishingIdeal(max_degree=1, tol=10.0)]
)
def test_other_steps_are_refused(step):
    whole = make_pipeline(step, VanishingIdeal(tol=10.0)).fit(np.abs(points()))
    with pytest.raises(ValueError, match=f"got {type(step).__name__}; leave it out"):
        to_sympy(whole)


@pytest.mark.parametrize("scaler", [MinMaxScaler(clip=True)])
def test_clipping_is_refused(scaler):
    with pytest.raises(ValueError, match="clips values"):
        affine_map(scaler.fit(points()))


def test_what_is_no_model_is_refused():
    X = points()
    with pytest.raises(TypeError, match="got StandardScaler"):
        to_sympy(StandardScaler().fit(X))
    features = ClassVanishingFeatures().fit(X, X[:, 0] > 0)
    with pytest.raises(TypeError, match=r"got ClassVanishingFeatures \(its ideals_"):
        to_sympy(features)
    with pytest.raises(NotFittedError):
        to_sympy(VanishingIdeal())
    with pytest.raises(NotFittedError):
        affine_map(StandardScaler())
    with pytest.raises(ValueError, match="at least one step"):
        affine_map(Pipeline([("nothing", "passthrough")]))


def test_equations_nobody_would_read_are_refused(monkeypatch):
    monkeypatch.setattr(expansion, "MEMORY", 300)
    for write in (to_sympy, to_latex):
        with pytest.raises(ValueError, match=r"15 monomials up to degree 2.*too many to write"):
            write(pipeline())
