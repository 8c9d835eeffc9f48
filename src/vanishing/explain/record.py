"""Explanation: what a detector says about one sample, as a record, in words and in HTML."""

from dataclasses import dataclass

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.equations.markup import Element, element, render
from vanishing.equations.text import as_given, changed_number, number

# --- What an explanation says ---------------------------------------------------------------------

#: What numbers are written with, which not every terminal has.
MINUS = "\u2212"
#: Changes of a number below this share of it are rounding.
ROUNDING = 8 * np.finfo(np.float64).eps
#: Changes below this share of the largest one, both in units of the spread, are none.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class BrokenEquation:
    """An equation of normal data, and how far a sample is from keeping it.

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

    def __str__(self) -> str:
        return (
            f"{self.part}: an equation of degree {self.degree} is off by "
            f"{self.value - self.usual:.3g}, {self.times_typical:.3g} times what is typical"
        )


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why one sample has its score.

    Parameters
    ----------
    sample, reference : arrays of shape (n_features,)
        The sample, and the nearest point that keeps the equations as well as nine of ten training
        samples do. They are the same where the sample does so itself.
    score, reference_score : float
        Anomaly scores of both, minus ``score_samples``.
    shares : array of shape (n_features,)
        The part of ``score - reference_score`` that comes from each feature; they add up to it.
    equations : tuple of BrokenEquation
        Those that count most in the score of the sample, most first.
    feature_names : tuple of str
    spread : array of shape (n_features,), optional
        The unit in which changes of each feature are measured.
    """

    sample: FloatArray
    reference: FloatArray
    score: float
    reference_score: float
    shares: FloatArray
    equations: tuple[BrokenEquation, ...]
    feature_names: tuple[str, ...]
    spread: FloatArray | None = None

    @property
    def changed(self) -> BoolArray:
        """Whether each feature differs between the sample and the reference.

        Differences that are rounding do not count, nor those that are small beside the largest one,
        in units of the spread: the search for the reference leaves them.
        """
        with np.errstate(over="ignore"):  # of numbers at the end of the range
            change = np.abs(self.reference - self.sample)
        known = change > ROUNDING * np.maximum(np.abs(self.sample), np.abs(self.reference))
        if self.spread is None:
            return np.asarray(known)
        varies = self.spread > 0
        moved = np.divide(change, self.spread, out=np.zeros_like(change), where=varies)
        return np.asarray(known & (~varies | (moved >= NEGLIGIBLE * moved.max(initial=0.0))))

    def ranked(self, n_features: int | None = None) -> list[tuple[str, float]]:
        """Return names and shares of the features, largest share first.

        Parameters
        ----------
        n_features : int, optional
            How many of them, all by default.

        Returns
        -------
        list of tuple
            Name and share.
        """
        order = self._order()[:n_features]
        return [(self.feature_names[j], float(self.shares[j])) for j in order]

    def _repr_html_(self) -> str:
        # In a module that knows this one.

        return explanation_html(self)

    def _order(self) -> IntArray:
        return np.argsort(-self.shares, kind="stable")

    def _change(self, j: int) -> str:
        value, mended = float(self.sample[j]), float(self.reference[j])
        if not self.changed[j]:
            return f"{as_given(value)}, unchanged".replace(MINUS, "-")
        return " instead of ".join(changed_number(value, mended)).replace(MINUS, "-")

    def __str__(self) -> str:
        if not self.shares.any():
            return f"score {self.score:.4g}, as is usual for normal samples"
        lines = [f"score {self.score:.4g}, against {self.reference_score:.4g} when mended"]
        for j in self._order()[:3]:
            if self.shares[j] > 0:
                lines.append(
                    f"  {self.feature_names[j]}: {self.shares[j]:+.3g} of it, {self._change(j)}"
                )
        return "\n".join([*lines, *(f"  {equation}" for equation in self.equations)])


# --- An explanation in words and numbers, as pictures and pages write it --------------------------

