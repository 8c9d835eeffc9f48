"""Random small fits against exact arithmetic: counts and spans of the equations of rational points.

The coordinates are integers, times a scale, so that the truth is known: the rank of the
monomials on the points is computed over the rationals, and the polynomials that vanish are its
null space. A fit with ``tol=0`` has to find as many nonvanishing polynomials in each degree as the
rank grows by (the Hilbert function), and equations whose multiples span that null space, no more
and no less. ``contains`` has to find polynomials of the null space in the ideal, and no others.
Weights have to give the extents of repeated rows.

Data: random points, grids, lines and planes, curves, circles, repeated points, constant and
repeated columns, coordinate axes, orthogonal designs and cross-polytopes (equal extents), few
points in many dimensions; offsets; scales from 1e-150 to 1e150, of all columns or of each, powers
of two or not; contrasts that are generic, of few points, on the variety but for one point, or close
to the points.
Fits: every normalization, construction and reduction; all generators or minimal ones; NumPy,
array-api-strict and torch; double and single precision; arrays, integers, frames, chunks,
iterators, files, Dask, partial fits, weights of any size in place of repeated rows; root mean
squares and Euclidean norms.

A case is *unclear* if the smallest singular value that is not zero is within rounding errors of
zero for the precision of the fit: nothing can be decided there, and nothing is compared. It is
*undecided* if the fit says so (``trace_``), and *fragile* if there is a difference and a
``FragileWarning``. Everywhere else a difference is a failure.

    python -m benchmarks.campaigns.differential --cases 2000
    python -m benchmarks.campaigns.differential --cases 100000 --jobs 16 --out results.json
"""

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations_with_replacement
from math import comb, lcm
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import describe
from sympy import ZZ
from sympy.polys.matrices import DomainMatrix

from vanishing import VanishingIdeal
from vanishing.algebra import contains, hilbert_function
from vanishing.construction.border import Abm, AbmGradient, Oavi
from vanishing.ideal import ContrastError, FragileWarning

NORMALIZATIONS = ("gradient", "gradient-weighted", "coefficient", "vca", "contrastive")
CONSTRUCTIONS = ("vca", "abm", "oavi", "abm-gradient")
#: Ratios of singular values that can be told from rounding errors: by reduction and precision.
CLEAR = {
    ("tsqr", "float64"): 1e-7,
    ("gram", "float64"): 3e-4,
    ("tsqr", "float32"): 1e-2,
    ("gram", "float32"): 3e-1,
}
#: Rounding errors of polynomials, relative to their size away from the points.
NOISE = {
    ("tsqr", "float64"): 1e-8,
    ("gram", "float64"): 1e-4,
    ("tsqr", "float32"): 5e-2,
    ("gram", "float32"): 1e-1,
}


# --- data -----------------------------------------------------------------------------------------


def random_points(rng, n_rows, n_columns):
    return rng.integers(-5, 6, (n_rows, n_columns))


def grid(rng, n_rows, n_columns):
    axes = [np.arange(rng.integers(1, 4)) for _ in range(n_columns)]
    return np.stack(np.meshgrid(*axes), -1).reshape(-1, n_columns)


def flat(rng, n_rows, n_columns):
    """Points of a line or a plane."""
    dimension = int(rng.integers(1, max(2, n_columns)))
    directions = rng.integers(-2, 3, (dimension, n_columns))
    return rng.integers(-4, 5, (n_rows, dimension)) @ directions + rng.integers(-3, 4, n_columns)


def proportional(rng, n_rows, n_columns):
    """Columns that are multiples of one or two others, as one quantity in several units."""
    few = rng.integers(-5, 6, (n_rows, 2))[:, rng.integers(2, size=n_columns)]
    return few * rng.choice([-2, -1, 1, 2], n_columns)


