"""What the library promises about speed and memory, and whether a run kept it."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.speed.peers import PEERS
from benchmarks.speed.task import Result


@dataclass(frozen=True)
class Target:
    """One promise.

    Parameters
    ----------
    text : str
        What is measured.
    value, limit : float
    at_least : bool
        Whether the value should be at least the limit, or at most.
    """

    text: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the promise was kept."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def targets(results: Sequence[Result]) -> list[Target]:
    """Return the targets that these results decide, of a full run."""
    return [*_peers(results), *_floor(results), *_growth(results), *_memory(results)]


def _peers(results: Sequence[Result]) -> list[Target]:
    found = []
    for result in results:
        if result.task.section != "peers":
            continue
        case, normalization, reduction = result.task.name.split()
        what = f"{case}, {normalization}, {reduction}"
        if (case, normalization) in (("b", "vca"), ("c", "vca"), ("c", "gradient")):
            peer = PEERS[case, normalization][0]
            faster = peer.fit_s / result.fit_s
            found.append(Target(f"times faster than {peer.peer}: {what}", faster, 20, True))
        if case == "c" and (case, normalization) in PEERS:
            peer = PEERS[case, normalization][0]
            less = peer.peak_mb / result.peak_mb
            found.append(Target(f"times less memory than {peer.peer}: {what}", less, 10, True))
    return found


def _floor(results: Sequence[Result]) -> list[Target]:
    found = []
    for result in results:
        if result.task.section != "floor":
            continue
        if result.over_geqrf is not None:
            found.append(Target(f"fit ÷ geqrf: {result.task.name}", result.over_geqrf, 1.5))
        else:
            found.append(Target(f"fit ÷ syrk: {result.task.name}", result.over_syrk, 2))
        if result.over_products is not None:
            what = f"transform ÷ its products: {result.task.name}"
            found.append(Target(what, result.over_products, 2))
    return found


def _growth(results: Sequence[Result]) -> list[Target]:
    return [
        Target(f"fit ÷ fit of a quarter of the rows: {result.task.name}", ratio, 4.5)
        for result in results
        if (ratio := over_quarter(result, results)) is not None
    ]


def over_quarter(result: Result, results: Sequence[Result]) -> float | None:
    """Return how many times longer the fit takes than that of a quarter of the rows."""
    if result.task.section != "growth-rows":
        return None
    for other in results:
        same = (other.task.section, other.task.reduction) == ("growth-rows", result.task.reduction)
        if same and 4 * other.task.rows == result.task.rows:
            return result.fit_s / other.fit_s
    return None


def _memory(results: Sequence[Result]) -> list[Target]:
    stored = [result for result in results if result.task.section == "memory"]
    found = []
    for result in stored:
        kind = (result.task.source, result.task.reduction)
        for other in stored:
            if (other.task.source, other.task.reduction) != kind:
                continue
            if 4 * other.task.rows == result.task.rows:
                growth = own_mb(result) / own_mb(other)
                found += [
                    Target(f"peak MB: {result.task.name}", result.peak_mb, 1500),
                    Target(
                        f"peak without mapped pages ÷ that of {other.task.rows:,} rows: "
                        f"{' '.join(kind)}",
                        growth,
                        1.05,
                    ),
                ]
    return found


def own_mb(result: Result) -> float:
    """Return the peak without the pages of mapped files."""
    return result.peak_mb - (result.mapped_mb or 0.0)
