"""The picture of laws: measured against predicted, the band of the noise, and the broken rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from textwrap import wrap
from typing import Any

import numpy as np

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.equations.text import MINUS, shorten_name, significant
from vanishing.laws.law import Law
from vanishing.laws.wrong_cells import LEAST
from vanishing.style import LINE_SPACING, NOTE_SIZE, PAD, TEXT_SIZE, choose_colors, draw_two_spines

#: Laws that are drawn at most, points of each, points of the edge of a band, and broken rows that
#: are named: more of any of these nobody tells apart.
MOST_LAWS, MOST_POINTS, BAND_POINTS, NAMED_ROWS = 12, 1000, 60, 5
#: Inches: width and height of the picture of one law, and letters of a line above it.
PANEL_SIDE, TITLE_LETTERS = 3.9, 38
#: Values of one sign that range over more powers of ten have a logarithmic axis.
LINEAR_DECADES = 2.5
#: Sound rows take at least this share of an axis; rows further off stand at its edge.
SOUND_SHARE = 0.4


@dataclass(frozen=True, eq=False)
class Panel:
    """What is drawn of one law: its left side in each row, and what the law says it is.

    ``limits`` are the deviations that noise and rounding explain, and ``broken`` the rows that are
    further off; ``places`` are the numbers of the
    rows that have all cells of the law.
    """

    law: Law
    name: str
    measured: FloatArray
    predicted: FloatArray
    limits: FloatArray
    broken: BoolArray
    places: IntArray
    n_rows: int

    @classmethod
    def of(cls, law: Law, rows: FloatArray, limits: FloatArray, spoken: BoolArray) -> "Panel":
        """Return the panel of a law; ``limits`` are how far sound rows may be off zero.

        Of a law under a condition, only the rows that it speaks of are ``spoken``.
        """
        with np.errstate(all="ignore"):
            found = law.predict(rows)
            broken = ~(np.abs(law.values(rows)) <= limits)
            limits = limits / np.abs(found.slope)
        known = np.isfinite([found.measured, found.predicted, limits]).all(axis=0) & spoken
        values = found.measured[known], found.predicted[known], limits[known], broken[known]
        return cls(law, found.name, *values, np.flatnonzero(known), n_rows=int(spoken.sum()))

    @property
    def off(self) -> FloatArray:
        """Measured minus predicted."""
        return self.measured - self.predicted

    @property
    def shown_off(self) -> FloatArray:
        """Measured minus predicted, in percent where the axes are logarithmic."""
        return 100 * self.off / np.abs(self.predicted) if self.is_logarithmic else self.off

    @property
    def is_logarithmic(self) -> bool:
        """Whether the values need logarithmic axes."""
        values = np.stack([self.measured, self.predicted])
        sound = values[:, ~self.broken]
        low, high = sound.min(initial=np.inf), sound.max(initial=0.0)
        return bool(values.min(initial=np.inf) > 0 and np.log10(high / low) > LINEAR_DECADES)

    @property
    def band(self) -> tuple[FloatArray, FloatArray]:
        """Predicted values in their order, and how far sound rows may be off there."""
        sound = ~self.broken
        x, widths = self.predicted[sound], self.limits[sound]
        groups = np.array_split(np.argsort(x, kind="stable"), min(len(x), BAND_POINTS) or 1)
        groups = [each for each in groups if len(each)]
        # The ends too, so that the band reaches all points.
        ends = [(x[g].min(), x[g].max()) for g in (groups[0], groups[-1])] if groups else []
        middle = [float(np.median(x[each])) for each in groups]
        size = [float(np.median(widths[each])) for each in groups]
        if ends:
            middle, size = [ends[0][0], *middle, ends[1][1]], [size[0], *size, size[-1]]
        return np.array(middle), np.array(size)


def draw_laws(panels: Sequence[Panel], row_names: Any, axes: Any, *, title: str | None) -> Any:
    """Draw all panels: two axes each, one above the other; return these, shape (n_panels, 2).

    Laws are written above their panels if there is a title.
    """
    if axes is None:
        axes = _make_axes(len(panels), title or "")
    axes = np.asarray(axes, dtype=object)
    if axes.shape != (len(panels), 2):
        raise ValueError(
            f"axes must have the shape ({len(panels)}, 2), two for each law, got {axes.shape}"
        )
    for panel, (upper, lower) in zip(panels, axes, strict=True):
        draw_panel(panel, row_names, upper, lower, has_title=title is not None)
    return axes


def _make_axes(n_panels: int, title: str) -> Any:
    from matplotlib import pyplot

    n_columns = ceil(sqrt(n_panels)) if n_panels > 3 else n_panels
    n_lines = ceil(n_panels / n_columns) if n_panels else 1
    size = PANEL_SIDE * max(n_columns, 1), PANEL_SIDE * n_lines
    figure = pyplot.figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08, hspace=0.04, wspace=0.04)
    ink = choose_colors(figure).ink
    if not n_panels:
        figure.text(0.5, 0.5, "Nothing to draw: there is no law.", ha="center", color=ink)
    words = "\n".join(
        wrap(title.replace(" %", "\u00a0%"), int(TITLE_LETTERS * 1.1) * max(n_columns, 1))
    )
    figure.suptitle(words, x=0.01, ha="left", fontsize=TEXT_SIZE, color=ink)
    grid = figure.add_gridspec(n_lines, max(n_columns, 1))
    axes = np.empty((n_panels, 2), dtype=object)
    for k in range(n_panels):
        parts = grid[k // n_columns, k % n_columns].subgridspec(2, 1, height_ratios=[3, 2])
        upper = figure.add_subplot(parts[0])
        axes[k] = upper, figure.add_subplot(parts[1], sharex=upper)
    return axes


def draw_panel(panel: Panel, row_names: Any, upper: Any, lower: Any, *, has_title: bool) -> None:
    """Draw one law: measured against predicted above, and how far the rows are off below."""
    colors = choose_colors(upper.figure)
    edge, width = panel.band
    units = np.abs(edge) / 100 if panel.is_logarithmic else np.ones(len(edge))
    if panel.is_logarithmic:
        upper.set(xscale="log", yscale="log")
        lower.set(xscale="log")
    x_ends = _choose_ends(panel.predicted, panel)
    ends = _choose_ends(panel.measured, panel)
    look = {"color": colors.neutral, "alpha": 0.45, "linewidth": 0}
    lowest = ends[0] if panel.is_logarithmic else -np.inf
    upper.fill_between(edge, np.maximum(edge - width, lowest), edge + width, **look)
    upper.plot(x_ends, x_ends, color=colors.note, linewidth=0.8, zorder=1)
    lower.fill_between(edge, -width / units, width / units, **look)
    lower.axhline(0, color=colors.note, linewidth=0.8, zorder=1)
    upper.set(xlim=x_ends, ylim=ends)
    typical = np.median if panel.is_logarithmic else np.max  # percentages of small values are huge
    # Where all terms are zero, there is no width that could be seen.
    least = 1.6 * float(typical(width / units)) if (width > LEAST).any() else 0.0
    lower.set(xlim=x_ends, ylim=_choose_ends(panel.shown_off, panel, least))
    _draw_points(upper, panel, panel.measured)
    _draw_points(lower, panel, panel.shown_off)
    _name_rows(upper, panel, row_names)
    _name_axes(panel, upper, lower)
    if has_title:
        _write_title(panel, upper)


def _choose_ends(values: FloatArray, panel: Panel, least: float = 0.0) -> tuple[float, float]:
    """Return the ends of an axis: of all values, unless these hide the differences of sound rows.

    With ``least``, the axis is one of differences and reaches at least as far on both sides of 0.
    Those from a law without noise are all shown, since sound rows have none.
    """
    if not len(values):
        return -1.0, 1.0
    sound = values if panel.broken.all() else values[~panel.broken]
    if panel.is_logarithmic and not least:
        return float(values.min() / 1.3), float(values.max() * 1.3)
    low, high = min(float(sound.min()), -least or np.inf), max(float(sound.max()), least or -np.inf)
    if low == high:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    beyond = (high - low) * (1 / SOUND_SHARE - 1) / 2
    if least and panel.law.resolution is not None:
        beyond = np.inf
    low = min(low, max(float(values.min()), low - beyond))
    high = max(high, min(float(values.max()), high + beyond))
    room = 0.06 * (high - low)
    return low - room, high + room


def _draw_points(ax: Any, panel: Panel, heights: FloatArray) -> None:
    """Draw sound rows as dots, and broken ones as diamonds, or at the edge that they are beyond."""
    colors = choose_colors(ax.figure)
    sound, broken = np.flatnonzero(~panel.broken), np.flatnonzero(panel.broken)
    sound = sound[:: max(1, ceil(len(sound) / MOST_POINTS))]
    size = float(np.clip(1500 / max(len(sound), 1), 4, 18))
    opacity = 0.75 if len(sound) < MOST_POINTS / 4 else 0.45
    ax.scatter(
        panel.predicted[sound],
        heights[sound],
        s=size,
        color=colors.less,
        alpha=opacity,
        linewidths=0,
    )
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    x, y = panel.predicted[broken], heights[broken]
    markers = np.select([y > high, y < low, x > right, x < left], ["^", "v", ">", "<"], "D")
    sizes = {"D": 26.0} if len(broken) < MOST_POINTS / BAND_POINTS else {"D": 8.0}
    for marker in np.unique(markers).tolist():
        chosen = markers == marker
        place = np.clip(x[chosen], left, right), np.clip(y[chosen], low, high)
        look = {"marker": marker, "s": sizes.get(marker, 1.7 * sizes["D"]), "linewidths": 0}
        ax.scatter(*place, color=colors.more, zorder=4, clip_on=False, **look)


def _name_rows(ax: Any, panel: Panel, row_names: Any) -> None:
    """Name the rows that are furthest off, to the right of the axes, where no point is."""
    broken, colors = np.flatnonzero(panel.broken), choose_colors(ax.figure)
    if not len(broken):
        return
    by_size = np.argsort(-np.abs(panel.off[broken]) / panel.limits[broken], kind="stable")
    chosen = broken[by_size[:NAMED_ROWS]]
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    points = np.column_stack(
        [np.clip(panel.predicted[chosen], left, right), np.clip(panel.measured[chosen], low, high)]
    )
    to_axes = ax.transScale + ax.transLimits
    heights = to_axes.transform(points)[:, 1]
    order = np.argsort(heights, kind="stable")
    lines = [
        f"row {shorten_name(str(row_names[panel.places[k]]), TITLE_LETTERS // 3)}" for k in chosen
    ]
    top = 0.0
    spread = np.empty(len(chosen))
    for i in order:
        spread[i] = top = max(heights[i], top)
        top += LINE_SPACING * NOTE_SIZE / (72 * PANEL_SIDE * 0.45)  # as high as a line
    spread -= max(spread.max() - 0.98, 0.0)
    for place, (point, line) in enumerate(zip(points, lines, strict=True)):
        ax.annotate(
            line, xy=point, xytext=(1.05, spread[place]), textcoords="axes fraction",
            fontsize=NOTE_SIZE - 0.5, color=colors.more, va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colors.more, "linewidth": 0.5, "alpha": 0.6,
                        "shrinkA": 1, "shrinkB": 2}, parse_math=False,
        )  # fmt: skip


def _write_title(panel: Panel, upper: Any) -> None:
    """Write the law above its picture, and what is known about it."""
    colors = choose_colors(upper.figure)

    # Lines end between terms, not within a name such as [length (m)].
    def hold(name: re.Match[str]) -> str:
        is_long = len(name[0]) > TITLE_LETTERS
        return name[0] if is_long else name[0].replace(" ", "\u00a0")

    text = re.sub(r"\[[^]]*\]", hold, panel.law.with_errors)
    lines = wrap(text, TITLE_LETTERS, break_on_hyphens=False)
    facts = [panel.law.evidence[1], f"{len(panel.places):,} rows"]
    if n_broken := int(panel.broken.sum()):
        facts.append(f"{n_broken:,} break{'s' * (n_broken == 1)} it")
    if lacking := panel.n_rows - len(panel.places):
        facts.append(f"{lacking:,} lack{'s' * (lacking == 1)} cells")
    below = wrap(" · ".join(facts), TITLE_LETTERS)
    pad = PAD + LINE_SPACING * NOTE_SIZE * len(below)
    upper.set_title(
        "\n".join(lines),
        loc="left",
        fontsize=TEXT_SIZE,
        color=colors.ink,
        pad=pad,
        parse_math=False,
    )
    upper.annotate(
        "\n".join(below), xy=(0, 1), xycoords="axes fraction", xytext=(0, PAD),
        textcoords="offset points", fontsize=NOTE_SIZE - 0.5, color=colors.note,
    )  # fmt: skip


def _name_axes(panel: Panel, upper: Any, lower: Any) -> None:
    """Write the names of the axes, and few numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    colors = choose_colors(upper.figure)
    name = panel.name.replace("*", " \u00b7 ")
    names = (
        ("left side", "right side")
        if len(name) > TITLE_LETTERS // 2
        else (name, f"{name}, by the law")
    )
    upper.set_ylabel(names[0], fontsize=NOTE_SIZE, color=colors.note, parse_math=False)
    lower.set_xlabel(names[1], fontsize=NOTE_SIZE, color=colors.note, parse_math=False)
    unit = ", %" if panel.is_logarithmic else ""
    lower.set_ylabel(f"off by{unit}", fontsize=NOTE_SIZE, color=colors.note)
    for ax in (upper, lower):
        draw_two_spines(ax)
        ax.tick_params(
            which="both", labelsize=NOTE_SIZE - 0.5, colors=colors.note, labelbottom=ax is lower
        )
    for axis in (upper.yaxis, lower.yaxis, lower.xaxis):
        if axis.get_scale() == "linear":
            axis.set_major_locator(MaxNLocator(4))
            axis.set_major_formatter(FuncFormatter(_write_tick))
        else:
            axis.set_major_locator(LogLocator(numticks=5))
            axis.set_minor_formatter(NullFormatter())


def _write_tick(value: float, _: int) -> str:
    """Write a number beside an axis, a power of ten as it is printed."""
    mantissa, e, power = significant(value + 0.0, 7).replace(MINUS, "-").partition("e")
    return f"${mantissa} \\cdot 10^{{{int(power)}}}$" if e else mantissa.replace("-", MINUS)
