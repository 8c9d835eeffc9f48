"""The linear part of an affine map that is known by its values only."""

from collections.abc import Callable

import numpy as np

from vanishing._xp import FloatArray

#: Features that are probed at a time.
PROBES = 512


def linear_part(
    function: Callable[[FloatArray], FloatArray], center: FloatArray, scale: FloatArray
) -> FloatArray:
    """Return the matrix of an affine map, or raise if the map is not affine.

    Parameters
    ----------
    function : callable
        Maps rows of n_features to rows of n_coordinates.
    center, scale : arrays of shape (n_features,)
        Where the map is probed, and by how much each feature is moved.

    Returns
    -------
    array of shape (n_coordinates, n_features)
    """
    n_features = len(center)
    origin = function(center[None, :])[0]
    matrix = np.empty((len(origin), n_features))
    for start in range(0, n_features, PROBES):
        moved = np.arange(start, min(start + PROBES, n_features))
        probes = np.repeat(center[None, :], len(moved), axis=0)
        probes[np.arange(len(moved)), moved] += scale[moved]
        steps = probes[np.arange(len(moved)), moved] - center[moved]
        matrix[:, moved] = (function(probes) - origin).T / steps
    moves = scale * np.random.default_rng(0).normal(size=(3, n_features))
    found = function(center + moves) - origin
    refuse_unless_equal(found, moves @ matrix.T, origin)
    return matrix


def refuse_unless_equal(found: FloatArray, expected: FloatArray, origin: FloatArray) -> None:
    """Raise if differences of coordinates from an origin are not those of an affine map."""
    size = np.abs(origin).max(initial=0) + np.abs(expected).max(initial=0)
    if not np.abs(found - expected).max(initial=0) <= 1e-6 * size:
        raise ValueError(
            "explain carries shares back to the features through the transformations and the "
            "preprocessor, which have to be affine for that (such as rotations, PCA, "
            "StandardScaler), and these are not; leave the nonlinear step out of the detector and "
            "explain its output instead"
        )
