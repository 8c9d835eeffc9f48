"""Equations as MathML and HTML, numbers and excerpts as people read them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import Any
from xml.etree import ElementTree

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.equations.latex import latex_sum, latex_symbol
from vanishing.equations.sizes import DataScale
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import count

# --- Elements of HTML, SVG and MathML, in which every string is escaped by construction -----------

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
    >>> from vanishing.equations.markup import element, rendered
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


# --- Numbers and names as people write them -------------------------------------------------------

#: Digits of a number that is changed, at least; and the most that somebody would have written.
FEWEST_DIGITS, LONGEST_WRITTEN = 4, 9
#: Share of a change that rounding may hide.
VISIBLE = 0.05


def number(value: float, form: str) -> str:
    """Write a number, with a minus sign instead of a hyphen."""
    return format(value, form).replace("-", "−")


def significant(value: float, digits: int) -> str:
    """Write a number with some significant digits, with a power of ten only where it is far off.

    Examples
    --------
    >>> from vanishing.equations.markup import significant
    >>> significant(421.7, 2), significant(-0.00123, 2), significant(1.26e-7, 2)
    ('420', '−0.0012', '1.3e−07')
    """
    rounded = float(f"{value:.{digits}g}")
    if rounded == 0 or 1e-4 <= abs(rounded) < 1e6:
        return np.format_float_positional(rounded, trim="-").replace("-", "−")
    return number(rounded, f".{digits}g")


def changed_number(value: float, other: float) -> tuple[str, str]:
    """Write a number, and the one that it is changed to, with the digits that the change needs.

    Parameters
    ----------
    value : float
        Written as it is in the data. One with more digits than people write is rounded.
    other : float
        Has at least four digits, no fewer than the integer part, and so many that rounding hides
        no more than a twentieth of the change.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from vanishing.equations.markup import changed_number
    >>> changed_number(113094.0, 112873.4182)
    ('113094', '112873')
    >>> changed_number(1013.25, 1013.31000007)
    ('1013.25', '1013.31')
    >>> changed_number(2 / 3, 0.1)
    ('0.6667', '0.1')
    """
    error = VISIBLE * abs(other - value)
    return as_given(value, error), _within(other, error)


def as_given(value: float, error: float = np.inf) -> str:
    """Write a number as it is in the data; round it, by an error at most, if it is long.

    Examples
    --------
    >>> from vanishing.equations.markup import as_given
    >>> as_given(113094.0), as_given(1e-5), as_given(113094 + 1 / 3)
    ('113094', '1e−05', '113094')
    """
    exact = _plain(value)
    return exact if len(_digits_of(exact)) <= LONGEST_WRITTEN else _within(value, error)


def _within(value: float, error: float) -> str:
    """Write a number with the fewest digits, four at least, that are off by at most an error."""
    for digits in range(FEWEST_DIGITS, 17):
        rounded = float(f"{value:.{digits}g}")
        # Whole numbers are not rounded to tens or hundreds.
        if abs(rounded - value) <= error and not 10.0**digits <= abs(value) < 1e16:
            return _plain(rounded)
    return _plain(value)


def _plain(value: float) -> str:
    """Write the fewest digits that give the same number again."""
    if value == 0 or 1e-4 <= abs(value) < 1e16:
        return np.format_float_positional(value, trim="-").replace("-", "−")
    return repr(float(value)).replace("-", "−")


def _digits_of(text: str) -> str:
    return "".join(filter(str.isdigit, text.split("e")[0])).strip("0")


def shortened(name: str, length: int = 32) -> str:
    """Cut the middle out of a long name: beginnings tell groups apart, ends their members."""
    if len(name) <= length:
        return name
    head = (length - 1) // 2
    return f"{name[:head]}…{name[len(name) - (length - 1 - head) :]}"


def all_shortened(names: Sequence[str], length: int) -> list[str]:
    """Shorten names as long as they stay different: by their middle, or by what all have in common.

    Examples
    --------
    >>> from vanishing.equations.markup import all_shortened
    >>> all_shortened([f"temperature_of_bearing_{i}_in_kelvin" for i in (1, 2)], 16)
    ['…1…', '…2…']
    """
    short = [shortened(name, length) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    # Of letters, as is meant here, and not of folders.
    head = len(commonprefix(list(names)))  # noqa: RUF071
    rests = [name[head:] for name in names]
    tail = len(commonprefix([rest[::-1] for rest in rests]))  # noqa: RUF071
    return [shortened(f"…{rest[: len(rest) - tail]}…", length) for rest in rests]


# --- Polynomials as MathML, which browsers typeset without a script -------------------------------

#: Multiplication that is seen, and that is only understood.
TIMES, INVISIBLE_TIMES = "\u22c5", "\u2062"
MINUS = "\u2212"


def mathml_equation(
    exponents: IntArray,
    coefficients: Sequence[float],
    names: Sequence[str],
    *,
    digits: int | Sequence[int] = 4,
    n_left_out: int = 0,
    relation: str = "= 0",
) -> Element:
    """Write a polynomial equation, highest degree first.

    Parameters
    ----------
    exponents : int array of shape (n_terms, n_variables)
    coefficients : sequence of float
    names : sequence of str
        One a variable; "x12" becomes x with an index, other names are set upright.
    digits : int or sequence of int
        Significant digits of the coefficients, of all or of each.
    n_left_out : int
        Terms that are not written; dots stand for them.
    relation : str
        What is written on the right, such as "= 0" or "≈ 0".

    Returns
    -------
    Element
        A ``span`` with one ``math`` a term, so that long equations break into lines, and a label
        that can be read aloud.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.equations.markup import mathml_equation
    >>> circle = mathml_equation(np.array([[2, 0], [0, 2], [0, 0]]), [1.0, 1.0, -0.25], ["x", "y"])
    >>> circle.get("aria-label")
    'x^2 + y^2 − 0.25 = 0'
    """
    each = [digits] * len(coefficients) if isinstance(digits, int) else list(digits)
    pieces: list[Element] = []
    spoken: list[str] = []
    for index in np.argsort(-exponents.sum(axis=1), kind="stable").tolist():
        number = significant(abs(coefficients[index]), each[index])
        used = np.flatnonzero(exponents[index]).tolist()
        powers = [(names[j], int(exponents[index, j])) for j in used]
        sign = MINUS if coefficients[index] < 0 else "+" if pieces else ""
        pieces.append(_term(sign, number, powers))
        spoken.append(_spoken(sign, number, powers))
    if not pieces:
        pieces, spoken = [element("math", element("mn", "0"))], ["0"]
    if n_left_out:
        pieces.append(element("math", _operator("+"), element("mo", "⋯")))
        spoken.append(f"+ {n_left_out} more term{'' if n_left_out == 1 else 's'}")
    sign, _, right = relation.partition(" ")
    pieces.append(element("math", _operator(sign), element("mn", right)))
    spoken.append(relation)
    # A break may come before each sign.
    spaced: list[Element | str] = []
    for piece in pieces:
        spaced += [piece, " "]
    return element("span", spaced[:-1], class_="equation", role="math", aria_label=" ".join(spoken))


def _term(sign: str, number: str, powers: list[tuple[str, int]]) -> Element:
    parts: list[Element] = []
    if sign:
        parts.append(_operator(sign))
    if not (powers and number == "1"):
        parts += _number(number)
    for place, (name, power) in enumerate(powers):
        if parts[bool(sign) :]:
            # Names of several letters would run into each other.
            close = place == 0 or _is_short(name)
            parts.append(element("mo", INVISIBLE_TIMES if close else TIMES))
            if place == 0:
                parts.append(element("mspace", width="0.17em"))
        parts.append(_power(name, power))
    return element("math", parts)


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


def _power(name: str, power: int) -> Element:
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


def _spoken(sign: str, number: str, powers: list[tuple[str, int]]) -> str:
    factors = [f"{name}^{power}" if power > 1 else name for name, power in powers]
    if not (factors and number == "1"):
        factors.insert(0, number)
    return f"{sign} {' · '.join(factors)}".strip()


# --- A few equations of a basis, quickly, however large it is: for notebooks and reports ----------

#: Coefficients that may be worked out to show a few equations: a fraction of a second.
MOST_COEFFICIENTS = 3_000_000


@dataclass(frozen=True, eq=False)
class Sum:
    """The terms of one polynomial that are shown.

    Parameters
    ----------
    exponents : int array of shape (n_terms, n_variables)
    coefficients : array of shape (n_terms,)
    digits : int array of shape (n_terms,)
        Significant digits of each coefficient.
    n_left_out : int
        Terms that count and are not shown.
    """

    exponents: IntArray
    coefficients: FloatArray
    digits: IntArray
    n_left_out: int


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The first equations of a basis.

    Parameters
    ----------
    sums : list of Sum
        One an equation.
    degrees, extents : arrays of shape (n_shown,)
    n_more : int
        Equations that are not shown.
    """

    sums: list[Sum]
    degrees: IntArray
    extents: FloatArray
    n_more: int


