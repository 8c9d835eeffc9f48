"""VCA(X, Y): the loop over degrees, and one degree of it."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from math import isqrt
from typing import Annotated, Literal

import numpy as np
from scipy.linalg import qr

from vanishing.arrays.blocks import all_threads, block_rows, one_thread
from vanishing.arrays.kernels import MANY_COLUMNS, norms
from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    move_like,
    move_to_numpy,
)
from vanishing.construction.candidates import (
    Candidates,
    Form,
    Products,
    RecalledSource,
    Stage,
    check_sizes,
    choose_candidates,
    find_distinct_products,
)
from vanishing.construction.gsvd import (
    RankMargin,
    Side,
    Solution,
    bound_trusted_error,
    fix_signs,
    solve,
)
from vanishing.construction.moments import Moments, factor_affine
from vanishing.construction.noise import (
    ROWS_PER_UNKNOWN,
    UNBOUNDED,
    Noise,
    search_moments,
    search_spectra,
    spread_of,
)
from vanishing.construction.normalizations import ORDINARY, Gradient, Normalization, Vca
from vanishing.construction.passes import Gram, Pass, Reduction
from vanishing.data.source import MappedSource, SampleSource
from vanishing.levels import BLOCK, OUTLYING, SAFETY
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import Complement, DegreeBlock, Evaluator
from vanishing.polynomials.monomials import AffineMap, count
from vanishing.polynomials.order_ideal import OrderIdeal

# --- The loop over degrees ------------------------------------------------------------------------

StopReason = Literal["exhausted", "max_degree", "undecided", "interpolated"]


@dataclass(frozen=True, eq=False)
class Construction:
    """A finished basis with its history."""

    basis: PolynomialBasis
    trace: tuple["DegreeTrace", ...]
    stop_reason: StopReason
    n_rows: float
    order_ideal: OrderIdeal | None = None


def construct(
    source: SampleSource,
    contrast: SampleSource | None,
    settings: "VcaSettings",
    corrected: SampleSource | None = None,
) -> Construction:
    """Run VCA(X, Y); ``corrected`` is X without the noise that is the tolerance."""
    span = None if corrected is not None else find_span(source, contrast, settings)
    most_products = np.inf
    if span is not None:
        source = span.map_rows(source)
        contrast = None if contrast is None else span.map_rows(contrast)
        if settings.tol != 0:
            # Polynomials with as many terms as there are rows fit any data. That is exact algebra
            # for tol=0, and nothing worth the time otherwise.
            most_products = span.n_rows - 1
    state = State(PolynomialBasis(source.n_features, ()))

    def take_step() -> DegreeTrace | StopReason:
        nonlocal state
        n_products = _most_candidates(state.basis)
        if state.basis.blocks and n_products > most_products:
            return "interpolated"
        with allow_threads(n_products):
            state, step = grow(state, source, contrast, settings, corrected)
        return step if span is None else span.lift_trace(step)

    trace, reason = run_degrees(take_step, settings)
    basis = state.basis if span is None else span.lift(state.basis)
    return Construction(basis, trace, reason, state.n_rows)


def run_degrees(
    take_step: "Callable[[], DegreeTrace | StopReason]", settings: "Settings"
) -> "tuple[tuple[DegreeTrace, ...], StopReason]":
    """Take one degree after the other, as long as each leaves something nonvanishing."""
    trace: list[DegreeTrace] = []
    with one_thread():  # of BLAS; passes have threads of their own
        while settings.max_degree is None or len(trace) < settings.max_degree:
            step = take_step()
            if isinstance(step, str):
                return tuple(trace), step
            trace.append(step)
            if settings.callback is not None:
                settings.callback(step)
            if step.nonvanishing == 0:
                return tuple(trace), "undecided" if step.undecided else "exhausted"
    return tuple(trace), "max_degree"


def allow_threads(n_candidates: int) -> AbstractContextManager[None]:
    """Give LAPACK its threads back if matrices are large enough for several."""
    return all_threads() if n_candidates >= 2 * MANY_COLUMNS else nullcontext()


def _most_candidates(basis: PolynomialBasis) -> int:
    """Bound the number of candidates of the next degree by that of all products."""
    if not basis.blocks:
        return basis.n_features
    n_first, n_last = (int(basis.blocks[i].nonvanishing.shape[1]) for i in (0, -1))
    return n_first * (n_first + 1) // 2 if len(basis.blocks) == 1 else n_first * n_last


# --- Wide data: fewer rows than columns -----------------------------------------------------------
#
# N rows of n > N columns lie in an affine subspace of r < N dimensions. Polynomials are constructed
# in orthonormal coordinates of that subspace, which takes O(N² n) time and O(N n) memory instead of
# matrices of n × n, and are then written in the n variables again. The n - r equations of the
# subspace hold exactly. They are kept as one ``Complement``.


@dataclass(frozen=True, eq=False)
class Span:
    """The affine span of the rows of X, and of those of the contrast if there is one."""

    directions: FloatArray  # orthonormal columns
    mean: FloatArray
    n_rows: int  # of X
    scale: float  # length of directions of size 1 outside of the span; 0 if they have size 0

    @property
    def n_outside(self) -> int:
        """Number of dimensions outside of the span."""
        n_features, rank = self.directions.shape
        return int(n_features - rank)

    def map_rows(self, source: SampleSource) -> SampleSource:
        """Return the coordinates of rows in the span."""
        directions = self.directions

        def take_coordinates(x: Array) -> Array:
            return x @ move_like(directions, x)

        return MappedSource(source, take_coordinates, directions.shape[1]).named(source.name)

    def lift(self, basis: PolynomialBasis) -> PolynomialBasis:
        """Return polynomials in the variables, with the equations of the span."""
        inner = AffineMap(self.directions.T, np.zeros(self.directions.shape[1]), self.mean)
        basis = basis.compose(inner)
        if self.scale == 0:
            return basis
        first = basis.blocks[0]
        vanishing = Complement.of_span(self.directions, self.scale, np.asarray(first.vanishing))
        extents = np.concatenate([np.zeros(self.n_outside), first.extents])
        first = replace(first, vanishing=vanishing, extents=extents)
        return PolynomialBasis(len(self.mean), (first, *basis.blocks[1:]))

    def lift_trace(self, step: "DegreeTrace") -> "DegreeTrace":
        """Return the record of a degree, with what is outside of the span at degree 1."""
        if step.degree > 1:
            return step
        step = replace(step, candidates=step.candidates + self.n_outside)
        if self.scale == 0:
            return replace(step, dropped=step.dropped + self.n_outside)
        return replace(
            step,
            rank=step.rank + self.n_outside,
            vanishing=step.vanishing + self.n_outside,
            spectrum=np.concatenate([np.zeros(self.n_outside), step.spectrum]),
        )


def find_span(
    source: SampleSource, contrast: SampleSource | None, settings: "VcaSettings"
) -> Span | None:
    """Find the span of the rows; None if they are many, or it is of no use."""
    normalization, n_features = settings.normalization, source.n_features
    # With fewer columns, square matrices are small, and equations are worth reading one by one.
    if not normalization.rotation_invariant or n_features < 2 * MANY_COLUMNS:
        return None
    if any(isinstance(each, RecalledSource) for each in (source, contrast)):
        return None
    n_rows = source.n_weighted
    if n_rows + (0 if contrast is None else contrast.n_weighted) > n_features:
        return None
    on_points = factor_affine(source, settings.memory_budget)
    rms = on_points.column_rms[1:]
    check_sizes(rms, source.name)
    mean, residual = on_points.split(1)
    errors = [SAFETY * on_points.relative_error * rms]
    factors = [residual]
    if contrast is not None:
        on_contrast = factor_affine(contrast, settings.memory_budget)
        factors.append(on_contrast.R[:, 1:] - on_contrast.R[:, :1] @ mean)
        sizes = on_contrast.column_rms[1:] + np.abs(mean[0])
        errors.append(SAFETY * on_contrast.relative_error * sizes)
    if not all(map(_have_like_units, factors, errors)):
        return None
    weights = [float(np.linalg.norm(factor)) or 1.0 for factor in factors]
    stacked = np.vstack([f / weight for f, weight in zip(factors, weights, strict=True)])
    if not len(stacked):  # a single row
        stacked = np.eye(1, n_features)
    axes, triangle = qr(stacked.T, mode="economic", check_finite=False)
    directions = fix_signs(axes @ np.linalg.svd(triangle)[0])
    sizes = np.abs(directions)
    known = np.any(
        [norms(f @ directions) > e @ sizes for f, e in zip(factors, errors, strict=True)], axis=0
    )
    known[0] = True  # all rows may be equal
    spread = float(np.linalg.norm(residual @ directions, 2)) if residual.size else 0.0
    is_relative = isinstance(normalization, Vca) and not settings.paper_norm and spread > 0
    unit = spread if is_relative else 1.0
    return Span(
        directions=np.ascontiguousarray(directions[:, known]),
        mean=mean[0],
        n_rows=n_rows,
        scale=0.0 if normalization.needs_contrast else 1.0 / unit,
    )


def _have_like_units(factor: FloatArray, error: FloatArray) -> bool:
    """Say whether the spreads of columns differ by so little that they may be mixed."""
    spread = norms(factor)
    known = np.log2(spread[spread > error])
    return not known.size or float(np.ptp(known)) <= ORDINARY


# --- What goes into a degree, and what comes out --------------------------------------------------

Tolerance = float | Literal["gap"] | Noise


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to grow a basis by any construction; the same at every degree."""

    paper_norm: bool  # whether the tolerance bounds ‖g(X)‖
    reduction: Reduction
    memory_budget: int
    max_degree: int | None
    callback: "Callable[[DegreeTrace], object] | None"


