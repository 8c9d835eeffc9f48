"""Input that was once answered by an error from deep inside, or by a wrong result."""

import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
import sympy

from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
    discover,
    load,
)
from vanishing.algebra import contains, estimate_variety, hilbert_function, project
from vanishing.data import TableError, read_table
from vanishing.detectors import ChristoffelDetector
from vanishing.ideal import OverflowWarning
from vanishing.persistence import ModelFileError


def parabola(n_rows=60, noise=0.0):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, 2))
    return np.column_stack([x, x[:, 0] ** 2 + x[:, 1] + noise * rng.normal(size=n_rows)])


def with_cell(value):
    X = parabola(6)
    X[2, 0] = value
    return X


def evaluate(ideal, X, output):
    """Transform rows; those of chunks are evaluated when they are read."""
    values = ideal.transform(X, output=output)
    return list(values.blocks(10)) if hasattr(values, "blocks") else values


# --- Overflow of new rows -------------------------------------------------------------------------


def make_tensor(X):
    return pytest.importorskip("torch").asarray(X)


@pytest.mark.parametrize("convert", [np.asarray, make_tensor, lambda X: [X[:3], X[3:]]])
@pytest.mark.parametrize("output", ["abs", "signed", "nonvanishing"])
def test_transform_warns_of_overflow(convert, output):
    ideal = VanishingIdeal().fit(parabola())
    with pytest.warns(OverflowWarning, match="polynomials overflow on row 2: .* wrong cells"):
        evaluate(ideal, convert(with_cell(1e200)), output)


@pytest.mark.parametrize("kind", [VanishingDetector, TransformationDetector, ChristoffelDetector])
def test_scores_warn_of_overflow(kind):
    detector = kind().fit(parabola(100, 0.01))
    with pytest.warns(OverflowWarning, match="scores overflow on row 2:"):
        scores = detector.score_samples(with_cell(1e300))
    assert scores[2] == -np.inf
    assert np.isfinite(np.delete(scores, 2)).all()


def test_numbers_whose_sum_overflows_do_not_warn():
    ideal = VanishingIdeal(max_degree=1, tol=10.0).fit(parabola())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = ideal.transform(np.full((20, 3), 1e307))
    assert np.isfinite(values).all()


# --- Sizes and weights ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [VanishingDetector, TransformationDetector, ChristoffelDetector])
def test_detectors_refuse_rows_that_underflow(kind):
    with pytest.raises(ValueError, match="too small to be squared; rescale"):
        kind().fit(parabola() * 1e-170)


@pytest.mark.parametrize("estimator", [VanishingIdeal, ChristoffelDetector])
def test_partial_fits_refuse_rows_that_overflow(estimator):
    fitted = estimator().partial_fit(parabola())
    with pytest.raises(ValueError, match="too large to be squared; rescale"):
        fitted.partial_fit(parabola() * 1e160)


def test_rows_without_weight_do_not_count():
    weights = np.zeros(60)
    weights[:3] = 1
    found = discover(parabola(), sample_weight=weights)
    assert not found.equations
    assert "3 rows are too few" in str(found)
    weights[:50] = 1
    assert discover(parabola(), sample_weight=weights).n_rows == 50


@pytest.mark.parametrize("convert", [np.asarray, pd.DataFrame])
def test_numbers_that_lose_their_digits_are_set_aside(convert):
    count = np.arange(60)
    rng = np.random.default_rng(0)
    X = np.column_stack([2**60 + count, rng.integers(0, 99, 60), rng.integers(0, 99, 60)])
    found = discover(convert(X))
    assert not found.equations
    assert any("differ in digits that floating-point numbers do not have" in n for n in found.notes)


@pytest.mark.parametrize("convert", [np.asarray, pd.DataFrame])
def test_estimators_warn_of_digits_that_are_lost(convert):
    X = convert(2**60 + np.arange(120).reshape(40, 3))
    with pytest.warns(UserWarning, match="differ in digits that floating-point numbers do not"):
        VanishingIdeal().fit(X)


