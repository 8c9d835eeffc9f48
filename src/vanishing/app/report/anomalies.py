"""The section on the most anomalous rows, with explanations of the first ones."""

import time
from collections.abc import Sequence

import numpy as np

from vanishing.app.report.charts import draw_explanation, picture
from vanishing.app.report.content import Given, fold, format_count, make_row, make_scrollable
from vanishing.app.report.equations import Formulas
from vanishing.equations.mathml import Element, element
from vanishing.equations.text import number, significant
from vanishing.explain.record import TYPICAL, Bar, Explanation

#: Rows that are listed, that follow in a fold, and that are explained, at most.
LISTED, FOLDED, EXPLAINED = 10, 20, 6
#: Explaining stops after so many seconds, and does not begin if one row would take so many. A row
#: takes about as long as scoring this many; a wide one less.
SECONDS, MOST_SECONDS, SCORED_PER_ROW = 20.0, 120.0, 2000
#: Features that have a bar of their own, at most.
MOST_FEATURES = 8
#: Broken equations that are named.
EQUATIONS = 3


def anomalies_section(given: Given, formulas: Sequence[Formulas]) -> list[Element]:
    """Return the list of rows and the explanations."""
    listed, folded = given.order[:LISTED], given.order[LISTED : LISTED + FOLDED]
    n_anomalous = int(given.anomalous.sum())
    words = f"{format_count(n_anomalous, given.unit)} of {len(given.X):,} above the threshold."
    if not n_anomalous:
        words = (
            f"No {given.unit} is above the threshold. The highest scores are listed all the same."
        )
    table = _table(
        given, listed, f"The {format_count(len(listed), given.unit)} with the highest scores"
    )
    found: list[Element] = [element("p", words), make_scrollable(table, "Highest scores")]
    if folded:
        following = make_scrollable(
            _table(given, folded, f"The {given.unit}s that follow"), "Following"
        )
        found.append(fold(f"The {format_count(len(folded), given.unit)} that follow", following))
    explained, note = _explain(given, listed[:EXPLAINED])
    if explained:
        what, by = ("pixel", "Colours") if given.image_shape else ("column", "Bars")
        found.append(element("h3", f"Why these {given.unit}s"))
        found.append(
            element(
                "p",
                f"Each {given.unit} is compared with the nearest one that satisfies the equations "
                f"as well as nine of ten in training. {by} say how much of the difference between "
                f"their scores comes from each {what}: orange raises the score, blue lowers it. "
                f"Another {what} may be the cause: with few equations, changing any of several "
                f"{what}s could fix the {given.unit}.",
            )
        )
    found += [_card(given, row, explanation, formulas) for row, explanation in explained]
    found.append(element("p", note, class_="note"))
    return found


def _table(given: Given, listed: Sequence[int], caption: str) -> Element:
    titles = [given.unit, "score", "called"] + (["label"] if given.labels is not None else [])
    kinds = [None, "number"]
    rows = []
    for row in listed:
        score = given.scores[row]
        cells: list[object] = [
            given.ids[row],
            number(float(score), ".4g") if np.isfinite(score) else "infinite",
            _verdict(bool(given.anomalous[row])),
        ]
        if given.labels is not None:
            cells.append("anomaly" if given.labels[row] else "normal")
        rows.append(make_row("td", cells, kinds))
    return element(
        "table",
        element("caption", caption),
        element("thead", make_row("th", titles, kinds)),
        element("tbody", rows),
    )


def _verdict(anomalous: bool) -> Element:
    return element(
        "span", "anomaly" if anomalous else "normal", class_="called" if anomalous else None
    )


