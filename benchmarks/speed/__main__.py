"""Run the benchmarks, and compare them with the committed table.

``python -m benchmarks.speed [--only NAME] [--quick] [--accept] [--output FOLDER]`` ends with exit
code 1 if something became slower, and then writes nothing unless told to accept it.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import describe
from benchmarks.speed.guard import confirmed
from benchmarks.speed.measure import measure
from benchmarks.speed.report import TITLES, headline, markdown, target_table
from benchmarks.speed.sections import SECTIONS
from benchmarks.speed.targets import targets
from benchmarks.speed.task import Result, Task

COMMITTED = Path(__file__).parent / "results.json"


def choose(only: str | None, *, quick: bool) -> list[Task]:
    """Return the tasks of the section called ``only``, or those whose name contains it."""
    tasks = [task for section in SECTIONS.values() for task in section(quick=quick)]
    if only is None:
        return tasks
    chosen = [task for task in tasks if task.section == only or task.section.startswith(f"{only}-")]
    chosen = chosen or [task for task in tasks if only in task.name]
    if not chosen:
        names = "\n  ".join(task.name for task in tasks)
        raise SystemExit(
            f"nothing is called {only!r}: sections are {', '.join(SECTIONS)}; measurements are\n"
            f"  {names}"
        )
    return chosen


def run(tasks: Sequence[Task]) -> list[Result]:
    """Measure and print as it goes."""
    results: list[Result] = []
    section = None
    for task in tasks:
        if task.section != section:
            section = task.section
            print(f"\n{TITLES[section]}", flush=True)
        results.append(measure(task))
        print(f"  {headline(results[-1])}", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="a section, or a part of names")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        type=Path,
        help="where results.md and results.json go; by default beside this file, "
        "and nowhere with --only or --quick",
    )
    parser.add_argument(
        "--accept",
        action="store_true",
        help="write the results as the new table, even where they are worse than the old one",
    )
    arguments = parser.parse_args()
    folder = arguments.output
    if folder is None and not (arguments.only or arguments.quick):
        folder = Path(__file__).parent

    tasks = choose(arguments.only, quick=arguments.quick)
    machine = describe()
    print(f"{machine['cpu']}, {machine['cores']} cores, commit {machine['commit']}")
    started = time.perf_counter()
    results = run(tasks)
    worse = []
    if COMMITTED.exists() and not arguments.quick:  # which measures once only
        worse = confirmed(json.loads(COMMITTED.read_text())["results"], results, measure)
    seconds = time.perf_counter() - started
    kept = [] if arguments.quick else targets(results)  # small sizes say nothing about targets
    if kept:
        print(f"\nTargets\n{target_table(kept)}")
    print(f"\n{len(results)} measurements in {seconds:.0f} s")
    if worse:
        print("\nWorse than the committed table, every time it was measured:")
        print("\n".join(f"  {change}" for change in worse))
    if folder is not None and (arguments.accept or not worse):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.md").write_text(markdown(machine, results, kept, seconds))
        record = {"machine": machine, "results": [result.to_dict() for result in results]}
        (folder / "results.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"written: {folder.name}/results.md, {folder.name}/results.json")
    if worse and not arguments.accept:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
