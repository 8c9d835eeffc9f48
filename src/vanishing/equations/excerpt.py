"""The first equations of a fit, as short as the fit itself can tell: ``print`` and notebooks."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.equations.expansion import SHOWN_EQUATIONS, SHOWN_TERMS, choose_terms, is_quick
from vanishing.equations.simplification import MOST_TIDIED, choices, write_shortest
from vanishing.equations.sizes import DataScale, terms_that_count
from vanishing.equations.text import (
    LATEX,
    LAW,
    SHOWN_DIGITS,
    Sum,
    latex_symbol,
    plain_symbol,
)
from vanishing.equations.uncertainty import FittedSample
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import count


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The first equations of a basis, how many there are beyond them, and how many follow."""

    sums: list[Sum]
    degrees: IntArray
    extents: FloatArray
    n_more: int
    n_implied: int = 0

    @property
    def rest(self) -> str:
        """What is not shown, in words."""
        if not (self.n_more or self.n_implied):
            return "" if self.sums else "no equation: nothing vanishes"
        if not self.n_more:
            return f"{self.n_implied} more follow{'s' * (self.n_implied == 1)} from these"
        more = "more equation" if self.sums else "equation"
        large = "" if self.sums else ", too large to be written out"
        return f"{self.n_more} {more}{'s' * (self.n_more != 1)}{large}"


def excerpt(basis: PolynomialBasis, model: Any = None) -> Excerpt:
    """Write the first equations of a basis, those of each degree mixed to the shortest ones."""
    top = len(basis.blocks)
    if basis.count() and count(basis.n_features, top) <= MOST_TIDIED and is_quick(basis, top):
        scale = DataScale.of(basis, model)
        # Hidden by rounding errors, or beyond the range of numbers.
        with (
            suppress(ValueError, FloatingPointError),
            np.errstate(over="raise", divide="raise", invalid="raise"),
        ):
            if scale.is_complete:
                return _tidied(basis, scale, model)
    return _as_fitted(basis, model)


def _tidied(basis: PolynomialBasis, scale: DataScale, model: Any) -> Excerpt:
    """Mix the polynomials of each degree to the shortest ones, and drop and round their terms."""
    sample = FittedSample.of(basis, scale.points)
    # The polynomials of a border basis have leading terms, and are short.
    mix = getattr(model, "order_ideal_", None) is None
    among = choices(sample, mix=mix)
    # Multiples of lower equations may be large on a contrast, and would change the size there; on
    # the data they may be larger than an equation that holds better.
    loose = any(sample.is_loose(each.coefficients, each.degree) for each in among[0])
    if mix and (loose or getattr(model, "needs_contrast", False)):
        among = choices(sample, mix=True, reduce=False)
    sums, degrees, extents = [], [], []
    for (degree, fitted, _), simplified in write_shortest(sample, among, SHOWN_EQUATIONS):
        written = np.array(simplified.coefficients, dtype=np.float64)
        sizes = sample.sizes[: len(written)]
        span = 2 * abs(simplified.scale) * sample.change(fitted)
        kept, digits = terms_that_count(written, sizes, span=span, digits=SHOWN_DIGITS)
        shown = kept[:SHOWN_TERMS]
        coefficients = [simplified.coefficients[k] for k in shown]
        exponents, n_left_out = sample.table.exponents[shown], len(kept) - len(shown)
        sums.append(Sum(exponents, coefficients, digits[:SHOWN_TERMS].tolist(), n_left_out))
        degrees.append(degree)
        extents.append(sample.extent(fitted, degree))
    n_chosen = max(map(len, among))
    n_more, n_implied = n_chosen - len(sums), basis.count() - n_chosen
    return Excerpt(sums, np.array(degrees), np.array(extents), n_more, n_implied)


def _as_fitted(basis: PolynomialBasis, model: Any) -> Excerpt:
    """Expand as many equations as can be expanded quickly."""
    n_shown = min(SHOWN_EQUATIONS, basis.count())
    top = int(basis.degrees()[n_shown - 1]) if n_shown else 0
    while top and not is_quick(basis, top):
        top -= 1
    n_shown = min(n_shown, int(np.sum(basis.degrees() <= top)))
    lower = PolynomialBasis(basis.n_features, basis.blocks[:top])
    lower = lower.restrict(np.arange(lower.count()) < n_shown) if top else lower
    sums = []
    if n_shown:
        scale = DataScale.of(basis, model)
        sums = choose_terms(lower, scale, digits=SHOWN_DIGITS, n_terms=SHOWN_TERMS)
    return Excerpt(sums, lower.degrees(), lower.extents, basis.count() - n_shown)


def print_text(basis: PolynomialBasis, names: Sequence[str], model: Any = None) -> str:
    """Write the first equations of a basis as lines of text, with their extents."""
    found = excerpt(basis, model)
    symbols = list(map(plain_symbol, names))
    lines = []
    for each, extent in zip(found.sums, found.extents.tolist(), strict=True):
        more = f" + ({each.n_left_out} more terms)" if each.n_left_out else ""
        lines.append(f"  {LAW.write(each, symbols)}{more} = 0   (extent {extent:.2g})")
    if found.rest:
        lines.append(f"  ({found.rest})")
    return "\n".join(lines)


def notebook_latex(basis: PolynomialBasis, names: Sequence[str], model: Any = None) -> str:
    """Write the first equations of a basis as one display in LaTeX."""
    found = excerpt(basis, model)
    symbols = [latex_symbol(name) for name in names]
    lines = []
    for each in found.sums:
        dots = r" + \cdots" if each.n_left_out else ""
        lines.append(f"{LATEX.write(each, symbols)}{dots} &= 0")
    if found.rest:
        lines.append(f"&\\text{{{found.rest}}}")
    body = " \\\\\n".join(lines)
    return f"$$\\begin{{aligned}}\n{body}\n\\end{{aligned}}$$"
