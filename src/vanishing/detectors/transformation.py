"""TransformationDetector: the paper's detector, in the style of GOAD, and its image recipe."""

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from math import prod
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from vanishing.arrays.blocks import block_rows
from vanishing.arrays.namespace import (
    Array,
    FloatArray,
    IntArray,
    is_array,
    make_columns_contiguous,
    move_like,
    move_to_host,
    move_to_numpy,
    namespace,
    require_dense,
    take_rows,
)
from vanishing.data.inputs import prepare_for_sklearn, take_over, too_large
from vanishing.data.source import (
    ConcatenatedSource,
    MappedSource,
    SampleSource,
    close_after,
)
from vanishing.detectors.base import Detector, moments
from vanishing.detectors.clusters import resolutions_of, split_into_pieces
from vanishing.detectors.combination import Combination
from vanishing.detectors.mixture import (
    DEFAULT_IDEAL,
    Component,
    Mixture,
    fit_component,
    fit_mixture,
    identical_pairs,
    refuse_identical,
    weighted,
)
from vanishing.detectors.sample_weights import (
    check_takes_weights,
    fit_weighted,
    mean_and_variance,
    some,
)
from vanishing.detectors.threshold import Scored, on_unseen_rows
from vanishing.explain.attribution import Landscape
from vanishing.ideal import VanishingIdeal
from vanishing.transformations import (
    AnyOf,
    RandomAffine,
    Rotations,
    Transformation,
    Transformations,
    Translations,
)

# --- What was fitted, transformation by transformation --------------------------------------------


class PerTransformation:
    """Shows the parts of the mixtures of a detector per transformation and piece."""

    mixtures_: list[Mixture]
    transformations_: tuple[Transformation, ...]

    @property
    def ideals_(self) -> list[list[VanishingIdeal]]:
        """Ideals per transformation and piece."""
        return self._per_transformation("ideal")

    @property
    def centers_(self) -> list[list[FloatArray]]:
        """Mean of each polynomial, per transformation and piece."""
        return self._per_transformation("center")

    @property
    def weights_(self) -> list[list[FloatArray]]:
        """Weight u = w² of each polynomial, per transformation and piece."""
        return self._per_transformation("weights")

    @property
    def n_components_(self) -> int:
        """Number of pieces."""
        return sum(mixture.n_pieces for mixture in self.mixtures_)

    def _per_transformation(self, what: str) -> list[list[Any]]:
        return [
            [
                getattr(component, what)
                for mixture in self.mixtures_
                for component in mixture.components[mixture.own(i)]
            ]
            for i in range(len(self.transformations_))
        ]


# --- Fitting a transformation detector to rows that are too many to be held at once ---------------
#
# Every copy of the data is the source seen through a transformation, and its contrast the other
# copies one after the other; no row is kept.


def check_streams(detector: "TransformationDetector", resolutions: list[int]) -> None:
    """Raise if a detector is set to something that needs all rows at once."""
    needs = (
        (resolutions != [1], f"n_components={detector.n_components}"),
        (detector.weighting is not None, f"weighting={detector.weighting!r}"),
        (detector.calibration is not None, f"calibration={detector.calibration}"),
    )
    for present, what in needs:
        if present:
            raise ValueError(f"{too_large(what)}, or leave this parameter at its default")
    preprocessor = detector.preprocessor
    if preprocessor is not None and not hasattr(preprocessor, "partial_fit"):
        name = type(preprocessor).__name__
        raise ValueError(
            f"{too_large(name)}, or choose a preprocessor with partial_fit, such as IncrementalPCA"
        )


def fit_streamed(detector: "TransformationDetector", source: SampleSource) -> None:
    """Set what ``_fit_models`` of a detector sets, by passes over the rows."""
    detector._distance_weight = detector.distance_weight
    detector._scaler = _fit_scaler(source) if detector.transformations is None else None
    detector.preprocessor_ = _fit_preprocessor(detector, source)
    images = [partial(detector._image, i) for i in range(len(detector.transformations_))]
    copies = [MappedSource(source, image) for image in images]
    pairs = source.map_reduce(
        lambda x: identical_pairs([image(x) for image in images]),
        frozenset.intersection,
        max_rows=block_rows(4 * source.n_features * len(copies), cpu=source.cpu),
    )
    refuse_identical(pairs, detector.transformations_)
    components = [_fit_component(detector, copies, i) for i in range(len(copies))]
    detector.mixtures_ = [Mixture(components, 1, detector.smoothing)]
    of_parts = moments(MappedSource(source, lambda x: detector._parts(x).T))
    detector._means = of_parts.mean
    detector._spreads = np.sqrt(of_parts.variance) + 1e-9


def _fit_scaler(source: SampleSource) -> Any:
    scaler = StandardScaler()
    for block in _long_blocks(source, 1):
        scaler.partial_fit(move_to_numpy(block))
    return scaler


