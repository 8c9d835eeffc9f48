"""Results as tables that people read."""

from collections.abc import Sequence
from typing import Any

from benchmarks.speed.peers import PEERS
from benchmarks.speed.targets import Target, over_quarter, own_mb
from benchmarks.speed.task import Result

TITLES = {
    "peers": "Cases a, b and c, beside the peers",
    "floor": "Beside bare BLAS and LAPACK",
    "growth-rows": "Growth in the number of rows",
    "growth-features": "Growth in the number of features",
    "growth-degree": "Growth in the degree",
    "memory": "Rows from a file",
}
COMMON = (
    "fit s",
    "transform s",
    "peak MB",
    "fit ÷ syrk",
    "fit ÷ geqrf",
    "transform ÷ products",
    "columns",
    "vanishing",
)

Row = Sequence[str]


def headline(result: Result) -> str:
    """Return one line about a result, to print as soon as it is there."""
    fit, transform, peak, syrk, geqrf, _, columns, _ = _common(result)
    line = f"{result.task.name:<52} fit {fit:>8} s  transform {transform:>8} s  peak {peak:>5} MB"
    line += f"  {syrk:>5} × syrk"
    line += f"  {geqrf:>5} × geqrf" if geqrf else " " * len("  12.34 × geqrf")
    line += f"  columns {columns}"
    for peer, _, faster, _, less in _peers(result):
        line += f"  {faster}× faster, {less}× less memory than {peer}"
    return line


def markdown(
    machine: dict[str, Any], results: Sequence[Result], kept: Sequence[Target], seconds: float
) -> str:
    """Return the whole report."""
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    parts = [
        "# Benchmarks",
        "Written by `make bench`; what the columns mean is in [README.md](../README.md).",
        f"{machine['date']}, commit {machine['commit']}, {seconds:.0f} s in all, "
        "one thread unless said otherwise.\n"
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
        f"{machine['system']}; Python {machine['python']}, {libraries}; "
        f"{', '.join(machine['blas'])}.",
    ]
    if kept:
        parts += ["## Targets", target_table(kept)]
    for section, title in TITLES.items():
        chosen = [result for result in results if result.task.section == section]
        if chosen:
            parts += [f"## {title}", _section(section, chosen)]
    return "\n\n".join(parts) + "\n"


def target_table(kept: Sequence[Target]) -> str:
    """Return the targets, those that were missed first."""
    rows = [
        (
            "yes" if target.met else "**no**",
            _number(target.value),
            f"{'≥' if target.at_least else '≤'} {target.limit:g}",
            target.text,
        )
        for target in sorted(kept, key=lambda target: target.met)
    ]
    return table(("met", "measured", "target", "what"), rows)


def _section(section: str, results: Sequence[Result]) -> str:
    if section == "peers":
        return _peers_table(results)
    if section == "memory":
        header = ["run", "source", *COMMON, "mapped MB", "peak without mapped MB"]
        rows: list[Row] = [
            (_size(r), r.task.source, *_common(r), _whole(r.mapped_mb), _whole(own_mb(r)))
            for r in results
        ]
    elif section.startswith("growth"):
        by_quarter = section == "growth-rows"
        header = ["run", *COMMON, f"fit ÷ fit of {'N/4' if by_quarter else 'the row before'}"]
        rows = []
        for before, r in zip([None, *results[:-1]], results, strict=True):
            ratio = over_quarter(r, results) if by_quarter else _over_before(r, before)
            rows.append((_size(r), *_common(r), _number(ratio)))
    else:
        header = ["run", *COMMON]
        rows = [(_size(r), *_common(r)) for r in results]
    return table(header, rows)


def _peers_table(results: Sequence[Result]) -> str:
    header = ["case", "normalization", "reduction", *COMMON]
    header += ["peer", "its s", "× faster", "its MB", "× less memory"]
    rows: list[Row] = []
    for result in results:
        ours = (*result.task.name.split(), *_common(result))
        for peer in _peers(result) or [("",) * 5]:
            rows.append((*ours, *peer))
            ours = ("",) * len(ours)  # a second peer gets a line of its own
    return table(header, rows)


def _peers(result: Result) -> list[tuple[str, str, str, str, str]]:
    if result.task.section != "peers":
        return []
    case, normalization, _ = result.task.name.split()
    return [
        (
            peer.peer,
            f"{peer.fit_s:g}",
            _number(peer.fit_s / result.fit_s),
            f"{peer.peak_mb:g}",
            _number(peer.peak_mb / result.peak_mb),
        )
        for peer in PEERS.get((case, normalization), ())
    ]


def _common(result: Result) -> tuple[str, ...]:
    return (
        _number(result.fit_s),
        _number(result.transform_s),
        _whole(result.peak_mb),
        _number(result.over_syrk),
        _number(result.over_geqrf),
        _number(result.over_products),
        ", ".join(map(str, result.columns)),
        ", ".join(map(str, result.vanishing)),
    )


def _over_before(result: Result, before: Result | None) -> float | None:
    if before is None or before.task.reduction != result.task.reduction:
        return None
    return result.fit_s / before.fit_s


def _size(result: Result) -> str:
    return result.task.name.removesuffix(f" {result.task.source}")


def _number(value: float | None) -> str:
    """Return about three significant digits, without exponents."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}" if value >= 0.1 else f"{value:.4f}"


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def table(header: Row, rows: Sequence[Row]) -> str:
    """Return a table in Markdown, its columns aligned."""
    widths = [max(map(len, cells)) for cells in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        f"| {' | '.join(c.ljust(w) for c, w in zip(line, widths, strict=True))} |" for line in lines
    )
