"""What became slower or larger since the committed table.

Seconds differ from machine to machine and from day to day; ratios to the floors, which are measured
in the same process, hardly do. They are compared, and a measurement counts as slower only if it is
beyond the noise of measurements of its length every time it is repeated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.speed.task import Result, Task

#: (seconds, limit): of measurements at least so long, ratios may grow by this factor.
TIME_LIMITS = ((0.1, 1.3), (0.01, 1.6), (0.0, 2.0))
#: Peak memory may grow by this factor and by so many megabytes; both must be exceeded.
MEMORY_LIMIT, MEMORY_NOISE_MB = 1.15, 20.0
#: Measurements that look slower are repeated so many times.
REPEATS = 2


@dataclass(frozen=True)
class Change:
    """A ratio that is larger than in the committed table.

    Parameters
    ----------
    task : Task
    what : str
    before, now : float
    limit : float
        Factor by which it may grow.
    """

    task: Task
    what: str
    before: float
    now: float
    limit: float

    @property
    def factor(self) -> float:
        """How many times larger it has become."""
        return self.now / self.before

    def __str__(self) -> str:
        return (
            f"{self.task.section}: {self.task.name}: {self.what} was {self.before:.3g} and is "
            f"{self.now:.3g}, {self.factor:.2f} times as much (limit {self.limit:g})"
        )


def became_worse(committed: Iterable[Mapping[str, Any]], results: Sequence[Result]) -> list[Change]:
    """Compare results with those of the committed table, worst first.

    Parameters
    ----------
    committed : iterable of mappings
        As ``Result.to_dict`` makes them, of any earlier version: what one of the two does not have,
        and measurements that have been changed, are not compared.
    results : sequence of Result
    """
    earlier = {(old["task"]["section"], old["task"]["name"]): old for old in committed}
    found = []
    for result in results:
        old = earlier.get((result.task.section, result.task.name))
        if old is not None and _same_task(old["task"], result.task):
            found += _changes(old, result)
    return sorted(found, key=lambda change: change.factor / change.limit, reverse=True)


def confirmed(
    committed: Sequence[Mapping[str, Any]],
    results: list[Result],
    measure: Callable[[Task], Result],
    *,
    repeats: int = REPEATS,
) -> list[Change]:
    """Return what is worse every time it is measured; ``results`` gets the best of them.

    Parameters
    ----------
    committed : sequence of mappings
    results : list of Result
        Changed in place.
    measure : callable
    repeats : int
    """
    worse = became_worse(committed, results)
    for _ in range(repeats):
        for task in dict.fromkeys(change.task for change in worse):
            place = next(i for i, result in enumerate(results) if result.task == task)
            again = measure(task)
            if _badness(committed, again) < _badness(committed, results[place]):
                results[place] = again
        worse = became_worse(committed, results)
        if not worse:
            break
    return worse


def _badness(committed: Iterable[Mapping[str, Any]], result: Result) -> float:
    changes = became_worse(committed, [result])
    return changes[0].factor / changes[0].limit if changes else 0.0


def _changes(old: Mapping[str, Any], new: Result) -> list[Change]:
    now = new.to_dict()
    found = []
    for what, ratio, seconds in (
        ("fit ÷ syrk", "over_syrk", "fit_s"),
        ("fit ÷ geqrf", "over_geqrf", "fit_s"),
        ("transform ÷ products", "over_products", "transform_s"),
    ):
        before, after = old.get(ratio), now.get(ratio)
        if before is None or after is None:
            continue
        limit = next(limit for least, limit in TIME_LIMITS if old[seconds] >= least)
        if after > limit * before:
            found.append(Change(new.task, what, before, after, limit))
    before, after = old["peak_mb"], new.peak_mb
    if after > MEMORY_LIMIT * before and after > before + MEMORY_NOISE_MB:
        found.append(Change(new.task, "peak MB", before, after, MEMORY_LIMIT))
    return found


def _same_task(old: Mapping[str, Any], new: Task) -> bool:
    """Whether the same was measured; how often does not matter."""
    now = asdict(new)
    return all(old.get(key, now[key]) == now[key] for key in now if key != "repeats")
