"""The recipe for tables: three views of standardized data, each with a logarithm of its own.

Quadratic equations of the whole data, and linear equations of a few and of many clusters. What is
usual is learned from rows that are left out of the fit in turn.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.contrasts import Contrast, GaussianNoise, Permuted
from vanishing.detectors.clusters import are_trusted, find_clusters, fit_clusters
from vanishing.detectors.sample_weights import draw_rows, fit_pca, quantiles, take_weights
from vanishing.detectors.score import TINY, ClusterView, ConstantColumns, Coordinates, Score
from vanishing.detectors.threshold import Scored, apply_to_unseen, move_last_digits
from vanishing.explain.view import Component, View
from vanishing.ideal import VanishingIdeal

#: Rows of a contrast, at least: few rows make noisy sizes.
CONTRAST_ROWS = 2000
#: Candidates of degree 2 grow with the square of the dimension.
LARGEST_DIMENSION = 20
#: With fewer rows to a candidate, equations hold by chance, and residuals of the rows that they
#: were fitted to say nothing: all are then measured on a coarse scale, as those of small clusters.
ROWS_PER_CANDIDATE = 3
FINE_SCALE, COARSE_SCALE = 1e-6, 0.2
#: Clusters of the second and third view.
FEW_CLUSTERS, ROWS_PER_CLUSTER = 10, 10
MOST_CLUSTERS, ROWS_PER_SMALL_CLUSTER = 80, 25
#: Spread of log deviations, at least.
SMALLEST_SPREAD = 0.01
#: Share of the rows whose log deviations are changed less by rounding than by one spread: where
#: equations are exact nothing else is spread, and it must not be blown up.
ROUNDED_LESS = 0.95


def fit_recipe(
    X: FloatArray, *, seed: int, sample_weight: FloatArray | None = None
) -> tuple[Score, list[str], Scored]:
    """Fit the score of the recipe.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    seed : int
        Of contrasts, clustering, and of the rows that are left out.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    score : Score
    chosen : list of str
        What the score is made of, in words.
    unseen : Scored
        Scores of rows that were left out of the fit.
    """
    # Arrays, also where scikit-learn is told to make frames.
    scaler = StandardScaler().set_output(transform="default")
    scaler.fit(X, sample_weight=sample_weight)
    # Up to rounding. A small unit, such as picofarads in farads, does not make it constant.
    constant = scaler.var_ <= (1e-15 + 1e-12 * np.abs(scaler.mean_)) ** 2
    plain = Coordinates(scaler, np.flatnonzero(~constant))
    members: list[_Member] = []
    views: list[View] = []
    unseen = Scored(np.zeros(len(X)), sample_weight)
    if not constant.all():
        z, rounded = (plain.scale(x) for x in (X, move_last_digits(X)))
        plan = _Plan.of(*z.shape)
        members = _fit_members(z, sample_weight, plan, seed)
        shifts, spreads, unseen = _standardize(members, z, rounded, plan, seed, sample_weight)
        views = [
            ClusterView(
                (member.name,),
                member.components,
                (i,),
                shift=float(shifts[i]),
                spread=float(spreads[i]),
                weight=1 / len(members),
            )
            for i, member in enumerate(members)
        ]
    chosen = [member.description for member in members]
    constants = None
    if constant.any():
        chosen.append(f"{int(constant.sum())} constant columns")
        constants = ConstantColumns(constant, scaler.mean_)
    maps = tuple(member.reduction for member in members)
    coordinates = Coordinates(scaler, plain.columns, maps)
    return Score(coordinates, views, constants), chosen, unseen


@dataclass(frozen=True, eq=False)
class _Member:
    """One part of the recipe, not yet knowing what is usual."""

    name: str
    description: str
    reduction: PCA | None
    components: list[Component]

    def log_deviations(self, z: FloatArray) -> FloatArray:
        view = ClusterView((self.name,), self.components)
        reduced = z if self.reduction is None else np.asarray(self.reduction.transform(z))
        return np.asarray(view.value(view.measure(reduced)))


def _standardize(
    members: list[_Member],
    z: FloatArray,
    rounded: FloatArray,
    plan: "_Plan",
    seed: int,
    sample_weight: FloatArray | None,
) -> tuple[FloatArray, FloatArray, Scored]:
    """Return median and spread of the log deviations of each member, and scores of unseen rows.

    ``rounded`` are the rows z with other rounding errors.
    """

    def measure(members: list[_Member], z: FloatArray) -> FloatArray:
        return np.stack([member.log_deviations(z) for member in members], axis=1)

    def fit_and_measure(rest: IntArray, unseen: IntArray) -> FloatArray:
        fold = _fit_members(z[rest], take_weights(sample_weight, rest), plan, seed)
        return measure(fold, z[unseen])

    seen = measure(members, z)
    unseen, unseen_weight = seen, sample_weight
    if not all(are_trusted(member.components, len(z)) for member in members):
        with suppress(ValueError):  # some of the rows are all the same, though not all are
            unseen, which = apply_to_unseen(len(z), fit_and_measure, seed=seed)
            unseen_weight = take_weights(sample_weight, which)
    # Rows that were fitted to keep the equations at least as well as others. Where they do not, the
    # fits without some rows have found fewer or other equations, and say too little of this one.
    lower, medians, upper = np.maximum(
        _quartiles(unseen, unseen_weight), _quartiles(seen, sample_weight)
    )
    distances = _distances(seen, measure(members, rounded))
    rounding = quantiles(distances, [ROUNDED_LESS], sample_weight)[0]
    spreads = np.maximum(upper - lower, np.maximum(rounding, SMALLEST_SPREAD))
    scores = np.asarray(-np.mean((unseen - medians) / spreads, axis=1))
    return medians, spreads, Scored(scores, unseen_weight)


def _quartiles(deviations: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
    """Return the quartiles of each column of log deviations, shape (3, n_columns)."""
    # Beyond all numbers, where equations overflow, is as far as the farthest.
    farthest = np.max(deviations, axis=0, where=np.isfinite(deviations), initial=np.log(TINY))
    return quantiles(np.minimum(deviations, farthest), [0.25, 0.5, 0.75], sample_weight)


def _distances(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return how far numbers are from each other; infinite ones are where they are."""
    finite = np.isfinite(first) & np.isfinite(second)
    return np.abs(np.subtract(first, second, out=np.zeros_like(first), where=finite))


