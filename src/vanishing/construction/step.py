"""One degree: candidates, their values on X, the normalization, the split into G and F."""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray
from vanishing.arrays.threads import all_threads
from vanishing.construction.candidates import Candidates, Products, choose_candidates
from vanishing.construction.gsvd import (
    SAFETY,
    PairSolution,
    Side,
    solve_in_coordinates,
    solve_pair,
    with_fixed_signs,
)
from vanishing.construction.moments import Pass
from vanishing.construction.normalizations import Normalization
from vanishing.construction.reductions import Reduction
from vanishing.construction.stage import Form, Stage
from vanishing.data.source import SampleSource
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.block import DegreeBlock

# --- Where vanishing ends: a fixed tolerance, or the widest gap of the spectrum -------------------

Tolerance = float | Literal["gap"]

#: Neighbouring extents that differ by less than this factor are not split.
NARROWEST_GAP = 5.0


def widest_gap(extents: FloatArray, noise: FloatArray, reference: float | None) -> float:
    """Choose a tolerance in the widest gap of a spectrum.

    Parameters
    ----------
    extents : array of shape (n_extents,)
        Ascending.
    noise : array of shape (n_extents,)
        Extents below this are rounding errors: they vanish in any case, and a gap above them says
        nothing about the noise of the data.
    reference : float or None
        An extent known not to vanish, from the degree below: it lets a degree vanish as a whole.

    Returns
    -------
    float
        The geometric middle of the gap; 0 if no gap is wide enough.
    """
    known = extents[extents > noise]
    if reference is not None and known.size and reference > known[-1]:
        known = np.append(known, reference)
    if known.size < 2:
        return 0.0
    gaps = known[1:] / known[:-1]
    widest = int(np.argmax(gaps))
    if gaps[widest] < NARROWEST_GAP:
        return 0.0
    return float(np.sqrt(known[widest] * known[widest + 1]))


# --- What happened at each degree -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DegreeTrace:
    """Account of one degree.

    Parameters
    ----------
    degree : int
    candidates : int
        Products that entered.
    rank : int
        Directions that are not zero both on X and under the normalization.
    vanishing, nonvanishing : int
        Polynomials found.
    dropped : int
        Directions that are zero both on X and under the normalization.
    unbounded : int
        Nonvanishing polynomials that are zero under the normalization (infinite extent).
    cut : int
        Nonvanishing polynomials given up because of ``max_nonvanishing``.
    left_out : int
        Nonvanishing polynomials of the degree below that were not multiplied further because
        their products would exceed the memory budget.
    tol : float
        The tolerance that was applied, as a root mean square.
    condition : float
        Condition number of the generalized problem after scaling; normalizations hold to about
        ``100 * eps * condition``.
    spectrum : array of shape (n_finite,)
        All finite extents, ascending, those of undecided polynomials included.
    seconds : float
        Wall-clock time.
    undecided : int
        Polynomials that are neither: their values on X are no larger than the rounding errors
        that the lower degrees have left, and these are much larger than those of the data.
    """

    degree: int
    candidates: int
    rank: int
    vanishing: int
    nonvanishing: int
    dropped: int
    unbounded: int
    cut: int
    left_out: int
    tol: float
    condition: float
    spectrum: FloatArray
    seconds: float
    undecided: int = 0


# --- One degree: candidates, their values on X, the normalization, the split into G and F ---------

#: With so many candidates their matrices are large enough for several threads of LAPACK.
LARGE = 256


@dataclass(frozen=True)
class Settings:
    """How to grow a basis; the same at every degree.

    Parameters
    ----------
    normalization : Normalization
    tol : float or "gap"
    paper_norm : bool
        Whether ``tol`` bounds ‖g(X)‖, as in the paper, instead of the root mean square; F then
        has Euclidean norm 1 on X.
    products : {"independent", "all"}
    max_nonvanishing : int or None
        Largest number of nonvanishing polynomials kept at a degree.
    reduction : Reduction
    memory_budget : int
        Bytes for row blocks and, apart from them, for the matrices of a degree.
    """

    normalization: Normalization
    tol: Tolerance
    paper_norm: bool
    products: Products
    max_nonvanishing: int | None
    reduction: Reduction
    memory_budget: int

    def threshold(
        self, extents: FloatArray, noise: FloatArray, reference: float | None, n_rows: float
    ) -> float:
        """Return the tolerance for one degree, as a root mean square."""
        if self.tol == "gap":
            return widest_gap(extents, noise, reference)
        return float(self.tol / np.sqrt(n_rows)) if self.paper_norm else float(self.tol)