#: Shares that are this small beside the largest are rounding.
SMALLEST_SHARE = 1e-12
UNCHANGED = "unchanged"
TYPICAL = (
    "A typical sample: it keeps the equations as well as nine of ten training samples do, and no "
    "feature adds to its score."
)


def chosen_features(shares: FloatArray, n_features: int) -> tuple[IntArray, IntArray]:
    """Return the features that are shown, largest share first, and the rest.

    Those with the largest shares of either sign are shown. Features without a share go into the
    rest; a rest of one is shown as well, since "1 other feature" would take as much space.
    """
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features}")
    sizes = np.abs(shares)
    order = np.argsort(-sizes, kind="stable")
    n_shown = min(n_features, int(np.sum(sizes > SMALLEST_SHARE * sizes.max())))
    if n_shown and n_shown == len(shares) - 1:
        n_shown += 1
    shown, rest = order[:n_shown], order[n_shown:]
    return shown[np.argsort(-shares[shown], kind="stable")], rest


def written_values(explanation: Explanation, j: int) -> tuple[str, str]:
    """Write the value of a feature, and the mended one, which may be "unchanged"."""
    value, mended = float(explanation.sample[j]), float(explanation.reference[j])
    if not explanation.changed[j]:
        return as_given(value), UNCHANGED
    return changed_number(value, mended)


def written_change(explanation: Explanation, j: int) -> str:
    """Write the value of a feature and the mended one in short."""
    before, after = written_values(explanation, j)
    return before if after == UNCHANGED else f"{before} → {after}"


def written_equation(equation: BrokenEquation) -> str:
    """Write in short how far off an equation is."""
    times = f"{equation.times_typical:.3g} times as far off as usual"
    return f"{equation.part}, degree {equation.degree}: {times}"


# --- What a notebook shows of an explanation: a row for each feature, with a bar ------------------

#: Features that have a row of their own, at most.
MOST_FEATURES = 10
#: Blue and vermilion of Okabe and Ito, as in the displays, and the width of the longest bar.
LESS, MORE, REST, WIDTH = "#0072B2", "#D55E00", "#8C8C8C", 12.0
CELL = "text-align: left; padding-right: 1.5em"


def explanation_html(explanation: Explanation) -> str:
    """Write an explanation as a table.

    Parameters
    ----------
    explanation : Explanation
    """
    head = f"Score {number(explanation.score, '.3g')}"
    shown, rest = chosen_features(explanation.shares, MOST_FEATURES)
    if not len(shown):
        return render(element("div", element("b", head), element("div", TYPICAL)))
    head += f", {number(explanation.reference_score, '.3g')} when mended"
    largest = float(np.abs(explanation.shares[shown]).max())
    rows = [
        _row(
            explanation.feature_names[j],
            written_change(explanation, j),
            float(explanation.shares[j]),
            largest,
        )
        for j in shown
    ]
    if len(rest):
        share = float(explanation.shares[rest].sum())
        rows.append(_row(f"{len(rest)} other features", "", share, max(largest, abs(share)), REST))
    titles = ("feature", "value → mended", "adds to the score")
    cells = [element("th", title, scope="col", style=CELL) for title in titles]
    table = element("table", element("thead", element("tr", cells)), element("tbody", rows))
    broken = [element("li", written_equation(equation)) for equation in explanation.equations]
    equations = [element("div", "Broken equations:"), element("ul", broken)] if broken else []
    return render(element("div", element("b", head), table, equations))


def _row(name: str, change: str, share: float, largest: float, color: str = "") -> Element:
    width = f"{WIDTH * abs(share) / largest:.3g}em"
    bar = element(
        "span",
        style=f"display: inline-block; height: 0.7em; width: {width}; margin-right: 0.4em; "
        f"background: {color or (MORE if share > 0 else LESS)}",
    )
    return element(
        "tr",
        element("th", name, scope="row", style=CELL + "; font-weight: normal"),
        element("td", change, style=CELL),
        element("td", bar, number(share, "+.3g") if share else "0", style=CELL),
    )
