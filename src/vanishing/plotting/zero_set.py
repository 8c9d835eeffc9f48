"""ZeroSetDisplay: where the equations vanish, in the plane and in space."""

from collections.abc import Callable
from itertools import permutations
from typing import Any, Literal, Self

import numpy as np

from vanishing.algebra.generators import minimal_generators
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.arrays.parameters import check_whole
from vanishing.data.inputs import get_feature_names
from vanishing.equations.text import NAME_LENGTH, number, shorten_name
from vanishing.ideal import VanishingIdeal
from vanishing.levels import SAME
from vanishing.plotting.overview import fitted_ideal, points_of
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import variable_names
from vanishing.style import (
    FAINT,
    LABELS,
    LEGEND,
    NEUTRAL,
    NOTE_SIZE,
    SERIES,
    STROKES,
    WIDE_SIDE,
    choose_colors,
    draw_two_spines,
    legend_entry,
    new_axes,
    pyplot,
    same_units,
    write_labels,
    write_legend,
)

# --- Zero sets in the plane: contours, and the regions of either sign -----------------------------

#: Points of the grid along each axis: about one a pixel.
PLANE_GRID = 400
#: Opacity of the regions where a polynomial is negative and positive, told apart in print as well.
TINTS = 2 * FAINT, FAINT


def draw_contours(
    ax: Any, basis: PolynomialBasis, limits: Any, resolution: int | None, *, sign_regions: bool
) -> list[bool]:
    """Draw where each polynomial of two variables is zero; say which have zeros within the limits.

    ``sign_regions`` tints where the only polynomial is positive and negative.
    """
    axes = [np.linspace(low, high, resolution or PLANE_GRID) for low, high in limits]
    grid = np.stack(np.meshgrid(*axes), axis=-1)
    values = basis.evaluate(grid.reshape(-1, 2)).reshape(*grid.shape[:2], -1)
    colors = choose_colors(ax.figure)
    if sign_regions:
        size = np.abs(values[..., 0]).max() or 1.0
        # The colours of less and more, as in the other displays.
        tints = [(colors.less, TINTS[0]), (colors.more, TINTS[1])]
        ax.contourf(*axes, values[..., 0], levels=[-size, 0, size], colors=tints)
    found = []
    for which in range(values.shape[-1]):
        surface = values[..., which]
        found.append(bool(surface.min() < 0 < surface.max()))
        if found[-1]:
            ax.contour(
                *axes,
                surface,
                levels=[0.0],
                colors=[colors.series[which % len(SERIES)]],
                linewidths=1.8,
                linestyles=[STROKES[which % len(STROKES)]],
                zorder=3,
            )
    ax.set(xlim=limits[0], ylim=limits[1])
    if same_units(limits):
        ax.set_aspect("equal")
    draw_two_spines(ax)
    return found


# --- Surfaces and curves in space where polynomials are zero, by marching tetrahedra --------------
#
# Every cube of a grid is cut into six tetrahedra. Inside of one, a function is taken to be linear;
# its zeros are a triangle or a quadrilateral, and inside of a triangle those of a second
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
    series = choose_colors(ax.figure).series
    elevation, azimuth = np.radians([ax.elev, ax.azim])
    flat = np.cos(elevation)
    viewer = np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)])
    found = []
    for which in range(basis.count()):
        triangles = zero_triangles(_polynomial(basis, which), grid)
        found.append(len(triangles) > 0)
        if not found[-1]:
            continue
        color = np.array(to_rgb(series[which % len(SERIES)]))
        faces = _lit(triangles / np.ptp(limits, axis=1), color, viewer)
        colors = np.hstack([faces, np.full((len(faces), 1), opacity)])
        ax.add_collection3d(Poly3DCollection(triangles, facecolors=colors, linewidths=0, zorder=1))
    return found


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
    from matplotlib.ticker import MaxNLocator

    ax.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
    if same_units(limits):
        ax.set_box_aspect(np.ptp(limits, axis=1))
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis.line.set_color(choose_colors(ax.figure).neutral)
        axis.set_major_locator(MaxNLocator(5))
        # The name of an axis stands beside its numbers, however long these are.
        numbers = axis.get_major_formatter().format_ticks(axis.get_majorticklocs())
        axis.labelpad = NOTE_SIZE / 2 * max(map(len, numbers)) - NOTE_SIZE


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


