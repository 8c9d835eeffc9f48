"""Border bases of random exact points beside exact arithmetic.

``python -m benchmarks.campaigns.border [SETS] [SEED]`` fits ABM, gradient-weighted ABM and OAVI
with ``tol=0`` up to degree 8 to sets of up to 40 points in up to four variables: small integers,
fractions far from the origin, and points on a linear space. It prints how often O and the leading
terms are those of exact arithmetic, how often something is left undecided, and each other case.
"""

import sys
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
from tests.support.border import exact_border_basis

from vanishing import VanishingIdeal


def draw_points(rng: np.random.Generator) -> np.ndarray:
    """Draw exact points of one of three kinds."""
    n_features, n_points = int(rng.integers(1, 5)), int(rng.integers(1, 41))
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(-5, 6, (n_points, n_features)) * Fraction(1)
    if kind == 1:
        origin = int(rng.integers(-1, 2)) * 1000
        return rng.integers(-100, 101, (n_points, n_features)) * Fraction(1, 64) + origin
    width = max(1, n_features - 1)
    axes = rng.integers(-3, 4, (width, n_features))
    return (rng.integers(-8, 9, (n_points, width)) @ axes) * Fraction(1)


def main() -> None:
    n_sets, seed = (int(each) for each in (*sys.argv[1:], *("150", "0")[len(sys.argv) - 1 :]))
    rng = np.random.default_rng(seed)
    warnings.simplefilter("ignore")
    outcomes: Counter[tuple[str, str]] = Counter()
    for number in range(n_sets):
        points = draw_points(rng)
        expected = exact_border_basis(points, 8)
        for name in ("abm", "abm-gradient", "oavi"):
            ideal = VanishingIdeal(construction=name, tol=0, max_degree=8)
            ideal.fit_part(points.astype(np.float64))
            order = ideal.order_ideal_
            assert order is not None
            found = [list(map(tuple, e.tolist())) for e in (order.terms, order.leading_terms)]
            outcome = "right" if found == [*expected] else "WRONG"
            if any(step.undecided for step in ideal.trace_):
                outcome = "undecided"
            outcomes[name, outcome] += 1
            if outcome == "WRONG":
                print("set", number, name, points.shape)
    for key, count in sorted(outcomes.items()):
        print(*key, count)


if __name__ == "__main__":
    main()
