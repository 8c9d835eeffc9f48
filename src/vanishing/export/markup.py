"""Elements of HTML, SVG and MathML, in which every string is escaped by construction."""

import re
from typing import Any
from xml.etree import ElementTree

Element = ElementTree.Element
#: A string, or an element; None is left out.
Child = Any

#: Characters that no page may hold: most controls, and halves of surrogate pairs.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def element(tag: str, *children: Child, **attributes: Any) -> Element:
    """Make an element.

    Parameters
    ----------
    tag : str
    *children : str, Element, list of these, or None
        Strings are text, whatever they hold; None is left out.
    **attributes
        None is left out, True is an attribute without a value. ``class_`` is ``class``, and other
        underscores are hyphens.

    Examples
    --------
    >>> from vanishing.export.markup import element, rendered
    >>> rendered(element("p", "a < b ", element("b", "!"), class_="note", aria_label='"'))
    '<p class="note" aria-label="&quot;">a &lt; b <b>!</b></p>'
    """
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None and value is not False:
            written = name.rstrip("_").replace("_", "-")
            made.set(written, "" if value is True else _clean(str(value)))
    append(made, *children)
    return made


def append(parent: Element, *children: Child) -> None:
    """Add children to an element, as ``element`` takes them."""
    for child in children:
        if child is None:
            continue
        if isinstance(child, Element):
            parent.append(child)
        elif isinstance(child, list | tuple):
            append(parent, *child)
        elif len(parent):
            parent[-1].tail = (parent[-1].tail or "") + _clean(str(child))
        else:
            parent.text = (parent.text or "") + _clean(str(child))


def rendered(root: Element) -> str:
    """Write an element as HTML."""
    return ElementTree.tostring(root, encoding="unicode", method="html")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
