"""Where the files are that tests read."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
DOCS = ROOT / "docs"
#: Files recorded by earlier versions.
DATA = Path(__file__).parent / "data"


def find_image_sets():
    """Return the folder of MNIST and Fashion-MNIST; skip the test where there is none."""
    beside = ROOT.parent / "shared" / "data"
    folder = Path(os.environ.get("VANISHING_DATA") or beside)
    if not all((folder / name).is_dir() for name in ("mnist", "fashion-mnist")):
        pytest.skip("needs a folder with mnist/ and fashion-mnist/ in VANISHING_DATA")
    return folder
