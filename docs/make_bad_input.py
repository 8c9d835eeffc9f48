"""Write ``docs/bad_input.md``: every bad input that is tried, and its answer.

Run from the root of the repository as ``python -m docs.make_bad_input``.
"""

from pathlib import Path

from tests.support.bad_inputs import CASES, answer, write_page

PAGE = Path(__file__).parent / "bad_input.md"

if __name__ == "__main__":
    PAGE.write_text(write_page({case.name: answer(case).text for case in CASES}), encoding="utf-8")
