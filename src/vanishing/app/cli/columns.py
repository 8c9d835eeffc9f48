"""A table in words: its columns, their scales, and which commands to run on it."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import floor, isfinite, log10
from typing import Any

import numpy as np

from vanishing.app.cli.console import MOST_NAMED, fit_width, make_table, out, say, working
from vanishing.app.cli.options import Reading
from vanishing.app.cli.tables import PIPE, choose, open_input, table_errors, tell
from vanishing.app.wording import (
    MOST_IN_FULL,
    MOST_SHOWN_COLUMNS,
    count_things,
    have_enough_rows,
)
from vanishing.arrays.namespace import FloatArray
from vanishing.data.csv_files import OpenTable, Stray
from vanishing.data.source import have_lost_digits
from vanishing.equations.text import significant
from vanishing.laws.laws import FEWEST_EXACT_ROWS
from vanishing.polynomials.monomials import count

# --- What is known of a table ---------------------------------------------------------------------

#: What equations of the degrees that are counted look like.
EXAMPLES = {
    1: "such as a = b + c",
    2: "such as a = b*c",
    3: "such as a = b*c^2",
    4: "such as a = b*c^3",
}
#: Kind of a column whose numbers differ in digits that floating-point numbers do not have.
ROUNDED = "too many digits"


@dataclass(frozen=True)
class Column:
    """One column of a table.

    The kind is "number", "whole number", "yes-no", "constant", "too many digits", "text", "date" or
    "empty"; ``missing`` is a share, ``different_values`` the number of different texts or dates,
    and ``is_unique`` says that all of these differ, so that they can name the rows.
    """

    name: str
    kind: str
    missing: float
    low: float | str | None = None
    high: float | str | None = None
    spread: float | None = None
    different_values: int | None = None
    is_unique: bool = False
    unit: str | None = None

    @property
    def varies(self) -> bool:
        """Whether it holds different numbers."""
        return bool(self.spread)

    @property
    def is_sparse(self) -> bool:
        """Whether numbers are missing from most rows."""
        return self.different_values is None and self.missing > 0.5


@dataclass(frozen=True)
class Description:
    """What ``vanishing info`` says of a table.

    ``n_complete`` rows have no missing number in columns that are not sparse; ``duplicates`` are
    names of columns that hold the same numbers.
    """

    path: str
    where: str
    n_rows: int
    n_complete: int
    columns: list[Column]
    duplicates: list[list[str]]
    strays: Sequence[Stray] = ()

    @property
    def numeric(self) -> list[Column]:
        """The columns of numbers that vary."""
        return [column for column in self.columns if column.varies and not column.is_sparse]

    @property
    def switches(self) -> list[str]:
        """Names of the columns of zeros and ones."""
        return [column.name for column in self.numeric if column.kind == "yes-no"]

    @property
    def orders(self) -> float:
        """Orders of magnitude between the smallest and the largest spread."""
        spreads = [column.spread for column in self.numeric if column.spread]
        return log10(max(spreads) / min(spreads)) if spreads else 0.0

    @property
    def n_terms(self) -> dict[int, int]:
        """Number of terms that a polynomial of the columns has, for each degree."""
        return {degree: count(len(self.numeric), degree) for degree in EXAMPLES}


def describe_table(path: str, reading: Reading) -> Description:
    """Read a table of any columns, and describe them."""
    with working(f"reading {path}"), table_errors():
        opened = open_input(path, reading)
        chosen = choose(opened, reading)
        features, aside = opened.set_texts_aside(chosen.features)
        values = opened.numbers(features) if features else None
        tell(opened, opened.number_notes(chosen.features))
        texts = [j for j in chosen.features if j not in features]
        reasons = dict(zip(texts, (each.reason for each in aside), strict=True))
        units = {j: form.unit for j, form in opened.find_formats(features).items()}
        columns = []
        for j in chosen.features:
            if values is None or j in reasons:
                columns.append(_describe_text(opened, j, reasons[j]))
            else:
                name = opened.shown_names[j]
                numbers = values[:, features.index(j)]
                described = _describe_numbers(name, numbers)
                if have_lost_digits(numbers[:, None])[0]:
                    n_cells = len(set(opened.texts(j).tolist()))
                    if n_cells > len(np.unique(numbers)):  # different cells, equal numbers
                        described = replace(described, kind=ROUNDED, spread=None)
                columns.append(replace(described, unit=units.get(j) or None))
        n_rows = len(opened.texts(texts[0])) if values is None else len(values)
    if values is None:
        return Description(path, opened.where, n_rows, n_rows, columns, [])
    finite = np.isfinite(values)
    n_complete = int(finite[:, finite.mean(axis=0) >= 0.5].all(axis=1).sum())
    duplicates = _find_duplicates([opened.shown_names[j] for j in features], values)
    strays = opened.find_strays(features)
    return Description(path, opened.where, n_rows, n_complete, columns, duplicates, strays)


def _describe_text(opened: OpenTable, j: int, reason: str) -> Column:
    cells = opened.texts(j).tolist()
    different = set(cells) - {""}
    kind = reason.partition(",")[0]
    is_date = kind == "date" and different  # written so that their order is that of texts
    return Column(
        opened.shown_names[j],
        kind,
        cells.count("") / max(len(cells), 1),
        min(different) if is_date else None,
        max(different) if is_date else None,
        different_values=len(different),
        is_unique=len(different) == len(cells),
    )


def _describe_numbers(name: str, values: FloatArray) -> Column:
    known = values[np.isfinite(values)]
    missing = 1 - len(known) / max(len(values), 1)
    if not len(known):
        return Column(name, "empty", missing)
    low, high = float(known.min()), float(known.max())
    kind = "number"
    if low == high:
        kind = "constant"
    elif set(np.unique(known).tolist()) == {0.0, 1.0}:
        kind = "yes-no"
    elif np.array_equal(known, np.round(known)):
        kind = "whole number"
    with np.errstate(over="ignore", invalid="ignore"):
        spread = 0.0 if low == high else float(np.std(known))
    return Column(name, kind, missing, low, high, spread if isfinite(spread) else None)


def _find_duplicates(names: Sequence[str], values: FloatArray) -> list[list[str]]:
    """Group columns that hold the same numbers and lack the same cells; constants do not count."""
    groups: dict[bytes, list[str]] = {}
    for name, column in zip(names, values.T, strict=True):
        known = column[np.isfinite(column)]
        if len(known) and known.min() < known.max():
            # -0 is the same number as 0, and a gap is a gap.
            same = np.where(np.isnan(column), np.nan, column + 0.0)
            groups.setdefault(same.tobytes(), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


# --- What is said about it ------------------------------------------------------------------------


def suggest(found: Description) -> list[tuple[str, str]]:
    """Return commands to run on a table, and what each does."""
    table = "table.csv" if found.path == PIPE else shlex.quote(found.path)
    names = [column.name for column in found.columns if column.is_unique]
    id_option = f" --id {shlex.quote(names[0])}" if names else ""
    if len(found.numeric) < 2:
        return []
    suggested = [
        (f"vanishing laws {table}", "equations that the columns obey"),
        (f"vanishing check {table}{id_option}", "cells that break them"),
    ]
    drop = f" --drop {shlex.quote(','.join(found.switches))}" if found.switches else ""
    if found.n_complete:
        suggested += [
            (f"vanishing detect {table}{id_option}", "rows unlike the others"),
            (f"vanishing fit {table}{drop}", "a model of all equations"),
        ]
    return suggested


def remarks(found: Description) -> list[str]:
    """Return sentences about typos, units, duplicates, missing cells and the number of rows."""
    said = [
        f"Row {each.row}, {each.column}: {each.text!r} is not a number and is treated as missing."
        for each in found.strays[:MOST_NAMED]
    ]
    if len(found.strays) > MOST_NAMED:
        said.append(f"{len(found.strays) - MOST_NAMED} more cells are not numbers.")
    if found.orders >= 1:
        said.append("The columns differ in size. That is fine: each is scaled first.")
    if rounded := [column.name for column in found.columns if column.kind == ROUNDED]:
        said.append(
            f"The numbers of {' and '.join(map(repr, rounded))} differ in digits that "
            "floating-point numbers do not have; subtract a constant from them."
        )
    for same in found.duplicates:
        first, *others = map(repr, same)
        said.append(f"{' and '.join(others)} duplicate{'s' * (len(others) == 1)} {first}.")
    if found.switches:
        names = " and ".join(map(repr, found.switches))
        said.append(f"Leave the yes-no column{'s' * (len(found.switches) > 1)} {names} out of fit.")
    if sparse := [column.name for column in found.columns if column.is_sparse]:
        said.append(
            f"Most of {' and '.join(map(repr, sparse))} is missing; such columns are left out."
        )
    if found.n_complete < found.n_rows:
        n_missing = found.n_rows - found.n_complete
        said.append(
            f"Numbers are missing from {n_missing} of {found.n_rows} rows: check fills in those "
            "that the laws determine, the other commands leave the rows out."
        )
    if not found.numeric:
        said.append("No column has numbers that vary, so there is no equation to find.")
        return said
    n_rows = found.n_complete
    enough = [each for each, n_terms in found.n_terms.items() if have_enough_rows(n_rows, n_terms)]
    rows = f"{count_things(n_rows, 'complete row')} {'is' if n_rows == 1 else 'are'}"
    if n_rows < FEWEST_EXACT_ROWS:
        said.append(f"{rows} too few to find equations; at least {FEWEST_EXACT_ROWS} are needed.")
    elif not enough:
        columns = count_things(len(found.numeric), "column")
        said.append(
            f"{rows} too few to fit all equations of {columns} (fit), but enough to look for short "
            "ones (laws, check)."
        )
    else:
        degree = max(enough)
        said.append(f"{rows} enough to fit equations up to degree {degree}, {EXAMPLES[degree]}.")
    return said


def show_description(found: Description) -> None:
    """Print a table of the columns, what there is to say, and what to run."""
    kinds = Counter(column.kind for column in found.columns)
    listed = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    size = f"{count_things(found.n_rows, 'row')}, {count_things(len(found.columns), 'column')}"
    say(f"{found.where}: {size}")
    titles = ("column", "kind", "from", "to", "spread", "missing")
    rows = [_row(column) for column in found.columns[:MOST_SHOWN_COLUMNS]]
    out().print(make_table(titles, rows, left=("column", "kind"), unbroken=titles[1:]))
    if (n_left := len(found.columns) - MOST_SHOWN_COLUMNS) > 0:
        say(f"... and {n_left} more ({listed}); --json lists them all")
    say()
    for sentence in remarks(found):
        say(fit_width(sentence))
    if suggested := suggest(found):
        say("\ntry:")
        width = max(len(command) for command, _ in suggested)
        for command, what in suggested:
            say(f"  {command:{width}}   # {what}")


def _row(column: Column) -> tuple[str, ...]:
    missing = f"{100 * column.missing:.{1 if 10 * column.missing < 1 else 0}f} %"
    kind = f"{column.kind}, {column.unit}" if column.unit else column.kind
    if column.different_values is not None:
        kind += f", {column.different_values} different"
    low, high = map(_short, (column.low, column.high))
    spread = significant(column.spread, 3).replace("\u2212", "-") if column.spread else ""
    return column.name, kind, low, high, spread, missing if column.missing else ""


def _short(value: float | str | None) -> str:
    """Write a date as it is, whole numbers in full, and others with five digits."""
    if value is None or isinstance(value, str):
        return (value or "")[: len("2026-01-31")]
    if value == round(value) and abs(value) < MOST_IN_FULL:
        return str(int(value))
    # At least two decimals of what is written without a power of ten.
    digits = max(5, floor(log10(abs(value))) + 3) if abs(value) < MOST_IN_FULL else 5
    return significant(value, digits).replace("\u2212", "-")


def description_record(found: Description) -> dict[str, Any]:
    """Return a description, for JSON."""
    return {
        "table": found.where,
        "rows": found.n_rows,
        "complete_rows": found.n_complete,
        "columns": [asdict(column) for column in found.columns],
        "orders_of_magnitude": found.orders,
        "duplicates": found.duplicates,
        "not_numbers": [each._asdict() for each in found.strays],
        "terms": {str(degree): n for degree, n in found.n_terms.items()},
        "remarks": remarks(found),
        "commands": [command for command, _ in suggest(found)],
    }
