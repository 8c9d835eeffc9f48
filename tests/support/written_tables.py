"""Ways to write numbers, and what is read; ``docs/make_reading.py`` writes them as a page.

``CASES`` holds everything that is tried: a text file each, as people and programs in many places
write it.
"""

import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.bad_inputs import _escape
from vanishing.data import Table, read_table

#: More rows than the beginning of a file, by which its layout is guessed.
MANY = 20_000
#: Rows that the page shows in full, at most.
SHORT = 6


@dataclass(frozen=True)
class Case:
    """A text file: what it is about, its first line, its rows, and how they become bytes.

    ``before`` and ``after`` are rows that stand ``MANY`` times above and below the others.
    """

    section: str
    what: str
    first: str
    rows: tuple[str, ...]
    encoding: str = "utf-8"
    before: str = ""
    after: str = ""

    @property
    def name(self) -> str:
        return f"{self.section}: {self.what}"

    @property
    def content(self) -> bytes:
        lines = [self.first, *[self.before] * MANY * bool(self.before), *self.rows]
        lines += [self.after] * MANY * bool(self.after)
        return ("\n".join(lines) + "\n").encode(self.encoding)

    @property
    def shown(self) -> str:
        """The lines of the file, for a cell of a table in Markdown."""
        rows = list(map(_code, self.rows))
        if len(rows) > SHORT:
            rows[2:-1] = [f"… and so on, {len(rows)} rows"]
        lines = [_code(self.first), *rows]
        if self.before:
            lines.insert(1, f"{MANY:,} times {_code(self.before)}")
        if self.after:
            lines.append(f"{MANY:,} times {_code(self.after)}")
        return "<br>".join(lines)


def _code(text: str) -> str:
    """Return code in which special spaces are seen."""
    if not text:
        return "(empty line)"
    written = "".join(
        char if char.isprintable() else ascii(char)[1:-1] for char in text.replace("|", r"\|")
    )
    return f"`{written}`"


def column(section: str, what: str, *cells: str, delimiter: str = ";", **more: str) -> Case:
    """Make a case of one column, beside one that numbers the rows."""
    rows = [f"{cell}{delimiter}{i}" for i, cell in enumerate(cells, 1)]
    more = {key: value.replace(";", delimiter) for key, value in more.items()}
    return Case(section, what, f"x{delimiter}n", tuple(rows), **more)


def table(section: str, what: str, first: str, *rows: str, **more: str) -> Case:
    return Case(section, what, first, rows, **more)


PLAIN = "Plain numbers"
SIGNS = "Decimal commas and separated thousands"
TOGETHER = "Columns that decide together"
LATE = "Cells that decide late in a long file"
OPEN = "Numbers that may be read either way"
NEGATIVE = "Signs"
UNITS = "Currencies, percents and units"
DIGITS = "Scripts and encodings"
STRAYS = "Missing cells, typos and texts"
LAYOUT = "First lines"

