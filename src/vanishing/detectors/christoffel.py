"""ChristoffelDetector: orthonormal polynomials of the data, and where they are large."""

import warnings
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.preprocessing import StandardScaler

from vanishing.arrays.namespace import FloatArray, move_to_host, move_to_numpy
from vanishing.data.inputs import NumberRange, check_new_table, refuse_points_as_y, take_over
from vanishing.data.source import SampleSource, check_weights
from vanishing.detectors.base import (
    PARAMETERS,
    Detector,
    Scored,
    check_rows,
    find_moments,
    score_blocks,
)
from vanishing.detectors.sample_weights import ENOUGH_ROWS, mean_and_variance, total_weight
from vanishing.detectors.score import ChristoffelView, Coordinates, Score
from vanishing.explain.view import Component
from vanishing.ideal import InterpolationWarning, VanishingIdeal
from vanishing.levels import LONG_SUM
from vanishing.polynomials.basis import PolynomialBasis

# --- All polynomials up to a degree, by their extents ---------------------------------------------
#
# The Christoffel function of a measure μ and a degree d is 1 / K(x, x) with
#
#   K(x, x) = v(x)ᵀ M⁻¹ v(x) = Σ p(x)²,
#
# where v are the monomials of degree at most d, M = ∫ v vᵀ dμ is their moment matrix, and p is any
# basis of the polynomials that is orthonormal under μ. M has the squared condition number of the
# monomials on the points; its inverse is useless where points come close to an equation. A
# construction with tol=0 yields such a basis without M: all polynomials that do not vanish exactly
# are nonvanishing, of size 1 on X, and orthogonal to each other. With a larger tolerance it would
# stop multiplying what vanishes within it, so that products of equations are missing.
#
# Equations that hold exactly make M singular: K is infinite off the variety that they define. On it
# K is the sum over the nonvanishing polynomials. Here an equation counts as if it held up to a
# small error, the regularization.


def take_all_polynomials(ideal: VanishingIdeal) -> PolynomialBasis:
    """Return a basis whose vanishing polynomials are all but the constant, of a fit with tol=0."""
    blocks = []
    for block, step in zip(ideal.basis_.blocks, ideal.trace_, strict=True):
        n_finite = block.nonvanishing.shape[1] - step.unbounded
        # Nonvanishing polynomials are stored with size 1 on X, largest extents first.
        of_finite = np.sort(step.spectrum)[::-1][:n_finite]
        extents = np.concatenate([np.ones(step.unbounded), of_finite])
        blocks.append(
            replace(
                block,
                vanishing=np.hstack([block.nonvanishing * extents, block.vanishing]),
                extents=np.concatenate([extents, block.extents]),
            )
        )
    return PolynomialBasis(ideal.basis_.n_features, tuple(blocks))


def leave_one_out(scores: FloatArray, n_rows: float) -> FloatArray:
    """Return the scores of rows as they are without the row itself.

    Without x the moment matrix is (N M - v(x) v(x)ᵀ) / (N - 1), whose inverse is known (Sherman and
    Morrison): K becomes (N - 1)/N · K / (1 - K/N). N is the total weight of the rows.
    """
    with np.errstate(over="ignore"):
        leverage = np.exp(-scores) / n_rows
    # A row that no other is like has leverage 1, and is infinitely far from them.
    rest = np.maximum(1 - leverage, 1 / n_rows)
    return np.asarray(scores - np.log((n_rows - 1) / n_rows / rest))


# --- Rows that a threshold is chosen by, when all others are gone ---------------------------------


