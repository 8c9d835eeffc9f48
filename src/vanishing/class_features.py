"""ClassVanishingFeatures: one ideal for each class, their values as features."""

import warnings
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from vanishing.arrays.blocks import limit_jobs
from vanishing.data.inputs import (
    N_JOBS,
    check_new_points,
    is_chunked,
    label_error,
    take_over,
    validate_table,
)
from vanishing.data.source import ArraySource, ConcatenatedSource, add_weights, check_weights
from vanishing.ideal import (
    ContrastError,
    HasIdeal,
    NothingVanishesWarning,
    VanishingIdeal,
    check_discriminates,
    describe_nothing,
    evaluate_features,
    find_smallest_extent,
)
from vanishing.polynomials.monomials import count
from vanishing.saving import Saveable

if TYPE_CHECKING:
    from vanishing.equations.onnx import Graph, Output, Value


class ClassVanishingFeatures(HasIdeal, Saveable, TransformerMixin, BaseEstimator):
    """Absolute values of polynomials that vanish on each class in turn.

    An ideal is fitted to the samples of each class; with the contrastive normalization the samples
    of all other classes are the contrast. The features abs(g(x)) are small on the class of g and
    large on the others, so that a linear classifier on all of them separates classes that
    polynomials separate (Livni et al., 2013). A class on which no polynomial vanishes gives no
    features (``len(ideals_[i].extents_)`` is 0); those of the others may still tell it apart. If
    no class has any, raise ``tol`` or ``max_degree`` of the ideal.

    Parameters
    ----------
    ideal : VanishingIdeal or None, default=None
        The estimator fitted to each class. None stands for
        ``VanishingIdeal(max_degree=2, tol=0.3, normalization="contrastive")``, or the same with
        ``max_degree=1`` if a class has fewer than two rows for each term up to degree 2.
    n_jobs : int or None, default=None
        Number of classes fitted at a time, as in joblib.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    ideals_ : list of VanishingIdeal
        One per class.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if X has column names.

    See Also
    --------
    vanishing.VanishingIdeal : The equations of one set of points.

    Notes
    -----
    A polynomial with as many terms as a class has rows passes through all of them, and says nothing
    about new rows of the class: its feature is 0 on the training rows only. That is why the default
    ideal is linear for tables with many columns and few rows. For higher degrees reduce the columns
    first, for instance by ``PCA``.

    The columns need no scaling: the contrastive normalization does not depend on their units.

    A grid search may set parameters of the default ideal, such as ``ideal__tol``. They are set on
    the one of degree 2; include ``ideal__max_degree`` in the search if there are many columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> from vanishing import ClassVanishingFeatures
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ClassVanishingFeatures(), LinearSVC())
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """

    # What a fit leaves, and model files keep (``saving.py``).
    n_features_in_: int
    classes_: Annotated[npt.NDArray[np.generic], "ideals_"]
    ideals_: list[VanishingIdeal]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ideal": [VanishingIdeal, None],
        "n_jobs": N_JOBS,
    }

    def __init__(self, ideal: VanishingIdeal | None = None, *, n_jobs: int | None = None) -> None:
        self.ideal = ideal
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Fit one ideal to each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, in their own class and in the contrast of the others.

        Returns
        -------
        self
        """
        self._validate_params()
        if is_chunked(X):
            raise TypeError(
                "ClassVanishingFeatures needs X as one array beside y, got rows in chunks or files "
                f"({type(X).__name__}); read them first, or fit a VanishingIdeal to each class"
            )
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        X, y = validate_table(fitted, X, y=y)
        check_classification_targets(y)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, "X", len(X))
            positive = weights > 0  # a class whose rows all have weight 0 is none
            X, y, weights = X[positive], y[positive], weights[positive]
        classes, of_class = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only ({classes[0]!r}), but features contrast classes: at least "
                "two are required"
            )
        template = self.ideal
        if template is None:
            template = self._default_ideal()
            # With fewer than two rows for each term, equations may not hold on other rows.
            n_terms = count(X.shape[1], 2)
            if np.bincount(of_class).min() < 2 * n_terms:
                template.set_params(max_degree=1)
        contrastive = template.needs_contrast
        parts = []
        for index in range(len(classes)):
            own = of_class == index
            own_weights = None if weights is None else weights[own]
            parts.append(add_weights(ArraySource(X[own]), own_weights))

        def fit_one(index: int) -> tuple[VanishingIdeal, ContrastError | None]:
            ideal: VanishingIdeal = clone(template)
            others = [part for other, part in enumerate(parts) if other != index]
            contrast = ConcatenatedSource(others) if contrastive else None
            try:
                ideal.fit_part(parts[index], contrast=contrast)
            except (ValueError, MemoryError) as error:
                raise label_error(error, f"the ideal of class {classes[index]} failed") from error
            try:
                if contrastive:
                    check_discriminates(
                        ideal.basis_, ideal.trace_, ideal.order_ideal_, ideal.memory_budget
                    )
            except ContrastError as error:
                # The other classes may have equations of their own.
                return ideal, error
            return ideal, None

        # Threads, since the work is in BLAS and LAPACK, and parts need no copies.
        parallel = Parallel(n_jobs=limit_jobs(self.n_jobs, len(classes)), prefer="threads")
        results = parallel(delayed(fit_one)(index) for index in range(len(classes)))
        fitted.ideals_ = [ideal for ideal, _ in results]
        fitted.classes_ = classes
        errors = {index: error for index, (_, error) in enumerate(results) if error is not None}
        if errors and not any(ideal.basis_.count() for ideal in fitted.ideals_):
            index, first = next(iter(errors.items()))
            raise ContrastError(f"the ideal of class {classes[index]} failed: {first}") from first
        take_over(self, fitted)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to X and y, then transform X, as the steps of a pipeline do.

        A ``NothingVanishesWarning`` says what to do if no class has a polynomial.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        **fit_params : dict
            Passed to ``fit``.

        Returns
        -------
        array of shape (n_samples, n_vanishing of all classes)
        """
        values = super().fit_transform(X, y, **fit_params)
        if not any(len(ideal.get_feature_names_out()) for ideal in self.ideals_):
            nearest = min(self.ideals_, key=find_smallest_extent)
            warnings.warn(
                f"in every class, {describe_nothing(nearest)}; set them on the ideal",
                NothingVanishesWarning,
                stacklevel=3,  # scikit-learn wraps this method
            )
        return values

    def transform(self, X: Any) -> Any:
        """Evaluate the vanishing polynomials of all classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a path, chunks or a Dask array
            As for ``VanishingIdeal.transform``.

        Returns
        -------
        array of shape (n_samples, n_vanishing of all classes)
            Lazy, as that of ``VanishingIdeal.transform``, where X comes in chunks.
        """
        check_is_fitted(self)
        # Not their ``transform``, which gives frames where scikit-learn is told to: one without
        # columns does not know its rows. All ideals are copies of one, and return the same.
        bases, output = [ideal.basis_ for ideal in self.ideals_], self.ideals_[0].output
        features = partial(evaluate_features, bases, output)
        if is_chunked(X):
            return check_new_points(self, X).map_rows(features, len(self.get_feature_names_out()))
        return features(validate_table(self, X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return names such as "3_g2_0": the first polynomial of degree 2 of class 3.

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
        names = [
            f"{label}_{name}"
            for label, ideal in zip(self.classes_, self.ideals_, strict=True)
            for name in ideal.get_feature_names_out()
        ]
        return np.asarray(names, dtype=object)

    def _default_ideal(self) -> VanishingIdeal:
        return VanishingIdeal(max_degree=2, tol=0.3, normalization="contrastive")

    def onnx_outputs(self, graph: "Graph", x: "Value") -> "list[Output]":
        """Add the output of ``transform`` and the signed polynomials to an ONNX graph."""
        from vanishing.equations.onnx import transformer_outputs  # a fit needs none of it

        bases = [ideal.basis_ for ideal in self.ideals_]
        # All ideals are copies of one, and so agree on what they return.
        return transformer_outputs(bases, self.ideals_[0].output, graph, x)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = True
        return tags
