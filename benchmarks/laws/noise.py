"""Noise and outliers on known varieties: ``python -m benchmarks.laws.noise``.

Writes ``noise_results.md`` and ``.json`` beside this file. Three tables, all without a setting but
the degree: the noise that ``tol="auto"`` finds and the accuracy of its equations, dimension and
degree from noisy points, and equations in spite of outliers.
"""

import argparse
import warnings
from typing import Any

import numpy as np
import sympy
from benchmarks.laws.report import describe, table, write
from scipy.linalg import subspace_angles

from vanishing import VanishingIdeal
from vanishing.algebra import estimate_variety
from vanishing.datasets import describe_variety, make_variety, varieties
from vanishing.polynomials.monomials import monomials

TEN = (
    "ellipse",
    "lemniscate",
    "sphere",
    "torus",
    "cayley-cubic",
    "cuspidal-cubic",
    "parabola",
    "nodal-cubic",
    "whitney-umbrella",
    "segre",
)


def degree_of(name: str) -> int:
    """Return the largest degree of the equations of a variety."""
    record = describe_variety(name)
    symbols = sympy.symbols(record.variables)
    return max(sympy.Poly(text, *symbols).total_degree() for text in record.equations)


# --- Noise in all columns -------------------------------------------------------------------------


def measure_noise(name: str, noise: float, seed: int) -> dict[str, Any]:
    """Fit 20,000 points with standardized columns."""
    clean = make_variety(name, 20_000, random_state=seed)
    clean = (clean - clean.mean(axis=0)) / clean.std(axis=0)
    noisy = clean + noise * np.random.default_rng(seed + 1000).normal(size=clean.shape)
    degree = degree_of(name)
    auto = VanishingIdeal(max_degree=degree, tol="auto").fit(noisy)
    spectrum = VanishingIdeal(max_degree=degree, tol=0).fit(noisy).trace_[-1].spectrum
    plain = VanishingIdeal(max_degree=degree, tol=float(spectrum[0]) * 1.0001).fit(noisy)
    return {
        "variety": name,
        "noise": f"{100 * noise:g} %",
        "noise found / true": round(auto.noise_.level / noise, 3),
        "gradient normalization": accuracy(plain, clean),
        "corrected": accuracy(auto, clean),
    }


def accuracy(ideal: VanishingIdeal, clean: np.ndarray) -> float:
    """Return how far true points are from the last equation, in percent of a column's spread."""
    if not ideal.basis_.count():
        return float("nan")
    value = ideal.basis_.evaluate(clean)[:, -1]
    slope = ideal.basis_.jacobian(clean)[:, -1]
    return round(100 * float(np.sqrt(np.mean(value**2) / np.mean(np.sum(slope**2, axis=1)))), 3)


# --- Dimension and degree -------------------------------------------------------------------------


def count_right(noise: float, seeds: int) -> dict[str, Any]:
    """Count the right and settled estimates of 1,000 points, with and without the noise known."""
    counts = {"known": 0, "auto": 0, "wrong known": 0, "wrong auto": 0}
    for name in varieties():
        record = describe_variety(name)
        degree = 6 if name == "grid" else 1 + degree_of(name)  # points are exhausted later
        for seed in range(seeds):
            X = make_variety(name, 1000, noise=noise, random_state=seed)
            for how, tol in (("known", 1.5 * noise * record.size), ("auto", "auto")):
                basis = VanishingIdeal(max_degree=degree, tol=tol).fit(X).basis_
                found = estimate_variety(basis, X)
                right = (found.dimension, found.degree) == (record.dimension, record.degree)
                counts[how] += right and found.settled
                counts[f"wrong {how}"] += found.settled and not right
    total = seeds * len(varieties())
    return {
        "noise": f"{100 * noise:g} %",
        "tol = 1.5 noise": f"{counts['known']} of {total}",
        "wrong": counts["wrong known"],
        'tol="auto"': f"{counts['auto']} of {total}",
        "wrong ": counts["wrong auto"],
    }