@dataclass(frozen=True, eq=False)
class State:
    """What the degrees so far hand to the next.

    Parameters
    ----------
    basis : PolynomialBasis
    rounding : tuple of arrays
        Per degree from 0, the rounding errors in the values of F on X, in units of eps times
        their root mean square.
    references : tuple of float or None
        Per degree from 0, the smallest nonvanishing extent of the last degree that had one, for
        ``tol="gap"``.
    noise, doubt : tuples of arrays
        Per degree from 1, up to what the extents of its spectrum are rounding errors, and up to
        what they may be.
    n_rows : float
        Number of points, or the sum of their weights; 0 as long as it is not known.
    contrast_terms : tuple of arrays
        Per degree from 0, the size on the contrast of the terms of F, where there is one.
    """

    basis: PolynomialBasis
    rounding: tuple[FloatArray, ...] = (np.ones(1),)
    references: tuple[float | None, ...] = (None,)
    noise: tuple[FloatArray, ...] = ()
    doubt: tuple[FloatArray, ...] = ()
    n_rows: float = 0.0
    contrast_terms: tuple[FloatArray, ...] = (np.ones(1),)


def grow(
    state: State, source: SampleSource, contrast: SampleSource | None, settings: Settings
) -> tuple[State, DegreeTrace]:
    """Find the polynomials of the next degree. Pure: nothing is changed.

    Parameters
    ----------
    state : State
        The lower degrees.
    source, contrast : SampleSource
        X and Y.
    settings : Settings
    """
    with all_threads() if _most_candidates(state.basis) >= LARGE else nullcontext():
        return _grow(state, source, contrast, settings)


def _grow(
    state: State, source: SampleSource, contrast: SampleSource | None, settings: Settings
) -> tuple[State, DegreeTrace]:
    basis = state.basis
    started = time.perf_counter()
    candidates = choose_candidates(
        basis.n_features,
        basis.blocks,
        products=settings.products,
        uses_all_products=settings.normalization.uses_all_products,
        memory_budget=settings.memory_budget,
    )
    stage = Stage(
        n_features=basis.n_features,
        blocks=basis.blocks,
        left=candidates.left,
        right=candidates.right,
        amplification=_amplification(state, candidates),
        source=source,
        contrast=contrast,
        passes=Pass(settings.reduction, settings.memory_budget),
        paper_norm=settings.paper_norm,
        all_products=settings.products == "all",
        contrast_terms=state.contrast_terms,
    )
    projection, residual = stage.split
    root_n = np.sqrt(stage.on_points.n_rows)
    size = 1.0 / root_n if settings.paper_norm else 1.0  # root mean square of F on X
    rms = stage.on_points.column_rms[stage.n_lower :]
    # An error in one factor of a product is multiplied by the other one, even where the product
    # itself is small because its factors are large in different places.
    terms = rms if stage.degree == 1 else np.maximum(rms, size**2)
    # c = c_pre - F L: the errors of all its terms add up.
    below = np.concatenate(state.rounding) @ np.abs(projection)
    error, unit = stage.amplification * terms + size * below, stage.on_points.relative_error
    points = Side(residual, rms, unit * error, terms, unit)
    form = settings.normalization.form(stage)
    _check_finite(source, contrast, points, form)
    solution = _solve(points, form)

    ascending = np.argsort(solution.extents, kind="stable")
    spectrum, noise, doubt = (
        each[ascending] for each in (solution.extents, solution.noise, solution.doubt)
    )
    tol = settings.threshold(spectrum, noise, state.references[-1], stage.on_points.n_rows)
    vanishes, is_decided = decide(solution.extents, solution.noise, solution.doubt, tol)
    nonvanishing, cut = _nonvanishing(solution, is_decided & ~vanishes, settings.max_nonvanishing)
    nonvanishing *= size
    block = DegreeBlock(
        left=candidates.left,
        right=candidates.right,
        projection=projection,
        nonvanishing=nonvanishing,
        vanishing=solution.vectors[:, vanishes],
        extents=solution.extents[vanishes],
    )
    trace = DegreeTrace(
        degree=stage.degree,
        candidates=stage.n_candidates,
        rank=stage.n_candidates - solution.dropped - solution.lost,
        vanishing=int(vanishes.sum()),
        nonvanishing=nonvanishing.shape[1],
        dropped=solution.dropped,
        unbounded=solution.unbounded.shape[1],
        cut=cut,
        left_out=candidates.left_out,
        tol=float(tol),
        condition=solution.condition,
        spectrum=spectrum,
        seconds=time.perf_counter() - started,
        undecided=int(np.sum(~is_decided)) + solution.lost,
    )
    kept = solution.extents[is_decided & ~vanishes]
    rounding = error @ np.abs(nonvanishing) / size
    grown = State(
        PolynomialBasis(basis.n_features, (*basis.blocks, block)),
        (*state.rounding, rounding),
        (*state.references, float(kept.min()) if kept.size else state.references[-1]),
        (*state.noise, noise),
        (*state.doubt, doubt),
        float(stage.on_points.n_rows),
        state.contrast_terms
        if form.terms is None
        else (*state.contrast_terms, form.terms @ np.abs(nonvanishing)),
    )
    return grown, trace


