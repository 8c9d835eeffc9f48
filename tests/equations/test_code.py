"""Generated source evaluates the polynomials, with nothing but a compiler or an interpreter."""

import ast
import unicodedata
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.support.cases import NORMALIZATIONS, fit
from tests.support.compiled import Library, needs_compiler

from vanishing import VanishingIdeal
from vanishing.datasets import make_variety
from vanishing.equations import code as tables
from vanishing.equations import to_c, to_python

AWKWARD = ["speed", "höhe", "*/ int x;", 'a"\\\n??/', "日本 {name}"]


def every(test):
    """Run a test with all normalizations, with and without preprocessing."""
    test = pytest.mark.parametrize("normalization", NORMALIZATIONS)(test)
    return pytest.mark.parametrize("preprocessing", ["none", "PCA", "whitened"])(test)


def points(n_samples=80, n_features=3, seed=0):
    """Near a curve of degree 5 in a plane in space."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n_samples)
    plane = np.column_stack([t, 6 * t**5 - 5 * t**3])
    X = plane @ np.random.default_rng(9).standard_normal((2, n_features)) + 5.0
    return X + 1e-4 * rng.standard_normal(X.shape)


def run_python(source, X, name="evaluate"):
    module = {"__builtins__": {"len": len, "float": float, "sum": sum, "zip": zip}}
    exec(compile(source, "generated", "exec"), module)
    return np.array(module[f"{name}_batch"](X.tolist()))


def assert_agree(found, wanted):
    """To 1e-10, relative to the largest value of each polynomial."""
    assert found.shape == wanted.shape
    assert np.max(np.abs(found - wanted) / np.abs(wanted).max(axis=0)) <= 1e-10


@cache
def model(normalization, preprocessing):
    """An ideal of degree 5, what was done before it, and new points."""
    n_features = 3 if preprocessing == "none" else 5
    X = points(n_features=n_features)
    before = None
    if preprocessing != "none":
        before = make_pipeline(StandardScaler(), PCA(2, whiten=preprocessing == "whitened"))
        X = before.fit_transform(X)
    ideal = fit(X, normalization, max_degree=5, tol=0.05 if normalization == "vca" else 0.002)
    assert ideal.basis_.degrees().max() == 5
    return ideal, before, points(n_features=n_features, seed=1)


def values_of(ideal, before, X):
    return ideal.basis_.evaluate(X if before is None else before.transform(X))


@every
def test_python_agrees(normalization, preprocessing):
    ideal, before, new = model(normalization, preprocessing)
    source = to_python(ideal, preprocessor=before)
    assert_agree(run_python(source, new), values_of(ideal, before, new))


@every
@needs_compiler
def test_c_agrees(normalization, preprocessing, tmp_path):
    ideal, before, new = model(normalization, preprocessing)
    library = Library(to_c(ideal, preprocessor=before), tmp_path)
    wanted = values_of(ideal, before, new)
    assert_agree(library.batch(new), wanted)
    np.testing.assert_array_equal(library.single(new[3]), library.batch(new)[3])


def pipeline(names=None):
    X = points(n_features=5)
    frame = X if names is None else pd.DataFrame(X, columns=names)
    return make_pipeline(StandardScaler(), PCA(2), VanishingIdeal(max_degree=3, tol=0.3)).fit(frame)


def test_python_has_no_imports_and_any_names():
    source = to_python(pipeline(AWKWARD), name="äpfel")
    tree = ast.parse(source)
    assert source.isascii() or "äpfel" in source
    kinds = {type(node) for node in ast.walk(tree)}
    assert not kinds & {ast.Import, ast.ImportFrom, ast.Global}
    module = {}
    exec(source, module)
    assert list(module["FEATURES"]) == AWKWARD
    wanted = values_of(pipeline()[-1], pipeline()[:-1], points(n_features=5))
    assert_agree(np.array(module["äpfel_batch"](points(n_features=5))), wanted)
    with pytest.raises(ValueError, match="expected 5 numbers, got 2"):
        module["äpfel"]([1.0, 2.0])


@needs_compiler
def test_c_has_any_names(tmp_path):
    library = Library(to_c(pipeline(AWKWARD), name="center"), tmp_path, name="center")
    assert library.features == AWKWARD
    assert library.number("n_features") == 5
    wanted = values_of(pipeline()[-1], pipeline()[:-1], points(n_features=5))
    assert_agree(library.batch(points(n_features=5)), wanted)


@needs_compiler
@pytest.mark.parametrize("max_degree", [1, 2])
def test_degree_1_alone_and_gaps(max_degree, tmp_path):
    X = points(n_features=4)
    X[:, 0] = X[:, 2] * X[:, 3]  # one equation of degree 1 is left, another is of degree 2
    ideal = VanishingIdeal(max_degree=max_degree, tol=0.01).fit(X)
    for kept in (ideal.basis_.degrees() > 0, ideal.basis_.degrees() == max_degree):
        basis = ideal.basis_.restrict(kept)
        assert basis.count()
        wanted = basis.evaluate(X + 1)
        assert_agree(Library(to_c(basis), tmp_path).batch(X + 1), wanted)
        assert_agree(run_python(to_python(basis), X + 1), wanted)


@needs_compiler
def test_no_digits_are_lost_far_from_the_origin(tmp_path):
    """Sums of monomials lose all digits there."""
    X = make_variety("circle", 100) + 1e6
    whole = make_pipeline(StandardScaler(), VanishingIdeal(tol=1e-6)).fit(X)
    wanted = values_of(whole[-1], whole[:-1], X + 0.5)
    for found in (
        Library(to_c(whole), tmp_path).batch(X + 0.5),
        run_python(to_python(whole), X + 0.5),
    ):
        assert np.abs(found - wanted).max() < 1e-8 * np.abs(wanted).max()


def test_provenance():
    for source in (to_c(pipeline(), "abcde"), to_python(pipeline(), "abcde")):
        head = " ".join(line.strip("#* /") for line in source.splitlines()[:30])
        assert (
            "VanishingIdeal(max_degree=3, tol=0.3) after StandardScaler(), PCA(n_components=2)"
            in head
        )
        assert "Variables, in this order: a, b, c, d, e" in head
        assert "nested products" in head


def test_the_same_model_gives_the_same_source():
    assert to_c(pipeline()) == to_c(pipeline())
    assert to_python(pipeline()) == to_python(pipeline())


@pytest.mark.parametrize("write", [to_c, to_python])
def test_what_is_refused(write, monkeypatch):
    for name in ("1st", "a b", "", "for", "x;"):
        with pytest.raises(ValueError, match=r"name must be an? (free )?identifier"):
            write(pipeline(), name=name)
    nothing = VanishingIdeal(tol=0).fit(np.random.default_rng(0).normal(size=(50, 2)))
    with pytest.raises(ValueError, match="nothing vanishes"):
        write(nothing)
    monkeypatch.setattr(tables, "BLOCK", 10)
    with pytest.raises(ValueError, match="numbers, more than 10; keep fewer"):
        write(pipeline())


def test_names_that_are_taken():
    for name in ("double", "äpfel", "x", "values", "size_t"):
        with pytest.raises(ValueError, match=f"free identifier of C, got '{name}'"):
            to_c(pipeline(), name=name)
    for name in ("sum", "FEATURES", "_FIRST"):
        with pytest.raises(ValueError, match=f"free identifier of Python, got '{name}'"):
            to_python(pipeline(), name=name)


# Whatever a name means: the source runs, or the name is refused and another one proposed.
C_NAMES = """
row rows values x n_rows i f g k c n_f n_g add first center batch features evaluate main
NULL offsetof ptrdiff_t size_t wchar_t max_align_t nullptr_t rsize_t unreachable
auto bool constexpr inline nullptr restrict static_assert thread_local true typeof alignas asm
sin sinf sqrtl y0 j1 gamma index exp pow10 round printf malloc memcpy strlen isalpha abs exit bcmp
linux unix signbit finite cpow fork ffs time remove string total island model law Law2 E EOF INT_MAX
"""
PYTHON_NAMES = """
row rows x value values lower found centered columns column products below left right middle i j c v
n_nonvanishing on_products on_lower FEATURES _CENTER _FIRST _HIGHER evaluate evaluate_batch
len sum zip float ValueError print list match case type None True class async await print exec
__name__ __debug__ Kelvin ｒow ＦEATURES ﬁt höhe
"""


def source_or_reason(write, ideal, name):
    try:
        return write(ideal, name=name)
    except ValueError as error:
        return str(error)


@needs_compiler
def test_c_of_any_name_compiles_and_runs_or_is_refused(tmp_path):
    ideal = VanishingIdeal(max_degree=3, tol=1e-3).fit(points())
    wanted = ideal.transform(points(), output="signed")
    refused = set()
    for name in C_NAMES.split():
        source = source_or_reason(to_c, ideal, name)
        if source.startswith("name must be"):
            refused.add(name)
            assert f"got '{name}'" in source
            assert f"such as 'evaluate' or 'evaluate_{name}'" in source
            assert to_c(ideal, name=f"evaluate_{name}")
        else:
            assert_agree(Library(source, tmp_path, name).batch(points()), wanted)
    assert {"row", "NULL", "ptrdiff_t", "nullptr", "sinf", "linux"} <= refused
    assert not refused & {"rows", "f", "k", "first", "string", "total", "island", "law", "E"}


@pytest.mark.parametrize("name", PYTHON_NAMES.split())
def test_python_of_any_name_runs_or_is_refused(name):
    ideal = VanishingIdeal(max_degree=3, tol=1e-3).fit(points())
    source = source_or_reason(to_python, ideal, name)
    if source.startswith("name must be"):
        assert f"got {name!r}" in source
        assert "choose" in source
        return
    module = {"__builtins__": {"len": len, "float": float, "sum": sum, "zip": zip}}
    exec(compile(source, "generated", "exec"), module)
    read = unicodedata.normalize("NFKC", name)
    found = module[f"{read}_batch"](points().tolist())
    assert_agree(np.array(found), ideal.transform(points(), output="signed"))
    assert module[read](points()[0].tolist()) == found[0]
    assert module["FEATURES"] == ("x0", "x1", "x2")


@pytest.mark.parametrize("write", [to_c, to_python])
def test_models_that_hold_no_numbers_are_refused(write):
    ideal = VanishingIdeal(tol=1e-9).fit(make_variety("circle", 50, random_state=0))
    block = replace(ideal.basis_.blocks[0], projection=np.full((1, 2), np.nan))
    ideal.basis_ = replace(ideal.basis_, blocks=(block, *ideal.basis_.blocks[1:]))
    with pytest.raises(ValueError, match="holds numbers that are infinite or NaN"):
        write(ideal)