def curve(rng, n_rows, n_columns):
    """Points (t, t², ...), in another order of the columns."""
    t = rng.integers(-4, 5, n_rows)
    powers = rng.integers(1, 4, n_columns)
    return t[:, None] ** powers


def repeated(rng, n_rows, n_columns):
    few = random_points(rng, int(rng.integers(1, 5)), n_columns)
    return few[rng.integers(len(few), size=n_rows)]


def orthogonal(rng, n_rows, n_columns):
    """A design of ±1: all singular values of degree 1 are the same."""
    design = np.array(np.meshgrid(*[[-1, 1]] * n_columns)).reshape(n_columns, -1).T
    return design[rng.permutation(len(design))[: max(1, n_rows)]]


def few(rng, n_rows, n_columns):
    return random_points(rng, int(rng.integers(1, 4)), n_columns)


def cross(rng, n_rows, n_columns):
    """Plus and minus the unit vectors, and the origin: extents are the same at every degree."""
    points = np.vstack([np.eye(n_columns, dtype=int), -np.eye(n_columns, dtype=int)])
    return int(rng.integers(1, 4)) * np.vstack([points, points[:1] * 0])


def circle(rng, n_rows, n_columns):
    """All integer points of the circle of radius 5, and columns that depend on them."""
    corner = np.array([[3, 4], [4, 3], [5, 0], [0, 5]])
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    points = (corner[:, None] * signs).reshape(-1, 2)
    return points @ np.hstack([np.eye(2, dtype=int), rng.integers(-1, 2, (2, 3))])[:, :n_columns]


def degenerate(rng, n_rows, n_columns):
    """Columns that are constant, zero, or repeat others."""
    points = random_points(rng, n_rows, n_columns)
    for column in range(n_columns):
        which = rng.integers(4)
        if which == 0:
            points[:, column] = rng.integers(-9, 10)
        elif which == 1:
            points[:, column] = points[:, rng.integers(n_columns)] * rng.integers(-1, 2)
    return points


def axes(rng, n_rows, n_columns):
    """Points of the coordinate axes, as one-hot columns are: products of columns are zero."""
    points = np.zeros((n_rows, n_columns), dtype=int)
    points[np.arange(n_rows), rng.integers(n_columns, size=n_rows)] = rng.integers(-5, 6, n_rows)
    return points


def wide(rng, n_rows, n_columns):
    """More columns than rows."""
    return random_points(rng, int(rng.integers(1, 6)), n_columns + 3)


KINDS = (
    random_points,
    grid,
    flat,
    proportional,
    curve,
    repeated,
    orthogonal,
    few,
    cross,
    circle,
    degenerate,
    axes,
    wide,
)
SOURCES = {
    "array": 0.36,
    "weights": 0.12,
    "chunks": 0.12,
    "iterator": 0.1,
    "file": 0.05,
    "frame": 0.05,
    "integers": 0.08,
    "partial_fit": 0.1,
    "dask": 0.02,
}
NEEDS = {"frame": "pandas", "dask": "dask"}


@dataclass(frozen=True)
class Case:
    """Integer points, the map to the coordinates that are fitted, and how.

    Whether a polynomial vanishes does not depend on the origin: exact arithmetic goes without the
    offset, and with it spans would be nearly singular.
    """

    seed: int
    kind: str
    points: Any
    contrast: Any
    scale: Any
    degree: int
    settings: dict[str, Any]
    backend: str
    dtype: str
    source: str
    offset: Any

    def coordinates(self, integers):
        """Return the coordinates that are fitted, exact if scales are powers of two."""
        return np.asarray(integers + self.offset, dtype=np.float64) * self.scale

    @property
    def precision(self):
        """The reduction and the type of numbers, which decide about rounding errors."""
        # Partial fits use TSQR in any case, and so do exact ones.
        is_gram = self.source != "partial_fit" and self.settings["reduction"] == "gram"
        return "gram" if is_gram else "tsqr", self.dtype


