"""Wrong input is refused early, in words that say what was expected, what came, what to do."""

import re
import sys
from functools import cache
from importlib import import_module, metadata

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from tests.support.bad_inputs import CASES, KINDS, answer, page_line
from tests.support.cases import gaussian_contrast, tensor
from tests.support.paths import DOCS, ROOT
from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
)
from vanishing.arrays.blocks import BudgetError
from vanishing.data import ArraySource, ConcatenatedSource, MappedSource, as_source


def points(n_samples=30, n_features=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n_samples, n_features))


def with_entry(value):
    X = points()
    X[4, 1] = value
    return X


def frame(X, names="abc"):
    return pd.DataFrame(X, columns=list(names))


def fit(X, **parameters):
    return VanishingIdeal(**parameters).fit(X)


def fit_contrastive(X, contrast, **parameters):
    return VanishingIdeal(normalization="contrastive", **parameters).fit(X, contrast=contrast)


def fitted():
    """All of degree 1 vanishes, so that there is something to transform."""
    return VanishingIdeal(max_degree=1, tol=10.0).fit(points())


def transform(X):
    return fitted().transform(X)


def read(X):
    """Transform, and go through the blocks of what is lazy."""
    return list(fitted().transform(X).blocks(1000))


def raises(kind, *parts):
    """The message has all the parts, in this order."""
    return pytest.raises(kind, match="(?s)" + ".*".join(re.escape(part) for part in parts))


def made(X, kind, parts):
    """A line of a table; tensors are made here, and not before it is known that torch is there."""
    return X() if callable(X) else X, kind, parts


def circle(n_samples=60, seed=1):
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, n_samples)
    return np.column_stack([np.cos(angle), np.sin(angle)])


# --- one array -----------------------------------------------------------------------------------

#: What came, the kind of the error, what the message says.
NUMPY = {
    "NaN": (with_entry(np.nan), ValueError, ["Input X contains NaN"]),
    "inf": (with_entry(np.inf), ValueError, ["Input X contains infinity"]),
    "-inf": (with_entry(-np.inf), ValueError, ["Input X contains infinity"]),
    "no rows": (np.empty((0, 3)), ValueError, ["0 sample(s)", "(0, 3)", "minimum of 1"]),
    "no columns": (np.empty((5, 0)), ValueError, ["0 feature(s)", "(5, 0)", "minimum of 1"]),
    "complex": (points() + 1j, ValueError, ["Complex data not supported"]),
    "strings": (np.array([["a", "b", "c"]]), ValueError, ["convert string to float", "'a'"]),
    "objects": (np.array([[1, 2, "a"]], dtype=object), ValueError, ["convert string to float"]),
    "sparse": (scipy.sparse.csr_array(points()), TypeError, ["Sparse", "X", "dense", ".toarray()"]),
    "1-D": (points()[:, 0], ValueError, ["2D array", "1D array", ".reshape(-1, 1)"]),
    "3-D": (points()[None], ValueError, ["dim 3", "<= 2"]),
    "number": (3.0, ValueError, ["2D array", "scalar array", ".reshape(-1, 1)"]),
    "empty list": ([], ValueError, ["2D array", "1D array"]),
    "ragged list": ([[1.0, 2.0, 3.0], [4.0]], ValueError, ["from 1 to 3 cells", "fill"]),
    "frame with NaN": (frame(with_entry(np.nan)), ValueError, ["Input X contains NaN"]),
    "frame of strings": (frame([["u", "v", "w"]]), ValueError, ["convert string to float", "'u'"]),
    "polars frame with inf": (
        pl.DataFrame(with_entry(np.inf), schema=["a", "b", "c"]),
        ValueError,
        ["Input X contains infinity"],
    ),
    "series": (pd.Series(points()[:, 0]), ValueError, ["2-dimensional", "Series"]),
    "torch NaN": (lambda: tensor(with_entry(np.nan)), ValueError, ["X contains NaN", "1 entries"]),
    "torch inf": (lambda: tensor(with_entry(np.inf)), ValueError, ["X contains infinity", "drop"]),
    "torch no rows": (lambda: tensor(np.empty((0, 3))), ValueError, ["(0, 3)", "at least one row"]),
    "torch no columns": (lambda: tensor(np.empty((5, 0))), ValueError, ["(5, 0)", "one column"]),
    "torch complex": (lambda: tensor(points() + 1j), ValueError, ["real numbers", "complex128"]),
    "torch 1-D": (
        lambda: tensor(np.ones(5)),
        ValueError,
        ["X must be 2-D", "(5,)", ".reshape(-1, 1)"],
    ),
    "torch sparse": (lambda: tensor(np.eye(3)).to_sparse(), TypeError, ["Sparse", "X", "dense"]),
}