@dataclass(frozen=True, eq=False)
class Reservoir:
    """A random sample of rows, those of largest log(u) / weight (Efraimidis and Spirakis)."""

    rows: Annotated[FloatArray, "n_kept n_features"]
    weights: Annotated[FloatArray, "n_kept"]
    keys: Annotated[FloatArray, "n_kept"]
    n_seen: int

    @classmethod
    def empty(cls, n_features: int) -> "Reservoir":
        """Return a reservoir of no rows."""
        return cls(np.zeros((0, n_features)), np.zeros(0), np.zeros(0), 0)

    def add(self, rows: FloatArray, weights: FloatArray, seed: int) -> "Reservoir":
        """Return a sample of these rows and of new ones, all of positive weight."""
        uniform = np.random.default_rng([seed, self.n_seen]).random(len(rows))
        keys = np.concatenate([self.keys, np.log1p(-uniform) / weights])
        kept = np.sort(np.argsort(-keys, kind="stable")[:ENOUGH_ROWS])
        return Reservoir(
            np.concatenate([self.rows, rows])[kept],
            np.concatenate([self.weights, weights])[kept],
            keys[kept],
            self.n_seen + len(rows),
        )

    @property
    def sample_weight(self) -> FloatArray | None:
        """Weights of the rows: none once heavier rows have been drawn more often."""
        return self.weights if self.n_seen == len(self.rows) else None


# --- The detector ---------------------------------------------------------------------------------