@dataclass(frozen=True, kw_only=True)
class VcaSettings(Settings):
    """How to grow a basis by VCA."""

    normalization: Normalization
    tol: Tolerance
    products: Products
    max_nonvanishing: int | None

    def size_on_points(self, n_rows: float) -> float:
        """Return the root mean square of F on X: 1, unless sizes of products count in the paper."""
        is_seen = self.paper_norm and self.normalization.uses_all_products
        return float(1.0 / np.sqrt(n_rows)) if is_seen else 1.0


@dataclass(frozen=True, eq=False)
class State:
    """What the degrees so far hand to the next."""

    basis: PolynomialBasis
    rounding: tuple[FloatArray, ...] = (np.ones(1),)  # per degree from 0, of F, in units of eps
    contrast_terms: tuple[FloatArray, ...] = (np.ones(1),)  # per degree from 0, of F
    reference: float | None = None  # the smallest nonvanishing extent so far
    n_rows: float = 0.0  # or the sum of weights; 0 until it is known
    relative_error: float = 0.0  # the largest of a pass over X so far
    near: Array | None = None  # something on the accelerator of the rows


@dataclass(frozen=True, eq=False)
class DegreeTrace:
    """Record of one degree.

    Parameters
    ----------
    degree : int
    candidates : int
        Number of products.
    rank : int
        Directions that are not zero both on X and under the normalization.
    vanishing, nonvanishing : int
        Polynomials found.
    dropped : int
        Directions that are zero both on X and under the normalization.
    unbounded : int
        Nonvanishing polynomials that are zero under the normalization (infinite extent).
    cut : int
        Nonvanishing polynomials left out because of ``max_nonvanishing``.
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
        Polynomials that are neither vanishing nor nonvanishing: their values on X are no larger
        than the rounding errors of the lower degrees, and these are much larger than those of the
        data.
    closest : float
        With ``tol="auto"``, the distance of X from the closest polynomial of the degree, by rows
        that it was not fitted to; NaN otherwise.
    margin : float
        The smallest factor by which an extent would have to change for its polynomial to be
        decided otherwise. Near 1 a decision is fragile: other rows of the same kind may turn it.
    fragile : int
        Polynomials whose extent is so close to the tolerance that rounding errors may turn the
        decision.
    amplification : float
        The largest rounding error of a nonvanishing polynomial on X, in units of eps: errors of
        lower degrees pile up in it.
    orthogonality_loss : float
        The largest deviation from 0 of the correlations on X of the nonvanishing polynomials of
        lower degrees, and of their sizes from 1. It is a rounding error unless these pile up.
    rank_accepted : float
        The smallest pivot that counts as nonzero, relative to the bound on rounding errors that
        decides about ranks: which polynomials are not zero both on X and under the normalization,
        and which are not zero on X if the tolerance does not decide. Near 1 the rank is fragile.
    rank_rejected : float
        The largest pivot that is taken for zero, relative to the same bound. Near 1 the rank is
        fragile.
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
    spectrum: Annotated[FloatArray, "n_finite"]
    seconds: float
    undecided: int = 0
    closest: float = np.nan
    margin: float = np.inf
    fragile: int = 0
    amplification: float = 1.0
    orthogonality_loss: float = 0.0
    rank_accepted: float = np.inf
    rank_rejected: float = 0.0

    @property
    def rank_margin(self) -> float:
        """The smallest factor by which a pivot would have to change for a rank to change."""
        return min(self.rank_accepted, 1 / self.rank_rejected if self.rank_rejected else np.inf)

    def __repr__(self) -> str:
        return (
            f"<DegreeTrace: degree {self.degree}, {self.candidates} candidates, {self.vanishing} "
            f"vanishing, {self.nonvanishing} nonvanishing, tol {self.tol:.3g}>"
        )


# --- One degree -----------------------------------------------------------------------------------
#
# The candidates C_pre, products of F_1 and F_{t-1}, are evaluated on X together with F, and one QR
# factorization of [F C_pre] gives everything about X: L = argmin ‖C_pre - F L‖ and the triangular
# factor A of the residual C = C_pre - F L. Orthogonalizing first is what makes the degrees
# independent of each other: a polynomial that vanishes up to lower degrees shows as a small
# direction of A. The normalization gives a factor B of the sizes of C. The generalized problem of A
# and B (``gsvd.py``) yields directions V with extents ‖A v‖, and the tolerance splits them: small
# extents are the equations G_t = C V_G, large ones F_t = C V_F, scaled to size 1 on X.
#
# Rounding errors are propagated by hand. F_t divides by extents, which may be small: values of F_t
# then are differences of much larger terms, and a product multiplies that loss. A fixed threshold
# such as 1e-12 would take these errors for nonvanishing polynomials at high degree, and true
# polynomials for errors on coarse data. So every polynomial carries the size of its error in units
# of eps, from the degree that caused it to all degrees that build on it.


def grow(
    state: State,
    source: SampleSource,
    contrast: SampleSource | None,
    settings: VcaSettings,
    corrected: SampleSource | None = None,
) -> tuple[State, DegreeTrace]:
    """Find the polynomials of the next degree. Pure: nothing is changed."""
    basis = state.basis
    started = time.perf_counter()
    error_of_forms = _bound_error_of_forms(state)
    candidates = choose_candidates(
        basis.n_features,
        basis.blocks,
        products=settings.products,
        uses_all_products=settings.normalization.uses_all_products,
        memory_budget=settings.memory_budget,
        near=state.near,
        error_of_forms=error_of_forms,
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
        error_of_forms=error_of_forms,
    )
    solved = _solve_degree(stage, state, settings)
    if corrected is not None:
        # Corrected moments have a larger variance: they do for polynomials that they explain.
        other = _solve_degree(replace(stage, source=corrected), state, settings, corrected=True)
        solved = other if other.vanishes.sum() >= solved.vanishes.sum() else solved
    projection, solution, vanishes = solved.projection, solved.solution, solved.vanishes
    n_rows = float(stage.on_points.n_rows)
    size = settings.size_on_points(n_rows)
    is_nonvanishing = solved.is_decided & ~vanishes
    nonvanishing, cut = _scale_nonvanishing(solution, is_nonvanishing, settings.max_nonvanishing)
    nonvanishing *= size
    # F_t = C V_F: the errors of the candidates add up, relative to the size of F_t on X.
    rounding = solved.error @ np.abs(nonvanishing) / size
    block = DegreeBlock(
        left=candidates.left,
        right=candidates.right,
        projection=projection,
        nonvanishing=nonvanishing,
        vanishing=solution.vectors[:, vanishes],
        extents=solved.extents[vanishes],
    )
    rank_margin = find_rank_margin(solved)
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
        tol=solved.tol,
        condition=solution.condition,
        spectrum=np.sort(solved.extents),
        seconds=time.perf_counter() - started,
        undecided=int(np.sum(~solved.is_decided)) + solution.lost,
        closest=settings.tol.closest(stage.degree) if isinstance(settings.tol, Noise) else np.nan,
        margin=find_margin(solution, solved.bound, vanishes),
        fragile=count_fragile(solution, solved.bound),
        amplification=float(np.max(rounding, initial=1.0)),
        orthogonality_loss=measure_orthogonality_loss(
            stage.on_points.R[: stage.n_lower, : stage.n_lower] / size
        ),
        rank_accepted=rank_margin.accepted,
        rank_rejected=rank_margin.rejected,
    )
    kept = solution.extents[is_nonvanishing]
    contrast_terms = state.contrast_terms
    if solved.form.terms is not None:
        contrast_terms = (*contrast_terms, solved.form.terms @ np.abs(nonvanishing))
    grown = State(
        PolynomialBasis(basis.n_features, (*basis.blocks, block)),
        (*state.rounding, rounding),
        contrast_terms,
        float(kept.min()) if kept.size else state.reference,
        n_rows,
        max(state.relative_error, stage.on_points.relative_error),
        stage.on_points.near,
    )
    return grown, trace


@dataclass(frozen=True, eq=False)
class Solved:
    """The generalized problem of one degree, solved and decided."""

    projection: FloatArray  # L
    error: FloatArray  # of each candidate, in units of eps
    form: Form
    solution: Solution
    extents: FloatArray  # their noise included
    tol: float
    bound: float | FloatArray  # extents up to which the tolerance lets directions vanish
    vanishes: BoolArray
    is_decided: BoolArray


#: Accuracy of single precision.
SINGLE = float(np.finfo(np.float32).eps)


def _solve_degree(
    stage: Stage, state: State, settings: VcaSettings, *, corrected: bool = False
) -> Solved:
    """Solve the generalized problem of a degree, and decide which polynomials vanish."""
    projection, residual = stage.split
    size = settings.size_on_points(stage.on_points.n_rows)
    rms = stage.on_points.column_rms[stage.n_lower :]
    # An error in one factor of a product is multiplied by the other one, even if the product
    # itself is small because its factors are large in different places.
    terms = rms if stage.degree == 1 else np.maximum(rms, size**2)
    # c = c_pre - F L: the errors of all its terms add up. The constant has size 1 on X, whatever
    # the convention of sizes is.
    constant, *others = state.rounding
    in_units = np.concatenate([constant, *(size * each for each in others)])
    below = in_units @ np.abs(projection)
    error, unit = stage.amplification * terms + below, stage.on_points.relative_error
    points = Side(residual, rms, unit * error, terms, unit)
    form = settings.normalization.form(stage)
    has_equal_products = stage.all_products and not settings.normalization.uses_all_products
    if has_equal_products and stage.degree > 1 and form.coordinates is None:
        form = replace(form, subspace=find_distinct_products(stage))
    if not (np.isfinite(points.scale).all() and np.isfinite(form.scale).all()):
        names = [each.name for each in (stage.source, stage.contrast) if each is not None]
        raise ValueError(
            f"{' or '.join(names)} holds numbers too large to be squared; rescale the data before "
            "fitting"
        )
    solution = solve(points, form, stage.on_points.near)
    if unit >= SINGLE and unit * solution.condition > 1:
        # No digit is left, not even of relations that are exact: what is small says nothing.
        solution = replace(solution, noise=np.zeros_like(solution.noise))
    extents, bound = solution.extents, 0.0
    if isinstance(settings.tol, Noise):
        lengths: FloatArray = np.ones(len(extents))
        if not isinstance(settings.normalization, Gradient):
            lengths = norms(Gradient().form(stage).factor @ solution.vectors)
        taken_out = settings.tol.level if corrected else 0.0
        extents = np.hypot(extents, taken_out * lengths)
        n_rows = stage.on_points.n_rows
        tol = settings.tol.most_distant(stage.degree, extents, lengths, n_rows)
        bound = lengths * np.sqrt(max(tol**2 - taken_out**2, 0.0))
    elif settings.tol == "gap":
        ascending = np.argsort(extents, kind="stable")
        bound = tol = find_widest_gap(
            extents[ascending], solution.noise[ascending], state.reference
        )
    else:
        n_rows = stage.on_points.n_rows
        bound = tol = settings.tol / np.sqrt(n_rows) if settings.paper_norm else settings.tol
    decided = decide(solution.extents, solution.noise, solution.doubt, bound)
    return Solved(projection, error, form, solution, extents, float(tol), bound, *decided)


def _amplification(state: State, candidates: Candidates) -> FloatArray:
    """Return the rounding errors of products, in units of eps: those of the worse factor."""
    if len(state.rounding) == 1:
        return np.ones(len(candidates.left))
    first, last = state.rounding[1], state.rounding[-1]
    return np.maximum(first[candidates.left], last[candidates.right])


def _bound_error_of_forms(state: State) -> float:
    """Bound the relative errors of the leading forms of the last degree."""
    unit = state.relative_error
    error = SAFETY * unit * float(np.max(state.rounding[-1], initial=0.0))
    return min(error, bound_trusted_error(unit))


def _scale_nonvanishing(
    solution: Solution, which: BoolArray, limit: int | None
) -> tuple[FloatArray, int]:
    """Return V_F with root mean square 1 on X, largest extents first, and how many were cut."""
    finite = solution.reduced[:, which] / solution.extents[which]
    ordered = np.hstack([solution.unbounded, finite[:, ::-1]])
    kept = ordered if limit is None else ordered[:, :limit]
    return np.ascontiguousarray(kept), ordered.shape[1] - kept.shape[1]


# --- Where the tolerance decides ------------------------------------------------------------------


def find_widest_gap(extents: FloatArray, noise: FloatArray, reference: float | None) -> float:
    """Choose a tolerance in the widest gap of ascending extents; 0 if none is wide."""
    known = extents[extents > noise]
    if reference is not None and known.size and reference > known[-1]:
        known = np.append(known, reference)
    if known.size < 2:
        return 0.0
    gaps = known[1:] / known[:-1]
    widest = int(np.argmax(gaps))
    if gaps[widest] < OUTLYING:  # noise of the smaller extents may be as large
        return 0.0
    return float(np.sqrt(known[widest] * known[widest + 1]))


def decide(
    extents: FloatArray, noise: FloatArray, doubt: FloatArray, tol: float | FloatArray
) -> tuple[BoolArray, BoolArray]:
    """Return which polynomials vanish, and for which rounding errors leave that to be decided."""
    bound = np.maximum(tol, noise)
    # Without its safety factor, the bound on the errors is about as large as they are. If that is
    # above what counts as zero, a small extent is chance: with as many polynomials as points an
    # extent is zero whatever the errors are.
    is_clear = doubt <= SAFETY * bound
    vanishes = (extents <= bound) & is_clear
    return vanishes, vanishes | (extents > np.maximum(tol, doubt))


def find_margin(solution: Solution, bound: float | FloatArray, vanishes: BoolArray) -> float:
    """Return the smallest factor by which an extent would change to be decided otherwise."""
    extents, limit = solution.extents, np.maximum(bound, solution.doubt)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(vanishes, limit / extents, extents / limit)
    return float(np.nanmin(factors, initial=np.inf))


def find_rank_margin(solved: Solved) -> RankMargin:
    """Return how far rounding errors are from changing a rank."""
    solution = solved.solution
    if solved.form.coordinates is not None:  # exact relations were found before the extents
        return solution.margin
    by_rounding = np.flatnonzero((solved.bound < solution.doubt) & solved.is_decided)
    ascending = by_rounding[np.argsort(solution.extents[by_rounding], kind="stable")]
    open_ones = ascending[solution.n_certain :]
    by_extents = RankMargin.measure(
        solution.extents[open_ones], solution.doubt[open_ones], ~solved.vanishes[open_ones]
    )
    return solution.margin.join(by_extents)


def measure_orthogonality_loss(R: FloatArray) -> float:
    """Return the largest entry of R'R - I, without that of the constant."""
    gram = R.T @ R
    np.fill_diagonal(gram, np.diag(gram) - 1.0)
    return float(np.max(np.abs(gram[1:, 1:]), initial=0.0))


