"""Surfaces and curves in space."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.levels import SAME
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.style import INK, NEUTRAL, SERIES, same_units

# --- Surfaces and curves in space where polynomials are zero, by marching tetrahedra --------------
#
# Every cube of a grid is cut into six tetrahedra. Inside of one, a function is taken to be linear,
# so
# that its zeros are a triangle or a quadrilateral, and inside of a triangle those of a second
# function are a segment: no tables of cases are needed. Zeros where a function does not change its
# sign, such as those of a square, are not found.

Function = Callable[[FloatArray], FloatArray]


def zero_triangles(
    function: Function, grid: tuple[FloatArray, FloatArray, FloatArray]
) -> FloatArray:
    """Return the surface on which a function is zero, shape (n_triangles, 3 corners, 3).

    The function takes points of shape (n_points, 3), the grid is ascending coordinates along each
    axis. Orientations of the triangles are arbitrary.
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
    """Return the curve on a surface on which a function is zero, (n_segments, 2 ends, 3)."""
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


# --- Zero sets in space: surfaces, and the curves that several equations cut out together ---------

#: Points of the grid along each axis: a surface takes a fraction of a second.
SPACE_GRID = 44


def draw_surfaces(
    ax: Any, basis: PolynomialBasis, limits: Any, resolution: int | None, opacity: float
) -> list[bool]:
    """Draw where each polynomial of three variables is zero; say which have zeros there."""
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    grid, _ = _grid(limits, resolution)
    found = []
    for number in range(basis.count()):
        triangles = zero_triangles(_polynomial(basis, number), grid)
        found.append(len(triangles) > 0)
        if not found[-1]:
            continue
        color = np.array(to_rgb(SERIES[number % len(SERIES)]))
        faces = _lit(triangles / np.ptp(limits, axis=1), color, _towards_viewer(ax))
        colors = np.hstack([faces, np.full((len(faces), 1), opacity)])
        ax.add_collection3d(Poly3DCollection(triangles, facecolors=colors, linewidths=0, zorder=1))
    return found


def draw_curve(ax: Any, basis: PolynomialBasis, limits: Any, resolution: int | None) -> bool:
    """Draw where several polynomials of three variables are zero together; say if they are."""
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    segments = common_zeros(basis, limits, resolution)
    if len(segments):
        ax.add_collection3d(Line3DCollection(segments, colors=[INK], linewidths=1.5, zorder=3))
    return len(segments) > 0


def common_zeros(basis: PolynomialBasis, limits: Any, resolution: int | None) -> FloatArray:
    """Return the curve, (n_segments, 2 ends, 3), on which all vanishing polynomials are zero.

    The first two cut it out. Where another one is not zero within a cell of the grid, as on the
    line that two equations of the twisted cubic have besides it, nothing is drawn.
    """
    grid, cell = _grid(limits, resolution)
    triangles = zero_triangles(_polynomial(basis, 0), grid)
    segments = zero_segments(triangles, _polynomial(basis, 1))
    if not len(segments):
        return segments
    ends = segments.reshape(-1, 3)
    start = ends
    # Newton steps, each at most one cell long, double the digits: three are exact to the pixel.
    for _ in range(3):
        values, jacobians = basis.evaluate(ends), basis.jacobian(ends)
        # In units of cells, so that axes of different units count alike.
        steps = _normal_steps(jacobians * cell, values)
        lengths = np.linalg.norm(steps, axis=1, keepdims=True)
        ends = ends - cell * steps / np.maximum(lengths, 1.0)
    values, jacobians = basis.evaluate(ends), basis.jacobian(ends)
    slopes = np.linalg.norm(jacobians * cell, axis=2)
    near = (np.abs(values) <= slopes).all(axis=1)
    near &= np.abs((ends - start) / cell).max(axis=1) <= 2.0
    near &= np.isfinite(ends).all(axis=1)
    return np.asarray(ends.reshape(-1, 2, 3)[near.reshape(-1, 2).all(axis=1)])


def _normal_steps(jacobians: FloatArray, values: FloatArray) -> FloatArray:
    """Return Newton steps at right angles to a curve, whatever the number of equations.

    Noise leaves three equations with single points in common; the two largest singular values are
    those of the curve.
    """
    u, singular, vt = np.linalg.svd(jacobians, full_matrices=False)
    u, singular, vt = u[:, :, :2], singular[:, :2], vt[:, :2]
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=singular > 0)
    inverse[:, 1] *= singular[:, 1] > SAME * singular[:, 0]
    return np.asarray(np.einsum("nki,nk,njk,nj->ni", vt, inverse, u, values))


def _towards_viewer(ax: Any) -> FloatArray:
    elevation, azimuth = np.radians([ax.elev, ax.azim])
    flat = np.cos(elevation)
    return np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)])


def _lit(triangles: FloatArray, color: FloatArray, viewer: FloatArray) -> FloatArray:
    """Return the colour of each triangle in a light from above the viewer.

    It is from halfway to black, at the edge of the light, to halfway to white.
    """
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals /= np.where(lengths > 0, lengths, 1.0)
    # Orientations are arbitrary: the side that is seen is lit.
    normals *= np.where(normals @ viewer < 0, -1.0, 1.0)[:, None]
    light = viewer + np.array([0.0, 0.0, 1.0])
    reached = np.clip(normals @ (light / np.linalg.norm(light)), 0.0, 1.0)
    tone = reached[:, None] - 0.5
    return np.asarray(np.where(tone < 0, color * (1 + tone), color + (1 - color) * tone))


def finish_space(ax: Any, limits: Any) -> None:
    """Set the box, and let it stand back."""
    ax.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
    if same_units(limits):
        ax.set_box_aspect(np.ptp(limits, axis=1))
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis.line.set_color(NEUTRAL)
        # Matplotlib has no public name for the grid of one axis.
        axis._axinfo["grid"].update(color="#E4E4E4", linewidth=0.6)  # noqa: SLF001
        axis.set_major_locator(_few_ticks())


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5)


def _grid(
    limits: Any, resolution: int | None
) -> tuple[tuple[FloatArray, FloatArray, FloatArray], FloatArray]:
    """Return the coordinates of a grid, and the sides of its cells."""
    n = resolution or SPACE_GRID
    x, y, z = (np.linspace(low, high, n) for low, high in limits)
    return (x, y, z), np.ptp(limits, axis=1) / (n - 1)


def _polynomial(basis: PolynomialBasis, number: int) -> Any:
    kept = np.arange(basis.count()) == number
    alone = basis.restrict(kept)
    return lambda points: alone.evaluate(points)[:, 0]
