"""Planted errors: ``python -m benchmarks.laws.planted``.

Writes ``planted_results.md``, ``planted_results.json`` and ``figures/power.svg`` beside this file.
In tables of 1,000 rows with noise of 0, 0.1 and 1 % of the spreads, one cell in each of ten rows is
moved by 1 to 150 % of its column's spread (uniform in the logarithm). ``discover`` is given the
sound table (*sound*) or the one with the errors (*same*), and
``Laws.check`` the one with the errors. Errors are counted if they move a
law that was found by at least five standard deviations of its residual in sound rows; smaller ones
cannot be told from noise. A cell is *determined* if no value of any other cell brings all laws
within five deviations. Elsewhere the right cell must be among those that are listed. A value is
restored if it is within three standard errors of the one before the error.

For missing cells, a tenth of all cells is taken away from other rows of the same laws. A cell can
be filled if it is the only missing one of some law, and not squared there; elsewhere the range of
the column or several laws together may determine it, and what is filled must be right.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from benchmarks.laws.formulas import FORMULAS, IDENTITIES, Formula, Identity
from benchmarks.laws.report import HERE, describe, share, table, write
from joblib import Parallel, delayed

from vanishing import discover
from vanishing.laws import Laws

ROWS, BROKEN = 1000, 10
NOISES = (0.0, 0.001, 0.01)
#: Every how many-th formula is taken.
STEP = 7
#: Standard deviations from which on an error counts; standard errors of a restored value.
COUNTED, RESTORED = 5.0, 3.0
#: Relative rounding error of tables without noise.
ROUNDING = 1e-9
#: Errors of given sizes in each column, and the rows that they are planted in.
POWER_SIZES, POWER_ROWS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0), 30
SIZES = (0.0, 2.0, 3.0, 4.0, 5.0, 10.0, 100.0, np.inf)


def _motion(n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    mass, speed = rng.uniform(1, 5, (2, n_rows))
    return [mass, speed, mass * speed, mass * speed**2 / 2]


def _circuit(n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    current, resistance = rng.uniform(1, 5, (2, n_rows))
    return [current, resistance, current * resistance, current**2 * resistance]


def _box(n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    length, width, height = rng.uniform(1, 5, (3, n_rows))
    return [length, width, length * width, height, length * width * height]


#: Tables with several laws, in which most cells are determined.
SEVERAL = [
    Identity("motion", ["m", "v", "p", "E"], _motion, ["p-m*v", "2*E-p*v"]),
    Identity("circuit", ["I", "R", "V", "P"], _circuit, ["V-I*R", "P-V*I"]),
    Identity(
        "box",
        ["length", "width", "area", "height", "volume"],
        _box,
        ["area-length*width", "volume-area*height"],
    ),
]


def draw(entry: Formula | Identity, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Draw rows with noise in every column; whole numbers stay whole without noise."""
    X = entry.draw(ROWS, rng)
    return X + noise * X.std(axis=0) * rng.normal(size=X.shape) if noise else X


def deviations(laws: Laws, X: np.ndarray) -> np.ndarray:
    """Return the standard deviations of the laws' residuals."""
    sizes = [
        max(abs(c) * np.sqrt(np.mean(np.prod(X**e, axis=1) ** 2)) for c, e in terms)
        for terms in (zip(law.coefficients, law.exponents, strict=True) for law in laws)
    ]
    return np.maximum(laws.residuals(X).std(axis=0), ROUNDING * np.array(sizes))


def least_violation(laws: Laws, row: np.ndarray, column: int, scales: np.ndarray) -> float:
    """Return the largest violation that is left by the best value of a cell, in deviations."""
    candidates = [row[column]]
    for law in laws:
        powers = law.exponents[:, column]
        others = np.delete(law.exponents, column, axis=1)
        values = law.coefficients * np.prod(np.delete(row, column) ** others, axis=1)
        by_power = np.bincount(powers, weights=values)
        roots = np.roots(by_power[::-1]) if len(by_power) > 1 else np.empty(0)
        candidates.extend(roots.real[np.abs(roots.imag) < 1e-6 * (1 + np.abs(roots))])
    points = np.sort(candidates)
    between = [np.linspace(a, b, 22) for a, b in pairwise(points)]
    tried = np.concatenate([points, *between])
    rows = np.tile(row, (len(tried), 1))
    rows[:, column] = tried
    return float((np.abs(laws.residuals(rows)) / scales).max(axis=1).min())


