"""VanishingDetector: anomalies are what breaks the equations of a table."""

from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.blocks import limit_workers, one_thread
from vanishing.arrays.namespace import FloatArray, move_to_numpy
from vanishing.contrasts import Contrast, Permuted
from vanishing.data.inputs import (
    N_JOBS,
    NumberRange,
    check_new_table,
    refuse_points_as_y,
    take_over,
)
from vanishing.data.source import SampleSource, sample_rows
from vanishing.detectors.base import (
    FITTED_ROWS,
    PARAMETERS,
    Callback,
    Detector,
    Progress,
    Scored,
    check_rows,
    refuse_streams,
)
from vanishing.detectors.mixture import are_trusted, check_vanishing, find_clusters, fit_clusters
from vanishing.detectors.recipe import estimate_work, fit_recipe
from vanishing.detectors.sample_weights import (
    ENOUGH_ROWS,
    draw_rows,
    standardize_rows,
    take_weights,
)
from vanishing.detectors.score import ClusterView, Coordinates, NormView, Score
from vanishing.explain.view import Component, View
from vanishing.ideal import HasIdeal, VanishingIdeal
from vanishing.levels import BLOCK, SAME


class VanishingDetector(HasIdeal, Detector):
    """Anomaly detector that scores how badly a sample breaks the equations of normal data.

    With an ``ideal`` it is one model, with score ‖G(x)‖: with the vca or gradient normalization
    these are the paper's baselines, with the contrastive one the contrast is made out of X.

    Without arguments it is a recipe for tables of any size and scale, of which most rows are
    normal. The score adds up the evidence of four witnesses: equations of the standardized columns
    (quadratic ones of all rows against permuted columns, and linear ones of clusters), the same
    equations of the normal scores of the columns, the values of single columns, and the density
    of the rows, by a kernel whose bandwidth is learned. Each view says -log p, calibrated on rows
    that it was not fitted to. A row that breaks an equation which holds exactly in nearly all
    others, such as a sum, or a column that is constant in training, is anomalous whatever the other
    views say. Tables with more columns than rows, or
    with more than 100 columns and few rows, have one view: linear equations in the span of the
    rows, and the distance from that span, under a shrunk covariance. Of more than 20,000 rows,
    20,000 are drawn.

    The recipe keeps up to 1,000 training rows and up to 1,000 values of each column to compare
    with, but for wide tables. They are in its model files, pickles and ONNX graphs too.

    Parameters
    ----------
    ideal : VanishingIdeal or None, default=None
        None stands for the recipe.
    contrast : Contrast or None, default=None
        Makes the contrast of a contrastive ``ideal`` out of X; None stands for ``Permuted()``. Not
        used by the recipe.
    n_components : int, default=1
        Number of clusters of the data, each with an ideal of its own. With more than one, residuals
        are scaled by their spread on the cluster, and the score is the logarithm of the deviation
        from the nearest one. Not used by the recipe.
    contamination : float or "auto", default="auto"
        "auto" leaves a fifth of the rows out of the fit in turn, as far as the table is not so
        large that it makes no difference, and uses the rule of box plots on their scores. It calls
        at least one in a hundred of them anomalous, but so few that in nine of ten tables at most
        one in twenty new normal rows is (fewer than 45 rows cannot tell: then in about four of
        five tables of 30 rows); rows that are lower than scores of normal rows can be,
        given their quartiles, come on top. A number is the share of the training data that is
        called anomalous; of new data it may be far more, as
        equations fit the rows that they were found on best. With ``calibration`` it is the
        guaranteed rate of false alarms. Rows that differ by rounding only are on the same side.
    calibration : float or None, default=None
        Share of the training data that is kept out of the fit and used for the threshold.
    random_state : int, default=0
        Seed of contrasts, clustering and calibration. With the same seed, the result depends on
        the rows and how often each occurs, relative to the others, but not on their order.
    n_jobs : int or None, default=None
        Number of fits at a time to the parts of the rows that are left out in turn, as in joblib.
        Scores are computed by all cores in any case.

    Attributes
    ----------
    chosen_ : list of str
        What is in the model, in words.
    anomaly_score_ : Score
        What ``score_samples`` evaluates: a list of views, with the maps to their coordinates.
    ideals_ : list of list of VanishingIdeal
        Per view of the recipe and cluster; one list with an ``ideal``.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if X has column names.

    See Also
    --------
    vanishing.TransformationDetector : The detector of the paper, for images.
    vanishing.detectors.ChristoffelDetector : A smooth score for few columns, also for streams.
    vanishing.discover : Exact laws of a table, and the cell that breaks them.

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

    chosen_: list[str]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ideal": [VanishingIdeal, None],
        "contrast": [Contrast, None],
        "n_components": [NumberRange(Integral, 1, None, closed="left")],
        **PARAMETERS,
        "n_jobs": N_JOBS,
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
        n_jobs: int | None = None,
    ) -> None:
        self.ideal = ideal
        self.contrast = contrast
        self.n_components = n_components
        self.contamination = contamination
        self.calibration = calibration
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
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
            Used for the equations, the contrast, the clusters and the threshold. Whole numbers are
            repeated rows, as far as no rows are drawn or left out in turn. Not with
            ``calibration``, nor for X of more than 1 GiB in files and chunks.
        callback : callable, optional
            Called with the share of the work that is done, from 0 to 1, every now and then.

        Returns
        -------
        self
        """
        refuse_points_as_y(self, X, y)
        self._validate_params()
        self._refuse_unused()
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        rows, sample_weight = check_rows(fitted, X, sample_weight)
        if isinstance(rows, SampleSource):
            needs = {
                "the recipe, which is used without an ideal,": self.ideal is None,
                f"n_components={self.n_components}": self.n_components > 1,
                f"calibration={self.calibration}": self.calibration is not None,
            }
            refuse_streams(
                needs,
                "fit one ideal, which passes over X, as "
                "VanishingDetector(VanishingIdeal(normalization='contrastive'))",
            )
            score, fitted.chosen_ = self._fit_streamed(rows)
            found = self._calibrate(score, rows)
        else:
            # Euclidean norms of all values grow with the number of rows.
            counts = self.ideal is not None and self.ideal.tol_norm == "euclidean"
            X, sample_weight = standardize_rows(
                move_to_numpy(rows), sample_weight, count_copies=counts
            )
            train, held_out = self._split(X)
            unseen: Scored | None
            judged, judged_weight = X, sample_weight
            if self.ideal is None and len(X) > FITTED_ROWS:  # as many say where the threshold is
                judged = X[(some := np.linspace(0, len(X) - 1, FITTED_ROWS).astype(np.intp))]
                judged_weight = take_weights(sample_weight, some)
            work = estimate_work(len(train)) if self.ideal is None else 0.0
            progress = Progress(callback, work + len(judged))
            if self.ideal is None:
                # Threads would wait for each other in many small products.
                with one_thread(), limit_workers(1):
                    score, fitted.chosen_, unseen = fit_recipe(
                        train,
                        seed=self.random_state,
                        sample_weight=sample_weight,
                        n_jobs=self.n_jobs,
                        progress=progress,
                    )
            else:
                score, fitted.chosen_ = self._fit_score(train, sample_weight)
                unseen = None
                if self.contamination == "auto" and not are_trusted(
                    score.views[0].components, len(train)
                ):
                    unseen = self._score_unseen(
                        train, lambda *rows: self._fit_score(*rows)[0], sample_weight, self.n_jobs
                    )
            found = self._calibrate(
                score,
                judged,
                held_out,
                unseen=unseen,
                sample_weight=judged_weight,
                progress=progress,
            )
        fitted.anomaly_score_, fitted.offset_ = found
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
        X, _ = standardize_rows(move_to_numpy(check_new_table(self, X)), None)
        fresh = Permuted().make(X, np.random.default_rng(self.random_state + 1))
        normality = self.anomaly_score_.score_samples
        scores = np.concatenate([normality(X), normality(fresh)])
        scores = np.clip(scores, np.finfo(float).min, None)
        return float(roc_auc_score(np.repeat([1, 0], len(X)), scores))

    def _default_ideal(self) -> VanishingIdeal:
        raise ValueError(
            "without an ideal the detector is a recipe, which has no parameters of an ideal; pass "
            "one as well, such as VanishingIdeal(normalization='contrastive')"
        )

    def _refuse_unused(self) -> None:
        if self.ideal is None:
            for name, default in (("contrast", None), ("n_components", 1)):
                if getattr(self, name) != default:
                    raise ValueError(
                        f"{name} would have no effect: the recipe chooses its own; pass an ideal "
                        "as well, such as VanishingIdeal(normalization='contrastive')"
                    )
        elif self.contrast is not None and not self.ideal.needs_contrast:
            raise ValueError(
                "a contrast was passed, but the normalization of the ideal does not use one: "
                "leave it out, or choose normalization='contrastive'"
            )

    def _fit_score(
        self, X: FloatArray, sample_weight: FloatArray | None
    ) -> tuple[Score, list[str]]:
        """Fit the ideal, or one for each cluster; return the score and what it is in words."""
        template = clone(self.ideal)
        other = None
        if template.needs_contrast:
            other = self._make_contrast(X, sample_weight)
        if self.n_components > len(X):
            raise ValueError(
                f"n_components={self.n_components} clusters cannot be made of {len(X)} rows; lower "
                "n_components"
            )
        labels = find_clusters(
            X, self.n_components, seed=self.random_state, sample_weight=sample_weight
        )
        components = fit_clusters(
            X, labels, other, template, smallest_scale=SAME, sample_weight=sample_weight
        )
        view: View = norm_of(components[0].ideal)
        if self.n_components > 1:
            view = ClusterView(("clusters",), components)
        return Score(Coordinates(), [view]), [f"{len(components)} x {template}"]

    def _make_contrast(self, X: FloatArray, sample_weight: FloatArray | None = None) -> FloatArray:
        maker = Permuted() if self.contrast is None else self.contrast
        rng = np.random.default_rng(self.random_state)
        n_rows = max(len(X), 2 * ENOUGH_ROWS)  # few rows make noisy sizes
        return maker.make(draw_rows(X, sample_weight, rng, n_rows), rng, n_rows)

    def _fit_streamed(self, source: SampleSource) -> tuple[Score, list[str]]:
        """Fit one ideal as ``_fit_score`` does, by passes over the rows."""
        ideal: VanishingIdeal = clone(self.ideal)
        contrast = None
        if ideal.needs_contrast:
            most = max(2, 2 * BLOCK // source.n_features)
            rows = sample_rows(source, most, seed=self.random_state)
            contrast = self._make_contrast(standardize_rows(rows, None)[0])
        ideal.fit_part(source, contrast)
        check_vanishing(ideal)
        return Score(Coordinates(), [norm_of(ideal)]), [f"1 x {clone(ideal)}"]


def norm_of(ideal: VanishingIdeal) -> NormView:
    """Return the view ‖G‖ of a fitted ideal."""
    ones = np.ones(ideal.basis_.count())
    return NormView(("the ideal",), [Component(ideal, 0 * ones, ideal.extents_, ones)])