# --- Outliers -------------------------------------------------------------------------------------


def measure_outliers(name: str, share: float, seed: int) -> dict[str, Any]:
    """Add outliers to 1,000 exact points, uniform in their bounding box enlarged by half."""
    X = make_variety(name, 1000, random_state=seed)
    low, high = X.min(axis=0), X.max(axis=0)
    n_outliers = round(1000 * share / (1 - share))
    box = np.random.default_rng(seed + 77).uniform(-1.5, 1.5, size=(n_outliers, X.shape[1]))
    X = np.vstack([X, (low + high) / 2 + box * (high - low) / 2])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    degree = degree_of(name)
    true = VanishingIdeal(max_degree=degree, tol=0).fit(X[:1000]).basis_
    robust = VanishingIdeal(max_degree=degree, tol="auto", robust=True).fit(X)
    usual = VanishingIdeal(max_degree=degree, tol="auto").fit(X)
    return {
        "variety": name,
        "outliers": f"{100 * share:g} %",
        "angle, robust": largest_angle(robust.basis_, true, degree),
        "angle, usual": largest_angle(usual.basis_, true, degree),
        "outliers kept": int(robust.inlier_mask_[1000:].sum()),
        "points left out": int((~robust.inlier_mask_[:1000]).sum()),
    }


def largest_angle(found: Any, true: Any, degree: int) -> float:
    """Return the largest principal angle between all polynomials up to a degree, in degrees."""
    spans = [span(basis, degree) for basis in (found, true)]
    if spans[0].shape != spans[1].shape:
        return 90.0
    return round(float(np.degrees(subspace_angles(*spans).max())), 4)


def span(basis: Any, degree: int) -> np.ndarray:
    """Return coefficients of a basis and its multiples up to a degree."""
    table_ = monomials(basis.n_features, degree)
    exponents, coefficients = basis.expand()
    where = {tuple(e): i for i, e in enumerate(table_.exponents.tolist())}
    columns = []
    for column, own in zip(coefficients.T, basis.degrees(), strict=True):
        for factor in monomials(basis.n_features, degree - int(own)).exponents:
            multiple = np.zeros(len(table_))
            for e, c in zip(exponents, column, strict=True):
                if c != 0:
                    multiple[where[tuple((e + factor).tolist())]] += c
            columns.append(multiple)
    if not columns:
        return np.zeros((len(table_), 0))
    left, sizes, _ = np.linalg.svd(np.array(columns).T, full_matrices=False)
    return left[:, sizes > 1e-6 * sizes[0]]


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description="Noise and outliers on known varieties.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    noises = [measure_noise(name, noise, options.seed) for noise in (0.03, 0.1) for name in TEN]
    counts = [count_right(noise, options.seeds) for noise in (0.0, 0.001, 0.01, 0.03)]
    outliers = [
        measure_outliers(name, share, options.seed) for share in (0.05, 0.2) for name in varieties()
    ]
    within = {
        share: sum(row["angle, robust"] < 1 for row in outliers if row["outliers"] == share)
        for share in ("5 %", "20 %")
    }
    summary = ", ".join(f"{n} of {len(varieties())} at {share}" for share, n in within.items())
    record = {
        "machine": describe(options.seed),
        "noise": noises,
        "dimension and degree": counts,
        "outliers": outliers,
    }
    write(
        "noise",
        "Noise and outliers on known varieties",
        __doc__.split("\n\n", 1)[1],
        record,
        [
            "## Noise in all columns\n\nAccuracy: root mean square of g over that of its gradient "
            "at the points without noise, in percent of a column's spread. 20,000 points.",
            table(noises),
            "## Dimension and degree\n\nRight and settled estimates, and wrong ones that are "
            "called settled. 1,000 points, one degree more than the equations have.",
            table(counts),
            "## Outliers\n\nLargest principal angle between the polynomials found and the true "
            f"ones, in degrees. Within one degree: {summary}.",
            table(outliers),
        ],
    )


if __name__ == "__main__":
    main()