def make_case(seed, backends):
    """Draw a case; sources whose library is not installed become arrays."""
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 5))
    kind = KINDS[seed % len(KINDS)]
    points = kind(rng, int(rng.integers(1, 31)), n_columns)
    n_columns = points.shape[1]
    degree = int(rng.integers(1, {1: 8, 2: 6, 3: 5, 4: 4}.get(n_columns, 3)))
    settings = {"tol": 0.0, "max_degree": degree} | draw_construction(rng)
    settings["reduction"] = str(rng.choice(["tsqr", "gram", "auto"], p=[0.55, 0.25, 0.2]))
    settings["generators"] = str(rng.choice(["all", "minimal"], p=[0.7, 0.3]))
    settings["tol_norm"] = str(rng.choice(["rms", "euclidean"], p=[0.8, 0.2]))
    contrast = None
    if settings.get("normalization") == "contrastive":
        points, contrast = make_contrast(rng, points)
    backend = str(rng.choice(backends))
    dtype = str(rng.choice(["float64", "float32"], p=[0.85, 0.15]))
    source = str(rng.choice(list(SOURCES), p=list(SOURCES.values())))
    if source in NEEDS and not find_spec(NEEDS[source]):
        source = "array"
    if source == "integers":
        dtype, backend = "float64", "numpy"
    offset = np.zeros(n_columns, dtype=int)
    if rng.random() < 0.2:
        is_coarse = dtype == "float32" or settings["reduction"] == "gram"
        largest = 10 if is_coarse else int(10 ** rng.uniform(1, 5))
        offset = rng.integers(-largest, largest + 1, n_columns)
    if np.abs(points).max() > 64:  # far from the origin, as a contrast of finer units may be
        middle = np.rint(points.mean(axis=0)).astype(int)
        points, offset = points - middle, offset + middle
        contrast = None if contrast is None else contrast - middle
    scale = 1.0 if source == "integers" else draw_scale(rng, n_columns, dtype, settings)
    return Case(
        seed,
        kind.__name__,
        points,
        contrast,
        scale,
        degree,
        settings,
        backend,
        dtype,
        source,
        offset,
    )


def draw_construction(rng):
    """Draw a construction and its normalization."""
    construction = str(rng.choice(CONSTRUCTIONS, p=[0.55, 0.15, 0.15, 0.15]))
    if construction == "vca":
        normalization = str(rng.choice(NORMALIZATIONS))
        products = str(rng.choice(["independent", "all"]))
        if normalization == "vca":
            # With all products, vca counts combinations that are zero everywhere (Kera, 2019).
            products = "independent"
        return {
            "construction": construction,
            "normalization": normalization,
            "products": products,
        }
    kinds = {"abm": Abm, "abm-gradient": AbmGradient, "oavi": Oavi}
    order = str(rng.choice(["deglex", "degrevlex"]))
    border = str(rng.choice(["corners", "full"], p=[0.7, 0.3]))
    settings = {"construction": kinds[construction](order=order, border=border)}
    if rng.random() < 0.3:
        settings["normalization"] = "contrastive"
    return settings


def draw_scale(rng, n_columns, dtype, settings):
    """Draw the units of the columns: ordinary, or of any size, the same for all or of each.

    Coarse arithmetic does not resolve columns in very different units.
    """
    which = rng.integers(4)
    is_coarse = dtype == "float32" or settings["reduction"] == "gram"
    if which == 0:
        return 2.0 ** rng.integers(-4, 5)
    if which == 1:
        return 2.0 ** (rng.integers(-498, 499) if dtype == "float64" else rng.integers(-40, 41))
    if which == 2:
        largest = 8 if is_coarse else int(rng.choice([12, 40]))
        return 2.0 ** rng.integers(-largest, largest + 1, n_columns)
    return 10.0 ** (rng.uniform(-150, 150) if dtype == "float64" else rng.uniform(-15, 15))


