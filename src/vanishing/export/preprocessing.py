"""Fitted preprocessing of scikit-learn as affine maps."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from vanishing._xp import FloatArray
from vanishing.polynomials import AffineMap


def affine_map(preprocessor: Any) -> AffineMap:
    """Return the affine map that a fitted preprocessor applies.

    Parameters
    ----------
    preprocessor : StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA or Pipeline
        Fitted. A pipeline is made of these; steps may be ``"passthrough"``.

    Returns
    -------
    AffineMap

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vanishing.export import affine_map
    >>> found = affine_map(StandardScaler().fit([[1.0], [5.0]]))
    >>> found.matrix, found.offset
    (array([[0.5]]), array([-1.5]))
    """
    if isinstance(preprocessor, Pipeline):
        steps = [step for _, step in preprocessor.steps if step not in (None, "passthrough")]
        return composed(map(affine_map, steps))
    # No subclasses: they may do anything.
    if type(preprocessor) not in _READERS:
        known = ", ".join(kind.__name__ for kind in _READERS)
        raise ValueError(
            f"polynomials are carried back through {known} and pipelines of these, got "
            f"{type(preprocessor).__name__}; leave it out, and the equations are in its output"
        )
    check_is_fitted(preprocessor)
    return _READERS[type(preprocessor)](preprocessor)


def composed(maps: Iterable[AffineMap]) -> AffineMap:
    """Return the map that applies several, the first one first."""
    several = list(maps)
    if not several:
        raise ValueError("expected a pipeline with at least one step, got one without")
    return reduce(lambda first, second: second.after(first), several)


def _scaling(scale: FloatArray, shift: FloatArray, center: FloatArray | None = None) -> AffineMap:
    """Return x ↦ scale · x + shift."""
    double = np.float64
    middle = None if center is None else np.asarray(center, dtype=double)
    return AffineMap(
        np.diag(np.asarray(scale, dtype=double)), np.asarray(shift, dtype=double), middle
    )


def _standard(scaler: Any) -> AffineMap:
    return _centered(
        scaler.n_features_in_,
        scaler.mean_ if scaler.with_mean else None,
        scaler.scale_ if scaler.with_std else None,
    )


def _robust(scaler: Any) -> AffineMap:
    return _centered(
        scaler.n_features_in_,
        scaler.center_ if scaler.with_centering else None,
        scaler.scale_ if scaler.with_scaling else None,
    )


def _centered(n_features: int, center: Any, scale: Any) -> AffineMap:
    """Return x ↦ (x - center) / scale; None leaves out that part."""
    factor = np.ones(n_features) if scale is None else 1.0 / np.asarray(scale, dtype=np.float64)
    if center is None:
        return _scaling(factor, np.zeros(n_features))
    return _scaling(factor, -factor * center, center)


def _min_max(scaler: Any) -> AffineMap:
    _refuse_clipping(scaler)
    middle = (scaler.data_min_ + scaler.data_max_) / 2
    return _scaling(scaler.scale_, scaler.min_, middle)


def _max_abs(scaler: Any) -> AffineMap:
    _refuse_clipping(scaler)
    return _centered(scaler.n_features_in_, None, scaler.scale_)


def _refuse_clipping(scaler: Any) -> None:
    if getattr(scaler, "clip", False):  # MaxAbsScaler has it in later versions only
        raise ValueError(
            f"{type(scaler).__name__}(clip=True) cuts values off, so that it is not affine; fit it "
            "without clip"
        )


def _pca(pca: Any) -> AffineMap:
    components = np.asarray(pca.components_, dtype=np.float64)
    if pca.whiten:
        scale = np.sqrt(pca.explained_variance_)
        # As scikit-learn does, so that directions without variance do not become infinite.
        components = components / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]
    mean = np.asarray(pca.mean_, dtype=np.float64)
    return AffineMap(components, -components @ mean, mean)


_READERS: Mapping[type, Callable[[Any], AffineMap]] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    RobustScaler: _robust,
    PCA: _pca,
}
