"""How large the terms of an equation are on the data: which terms and digits count.

A small coefficient says nothing by itself: 1e-6 times a pressure in pascal is as large as 1 times
the same pressure in megapascal. Every form that people read, such as LaTeX, notebooks, the report
and the command line, takes its terms and digits from here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing.arrays.blocks import row_slices
from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.equations.text import SHOWN_DIGITS, UNNOTICED
from vanishing.levels import ALL_DIGITS, BLOCK, CHANCE, ROUNDING
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import Monomials, monomials


@dataclass(frozen=True, eq=False)
class DataScale:
    """Points like the data, which say how large terms and polynomials are there."""

    points: FloatArray  # as wide as the data in all directions, if complete
    is_complete: bool = True

    @classmethod
    def of(cls, basis: PolynomialBasis, model: Any = None) -> "DataScale":
        """Draw points with the moments of the data of a fit, which its degree 1 holds."""
        n_points = round(1 / CHANCE)  # for sizes that are right to a few percent
        points = np.zeros((n_points, basis.n_features))
        first = basis.blocks[0]
        rms = nonvanishing_rms(basis, model)
        values = np.append(first.extents, np.full(first.nonvanishing.shape[1], rms or 0.0))
        directions = np.hstack([first.vanishing, first.nonvanishing])
        drawn = np.random.default_rng(0).normal(size=(n_points, len(values))) * values
        with np.errstate(over="ignore", invalid="ignore"):
            points[:, first.left] = first.projection[0] + _solved(directions, drawn)
        return cls(points, is_complete=rms is not None and _is_whole(basis, model))

    def sizes(self, degree: int) -> FloatArray | None:
        """Return the root mean square of each monomial up to a degree; None if one is too large."""
        table = monomials(self.points.shape[1], degree)
        alone, squares = monomial_sizes(self.points, table), np.zeros(len(table))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in row_slices(self.points, width=2 * len(table)):
                squares += np.sum(table.values(self.points[rows].T) ** 2, axis=1)
            together = np.sqrt(squares / len(self.points))
        found = np.where(together > ROUNDING * len(self.points) * alone, together, alone)
        return found if np.isfinite(found).all() else None

    def spans(self, basis: PolynomialBasis) -> FloatArray:
        """Return how far polynomials change over two standard deviations of the data."""
        # Derivatives take as many times as long as there are variables.
        n_points = max(4, BLOCK // max(1, basis.count() * basis.n_features))
        some = self.points[:: -(-len(self.points) // n_points)]
        with np.errstate(over="ignore", invalid="ignore"):
            changes = basis.jacobian(some) * (2 * np.std(self.points, axis=0))
            found = np.sqrt(np.mean(np.sum(changes**2, axis=2), axis=0))
        return np.where(np.isfinite(found), found, 0.0)

    def terms(
        self, basis: PolynomialBasis, coefficients: FloatArray, *, digits: int | None = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the terms and digits to write of each polynomial, by ``terms_that_count``."""
        sizes = self.sizes(len(basis.blocks))
        each = zip(coefficients.T, self.spans(basis), basis.extents, strict=True)
        for column, span, extent in each:
            yield terms_that_count(
                column,
                sizes,
                span=float(span),
                extent=float(extent),
                digits=digits,
                is_complete=self.is_complete,
            )


def terms_that_count(
    coefficients: FloatArray,
    sizes: FloatArray | None,
    *,
    span: float,
    extent: float = 0.0,
    digits: int | None = None,
    is_complete: bool = True,
) -> tuple[IntArray, IntArray]:
    """Return the terms and digits for which what is written holds on the data."""
    known = np.flatnonzero(coefficients)[::-1]
    if sizes is None:
        return known, np.full(len(known), SHOWN_DIGITS if digits is None else digits)
    contributions = np.abs(coefficients) * sizes
    largest = float(contributions.max(initial=0.0))
    # The coefficients are sums of about as many products.
    said, rounding = min(span, largest), ROUNDING * len(coefficients) * largest
    if digits is None:
        negligible = max(UNNOTICED * extent, 10.0**-SHOWN_DIGITS * said, rounding)
    else:
        negligible = max(0.5 * 10.0**-digits * said, rounding)
    kept = known
    if is_complete:
        # The root mean square of a sum is at most the sum of those of its terms.
        order = np.argsort(contributions, kind="stable")
        n_left_out = int(np.sum(np.cumsum(contributions[order]) <= negligible))
        kept = order[min(n_left_out, len(order) - 1) :][::-1]
        kept = kept[coefficients[kept] != 0]
    allowed = negligible / max(1, len(kept)) if digits is None else 10.0 * negligible
    # With d digits a coefficient m · 10^k, m from 1 to 10, is off by at most 10^(k - d + 1) / 2.
    steps = 10.0 ** np.floor(np.log10(np.abs(coefficients[kept]))) * sizes[kept]
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.nan_to_num(np.ceil(1 + np.log10(steps / (2 * allowed))), nan=ALL_DIGITS)
    least = 2 if digits is None else digits
    return kept, np.clip(needed, least, max(least, ALL_DIGITS)).astype(np.intp)


def monomial_sizes(points: FloatArray, table: Monomials) -> FloatArray:
    """Return sizes of monomials, of single variables, since monomials may vanish."""
    # Relative to the largest value of each variable, so that high powers do not overflow.
    largest = np.max(np.abs(points), axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.where(largest > 0, largest, np.mean(largest) or 1.0)
        powers = np.ones((table.degree + 1, points.shape[1]))
        for power in range(1, table.degree + 1):
            powers[power] = np.sqrt(np.mean((points / largest) ** (2 * power), axis=0))
        powers = np.where(powers > 0, powers, 1.0) * largest ** np.arange(table.degree + 1)[:, None]
        of_variables = powers[table.exponents, np.arange(points.shape[1])]
        return np.asarray(np.prod(of_variables, axis=1))


def _solved(directions: FloatArray, values: FloatArray) -> FloatArray:
    """Return the smallest d with ``d @ directions`` equal to values."""
    try:
        return np.asarray(np.linalg.solve(directions.T, values.T).T)  # many times as fast
    except np.linalg.LinAlgError:  # not square, where directions were dropped or cut, or singular
        return np.asarray(values @ np.linalg.pinv(directions))


def nonvanishing_rms(basis: PolynomialBasis, model: Any) -> float | None:
    """Return the root mean square of F_1 on the data: 1, or less with Euclidean norms."""
    if len(basis.blocks) > 1:
        second = basis.blocks[1]
        # The part of the product f f on the constant 1 is the mean of f².
        squares = second.projection[0, second.left == second.right]
        if squares.size:
            return float(np.sqrt(np.max(squares)))
    if getattr(model, "tol_norm", "rms") == "rms":
        return 1.0
    tol = 0.0 if isinstance(model.tol, str) else float(model.tol)
    return float(model.trace_[0].tol) / tol if tol > 0 else None


def _is_whole(basis: PolynomialBasis, model: Any) -> bool:
    """Whether degree 1 tells how the data spreads in every direction."""
    first = basis.blocks[0]
    n_known = first.vanishing.shape[1] + first.nonvanishing.shape[1]
    if model is not None:
        trace = model.trace_[0]
        if trace.cut or first.vanishing.shape[1] != trace.vanishing:
            return False
        n_known += trace.dropped  # the data is constant there
    return bool(n_known == first.n_candidates == basis.n_features)
