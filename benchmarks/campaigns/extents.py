"""Fits on which rounding errors could pass for equations, judged in exact arithmetic.

Three kinds of data: columns whose units and offsets differ by many orders of magnitude, contrasts
of few distinct points, and degrees so high that errors pile up. Every polynomial that a fit calls
vanishing is evaluated at its points in exact arithmetic; its extent has to be within the tolerance,
or within 1e-8 of its size.

    python -m benchmarks.campaigns.extents --fits 20000
"""

import argparse
import sys
import time
import warnings
from collections import Counter

import numpy as np
from tests.support.exact import vanishing_values

from vanishing import VanishingIdeal
from vanishing.ideal import ContrastError

NORMALIZATIONS = ("vca", "coefficient", "gradient", "gradient-weighted", "contrastive")
TOLERANCES = (0.0, 0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1)
#: An extent up to this share of the size of a polynomial is exact for all purposes.
EXACT = 1e-8


def related_columns(rng):
    """Up to four columns, some of them functions of others, exactly or nearly."""
    n_rows, n_columns = int(rng.integers(4, 61)), int(rng.integers(1, 5))
    X = rng.standard_normal((n_rows, n_columns))
    if rng.random() < 0.3:
        X = np.round(3 * X)
    for j in range(1, n_columns):
        kind = rng.integers(6)
        noise = rng.choice([0, 0, 1e-14, 1e-11, 1e-8, 1e-5, 1e-2])
        if kind == 0:
            X[:, j] = rng.uniform(-3, 3) * X[:, 0] + rng.uniform(-3, 3)
        elif kind == 1:
            X[:, j] = X[:, 0] ** 2
        elif kind == 2:
            X[:, j] = X[:, 0] * X[:, j - 1] - 1
        elif kind == 3:
            X[:, j] = 1.5
        X[:, j] += noise * rng.standard_normal(n_rows)
    return X


def wild_units(rng):
    """Columns in units of their own, far from the origin, as timestamps are."""
    X = related_columns(rng)
    n_columns = X.shape[1]
    X = X * 10.0 ** rng.integers(-12, 13, n_columns) if rng.random() < 0.7 else X
    offsets = 10.0 ** rng.uniform(-3, 7, n_columns) * np.abs(X).max(axis=0)
    X = X + np.where(rng.random(n_columns) < 0.5, offsets, 0.0)
    if rng.random() < 0.2:
        X[:, 0] = 1.7e18 + np.arange(len(X)) * 10.0 ** rng.integers(9, 13)
    return X, int(rng.integers(1, 4))


def curve(rng):
    """Points of a plane or space curve."""
    t = rng.uniform(0, 2 * np.pi, int(rng.integers(5, 61)))
    curves = (
        np.c_[np.cos(t), np.sin(t)],
        np.c_[2 * np.cos(t), np.sin(t)],
        np.c_[t, t**2],
        np.c_[t, t**2, t**3],
        np.c_[t, 2 * t - 1],
        np.c_[np.cos(t) ** 3, np.sin(t) ** 3],
    )
    X = curves[rng.integers(len(curves))]
    return X + rng.choice([0, 0, 1e-12, 1e-6]) * rng.standard_normal(X.shape)


def make_case(seed):
    """Draw data, a contrast where one is needed, and settings."""
    rng = np.random.default_rng(seed)
    kind = ("units", "contrast", "degrees")[seed % 3]
    normalization = str(rng.choice(NORMALIZATIONS))
    tol = float(rng.choice(TOLERANCES))
    if kind == "units":
        X, degree = wild_units(rng)
        Y = X.mean(axis=0) + X.std(axis=0) * rng.standard_normal((40, X.shape[1]))
    elif kind == "contrast":
        X, degree, normalization = curve(rng), int(rng.integers(1, 6)), "contrastive"
        Y = rng.integers(-3, 4, (int(rng.integers(1, 6)), X.shape[1])).astype(float)
        Y = Y + rng.choice([0, 0.5, 1e3])
    else:
        n_columns = int(rng.choice([1, 1, 1, 2]))
        n_rows = int(rng.integers(2, 66 if n_columns == 1 else 46))
        X = rng.uniform(-1, 1, (n_rows, n_columns))
        if rng.random() < 0.5:
            X = np.linspace(-1, 1, n_rows)[:, None] ** np.arange(1, n_columns + 1)
        X = X * 10.0 ** rng.integers(-3, 4) + rng.choice([0, 0, 1, 100])
        degree = None if n_columns == 1 else int(rng.integers(5, 13))
        Y = X.mean(axis=0) + 2 * X.std(axis=0) * rng.standard_normal((80, n_columns))
        tol = float(rng.choice([0.0, 0.0, 1e-9, 1e-4]))
    settings = {"max_degree": degree, "tol": tol, "normalization": normalization}
    return kind, X, Y if normalization == "contrastive" else None, settings


def judge(ideal, X, tol):
    """Return the exact extents, and each divided by what is allowed.

    The size of a polynomial is 1 under its normalization. Far from the origin the coordinates
    themselves are known to eps of their size only, so that it is at least that of its linear terms.
    """
    exact = vanishing_values(ideal.basis_, X).rms()
    size = np.maximum(1.0, linear_terms(ideal, X))
    return exact, exact / np.maximum(tol, EXACT * size)


def linear_terms(ideal, X):
    """Size of the gradient of each polynomial times that of the coordinates."""
    gradients = np.sqrt(np.mean(np.asarray(ideal.basis_.jacobian(X)) ** 2, axis=0))
    return gradients @ np.sqrt(np.mean(X**2, axis=0))


def run(start, n_fits):
    """Run cases and print what is wrong with them."""
    counts, wrong, worst, began = Counter(), [], 0.0, time.perf_counter()
    for seed in range(start, start + n_fits):
        kind, X, Y, settings = make_case(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ideal = VanishingIdeal(**settings).fit(X, contrast=Y)
            except ContrastError:
                counts[kind, "contrast refused"] += 1
                continue
            except ValueError as error:
                if "too large" not in str(error):
                    raise
                counts[kind, "too large"] += 1
                continue
        counts[kind, "fits"] += 1
        counts[kind, "equations"] += len(ideal.extents_)
        counts[kind, "undecided"] += sum(step.undecided for step in ideal.trace_)
        if not len(ideal.extents_):
            continue
        exact, ratio = judge(ideal, X, settings["tol"])
        worst = max(worst, float(ratio.max()))
        if ratio.max() > 1 + 1e-6:
            wrong.append(seed)
            print(f"seed {seed} ({kind}, {settings}): extents {exact[ratio > 1]}", flush=True)
        if (seed - start) % 1000 == 999:
            print(f"{seed + 1 - start} fits, {time.perf_counter() - began:.0f} s", flush=True)
    for (kind, what), number in sorted(counts.items()):
        print(f"{kind:9} {what:17} {number}")
    print(f"{len(wrong)} fits with a wrong equation: {wrong}; largest extent / allowed {worst:.3g}")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=20_000)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    arguments = parser.parse_args()
    sys.exit(1 if run(arguments.start, arguments.fits) else 0)