@pytest.mark.parametrize("what", NUMPY)
def test_fit_refuses(what):
    X, kind, parts = made(*NUMPY[what])
    with raises(kind, *parts):
        fit(X)


#: Fewer columns than at fit is what transform says of these.
NARROW = {"no columns", "torch no columns"}


@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
@pytest.mark.parametrize("what", [name for name in NUMPY if name not in NARROW])
def test_transform_refuses(what):
    X, kind, parts = made(*NUMPY[what])
    with raises(kind, *parts):
        transform(X)


def test_memory_map_with_nan_is_refused(tmp_path):
    X = np.memmap(tmp_path / "points", dtype=np.float64, mode="w+", shape=(30, 3))
    X[:] = with_entry(np.nan)
    with raises(ValueError, "X contains NaN in 1 entries", "impute or drop"):
        fit(X)


def test_finite_numbers_whose_sum_overflows_are_not_taken_for_infinity():
    large = np.full((2, 2), 1.5e308)
    assert as_source([large]).n_samples == 2
    with raises(ValueError, "chunk 0 of X contains infinity in 1 entries"):
        fit([np.array([[1.5e308, 1.5e308, np.inf]])])


def test_finite_tensors_whose_sum_overflows_are_not_taken_for_infinity():
    assert as_source([tensor(np.full((2, 2), 1.5e308))]).n_samples == 2


# --- chunks: the message names the chunk ---------------------------------------------------------

CHUNKS = {
    "NaN": (with_entry(np.nan), ValueError, ["contains NaN in 1 entries", "drop"]),
    "inf": (with_entry(np.inf), ValueError, ["contains infinity in 1 entries"]),
    "complex": (points() + 1j, ValueError, ["must hold real numbers", "complex128"]),
    "strings": (np.array([["a", "b", "c"]]), ValueError, ["must hold real numbers", "<U1"]),
    "1-D": (points()[:, 0], ValueError, ["must be 2-D", "(30,)", ".reshape(-1, 1)"]),
    "width": (points()[:, :2], ValueError, ["has 2 features, expected 3"]),
    "torch NaN": (lambda: tensor(with_entry(np.nan)), ValueError, ["contains NaN in 1 entries"]),
    "frame with NaN": (frame(with_entry(np.nan)), ValueError, ["contains NaN in 1 entries"]),
    "sparse": (scipy.sparse.csr_array(points()), TypeError, ["dense"]),
}


@pytest.mark.parametrize("what", CHUNKS)
def test_fit_names_the_bad_chunk(what):
    bad, kind, parts = made(*CHUNKS[what])
    with raises(kind, "chunk 3 of X", *parts):
        fit(lambda: iter([points(), points(), points(), bad]))


@pytest.mark.parametrize("what", CHUNKS)
def test_fit_names_the_bad_chunk_of_the_contrast(what):
    bad, kind, parts = made(*CHUNKS[what])
    with raises(kind, "chunk 1 of contrast", *parts):
        fit_contrastive(points(), lambda: iter([points(), bad]))


@pytest.mark.parametrize("what", CHUNKS)
def test_transform_names_the_bad_chunk(what):
    bad, kind, parts = made(*CHUNKS[what])
    with raises(kind, "chunk 2 of X", *parts):
        read(lambda: iter([points(), points(), bad]))


def test_source_made_beforehand_is_named_after_its_use():
    contrast = as_source([points(), with_entry(np.nan)])
    with raises(ValueError, "chunk 1 of contrast contains NaN"):
        fit_contrastive(points(), contrast)


@pytest.mark.parametrize(
    "make", [lambda: (c for c in [points()]), lambda: iter([points()]), lambda: map(points, [9])]
)
def test_iterator_that_can_be_read_once_is_refused(make):
    name = type(make()).__name__
    with raises(TypeError, f"X is a {name}", "only once", "pass a list of chunks", "function"):
        fit(make())
    with raises(TypeError, f"contrast is a {name}", "only once", "pass a list of chunks"):
        fit_contrastive(points(), make())
    with raises(TypeError, f"X is a {name}", "only once"):
        transform(make())