class ChristoffelDetector(Detector):
    """Anomaly detector by the Christoffel function, a polynomial estimate of where data is.

    The score of a sample x is log Λ(x), where 1/Λ(x) = Σ p(x)² over an orthonormal basis of all
    polynomials of degree at most ``max_degree``: v(x)ᵀ M⁻¹ v(x) with the monomials v and their
    moment matrix M on the training data. It is large where data is dense, and falls off quickly
    outside of its support, which the threshold estimates. At degree 1 it is the Mahalanobis
    distance. It does not change under affine maps of the data.

    The basis is constructed by orthogonalization, without M. Where the data satisfies an equation
    exactly, M is singular; then the equation counts as if it held up to ``regularization``.

    Parameters
    ----------
    max_degree : int, default=2
        Of the polynomials. There must be many more rows than polynomials: n features have
        (n + d choose d) of degree at most d.
    tol : float, default=0.1
        Polynomials whose extent on the standardized columns is at most this are equations, which
        explanations name. The score does not depend on it.
    regularization : float, default=1e-6
        Smallest extent, on the standardized columns: polynomials of smaller ones count as if they
        had it.
    contamination : float or "auto", default="auto"
        "auto" uses the rule of box plots on the scores that training rows have without themselves;
        it calls at least one in a hundred of them anomalous, and at most one in twenty of those
        that are not far below all others. A number is the share of the training data that is called
        anomalous; with ``calibration``, the guaranteed rate of false alarms.
    calibration : float or None, default=None
        Share of the training data that is kept out of the fit and used for the threshold.
    memory_budget : int, default=2**31
        Bytes that the matrices of one degree may take.
    random_state : int, default=0
        Seed of the calibration, and of the rows that ``partial_fit`` keeps for the threshold.

    Attributes
    ----------
    anomaly_score_ : Score
        What ``score_samples`` evaluates.
    ideals_ : list of list of VanishingIdeal
        One ideal, whose vanishing polynomials are all polynomials but the constant 1.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    n_samples_seen_ : float
        After ``partial_fit``: the number of rows so far, or the sum of their weights.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if X has column names.

    References
    ----------
    E. Pauwels, M. Putinar, J.-B. Lasserre: Data Analysis from Empirical Moments and the Christoffel
    Function. Foundations of Computational Mathematics 21 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.datasets import make_variety
    >>> from vanishing.detectors import ChristoffelDetector
    >>> ring = make_variety("circle", 1000, noise=0.1)
    >>> detector = ChristoffelDetector(max_degree=4).fit(ring)
    >>> detector.predict([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    array([ 1, -1, -1])
    """

    _ideal: VanishingIdeal | None = None
    _reservoir: Reservoir | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_degree": [NumberRange(Integral, 1, None, closed="left")],
        "tol": [NumberRange(Real, 0, None, closed="left")],
        "regularization": [NumberRange(Real, 0, None, closed="neither")],
        "memory_budget": [NumberRange(Integral, 1, None, closed="left")],
        **PARAMETERS,
    }

    def __init__(
        self,
        max_degree: int = 2,
        *,
        tol: float = 0.1,
        regularization: float = 1e-6,
        contamination: float | Literal["auto"] = "auto",
        calibration: float | None = None,
        memory_budget: int = 2**31,
        random_state: int = 0,
    ) -> None:
        self.max_degree = max_degree
        self.tol = tol
        self.regularization = regularization
        self.contamination = contamination
        self.calibration = calibration
        self.memory_budget = memory_budget
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Construct the orthonormal polynomials of normal data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a path, chunks or a Dask array
            As for ``VanishingIdeal.fit``. Files and chunks of more than 1 GiB are passed over, once
            per degree and twice for the threshold, which needs 8 bytes a row.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Used for the moments and the threshold. Whole numbers are repeated rows. Not with
            ``calibration``, nor for X of more than 1 GiB in files and chunks.

        Returns
        -------
        self
        """
        refuse_points_as_y(self, X, y)
        self._validate_params()
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        rows, sample_weight = check_rows(fitted, X, sample_weight)
        held_out = None
        train: Any = rows
        if isinstance(rows, SampleSource):
            if self.calibration is not None:
                raise ValueError(
                    f"calibration={self.calibration} needs all rows of X at once, and they take "
                    "too much memory; leave it out, or pass fewer rows"
                )
            moments = find_moments(rows)
            coordinates = Coordinates(_make_scaler(moments.mean, moments.variance))
            scaled: Any = rows.map_rows(coordinates.scale, rows.n_features)
        else:
            train, held_out = self._split(move_to_numpy(rows))
            coordinates = Coordinates(_make_scaler(*mean_and_variance(train, sample_weight)))
            scaled = coordinates.scale(train)
        ideal = self._new_ideal().fit(scaled, sample_weight=sample_weight)
        score = self._make_score(ideal, coordinates)
        found = self._calibrate_by_leaving_out(score, train, held_out, sample_weight)
        fitted.anomaly_score_, fitted.offset_ = found
        for name in ("_ideal", "_reservoir"):  # of earlier partial fits
            fitted.__dict__.pop(name, None)
        if not isinstance(train, SampleSource) and (
            ideal.basis_.count("nonvanishing") >= len(train)
        ):
            warnings.warn(
                f"X has {len(train)} rows, and as many independent polynomials: all training rows "
                "have the same score, and other rows are infinitely far away; fit more rows, lower "
                "max_degree, or reduce the number of features (for instance by PCA)",
                InterpolationWarning,
                stacklevel=2,
            )
        take_over(self, fitted)
        return self

    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Add rows to those of earlier calls.

        What is kept of them is the factor of their monomials (see ``VanishingIdeal.partial_fit``),
        so that the scores are those of a fit to all rows, up to rounding. The threshold is that of
        a random sample of 1,000 of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The first time at least two rows.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        refuse_points_as_y(self, X, y)
        self._validate_params()
        if self.calibration is not None:
            raise ValueError(
                f"calibration={self.calibration} keeps rows for a guarantee, and partial_fit "
                "keeps none; leave it out, or use fit"
            )
        fitted = copy(self)
        if self._ideal is None:
            if hasattr(self, "anomaly_score_"):
                warnings.warn(
                    "partial_fit starts from scratch: it can only continue earlier calls of "
                    "partial_fit, but this model was fitted with fit, which keeps no rows",
                    UserWarning,
                    stacklevel=2,
                )
            checked, _ = check_rows(fitted, X, None)
            if isinstance(checked, SampleSource):
                raise ValueError(
                    "partial_fit takes a table that fits into memory, and X takes more than 1 GiB; "
                    "pass parts of it one after the other"
                )
            rows = move_to_numpy(checked).astype(np.float64)
            # Any affine map would do: rows to come may have another mean and spread.
            coordinates = Coordinates(_make_scaler(rows.mean(axis=0), rows.var(axis=0)))
            ideal, reservoir = self._new_ideal(), Reservoir.empty(rows.shape[1])
        else:
            assert self._reservoir is not None
            rows = move_to_numpy(check_new_table(fitted, X)).astype(np.float64)
            coordinates = self.anomaly_score_.coordinates
            ideal, reservoir = copy(self._ideal), self._reservoir
            ideal.set_params(max_degree=self.max_degree, memory_budget=self.memory_budget)
        weights: FloatArray = np.ones(len(rows))
        if sample_weight is not None:
            weights = check_weights(sample_weight, "X", len(rows))
        used = weights > 0
        ideal.partial_fit(
            coordinates.scale(rows[used]),
            sample_weight=None if sample_weight is None else weights[used],
        )
        reservoir = reservoir.add(rows[used], weights[used], self.random_state)
        fitted.anomaly_score_, fitted.offset_ = self._calibrate_by_leaving_out(
            self._make_score(ideal, coordinates),
            reservoir.rows,
            None,
            reservoir.sample_weight,
            n_rows=max(ideal.n_samples_seen_, len(reservoir.rows)),
        )
        fitted.__dict__.update(_ideal=ideal, _reservoir=reservoir)
        take_over(self, fitted)
        return self

    @property
    def n_samples_seen_(self) -> float:
        """Number of rows of all calls of ``partial_fit``, or the sum of their weights."""
        if self._ideal is None:
            raise AttributeError("n_samples_seen_ exists only after partial_fit")
        return self._ideal.n_samples_seen_

    def _new_ideal(self) -> VanishingIdeal:
        return VanishingIdeal(max_degree=self.max_degree, tol=0.0, memory_budget=self.memory_budget)

    def _make_score(self, ideal: VanishingIdeal, coordinates: Coordinates) -> Score:
        whole = copy(ideal)
        whole.__dict__.pop("_seen", None)
        whole.basis_ = take_all_polynomials(ideal)
        extents = whole.extents_
        weights = 1 / np.maximum(extents, self.regularization) ** 2
        component = Component(whole, np.zeros(len(extents)), extents, weights)
        view = ChristoffelView(("the polynomials",), [component], tol=float(self.tol))
        return Score(coordinates, [view])

    def _calibrate_by_leaving_out(
        self,
        score: Score,
        X: Any,
        held_out: Any,
        sample_weight: FloatArray | None,
        *,
        n_rows: float | None = None,
    ) -> tuple[Score, float]:
        """Choose the threshold by the scores of rows without themselves."""
        normality = score.score_samples
        if isinstance(X, SampleSource):
            seen = np.asarray(score_blocks(X, normality))
        else:
            seen = move_to_host(normality(X))
        if n_rows is None:
            n_rows = total_weight(sample_weight, len(seen))
        unseen = Scored(leave_one_out(seen, n_rows), sample_weight)
        return self._calibrate(
            score,
            X,
            held_out,
            seen=Scored(seen, sample_weight),
            unseen=unseen,
            sample_weight=sample_weight,
        )


def _make_scaler(mean: FloatArray, variance: FloatArray) -> StandardScaler:
    """Return a scaler for columns of some mean and variance.

    The unit of a constant is a thousandth of its size: with the default regularization, relative
    differences of 1e-9 from it are rounding.
    """
    scaler = StandardScaler()
    spread = np.sqrt(np.asarray(variance, dtype=np.float64))
    size = np.abs(np.asarray(mean, dtype=np.float64))
    constant = spread <= LONG_SUM * size
    scaler.mean_ = np.asarray(mean, dtype=np.float64)
    scaler.scale_ = np.where(constant, np.where(size > 0, 1e-3 * size, 1.0), spread)
    scaler.var_ = scaler.scale_**2
    scaler.n_features_in_ = len(scaler.mean_)
    scaler.n_samples_seen_ = 1
    return scaler
