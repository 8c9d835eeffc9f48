"""TransformationDetector: the paper's detector, in the style of GOAD."""

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from vanishing._xp import (
    Array,
    FloatArray,
    IntArray,
    is_array,
    move_like,
    move_to_numpy,
    namespace,
    on_host,
    take_rows,
    with_contiguous_columns,
)
from vanishing.anomaly.combination import Combination
from vanishing.anomaly.components import DEFAULT_IDEAL
from vanishing.anomaly.counts import check_takes_weights, fit_weighted, mean_and_variance, some
from vanishing.anomaly.detector import Detector
from vanishing.anomaly.explain import Landscape
from vanishing.anomaly.mixture import (
    Mixture,
    fit_mixture,
    identical_pairs,
    refuse_identical,
    weighted,
)
from vanishing.anomaly.per_transformation import PerTransformation
from vanishing.anomaly.pieces import resolutions_of, split_into_pieces
from vanishing.anomaly.streamed_transformation import check_streams, fit_streamed
from vanishing.anomaly.threshold import Scored, on_unseen_rows
from vanishing.estimators import VanishingIdeal
from vanishing.estimators.inputs import for_scikit_learn, take_over
from vanishing.samples import SampleSource
from vanishing.samples.checks import dense
from vanishing.transformations import RandomAffine, Transformations

#: Numbers of one component that are held while rows are scored.
SCORED_NUMBERS = 2**22
#: Scores of so many rows, at most, are taken from fits to other rows where they set thresholds.
FEWEST_ROWS, FEW_ROWS = 10, 2000