CASES = [
    column(PLAIN, "whole numbers", "1", "20", "300"),
    column(PLAIN, "decimal points", "1.5", "20.25", "0.125"),
    column(PLAIN, "decimal points between commas", "1.361", "2.044", delimiter=","),
    column(PLAIN, "no digit before or after the point", ".5", "2.", "-.25"),
    column(PLAIN, "exponents", "1e3", "2.5E-2", "1.361e+5"),
    column(PLAIN, "exponents with a decimal comma", "1,5e3", "2,5E-2"),
    column(PLAIN, "spaces around numbers", " 1.5 ", "2.5  "),
    column(PLAIN, "a plus sign", "+1.5", "+2.5"),
    column(PLAIN, "sixteen digits", "0.1234567890123456", "1.5"),
    column(PLAIN, "powers of ten as in print", "1.5×10^3", "2.5×10^3"),
    column(PLAIN, "underscores, which only programs read", "1_000", "2_000"),
    column(SIGNS, "decimal commas", "1,5", "20,25", "0,125"),
    column(SIGNS, "English, in quotes", '"1,234.50"', '"12.25"', delimiter=","),
    column(SIGNS, "English, whole, in quotes", '"1,234"', '"920"', '"12,500"', delimiter=","),
    column(SIGNS, "English between semicolons", "1,234.50", "12.25"),
    column(SIGNS, "English, millions", "1,234,567", "920"),
    column(SIGNS, "German", "1.234,50", "12,25"),
    column(SIGNS, "German between tabs", "1.234,50", "12,25", delimiter="\t"),
    column(SIGNS, "German, millions", "1.234.567", "920"),
    column(SIGNS, "French, narrow spaces", "1\u202f234,50", "12,25"),
    column(SIGNS, "French, spaces that do not break", "1\u00a0234,50", "12,25"),
    column(SIGNS, "Swedish, spaces", "1 234,50", "12,25"),
    column(SIGNS, "thin spaces, decimal points", "1\u2009234.50", "12.25"),
    column(SIGNS, "Swiss, apostrophes", "1'234.50", "12.25"),
    column(SIGNS, "Swiss, printed apostrophes", "1\u2019234.50", "12.25"),
    column(SIGNS, "apostrophes, decimal commas", "1'234,50", "12,25"),
    column(SIGNS, "Indian", '"2,23,456.50"', '"1,00,000.00"', '"920.25"', delimiter=","),
    column(SIGNS, "Indian between tabs, whole", "2,23,456", "10,00,000", "920", delimiter="\t"),
    table(
        TOGETHER, "German: prices decide about quantities", "Menge;Preis", "920;1,02", "1.361;6,69"
    ),
    table(
        TOGETHER, "English: prices decide about quantities", "qty;price", "920;1.02", "1,361;6.69"
    ),
    table(TOGETHER, "three decimals in each price", "Menge;Preis", "920;1,020", "1.361;1,301"),
    table(TOGETHER, "a column of its own kind", "a;b;c", "1.5;2.5;3,5", "4.5;5.5;6,25"),
    table(
        TOGETHER, "columns that disagree about a third", "a;b;c", "1.5;2,5;1.361", "4.5;5,5;2.044"
    ),
    column(TOGETHER, "both in one column", "1.361", "6,69", "7,25"),
    column(TOGETHER, "contradiction in one column", "39.250", "40,250"),
    column(TOGETHER, "many of one kind, one of the other", *["39.250", "0.125"] * 20, "40,25"),
    column(LATE, "a comma in row 20,001", "1,500", before="12;0"),
    column(LATE, "a point in row 20,001", "1.500", before="12;0"),
    column(LATE, "German thousands, the decimal comma late", "6,69", before="1.361;0"),
    table(LATE, "the other column decides late", "Menge;Preis", "920;6,69", before="1.361;5"),
    column(LATE, "thousands late", '"1,234.50"', delimiter=",", before="12.25;0"),
    column(LATE, "the deciding cell first", "6,69", after="1.361;0"),
    column(LATE, "a currency late", "$1.50", before="12.25;0"),
    column(LATE, "a typo late", "l2.5", before="12.25;0"),
    table(
        LATE,
        "the first accent of a Windows file late",
        "x;city",
        "2;Orléans",
        before="1;Rome",
        encoding="cp1252",
    ),
    column(OPEN, "semicolons and commas", "1,361", "2,044"),
    column(OPEN, "semicolons and points, all with three decimals", "1.361", "2.044"),
    column(OPEN, "semicolons and points, some without", "920", "1.361"),
    column(OPEN, "tabs and commas", "1,361", "2,044", delimiter="\t"),
    column(OPEN, "tabs and points", "1.361", "2.044", delimiter="\t"),
    column(OPEN, "a typo among thousands", *['"1,000"'] * 50, '"12,34"', delimiter=","),
    column(NEGATIVE, "hyphens", "-1.5", "2.5"),
    column(NEGATIVE, "minus signs", "\u22121.5", "2.5"),
    column(NEGATIVE, "dashes", "\u20131.5", "2.5"),
    column(NEGATIVE, "a minus sign at the end", "1.5-", "2.5"),
    column(NEGATIVE, "parentheses", "(1.50)", "2.50"),
    column(NEGATIVE, "parentheses and a currency", '"($1,234.50)"', '"$12.25"', delimiter=","),
    column(NEGATIVE, "a currency, then parentheses", "$(1.50)", "$2.50"),
    column(NEGATIVE, "a currency, then the sign", "$-1.50", "$2.50"),
    column(NEGATIVE, "two signs", "-(1.5)", "-(2.5)"),
    column(UNITS, "dollars", '"$1,234.50"', '"$12.25"', delimiter=","),
    column(UNITS, "euros", "1.234,50 €", "12,25 €"),
    column(UNITS, "Swiss francs", "CHF 1'234.50", "CHF 12.25"),
    column(UNITS, "crowns", "1 234,50 kr", "12,25 kr"),
    column(UNITS, "rupees", '"₹2,23,456.50"', '"₹920.25"', delimiter=","),
    column(UNITS, "a currency in some cells", "$1.50", "2.50", "$3.50"),
    column(UNITS, "two currencies", "$1.50", "€2.50"),
    column(UNITS, "percents", "12 %", "12.5 %"),
    column(UNITS, "percents without a space", "12%", "12.5%"),
    column(UNITS, "percents in some cells", "12 %", "0.125", "13 %"),
    column(UNITS, "a unit", "1.91 m/s2", "2.5 m/s2"),
    column(UNITS, "a unit without a space", "5kg", "2.5kg"),
    column(UNITS, "degrees", "21.5 °C", "-3 °C"),
    column(UNITS, "two units", "5 kg", "600 g"),
    column(DIGITS, "Arabic digits", "١٢٫٥", "١٬٢٣٤٫٥"),
    column(DIGITS, "Devanagari digits", "१२.५", "१३.२५"),
    column(DIGITS, "wide digits", "１２．５", "－１３．２５"),
    column(DIGITS, "UTF-8 with a byte order mark", "1,5", "2,25", encoding="utf-8-sig"),
    column(DIGITS, "UTF-16", "1,5", "2,25", encoding="utf-16"),
    column(DIGITS, "Windows-1252", "1.234,50 €", "12,25 €", encoding="cp1252"),
    column(STRAYS, "missing cells", "1.5", "", "NA", "n/a", "2.5"),
    column(STRAYS, "dashes among amounts", "$1,250.00", "$ -", "($3.50)", "-", delimiter="\t"),
    column(STRAYS, "dashes among numbers", "1.5", "-", "–", "—", "2.5"),
    column(STRAYS, "nothing but dashes", "-", "-"),
    column(STRAYS, "a typo among numbers", *["1.5", "2.5"] * 6, "l2.5"),
    column(STRAYS, "many texts among numbers", "1.5", "2.5", "low", "high"),
    column(STRAYS, "dates", "2026-01-05", "2026-01-06"),
    column(STRAYS, "German dates", "05.01.2026", "06.01.2026"),
    column(STRAYS, "times", "12:30", "12:45"),
    column(STRAYS, "versions", "1.2.3", "1.2.4"),
    column(STRAYS, "codes", "A12", "A13"),
    column(STRAYS, "truth values", "true", "false", "true"),
    table(LAYOUT, "Excel's hint", "sep=;", "x;n", "1,5;1", "2,5;2"),
    table(LAYOUT, "no names", "1.5,2.5", "0.25,4", "7,0.5"),
    table(LAYOUT, "years above whole numbers", "2019,2020,2021", "5,4,3", "1,8,2"),
    table(LAYOUT, "numbers above fractions", "0,1,2", "0.5,0.25,1.5", "2.5,0.5,3.5"),
    table(LAYOUT, "a text in each row", "x1,1,2", "x2,3,4", "x3,5,7"),
    table(LAYOUT, "years beside names", "country,2019,2020", "Chile,5,4", "Peru,1,8"),
    table(LAYOUT, "a comment with the names", "# x,n", "1.5,1", "2.5,2"),
    table(LAYOUT, "names with a number sign", "# x,# y", "1.5,1", "2.5,2"),
    table(LAYOUT, "a title", "Budget 2026", "", "x;n", "1,5;1", "2,5;2"),
]


