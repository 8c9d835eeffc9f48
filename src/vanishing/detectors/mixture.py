"""Mixtures of ideals: fitting the components of all transformations, and their weights."""

import warnings
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from vanishing.arrays.blocks import limit_jobs, limit_threads
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    move_like,
    move_to_numpy,
    namespace,
    take_rows,
)
from vanishing.construction.candidates import EPS
from vanishing.construction.linear import PointSets, fit_linear
from vanishing.data.inputs import label_error
from vanishing.data.source import ArraySource, ConcatenatedSource, SampleSource, add_weights
from vanishing.detectors.base import can_leave_out
from vanishing.detectors.sample_weights import (
    mean_and_variance,
    take_weights,
    total_weight,
    weighted_mean,
)
from vanishing.detectors.score import ClusterView, Mixture, value_and_slopes
from vanishing.explain.view import Component
from vanishing.ideal import VanishingIdeal, find_smallest_extent
from vanishing.levels import BLOCK
from vanishing.transformations import Transformation

# --- Clusters that are large enough for ideals of their own ---------------------------------------


def resolutions_of(n_components: Any) -> list[int]:
    """Return the numbers of clusters that are asked for: one, or one for each resolution."""
    numbers = np.atleast_1d(np.asarray(n_components))
    if numbers.ndim > 1 or not numbers.size or numbers.dtype.kind not in "iu" or min(numbers) < 1:
        raise ValueError(
            f"n_components must be a positive int or a sequence of them, got {n_components!r}"
        )
    return [int(k) for k in numbers]


def find_clusters(
    points: FloatArray, n_clusters: int, *, seed: int, sample_weight: FloatArray | None = None
) -> IntArray:
    """Label points by k-means with at most ``n_clusters`` labels 0, 1, ... without holes."""
    if n_clusters <= 1:
        return np.zeros(len(points), dtype=np.intp)
    # With less work than a block, threads wait for each other longer than they work.
    n_threads = 1 if points.size * n_clusters < BLOCK else None
    with limit_threads(n_threads, "openmp"), warnings.catch_warnings():
        # Fewer distinct points than clusters: there are then fewer clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(n_clusters, n_init=1, random_state=seed)
        labels = means.fit(points, sample_weight=sample_weight).labels_
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def find_clusterings(
    points: FloatArray,
    resolutions: Sequence[int],
    *,
    seed: int,
    sample_weight: FloatArray | None = None,
) -> list[tuple[IntArray, float]]:
    """Cluster points at several resolutions, from several starts where a number is repeated.

    Returns different labels with their weights; the starts of a resolution share its weight of
    1.
    """
    starts: dict[int, int] = {}
    weights: dict[int, int] = {}
    # Few rows carry few clusters, and several resolutions may come out as the same.
    for number, times in Counter(resolutions).items():
        most = min(number, count_large_clusters(points))
        starts[most] = max(starts.get(most, 1), times if most > 1 else 1)
        weights[most] = weights.get(most, 0) + 1
    found: list[tuple[IntArray, float]] = []
    for most, n_starts in starts.items():
        for start in range(n_starts):
            labels = find_large_clusters(
                points, most, seed=seed + start, sample_weight=sample_weight
            )
            weight = weights[most] / n_starts
            same = [i for i, (other, _) in enumerate(found) if np.array_equal(labels, other)]
            if same:
                found[same[0]] = (labels, found[same[0]][1] + weight)
            else:
                found.append((labels, weight))
    return found


