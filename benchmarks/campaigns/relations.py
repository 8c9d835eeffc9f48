"""Changes of the data that must not change a fit: permuted rows, other units, further containers.

Each case is a random fit, of ``VanishingIdeal`` with any normalization and construction, of a
detector or of ``ClassVanishingFeatures``, and one relation. The fit to the changed data must say
the same of new points: the same extents and the same size of the equations of each degree, or the
same scores, up to rounding. Fits whose own trace says that a decision was fragile or near ``tol``
are *undecided*: rounding may change them.

    python -m benchmarks.campaigns.relations                # 20,000 cases; writes relations_results
    python -m benchmarks.campaigns.relations --cases 200 --out FOLDER
"""

import argparse
import json
import sys
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.machine import describe
from scipy.stats import ortho_group

from vanishing import ClassVanishingFeatures, VanishingDetector, VanishingIdeal
from vanishing.detectors import ChristoffelDetector

HERE = Path(__file__).parent
#: Relative difference that rounding may make: the documented accuracy of a fit that is not fragile.
SAME = 1e-6
NORMALIZATIONS = ("contrastive", "gradient", "gradient-weighted", "coefficient", "vca")
CONSTRUCTIONS = ("vca", "vca", "vca", "abm", "oavi")
#: Of 100 cases, fits of detectors and of classes. These take longer.
DETECTORS, CLASSES = 6, 3


@dataclass(frozen=True)
class Problem:
    """What is fitted, to what, and the points at which fits are compared."""

    model: Any
    X: Any
    contrast: Any
    weights: Any
    labels: Any
    points: Any

    def fit(self):
        given = {} if self.contrast is None else {"contrast": self.contrast}
        if self.weights is not None:
            given["sample_weight"] = self.weights
        targets = () if self.labels is None else (self.labels,)
        return self.model.fit(self.X, *targets, **given)

    def move(self, change):
        """Return the problem with all its points moved."""
        contrast = None if self.contrast is None else change(self.contrast)
        return replace(self, X=change(self.X), contrast=contrast, points=change(self.points))

    def take(self, rows):
        """Return the problem with these of its rows, some of them more than once."""
        weights = None if self.weights is None else self.weights[rows]
        labels = None if self.labels is None else self.labels[rows]
        return replace(self, X=self.X[rows], weights=weights, labels=labels)


def draw_points(rng, n_rows, n_columns):
    """Return points near a random curve or surface, or anywhere."""
    free = int(rng.integers(1, n_columns + 1))
    t = rng.uniform(-1, 1, (n_rows, free))
    X = np.empty((n_rows, n_columns))
    X[:, :free] = t
    for j in range(free, n_columns):
        X[:, j] = t @ rng.normal(size=free) + t[:, 0] ** 2 * rng.normal() + rng.normal()
    noise = rng.choice([0.0, 1e-3, 1e-2, 0.1])
    return X + noise * rng.normal(size=X.shape)


def draw(rng):
    """Return a random problem, and what kind it is."""
    kind = rng.integers(100)
    n_rows, n_columns = int(rng.integers(12, 120)), int(rng.integers(1, 5))
    X = draw_points(rng, n_rows, n_columns)
    points = X[rng.integers(n_rows, size=20)] + 0.3 * rng.normal(size=(20, n_columns))
    empty = {"contrast": None, "weights": None, "labels": None}
    if kind < DETECTORS:
        model = [
            VanishingDetector(random_state=0),
            VanishingDetector(VanishingIdeal(tol=0.2, max_degree=2), random_state=0),
            ChristoffelDetector(max_degree=2),
        ][rng.integers(3)]
        return Problem(model, X, points=points, **empty), f"detector {type(model).__name__}"
    if kind < DETECTORS + CLASSES:
        labels = np.where(np.arange(n_rows) % 2, "odd", "even")
        X = X + (np.arange(n_rows) % 2)[:, None]
        model = ClassVanishingFeatures(VanishingIdeal(tol=0.2, max_degree=2))
        return Problem(model, X, points=points, **(empty | {"labels": labels})), "classes"
    normalization, construction = str(rng.choice(NORMALIZATIONS)), str(rng.choice(CONSTRUCTIONS))
    if construction != "vca":
        normalization = "coefficient"
    contrast = None
    if normalization == "contrastive":
        contrast = draw_points(rng, int(rng.integers(30, 150)), n_columns)
        contrast = contrast + rng.normal(size=contrast.shape)
    weights = rng.uniform(0.5, 2, n_rows) if rng.random() < 0.2 else None
    model = VanishingIdeal(
        normalization=normalization,
        construction=construction,
        max_degree=int(rng.integers(1, 4)),
        tol=float(rng.choice([0.02, 0.1, 0.3])),
    )
    kind = construction if construction != "vca" else normalization
    return Problem(model, X, contrast, weights, None, points), kind


