"""Surfaces and curves in space where polynomials are zero, by marching tetrahedra.

Every cube of a grid is cut into six tetrahedra. Inside of one, a function is taken to be linear, so
that its zeros are a triangle or a quadrilateral, and inside of a triangle those of a second
function are a segment: no tables of cases are needed. Zeros where a function does not change its
sign, such as those of a square, are not found.
"""

from collections.abc import Callable
from itertools import permutations

import numpy as np

from vanishing._xp import BoolArray, FloatArray, IntArray

Function = Callable[[FloatArray], FloatArray]


def zero_triangles(
    function: Function, grid: tuple[FloatArray, FloatArray, FloatArray]
) -> FloatArray:
    """Return the surface on which a function is zero.

    Parameters
    ----------
    function : callable
        Values at points of shape (n_points, 3).
    grid : tuple of three arrays
        Coordinates along each axis, ascending.

    Returns
    -------
    array of shape (n_triangles, 3, 3)
        Corners; the last axis is that of space. Orientations are arbitrary.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.plotting.marching import zero_triangles
    >>> axis = np.linspace(-1.5, 1.5, 20)
    >>> sphere = zero_triangles(lambda x: (x**2).sum(axis=1) - 1, (axis, axis, axis))
    >>> radii = np.linalg.norm(sphere, axis=2)
    >>> bool(np.abs(radii - 1).max() < 0.01)
    True
    """
    corners = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 3)
    values = function(corners)
    tetrahedra = _tetrahedra(values > 0, tuple(len(axis) for axis in grid))
    ordered, n_inside = _inside_first(tetrahedra, values > 0)
    one = _cut(ordered[n_inside == 1], [(0, 1), (0, 2), (0, 3)], corners, values)
    three = _cut(ordered[n_inside == 3], [(3, 0), (3, 1), (3, 2)], corners, values)
    edges_of_two = [(0, 2), (0, 3), (1, 3), (1, 2)]
    four_sided = _cut(ordered[n_inside == 2], edges_of_two, corners, values)
    halves = [four_sided[:, [0, 1, 2]], four_sided[:, [0, 2, 3]]]
    return np.concatenate([one, three, *halves])


def zero_segments(triangles: FloatArray, function: Function) -> FloatArray:
    """Return the curve on a surface on which a function is zero.

    Parameters
    ----------
    triangles : array of shape (n_triangles, 3, 3)
    function : callable

    Returns
    -------
    array of shape (n_segments, 2, 3)
    """
    corners = triangles.reshape(-1, 3)
    values = function(corners) if len(corners) else np.zeros(0)
    numbered = np.arange(len(corners)).reshape(-1, 3)
    ordered, n_inside = _inside_first(numbered, values > 0)
    one = _cut(ordered[n_inside == 1], [(0, 1), (0, 2)], corners, values)
    two = _cut(ordered[n_inside == 2], [(2, 0), (2, 1)], corners, values)
    return np.concatenate([one, two])


def _tetrahedra(inside: BoolArray, shape: tuple[int, ...]) -> IntArray:
    """Return the corners of all tetrahedra of cubes that the surface passes through."""
    cubes = inside.reshape(shape)
    steps = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    ends = [slice(1 if s else None, None if s else -1) for s in range(2)]
    count = sum(cubes[ends[i], ends[j], ends[k]].astype(np.intp) for i, j, k in steps)
    crossed = np.argwhere((count > 0) & (count < len(steps)))
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    first = crossed @ strides
    # From one corner to the opposite one, along the axes in any order: six ways, six tetrahedra,
    # which fit together on the faces of neighbouring cubes.
    ways = [np.cumsum([0, *strides[list(order)]]) for order in permutations(range(3))]
    return np.concatenate([first[:, None] + way for way in ways])


def _inside_first(cells: IntArray, inside: BoolArray) -> tuple[IntArray, IntArray]:
    """Order the corners of each cell, those inside first, and count these."""
    is_inside = inside[cells]
    order = np.argsort(~is_inside, axis=1, kind="stable")
    return np.take_along_axis(cells, order, axis=1), is_inside.sum(axis=1)


def _cut(
    cells: IntArray, edges: list[tuple[int, int]], corners: FloatArray, values: FloatArray
) -> FloatArray:
    """Return the points where edges are zero, shape (n_cells, n_edges, 3)."""
    start, stop = np.array(edges).T
    a, b = cells[:, start], cells[:, stop]
    share = (values[a] / (values[a] - values[b]))[..., None]
    return corners[a] + share * (corners[b] - corners[a])
