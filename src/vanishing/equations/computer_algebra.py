"""Equations as input of computer algebra systems: Macaulay2, Singular, CoCoA, OSCAR and Sage."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from string import ascii_lowercase
from textwrap import wrap
from typing import Any, Literal, NamedTuple

import numpy as np

from vanishing.arrays.namespace import import_extra
from vanishing.arrays.parameters import check_whole
from vanishing.equations.expansion import check_names, choose_terms, equations_of
from vanishing.equations.rational import to_rational
from vanishing.equations.simplification import TidyEquation
from vanishing.equations.text import Notation, Sum
from vanishing.levels import ALL_DIGITS
from vanishing.polynomials.monomials import read_polynomial

# --- Systems: their files differ by a few words ---------------------------------------------------

System = Literal["macaulay2", "singular", "cocoa", "oscar", "sage"]


def _write_decimal(value: float, digits: int) -> str:
    """Write a number without a power of ten, which Singular takes in some forms only."""
    return np.format_float_positional(float(f"{value:.{digits}g}"), trim="-")


#: x^2 + 2*x*y - 1
CARET = Notation(times="*", write_number=_write_decimal)
#: x**2 + 2*x*y - 1
STARS = Notation(times="*", power="{}**{}", write_number=_write_decimal)


@dataclass(frozen=True)
class Syntax:
    """How a system writes a ring R and an ideal I."""

    comment: str  # begins a line of comment
    ring: str  # a format of the field, variables and quoted variables
    ideal: str  # a format of polynomials
    rationals: str = "QQ"
    decimals: str | None = None  # None: decimals are multiplied by powers of ten
    notation: Notation = CARET


SYSTEMS: dict[str, Syntax] = {
    "macaulay2": Syntax(
        "--", "R = {field}[{variables}];", "I = ideal({polynomials});", decimals="RR"
    ),
    "singular": Syntax(
        "//",
        "ring R = {field}, ({variables}), dp;",
        "ideal I = {polynomials};",
        rationals="0",
        decimals="(real, 17)",
    ),
    "cocoa": Syntax("--", "use R ::= {field}[{variables}];", "I := ideal({polynomials});"),
    "oscar": Syntax(
        "#",
        "using Oscar\nR, ({variables},) = polynomial_ring({field}, [{quoted}]);",
        "I = ideal(R, [{polynomials}]);",
    ),
    "sage": Syntax(
        "#",
        "from sage.all import {field}, PolynomialRing\n"
        "R = PolynomialRing({field}, [{quoted}])\n({variables},) = R.gens()",
        "I = R.ideal([{polynomials}])",
        decimals="RR",
        notation=STARS,
    ),
}


# --- Polynomials to be written --------------------------------------------------------------------


class WrittenIdeal(NamedTuple):
    """Polynomials with whole numbers or decimals as coefficients, and where they come from."""

    sums: list[Sum]
    names: tuple[str, ...]
    is_exact: bool
    source: str


def to_computer_algebra(
    equations: Any,
    system: System,
    feature_names: Any = None,
    *,
    points: Any = None,
    preprocessor: Any = None,
    denominator: int = 1,
    digits: int = ALL_DIGITS,
) -> str:
    """Write the ideal of equations as input of a computer algebra system.

    The text defines a polynomial ring R and an ideal I. With ``points``, or exact SymPy
    polynomials, they are over the rational numbers. Otherwise coefficients are decimals, over the
    real numbers of Macaulay2, Singular and Sage. CoCoA and OSCAR get the same decimals, times a
    power of ten, as rational numbers. Do not compute Groebner bases of decimals: rounding errors
    decide what they are.

    Parameters
    ----------
    equations : VanishingIdeal, PolynomialBasis, Pipeline, or sequence
        A fitted model as for ``to_sympy``; or a sequence of SymPy polynomials or expressions, such
        as those of ``to_rational``, or of ``TidyEquation``.
    system : {"macaulay2", "singular", "cocoa", "oscar", "sage"}
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...; of SymPy polynomials their
        variables. Names other than a letter and a number are replaced, which a comment says.
    points : array of shape (n_samples, n_features), optional
        Rational points on which equations of a model are proved, as in ``to_rational``.
    preprocessor : transformer, optional
        What was applied to the data before the model, as in ``to_sympy``.
    denominator : int
        Of ``points``, as in ``to_rational``.
    digits : int
        Significant digits of the decimals of a model, more where an equation needs them.

    Returns
    -------
    str

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.datasets import make_variety
    >>> from vanishing.equations import to_computer_algebra
    >>> exact = make_variety("viviani", 60, exact=True)
    >>> ideal = VanishingIdeal(tol=0).fit(exact.astype(float))
    >>> text = to_computer_algebra(ideal, "singular", ["x", "y", "z"], points=exact)
    >>> print(text[text.index("ring") :])
    ring R = 0, (x, y, z), dp;
    ideal I = x^2 + y^2 - x,
      z^2 + x - 1;
    <BLANKLINE>
    """
    if system not in SYSTEMS:
        raise ValueError(f"system must be one of {', '.join(SYSTEMS)}, got {system!r}")
    check_whole("digits", digits)
    if isinstance(equations, Sequence):
        for name, value in (("points", points), ("preprocessor", preprocessor)):
            if value is not None:
                raise ValueError(
                    f"{name} is for equations of a fitted model, got a sequence of polynomials as "
                    f"well; pass the model, or leave {name} out"
                )
        found = _read_polynomials(equations, feature_names)
    else:
        model = equations_of(equations, feature_names, preprocessor=preprocessor)
        if points is None:
            sums = choose_terms(model.basis, model.scale, digits=digits)
        else:
            exact = to_rational(
                equations, points, model.names, preprocessor=preprocessor, denominator=denominator
            )
            sums = list(map(_sum_of, exact))
        found = WrittenIdeal(sums, model.names, points is not None, model.source)
    if not found.sums:
        raise ValueError("nothing vanishes, so there is no ideal to write; raise tol or max_degree")
    return _write(found, SYSTEMS[system])


def _read_polynomials(polynomials: Sequence[Any], feature_names: Any) -> WrittenIdeal:
    """Take SymPy polynomials, expressions and tidy equations."""
    sympy = import_extra("sympy", extra="symbolic", purpose="to_computer_algebra")
    given = [each.expression if isinstance(each, TidyEquation) else each for each in polynomials]
    for each in given:
        if not isinstance(each, sympy.Expr | sympy.Poly):
            raise TypeError(
                "expected a fitted model, or SymPy polynomials or tidy equations, got "
                f"{type(each).__name__} in the sequence"
            )
    if feature_names is None:
        used = sorted({symbol.name for each in given for symbol in each.free_symbols})
        # The variables of the first polynomial, in their order, then others by name.
        first = [symbol.name for each in given[:1] for symbol in getattr(each, "gens", ())]
        feature_names = list(dict.fromkeys([*first, *used]))
    names = check_names(feature_names, len(feature_names))
    sums, is_exact = [], True
    for each in given:
        polynomial = read_polynomial(each, names)
        if not polynomial.domain.is_Numerical or polynomial.domain.is_AlgebraicField:
            raise ValueError(
                f"expected polynomials with rational coefficients or decimals, got {each}"
            )
        exact = bool(polynomial.domain.is_ZZ or polynomial.domain.is_QQ)
        is_exact = is_exact and exact
        if not polynomial.is_zero:
            sums.append(_sum_of(polynomial.clear_denoms(convert=True)[1] if exact else polynomial))
    return WrittenIdeal(sums, names, is_exact, "polynomials")


def _sum_of(polynomial: Any) -> Sum:
    """Return the terms of a SymPy polynomial, with whole numbers or decimals."""
    powers, coefficients = zip(*polynomial.terms(), strict=True)
    whole = polynomial.domain.is_ZZ
    values = [int(c) if whole else float(c) for c in coefficients]
    # Decimals as people write them: 0.1 and not 0.10000000000000001.
    digits = [len(Decimal(repr(value)).normalize().as_tuple().digits) for value in values]
    return Sum(np.array(powers, dtype=np.intp), values, digits)


def _write(found: WrittenIdeal, syntax: Syntax) -> str:
    names = rename_variables(found.names)
    sums, field = found.sums, syntax.rationals
    if not found.is_exact:
        if syntax.decimals is None:
            sums = [_multiply_by_ten(each) for each in sums]
        else:
            field = syntax.decimals
    quoted = ", ".join(f'"{name}"' for name in names)
    ring = syntax.ring.format(field=field, variables=", ".join(names), quoted=quoted)
    written = ",\n  ".join(syntax.notation.write(each, names) for each in sums)
    lines = [f"{syntax.comment} {line}" for line in _describe(found, names)]
    return "\n".join([*lines, ring, syntax.ideal.format(polynomials=written), ""])


def _multiply_by_ten(terms: Sum) -> Sum:
    """Multiply by the power of ten that makes all coefficients, as they are written, whole."""
    digits = np.broadcast_to(terms.digits, len(terms.coefficients)).tolist()
    decimals = [
        Decimal(f"{value:.{n_digits}g}")
        for value, n_digits in zip(terms.coefficients, digits, strict=True)
    ]
    places = max(-int(each.normalize().as_tuple().exponent) for each in decimals)
    whole = [int(each.scaleb(max(places, 0))) for each in decimals]
    return replace(terms, coefficients=whole)


def _describe(found: WrittenIdeal, names: Sequence[str]) -> list[str]:
    """Say where the equations come from, in lines of printable ASCII."""
    version = sys.modules["vanishing"].__version__  # an import would go upwards
    source = found.source.encode("unicode_escape").decode("ascii")
    lines = wrap(f"Written by vanishing {version} from {source}.", 88, subsequent_indent="  ")
    lines += [
        f"{name} is {original!a}"
        for name, original in zip(names, found.names, strict=True)
        if name != original
    ]
    if not found.is_exact:
        lines.append("Coefficients are rounded: a Groebner basis would be that of rounding errors.")
    return lines


# --- Names of variables that all systems take -----------------------------------------------------

#: Lower case, since CoCoA's own names begin with capitals; words might be commands, and underscores
#: are subscripts in Macaulay2.
_SAFE = re.compile(r"[a-z][0-9]{0,6}")


def rename_variables(names: Sequence[str]) -> list[str]:
    """Return names of a letter and digits, which all systems take, for names that are others."""
    renamed = [name if _SAFE.fullmatch(name) else "" for name in names]
    for j, name in enumerate(names):
        if not renamed[j] and _SAFE.fullmatch(name.lower()) and name.lower() not in renamed:
            renamed[j] = name.lower()
    used = {name[0] for name in renamed if name}
    preferred = "xyzuvw" + ascii_lowercase
    # With all letters in use, numbers that nobody has.
    letter = next((each for each in preferred if each not in used), None)
    for j, name in enumerate(renamed):
        if not name:
            renamed[j] = f"x{10**6 + j}" if letter is None else f"{letter}{j}"
    return renamed
