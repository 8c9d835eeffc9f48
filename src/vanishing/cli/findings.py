"""What a detector finds in a table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from vanishing._xp import BoolArray, FloatArray, IntArray
from vanishing.anomaly.explain.words import written_change
from vanishing.cli.bars import bar
from vanishing.cli.console import cell, tracked
from vanishing.cli.exits import DataError
from vanishing.cli.models import anomaly_scores, library_errors, threshold_of
from vanishing.cli.tables import Table

#: Features named beside an anomaly.
REASONS = 3


@dataclass(frozen=True, eq=False)
class Findings:
    """Scores of all rows, and explanations of the worst.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Larger for rows that are less normal.
    threshold : float
    anomalous : bool array of shape (n_rows,)
    worst : int array
        The anomalous rows of largest score, largest first.
    explanations : list of Explanation or None
        Of the worst rows; None where there is none, as for scores that are not finite.
    auc : float or None
        Area under the ROC curve, where labels of both kinds are known.
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
    for index in tracked(worst, "explaining", len(worst)):
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
                "row": int(table.rows[index]),
                "id": None if table.ids is None else str(table.ids[index]),
                "score": float(findings.scores[index]),
                "features": {} if why is None else dict(why.ranked()),
            }
            for index, why in zip(findings.worst, findings.explanations, strict=True)
        ],
    }


def show_findings(findings: Findings, table: Table, console: Any) -> None:
    """Print how many anomalies there are, and of the worst the smallest change that mends them."""
    number = int(findings.anomalous.sum())
    console.print(
        f"{number} of {len(table)} rows {'is' if number == 1 else 'are'} anomalous "
        f"(score above {findings.threshold:.4g})",
        soft_wrap=True,
        markup=False,
    )
    if findings.auc is not None:
        console.print(f"area under the ROC curve: {findings.auc:.3f}")
    if not len(findings.worst):
        return
    rows = RichTable(box=None, pad_edge=False)
    rows.add_column("row", justify="right")
    rows.add_column("score", justify="right")
    rows.add_column("")
    rows.add_column("mended by changing")
    finite = findings.scores[np.isfinite(findings.scores)]
    largest = float(finite.max(initial=0.0)) or 1.0
    for index, why in zip(findings.worst, findings.explanations, strict=True):
        score = float(findings.scores[index])
        rows.add_row(
            cell(table.row_name(index)),
            f"{score:.4g}",
            cell(bar(score / largest, 12)),
            cell(_reasons(why)),
        )
    console.print(rows)
    if len(findings.worst) < number:
        console.print(f"... and {number - len(findings.worst)} more (--top, --out)", markup=False)


def _reasons(why: Any) -> str:
    if why is None:
        return "(cannot be said)"
    gap = float(why.score - why.reference_score)
    changed = np.flatnonzero((why.shares > 0.05 * gap) & (gap > 0))
    order = changed[np.argsort(-why.shares[changed], kind="stable")][:REASONS]
    named = [f"{why.feature_names[j]} ({_change(why, j)})" for j in order]
    return ", ".join(named) or "all columns together"


def _change(why: Any, j: int) -> str:
    """Write two numbers with signs that every terminal has."""
    return written_change(why, j).replace("→", "to").replace("\u2212", "-")