def test_large_numbers_that_keep_their_digits_stay():
    a, b = np.random.default_rng(0).integers(10**17, 10**18, (2, 60))
    assert len(discover(np.column_stack([a, b, a + b])).equations) == 1


# --- Jobs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [VanishingDetector, TransformationDetector, ClassVanishingFeatures]
)
def test_no_jobs_are_refused(estimator):
    with pytest.raises(ValueError, match="n_jobs"):
        estimator(n_jobs=0).fit(parabola(), np.arange(60) % 2)


def test_many_jobs_change_nothing():
    X = parabola(noise=0.1)
    assert VanishingDetector(n_jobs=10**6).fit(X).offset_ == VanishingDetector().fit(X).offset_


# --- Types of columns -----------------------------------------------------------------------------

NUMBERS = np.random.default_rng(0).normal(size=40)
COLUMNS = {
    "dates": pd.date_range("2020", periods=40),
    "dates with a zone": pd.date_range("2020", periods=40, tz="UTC"),
    "durations": pd.to_timedelta(np.arange(40), "s"),
    "periods": pd.period_range("2020", periods=40),
    "intervals": pd.interval_range(0, 40),
    "complex": NUMBERS + 1j,
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("estimator", [VanishingIdeal, VanishingDetector])
def test_columns_that_are_no_numbers_are_named(kind, estimator):
    X = pd.DataFrame({"a": NUMBERS, "what": COLUMNS[kind]})
    with pytest.raises((TypeError, ValueError), match=r"column 'what'.*; leave it out"):
        estimator().fit(X)


@pytest.mark.parametrize("cells", [list(pd.date_range("2020", periods=40)), [[1, 2]] * 40])
def test_columns_of_polars_that_are_no_numbers_are_named(cells):
    with pytest.raises((TypeError, ValueError), match=r"column 'what'.*; leave it out"):
        VanishingIdeal().fit(pl.DataFrame({"a": NUMBERS, "what": cells}))


def test_columns_of_one_name_get_a_remedy():
    X = pd.DataFrame(parabola(), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="'a' more than once; rename one"):
        VanishingIdeal().fit(X)


@pytest.mark.parametrize(
    "cell", [1j, [1, 2], np.zeros(2), {"a": 1}, pd.Timestamp("2020"), ...], ids=str
)
def test_cells_that_are_no_numbers_are_shown(cell):
    X = np.empty((5, 2), dtype=object)
    X[:] = 1.0
    X[3, 1] = cell
    with pytest.raises(
        TypeError, match=r"one real number in each cell, but row 3 has .*; leave such"
    ):
        VanishingIdeal().fit(X)


def test_whole_numbers_beyond_floating_point_are_refused():
    with pytest.raises(ValueError, match="too large for floating point; rescale"):
        VanishingIdeal().fit([[10**400, 1], [2, 3]])


def test_a_frame_without_columns_is_refused():
    with pytest.raises(ValueError, match="0 feature"):
        VanishingIdeal().fit(pd.DataFrame(index=range(4)))


# --- Tables for discover --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: pa.table(dict(zip("abc", X.T, strict=True))),
        lambda X: pa.record_batch(dict(zip("abc", X.T, strict=True))),
        lambda X: pl.DataFrame(dict(zip("abc", X.T, strict=True))).with_columns(d=pl.lit([1, 2])),
        lambda X: pl.DataFrame(dict(zip("abc", X.T, strict=True))).with_columns(
            d=pl.Series(np.arange(60), dtype=pl.Int128)
        ),
        lambda X: pd.DataFrame(X, columns=list("abc")).assign(d=[10**400] * 60),
        lambda X: pd.DataFrame(X, columns=list("abc")).assign(d=[Decimal(i) for i in range(60)]),
    ],
)
def test_discover_takes_what_estimators_take(convert):
    assert "c = a^2 + b" in str(discover(convert(parabola())))