def count_fragile(solution: Solution, bound: float | FloatArray) -> int:
    """Count extents that differ from the tolerance by no more than their rounding errors."""
    rounding = 2 * solution.doubt / SAFETY  # about as large as the errors are
    is_near = np.abs(solution.extents - bound) <= rounding
    return int(np.sum(is_near & (SAFETY * solution.doubt < bound)))


# --- The noise of the points as the tolerance -----------------------------------------------------


def find_noise(source: SampleSource, settings: VcaSettings) -> tuple[Noise, Moments | None]:
    """Find the noise of points without exact equations, and moments to be corrected."""
    bound = UNBOUNDED if settings.max_degree is None else settings.max_degree
    lowest = None  # degree of the exact equations
    while (found := search_moments(source, bound, settings.memory_budget)) is None:
        rest = _take_out_exact(source, bound, settings)
        if rest is None:
            found = _search_extents(source, bound, settings), None
            break
        source, degree = rest
        lowest = degree if lowest is None else min(lowest, degree)
    noise, moments = found
    if lowest is not None:
        level = 0.0 if np.isnan(noise.level) else noise.level
        noise = replace(noise, level=level, degree=min(lowest, noise.degree or bound))
    elif settings.max_degree is not None:
        return noise, moments
    return replace(noise, corrected=False, n_equations=None), None  # moments end at some degree


