"""VanishingDetector: anomalies are what breaks the equations of a table."""

from copy import copy
from functools import partial
from numbers import Integral, Real
from types import EllipsisType
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    machine_epsilon,
    move_to_numpy,
    namespace,
)
from vanishing.construction.normalizations import resolve_normalization
from vanishing.contrasts import Contrast, Permuted
from vanishing.data.inputs import check_new_table, take_over, too_large
from vanishing.data.source import MappedSource, SampleSource
from vanishing.detectors.base import Detector, drawn_rows, moments
from vanishing.detectors.clusters import cluster
from vanishing.detectors.recipe import CONTRAST_ROWS, Member, fit_members
from vanishing.detectors.residuals import LocalResiduals, check_vanishing, fit_residuals
from vanishing.detectors.sample_weights import drawn, some
from vanishing.detectors.threshold import Scored, last_digits_moved, on_unseen_rows
from vanishing.detectors.views import LocalView, NormView
from vanishing.explain.attribution import Landscape
from vanishing.ideal import VanishingIdeal

# --- Fitting one ideal of a vanishing detector to rows that are too many to be held at once -------


def check_streams(detector: "VanishingDetector") -> None:
    """Raise if a detector is set to something that needs all rows at once."""
    needs = (
        (detector.ideal is None, "the recipe, which is used without an ideal,"),
        (detector.n_components > 1, f"n_components={detector.n_components}"),
        (detector.calibration is not None, f"calibration={detector.calibration}"),
    )
    for present, what in needs:
        if present:
            raise ValueError(
                f"{too_large(what)}; or fit one ideal, which passes over X, as "
                "VanishingDetector(VanishingIdeal(normalization='contrastive'))"
            )


def fit_streamed(
    detector: "VanishingDetector", source: SampleSource, smallest_scale: float
) -> None:
    """Set what ``_fit_ideal`` of a detector sets, by passes over the rows."""
    detector._form = "single"
    ideal: VanishingIdeal = clone(detector.ideal)
    contrast = None
    if resolve_normalization(ideal.normalization).needs_contrast:
        contrast = detector._contrast_of(drawn_rows(source, seed=detector.random_state))
    ideal.fit_part(source, contrast=contrast)
    check_vanishing(ideal)
    values = moments(MappedSource(source, ideal.basis_.evaluate))
    scale = np.sqrt(values.variance + smallest_scale**2)
    detector._residuals = LocalResiduals([ideal], [values.mean], [scale])
    detector.chosen_ = [f"1 x {clone(ideal)}"]


# --- VanishingDetector: a detector for tables, with a recipe of its own or any single ideal -------

#: Floor of the spread of a polynomial of a single ideal.
SMALLEST_SCALE = 1e-9
#: A broken constant column counts like a residual e^10 times the usual one.
BROKEN_CONSTANT = 10.0
#: Difference from a constant, relative to one plus its size, that is taken for rounding.
SAME = 1e-9


