"""VanishingDetector: a detector for tables, with a recipe of its own or any single ideal."""

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vanishing._xp import Array, FloatArray, move_to_numpy, namespace
from vanishing.anomaly.detector import Detector
from vanishing.anomaly.explain import Landscape
from vanishing.anomaly.explain.local import LocalView
from vanishing.anomaly.explain.single import NormView
from vanishing.anomaly.pieces import cluster
from vanishing.anomaly.residuals import TINY, LocalResiduals, fit_residuals
from vanishing.anomaly.threshold import on_unseen_rows
from vanishing.contrasts import GaussianNoise, Permuted
from vanishing.contrasts.base import Contrast
from vanishing.estimators import VanishingIdeal
from vanishing.estimators.inputs import fit_table, new_table, take_over
from vanishing.normalizations import resolve_normalization

#: Rows of a contrast, at least: few rows make noisy sizes.
CONTRAST_ROWS = 2000
#: Candidates of degree 2 grow with the square of the dimension.
LARGEST_DIMENSION = 20
#: With fewer rows to a candidate, equations hold by chance, and residuals of the rows that they
#: were fitted to say nothing: all are then measured on a coarse scale, as those of small pieces.
ROWS_PER_CANDIDATE = 3
FINE_SCALE, COARSE_SCALE = 1e-6, 0.2
#: With more rows to a candidate, unseen rows score as those that were fitted to.
ROWS_PER_CANDIDATE_TO_TRUST = 50
#: With fewer rows, none can be left out.
FEWEST_ROWS = 10
#: Spread of log deviations, at least: where equations are exact it is rounding, which depends on
#: the batch and must not be blown up.
SMALLEST_SPREAD = 0.01
#: A broken constant column counts like a residual e^10 times the usual one.
BROKEN_CONSTANT = 10.0


