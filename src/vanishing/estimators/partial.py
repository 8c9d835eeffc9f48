"""Fitting to data that keeps arriving."""

import warnings
from dataclasses import replace
from typing import Any, Self

from vanishing.estimators.fitting import check_contrast, contrast_for, settings_of
from vanishing.estimators.inputs import fit_source, new_points, take_over
from vanishing.normalizations.moments import Seen, as_source_of_fit
from vanishing.reductions import Tsqr
from vanishing.samples import as_source
from vanishing.samples.weighted import with_weights


class PartialFit:
    """Mixin of ``VanishingIdeal``: the method ``partial_fit``."""

    def partial_fit(
        self, X: Any, y: Any = None, *, contrast: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add rows to those of earlier calls, and find the polynomials that vanish on all of them.

        Up to twice as many rows are kept as there are monomials of degree at most ``max_degree``.
        Of more rows only the R factor of these monomials is kept, whose number must fit the memory
        budget. The outcome is that of one ``fit`` to all rows, up to rounding, whatever the parts
        are: the first one may be a single row. Where rounding costs many digits a warning says so.
        Factors are made by QR whatever ``reduction`` says.

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
        _add_rows(self, X, contrast, sample_weight)
        return self


def _add_rows(ideal: Any, X: Any, contrast: Any, sample_weight: Any) -> None:
    ideal._validate_params()
    settings = settings_of(ideal)
    seen: Seen | None = getattr(ideal, "_seen", None)
    degree = _degree_to_keep(ideal, seen)
    known = seen is not None and seen.contrast is not None
    check_contrast(settings.normalization, given=contrast is not None, known=known)
    fitted = ideal._without("_progress")
    points = fit_source(fitted, X) if seen is None else as_source(new_points(fitted, X))
    points = with_weights(points, sample_weight)
    other = contrast_for(fitted, contrast)
    seen = Seen.after(seen, points, other, degree, ideal.memory_budget)
    fitted._seen = seen
    fitted.n_samples_seen_ = seen.points.n_rows
    on_contrast = None
    if settings.normalization.needs_contrast and seen.contrast is not None:
        on_contrast = as_source_of_fit(seen.contrast, "contrast")
    settings = replace(settings, reduction=Tsqr())
    # Rows are still to come: that these are few, or that nothing tells them from the contrast, is
    # no reason to refuse them.
    on_points = as_source_of_fit(seen.points, "X")
    fitted._construct(on_points, on_contrast, settings, by_itself=False)
    take_over(ideal, fitted)


def _degree_to_keep(ideal: Any, seen: Seen | None) -> int:
    """Return the degree of the monomials to keep, or raise if those of earlier rows are gone."""
    if ideal.max_degree is None:
        raise ValueError(
            "partial_fit keeps the monomials up to max_degree, which is None; set max_degree"
        )
    if seen is None and hasattr(ideal, "basis_"):
        warnings.warn(
            "partial_fit begins anew: it goes on from earlier calls of partial_fit only, and this "
            "model was fitted by fit, which keeps nothing of its rows",
            UserWarning,
            stacklevel=4,
        )
    if seen is not None and ideal.max_degree > seen.points.degree:
        raise ValueError(
            f"max_degree was raised to {ideal.max_degree}, but partial_fit has kept monomials of "
            f"degree at most {seen.points.degree}, and the rows are gone; begin with a new model, "
            f"or set max_degree={seen.points.degree}"
        )
    return int(ideal.max_degree) if seen is None else seen.points.degree