def test_callable_that_returns_the_same_iterator_is_refused():
    once = iter([points(), points(seed=1)])
    with raises((TypeError, ValueError), "X", "fresh iterator"):
        fit(lambda: once)


def test_callable_that_returns_no_iterable_is_refused():
    with raises(TypeError, "X", "chunks", "None"):
        fit(lambda: None)


@pytest.mark.parametrize("chunks", [lambda: iter([]), lambda: iter([np.empty((0, 3))])])
def test_chunks_without_rows_are_refused(chunks):
    with raises(ValueError, "X has no chunks", "at least one row"):
        fit(chunks)
    with raises(ValueError, "contrast has no chunks", "at least one row"):
        fit_contrastive(points(), chunks)


def test_chunks_without_columns_are_refused():
    with raises(ValueError, "X", "at least one", "column"):
        fit([np.empty((5, 0)), np.empty((5, 0))])


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        (lambda: ArraySource(with_entry(np.nan)), ["X", "NaN"]),
        (lambda: ArraySource(np.empty((0, 3))), ["X", "at least one row"]),
        (lambda: MappedSource(ArraySource(points()), lambda x: x * np.nan), ["X", "NaN"]),
    ],
    ids=["NaN", "no rows", "NaN made by a map"],
)
def test_source_with_bad_rows_is_refused(source, parts):
    with raises(ValueError, *parts):
        fit(source())


def test_sources_of_different_widths_are_not_concatenated():
    with raises(ValueError, "sources of one width", "[2, 3]"):
        ConcatenatedSource([ArraySource(points()), ArraySource(points(n_features=2))])
    with raises(ValueError, "sources of one width", "[]"):
        ConcatenatedSource([])


# --- width and names at transform ----------------------------------------------------------------


@pytest.mark.parametrize("n_features", [2, 4])
@pytest.mark.parametrize("make", [np.asarray, tensor, np.ndarray.tolist])
def test_transform_refuses_another_width(make, n_features):
    with raises(ValueError, f"X has {n_features} features", "VanishingIdeal is expecting 3"):
        transform(make(points(n_features=n_features)))


@pytest.mark.parametrize("n_features", [2, 4])
def test_transform_refuses_chunks_of_another_width_at_once(n_features):
    with raises(ValueError, f"X has {n_features} features", "VanishingIdeal is expecting 3"):
        transform([points(n_features=n_features)])


@pytest.mark.parametrize("n_features", [2, 4])
def test_basis_refuses_another_width(n_features):
    for method in (fitted().basis_.evaluate, fitted().basis_.jacobian):
        with raises(ValueError, "shape (n_samples, 3)", f"(30, {n_features})"):
            method(points(n_features=n_features))


def test_basis_refuses_to_choose_polynomials_by_another_word():
    basis = fitted().basis_
    for method in (lambda w: basis.evaluate(points(), which=w), lambda w: basis.degrees(which=w)):
        with raises(ValueError, "'vanishing' or 'nonvanishing'", "'all'"):
            method("all")


def test_transform_refuses_other_column_names():
    ideal = fit(frame(points()), max_degree=1, tol=10.0)
    with raises(ValueError, "feature names", "same order"):
        ideal.transform(frame(points(), "acb"))
    with raises(ValueError, "feature names", "unseen", "d"):
        ideal.transform(frame(points(), "abd"))


# --- contrast ------------------------------------------------------------------------------------


def test_missing_contrast_is_asked_for():
    with raises(ValueError, "Contrastive", "fit(X, contrast=Y)", "'gradient'"):
        VanishingIdeal(normalization="contrastive").fit(points())


@pytest.mark.parametrize("name", ["gradient", "vca", "coefficient", "gradient-weighted"])
def test_superfluous_contrast_is_refused(name):
    class_name = "".join(part.capitalize() for part in name.split("-"))
    with raises(ValueError, "contrast", class_name, "leave it out", "'contrastive'"):
        VanishingIdeal(normalization=name).fit(points(), contrast=points())


@pytest.mark.parametrize("n_features", [2, 4])
@pytest.mark.parametrize("make", [np.asarray, tensor, lambda Y: [Y, Y], as_source, frame])
def test_contrast_of_another_width_is_refused(make, n_features):
    contrast = points(n_features=n_features)
    contrast = frame(contrast, "abcd"[:n_features]) if make is frame else make(contrast)
    with raises(ValueError, f"contrast has {n_features} features", "X has 3", "same columns"):
        fit_contrastive(points(), contrast)


