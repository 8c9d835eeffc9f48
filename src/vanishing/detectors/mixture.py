"""Mixtures of ideals: the components of all transformations, their score and its weights."""

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import log
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from vanishing.arrays.blocks import limit_threads
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    move_like,
    move_to_numpy,
    namespace,
    take_rows,
)
from vanishing.construction.normalizations import resolve_normalization
from vanishing.data.inputs import label_error
from vanishing.data.source import ArraySource, ConcatenatedSource, SampleSource, add_weights
from vanishing.detectors.clusters import ContrastDraw
from vanishing.detectors.residuals import LocalResiduals
from vanishing.detectors.sample_weights import mean_of, some, total
from vanishing.ideal import VanishingIdeal
from vanishing.transformations import Transformation

# --- The ideal of one transformed copy, or of one piece of it -------------------------------------

#: Used where no ideal is given; its tolerance is raised where nothing would vanish.
DEFAULT_IDEAL = VanishingIdeal(max_degree=2, tol=0.5, normalization="contrastive", reduction="gram")


@dataclass(frozen=True, eq=False)
class Component:
    """One ideal of a transformation detector.

    Parameters
    ----------
    ideal : VanishingIdeal
    center, typical, weights : arrays of shape (n_polynomials,)
        Mean and root mean square deviation on normal data; u = w².
    """

    ideal: VanishingIdeal
    center: FloatArray
    typical: FloatArray
    weights: FloatArray

    @classmethod
    def of(
        cls,
        ideal: VanishingIdeal,
        values: FloatArray,
        *,
        center: bool,
        counts: FloatArray | None = None,
    ) -> "Component":
        """Describe an ideal by the values of its polynomials on normal data; weights are 1."""
        mean = mean_of(values, counts) if center else np.zeros(values.shape[1])
        typical = np.sqrt(mean_of((values - mean) ** 2, counts))
        return cls(ideal, mean, typical, np.ones_like(mean))

    def reweighted(self, weights: FloatArray) -> "Component":
        """Return the component with other weights, without polynomials whose weight is zero."""
        kept = weights > 0
        ideal = self.ideal
        if not kept.all():
            ideal = copy(ideal)
            ideal.basis_ = ideal.basis_.restrict(kept)
        return Component(ideal, self.center[kept], self.typical[kept], weights[kept])

    def residuals(self, z: Array) -> Array:
        """Return G(z) - c."""
        return self.ideal.basis_.evaluate(z) - move_like(self.center, z)

    def deviation(self, z: Array) -> Array:
        """Return D(z)."""
        return self.residuals(z) ** 2 @ move_like(self.weights, z)


