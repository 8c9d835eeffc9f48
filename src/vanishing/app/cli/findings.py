"""What ``detect`` and ``explain`` print."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing.app.cli.console import DataError, ModelError, bar, make_table, out, say, track
from vanishing.app.cli.equations import carry_back, equation_texts, tidy_equations, tidy_text
from vanishing.app.cli.models import (
    anomaly_scores,
    choose_ideal,
    core,
    evaluate_rows,
    ideals_of,
    library_errors,
    preprocess,
    threshold_of,
)
from vanishing.app.cli.tables import place_of
from vanishing.app.wording import MOST_WRITTEN_TERMS, TOGETHER, have_enough_rows, list_changes
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.data.whole_tables import Table
from vanishing.equations.simplification import TidyEquation
from vanishing.equations.text import exact_number
from vanishing.levels import OUTLYING, SAME
from vanishing.polynomials.monomials import count

# --- What a detector finds in a table -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Findings:
    """Scores of all rows, and explanations of the worst.

    ``worst`` are the anomalous rows of largest score, largest first; an explanation is None where
    the score is not finite. ``auc`` is the area under the ROC curve, with labels of both kinds.
    """

    scores: FloatArray
    threshold: float
    anomalous: BoolArray
    worst: IntArray
    explanations: list[Any]
    auc: float | None


def find(detector: Any, table: Table, known: BoolArray | None, *, top: int) -> Findings:
    """Score all rows, and explain the most anomalous ones."""
    scores = anomaly_scores(detector, table)
    threshold = threshold_of(detector)
    anomalous = scores > threshold
    order = np.argsort(-scores, kind="stable")
    worst = order[: min(top, int(anomalous.sum()))]
    explanations = []
    for index in track(worst, "explaining", len(worst)):
        try:
            explanations.append(explain_row(detector, table, index))
        except DataError:  # no reason to keep the scores back
            explanations.append(None)
    auc = None
    if known is not None and 0 < known.sum() < len(known):
        from sklearn.metrics import roc_auc_score

        auc = float(roc_auc_score(known, np.clip(scores, None, np.finfo(float).max)))
    return Findings(scores, threshold, anomalous, worst, explanations, auc)


def explain_row(detector: Any, table: Table, index: int, *, n_equations: int = 5) -> Any:
    """Explain one row; None where its score is not finite."""
    row = table.keep(np.array([index]))
    if not np.isfinite(anomaly_scores(detector, row))[0]:
        return None
    with library_errors(f"{table.where}, row {table.row_name(index)}"):
        return detector.explain(row.for_model, n_equations=n_equations)[0]


def findings_record(findings: Findings, table: Table) -> dict[str, Any]:
    """Return what was found, for JSON."""
    return {
        "n_rows": len(table),
        "n_anomalies": int(findings.anomalous.sum()),
        "threshold": findings.threshold,
        "auc": findings.auc,
        "anomalies": [
            {
                **place_of(table, index),
                "score": float(findings.scores[index]),
                "features": {} if why is None else dict(why.ranked()),
                "fix": {}
                if why is None
                else {
                    name: float(why.counterfactual[j])
                    for j, name in enumerate(why.feature_names)
                    if why.changed[j]
                },
            }
            for index, why in zip(findings.worst, findings.explanations, strict=True)
        ],
    }


def show_findings(findings: Findings, table: Table, console: Any) -> None:
    """Print the number of anomalies, and what would be typical for the worst ones."""
    number = int(findings.anomalous.sum())
    console.print(
        f"{number} of {len(table)} rows {'is' if number == 1 else 'are'} anomalous "
        f"(score above {findings.threshold:.4g})",
        soft_wrap=True,
        markup=False,
    )
    if findings.auc is not None:
        console.print(f"area under the ROC curve: {findings.auc:.3f}")
    if not number and len(table):
        highest = int(np.argmax(findings.scores))
        console.print(
            f"the highest score is {findings.scores[highest]:.4g} (row {table.row_name(highest)})",
            soft_wrap=True,
            markup=False,
        )
    if not len(findings.worst):
        return
    bars = _draw_bars(findings.scores, findings.worst, 12)
    rows = [
        (table.row_name(index), f"{findings.scores[index]:.4g}", drawn, _suggest(why))
        for index, drawn, why in zip(findings.worst, bars, findings.explanations, strict=True)
    ]
    titles = ("row", "score", "", "typical value")
    console.print(make_table(titles, rows, left=("", "typical value")))
    if len(findings.worst) < number:
        console.print(f"... and {number - len(findings.worst)} more (--top, --out)", markup=False)


def _suggest(why: Any) -> str:
    """Write what would be typical with signs that every terminal has."""
    if why is None:
        return "no explanation"
    changes = [f"{each.name} ({each.value} to {each.fix})" for each in list_changes(why)]
    return (", ".join(changes) or TOGETHER).replace("\u2212", "-")


# --- Explanations in tables and JSON --------------------------------------------------------------


def explanation_record(detector: Any, table: Table, index: int, why: Any) -> dict[str, Any]:
    """Return an explanation, for JSON."""
    record: dict[str, Any] = {**place_of(table, index), "threshold": threshold_of(detector)}
    if why is None:
        return record | {"score": None, "features": [], "equations": []}
    return record | {
        "score": why.score,
        "counterfactual_score": why.counterfactual_score,
        "features": [
            {
                "name": name,
                "value": why.sample[j],
                "counterfactual": why.counterfactual[j],
                "changed": bool(why.changed[j]),
                "attribution": why.attribution[j],
            }
            for j, name in enumerate(why.feature_names)
        ],
        "equations": [
            {
                "part": each.part,
                "ideal": f"{each.ideal[0]},{each.ideal[1]}",
                "index": each.index,
                "degree": each.degree,
                "value": each.value,
                "usual": each.usual,
                "typical": each.typical,
                "times_typical": each.times_typical,
            }
            for each in why.equations
        ],
    }


def show_explanation(
    detector: Any,
    table: Table,
    index: int,
    why: Any,
    *,
    n_features: int,
    normal: Table | None,
    raw: bool,
) -> None:
    """Print the attribution of each feature, and the broken equations.

    Unless ``raw``, equations are written as short as the noise of normal rows allows: those of
    ``normal``, or of the table itself.
    """
    name = table.row_name(index)
    if why is None:
        say(f"row {name}: too far from normal data to be explained")
        return
    verdict = "anomalous" if why.score > threshold_of(detector) else "normal"
    say(f"row {name}: score {why.score:.4g}, {verdict} (threshold {threshold_of(detector):.4g})")
    if not why.attribution.any():
        say("it satisfies the equations as well as normal rows do")
        return
    say(f"the nearest row that satisfies the equations has score {why.counterfactual_score:.4g}\n")
    out().print(explanation_table(why, n_features))
    for line in _broken_constants(detector, why):
        say(f"\n{line}")
    if why.equations:
        say("\nequations it breaks:")
        tidied = [] if raw else _tidied(detector, table if normal is None else normal)
        for each in why.equations:
            say(f"  {each}")
            text = tidied[each.index] if tidied else _equation(detector, each)
            say(f"    {text}")


def _broken_constants(detector: Any, why: Any) -> list[str]:
    """Say which columns differ from the one value that they have in normal rows."""
    constants = core(detector).anomaly_score_.constants
    if constants is None:
        return []
    broken = np.flatnonzero(constants.constant & (why.attribution != 0) & why.changed)
    return [
        f"{why.feature_names[j]} = {constants.values[j]:g} in every normal row; here it is "
        f"{why.sample[j]:g}"
        for j in broken
    ]


def explanation_table(explanation: Any, n_features: int) -> Any:
    """Return the attribution of each feature as a table with bars."""
    order = np.argsort(-explanation.attribution, kind="stable")[:n_features]
    rows = []
    for j, drawn in zip(order, _draw_bars(explanation.attribution, order), strict=True):
        values = (exact_number(explanation.sample[j]), explanation.format_values(j)[1])
        value, fixed = (each.replace("\u2212", "-") for each in values)
        name = explanation.feature_names[j]
        rows.append((name, value, fixed, f"{explanation.attribution[j]:+.3g}", drawn))
    return make_table(("feature", "value", "fixed", "attribution", ""), rows, left=("feature", ""))


def _draw_bars(values: FloatArray, chosen: IntArray, width: int = 20) -> list[str]:
    """Return a bar for each of the chosen values, as long as the largest of all allows."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
    return [bar(float(values[k]) / largest, width) for k in chosen]


