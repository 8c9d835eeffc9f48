"""VanishingIdeal: the algorithm as a scikit-learn transformer."""

from collections.abc import Callable, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from vanishing import export
from vanishing._xp import Array, namespace
from vanishing.construction import DegreeTrace, construct
from vanishing.construction.step import Settings, State
from vanishing.construction.warm import Progress
from vanishing.estimators.fitting import (
    ContrastError,
    check_contrast,
    check_discriminates,
    contrast_for,
    settings_of,
    warn_of_interpolation,
    warn_of_left_out,
    warn_of_undecided,
)
from vanishing.estimators.inputs import (
    fit_source,
    new_points,
    refuse_frames_of_chunks,
    take_over,
)
from vanishing.estimators.notebook import EquationsInNotebooks
from vanishing.estimators.partial import PartialFit
from vanishing.estimators.saving import Saveable
from vanishing.estimators.writing import WritesFeatures
from vanishing.normalizations import Normalization
from vanishing.reductions import Reduction
from vanishing.samples import SampleSource
from vanishing.samples.coerce import is_chunked
from vanishing.samples.compose import lazily
from vanishing.samples.digest import digest
from vanishing.samples.weighted import with_weights

__all__ = ["ContrastError", "VanishingIdeal"]


class VanishingIdeal(
    EquationsInNotebooks, PartialFit, Saveable, WritesFeatures, TransformerMixin, BaseEstimator
):
    """Polynomial equations that a set of points approximately satisfies.

    The polynomials of each degree are found that are small on X while their size under a
    normalization is 1. With ``normalization="contrastive"`` that size is taken on a second set of
    points, the contrast, so that the equations tell X from it.

    Parameters
    ----------
    max_degree : int or None, default=2
        Largest degree. None goes on until no nonvanishing polynomial is left.
    tol : float or "gap", default=0.1
        A polynomial vanishes if its extent, the root mean square of its values on X, is at most
        this. With the contrastive and the vca normalization extents are pure numbers; with the
        gradient ones they are lengths in the units of X. "gap" splits every degree at the widest
        gap of its extents, if neighbours differ there by a factor of five or more. Rounding errors
        are recognized, so that 0 finds exact relations.
    normalization : str or Normalization, default="gradient"
        "contrastive", "gradient", "gradient-weighted", "coefficient" or "vca".
    tol_norm : {"rms", "euclidean"}, default="rms"
        Whether ``tol`` bounds the root mean square on X, or the Euclidean norm of all values as in
        the paper (which grows with the sample). With "euclidean" the vca normalization is the
        published one: nonvanishing polynomials have Euclidean norm 1 on X and degree 1 is
        measured in the units of X.
    products : {"independent", "all"}, default="independent"
        Whether products that add nothing but lower degrees are left out before they are computed,
        or the paper's full list is used.
    max_nonvanishing : int or None, default=None
        Keep at most this many nonvanishing polynomials per degree, those of largest extent.
        ``trace_`` says how many were cut.
    reduction : {"tsqr", "gram"} or Reduction, default="tsqr"
        How rows are summarized. "gram" is faster, and takes extents below about 1e-7 of the size
        of the candidates (3e-3 in float32) for zero; use it with tolerances well above that.
    output : {"abs", "signed"}, default="abs"
        Whether ``transform`` returns absolute values of the polynomials or the values.
    memory_budget : int, default=2**31
        Bytes that the matrices of one degree may take. Degrees that need more multiply only the
        nonvanishing polynomials of largest extent further (``trace_`` and a warning say how many
        were left out), or are refused with the numbers.
    callback : callable or None, default=None
        Called with the ``DegreeTrace`` of each degree as soon as it is done.
    warm_start : bool, default=False
        Whether a later ``fit`` to the same data takes over the degrees that a change of
        ``max_degree``, ``tol`` or ``max_nonvanishing`` leaves as they are. The outcome is that of
        a fit from scratch, which it is for other data; a digest of the data, one more pass over
        it, tells.

    Attributes
    ----------
    basis_ : PolynomialBasis
        The polynomials; ``basis_.evaluate``, ``basis_.jacobian``, ``basis_.expand``.
    extents_ : array of shape (n_vanishing,)
        Root mean square on X of each vanishing polynomial, in the order of ``transform``'s columns.
    trace_ : tuple of DegreeTrace
        An account of every degree.
    stop_reason_ : {"exhausted", "max_degree", "undecided"}
        Why the loop ended: nothing nonvanishing was left, the bound on the degree was hit, or
        rounding errors left nothing that is known to be nonvanishing.
    n_samples_seen_ : int or float
        After ``partial_fit``: the number of rows so far, or the sum of their weights.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if X has column names.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_degree": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left"), StrOptions({"gap"})],
        "normalization": [str, Normalization],
        "tol_norm": [StrOptions({"rms", "euclidean"})],
        "products": [StrOptions({"independent", "all"})],
        "max_nonvanishing": [Interval(Integral, 1, None, closed="left"), None],
        "reduction": [str, Reduction],
        "output": [StrOptions({"abs", "signed"})],
        "memory_budget": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        max_degree: int | None = 2,
        tol: float | Literal["gap"] = 0.1,
        normalization: str | Normalization = "gradient",
        tol_norm: Literal["rms", "euclidean"] = "rms",
        products: Literal["independent", "all"] = "independent",
        max_nonvanishing: int | None = None,
        reduction: str | Reduction = "tsqr",
        output: Literal["abs", "signed"] = "abs",
        memory_budget: int = 2**31,
        callback: Callable[[DegreeTrace], object] | None = None,
        warm_start: bool = False,
    ) -> None:
        self.max_degree = max_degree
        self.tol = tol
        self.normalization = normalization
        self.tol_norm = tol_norm
        self.products = products
        self.max_nonvanishing = max_nonvanishing
        self.reduction = reduction
        self.output = output
        self.memory_budget = memory_budget
        self.callback = callback
        self.warm_start = warm_start

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
            normalization and refused by the others. In a cross-validation wrap it with
            ``vanishing.samples.as_source``: scikit-learn splits any array that happens to be as
            long as X. Weights of its rows go there, too: ``as_source(Y, weights=...)``.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row of X counts, in the order of the rows, also where X comes in chunks.
            Means become weighted means, so that the scale of the weights does not matter, except
            with ``tol_norm="euclidean"``, which is about sums.

        Returns
        -------
        self
        """
        return self._fit(X, contrast, sample_weight=sample_weight)

    def _fit(
        self,
        X: Any,
        contrast: Any,
        *,
        sample_weight: Any = None,
        by_itself: bool = True,
    ) -> Self:
        """Fit; an ideal that is a part of a larger model takes what comes without complaint."""
        self._validate_params()
        settings = settings_of(self)
        check_contrast(settings.normalization, given=contrast is not None)
        fitted = self._without("_seen", "n_samples_seen_", "_progress")
        points = with_weights(fit_source(fitted, X), sample_weight)
        other = contrast_for(fitted, contrast)
        begun, data = None, ""
        if self.warm_start:
            data = " ".join(digest(source) for source in (points, other) if source is not None)
            if hasattr(self, "_progress"):
                begun = self._progress.resume(
                    self.basis_, self.trace_, settings, data, self.max_degree
                )
        state = fitted._construct(points, other, settings, begun=begun, by_itself=by_itself)
        if self.warm_start:
            fitted._progress = Progress.of(state, settings, data)
        take_over(self, fitted)
        return self

    def _construct(
        self,
        points: SampleSource,
        other: SampleSource | None,
        settings: Settings,
        *,
        begun: tuple[State, tuple[DegreeTrace, ...]] | None = None,
        by_itself: bool = True,
    ) -> State:
        """Run the algorithm and keep what it found."""
        found = construct(
            points,
            other,
            settings,
            max_degree=self.max_degree,
            callback=self.callback,
            begun=begun,
        )
        if by_itself:
            if other is not None:
                check_discriminates(found.basis, found.trace, settings)
            warn_of_interpolation(found, settings, points)
            warn_of_undecided(found)
        warn_of_left_out(found, settings.memory_budget)
        self.basis_ = found.basis
        self.extents_ = found.basis.extents
        self.trace_ = found.trace
        self.stop_reason_ = found.stop_reason
        return found.state

    def _without(self, *names: str) -> Self:
        """Copy, less some fitted attributes: a fit that fails leaves the estimator as it was."""
        fitted = copy(self)
        for name in names:
            fitted.__dict__.pop(name, None)
        return fitted

    def transform(self, X: Any, *, output: Literal["abs", "signed"] | None = None) -> Any:
        """Evaluate the vanishing polynomials.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or chunks as in ``fit``
        output : {"abs", "signed"}, optional
            Instead of the estimator's own ``output``.

        Returns
        -------
        array of shape (n_samples, n_vanishing)
            In the array library, precision and device of X, lazy for a Dask array. For chunks and
            files, a source whose blocks are computed as they are asked for.
        """
        check_is_fitted(self)
        output = self.output if output is None else output
        if output not in ("abs", "signed"):
            raise ValueError(f"output must be 'abs' or 'signed', got {output!r}")

        basis = self.basis_  # alone: the function may travel to the workers of a cluster

        def features(points: Array) -> Array:
            values = basis.evaluate(points)
            return values if output == "signed" else namespace(values).abs(values)

        refuse_frames_of_chunks(self, X)
        points = new_points(self, X)
        return lazily(points, features, basis.count()) if is_chunked(X) else features(points)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return names such as "g2_0": the first vanishing polynomial of degree 2.

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
        degrees = self.basis_.degrees().tolist()
        names = [f"g{d}_{i - degrees.index(d)}" for i, d in enumerate(degrees)]
        return np.asarray(names, dtype=object)

    def to_sympy(self, feature_names: Any = None, *, preprocessor: Any = None) -> list[Any]:
        """Return the vanishing polynomials as SymPy expressions in the features' names.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default the column names of X, or x0, x1, ...
        preprocessor : transformer, optional
            What was applied to the data before: the equations are in the data before it. See
            ``vanishing.export.to_sympy``.

        Returns
        -------
        list of sympy.Expr
            In the order of ``transform``'s columns.
        """
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
            What was applied to the data before: the equations are in the data before it.
        digits : int
            Significant digits of the coefficients.

        Returns
        -------
        list of str
            In the order of ``transform``'s columns.
        """
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

        For exact relations, found with ``tol=0``. See ``vanishing.export.to_rational``.

        Parameters
        ----------
        points : array of shape (n_samples, n_features)
            The points of the fit, before any preprocessor, exact: fractions, integers, or floats
            taken literally.
        feature_names : sequence of str, optional
            By default the column names of X, or x0, x1, ...
        preprocessor : transformer, optional
            What was applied to the points before: the equations are in the points before it.
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