# --- Relations: name, the kinds that they hold for, and the change --------------------------------


def permute_rows(problem, rng):
    return problem.take(rng.permutation(len(problem.X)))


def repeat_rows(problem, rng):
    return problem.take(np.tile(np.arange(len(problem.X)), 2))


def permute_columns(problem, rng):
    order = rng.permutation(problem.X.shape[1])
    return problem.move(lambda points: points[:, order])


def name_columns(problem, rng):
    names = [f"column {j}" for j in range(problem.X.shape[1])]
    return problem.move(lambda points: pd.DataFrame(points, columns=names))


def split_rows(problem, rng):
    return replace(problem, X=np.array_split(problem.X, int(rng.integers(2, 5))))


def change_container(problem, rng):
    return problem.move(lambda points: np.asfortranarray(points))


def change_units(problem, rng):
    units = 10.0 ** rng.integers(-3, 4, problem.X.shape[1])
    return problem.move(lambda points: points * units)


def move_affinely(problem, rng):
    n_columns = problem.X.shape[1]
    matrix = np.eye(n_columns) + 0.3 * rng.normal(size=(n_columns, n_columns))
    shift = rng.normal(size=n_columns)
    return problem.move(lambda points: points @ matrix + shift)


def move_rigidly(problem, rng):
    n_columns = problem.X.shape[1]
    turn = ortho_group.rvs(n_columns, random_state=rng) if n_columns > 1 else np.array([[-1.0]])
    shift = rng.normal(size=n_columns)
    return problem.move(lambda points: points @ turn + shift)


def weigh_by_copies(problem, rng):
    copies = rng.integers(1, 4, len(problem.X))
    rows = np.repeat(np.arange(len(problem.X)), copies)
    return replace(problem, weights=copies.astype(float)), problem.take(rows)


IDEALS = {*NORMALIZATIONS, "abm", "oavi"}
DETECTED = {"detector VanishingDetector", "detector ChristoffelDetector"}
RELATIONS = {
    permute_rows: IDEALS | DETECTED | {"classes"},
    repeat_rows: IDEALS | DETECTED | {"classes"},
    weigh_by_copies: IDEALS,
    permute_columns: set(NORMALIZATIONS) | DETECTED | {"classes"},
    name_columns: IDEALS | DETECTED | {"classes"},
    split_rows: IDEALS,
    change_container: IDEALS | DETECTED | {"classes"},
    change_units: {"contrastive"},
    move_affinely: {"contrastive"},
    move_rigidly: {"gradient", "vca", "contrastive"},
}
#: The threshold of a detector comes from rows that are drawn, in an order that depends on the
#: columns, and is bolder if there are more rows.
SAME_THRESHOLD = {permute_rows, name_columns, change_container}


# --- Comparison -----------------------------------------------------------------------------------


