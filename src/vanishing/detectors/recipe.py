"""The recipe for tables: equations, values of columns and density, added up as evidence.

Rows need not all be normal. A row that was fitted to is scored as if it were new: equations
describe most rows and no single one, and neither the values nor the density count the row itself.

By Sklar's theorem the density of a table is that of each column by itself, and of their normal
scores together. So there are four witnesses: the equations of the columns as they are, the
equations of their normal scores, the values of single columns, and the density of the rows. Each
is heard once, however many views it has. A view says -log p, where p is the share of normal rows
that it finds as strange: calibrated on rows that it was not fitted to.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from vanishing.arrays.blocks import limit_workers
from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.contrasts import Permuted
from vanishing.data.source import ArraySource
from vanishing.detectors.base import (
    FITTED_ROWS,
    MOST_ANOMALIES,
    UNUSUAL_SHARE,
    Progress,
    Scored,
    apply_to_unseen,
    can_leave_out,
    count_folds,
    move_last_digits,
)
from vanishing.detectors.mixture import (
    NothingVanishesError,
    find_clusters,
    fit_clusters,
)
from vanishing.detectors.neighborhoods import (
    ColumnEvidence,
    ColumnView,
    KernelView,
    NormalScores,
    fit_bandwidth,
    keep_rows,
)
from vanishing.detectors.sample_weights import (
    CORE_SHARE,
    ENOUGH_ROWS,
    EXACT_SHARE,
    ROWS_PER_COLUMN,
    center_rows,
    concentrate,
    draw_rows,
    find_shrinkage,
    find_span,
    fit_pca,
    order_columns,
    quantiles,
    root_of,
    shrunk_covariance,
    take_weights,
    total_weight,
)
from vanishing.detectors.score import (
    ALLOWED,
    ClusterView,
    ConstantColumns,
    Coordinates,
    ExactView,
    LikelihoodView,
    Score,
    SpanView,
)
from vanishing.explain.view import Component, View
from vanishing.ideal import VanishingIdeal
from vanishing.levels import BLOCK, LONG_SUM, OUTLYING, ROUNDING
from vanishing.transformations import Affine, Transformation

#: Candidates of degree 2 grow with the square of the dimension: these make 230.
LARGEST_DIMENSION = 20
#: With fewer rows to an unknown, exact equations hold by chance.
ROWS_PER_CANDIDATE = 3
#: With more columns and few rows to a column there is one view only.
WIDE_TABLE = 100
#: Clusters, at most, and rows of a cluster, at least: fewer describe themselves.
MOST_CLUSTERS, SMALLEST_CLUSTER = 20, 8
#: Exact equations are sought among columns with so many different quantiles: columns of fewer
#: values satisfy equations by chance.
LEVELS = 11
#: Spread of the values of a view, at least. They are logarithms: this is a percent.
SMALLEST_SPREAD = 0.01


def fit_recipe(
    X: FloatArray,
    *,
    seed: int,
    sample_weight: FloatArray | None,
    n_jobs: int | None,
    progress: Progress,
) -> tuple[Score, list[str], Scored]:
    """Fit the score of the recipe; return it, what it is made of in words, and unseen scores."""
    # Arrays, also where scikit-learn is told to make frames.
    scaler = StandardScaler().set_output(transform="default")
    scaler.fit(X, sample_weight=sample_weight)
    # Up to rounding. A small unit, such as picofarads in farads, does not make it constant, and
    # neither do small units of all columns.
    unit = min(1.0, float(np.max(np.hypot(scaler.mean_, np.sqrt(scaler.var_)))))
    constant = scaler.var_ <= (ROUNDING * unit + LONG_SUM * np.abs(scaler.mean_)) ** 2
    chosen = []
    if len(X) > FITTED_ROWS:
        chosen.append(f"fitted to {FITTED_ROWS} of {len(X)} rows")
        drawn = np.random.default_rng(seed).choice(len(X), FITTED_ROWS, replace=False)
        X, sample_weight = X[np.sort(drawn)], take_weights(sample_weight, np.sort(drawn))
    # Random numbers fall on rows and columns: in an order of their own, the same on the same ones.
    columns = order_columns(X)
    plain = Coordinates(scaler, columns[~constant[columns]])
    members: list[_Member] = []
    unseen = Scored(np.zeros(len(X)), sample_weight)
    normal_scores = None
    if not constant.all():
        z, rounded = (plain.scale(x) for x in (X, move_last_digits(X)))
        plan = _Plan.of(*z.shape)
        data = _Rows.of(z, rounded, sample_weight, ranked=not plan.wide)
        normal_scores = data.normal_scores
        members, unseen = _standardize(data, plan, seed, n_jobs, progress)
        chosen += [member.description for member in members]
    constants = None
    if constant.any():
        number = int(constant.sum())
        chosen.append(f"{number} constant column{'s' * (number != 1)}")
        # Far more than all witnesses say of a row that is beyond all others.
        witnesses = max(1, len(_count_families(members)))
        least = OUTLYING * witnesses * _capacity(len(X), sample_weight)
        constants = ConstantColumns(constant, scaler.mean_, least)
    score = _score_members(members, normal_scores)
    coordinates = replace(score.coordinates, scaler=scaler, columns=plain.columns)
    return replace(score, coordinates=coordinates, constants=constants), chosen, unseen


def _capacity(n_rows: int, sample_weight: FloatArray | None) -> float:
    """Return the evidence that so many rows can give: that of one beyond all of them."""
    return float(np.log(1 + total_weight(sample_weight, n_rows)))


class _Rows(NamedTuple):
    """Standardized rows, the same with other rounding errors, their weights and normal scores."""

    z: FloatArray
    rounded: FloatArray
    sample_weight: FloatArray | None
    normal_scores: NormalScores | None

    @classmethod
    def of(
        cls, z: FloatArray, rounded: FloatArray, sample_weight: FloatArray | None, *, ranked: bool
    ) -> "_Rows":
        rounding = np.max(np.abs(z - rounded), axis=0)
        scores = NormalScores.fit(z, sample_weight, rounding) if ranked else None
        return cls(z, rounded, sample_weight, scores)

    def take(self, which: IntArray) -> "_Rows":
        """Return some of the rows, with the normal scores that these have by themselves."""
        weights = take_weights(self.sample_weight, which)
        ranked = self.normal_scores is not None
        return _Rows.of(self.z[which], self.rounded[which], weights, ranked=ranked)


@dataclass(frozen=True, eq=False)
class _Member:
    """A view of the recipe, with the map to its coordinates, and whose witness it is."""

    view: View
    description: str
    family: str
    applied: PCA | Transformation | None = None
    ranked: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether the view is added to the evidence, and none itself."""
        return isinstance(self.view, ExactView)


