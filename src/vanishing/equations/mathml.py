"""Equations as MathML and HTML, for notebooks and pages."""

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from vanishing.equations.simplification import excerpt
from vanishing.equations.text import MINUS, SPOKEN, Sum, Term, number, significant
from vanishing.polynomials.basis import PolynomialBasis

# --- Elements of HTML, SVG and MathML, in which every string is escaped by construction -----------

Element = ElementTree.Element
#: A string, or an element; None is left out.
Child = Any

#: Characters that no page may hold: most controls, and halves of surrogate pairs.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def element(tag: str, *children: Child, **attributes: Any) -> Element:
    """Make an element; ``class_`` is ``class``, and other underscores are hyphens."""
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None and value is not False:
            written = name.rstrip("_").replace("_", "-")
            made.set(written, "" if value is True else clean(str(value)))
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
            parent[-1].tail = (parent[-1].tail or "") + clean(str(child))
        else:
            parent.text = (parent.text or "") + clean(str(child))


def render(root: Element) -> str:
    """Write an element as HTML."""
    return ElementTree.tostring(root, encoding="unicode", method="html")


def clean(text: str) -> str:
    """Replace characters that no page may hold."""
    return _FORBIDDEN.sub("\ufffd", text)


# --- Polynomials as MathML, which browsers typeset without a script -------------------------------

#: Multiplication that is seen, and that is only understood.
TIMES, INVISIBLE_TIMES = "\u22c5", "\u2062"


def mathml_equation(
    terms: Sum, names: Sequence[str], *, relation: str = "= 0", left: str = ""
) -> Element:
    """Write an equation as a ``span`` with one ``math`` a term, to break into lines."""
    pieces = [_term(each, k == 0) for k, each in enumerate(terms.terms(names, significant))]
    pieces = pieces or [element("math", element("mn", "0"))]
    spoken = SPOKEN.write(terms, names)
    if terms.n_left_out:
        pieces.append(element("math", _operator("+"), element("mo", "⋯")))
        spoken += f" + {terms.n_left_out} more term{'' if terms.n_left_out == 1 else 's'}"
    sign, _, right = relation.partition(" ")
    if left:
        is_equal = element("mo", sign, form="infix", lspace="0.28em", rspace="0em")
        pieces.insert(0, element("math", _power(left, 1), is_equal))
        label = f"{left} {sign} {spoken}"
    else:
        pieces.append(element("math", _operator(sign), element("mn", right)))
        label = f"{spoken} {relation}"
    # A line may end before each sign.
    spaced = [part for piece in pieces for part in (" ", piece)][1:]
    return element("span", spaced, class_="equation", role="math", aria_label=label)


def _term(term: Term, is_first: bool) -> Element:
    """Write a term; one of long names that is wider than the page breaks before its dots."""
    sign = MINUS if term.is_negative else "" if is_first else "+"
    pieces: list[Element] = []
    parts = [_operator(sign)] if sign else []
    if term.number:
        parts += _number(term.number)
    for place, (name, power) in enumerate(term.powers):
        if place > 0 and not _is_short(name):  # names of several letters would run together
            pieces.append(element("math", parts))
            parts = [element("mo", TIMES, form="infix", lspace="0.17em", rspace="0.17em")]
        elif parts[bool(sign) and not pieces :]:
            parts.append(element("mo", INVISIBLE_TIMES))
            if place == 0:
                parts.append(element("mspace", width="0.17em"))
        parts.append(_power(name, power))
    last = element("math", parts)
    if not pieces:
        return last
    broken = [part for piece in pieces for part in (piece, element("wbr"))]
    return element("span", broken, last, style="display: inline-block")


def _number(number: str) -> list[Element]:
    """Write a number, with a power of ten where it has one."""
    if "e" not in number:
        return [element("mn", number)]
    mantissa, exponent = number.split("e")
    sign, size = (MINUS, exponent[1:]) if exponent[0] == MINUS else ("", exponent)
    power = element("mn", f"{sign}{int(size)}")
    return [
        element("mn", mantissa),
        element("mo", "×"),
        element("msup", element("mn", "10"), power),
    ]


def _power(name: str, power: float) -> Element:
    """Write a variable, raised to a power; a letter with a number as an index."""
    indexed = _is_short(name) and len(name) > 1
    base = element("mi", name[0] if indexed else name)
    if not indexed:
        return base if power == 1 else element("msup", base, element("mn", power))
    index = element("mn", name[1:])
    if power == 1:
        return element("msub", base, index)
    return element("msubsup", base, index, element("mn", power))


def _is_short(name: str) -> bool:
    """Whether a name is a letter, perhaps with a number."""
    return len(name) == 1 or (name[:1].isalpha() and name[1:].isdigit())


def _operator(sign: str) -> Element:
    """Write a sign that begins a piece, with the space that it would have inside of one."""
    return element("mo", sign, form="infix", lspace="0em", rspace="0.22em")


# --- Equations as notebooks show them -------------------------------------------------------------


def notebook_html(basis: PolynomialBasis, names: Sequence[str], model: Any = None) -> str:
    """Write the first equations of a basis as HTML, with degrees and extents."""
    found = excerpt(basis, model)
    rows = [
        element(
            "div",
            mathml_equation(each, names),
            element(
                "small",
                f"degree {degree}, extent {number(extent, '.2g')}",
                style="margin-left: 1.5em; opacity: 0.7",
            ),
            style="padding: 0.2em 0",
        )
        for each, degree, extent in zip(found.sums, found.degrees, found.extents, strict=True)
    ]
    if found.rest:
        rows.append(element("div", element("small", found.rest, style="opacity: 0.7")))
    return render(
        element("div", rows, class_="vanishing-equations", style="margin: 0.5em 0; max-width: 60em")
    )