class VanishingDetector(Detector):
    """Anomaly detector that scores how badly a sample breaks the equations of normal data.

    With an ``ideal`` it is one model, with score ‖G(x)‖: with the vca or gradient normalization
    these are the paper's baselines, with the contrastive one the contrast is made out of X.

    Without arguments it is a recipe for tables of any size and scale. Columns are standardized,
    and three views are combined, each a sum of squared residuals in units of what is usual for
    normal data: quadratic equations of the whole data against permuted columns, and linear
    equations of a few and of many pieces. The score is the mean of the three logarithms, each
    standardized on rows that were left out of the fit in turn. Columns that are constant in
    training are exact equations.

    Parameters
    ----------
    ideal : VanishingIdeal or None, default=None
        None stands for the recipe.
    contrast : Contrast or None, default=None
        Makes the contrast of a contrastive ``ideal`` out of X; None stands for ``Permuted()``. Not
        used by the recipe.
    n_components : int, default=1
        Number of pieces into which the data is clustered, each with an ideal of its own. With more
        than one, residuals are scaled by their spread on the piece and the nearest piece counts.
        Not used by the recipe.
    contamination : float or "auto", default="auto"
        "auto" leaves a fifth of the rows out of the fit in turn, as far as the table is not so
        large that it makes no difference, and uses the rule of box plots on their scores; it calls
        at least one in a hundred of them anomalous, and at most one in twenty. A number is the
        share of the training data that is called anomalous; of new data it may be far more, as
        equations fit the rows that they were found on best. With ``calibration`` it is the
        guaranteed rate of false alarms. Rows that differ by rounding only are on the same side.
    calibration : float or None, default=None
        Share of the training data that is kept out of the fit and used for the threshold.
    random_state : int, default=0
        Seed of contrasts, clustering and calibration.

    Attributes
    ----------
    chosen_ : list of str
        What is in the model, in words.
    ideals_ : list of list of VanishingIdeal
        Per member of the recipe and piece; one list with an ``ideal``.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingDetector
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 500)
    >>> normal = np.column_stack([x, x**2 + 0.02 * rng.normal(size=500)])  # near a parabola
    >>> detector = VanishingDetector().fit(normal)
    >>> detector.predict([[0.5, 0.25], [0.5, 0.6]])
    array([ 1, -1])
    """

    # What a fit leaves, and model files keep (``saving.py``).
    chosen_: list[str]
    _form: Literal["recipe", "pieces", "single"]
    # Of a single ideal, or of the recipe.
    _residuals: LocalResiduals = None  # type: ignore[assignment]
    _scaler: StandardScaler = None
    _constant: BoolArray = None  # type: ignore[assignment]
    _members: list[Member] = None  # type: ignore[assignment]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ideal": [VanishingIdeal, None],
        "contrast": [Contrast, None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "calibration": [Interval(Real, 0, 1, closed="neither"), None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        ideal: VanishingIdeal | None = None,
        *,
        contrast: Contrast | None = None,
        n_components: int = 1,
        contamination: float | Literal["auto"] = "auto",
        calibration: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.ideal = ideal
        self.contrast = contrast
        self.n_components = n_components
        self.contamination = contamination
        self.calibration = calibration
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit the equations of normal data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a path, chunks or a Dask array
            Files and chunks of up to 1 GiB are read into memory. Larger ones can be fitted by one
            ``ideal``, which passes over them: its contrast is then made of rows that are drawn out
            of X, at most 4 million numbers, and the threshold comes from the scores of the rows
            that were fitted to.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts: in the equations, the contrast, the pieces and the threshold.
            Whole numbers are repeated rows, as far as no rows are drawn or left out in turn. Not
            with ``calibration``, nor for X of more than 1 GiB in files and chunks.

        Returns
        -------
        self
        """
        self._validate_params()
        self._refuse_unused()
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        rows, counts = fitted._checked_rows(X, sample_weight)
        if isinstance(rows, SampleSource):
            check_streams(self)
            fit_streamed(fitted, rows, SMALLEST_SCALE)
            fitted._finish(rows, None)
            take_over(self, fitted)
            return self
        X = move_to_numpy(rows)
        train, held_out = self._split(X)
        fit_models = fitted._fit_recipe if self.ideal is None else fitted._fit_single
        fitted._finish(X, held_out, unseen=fit_models(train, counts), counts=counts)
        take_over(self, fitted)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return how well rows are told from a fresh contrast, a criterion without labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Normal data that was not used in fitting.
        y : ignored

        Returns
        -------
        float
            Area under the curve of X against a contrast made of it by permuting its columns; the
            mean score alone would reward a model without equations.
        """
        check_is_fitted(self)
        X = move_to_numpy(check_new_table(self, X))
        fresh = Permuted().make(X, np.random.default_rng(self.random_state + 1))
        scores = np.concatenate([self._score(X), self._score(fresh)])
        scores = np.clip(scores, np.finfo(float).min, None)
        return float(roc_auc_score(np.repeat([1, 0], len(X)), scores))

    def _default_ideal(self) -> VanishingIdeal:
        raise ValueError(
            "without an ideal the detector is a recipe, which has no parameters of an ideal; pass "
            "one as well, such as VanishingIdeal(normalization='contrastive')"
        )

    def _refuse_unused(self) -> None:
        if self.ideal is None:
            unused = [
                name
                for name, used in (
                    ("contrast", self.contrast is None),
                    ("n_components", self.n_components == 1),
                )
                if not used
            ]
            if unused:
                raise ValueError(
                    f"{' and '.join(unused)} would have no effect: the recipe chooses its own; "
                    "pass an ideal as well, such as VanishingIdeal(normalization='contrastive')"
                )
        elif (
            self.contrast is not None
            and not resolve_normalization(self.ideal.normalization).needs_contrast
        ):
            raise ValueError(
                "a contrast was passed, but the normalization of the ideal does not use one: "
                "leave it out, or choose normalization='contrastive'"
            )

    @property
    def ideals_(self) -> list[list[VanishingIdeal]]:
        """The ideals of each member of the recipe, or one list with those of ``ideal``."""
        if self._form != "recipe":
            return [self._residuals.ideals]
        return [member.residuals.ideals for member in self._members]

    def _score(self, X: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            # In single precision the constants themselves are rounded.
            same = max(SAME, machine_epsilon(X))
            scores = self._score_on_host(move_to_numpy(X), same)
        # Not a number, where equations overflow: as anomalous as can be.
        scores = np.where(np.isnan(scores), -np.inf, scores)
        return (
            scores if isinstance(X, np.ndarray) else namespace(X).asarray(scores, device=X.device)
        )

    def _score_on_host(self, X: FloatArray, same: float = SAME) -> FloatArray:
        if self._form != "recipe":
            if self._form == "pieces":
                return np.asarray(-self._residuals.log_deviation(X))
            values = self.ideals_[0][0].basis_.evaluate(X)
            return np.asarray(-np.linalg.norm(values, axis=1))
        z = self._scaler.transform(X)[:, ~self._constant]
        members = [member.standardized(z) for member in self._members]
        combined = np.mean(members, axis=0) if members else np.zeros(len(X))
        return np.asarray(-(combined + self._broken_constants(X, same=same).sum(axis=1)))

    def _broken_constants(
        self, X: FloatArray, features: IntArray | EllipsisType = ..., same: float = SAME
    ) -> FloatArray:
        """Return what each column adds to the score by differing from its constant.

        The last axis of X has the values of ``features``.
        """
        mean = self._scaler.mean_[features]
        z = np.where(self._constant[features], X - mean, 0.0)
        broken = np.abs(z) > same * (1 + np.abs(mean))
        return np.where(broken, BROKEN_CONSTANT + np.log1p(np.abs(z)), 0.0)

    def _landscape(self) -> Landscape:
        about_data = (self._mean_row, self._spread_row, self._usual_score, True)
        if self._form == "recipe":
            # Rows that were kept out of the fit may break a constant, and with it the mean.
            center = np.where(self._constant, self._scaler.mean_, self._mean_row)
            n_members = len(self._members)
            views = [
                LocalView(
                    member.residuals,
                    member.name.partition(":")[0],  # "whole", without what it is made of
                    i,
                    member.median,
                    1 / (n_members * member.spread),
                )
                for i, member in enumerate(self._members)
            ]
            maps = [partial(self._seen, member) for member in self._members]
            return Landscape(maps, views, center, *about_data[1:], by_itself=self._broken_constants)
        if self._form == "pieces":
            pieces = LocalView(self._residuals, "pieces", 0, shift=0.0, factor=1.0)
            return Landscape([np.asarray], [pieces], *about_data)
        return Landscape([np.asarray], [NormView(self.ideals_[0][0])], *about_data)

    def _seen(self, member: Member, X: FloatArray) -> FloatArray:
        """Return the coordinates that a member looks at."""
        return member.reduced(self._scaler.transform(X)[:, ~self._constant])

    def _fit_single(self, X: FloatArray, counts: FloatArray | None) -> Scored | None:
        """Fit one model, and return scores of rows that it was not fitted to."""
        self._fit_ideal(X, counts)
        if self._residuals.is_trusted(len(X)):
            return None

        def score(rest: IntArray, unseen: IntArray) -> FloatArray:
            fold = copy(self)
            fold._fit_ideal(X[rest], some(counts, rest))
            return fold._score_on_host(X[unseen])

        try:
            scores, which = on_unseen_rows(len(X), score, seed=self.random_state)
            return Scored(scores, some(counts, which))
        except ValueError:  # nothing vanishes on some of the rows, though it does on all
            return None

    def _contrast_of(self, X: FloatArray, counts: FloatArray | None = None) -> FloatArray:
        maker = Permuted() if self.contrast is None else self.contrast
        rng = np.random.default_rng(self.random_state)
        n_rows = max(len(X), CONTRAST_ROWS)
        return maker.make(drawn(X, counts, rng, n_rows), rng, n_rows)

    def _fit_ideal(self, X: FloatArray, counts: FloatArray | None) -> None:
        # What was fitted: parameters may be set to others since.
        self._form = "pieces" if self.n_components > 1 else "single"
        template = clone(self.ideal)
        other = None
        if resolve_normalization(template.normalization).needs_contrast:
            other = self._contrast_of(X, counts)
        if self.n_components > len(X):
            raise ValueError(
                f"n_components={self.n_components} pieces cannot be made of {len(X)} rows; lower "
                "n_components"
            )
        pieces = cluster(X, self.n_components, seed=self.random_state, counts=counts)
        self._residuals = fit_residuals(
            X, pieces, other, template, smallest_scale=SMALLEST_SCALE, counts=counts
        )
        self.chosen_ = [f"{len(self._residuals.ideals)} x {template}"]

    def _fit_recipe(self, X: FloatArray, counts: FloatArray | None) -> Scored:
        """Fit the members, and return scores of rows that they were not fitted to."""
        self._form = "recipe"
        # Arrays, also where scikit-learn is told to make frames.
        self._scaler = StandardScaler().set_output(transform="default")
        self._scaler.fit(X, sample_weight=counts)
        # Up to rounding. A small unit, such as picofarads in farads, does not make it constant.
        self._constant = self._scaler.var_ <= (1e-15 + 1e-12 * np.abs(self._scaler.mean_)) ** 2
        varies = ~self._constant
        self._members = []
        unseen = Scored(np.zeros(len(X)), counts)
        if varies.any():
            z, rounded = (self._scaler.transform(x)[:, varies] for x in (X, last_digits_moved(X)))
            self._members, unseen = fit_members(z, rounded, seed=self.random_state, counts=counts)
        self.chosen_ = [member.name for member in self._members]
        if self._constant.any():
            self.chosen_.append(f"{int(self._constant.sum())} constant columns")
        return unseen
