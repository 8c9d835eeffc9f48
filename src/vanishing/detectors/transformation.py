"""TransformationDetector: the paper's detector, in the style of GOAD, and its image recipe."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from math import prod
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import HasMethods, StrOptions

from vanishing.arrays.blocks import block_rows
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    move_to_host,
    move_to_numpy,
    namespace,
    take_rows,
)
from vanishing.construction.passes import find_ranges
from vanishing.data.inputs import (
    N_JOBS,
    NumberRange,
    prepare_for_sklearn,
    refuse_points_as_y,
    take_over,
)
from vanishing.data.source import (
    ArraySource,
    ConcatenatedSource,
    MappedSource,
    SampleSource,
    close_after,
)
from vanishing.detectors.base import (
    FITTED_ROWS,
    PARAMETERS,
    Callback,
    Detector,
    Progress,
    Scored,
    can_leave_out,
    check_rows,
    count_folds,
    find_moments,
    refuse_streams,
)
from vanishing.detectors.mixture import (
    DEFAULT_IDEAL,
    find_clusterings,
    find_identical,
    fit_component,
    fit_mixture,
    learn_weights,
    measure_distance,
    refuse_identical,
    resolutions_of,
)
from vanishing.detectors.preprocessing import (
    OrientedGradients,
    check_takes_weights,
    fit_preprocessor,
)
from vanishing.detectors.sample_weights import ENOUGH_ROWS, mean_and_variance, take_weights
from vanishing.detectors.score import ColumnRanges, Coordinates, Mixture, Score
from vanishing.explain.view import Component, View
from vanishing.ideal import HasIdeal, VanishingIdeal
from vanishing.levels import LONG_SUM, SAME
from vanishing.transformations import (
    AnyOf,
    RandomAffine,
    Rotations,
    Transformation,
    Transformations,
    Translations,
)


class TransformationDetector(HasIdeal, Detector):
    """Anomaly detector that tells transformed copies of the data apart by their equations.

    The data is transformed in M ways. For each transformation T_i an ideal G_i is fitted to the
    transformed data, with all other transformed copies as contrast. A sample is normal if, for
    every i, its image under T_i satisfies the equations G_i and not those of the others (Masuya,
    Ike and Kera, after Bergman and Hoshen's GOAD). Where a feature is more than ten times as far
    from the middle of its range as in training, that distance is added to the anomaly score: the
    equations say little of such samples.

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
        Number of clusters of the data, each with an ideal of its own under every transformation.
        Clusters with fewer rows than twice their dimension are merged. 1 is
        the paper. A sequence such as (1, 10, 50) looks at the data at several resolutions: the
        score is then the mean of the logarithms of their scores, each standardized on the training
        data. Where a number is repeated, as in (1, 10, 10), k-means has as many random starts, and
        the clusters of each start share the weight of that resolution: scores then depend less on
        the seed.
    center : bool, default=True
        Whether deviations are measured from the mean of G_i on its copy, or from 0.
    smoothing : float, default=0.0
        The constant added to each probability.
    distance_weight : float, default=0.0
        The probabilities say only which transformation fits best, and a sample may be far from all
        of them. With a positive weight the logarithm of the distance from the nearest cluster under
        the first transformation, in units of what is usual there, is added with this weight; both
        terms are standardized on the training data.
    contamination : float or "auto", default="auto"
        Share of the training data that is called anomalous. "auto" uses the rule of box plots on
        the scores of rows that are left out of the fit in turn, or with more than 2000 rows on the
        training scores, and calls at least one in a hundred anomalous, and at most one in twenty of
        those that are not far below all others.
        With more than 20,000 rows, training scores are those of 20,000 rows drawn at random.
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
    anomaly_score_ : Score
        What ``score_samples`` evaluates: a list of views, with the maps to their coordinates.
    mixtures_ : list of Mixture
        The ideals of all transformations and clusters, one mixture per resolution.
    ideals_ : list of list of VanishingIdeal
        Per transformation and cluster, of all resolutions.
    centers_ : list of list of arrays
        Mean of each polynomial on its copy, or zeros.
    weights_ : list of list of arrays
        u = w² of each polynomial.
    n_components_ : int
        Number of clusters after small ones were merged, of all resolutions.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if X has column names.

    See Also
    --------
    vanishing.detectors.image_detector : Its default for images.
    vanishing.VanishingDetector : The detector for tables.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.metrics import roc_auc_score
    >>> from vanishing import TransformationDetector
    >>> from vanishing.transformations import Rotations
    >>> X, y = load_digits(return_X_y=True)
    >>> detector = TransformationDetector(
    ...     Rotations(image_shape=(8, 8)), preprocessor=PCA(12), contamination=0.05
    ... )
    >>> scores = detector.fit(X[:900][y[:900] % 2 == 0]).score_samples(X[900:])
    >>> bool(roc_auc_score(y[900:] % 2 == 0, scores) > 0.85)  # even digits are normal
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "transformations": [Transformations, None],
        "preprocessor": [HasMethods(["fit", "transform"]), None],
        "ideal": [VanishingIdeal, None],
        "weighting": [StrOptions({"convex", "descent"}), None],
        "sparsity": [NumberRange(Real, 0, None, closed="left")],
        "n_components": [NumberRange(Integral, 1, None, closed="left"), "array-like"],
        "center": ["boolean"],
        "smoothing": [NumberRange(Real, 0, None, closed="left")],
        "distance_weight": [NumberRange(Real, 0, None, closed="left")],
        **PARAMETERS,
        "n_jobs": N_JOBS,
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

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Fit one ideal for every transformation and cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a path, chunks or a Dask array
            Normal data. Files and chunks of up to 1 GiB are read into memory. Larger ones are
            passed over several times, which takes ``n_components=1``, no ``weighting``, no
            ``calibration``, and a ``preprocessor`` with ``partial_fit``, such as
            ``IncrementalPCA``.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            As in ``VanishingDetector.fit``. The ``preprocessor`` must be
            a ``PCA`` or take weights itself.
        callback : callable, optional
            Called with the share of the work that is done, from 0 to 1, every now and then.

        Returns
        -------
        self
        """
        refuse_points_as_y(self, X, y)
        self._validate_params()
        resolutions = resolutions_of(self.n_components)
        if sample_weight is not None:
            check_takes_weights(self.preprocessor)
        fitted = copy(self)  # a fit that fails leaves the estimator as it was
        rows, sample_weight = check_rows(fitted, X, sample_weight)
        chosen = RandomAffine() if self.transformations is None else self.transformations
        transformations = chosen.for_width(fitted.n_features_in_)
        if len(transformations) < 2:
            raise ValueError(
                f"{chosen!r} has {len(transformations)} transformation, but the detector "
                "distinguishes transformed copies: at least two are required"
            )
        if isinstance(rows, SampleSource):
            self._check_streams(resolutions)
            found = self._calibrate(self._fit_streamed(rows, transformations), rows)
        else:
            train, held_out = self._split(rows)
            n_fits = 1 + (count_folds(len(train)) if self._leaves_out(len(train)) else 0)
            # Beside those of the resolutions, steps for the clusters and for the scores.
            progress = Progress(callback, n_fits * (len(set(resolutions)) + 2))

            def fit_score(train: Array, sample_weight: FloatArray | None) -> tuple[Score, Scored]:
                return self._fit_score(train, transformations, resolutions, sample_weight, progress)

            score, seen = fit_score(train, sample_weight)
            unseen = None
            if self._leaves_out(len(train)):
                unseen = self._score_unseen(train, lambda *rows: fit_score(*rows)[0], sample_weight)
            found = self._calibrate(
                score, rows, held_out, seen=seen, unseen=unseen, sample_weight=sample_weight
            )
        fitted.anomaly_score_, fitted.offset_ = found
        take_over(self, fitted)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of ``score_samples``, a criterion that needs no labels.

        Better settings give held-out normal data higher scores, as long as the transformations and
        the form of the score stay the same. It cannot compare different sets of transformations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
            Larger is better.
        """
        return float(np.mean(move_to_host(self.score_samples(X))))

    @property
    def transformations_(self) -> tuple[Transformation, ...]:
        """The transformations of the fit."""
        return self.anomaly_score_.coordinates.maps

    @property
    def preprocessor_(self) -> Any:
        """The fitted preprocessor, or None."""
        return self.anomaly_score_.coordinates.preprocessor

    @property
    def mixtures_(self) -> list[Mixture]:
        """The ideals of all transformations and clusters, one mixture per resolution."""
        return [view for view in self.anomaly_score_.views if isinstance(view, Mixture)]

    @property
    def centers_(self) -> list[list[FloatArray]]:
        """Mean of each polynomial, per transformation and cluster."""
        return [[c.center for c in part.components] for part in self.anomaly_score_.parts]

    @property
    def weights_(self) -> list[list[FloatArray]]:
        """Weight u = w² of each polynomial, per transformation and cluster."""
        return [[c.weights for c in part.components] for part in self.anomaly_score_.parts]

    @property
    def n_components_(self) -> int:
        """Number of clusters."""
        return sum(mixture.n_clusters for mixture in self.mixtures_)

    def _default_ideal(self) -> VanishingIdeal:
        ideal: VanishingIdeal = clone(DEFAULT_IDEAL)
        return ideal

    def _fit_score(
        self,
        train: Array,
        transformations: tuple[Transformation, ...],
        resolutions: list[int],
        sample_weight: FloatArray | None,
        progress: Progress,
    ) -> tuple[Score, Scored]:
        """Fit preprocessor and ideals; return the score, and scores of rows fitted to."""
        scaler = None
        # Random maps mix the columns, which must have one scale for that.
        if self.transformations is None:
            scaler = StandardScaler().fit(move_to_numpy(train), sample_weight=sample_weight)
        coordinates = Coordinates(scaler, None, transformations)
        if self.preprocessor is not None:
            # In the precision of the data, where nothing has scaled it.
            rows = train if scaler is None else coordinates.scale(train)
            preprocessor = fit_preprocessor(self.preprocessor, rows, transformations, sample_weight)
            coordinates = replace(coordinates, preprocessor=preprocessor)
        copies = list(coordinates.each(train))
        # Principal components of images whose pixels are the same may differ by rounding.
        rounding = LONG_SUM if isinstance(self.preprocessor, PCA) else 0.0
        refuse_identical(find_identical(copies, rounding), transformations)
        raw = move_to_numpy(coordinates.preprocess(coordinates.scale(train)))
        names = [transformation.name for transformation in transformations]
        clusterings = find_clusterings(
            raw, resolutions, seed=self.random_state, sample_weight=sample_weight
        )
        progress.step()
        mixtures = []
        for labels, weight in clusterings:
            mixtures.append(self._fit_mixture(copies, labels, names, sample_weight))
            progress.step(weight)
        weights = [weight for _, weight in clusterings]
        ranges = _describe_ranges(ArraySource(train), each=scaler is not None)
        score = self._combine(coordinates, mixtures, weights, ranges)
        if train.shape[0] > FITTED_ROWS:
            rng = np.random.default_rng(self.random_state)
            drawn = np.sort(rng.choice(train.shape[0], FITTED_ROWS, replace=False))
            train, sample_weight = take_rows(train, drawn), take_weights(sample_weight, drawn)
        measured = score.measure(train)
        progress.step()
        mean, variance = mean_and_variance(move_to_host(measured).T, sample_weight)
        score = self._standardize(score, mean, variance)
        return score, Scored(-np.asarray(move_to_host(score.add_up(measured))), sample_weight)

    def _fit_mixture(
        self,
        copies: list[Array],
        labels: IntArray,
        names: list[str],
        sample_weight: FloatArray | None,
    ) -> Mixture:
        mixture = fit_mixture(
            copies,
            labels,
            self.ideal,
            names,
            center=self.center,
            smoothing=self.smoothing,
            seed=self.random_state,
            n_jobs=self.n_jobs,
            sample_weight=sample_weight,
        )
        if self.weighting is None:
            return mixture
        mixture = learn_weights(
            mixture,
            copies,
            self.weighting,
            sparsity=self.sparsity,
            seed=self.random_state,
            sample_weight=sample_weight,
        )
        if self.distance_weight > 0 and not any(
            len(component.center) for component in mixture.components[mixture.own(0)]
        ):
            raise ValueError(
                f"with sparsity={self.sparsity} no polynomial is left under the first "
                f"transformation ({names[0]!r}), from which distances are measured; lower "
                "sparsity, or leave distance_weight out"
            )
        return mixture

    def _combine(
        self,
        coordinates: Coordinates,
        mixtures: list[Mixture],
        weights: list[float],
        ranges: ColumnRanges,
    ) -> Score:
        """Return the paper's loss of one mixture, or the weighted mean of several views.

        Losses at several resolutions, and distances from the nearest cluster, have sizes of their
        own. Their logarithms are standardized on the training data.
        """
        views: list[View] = list(mixtures)
        if len(mixtures) > 1 or self.distance_weight > 0:
            losses: list[View] = []
            distances: list[View] = []
            first, total = 0, sum(weights) * (1 + self.distance_weight)
            for mixture, weight in zip(mixtures, weights, strict=True):
                loss = replace(mixture, first_cluster=first, logarithm=True, weight=weight / total)
                losses.append(loss)
                if self.distance_weight > 0:
                    weight = self.distance_weight * weight / total
                    distances.append(replace(measure_distance(loss), weight=weight))
                first += mixture.n_clusters
            views = losses + distances
        few_features = coordinates.scaler is not None
        return Score(coordinates, views, ranges=ranges, few_features=few_features)

    def _standardize(self, score: Score, mean: FloatArray, variance: FloatArray) -> Score:
        """Give the views the mean and the spread of the training data, unless there is one only."""
        return score if len(score.views) == 1 else score.standardize(mean, np.sqrt(variance) + SAME)

    def _leaves_out(self, n_rows: int) -> bool:
        """Whether rows are left out of the fit in turn.

        Few rows are fitted more closely than new ones. With many, leaving some out would cost
        another fit for little.
        """
        is_worthwhile = can_leave_out(n_rows) and n_rows <= 2 * ENOUGH_ROWS
        return self.contamination == "auto" and is_worthwhile

    # Rows that are too many to be held at once: every copy of the data is the source seen through a
    # transformation, and its contrast the other copies one after the other; no row is kept.

    def _check_streams(self, resolutions: list[int]) -> None:
        """Raise if a parameter needs all rows at once."""
        needs = {
            f"n_components={self.n_components}": resolutions != [1],
            f"weighting={self.weighting!r}": self.weighting is not None,
            f"calibration={self.calibration}": self.calibration is not None,
        }
        refuse_streams(needs, "leave this parameter at its default")
        needs_all = self.preprocessor is not None and not hasattr(self.preprocessor, "partial_fit")
        name = type(self.preprocessor).__name__
        refuse_streams(
            {name: needs_all}, "choose a preprocessor with partial_fit, such as IncrementalPCA"
        )

    def _fit_streamed(
        self, source: SampleSource, transformations: tuple[Transformation, ...]
    ) -> Score:
        """Fit as ``_fit_score`` does, by passes over the rows."""
        scaler = None
        if self.transformations is None:
            scaler = StandardScaler()
            for block in _read_long_blocks(source, 1):
                scaler.partial_fit(move_to_numpy(block))
        coordinates = Coordinates(scaler, None, transformations)
        if self.preprocessor is not None:
            fitted = clone(self.preprocessor)
            # Incremental methods need as many rows at a time as there are components.
            fewest = getattr(fitted, "n_components", None) or source.n_features
            for block in _read_long_blocks(source, fewest):
                scaled = coordinates.scale(block)
                for transformation in transformations:
                    fitted.partial_fit(prepare_for_sklearn(transformation(scaled)))
            coordinates = replace(coordinates, preprocessor=fitted)
        images = [partial(coordinates.image, i) for i in range(len(transformations))]
        copies = [MappedSource(source, image) for image in images]
        pairs = source.map_reduce(
            lambda x: find_identical([image(x) for image in images]),
            frozenset.intersection,
            max_rows=block_rows(4 * source.n_features * len(copies), cpu=source.cpu),
        )
        refuse_identical(pairs, transformations)
        names = tuple(transformation.name for transformation in transformations)
        components = [self._fit_copy(copies, i, names[i]) for i in range(len(copies))]
        places = tuple(range(len(copies)))
        mixture = Mixture(names, components, places, smoothing=self.smoothing)
        ranges = _describe_ranges(source, each=scaler is not None)
        score = self._combine(coordinates, [mixture], [1.0], ranges)
        found = find_moments(MappedSource(source, lambda x: score.measure(x).T))
        return self._standardize(score, found.mean, found.variance)

    def _fit_copy(self, copies: list[MappedSource], own: int, name: str) -> Component:
        others = ConcatenatedSource([part for i, part in enumerate(copies) if i != own])
        ideal = fit_component(copies[own], others, self.ideal, f"transformation {own} ({name!r})")
        values = find_moments(MappedSource(copies[own], ideal.basis_.evaluate))
        if self.center:
            mean, squared = values.mean, values.variance
        else:
            mean, squared = np.zeros_like(values.mean), values.variance + values.mean**2
        return Component(ideal, mean, np.sqrt(squared), np.ones_like(mean))


def _describe_ranges(source: SampleSource, *, each: bool) -> ColumnRanges:
    """Describe the range of each column, as wide as the widest where not ``each`` has its unit."""
    low, high = find_ranges(source).astype(np.float64)
    middles, half_widths = (low + high) / 2, (high - low) / 2
    if not each:  # a pixel that is always black may be gray once
        half_widths = np.full_like(half_widths, half_widths.max())
    constant = half_widths == 0
    return ColumnRanges(middles, np.where(constant, np.abs(middles) + 1.0, half_widths))


def _read_long_blocks(source: SampleSource, fewest: int) -> Iterator[Array]:
    """Yield blocks of at least ``fewest`` rows, if there are as many in all."""
    rows = max(fewest, block_rows(4 * source.n_features, cpu=source.cpu))
    last: list[Array] = []  # long enough, and held back for a short end to join
    held: list[Array] = []
    with close_after(source.blocks(rows)) as blocks:
        for block in blocks:
            held.append(block)
            if sum(int(part.shape[0]) for part in held) >= fewest:
                if last:
                    yield namespace(last[0]).concat(last)
                last, held = held, []
    yield namespace((last + held)[0]).concat(last + held)


# --- A detector for images that needs no choices --------------------------------------------------


def image_detector(
    image_shape: tuple[int, ...], *, gradients: bool = False, **parameters: Any
) -> TransformationDetector:
    """Return a detector for square images, with settings that did well on very different ones.

    Four rotations and eight shifts by a seventh of the image, the first 60 principal components,
    linear equations of 1, 10, 50 and 200 clusters of the data (those of 10 and of 50 found from two
    starts of k-means), and the distance from the nearest cluster with a third of the weight of the
    probabilities.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels. Height and width are equal,
        unless ``transformations`` are passed.
    gradients : bool, default=False
        Whether to take principal components of ``OrientedGradients`` in place of pixels, and the
        distance with the same weight as the probabilities. This detects more, above all where
        normal images are of one kind, but takes longer, and the detector cannot explain its scores.
    **parameters
        Of ``TransformationDetector``, in place of ours.

    Returns
    -------
    TransformationDetector
        Not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.metrics import roc_auc_score
    >>> from vanishing.detectors import image_detector
    >>> X, y = load_digits(return_X_y=True)
    >>> detector = image_detector((8, 8), n_components=(1, 5), contamination=0.05)
    >>> detector = detector.fit(X[:900][y[:900] % 2 == 0])
    >>> bool(roc_auc_score(y[900:] % 2 == 0, detector.score_samples(X[900:])) > 0.9)
    True
    """
    if "transformations" not in parameters:  # ours refuse images that are not square
        shift = max(1, round(image_shape[0] / 7))
        parameters["transformations"] = AnyOf(
            Rotations(image_shape), Translations(image_shape, shift=shift, identity=False)
        )
    # Fewer components where an image has few pixels: the last ones are the noise.
    pca = PCA(min(60, prod(image_shape) // 2), random_state=0)
    chosen: dict[str, Any] = {
        "preprocessor": make_pipeline(OrientedGradients(image_shape), pca) if gradients else pca,
        "ideal": VanishingIdeal(
            max_degree=1, tol=0.9, normalization="contrastive", reduction="gram"
        ),
        "n_components": (1, 10, 10, 50, 50, 200),
        "distance_weight": 1.0 if gradients else 1 / 3,
    }
    return TransformationDetector(**(chosen | parameters))
