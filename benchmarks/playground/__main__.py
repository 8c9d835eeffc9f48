"""The playground: redraws of the page, and many clients at once.

``python -m benchmarks.playground`` writes ``results.md`` and ``.json`` beside this file.
Needs the extras ``test`` and Chromium.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.playground.load import put_under_load
from benchmarks.playground.server import running
from benchmarks.playground.slider import redraw_milliseconds, summary

HERE = Path(__file__).parent
#: What the project promises.
MEDIAN_MS, SLOWEST_S, GROWTH = 150, 3.0, 0.1


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=40, help="of the slider")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0, help="under load")
    asked = parser.parse_args()
    with running() as server:
        slider = summary(redraw_milliseconds(server.url, moves=asked.moves))
    print(slider)
    with running() as server:
        account = put_under_load(server, clients=asked.clients, seconds=asked.seconds)
    load = {"clients": asked.clients, "seconds": asked.seconds, **account.summary()}
    print(load)
    for error in account.errors[:5]:
        print(error)
    results = {"machine": machine.describe(), "slider": slider, "load": load}
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "results.md").write_text(page(results))


def page(results: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    slider, load, made_on = results["slider"], results["load"], results["machine"]
    before, after = load["memory_mb_after_warming"], load["memory_mb_at_the_end"]
    return f"""# Playground

Made by `python -m benchmarks.playground` on {made_on["date"]}, commit {made_on["commit"]},
{made_on["cores"]} × {made_on["cpu"]}.

## A slider is moved

400 points of X and as many of Y, degree 4, both fits; from the event to the painted frame, in
Chromium on the same machine.

| moves | median ms | 95 % ms | slowest ms | target |
|---|---|---|---|---|
| {slider["moves"]} | {slider["median_ms"]} | {slider["p95_ms"]} | {slider["slowest_ms"]} | \
median < {MEDIAN_MS} |

## {load["clients"]} clients at once, for {load["seconds"]:g} s

Each asks again as soon as it is answered, and they run on the same machine.

| answers | busy | errors | median s | 99 % s | slowest s | memory MB, warm | at the end | target |
|---|---|---|---|---|---|---|---|---|
| {load["answers"]} | {load["busy"]} | {load["errors"]} | {load["median_s"]} | {load["p99_s"]} | \
{load["slowest_s"]} | {before} | {after} | \
no errors, slowest < {SLOWEST_S:g}, memory +{GROWTH:.0%} at most |
"""


if __name__ == "__main__":
    main()
