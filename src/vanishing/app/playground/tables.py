"""Tables of users: their laws and the cells that break them, and columns to make points of."""

import base64
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vanishing.app.playground.requests import RefusalError
from vanishing.app.report import write_laws_report
from vanishing.arrays.namespace import FloatArray
from vanishing.data.csv_files import OpenTable, SetAside, Stray, TableError
from vanishing.data.whole_tables import MAGIC, Table, open_table
from vanishing.equations.text import Term, as_given
from vanishing.laws.check import BrokenRow, Check, Fix
from vanishing.laws.law import Law
from vanishing.laws.laws import Laws, discover

#: What to do about an error of the reader, on a page.
REMEDIES = {
    "dash": "if dashes are missing values, empty these cells",
    "decimal": "if that is wrong, write the numbers without thousands separators",
    "delimiter": "correct the row and open the file again",
    "encoding": "save the file as UTF-8",
    "format": "save the table as CSV, or pass the file to vanishing check on the command line",
    "number": "correct it, or use another unit",
    "text": "leave such columns out of the file",
}
#: Numbers beyond it are refused.
LARGEST_NUMBER = 1e50
#: Rows that are shown besides the broken ones, and broken rows that are explained, at most.
MOST_ROWS, MOST_FINDINGS = 500, 200
#: Characters of a text that are shown, and decimals of a number.
LONGEST_TEXT, MOST_DECIMALS = 60, 6
#: Characters of a name of a row.
LONGEST_NAME = 24
#: Seconds between two reports of progress, at least.
PAUSE = 0.1

Report = Callable[[dict[str, Any]], object]


def find_laws(*, table: str, most_columns: int, report: Report) -> dict[str, Any]:
    """Find the laws of a table, and the cells that break them.

    Parameters
    ----------
    table : str
        Content of a CSV file in base64.
    most_columns : int
    report : callable
        Called with the "step" of the work, "search" or "check", the "share" of it that is done, and
        the number of laws "found" so far.

    Returns
    -------
    dict
        A "summary", "notes", "columns", "laws", "findings" (a sentence for each broken row, and its
        cells), "rows" of the table as text, by the "numbers" of these rows, and a "report" in HTML.
    """
    read = _read(base64.b64decode(table), most_columns)
    rows = Table(
        read.values, tuple(read.names), np.array(read.row_names), read.set_aside, strays=read.strays
    )
    progress = _Progress(report)
    # No progress before the search begins: a table that is refused has a status of its own.
    with _refusals():
        laws = discover(rows, callback=lambda found, share: progress("search", share, found=found))
    progress("check", 0.0, found=len(laws), now=True)
    check = laws.check(
        rows, callback=lambda n: progress("check", n / len(read.values), found=len(laws))
    )
    return _describe(read, laws, check)


class _Progress:
    """Reports progress, but not too often."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.last = 0.0

    def __call__(self, step: str, share: float, *, found: int = 0, now: bool = False) -> None:
        if now or time.monotonic() - self.last >= PAUSE:
            self.last = time.monotonic()
            self.report({"step": step, "share": float(share), "found": found})


# --- From the bytes of a file to columns ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table as the page shows it.

    Parameters
    ----------
    columns : list of str
        Names of all columns, all different.
    features : list of int
        The numeric ones.
    values : array of shape (n_rows, n_features)
        NaN where a value is missing.
    texts : dict of int to sequence of str
        Cells of the columns that are not numeric.
    row_names : sequence of str
        What the rows are called.
    named_by : str or None
        The column that names them; None where they are counted from 1.
    set_aside : tuple of SetAside
    strays : tuple of Stray
        Cells of the numeric columns that hold something else.
    notes : list of str
    """

    columns: list[str]
    features: list[int]
    values: FloatArray
    texts: dict[int, Sequence[str]]
    row_names: Sequence[str]
    named_by: str | None
    set_aside: tuple[SetAside, ...]
    strays: tuple[Stray, ...]
    notes: list[str]

    @property
    def names(self) -> list[str]:
        """Names of the numeric columns."""
        return [self.columns[j] for j in self.features]


