"""The suite of laws: ``python -m benchmarks.laws``.

Writes ``suite_results.md`` and ``.json`` beside this file. Every law of ``formulas.py`` is drawn
with 1,000 rows in raw units; Gaussian noise of 0, 0.1, 1 and 3 % of its spread is added to every
column, and ``discover`` is called without a setting. *Found* means: as many equations as there are,
each with the terms of the true one, and no other equation or term. Coefficients, times the root
mean square of their monomial, may differ by 1e-6 of their norm without noise, and by five times the
noise otherwise. Laws with at most 5 columns and degree at most 4 are counted; the others are run
and listed, with noise of 0 and 1 %. A run that takes longer than 60 s is stopped, and its noisier
versions are left out. Seconds are processor time of one thread. The run goes on where it stopped;
``--fresh`` starts again.

The peers are told which column is the target. pysindy's STLSQ on monomials up to degree 4 takes the
best of four thresholds on held-out rows; it is judged as ours is. Only laws in which the target is
a polynomial of the other columns are within its reach. gplearn with its default budget is run on
every fifth law, with noise of 0 and 1 %; any formula counts that predicts rows without noise to
within the noise (without noise: 1e-6) of the target's spread.
"""

import argparse
import fcntl
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.laws import peers
from benchmarks.laws.formulas import FORMULAS, IDENTITIES, SHIPPED, Formula, Identity
from benchmarks.laws.report import HERE, describe, share, table, write
from benchmarks.laws.runs import OVER, run_limited

NOISES = (0.0, 0.001, 0.01, 0.03)
ROWS = 1000
#: Deviation of coefficients: without noise, and in multiples of the noise.
EXACT, TIMES_NOISE = 1e-6, 5.0
#: Noise of the larger laws and of those that gplearn is given, and every how many-th it is given.
FEWER_NOISES, GP_STEP = (0.0, 0.01), 5
STORED = HERE / "suite_results.json"
LOCK = Path(tempfile.gettempdir()) / "vanishing_suite.lock"

Terms = dict[tuple[int, ...], float]
Entry = Formula | Identity


def draw(entry: Entry, noise: float, seed: int) -> np.ndarray:
    """Draw the rows of a law, with noise in every column."""
    rng = np.random.default_rng([seed, round(1e6 * noise)])
    X = entry.draw(ROWS, rng)
    return X + noise * X.std(axis=0) * rng.normal(size=X.shape) if noise else X


def true_terms(entry: Entry) -> list[Terms]:
    """Return the monomials and coefficients of the true laws."""
    return [{powers: float(c) for powers, c in truth.terms()} for truth in entry.truths]


def judge(found: list[Terms], truths: list[Terms], X: np.ndarray, noise: float) -> str:
    """Compare the equations that were found with the true ones."""
    if not found:
        return "no law"
    monomials = sorted({powers for truth in truths for powers in truth})
    if len(found) > len(truths):
        return "too many equations"
    if any(powers not in monomials for law in found for powers in law):
        return "other terms"
    if len(found) < len(truths):
        return "too few equations"
    if sum(map(len, found)) != sum(map(len, truths)):
        return "too short" if sum(map(len, found)) < sum(map(len, truths)) else "too long"
    sizes = [np.sqrt(np.mean(np.prod(X ** np.array(powers), axis=1) ** 2)) for powers in monomials]
    ours, true = (
        np.array(
            [[law.get(p, 0.0) * s for p, s in zip(monomials, sizes, strict=True)] for law in laws]
        )
        for laws in (found, truths)
    )
    ours /= np.linalg.norm(ours, axis=1, keepdims=True)
    basis = np.linalg.svd(true, full_matrices=False)[2]
    deviation = np.linalg.norm(ours - ours @ basis.T @ basis, axis=1).max()
    is_whole = np.linalg.matrix_rank(ours, tol=0.05) == len(truths)
    return "found" if is_whole and deviation <= max(EXACT, TIMES_NOISE * noise) else "coefficients"


def run_ours(entry: Entry, noise: float, seed: int) -> dict[str, Any]:
    """Run ``discover`` on one table."""
    from vanishing import discover

    X = draw(entry, noise, seed)
    started = time.process_time()
    laws = discover(X, list(entry.columns))
    seconds = time.process_time() - started
    found = [
        dict(zip(map(tuple, law.exponents.tolist()), law.coefficients.tolist(), strict=True))
        for law in laws
    ]
    verdict = judge(found, true_terms(entry), X, noise)
    return {"verdict": verdict, "laws": [str(law) for law in laws], "seconds": round(seconds, 2)}


