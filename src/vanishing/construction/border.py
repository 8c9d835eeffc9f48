"""Border bases: an order ideal O of monomials, and polynomials with leading terms next to it.

ABM (Limbeck, 2014) and OAVI (Wirth and Pokutta, 2022) go through the terms next to O degree by
degree, in the order of a term order. A term b for which no polynomial b - Σ c_o o is small on X
joins O. Otherwise it is the leading term of a generator.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from vanishing.arrays.kernels import norms, triangular_factor
from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.arrays.parameters import check_real
from vanishing.construction.candidates import EPS, Form, Stage, check_columns
from vanishing.construction.gsvd import estimate_condition
from vanishing.construction.leading_terms import Columns, Found, Sequence, sort_out
from vanishing.construction.loop import (
    Construction,
    DegreeTrace,
    Settings,
    StopReason,
    allow_threads,
    run_degrees,
)
from vanishing.construction.normalizations import Normalization
from vanishing.construction.passes import Pass, find_ranges, resolve_choice
from vanishing.data.source import SampleSource
from vanishing.levels import SAFETY
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import DegreeBlock
from vanishing.polynomials.order_ideal import (
    TERM_ORDERS,
    Border,
    OrderIdeal,
    TermOrder,
    find_border,
    sort_terms,
)

__all__ = ["Abm", "AbmGradient", "BorderConstruction", "Oavi", "resolve_construction"]

# --- The constructions ----------------------------------------------------------------------------


@dataclass(frozen=True)
class BorderConstruction:
    """Base class of the constructions of border bases."""

    order: TermOrder = "deglex"
    border: Literal["corners", "full"] = "corners"

    #: The normalization by default; None for leading coefficient 1.
    normalization: ClassVar[str | None] = None
    #: Whether generators have the least extent in the span of O and b, rather than being fits.
    minimizes: ClassVar[bool] = False
    #: Whether columns are scaled to [-1, 1].
    scales_to_box: ClassVar[bool] = False

    def check(self) -> None:
        """Raise if a parameter is not valid."""
        if self.order not in TERM_ORDERS:
            raise ValueError(f"order must be one of {list(TERM_ORDERS)}, got {self.order!r}")
        if self.border not in ("corners", "full"):
            raise ValueError(f"border must be 'corners' or 'full', got {self.border!r}")

    @property
    def bound_on_coefficients(self) -> float | None:
        """The sum of absolute coefficients is at most this, if generators have few terms."""
        return None


@dataclass(frozen=True)
class Abm(BorderConstruction):
    """Approximate Buchberger-Möller: polynomials of smallest extent among all that have b.

    Polynomials have size 1 under the normalization, by default coefficient vectors of norm 1
    (Limbeck, 2014). Coefficients depend on the units of the columns: standardize them first.

    Parameters
    ----------
    order : {"deglex", "degrevlex"}, default="deglex"
        The term order; the first column is the largest variable.
    border : {"corners", "full"}, default="corners"
        Which terms outside of O get a polynomial: those all of whose proper divisors are in O, or
        all products of a variable and a term of O. A polynomial of another term is
        left out if it does not vanish within the tolerance. It is written in shifted columns if
        means of columns are larger than their spreads: in the columns of X, it then contains
        other divisors of its leading term, too.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> t = np.linspace(-1, 1, 20)
    >>> cubic = np.column_stack([t, t**2, t**3])
    >>> ideal = VanishingIdeal(construction="abm", max_degree=4, tol=0).fit(cubic)
    >>> ideal.order_ideal_.leading_terms.tolist()
    [[1, 0, 1], [1, 1, 0], [2, 0, 0], [0, 3, 0]]
    """

    normalization = "coefficient"
    minimizes = True


@dataclass(frozen=True)
class AbmGradient(Abm):
    """ABM with coefficients weighted by mean gradients (Kera, 2022; Kera and Kehrein, 2025).

    If X and ``tol`` are multiplied by a number, the result is the same.

    Parameters
    ----------
    order : {"deglex", "degrevlex"}, default="deglex"
        The term order; the first column is the largest variable.
    border : {"corners", "full"}, default="corners"
        Which terms outside of O get a polynomial, as for ``Abm``.
    """

    normalization = "gradient-weighted"


@dataclass(frozen=True)
class Oavi(BorderConstruction):
    """Oracle approximate vanishing ideal: least squares fits with leading coefficient 1.

    Columns are scaled to [-1, 1] first, in which coefficients and extents are measured. The bound
    ψ on the mean square in the papers (Wirth and Pokutta, 2022; Wirth, Kera and Pokutta, 2023) is
    the square of ``tol``. With a normalization the same polynomials are scaled to size 1 under it.

    Parameters
    ----------
    order : {"deglex", "degrevlex"}, default="deglex"
        The term order; the first column is the largest variable.
    border : {"corners", "full"}, default="corners"
        Which terms outside of O get a polynomial, as for ``Abm``.
    oracle : {"l1"} or None, default=None
        None fits without constraints. "l1" bounds the sum of absolute coefficients, and looks for
        polynomials of few terms that vanish within the tolerance.
    radius : float, default=1000
        Bound on the sum of the absolute values of all coefficients but the leading one, if the
        oracle is "l1".

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> angle = np.linspace(0, 2 * np.pi, 60)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> ideal = VanishingIdeal(construction="oavi", max_degree=4, tol=0.01).fit(circle)
    >>> ideal.order_ideal_.leading_terms.tolist()
    [[2, 0]]
    """

    oracle: Literal["l1"] | None = None
    radius: float = 1000.0

    scales_to_box = True

    def check(self) -> None:
        """Raise if a parameter is not valid."""
        super().check()
        if self.oracle not in (None, "l1"):
            raise ValueError(f"oracle must be None or 'l1', got {self.oracle!r}")
        check_real("radius", self.radius, zero=False)

    @property
    def bound_on_coefficients(self) -> float | None:
        """The radius of the ball."""
        return self.radius if self.oracle == "l1" else None


def resolve_construction(construction: Any) -> BorderConstruction | None:
    """Return the construction of a name, or the object itself; None for VCA."""
    known: dict[str, Callable[[], BorderConstruction | None]] = {
        "vca": lambda: None,
        "abm": Abm,
        "abm-gradient": AbmGradient,
        "oavi": Oavi,
    }
    found: BorderConstruction | None = resolve_choice(
        "construction",
        construction,
        known,
        BorderConstruction,
        "an instance of Abm, AbmGradient or Oavi",
    )
    if found is not None:
        found.check()
    return found


# --- The loop over degrees ------------------------------------------------------------------------
#
# Monomials are taken in coordinates u = (x - origin) / unit, in which they are far from dependent:
# u is about 1 in size. O does not depend on that, since it contains all divisors of its terms: the
# terms of a polynomial that change with the origin are smaller, and in O. Coefficients do; so the
# normalizations measure the coefficients on monomials of x.


@dataclass(frozen=True, eq=False)
class BorderState:
    """What the degrees so far hand to the next."""

    basis: PolynomialBasis
    terms: tuple[IntArray, ...]  # per degree from 0, the exponents of O
    places: IntArray  # of the terms of O among F, which may have more variables
    rms: FloatArray  # of F on X
    shift: FloatArray  # rounding errors of F due to the origin of the variables
    residuals: FloatArray  # what fits on all smaller terms left of F
    leading: tuple[IntArray, ...] = ()  # per degree from 1, the leading terms
    coefficients: FloatArray = field(default_factory=lambda: np.zeros(0))  # of all generators
    n_rows: float = 0.0

    @classmethod
    def start(cls, n_features: int) -> "BorderState":
        """Return the state with nothing but the constant."""
        one, place = np.zeros((1, n_features), dtype=np.intp), np.zeros(1, dtype=np.intp)
        basis = PolynomialBasis(n_features, ())
        return cls(basis, (one,), place, np.ones(1), np.zeros(1), np.ones(1))

    def find_border(self, order: TermOrder, *, full: bool) -> Border:
        """Return the terms of the next degree, as products of F_1 and of F of the degree below."""
        variables = np.eye(self.basis.n_features, dtype=np.intp)
        if not self.basis.blocks:
            ascending = sort_terms(variables, order)
            corners = np.ones(len(ascending), dtype=bool)
            return Border(variables[ascending], ascending, np.zeros_like(ascending), corners)
        if not full:
            return find_border(self.terms[1], self.terms[-1], order, full=False)
        border = find_border(variables, self.terms[-1], order, full=True)
        if len(self.terms) > 2:
            return border
        return border._replace(right=np.argmax(self.terms[1], axis=1)[border.right])


@dataclass(frozen=True, kw_only=True)
class BorderSettings(Settings):
    """How to grow a border basis."""

    construction: BorderConstruction
    normalization: Normalization | None  # None for leading coefficient 1
    tol: float


def construct_border_basis(
    source: SampleSource,
    contrast: SampleSource | None,
    settings: BorderSettings,
    ranges: FloatArray | None = None,
) -> Construction:
    """Run ABM or OAVI; ``ranges`` are the least and largest values of columns, if known."""
    construction = settings.construction
    state = BorderState.start(source.n_features)
    box = None
    if construction.scales_to_box:
        box = scale_to_box(find_ranges(source) if ranges is None else ranges)
    full = construction.border == "full"

    def take_step() -> DegreeTrace | StopReason:
        nonlocal state
        border = state.find_border(construction.order, full=full)
        if not len(border.exponents):
            return "exhausted"
        with allow_threads(len(border.exponents)):
            state, step = grow(state, border, source, contrast, settings, box)
        return step

    trace, reason = run_degrees(take_step, settings)
    found = OrderIdeal(
        np.concatenate(state.terms),
        np.concatenate([state.terms[0][:0], *state.leading]),
        construction.order,
        float(np.sum(state.coefficients == 0) / max(1, len(state.coefficients))),
    )
    return Construction(state.basis, trace, reason, state.n_rows, found)


# --- Coordinates ----------------------------------------------------------------------------------


class Units(NamedTuple):
    """Coordinates u = (x - origin) / unit."""

    origin: FloatArray
    unit: FloatArray

    def express(self, columns: FloatArray) -> FloatArray:
        """Return values, sizes or coefficients of [1 u], given those of [1 x]."""
        moved = columns.copy()
        moved[:, 1:] = (columns[:, 1:] - columns[:, :1] * self.origin) / self.unit
        return moved

    def bound(self, sizes: FloatArray) -> FloatArray:
        """Return the size of the terms of [1 u], given the sizes of [1 x]."""
        bounds = sizes.copy()
        bounds[1:] = (sizes[1:] + sizes[0] * np.abs(self.origin)) / self.unit
        return bounds


def scale_to_box(ranges: FloatArray) -> Units:
    """Return coordinates in which columns of known least and largest values reach from -1 to 1."""
    low, high = ranges.astype(np.float64)
    origin, unit = low / 2 + high / 2, high / 2 - low / 2
    # The rounding errors of a constant column are those of its value.
    unit = np.where(unit > 0, unit, np.abs(origin))
    return Units(origin, np.where(unit > 0, unit, np.max(unit, initial=0.0) or 1.0))


def choose_frame(R: FloatArray, relative_error: float) -> Units:
    """Return coordinates of size about 1, by R of [1 x], in powers of two, which stay exact."""
    mean, rms, spread = R[0, 1:] / R[0, 0], norms(R[:, 1:]), norms(R[1:, 1:])
    far = np.abs(mean) > spread
    size = np.where(far & (spread > SAFETY * relative_error * rms), spread, rms)
    size = np.where(size > 0, size, np.max(size, initial=0.0) or 1.0)
    unit = np.ldexp(1.0, np.frexp(size)[1])
    return Units(np.where(far, np.round(16 * mean / unit) * unit / 16, 0.0), unit)


# --- One degree -----------------------------------------------------------------------------------


class BorderStage(Stage):
    """One degree as a normalization sees it; forms are on [F C_pre], without a projection."""

    projects = False

    @property
    def factors(self) -> tuple[IntArray, IntArray]:
        """The columns of the two factors of each product, from degree 2 on."""
        n_last = self.blocks[-1].nonvanishing.shape[1]
        return 1 + self.left, self.n_lower - n_last + self.right

    def form(self, matrix: FloatArray, relative_error: float | None = None) -> Form:
        """Return the form on [F C_pre] with a factor of a relative error."""
        scale = norms(matrix)
        return Form(matrix, scale, max(relative_error or EPS, EPS) * scale)

    def form_on_contrast(self) -> Form:
        """Return the form of mean squares on the contrast."""
        assert self.contrast is not None
        on_contrast = self.factor_on(self.contrast)
        return self.form(on_contrast.R, on_contrast.relative_error)


def measure_columns(
    stage: BorderStage, state: BorderState, normalization: Normalization | None, frame: Units | None
) -> Columns:
    """Pass over X, and over Y or X again if the normalization needs it."""
    n_lower = len(state.rms)
    R, unit = stage.on_points.R, stage.on_points.relative_error
    form = None if normalization is None else normalization.form(stage)
    if frame is None:
        rms = norms(R)
        first, last = stage.factors
        # (u + δ)(o + ε) ≈ u o + δ o + u ε
        added = state.shift[first] * state.rms[last] + state.rms[first] * state.shift[last]
        shift = np.append(state.shift, added)
        terms = rms.copy()
        # A factor that is zero on X may be a difference of large numbers, as for a constant column.
        terms[n_lower:] = np.maximum(rms[n_lower:], rms[first] * rms[last] + added)
    else:
        terms = frame.bound(norms(R))
        R = frame.express(R)
        rms = norms(R)
        shift = np.append(0.0, np.where(frame.origin != 0, terms[1:], 0.0))
        if form is not None:
            factor = frame.express(form.factor)
            scale, error = frame.bound(form.scale), frame.bound(form.error)
            form = replace(form, factor=factor, scale=scale, error=error)
    expected = np.ones(len(rms))
    if frame is None:
        expected[n_lower:] = state.residuals[stage.factors[1]]
    kept = np.append(state.places, np.arange(n_lower, len(rms)))
    if not np.array_equal(kept, np.arange(len(rms))):  # F_1 is all variables, in their order
        R = np.asarray(triangular_factor(np.ascontiguousarray(R[:, kept].T)))
        if form is not None:
            factor, scale, error = form.factor[:, kept], form.scale[kept], form.error[kept]
            form = replace(form, factor=factor, scale=scale, error=error)
    error = unit * (stage.degree * rms + shift)
    return Columns(
        R=R,
        rms=rms[kept],
        shift=shift[kept],
        error=error[kept],
        terms=terms[kept],
        expected=expected[kept],
        relative_error=unit,
        form=form,
        on_contrast=normalization is not None and normalization.needs_contrast,
    )


# --- The block of a degree, and the next state ----------------------------------------------------


def grow(
    state: BorderState,
    border: Border,
    source: SampleSource,
    contrast: SampleSource | None,
    settings: BorderSettings,
    box: Units | None,
) -> tuple[BorderState, DegreeTrace]:
    """Find the polynomials of the next degree. Pure: nothing is changed."""
    started = time.perf_counter()
    n_border, n_lower = len(border.exponents), len(state.places)
    check_columns(len(state.rms) + n_border, len(state.terms), settings.memory_budget)
    stage = BorderStage(
        n_features=state.basis.n_features,
        blocks=state.basis.blocks,
        left=border.left,
        right=border.right,
        amplification=np.full(n_border, float(len(state.terms))),
        source=source,
        contrast=contrast,
        passes=Pass(settings.reduction, settings.memory_budget),
        paper_norm=settings.paper_norm,
    )
    n_rows = float(stage.on_points.n_rows)
    tol = settings.tol / np.sqrt(n_rows) if settings.paper_norm else settings.tol
    frame = None
    if stage.degree == 1:
        frame = choose_frame(stage.on_points.R, stage.on_points.relative_error)
        if box is not None:
            frame = Units(box.origin[border.left], box.unit[border.left])
    columns = measure_columns(stage, state, settings.normalization, frame)
    construction = settings.construction
    found, sequence = sort_out(
        columns,
        border,
        n_lower,
        tol,
        minimize=construction.minimizes,
        radius=construction.bound_on_coefficients,
    )
    full = construction.border == "full"
    block = _make_block(state, border, found, n_lower, frame, full=full)
    trace = DegreeTrace(
        degree=stage.degree,
        candidates=n_border,
        rank=n_border - found.dropped,
        vanishing=len(found.generators),
        nonvanishing=len(found.joined),
        dropped=found.dropped,
        unbounded=found.unbounded,
        cut=0,
        left_out=0,
        tol=float(tol),
        condition=estimate_condition(sequence.R / norms(sequence.R)),
        spectrum=np.sort(np.asarray(found.extents, dtype=np.float64)),
        seconds=time.perf_counter() - started,
        undecided=found.undecided,
        rank_accepted=found.margin.accepted,
        rank_rejected=found.margin.rejected,
    )
    return _advance(state, border, found, columns, sequence, block, n_rows, full=full), trace


def _make_block(
    state: BorderState,
    border: Border,
    found: Found,
    n_lower: int,
    frame: Units | None,
    *,
    full: bool,
) -> DegreeBlock:
    """Write the polynomials as C V with C = C_pre - F L; L is zero for the terms that join O."""
    n_border = len(border.exponents)
    projection = np.zeros((len(state.rms), n_border))
    nonvanishing = np.eye(n_border)[:, found.joined]
    vanishing = np.zeros((n_border, len(found.generators)))
    for place, each in enumerate(found.generators):
        vanishing[each.number, place] = each.leading
        same = np.asarray(each.terms[n_lower:], dtype=np.intp) - n_lower
        vanishing[same, place] = each.coefficients[n_lower:]
        projection[state.places, each.number] = -each.coefficients[:n_lower] / each.leading
    left = border.left
    if frame is not None:
        projection = projection * frame.unit + frame.origin
        vanishing = vanishing / frame.unit[:, None]
        nonvanishing = nonvanishing / frame.unit[:, None]
        natural = np.argsort(left)
        if full:
            nonvanishing = np.diag(1 / frame.unit)[:, natural]
        left, projection = left[natural], projection[:, natural]
        nonvanishing, vanishing = nonvanishing[natural], vanishing[natural]
    return DegreeBlock(
        left=left,
        right=border.right,
        projection=projection,
        nonvanishing=np.ascontiguousarray(nonvanishing),
        vanishing=vanishing,
        extents=np.array([each.extent for each in found.generators]),
    )


def _advance(
    state: BorderState,
    border: Border,
    found: Found,
    columns: Columns,
    sequence: Sequence,
    block: DegreeBlock,
    n_rows: float,
    *,
    full: bool,
) -> BorderState:
    """Return the state after a degree."""
    n_border, n_before, n_lower = len(border.exponents), len(state.rms), len(state.places)
    rms, shift = columns.rms[-n_border:], columns.shift[-n_border:]
    kept = np.asarray(found.joined, dtype=np.intp)
    residuals = rms.copy()
    residuals[kept] = np.diag(sequence.R)[n_lower:]
    places = np.arange(n_before, n_before + len(kept))
    if full and not state.basis.blocks:  # F_1 is all variables, in their order
        places = n_before + border.left[kept]
        kept = np.argsort(border.left)
    numbers = [each.number for each in found.generators]
    return BorderState(
        basis=PolynomialBasis(state.basis.n_features, (*state.basis.blocks, block)),
        terms=(*state.terms, border.exponents[found.joined]),
        places=np.append(state.places, places),
        rms=np.append(state.rms, rms[kept]),
        shift=np.append(state.shift, shift[kept]),
        residuals=np.append(state.residuals, residuals[kept]),
        leading=(*state.leading, border.exponents[numbers]),
        coefficients=np.concatenate(
            [state.coefficients, *(g.coefficients for g in found.generators)]
        ),
        n_rows=n_rows,
    )
