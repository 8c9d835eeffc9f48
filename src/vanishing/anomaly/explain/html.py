"""What a notebook shows of an explanation: a row for each feature, with a bar."""

import numpy as np

from vanishing.anomaly.explain.result import Explanation
from vanishing.anomaly.explain.words import (
    TYPICAL,
    chosen_features,
    written_change,
    written_equation,
)
from vanishing.export.markup import Element, element, rendered
from vanishing.export.writing import number

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
        return rendered(element("div", element("b", head), element("div", TYPICAL)))
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
    return rendered(element("div", element("b", head), table, equations))


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