def _count_families(members: list[_Member]) -> dict[str, int]:
    """Return how many views each witness has."""
    families = [member.family for member in members if not member.is_exact]
    return {family: families.count(family) for family in families}


def _score_members(members: list[_Member], normal_scores: NormalScores | None) -> Score:
    """Return the score of standardized columns, each member with an image of its own."""
    ranked = tuple(i for i, member in enumerate(members) if member.ranked)
    coordinates = Coordinates(
        maps=tuple(member.applied for member in members),
        normal_scores=normal_scores if ranked else None,
        ranked=ranked,
    )
    views = [replace(member.view, images=(i,)) for i, member in enumerate(members)]
    return Score(coordinates, views)


def estimate_work(n_rows: int) -> float:
    """Return how many rows are fitted to, in all fits together."""
    drawn = min(n_rows, FITTED_ROWS)
    return drawn * (1 + count_folds(drawn))


def _standardize(
    data: _Rows, plan: "_Plan", seed: int, n_jobs: int | None, progress: Progress
) -> tuple[list[_Member], Scored]:
    """Fit members; calibrate them on rows that were left out; return scores of unseen rows."""

    def fit_members(data: _Rows) -> list[_Member]:
        # The limits of the calling thread are not those of others.
        with limit_workers(1):
            members, fits = [], _members_of(data, plan, seed)
            for fit in fits:
                members += fit()
                progress.step(n_rows / len(fits))
        return members

    n_rows = len(data.z)
    members = fit_members(data)
    weighed = np.array([not member.is_exact for member in members])

    def measure(data: _Rows, members: list[_Member], z: FloatArray) -> FloatArray:
        with limit_workers(1):
            return np.asarray(_score_members(members, data.normal_scores).measure(z).T)

    def add_up_exact(members: list[_Member], values: FloatArray) -> FloatArray:
        exact = np.array([member.is_exact for member in members])
        return np.column_stack([values[:, ~exact], values[:, exact].sum(axis=1)])

    def fit_and_measure(rest: IntArray, unseen: IntArray) -> FloatArray:
        others = data.take(rest)
        fold = fit_members(others)
        return add_up_exact(fold, measure(others, fold, data.z[unseen]))

    every = measure(data, members, data.z)
    seen = add_up_exact(members, every)
    unseen, unseen_weight = seen, data.sample_weight
    if can_leave_out(n_rows):
        with suppress(NothingVanishesError):  # on some of the rows, though it does on all
            unseen, which = apply_to_unseen(n_rows, fit_and_measure, seed=seed, n_jobs=n_jobs)
            unseen_weight = take_weights(data.sample_weight, which)
    # Rows that were fitted to keep the equations at least as well as others. Where they do not, the
    # fits without some rows have found fewer or other equations, and say too little of this one.
    medians, upper = np.maximum(
        _usual(unseen[:, :-1], unseen_weight), _usual(seen[:, :-1], data.sample_weight)
    )
    distances = _distances(every, measure(data, members, data.rounded))[:, weighed]
    # Where equations are exact nothing but rounding is spread, and it must not be blown up.
    rounding = quantiles(distances, [1 - MOST_ANOMALIES], data.sample_weight)[0]
    # The share p of a logistic distribution is beyond log(1/p - 1).
    tail = np.log(1 / UNUSUAL_SHARE - 1)
    spreads = np.maximum((upper - medians) / tail, np.maximum(rounding, SMALLEST_SPREAD))
    capacity = _capacity(n_rows, data.sample_weight)
    families = _count_families(members)
    known = iter(zip(medians, spreads, strict=True))
    standardized = []
    for member in members:
        if member.is_exact:  # as loud as all witnesses
            member = replace(member, view=replace(member.view, weight=float(len(families))))
        else:
            shift, spread = map(float, next(known))
            view = replace(
                member.view,
                shift=shift,
                spread=spread,
                weight=1 / families[member.family],
                capacity=capacity,
            )
            member = replace(member, view=view)
        standardized.append(member)
    views = [member.view for member in standardized if not member.is_exact]
    evidence = sum(view.add(s) for view, s in zip(views, unseen.T[:-1], strict=True))
    scores = -evidence - len(families) * unseen[:, -1]
    return standardized, _leave_out_extremes(np.asarray(scores), unseen_weight)


