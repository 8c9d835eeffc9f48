"""What takes no labels: choosing among detectors, and rows of which most, not all, are normal."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import rotate, zoom
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vanishing.arrays.namespace import (
    FloatArray,
    IntArray,
    move_like,
    move_to_host,
    move_to_numpy,
    take_rows,
    unmask,
)
from vanishing.arrays.parameters import check_whole
from vanishing.data.inputs import (
    check_new_table,
    check_training_table,
    is_frame,
    make_row_picker,
)
from vanishing.detectors.base import (
    UNUSUAL_SHARE,
    Detector,
    Scored,
    check_sizes,
    choose_threshold,
    clone_for_scores,
    measure_rounding,
)
from vanishing.detectors.sample_weights import sort_rows
from vanishing.levels import FOLDS

# --- Pseudo-anomalies: groups of normal data, and normal data that was changed --------------------
#
# The score of a detector on held-out normal data ranks settings of one family. It says nothing
# across sets of transformations, where the set that is easiest to tell apart wins. A good detector
# finds samples strange that are unlike all that it has seen, which can be tried in two ways: leave
# a cluster of the normal data out, fit to the rest, and see how well the cluster is told from
# held-out samples of the rest; or change held-out samples in ways that make them strange. A single
# kind of change favours detectors that are made for it. The mean over many kinds does not.

#: A left-out group and the samples it is compared with need this many.
FEWEST_COMPARED = 5

Anomalies = Mapping[str, Callable[[FloatArray, np.random.Generator], Any]]


@dataclass(frozen=True, eq=False)
class Selection:
    """Result of ``select_without_labels``.

    Parameters
    ----------
    names : tuple of str
        Of the candidates, best first.
    mean_auc : array of shape (n_candidates,)
        Mean area under the curve of pseudo-anomalies against held-out samples, in the same order.
    group_auc : array of shape (n_candidates, n_groups)
        The same, for each left-out group or each kind of pseudo-anomalies; NaN where a fit failed.
    best_estimator : detector
        The best candidate, fitted to all samples.
    """

    names: tuple[str, ...]
    mean_auc: FloatArray
    group_auc: FloatArray
    best_estimator: Any

    def __str__(self) -> str:
        return "\n".join(
            f"{100 * mean:6.2f}  {name}"
            for name, mean in zip(self.names, self.mean_auc, strict=True)
        )


def select_without_labels(
    candidates: Mapping[str, Any],
    X: Any,
    *,
    anomalies: Anomalies | None = None,
    groups: Any = None,
    n_groups: int = 10,
    representation: Any = None,
    random_state: int = 0,
) -> Selection:
    """Choose the detector that best finds pseudo-anomalies, which are made of normal samples.

    Parameters
    ----------
    candidates : mapping of str to detectors
        Anything with ``fit`` and ``score_samples``, pipelines included. They may have different
        transformations, preprocessing and forms of the score.
    X : array-like of shape (n_samples, n_features)
        Normal data.
    anomalies : mapping of str to functions, optional
        Kinds of pseudo-anomalies. Each function takes normal samples that were kept out of the fit,
        a NumPy array, and a random generator, and returns changed samples. Every candidate is
        fitted once, to four fifths of X. For images ``image_anomalies`` makes nine kinds. By
        default groups of X are left out of the fit in turn.
    groups : array-like of shape (n_samples,), optional
        What to leave out in turn, where it is known (machines, sites, kinds). Clusters by default.
    n_groups : int, default=10
        Number of clusters.
    representation : transformer or None, default=None
        Applied before clustering. None stands for standardized columns and the principal
        components that hold nine tenths of their variance; for images ``PCA(30)`` is better, since
        pixels have one scale.
    random_state : int, default=0
        Seed of clustering, of the samples kept for comparison, and of pseudo-anomalies.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from vanishing import TransformationDetector
    >>> from vanishing.detectors import image_anomalies, select_without_labels
    >>> from vanishing.transformations import Rotations, Translations
    >>> X, y = load_digits(return_X_y=True)
    >>> sets = {"rotations": Rotations((8, 8)), "shifts": Translations((8, 8), shift=2)}
    >>> candidates = {
    ...     name: TransformationDetector(each, preprocessor=PCA(12)) for name, each in sets.items()
    ... }
    >>> normal = X[:400][y[:400] % 2 == 0]
    >>> found = select_without_labels(candidates, normal, anomalies=image_anomalies((8, 8)))
    >>> found.names
    ('shifts', 'rotations')
    """
    if not candidates:
        raise ValueError("candidates is empty: at least one detector is required")
    check_whole("n_groups", n_groups, 2)
    check_whole("random_state", random_state, 0)
    table = check_training_table(BaseEstimator(), X)
    check_sizes(table)
    rng = np.random.default_rng(random_state)
    trials: Iterable[_Trial]
    if anomalies is None:
        labels, left_out = _groups(
            move_to_host(table), groups, n_groups, representation, random_state
        )
        trials = _leave_groups_out(labels, left_out, make_row_picker(X, table), rng)
    elif groups is not None:
        raise ValueError("groups are only used without anomalies; pass one of the two")
    else:
        trials = [_change_samples(table, anomalies, rng)]
    columns: list[FloatArray] = []
    errors: dict[str, Exception] = {}
    for trial in trials:
        auc, failed = _try_candidates(candidates, trial)
        columns.append(auc)
        errors |= failed
    auc = np.hstack(columns)
    usable = ~np.isnan(auc).any(axis=1)
    if not usable.any():
        name, first = next(iter(errors.items()))
        raise ValueError(f"no candidate could be fitted; {name!r} failed: {first}") from first
    means = np.where(usable, np.mean(auc, axis=1), -np.inf)
    order = np.argsort(-means, kind="stable")
    names = list(candidates)
    best = clone(candidates[names[order[0]]]).fit(X if is_frame(X) else table)
    return Selection(tuple(names[c] for c in order), means[order], auc[order], best)


class _Trial(NamedTuple):
    """Samples to fit to, normal ones that were kept out, and kinds of pseudo-anomalies."""

    train: Any
    compared: Any
    strange: list[Any]


def _try_candidates(
    candidates: Mapping[str, Any], trial: _Trial
) -> tuple[FloatArray, dict[str, Exception]]:
    """Return the areas, shape (n_candidates, n_kinds), and why fits failed."""
    auc = np.full((len(candidates), len(trial.strange)), np.nan)
    errors: dict[str, Exception] = {}
    for c, (name, candidate) in enumerate(candidates.items()):
        try:
            fitted = clone_for_scores(candidate).fit(trial.train)
        except (ValueError, MemoryError) as error:
            errors[name] = error
            continue

        def score(samples: Any, fitted: Any = fitted) -> FloatArray:
            scores = move_to_host(fitted.score_samples(samples))
            return np.asarray(np.clip(scores, np.finfo(float).min, None))

        usual = score(trial.compared)
        for kind, strange in enumerate(trial.strange):
            scores = np.concatenate([usual, score(strange)])
            truth = np.arange(len(scores)) < len(usual)
            auc[c, kind] = roc_auc_score(truth, scores)
    return auc, errors


def _leave_groups_out(
    labels: IntArray,
    left_out: IntArray,
    rows_of: Callable[[IntArray], Any],
    rng: np.random.Generator,
) -> Iterator[_Trial]:
    """Leave each group out in turn, and keep some of the other rows for comparison."""
    for group in left_out:
        rest = rng.permutation(np.flatnonzero(labels != group))
        n_kept = round(len(rest) / FOLDS)
        strange = rows_of(np.flatnonzero(labels == group))
        yield _Trial(rows_of(rest[n_kept:]), rows_of(rest[:n_kept]), [strange])


def _change_samples(table: Any, anomalies: Anomalies, rng: np.random.Generator) -> _Trial:
    """Keep some rows out of the fit, and make pseudo-anomalies of them."""
    if not anomalies:
        raise ValueError("anomalies is empty: at least one kind is required")
    order = rng.permutation(table.shape[0])
    n_kept = round(len(order) / FOLDS)
    if n_kept < FEWEST_COMPARED:
        raise ValueError(
            f"X has {len(order)} rows; at least {FEWEST_COMPARED * FOLDS} are required, to keep a "
            "fifth of them out of the fit"
        )
    compared = take_rows(table, np.sort(order[:n_kept]))
    kept = move_to_numpy(compared)
    strange = []
    for name, change in anomalies.items():
        changed = np.asarray(change(kept.copy(), rng), dtype=np.float64)
        if changed.ndim != 2 or changed.shape[1] != kept.shape[1] or not np.isfinite(changed).all():
            raise ValueError(
                f"the anomalies {name!r} must be finite rows of {kept.shape[1]} columns, got an "
                f"array of shape {changed.shape}"
            )
        strange.append(move_like(changed, table))
    return _Trial(take_rows(table, np.sort(order[n_kept:])), compared, strange)


def _groups(
    X: FloatArray, groups: Any, n_groups: int, representation: Any, seed: int
) -> tuple[IntArray, IntArray]:
    """Return the group of each sample, as given or found by clustering, and which to leave out."""
    if groups is None:
        if not np.ptp(X, axis=0).any():
            raise ValueError("all rows of X are the same, so they form no groups")
        if representation is None:
            representation = make_pipeline(StandardScaler(), PCA(0.9, svd_solver="full"))
        reduced = clone(representation).fit_transform(X)
        groups = KMeans(n_groups, n_init=3, random_state=seed).fit(reduced).labels_
    labels = np.unique(np.asarray(unmask(groups, "groups")), return_inverse=True)[1].astype(np.intp)
    if labels.shape != (len(X),):
        raise ValueError(f"groups has shape {labels.shape}, but X has {len(X)} rows")
    sizes = np.bincount(labels)
    # Groups that are too small to be left out always stay in.
    enough = (sizes >= FEWEST_COMPARED) & (len(X) - sizes >= FOLDS * FEWEST_COMPARED)
    left_out = np.flatnonzero(enough)
    if len(left_out) < 2:
        raise ValueError(
            f"X falls into groups of {sizes.tolist()} samples; at least two groups of "
            f"{FEWEST_COMPARED} are required, to leave one out in turn"
        )
    return labels, left_out


# --- Kinds of strange images ----------------------------------------------------------------------


def image_anomalies(image_shape: tuple[int, ...]) -> Anomalies:
    """Return nine ways to make strange images out of normal ones.

    A rectangle of another image (40 % of height and width), the mean of two images, an erased
    rectangle (25 %), images upside down and mirrored, noise (15 % of the range of the pixels),
    quarters in another order, a smaller image (70 %), and a rotation by 30°.

    Parameters
    ----------
    image_shape : tuple of int
        Height, width and, if there are several, channels.

    Returns
    -------
    dict of str to functions
        For ``select_without_labels``.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.detectors import image_anomalies
    >>> images = np.arange(32.0).reshape(2, 16)
    >>> mirrored = image_anomalies((4, 4))["mirrored"](images, np.random.default_rng(0))
    >>> mirrored[0, :4]
    array([3., 2., 1., 0.])
    """
    if len(image_shape) not in (2, 3) or min(image_shape) < 1:
        raise ValueError(
            f"image_shape must be (height, width) or (height, width, channels), got {image_shape}"
        )
    changes: dict[str, Callable[[FloatArray, np.random.Generator], FloatArray]] = {
        "pasted": lambda images, rng: _fill(images, _take_others(images, rng), 0.4, rng),
        "averaged": lambda images, rng: (images + _take_others(images, rng)) / 2,
        "erased": lambda images, rng: _fill(images, np.zeros_like(images), 0.25, rng),
        "upside down": lambda images, rng: images[:, ::-1],
        "mirrored": lambda images, rng: images[:, :, ::-1],
        "noise": lambda images, rng: _add_noise(images, 0.15, rng),
        "shuffled quarters": _shuffle_quarters,
        "shrunk": lambda images, rng: _shrink(images, 0.7),
        "rotated": lambda images, rng: rotate(images, 30, axes=(1, 2), reshape=False, order=1),
    }

    def change_rows(name: str, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        images = rows.reshape(len(rows), *image_shape)
        return changes[name](images, rng).reshape(rows.shape)

    return {name: partial(change_rows, name) for name in changes}


def _take_others(images: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return another image for each."""
    return np.roll(images, int(rng.integers(1, max(2, len(images)))), axis=0)