def make_contrast(rng, points):
    """Return the points, maybe in other units, and a contrast for them."""
    which = rng.integers(5)
    if which == 0:
        return points, random_points(rng, int(rng.integers(1, 41)), points.shape[1])
    if which == 4:  # spread more widely, in each column by another factor
        spread = 2 ** rng.integers(0, 9, points.shape[1])
        return points, spread * random_points(rng, int(rng.integers(20, 41)), points.shape[1])
    if which == 1:
        return points, random_points(rng, int(rng.integers(1, 4)), points.shape[1])
    if which == 2:
        moved = points.copy()
        moved[rng.integers(len(points))] += rng.integers(-2, 3, points.shape[1])
        return points, moved
    finer = points * 2 ** int(rng.integers(1, 9))
    rows = finer[rng.integers(len(finer), size=2 * len(finer) + 8)]
    return finer, rows + rng.integers(-1, 2, rows.shape)


# --- truth ----------------------------------------------------------------------------------------


def exponents_up_to(n_columns, degree):
    """Return the exponents of all monomials, by degree."""
    rows = [np.zeros(n_columns, dtype=int)]
    for total in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(n_columns), total):
            rows.append(np.bincount(chosen, minlength=n_columns))
    return np.array(rows)


def null_space(points, degree):
    """Return the ranks of the monomials up to each degree, and the polynomials that vanish."""
    exponents = exponents_up_to(points.shape[1], degree)
    distinct = np.unique(points, axis=0)
    values = take_monomials(distinct, exponents).tolist()
    matrix = DomainMatrix(values, (len(distinct), len(exponents)), ZZ)
    totals = exponents.sum(axis=1)
    reduced, pivots = matrix.to_field().rref()
    ranks = [int(sum(totals[p] <= t for p in pivots)) for t in range(degree + 1)]
    # Each column without a pivot is a combination of pivots of no higher degree.
    free = [j for j in range(len(exponents)) if j not in pivots]
    dense = reduced.to_list()
    vectors = np.zeros((len(exponents), len(free)), dtype=object)
    for k, j in enumerate(free):
        vectors[j, k] = 1
        for i, p in enumerate(pivots):
            vectors[p, k] = -dense[i][j]
    return ranks, exponents, vectors


def evaluate(exponents, vectors, where):
    """Evaluate polynomials with rational coefficients at integer points, without rounding."""
    if not vectors.shape[1]:
        return np.empty((len(where), 0))
    # With a common denominator all numbers are Python's integers.
    integers = np.empty(vectors.shape, dtype=object)
    for k in range(vectors.shape[1]):
        column = [Fraction(int(v.numerator), int(v.denominator)) for v in vectors[:, k]]
        common = lcm(*(v.denominator for v in column))
        integers[:, k] = [int(v * common) for v in column]
    return (take_monomials(where, exponents) @ integers).astype(np.float64)


def take_monomials(points, exponents):
    """Return the values of monomials as Python's integers."""
    points = points.astype(object)
    values = np.ones((len(points), len(exponents)), dtype=object)
    for column, powers in enumerate(exponents.T):
        values = values * (points[:, column : column + 1] ** powers[None, :].astype(object))
    return values


def margin(points, degree, ranks):
    """Return the smallest singular value that is not zero, relative to the largest.

    Columns are centred and scaled, as the first degree of a fit does.
    """
    centred = points - points.mean(axis=0)
    size = np.sqrt(np.mean(centred**2, axis=0))
    standard = centred / np.where(size == 0, 1.0, size)
    worst = 1.0
    exponents = exponents_up_to(points.shape[1], degree)
    monomials = np.prod(standard[:, None, :] ** exponents[None], axis=2)
    monomials /= np.maximum(np.sqrt(np.mean(monomials**2, axis=0)), 1e-300)
    for t in range(1, degree + 1):
        part = monomials[:, exponents.sum(axis=1) <= t]
        singular = np.linalg.svd(part, compute_uv=False)
        worst = min(worst, singular[ranks[t] - 1] / singular[0])
    return float(worst)