@pytest.mark.parametrize("make", [frame, lambda X, names: pl.DataFrame(X, schema=list(names))])
def test_contrast_with_other_column_names_is_refused(make):
    with raises(ValueError, "contrast has columns ['a', 'c', 'b']", "X has ['a', 'b', 'c']"):
        fit_contrastive(make(points(), "abc"), make(points(), "acb"))


BAD_CONTRASTS = {
    "NaN": (with_entry(np.nan), ValueError, ["contrast contains NaN"]),
    "inf": (with_entry(np.inf), ValueError, ["contrast contains infinity"]),
    "no rows": (np.empty((0, 3)), ValueError, ["contrast"]),
    "complex": (points() + 1j, ValueError, ["contrast"]),
    "1-D": (points()[:, 0], ValueError, ["contrast"]),
    "sparse": (scipy.sparse.csr_array(points()), TypeError, ["Sparse", "contrast", ".toarray()"]),
    "frame with NaN": (frame(with_entry(np.nan)), ValueError, ["contrast contains NaN"]),
    "torch NaN": (lambda: tensor(with_entry(np.nan)), ValueError, ["contrast contains NaN"]),
    "torch no rows": (lambda: tensor(np.empty((0, 3))), ValueError, ["contrast has shape (0, 3)"]),
    "torch complex": (lambda: tensor(points() + 1j), ValueError, ["contrast must hold real"]),
    "torch 1-D": (lambda: tensor(np.ones(5)), ValueError, ["contrast must be 2-D"]),
    "torch sparse": (lambda: tensor(np.eye(3)).to_sparse(), TypeError, ["contrast"]),
}


@pytest.mark.parametrize("what", BAD_CONTRASTS)
def test_bad_contrast_is_refused_under_its_name(what):
    contrast, kind, parts = made(*BAD_CONTRASTS[what])
    with raises(kind, *parts):
        fit_contrastive(points(), contrast)


@pytest.mark.parametrize("products", ["independent", "all"])
@pytest.mark.parametrize("reduction", ["tsqr", "gram"])
@pytest.mark.parametrize(
    ("X", "contrast", "degree"),
    [
        (circle(seed=1), circle(seed=2), 2),
        (circle(seed=1), circle(seed=1)[::-1], 2),
        (circle(seed=1)[:, [0, 0]], circle(seed=2)[:, [1, 1]] + 3, 1),
    ],
    ids=["other points of the circle", "the same points", "other points of the line"],
)
def test_contrast_inside_the_variety_of_X_is_refused(X, contrast, degree, reduction, products):
    with raises(
        ValueError,
        f"1 of degree {degree}",
        "contrast lies inside the variety of X",
        "choose a contrast that breaks the relations",
    ):
        fit_contrastive(X, contrast, tol=1e-6, reduction=reduction, products=products)


def test_contrast_that_breaks_one_relation_of_two_is_accepted():
    first, second = circle(seed=1).T
    X = np.column_stack([first, first, np.zeros_like(first)])
    contrast = np.column_stack([first, first, second])
    ideal = fit_contrastive(X, contrast, max_degree=1, tol=1e-6)
    assert ideal.trace_[0].vanishing == 1
    assert ideal.trace_[0].dropped == 1


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "parts"),
    [
        ({"tol": -1e-9}, ["'tol'", "[0.0, inf)", "'gap'", "-1e-09"]),
        ({"tol": np.nan}, ["'tol'", "[0.0, inf)", "nan"]),
        ({"tol": np.inf}, ["'tol'", "[0.0, inf)", "inf"]),
        ({"tol": "wide"}, ["'tol'", "'gap'", "'wide'"]),
        ({"tol": None}, ["'tol'", "'gap'", "None"]),
        ({"max_degree": 0}, ["'max_degree'", "[1, inf)", "None", "Got 0"]),
        ({"max_degree": 1.5}, ["'max_degree'", "int", "Got 1.5"]),
        ({"max_nonvanishing": 0}, ["'max_nonvanishing'", "[1, inf)", "Got 0"]),
        ({"normalization": "unit"}, ["normalization", "'vca'", "'contrastive'", "'unit'"]),
        ({"normalization": 3}, ["'normalization'", "Normalization", "Got 3"]),
        ({"reduction": "svd"}, ["reduction", "'gram', 'tsqr'", "'svd'"]),
        ({"reduction": 3}, ["'reduction'", "Reduction", "Got 3"]),
        ({"products": "some"}, ["'products'", "'independent'", "'some'"]),
        ({"output": "squared"}, ["'output'", "'abs'", "'squared'"]),
        ({"tol_norm": "max"}, ["'tol_norm'", "'rms'", "'max'"]),
        ({"memory_budget": 0}, ["'memory_budget'", "[1, inf)", "Got 0"]),
        ({"callback": 3}, ["'callback'", "callable", "Got 3"]),
    ],
    ids=str,
)
def test_parameter_out_of_range_is_refused(parameters, parts):
    with raises(ValueError, parts[0]) as caught:
        fit(points(), **parameters)
    for part in parts[1:]:  # sets of options come in no fixed order
        assert part in str(caught.value)