def excerpt(
    basis: PolynomialBasis, *, n_equations: int, n_terms: int, digits: int, model: Any = None
) -> Excerpt:
    """Expand the first equations of a basis, as many as can be expanded quickly.

    Parameters
    ----------
    basis : PolynomialBasis
    n_equations, n_terms : int
        Bounds on the equations, and on the terms of each.
    digits : int
        Significant digits of the coefficients, as in ``to_latex``: terms that do not count at this
        many digits are not counted as left out either.
    model : VanishingIdeal, optional
        The ideal that the basis is from.
    """
    n_shown = min(n_equations, basis.count())
    top = int(basis.degrees()[n_shown - 1]) if n_shown else 0
    while top and not is_quick(basis, top):
        top -= 1
    n_shown = min(n_shown, int(np.sum(basis.degrees() <= top)))
    lower = PolynomialBasis(basis.n_features, basis.blocks[:top])
    lower = lower.restrict(np.arange(lower.count()) < n_shown) if top else lower
    sums = []
    if n_shown:
        exponents, coefficients = lower.expand()
        chosen = DataScale.of(basis, model).terms(lower, coefficients, digits=digits)
        for column, (kept, of_each) in zip(coefficients.T, chosen, strict=True):
            order = np.argsort(kept[:n_terms])
            shown = kept[order]
            n_left_out = len(kept) - len(shown)
            sums.append(Sum(exponents[shown], column[shown], of_each[order], n_left_out))
    return Excerpt(sums, lower.degrees(), lower.extents, basis.count() - n_shown)