class _Plan(NamedTuple):
    """What depends on the size of the table.

    It is the same for all rows and with some left out: a fit to two clusters says nothing of the
    scores of a fit to one.
    """

    scale: float
    n_few: int
    n_many: int

    @classmethod
    def of(cls, n_rows: int, n_columns: int) -> "_Plan":
        most = max(1, n_rows // ROWS_PER_CLUSTER)
        n_many = int(np.clip(n_rows // ROWS_PER_SMALL_CLUSTER, 1, MOST_CLUSTERS))
        dimension = min(n_columns, LARGEST_DIMENSION)
        n_candidates = dimension * (dimension + 3) // 2  # monomials of degree 1 and 2
        # The smallest size of residuals of quadratic equations that is told from chance.
        scale = FINE_SCALE if n_rows >= ROWS_PER_CANDIDATE * n_candidates else COARSE_SCALE
        return cls(scale, min(FEW_CLUSTERS, most), n_many)


def _fit_members(
    z: FloatArray, sample_weight: FloatArray | None, plan: _Plan, seed: int
) -> list[_Member]:
    shuffled, moved = Permuted(), GaussianNoise(0.5)
    scale, n_few, n_many = plan
    data = (z, sample_weight)
    return [
        _fit_member("whole", *data, 1, shuffled, seed, degree=2, tol=0.5, smallest_scale=scale),
        _fit_member("few clusters", *data, n_few, shuffled, seed, smallest_scale=0.03),
        _fit_member("many clusters", *data, n_many, moved, seed, smallest_scale=COARSE_SCALE),
    ]


def _fit_member(
    name: str,
    z: FloatArray,
    sample_weight: FloatArray | None,
    n_clusters: int,
    contrast: Contrast,
    seed: int,
    *,
    degree: int = 1,
    tol: float = 0.9,
    smallest_scale: float,
) -> _Member:
    reduction = None
    if degree > 1 and z.shape[1] > LARGEST_DIMENSION:
        reduction = PCA(min(LARGEST_DIMENSION, len(z)), random_state=seed)
        reduction.set_output(transform="default")
        variances = fit_pca(reduction, z, sample_weight).explained_variance_
        # Directions without variance, as with few rows, would hold nothing but rounding.
        rank = max(1, int(np.sum(variances > 1e-20 * variances[0])))
        if rank < len(variances):
            fit_pca(reduction.set_params(n_components=rank), z, sample_weight)
        z = reduction.transform(z)
    rng = np.random.default_rng(seed)
    n_contrast = max(len(z), CONTRAST_ROWS)
    other = contrast.make(draw_rows(z, sample_weight, rng, n_contrast), rng, n_contrast)
    ideal = VanishingIdeal(
        max_degree=degree, tol=tol, normalization="contrastive", reduction="gram"
    )
    labels = find_clusters(z, n_clusters, seed=seed, sample_weight=sample_weight)
    fit = partial(fit_clusters, smallest_scale=smallest_scale, sample_weight=sample_weight)
    try:
        components = fit(z, labels, other, ideal)
    except ValueError:  # nothing is below the tolerance: take every direction there is
        components = fit(z, labels, other, ideal.set_params(tol=1e6))
    n_equations = sum(len(component.center) for component in components)
    description = (
        f"{name}: {n_equations} equations of degree <= {degree} on {len(components)} "
        f"clusters against {contrast}, tol={ideal.tol:g}"
    )
    return _Member(name, description, reduction, components)