def run_shipped(number: str, _noise: float, _seed: int) -> dict[str, Any]:
    """Run ``discover`` on one table of scikit-learn."""
    from vanishing import discover

    loaded = next(table for table in SHIPPED if table.number == number).load()
    started = time.process_time()
    laws = discover(loaded.data, list(loaded.feature_names))
    seconds = time.process_time() - started
    return {
        "verdict": f"{len(laws)} equations" if len(laws) else "no law",
        "shape": list(loaded.data.shape),
        "laws": [str(law) for law in laws],
        "notes": list(laws.notes),
        "seconds": round(seconds, 2),
    }


def run_sparse(formula: Formula, noise: float, seed: int) -> dict[str, Any]:
    """Run pysindy on one table."""
    X, fresh = draw(formula, noise, seed), formula.draw(ROWS, np.random.default_rng([seed, 1, 1]))
    fitted = peers.sparse_regression(X, fresh)
    return {
        "verdict": judge([fitted.terms or {}], true_terms(formula), X, noise),
        "laws": [fitted.text],
        "error": peers.prediction_error(formula, fitted, fresh),
        "seconds": round(fitted.seconds, 2),
    }


def run_symbolic(formula: Formula, noise: float, seed: int) -> dict[str, Any]:
    """Run gplearn on one table."""
    X, fresh = draw(formula, noise, seed), formula.draw(ROWS, np.random.default_rng([seed, 1, 1]))
    fitted = peers.symbolic_regression(X, fresh, seed)
    error = peers.prediction_error(formula, fitted, fresh)
    return {
        "verdict": "found" if error <= max(EXACT, noise) else "other formula",
        "laws": [fitted.text],
        "error": error,
        "seconds": round(fitted.seconds, 2),
    }