def _leave_out_extremes(scores: FloatArray, sample_weight: FloatArray | None) -> Scored:
    """Return the scores without those that are no scores of normal rows.

    In a small table the lowest score of all is the threshold: one gross error would hide itself.
    """
    bounded = np.maximum(scores, np.min(scores, where=np.isfinite(scores), initial=0.0))
    lower, upper = quantiles(bounded, [0.25, 0.75], sample_weight)
    kept = bounded >= lower - 2 * OUTLYING * (upper - lower)
    return Scored(scores[kept], take_weights(sample_weight, kept))


def _usual(values: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
    """Return the median of each column, and what is not usual any more, shape (2, n_columns)."""
    # Beyond all numbers, where equations overflow, is as far as the farthest.
    farthest = np.max(values, axis=0, where=np.isfinite(values), initial=np.log(LONG_SUM))
    return quantiles(np.minimum(values, farthest), [0.5, 1 - UNUSUAL_SHARE], sample_weight)


def _distances(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return how far numbers are from each other; infinite ones are where they are."""
    with np.errstate(invalid="ignore"):
        distances = np.abs(first - second)
    return np.where(np.isfinite(distances), distances, 0.0)


class _Plan(NamedTuple):
    """What depends on the size of the table.

    It is the same for all rows and with some left out: a fit to two clusters says nothing of the
    scores of a fit to one.
    """

    wide: bool
    #: Of fewer rows than columns, any that are left out look strange.
    concentrated: bool
    #: With fewer rows to a candidate, equations hold by chance, most of all on strange rows.
    quadratic: bool
    n_clusters: int
    exact: bool

    @classmethod
    def of(cls, n_rows: int, n_columns: int) -> "_Plan":
        dimension = min(n_columns, LARGEST_DIMENSION)
        n_candidates = dimension * (dimension + 3) // 2  # monomials of degree 1 and 2
        most = max(1, min(n_rows // SMALLEST_CLUSTER, 2 * BLOCK // n_columns**2))
        return cls(
            n_columns > n_rows or (n_columns > WIDE_TABLE and n_rows < ROWS_PER_COLUMN * n_columns),
            CORE_SHARE * n_rows > n_columns,
            n_rows >= 2 * n_candidates,
            min(most, MOST_CLUSTERS),
            n_rows >= ROWS_PER_CANDIDATE * n_columns,
        )


#: Witnesses: whose views are heard together.
EQUATIONS, RANK_EQUATIONS = "equations", "equations of normal scores"
COLUMNS, DENSITY = "values of columns", "density of rows"


def _members_of(data: _Rows, plan: _Plan, seed: int) -> list[Callable[[], list[_Member]]]:
    """Return functions that fit one view each, or none where there is nothing to look at."""
    if plan.wide:
        return [lambda: [_fit_span(data.z, data.sample_weight, concentrated=plan.concentrated)]]
    assert data.normal_scores is not None
    ranks = np.asarray(data.normal_scores(data.z))
    return [
        *_views_of(data.z, data.sample_weight, plan, seed),
        *(
            lambda fit=fit: [_rank(member) for member in fit()]
            for fit in _views_of(ranks, data.sample_weight, plan, seed)
        ),
        lambda: _fit_exact(data, seed) if plan.exact else [],
        lambda: _fit_neighbors(data, seed),
    ]


def _rank(member: _Member) -> _Member:
    """Return a member that was fitted to normal scores."""
    name, rest = member.description.split(":", 1)
    view = replace(member.view, names=(f"{member.view.names[0]}, of normal scores",))
    return replace(
        member,
        view=view,
        description=f"{name}, of normal scores:{rest}",
        family=RANK_EQUATIONS,
        ranked=True,
    )


def _views_of(
    z: FloatArray, sample_weight: FloatArray | None, plan: _Plan, seed: int
) -> list[Callable[[], list[_Member]]]:
    """Return functions that fit equations of all rows and of clusters."""
    kept = concentrate(z, sample_weight)
    # Directions of small variance count more, but not as much as under the covariance itself.
    _, covariance = shrunk_covariance(z[kept], take_weights(sample_weight, kept))
    flattened = root_of(covariance, -0.25)
    views = [lambda: [_fit_clusters(z, sample_weight, flattened, plan.n_clusters, seed)]]
    if plan.quadratic:
        views.insert(0, lambda: [_fit_quadratic(z, sample_weight, seed)])
    return views


# --- Neighborhoods: values of single columns, and rows --------------------------------------------


def _fit_neighbors(data: _Rows, seed: int) -> list[_Member]:
    """Fit the views of places that are empty in training."""
    z, _, sample_weight, normal_scores = data
    assert normal_scores is not None
    evidence = ColumnEvidence.fit(z, sample_weight, EXACT_SHARE)
    found = [
        _Member(
            ColumnView(("values of columns",), [], evidence=evidence),
            f"values of {z.shape[1]} column{'s' * (z.shape[1] != 1)}: how empty their places are",
            COLUMNS,
        )
    ]
    ranks = np.asarray(normal_scores(z))
    for points, of_what, ranked in ((z, "columns", False), (ranks, "normal scores", True)):
        rows, weights = keep_rows(points, sample_weight, ENOUGH_ROWS, seed)
        matrix = fit_bandwidth(rows, weights, seed)
        name = f"density of rows, by {of_what}"
        view = KernelView((name,), [], rows=rows @ matrix.T, row_weights=weights)
        description = f"{name}: a kernel around {len(rows)} of them"
        applied = Affine("bandwidth", matrix, np.zeros(len(matrix)))
        found.append(_Member(view, description, DENSITY, applied, ranked))
    return found


# --- Views of the whole data ----------------------------------------------------------------------


def _fit_quadratic(z: FloatArray, sample_weight: FloatArray | None, seed: int) -> _Member:
    """Fit quadratic equations of the whole data against permuted columns."""
    reduction = None
    if z.shape[1] > LARGEST_DIMENSION:
        reduction = PCA(min(LARGEST_DIMENSION, len(z)), random_state=seed)
        reduction.set_output(transform="default")
        variances = fit_pca(reduction, z, sample_weight).explained_variance_
        # Directions without variance, as with few rows, would hold nothing but rounding.
        rank = max(1, int(np.sum(variances > 1e-20 * variances[0])))
        if rank < len(variances):
            fit_pca(reduction.set_params(n_components=rank), z, sample_weight)
        z = reduction.transform(z)
    rng = np.random.default_rng(seed)
    n_contrast = max(len(z), 2 * ENOUGH_ROWS)  # few rows make noisy sizes
    contrast = Permuted().make(draw_rows(z, sample_weight, rng, n_contrast), rng, n_contrast)
    ideal = VanishingIdeal(max_degree=2, tol=0.5, normalization="contrastive", reduction="gram")
    one = np.zeros(len(z), dtype=np.intp)

    def fit(ideal: VanishingIdeal) -> list[Component]:
        return fit_clusters(
            z,
            one,
            contrast,
            ideal,
            # Products of exact equations are small of second order.
            smallest_scale=EXACT_SHARE**2,
            sample_weight=sample_weight,
        )

    try:
        components = fit(ideal)
    except NothingVanishesError:  # below the tolerance: take every direction there is
        components = fit(ideal.set_params(tol=1e6))
    number = len(components[0].center)
    description = (
        f"all rows, quadratic: {number} equation{'s' * (number != 1)} of degree 1 or 2, told "
        f"from shuffled columns ({Permuted()}, tol={ideal.tol:g})"
    )
    view = ClusterView(("all rows, quadratic",), components)
    return _Member(view, description, EQUATIONS, reduction)


def _fit_span(z: FloatArray, sample_weight: FloatArray | None, *, concentrated: bool) -> _Member:
    """Fit linear equations of few rows and many columns, in the span of the rows and outside."""
    if concentrated:
        kept = concentrate(z, sample_weight)
        z, sample_weight = z[kept], take_weights(sample_weight, kept)
    shrinkage = find_shrinkage(z, sample_weight)
    directions, variances = find_span(z, sample_weight)
    view = SpanView(
        ("principal components",),
        [],
        center=shrinkage.mean,
        directions=directions,
        variances=shrinkage.shrink(variances),
        rest=shrinkage.rest,
    )
    n_directions, n_columns = directions.shape
    description = (
        f"principal components: {n_directions} of {n_columns} columns, and the distance from their "
        f"span (shrinkage {shrinkage.rho:.2g})"
    )
    return _Member(view, description, EQUATIONS)


def _fit_exact(data: _Rows, seed: int) -> list[_Member]:
    """Fit linear equations that hold exactly in nearly all rows, if there are any."""
    z, rounded, sample_weight, _ = data
    # Columns of few values keep equations with each other by chance, until they do not.
    levels = np.linspace(MOST_ANOMALIES, 1 - MOST_ANOMALIES, LEVELS)
    steps = np.diff(quantiles(z, levels, sample_weight), axis=0)
    varying = np.all(steps > 0, axis=0)
    if varying.sum() < 2:
        return []
    applied = None
    sought = z
    if not varying.all():
        applied = Affine("varying columns", np.diag(varying.astype(float)), np.zeros(len(varying)))
        noise = np.random.default_rng(seed).standard_normal(z.shape)
        # Noise has no equations. A constant would have one.
        sought = np.where(varying, z, noise)
        z, rounded = applied(z), applied(rounded)
    kept = concentrate(z[:, varying], sample_weight, ridge=LONG_SUM)
    ideal = VanishingIdeal(max_degree=1, tol=EXACT_SHARE, reduction="tsqr")
    ideal.fit_part(ArraySource(sought[kept]), sample_weight=take_weights(sample_weight, kept))
    if not ideal.basis_.count():
        return []
    values = ideal.basis_.evaluate(z)
    rounding = np.max(np.abs(values - ideal.basis_.evaluate(rounded)), axis=0)
    typical = np.sqrt(ideal.extents_**2 + rounding**2 + LONG_SUM**2)
    nearly_all = 1 - MOST_ANOMALIES / 2
    holds = quantiles(np.abs(values) / typical, [nearly_all], sample_weight)[0] <= np.sqrt(ALLOWED)
    if not holds.any():
        return []
    component = Component(ideal, np.zeros(len(typical)), typical, 1 / typical**2)
    component = component.restrict(np.where(holds, component.weights / holds.sum(), 0.0))
    number = int(holds.sum())
    description = (
        f"exact: {number} equation{'s' * (number != 1)} of degree 1 that nearly all rows keep"
    )
    return [_Member(ExactView(("exact",), [component]), description, EQUATIONS, applied)]


# --- Mixtures of clusters -------------------------------------------------------------------------


def _fit_clusters(
    z: FloatArray,
    sample_weight: FloatArray | None,
    mixing: FloatArray,
    n_clusters: int,
    seed: int,
) -> _Member:
    """Fit all linear equations of each cluster, which is sought in the coordinates z @ mixing."""
    # Half of the digits: whole numbers are as far from one center as from another, and k-means
    # would let their rounding errors choose, which are others in other units.
    unit = np.sqrt(np.finfo(np.float64).eps)
    points = unit * np.round(z @ mixing / unit)
    labels = find_clusters(points, n_clusters, seed=seed, sample_weight=sample_weight)
    sizes = np.bincount(labels)
    large = np.flatnonzero(sizes >= min(SMALLEST_CLUSTER, sizes.max()))
    clusters = [np.flatnonzero(labels == label) for label in large]
    weights = [take_weights(sample_weight, own) for own in clusters]
    rows = [center_rows(z[own], weight) for own, weight in zip(clusters, weights, strict=True)]
    centers = np.stack([center for center, _ in rows])
    around = np.concatenate(
        [z[own] - center for own, center in zip(clusters, centers, strict=True)]
    )
    in_clusters = take_weights(sample_weight, np.concatenate(clusters))
    _, within = shrunk_covariance(around @ mixing, in_clusters)
    # In these coordinates it is the identity.
    whitening = root_of(within, -0.5) @ mixing
    sizes = np.array([total_weight(w, len(own)) for own, w in zip(clusters, weights, strict=True)])
    n_columns = z.shape[1]
    covariances = np.stack([(own @ whitening.T).T @ (own @ whitening.T) for _, own in rows])
    variances, vectors = np.linalg.eigh(covariances)
    share = (sizes / (sizes + n_columns))[:, None]
    variances = share * np.maximum(variances, 0.0) + (1 - share)
    factors = (vectors / np.sqrt(variances)[:, None, :]).transpose(0, 2, 1) @ whitening
    log_masses = np.log(sizes / total_weight(sample_weight, len(z)))
    log_masses -= np.sum(np.log(variances), axis=1) / 2
    view = LikelihoodView(
        ("clusters",),
        [],
        log_masses=log_masses,
        centers=centers,
        factors=factors.reshape(-1, n_columns),
    )
    number = f"{len(centers)} cluster{'s' * (len(centers) != 1)}"
    return _Member(view, f"clusters: linear equations of {number}", EQUATIONS)
