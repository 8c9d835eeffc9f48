"""Tables and a figure of cut networks, from ``results.json``."""

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

Row = dict[str, Any]
WHOLE = "whole network"
#: What a setting changes, in the order of the table.
SETTING = {
    "degree": "degree",
    "n_components": "components",
    "tol": "tol",
    "max_samples": "samples per class",
    "max_polynomials": "most polynomials per class",
    "linear": "with latent vector",
}


def write_report(path: Path) -> None:
    """Write ``results.md`` and ``figures/accuracy.svg`` beside the results."""
    results = json.loads(path.read_text(encoding="utf-8"))
    lines = ["# Networks cut short by class ideals", ""]
    lines += [f"* {name}: {_machine(results[name]['machine'])}" for name in results]
    lines += ["", "<!-- figures -->"]
    for stage, title in (("heads", "Body frozen"), ("cuts", "Everything trained")):
        if stage in results:
            lines += ["", f"### {title}", "", *_accuracies(results[stage]["rows"])]
    if "heads" in results:
        lines += ["", "### Fitted, not trained", "", *_settings(results["heads"]["rows"])]
        _draw(results, path.parent / "figures" / "accuracy.svg")
    for stage in ("throughput", "throughput of a processor"):
        if stage in results:
            lines += ["", f"### {stage.capitalize()}", "", *_throughput(results[stage]["rows"])]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _machine(machine: Row) -> str:
    device = machine["device"] or f"{machine['cpu']}, one thread"
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    return f"{device}; {libraries}; commit {machine['commit']}"


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _by_head(rows: list[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if "head" in row:
            groups[row["head"]].append(row)
    return groups


def _accuracies(rows: list[Row]) -> list[str]:
    """Accuracy of each head, and how far it is from the whole networks of the same seeds."""
    groups = _by_head(rows)
    whole = {row["seed"]: row for row in groups[WHOLE]}
    written = []
    for head, found in groups.items():
        lost = [row["test"] - whole[row["seed"]]["test"] for row in found]
        share = mean(row["numbers"] / whole[row["seed"]]["numbers"] for row in found)
        written.append(
            [
                head,
                f"{mean(row['numbers'] for row in found):,.0f}",
                f"{share:.0%}",
                f"{mean(row['validation'] for row in found):.2f}",
                f"{mean(row['test'] for row in found):.2f}",
                "" if head == WHOLE else f"{mean(lost):+.2f}",
                "" if head == WHOLE else ", ".join(f"{value:+.2f}" for value in lost),
            ]
        )
    header = ["head", "parameters", "of whole", "validation %", "test %", "test − whole", "each"]
    return _table(header, written)


def _settings(rows: list[Row]) -> list[str]:
    """Class ideals in different ways, for the network that all of them were tried on."""
    counts: dict[int, int] = defaultdict(int)
    for row in rows:
        counts[row["seed"]] += "degree" in row
    tried = max(counts, key=lambda seed: counts[seed])
    written = []
    for row in rows:
        if "degree" in row and row["seed"] == tried:
            setting = [_word(row[key]) for key in SETTING]
            figures = [f"{row['polynomials']}", f"{row['numbers']:,}"]
            accuracy = [f"{row['validation']:.2f}", f"{row['test']:.2f}"]
            written.append([*setting, *figures, *accuracy])
    header = [*SETTING.values(), "polynomials", "parameters", "validation %", "test %"]
    return _table(header, written)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:,g}"


def _throughput(rows: list[Row]) -> list[str]:
    """Images per second, relative to the whole network in the same round."""
    written = []
    for row in rows:
        whole = row["images_per_s"][WHOLE]
        for name, rate in row["images_per_s"].items():
            how = "compiled" if row["compiled"] else "eager"
            written.append([f"{row['seed']}", how, name, f"{rate:,}", f"{rate / whole:.2f}×"])
    return _table(["network", "run", "head", "images per second", "beside whole"], written)


def _draw(results: Row, path: Path) -> None:
    """Draw the accuracy over the numbers that a network holds."""
    from matplotlib import pyplot, rc_context

    groups = _by_head(results["heads"]["rows"])
    with rc_context({"svg.hashsalt": "networks", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = pyplot.subplots(figsize=(8.4, 3.6), layout="constrained")
        for number, (head, rows) in enumerate(groups.items()):
            x = [row["numbers"] / 1000 for row in rows]
            style = (
                {"marker": "*", "s": 120} if head == WHOLE else {"marker": "osD^vPX"[number % 7]}
            )
            axes.scatter(x, [row["test"] for row in rows], label=head, alpha=0.8, **style)
        fitted = [row for row in results["heads"]["rows"] if "degree" in row]
        x = [row["numbers"] / 1000 for row in fitted]
        y = [row["test"] for row in fitted]
        axes.scatter(x, y, marker=".", color="black", label="class ideals, not trained")
        whole = groups[WHOLE]
        axes.axvline(whole[0]["numbers"] / 2000, color="0.5", lw=0.8, ls=":")
        axes.axhline(mean(row["test"] for row in whole) - 0.5, color="0.5", lw=0.8, ls=":")
        axes.set(xlabel="thousand parameters", ylabel="test accuracy %", ylim=(89, 94.6))
        figure.legend(fontsize=8, loc="outside right upper", frameon=False)
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
