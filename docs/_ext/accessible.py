"""What the theme and the gallery leave out for people who use a keyboard or listen to the page."""

import re
from typing import Any

#: Scrolls by itself: has to be reachable by the keyboard.
SCROLLS = re.compile(r'<pre>|<div class="(?:table-wrapper|math)[^"]*"(?=[ >])')
#: The title of a thumbnail is hidden, and stands below it.
THUMBNAIL = re.compile(
    r'<a class="reference internal"( href="[^"]*plot_[^"]*")><span class="doc">([^<]*)</span>'
)


def mend(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add levels of headings, names of links, and the reach of the keyboard."""
    tree = context.get("furo_navigation_tree")
    if tree:
        context["furo_navigation_tree"] = tree.replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )
    if body := context.get("body"):
        body = SCROLLS.sub(lambda found: _add(found[0], 'tabindex="0"'), body)
        context["body"] = THUMBNAIL.sub(
            r'<a class="reference internal"\1 aria-label="\2"><span class="doc">\2</span>', body
        )


def _add(tag: str, attribute: str) -> str:
    return f"<pre {attribute}>" if tag == "<pre>" else f"{tag} {attribute}"


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx, after the theme."""
    app.connect("html-page-context", mend, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
