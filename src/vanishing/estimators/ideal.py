"""VanishingIdeal: the algorithm as a scikit-learn transformer."""

import warnings
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
from vanishing.construction import Construction, DegreeTrace, construct
from vanishing.construction.candidates import choose_candidates
from vanishing.construction.step import Settings
from vanishing.estimators.inputs import contrast_source, fit_source, new_points, take_over
from vanishing.estimators.notebook import EquationsInNotebooks
from vanishing.estimators.saving import Saveable
from vanishing.estimators.writing import WritesFeatures
from vanishing.normalizations import Normalization, resolve_normalization
from vanishing.polynomials.memory import as_text
from vanishing.reductions import Reduction, resolve_reduction
from vanishing.samples.coerce import is_chunked
from vanishing.samples.compose import lazily


class ContrastError(ValueError):
    """All that vanishes on X vanishes on the contrast too."""


class VanishingIdeal(
    EquationsInNotebooks, Saveable, WritesFeatures, TransformerMixin, BaseEstimator
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

    Attributes
    ----------
    basis_ : PolynomialBasis
        The polynomials; ``basis_.evaluate``, ``basis_.jacobian``, ``basis_.expand``.
    extents_ : array of shape (n_vanishing,)
        Root mean square on X of each vanishing polynomial, in the order of ``transform``'s columns.
    trace_ : tuple of DegreeTrace
        An account of every degree.
    stop_reason_ : {"exhausted", "max_degree"}
        Why the loop ended: nothing nonvanishing was left, or the bound on the degree was hit.
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

    def fit(self, X: Any, y: Any = None, *, contrast: Any = None) -> Self:
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
            long as X.

        Returns
        -------
        self
        """
        return self._fit(X, contrast, require_discrimination=True)

    def _fit(self, X: Any, contrast: Any, *, require_discrimination: bool) -> Self:
        """Fit; a contrast inside the variety of X is an error, or gives no polynomial."""
        self._validate_params()
        normalization = resolve_normalization(self.normalization)
        _check_contrast(normalization, contrast)
        settings = Settings(
            normalization=normalization,
            tol=self.tol if self.tol == "gap" else float(self.tol),
            paper_norm=self.tol_norm == "euclidean",
            products=self.products,
            max_nonvanishing=self.max_nonvanishing,
            reduction=resolve_reduction(self.reduction),
            memory_budget=self.memory_budget,
        )
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        points = fit_source(fitted, X)
        other = None
        if contrast is not None:
            names = getattr(fitted, "feature_names_in_", None)
            other = contrast_source(contrast, n_features=points.n_features, feature_names=names)
        found = construct(
            points, other, settings, max_degree=self.max_degree, callback=self.callback
        )
        if contrast is not None and require_discrimination:
            _check_discriminates(found, settings)
        _warn_of_left_out(found, self.memory_budget)
        fitted.basis_ = found.basis
        fitted.extents_ = found.basis.extents
        fitted.trace_ = found.trace
        fitted.stop_reason_ = found.stop_reason
        take_over(self, fitted)
        return self

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


def _check_contrast(normalization: Normalization, contrast: Any) -> None:
    name = type(normalization).__name__
    if normalization.needs_contrast and contrast is None:
        raise ValueError(
            f"the {name} normalization measures polynomials on a second set of points: pass "
            "fit(X, contrast=Y), or choose normalization='gradient', which needs none"
        )
    if not normalization.needs_contrast and contrast is not None:
        raise ValueError(
            f"a contrast was passed, but the {name} normalization does not use one: leave it out, "
            "or choose normalization='contrastive'"
        )


def _check_discriminates(found: Construction, settings: Settings) -> None:
    """Refuse a contrast on which all that vanishes on X vanishes too."""
    if found.basis.count("vanishing") or not any(step.dropped for step in found.trace):
        return
    lost = []
    for step in found.trace:
        # Among all products repeats are dropped too: those are no relations of the data.
        blocks = found.basis.blocks[: step.degree - 1]
        distinct = choose_candidates(
            found.basis.n_features,
            blocks,
            products="independent",
            uses_all_products=False,
            memory_budget=settings.memory_budget,
        )
        n_lost = len(distinct.left) - step.vanishing - step.nonvanishing - step.cut
        if n_lost > 0:
            lost.append((step.degree, n_lost))
    if lost:
        counts = ", ".join(f"{dropped} of degree {degree}" for degree, dropped in lost)
        raise ContrastError(
            f"every polynomial that vanishes on X also vanishes on the contrast ({counts}): the "
            "contrast lies inside the variety of X, so nothing tells the two apart; choose a "
            "contrast that breaks the relations of X, or raise tol or max_degree"
        )


def _warn_of_left_out(found: Construction, memory_budget: int) -> None:
    left_out = [(step.degree, step.left_out) for step in found.trace if step.left_out]
    if left_out:
        counts = ", ".join(f"{number} at degree {degree}" for degree, number in left_out)
        warnings.warn(
            f"the memory budget of {as_text(memory_budget)} left out products of the "
            f"nonvanishing polynomials of smallest extent ({counts}); raise memory_budget, or set "
            "max_nonvanishing to choose the cap yourself",
            UserWarning,
            stacklevel=4,
        )
