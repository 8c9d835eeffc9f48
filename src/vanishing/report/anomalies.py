"""The section on the most anomalous rows, with explanations of the first ones."""

import time
from collections.abc import Sequence

import numpy as np

from vanishing.anomaly.explain import Explanation
from vanishing.anomaly.explain.words import TYPICAL, chosen_features, written_change
from vanishing.export.markup import Element, element
from vanishing.export.writing import number
from vanishing.report.formulas import Formulas
from vanishing.report.given import Given
from vanishing.report.pictures import explained_image
from vanishing.report.words import counted, fold, row_of, scrolled

#: Rows that are listed, that follow in a fold, and that are explained, at most.
LISTED, FOLDED, EXPLAINED = 10, 40, 6
#: Explaining stops after so many seconds: a row of 200 columns takes several.
SECONDS = 20.0
#: Features that have a bar of their own, at most.
MOST_FEATURES = 8
#: Broken equations that are named.
EQUATIONS = 3


def anomalies_section(given: Given, formulas: Sequence[Formulas]) -> list[Element]:
    """Return the list of rows and the explanations."""
    listed, folded = given.order[:LISTED], given.order[LISTED : LISTED + FOLDED]
    n_anomalous = int(given.anomalous.sum())
    words = f"{counted(n_anomalous, 'row')} of {len(given.X):,} above the threshold."
    if not n_anomalous:
        words = "No row is above the threshold. The highest scores are listed all the same."
    table = _table(given, listed, f"The {counted(len(listed), 'row')} with the highest scores")
    found: list[Element] = [element("p", words), scrolled(table, "Highest scores")]
    if folded:
        following = scrolled(_table(given, folded, "The rows that follow"), "Rows that follow")
        found.append(fold(f"The {counted(len(folded), 'row')} that follow", following))
    explained, note = _explained(given, listed[:EXPLAINED])
    if explained:
        found.append(element("h3", "Why these rows"))
        found.append(
            element(
                "p",
                "Each row is compared with the nearest one that keeps the equations as well as "
                "nine of ten training rows. Bars say how much of the difference between their "
                "scores comes from each column: more raises the score, less lowers it.",
            )
        )
    found += [_card(given, row, explanation, formulas) for row, explanation in explained]
    found.append(element("p", note, class_="note"))
    return found


def _table(given: Given, listed: Sequence[int], caption: str) -> Element:
    titles = ["row", "score", "called"] + (["label"] if given.labels is not None else [])
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
        rows.append(row_of("td", cells, kinds))
    return element(
        "table",
        element("caption", caption),
        element("thead", row_of("th", titles, kinds)),
        element("tbody", rows),
    )


def _verdict(anomalous: bool) -> Element:
    return element(
        "span", "anomaly" if anomalous else "normal", class_="called" if anomalous else None
    )


def _explained(given: Given, rows: Sequence[int]) -> tuple[list[tuple[int, Explanation]], str]:
    """Explain rows until time is up; return what was done in words as well."""
    started = time.perf_counter()
    near = [row for row in rows if np.isfinite(given.scores[row])]
    n_beyond = len(rows) - len(near)
    found: list[tuple[int, Explanation]] = []
    explanations = given.detector._explanations(given.X[near], EQUATIONS, given.names)
    try:
        for row, explanation in zip(near, explanations, strict=False):
            found.append((row, explanation))
            if time.perf_counter() - started > SECONDS:
                break
    except ValueError as error:  # a preprocessor that is not affine
        return [], f"Rows are not explained: {error}"
    words = f"Explained: {counted(len(found), 'row')} with the highest scores."
    if len(found) < len(near):
        words += f" Explaining stopped after {SECONDS:g} seconds."
    if n_beyond:
        words += (
            f" {counted(n_beyond, 'row')} with an infinite score too far from normal data to be "
            "explained."
        )
    return found, words


def _card(
    given: Given, row: int, explanation: Explanation, formulas: Sequence[Formulas]
) -> Element:
    head = f"score {number(explanation.score, '.3g')}"
    shown, rest = chosen_features(explanation.shares, MOST_FEATURES)
    name = given.ids[row]
    if not len(shown):
        return _article(name, head, [element("p", TYPICAL)])
    head += f", {number(explanation.reference_score, '.3g')} when mended"
    body: list[Element | None] = []
    if given.image_shape is not None:
        body.append(explained_image(explanation, given.image_shape, name))
    else:
        body.append(_bars(given, explanation, shown.tolist(), rest.tolist()))
    body.append(_broken(explanation, formulas))
    return _article(name, head, body)


def _article(name: str, head: str, body: Sequence[Element | None]) -> Element:
    title = element("h4", f"Row {name}", element("span", head, class_="note"))
    return element("article", title, *body)


def _bars(
    given: Given, explanation: Explanation, shown: Sequence[int], rest: Sequence[int]
) -> Element:
    """Return a table with a bar in each row."""
    entries = [
        (
            given.names[j],
            written_change(explanation.sample[j], explanation.reference[j]),
            float(explanation.shares[j]),
            "",
        )
        for j in shown
    ]
    if rest:
        total = float(explanation.shares[list(rest)].sum())
        entries.append((counted(len(rest), "other column"), "", total, "rest"))
    largest = max(abs(share) for _, _, share, _ in entries) or 1.0
    rows = []
    for name, change, share, kind in entries:
        kind = kind or ("more" if share > 0 else "less")
        width = f"width: {100 * abs(share) / largest:.1f}%"
        bar = element("div", element("div", class_=f"bar {kind}", style=width), class_="track")
        written = number(share, "+.3g") if share else "0"
        rows.append(row_of("td", [name, change, bar, written], [None, "change", "wide", "number"]))
    titles = ["column", "value → mended", "", "adds"]
    heads = row_of("th", titles, [None, "change", "wide", "number"])
    heads[2].text = "adds to the score"
    heads[3].text = "points"
    return element(
        "table",
        element("caption", "What each column adds to the score", class_="unseen"),
        element("thead", heads),
        element("tbody", rows),
        class_="bars",
    )


def _broken(explanation: Explanation, formulas: Sequence[Formulas]) -> Element | None:
    """List the broken equations, with their formulas where these are short."""
    if not explanation.equations:
        return None
    items = []
    for equation in explanation.equations:
        part, piece = equation.ideal
        formula = formulas[part].formula(piece, equation.index)
        times = f"{number(equation.times_typical, '.3g')} times as far off as usual"
        words = f"{equation.part}, degree {equation.degree}: {times}"
        short = formula is not None and not formula.n_left_out
        items.append(
            element(
                "li",
                formula.element if short and formula is not None else None,
                element("span", words, class_="note"),
            )
        )
    return element(
        "div",
        element("p", "Equations that count most", class_="small-title"),
        element("ul", items, class_="equations"),
    )
