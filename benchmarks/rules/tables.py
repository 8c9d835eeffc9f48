"""Tables whose laws are exported as rules, with and without planted errors."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.laws import formulas, rows, totals, wrong_cells

Maker = Callable[[], pd.DataFrame]
#: Rows of the tables of the suite.
SUITE_ROWS = 300
#: Noise of the tables of the suite, relative to the spread of a column.
NOISES = (0.0, 0.01)


def _invoices(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    net = rng.uniform(1, 100, 120).round(2)
    tax = (net * 0.19).round(2)
    extra = np.where(rng.random(120) < 0.5, np.nan, rng.uniform(1, 9, 120).round(2))
    frame = pd.DataFrame({"net": net, "tax": tax, "gross (19 %)": (net + tax).round(2)})
    frame['extra "cost"'] = extra
    return frame.assign(total=(frame["gross (19 %)"] + np.nan_to_num(extra)).round(2))


def _power_law(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.lognormal(1, 1, 150)
    return pd.DataFrame({"x": x, "y": 3 * x**1.5 * (1 + rng.normal(0, 1e-3, 150))})


def _wrong(seed: int) -> pd.DataFrame:
    X, _ = wrong_cells.make_table(np.random.default_rng([seed, 1]))
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def _row(kind: str, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([seed, 2])
    return rows.KINDS[kind](80, rng)[0].reset_index(drop=True)


def _totals(kind: str, seed: int) -> pd.DataFrame:
    return totals.make_table(kind, np.random.default_rng([seed, 3]))[0].reset_index(drop=True)


def _formula(entry: formulas.Formula, noise: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([seed, round(1e6 * noise)])
    X = entry.draw(SUITE_ROWS, rng)
    X = X + noise * X.std(axis=0) * rng.normal(size=X.shape)
    return pd.DataFrame(X, columns=entry.columns)


def _sheet(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)


def list_tables(seed: int = 0) -> dict[str, dict[str, Maker]]:
    """Return the tables of each kind, by name."""
    few = [each for each in formulas.FORMULAS if each.is_counted]
    found = {
        "suite": {
            f"{each.number}, noise {noise}": partial(_formula, each, noise, seed)
            for each in few for noise in NOISES
        },
        "wrong cells": {f"wrong {k}": partial(_wrong, seed + k) for k in range(20)},
        "other rows": {
            f"{kind} {k}": partial(_row, kind, seed + k) for kind in rows.KINDS for k in range(3)
        },
        "totals": {
            f"{kind} {k}": partial(_totals, kind, seed + k) for kind in totals.KINDS
            for k in range(3)
        },
        "invoices": {f"invoices {k}": partial(_invoices, seed + k) for k in range(5)},
        "power laws": {f"power law {k}": partial(_power_law, seed + k) for k in range(5)},
    }  # fmt: skip
    folder = Path(os.environ.get("VANISHING_DATA") or "missing") / "spreadsheets"
    paths = sorted(path for path in folder.glob("*.csv") if path.suffixes == [".csv"])
    return found | {"spreadsheets": {path.name: partial(_sheet, path) for path in paths}}


def plant_errors(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Change cells of numbers, and leave some out."""
    frame = frame.copy()
    numbers = [name for name in frame if frame[name].dtype.kind in "if"]
    frame[numbers] = frame[numbers].astype(float)
    for factor in (np.nan, 0.0, 1.5, 10.0, -1.0, 1e30):
        place = rng.integers(len(frame)), frame.columns.get_loc(rng.choice(numbers))
        frame.iloc[place] = frame.iloc[place] * factor + 1
    return frame


def list_versions(name: str, make: Maker, seed: int = 0) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a table as it is, and with planted errors."""
    frame = make()
    yield "sound", frame
    yield "errors", plant_errors(frame, np.random.default_rng([seed, len(name), 4]))