@dataclass(frozen=True, eq=False)
class Member:
    """One part of the recipe: what it looks at, and how its scores are spread on normal data."""

    name: str
    reduction: PCA | None
    residuals: LocalResiduals
    median: float = 0.0
    spread: float = 1.0

    def reduced(self, z: FloatArray) -> FloatArray:
        """Return what the member looks at."""
        return z if self.reduction is None else np.asarray(self.reduction.transform(z))

    def standardized(self, z: FloatArray) -> FloatArray:
        """Return log deviations, 0 for the median of normal data and 1 for its spread."""
        deviations: FloatArray = self.residuals.log_deviation(self.reduced(z))
        return (deviations - self.median) / self.spread


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
        at least one in a hundred of them anomalous. A number is the share of the training data
        that is called anomalous; of new data it may be far more, as equations fit the rows that
        they were found on best. With ``calibration`` it is the guaranteed rate of false alarms.
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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the equations of normal data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self._validate_params()
        self._refuse_unused()
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        X = move_to_numpy(fit_table(fitted, X))
        train, held_out = self._split(X)
        unseen_scores = (
            fitted._fit_recipe(train) if self.ideal is None else fitted._fit_single(train)
        )
        fitted._finish(X, held_out, unseen_scores=unseen_scores)
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
        X = move_to_numpy(new_table(self, X))
        fresh = Permuted().make(X, np.random.default_rng(self.random_state + 1))
        scores = np.concatenate([self._score(X), self._score(fresh)])
        scores = np.clip(scores, np.finfo(float).min, None)
        return float(roc_auc_score(np.repeat([1, 0], len(X)), scores))

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

    def _score(self, X: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._score_on_host(move_to_numpy(X))
        # Not a number, where equations overflow: as anomalous as can be.
        scores = np.where(np.isnan(scores), -np.inf, scores)
        return (
            scores if isinstance(X, np.ndarray) else namespace(X).asarray(scores, device=X.device)
        )

    def _score_on_host(self, X: FloatArray) -> FloatArray:
        if self._form != "recipe":
            if self._form == "pieces":
                return np.asarray(-self._residuals.log_deviation(X))
            values = self.ideals_[0][0].basis_.evaluate(X)
            return np.asarray(-np.linalg.norm(values, axis=1))
        z = self._scaler.transform(X)[:, ~self._constant]
        members = [member.standardized(z) for member in self._members]
        combined = np.mean(members, axis=0) if members else np.zeros(len(X))
        return np.asarray(-(combined + self._broken_constants(X).sum(axis=1)))

    def _broken_constants(self, X: FloatArray) -> FloatArray:
        """Return what each column adds to the score by differing from its constant."""
        z = np.where(self._constant, X - self._scaler.mean_, 0.0)
        broken = np.abs(z) > 1e-9 * (1 + np.abs(self._scaler.mean_))
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

    def _fit_single(self, X: FloatArray) -> FloatArray | None:
        """Fit one model, and return scores of rows that it was not fitted to."""
        self._fit_ideal(X)
        if _is_trusted(self._residuals, len(X)):
            return None

        def score(rest: FloatArray, unseen: FloatArray) -> FloatArray:
            fold = copy(self)
            fold._fit_ideal(rest)
            return fold._score_on_host(unseen)

        try:
            return on_unseen_rows(X, score, seed=self.random_state)
        except ValueError:  # nothing vanishes on some of the rows, though it does on all
            return None

    def _fit_ideal(self, X: FloatArray) -> None:
        # What was fitted: parameters may be set to others since.
        self._form = "pieces" if self.n_components > 1 else "single"
        template = clone(self.ideal)
        other = None
        if resolve_normalization(template.normalization).needs_contrast:
            maker = Permuted() if self.contrast is None else self.contrast
            other = maker.make(
                X, np.random.default_rng(self.random_state), max(len(X), CONTRAST_ROWS)
            )
        if self.n_components > len(X):
            raise ValueError(
                f"n_components={self.n_components} pieces cannot be made of {len(X)} rows; lower "
                "n_components"
            )
        pieces = cluster(X, self.n_components, seed=self.random_state)
        self._residuals = fit_residuals(X, pieces, other, template, smallest_scale=1e-9)
        self.ideals_ = [self._residuals.ideals]
        self.chosen_ = [f"{len(self._residuals.ideals)} x {template}"]

    def _fit_recipe(self, X: FloatArray) -> FloatArray:
        """Fit the members, and return scores of rows that they were not fitted to."""
        self._form = "recipe"
        # Arrays, also where scikit-learn is told to make frames.
        self._scaler = StandardScaler().set_output(transform="default").fit(X)
        # Up to rounding. A small unit, such as picofarads in farads, does not make it constant.
        self._constant = self._scaler.var_ <= (1e-15 + 1e-12 * np.abs(self._scaler.mean_)) ** 2
        z = self._scaler.transform(X)[:, ~self._constant]
        # The same for all rows and with some left out, whose scores could not be compared else.
        scale = _scale_of_quadratics(*z.shape)
        members = self._fit_members(z, scale) if z.shape[1] else []
        self.ideals_ = [member.residuals.ideals for member in members]
        self.chosen_ = [member.name for member in members]
        if self._constant.any():
            self.chosen_.append(f"{int(self._constant.sum())} constant columns")
        if not members:
            self._members: list[Member] = []
            return np.zeros(len(X))

        def log_deviations(rest: FloatArray, unseen: FloatArray) -> FloatArray:
            members = self._fit_members(rest, scale)
            return np.stack([member.standardized(unseen) for member in members], axis=1)

        unseen = np.stack([member.standardized(z) for member in members], axis=1)
        if not all(_is_trusted(member.residuals, len(z)) for member in members):
            with suppress(ValueError):  # some of the rows are all the same, though not all are
                unseen = on_unseen_rows(z, log_deviations, seed=self.random_state)
        # Beyond all numbers, where equations overflow, is as far as the farthest.
        farthest = np.max(unseen, axis=0, where=np.isfinite(unseen), initial=np.log(TINY))
        bounded = np.minimum(unseen, farthest)
        lower, medians, upper = np.quantile(bounded, [0.25, 0.5, 0.75], axis=0)
        spreads = np.maximum(upper - lower, SMALLEST_SPREAD)
        self._members = [
            replace(member, median=float(median), spread=float(spread))
            for member, median, spread in zip(members, medians, spreads, strict=True)
        ]
        return np.asarray(-np.mean((unseen - medians) / spreads, axis=1))

    def _fit_members(self, z: FloatArray, scale: float) -> list[Member]:
        """Fit what looks at the standardized data, not yet knowing what is usual."""
        n_fine = int(np.clip(len(z) // 25, 1, 80))
        return [
            self._member("whole", z, 1, Permuted(), degree=2, tol=0.5, smallest_scale=scale),
            self._member("few pieces", z, 10, Permuted(), smallest_scale=0.03),
            self._member("many pieces", z, n_fine, GaussianNoise(0.5), smallest_scale=COARSE_SCALE),
        ]

    def _member(
        self,
        name: str,
        z: FloatArray,
        n_pieces: int,
        contrast: Contrast,
        *,
        degree: int = 1,
        tol: float = 0.9,
        smallest_scale: float,
    ) -> Member:
        reduction = None
        if degree > 1 and z.shape[1] > LARGEST_DIMENSION:
            reduction = PCA(min(LARGEST_DIMENSION, len(z)), random_state=self.random_state)
            variances = reduction.set_output(transform="default").fit(z).explained_variance_
            # Directions without variance, as with few rows, would hold nothing but rounding.
            rank = max(1, int(np.sum(variances > 1e-20 * variances[0])))
            if rank < len(variances):
                reduction.set_params(n_components=rank).fit(z)
            z = reduction.transform(z)
        rng = np.random.default_rng(self.random_state)
        other = contrast.make(z, rng, max(len(z), CONTRAST_ROWS))
        ideal = VanishingIdeal(
            max_degree=degree, tol=tol, normalization="contrastive", reduction="gram"
        )
        pieces = cluster(z, min(n_pieces, len(z) // 10), seed=self.random_state)
        try:
            residuals = fit_residuals(z, pieces, other, ideal, smallest_scale=smallest_scale)
        except ValueError:  # nothing is below the tolerance: take every direction there is
            ideal.set_params(tol=1e6)
            residuals = fit_residuals(z, pieces, other, ideal, smallest_scale=smallest_scale)
        n_equations = sum(fitted.basis_.count() for fitted in residuals.ideals)
        described = (
            f"{name}: {n_equations} equations of degree <= {degree} on {len(residuals.ideals)} "
            f"pieces against {contrast}, tol={ideal.tol:g}"
        )
        return Member(described, reduction, residuals)


def _scale_of_quadratics(n_rows: int, n_columns: int) -> float:
    """Return the smallest size of residuals of quadratic equations that is told from chance."""
    dimension = min(n_columns, LARGEST_DIMENSION)
    n_candidates = dimension * (dimension + 3) // 2  # monomials of degree 1 and 2
    return FINE_SCALE if n_rows >= ROWS_PER_CANDIDATE * n_candidates else COARSE_SCALE


def _is_trusted(residuals: LocalResiduals, n_rows: int) -> bool:
    """Whether rows that were fitted to score as new ones do, or are too few to tell."""
    n_candidates = sum(step.candidates for ideal in residuals.ideals for step in ideal.trace_)
    return n_rows < FEWEST_ROWS or n_rows >= ROWS_PER_CANDIDATE_TO_TRUST * n_candidates
