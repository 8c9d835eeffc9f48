"""What the terminal and reports say in the same words: fixes, and how well equations hold."""

from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from vanishing.arrays.namespace import FloatArray
from vanishing.equations.simplification import TidyEquation
from vanishing.equations.text import Sum, join
from vanishing.explain.record import TYPICAL, UNCHANGED, Explanation
from vanishing.levels import SAME

# --- Suggested fixes ------------------------------------------------------------------------------

#: Columns, laws or equations that are named for one row: as many as are taken in at a glance.
NAMED = 3
#: Features that add less than this share of the score to it are left out of the fix.
SMALLEST_SHARE = 0.05
TOGETHER = "all columns together"


class Change(NamedTuple):
    """A feature, its value, and the one that it should have, as text."""

    name: str
    value: str
    fix: str


def list_changes(explanation: Explanation) -> list[Change]:
    """Return the changes that count, those that count most first."""
    gap = float(explanation.score - explanation.counterfactual_score)
    counts = (explanation.attribution > SMALLEST_SHARE * gap) & (gap > 0)
    order = np.argsort(-explanation.attribution, kind="stable")
    found = [
        Change(explanation.feature_names[j], *explanation.format_values(j))
        for j in order[counts[order]][:NAMED]
    ]
    return [change for change in found if change.fix != UNCHANGED]


def describe_fix(explanation: Explanation, write: Callable[[str], str] = str) -> str:
    """Return a sentence about what is wrong with a row; ``write`` is applied to its numbers."""
    if not explanation.attribution.any():
        return TYPICAL
    changes = list_changes(explanation)
    if not changes:
        return "No column stands out: all columns together are unusual."
    is_now = join([f"{each.name} is {write(each.value)}" for each in changes])
    fixes = join([write(each.fix) for each in changes])
    if len(changes) == len(explanation.feature_names):
        return f"{is_now}, where {fixes} would be usual."
    return f"{is_now}, where {fixes} would fit the other columns."


# --- How far points are from an equation ----------------------------------------------------------


def measure_distance(equation: TidyEquation, points: FloatArray) -> float:
    """Return how far points are from an equation, in spreads of the columns.

    That is the root mean square of its values, over that of its gradient; to first order, the noise
    of columns that have one alike.
    """
    spreads = points.std(axis=0)
    slopes = np.zeros(len(points))
    for j in np.flatnonzero(equation.exponents.any(axis=0)):
        lower = equation.exponents.copy()
        factors = np.asarray(equation.coefficients, dtype=np.float64) * lower[:, j] * spreads[j]
        lower[:, j] = np.maximum(lower[:, j] - 1, 0)
        derivative = sum(
            factor * np.prod(points**powers, axis=1)
            for factor, powers in zip(factors, lower, strict=True)
        )
        slopes += derivative**2
    length = float(np.sqrt(np.mean(slopes)))
    return equation.extent / length if length else 0.0


def is_exact(distance: float) -> bool:
    """Say whether points are as far from an equation as rounding errors of the columns are."""
    return distance < SAME


def describe_distance(distance: float) -> str:
    """Say how far points are from an equation."""
    return "exact" if is_exact(distance) else f"off by {100 * distance:.2g} % of the spread"


# --- How equations are written --------------------------------------------------------------------

#: Terms of an equation that are written: two or three lines, more are not read.
MOST_WRITTEN_TERMS = 12
#: Digits of the coefficients of tidied equations, at least: those of most tables.
TIDY_DIGITS = 6


def take_terms(equation: TidyEquation, most: int | None = None) -> Sum:
    """Return the first terms of an equation, the highest degree first, as they are written."""
    exponents = equation.exponents
    order = np.lexsort((*-exponents.T[::-1], -exponents.sum(axis=1)))[:most]
    coefficients = [float(equation.coefficients[k]) for k in order]
    digits, n_left_out = max(TIDY_DIGITS, equation.digits), len(exponents) - len(order)
    return Sum(exponents[order], coefficients, digits, n_left_out)


# --- How much is shown ----------------------------------------------------------------------------

#: Columns of a table that are described one by one: more are not read.
MOST_SHOWN_COLUMNS = 40
#: Whole numbers below this have all of their digits, which people still count.
MOST_IN_FULL = 1e9
#: Letters of a name in a formula, which does not break inside of a name.
LONGEST_FORMULA_NAME = 24


def list_unused(found: Any) -> list[str]:
    """Return the columns that no law speaks of; none if there is no law."""
    laws = [*found, *getattr(found, "laws", ())]
    used = {name for law in laws for name in law.columns}
    used |= {law.where.column for law in laws if law.where is not None}
    used |= {name for each in getattr(found, "derived", ()) for name in each.needed}
    used |= {name for each in getattr(found, "domains", ()) for name in each.columns}
    return [name for name in found.names if used and name not in used]


def as_sentence(text: str) -> str:
    """Write a note as a sentence."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def find_version(package: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    import vanishing

    try:
        return vanishing.__version__ if package == "vanishing" else metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def count_things(number: int, what: str) -> str:
    """Write a number of things: "1 row", "1,200 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def have_enough_rows(n_rows: int, n_terms: int) -> bool:
    """Say whether rows tell the noise of an equation with all of its terms.

    As many coefficients as rows satisfy any rows; with twice as many, half of the rows remain to
    contradict them.
    """
    return n_rows >= 2 * n_terms
