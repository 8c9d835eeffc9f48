"""Parts of pages that are made of the measured results when the pages are built.

They go to ``docs/generated``, and ``comparison.md`` and ``trust.md`` include them.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
WORK = {
    "a": "2,000 × 3, degree 4",
    "b": "10,000 × 10, degree 3",
    "c": "30,000 × 20, degree 2",
}


def _read(name: str) -> Any:
    return json.loads((BENCHMARKS / name).read_text(encoding="utf-8"))


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _rounded(value: float) -> str:
    """Write a number with two digits and no exponent."""
    return f"{float(f'{value:.2g}'):,g}"


def speed_table() -> str:
    """Our seconds and megabytes beside the peers', from ``results.json`` and ``peers.py``.

    How many times faster we are is written beside the fastest peer of a case only.
    """
    sys.path.insert(0, str(ROOT))
    from benchmarks.speed.peers import PEERS

    results = _read("speed/results.json")["results"]
    ours = {result["task"]["name"]: result for result in results}
    rows = []
    for (case, normalization), peers in PEERS.items():
        result = ours[f"{case} {normalization} tsqr"]
        best = min(peer.fit_s for peer in peers)
        for peer in peers:
            rows.append(
                [
                    WORK[case],
                    f"`{normalization}`",
                    f"{result['fit_s']:.2g} s, {result['peak_mb']:.0f} MB",
                    f"{peer.peer}: {peer.fit_s:.3g} s, {peer.peak_mb:.0f} MB",
                    _rounded(best / result["fit_s"]) + "×" if peer.fit_s == best else "",
                ]
            )
    return _table(["rows × columns", "normalization", "`vanishing`", "peer", "faster"], rows)


def tables_summary() -> str:
    """One sentence per question on the tables of ``tables_results.json``."""
    measured = _read("detectors/tables_results.json")
    means = measured["means"]["clean"]
    tables = measured["tables"]["clean"].values()
    better = sum(table["ours"] > table["kNN-5"] for table in tables)
    worse = sum(table["ours"] < table["kNN-5"] for table in tables)
    worst = max(table["false alarms"] for table in tables)
    return (
        f"Mean AUC × 100 over {len(tables)} tables and three splits: "
        f"**{means['ours']:.1f}** for `VanishingDetector()`, **{means['kNN-5']:.1f}** for five "
        f"nearest neighbours. It is better on {better} tables and worse on {worse}. With its "
        f"default threshold {means['false alarms']:.1f} % of new normal rows are alarms, "
        f"{worst:.1f} % on the worst table.\n"
    )


def draw_tables(path: Path) -> None:
    """Draw the difference from nearest neighbours, table by table."""
    from matplotlib.figure import Figure

    measured = _read("detectors/tables_results.json")
    tables = measured["tables"]["clean"].items()
    rows = sorted((table["ours"] - table["kNN-5"], name) for name, table in tables)
    differences = [difference for difference, _ in rows]
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axis = figure.subplots()
    colors = ["#0072B2" if difference > 0 else "#D55E00" for difference in differences]
    axis.barh(range(len(rows)), differences, color=colors)
    axis.set_yticks(range(len(rows)), [name.partition("_")[2] for _, name in rows], fontsize=9)
    for place, difference in enumerate(differences):
        axis.text(
            difference + (0.3 if difference >= 0 else -0.3),
            place,
            f"{difference:+.1f}".replace("-", "−"),
            va="center",
            ha="left" if difference >= 0 else "right",
            fontsize=8,
            color="#333333",
        )
    axis.set_xlabel("AUC × 100, difference from five nearest neighbours, mean of three splits")
    axis.tick_params(axis="y", length=0)
    axis.spines[["left", "top", "right"]].set_visible(False)
    axis.set_xlim(min(differences) - 3, max(differences) + 3)
    figure.savefig(path, dpi=160)


#: Campaigns of the page about trust, in its order. Some are too long for every machine.
CAMPAIGNS = (
    "campaigns/kills_results",
    "campaigns/soak_results",
    "playground/load_results",
    "campaigns/mutation_results",
    "campaigns/coverage_results",
    "campaigns/matrix_results",
)


def campaigns() -> str:
    """Return the results of all campaigns that were run, one section each."""
    found = [_differential()]
    for name in CAMPAIGNS:
        path = BENCHMARKS / f"{name}.md"
        if path.exists():
            # One level further down: the page has its own heading.
            found.append(re.sub(r"^#", "##", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    return "\n".join(found)


def _differential() -> str:
    """Return a section about the comparison with exact arithmetic."""
    path = BENCHMARKS / "campaigns" / "differential_results.json"
    if not path.exists():
        return ""
    parts = [
        "## Exact arithmetic",
        "*Unclear*: nothing can be decided in the precision of the fit, and nothing is compared. "
        "*Undecided*: the fit says so. *Refused*: every equation holds on the contrast, too. *Too "
        "large*: coefficients or squares are out of range, and an error says so.",
    ]
    for run in _read("campaigns/differential_results.json")["runs"]:
        made_on = run["machine"]
        parts.append(
            f"`{run['command']}` on {made_on['date']}, commit {made_on['commit']}, "
            f"{made_on['cores']} × {made_on['cpu']}:"
        )
        counts = {"right": 0, "wrong": 0} | run["counts"]
        parts.append(_table(["", "cases"], [[name, f"{n:,}"] for name, n in counts.items()]))
    return "\n\n".join(parts) + "\n"


def write(app: Any) -> None:
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    made = {"speed.md": speed_table(), "tables.md": tables_summary(), "trust.md": campaigns()}
    for name, text in made.items():
        target = folder / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    draw_tables(folder / "tables.png")


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