def _fill(
    images: FloatArray, others: FloatArray, share: float, rng: np.random.Generator
) -> FloatArray:
    """Fill a rectangle of each image with that of another one, away from the edges."""
    height, width = (max(1, round(share * side)) for side in images.shape[1:3])
    filled = images.copy()
    for image, other in zip(filled, others, strict=True):
        top, left = (
            int(rng.integers(round(room / 6), room - round(room / 6) + 1))
            for room in (images.shape[1] - height, images.shape[2] - width)
        )
        place = slice(top, top + height), slice(left, left + width)
        image[place] = other[place]
    return filled


def _add_noise(images: FloatArray, share: float, rng: np.random.Generator) -> FloatArray:
    """Add noise, within the range of the pixels."""
    largest, smallest = images.max(), images.min()
    noise = share * (largest - smallest) * rng.standard_normal(images.shape)
    return np.asarray(np.clip(images + noise, smallest, largest))


def _shuffle_quarters(images: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Put the quarters of each image in another order; odd rows and columns in the middle stay."""
    tops, lefts = (
        [slice(0, side // 2), slice(side - side // 2, side)] for side in images.shape[1:3]
    )
    places = list(product(tops, lefts))
    shuffled = images.copy()
    for image, source in zip(shuffled, images, strict=True):
        for place, other in zip(places, rng.permutation(4), strict=True):
            image[place] = source[places[other]]
    return shuffled


def _shrink(images: FloatArray, share: float) -> FloatArray:
    """Return smaller images on an empty background."""
    factors = (1.0, share, share, *(1.0 for _ in images.shape[3:]))
    small = zoom(images, factors, order=1)
    result = np.zeros_like(images)
    top, left = (
        (side - part) // 2 for side, part in zip(images.shape[1:3], small.shape[1:3], strict=True)
    )
    result[:, top : top + small.shape[1], left : left + small.shape[2]] = small
    return result


# --- Rows of which most, and not all, are normal, judged by each other ----------------------------
#
# A row that is far from all others would be given equations of its own by a fit that sees it. So
# parts of the rows are left out of the fit in turn, as for thresholds.


def count_fits(n_rows: int) -> int:
    """Return how many fits ``fit_to_mixed`` makes: one where two rows are not left out."""
    return 1 if UNUSUAL_SHARE * n_rows < 2 else FOLDS + 1


def score_unseen(
    detector: Any,
    X: Any,
    *,
    random_state: int = 0,
    callback: Callable[[int], object] | None = None,
) -> FloatArray:
    """Score every row by a detector that was fitted without it.

    A fifth of the rows is left out of the fit in turn.

    Parameters
    ----------
    detector : detector
        Anything with ``fit`` and ``score_samples``, pipelines included. It is left as it is.
    X : array-like of shape (n_samples, n_features)
        At least 3 rows, and as many as a fit to four fifths of them needs.
    random_state : int, default=0
        Seed of the parts.
    callback : callable, optional
        Called with the number of fits so far, after each of them.

    Returns
    -------
    array of shape (n_samples,)
        As ``score_samples`` returns them, higher is more normal, in the order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingDetector
    >>> from vanishing.detectors import score_unseen
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 200)
    >>> X = np.column_stack([x, x**2 + 0.02 * rng.normal(size=200)])  # near a parabola
    >>> X[7, 1] += 1
    >>> int(np.argmin(score_unseen(VanishingDetector(), X)))
    7
    """
    check_whole("random_state", random_state, 0)
    table, rows_of = _checked(X)
    n_rows = len(table)
    if n_rows < 3:
        raise ValueError(
            f"X has {n_rows} rows, but at least 3 are required to leave some out and fit to others"
        )
    copies = _find_copies(table)
    order = np.random.default_rng(random_state).permutation(len(copies))
    scores = np.empty(n_rows)
    for part, left_out in enumerate(np.array_split(order, min(FOLDS, len(copies))), start=1):
        unseen = copies[left_out].ravel()
        fitted = clone_for_scores(detector).fit(rows_of(np.delete(copies, left_out, 0).ravel()))
        scores[unseen] = move_to_host(fitted.score_samples(rows_of(unseen)))
        if callback is not None:
            callback(part)
    return scores


def fit_to_mixed(
    detector: Detector, X: Any, *, callback: Callable[[int], object] | None = None
) -> Detector:
    """Fit a detector to rows of which most, and not all, are normal.

    The rows that break the equations of the others most, by ``score_unseen``, are left out of the
    fit that counts: a tenth of them, or the share ``contamination`` of the detector, if that is
    more. The threshold is that of all rows.

    Parameters
    ----------
    detector : VanishingDetector or TransformationDetector
        Left as it is. Its ``random_state`` is the seed of the parts; ``calibration`` is refused,
        since its guarantee is about rows that are known to be normal.
    X : array-like of shape (n_samples, n_features)
        With fewer than 20 rows none is left out: that is then ``fit``.
    callback : callable, optional
        Called with the number of fits so far, after each of them; there are 6.

    Returns
    -------
    VanishingDetector or TransformationDetector
        A copy, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingDetector
    >>> from vanishing.detectors import fit_to_mixed
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 200)
    >>> X = np.column_stack([x, x**2 + 0.02 * rng.normal(size=200)])  # near a parabola
    >>> X[:5, 1] += [1.0, -1.0, 2.0, -2.0, 1.5]
    >>> detector = fit_to_mixed(VanishingDetector(contamination=0.05), X)
    >>> detector.predict(X)[:7]
    array([-1, -1, -1, -1, -1,  1,  1])
    """
    if not isinstance(detector, Detector):
        raise TypeError(
            "expected a VanishingDetector or TransformationDetector, got "
            f"{type(detector).__name__}; score_unseen takes any detector"
        )
    if detector.calibration is not None:
        raise ValueError(
            "calibration needs rows that are known to be normal, which these are not; leave it "
            "out, or fit to known normal rows"
        )
    fitted: Detector = clone(detector)
    table, rows_of = _checked(X)
    one_copy = _find_copies(table)[:, 0]
    n_fits = count_fits(len(one_copy))
    if n_fits == 1:
        fitted.fit(X if is_frame(X) else table)
        return fitted
    rows = rows_of(one_copy)
    scores = score_unseen(detector, rows, random_state=detector.random_state, callback=callback)
    share = detector.contamination
    left_out = max(UNUSUAL_SHARE, 0.0 if share == "auto" else share)
    # No mean of two scores, one of which may be infinite.
    worst = np.quantile(scores, left_out, method="lower")
    better = scores > worst
    if not better.any():  # rows that are all alike
        better = scores == worst
    fitted.fit(rows_of(one_copy[better]))
    final = np.asarray(move_to_host(fitted.score_samples(rows)))
    threshold = choose_threshold(Scored(final), Scored(scores), share)
    normality = fitted.anomaly_score_.score_samples
    rounding = measure_rounding(normality, check_new_table(fitted, rows), share, threshold)
    fitted.offset_ = threshold - rounding
    if callback is not None:
        callback(n_fits)
    return fitted


def _checked(X: Any) -> tuple[Any, Callable[[IntArray], Any]]:
    """Return all rows as an array, and a function that returns some of them as they came."""
    table = check_training_table(BaseEstimator(), X)
    return table, make_row_picker(X, table)


def _find_copies(table: Any) -> IntArray:
    """Return the rows in a fixed order, side by side those that are left out together."""
    rows = sort_rows(move_to_numpy(table))
    n_copies = 1 if len(rows.counts) < 3 else rows.n_copies
    return rows.order.reshape(-1, n_copies)
