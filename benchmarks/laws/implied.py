"""Equations as numbers: where they hold, and which of them follow from others.

An equation *follows* from others if its gradient, in units of the columns' spreads, is a linear
combination of their gradients in 95 % of the rows; constant columns may be added freely. So
``total = quantity*price + tax`` follows from ``amount = quantity*price`` and ``total = amount +
tax``, whatever form the equations are written in.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy

#: Deviation of a gradient from the span of others, relative to its length, without noise.
SPAN = 1e-3
#: Residual relative to the terms of an equation that holds, beside the rounding of its cells: the
#: digits that single precision leaves, in which some tables were stored.
EXACT = 1e-6
#: Rows at which gradients are compared, and the share of them that has to agree.
COMPARED_ROWS, AGREEING = 60, 0.95


class Equation:
    """An expression of the columns that is zero where the equation holds."""

    def __init__(self, expression: Any, names: Sequence[str]) -> None:
        """Take a SymPy expression; raise KeyError if a symbol is not the name of a column."""
        place = {name: j for j, name in enumerate(names)}
        self.expression = sympy.expand(expression)
        named = sorted(self.expression.free_symbols, key=lambda symbol: place[symbol.name])
        self.columns = [place[symbol.name] for symbol in named]
        # Names of columns may be those of functions.
        symbols = [sympy.Dummy() for _ in named]
        plain = self.expression.xreplace(dict(zip(named, symbols, strict=True)))
        self._terms = sympy.lambdify(symbols, sympy.Add.make_args(plain), "numpy")
        self._slopes = sympy.lambdify(symbols, [plain.diff(s) for s in symbols], "numpy")

    def terms(self, X: np.ndarray) -> np.ndarray:
        """Return the terms, one column for each."""
        return self._evaluate(self._terms, X)

    def gradients(self, X: np.ndarray) -> np.ndarray:
        """Return the derivatives by all columns; NaN in rows in which a cell is missing."""
        gradients = np.zeros(X.shape)
        gradients[:, self.columns] = self._evaluate(self._slopes, X)
        gradients[~self.is_there(X)] = np.nan
        return gradients

    def _evaluate(self, function: Any, X: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            values = function(*X[:, self.columns].T)
        return np.column_stack([np.broadcast_to(np.asarray(v, float), len(X)) for v in values])

    def is_there(self, X: np.ndarray) -> np.ndarray:
        """Return which rows have all cells of the equation."""
        return ~np.isnan(X[:, self.columns]).any(axis=1)

    def count_terms(self, X: np.ndarray) -> np.ndarray:
        """Return how many terms are not zero; where there is none, the equation says nothing."""
        return (np.nan_to_num(self.terms(X)) != 0).sum(axis=1) * self.is_there(X)

    def holds(self, X: np.ndarray, units: np.ndarray, tolerance: float = EXACT) -> np.ndarray:
        """Return in which rows it holds, up to the rounding of its cells to their units."""
        terms = self.terms(X)
        sizes = np.abs(terms).sum(axis=1)
        rounding = np.nan_to_num(np.abs(self.gradients(X)) * units).sum(axis=1)
        with np.errstate(all="ignore"):
            # Differences of larger numbers have the rounding errors of these.
            usual = np.median(sizes[np.isfinite(sizes)]) if np.isfinite(sizes).any() else 0.0
            allowed = tolerance * np.maximum(sizes, usual) + 0.5001 * rounding
            return np.abs(terms.sum(axis=1)) <= allowed


def read_equation(text: str, names: Sequence[str]) -> Equation:
    """Read ``left = right``, with the names of columns, numbers, + - * / ^ and log."""
    symbols = {name: f"column_{j}" for j, name in enumerate(names)}
    left, right = (
        re.sub(r"[A-Za-z_]\w*", lambda match: symbols.get(match[0], match[0]), side)
        for side in text.replace("^", "**").split(" = ")
    )
    known = {symbols[name]: sympy.Symbol(name) for name in symbols}
    return Equation(sympy.sympify(f"({left}) - ({right})", locals=known), names)


def read_laws(laws: Any, names: Sequence[str]) -> dict[str, Equation]:
    """Return the laws that speak of columns only, by their texts."""
    read = {}
    for law in laws:
        try:
            read[str(law)] = Equation(law.expression, names)
        except KeyError:
            continue
    return read


def is_constant(X: np.ndarray) -> np.ndarray:
    """Return which columns have one value."""
    first = X[np.argmax(~np.isnan(X), axis=0), np.arange(X.shape[1])]
    return np.all((first == X) | np.isnan(X), axis=0)


def follows(
    equation: Equation,
    others: Sequence[Equation],
    X: np.ndarray,
    rows: np.ndarray,
    tolerance: float = SPAN,
) -> bool:
    """Return whether an equation follows from others at some rows."""
    places = np.flatnonzero(rows)
    places = places[np.linspace(0, len(places) - 1, min(len(places), COMPARED_ROWS)).astype(int)]
    constant = is_constant(X)
    spreads = np.ones(X.shape[1])
    spreads[~constant] = np.nanstd(X[:, ~constant], axis=0)
    # An equation of one column, such as x^2 = x, has a gradient but says nothing of others.
    telling = [other for other in others if len(other.columns) > 1]
    known = [_normalize(other.gradients(X[places]) * spreads) for other in telling]
    known += [np.tile(row, (len(places), 1)) for row in np.eye(X.shape[1])[constant]]
    asked = _normalize(equation.gradients(X[places]) * spreads)
    speaking = np.flatnonzero(asked.any(axis=1))
    agreeing = 0
    for i in speaking:
        span = np.column_stack([np.zeros(X.shape[1]), *(gradients[i] for gradients in known)])
        nearest = span @ np.linalg.lstsq(span, asked[i], rcond=tolerance / 10)[0]
        agreeing += bool(np.linalg.norm(asked[i] - nearest) < tolerance)
    return len(speaking) > 0 and agreeing >= AGREEING * len(speaking)


def _normalize(gradients: np.ndarray) -> np.ndarray:
    """Give gradients the length 1, and 0 where they are not defined."""
    sizes = np.linalg.norm(gradients, axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(sizes) & (sizes > 0), gradients / sizes, 0.0)
