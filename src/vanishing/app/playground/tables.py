"""Tables of users: their laws and the cells that break them, and columns to make points of."""

import base64
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vanishing.app.playground.requests import RefusalError
from vanishing.app.report import write_laws_report
from vanishing.app.wording import LONGEST_FORMULA_NAME, as_sentence
from vanishing.arrays.namespace import FloatArray
from vanishing.data.csv_files import OpenTable, TableError
from vanishing.data.source import too_large_to_square
from vanishing.data.whole_tables import Table, open_table, take_columns
from vanishing.equations.text import as_given
from vanishing.laws.check import Check, Fix
from vanishing.laws.discovery import discover
from vanishing.laws.domains import write_domains
from vanishing.laws.law import Law
from vanishing.laws.laws import Laws
from vanishing.rules import Rules, write_rules

#: What to do about an error of the reader, on a page.
REMEDIES = {
    "dash": "if dashes are missing values, empty these cells",
    "decimal": "if that is wrong, write the numbers without thousands separators",
    "delimiter": "correct the row and open the file again",
    "encoding": "save the file as UTF-8",
    "format": "save the table as CSV or as an Excel workbook",
    "number": "correct it, or use another unit",
    "text": "leave such columns out of the file",
}
#: Rows that are shown besides the broken ones, and broken rows that are explained: what a browser
#: scrolls without a delay.
MOST_TABLE_ROWS, MOST_FINDINGS = 200, 200
#: Characters of a text in a cell, which must not push the other columns out of the window.
LONGEST_TEXT = 60
#: Decimals up to which the numbers of a column are written with as many each.
TABLE_DECIMALS = 6
#: Seconds between two reports of progress: what people see as motion.
PAUSE = 0.1

Report = Callable[[dict[str, Any]], object]


def find_laws(*, table: str, most_columns: int, report: Report) -> dict[str, Any]:
    """Find the laws of a table, the content of a file in base64, and the cells that break them.

    ``report`` is called with the step of the work, "search" or "check", the share of it that is
    done, and the number of laws found so far.
    """
    read = _read(base64.b64decode(table), most_columns)
    unsaid = replace(read, notes=())  # the page shows them in words of its own
    last = 0.0

    def show(step: str, share: float, found: int, *, now: bool = False) -> None:
        nonlocal last
        if now or time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            report({"step": step, "share": float(share), "found": found})

    # No progress before the search begins: a table that is refused has a status of its own.
    with _refusals():
        laws = discover(unsaid, callback=lambda found, share: show("search", share, found))
    n_laws, n_rows = len(laws), len(read)
    show("check", 0.0, n_laws, now=True)
    check = laws.check(unsaid, callback=lambda n: show("check", n / n_rows, n_laws))
    return _describe(read, laws, check)


# --- From the bytes of a file to columns ----------------------------------------------------------