def test_discover_takes_short_floats_of_torch():
    torch = pytest.importorskip("torch")
    found = discover(torch.asarray(parabola()).to(torch.bfloat16))
    assert found.names == ("x0", "x1", "x2")


def test_discover_refuses_columns_without_a_name():
    with pytest.raises(ValueError, match=r"column 0 .* has no name"):
        discover(pd.DataFrame(parabola(), columns=["", "b", "c"]))


# --- Files ----------------------------------------------------------------------------------------


def test_a_feather_file_that_fills_the_memory_is_refused(tmp_path):
    path = tmp_path / "table.feather"
    table = pa.table({"a": np.zeros(40_000_000)})
    pyarrow.feather.write_feather(table, path, compression="zstd", compression_level=9)
    with pytest.raises(TableError, match="made to fill the memory"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("texts.csv", b"a,b\nx,y\nz,w\n", "has no column of numbers: 'a' is text"),
        ("cut.csv.gz", b"\x1f\x8b no gzip file", "cannot be read"),
        ("wide.csv", "a,b\n1,2\n".encode("utf-32"), "UTF-32; save the file in UTF-8"),
    ],
    ids=["texts", "damaged", "UTF-32"],
)
def test_files_that_hold_no_table_are_named(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TableError, match=f"{name}.*{message}"):
        discover(path)


def test_units_in_a_file_of_laws_are_checked(tmp_path):
    laws = discover(parabola())
    for units in (np.full(3, np.nan), np.full(3, -1.0), np.zeros(0), np.full(3, 1e308)):
        replace(laws, units=units).save(tmp_path / "laws.safetensors")
        with pytest.raises(ModelFileError, match="units"):
            load(tmp_path / "laws.safetensors")


# --- Algebra --------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", [project, estimate_variety])
@pytest.mark.parametrize(
    ("points", "message"),
    [
        (parabola() * np.nan, "NaN, infinity"),
        (parabola() * 1e200, "whose powers overflow"),
        (np.zeros((0, 3)), "at least one"),
        (parabola()[:, :2], r"expected points of shape \(n_samples, 3\)"),
        (parabola() + 1j, "real coordinates"),
    ],
)
def test_points_of_a_variety_are_checked(use, points, message):
    basis = VanishingIdeal(tol=1e-6).fit(parabola()).basis_
    with pytest.raises(ValueError, match=message):
        use(basis, points)


@pytest.mark.parametrize("use", [hilbert_function, lambda it: contains(it, sympy.Symbol("x0"))])
def test_an_ideal_is_no_basis(use):
    with pytest.raises(TypeError, match="pass the basis_ of a fitted VanishingIdeal"):
        use(VanishingIdeal().fit(parabola()))


X0 = sympy.Symbol("x0")


@pytest.mark.parametrize(
    "polynomial", ["x0", sympy.sin(X0), 1 / X0, sympy.I * X0, sympy.oo * X0, X0**400, sympy.nan]
)
def test_what_is_no_polynomial_is_refused(polynomial):
    basis = VanishingIdeal(tol=1e-6).fit(parabola()).basis_
    with pytest.raises((TypeError, ValueError), match=r"expected|over the limit"):
        contains(basis, polynomial)


def test_degrees_beyond_all_tables_end():
    X = np.random.default_rng(0).uniform(1, 5, (60, 12))
    X[:, 0] = 2 * X[:, 1]
    laws = discover(X, max_degree=10**9)
    assert [str(law) for law in laws] == ["x0 = 2*x1"]


def test_names_and_texts_of_a_check_fit_its_rows():
    x = np.random.default_rng(0).uniform(1, 5, 60)
    X = np.column_stack([x, 2 * x])
    laws = discover(X, ["a", "b"])
    with pytest.raises(ValueError, match="row_names has 2 names, but X has 60 rows"):
        laws.check(X, row_names=["one", "two"])
    for cell in [(60, "a"), (0, "c"), (-1, "a")]:
        with pytest.raises(ValueError, match="texts has the cell"):
            laws.check(X, texts={cell: "typo"})