def run_case(function: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """Run one measurement; an exception or too much time is its verdict."""
    result, status, seconds = run_limited(function, *given)
    if status == "ok":
        return dict(result)
    is_over = status == OVER
    texts = [] if is_over else [status]
    return {"verdict": OVER if is_over else "error", "laws": texts, "seconds": seconds}


def measurements() -> Iterator[tuple[str, Callable[..., dict[str, Any]], Any, float]]:
    """Yield the kind, the function, the law or table, and the noise of every measurement."""
    counted = [formula for formula in FORMULAS if formula.is_counted]
    for formula in counted:
        yield from (("counted", run_ours, formula, noise) for noise in NOISES)
    for identity in IDENTITIES:
        yield from (("identity", run_ours, identity, noise) for noise in NOISES)
    for shipped in SHIPPED:
        yield "shipped", run_shipped, shipped.number, 0.0
    if find_spec("pysindy"):
        for formula in counted:
            yield from (("pysindy", run_sparse, formula, noise) for noise in NOISES)
    for formula in FORMULAS:
        if not formula.is_counted:
            yield from (("other", run_ours, formula, noise) for noise in FEWER_NOISES)
    if find_spec("gplearn"):
        for formula in counted[::GP_STEP]:
            yield from (("gplearn", run_symbolic, formula, noise) for noise in FEWER_NOISES)


def main() -> None:
    """Run what is not there yet, and write the results after each measurement."""
    parser = argparse.ArgumentParser(description="The suite of laws.")
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--fresh", action="store_true", help="measure all again")
    parser.add_argument("--kind", action="append", help="counted, identity, shipped, ...")
    parser.add_argument("--part", default="0/1", help="2/16: every 16th measurement from the third")
    options = parser.parse_args()
    if options.fresh:
        STORED.unlink(missing_ok=True)
    described = describe(options.seed)
    slow: set[str] = set()
    part, n_parts = map(int, options.part.split("/"))
    for kind, function, case, noise in islice(measurements(), part, None, n_parts):
        number = case if isinstance(case, str) else case.number
        if number in slow or (options.kind and kind not in options.kind):
            continue
        if any(_key(row) == (kind, number, noise) for row in stored(described)["rows"]):
            continue
        result = run_case(function, case, noise, options.seed)
        if result["verdict"] == OVER and function is run_ours:
            slow.add(number)
        print(
            kind,
            number,
            noise,
            result["verdict"],
            result["laws"][:2],
            result["seconds"],
            flush=True,
        )
        with LOCK.open("w") as lock:  # several runs may measure different kinds
            fcntl.flock(lock, fcntl.LOCK_EX)
            record = stored(described)
            record["rows"].append({"kind": kind, "law": number, "noise": noise} | result)
            record["rows"].sort(key=_key)  # in one order, whoever came first
            report(record)


def stored(described: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured so far with the same seed."""
    if STORED.exists():
        record: dict[str, Any] = json.loads(STORED.read_text())
        if record["machine"]["seed"] == described["seed"]:
            return record
    return {"machine": described, "rows": []}


def _key(row: dict[str, Any]) -> tuple[str, str, float]:
    return row["kind"], row["law"], row["noise"]


@cache
def _subsets() -> tuple[set[str], set[str]]:
    """Return the laws with an explicit target, and those that gplearn is given."""
    counted = [formula for formula in FORMULAS if formula.is_counted]
    explicit = {formula.number for formula in counted if formula.is_explicit}
    return explicit, {formula.number for formula in counted[::GP_STEP]}


def report(record: dict[str, Any]) -> None:
    """Write the results."""
    rows = record["rows"]
    explicit, step = _subsets()
    groups: list[tuple[str, str, set[str] | None]] = [
        ("discover", "counted", None),
        ("discover, target explicit", "counted", explicit),
        ("pysindy", "pysindy", None),
        ("pysindy, target explicit", "pysindy", explicit),
        ("discover, laws given to gplearn", "counted", step),
        ("gplearn", "gplearn", None),
        ("discover, other formulas", "other", None),
        ("discover, identities", "identity", None),
    ]
    record["summary"] = []
    for title, kind, among in groups:
        line = {"": title}
        for noise in NOISES:
            chosen = [
                row
                for row in rows
                if (row["kind"], row["noise"]) == (kind, noise)
                and (not among or row["law"] in among)
            ]
            hits = sum(row["verdict"] == "found" for row in chosen)
            line[f"noise {100 * noise:g} %"] = share(hits, len(chosen)) if chosen else "not run"
        if any(value != "not run" for value in list(line.values())[1:]):
            record["summary"].append(line)
    predicted = [
        {"": kind}
        | {
            f"noise {100 * noise:g} %": share(
                sum(row.get("error", 9) <= 0.01 for row in chosen), len(chosen)
            )
            if (chosen := [r for r in rows if (r["kind"], r["noise"]) == (kind, noise)])
            else "not run"
            for noise in NOISES
        }
        for kind in ("pysindy", "gplearn")
        if any(row["kind"] == kind for row in rows)
    ]
    parts = ["## Found", table(record["summary"])]
    ours = [row for row in rows if row["kind"] == "counted"]
    if ours:
        times, slowest = [row["seconds"] for row in ours], max(ours, key=lambda row: row["seconds"])
        parts.append(
            f"Seconds of `discover` on the counted laws: median {np.median(times):.2f}, 95 % below "
            f"{np.quantile(times, 0.95):.1f}, largest {slowest['seconds']} ({slowest['law']})."
        )
    if predicted:
        parts += ["The peers predict the target of fresh rows within 1 % of its spread in:"]
        parts.append(table(predicted))
    missed = [row for row in rows if row["kind"] in ("counted", "identity")]
    missed = [row for row in missed if row["verdict"] != "found"]
    parts += ["## Missed", _list(missed) if missed else "None."]
    others = [row for row in rows if row["kind"] == "other"]
    if others:
        parts += ["## More columns or a higher degree", _list(others)]
    shipped = [
        {"table": row["law"], "shape": row.get("shape", ""), "answer": row["verdict"]}
        | {
            "known": known.remark,
            "seconds": row["seconds"],
            "equations": "; ".join(row["laws"][:4]),
        }
        for row in rows
        for known in SHIPPED
        if row["kind"] == "shipped" and known.number == row["law"]
    ]
    if shipped:
        parts += ["## Tables of scikit-learn", table(shipped)]
    kinds = {row["kind"] for row in rows} & {"pysindy", "gplearn"}
    for kind in sorted(kinds):
        verdicts = Counter(row["verdict"] for row in rows if row["kind"] == kind)
        parts += [f"## {kind}, all levels of noise", table([dict(verdicts.most_common())])]
    absent = [name for name in ("pysindy", "gplearn") if name not in kinds]
    if absent:
        parts.append(f"Not run: {', '.join(absent)}.")
    write("suite", "The suite of laws", (__doc__ or "").split("\n", 2)[2], record, parts)


def _list(rows: list[dict[str, Any]]) -> str:
    truths = {entry.number: entry for entry in [*FORMULAS, *IDENTITIES]}
    lines = []
    for row in rows:
        entry = truths[row["law"]]
        law = entry.implicit if isinstance(entry, Formula) else ", ".join(entry.equations)
        found = "; ".join(text if len(text) < 90 else text[:87] + "..." for text in row["laws"][:3])
        lines.append(
            {"law": row["law"], "zero": f"`{law}`", "noise %": f"{100 * row['noise']:g}"}
            | {"answer": row["verdict"], "equations": f"`{found}`" if found else ""}
            | {"seconds": row["seconds"]}
        )
    return table(lines)
