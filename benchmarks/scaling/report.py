"""The scaling results as tables and figures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.report import table

Found = dict[str, Any]

TITLES = {
    "rows": "Rows: 10 features, degree 2, contrastive, streamed",
    "features-1": "Features at degree 1, contrastive, streamed",
    "features-2": "Features at degree 2, contrastive, streamed",
    "degree": "Degree: 5 features, contrastive, streamed",
    "strong": "Strong scaling: the same rows on more workers",
    "weak": "Weak scaling: as many rows for each worker",
}
#: The target for the largest number of rows.
MOST_MB, MOST_PER_ROW = 2000, 1.2


def of_part(record: Found, part: str) -> list[Found]:
    """Return the measurements of a part, in order of size."""
    found = [result for result in record["results"].values() if result["part"] == part]
    keys = ("reduction", "workers", "degree", "features", "rows")
    return sorted(found, key=lambda result: tuple(result[key] for key in keys))


def markdown(record: Found) -> str:
    """Return the whole report."""
    machine = record["machine"]
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    parts = [
        "# Scaling",
        "Written by `python -m benchmarks.scaling`; see [README.md](../README.md).",
        f"{machine['date']}. {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gb']} GB, {machine['system']}; Python {machine['python']}, {libraries}; "
        f"{', '.join(machine['blas'])}.",
    ]
    for part, title in TITLES.items():
        found = of_part(record, part)
        if found:
            parts += [f"## {title}", _table(part, found)]
            if part == "rows":
                parts += _targets(found)
            parts.append(f"![{title}](figures/{part}.svg)")
    return "\n\n".join(parts) + "\n"


def _table(part: str, found: Sequence[Found]) -> str:
    if part in ("strong", "weak"):
        header = ["workers", "rows", "fit s", "efficiency"]
        rows = [
            [str(r["workers"]), f"{r['rows']:,}", f"{r['fit_s']:.2f}", f"{e:.2f}"]
            for r, e in zip(found, efficiencies(part, found), strict=True)
        ]
    else:
        header = ["size", "reduction", "threads", "fit s", "µs per row", "peak MB", "drawing s"]
        header += ["candidates", "vanishing"]
        rows = [
            [
                f"{r['rows']:,}×{r['features']} degree {r['degree']}",
                r["reduction"],
                str(r["threads"]),
                f"{r['fit_s']:.2f}",
                f"{per_row(r):.3f}",
                f"{r['peak_mb']:.0f}",
                f"{r['drawing_s']:.2f}",
                ", ".join(map(str, r["candidates"])),
                ", ".join(map(str, r["vanishing"])),
            ]
            for r in found
        ]
    return table(header, rows)


def _targets(found: Sequence[Found]) -> list[str]:
    lines = []
    for reduction in sorted({r["reduction"] for r in found}):
        own = [r for r in found if r["reduction"] == reduction]
        first, last = own[0], own[-1]
        ratio = per_row(last) / per_row(first)
        lines.append(
            f"* {reduction}: time per row at {last['rows']:,} rows is {ratio:.2f} times that at "
            f"{first['rows']:,} (target ≤ {MOST_PER_ROW}); peak {last['peak_mb']:.0f} MB (target "
            f"< {MOST_MB})"
        )
    return ["\n".join(lines)]


def per_row(found: Found) -> float:
    """Return microseconds per row of X."""
    return float(1e6 * found["fit_s"] / found["rows"])


def efficiencies(part: str, found: Sequence[Found]) -> list[float]:
    """Return time on one worker over what is ideal, for each number of workers."""
    one = found[0]["fit_s"]
    return [one / (r["fit_s"] * (r["workers"] if part == "strong" else 1)) for r in found]


def draw(record: Found, folder: Path) -> None:
    """Draw one figure for each part."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "vanishing"  # the same file for the same figures
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    axes_of = {"rows": "rows", "features-1": "features", "features-2": "features"}
    axes_of |= {"degree": "degree", "strong": "workers", "weak": "workers"}
    for part, axis in axes_of.items():
        found = of_part(record, part)
        if not found:
            continue
        figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
        for reduction in sorted({r["reduction"] for r in found}):
            own = [r for r in found if r["reduction"] == reduction]
            sizes = [r[axis] for r in own]
            left.plot(sizes, [r["fit_s"] for r in own], "o-", label=reduction)
            if axis == "rows":
                right.plot(sizes, [per_row(r) for r in own], "o-", label=reduction)
            elif axis == "workers":
                right.plot(sizes, efficiencies(part, own), "o-", label=reduction)
            else:
                right.plot(sizes, [r["peak_mb"] for r in own], "o-", label=reduction)
        left.set(xlabel=axis, ylabel="fit, seconds")
        names = {"rows": "µs per row", "workers": "efficiency"}
        right.set(xlabel=axis, ylabel=names.get(axis, "peak memory, MB"))
        right.set_ylim(0, 1.08 * right.get_ylim()[1])
        if axis == "workers":
            left.set_ylim(0, 1.08 * left.get_ylim()[1])
        else:
            left.set_yscale("log")
        if axis in ("workers", "degree"):
            for each in (left, right):
                each.set_xticks(sorted({r[axis] for r in found}))
        if axis == "rows":
            left.set_xscale("log")
            right.set_xscale("log")
        left.legend()
        figure.get_layout_engine().set(wspace=0.08)
        figure.suptitle(TITLES[part], fontsize=10)
        figure.savefig(folder / f"{part}.svg", metadata={"Date": None})
        plt.close(figure)
