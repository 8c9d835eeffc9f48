"""What a report is made of, checked before any work is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vanishing._xp import BoolArray, FloatArray, on_host, unmasked
from vanishing.anomaly.detector import Detector
from vanishing.estimators.inputs import names_of_features, new_table


@dataclass(frozen=True, eq=False)
class Given:
    """Scored data and its detector.

    Parameters
    ----------
    detector : Detector
    X : array of shape (n_rows, n_features)
    scores : array of shape (n_rows,)
        Anomaly scores, larger is more anomalous; infinite for rows beyond all numbers.
    anomalous : bool array of shape (n_rows,)
        Whether the detector calls each row an anomaly.
    labels : bool array of shape (n_rows,) or None
        Whether each row is an anomaly.
    one_class : bool
        Whether labels were given, all of them the same.
    ids, names : tuples of str
        Of the rows and of the columns.
    train, train_scores : arrays or None
        The data of the fit, and its anomaly scores.
    image_shape : tuple of int or None
        Where rows are images.
    """

    detector: Detector
    X: FloatArray
    scores: FloatArray
    anomalous: BoolArray
    labels: BoolArray | None
    one_class: bool
    ids: tuple[str, ...]
    names: tuple[str, ...]
    train: FloatArray | None
    train_scores: FloatArray | None
    image_shape: tuple[int, ...] | None

    @property
    def threshold(self) -> float:
        """The anomaly score above which rows are called anomalous."""
        return -float(self.detector.offset_)

    @property
    def unit(self) -> str:
        """What a row is."""
        return "row" if self.image_shape is None else "image"

    @property
    def order(self) -> list[int]:
        """Rows, most anomalous first."""
        return [int(row) for row in np.argsort(-self.scores, kind="stable")]


def checked(
    detector: Any,
    X: Any,
    *,
    scores: Any,
    labels: Any,
    ids: Any,
    feature_names: Any,
    train: Any,
) -> Given:
    """Check what ``write_report`` is given, and score what has no scores yet."""
    if not isinstance(detector, Detector):
        raise TypeError(
            "detector must be a fitted VanishingDetector or TransformationDetector, got "
            f"{type(detector).__name__}"
        )
    check_is_fitted(detector)
    table = _table(detector, X)
    n_rows = len(table)
    found = detector.score_samples(X) if scores is None else scores
    normality = _vector("scores", on_host(found), n_rows).astype(np.float64)
    if np.isnan(normality).any():
        raise ValueError("scores hold NaN; pass what detector.score_samples(X) returns, or None")
    kinds, one_class = _checked_labels(labels, n_rows)
    names = tuple(names_of_features(detector, feature_names))
    train_table = None if train is None else _table(detector, train)
    return Given(
        detector=detector,
        X=table,
        scores=-normality,
        anomalous=normality < detector.offset_,
        labels=kinds,
        one_class=one_class,
        ids=_checked_ids(ids, X, n_rows),
        names=names,
        train=train_table,
        train_scores=None if train is None else -on_host(detector.score_samples(train)),
        image_shape=image_shape_of(detector),
    )


def image_shape_of(detector: Any) -> tuple[int, ...] | None:
    """Return the shape of the images that the transformations of a detector act on, if any."""
    waiting = [getattr(detector, "transformations", None)]
    while waiting:
        each = waiting.pop()
        if (shape := getattr(each, "image_shape", None)) is not None:
            shape = tuple(shape)
            drawable = len(shape) == 2 or shape[2] in (1, 3)
            return shape if drawable and prod(shape) == detector.n_features_in_ else None
        waiting += getattr(each, "sets", ())
    return None


def _table(detector: Detector, X: Any) -> FloatArray:
    table: FloatArray = np.asarray(on_host(new_table(detector, X)), dtype=np.float64)
    return table


def _vector(name: str, values: Any, n_rows: int) -> Any:
    vector = np.asarray(unmasked(values, name))
    if vector.ndim == 2 and vector.shape[1] == 1:  # a column of a frame
        vector = vector[:, 0]
    if vector.shape != (n_rows,):
        raise ValueError(
            f"{name} must be one value for each of the {n_rows} rows of X, got shape {vector.shape}"
        )
    return vector


def _checked_labels(labels: Any, n_rows: int) -> tuple[BoolArray | None, bool]:
    """Return which rows are anomalies, and whether all labels are the same."""
    if labels is None:
        return None, False
    vector = _vector("labels", labels, n_rows)
    try:
        numbers = vector.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "labels must be 1 for anomalies and 0 for normal rows, or -1 and +1, got "
            f"{str(vector[0])!r}"
        ) from error
    if np.isnan(numbers).any():
        raise ValueError(
            f"labels are missing in {int(np.isnan(numbers).sum())} of {n_rows} rows; label every "
            "row, or leave labels out"
        )
    values = set(np.unique(numbers).tolist())
    if not (values <= {0.0, 1.0} or values <= {-1.0, 1.0}):
        raise ValueError(
            "labels must be 1 for anomalies and 0 for normal rows, or -1 and +1 as predict "
            f"gives them, got the values {sorted(values)[:6]}"
        )
    if len(values) < 2:
        return None, True
    return (numbers == (-1.0 if -1.0 in values else 1.0)), False


def _checked_ids(ids: Any, X: Any, n_rows: int) -> tuple[str, ...]:
    if ids is None:
        # The index of a frame, or the number of each row.
        ids = getattr(X, "index", None)
        ids = range(n_rows) if ids is None or callable(ids) else ids
    names: Sequence[str] = [str(each) for each in ids]
    if len(names) != n_rows:
        raise ValueError(f"ids must name each of the {n_rows} rows of X, got {len(names)}")
    return tuple(names)
