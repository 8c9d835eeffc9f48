"""Explanation: what a detector says about one sample, and the rows that every display shows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.arrays.parameters import check_whole
from vanishing.equations.text import (
    MINUS,
    SHOWN_LINES,
    as_given,
    changed_number,
    count_decimals,
    number,
    printable,
)
from vanishing.levels import ROUNDING, SAME
from vanishing.style import LESS, MORE, NEUTRAL

if TYPE_CHECKING:
    from vanishing.equations.mathml import Element

# --- What an explanation says ---------------------------------------------------------------------

UNCHANGED = "unchanged"
TYPICAL = (
    "A typical sample: it satisfies the equations as well as nine of ten training samples do, and "
    "no feature adds to its score."
)
#: Parts of a whole below this are not seen: explanations show three digits.
NOTICED_SHARE = 1e-3


@dataclass(frozen=True)
class BrokenEquation:
    """An equation of normal data, and how far a sample is from satisfying it.

    Parameters
    ----------
    value : float
        Value of the polynomial at the sample.
    usual : float
        Its mean on normal data, which the deviation is measured from.
    typical : float
        Root mean square of its deviation from ``usual`` on normal data.
    degree : int
    part : str
        The transformation or the part of the recipe that the equation belongs to.
    ideal : tuple of int
        Where it is found: ``detector.ideals_[ideal[0]][ideal[1]]``.
    index : int
        Which of the vanishing polynomials of that ideal it is.
    """

    value: float
    usual: float
    typical: float
    degree: int
    part: str
    ideal: tuple[int, int]
    index: int

    @property
    def times_typical(self) -> float:
        """The deviation in units of what is typical."""
        with np.errstate(divide="ignore"):
            return float(np.divide(abs(self.value - self.usual), self.typical))

    @property
    def summary(self) -> str:
        """How far off the equation is, in short."""
        times = f"{self.times_typical:.3g} times as far off as usual"
        return f"{self.part}, degree {self.degree}: {times}"

    def __str__(self) -> str:
        return (
            f"{self.part}: an equation of degree {self.degree} is off by "
            f"{self.value - self.usual:.3g}, {self.times_typical:.3g} times what is typical"
        )

    def __repr__(self) -> str:
        return f"<BrokenEquation: {self.summary}>"


class Bar(NamedTuple):
    """A row of a display: what a feature, or all others together, adds to the score.

    ``change`` is the value and the suggested fix; empty for the other features.
    """

    name: str
    change: str
    attribution: float
    is_rest: bool = False

    @property
    def written(self) -> str:
        """The attribution as text."""
        return number(self.attribution, "+.3g") if self.attribution else "0"


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why one sample has its score.

    Parameters
    ----------
    sample, counterfactual : arrays of shape (n_features,)
        The sample, and the nearest point that satisfies the equations as well as nine of ten
        training samples do: the suggested fix. They are the same where the sample does so itself.
    score, counterfactual_score : float
        Anomaly scores of both, minus ``score_samples``.
    attribution : array of shape (n_features,)
        The part of ``score - counterfactual_score`` that comes from each feature; the sum is all of
        it.
    equations : tuple of BrokenEquation
        Those that count most in the score of the sample, most first.
    feature_names : tuple of str
    spread : array of shape (n_features,), optional
        The unit in which changes of each feature are measured.
    units : array of shape (n_features,), optional
        Units of the last digits of the features, such as 0.01; 0 for numbers that are not rounded.
    row : object, optional
        What the sample is called: its label in the index of a frame.
    """

    sample: FloatArray
    counterfactual: FloatArray
    score: float
    counterfactual_score: float
    attribution: FloatArray
    equations: tuple[BrokenEquation, ...]
    feature_names: tuple[str, ...]
    spread: FloatArray | None = None
    units: FloatArray | None = None
    row: Any = None

    @property
    def changed(self) -> BoolArray:
        """Whether each feature differs between the sample and the counterfactual.

        Differences that are rounding do not count, nor those that are small beside the largest one,
        in units of the spread: the search for the counterfactual leaves them.
        """
        with np.errstate(over="ignore"):  # of numbers at the end of the range
            change = np.abs(self.counterfactual - self.sample)
        known = change > ROUNDING * np.maximum(np.abs(self.sample), np.abs(self.counterfactual))
        if self.spread is None:
            return np.asarray(known)
        varies = self.spread > 0
        moved = np.divide(change, self.spread, out=np.zeros_like(change), where=varies)
        return np.asarray(known & (~varies | (moved >= NOTICED_SHARE * moved.max(initial=0.0))))

    def ranked(self, n_features: int | None = None) -> list[tuple[str, float]]:
        """Return names and attributions of the features, largest first.

        Parameters
        ----------
        n_features : int, optional
            How many of them, all by default.

        Returns
        -------
        list of tuple
            Name and attribution.
        """
        if n_features is not None:
            check_whole("n_features", n_features, 0)
        order = self._order()[:n_features]
        return [(self.feature_names[j], float(self.attribution[j])) for j in order]

    def format_values(self, j: int) -> tuple[str, str]:
        """Write the value of a feature, and the suggested fix, which may be "unchanged".

        Parameters
        ----------
        j : int
            The feature.

        Returns
        -------
        tuple of str
        """
        value, fix = float(self.sample[j]), float(self.counterfactual[j])
        decimals = None if self.units is None else count_decimals(self.units[j])
        # Changes in digits that the column does not have are not shown.
        is_hidden = decimals is not None and round(fix, decimals) == round(value, decimals)
        if not self.changed[j] or is_hidden:
            return as_given(value), UNCHANGED
        return changed_number(value, fix, decimals)

    def format_change(self, j: int) -> str:
        """Write the value of a feature and the suggested fix in short.

        Parameters
        ----------
        j : int
            The feature.

        Returns
        -------
        str
        """
        before, after = self.format_values(j)
        return before if after == UNCHANGED else f"{before} → {after}"

    def bars(self, n_features: int, noun: str = "feature") -> list[Bar]:
        """Return the rows of a display, largest attribution first; none for a typical sample.

        Parameters
        ----------
        n_features : int
            Features that have a row of their own, at most: those with the largest attributions of
            either sign. Another row sums up the rest; a rest of one is shown by itself, since "1
            other feature" would take as much space.
        noun : str
            What a feature is called.

        Returns
        -------
        list of Bar
        """
        check_whole("n_features", n_features)
        sizes = np.abs(self.attribution)
        order = np.argsort(-sizes, kind="stable")
        n_shown = min(n_features, int(np.sum(sizes > SAME * sizes.max())))
        if n_shown and n_shown == len(sizes) - 1:
            n_shown += 1
        shown, rest = order[:n_shown], order[n_shown:]
        found = [
            Bar(self.feature_names[j], self.format_change(j), float(self.attribution[j]))
            for j in shown[np.argsort(-self.attribution[shown], kind="stable")]
        ]
        if n_shown and len(rest):
            total = float(self.attribution[rest].sum())
            found.append(Bar(f"{len(rest):,} other {noun}s", "", total, is_rest=True))
        return found

    def _order(self) -> IntArray:
        return np.argsort(-self.attribution, kind="stable")

    def to_frame(self) -> Any:
        """Return a pandas frame with one line for each feature, largest attribution first.

        Columns: ``value``, ``fix`` (the counterfactual, or the value itself where it is unchanged)
        and ``attribution``. The index holds the names of the features.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import pandas as pd
        >>> from vanishing import VanishingDetector, VanishingIdeal
        >>> x = pd.Series(range(50), dtype=float)
        >>> normal = pd.DataFrame({"net": x, "gross": 1.2 * x})
        >>> detector = VanishingDetector(VanishingIdeal(max_degree=1, tol=0.1)).fit(normal)
        >>> broken = pd.DataFrame({"net": [10.0], "gross": [40.0]}, index=["May"])
        >>> (explanation,) = detector.explain(broken)
        >>> explanation.row
        'May'
        >>> explanation.to_frame().columns.to_list()
        ['value', 'fix', 'attribution']
        """
        pandas = import_extra("pandas", extra="frames", purpose="Explanation.to_frame")
        order = self._order()
        columns = {
            "value": self.sample,
            "fix": np.where(self.changed, self.counterfactual, self.sample),
            "attribution": self.attribution,
        }
        names = pandas.Index([self.feature_names[j] for j in order], name="feature")
        return pandas.DataFrame({key: each[order] for key, each in columns.items()}, index=names)

    def __repr__(self) -> str:
        changed = [self.feature_names[j] for j in np.flatnonzero(self.changed)]
        row = "" if self.row is None else f"row={self.row!r}, "
        return (
            f"Explanation({row}score={self.score:.4g}, "
            f"counterfactual_score={self.counterfactual_score:.4g}, changed={changed})"
        )

    def __str__(self) -> str:
        row = "" if self.row is None else f"row {self.row}: "
        if not self.attribution.any():
            return f"{row}score {self.score:.4g}, as is usual for normal samples"
        fixed = f"{self.counterfactual_score:.4g} with the suggested fix"
        lines = [f"{row}score {self.score:.4g}, {fixed}"]
        for j in self._order()[:3]:
            if self.attribution[j] > 0:
                before, after = self.format_values(j)
                change = (
                    f"{before}, {after}" if after == UNCHANGED else f"{before} instead of {after}"
                )
                added = f"{self.attribution[j]:+.3g} of it"
                name = printable(self.feature_names[j])
                # Not every terminal has the sign in numbers.
                lines.append(f"  {name}: {added}, {change}".replace(MINUS, "-"))
        return "\n".join([*lines, *(f"  {equation}" for equation in self.equations)])

    def _repr_html_(self) -> str:
        """Return a table with a row for each feature, for notebooks."""
        from vanishing.equations.mathml import element, render  # for notebooks only

        head = f"Score {number(self.score, '.3g')}"
        head = head if self.row is None else f"Row {self.row}: score{head[len('Score') :]}"
        bars = self.bars(SHOWN_LINES)
        if not bars:
            return render(element("div", element("b", head), element("div", TYPICAL)))
        head += f", {number(self.counterfactual_score, '.3g')} with the suggested fix"
        largest = max(abs(bar.attribution) for bar in bars)
        titles = ("feature", "value → suggested fix", "adds to the score")
        cells = [element("th", title, scope="col", style=CELL) for title in titles]
        rows = [_row(bar, largest) for bar in bars]
        table = element("table", element("thead", element("tr", cells)), element("tbody", rows))
        broken = [element("li", equation.summary) for equation in self.equations]
        equations = [element("div", "Broken equations:"), element("ul", broken)] if broken else []
        return render(element("div", element("b", head), table, equations))


# --- A row of the table in notebooks --------------------------------------------------------------

CELL = "text-align: left; padding-right: 1.5em"


def _row(bar: Bar, largest: float) -> "Element":
    from vanishing.equations.mathml import element

    color = NEUTRAL if bar.is_rest else MORE if bar.attribution > 0 else LESS
    drawn = element(
        "span",
        style="display: inline-block; height: 0.7em; margin-right: 0.4em; "
        f"width: {12 * abs(bar.attribution) / largest:.3g}em; background: {color}",
    )
    return element(
        "tr",
        element("th", bar.name, scope="row", style=CELL + "; font-weight: normal"),
        element("td", bar.change, style=CELL),
        element("td", drawn, bar.written, style=CELL),
    )
