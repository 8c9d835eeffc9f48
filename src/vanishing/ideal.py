"""VanishingIdeal: the algorithm as a scikit-learn transformer."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from vanishing import equations as export
from vanishing.arrays.blocks import format_bytes
from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    machine_epsilon,
    move_to_host,
    namespace,
)
from vanishing.construction.border import (
    BorderConstruction,
    BorderSettings,
    construct_border_basis,
    resolve_construction,
)
from vanishing.construction.candidates import choose_candidates
from vanishing.construction.loop import (
    Construction,
    DegreeTrace,
    StopReason,
    VcaSettings,
    construct,
    find_noise,
    measure_extents,
)
from vanishing.construction.moments import Seen
from vanishing.construction.noise import Noise
from vanishing.construction.normalizations import Normalization, resolve_normalization
from vanishing.construction.outliers import leave_out_outliers
from vanishing.construction.passes import Reduction, Tsqr, resolve_reduction
from vanishing.data.inputs import (
    NumberRange,
    UnsupervisedTransformer,
    as_source,
    check_contrast_source,
    check_new_points,
    check_training_source,
    get_feature_names,
    is_chunked,
    refuse_frames_of_chunks,
    refuse_other_columns,
    refuse_points_as_y,
    take_over,
)
from vanishing.data.source import ArraySource, SampleSource, add_weights
from vanishing.equations.text import last_digits
from vanishing.levels import CHANCE, SAFETY
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.order_ideal import OrderIdeal
from vanishing.saving import Saveable

if TYPE_CHECKING:
    from vanishing.equations.onnx import Graph, Value
    from vanishing.equations.onnx import Output as GraphOutput

#: What ``transform`` returns.
Output = Literal["abs", "signed", "nonvanishing"]


# --- Errors and warnings --------------------------------------------------------------------------


class ContrastError(ValueError):
    """Every polynomial that vanishes on X vanishes on the contrast too."""


class UndecidedWarning(UserWarning):
    """Rounding errors hide whether a polynomial vanishes."""


class FragileWarning(UserWarning):
    """Rounding errors decide about a polynomial or a rank, and may decide otherwise elsewhere."""


class InterpolationWarning(UserWarning):
    """Equations hold because there are too few rows, not because of the data."""


class NothingVanishesWarning(UserWarning):
    """No polynomial vanishes, so that there are no equations to write."""


class OverflowWarning(UserWarning):
    """Polynomials overflow on some rows, so that their values or scores are infinite or NaN."""


def warn_of_overflow(values: Array, what: str) -> Array:
    """Warn if some rows of values, named by ``what`` in the plural, are not finite; return them."""
    xp = namespace(values)
    # The sum costs far less than the values, and says that all of them are finite.
    with np.errstate(over="ignore", invalid="ignore"):
        if bool(xp.isfinite(xp.sum(values))):
            return values
    finite = xp.reshape(xp.isfinite(values), (values.shape[0], -1))
    beyond = np.flatnonzero(np.asarray(move_to_host(~xp.all(finite, axis=1))))
    if beyond.size:
        more = f" and {beyond.size - 1} more" if beyond.size > 1 else ""
        warnings.warn(
            f"{what} overflow on row {beyond[0]}{more}: such rows are too far from the training "
            "rows, and their values are infinite or NaN; look for wrong cells there, or leave "
            "these rows out",
            OverflowWarning,
            stacklevel=3,
        )
    return values


def find_smallest_extent(ideal: "VanishingIdeal") -> float:
    """Return the smallest extent of all polynomials of a fitted ideal, infinite if it has none."""
    smallest = (float(step.spectrum.min(initial=np.inf)) for step in ideal.trace_)
    return min(smallest, default=np.inf)


def suggest_tolerance(smallest: float) -> float:
    """Return a round tolerance, somewhat above the smallest extent."""
    step = 10.0 ** np.floor(np.log10(smallest))
    larger = next(m * step for m in (1.5, 2, 3, 5, 10, 15) if m * step >= 1.2 * smallest)
    return float(f"{larger:.2g}")


def describe_nothing(ideal: "VanishingIdeal") -> str:
    """Say which tolerance would give a fitted ideal without equations its first one."""
    tol = ideal.tol if isinstance(ideal.tol, str) else format(ideal.tol, "g")
    said = f"no polynomial up to degree {len(ideal.basis_.blocks)} vanishes with tol={tol}"
    smallest = find_smallest_extent(ideal)
    if 0 < smallest < np.inf:
        larger = suggest_tolerance(smallest)
        if larger >= 1 and ideal.needs_contrast:
            return (
                f"{said}: the smallest extent is {smallest:.3g}, so that nothing is much smaller "
                "on X than on the contrast; choose another contrast, or a larger max_degree"
            )
        return (
            f"{said}: the smallest extent is {smallest:.3g}; tol={larger:g} gives the first "
            "equation, as may a larger max_degree"
        )
    return f"{said}; try a larger max_degree"


def check_contrast(
    normalization: Normalization | None, *, given: bool, known: bool = False
) -> None:
    """Refuse a contrast that is not used, and the lack of one that is needed."""
    needed = normalization is not None and normalization.needs_contrast
    name = "leading coefficient" if normalization is None else type(normalization).__name__
    if needed and not (given or known):
        raise ValueError(
            f"the {name} normalization measures polynomials on a second set of points: pass "
            "fit(X, contrast=Y), or choose normalization='gradient', which needs none"
        )
    if given and not needed:
        raise ValueError(
            f"a contrast was passed, but the {name} normalization does not use one: leave it out, "
            "or choose normalization='contrastive'"
        )


def check_discriminates(
    basis: PolynomialBasis,
    trace: tuple[DegreeTrace, ...],
    order_ideal: OrderIdeal | None,
    memory_budget: int,
) -> None:
    """Refuse a contrast on which every polynomial that vanishes on X vanishes too."""
    if basis.count("vanishing") or not any(step.dropped for step in trace):
        return
    if any(step.undecided for step in trace):
        return  # rounding errors may hide a difference
    lost = []
    for step in trace:
        n_lost = step.dropped
        if order_ideal is None:
            # Redundant products are dropped too, without being relations of the data.
            distinct = choose_candidates(
                basis.n_features,
                basis.blocks[: step.degree - 1],
                products="independent",
                uses_all_products=False,
                memory_budget=memory_budget,
            )
            kept = step.vanishing + step.nonvanishing + step.cut + step.undecided
            # The fit knew the errors of the products, and may have found fewer to be distinct.
            n_lost = min(len(distinct.left), step.candidates) - kept
        if n_lost > 0:
            lost.append((step.degree, n_lost))
    if lost:
        counts = ", ".join(f"{dropped} of degree {degree}" for degree, dropped in lost)
        raise ContrastError(
            f"every polynomial that vanishes on X also vanishes on the contrast ({counts}): the "
            "contrast lies inside the variety of X, so no equation distinguishes the two; choose a "
            "contrast that breaks the relations of X, or raise tol or max_degree"
        )


def list_raw_contrast(points: SampleSource, contrast: SampleSource | None) -> Iterator[UserWarning]:
    """Yield whether X was standardized, but the contrast was not.

    Neither location nor scale of a contrast can tell: other classes may be far from X in the
    coordinates of X, and near it in others. Two facts together can. If all columns of X have mean 0
    and variance 1, to half of the digits, these very rows were standardized: by chance the mean of
    n rows would be off by 1/√n. And numbers that were standardized have digits up to the last
    place. A contrast that is written in a few decimals, where X is not, was not.
    """
    if not (isinstance(points, ArraySource) and isinstance(contrast, ArraySource)):
        return
    if not is_standardized(points.array):
        return
    rows, others = (
        np.asarray(move_to_host(source.array[: round(1 / CHANCE), :]), dtype=np.float64)
        for source in (points, contrast)
    )
    in_full = last_digits(rows) == 0
    if in_full.any() and np.ptp(others[:, in_full], axis=0).all() and last_digits(others).all():
        yield UserWarning(
            "X is standardized (all columns have mean 0 and variance 1), but the contrast seems "
            f"not to be: its numbers have a few decimals only, such as {others[0, in_full][0]:g}. "
            "Both must be in the same coordinates: transform the contrast as X was. A pipeline "
            "does it if it is Pipeline(steps, transform_input=['contrast']), fitted by "
            "fit(X, contrast=Y), with sklearn.set_config(enable_metadata_routing=True) and "
            "VanishingIdeal(...).set_fit_request(contrast=True) as a step"
        )


def is_standardized(X: Array) -> bool:
    """Whether all columns have mean 0 and variance 1, to half of their digits, or are zero."""
    xp = namespace(X)
    if not xp.isdtype(X.dtype, "real floating"):
        return False
    # Of n numbers of variance 1 none is larger than √n. Squares of others may overflow.
    if bool(xp.max(xp.abs(X)) > (2 * X.shape[0]) ** 0.5):
        return False
    means, variances = xp.abs(xp.mean(X, axis=0)), xp.var(X, axis=0)
    off = xp.maximum(means, xp.minimum(variances, xp.abs(variances - 1)))
    return bool(xp.max(off) <= machine_epsilon(X) ** 0.5)


def write_counts(trace: tuple[DegreeTrace, ...], field: str, word: str = "of") -> str:
    """Write a number that is recorded of each degree; nothing if all are 0."""
    counts = ((getattr(step, field), step.degree) for step in trace)
    return ", ".join(f"{number} {word} degree {degree}" for number, degree in counts if number)


def list_doubts(found: Construction, reduction: Reduction) -> Iterator[UserWarning]:
    """Yield what rounding errors make doubtful."""
    undecided = write_counts(found.trace, "undecided")
    if undecided:
        stopped = "; the fit stopped there" if found.stop_reason == "undecided" else ""
        yield UndecidedWarning(
            f"rounding errors hide whether some polynomials vanish ({undecided}): they count "
            f"neither as equations nor as nonvanishing{stopped}. Center and scale the columns of "
            "X, lower max_degree, use more distinct contrast points, or set tol above the rounding "
            "errors"
        )
    if fragile := write_counts(found.trace, "fragile"):
        yield FragileWarning(
            f"the extents of some polynomials ({fragile}) are equal to the tolerance up to "
            "rounding errors: on another machine the decisions, and with them all higher degrees, "
            "may be different. Set tol between two extents (trace_[i].spectrum), or use double "
            "precision and reduction='tsqr'"
        )
    # Pivots should be a third of the bits of safety away from the bound on rounding errors. By QR
    # the bound is far above the errors that occur: zeros should be twice as many bits below.
    above = np.cbrt(SAFETY)
    below = above**2 if isinstance(reduction, Tsqr) else above
    ranks = [
        step for step in found.trace if step.rank_accepted < above or below * step.rank_rejected > 1
    ]
    if ranks and not undecided:  # which is near rounding errors, too
        margins = ", ".join(f"{step.rank_margin:.1f} at degree {step.degree}" for step in ranks)
        yield FragileWarning(
            "rounding errors nearly decide whether some polynomials depend on others "
            f"(trace_[i].rank_margin is {margins}): on another machine the ranks, and with them "
            "all higher degrees, may be different. Leave out columns that nearly depend on "
            "others, center and scale the columns, lower max_degree, or use double precision and "
            "reduction='tsqr'"
        )


def list_left_out(found: Construction, memory_budget: int) -> Iterator[UserWarning]:
    """Yield which products the memory budget left out."""
    if counts := write_counts(found.trace, "left_out", "at"):
        yield UserWarning(
            f"the memory budget of {format_bytes(memory_budget)} left out products of the "
            f"nonvanishing polynomials of smallest extent ({counts}); raise memory_budget, or set "
            "max_nonvanishing to choose the cap yourself"
        )


def list_interpolation(found: Construction, points: SampleSource) -> Iterator[UserWarning]:
    """Yield whether there are so few rows that equations hold within the tolerance on any data."""
    # A large weight does not turn one row into several.
    n_rows = points.n_weighted if points.weighted else found.n_rows
    # Values on n rows have n dimensions, of which the nonvanishing polynomials take some.
    n_lower = 1
    for step in found.trace:
        if step.vanishing and n_lower + step.rank > n_rows:
            break
        n_lower += step.nonvanishing
    else:
        return
    beside = f" beside {n_lower} polynomials of lower degree" if step.rank < n_rows else ""
    rows = "1 row" if n_rows == 1 else f"{n_rows:g} rows"
    stopped = ""
    if found.stop_reason == "interpolated":
        stopped = f"the fit stopped at degree {len(found.trace)} for that reason; "
    yield InterpolationWarning(
        f"at degree {step.degree} equations are sought among {step.candidates} products{beside}, "
        f"but X has only {rows}: some are found for any data, and they may not hold on other rows; "
        f"{stopped}fit more rows, reduce the number of features (for instance by PCA), lower "
        "max_degree, or set tol=0 if the points are exact"
    )


# --- VanishingIdeal: the algorithm as a scikit-learn transformer ----------------------------------


def evaluate_features(bases: Sequence[PolynomialBasis], output: Output, points: Array) -> Array:
    """Return what ``transform`` returns for an array, and never a frame."""
    xp = namespace(points)
    if output == "nonvanishing":
        parts = [basis.evaluate(points, which="nonvanishing")[:, 1:] for basis in bases]
    else:
        parts = [basis.evaluate(points) for basis in bases]
    values = parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)
    values = xp.abs(values) if output == "abs" else values
    return warn_of_overflow(values, "polynomials")


class VanishingIdeal(Saveable, UnsupervisedTransformer, BaseEstimator):
    """Polynomial equations that a set of points approximately satisfies.

    Degree by degree, finds polynomials that are small on X while their size under a normalization
    is 1. With ``normalization="contrastive"`` that size is measured on a second set of points, the
    contrast, so that the equations distinguish X from it. ``print(ideal)`` shows the shortest
    equations of a fit, with their extents.

    Parameters
    ----------
    max_degree : int or None, default=2
        Largest degree. None continues until no nonvanishing polynomial is left.
    tol : float, "gap" or "auto", default=0.1
        A polynomial vanishes if its extent, the root mean square of its values on X, is at most
        this. With the contrastive and the vca normalization extents are pure numbers; with the
        gradient ones they are lengths in the units of X. "gap" splits every degree at the widest
        gap of its extents, if neighbours differ there by a factor of five or more. "auto" finds the
        noise of X, one standard deviation for all columns, and keeps the polynomials that it
        explains: with growing degree polynomials come closer to X until they are as close as the
        noise. Noise of more than 0.3 % of the spread is taken out of the moments of X, so that it
        does not bias the equations. Rounding errors are recognized, so that 0 finds exact
        relations.
    construction : str or BorderConstruction, default="vca"
        "vca" finds all polynomials of a degree at once, as combinations of products. "abm",
        "abm-gradient" and "oavi" find border bases: fewer polynomials, each with a leading term,
        written in an order ideal of monomials, ``order_ideal_``. Objects such as
        ``Oavi(oracle="l1")`` of ``vanishing.construction.border`` have options of their own.
    normalization : str, Normalization or None, default=None
        "contrastive", "gradient", "gradient-weighted", "coefficient" or, for VCA only, "vca". None
        stands for the construction's own: "gradient" for VCA, "coefficient" for ABM,
        "gradient-weighted" for "abm-gradient", and leading coefficient 1 on columns scaled to [-1,
        1] for OAVI.
    tol_norm : {"rms", "euclidean"}, default="rms"
        Whether ``tol`` bounds the root mean square on X, or the Euclidean norm of all values as in
        the paper (which grows with the sample). With "euclidean" the vca normalization is the
        published one: nonvanishing polynomials have Euclidean norm 1 on X and degree 1 is
        measured in the units of X.
    products : {"independent", "all"}, default="independent"
        Whether products that add nothing but lower degrees are left out before they are computed,
        or the paper's full list is used.
    generators : {"all", "minimal"}, default="all"
        Whether to keep all vanishing polynomials of the construction, or to leave out those that
        are sums of multiples of others, none of which exceeds their degree (see
        ``vanishing.algebra.minimal_generators``). The ideal is the same. ``trace_`` counts all.
    max_nonvanishing : int or None, default=None
        Keep at most this many nonvanishing polynomials per degree, those of largest extent.
        ``trace_`` says how many were cut.
    robust : bool, default=False
        Whether to leave out rows that break the equations of most others, up to a fifth of all
        rows: ``fit`` first looks for polynomials that are close to most rows, whatever the rest
        does, by random starts and weights that fall with the distance ``|g|/‖∇g‖``.
    reduction : {"auto", "tsqr", "gram"} or Reduction, default="auto"
        How rows are summarized. "tsqr" is accurate to the last digit. "gram" is faster, and takes
        extents below about 1e-7 of the size of the candidates (3e-3 in float32) for zero; use it
        with tolerances well above that. "auto" is "tsqr" for VCA and for ``tol=0``. Other
        constructions take Gram matrices of the blocks of rows on which these keep half of the
        digits of all extents, and "tsqr" elsewhere.
    output : {"abs", "signed", "nonvanishing"}, default="abs"
        Whether ``transform`` returns absolute values of the vanishing polynomials, their values,
        or the values of the nonvanishing polynomials without the constant 1. The latter are
        uncorrelated on X, with mean 0 and variance 1, up to the noise that ``tol="auto"`` takes
        out.
    memory_budget : int, default=2**31
        Bytes that the matrices of one degree may take. Degrees that need more multiply only the
        nonvanishing polynomials of largest extent further (``trace_`` and a warning say how many
        were left out), or raise an error that gives the numbers.
    callback : callable or None, default=None
        Called with the ``DegreeTrace`` of each degree as soon as it is done.

    Attributes
    ----------
    basis_ : PolynomialBasis
        The polynomials; ``basis_.evaluate``, ``basis_.jacobian``, ``basis_.expand``.
    extents_ : array of shape (n_vanishing,)
        Root mean square on X of each vanishing polynomial, in the order of ``transform``'s columns.
    trace_ : tuple of DegreeTrace
        One record per degree.
    order_ideal_ : OrderIdeal or None
        Of a border basis: the ``terms`` of O, the ``leading_terms`` of the vanishing polynomials
        and the ``sparsity`` of these. The nonvanishing polynomials are the monomials of O in
        shifted and scaled columns. None for VCA.
    noise_ : Noise or None
        With ``tol="auto"``, the noise of X: its ``level`` in the units of X, its ``share`` of the
        spread, and ``levels``, the distance of X from the closest polynomial of each degree.
        Printed, it is one line.
    inlier_mask_ : bool array of shape (n_samples,)
        With ``robust=True``, which rows of X the equations are fitted to.
    stop_reason_ : {"exhausted", "max_degree", "undecided", "interpolated"}
        Why the loop ended: nothing nonvanishing was left, the bound on the degree was hit,
        rounding errors left nothing that is known to be nonvanishing, or X has more columns than
        rows and the next degree would have as many products as rows, so that its equations would
        hold whatever the data is (not with ``tol=0``).
    n_samples_seen_ : int or float
        After ``partial_fit``: the number of rows so far, or the sum of their weights.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if X has column names.

    See Also
    --------
    vanishing.discover : Short laws of a table in its own units, without settings.
    vanishing.ClassVanishingFeatures : One ideal for each class, as features for a classifier.
    vanishing.VanishingDetector : Anomalies, by the equations of normal rows.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> angle = np.linspace(0, 6, 50)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> ideal = VanishingIdeal(max_degree=2, tol=1e-6).fit(circle)
    >>> [step.vanishing for step in ideal.trace_]
    [0, 1]
    >>> ideal.transform([[1.0, 0.0], [2.0, 0.0]]).round(6)
    array([[0. ],
           [1.5]])
    """

    # What a fit leaves, and model files keep (``saving.py``).
    n_features_in_: int
    basis_: PolynomialBasis
    trace_: tuple[DegreeTrace, ...]
    stop_reason_: StopReason
    order_ideal_: OrderIdeal | None = None
    noise_: Noise | None = None
    inlier_mask_: npt.NDArray[np.bool_] | None = None
    _seen: Seen | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_degree": [NumberRange(Integral, 1, None, closed="left"), None],
        "tol": [NumberRange(Real, 0, None, closed="left"), StrOptions({"auto", "gap"})],
        "construction": [str, BorderConstruction],
        "normalization": [str, Normalization, None],
        "tol_norm": [StrOptions({"rms", "euclidean"})],
        "products": [StrOptions({"independent", "all"})],
        "generators": [StrOptions({"all", "minimal"})],
        "max_nonvanishing": [NumberRange(Integral, 1, None, closed="left"), None],
        "robust": ["boolean"],
        "reduction": [str, Reduction],
        "output": [StrOptions(set(get_args(Output)))],
        "memory_budget": [NumberRange(Integral, 1, None, closed="left")],
        "callback": [callable, None],
    }

    def __init__(
        self,
        *,
        max_degree: int | None = 2,
        tol: float | Literal["gap", "auto"] = 0.1,
        construction: str | BorderConstruction = "vca",
        normalization: str | Normalization | None = None,
        tol_norm: Literal["rms", "euclidean"] = "rms",
        products: Literal["independent", "all"] = "independent",
        generators: Literal["all", "minimal"] = "all",
        max_nonvanishing: int | None = None,
        robust: bool = False,
        reduction: str | Reduction = "auto",
        output: Output = "abs",
        memory_budget: int = 2**31,
        callback: Callable[[DegreeTrace], object] | None = None,
    ) -> None:
        self.max_degree = max_degree
        self.tol = tol
        self.construction = construction
        self.normalization = normalization
        self.tol_norm = tol_norm
        self.products = products
        self.generators = generators
        self.max_nonvanishing = max_nonvanishing
        self.robust = robust
        self.reduction = reduction
        self.output = output
        self.memory_budget = memory_budget
        self.callback = callback

    def fit(
        self, X: Any, y: Any = None, *, contrast: Any = None, sample_weight: Any = None
    ) -> Self:
        """Find the polynomials that vanish on X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), frame, path, chunks, or SampleSource
            A NumPy array, a memory map, a torch tensor on any device, a pandas or polars frame, a
            Dask array or frame; the path of a Parquet, CSV, .npy or .zarr file, a
            ``pyarrow.dataset.Dataset``, a ``zarr.Array``; a list of 2-D chunks, or a function that
            returns a fresh iterator over chunks.
        y : ignored
        contrast : the same kinds as X, of the same width
            Points on which polynomials get root mean square 1; required by the contrastive
            normalization and refused by the others. It must be in the coordinates of X: see
            "Pipelines" in the page about contrasts. In a cross-validation wrap it with
            ``vanishing.data.as_source``: scikit-learn splits any array that happens to be as
            long as X. It may have weights: ``as_source(Y, weights=...)``.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows of X, in their order, also if X comes in chunks. Means become
            weighted means, so that the scale of the weights does not matter, except with
            ``tol_norm="euclidean"``, which takes sums.

        Returns
        -------
        self
        """
        refuse_points_as_y(self, X, y)
        return self.fit_part(X, contrast, sample_weight=sample_weight, part=False)

    def fit_part(
        self, X: Any, contrast: Any = None, *, sample_weight: Any = None, part: bool = True
    ) -> Self:
        """Fit; a ``part`` of a larger model without warnings and refusals of this part alone."""
        self._validate_params()
        settings = self._settings()
        check_contrast(settings.normalization, given=contrast is not None)
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        points = add_weights(check_training_source(fitted, X), sample_weight)
        other = None if contrast is None else check_contrast_source(fitted, contrast)
        doubts = [] if part else [*list_raw_contrast(points, other)]
        if self.robust:
            fitted.inlier_mask_, points = leave_out_outliers(points, self.max_degree)
        found, fitted.noise_ = self._construct(points, other, settings)
        if not part:
            if other is not None:
                check_discriminates(
                    found.basis, found.trace, found.order_ideal, settings.memory_budget
                )
            if self.tol != 0:  # which is exact algebra on purpose
                doubts += list_interpolation(found, points)
            doubts += list_doubts(found, settings.reduction)
        for warning in [*doubts, *list_left_out(found, settings.memory_budget)]:
            warnings.warn(warning, stacklevel=3)
        fitted.__dict__.pop("_seen", None)
        fitted.adopt(found)
        take_over(self, fitted)
        return self

    def adopt(self, found: Construction) -> Self:
        """Take over polynomials that were constructed elsewhere, as if they were fitted."""
        self.n_features_in_ = found.basis.n_features
        self.basis_ = found.basis
        self.order_ideal_ = found.order_ideal
        self.trace_ = found.trace
        self.stop_reason_ = found.stop_reason
        return self

    def restrict(self, kept: BoolArray) -> Self:
        """Return a fitted copy with some of the vanishing polynomials.

        Parameters
        ----------
        kept : bool array of shape (n_vanishing,)

        Returns
        -------
        VanishingIdeal
        """
        restricted = copy(self)
        restricted.basis_ = self.basis_.restrict(kept)
        if self.order_ideal_ is not None:
            restricted.order_ideal_ = replace(
                self.order_ideal_, leading_terms=self.order_ideal_.leading_terms[kept]
            )
        return restricted

    def partial_fit(
        self, X: Any, y: Any = None, *, contrast: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add rows to those of earlier calls, and find the polynomials that vanish on all of them.

        Rows are kept as long as there are at most twice as many as monomials of degree at most
        ``max_degree``. After that only the R factor of these monomials is kept, which must fit into
        the memory budget. The result is that of one ``fit`` to all rows, up to rounding, however
        they are divided; the first part may be a single row. A warning is issued if rounding costs
        many digits. Factors are computed by QR whatever ``reduction`` is.

        Parameters
        ----------
        X : as in ``fit``
        y : ignored
        contrast : as in ``fit``, optional after the first call
            Added to the contrast of earlier calls.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        refuse_points_as_y(self, X, y)
        self._validate_params()
        settings = replace(self._settings(), reduction=Tsqr())
        degree = self._degree_to_keep()
        known = self._seen is not None and self._seen.contrast is not None
        check_contrast(settings.normalization, given=contrast is not None, known=known)
        fitted = copy(self)
        if self._seen is None:
            points = check_training_source(fitted, X)
        else:
            points = as_source(check_new_points(fitted, X))
        points = add_weights(points, sample_weight)
        other = None if contrast is None else check_contrast_source(fitted, contrast)
        seen = Seen.update(self._seen, points, other, degree, self.memory_budget)
        on_contrast = None
        if self.needs_contrast and seen.contrast is not None:
            on_contrast = seen.contrast.source("contrast")
        # More rows are to come: too few of them, or a contrast that is too near, are not reported.
        found, _ = self._construct(seen.points.source("X"), on_contrast, settings, seen.ranges)
        for warning in list_left_out(found, settings.memory_budget):
            warnings.warn(warning, stacklevel=2)
        fitted.__dict__["_seen"] = seen
        fitted.adopt(found)
        take_over(self, fitted)
        return self

    def _degree_to_keep(self) -> int:
        """Return the degree of the monomials to keep; raise if earlier rows lack some."""
        seen = self._seen
        if self.max_degree is None:
            raise ValueError(
                "partial_fit keeps the monomials up to max_degree, which is None; set max_degree"
            )
        if self.robust:
            raise ValueError(
                "robust=True looks at all rows at once, and partial_fit keeps none; use fit, which "
                "reads files and chunks too, or set robust=False"
            )
        if self.tol == "auto":
            raise ValueError(
                "tol='auto' looks at one degree more than max_degree, and partial_fit keeps no "
                "rows; use fit, which reads files and chunks too, or give tol as a number"
            )
        if seen is None:
            if hasattr(self, "basis_"):
                warnings.warn(
                    "partial_fit starts from scratch: it can only continue earlier calls of "
                    "partial_fit, but this model was fitted with fit, which keeps no rows",
                    UserWarning,
                    stacklevel=3,
                )
            return int(self.max_degree)
        if self.max_degree > seen.points.degree:
            raise ValueError(
                f"max_degree was raised to {self.max_degree}, but partial_fit has kept monomials "
                f"of degree at most {seen.points.degree}, and the rows are gone; start with a new "
                f"model, or set max_degree={seen.points.degree}"
            )
        return seen.points.degree

    def _construct(
        self,
        points: SampleSource,
        contrast: SampleSource | None,
        settings: VcaSettings | BorderSettings,
        ranges: FloatArray | None = None,
    ) -> tuple[Construction, Noise | None]:
        """Run the construction, with the noise of X as its tolerance if that is to be found."""
        if isinstance(settings, BorderSettings):
            found = construct_border_basis(points, contrast, settings, ranges)
            return self._with_generators(found), None
        noise, corrected = None, None
        if self.tol == "auto":
            noise, moments = find_noise(points, settings)
            settings = replace(settings, tol=noise)
            corrected = None if moments is None else moments.source(points.name)
        found = construct(points, contrast, settings, corrected)
        if corrected is not None:
            found = replace(found, basis=measure_extents(found.basis, points, self.memory_budget))
        return self._with_generators(found), noise

    def _with_generators(self, found: Construction) -> Construction:
        """Leave out equations that follow from others, if that is asked for."""
        if self.generators == "all":
            return found
        from vanishing.algebra.generators import find_minimal_generators  # few fits need it

        kept = find_minimal_generators(found.basis)
        order_ideal = found.order_ideal
        if order_ideal is not None:
            order_ideal = replace(order_ideal, leading_terms=order_ideal.leading_terms[kept])
        return replace(found, basis=found.basis.restrict(kept), order_ideal=order_ideal)

    def _settings(self) -> VcaSettings | BorderSettings:
        construction = resolve_construction(self.construction)
        # Gram matrices that keep half of the digits are enough for border bases with a tolerance.
        is_exact = construction is None or self.tol == 0
        reduction = "tsqr" if self.reduction == "auto" and is_exact else self.reduction
        shared: dict[str, Any] = {
            "paper_norm": self.tol_norm == "euclidean",
            "reduction": resolve_reduction(reduction),
            "memory_budget": self.memory_budget,
            "max_degree": self.max_degree,
            "callback": self.callback,
        }
        if construction is not None:
            return BorderSettings(
                construction=construction,
                normalization=self._border_normalization(construction),
                tol=float(self.tol),
                **shared,
            )
        if self.tol == "auto" and self.tol_norm == "euclidean":
            raise ValueError(
                "tol='auto' finds the noise of a single value, which is a root mean square: choose "
                "tol_norm='rms', or give tol as a number"
            )
        name = "gradient" if self.normalization is None else self.normalization
        return VcaSettings(
            normalization=resolve_normalization(name),
            tol=self.tol if self.tol == "gap" else 0.0 if self.tol == "auto" else float(self.tol),
            products=self.products,
            max_nonvanishing=self.max_nonvanishing,
            **shared,
        )

    def _border_normalization(self, construction: BorderConstruction) -> Normalization | None:
        """Return the normalization of a border basis; refuse settings that it does not use."""
        name = type(construction).__name__
        unused = {
            "products": self.products != "independent",
            "max_nonvanishing": self.max_nonvanishing is not None,
        }
        for parameter, given in unused.items():
            if given:
                raise ValueError(
                    f"{parameter} chooses products of VCA, and {name} goes through the border of "
                    "its order ideal: leave it out, or choose construction='vca'"
                )
        if isinstance(self.tol, str):
            raise ValueError(
                f"tol={self.tol!r} looks at all extents of a degree, but {name} decides for each "
                "term before it knows the next: give tol as a number, or choose construction='vca'"
            )
        chosen = construction.normalization if self.normalization is None else self.normalization
        normalization = None if chosen is None else resolve_normalization(chosen)
        if normalization is not None and normalization.uses_all_products:
            raise ValueError(
                f"the {type(normalization).__name__} normalization measures coefficients on "
                f"products, which {name} does not use: leave it out, or choose another one"
            )
        return normalization

    @property
    def needs_contrast(self) -> bool:
        """Whether ``fit`` needs a contrast."""
        return self.normalization is not None and (
            resolve_normalization(self.normalization).needs_contrast
        )

    @property
    def extents_(self) -> FloatArray:
        """Root mean square on X of each vanishing polynomial."""
        return self.basis_.extents

    @property
    def n_samples_seen_(self) -> float:
        """Number of rows of all calls of ``partial_fit``, or the sum of their weights."""
        if self._seen is None:
            raise AttributeError("n_samples_seen_ exists only after partial_fit")
        return self._seen.points.n_rows

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to X, then transform it, as the steps of a pipeline do.

        A ``NothingVanishesWarning`` says what to do if there is no polynomial to transform X with:
        the next step of a pipeline would complain about missing columns.

        Parameters
        ----------
        X : as in ``fit``
        y : ignored
        **fit_params : dict
            Passed to ``fit``.

        Returns
        -------
        array of shape (n_samples, n_polynomials)
            As ``transform`` returns it.
        """
        values = super().fit_transform(X, y, **fit_params)
        if self.output != "nonvanishing":
            self._warn_of_nothing(stacklevel=4)  # scikit-learn wraps this method
        return values

    def transform(self, X: Any, *, output: Output | None = None) -> Any:
        """Evaluate the vanishing polynomials, or the nonvanishing ones.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or chunks as in ``fit``
        output : {"abs", "signed", "nonvanishing"}, optional
            Instead of the estimator's own ``output``.

        Returns
        -------
        array of shape (n_samples, n_polynomials)
            In the array library, precision and device of X, lazy for a Dask array. For chunks and
            files, a source whose blocks are computed when they are needed; ``vanishing.data.write``
            writes it to a file. Far from the data, values that overflow are infinite or NaN, and
            an ``OverflowWarning`` says so.
        """
        check_is_fitted(self)
        output = self.output if output is None else output
        if output not in get_args(Output):
            raise ValueError(f"output must be 'abs', 'signed' or 'nonvanishing', got {output!r}")

        refuse_frames_of_chunks(self, X)
        if "nonvanishing" in {output, self.output} and output != self.output:
            refuse_other_columns(self, "output")
        points = check_new_points(self, X)
        # The basis alone: the function may travel to the workers of a cluster.
        features = partial(evaluate_features, [self.basis_], output)
        return (
            points.map_rows(features, self._degrees(output).size)
            if is_chunked(X)
            else features(points)
        )

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return names such as "g2_0": the first vanishing polynomial of degree 2.

        Those of nonvanishing polynomials begin with an f.

        Parameters
        ----------
        input_features : sequence of str, optional
            Must be the names of X's columns, if given.

        Returns
        -------
        array of str
            One name for each column of ``transform``.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        letter = "f" if self.output == "nonvanishing" else "g"
        degrees = self._degrees(self.output).tolist()
        names = [f"{letter}{d}_{i - degrees.index(d)}" for i, d in enumerate(degrees)]
        return np.asarray(names, dtype=object)

    def _degrees(self, output: Output) -> IntArray:
        """Return the degree of each column of ``transform``."""
        if output == "nonvanishing":
            return self.basis_.degrees(which="nonvanishing")[1:]
        return self.basis_.degrees()

    def to_sympy(self, feature_names: Any = None, *, preprocessor: Any = None) -> list[Any]:
        """Return the vanishing polynomials as SymPy expressions in the features' names.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default the column names of X, or x0, x1, ...
        preprocessor : transformer, optional
            Preprocessing applied before the fit. The equations are in the variables before it. See
            ``vanishing.equations.to_sympy``.

        Returns
        -------
        list of sympy.Expr
            In the order of ``transform``'s columns.
        """
        check_is_fitted(self)
        self._warn_of_nothing()
        return export.to_sympy(self, feature_names, preprocessor=preprocessor)

    def to_latex(
        self, feature_names: Any = None, *, preprocessor: Any = None, digits: int = 4
    ) -> list[str]:
        """Return the vanishing polynomials as LaTeX.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default the column names of X, or x0, x1, ...
        preprocessor : transformer, optional
            Preprocessing applied before the fit. The equations are in the variables before it.
        digits : int
            Significant digits of the coefficients, more where fewer would make an equation wrong
            on the data. See ``vanishing.equations.to_latex``.

        Returns
        -------
        list of str
            In the order of ``transform``'s columns.
        """
        check_is_fitted(self)
        self._warn_of_nothing()
        return export.to_latex(self, feature_names, preprocessor=preprocessor, digits=digits)

    def to_rational(
        self,
        points: Any,
        feature_names: Any = None,
        *,
        preprocessor: Any = None,
        denominator: int = 1,
        modulo: Sequence[Any] = (),
        minimal: bool = False,
    ) -> list[Any]:
        """Return equations with integer coefficients, proved to vanish on rational points.

        For exact relations, found with ``tol=0``. See ``vanishing.equations.to_rational``.

        Parameters
        ----------
        points : array of shape (n_samples, n_features)
            The points of the fit, before any preprocessor, exact: fractions, integers, or floats
            taken literally.
        feature_names : sequence of str, optional
            By default the column names of X, or x0, x1, ...
        preprocessor : transformer, optional
            Preprocessing applied before the fit. The equations are in the points before it.
        denominator : int
            Of all coordinates: the points are ``points / denominator``.
        modulo : sequence of sympy.Poly
            Polynomials whose multiples may be added at will.
        minimal : bool
            Whether to leave out equations that follow from the others.

        Returns
        -------
        list of sympy.Poly
        """
        return export.to_rational(
            self,
            points,
            feature_names,
            preprocessor=preprocessor,
            denominator=denominator,
            modulo=modulo,
            minimal=minimal,
        )

    def onnx_outputs(self, graph: "Graph", x: "Value") -> "list[GraphOutput]":
        """Add the output of ``transform`` and the values of its polynomials to an ONNX graph."""
        from vanishing.equations.onnx import transformer_outputs  # a fit needs none of it

        return transformer_outputs([self.basis_], self.output, graph, x)

    def _warn_of_nothing(self, stacklevel: int = 3) -> None:
        """Tell those who ask for equations that there are none, and what would give some."""
        if not self.basis_.count():
            warnings.warn(describe_nothing(self), NothingVanishesWarning, stacklevel=stacklevel)

    def __str__(self) -> str:
        if not hasattr(self, "basis_"):
            return repr(self)
        if not self.basis_.count():
            return f"{self!r}: {describe_nothing(self)}"
        from vanishing.equations.simplification import print_text  # a fit needs none of it

        n_found, n_features = self.basis_.count(), self.n_features_in_
        equations = "1 equation" if n_found == 1 else f"{n_found} equations"
        variables = "1 variable" if n_features == 1 else f"{n_features} variables"
        lines = print_text(self.basis_, get_feature_names(self), self)
        return f"{self!r}: {equations} in {variables}\n{lines}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # Notebooks show scikit-learn's diagram, and the equations below it. With
    # ``sklearn.set_config(display="text")`` there is nothing but text, as for any estimator.

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()
        return diagram + self._equations_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._equations_html()
        if (latex := self._repr_latex_()) is not None:
            bundle["text/latex"] = latex
        return bundle

    def _repr_latex_(self) -> str | None:
        if not hasattr(self, "basis_") or get_config()["display"] != "diagram":
            return None
        from vanishing.equations.simplification import notebook_latex  # a fit needs none of it

        return notebook_latex(self.basis_, get_feature_names(self), self)

    def _equations_html(self) -> str:
        if not hasattr(self, "basis_"):
            return ""
        from vanishing.equations.mathml import notebook_html

        return notebook_html(self.basis_, get_feature_names(self), self)