def is_quick(basis: PolynomialBasis, degree: int) -> bool:
    """Whether the polynomials up to a degree can be expanded in a fraction of a second."""
    blocks = basis.blocks[:degree]
    widest = max((block.n_candidates for block in blocks), default=0)
    n_monomials = count(basis.n_features, degree)
    return n_monomials * max(widest, basis.n_features) <= MOST_COEFFICIENTS


# --- Equations as notebooks show them: LaTeX, and HTML with MathML --------------------------------

#: Equations and terms that are shown, at most, and digits of the coefficients.
MOST_EQUATIONS, MOST_TERMS, DIGITS = 10, 24, 4


def notebook_latex(basis: PolynomialBasis, names: Sequence[str], model: Any = None) -> str:
    """Write the first equations of a basis as one display in LaTeX.

    Parameters
    ----------
    basis : PolynomialBasis
    names : sequence of str
        One a variable.
    model : VanishingIdeal, optional
        The ideal that the basis is from.
    """
    found = _excerpt(basis, model)
    symbols = [latex_symbol(name) for name in names]
    lines = []
    for each in found.sums:
        left = latex_sum(each.exponents, each.coefficients.tolist(), symbols, each.digits.tolist())
        dots = r" + \cdots" if each.n_left_out else ""
        lines.append(f"{left}{dots} &= 0")
    if note := _note(found):
        lines.append(f"&\\text{{{note}}}")
    body = " \\\\\n".join(lines)
    return f"$$\\begin{{aligned}}\n{body}\n\\end{{aligned}}$$"


def notebook_html(basis: PolynomialBasis, names: Sequence[str], model: Any = None) -> str:
    """Write the first equations of a basis as HTML, with degrees and extents.

    Parameters
    ----------
    basis : PolynomialBasis
    names : sequence of str
        One a variable.
    model : VanishingIdeal, optional
        The ideal that the basis is from.
    """
    found = _excerpt(basis, model)
    rows = [
        element(
            "div",
            mathml_equation(
                each.exponents,
                each.coefficients.tolist(),
                names,
                digits=each.digits.tolist(),
                n_left_out=each.n_left_out,
            ),
            element(
                "small",
                f"degree {degree}, extent {number(extent, '.2g')}",
                style="margin-left: 1.5em; opacity: 0.7",
            ),
            style="padding: 0.2em 0",
        )
        for each, degree, extent in zip(found.sums, found.degrees, found.extents, strict=True)
    ]
    if note := _note(found):
        rows.append(element("div", element("small", note, style="opacity: 0.7")))
    return rendered(
        element("div", rows, class_="vanishing-equations", style="margin: 0.5em 0; max-width: 60em")
    )


def _excerpt(basis: PolynomialBasis, model: Any) -> Excerpt:
    return excerpt(
        basis, n_equations=MOST_EQUATIONS, n_terms=MOST_TERMS, digits=DIGITS, model=model
    )


def _note(found: Excerpt) -> str:
    """Say what is not shown."""
    if not found.n_more:
        return "" if found.sums else "no equation: nothing vanishes"
    more = "more equation" if found.sums else "equation"
    plural = "" if found.n_more == 1 else "s"
    large = "" if np.size(found.degrees) else ", too large to be written out"
    return f"{found.n_more} {more}{plural}{large}"