def plant(
    entry: Formula | Identity, noise: float, mode: str, rng: np.random.Generator
) -> tuple[list[dict[str, Any]], Counter[str], list[dict[str, Any]]]:
    """Plant errors in a table; return what became of each, counts, and the power by size."""
    X = draw(entry, noise, rng)
    n_columns = X.shape[1]
    broken = rng.choice(ROWS, BROKEN, replace=False)
    columns = rng.integers(0, n_columns, BROKEN)
    Y = X.copy()
    moves = np.exp(rng.uniform(np.log(0.01), np.log(1.5), BROKEN)) * rng.choice([-1, 1], BROKEN)
    Y[broken, columns] += moves * X.std(axis=0)[columns]
    whole = (np.round(X) == X).all(axis=0)
    Y[:, whole] = np.round(Y[:, whole])
    names = list(entry.columns)
    laws = discover(Y if mode == "same" else X, names)
    counts: Counter[str] = Counter(tables=1, laws=len(laws), without=not len(laws))
    if not len(laws):
        return [], counts, []
    scales = deviations(laws, X)
    check = laws.check(Y)
    sound = np.ones(ROWS, dtype=bool)
    sound[broken] = False
    counts.update(sound=int(sound.sum()), flagged=int(check.broken[sound].sum()))
    by_row = {found.row: found for found in check if not found.is_missing}
    moved = np.abs(laws.residuals(Y) - laws.residuals(X)) / scales
    errors = []
    for row, column in zip(broken.tolist(), columns.tolist(), strict=True):
        others = [j for j in range(n_columns) if j != column]
        left = [least_violation(laws, Y[row], j, scales) for j in others]
        found = by_row.get(row)
        fixes = [] if found is None else [*found.fixes, *found.alternatives]
        right = [fix for fix in fixes if fix.column == names[column]]
        one = found is not None and len(found.fixes) == 1
        errors.append(
            {
                "table": entry.number,
                "noise": noise,
                "mode": mode,
                "column": names[column],
                "size": float(moved[row].max()),
                "found": found is not None,
                "determined": min(left) >= COUNTED,
                "named": bool(one and found and found.fixes[0].column == names[column]),
                "listed": bool(right),
                "restored": bool(right) and _is_restored(right[0], X[row, column]),
            }
        )
    counts.update(_missing(laws, X[sound], names, rng))
    power = measure_power(laws, X, scales, names) if noise and mode == "sound" else []
    return errors, counts, [{"table": entry.number, "noise": noise, **row} for row in power]


def _is_restored(fix: Any, value: float) -> bool:
    return bool(abs(fix.fix - value) <= RESTORED * fix.error + 1e-6 * abs(value))


def _missing(laws: Laws, X: np.ndarray, names: Sequence[str], rng: np.random.Generator) -> Any:
    """Take a tenth of the cells away, and count those that are filled."""
    absent = rng.uniform(size=X.shape) < 0.1
    filled = {
        (found.row, fix.column): fix
        for found in laws.check(np.where(absent, np.nan, X))
        if found.is_missing
        for fix in found.fixes
    }
    counts: Counter[str] = Counter()
    degrees = [law.exponents.max(axis=0) for law in laws]
    for row, column in np.argwhere(absent).tolist():
        fix = filled.get((row, names[column]))
        can = any(d[column] == 1 and (absent[row] & (d > 0)).sum() == 1 for d in degrees)
        kind = "fillable" if can else "not fillable"
        counts[kind] += 1
        if fix is not None:
            counts[f"{kind}, filled"] += 1
            counts[f"{kind}, right"] += _is_restored(fix, X[row, column])
    return counts


def main() -> None:
    """Run all tables and write the results."""
    parser = argparse.ArgumentParser(description="Planted errors.")
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    record: dict[str, Any] = {"machine": describe(options.seed), "errors": []}
    record["power"] = []
    counted = [formula for formula in FORMULAS if formula.is_counted][::STEP]
    record["tables"] = [entry.number for entry in [*counted, *IDENTITIES, *SEVERAL]]
    record["failed"] = []
    entries = [*counted, *IDENTITIES, *SEVERAL]
    cases = [
        (mode, number, noise)
        for mode in ("sound", "same")
        for number in range(len(entries))
        for noise in NOISES
    ]
    answers = Parallel(n_jobs=options.jobs)(
        delayed(_plant_one)(entries[number], mode, number, noise, options.seed)
        for mode, number, noise in cases
    )
    record["counts"] = {"sound": Counter(), "same": Counter()}
    for (mode, number, noise), answer in zip(cases, answers, strict=True):
        if isinstance(answer, str):
            record["failed"].append([mode, entries[number].number, noise, answer])
            continue
        errors, counts, power = answer
        record["errors"] += errors
        record["power"] += power
        record["counts"][mode].update(counts)
        if counts["without"]:
            record["failed"].append([mode, entries[number].number, noise, "no law found"])
    report(record)


def _plant_one(entry: Formula | Identity, mode: str, number: int, noise: float, seed: int) -> Any:
    rng = np.random.default_rng([seed, number, round(1e6 * noise)])
    try:
        return plant(entry, noise, mode, rng)
    except Exception as error:  # what a user would see is a result too
        return f"{type(error).__name__}: {error}"


def _part(rows: list[dict[str, Any]], key: str) -> str:
    return share(sum(row[key] for row in rows), len(rows))


def _counted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["size"] >= COUNTED]