def _take_out_exact(
    source: SampleSource, bound: int, settings: VcaSettings
) -> tuple[SampleSource, int] | None:
    """Return points without what exact equations fix, and the lowest degree of such equations."""
    n_values = count_values(source, bound + 1)
    if 0 < np.sum(n_values <= bound) < source.n_features:
        # A column with k values satisfies an equation of degree k of its own.
        axes, degree = np.eye(source.n_features)[:, n_values > bound], int(n_values.min())
    else:
        first = construct(source, None, _find_all(settings, 1))
        directions, degree = first.basis.blocks[0].nonvanishing, 1
        if not 0 < directions.shape[1] < source.n_features:
            return None
        axes = np.linalg.qr(directions)[0]
    return source.map_rows(lambda x: x @ move_like(axes, x), axes.shape[1]), degree


def _find_all(settings: VcaSettings, max_degree: int) -> VcaSettings:
    """Return the settings that give all extents as distances."""
    return replace(
        settings,
        tol=0.0,
        normalization=Gradient(),
        max_nonvanishing=None,
        max_degree=max_degree,
        callback=None,
    )


def _search_extents(source: SampleSource, bound: int, settings: VcaSettings) -> Noise:
    """Find the noise of points by a construction, one degree above the bound if there are rows."""
    affine = factor_affine(source, settings.memory_budget)
    most = min(affine.n_rows / ROWS_PER_UNKNOWN, isqrt(BLOCK))  # a matrix is worked on at a time
    while bound > 1 and count(source.n_features, bound) > most:
        bound -= 1
    above = bound + 1 if count(source.n_features, bound + 1) <= most else bound
    trace = construct(source, None, _find_all(settings, above)).trace
    spectra = [step.spectrum for step in trace]
    exact = [step.degree for step in trace if step.vanishing]
    if exact:  # equations that are not exact beside some that are: nothing tells them from noise
        levels = tuple(float(spectrum.min(initial=np.inf)) for spectrum in spectra)
        return Noise(0.0, spread_of(affine), exact[0], levels)
    return search_spectra(spectra, spread_of(affine))


