"""TransformationDetector: the paper's detector, in the style of GOAD."""

from copy import copy
from functools import partial
from itertools import combinations, pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from vanishing._xp import FloatArray, IntArray
from vanishing.anomaly.components import Component, fit_component
from vanishing.anomaly.detector import Detector
from vanishing.anomaly.explain import Landscape
from vanishing.anomaly.explain.transformed import TransformedView
from vanishing.anomaly.pieces import rows_of_others, split_into_pieces
from vanishing.anomaly.scores import negative_log_probability
from vanishing.anomaly.weights import WeightProblem, convex_weights, descent_weights
from vanishing.estimators import VanishingIdeal
from vanishing.estimators.inputs import DTYPES, take_over
from vanishing.samples import ArraySource, ConcatenatedSource, SampleSource
from vanishing.transformations import RandomAffine, Transformation, Transformations

#: Rows of all other pieces that a piece is contrasted with, at most.
CONTRAST_ROWS = 60_000
#: Numbers that the problem of the weights may hold; rows are drawn to fit.
WEIGHT_NUMBERS = 2**27
#: Rows that are scored at a time.
SCORED_ROWS = 4096


class TransformationDetector(Detector):
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
    n_components : int, default=1
        Number of pieces into which the data is clustered, each with an ideal of its own under
        every transformation. Pieces with fewer rows than twice their dimension are merged. 1 is
        the paper.
    center : bool, default=True
        Whether deviations are measured from the mean of G_i on its copy, or from 0.
    smoothing : float, default=0.0
        The constant added to each probability.
    contamination : float or "auto", default="auto"
        Share of the training data that is called anomalous. "auto" uses the rule of box plots on
        the training scores, and calls at least one in a hundred anomalous. With ``calibration`` it
        is the guaranteed rate of false alarms.
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
    ideals_ : list of list of VanishingIdeal
        Per transformation and piece.
    centers_ : list of list of arrays
        Mean of each polynomial on its copy, or zeros.
    weights_ : list of list of arrays
        u = w² of each polynomial.
    n_components_ : int
        Number of pieces after small ones were merged.
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
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "center": ["boolean"],
        "smoothing": [Interval(Real, 0, None, closed="left")],
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
        n_components: int = 1,
        center: bool = True,
        smoothing: float = 0.0,
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
        self.contamination = contamination
        self.calibration = calibration
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit one ideal for every transformation and piece.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Normal data.
        y : ignored

        Returns
        -------
        self
        """
        self._validate_params()
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        X = validate_data(fitted, X, dtype=DTYPES, ensure_min_samples=2)
        chosen = RandomAffine() if self.transformations is None else self.transformations
        fitted.transformations_ = chosen.for_width(X.shape[1])
        if len(fitted.transformations_) < 2:
            raise ValueError(
                f"{chosen!r} has {len(fitted.transformations_)} transformation, but the detector "
                "tells transformed copies apart: at least two are required"
            )
        train, held_out = self._split(X)
        # Random maps mix the columns, which must have one scale for that.
        fitted._scaler = StandardScaler().fit(train) if self.transformations is None else None
        fitted.preprocessor_ = fitted._fit_preprocessor(train)
        copies = [fitted._image(i, train) for i in range(len(fitted.transformations_))]
        _refuse_identical(copies, fitted.transformations_)
        raw = fitted._preprocessed(fitted._scaled(train))
        pieces = split_into_pieces(raw, self.n_components, seed=self.random_state)
        fitted._fit_ideals(copies, pieces)
        if self.weighting is not None:
            fitted._fit_weights(copies)
        fitted._finish(X, held_out)
        take_over(self, fitted)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of ``score_samples``, a criterion without labels.

        Held-out normal data scores higher under better settings, as long as transformations and
        form of the score are the same; across sets of transformations it says nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        """
        return float(np.mean(self.score_samples(X)))

    def _score(self, X: FloatArray) -> FloatArray:
        scores = np.zeros(len(X))
        with np.errstate(over="ignore", invalid="ignore"):
            self._add_scores(X, scores)
        # Infinitely far from every ideal, or not a number: as anomalous as can be.
        scores[np.isnan(scores)] = -np.inf
        return scores

    def _add_scores(self, X: FloatArray, scores: FloatArray) -> None:
        for start in range(0, len(X), SCORED_ROWS):
            rows = slice(start, start + SCORED_ROWS)
            for i in range(len(self.transformations_)):
                deviations = self._deviations(self._image(i, X[rows]))
                own = slice(i * self.n_components_, (i + 1) * self.n_components_)
                scores[rows] -= negative_log_probability(deviations, own, self.smoothing)

    def _fit_preprocessor(self, train: FloatArray) -> Any:
        if self.preprocessor is None:
            return None
        scaled = train if self._scaler is None else self._scaler.transform(train)
        union = np.vstack([transformation(scaled) for transformation in self.transformations_])
        return clone(self.preprocessor).fit(union)

    def _scaled(self, X: FloatArray) -> FloatArray:
        """Return X in double precision, so that scores do not depend on the batch."""
        X = X.astype(np.float64)
        return X if self._scaler is None else np.asarray(self._scaler.transform(X))

    def _preprocessed(self, X: FloatArray) -> FloatArray:
        if self.preprocessor_ is not None:
            X = self.preprocessor_.transform(X)
        # One feature after the other: evaluation works through the columns.
        return np.asfortranarray(X, dtype=np.float64)

    def _image(self, i: int, X: FloatArray) -> FloatArray:
        """Return T_i X, preprocessed."""
        return self._preprocessed(self.transformations_[i](self._scaled(X)))

    def _fit_ideals(self, copies: list[FloatArray], labels: IntArray) -> None:
        pieces = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
        self.n_components_ = len(pieces)
        n_rows = len(labels)
        components = [(i, piece) for i in range(len(copies)) for piece in pieces]
        stacked_rows = [i * n_rows + piece for i, piece in components]

        def contrast_of(own: int) -> SampleSource:
            i = components[own][0]
            if len(pieces) == 1:
                return ConcatenatedSource([ArraySource(c) for k, c in enumerate(copies) if k != i])
            rng = np.random.default_rng([self.random_state, own])
            rows = rows_of_others(stacked_rows, own, CONTRAST_ROWS, rng)
            return ConcatenatedSource(
                [
                    ArraySource(copies[k][rows[rows // n_rows == k] % n_rows])
                    for k in np.unique(rows // n_rows)
                ]
            )

        def fit_one(own: int) -> VanishingIdeal:
            i, piece = components[own]
            points = copies[i] if len(pieces) == 1 else copies[i][piece]
            name = f"transformation {i} ({self.transformations_[i].name!r})"
            return fit_component(ArraySource(points), contrast_of(own), self.ideal, name)

        # Threads: the work is in BLAS and LAPACK, and the copies are shared. Many small problems
        # run fastest with one BLAS thread each.
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads")
        with threadpool_limits(1 if len(pieces) > 1 or parallel.n_jobs not in (None, 1) else None):
            ideals = parallel(delayed(fit_one)(own) for own in range(len(components)))
        self.ideals_ = _grouped(ideals, len(pieces))
        centers, typical = [], []
        for ideal, (i, piece) in zip(ideals, components, strict=True):
            values = ideal.basis_.evaluate(copies[i][piece])
            centers.append(values.mean(axis=0) if self.center else np.zeros(values.shape[1]))
            typical.append(np.sqrt(np.mean((values - centers[-1]) ** 2, axis=0)))
        self.centers_ = _grouped(centers, len(pieces))
        self._typical = _grouped(typical, len(pieces))
        self.weights_ = _grouped([np.ones_like(c) for c in centers], len(pieces))

    def _deviations(self, z: FloatArray) -> FloatArray:
        """Return D_j(z) for every component, shape (n_points, n_components)."""
        return np.stack([component.deviation(z) for component in self._components()], axis=1)

    def _components(self) -> list[Component]:
        per_transformation = zip(
            self.ideals_, self.centers_, self._typical, self.weights_, strict=True
        )
        return [Component(*parts) for row in per_transformation for parts in zip(*row, strict=True)]

    def _landscape(self) -> Landscape:
        components = self._components()
        views = [
            TransformedView(components, i, self.n_components_, transformation.name, self.smoothing)
            for i, transformation in enumerate(self.transformations_)
        ]
        # Columns of a table have units of their own; pixels have one in common.
        scale = (
            self._spread_row
            if self._scaler is not None
            else np.full(self.n_features_in_, np.sqrt(np.mean(self._spread_row**2)))
        )
        return Landscape(
            [partial(self._image, i) for i in range(len(views))],
            views,
            self._mean_row,
            scale,
            self._usual_score,
            few_features=self._scaler is not None,
        )

    def _fit_weights(self, copies: list[FloatArray]) -> None:
        components = self._components()
        stops = np.cumsum([0, *(len(component.center) for component in components)])
        slices = [slice(int(a), int(b)) for a, b in pairwise(stops)]
        n_rows = len(copies[0])
        fits = max(1, int(WEIGHT_NUMBERS // (stops[-1] * len(copies))))
        rows = np.arange(n_rows)
        if fits < n_rows:
            rng = np.random.default_rng(self.random_state)
            rows = np.sort(rng.choice(n_rows, size=fits, replace=False))
        squares = [
            np.hstack([component.residuals(z[rows]) ** 2 for component in components])
            for z in copies
        ]
        problem = WeightProblem(squares, slices, self.n_components_, self.smoothing)
        if self.weighting == "descent":
            u = descent_weights(problem)
            if not np.isfinite(u).all():
                raise ValueError(
                    "gradient descent on the weights diverged: its rate is fixed, and the values "
                    "of the polynomials are too large for it; use weighting='convex'"
                )
        else:
            u = convex_weights(problem, penalty=self.sparsity / len(rows))
            if not u.any():
                raise ValueError(
                    f"with sparsity={self.sparsity} and {len(rows)} samples all weights are zero; "
                    "lower sparsity"
                )
        self.weights_ = _grouped([u[s] for s in slices], self.n_components_)
        self._drop_useless()

    def _drop_useless(self) -> None:
        """Leave out polynomials of weight zero, so that scoring does not evaluate them."""
        for i, row in enumerate(self.weights_):
            for c, weights in enumerate(row):
                kept = weights > 0
                if not kept.all():
                    ideal = self.ideals_[i][c]
                    ideal.basis_ = ideal.basis_.restricted(kept)
                    ideal.extents_ = ideal.basis_.extents
                    self.centers_[i][c] = self.centers_[i][c][kept]
                    self._typical[i][c] = self._typical[i][c][kept]
                    self.weights_[i][c] = weights[kept]


def _grouped(items: list[Any], size: int) -> list[list[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _refuse_identical(
    copies: list[FloatArray], transformations: tuple[Transformation, ...]
) -> None:
    for (i, first), (k, second) in combinations(enumerate(copies), 2):
        if np.array_equal(first, second):
            raise ValueError(
                f"transformations {i} ({transformations[i].name!r}) and {k} "
                f"({transformations[k].name!r}) give identical copies of X, which cannot be told "
                "apart; leave one of them out"
            )