def _read(content: bytes, most_columns: int) -> Table:
    with _refusals():
        opened = open_table(content, where="the table")
        if opened.n_columns > most_columns:
            expected = f"a table of at most {most_columns} columns"
            remedy = "Keep columns that may be related."
            raise RefusalError(413, "too-many-columns", expected, f"{opened.n_columns}", remedy)
        return _take_columns(opened)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn an error about the table into a refusal."""
    try:
        yield
    except TableError as error:
        raise _bad_table(error.problem, error.remedy) from error
    except ImportError as error:  # a package that reads this format
        raise _bad_table(str(error)) from error


def _bad_table(problem: str, remedy: str = "") -> RefusalError:
    helps = REMEDIES.get(remedy, "correct the file and open it again")
    message = as_sentence(f"{problem}; {helps}" if remedy else problem)
    expected = "a table with columns of numbers"
    return RefusalError(422, "bad-table", expected, problem, as_sentence(helps), message=message)


def _take_columns(opened: OpenTable) -> Table:
    """Read all columns, by names that are all different."""
    notes = _name_columns(opened)
    table = take_columns(opened)
    texts = dict(table.texts)
    for j in opened.index:
        texts = {opened.shown_names[j]: table.row_ids, **texts}
    values = np.where(np.isinf(table.values), np.nan, table.values)
    table = replace(table, values=values, texts=texts).tell(*notes)
    named_by = _find_row_names(table)
    return replace(table, row_ids=None if named_by is None else texts[named_by])


def _find_row_names(table: Table) -> str | None:
    """Return the column of texts, if there is one, that has a short name for each row."""
    for name, texts in table.texts.items():
        is_short = all(0 < len(text.strip()) <= LONGEST_FORMULA_NAME for text in texts)
        if is_short and len(set(texts)) == len(table):
            return name
    return None


def _name_columns(opened: OpenTable) -> list[str]:
    """Give each column a name of its own, and return what there is to say about that."""
    notes = []
    names: list[str] = []
    for j, name in enumerate(opened.shown_names):
        written = name if name.strip() else f"column {j + 1}"
        names.append(written if written not in names else f"{written} (column {j + 1})")
    if len(set(names)) < len(names):  # somebody calls a column "a (column 3)"
        names = [f"column {j + 1}" for j in range(len(names))]
    if twice := [name for name, n in Counter(opened.shown_names).items() if n > 1 and name]:
        notes.append(f"Several columns are called {twice[0]!r}: they are distinguished by number.")
    if opened.names is not None:  # None says that the first line holds numbers
        opened.names = tuple(names)
    return notes


# --- Columns, as the page of points takes them ----------------------------------------------------

#: Rows that are enough for a picture; more points hide each other.
PICTURE_ROWS = 2000
#: Different values of a column that make groups: as many as a list shows without scrolling.
MOST_GROUPS = 12


def read_columns(*, table: str, most_columns: int, most_rows: int) -> dict[str, Any]:
    """Read the columns of a table, the content of a file in base64.

    Of a larger table, rows at regular distances are taken. A column has numbers if it is numeric,
    and groups if it has few values: "members" are the places of each row's value among them.
    """
    read = _read(base64.b64decode(table), most_columns)
    names = read.shown_names
    if len(names) < 2:
        raise _bad_table(f"Two columns of numbers are needed, but only {names[0]!r} is one")
    if (place := too_large_to_square(np.nan_to_num(read.values))) is not None:
        name, row = names[place[1]], read.row_name(place[0])
        problem = f"{name!r} is {read.values[place]:.3g} in row {row}, too large to be squared"
        raise _bad_table(problem, "number")
    n_rows = len(read)
    n_taken = min(n_rows, most_rows, PICTURE_ROWS)
    rows = np.arange(n_taken) * n_rows // n_taken
    columns = []
    for name in read.columns:
        numbers = None
        if name in names:
            values = read.values[rows, names.index(name)]
            numbers = [None if np.isnan(value) else value for value in values.tolist()]
            texts = ["" if value is None else as_given(value) for value in numbers]
        else:
            texts = [_shorten(read.texts[name][row]) for row in rows.tolist()]
        groups = sorted(set(texts))
        if not 1 < len(groups) <= min(MOST_GROUPS, n_taken // 2):
            groups = []
        members = [groups.index(text) for text in texts] if groups else []
        columns.append({"name": name, "numbers": numbers, "groups": groups, "members": members})
    return {"nRows": n_rows, "columns": columns}


# --- What the page of laws shows ------------------------------------------------------------------


def _describe(read: Table, laws: Laws, check: Check) -> dict[str, Any]:
    check = check.ranked()
    findings: list[dict[str, Any]] = [
        {
            "row": found.row,
            "kind": kind,
            "sentence": as_sentence(sentence),
            "laws": found.laws,
            "totalOf": found.total_of,
            "fixes": _list_fixes(found.fixes),
            "alternatives": _list_fixes(found.alternatives),
        }
        for kind, _, part in check.sections()
        for found, sentence in zip(part, part.sentences(), strict=True)
    ][:MOST_FINDINGS]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        write_laws_report(page, laws, check, X=read, title="Laws of a table")
        report = page.read_text(encoding="utf-8")
    rules = Rules.from_laws(laws)
    first = min(MOST_TABLE_ROWS, len(read))
    numbers = [*range(first), *sorted({f["row"] for f in findings if f["row"] >= first})]
    return {
        "summary": laws.summary(),
        "verdict": check.verdict() if len(laws) or check.n_totals or check.rows else "",
        "notes": [
            *map(as_sentence, read.sentences(REMEDIES)),
            *write_domains(laws.domains),
            *(f"{note}." for note in laws.notes),
            *(f"A file of rules cannot say {text}." for text in rules.unsaid),
        ],
        "nRows": len(read),
        "nBroken": int(check.broken.sum()),
        "coverage": check.coverage(),
        "nFindings": len(check),
        "namedBy": None if read.row_ids is None else _find_row_names(read),
        "columns": [{"name": name, "isNumber": name in read.shown_names} for name in read.columns],
        "laws": [_law(law, laws) for law in laws],
        "findings": findings,
        "numbers": numbers,
        "rowNames": [read.row_name(row) for row in numbers],
        "rows": _rows(read, numbers),
        "report": report,
        "rules": write_rules(rules) if len(rules) else "",
    }


def _law(law: Law, laws: Laws) -> dict[str, Any]:
    # One of several numbers is written as a text: tax/net is 0, 0.07 or 0.19.
    left, right = (
        [
            {"isNegative": term.is_negative, "number": term.number, "powers": term.powers}
            for term in side
        ]
        for side in (((), ()) if law.choices is not None else law.sides)
    )
    # Of a column that is computed, such as the previous balance by account, those it comes from.
    sources = [name for each in laws.derived if each.name in law.columns for name in each.needed]
    return {
        "text": str(law),
        "where": "" if law.where is None else str(law.where),
        "left": left,
        "right": right,
        "columns": list(dict.fromkeys([*law.columns, *sources])),
        "evidence": law.evidence,
    }


def _rows(read: Table, numbers: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the cells of some rows as text."""
    columns: list[Iterable[str]] = []
    strays = read.stray_texts
    for name in read.columns:
        if name in read.texts:
            columns.append([_shorten(read.texts[name][row]) for row in numbers])
        else:
            written = _write_numbers(read.values[numbers, read.shown_names.index(name)])
            cells = zip(numbers, written, strict=True)
            columns.append([_shorten(strays.get((row, name), text)) for row, text in cells])
    return list(zip(*columns, strict=True))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _write_numbers(column: FloatArray) -> list[str]:
    """Write numbers with as many decimals each, where few are enough for all; gaps are empty."""
    written = ["" if np.isnan(value) else as_given(float(value)) for value in column]
    decimals = max((len(text.partition(".")[2]) for text in written), default=0)
    if decimals > TABLE_DECIMALS or any("e" in text for text in written):
        return written
    return [
        text and f"{value:.{decimals}f}".replace("-", "−")
        for text, value in zip(written, column.tolist(), strict=True)
    ]


def _list_fixes(fixes: Iterable[Fix]) -> list[dict[str, str]]:
    found = []
    for fix in fixes:
        value, other = fix.written
        is_gap = np.isnan(fix.value) and not fix.text
        found.append({"column": fix.column, "value": "" if is_gap else value, "fix": other})
    return found