# --- ZeroSetDisplay: where the polynomials of an ideal are zero, with the points, in 2-D and 3-D --

Kind = Literal["auto", "surfaces", "curve", "both"]

#: Inches: the height of axes that are upright or in space.
TALL_SIDE = 5.0
#: Room around the points, as a share of their range.
ROOM = 0.15


class ZeroSetDisplay:
    """Picture of the zero sets of an ideal in two or three variables.

    In the plane every polynomial is a curve. In space every polynomial is a surface, and what
    several have in common is a curve. Zeros where a polynomial does not change its sign, such as
    those of a square, are not seen.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    basis : PolynomialBasis
        Its vanishing polynomials are drawn.
    limits : sequence of pairs of float
        Lower and upper end of every axis.
    X, contrast : arrays of shape (n_samples, n_features) or None
        Points to draw.
    feature_names : sequence of str, optional

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.datasets import make_variety
    >>> from vanishing.plotting import ZeroSetDisplay
    >>> X = make_variety("lemniscate", 100, noise=0.01)
    >>> ideal = VanishingIdeal(max_degree=4, tol=0.02).fit(X)
    >>> display = ZeroSetDisplay.from_estimator(ideal, X)
    >>> display.ax_.get_xlabel()
    'x0'
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        basis: PolynomialBasis,
        limits: Any,
        *,
        X: FloatArray | None = None,
        contrast: FloatArray | None = None,
        feature_names: Any = None,
    ) -> None:
        self.basis = basis
        self.limits = limits
        self.X = X
        self.contrast = contrast
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        ideal: Any,
        X: Any = None,
        *,
        contrast: Any = None,
        polynomials: Any = None,
        limits: Any = None,
        feature_names: Any = None,
        **look: Any,
    ) -> Self:
        """Draw the zero sets of an ideal.

        Parameters
        ----------
        ideal : VanishingIdeal, Pipeline or VanishingDetector
            Fitted to points with two or three features. The polynomials of a pipeline are carried
            back to its columns. Of a detector it is the first ideal, that of all rows.
        X, contrast : array-like of shape (n_samples, n_features), optional
            Points to draw.
        polynomials : int or sequence of int, optional
            Which of the vanishing polynomials to draw, in the order of ``transform``'s columns. By
            default those that are no combinations of others, six at most.
        limits : sequence of pairs of float, optional
            Lower and upper end of every axis; by default the range of the points and some room.
        feature_names : sequence of str, optional
            By default the column names of the fit, or x0, x1, ...
        **look
            ``kind``, ``sign_regions``, ``resolution`` and ``ax``, as :meth:`plot` takes them.

        Returns
        -------
        ZeroSetDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        fitted = fitted_ideal(ideal)
        if fitted.n_features_in_ not in (2, 3):
            raise ValueError(
                f"zero sets are drawn in 2 or 3 variables, the ideal has {fitted.n_features_in_}; "
                "fit it to two or three columns, or see BasisDisplay for an overview"
            )
        points, other = points_of(fitted, X), points_of(fitted, contrast)
        display = cls(
            _chosen_basis(fitted, polynomials),
            _checked_limits(limits, fitted.n_features_in_, points, other),
            X=points,
            contrast=other,
            feature_names=get_feature_names(fitted, feature_names),
        )
        return display.plot(**look)

    def plot(
        self,
        *,
        kind: Kind = "auto",
        sign_regions: bool = False,
        resolution: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        kind : {"auto", "surfaces", "curve", "both"}, default="auto"
            In space: the surface of each polynomial, the curve on which all are zero together, or
            both. "auto" draws one polynomial as a surface, two as both, and more as a curve.
        sign_regions : bool, default=False
            In the plane, for one polynomial: whether to tint where it is positive and negative.
        resolution : int, optional
            Points of the grid along each axis: by default 400 in the plane and 44 in space.
        ax : matplotlib Axes or None, default=None
            Where to draw, with ``projection="3d"`` for three features; None makes a figure.

        Returns
        -------
        ZeroSetDisplay
            With ``ax_`` and ``figure_``.
        """
        pyplot(f"{type(self).__name__}.plot")
        self._check(kind, sign_regions, resolution, ax)
        limits = self.limits
        if ax is None and self._in_space:
            ax = self._new_space()
        elif ax is None:
            across, up = np.ptp(limits, axis=1)
            share = float(up / across) if same_units(limits) else 1.0
            ax = new_axes(1, (WIDE_SIDE + LEGEND, min(WIDE_SIDE * share, TALL_SIDE) + LABELS))
        self.ax_, self.figure_ = ax, ax.figure
        self._draw_points()
        if self._in_space:
            entries = self._draw_space(kind, resolution)
        else:
            found = draw_contours(ax, self.basis, limits, resolution, sign_regions=sign_regions)
            entries = self._entries(found, sign_regions=sign_regions)
        self._write(entries)
        return self

    @property
    def _in_space(self) -> bool:
        return self.basis.n_features == 3

    def _check(self, kind: str, sign_regions: bool, resolution: int | None, ax: Any) -> None:
        count = self.basis.count()
        in_space = self._in_space
        if kind not in ("auto", "surfaces", "curve", "both"):
            raise ValueError(f"kind must be 'auto', 'surfaces', 'curve' or 'both', got {kind!r}")
        if kind in ("curve", "both") and (count < 2 or not in_space):
            raise ValueError(
                f"kind={kind!r} draws what two or more equations in three variables have in "
                f"common, but there are {count} in {self.basis.n_features} variables"
            )
        if sign_regions and (in_space or count != 1):
            raise ValueError(
                "sign_regions shows one polynomial in two variables, but there are "
                f"{count} in {self.basis.n_features}; choose one, such as polynomials=0"
            )
        if resolution is not None:
            check_whole("resolution", resolution, 2)
        if ax is not None and in_space != hasattr(ax, "get_zlim"):
            needed = 'made with projection="3d"' if in_space else "a plane one"
            raise ValueError(
                f"ax must be {needed} for {self.basis.n_features} features, got {type(ax).__name__}"
            )

    def _new_space(self) -> Any:
        from matplotlib import rc_context

        # Surfaces, points and curves are drawn over each other in this order. matplotlib's own
        # would hide points on the near side of a surface.
        size = WIDE_SIDE + LEGEND, TALL_SIDE
        with rc_context({"grid.color": f"{NEUTRAL}60", "grid.linewidth": 0.6}):
            return new_axes(1, size, projection="3d", computed_zorder=False)

    def _draw_points(self) -> None:
        colors = choose_colors(self.figure_)
        look = {"linewidths": 0.0, "s": 10 if self._in_space else 15}
        if self.contrast is not None:
            marks = {"color": colors.more, "marker": "^", "alpha": 0.45, "zorder": 2}
            self.ax_.scatter(*self.contrast.T, **marks, **look)
        if self.X is not None:
            self.ax_.scatter(*self.X.T, color=colors.less, alpha=0.7, zorder=2.1, **look)

    def _draw_space(self, kind: Kind, resolution: int | None) -> list[Any]:
        from mpl_toolkits.mplot3d.art3d import Line3DCollection

        ax, limits, count = self.ax_, self.limits, self.basis.count()
        ink = choose_colors(ax.figure).ink
        if kind == "auto":
            kind = "surfaces" if count == 1 else "both" if count == 2 else "curve"
        entries = []
        if kind != "curve":
            # Of several surfaces those behind are seen, and all are where a curve is drawn.
            opacity = FAINT if kind == "both" else 0.55 if count == 1 else 0.35
            entries = self._entries(draw_surfaces(ax, self.basis, limits, resolution, opacity))
        if kind != "surfaces":
            segments = common_zeros(self.basis, limits, resolution)
            if len(segments):
                curve = Line3DCollection(segments, colors=[ink], linewidths=1.5, zorder=3)
                ax.add_collection3d(curve)
            name = f"zero set of {count} equations"
            name += "" if len(segments) else ":\nnot in the picture"
            entries.append(legend_entry(name, color=ink, linewidth=1.5))
        finish_space(ax, limits)
        return entries

    def _entries(self, found: list[bool], *, sign_regions: bool = False) -> list[Any]:
        """Name the polynomials."""
        entries, colors = [], choose_colors(self.figure_)
        described = zip(found, self.basis.degrees(), self.basis.extents, strict=True)
        for i, (is_seen, degree, extent) in enumerate(described):
            name = f"g = 0, degree {degree}, extent {number(extent, '.2g')}"
            name += "" if is_seen else "\n(not in the picture)"
            look: dict[str, Any] = {"linestyle": STROKES[i % len(STROKES)], "linewidth": 1.8}
            if self._in_space:
                look = {"marker": "s", "linestyle": "", "alpha": 0.7}
            entries.append(legend_entry(name, color=colors.series[i % len(SERIES)], **look))
        if sign_regions:
            look = {"marker": "s", "linestyle": "", "markersize": 8}
            entries.append(legend_entry("g > 0", color=colors.more, alpha=TINTS[1], **look))
            entries.append(legend_entry("g < 0", color=colors.less, alpha=TINTS[0], **look))
        return entries

    def _write(self, entries: list[Any]) -> None:
        """Write names of axes and, beside them, of what is drawn."""
        look = {"linestyle": "", "markersize": 4}
        first, colors = [], choose_colors(self.figure_)
        if self.X is not None:
            first.append(legend_entry("X", color=colors.less, marker="o", **look))
        if self.contrast is not None:
            first.append(legend_entry("contrast", color=colors.more, marker="^", **look))
        names = self.feature_names or variable_names(self.basis.n_features)
        # Slanted names reach beyond the picture where they are long.
        letters = NAME_LENGTH // 2 if self._in_space else NAME_LENGTH
        for axis, name in zip("xyz", names, strict=False):
            write_labels(self.ax_, **{f"{axis}label": shorten_name(str(name), letters)})
        self.ax_.tick_params(labelsize=NOTE_SIZE, colors=colors.note)
        write_legend(self.ax_, [*first, *entries])


def _chosen_basis(ideal: VanishingIdeal, polynomials: Any) -> PolynomialBasis:
    """Take the polynomials that are asked for; by default generators, one a colour."""
    basis: PolynomialBasis = ideal.basis_
    n_vanishing = basis.count()
    if n_vanishing == 0:
        spectra = (float(s.spectrum[0]) for s in ideal.trace_ if len(s.spectrum))
        raise ValueError(
            f"nothing vanishes, so there is no zero set: the smallest extent is "
            f"{min(spectra, default=np.nan):.3g}; raise tol or max_degree"
        )
    if polynomials is None:
        basis, chosen = minimal_generators(basis), list(range(len(SERIES)))
    else:
        chosen = [int(number) for number in np.atleast_1d(polynomials)]
        if not chosen or not all(0 <= number < n_vanishing for number in chosen):
            raise ValueError(
                f"polynomials must be numbers from 0 to {n_vanishing - 1}, at least one, got "
                f"{polynomials!r}"
            )
    return basis.restrict(np.isin(np.arange(basis.count()), chosen))


def _checked_limits(limits: Any, n_features: int, *points: FloatArray | None) -> FloatArray:
    """Return the limits as an array of shape (n_features, 2)."""
    if limits is not None:
        checked = np.asarray(limits, dtype=np.float64)
        if checked.shape != (n_features, 2) or not (checked[:, 0] < checked[:, 1]).all():
            raise ValueError(
                f"limits must be {n_features} pairs (lower, upper), one for each axis, got "
                f"{limits!r}"
            )
        return checked
    given = [each for each in points if each is not None]
    if not given:
        raise ValueError("pass X, contrast or limits: an ideal does not store its points")
    low, high = (end(np.vstack(given), axis=0) for end in (np.min, np.max))
    width = np.where(high > low, high - low, 1.0)
    return np.column_stack([low - ROOM * width, high + ROOM * width])