# --- comparison -----------------------------------------------------------------------------------


def fit(case):
    """Fit the case as it says, and return the ideal in NumPy."""
    X = case.coordinates(case.points).astype(case.dtype)
    Y = None if case.contrast is None else case.coordinates(case.contrast).astype(case.dtype)
    ideal = VanishingIdeal(**case.settings)
    chunks = np.array_split(X, 3) if len(X) > 3 else [X]
    if case.source == "chunks":
        return ideal.fit(chunks, contrast=Y)
    if case.source == "iterator":
        return ideal.fit(lambda: iter(chunks), contrast=Y)
    if case.source == "partial_fit":
        for chunk in chunks:
            ideal.partial_fit(chunk, contrast=Y if chunk is chunks[0] else None)
        return ideal
    if case.source == "integers":
        Y = None if Y is None else case.contrast + case.offset
        return ideal.fit(case.points + case.offset, contrast=Y)
    if case.source == "frame":
        import pandas

        names = [f"c{i}" for i in range(X.shape[1])]
        other = None if Y is None else pandas.DataFrame(Y, columns=names)
        return ideal.fit(pandas.DataFrame(X, columns=names), contrast=other)
    if case.source == "dask":
        import dask.array

        rows = max(1, len(X) // 2)
        return ideal.fit(dask.array.from_array(X, chunks=(rows, -1)), contrast=Y)
    if case.source == "file":
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "X.npy", X)
            return ideal.fit(str(Path(folder) / "X.npy"), contrast=Y)
    weights = None
    if case.source == "weights":
        X, counts = np.unique(X, axis=0, return_counts=True)
        # Powers of two: the scale of the weights does not matter to the last bit. It does to
        # Euclidean norms of F, which the sizes of vca depend on.
        is_seen = case.settings.get("normalization") == "vca"
        is_seen &= case.settings["tol_norm"] == "euclidean"
        exponent = 0 if is_seen else int(np.random.default_rng(case.seed).integers(-150, 151))
        weights = np.ldexp(counts.astype(np.float64), exponent)
    if case.backend == "torch":
        import torch

        X = torch.from_numpy(X)
        Y = None if Y is None else torch.from_numpy(Y)
    elif case.backend == "strict":
        import array_api_strict

        X = array_api_strict.asarray(X)
        Y = None if Y is None else array_api_strict.asarray(Y)
    return ideal.fit(X, contrast=Y, sample_weight=weights)


def compare(case):
    """Return what is wrong with the fit of a case, or that nothing is."""
    ranks, exponents, vectors = null_space(case.points, case.degree)
    smallest = margin(case.points, case.degree, ranks)
    clear = smallest > CLEAR[case.precision]
    if case.contrast is not None and case.precision == ("gram", "float32"):
        clear = False  # two digits on the points, and two on the contrast
    if case.contrast is not None:
        # Sizes on the contrast count as well.
        distinct = np.unique(case.contrast, axis=0)
        both = np.unique(np.vstack([case.points, case.contrast]), axis=0)
        for rows in (distinct, both):
            smallest = margin(rows, case.degree, null_space(rows, case.degree)[0])
            clear &= smallest > max(1e-5, CLEAR[case.precision])
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ideal = fit(case)
    except ContrastError:
        if not clear:
            return "unclear"
        both = np.vstack([case.points, case.contrast])
        same = null_space(both, case.degree)[0] == ranks
        return "refused" if same else "wrong: the contrast was refused"
    except ValueError as error:
        said = "standardize the columns" in str(error) or "rescale the data" in str(error)
        if said and is_out_of_range(case):
            return "too large"
        raise
    if not clear:
        return "unclear"
    if any(step.undecided for step in ideal.trace_):
        return "undecided"
    outcome = compare_fit(case, ideal, ranks, exponents, vectors)
    warned = any(issubclass(each.category, FragileWarning) for each in caught)
    return "fragile" if warned and outcome.startswith("wrong") else outcome