class TransformationDetector(PerTransformation, Detector):
    """Anomaly detector that tells transformed copies of the data apart by their equations.

    The data is transformed in M ways. For each transformation T_i an ideal G_i is fitted to the
    transformed data, with all other transformed copies as contrast. A sample is normal if, for
    every i, its image under T_i satisfies the equations G_i and not those of the others (Masuya,
    Ike and Kera, after Bergman and Hoshen's GOAD).

    Parameters
    ----------
    transformations : Transformations or None, default=None
        A set of at least two, such as ``Rotations(image_shape=(28, 28))``. None stands for
        ``RandomAffine()`` on standardized columns, which works on any table.
    preprocessor : transformer or None, default=None
        Fitted on all transformed copies together, such as ``PCA(30)``. Transformations act before
        it, on the raw samples.
    ideal : VanishingIdeal or None, default=None
        What is fitted to each copy. None stands for ``VanishingIdeal(max_degree=2, tol=0.5,
        normalization="contrastive", reduction="gram")``, with the tolerance raised where nothing
        would vanish.
    weighting : {"convex", "descent"} or None, default=None
        Weights on the polynomials that minimize the mean training score. "descent" is the paper's
        gradient descent (rate 1e-5, 300 epochs), "convex" finds the optimum (a local one if
        ``n_components > 1`` or ``smoothing > 0``). None leaves all weights at 1.
    sparsity : float, default=5.0
        Penalty on the sum of the weights of "convex", divided by the number of training samples:
        it keeps few samples from being overfitted, and matters less with many. Polynomials whose
        weight becomes zero are dropped, which makes scoring faster.
    n_components : int or sequence of int, default=1
        Number of pieces into which the data is clustered, each with an ideal of its own under
        every transformation. Pieces with fewer rows than twice their dimension are merged. 1 is
        the paper. A sequence such as (1, 10, 50) looks at the data at several resolutions: the
        score is then the mean of the logarithms of their scores, each standardized on the training
        data.
    center : bool, default=True
        Whether deviations are measured from the mean of G_i on its copy, or from 0.
    smoothing : float, default=0.0
        The constant added to each probability.
    distance_weight : float, default=0.0
        The probabilities say only which transformation fits best, and a sample may be far from all
        of them. With a positive weight the logarithm of the distance from the nearest piece under
        the first transformation, in units of what is usual there, is added with this weight; both
        terms are standardized on the training data.
    contamination : float or "auto", default="auto"
        Share of the training data that is called anomalous. "auto" uses the rule of box plots on
        the scores of rows that are left out of the fit in turn, or with more than 2000 rows on the
        training scores, and calls at least one in a hundred anomalous, and at most one in twenty.
        With ``calibration`` it is the guaranteed rate of false alarms.
    calibration : float or None, default=None
        Share of the training data that is kept out of the fit and used for the threshold.
    random_state : int, default=0
        Seed of clustering and of drawing rows.
    n_jobs : int or None, default=None
        Number of ideals fitted at a time, as in joblib.

    Attributes
    ----------
    transformations_ : tuple of Transformation
    preprocessor_ : transformer or None
    mixtures_ : list of Mixture
        The ideals of all transformations and pieces, one mixture per resolution.
    ideals_ : list of list of VanishingIdeal
        Per transformation and piece, of all resolutions.
    centers_ : list of list of arrays
        Mean of each polynomial on its copy, or zeros.
    weights_ : list of list of arrays
        u = w² of each polynomial.
    n_components_ : int
        Number of pieces after small ones were merged, of all resolutions.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if X has column names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.metrics import roc_auc_score
    >>> from vanishing import TransformationDetector
    >>> from vanishing.transformations import Rotations
    >>> X, y = load_digits(return_X_y=True)
    >>> detector = TransformationDetector(Rotations(image_shape=(8, 8)), preprocessor=PCA(12))
    >>> scores = detector.fit(X[:900][y[:900] % 2 == 0]).score_samples(X[900:])
    >>> bool(roc_auc_score(y[900:] % 2 == 0, scores) > 0.85)  # even digits are normal
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "transformations": [Transformations, None],
        "preprocessor": [HasMethods(["fit", "transform"]), None],
        "ideal": [VanishingIdeal, None],
        "weighting": [StrOptions({"convex", "descent"}), None],
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "center": ["boolean"],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "distance_weight": [Interval(Real, 0, None, closed="left")],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "calibration": [Interval(Real, 0, 1, closed="neither"), None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        transformations: Transformations | None = None,
        *,
        preprocessor: Any = None,
        ideal: VanishingIdeal | None = None,
        weighting: Literal["convex", "descent"] | None = None,
        sparsity: float = 5.0,
        n_components: int | Sequence[int] = 1,
        center: bool = True,
        smoothing: float = 0.0,
        distance_weight: float = 0.0,
        contamination: float | Literal["auto"] = "auto",
        calibration: float | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.transformations = transformations
        self.preprocessor = preprocessor
        self.ideal = ideal
        self.weighting = weighting
        self.sparsity = sparsity
        self.n_components = n_components
        self.center = center
        self.smoothing = smoothing
        self.distance_weight = distance_weight
        self.contamination = contamination
        self.calibration = calibration
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit one ideal for every transformation and piece.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a path, chunks or a Dask array
            Normal data. Files and chunks of up to 1 GiB are read into memory. Larger ones are
            passed over several times, which takes ``n_components=1``, no ``weighting``, no
            ``calibration``, and a ``preprocessor`` with ``partial_fit``, such as
            ``IncrementalPCA``.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts, as in ``VanishingDetector.fit``. The ``preprocessor`` must be
            a ``PCA`` or take weights itself.

        Returns
        -------
        self
        """
        self._validate_params()
        resolutions = resolutions_of(self.n_components)
        if sample_weight is not None:
            check_takes_weights(self.preprocessor)
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        rows, counts = fitted._checked_rows(X, sample_weight)
        chosen = RandomAffine() if self.transformations is None else self.transformations
        fitted.transformations_ = chosen.for_width(fitted.n_features_in_)
        if len(fitted.transformations_) < 2:
            raise ValueError(
                f"{chosen!r} has {len(fitted.transformations_)} transformation, but the detector "
                "tells transformed copies apart: at least two are required"
            )
        if isinstance(rows, SampleSource):
            check_streams(self, resolutions)
            fit_streamed(fitted, rows)
            fitted._finish(rows, None)
        else:
            train, held_out = self._split(rows)
            scores = fitted._fit_models(train, resolutions, counts)
            unseen = fitted._unseen(train, resolutions, counts)
            fitted._finish(rows, held_out, scores, unseen, counts)
        take_over(self, fitted)
        return self

    def _default_ideal(self) -> VanishingIdeal:
        ideal: VanishingIdeal = clone(DEFAULT_IDEAL)
        return ideal

    def _fit_models(
        self, train: Array, resolutions: list[int], counts: FloatArray | None
    ) -> FloatArray:
        """Fit preprocessor and ideals; return the scores of the rows that were fitted to."""
        self._distance_weight = self.distance_weight  # the parameter may be set to another since
        # Random maps mix the columns, which must have one scale for that.
        self._scaler = None
        if self.transformations is None:
            self._scaler = StandardScaler().fit(move_to_numpy(train), sample_weight=counts)
        self.preprocessor_ = self._fit_preprocessor(train, counts)
        copies = list(self._images(train))
        refuse_identical(identical_pairs(copies), self.transformations_)
        raw = move_to_numpy(self._preprocessed(self._scaled(train)))
        pieces = [
            split_into_pieces(raw, k, seed=self.random_state, counts=counts) for k in resolutions
        ]
        self.mixtures_ = [self._fit_mixture(copies, labels, counts) for labels in pieces]
        parts = self._parts(train)
        self._means, variances = mean_and_variance(on_host(parts).T, counts)
        self._spreads = np.sqrt(variances) + 1e-9
        return np.asarray(on_host(self._combination.scores(parts, self._means, self._spreads)))

    def _unseen(
        self, train: Array, resolutions: list[int], counts: FloatArray | None
    ) -> Scored | None:
        """Return scores of rows that are left out of the fit in turn, where that is needed.

        Few rows are fitted more closely than new ones. With many, leaving some out would cost
        another fit for little.
        """
        if not FEWEST_ROWS <= train.shape[0] <= FEW_ROWS:
            return None

        def score(rest: IntArray, unseen: IntArray) -> FloatArray:
            fold = copy(self)
            fold._fit_models(take_rows(train, rest), resolutions, some(counts, rest))
            return np.asarray(on_host(fold._score(take_rows(train, unseen))))

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # said of the fit to all rows
                scores, which = on_unseen_rows(train.shape[0], score, seed=self.random_state)
                return Scored(scores, some(counts, which))
        except ValueError:  # nothing vanishes on some of the rows, though it does on all
            return None

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of ``score_samples``, a criterion without labels.

        Held-out normal data scores higher under better settings, as long as transformations and
        form of the score are the same; across sets of transformations it says nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
            Larger is better.
        """
        return float(np.mean(on_host(self.score_samples(X))))

    @property
    def _combination(self) -> Combination:
        """What the score is made of."""
        return Combination(self.mixtures_, self._distance_weight)

    def _score(self, X: Array) -> Array:
        return self._combination.scores(self._parts(X), self._means, self._spreads)

    def _parts(self, X: Array) -> Array:
        """Return the parts of the score, shape (n_parts, n_samples)."""
        widest = max(len(c.center) for mixture in self.mixtures_ for c in mixture.components)
        n_rows = max(1, SCORED_NUMBERS // widest)
        blocks = (X[start : start + n_rows, :] for start in range(0, X.shape[0], n_rows))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            parts = [self._combination.parts(self._images(block)) for block in blocks]
        return namespace(X).concat(parts, axis=1)

    def _fit_preprocessor(self, train: Array, counts: FloatArray | None) -> Any:
        if self.preprocessor is None:
            return None
        xp = namespace(train)
        scaled = train if self._scaler is None else self._scaled(train)
        union = xp.concat([transformation(scaled) for transformation in self.transformations_])
        return fit_weighted(clone(self.preprocessor), for_scikit_learn(union), counts)

    def _scaled(self, X: Array) -> Array:
        """Return X in double precision, so that scores do not depend on the batch."""
        xp = namespace(X)
        X = xp.astype(X, xp.float64)
        if self._scaler is None:
            return X
        return (X - move_like(self._scaler.mean_, X)) / move_like(self._scaler.scale_, X)

    def _preprocessed(self, X: Array) -> Array:
        if self.preprocessor_ is not None:
            reduced = self.preprocessor_.transform(for_scikit_learn(X))
            if not is_array(reduced):  # a frame, where scikit-learn is told to make them
                reduced = np.asarray(dense(reduced, "the output of the preprocessor"))
            X = move_like(reduced, X) if isinstance(reduced, np.ndarray) else reduced
        # One feature after the other: evaluation works through the columns.
        return with_contiguous_columns(X)

    def _image(self, i: int, X: Array) -> Array:
        """Return T_i X, preprocessed."""
        return self._preprocessed(self.transformations_[i](self._scaled(X)))

    def _images(self, X: Array) -> Iterator[Array]:
        return (self._image(i, X) for i in range(len(self.transformations_)))

    def _fit_mixture(
        self, copies: list[Array], pieces: IntArray, counts: FloatArray | None
    ) -> Mixture:
        mixture = fit_mixture(
            copies,
            pieces,
            self.ideal,
            [transformation.name for transformation in self.transformations_],
            center=self.center,
            smoothing=self.smoothing,
            seed=self.random_state,
            n_jobs=self.n_jobs,
            counts=counts,
        )
        if self.weighting is None:
            return mixture
        mixture = weighted(
            mixture,
            copies,
            self.weighting,
            sparsity=self.sparsity,
            seed=self.random_state,
            counts=counts,
        )
        if self.distance_weight > 0 and not any(
            len(component.center) for component in mixture.components[mixture.own(0)]
        ):
            raise ValueError(
                f"with sparsity={self.sparsity} no polynomial is left under the first "
                f"transformation ({self.transformations_[0].name!r}), from which distances are "
                "measured; lower sparsity, or leave distance_weight out"
            )
        return mixture

    def _landscape(self) -> Landscape:
        images = [partial(self._image, i) for i in range(len(self.transformations_))]
        names = [transformation.name for transformation in self.transformations_]
        maps, views = self._combination.views(images, names, self._means, self._spreads)
        # Columns of a table have units of their own; pixels have one in common.
        scale = (
            self._spread_row
            if self._scaler is not None
            else np.full(self.n_features_in_, np.sqrt(np.mean(self._spread_row**2)))
        )
        return Landscape(
            maps,
            views,
            self._mean_row,
            scale,
            self._usual_score,
            few_features=self._scaler is not None,
        )
