"""The look of all plots: colours, sizes of letters, axes, and matplotlib where it is needed."""

from typing import Any, NamedTuple

from vanishing.arrays.namespace import import_extra

#: Blue and vermilion of Okabe and Ito, which colour-blind people tell apart.
LESS, MORE = "#0072B2", "#D55E00"
#: What stands back, text, and what is written beside the point.
NEUTRAL, INK, NOTE = "#B0B0B0", "#333333", "#6A6A6A"
#: Several of a kind, such as polynomials: colours after the same, and strokes, so that they differ
#: in print as well.
SERIES = ("#009E73", "#AA4E88", "#C98A00", "#56B4E9", "#333333", "#8C6BB1")
STROKES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
#: Points: sizes of letters, and between what is written and what it is about.
TITLE_SIZE, TEXT_SIZE, NOTE_SIZE, PAD = 11, 10, 9, 6
#: Distance of the lines of a text, in sizes of letters.
LINE_SPACING = 1.4
#: Inches: a bar or a column of cells, narrow axes and others, the names beside them, and a title or
#: the names of an axis.
CELL, NARROW_SIDE, WIDE_SIDE, LEGEND, LABELS = 0.34, 2.3, 3.8, 2.9, 0.7
#: Opacity of what something else is drawn upon.
FAINT = 0.15
#: Extents below this are rounding; they are drawn there, since zero has no logarithm.
LOWEST_DRAWN = 1e-17


class Colors(NamedTuple):
    """What text, notes, what stands back, and points of two kinds are drawn in, and on."""

    ink: str = INK
    note: str = NOTE
    neutral: str = NEUTRAL
    less: str = LESS
    more: str = MORE
    paper: str = "#FFFFFF"

    @property
    def series(self) -> tuple[str, ...]:
        """Colours for several of a kind."""
        return tuple(self.ink if color == INK else color for color in SERIES)


def choose_colors(figure: Any) -> Colors:
    """Return the colours for a figure: lighter ones on a dark one, as of "dark_background"."""
    from matplotlib.colors import to_hex, to_rgba

    # Parts of a figure have no color of their own.
    red, green, blue, opacity = paper = to_rgba(figure.figure.get_facecolor())
    if opacity == 0 or max(red, green, blue) >= 0.5:
        return Colors()
    return Colors("#E6E8EB", "#A4ADB8", "#69727D", "#4AA3D8", "#F0803C", to_hex(paper))


def pyplot(caller: str) -> Any:
    """Import matplotlib.pyplot for a caller, or say which extra brings it."""
    return import_extra("matplotlib.pyplot", extra="plot", purpose=caller)


def new_axes(
    n_columns: int, size: tuple[float, float], *, ratios: Any = None, **parameters: Any
) -> Any:
    """Make a figure of a size in inches, with room beside its axes, and return the axes."""
    from matplotlib import pyplot

    # Compressed: axes of a fixed shape, such as pictures, leave no gaps.
    figure, axes = pyplot.subplots(
        1, n_columns, figsize=size, layout="compressed", width_ratios=ratios, subplot_kw=parameters
    )
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    return axes


def same_units(limits: Any) -> bool:
    """Whether the axes seem to have one unit, so that a circle can be drawn as one."""
    widths = [stop - start for start, stop in limits]
    return bool(max(widths) <= 3 * min(widths))


def write_legend(ax: Any, entries: list[Any]) -> None:
    """Name what is drawn to the right of the axes, where the names cover nothing."""
    ax.legend(
        handles=entries,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        frameon=False,
        fontsize=NOTE_SIZE,
        labelcolor=choose_colors(ax.figure).ink,
        handlelength=1.6,
        borderaxespad=0.0,
    )


def legend_entry(name: str, **look: Any) -> Any:
    """Return a line of the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=name, **look)


def draw_two_spines(ax: Any) -> None:
    """Leave the left and the lower side of the frame, standing back."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(choose_colors(ax.figure).neutral)


def write_labels(ax: Any, **labels: str) -> None:
    """Write what axes show: ``xlabel``, ``ylabel`` and ``zlabel``."""
    look = {"fontsize": NOTE_SIZE, "color": choose_colors(ax.figure).note, "parse_math": False}
    for which, text in labels.items():
        getattr(ax, f"set_{which}")(text, **look)


def diverging_colors() -> Any:
    """Return a colour map from LESS through white to MORE."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("less-more", [LESS, "white", MORE])