def compare_fit(case, ideal, ranks, exponents, vectors):
    """Compare counts, sizes, members and spans with the truth."""
    degrees = ideal.basis_.degrees(which="nonvanishing")
    if ideal.order_ideal_ is not None:  # with the full border, all variables are in F
        degrees = ideal.order_ideal_.terms.sum(axis=1)
    found = np.cumsum(np.bincount(degrees, minlength=case.degree + 1)).tolist()
    if found != ranks:
        return f"wrong: nonvanishing polynomials {found}, ranks {ranks}"
    hilbert = hilbert_function(ideal.basis_).tolist()
    if case.contrast is None and hilbert != ranks[: len(hilbert)]:
        return f"wrong: Hilbert function {hilbert}, ranks {ranks}"
    return (
        compare_with_repeated_rows(case, ideal)
        or compare_with_tolerance(case, ideal)
        or ("unclear" if is_nearly_dependent(case, ideal) else None)
        or compare_members(case, ideal, exponents, vectors)
        or compare_spans(case, ideal, exponents, vectors)
    )


def is_out_of_range(case):
    """Say whether numbers that a fit needs are near the ends of double precision.

    Squares of the data always; coefficients, which are powers of the units, if they are measured.
    """
    sizes = np.abs(case.coordinates(case.points))
    bits = np.abs(np.log2(sizes[sizes > 0])).max(initial=0.0)
    return bits > 490 or (uses_coefficients(case.settings) and case.degree * bits > 440)


def uses_coefficients(settings):
    """Say whether polynomials are measured by their coefficients."""
    if "normalization" in settings:
        return settings["normalization"] == "coefficient"
    return type(settings["construction"]) is Abm


def is_nearly_dependent(case, ideal):
    """Say whether the terms of a border basis nearly depend on each other.

    An exact construction keeps every term that does not depend on others, however nearly it does.
    With a condition number κ, equations are accurate to about 100 eps κ, and those of one degree
    differ by 1 / κ² only. If no digit of the difference is left, counts are compared, but no spans.
    """
    if ideal.order_ideal_ is None:
        return False
    condition = max(step.condition for step in ideal.trace_)
    return 100 * np.finfo(case.dtype).eps * condition**3 > 1


def is_ordinary(case):
    """Say whether the columns have sizes of about 1."""
    return np.ndim(case.scale) == 0 and 2.0**-4 <= case.scale <= 2.0**4 and not case.offset.any()


def compare_with_repeated_rows(case, ideal):
    """Compare the extents of weighted rows with those of repeated ones.

    In other units some are below what the reduction resolves. A polynomial that is zero on the
    contrast up to rounding has any extent.
    """
    if case.source != "weights" or case.contrast is not None or not is_ordinary(case):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        repeated_rows = fit(replace(case, source="array"))
    noise = NOISE[case.precision]
    for one, other in zip(ideal.trace_, repeated_rows.trace_, strict=True):
        # Among them are extents of exact relations: rounding errors, with Gram matrices large ones.
        is_common = np.isclose(one.spectrum[:, None], other.spectrum, rtol=100 * noise).any(axis=1)
        n_finite = min(step.nonvanishing - step.unbounded for step in (one, other))
        if one.nonvanishing != other.nonvanishing or is_common.sum() < n_finite:
            return f"wrong: weights give extents {one.spectrum}, rows {other.spectrum}"
    return None