def summarize(rows: list[dict[str, Any]], counts: Counter[str]) -> dict[str, str]:
    """Return the figures of one mode."""
    large = _counted(rows)
    determined = [row for row in large if row["determined"]]
    elsewhere = [row for row in large if not row["determined"]]
    fillable, rest = "fillable", "not fillable"
    return {
        "tables in which laws were found": share(
            counts["tables"] - counts["without"], counts["tables"]
        ),
        "errors of five deviations and more": str(len(large)),
        "their rows found": _part(large, "found"),
        "sound rows flagged": share(counts["flagged"], counts["sound"]),
        "right cell named, where determined": _part(determined, "named"),
        "right cell listed, elsewhere": _part(elsewhere, "listed"),
        "value restored, where listed": _part([row for row in large if row["listed"]], "restored"),
        "missing cells filled, where possible": share(
            counts[f"{fillable}, filled"], counts[fillable]
        ),
        "of these, right": share(counts[f"{fillable}, right"], counts[f"{fillable}, filled"]),
        "missing cells filled, elsewhere": share(counts[f"{rest}, filled"], counts[rest]),
        "of those, right": share(counts[f"{rest}, right"], counts[f"{rest}, filled"]),
    }


def measure_power(
    laws: Laws, X: np.ndarray, scales: np.ndarray, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return which share of rows is found, for each column and size of the error."""
    power = []
    rows = X[:POWER_ROWS]
    for j, name in enumerate(names):
        step = 1e-6 * X[:, j].std()
        moved = rows.copy()
        moved[:, j] += step
        slopes = np.abs(laws.residuals(moved) - laws.residuals(rows)) / scales / step
        steepest = slopes.max(axis=1)
        sound = steepest > 0
        if not sound.any():  # no law speaks about the column
            continue
        for size in POWER_SIZES:
            broken = rows[sound].copy()
            broken[:, j] += size / steepest[sound]
            found = laws.check(broken).broken.mean()
            power.append({"column": name, "size": size, "found": round(float(found), 4)})
    return power


def draw_power(power: list[dict[str, Any]]) -> None:
    """Draw which share of broken rows is found against the size of the error, by column."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "vanishing"  # the same file for the same figures
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.2, 3.8), layout="constrained")
    by_column: dict[tuple[str, float, str], list[float]] = {}
    for row in power:
        by_column.setdefault((row["table"], row["noise"], row["column"]), []).append(row["found"])
    for found in by_column.values():
        axes.plot(POWER_SIZES, found, color="0.82", lw=0.8)
    for noise, color in zip(sorted({key[1] for key in by_column}), ("C0", "C1"), strict=True):
        curves = [found for key, found in by_column.items() if key[1] == noise]
        label = f"noise {100 * noise:g} %, mean of {len(curves)} columns"
        axes.plot(POWER_SIZES, np.mean(curves, axis=0), "o-", color=color, ms=4, label=label)
    axes.axvline(COUNTED, color="0.5", lw=1, ls="--")
    axes.set(xlabel="size of the error, standard deviations of the law's residual")
    axes.set(ylabel="share of broken rows that is found", ylim=(-0.03, 1.03))
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    (HERE / "figures").mkdir(exist_ok=True)
    figure.savefig(HERE / "figures" / "power.svg", metadata={"Date": None})
    plt.close(figure)


def report(record: dict[str, Any]) -> None:
    """Write the results."""
    figures = {
        mode: summarize([row for row in record["errors"] if row["mode"] == mode], Counter(counts))
        for mode, counts in record["counts"].items()
    }
    record["summary"] = [
        {"": key} | {mode: figures[mode][key] for mode in figures} for key in figures["sound"]
    ]
    noisy = [row for row in record["errors"] if row["noise"]]
    power = []
    for low, high in pairwise(SIZES):
        rows = [row for row in noisy if low <= row["size"] < high]
        span = f"{low:g} to {high:g}" if np.isfinite(high) else f"over {low:g}"
        power.append({"size in deviations": span, "rows found": _part(rows, "found")})
    columns = []
    for name in sorted({(row["table"], row["column"]) for row in _counted(noisy)}):
        rows = [row for row in _counted(noisy) if (row["table"], row["column"]) == name]
        if len(rows) >= 5:
            columns.append(
                {"table": name[0], "column": name[1], "found": _part(rows, "found")}
                | {"named or listed": _part(rows, "listed"), "restored": _part(rows, "restored")}
            )
    parts = [
        f"{len(record['tables'])} tables: {', '.join(record['tables'])}.",
        table(record["summary"]),
        "## Power against the size, tables with noise",
        "![Share of broken rows that are found, against the size of the error](figures/power.svg)",
        table(power),
        "## Columns with at least five counted errors, tables with noise",
        table(columns) if columns else "None.",
    ]
    if record["failed"]:
        header = ("given", "table", "noise", "answer")
        failed = [dict(zip(header, row, strict=True)) for row in record["failed"]]
        parts += ["## Tables without an answer", table(failed)]
    draw_power(record["power"])
    write("planted", "Planted errors", (__doc__ or "").split("\n", 2)[2], record, parts)


if __name__ == "__main__":
    main()
