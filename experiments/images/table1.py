"""Table 1: anomaly detection with even labels as the normal class."""

from functools import partial
from itertools import product

import numpy as np
from experiments.harness import store
from experiments.harness.cell import Cell
from experiments.images import table1_page
from experiments.images.data import N_TEST, SETS, SHAPE, auc, evaluate, even_labels, held_out
from experiments.images.setting import (
    FIXED,
    Setting,
    best,
    compare,
    evaluate_or_say_why_not,
    in_principal_components,
)
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.transformations import RandomAffine, Rotations

TITLE = "Table 1: anomaly detection"

PLACES = ("in PCA coordinates", "on pixels")
SEEDS, GOAD_SEEDS = 5, 3
TOLERANCES = (0.3, 0.5, 0.7)
#: Dimension and degree; four as in the paper only where the candidates are few.
GRID = (
    *product((10, 20, 30, 50), (1, 2)),
    (10, 3),
    (10, 4),
)
#: The baselines on the principal components that degree 4 allows.
BASELINE_DIMENSION, BASELINE_DEGREE, BASELINE_CAP = 10, 4, 55
#: Tolerances of the baselines, in units of the smallest spread of a component.
SHARES = {"VCA": (1.05, 1.5, 2.0), "nVCA": (0.25, 0.5, 1.0)}
NORMALIZATIONS = {"VCA": "vca", "nVCA": "gradient"}


def training_sizes(size):
    return (60_000, 10_000) if size == "full" else (2_000,)


def cells(size):
    n_test = N_TEST if size == "full" else 1_000
    listed = {}
    for name, n_images in product(SETS, training_sizes(size)):
        task = partial(even_labels, name, n_images, n_test=n_test)
        here = f"{name}, {n_images:,}"
        for dimension, degree in _grid(size):
            listed[_grid_name(here, dimension, degree)] = partial(
                grid_point, task, dimension, degree, size=size
            )
        for seed in _seeds(n_images, size):
            listed[f"{here}, Rot., chosen, seed {seed}"] = partial(chosen, task, here, seed, size)
            listed[f"{here}, Rot., fixed, seed {seed}"] = partial(fixed, task, seed, None)
            for method in NORMALIZATIONS:
                listed[f"{here}, {method}, seed {seed}"] = partial(
                    baseline, task, method, seed, BASELINE_DEGREE if size == "full" else 2
                )
        listed[f"{here}, Rot., chosen, no accelerator"] = partial(
            chosen, task, here, 0, size, accelerated=False
        )
        listed[f"{here}, Rot., fixed with descent"] = partial(fixed, task, 0, "descent")
        for seed in range(SEEDS if size == "full" else 2):
            listed[f"{here}, R.A., seed {seed}"] = partial(random_affine, task, here, seed, size)
        for seed in _seeds(n_images, size):
            listed[f"{here}, distance, seed {seed}"] = partial(distance, task, seed)
    # Last, since it takes longest.
    for name, n_images in product(SETS, training_sizes(size)):
        task = partial(even_labels, name, n_images, n_test=n_test)
        for seed in range(GOAD_SEEDS if size == "full" else 1):
            listed[f"{name}, {n_images:,}, GOAD, seed {seed}"] = partial(goad, task, seed, size)
    return [Cell(name, run) for name, run in listed.items()]


def _grid(size):
    return GRID if size == "full" else ((10, 1), (10, 2))


def _grid_name(here, dimension, degree):
    return f"{here}, Rot., PCA {dimension}, degree {degree}"


def _seeds(n_images, size):
    """Nothing is drawn where all images are used: PCA is exact, rotations are given."""
    return range(1) if n_images == 60_000 else range(SEEDS if size == "full" else 2)


# --- cells ----------------------------------------------------------------------------------------


def grid_point(task, dimension, degree, *, size):
    """Compare tolerances and weights by the score of held-out normal images."""
    tolerances = TOLERANCES if size == "full" else TOLERANCES[1:]
    settings = [
        Setting(dimension, degree, tol, weighting)
        for tol, weighting in product(tolerances, (None, "convex"))
    ]
    return {"compared": compare(settings, Rotations(SHAPE), task())}


def choice(results, here, size):
    """Return the row of the grid with the best held-out score, or None before any was run."""
    names = [_grid_name(here, *point) for point in _grid(size)]
    rows = [row for name in names if name in results for row in results[name]["compared"]]
    return best(rows)