def compare_with_tolerance(case, ideal):
    """Compare with a fit whose tolerance lies between rounding errors and all other extents."""
    if case.seed % 3 or case.source == "partial_fit" or case.settings["tol_norm"] != "rms":
        return None
    if isinstance(case.settings["construction"], Abm | AbmGradient):
        return None  # with a tolerance they look for polynomials of smaller extents
    if case.precision != ("tsqr", "float64") and not is_ordinary(case):
        return None  # extents of exact relations are rounding errors in other units
    known = [step.spectrum[step.vanishing :] for step in ideal.trace_]
    smallest = np.min(np.concatenate(known), initial=np.inf)
    if ideal.order_ideal_ is not None:
        smallest = min(smallest, 1.0)  # a larger tolerance lets the constant 1 vanish
    largest = max(np.max(ideal.extents_, initial=0.0), 1e-12 * smallest)
    if not (np.isfinite(smallest) and 1e4 * largest < smallest):
        return None
    settings = case.settings | {"tol": float(np.sqrt(largest) * np.sqrt(smallest))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = fit(replace(case, settings=settings))
    counts = [[(s.vanishing, s.nonvanishing) for s in each.trace_] for each in (ideal, other)]
    if other.stop_reason_ == "interpolated":
        counts[0] = counts[0][: len(counts[1])]
    return None if counts[0] == counts[1] else f"wrong: {counts[1]} with tol, {counts[0]} without"


def compare_members(case, ideal, exponents, vectors):
    """Ask whether polynomials are in the ideal that are, and that are not."""
    if not is_ordinary(case) or case.contrast is not None:
        return None
    if case.precision != ("tsqr", "float64"):
        return None
    rng = np.random.default_rng(case.seed)
    units = float(case.scale) ** -exponents.sum(axis=1)
    ideal_part = np.linalg.qr(normalize(vectors.astype(float) * units[:, None]))[0]
    asked = [rng.integers(-3, 4, len(exponents))]
    if vectors.shape[1]:
        asked.append(vectors @ rng.integers(-2, 3, vectors.shape[1]))
    for coefficients in asked:
        polynomial = coefficients.astype(float) * units
        found = contains(ideal.basis_, polynomial, degree=case.degree)
        outside = polynomial - ideal_part @ (ideal_part.T @ polynomial)
        expected = np.linalg.norm(outside) / max(np.linalg.norm(polynomial), 1e-300)
        is_clear = not 1e-7 < expected < 1e-5
        if is_clear and found.contained != (expected <= 1e-6):
            return f"wrong: contains is {found.contained}, residual {found.residual:.1e}"
    return None


def normalize(columns):
    """Return columns of norm 1, whatever their size is; zeros stay."""
    largest = np.max(np.abs(columns), axis=0, initial=0.0)
    columns = columns / np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(columns, axis=0)
    return columns / np.where(lengths > 0, lengths, 1.0)


def compare_spans(case, ideal, exponents, vectors):
    """Compare the multiples of the equations found with all polynomials that vanish."""
    rng = np.random.default_rng(case.seed)
    low, high = case.points.min(axis=0), case.points.max(axis=0)
    n_all = comb(case.points.shape[1] + case.degree, case.degree)
    where = rng.integers(low - 9, high + 10, (2 * n_all + 8, case.points.shape[1]))
    truth = evaluate(exponents, vectors, where)
    known = np.empty((len(where), 0))
    if case.contrast is not None:
        both = null_space(np.vstack([case.points, case.contrast]), case.degree)
        known = evaluate(both[1], both[2], where)
    values = np.asarray(ideal.basis_.evaluate(case.coordinates(where)), dtype=np.float64)
    degrees = ideal.basis_.degrees()
    centred = (where - where.mean(axis=0)) / np.maximum(where.std(axis=0), 1e-9)
    products = [known]
    for degree in range(1, case.degree + 1):
        chosen = values[:, degrees == degree]
        for power in exponents_up_to(case.points.shape[1], case.degree - degree):
            products.append(chosen * np.prod(centred**power, axis=1)[:, None])
    spanned, truth = normalize(np.hstack(products)), normalize(truth)
    # Both are evaluated at more points than there are monomials: equal spans are equal ideals.
    if not truth.shape[1]:
        return "right" if not values.shape[1] else "wrong: equations where nothing vanishes"
    if not spanned.shape[1]:
        return "wrong: no equation found"
    left, singular, _ = np.linalg.svd(spanned, full_matrices=False)
    size = truth.shape[1]
    if len(singular) < size:
        return f"wrong: {len(singular)} multiples of equations, {size} polynomials vanish"
    # Coefficients far from the origin are differences of large numbers.
    distance = np.max(np.abs(case.offset) / np.maximum(np.ptp(case.points, axis=0), 1))
    noise = max(NOISE[case.precision], 1e-11 * distance)
    beyond = singular[size] / singular[0] if len(singular) > size else 0.0
    if beyond > noise:
        return f"wrong: the equations span more than what vanishes, by {beyond:.1e}"
    basis = np.linalg.qr(truth)[0]
    lost = np.linalg.norm(basis - left[:, :size] @ (left[:, :size].T @ basis), axis=0).max()
    smallest = singular[size - 1] / singular[0]
    if lost > 1e-3 and smallest < 1e3 * noise:
        # The multiples of the equations nearly depend on each other: not what is compared here.
        is_noise = smallest < noise / 30
        return f"wrong: {smallest:.1e} is left of a polynomial" if is_noise else "unclear"
    return f"wrong: a polynomial that vanishes is {lost:.1e} off" if lost > 1e-3 else "right"


# --- campaign -------------------------------------------------------------------------------------


@dataclass
class Tally:
    """Outcomes, and the cases that failed."""

    counts: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)