def decide(
    extents: FloatArray, noise: FloatArray, doubt: FloatArray, tol: float
) -> tuple[BoolArray, BoolArray]:
    """Tell which polynomials vanish, and of which that can be said at all.

    Parameters
    ----------
    extents : array of shape (n_polynomials,)
    noise, doubt : arrays of shape (n_polynomials,)
        Up to ``noise`` an extent is a rounding error, up to ``doubt`` it may be one.
    tol : float

    Returns
    -------
    vanishes, is_decided : bool arrays of shape (n_polynomials,)
        What is not decided counts neither as vanishing nor as nonvanishing: as an equation it may
        be wrong, and as a nonvanishing polynomial it may be rounding errors, which would spoil
        all higher degrees.
    """
    bound = np.maximum(tol, noise)
    # Without its safety factor the bound on the errors is about as large as they are. Where that
    # is above what counts as zero, a small extent is chance: with as many polynomials as points
    # it comes out as zero whatever the errors are.
    is_clear = doubt <= SAFETY * bound
    vanishes = (extents <= bound) & is_clear
    return vanishes, vanishes | (extents > np.maximum(tol, doubt))


def _most_candidates(basis: PolynomialBasis) -> int:
    """Bound the number of candidates of the next degree: all products."""
    if not basis.blocks:
        return basis.n_features
    return int(basis.blocks[0].nonvanishing.shape[1] * basis.blocks[-1].nonvanishing.shape[1])


def _check_finite(
    source: SampleSource, contrast: SampleSource | None, points: Side, form: Form
) -> None:
    if not (np.isfinite(points.scale).all() and np.isfinite(form.scale).all()):
        names = source.name if contrast is None else f"{source.name} or {contrast.name}"
        raise ValueError(
            f"{names} holds numbers too large to be squared; rescale the data before fitting"
        )


def _amplification(state: State, candidates: Candidates) -> FloatArray:
    """Rounding errors of a product, in units of eps: those of its worse factor."""
    if len(state.rounding) == 1:
        return np.ones(len(candidates.left))
    first, last = state.rounding[1], state.rounding[-1]
    return np.maximum(first[candidates.left], last[candidates.right])


def _solve(points: Side, form: Form) -> PairSolution:
    """Solve the pair, in the coordinates or inside the subspace of the form where it has some."""
    if form.coordinates is not None:
        return solve_in_coordinates(points, form.coordinates)
    norms = Side(form.factor, form.scale, form.error, form.scale, points.unit)
    if form.subspace is None:
        return solve_pair(points, norms)
    u = form.subspace
    inside = solve_pair(points.restricted(u), norms.restricted(u))
    return PairSolution(
        vectors=with_fixed_signs(u @ inside.vectors),
        extents=inside.extents,
        noise=inside.noise,
        doubt=inside.doubt,
        unbounded=with_fixed_signs(u @ inside.unbounded),
        dropped=inside.dropped + u.shape[0] - u.shape[1],
        lost=inside.lost,
        condition=inside.condition,
    )


def _nonvanishing(
    solution: PairSolution, which: BoolArray, limit: int | None
) -> tuple[FloatArray, int]:
    """Return V_F with root mean square 1 on X, largest extents first, and how many were cut."""
    vectors = solution.vectors if solution.reduced is None else solution.reduced
    finite = vectors[:, which] / solution.extents[which]
    ordered = np.hstack([solution.unbounded, finite[:, ::-1]])
    kept = ordered if limit is None else ordered[:, :limit]
    return np.ascontiguousarray(kept), ordered.shape[1] - kept.shape[1]