def _chosen_setting(here, size):
    """Look up the choice, which needs the whole grid."""
    results = store.results("table1", size)
    missing = [name for point in _grid(size) if (name := _grid_name(here, *point)) not in results]
    row = choice(results, here, size)
    if missing or row is None:
        raise RuntimeError(f"the choice needs the cells {missing or 'of the grid'} first")
    return Setting(**row["setting"])


def chosen(task, here, seed, size, *, accelerated=True):
    """Fit the chosen setting to all normal images; the choice is that of the first images."""
    setting = _chosen_setting(here, size)
    detector = setting.detector(Rotations(SHAPE))
    return {"setting": str(setting)} | evaluate(detector, task(seed=seed), accelerated=accelerated)


def fixed(task, seed, weighting):
    """Fit the setting that nobody chose, without weights or with the paper's descent."""
    setting = Setting(weighting=weighting)
    return evaluate(setting.detector(Rotations(SHAPE)), task(seed=seed))


def random_affine(task, here, seed, size):
    """Put random affine maps in the place of rotations, in both spaces they may act in."""
    maps = RandomAffine(4, random_state=seed)
    found = {}
    images = task(seed=seed)
    for name, setting in (("fixed", FIXED), ("chosen", _chosen_setting(here, size))):
        reduced = in_principal_components(images, setting.dimension)
        for place, detector, where in (
            (PLACES[0], setting.detector(maps, preprocessor=None), reduced),
            (PLACES[1], setting.detector(maps), images),
        ):
            found[f"{name}, {place}"] = evaluate_or_say_why_not(detector, where)
    return found


def distance(task, seed):
    """Call images normal that are far from the mean of the normal ones, which looks like R.A."""
    images = in_principal_components(task(seed=seed), FIXED.dimension)
    squares = np.sum((images.test - images.train.mean(axis=0)) ** 2, axis=1)
    return {"AUC": round(100 * float(roc_auc_score(images.is_normal, squares)), 2)}


def baseline(task, method, seed, degree):
    """Score by the norm of all polynomials; tolerance by held-out images against permuted ones."""
    images = task(seed=seed)
    spreads = np.sqrt(PCA(BASELINE_DIMENSION, random_state=0).fit(images.train).explained_variance_)
    # Extents of vca are pure numbers, relative to the largest spread; those of nVCA are lengths.
    unit = spreads[-1] / (spreads[0] if method == "VCA" else 1)
    kept, normal = held_out(images)
    scores = {}
    for share in SHARES[method]:
        try:
            detector = _baseline_detector(method, share * unit, degree).fit(kept.train)
            scores[share] = round(detector.score(normal), 4)
        except ValueError as error:
            if "no polynomial vanishes" not in str(error):
                raise
    share = max(scores, key=scores.get)
    detector = _baseline_detector(method, share * unit, degree)
    detector.fit(images.train)
    ideal = detector[-1].ideals_[0][0]
    return {
        "AUC": auc(detector, images),
        "tol in smallest spreads": share,
        "held-out scores": {str(key): value for key, value in scores.items()},
        "polynomials by degree": [step.vanishing for step in ideal.trace_],
    }


def _baseline_detector(method, tol, degree):
    ideal = VanishingIdeal(
        max_degree=degree,
        tol=float(tol),
        normalization=NORMALIZATIONS[method],
        max_nonvanishing=BASELINE_CAP,
        reduction="gram",
    )
    return make_pipeline(PCA(BASELINE_DIMENSION, random_state=0), VanishingDetector(ideal))


def goad(task, seed, size):
    """Train the deep baseline."""
    from experiments.images.goad import GOAD

    images = task(seed=seed)
    smaller = {} if size == "full" else {"n_transformations": 4, "epochs": 1, "widen_factor": 1}
    detector = GOAD(SHAPE, seed=seed, **smaller)
    train = images.train if size == "full" else images.train[:300]
    detector.fit(train)
    return {
        "AUC": auc(detector, images),
        "loss": [round(float(x), 4) for x in detector.loss_curve_],
    }


# --- page -----------------------------------------------------------------------------------------


def report(results, size):
    choices = {
        (name, n_images): (
            choice(results, f"{name}, {n_images:,}", size),
            [
                row
                for point in _grid(size)
                for row in results.get(_grid_name(f"{name}, {n_images:,}", *point), {}).get(
                    "compared", []
                )
            ],
        )
        for name, n_images in product(SETS, training_sizes(size))
    }
    return table1_page.write(results, choices)
