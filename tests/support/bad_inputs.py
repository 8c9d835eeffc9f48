"""Bad inputs, and the answer that each gets; ``docs/make_bad_input.py`` writes them as a page.

``CASES`` holds everything that is tried. A case is one call; its answer is the error that it
raises, or a word about the result.
"""

import io
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse

import vanishing
from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
    discover,
)
from vanishing.laws import discover_invariants, discover_odes

#: Errors that tell the user what to do. Others come from somewhere inside.
KINDS = (ValueError, TypeError, MemoryError, OSError, AttributeError)
#: Characters of an answer in the page.
LONGEST = 260


@dataclass(frozen=True)
class Case:
    """One call: what it is about, what is bad about it, and the call itself."""

    section: str
    what: str
    call: Callable[[], Any]

    @property
    def name(self) -> str:
        return f"{self.section}: {self.what}"


@dataclass(frozen=True)
class Answer:
    """What came of a call: an error, or a result in words, and the warnings on the way."""

    said: str
    error: BaseException | None
    warned: tuple[str, ...]

    @property
    def text(self) -> str:
        """The answer in one line, the same on every machine."""
        parts = [self.said, *(f"Warns: {each}" for each in self.warned)]
        text = " ".join(" ".join(parts).split())
        text = re.sub(rf"{re.escape(tempfile.gettempdir())}/\w+/?", "", text)
        text = re.sub(r" at 0x[0-9a-f]+", "", text)
        # Sets of options come in no fixed order.
        text = re.sub(
            r"\{('[^{}]*')\}",
            lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}",
            text,
        )
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def answer(case: Case) -> Answer:
    """Make the call of a case."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            said, error = str(case.call()), None
        except Exception as raised:
            said, error = f"`{type(raised).__name__}`: {raised}", raised
    warned = dict.fromkeys(f"`{each.category.__name__}`: {each.message}" for each in caught)
    return Answer(said, error, tuple(warned))


# --- what X may be --------------------------------------------------------------------------------


def points(n_rows=40, n_columns=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def parabola(n_rows=40):
    x = points(n_rows, 1)[:, 0]
    return np.column_stack([x, x**2, points(n_rows, 1, seed=1)[:, 0]])


def with_cell(value, dtype=float):
    X = parabola().astype(dtype)
    X[4, 1] = value
    return X


def as_objects(cell):
    X = parabola().astype(object)
    X[4, 1] = cell
    return X


def frame(**columns):
    return pd.DataFrame(parabola(), columns=["a", "b", "c"]).assign(**columns)


def _read_only(X):
    X = np.asfortranarray(X)
    X.setflags(write=False)
    return X


def two_columns_of_one_name():
    return pd.DataFrame(parabola(), columns=["a", "a", "b"])


TABLES: dict[str, Callable[[], Any]] = {
    "no rows": lambda: np.empty((0, 3)),
    "no columns": lambda: np.empty((5, 0)),
    "one row": lambda: parabola(1),
    "two rows": lambda: parabola(2),
    "all rows equal": lambda: np.ones((40, 3)),
    "all numbers zero": lambda: np.zeros((40, 3)),
    "a constant column": lambda: np.column_stack([parabola(), np.full(40, 3.0)]),
    "two equal columns": lambda: parabola()[:, [0, 0, 2]],
    "10,000 columns, 5 rows": lambda: points(5, 10_000),
    "NaN in a cell": lambda: with_cell(np.nan),
    "infinity in a cell": lambda: with_cell(np.inf),
    "all NaN": lambda: np.full((40, 3), np.nan),
    "1e300 in a cell": lambda: with_cell(1e300),
    "all numbers times 1e300": lambda: parabola() * 1e300,
    "all numbers times 1e-300": lambda: parabola() * 1e-300,
    "subnormal numbers": lambda: parabola() * 1e-310,
    "a column in units 1e12 times smaller": lambda: parabola() * [1, 1e12, 1],
    "strings": lambda: np.array([["a", "b", "c"]] * 40),
    "numbers as strings": lambda: parabola().astype(str),
    "objects, one a string": lambda: with_cell("a", object),
    "objects, one None": lambda: with_cell(None, object),
    "Decimal": lambda: np.vectorize(Decimal)(parabola()),
    "Fraction": lambda: np.vectorize(Fraction)(parabola()),
    "complex numbers": lambda: parabola() + 1j,
    "dates": lambda: parabola().astype("datetime64[s]"),
    "integers": lambda: np.arange(120).reshape(40, 3),
    "booleans": lambda: parabola() > 0,
    "half precision": lambda: parabola().astype(np.float16),
    "a structured array": lambda: np.zeros(40, dtype=[("a", float), ("b", float)]),
    "a sparse matrix": lambda: scipy.sparse.csr_array(parabola()),
    "a masked array": lambda: np.ma.masked_greater(parabola(), 1.0),
    "rows of different lengths": lambda: [[1.0, 2.0, 3.0], [4.0]],
    "one dimension": lambda: parabola()[:, 0],
    "three dimensions": lambda: parabola()[None],
    "a number": lambda: 3.0,
    "None": lambda: None,
    "a dictionary": lambda: {"a": [1.0, 2.0], "b": [2.0, 4.0]},
    "a generator": lambda: (row for row in parabola()),
    "an empty list": list,
    "a path that does not exist": lambda: "nowhere.csv",
    "a frame with a column of text": lambda: frame(c="x"),
    "a frame with missing cells": lambda: frame(c=None),
    "a frame of categories": lambda: frame(c=pd.Categorical(["u", "v"] * 20)),
    "a frame with two columns of the same name": two_columns_of_one_name,
    "a frame with a column of dates": lambda: frame(c=pd.date_range("2020", periods=40)),
    "a frame with a column of complex numbers": lambda: frame(c=np.full(40, 1j)),
    "a polars frame with a column of lists": lambda: pl.DataFrame({"a": [[1, 2]] * 40}),
    "a frame without columns": lambda: pd.DataFrame(index=range(40)),
    "a frame with an unnamed column": lambda: frame().set_axis(["a", "", "c"], axis=1),
    "objects, one a list": lambda: as_objects([1, 2]),
    "integers beyond 10³⁰⁸": lambda: as_objects(10**400),
    "integers beyond 2⁵³ that differ in their last digits": lambda: (
        2**60 + np.arange(120).reshape(40, 3)
    ),
    "a frame with names of several types": lambda: frame().set_axis(["a", 1, None], axis=1),
    "a series": lambda: frame()["a"],
    "a polars lazy frame": lambda: pl.DataFrame(parabola()).lazy(),
    "1e20 in a cell": lambda: with_cell(1e20),
    "the smallest int64 in a cell": lambda: np.where(
        np.arange(120).reshape(40, 3) == 5, np.iinfo(np.int64).min, np.arange(120).reshape(40, 3)
    ),
    "durations": lambda: parabola().astype("timedelta64[s]"),
    "a read-only array in Fortran order": lambda: _read_only(parabola()),
    "numbers in non-native byte order": lambda: parabola().astype(">f8"),
    "a frame of sparse columns": lambda: frame().astype(pd.SparseDtype(float)),
    "a frame of nullable integers, one missing": lambda: frame(
        c=pd.array([None, *range(39)], dtype="Int64")
    ),
    "a frame with a column of intervals": lambda: frame(c=pd.interval_range(0, 40)),
    "a generator of tables": lambda: (parabola()[i : i + 10] for i in range(0, 40, 10)),
    "a class": lambda: VanishingIdeal,
}


def fit_ideal(X, **parameters):
    found = VanishingIdeal(**parameters).fit(X)
    number = found.basis_.count()
    return f"Fits {number} equation{'s' * (number != 1)}."


def fit_detector(X):
    detector = VanishingDetector().fit(X)
    assert np.isfinite(detector.offset_)
    return "Fits, with a finite threshold."


def find_laws(X):
    return discover(X).summary()


def tried_on_tables(section: str, fit: Callable[[Any], Any]) -> list[Case]:
    return [Case(section, what, lambda X=X: fit(X())) for what, X in TABLES.items()]


# --- parameters, weights, contrasts, new rows -----------------------------------------------------


def set_parameters(section: str, make: Callable[..., Any], *settings: dict[str, Any]) -> list[Case]:
    def name(parameters: dict[str, Any]) -> str:
        return ", ".join(
            value.__name__ if isinstance(value, type) else f"{key}={value!r}"
            for key, value in parameters.items()
        )

    return [Case(section, name(each), lambda each=each: make(**each)) for each in settings]


WEIGHTS: dict[str, Any] = {
    "negative": -np.ones(40),
    "all zero": np.zeros(40),
    "NaN": np.full(40, np.nan),
    "infinite": np.full(40, np.inf),
    "too few": np.ones(39),
    "a table": np.ones((40, 2)),
    "strings": np.array(["x"] * 40),
    "a word": "balanced",
    "too large to be summed": np.full(40, 1e308),
}
CONTRASTS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "no rows": lambda: np.empty((0, 3)),
    "NaN in a cell": lambda: with_cell(np.nan),
    "fewer columns": lambda: points(20, 2),
    "one dimension": lambda: points(20)[:, 0],
    "complex numbers": lambda: points() + 1j,
    "a sparse matrix": lambda: scipy.sparse.csr_array(points()),
    "X itself": parabola,
    "one row of X": lambda: parabola()[:1],
    "a word that is not a contrast": lambda: "uniform",
}
NEW_ROWS: dict[str, Callable[[], Any]] = {
    "fewer columns": lambda: parabola()[:, :2],
    "more columns": lambda: np.column_stack([parabola(), parabola()]),
    "no rows": lambda: np.empty((0, 3)),
    "NaN in a cell": lambda: with_cell(np.nan),
    "all cells NaN": lambda: np.full((40, 3), np.nan),
    "1e20 in a cell": lambda: with_cell(1e20),
    "1e300 in a cell": lambda: with_cell(1e300),
    "one dimension": lambda: parabola()[0],
    "strings": lambda: np.array([["a", "b", "c"]]),
    "a frame with other names": lambda: frame().set_axis(["u", "v", "w"], axis=1),
    "a frame with its columns in a different order": lambda: frame()[["b", "a", "c"]],
    "a frame without a column": lambda: frame()[["a", "b"]],
}


@cache
def fitted(kind: str) -> Any:
    """Return a model or laws of the frame that is good."""
    make = {
        "ideal": lambda: VanishingIdeal(tol=0.01, max_degree=2).fit(frame()),
        "detector": lambda: VanishingDetector().fit(frame()),
        "transformations": lambda: TransformationDetector(weighting="convex", n_components=2).fit(
            frame()
        ),
        "laws": lambda: discover(frame()),
    }
    return make[kind]()


def _shape(values: Any) -> str:
    finite = np.isfinite(values)
    kind = "finite numbers" if finite.all() else f"{np.sum(~finite)} infinite or NaN, in an array"
    return f"Returns {kind} of shape {np.shape(values)}."


def use_rows() -> list[Case]:
    calls: dict[str, Callable[[Any], Any]] = {
        "New rows for `VanishingIdeal.transform`": lambda X: _shape(fitted("ideal").transform(X)),
        "New rows for `VanishingDetector.predict`": lambda X: (
            f"Finds {np.sum(fitted('detector').predict(X) == -1)} anomalous rows."
        ),
        "New rows for `TransformationDetector.predict`": lambda X: (
            f"Finds {np.sum(fitted('transformations').predict(X) == -1)} anomalous rows."
        ),
        "New rows for `Laws.check`": lambda X: fitted("laws").check(X).summary(),
    }
    return [
        Case(section, what, lambda use=use, X=X: use(X()))
        for section, use in calls.items()
        for what, X in NEW_ROWS.items()
    ]


def _labelled(X: Any, y: Any) -> str:
    found = ClassVanishingFeatures().fit(X, y)
    return f"Fits {len(found.ideals_)} ideals."


LABELS: dict[str, Any] = {
    "none": None,
    "one class": np.zeros(40, dtype=int),
    "too few": np.arange(39) % 2,
    "continuous": points(40, 1)[:, 0],
    "NaN": np.where(np.arange(40) % 2, 1.0, np.nan),
    "a class of one row": np.arange(40) == 0,
}


def _swing(n_rows=200):
    t = np.linspace(0, 6, n_rows)
    return t, np.column_stack([np.cos(t), -np.sin(t)])


TRAJECTORIES: dict[str, Callable[[], Any]] = {
    "invariants of one row": lambda: discover_invariants([_swing(1)[1]]).summary(),
    "invariants of an empty list": lambda: discover_invariants([]).summary(),
    "invariants of tables of different widths": lambda: discover_invariants(
        [_swing()[1], points()]
    ).summary(),
    "groups of a different length": lambda: discover_invariants(_swing()[1], [0, 1]).summary(),
    "equations with times that do not increase": lambda: discover_odes(
        _swing()[1], _swing()[0][::-1]
    ).summary(),
    "equations with NaN among the times": lambda: discover_odes(
        _swing()[1], np.where(_swing()[0] > 3, np.nan, _swing()[0])
    ).summary(),
    "equations with too few times": lambda: discover_odes(_swing()[1], np.arange(3.0)).summary(),
    "equations of columns of strings": lambda: discover_odes(
        np.array([["a", "b"]] * 40), 0.1
    ).summary(),
    "equations of tables with rows of different lengths": lambda: discover_odes(
        [[[1.0, 2.0], [3.0]]] * 2, 0.1
    ).summary(),
    "equations of numbers times 1e200": lambda: discover_odes(
        1e200 * _swing()[1], _swing()[0]
    ).summary(),
    "equations with times in units of 1e-200": lambda: discover_odes(
        _swing()[1], 1e-200 * _swing()[0]
    ).summary(),
    "equations with dates as times": lambda: discover_odes(
        _swing()[1], pd.date_range("2020", periods=200)
    ).summary(),
    "equations with no terms": lambda: discover_odes(_swing()[1], 0.1, terms=[]).summary(),
    "rows without a label": lambda: discover_invariants(_swing()[1], [None, *[1] * 199]).summary(),
    "equations with a time step of True": lambda: discover_odes(_swing()[1], True).summary(),
    "invariants of numbers times 1e-150": lambda: discover_invariants(
        [1e-150 * _swing()[1]] * 3
    ).summary(),
    "equations of three rows": lambda: discover_odes(_swing(3)[1], np.arange(3.0)).summary(),
}


# --- files ----------------------------------------------------------------------------------------


@cache
def model_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        fitted("ideal").save(path)
        return path.read_bytes()


def in_folder(call: Callable[[Path], Any]) -> Callable[[], Any]:
    """Make a call with a folder of its own."""

    def run() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return call(Path(folder))

    return run


def _load(content: bytes | None) -> Callable[[], Any]:
    def load(folder: Path) -> str:
        path = folder / "model.safetensors"
        if content is not None:
            path.write_bytes(content)
        return f"Loads a {type(vanishing.load(path)).__name__}."

    return in_folder(load)


def _a_pickle() -> bytes:
    import pickle

    return pickle.dumps(fitted("ideal"))


def _flipped(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


def model_files() -> list[Case]:
    section = "Model files for `vanishing.load`"
    calls: dict[str, Callable[[], Any]] = {
        "a path that does not exist": _load(None),
        "a folder": in_folder(vanishing.load),
        "an empty file": _load(b""),
        "a truncated file": lambda: _load(model_file()[: len(model_file()) // 2])(),
        "a file with one bit flipped": lambda: _load(_flipped(model_file()))(),
        "a file with something appended": lambda: _load(model_file() + b"x")(),
        "a pickle": lambda: _load(_a_pickle())(),
        "a table": _load(b"a,b\n1,2\n"),
        "noise": _load(np.random.default_rng(0).bytes(1000)),
        "a number": lambda: vanishing.load(3),
    }
    return [Case(section, what, call) for what, call in calls.items()]


def npy(shape: tuple[int, ...]) -> bytes:
    """Return a header that claims a shape, and hardly any data."""
    file = io.BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue() + bytes(64)


def zipped(name: str, content: bytes, **options: Any) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content, **options)
    return file.getvalue()


def _objects() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([[{}, 1]], dtype=object), allow_pickle=True)
    return file.getvalue()


def rows(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()


#: Names and contents of files for the command line.
FILES: dict[str, tuple[str, bytes | None]] = {
    "a file that does not exist": ("table.csv", None),
    "a folder": ("folder", None),
    "an empty file": ("table.csv", b""),
    "a blank line": ("table.csv", b"\n\n"),
    "only a header": ("table.csv", b"a,b\n"),
    "one row": ("table.csv", b"a,b\n1,2\n"),
    "two rows": ("table.csv", b"a,b\n1,2\n2,4\n"),
    "one column": ("table.csv", rows("a", *map(str, range(40)))),
    "all rows equal": ("table.csv", rows("a,b", *["1,2"] * 40)),
    "a row with fewer cells": ("table.csv", rows("a,b", *["1,2"] * 20, "3")),
    "a row with more cells": ("table.csv", rows("a,b", *["1,2"] * 20, "3,4,5")),
    "only text columns": ("table.csv", rows("a,b", *["x,y"] * 20)),
    "text after many rows of a column": (
        "table.csv",
        rows("a,b", *[f"{k},2" for k in range(40)], "x,2"),
    ),
    "a cell of 1e300": ("table.csv", rows("a,b", *[f"{k},{k * k}" for k in range(40)], "1e300,1")),
    "a cell of 1e999": ("table.csv", rows("a,b", *[f"{k},{k * k}" for k in range(40)], "1e999,1")),
    "only missing cells": ("table.csv", rows("a,b", *["NA,NA"] * 20)),
    "two columns of the same name": (
        "table.csv",
        rows("a,a", *[f"{k},{k * k}" for k in range(40)]),
    ),
    "unnamed columns": ("table.csv", rows(",", *[f"{k},{k * k}" for k in range(40)])),
    "an unclosed quote": ("table.csv", rows("a,b", *["1,2"] * 20, '"3,4', "5,6")),
    "null bytes": ("table.csv", b"a,b\n1,2\n\x00\x00\n"),
    "a binary file": ("table.csv", bytes(range(256)) * 20),
    "truncated UTF-16": ("table.csv", "a,b\n1,2\n3,4\n".encode("utf-16")[:-1]),
    "3,000 columns, 3 rows": (
        "table.csv",
        rows(*[",".join(map(str, line)) for line in [range(3000), *points(3, 3000).round(3)]]),
    ),
    "a name of 1,000,000 letters": (
        "table.csv",
        rows(f"{'n' * 10**6},b", *[f"{k},{2 * k}" for k in range(40)]),
    ),
    "a truncated gzip file": ("table.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x00\x11"),
    "a CSV file named .parquet": ("table.parquet", rows("a,b", *["1,2"] * 4)),
    "a truncated Parquet file": ("table.parquet", b"PAR1" + bytes(100)),
    "a truncated Arrow file": ("table.arrow", b"ARROW1\0\0" + bytes(100)),
    "an NPY file of a million million rows": ("table.npy", npy((10**12, 3))),
    "an NPY file of 10¹⁸ numbers": ("table.npy", npy((10**18,))),
    "a truncated NPY file": ("table.npy", npy((100, 3))),
    "an NPY file of objects": ("table.npy", _objects()),
    "an NPZ file of objects": ("table.npz", zipped("a.npy", _objects())),
    "an NPZ file without arrays": ("table.npz", zipped("readme", b"x")),
    "a truncated NPZ file": ("table.npz", zipped("a.npy", npy((1, 8)))[:60]),
    "a ZIP file named .xlsx": ("table.xlsx", zipped("readme", b"x")),
    "an old Excel file": ("table.xls", b"\xd0\xcf\x11\xe0"),
}


def command_line(*arguments: str) -> str:
    """Run a command; return its exit code and what it says."""
    from vanishing.app.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "ab")
    with redirect_stdout(out), redirect_stderr(err):
        code = int(main(list(arguments)))
    complaint = err.buffer.getvalue().decode()
    if code == 0:
        first = out.buffer.getvalue().decode().splitlines()[0]
        return f"`0`: {first} {complaint}"
    assert "Traceback" not in complaint
    return f"`{code}`: {complaint}"


def files_for(command: str) -> list[Case]:
    def run(folder: Path, name: str, content: bytes | None) -> str:
        path = folder / name
        if name == "folder":
            path.mkdir()
        elif content is not None:
            path.write_bytes(content)
        return command_line(command, str(path))

    return [
        Case(
            f"Files for `vanishing {command}`",
            what,
            in_folder(lambda folder, each=each: run(folder, *each)),
        )
        for what, each in FILES.items()
    ]


def options() -> list[Case]:
    """Return wrong options of the command line, with a table that is good."""
    good = rows("a,b,c", *[f"{k},{k % 7},{k + k % 7}" for k in range(40)])
    calls = {
        "a command that does not exist": ["find", "{}"],
        "an option that does not exist": ["laws", "{}", "--degre", "2"],
        "no file": ["laws"],
        "a word instead of a number": ["fit", "{}", "--degree", "two"],
        "a number out of range": ["fit", "{}", "--degree", "0"],
        "a column that does not exist": ["laws", "{}", "--columns", "a,z"],
        "no column left": ["laws", "{}", "--drop", "a,b,c"],
        "an id column that does not exist": ["detect", "{}", "--id", "name"],
        "a row that does not exist": ["explain", "{}", "--row", "99"],
        "a model that does not exist": ["score", "{}", "--model", "{}.safetensors"],
        "a table instead of a model": ["show", "{}"],
        "an output in a folder that does not exist": ["detect", "{}", "--out", "{}x/o.csv"],
        "an output over the input": ["detect", "{}", "--out", "{}"],
        "an output of an unknown kind": ["detect", "{}", "--out", "{}.docx"],
        "training data with other columns": ["detect", "{}", "--train", "{}2"],
    }

    def run(folder: Path, arguments: list[str]) -> str:
        path = folder / "table.csv"
        path.write_bytes(good)
        (folder / "table.csv2").write_bytes(rows("u,v", *["1,2"] * 20))
        return command_line(*(each.replace("{}", str(path)) for each in arguments))

    return [
        Case(
            "Options of the command line",
            what,
            in_folder(lambda folder, arguments=arguments: run(folder, arguments)),
        )
        for what, arguments in calls.items()
    ]


# --- all of them ----------------------------------------------------------------------------------

CASES: list[Case] = [
    *tried_on_tables("Tables for `VanishingIdeal.fit`", fit_ideal),
    *tried_on_tables("Tables for `VanishingDetector.fit`", fit_detector),
    *tried_on_tables("Tables for `discover`", find_laws),
    *set_parameters(
        "Parameters of `VanishingIdeal`",
        lambda **parameters: fit_ideal(parabola(), **parameters),
        {"tol": -1.0},
        {"tol": float("nan")},
        {"tol": "wide"},
        {"tol": True},
        {"max_degree": True},
        {"max_degree": 0},
        {"max_degree": 2.5},
        {"normalization": "unit"},
        {"normalization": 3},
        {"construction": "groebner"},
        {"reduction": "svd"},
        {"products": "some"},
        {"output": "squared"},
        {"tol_norm": "max"},
        {"max_nonvanishing": 0},
        {"memory_budget": 0},
        {"memory_budget": 100},
        {"callback": 3},
    ),
    *set_parameters(
        "Parameters of detectors",
        lambda detector=VanishingDetector, **parameters: _fit_quietly(detector, parameters),
        {"n_components": 0},
        {"n_components": 1000},
        {"n_components": "many"},
        {"n_components": True},
        {"contamination": 0.7},
        {"contamination": -0.1},
        {"contamination": "some"},
        {"ideal": 3},
        {"detector": TransformationDetector, "transformations": "turns"},
        {"detector": TransformationDetector, "n_components": -1},
    ),
    *set_parameters(
        "Parameters of `discover`",
        lambda **parameters: discover(parabola(), **parameters).summary(),
        {"max_degree": 0},
        {"max_degree": 1.5},
        {"max_degree": "two"},
        {"noise": -0.1},
        {"noise": float("nan")},
        {"noise": [0.1, 0.1]},
        {"noise": "low"},
        {"feature_names": ["a", "b"]},
        {"feature_names": ["a", "a", "b"]},
        {"random_state": "seed"},
        {"noise": True},
    ),
    *(
        Case(section, what, lambda fit=fit, weight=weight: fit(weight))
        for section, fit in {
            "Sample weights of `VanishingIdeal`": lambda weight: (
                f"Fits {VanishingIdeal().fit(parabola(), sample_weight=weight).basis_.count()}"
            ),
            "Sample weights of `VanishingDetector`": lambda weight: (
                f"Fits {VanishingDetector().fit(parabola(), sample_weight=weight).offset_}"
            ),
            "Sample weights of `discover`": lambda weight: discover(
                parabola(), sample_weight=weight
            ).summary(),
        }.items()
        for what, weight in WEIGHTS.items()
    ),
    *(
        Case(
            "Contrasts of `VanishingIdeal`",
            what,
            lambda Y=Y: fit_contrastive(Y()),
        )
        for what, Y in CONTRASTS.items()
    ),
    Case(
        "Contrasts of `VanishingIdeal`",
        "fit(X, Y)",
        lambda: f"Fits {VanishingIdeal().fit(parabola(), points(20)).basis_.count()}",
    ),
    *(
        Case("Labels of `ClassVanishingFeatures`", what, lambda y=y: _labelled(parabola(), y))
        for what, y in LABELS.items()
    ),
    *(Case("Trajectories", what, call) for what, call in TRAJECTORIES.items()),
    *use_rows(),
    *model_files(),
    *files_for("laws"),
    *files_for("detect"),
    *options(),
]


def fit_contrastive(Y: Any) -> str:
    ideal = VanishingIdeal(normalization="contrastive", tol=0.01).fit(parabola(), contrast=Y)
    number = ideal.basis_.count()
    return f"Fits {number} equation{'s' * (number != 1)}."


def _fit_quietly(detector: Any, parameters: dict[str, Any]) -> str:
    detector(**parameters).fit(parabola())
    return "Fits."


# --- the page -------------------------------------------------------------------------------------

INTRODUCTION = """\
# Bad input

This page lists what happens to input that is wrong or barely makes sense. Error messages say what
was expected, what was passed and what to do. `tests/test_bad_input.py` tries every input on this
page, and `python -m docs.make_bad_input` writes the page from the results.

The result is the error that is raised, or what the call returns. On the command line, it is the
exit code with the message; [](cli.md) lists the codes. Long results are truncated.
"""


def write_page(answers: dict[str, str]) -> str:
    """Return the page, from answers by the names of the cases."""
    lines = [INTRODUCTION]
    section = ""
    for case in CASES:
        if case.section != section:
            section = case.section
            lines += [f"\n## {section}\n", "| Input | Result |", "|---|---|"]
        lines.append(page_line(case.what, answers[case.name]))
    return "\n".join(lines) + "\n"


def page_line(what: str, text: str) -> str:
    """Return a line of a table in Markdown."""
    return f"| {_cell(what)} | {_cell(text)} |"


def _cell(text: str) -> str:
    """Return a text as it is for a cell of a table in Markdown; code stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        part.replace("|", r"\|") if part.startswith("`") else _escape(part) for part in parts
    )


def _escape(text: str) -> str:
    return re.sub(r"([\\*_\[\]<>|$#~])", r"\\\1", text)