# --- The algorithm under its name in the paper ----------------------------------------------------


def vca(X: Any, Y: Any = None, *, tol: float = 0.1, max_degree: int | None = 2) -> VanishingIdeal:
    """Run VCA(X, Y) of the paper: polynomials that vanish on X and have size 1 on Y.

    Short for ``VanishingIdeal(normalization="contrastive", ...).fit(X, contrast=Y)``. Without Y it
    is VCA(X), vanishing component analysis as first published (``normalization="vca"``).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The points on which the polynomials vanish, or anything else that ``VanishingIdeal.fit``
        takes.
    Y : array of shape (n_contrast, n_features), optional
        The points on which the polynomials have root mean square 1.
    tol : float
        A polynomial vanishes if its root mean square on X is at most this. The paper bounds the
        Euclidean norm of its values by ε: ``tol`` is ε/√N for N points.
    max_degree : int or None
        Largest degree. None continues until no nonvanishing polynomial is left, as in the paper.

    Returns
    -------
    VanishingIdeal
        Fitted. G is ``ideal.basis_``, F its nonvanishing polynomials, abs(g(x)) is
        ``ideal.transform(x)``, and ``print(ideal)`` shows the equations.

    See Also
    --------
    vanishing.VanishingIdeal : All options, as an estimator for pipelines and cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import vca
    >>> angle = np.linspace(-1, 1, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])  # an arc of the unit circle
    >>> Y = np.random.default_rng(0).normal(size=(500, 2))
    >>> ideal = vca(X, Y, tol=0.001)
    >>> ideal.transform([[0.6, 0.8], [0.5, 0.5]]).round(3)  # on the circle, and off it
    array([[0.   ],
           [0.226]])
    """
    normalization = "vca" if Y is None else "contrastive"
    ideal = VanishingIdeal(max_degree=max_degree, tol=tol, normalization=normalization)
    return ideal.fit_part(X, Y, part=False)  # as fit does, so that warnings point at the caller


# --- Parameters of an ideal that is a parameter itself, such as ``ideal__tol`` --------------------


class HasIdeal:
    """Mixin of estimators that set ``ideal__tol`` on a default where ``ideal`` is None."""

    ideal: VanishingIdeal | None

    def _default_ideal(self) -> VanishingIdeal:
        """Return a new copy of the ideal that None stands for."""
        raise NotImplementedError

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the ideal such as ``ideal__tol`` on a default if it is None."""
        nested = [name for name in params if name.startswith("ideal__")]
        if nested and params.get("ideal", self.ideal) is None:
            params = {"ideal": self._default_ideal()} | {
                name: value for name, value in params.items() if name != "ideal"
            }
        result: Self = super().set_params(**params)  # type: ignore[misc]
        return result