def _explain(given: Given, rows: Sequence[int]) -> tuple[list[tuple[int, Explanation]], str]:
    """Explain rows until time is up; return what was done in words as well."""
    started = time.perf_counter()
    expected = _expected_seconds(given)
    if expected > MOST_SECONDS:
        return [], (
            f"Not explained: with {format_count(given.X.shape[1], 'column')} that would take about "
            f"{number(expected, '.1g')} seconds a {given.unit}; detector.explain does it for those "
            "that matter."
        )
    near = [row for row in rows if np.isfinite(given.scores[row])]
    n_beyond = len(rows) - len(near)
    found: list[tuple[int, Explanation]] = []
    try:
        landscape = given.detector.anomaly_score_.landscape
        for row in near:
            found.append((row, landscape.explain(given.X[row], EQUATIONS, given.names)))
            elapsed = time.perf_counter() - started
            if elapsed * (1 + 1 / len(found)) > SECONDS:  # with another row as long as the others
                break
    except ValueError as error:  # a preprocessor that is not affine
        return [], f"Rows are not explained: {error}"
    words = f"Explained: {format_count(len(found), given.unit)} with the highest scores."
    if len(found) < len(near):
        words += f" Explaining more would have taken longer than {SECONDS:g} seconds."
    if n_beyond:
        words += (
            f" {format_count(n_beyond, given.unit)} with an infinite score too far from normal "
            "data to be explained."
        )
    return found, words


def _expected_seconds(given: Given) -> float:
    """Guess how long explaining one row takes; images, which change as a whole, are quick."""
    if given.image_shape is not None:
        return 0.0
    rows = np.repeat(given.normal.mean[None, :], 50, axis=0)
    started = time.perf_counter()
    given.detector.anomaly_score_.score_samples(rows)
    seconds = (time.perf_counter() - started) / len(rows)
    return float(seconds * SCORED_PER_ROW)


def _card(
    given: Given, row: int, explanation: Explanation, formulas: Sequence[Formulas]
) -> Element:
    head = f"score {number(explanation.score, '.3g')}"
    bars = explanation.bars(MOST_FEATURES, "column")
    if not bars:
        alone = None
        if given.image_shape is not None:
            alone = picture(explanation.sample, given.image_shape, given.ids[row])
        return _article(given, row, head, [alone, element("p", TYPICAL)])
    head += f", {number(explanation.counterfactual_score, '.3g')} with the suggested fix"
    broken = _broken(explanation, formulas)
    if given.image_shape is None:
        return _article(given, row, head, [_table_of_bars(bars), broken])
    pictures = draw_explanation(explanation, given.image_shape, given.ids[row])
    return _article(given, row, head, [element("div", pictures, broken, class_="side")])


def _article(given: Given, row: int, head: str, body: Sequence[Element | None]) -> Element:
    title = f"{given.unit.capitalize()} {given.ids[row]}"
    return element("article", element("h4", title, element("span", head, class_="note")), *body)


def _table_of_bars(bars: Sequence[Bar]) -> Element:
    """Return a table with a bar in each row."""
    largest = max(abs(bar.attribution) for bar in bars)
    rows = []
    for bar in bars:
        kind = "rest" if bar.is_rest else "more" if bar.attribution > 0 else "less"
        width = f"width: {100 * abs(bar.attribution) / largest:.1f}%"
        drawn = element("div", element("div", class_=f"bar {kind}", style=width), class_="track")
        cells = [bar.name, bar.change, drawn, bar.written]
        rows.append(make_row("td", cells, [None, "change", "wide", "number"]))
    titles = ["column", "value → suggested fix", "adds to the score", "points"]
    heads = make_row("th", titles, [None, "change", "wide", "number"])
    return element(
        "table",
        element("caption", "What each column adds to the score", class_="unseen"),
        element("thead", heads),
        element("tbody", rows),
        class_="bars",
    )


def _broken(explanation: Explanation, formulas: Sequence[Formulas]) -> Element | None:
    """List the broken equations, with their formulas."""
    if not explanation.equations:
        return None
    items = []
    for equation in explanation.equations:
        part, cluster = equation.ideal
        formula = formulas[part].formula(cluster, equation.index)
        times = f"{significant(equation.times_typical, 3)} times as far off as usual"
        words = f"{equation.part}, degree {equation.degree}: {times}"
        items.append(
            element(
                "li",
                None if formula is None else formula.element,
                element("span", words, class_="note"),
            )
        )
    return element(
        "div",
        element("p", "Equations that count most", class_="small-title"),
        element("ul", items, class_="equations"),
    )