def _tidied(detector: Any, table: Table) -> list[str]:
    """Return rounded equations of a detector that is one ideal, where there are rows enough."""
    ideal, names, meaning = carry_back(detector, choose_ideal(detector, None)[0])
    n_terms = count(ideal.basis_.n_features, len(ideal.basis_.blocks))
    if meaning or len(ideals_of(detector)) > 1 or not have_enough_rows(len(table), n_terms):
        return []
    usual = table.keep(anomaly_scores(detector, table) <= threshold_of(detector))
    if not have_enough_rows(len(usual), n_terms):
        return []
    tidied = tidy_equations(ideal, usual.values, names) or []
    return [f"rounded and scaled: {tidy_text(each)}" for each in tidied]


def _equation(detector: Any, broken: Any) -> str:
    """Return the equation itself, as far as it can be written out."""
    key = f"{broken.ideal[0]},{broken.ideal[1]}"
    ideal, names, _ = carry_back(detector, key)
    try:
        (text,) = equation_texts(ideal, names, terms=MOST_WRITTEN_TERMS, only=broken.index)
    except ModelError:
        return f"(ideal {key}, number {broken.index}: too many terms to write out)"
    return text


def show_values(
    model: Any, table: Table, index: int, n_equations: int, *, raw: bool, silent: bool
) -> dict[str, Any]:
    """Print the values of an ideal's equations at a row, largest first; return them for JSON.

    An ideal knows the extents of its equations and nothing else of its data, so there is no
    attribution to features.
    """
    ideal = core(model)
    shown_ideal, names, meaning = carry_back(model, "0")
    row = preprocess(model, table.keep(np.array([index])).for_model)
    extents = ideal.extents_
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        values = ideal.transform(row, output="signed")[0]
        times = np.where(values == 0, 0.0, np.abs(values) / extents)
    order = np.argsort(-times, kind="stable")[:n_equations]
    labels = ideal.get_feature_names_out()
    record = {
        **place_of(table, index),
        "score": float(np.linalg.norm(values)),
        "equations": [
            {
                "name": str(labels[k]),
                "value": float(values[k]),
                "extent": float(extents[k]),
                "times_extent": float(times[k]),
            }
            for k in order
        ],
    }
    if silent:
        return record
    say(f"row {table.row_name(index)}: score {record['score']:.4g}\n")
    rows = [
        (str(labels[k]), f"{values[k]:.4g}", f"{extents[k]:.3g}", f"{times[k]:.3g}", drawn)
        for k, drawn in zip(order, _draw_bars(times, order), strict=True)
    ]
    titles = ("equation", "value", "extent", "times extent", "")
    out().print(make_table(titles, rows, left=("equation", "")))
    tidied = [] if raw or meaning else _tidied_by_sound_rows(model, shown_ideal, table, names)
    if tidied:
        say("\nthe same equations, as short as the noise of the other rows allows:")
        row = table.values[[index]]
        by_size = sorted(tidied, key=lambda each: -abs(float(each.evaluate(row)[0])) / each.size)
        for each in by_size[:n_equations]:
            text = tidy_text(each, terms=MOST_WRITTEN_TERMS)
            say(f"  {text}   (off by {each.evaluate(row)[0]:.4g})")
    else:
        texts = equation_texts(shown_ideal, names, terms=MOST_WRITTEN_TERMS)
        say(f"\nequations, {meaning}:" if meaning else "")
        for k in order:
            say(f"  {labels[k]}: {texts[k]}")
    say("\nvanishing check suggests a fix, and so does a detector (vanishing fit --kind detector)")
    return record


def _tidied_by_sound_rows(
    model: Any, ideal: Any, table: Table, names: Sequence[str]
) -> list[TidyEquation]:
    """Return short equations equivalent to those of an ideal, where there are rows enough."""
    n_terms = count(ideal.basis_.n_features, len(ideal.basis_.blocks))
    if len(table) <= n_terms:
        return []
    values = evaluate_rows(
        table,
        lambda rows: core(model).transform(preprocess(model, rows), output="abs"),
        "evaluating",
    )
    # Rows that are not outliers of any equation, rounding errors aside.
    sound = table.keep((values <= OUTLYING * ideal.extents_ + SAME).all(axis=1))
    if len(sound) <= n_terms:
        return []
    return tidy_equations(ideal, sound.values, names, mix=True) or []