def test_parameters_are_checked_before_the_data():
    with raises(ValueError, "'tol'"):
        fit(with_entry(np.nan), tol=-1)


def test_transform_refuses_an_unknown_output():
    with raises(ValueError, "output", "'abs', 'signed' or 'nonvanishing'", "'squared'"):
        fitted().transform(points(), output="squared")


@pytest.mark.parametrize(
    "call",
    [
        lambda ideal: ideal.transform(points()),
        lambda ideal: ideal.transform(tensor(points())),
        lambda ideal: ideal.transform([points(), points()]),
        lambda ideal: ideal.get_feature_names_out(),
        lambda ideal: ideal.to_sympy(),
        lambda ideal: ideal.to_latex(),
    ],
)
def test_use_before_fit_is_refused(call):
    with raises(NotFittedError, "VanishingIdeal", "not fitted yet", "'fit'"):
        call(VanishingIdeal())


# --- memory budget -------------------------------------------------------------------------------


def test_budget_too_small_for_degree_1_is_refused_with_the_numbers():
    with raises(
        BudgetError,
        "degree 1 has 201 columns",
        "MiB, over the memory budget of 1 MiB",
        "PCA",
        "raise memory_budget",
    ) as caught:
        fit(points(20, 200), memory_budget=2**20)
    needed = round(float(re.search(r"take ([\d.]+) MiB", str(caught.value))[1]))
    assert needed == 4  # 13 square matrices of 201 columns


def test_budget_too_small_for_coefficients_is_refused_with_the_numbers():
    X = points(200, 3) @ points(3, 100)  # few candidates, many monomials
    with raises(
        BudgetError,
        "degree 2",
        "coefficients of 6 candidates on 5151 monomials",
        "over the memory budget of",
        "'contrastive' or 'vca'",
        "raise memory_budget",
    ) as caught:
        fit(X, normalization="coefficient", tol=1e-8, memory_budget=2 * 2**20)
    needed, budget = map(float, re.findall(r"([\d.]+) MiB", str(caught.value)))
    assert needed > budget == 2


def test_small_budgets_are_told_apart_in_the_message():
    with raises(BudgetError, "degree 1") as caught:
        fit(points(), memory_budget=100)
    assert "take 0 MiB, over the memory budget of 0 MiB" not in str(caught.value)


def test_budget_error_is_a_memory_error():
    assert issubclass(BudgetError, MemoryError)


# --- a failed fit leaves the estimator as it was -------------------------------------------------

FAILED_REFITS = {
    "NaN": (with_entry(np.nan), None, {}),
    "wider and a contrast as wide as before": (points(n_features=5), points(), {}),
    "wider and a contrast with NaN": (
        points(n_features=5),
        np.full((10, 5), np.nan),
        {},
    ),
    "wider chunks, the second with NaN": (
        [points(n_features=5), np.full((10, 5), np.nan)],
        points(n_features=5),
        {},
    ),
    "budget": (points(n_features=5), points(n_features=5), {"memory_budget": 1}),
    "tol": (points(n_features=5), points(n_features=5), {"tol": -1.0}),
    "other names": (frame(points(n_features=2), "uv"), points(), {}),
}


@pytest.mark.parametrize("what", FAILED_REFITS)
def test_failed_refit_leaves_the_old_fit_usable(what):
    X, contrast, parameters = FAILED_REFITS[what]
    new = points(8, seed=3)
    ideal = fit_contrastive(points(), gaussian_contrast(points()), tol=0.9)
    basis, expected, values = ideal.basis_, ideal.transform(new), ideal.basis_.evaluate(new)
    assert expected.shape[1] > 0
    ideal.set_params(**parameters)
    with pytest.raises((ValueError, MemoryError)):
        ideal.fit(X, contrast=contrast)
    assert ideal.basis_ is basis
    np.testing.assert_array_equal(ideal.basis_.evaluate(new), values)
    assert ideal.n_features_in_ == 3
    assert not hasattr(ideal, "feature_names_in_")
    np.testing.assert_array_equal(ideal.transform(new), expected)


