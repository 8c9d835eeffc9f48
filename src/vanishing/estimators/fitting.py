"""What surrounds the construction in a fit: settings, refusals and warnings."""

import warnings
from typing import Any

from vanishing.construction import Construction, DegreeTrace
from vanishing.construction.candidates import choose_candidates
from vanishing.construction.step import Settings
from vanishing.estimators.inputs import contrast_source
from vanishing.normalizations import Normalization, resolve_normalization
from vanishing.polynomials import PolynomialBasis
from vanishing.polynomials.memory import as_text
from vanishing.reductions import resolve_reduction
from vanishing.samples import SampleSource, WeightedSource


class ContrastError(ValueError):
    """All that vanishes on X vanishes on the contrast too."""


class UndecidedWarning(UserWarning):
    """Rounding errors hide whether a polynomial vanishes."""


class InterpolationWarning(UserWarning):
    """Equations hold because there are too few rows for anything else, not because of the data."""


def settings_of(ideal: Any) -> Settings:
    """Return the parameters of an ideal that the construction is governed by."""
    return Settings(
        normalization=resolve_normalization(ideal.normalization),
        tol=ideal.tol if ideal.tol == "gap" else float(ideal.tol),
        paper_norm=ideal.tol_norm == "euclidean",
        products=ideal.products,
        max_nonvanishing=ideal.max_nonvanishing,
        reduction=resolve_reduction(ideal.reduction),
        memory_budget=ideal.memory_budget,
    )


def contrast_for(ideal: Any, contrast: Any) -> SampleSource | None:
    """Check the contrasting set against the columns of X, and wrap it."""
    if contrast is None:
        return None
    names = getattr(ideal, "feature_names_in_", None)
    return contrast_source(contrast, n_features=ideal.n_features_in_, feature_names=names)


def check_contrast(normalization: Normalization, *, given: bool, known: bool = False) -> None:
    """Refuse a contrast that is not used, and the lack of one that is.

    Parameters
    ----------
    normalization : Normalization
    given : bool
        Whether a contrast was passed.
    known : bool
        Whether there is one from earlier parts.
    """
    name = type(normalization).__name__
    if normalization.needs_contrast and not (given or known):
        raise ValueError(
            f"the {name} normalization measures polynomials on a second set of points: pass "
            "fit(X, contrast=Y), or choose normalization='gradient', which needs none"
        )
    if not normalization.needs_contrast and given:
        raise ValueError(
            f"a contrast was passed, but the {name} normalization does not use one: leave it out, "
            "or choose normalization='contrastive'"
        )


def check_discriminates(
    basis: PolynomialBasis, trace: tuple[DegreeTrace, ...], settings: Settings
) -> None:
    """Refuse a contrast on which all that vanishes on X vanishes too."""
    if basis.count("vanishing") or not any(step.dropped for step in trace):
        return
    if any(step.undecided for step in trace):
        return  # rounding errors hide what there is to be told apart
    lost = []
    for step in trace:
        # Among all products repeats are dropped too: those are no relations of the data.
        blocks = basis.blocks[: step.degree - 1]
        distinct = choose_candidates(
            basis.n_features,
            blocks,
            products="independent",
            uses_all_products=False,
            memory_budget=settings.memory_budget,
        )
        n_lost = len(distinct.left) - step.vanishing - step.nonvanishing - step.cut - step.undecided
        if n_lost > 0:
            lost.append((step.degree, n_lost))
    if lost:
        counts = ", ".join(f"{dropped} of degree {degree}" for degree, dropped in lost)
        raise ContrastError(
            f"every polynomial that vanishes on X also vanishes on the contrast ({counts}): the "
            "contrast lies inside the variety of X, so nothing tells the two apart; choose a "
            "contrast that breaks the relations of X, or raise tol or max_degree"
        )


def warn_of_undecided(found: Construction) -> None:
    """Say where rounding errors do not let the construction decide."""
    undecided = [(step.degree, step.undecided) for step in found.trace if step.undecided]
    if undecided:
        counts = ", ".join(f"{number} of degree {degree}" for degree, number in undecided)
        stopped = "; the fit stopped there" if found.stop_reason == "undecided" else ""
        warnings.warn(
            f"rounding errors hide whether some polynomials vanish ({counts}): they count neither "
            f"as equations nor as nonvanishing{stopped}. Centre and scale the columns of X, lower "
            "max_degree, use more distinct contrast points, or set tol above the rounding errors",
            UndecidedWarning,
            stacklevel=5,
        )


def warn_of_left_out(found: Construction, memory_budget: int) -> None:
    """Say where the memory budget cut off products."""
    left_out = [(step.degree, step.left_out) for step in found.trace if step.left_out]
    if left_out:
        counts = ", ".join(f"{number} at degree {degree}" for degree, number in left_out)
        warnings.warn(
            f"the memory budget of {as_text(memory_budget)} left out products of the "
            f"nonvanishing polynomials of smallest extent ({counts}); raise memory_budget, or set "
            "max_nonvanishing to choose the cap yourself",
            UserWarning,
            stacklevel=5,
        )


def warn_of_interpolation(found: Construction, settings: Settings, points: SampleSource) -> None:
    """Say where equations within a tolerance hold on any rows, so few are there.

    With ``tol=0`` that is wanted: it is exact algebra.
    """
    if settings.tol == 0:
        return
    # A weight makes no more rows of one.
    n_rows = found.state.n_rows
    if isinstance(points, WeightedSource):
        n_rows = points.n_counted
    elif points.weighted:
        n_rows = points.n_samples
    for step in found.trace:
        if step.vanishing and step.rank >= n_rows:
            warnings.warn(
                f"at degree {step.degree} equations are sought among {step.candidates} "
                f"products, but X has only {n_rows:g} rows: some are found whatever the data is, "
                "and need not hold on other rows; fit more rows, reduce the number of features "
                "(for instance by PCA), lower max_degree, or set tol=0 if the points are exact",
                InterpolationWarning,
                stacklevel=5,
            )
            return
