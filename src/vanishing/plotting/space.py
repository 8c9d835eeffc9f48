"""Zero sets in space: surfaces, and the curves that several equations cut out together."""

from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.plotting.marching import zero_segments, zero_triangles
from vanishing.plotting.style import INK, NEUTRAL, SERIES, same_units
from vanishing.polynomials import PolynomialBasis

#: Points of the grid along each axis.
RESOLUTION = 44
#: Opacity of a surface that is alone, of several, and of those that cut out a curve.
ALONE, SEVERAL, FAINT = 0.55, 0.35, 0.14
#: Newton steps by which points are brought onto the zero set, each at most one cell long.
STEPS = 3
#: Light comes from above the viewer; the darkest and the brightest colour of a surface, from black
#: (-1) through its own to white (1).
ABOVE, DARKEST, BRIGHTEST = 0.9, -0.45, 0.55


def draw_surfaces(
    ax: Any, basis: PolynomialBasis, limits: Any, resolution: int | None, opacity: float
) -> list[bool]:
    """Draw where each polynomial of three variables is zero.

    Returns
    -------
    list of bool
        Whether each polynomial has zeros within the limits.
    """
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
    """Draw where two or more polynomials of three variables are zero together.

    Returns
    -------
    bool
        Whether there are such points within the limits.
    """
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    segments = common_zeros(basis, limits, resolution)
    if len(segments):
        ax.add_collection3d(Line3DCollection(segments, colors=[INK], linewidths=1.5, zorder=3))
    return len(segments) > 0


def common_zeros(basis: PolynomialBasis, limits: Any, resolution: int | None) -> FloatArray:
    """Return the curve on which all vanishing polynomials of a basis are zero together.

    The first two cut it out. Where another one is not zero within a cell of the grid, as on the
    line that two equations of the twisted cubic have besides it, nothing is drawn.

    Returns
    -------
    array of shape (n_segments, 2, 3)
    """
    grid, cell = _grid(limits, resolution)
    triangles = zero_triangles(_polynomial(basis, 0), grid)
    segments = zero_segments(triangles, _polynomial(basis, 1))
    if not len(segments):
        return segments
    ends = segments.reshape(-1, 3)
    start = ends
    for _ in range(STEPS):
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
    inverse[:, 1] *= singular[:, 1] > 1e-6 * singular[:, 0]
    return np.asarray(np.einsum("nki,nk,njk,nj->ni", vt, inverse, u, values))


def _towards_viewer(ax: Any) -> FloatArray:
    elevation, azimuth = np.radians([ax.elev, ax.azim])
    flat = np.cos(elevation)
    return np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)])


def _lit(triangles: FloatArray, color: FloatArray, viewer: FloatArray) -> FloatArray:
    """Return the colour of each triangle in a light from above the viewer."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals /= np.where(lengths > 0, lengths, 1.0)
    # Orientations are arbitrary: the side that is seen is lit.
    normals *= np.where(normals @ viewer < 0, -1.0, 1.0)[:, None]
    light = viewer + np.array([0.0, 0.0, ABOVE])
    reached = np.clip(normals @ (light / np.linalg.norm(light)), 0.0, 1.0)
    tone = (DARKEST + (BRIGHTEST - DARKEST) * reached)[:, None]
    return np.asarray(np.where(tone < 0, color * (1 + tone), color + (1 - color) * tone))


def finish_space(ax: Any, limits: Any) -> None:
    """Set the box, and let it stand back."""
    ax.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
    if same_units(limits):
        ax.set_box_aspect(np.ptp(limits, axis=1))
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis.line.set_color(NEUTRAL)
        axis._axinfo["grid"].update(color="#E4E4E4", linewidth=0.6)
        axis.set_major_locator(_few_ticks())


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5)


def _grid(
    limits: Any, resolution: int | None
) -> tuple[tuple[FloatArray, FloatArray, FloatArray], FloatArray]:
    """Return the coordinates of a grid, and the sides of its cells."""
    n = resolution or RESOLUTION
    x, y, z = (np.linspace(low, high, n) for low, high in limits)
    return (x, y, z), np.ptp(limits, axis=1) / (n - 1)


def _polynomial(basis: PolynomialBasis, number: int) -> Any:
    kept = np.arange(basis.count()) == number
    alone = basis.restricted(kept)
    return lambda points: alone.evaluate(points)[:, 0]
