"""Data of any size: the same counts, or a clear error, and never a stray warning.

``python -W error -m benchmarks.campaigns.sizes`` prints what differs from the counts at size 1,
which warnings came up, and which errors. ``tests/construction/test_sizes.py`` runs a part of it.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing import VanishingIdeal
from vanishing.construction import DegreeTrace
from vanishing.ideal import FragileWarning, UndecidedWarning

NORMALIZATIONS = ("vca", "coefficient", "gradient", "gradient-weighted", "contrastive")
EXPONENTS = {
    "float64": (8, 30, 60, 90, 120, 150, 154, 160, 200, 300),
    "float32": (8, 15, 19, 22, 30),
}


@dataclass(frozen=True)
class Case:
    """One fit."""

    size: float
    normalization: str
    reduction: str
    degree: int
    dtype: str
    shape: str

    def points(self, size: float) -> npt.NDArray[Any]:
        """Return the data at a size: exact relations off the origin, or points in the plane."""
        rng = np.random.default_rng(3)
        if self.shape == "axes":
            a, b = rng.uniform(-1, 1, (2, 25))
            X = np.vstack([np.column_stack([a, 0 * a]), np.column_stack([0 * b, b])])
        elif self.shape == "circle":
            angle = rng.uniform(0, 6.3, 60)
            X = np.column_stack([np.cos(angle) + 0.5, np.sin(angle)])
        else:
            X = rng.standard_normal((50, 2))
        return np.asarray(X * size, dtype=self.dtype)

    def fit(self, size: float) -> tuple[DegreeTrace, ...]:
        """Return the account of a fit to the data at a size."""
        contrast = None
        if self.normalization == "contrastive":
            cloud = 2 * size * np.random.default_rng(4).standard_normal((80, 2))
            contrast = cloud.astype(self.dtype)
        ideal = VanishingIdeal(
            normalization=self.normalization,
            reduction=self.reduction,
            max_degree=self.degree,
            tol=0.0,
        ).fit(self.points(size), contrast=contrast)
        ideal.transform(self.points(size))
        return ideal.trace_


def cases(degrees: tuple[int, ...] = (1, 2, 3, 4)) -> Iterator[Case]:
    """List all cases."""
    for dtype, exponents in EXPONENTS.items():
        for size in (10.0 ** (sign * e) for e in exponents for sign in (-1, 1)):
            for normalization in NORMALIZATIONS:
                for reduction in ("tsqr", "gram"):
                    for degree in degrees:
                        for shape in ("axes", "circle", "cloud"):
                            yield Case(size, normalization, reduction, degree, dtype, shape)


def verdict(case: Case) -> str:
    """Return "same", or what is different: counts, a warning or an error.

    The coefficient normalization is not equivariant: other polynomials F may have fewer independent
    products, and it is their number alone that must not change. Nor must more when the arithmetic
    is so coarse (Gram matrices in single precision) that a fit is undecided or fragile and says so.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UndecidedWarning)
        warnings.simplefilter("ignore", FragileWarning)
        expected = case.fit(1.0)
        try:
            found = case.fit(case.size)
        except ValueError as error:
            return f"error: {error}"
        except Exception as error:
            return f"broken: {type(error).__name__}: {error}"
    coarse = any(step.undecided for step in (*expected, *found))
    if case.normalization == "coefficient" or coarse:
        alike = [step.nonvanishing for step in found] == [step.nonvanishing for step in expected]
    else:
        alike = _counts(found) == _counts(expected)
    return "same" if alike else f"counts {_counts(expected)} became {_counts(found)}"


def _counts(trace: tuple[DegreeTrace, ...]) -> list[tuple[int, int]]:
    return [(step.vanishing, step.nonvanishing) for step in trace]


def main() -> None:
    """Run the campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", type=int, default=20, help="how many differences to print")
    arguments = parser.parse_args()
    tally: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    shown = 0
    for case in cases():
        found = verdict(case)
        kind = found.split()[0].rstrip(":")
        tally[kind] += 1
        if kind == "error":
            errors[f"{case.size:g} {case.dtype} {case.normalization} {found[:110]}"] += 1
        elif kind != "same" and shown < arguments.show:
            shown += 1
            print(case, found)
    print(dict(tally))
    for text, number in sorted(errors.items()):
        print(number, text)


if __name__ == "__main__":
    main()
