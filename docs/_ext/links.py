"""Links inside the built pages are followed when the build is done: file and anchor must be there.

Sphinx checks links that it makes itself. This also finds those of raw HTML, of included files, to
downloads and pictures, and headings that were renamed. Other sites are left to ``-b linkcheck``,
which needs the network.
"""

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Anchors of a page, and what it points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.add(value)
            elif name == "srcset" and value:
                self.links.update(part.split()[0] for part in value.split(","))


def broken_links(folder: Path) -> list[str]:
    """Name the links of a folder of HTML pages that lead nowhere, and say why."""

    @cache
    def page(path: Path) -> _Page:
        return _Page(path.read_text(encoding="utf-8"))

    complaints = []
    for path in sorted(folder.rglob("*.html")):
        for link in sorted(page(path).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            anchor = unquote(parts.fragment)
            where = f"{path.relative_to(folder)}: {link}"
            if not target.is_file():
                complaints.append(f"{where} leads to no file")
            elif anchor and target.suffix == ".html" and anchor not in page(target).anchors:
                complaints.append(f"{where} leads to no place in {target.name}")
    return complaints


def check(app: Any, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    from sphinx.errors import SphinxError

    complaints = broken_links(Path(app.outdir))
    if complaints:
        raise SphinxError("broken links:\n" + "\n".join(complaints))


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