def _fit_preprocessor(detector: "TransformationDetector", source: SampleSource) -> Any:
    """Fit to the copies of every block, one after the other."""
    if detector.preprocessor is None:
        return None
    fitted = clone(detector.preprocessor)
    # Incremental methods need as many rows at a time as there are components.
    for block in _long_blocks(source, getattr(fitted, "n_components", None) or source.n_features):
        scaled = detector._scaled(block)
        for transformation in detector.transformations_:
            fitted.partial_fit(prepare_for_sklearn(transformation(scaled)))
    return fitted


def _long_blocks(source: SampleSource, fewest: int) -> Iterator[Array]:
    """Yield blocks of at least ``fewest`` rows, if there are as many in all."""
    rows = max(fewest, block_rows(4 * source.n_features, cpu=source.cpu))
    last: list[Array] = []  # long enough, and held back for a short end to join
    held: list[Array] = []
    with close_after(source.blocks(rows)) as blocks:
        for block in blocks:
            held.append(block)
            if sum(int(part.shape[0]) for part in held) >= fewest:
                if last:
                    yield _joined(last)
                last, held = held, []
    yield _joined(last + held)


def _joined(blocks: list[Array]) -> Array:
    return blocks[0] if len(blocks) == 1 else namespace(blocks[0]).concat(blocks)


def _fit_component(
    detector: "TransformationDetector", copies: list[MappedSource], own: int
) -> Component:
    name = f"transformation {own} ({detector.transformations_[own].name!r})"
    others = ConcatenatedSource([part for i, part in enumerate(copies) if i != own])
    ideal = fit_component(copies[own], others, detector.ideal, name)
    values = moments(MappedSource(copies[own], ideal.basis_.evaluate))
    if detector.center:
        mean, squared = values.mean, values.variance
    else:
        mean, squared = np.zeros_like(values.mean), values.variance + values.mean**2
    return Component(ideal, mean, np.sqrt(squared), np.ones_like(mean))


# --- TransformationDetector: the paper's detector, in the style of GOAD ---------------------------

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

    # What a fit leaves, and model files keep (``saving.py``). The maps themselves: the same seed
    # may give others in another version of NumPy.
    transformations_: tuple[Transformation, ...]
    preprocessor_: PCA | StandardScaler | Pipeline | None
    mixtures_: list[Mixture]
    _distance_weight: float
    _scaler: StandardScaler | None
    _means: FloatArray
    _spreads: FloatArray

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
        self._means, variances = mean_and_variance(move_to_host(parts).T, counts)
        self._spreads = np.sqrt(variances) + 1e-9
        return np.asarray(move_to_host(self._combination.scores(parts, self._means, self._spreads)))

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
            return np.asarray(move_to_host(fold._score(take_rows(train, unseen))))

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
        return float(np.mean(move_to_host(self.score_samples(X))))

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
        return fit_weighted(clone(self.preprocessor), prepare_for_sklearn(union), counts)

    def _scaled(self, X: Array) -> Array:
        """Return X in double precision, so that scores do not depend on the batch."""
        xp = namespace(X)
        X = xp.astype(X, xp.float64)
        if self._scaler is None:
            return X
        return (X - move_like(self._scaler.mean_, X)) / move_like(self._scaler.scale_, X)

    def _preprocessed(self, X: Array) -> Array:
        if self.preprocessor_ is not None:
            reduced = self.preprocessor_.transform(prepare_for_sklearn(X))
            if not is_array(reduced):  # a frame, where scikit-learn is told to make them
                reduced = np.asarray(require_dense(reduced, "the output of the preprocessor"))
            X = move_like(reduced, X) if isinstance(reduced, np.ndarray) else reduced
        # One feature after the other: evaluation works through the columns.
        return make_columns_contiguous(X)

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


# --- A detector for images that needs no choices --------------------------------------------------


def image_detector(image_shape: tuple[int, ...], **parameters: Any) -> TransformationDetector:
    """Return a detector for square images, with settings that did well on very different ones.

    Four rotations and eight shifts by a seventh of the image, the first 60 principal components,
    linear equations of 1, 10, 20, 50 and 100 pieces of the data, and the distance from the nearest
    piece with a third of the weight of the probabilities.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels. Height and width are equal,
        unless ``transformations`` are passed.
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
    >>> detector = image_detector((8, 8), n_components=(1, 5)).fit(X[:900][y[:900] % 2 == 0])
    >>> bool(roc_auc_score(y[900:] % 2 == 0, detector.score_samples(X[900:])) > 0.9)
    True
    """
    if "transformations" not in parameters:  # ours refuse images that are not square
        shift = max(1, round(image_shape[0] / 7))
        parameters["transformations"] = AnyOf(
            Rotations(image_shape), Translations(image_shape, shift=shift, identity=False)
        )
    chosen: dict[str, Any] = {
        # Fewer where an image has few pixels: the last components are the noise.
        "preprocessor": PCA(min(60, prod(image_shape) // 2), random_state=0),
        "ideal": VanishingIdeal(
            max_degree=1, tol=0.9, normalization="contrastive", reduction="gram"
        ),
        "n_components": (1, 10, 20, 50, 100),
        "distance_weight": 1 / 3,
    }
    return TransformationDetector(**(chosen | parameters))
