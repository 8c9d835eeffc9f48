"""What an explanation costs, beside scoring: python -m benchmarks.detectors.explaining

Ratios within one run, for tables of a few hidden quantities with one wrong value in each of the
explained rows. The last column is what it takes to score one round of changes of single columns
value by value, as a plain search would, over the time of one explanation.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from vanishing import VanishingDetector
from vanishing.explain.attribution import VALUES

WIDTHS, N_TRAIN, N_ALARMS = (10, 30, 100, 300), 1000, 20


def table(n_rows: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Return sensors with a bent characteristic that see five hidden quantities."""
    mixing = np.random.default_rng(7).standard_normal((5, width))
    mixed = rng.uniform(-1.7, 1.7, (n_rows, 5)) @ (mixing / np.linalg.norm(mixing, axis=0))
    return mixed + 0.3 * mixed**2 + 0.02 * rng.standard_normal(mixed.shape)


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the time of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def row_of_results(width: int) -> str:
    """Measure one width; return a row of the table."""
    rng = np.random.default_rng(0)
    detector = VanishingDetector().fit(table(N_TRAIN, width, rng))
    alarms, others = table(N_ALARMS, width, rng), table(500, width, rng)
    alarms[np.arange(N_ALARMS), rng.integers(width, size=N_ALARMS)] += 2.0
    scored = seconds(lambda: detector.score_samples(others)) / len(others)
    alone = seconds(lambda: detector.explain(alarms[:1]))
    together = seconds(lambda: detector.explain(alarms), repeats=1) / N_ALARMS
    changes = len(VALUES) * width * scored
    return (
        f"| {width} | {1e6 * scored:.0f} | {1e3 * alone:.0f} | {1e3 * together:.0f} "
        f"| {together / scored:.0f} | {changes / together:.1f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    print("| columns | score, µs | explain one, ms | one of 20, ms | ÷ score | changes ÷ explain |")
    print("|---|---|---|---|---|---|")
    for width in parser.parse_args().widths:
        print(row_of_results(width), flush=True)


if __name__ == "__main__":
    main()
