"""What the documentation is made with: links are followed, the drawing has the true layers."""

import re
import sys
import tomllib

import pytest
from tests.support.paths import DOCS, ROOT

sys.path.insert(0, str(DOCS / "_ext"))

from gallery_order import ORDER, place
from links import broken_links
from measured import campaigns, speed_table, tables_summary

from vanishing import levels
from vanishing.laws import candidate, cells, model, soundness


def write(folder, **pages):
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")


def test_links_that_lead_somewhere(tmp_path):
    (tmp_path / "curve 1.png").write_bytes(b"")
    write(
        tmp_path,
        index='<h1 id="top"></h1><a href="other.html#b%C3%A9zout">x</a><a href="#top">y</a>'
        '<img src="curve%201.png" srcset="curve%201.png 2x"><a href="https://example.org/#no">z</a>',
        other='<h2 id="bézout"></h2><a href="index.html?v=1">x</a><a href="mailto:a@b.c">y</a>',
    )
    assert broken_links(tmp_path) == []


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ('<a href="gone.html">', "no file"),
        ('<a href="other.html#gone">', "no place in other.html"),
        ('<a href="#gone">', "no place in index.html"),
        ('<img src="gone.png">', "no file"),
        ('<img src="other.html" srcset="other.html, gone.png 2x">', "no file"),
    ],
)
def test_links_that_lead_nowhere(tmp_path, link, complaint):
    write(tmp_path, index=link, other="")
    (found,) = broken_links(tmp_path)
    assert found.startswith("index.html: ")
    assert found.endswith(complaint)


def test_layers_are_drawn_as_they_are_checked():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    layers = [layer for layer in contract["layers"] if "__main__" not in layer]
    checked = [[name.strip(" ()") for name in layer.split("|")] for layer in layers]
    drawing = (DOCS / "_static" / "layers.svg").read_text(encoding="utf-8")
    boxes = re.findall(r'<text class="name mid" x="[\d.]+" y="(\d+)">(\w+)</text>', drawing)
    heights = sorted({int(height) for height, _ in boxes})
    drawn = [[name for y, name in boxes if int(y) == height] for height in heights]
    assert [sorted(layer) for layer in drawn] == [sorted(layer) for layer in checked]


def test_shared_numbers_are_explained():
    page = (DOCS / "numbers.md").read_text(encoding="utf-8")
    names = [name for name in vars(levels) if name.isupper()]
    assert [name for name in names if f"| `{name}` |" not in page] == []
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    modules = (levels, cells, candidate, model, soundness)
    assert listed <= {name for module in modules for name in vars(module)}


def test_gallery_lists_its_examples():
    examples = {path.name for path in (ROOT / "examples").glob("plot_*.py")}
    assert set(ORDER) <= examples
    assert sorted([*ORDER, "plot_new.py"], key=place) == [*ORDER, "plot_new.py"]


def test_measured_figures_are_found():
    assert speed_table().count("MAVI") == 9
    assert "Mean AUC" in tables_summary()
    sections = campaigns()
    assert "\n## Killed writers and full disks\n" in f"\n{sections}"
    assert "\n### SIGKILL\n" in sections
    assert not re.search(r"^# ", sections, flags=re.MULTILINE)
