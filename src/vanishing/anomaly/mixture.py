"""The ideals of all transformed copies of the data, piece by piece (mixture of ideals).

The data is split into pieces once. Every piece under every transformation is a component with an
ideal of its own, contrasted with all other components. One piece is the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from vanishing._xp import Array, FloatArray, IntArray, limited, move_to_numpy, namespace, take_rows
from vanishing.anomaly.components import Component, fit_component
from vanishing.anomaly.counts import some
from vanishing.anomaly.pieces import ContrastDraw
from vanishing.anomaly.residuals import LocalResiduals
from vanishing.anomaly.scores import negative_log_probability
from vanishing.anomaly.weights import WeightProblem, convex_weights, descent_weights
from vanishing.estimators import VanishingIdeal
from vanishing.samples import ArraySource, ConcatenatedSource, SampleSource
from vanishing.samples.weighted import with_weights
from vanishing.transformations import Transformation

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
                [with_weights(ArraySource(c), counts) for k, c in enumerate(copies) if k != own]
            )
        others = draw.others(own, CONTRAST_ROWS)
        of_others = some(counts, others % len(pieces))
        return with_weights(ArraySource(take_rows(stacked, others)), of_others)

    def fit_one(own: int) -> Component:
        points = points_of(own)
        i = places[own][0]
        name = f"transformation {i} ({names[i]!r})"
        own_counts = some(counts, places[own][1])
        source = with_weights(ArraySource(points), own_counts)
        fitted = fit_component(source, contrast_of(own), ideal, name)
        values = move_to_numpy(fitted.basis_.evaluate(points))
        return Component.of(fitted, values, center=center, counts=own_counts)

    # Threads: the work is in BLAS and LAPACK, and the copies are shared. Many small problems run
    # fastest with one BLAS thread each.
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    with limited(1 if n_pieces > 1 or parallel.n_jobs not in (None, 1) else None):
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