def run(start, stop, backends):
    """Run the cases of some seeds."""
    tally = Tally()
    for seed in range(start, stop):
        case = make_case(seed, backends)
        try:
            outcome = compare(case)
        except Exception as error:
            outcome = f"wrong: {type(error).__name__}: {error}"
        tally.counts[outcome.partition(":")[0]] += 1
        if outcome.startswith("wrong"):
            what = {
                "seed": seed,
                "kind": case.kind,
                "outcome": outcome,
                "settings": {name: str(value) for name, value in case.settings.items()},
                "backend": case.backend,
                "dtype": case.dtype,
                "source": case.source,
            }
            tally.failures.append(what)
    return tally


def available_backends():
    """Return the array libraries that are installed."""
    found = ["numpy", "numpy"]
    found += ["strict"] if find_spec("array_api_strict") else []
    found += ["torch"] if find_spec("torch") else []
    return found


def main():
    """Run a campaign, print and write what it found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    backends, began = available_backends(), time.perf_counter()
    stop = arguments.start + arguments.cases
    bounds = np.linspace(arguments.start, stop, max(1, arguments.cases // 250) + 1).astype(int)
    total = Tally()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        parts = pool.map(run, bounds[:-1], bounds[1:], [backends] * (len(bounds) - 1))
        for done, tally in zip(bounds[1:], parts, strict=True):
            total.counts += tally.counts
            total.failures += tally.failures
            for failure in tally.failures:
                print(failure, flush=True)
            if (done - arguments.start) % 5000 < 250:
                print(
                    f"{done - arguments.start} cases, {time.perf_counter() - began:.0f} s",
                    flush=True,
                )
    print(dict(total.counts))
    if arguments.out:
        found = {
            "command": "python -m benchmarks.campaigns.differential "
            f"--cases {arguments.cases} --start {arguments.start}",
            "machine": describe(),
            "seconds": round(time.perf_counter() - began, 1),
            "seeds": [arguments.start, stop - 1],
            "backends": sorted(set(backends)),
            "without": sorted(source for source, name in NEEDS.items() if not find_spec(name)),
            "counts": dict(total.counts),
            "failures": total.failures,
        }
        arguments.out.write_text(json.dumps(found, indent=1) + os.linesep, encoding="utf-8")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