def measure(problem, has_same_threshold):
    """Return what a fit says: extents by degree, and values at the points; None if undecided."""
    fitted = problem.fit()
    if hasattr(fitted, "score_samples"):
        threshold = [fitted.offset_] if has_same_threshold else []
        return [fitted.score_samples(problem.points), threshold]
    values = np.asarray(fitted.transform(problem.points), dtype=float)
    if isinstance(fitted, VanishingIdeal):
        return measure_ideal(fitted, values)
    said, start = [], 0
    for ideal in fitted.ideals_:
        stop = start + len(ideal.extents_)
        of_class = measure_ideal(ideal, values[:, start:stop])
        if of_class is None:
            return None
        said += of_class
        start = stop
    return said


def measure_ideal(ideal, values):
    """Return what an ideal and the values of its equations say; None if undecided."""
    said = []
    for trace in ideal.trace_:
        spectrum = np.asarray(trace.spectrum)
        off = np.abs(spectrum / trace.tol - 1)
        if trace.undecided or trace.fragile or trace.margin < 1 + 1e-3 or (off < 1e-3).any():
            return None
        said.append(np.array([trace.vanishing, trace.nonvanishing, trace.candidates], dtype=float))
    # In units of the tolerance: extents of exact equations are rounding errors.
    said.append(np.append(np.sort(ideal.extents_) / ideal.trace_[0].tol, 1.0))
    # Equations of equal extents are known up to rotations, so that their size is compared.
    degrees = ideal.basis_.degrees()
    for degree in np.unique(degrees):
        said.append(np.linalg.norm(values[:, degrees == degree], axis=1))
    return said


def differ(first, second):
    """Return how far two fits are from each other, relative to the largest number of each kind."""
    if len(first) != len(second):
        return np.inf
    worst = 0.0
    for one, other in zip(first, second, strict=True):
        one, other = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
        if one.shape != other.shape:
            return np.inf
        if one.size:
            size = max(float(np.abs(one).max()), np.finfo(float).tiny)
            worst = max(worst, float(np.abs(one - other).max()) / size)
    return worst


def run(seed):
    """Judge one case; return its kind, relation, verdict and difference."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, 7])
    problem, kind = draw(rng)
    relation = [each for each, kinds in RELATIONS.items() if kind in kinds]
    relation = relation[rng.integers(len(relation))]
    changed = relation(replace(problem, weights=None), rng) if relation is weigh_by_copies else (
        problem, relation(problem, rng)
    )  # fmt: skip
    found = []
    for each in changed:
        try:
            found.append(measure(each, relation in SAME_THRESHOLD))
        except (ValueError, ArithmeticError) as error:
            found.append(str(type(error).__name__))
    if any(each is None for each in found):
        return seed, kind, relation.__name__, "undecided", 0.0
    if any(isinstance(each, str) for each in found):
        verdict = "refused" if found[0] == found[1] else "wrong"
        return seed, kind, relation.__name__, verdict, 0.0 if verdict == "refused" else np.inf
    far = differ(*found)
    return seed, kind, relation.__name__, "right" if far <= SAME else "wrong", far


def main(arguments=None):
    """Run the campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args(arguments)
    seeds = range(options.start, options.start + options.cases)
    with get_context("spawn").Pool(options.jobs) as pool:
        cases = list(pool.imap_unordered(run, seeds, chunksize=20))
    wrong = sorted(case for case in cases if case[3] == "wrong")
    table: dict[str, dict[str, int]] = {}
    for name, verdicts in sorted(Counter((c[2], c[3]) for c in cases).items()):
        table.setdefault(name[0].replace("_", " "), {})[name[1]] = verdicts
    result = {
        "machine": describe(),
        "start": options.start,
        "cases": len(cases),
        "verdicts": dict(Counter(case[3] for case in cases)),
        "kinds": dict(Counter(case[1] for case in cases)),
        "relations": table,
        "wrong": [{"seed": s, "kind": k, "relation": r, "off": far} for s, k, r, _, far in wrong],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1) + "\n"
    (options.out / "relations_results.json").write_text(text, encoding="utf-8")
    print(f"{len(cases):,} cases, {result['verdicts']}")
    for case in wrong[:20]:
        print(case)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