# --- classes -------------------------------------------------------------------------------------


def labels():
    return np.arange(30) % 2


@pytest.mark.parametrize(
    ("X", "y", "kind", "parts"),
    [
        (with_entry(np.nan), labels(), ValueError, ["Input X contains NaN"]),
        (scipy.sparse.csr_array(points()), labels(), TypeError, ["Sparse", "X", ".toarray()"]),
        (points(), np.zeros(30, dtype=int), ValueError, ["one class", "0", "at least two"]),
        (points(), None, ValueError, ["requires y"]),
        (points(), points()[:, 0], ValueError, ["Unknown label type: continuous"]),
        (points(), labels()[:29], ValueError, ["inconsistent numbers of samples", "[30, 29]"]),
    ],
    ids=["NaN", "sparse", "one class", "no y", "continuous y", "short y"],
)
def test_class_features_refuse(X, y, kind, parts):
    with raises(kind, *parts):
        ClassVanishingFeatures().fit(X, y)


@pytest.mark.parametrize("ideal", [3, "contrastive", StandardScaler()])
def test_class_features_refuse_what_is_no_ideal(ideal):
    with raises(ValueError, "'ideal' parameter of ClassVanishingFeatures", "VanishingIdeal", "Got"):
        ClassVanishingFeatures(ideal=ideal).fit(points(), labels())


def test_class_features_refuse_use_before_fit():
    for call in (lambda f: f.transform(points()), lambda f: f.get_feature_names_out()):
        with raises(NotFittedError, "ClassVanishingFeatures", "not fitted yet"):
            call(ClassVanishingFeatures())


def test_class_features_refuse_another_width_at_transform():
    features = ClassVanishingFeatures().fit(points(), labels())
    with raises(ValueError, "X has 2 features", "ClassVanishingFeatures is expecting 3"):
        features.transform(points(n_features=2))


def test_class_features_name_the_class_whose_ideal_failed():
    X = np.vstack([circle(seed=1), circle(seed=2)])
    with raises(ValueError, "the ideal of class 0 failed", "inside the variety"):
        ClassVanishingFeatures(VanishingIdeal(normalization="contrastive", tol=1e-6)).fit(
            X, np.repeat([0, 1], 60)
        )


@pytest.mark.parametrize("detector", [VanishingDetector(), TransformationDetector()], ids=str)
def test_detectors_name_numbers_too_large_to_be_squared(detector):
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[5, 1] = -1e200
    with pytest.raises(ValueError, match=r"X holds -1e\+200 in column 1, too large to be squared"):
        detector.fit(X)
    X[5, 1] = 1e100
    assert np.isfinite(detector.fit(X).offset_)


def test_layers_without_torch_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "vanishing.layers", raising=False)
    with pytest.raises(ImportError, match=r"needs torch: pip install 'vanishing\[torch\]'"):
        import_module("vanishing.layers")


# --- every bad input, and the page that lists its answer ------------------------------------------


@cache
def sections():
    """The lines of the page of bad inputs, by their headings."""
    text = (DOCS / "bad_input.md").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.split("\n## ")[1:])
    return {heading: body.splitlines() for heading, _, body in parts}


@cache
def has_listed_versions():
    """Whether the packages whose messages the page shows have the versions of its making."""
    pinned = dict(
        line.strip().split("==")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line and not line.startswith("#")
    )
    names = ("numpy", "scikit-learn", "pandas", "polars", "pyarrow", "openpyxl", "typer")
    return all(metadata.version(name) == pinned.get(name) for name in names)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_bad_input_is_answered(case):
    found = answer(case)
    assert found.error is None or isinstance(found.error, KINDS)
    assert not any("RuntimeWarning" in each for each in found.warned)
    assert found.text
    if has_listed_versions():
        # If the answer changed for good reason: python -m docs.make_bad_input
        assert page_line(case.what, found.text) in sections()[case.section]


def test_the_page_lists_nothing_else():
    n_lines = sum(line.startswith("| ") for body in sections().values() for line in body)
    assert n_lines == len(CASES) + len(sections())