def _read(content: bytes, most_columns: int) -> ReadTable:
    if content[:4] in MAGIC:
        raise _bad_table("The file is not text but a spreadsheet or a binary table", "format")
    with _refusals():
        opened = open_table(content, where="the table", format="csv")
        if opened.n_columns > most_columns:
            raise RefusalError(
                413,
                "too-many-columns",
                expected=f"a table of at most {most_columns} columns",
                got=f"{opened.n_columns}",
                remedy="Keep columns that may be related.",
            )
        return _take_columns(opened)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn an error about the table into a refusal."""
    try:
        yield
    except TableError as error:
        raise _bad_table(error.problem, error.remedy) from error


def _bad_table(problem: str, remedy: str = "") -> RefusalError:
    helps = REMEDIES.get(remedy, "correct the file and open it again")
    return RefusalError(
        422,
        "bad-table",
        expected="a CSV file with columns of numbers",
        got=problem,
        remedy=_sentence(helps),
        message=_sentence(f"{problem}; {helps}" if remedy else problem),
    )


def _take_columns(opened: OpenTable) -> ReadTable:
    every = list(range(opened.n_columns))
    columns, notes = _name_columns(opened)
    index = [j for j in opened.index if j in every]
    features, set_aside = opened.set_texts_aside([j for j in every if j not in index])
    if not features:
        raise _bad_table("The table has no column of numbers")
    with np.errstate(invalid="ignore"):
        values = opened.numbers(features)
    said = (*opened.layout_notes, *opened.number_notes(features))
    notes = [*(_sentence(each.with_remedies(REMEDIES)) for each in said), *notes]
    values = np.where(np.isinf(values), np.nan, values)
    texts: dict[int, Sequence[str]] = {
        j: opened.texts(j).tolist() for j in every if j not in features
    }
    names = [str(row) for row in range(1, len(values) + 1)]
    named_by = None
    for j in (*index, *texts):
        # In place of numbers, if each row has a short name of its own.
        is_short = all(0 < len(text.strip()) <= LONGEST_NAME for text in texts[j])
        if is_short and len(set(texts[j])) == len(values):
            names, named_by = list(texts[j]), columns[j]
            break
    aside = tuple(
        each._replace(name=columns[j])
        for j, each in zip((j for j in texts if j not in index), set_aside, strict=True)
    )
    strays = tuple(
        each._replace(column=columns[j]) for j in features for each in opened.find_strays([j])
    )
    return ReadTable(columns, features, values, texts, names, named_by, aside, strays, notes)


def _name_columns(opened: OpenTable) -> tuple[list[str], list[str]]:
    """Return a name for each column, all different, and what there is to say about them."""
    notes = []
    names: list[str] = []
    for j, name in enumerate(opened.shown_names):
        written = name if name.strip() else f"column {j + 1}"
        names.append(written if written not in names else f"{written} (column {j + 1})")
    if len(set(names)) < len(names):  # somebody calls a column "a (column 3)"
        names = [f"column {j + 1}" for j in range(len(names))]
    if twice := [name for name, n in Counter(opened.shown_names).items() if n > 1 and name]:
        notes.append(f"Several columns are called {twice[0]!r}: they are distinguished by number.")
    return names, notes


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


# --- Columns, as the page of points takes them ----------------------------------------------------

#: Rows that are enough for a picture; different values of a column that make groups, at most.
PICTURE_ROWS, MOST_GROUPS = 2000, 12


def read_columns(*, table: str, most_columns: int, most_rows: int) -> dict[str, Any]:
    """Read the columns of a table.

    Parameters
    ----------
    table : str
        Content of a CSV file in base64.
    most_columns : int
    most_rows : int
        Of a larger table, rows at regular distances are taken.

    Returns
    -------
    dict
        "nRows" of the whole table, and "columns". Each has a "name", "numbers" (None if it is not
        numeric; and None for a missing one), and "groups": its values, if they are few, with the
        place of each row's value among them, "members".
    """
    read = _read(base64.b64decode(table), most_columns)
    if len(read.features) < 2:
        raise _bad_table(f"Two columns of numbers are needed, but only {read.names[0]!r} is one")
    _refuse_huge(read)
    n_rows = len(read.values)
    n_taken = min(n_rows, most_rows, PICTURE_ROWS)
    rows = np.arange(n_taken) * n_rows // n_taken
    columns = []
    for j, name in enumerate(read.columns):
        numbers = None
        if j in read.features:
            values = read.values[rows, read.features.index(j)]
            numbers = [None if np.isnan(value) else value for value in values.tolist()]
            texts = ["" if value is None else as_given(value) for value in numbers]
        else:
            texts = [_shorten(read.texts[j][row]) for row in rows.tolist()]
        groups = sorted(set(texts))
        if not 1 < len(groups) <= min(MOST_GROUPS, n_taken // 2):
            groups = []
        places = {text: k for k, text in enumerate(groups)}
        members = [places[text] for text in texts] if groups else []
        columns.append({"name": name, "numbers": numbers, "groups": groups, "members": members})
    return {"nRows": n_rows, "columns": columns}


def _refuse_huge(read: ReadTable) -> None:
    """Refuse numbers whose differences overflow."""
    huge = np.argwhere(np.abs(read.values) > LARGEST_NUMBER)
    if len(huge):
        row, j = huge[0].tolist()
        raise _bad_table(
            f"{read.names[j]!r} is {read.values[row, j]:.3g} in row {read.row_names[row]}, which "
            f"is more than {LARGEST_NUMBER:g}",
            "number",
        )


# --- What the page of laws shows ------------------------------------------------------------------


def _describe(read: ReadTable, laws: Laws, check: Check) -> dict[str, Any]:
    found = {each.kind: each.check for each in check.sections()}
    findings = [
        _finding(row, kind, _sentence(sentence))
        for kind, part in found.items()
        for row, sentence in zip(part, part.sentences(), strict=True)
    ][:MOST_FINDINGS]
    first = min(MOST_ROWS, len(read.values))
    numbers = [*range(first), *sorted({f["row"] for f in findings if f["row"] >= first})]
    return {
        "summary": laws.summary(),
        "notes": [*read.notes, *(f"{note}." for note in laws.notes)],
        "nRows": len(read.values),
        "nBroken": int(check.broken.sum()),
        "nTexts": len(found.get("text", ())),
        "nFilled": len(found.get("missing", ())),
        "nIncomplete": len(check.incomplete),
        "coverage": check.coverage(),
        "nFindings": len(check),
        "namedBy": read.named_by,
        "columns": [
            {"name": name, "isNumber": j in read.features} for j, name in enumerate(read.columns)
        ],
        "laws": [_law(law) for law in laws],
        "findings": findings,
        "numbers": numbers,
        "rowNames": [read.row_names[row] for row in numbers],
        "rows": _rows(read, numbers),
        "report": _report(laws, check),
    }


def _report(laws: Laws, check: Check) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        write_laws_report(path, laws, check, title="Laws of a table")
        return path.read_text(encoding="utf-8")


def _law(law: Law) -> dict[str, Any]:
    left, right = law.sides
    return {
        "text": str(law),
        "left": [_term(term) for term in left],
        "right": [_term(term) for term in right],
        "columns": law.columns,
        "evidence": law.evidence,
    }


def _term(term: Term) -> dict[str, Any]:
    return {"isNegative": term.is_negative, "number": term.number, "powers": term.powers}


def _finding(found: BrokenRow, kind: str, sentence: str) -> dict[str, Any]:
    return {
        "row": found.row,
        "kind": kind,
        "sentence": sentence,
        "laws": found.laws,
        "fixes": [_fix(fix) for fix in found.fixes],
        "alternatives": [_fix(fix) for fix in found.alternatives],
    }


def _fix(fix: Fix) -> dict[str, Any]:
    value, other = fix.written
    return {
        "column": fix.column,
        "value": "" if np.isnan(fix.value) and not fix.text else value,
        "fix": other,
    }


def _rows(read: ReadTable, numbers: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the cells of some rows as text."""
    columns: list[Iterable[str]] = []
    for j, name in enumerate(read.columns):
        if j in read.texts:
            columns.append([_shorten(read.texts[j][row]) for row in numbers])
        else:
            written = _write_numbers(read.values[numbers, read.features.index(j)])
            texts = {each.row - 1: each.text for each in read.strays if each.column == name}
            columns.append(
                [_shorten(texts.get(row, text)) for row, text in zip(numbers, written, strict=True)]
            )
    return list(zip(*columns, strict=True))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _write_numbers(column: FloatArray) -> list[str]:
    """Write numbers with as many decimals each, where few are enough for all; gaps are empty."""
    written = ["" if np.isnan(value) else as_given(float(value)) for value in column]
    decimals = max((len(text.partition(".")[2]) for text in written), default=0)
    if decimals > MOST_DECIMALS or any("e" in text for text in written):
        return written
    return [
        text and f"{value:.{decimals}f}".replace("-", "−")
        for text, value in zip(written, column.tolist(), strict=True)
    ]
