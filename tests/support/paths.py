"""Where the files are that tests read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
DOCS = ROOT / "docs"
#: Files recorded by earlier versions.
DATA = Path(__file__).parent / "data"