def fit_component(
    points: SampleSource, contrast: SampleSource, ideal: VanishingIdeal | None, name: str
) -> VanishingIdeal:
    """Fit an ideal that has at least one vanishing polynomial, or raise.

    Parameters
    ----------
    points, contrast : SampleSource
    ideal : VanishingIdeal or None
        What to fit; None for the default.
    name : str
        The transformation, for messages.
    """
    template = DEFAULT_IDEAL if ideal is None else ideal
    fitted: VanishingIdeal = clone(template)
    needs_contrast = resolve_normalization(template.normalization).needs_contrast
    used = contrast if needs_contrast else None
    try:
        fitted.fit_part(points, contrast=used)
        spectrum = np.concatenate([step.spectrum for step in fitted.trace_])
        if fitted.basis_.count() == 0 and ideal is None and spectrum.size:
            fitted.set_params(tol=1.001 * float(spectrum.min()))
            fitted.fit_part(points, contrast=used)
    except (ValueError, MemoryError) as error:
        raise label_error(error, f"the ideal of {name} failed") from error
    if ideal is None and spectrum.size and spectrum.min() >= 1:
        warnings.warn(
            f"no equation is smaller on {name} than on the other copies (smallest ratio "
            f"{spectrum.min():.3g}): scores will say little; choose other transformations",
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


# --- The score of the paper (eq. score), in log space ---------------------------------------------
#
# Components j = (k, c) are ideals: piece c of the data under transformation T_k; with one piece
# this
# is the paper. D_j(z) = ‖G_j(z) - c_j‖² is the squared deviation of a point from ideal j. For
# z = T_i x
#
# P_i(x) = (Σ_{j of T_i} e^{-D_j(z)} + ε) / (Σ_j e^{-D_j(z)} + M ε),   Score(x) = -Σ_i log P_i(x).


def negative_log_probability(deviations: Array, own: slice, smoothing: float) -> Array:
    """Return -log P_i for points that were transformed by T_i.

    Parameters
    ----------
    deviations : array of shape (n_points, n_components)
        D_j of each point.
    own : slice
        The components of T_i.
    smoothing : float
        ε.

    Returns
    -------
    array of shape (n_points,)
    """
    n_transformations = deviations.shape[1] // (own.stop - own.start)
    every = _LogSum.of(-deviations, n_transformations * smoothing)
    return every.minus(_LogSum.of(-deviations[:, own], smoothing))


def value_and_slopes(deviations: Array, own: slice, smoothing: float) -> tuple[Array, Array]:
    """Return -log P_i and its derivative with respect to each D_j; parameters as above.

    The derivative is what the own components gain less what all of them hold.
    """
    n_transformations = deviations.shape[1] // (own.stop - own.start)
    every = _LogSum.of(-deviations, n_transformations * smoothing)
    ours = _LogSum.of(-deviations[:, own], smoothing)
    slopes = -every.shares
    slopes[:, own] += ours.shares
    return every.minus(ours), slopes


@dataclass(frozen=True, eq=False)
class _LogSum:
    """log(Σ_j e^{a_j} + ε) of each row, as log(sum) + largest.

    Parameters
    ----------
    terms : array of shape (n_points, n_components)
        e^{a_j - largest}.
    sums, largest : arrays of shape (n_points, 1)
    """

    terms: Array
    sums: Array
    largest: Array

    @classmethod
    def of(cls, exponents: Array, smoothing: float) -> "_LogSum":
        xp = namespace(exponents)
        largest = xp.max(exponents, axis=1, keepdims=True)
        if smoothing > 0:
            largest = xp.maximum(largest, xp.full_like(largest, log(smoothing)))
        # Rows that are infinitely far from every component have nothing to be measured from.
        largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
        terms = xp.exp(exponents - largest)
        sums = xp.sum(terms, axis=1, keepdims=True)
        if smoothing > 0:
            sums = sums + xp.exp(log(smoothing) - largest)
        return cls(terms, sums, largest)

    def minus(self, other: "_LogSum") -> Array:
        """Return the difference of two logarithms, one a row.

        The largest exponents are the same for normal samples. Taken from each other first they
        leave no rounding errors of their own size behind.
        """
        xp = namespace(self.sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = xp.log(self.sums) - xp.log(other.sums)
            return (logs + (self.largest - other.largest))[:, 0]

    @property
    def shares(self) -> Array:
        """Share of each term in its sum."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.terms / self.sums


# --- Weights on polynomials that minimize the mean training score (paper, end of its method -------
# section)
#
# The score depends on the weights w only through u = w² >= 0: D_j = Σ_g u_g (g - c_g)². For ε = 0
# and
# one component per transformation it is convex in u, a linear function plus a logarithm of a sum of
# exponentials of linear functions, and a bounded quasi-Newton method finds the optimum. With more
# components it is a difference of such terms, and what is found is a local optimum.

#: Where the transformations can be told apart perfectly there is no finite minimum.
LARGEST_WEIGHT = 100.0
#: The paper's plain gradient descent.
RATE, EPOCHS = 1e-5, 300


@dataclass(frozen=True, eq=False)
class WeightProblem:
    """Mean training score as a function of u.

    Parameters
    ----------
    squares : sequence of arrays of shape (n_points, n_polynomials), of any library
        Per transformation T_i, (g(T_i x) - c_g)² for the polynomials g of all components.
    components : sequence of slices
        The polynomials of each component.
    n_pieces : int
        Components per transformation; those of T_i come together, in the order of i.
    smoothing : float
    counts : array of shape (n_points,), optional
        How often each point counts.
    """

    squares: Sequence[Array]
    components: Sequence[slice]
    n_pieces: int
    smoothing: float
    counts: FloatArray | None = None

    @property
    def n_points(self) -> float:
        """Number of points, those that count twice counted twice."""
        return total(self.counts, int(self.squares[0].shape[0]))

    def loss_and_gradient(self, u: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean score and its derivative with respect to u."""
        xp = namespace(self.squares[0])
        counts = None if self.counts is None else move_like(self.counts, self.squares[0])
        weights = move_like(u, self.squares[0])
        loss, gradient = 0.0, np.zeros_like(u)
        for i, squares in enumerate(self.squares):
            deviations = xp.stack([squares[:, s] @ weights[s] for s in self.components], axis=1)
            own = slice(i * self.n_pieces, (i + 1) * self.n_pieces)
            values, slopes = value_and_slopes(deviations, own, self.smoothing)
            if counts is not None:
                values, slopes = counts * values, counts[:, None] * slopes
            loss += float(xp.sum(values))
            parts = [squares[:, s].T @ slopes[:, j] for j, s in enumerate(self.components)]
            gradient += move_to_numpy(xp.concat(parts))
        return loss / self.n_points, gradient / self.n_points


def convex_weights(problem: WeightProblem, *, penalty: float = 0.0) -> FloatArray:
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


def descent_weights(problem: WeightProblem) -> FloatArray:
    """Follow the paper: gradient descent on w with u = w², from w = 1, on the summed score."""
    w = np.ones(problem.components[-1].stop)
    for _ in range(EPOCHS):
        _, gradient = problem.loss_and_gradient(w**2)
        w -= RATE * problem.n_points * 2 * w * gradient
    return np.asarray(w**2)


# --- The ideals of all transformed copies of the data, piece by piece (mixture of ideals) ---------
#
# The data is split into pieces once. Every piece under every transformation is a component with an
# ideal of its own, contrasted with all other components. One piece is the paper.

#: Rows of all other pieces that a piece is contrasted with, at most.
CONTRAST_ROWS = 60_000
#: Numbers that the problem of the weights may hold; rows are drawn to fit.
WEIGHT_NUMBERS = 2**27
#: Floor of the usual size of a polynomial in distances, in units of its size on the contrast.
SMALLEST_SIZE = 0.3


@dataclass(frozen=True, eq=False)
class Mixture:
    """Components of all transformations.

    Parameters
    ----------
    components : list of Component
        Those of the first transformation, of the second, and so on.
    n_pieces : int
        Components per transformation.
    smoothing : float
        ε of the score.
    """

    components: list[Component]
    n_pieces: int
    smoothing: float

    def own(self, i: int) -> slice:
        """Return which components belong to transformation i."""
        return slice(i * self.n_pieces, (i + 1) * self.n_pieces)

    def deviations(self, z: Array) -> Array:
        """Return D_j(z) for every component, shape (n_points, n_components)."""
        return namespace(z).stack([c.deviation(z) for c in self.components], axis=1)

    def loss(self, i: int, z: Array) -> Array:
        """Return -log P_i of points z = T_i x."""
        return negative_log_probability(self.deviations(z), self.own(i), self.smoothing)

    def local_residuals(self) -> LocalResiduals:
        """Return the pieces under the first transformation, each equation with its usual size.

        The loss says only which transformation fits best, and a sample may be far from all of
        them; these say how far.
        """
        own = self.components[self.own(0)]
        sizes = [np.sqrt(component.typical**2 + SMALLEST_SIZE**2) for component in own]
        return LocalResiduals([c.ideal for c in own], [c.center for c in own], sizes)


def fit_mixture(
    copies: Sequence[Array],
    pieces: IntArray,
    ideal: VanishingIdeal | None,
    names: Sequence[str],
    *,
    center: bool,
    smoothing: float,
    seed: int,
    n_jobs: int | None,
    counts: FloatArray | None = None,
) -> Mixture:
    """Fit an ideal to every piece of every copy.

    Parameters
    ----------
    copies : sequence of arrays of shape (n_samples, n_coordinates)
        The data under each transformation.
    pieces : int array of shape (n_samples,)
        0, 1, ... without holes.
    ideal : VanishingIdeal or None
        What to fit; None for the default.
    names : sequence of str
        Of the transformations, for messages.
    center : bool
        Whether deviations are measured from the mean.
    smoothing : float
    seed : int
        Of the rows that are drawn for contrasts.
    n_jobs : int or None
        Ideals fitted at a time.
    counts : array of shape (n_samples,), optional
        How often each sample counts.
    """
    n_pieces = int(pieces.max()) + 1
    rows_of_piece = [np.flatnonzero(pieces == c) for c in range(n_pieces)]
    places = [(i, rows) for i in range(len(copies)) for rows in rows_of_piece]
    if n_pieces > 1:
        stacked = namespace(copies[0]).concat(list(copies))
        draw = ContrastDraw(pieces, len(copies), seed)

    def points_of(own: int) -> Array:
        i, rows = places[own]
        return copies[i] if n_pieces == 1 else take_rows(copies[i], rows)

    def contrast_of(own: int) -> SampleSource:
        if n_pieces == 1:
            return ConcatenatedSource(
                [add_weights(ArraySource(c), counts) for k, c in enumerate(copies) if k != own]
            )
        others = draw.others(own, CONTRAST_ROWS)
        of_others = some(counts, others % len(pieces))
        return add_weights(ArraySource(take_rows(stacked, others)), of_others)

    def fit_one(own: int) -> Component:
        points = points_of(own)
        i = places[own][0]
        name = f"transformation {i} ({names[i]!r})"
        own_counts = some(counts, places[own][1])
        source = add_weights(ArraySource(points), own_counts)
        fitted = fit_component(source, contrast_of(own), ideal, name)
        values = move_to_numpy(fitted.basis_.evaluate(points))
        return Component.of(fitted, values, center=center, counts=own_counts)

    # Threads: the work is in BLAS and LAPACK, and the copies are shared. Many small problems run
    # fastest with one BLAS thread each.
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    with limit_threads(1 if n_pieces > 1 or parallel.n_jobs not in (None, 1) else None):
        components = parallel(delayed(fit_one)(own) for own in range(len(places)))
    return Mixture(components, n_pieces, smoothing)


def weighted(
    mixture: Mixture,
    copies: Sequence[Array],
    how: Literal["convex", "descent"],
    *,
    sparsity: float,
    seed: int,
    counts: FloatArray | None = None,
) -> Mixture:
    """Return the mixture with weights on its polynomials; those of weight zero are left out.

    Parameters
    ----------
    mixture : Mixture
    copies : sequence of arrays of shape (n_samples, n_coordinates)
    how : {"convex", "descent"}
    sparsity : float
        Penalty on the sum of the weights, divided by the number of samples.
    seed : int
        Of the rows that are drawn where all would not fit into memory.
    counts : array of shape (n_samples,), optional
        How often each sample counts.
    """
    components = mixture.components
    stops = np.cumsum([0, *(len(component.center) for component in components)])
    slices = [slice(int(a), int(b)) for a, b in pairwise(stops)]
    n_rows = copies[0].shape[0]
    rows = np.arange(n_rows)
    fits = max(1, int(WEIGHT_NUMBERS // (stops[-1] * len(copies))))
    if fits < n_rows:
        rows = np.sort(np.random.default_rng(seed).choice(n_rows, size=fits, replace=False))
    squares = [
        namespace(z).concat([c.residuals(take_rows(z, rows)) ** 2 for c in components], axis=1)
        for z in copies
    ]
    problem = WeightProblem(
        squares, slices, mixture.n_pieces, mixture.smoothing, some(counts, rows)
    )
    if how == "descent":
        u = descent_weights(problem)
        if not np.isfinite(u).all():
            raise ValueError(
                "gradient descent on the weights diverged: its rate is fixed, and the values of "
                "the polynomials are too large for it; use weighting='convex'"
            )
    else:
        u = convex_weights(problem, penalty=sparsity / problem.n_points)
        if not u.any():
            raise ValueError(
                f"with sparsity={sparsity} and {len(rows)} samples all weights are zero; lower "
                "sparsity"
            )
    reweighted = [c.reweighted(u[s]) for c, s in zip(components, slices, strict=True)]
    return Mixture(reweighted, mixture.n_pieces, mixture.smoothing)


def identical_pairs(copies: Sequence[Array]) -> frozenset[tuple[int, int]]:
    """Return which two copies of the data are the same."""
    return frozenset(
        (i, k)
        for (i, first), (k, second) in combinations(enumerate(copies), 2)
        if bool(namespace(first).all(first == second))
    )


def refuse_identical(
    pairs: frozenset[tuple[int, int]], transformations: Sequence[Transformation]
) -> None:
    """Raise if two transformations give the same copy of the data."""
    for i, k in sorted(pairs):
        raise ValueError(
            f"transformations {i} ({transformations[i].name!r}) and {k} "
            f"({transformations[k].name!r}) give identical copies of X, which cannot be told "
            "apart; leave one of them out"
        )
