"""Write ``docs/reading.md``: ways to write numbers, what is read, and what is said about it.

Run from the root of the repository as ``python -m docs.make_reading``.
"""

from pathlib import Path

from tests.support.written_tables import CASES, describe, write_page

PAGE = Path(__file__).parent / "reading.md"

if __name__ == "__main__":
    PAGE.write_text(write_page({case.name: describe(case) for case in CASES}), encoding="utf-8")