# --- what is read ---------------------------------------------------------------------------------


def read(case: Case, folder: Path) -> tuple[Table, list[str]]:
    """Write the file of a case, read it, and return the table and the warnings."""
    path = folder / "table.csv"
    path.write_bytes(case.content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_table(path)
    return found, [str(each.message) for each in caught]


def describe(case: Case) -> tuple[str, str]:
    """Return what is read of a case, and what is said about it, for the page."""
    with tempfile.TemporaryDirectory() as folder:
        found, warned = read(case, Path(folder))
    numbers = [
        f"{name}: {_list(column)}"
        for name, column in zip(found.shown_names, found.values.T.tolist(), strict=True)
        if name != "n"
    ]
    numbers += [f"{each.name}: not read" for each in found.set_aside]
    said = ["Warning: " * note.is_doubtful + note.text.rstrip(".") + "." for note in found.notes]
    assert len(warned) == sum(note.is_doubtful for note in found.notes)
    said += [f"{each.name}: {each.reason}." for each in found.set_aside]
    said += [f"row {each.row}: {each.text!r} is not a number." for each in found.strays]
    return "<br>".join(map(_escape, numbers)), "<br>".join(map(_escape, said))


def _list(values: Sequence[float]) -> str:
    written = ["missing" if each != each else f"{each:.16g}" for each in values]
    if len(written) > SHORT:
        written[2:-1] = ["…"]
    return ", ".join(written)


# --- the page -------------------------------------------------------------------------------------

INTRODUCTION = """\
# How numbers are read

Text files, text cells of Excel sheets and text columns of frames may contain numbers as people
write them. Each line of this page is a file, with what is read and what is said about it.
`tests/data/test_ways_to_write_numbers.py` reads every file on this page in all ways, and `python -m
docs.make_reading` writes the page from the results.

A point or a comma is a decimal sign if no other reading explains a cell: `6,69`, `0,125`,
`1.234,50`. Such cells decide for their column, and all columns together decide for columns without
such cells, such as `1.361`. All rows count: if a later row contradicts the first ones, the file is
read again. If the cells leave it open, the delimiter decides: between semicolons or tabs, a comma
is a decimal sign; between commas, `"1,361"` in quotes is a thousand. If two cells of a column
contradict each other, as `39.250` and `40,250` do, the column is not read.

Spreadsheets show zero as a dash. In a column of numbers, a dash is read as 0; unless currencies,
separated thousands or parentheses show that the table contains accounts, this gives a warning.

What was assumed is said: in notes on the command line, in `Laws.notes` of `discover`, and as a
`UserWarning` elsewhere if the cells allow another reading. `--decimal ,` or `--decimal .` on the
command line, and `decimal` of `read_table` and `as_source` in Python, decide it; likewise
`--header`, `--no-header` and `header`. `discover` and `Laws.check` take what `read_table` returns.
"""


def write_page(described: dict[str, tuple[str, str]]) -> str:
    """Return the page, from what is read of the cases, by their names."""
    lines = [INTRODUCTION]
    section = ""
    for case in CASES:
        if case.section != section:
            section = case.section
            lines += [f"\n## {section}\n", "| | File | Read | Said |", "|---|---|---|---|"]
        lines.append(page_line(case, described[case.name]))
    return "\n".join(lines) + "\n"


def page_line(case: Case, described: tuple[str, str]) -> str:
    """Return a line of a table in Markdown."""
    return f"| {case.what} | {case.shown} | {' | '.join(described)} |"