def count_values(source: SampleSource, most: int) -> IntArray:
    """Return how many values each column has, up to a bound."""

    def collect(x: Array, root_weights: Array | None = None) -> list[FloatArray]:
        rows = move_to_numpy(x)
        if root_weights is not None:
            rows = rows[move_to_numpy(root_weights) > 0]
        return [np.unique(column)[:most] for column in rows.T]

    def join(first: list[FloatArray], second: list[FloatArray]) -> list[FloatArray]:
        return [np.union1d(a, b)[:most] for a, b in zip(first, second, strict=True)]

    rows = block_rows(2 * source.n_features, cpu=source.cpu)
    return np.array([len(values) for values in source.map_reduce(collect, join, max_rows=rows)])


def measure_extents(
    basis: PolynomialBasis, source: SampleSource, memory_budget: int
) -> PolynomialBasis:
    """Return a basis with the root mean squares of its vanishing polynomials on points."""
    if not basis.count():
        return basis
    values = Evaluator(basis.blocks).vanishing
    extents = Pass(Gram(), memory_budget).factor(source, values, basis.count()).column_rms
    stops = np.cumsum([block.vanishing.shape[1] for block in basis.blocks])
    blocks = tuple(
        replace(block, extents=part)
        for block, part in zip(basis.blocks, np.split(extents, stops[:-1]), strict=True)
    )
    return PolynomialBasis(basis.n_features, blocks)