def count_large_clusters(points: FloatArray) -> int:
    """Return how many clusters of points can have twice as many rows as columns."""
    n_rows, n_columns = points.shape
    return int(max(1, n_rows // (2 * n_columns)))


def find_large_clusters(
    points: FloatArray, n_clusters: int, *, seed: int, sample_weight: FloatArray | None = None
) -> IntArray:
    """Label points; clusters with too few rows for their dimension join their neighbours."""
    fewest = 2 * int(points.shape[1])
    n_clusters = min(n_clusters, count_large_clusters(points))
    if n_clusters == 1:
        return np.zeros(len(points), dtype=np.intp)
    labels = find_clusters(points, n_clusters, seed=seed, sample_weight=sample_weight)
    n_clusters = int(labels.max()) + 1
    centers = np.stack([points[labels == label].mean(axis=0) for label in range(n_clusters)])
    sizes = np.bincount(labels, minlength=n_clusters)
    for small in np.argsort(sizes, kind="stable"):
        alive = np.flatnonzero(sizes)
        if sizes[small] >= fewest or len(alive) == 1:
            continue  # it may have grown by a merge since the order was made
        others = alive[alive != small]
        nearest = others[np.argmin(np.sum((centers[others] - centers[small]) ** 2, axis=1))]
        labels[labels == small] = nearest
        sizes[nearest] += sizes[small]
        sizes[small] = 0
    return np.unique(labels, return_inverse=True)[1]


# --- The ideal of each cluster --------------------------------------------------------------------

#: With more rows to an unknown, unseen rows score as those that were fitted to: their squares are
#: two fiftieths larger.
ROWS_TO_TRUST = 50


def fit_clusters(
    points: FloatArray,
    labels: IntArray,
    contrast: FloatArray | None,
    template: VanishingIdeal,
    *,
    smallest_scale: float,
    sample_weight: FloatArray | None = None,
) -> list[Component]:
    """Fit an ideal to each cluster; clusters on which nothing vanishes are left out.

    D is the mean square in units of the spread, at least ``smallest_scale``: a cluster with few
    rows satisfies equations exactly by chance.
    """
    # Sources, which are not checked again for every cluster.
    other = None
    if contrast is not None and template.needs_contrast:
        other = ArraySource(contrast)
    components = []
    for label in np.unique(labels):
        own = labels == label
        rows, own_weight = points[own], take_weights(sample_weight, own)
        ideal: VanishingIdeal = clone(template)
        ideal.fit_part(ArraySource(rows), other, sample_weight=own_weight)
        if ideal.basis_.count():
            mean, variance = mean_and_variance(ideal.basis_.evaluate(rows), own_weight)
            components.append(scale_component(ideal, mean, np.sqrt(variance + smallest_scale**2)))
    if not components:
        check_vanishing(ideal)
    return components


def scale_component(ideal: VanishingIdeal, center: FloatArray, scale: FloatArray) -> Component:
    """Return a component whose D is the mean square of (g - center) / scale."""
    return Component(ideal, center, scale, 1 / (len(scale) * scale**2) if len(scale) else scale)


def are_trusted(components: list[Component], n_rows: int) -> bool:
    """Whether rows that were fitted to score as new ones do, or are too few to tell."""
    n_candidates = sum(step.candidates for each in components for step in each.ideal.trace_)
    return not can_leave_out(n_rows) or n_rows >= ROWS_TO_TRUST * n_candidates


class NothingVanishesError(ValueError):
    """No polynomial is below the tolerance; ``smallest`` is the smallest extent there is."""

    def __init__(self, smallest: float, tol: float | str, has_contrast: bool = False) -> None:
        super().__init__(smallest, tol, has_contrast)  # so that it can be sent between processes
        self.smallest = smallest
        self.tol = tol
        self.has_contrast = has_contrast

    def __str__(self) -> str:
        other = ", or choose another contrast" if self.has_contrast else ""
        return (
            f"no polynomial vanishes on X: the smallest extent is {self.smallest:.3g}, over "
            f"tol={self.tol}; raise tol or max_degree of the ideal{other}"
        )


def check_vanishing(ideal: VanishingIdeal) -> None:
    """Raise if nothing vanishes under a fitted ideal."""
    if not ideal.basis_.count():
        raise NothingVanishesError(find_smallest_extent(ideal), ideal.tol, ideal.needs_contrast)


# --- The ideal of one transformed copy, or of one cluster of it -----------------------------------

#: Used where no ideal is given; its tolerance is raised where nothing would vanish.
DEFAULT_IDEAL = VanishingIdeal(max_degree=2, tol=0.5, normalization="contrastive", reduction="gram")


def fit_component(
    points: SampleSource, contrast: SampleSource, ideal: VanishingIdeal | None, name: str
) -> VanishingIdeal:
    """Fit an ideal, the default if None, that has a vanishing polynomial, or raise."""
    template = DEFAULT_IDEAL if ideal is None else ideal
    fitted: VanishingIdeal = clone(template)
    used = contrast if template.needs_contrast else None
    try:
        fitted.fit_part(points, used)
        spectrum = np.concatenate([step.spectrum for step in fitted.trace_])
        if fitted.basis_.count() == 0 and ideal is None and spectrum.size:
            fitted.set_params(tol=1.001 * float(spectrum.min()))
            fitted.fit_part(points, used)
    except (ValueError, MemoryError) as error:
        raise label_error(error, f"the ideal of {name} failed") from error
    if ideal is None and spectrum.size and spectrum.min() >= 1:
        warnings.warn(
            f"no equation is smaller on {name} than on the other copies (smallest ratio "
            f"{spectrum.min():.3g}): scores will not be informative; choose other transformations",
            UserWarning,
            stacklevel=2,
        )
    if fitted.basis_.count() == 0:
        smallest = f"{spectrum.min():.3g}" if spectrum.size else "none"
        raise ValueError(
            f"no polynomial vanishes on {name}: the smallest extent is {smallest}, over "
            f"tol={fitted.tol}; raise tol or max_degree of the ideal, or leave this "
            "transformation out"
        )
    return fitted


# --- Weights on polynomials that minimize the mean training score ---------------------------------
#
# At the end of its section on the method the paper learns weights w of the polynomials. The score
# depends on them only through u = w² >= 0: D_j = Σ_g u_g (g - c_g)². For ε = 0 and one component
# per transformation it is convex in u, a linear function plus a logarithm of a sum of exponentials
# of linear functions, and a bounded quasi-Newton method finds the optimum. With more components it
# is a difference of such terms, and what is found is a local optimum.

#: Where the transformations can be told apart perfectly there is no finite minimum.
LARGEST_WEIGHT = 100.0
#: The paper's plain gradient descent.
RATE, EPOCHS = 1e-5, 300


@dataclass(frozen=True, eq=False)
class WeightProblem:
    """Mean training score as a function of u.

    ``squares`` are, per transformation T_i, (g(T_i x) - c_g)² for the polynomials g of all
    components (slices); the components of T_i come together, in the order of i.
    """

    squares: Sequence[Array]
    components: Sequence[slice]
    n_clusters: int
    smoothing: float
    sample_weight: FloatArray | None = None

    @property
    def n_points(self) -> float:
        """Total weight of the points."""
        return total_weight(self.sample_weight, int(self.squares[0].shape[0]))

    def loss_and_gradient(self, u: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean score and its derivative with respect to u."""
        xp = namespace(self.squares[0])
        of_points = self.sample_weight
        if of_points is not None:
            of_points = move_like(of_points, self.squares[0])
        weights = move_like(u, self.squares[0])
        loss, gradient = 0.0, np.zeros_like(u)
        for i, squares in enumerate(self.squares):
            deviations = xp.stack([squares[:, s] @ weights[s] for s in self.components], axis=1)
            own = slice(i * self.n_clusters, (i + 1) * self.n_clusters)
            values, slopes = value_and_slopes(deviations, own, self.smoothing)
            if of_points is not None:
                values, slopes = of_points * values, of_points[:, None] * slopes
            loss += float(xp.sum(values))
            parts = [squares[:, s].T @ slopes[:, j] for j, s in enumerate(self.components)]
            gradient += move_to_numpy(xp.concat(parts))
        return loss / self.n_points, gradient / self.n_points


def minimize_convex(problem: WeightProblem, *, penalty: float = 0.0) -> FloatArray:
    """Minimize the mean score, plus ``penalty`` times the sum of u, over 0 <= u <= a bound."""

    def objective(u: FloatArray) -> tuple[float, FloatArray]:
        loss, gradient = problem.loss_and_gradient(u)
        return loss + penalty * float(np.sum(u)), gradient + penalty

    n_polynomials = problem.components[-1].stop
    start = np.ones(n_polynomials)
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, LARGEST_WEIGHT)] * n_polynomials,
        options={"maxiter": 500},
    )
    return np.asarray(found.x)


def descend(problem: WeightProblem) -> FloatArray:
    """Follow the paper: gradient descent on w with u = w², from w = 1, on the summed score."""
    w = np.ones(problem.components[-1].stop)
    for _ in range(EPOCHS):
        _, gradient = problem.loss_and_gradient(w**2)
        w -= RATE * problem.n_points * 2 * w * gradient
    return np.asarray(w**2)


# --- The ideals of all transformed copies of the data, cluster by cluster -------------------------
#
# The data is clustered once. Every cluster under every transformation is a component with an ideal
# of its own. One cluster is the paper: a copy is contrasted with all other copies. Of several
# clusters each is contrasted with all copies of all clusters, its own few rows included: a common
# contrast makes the ideals alike, and D of all of them cheap (``explain/view.py``).

#: Floor of the usual size of a polynomial in distances, in units of its size on the contrast.
SMALLEST_SIZE = 0.3


def measure_distance(mixture: Mixture) -> ClusterView:
    """Return the distance from the nearest cluster: all transformations may fit badly."""
    components = [
        scale_component(c.ideal, c.center, np.sqrt(c.typical**2 + SMALLEST_SIZE**2))
        for c in mixture.components[mixture.own(0)]
    ]
    return ClusterView(("distance",), components, first_cluster=mixture.first_cluster, borrows=True)


def fit_mixture(
    copies: Sequence[Array],
    labels: IntArray,
    ideal: VanishingIdeal | None,
    names: Sequence[str],
    *,
    center: bool,
    smoothing: float,
    seed: int,
    n_jobs: int | None,
    sample_weight: FloatArray | None = None,
) -> Mixture:
    """Fit an ideal, the default if None, to every cluster of every copy of the data."""
    n_clusters = int(labels.max()) + 1
    rows_of_cluster = [np.flatnonzero(labels == c) for c in range(n_clusters)]
    places = [(i, rows) for i in range(len(copies)) for rows in rows_of_cluster]
    found: list[Component | None] = [None] * len(places)
    metric = None
    if ideal is not None and is_linear(ideal):
        found, metric = fit_linear_components(copies, rows_of_cluster, ideal, sample_weight)
    shared = None
    if n_clusters > 1 and None in found:
        shared = _draw_contrast(copies, sample_weight, seed)

    def contrast_of(own: int) -> SampleSource:
        if shared is not None:
            return shared
        others = [c for k, c in enumerate(copies) if k != own]
        return ConcatenatedSource([add_weights(ArraySource(c), sample_weight) for c in others])

    def fit_one(own: int) -> Component:
        i, rows = places[own]
        points = copies[i] if n_clusters == 1 else take_rows(copies[i], rows)
        name = f"transformation {i} ({names[i]!r})"
        own_weight = take_weights(sample_weight, rows)
        source = add_weights(ArraySource(points), own_weight)
        fitted = fit_component(source, contrast_of(own), ideal, name)
        values = move_to_numpy(fitted.basis_.evaluate(points))
        mean = weighted_mean(values, own_weight) if center else np.zeros(values.shape[1])
        typical = np.sqrt(weighted_mean((values - mean) ** 2, own_weight))
        return Component(fitted, mean, typical, np.ones_like(mean))

    missing = [own for own, component in enumerate(found) if component is None]
    # Threads: the work is in BLAS and LAPACK, and the copies are shared. Many small problems run
    # fastest with one BLAS thread each.
    parallel = Parallel(n_jobs=limit_jobs(n_jobs, len(missing)), prefer="threads")
    with limit_threads(1 if n_clusters > 1 or parallel.n_jobs not in (None, 1) else None):
        fitted = dict(zip(missing, parallel(delayed(fit_one)(own) for own in missing), strict=True))
    return Mixture(
        tuple(names),
        [fitted[own] if each is None else each for own, each in enumerate(found)],
        tuple(range(len(copies))),
        n_clusters=n_clusters,
        smoothing=smoothing,
        metric=metric,
    )


def _draw_contrast(
    copies: Sequence[Array], sample_weight: FloatArray | None, seed: int
) -> SampleSource:
    """Draw rows of all copies together, about as many numbers as make a contrast elsewhere."""
    n_rows = int(copies[0].shape[0])
    total = n_rows * len(copies)
    drawn, most = np.arange(total), max(2, 2 * BLOCK // int(copies[0].shape[1]))
    if total > most:
        drawn = np.sort(np.random.default_rng(seed).choice(total, size=most, replace=False))
    parts = [take_rows(z, drawn[drawn // n_rows == i] % n_rows) for i, z in enumerate(copies)]
    rows = namespace(copies[0]).concat(parts)
    return add_weights(ArraySource(rows), take_weights(sample_weight, drawn % n_rows))


# --- Linear ideals of all clusters at once, from their means and covariances ----------------------


def is_linear(ideal: VanishingIdeal) -> bool:
    """Say whether an ideal asks for nothing but linear equations of Gram matrices."""
    known = VanishingIdeal(
        max_degree=1, tol=ideal.tol, normalization="contrastive", reduction="gram"
    ).set_params(memory_budget=ideal.memory_budget)
    return not isinstance(ideal.tol, str) and ideal.get_params() == known.get_params()


def fit_linear_components(
    copies: Sequence[Array],
    rows_of_cluster: Sequence[IntArray],
    ideal: VanishingIdeal,
    sample_weight: FloatArray | None,
) -> tuple[list[Component | None], FloatArray | None]:
    """Fit linear ideals to all clusters of all copies, and find the metric of ``Mixture``.

    A component is None where the fit has to look at the rows, or nothing vanishes.
    """
    with limit_threads(1 if len(rows_of_cluster) > 1 else None):  # many small products
        points = _measure_sets(copies, rows_of_cluster, sample_weight)
    metric = None
    if len(rows_of_cluster) == 1:
        contrasts = points.join(1.0 - np.eye(len(points)))
    else:
        contrasts = points.join(np.ones((1, len(points))))
        variances, axes = np.linalg.eigh(contrasts.covariances[0])
        if variances[0] > EPS * variances[-1]:
            metric = axes / np.sqrt(variances)
    fresh: VanishingIdeal = clone(ideal)
    components: list[Component | None] = []
    for found in fit_linear(points, contrasts, float(ideal.tol)):
        if found is None or found.basis.count() == 0:
            components.append(None)
            continue
        fitted = copy(fresh).adopt(found)
        # The polynomials have mean 0 on their cluster, and there their extents are what is typical.
        extents = fitted.extents_
        components.append(Component(fitted, np.zeros_like(extents), extents, np.ones_like(extents)))
    return components, metric


def _measure_sets(
    copies: Sequence[Array], rows_of_cluster: Sequence[IntArray], sample_weight: FloatArray | None
) -> PointSets:
    """Return means and covariances of all clusters of all copies."""
    xp = namespace(copies[0])
    order = np.concatenate(rows_of_cluster)
    stops = np.cumsum([0, *map(len, rows_of_cluster)]).tolist()
    weights = take_weights(sample_weight, order)
    means, covariances, sizes = [], [], []
    for z in copies:
        sorted_rows = take_rows(z, order)
        for start, stop in pairwise(stops):
            rows = sorted_rows[start:stop, :]
            if weights is None:
                size, mean = float(stop - start), xp.mean(rows, axis=0)
                apart = rows - mean
            else:
                own = move_like(weights[start:stop], rows)
                size = float(weights[start:stop].sum())
                mean = own @ rows / size
                apart = (rows - mean) * xp.sqrt(own)[:, None]
            means.append(mean)
            covariances.append(apart.T @ apart / size)
            sizes.append(size)
    return PointSets(
        np.array(sizes), move_to_numpy(xp.stack(means)), move_to_numpy(xp.stack(covariances))
    )


# --- Weights of a fitted mixture ------------------------------------------------------------------


def learn_weights(
    mixture: Mixture,
    copies: Sequence[Array],
    how: Literal["convex", "descent"],
    *,
    sparsity: float,
    seed: int,
    sample_weight: FloatArray | None = None,
) -> Mixture:
    """Return the mixture with weights on its polynomials; those of weight zero are left out."""
    components = mixture.components
    stops = np.cumsum([0, *(len(component.center) for component in components)])
    slices = [slice(int(a), int(b)) for a, b in pairwise(stops)]
    n_rows = copies[0].shape[0]
    rows = np.arange(n_rows)
    # Squares and as many products with them, in double precision, are held of each row.
    budget = components[0].ideal.memory_budget
    fits = max(1, int(budget // (2 * 8 * stops[-1] * len(copies))))
    if fits < n_rows:
        rows = np.sort(np.random.default_rng(seed).choice(n_rows, size=fits, replace=False))
    squares = [
        namespace(z).concat([c.residuals(take_rows(z, rows)) ** 2 for c in components], axis=1)
        for z in copies
    ]
    problem = WeightProblem(
        squares, slices, mixture.n_clusters, mixture.smoothing, take_weights(sample_weight, rows)
    )
    if how == "descent":
        u = descend(problem)
        if not np.isfinite(u).all():
            raise ValueError(
                "gradient descent on the weights diverged: its rate is fixed, and the values of "
                "the polynomials are too large for it; use weighting='convex'"
            )
    else:
        u = minimize_convex(problem, penalty=sparsity / problem.n_points)
        if not u.any():
            raise ValueError(
                f"with sparsity={sparsity} and {len(rows)} samples all weights are zero; lower "
                "sparsity"
            )
    kept = [c.restrict(u[s]) for c, s in zip(components, slices, strict=True)]
    return replace(mixture, components=kept)


def find_identical(copies: Sequence[Array], rounding: float = 0.0) -> frozenset[tuple[int, int]]:
    """Return which two copies of the data are the same, up to a relative rounding error."""

    def are_equal(first: Array, second: Array) -> bool:
        xp = namespace(first)
        return bool(xp.max(xp.abs(first - second)) <= rounding * xp.max(xp.abs(first)))

    return frozenset(
        (i, k)
        for (i, first), (k, second) in combinations(enumerate(copies), 2)
        if are_equal(first[:1, :], second[:1, :]) and are_equal(first, second)
    )


def refuse_identical(
    pairs: frozenset[tuple[int, int]], transformations: Sequence[Transformation]
) -> None:
    """Raise if two transformations give the same copy of the data."""
    for i, k in sorted(pairs):
        raise ValueError(
            f"transformations {i} ({transformations[i].name!r}) and {k} "
            f"({transformations[k].name!r}) give identical copies of X, which cannot be "
            "distinguished; leave one of them out"
        )
