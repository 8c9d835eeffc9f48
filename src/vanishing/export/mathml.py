"""Polynomials as MathML, which browsers typeset without a script."""

from collections.abc import Sequence

import numpy as np

from vanishing._xp import IntArray
from vanishing.export.markup import Element, element
from vanishing.export.writing import significant

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
    >>> from vanishing.export.mathml import mathml_equation
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
