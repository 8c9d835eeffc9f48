"""The section on the anomalous rows: a ranked list, a sentence about each, and why."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from vanishing.app.report.charts import draw_explanation, picture
from vanishing.app.report.content import (
    FOLDED,
    LARGE_LISTED,
    LISTED,
    Given,
    fold,
    fold_rest,
    format_count,
    format_score,
    make_table,
    raise_power,
    write_change,
)
from vanishing.app.report.equations import Formula, Formulas
from vanishing.app.wording import NAMED, TOGETHER, describe_fix, list_changes
from vanishing.equations.mathml import Element, element
from vanishing.equations.text import changed_number, number, significant
from vanishing.explain.record import Bar, Explanation

#: Explaining stops after so many seconds, which people wait for a page, and does not begin if a row
#: would take longer. It takes about as long as scoring this many rows; a wide one less.
SECONDS, SCORED_PER_ROW = 20.0, 2000

Explanations = Mapping[int, Explanation]


def anomalies_section(
    given: Given, explained: Explanations, note: str, formulas: Sequence[Formulas]
) -> list[Element]:
    """Return the ranked list of anomalous rows, and details of the first ones.

    Explanations are by row; the note says which rows have one.
    """
    anomalous = [row for row in given.order if given.anomalous[row]]
    others = [row for row in given.order if not given.anomalous[row]][:LISTED]
    unit = given.unit
    found: list[Element] = []
    if not anomalous:
        found.append(element("p", f"No {unit} is above the threshold."))
    caption = f"{format_count(len(anomalous), f'anomalous {unit}')}, highest score first"
    detailed = anomalous  # of images, whose pictures say more than a list, explained or not
    if given.image_shape is None:
        found += fold_rest(
            anomalous, lambda rows, _: _list_rows(given, explained, rows, caption), unit
        )
        detailed = [row for row in anomalous if row in explained]
        if detailed:
            found.append(element("h3", "The rows in detail"))
    if detailed:

        def show_cards(rows: Sequence[int], _: int) -> Element:
            cards = [_card(given, row, explained.get(row), formulas) for row in rows]
            return element("div", cards, class_="cards")

        found.append(element("p", _how_to_read(given)))
        found += fold_rest(detailed, show_cards, unit, is_large=True)
    if note:
        found.append(element("p", note, class_="note"))
    if others:
        words = f"The {format_count(len(others), unit)} just below the threshold"
        below = _list_rows(given, explained, others, words)
        found.append(element("div", below) if not anomalous else fold(words, below))
    return found


def explain_anomalies(
    given: Given, callback: Callable[[float], object] | None = None
) -> tuple[dict[int, Explanation], str]:
    """Explain anomalous rows until time is up; say in words what is left."""
    rows = [row for row in given.order if given.anomalous[row]][: LISTED + FOLDED]
    if not rows:
        return {}, ""
    started = time.perf_counter()
    expected = _expected_seconds(given)
    if expected > SECONDS:
        return {}, (
            f"Not explained: with {format_count(given.X.shape[1], 'column')} that would take about "
            f"{number(expected, '.1g')} seconds per {given.unit}; use detector.explain for those "
            "that matter."
        )
    near = [row for row in rows if np.isfinite(given.scores[row])]
    found: dict[int, Explanation] = {}
    try:
        landscape = given.detector.anomaly_score_.landscape
        for row in near:
            found[row] = landscape.explain(given.X[row], NAMED, given.names)
            if callback is not None:
                callback(len(found) / len(near))
            elapsed = time.perf_counter() - started
            if elapsed * (1 + 1 / len(found)) > SECONDS:  # with another row as long as the others
                break
    except ValueError as error:  # a preprocessor that is not affine
        return {}, f"Not explained: {error}"
    words = ""
    if len(found) < len(near):
        words = (
            f"Explained: the {format_count(len(found), given.unit)} with the highest scores. More "
            f"would have taken longer than {SECONDS:g} seconds."
        )
    if n_beyond := len(rows) - len(near):
        words += (
            f" {format_count(n_beyond, given.unit)} with an infinite score too far from normal "
            "data to be explained."
        )
    return found, words.strip()


def _expected_seconds(given: Given) -> float:
    """Guess how long explaining one row takes; images, which change as a whole, are quick."""
    if given.image_shape is not None:
        return 0.0
    rows = np.repeat(given.normal.mean[None, :], 50, axis=0)
    started = time.perf_counter()
    given.detector.anomaly_score_.score_samples(rows)
    seconds = (time.perf_counter() - started) / len(rows)
    return float(seconds * SCORED_PER_ROW)


# --- The ranked list ------------------------------------------------------------------------------


def _list_rows(given: Given, explained: Explanations, rows: Sequence[int], caption: str) -> Element:
    """Return a table of rows with scores and what would be typical."""
    finite = given.scores[np.isfinite(given.scores)]
    largest = float(finite.max(initial=0.0)) or 1.0
    titles: list[object] = [given.unit, "score", element("span", "bar", class_="unseen")]
    kinds = ["row-name", "number", "score-bar"]
    has_fixes = any(row in explained for row in rows)
    if has_fixes:
        titles.append("typical value")
        kinds.append("fix")
    if given.labels is not None:
        titles.append("label")
        kinds.append("short")
    lines = []
    for row in rows:
        cells: list[object] = [
            given.ids[row],
            format_score(float(given.scores[row])),
            draw_bar(
                float(given.scores[row]) / largest, "more" if given.anomalous[row] else "rest"
            ),
        ]
        if has_fixes:
            cells.append(_write_fix(explained.get(row)))
        if given.labels is not None:
            cells.append("anomaly" if given.labels[row] else "normal")
        lines.append(cells)
    return make_table(titles, lines, kinds, caption=caption, class_="ranked")


def draw_bar(share: float, kind: str) -> Element:
    """Return a bar that fills a share of its cell."""
    width = f"width: {100 * float(np.clip(share, 0.0, 1.0)):.1f}%"
    return element("div", element("div", class_=f"bar {kind}", style=width), class_="track")


def _write_fix(explanation: Explanation | None) -> object:
    if explanation is None:
        return "–"
    if not (changes := list_changes(explanation)):
        return TOGETHER
    return [write_change(*each) for each in changes]


# --- Details --------------------------------------------------------------------------------------


def _how_to_read(given: Given) -> str:
    if given.image_shape is not None:
        return (
            "Each image is compared with the nearest one that is as typical as nine of ten "
            "training images. Colors show what each pixel adds to the score: orange raises it, "
            "blue lowers it."
        )
    return (
        "Each row is compared with the nearest one that is as typical as nine of ten training "
        "rows. Bars show what each column adds to the score: orange raises it, blue lowers it. "
        "Another column may be the cause: with few equations, changing any of several columns "
        "could fix the row."
    )


def _card(
    given: Given, row: int, explanation: Explanation | None, formulas: Sequence[Formulas]
) -> Element:
    score = f"score {format_score(float(given.scores[row]))}"
    if explanation is not None and explanation.attribution.any():
        score += f", {format_score(explanation.counterfactual_score)} when fixed"
    if given.labels is not None:
        score += f", labelled {'anomaly' if given.labels[row] else 'normal'}"
    head = element(
        "h4" if given.image_shape is None else "h3",
        f"{given.unit.capitalize()} {given.ids[row]}",
        element("span", score, class_="note"),
    )
    if given.image_shape is not None:
        if explanation is None or not explanation.attribution.any():
            return element(
                "article", head, picture(given.X[row], given.image_shape, given.ids[row])
            )
        pictures = draw_explanation(explanation, given.image_shape, given.ids[row])
        return element("article", head, pictures)
    assert explanation is not None
    bars = explanation.bars(LARGE_LISTED, "column")
    return element(
        "article",
        head,
        element("p", describe_fix(explanation, raise_power)),
        _table_of_bars(bars, given.ids[row]) if sum(not bar.is_rest for bar in bars) > 1 else None,
        _fold_equations(explanation, formulas),
    )


def _table_of_bars(bars: Sequence[Bar], row: str) -> Element:
    """Return a table with a bar in each line."""
    largest = max(abs(bar.attribution) for bar in bars)
    rows = []
    for bar in bars:
        kind = "rest" if bar.is_rest else "more" if bar.attribution > 0 else "less"
        change = " → ".join(map(raise_power, bar.change.split(" → ")))
        drawn = draw_bar(abs(bar.attribution) / largest, kind)
        rows.append([bar.name, change, drawn, bar.written])
    return make_table(
        ["column", "value → typical value", "adds to the score", "points"],
        rows,
        [None, "change", "wide", "number"],
        caption=f"What each column of row {row} adds to the score",
        is_caption_seen=False,
        class_="bars",
    )


def _fold_equations(explanation: Explanation, formulas: Sequence[Formulas]) -> Element | None:
    """List the broken equations, with their formulas, in a fold."""
    items = []
    for equation in explanation.equations:
        part, cluster = equation.ideal
        formula = formulas[part].formula(cluster, equation.index)
        times = f"{raise_power(significant(equation.times_typical, 3))} times as far off as usual"
        words = f"{equation.part}, degree {equation.degree}: {times}"
        written = None if formula is None else formula.element
        if formula is not None and formulas[part].in_columns:
            solved = _solve_for_changed(formula, explanation)
            if solved is not None:
                written, given = solved
                words = f"{given}: {times}"
        items.append(element("li", written, element("span", words, class_="note")))
    if not items:
        return None
    words = (
        "The equation that it breaks" if len(items) == 1 else "The equations that it breaks most"
    )
    return fold(words, element("ul", items, class_="equations"))


def _solve_for_changed(formula: Formula, explanation: Explanation) -> tuple[Element, str] | None:
    """Return the formula of the column to change most, and what it says about the row."""
    if not list_changes(explanation):
        return None
    column = int(np.argmax(explanation.attribution))
    solved = formula.solve_for(column, explanation.sample)
    if solved is None:
        return None
    written, value = solved
    name = explanation.feature_names[column]
    here, fix = (raise_power(each) for each in changed_number(explanation.sample[column], value))
    return written, f"{name} is {here}, this gives {fix}"
