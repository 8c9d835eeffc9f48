"""The explanation of a row of a table: a bar for each feature, and the broken equations."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from vanishing._xp import IntArray
from vanishing.anomaly.explain import BrokenEquation, Explanation
from vanishing.anomaly.explain.words import (
    TYPICAL,
    chosen_features,
    written_change,
    written_equation,
)
from vanishing.plotting.style import (
    INK,
    LESS,
    MORE,
    NEUTRAL,
    NOTE,
    NOTE_SIZE,
    TEXT_SIZE,
    TITLE_SIZE,
    new_axes,
    number,
    shortened,
)

#: Inches: width of the figure, height of a bar, of a line of text, and of what is always there.
WIDTH, BAR, LINE, FIXED = 7.0, 0.34, 0.18, 1.0
#: Points: from the bars to the equations below them, and to the heading of the values above.
BELOW, ABOVE = 28, 6


def draw_bars(explanation: Explanation, n_features: int, ax: Any) -> Any:
    """Draw an explanation as bars.

    Parameters
    ----------
    explanation : Explanation
    n_features : int
        Bars, at most, except for one that sums up the rest.
    ax : matplotlib Axes or None
        None for a new figure.

    Returns
    -------
    matplotlib Axes
    """
    shown, rest = chosen_features(explanation.shares, n_features)
    is_typical = len(shown) == 0
    equations = () if is_typical else explanation.equations
    if ax is None:
        n_bars = 0 if is_typical else len(shown) + (len(rest) > 0)
        n_lines = len(equations) + 1 if equations else 0
        ax = new_axes(1, (WIDTH, FIXED + BAR * n_bars + LINE * n_lines))
    elif np.ndim(ax) > 0:
        raise ValueError("ax must be one Axes for a table; pass image_shape if x is an image")
    score = f"Score {number(explanation.score, '.3g')}"
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    if is_typical:
        ax.text(0, 0.5, fill(TYPICAL, 66), fontsize=TEXT_SIZE, color=INK, va="center")
    else:
        score += f", {number(explanation.reference_score, '.3g')} when mended"
        _draw_chosen(ax, explanation, shown, rest)
    ax.set_title(score, loc="left", fontsize=TITLE_SIZE, color=INK, pad=12)
    _write_equations(ax, equations)
    return ax


def _draw_chosen(ax: Any, explanation: Explanation, shown: IntArray, rest: IntArray) -> None:
    """Draw one bar a feature, names on the left and values on the right."""
    shares = explanation.shares[shown]
    names = [shortened(explanation.feature_names[j]) for j in shown]
    values = [written_change(explanation, j) for j in shown]
    colors = [MORE if share > 0 else LESS for share in shares]
    if len(rest):
        shares = np.append(shares, explanation.shares[rest].sum())
        names.append(f"{len(rest)} other features")
        values.append("")
        colors.append(NEUTRAL)
    places = np.arange(len(shares))
    bars = ax.barh(places, shares, height=0.62, color=colors)
    written = [number(share, "+.3g") if share else "0" for share in shares]
    ax.bar_label(bars, written, padding=4, fontsize=NOTE_SIZE, color=INK)
    ax.axvline(0, color=INK, linewidth=0.8)
    # Space for the numbers at the ends of the bars.
    low, high = min(shares.min(), 0.0), max(shares.max(), 0.0)
    space = 0.2 * (high - low)
    ax.set_xlim(low - space * (low < 0), high + space)
    ax.set_ylim(len(shares) - 0.5, -0.5)
    ax.set_yticks(places, names, fontsize=TEXT_SIZE, color=INK)
    ax.tick_params(axis="y", length=0, pad=6)
    ax.set_xlabel("what each feature adds to the score", fontsize=NOTE_SIZE, color=NOTE, loc="left")
    for place, value in zip(places, values, strict=True):
        ax.text(
            1.02,
            place,
            value,
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize=TEXT_SIZE,
            color=INK,
        )
    _write_beside(ax, "value → mended", corner=(1.02, 1), points=ABOVE)


def _write_equations(ax: Any, equations: Sequence[BrokenEquation]) -> None:
    """Write the broken equations below the bars."""
    if equations:
        lines = ["Broken equations:", *map(written_equation, equations)]
        _write_beside(ax, "\n".join(lines), corner=(0, 0), points=-BELOW)


def _write_beside(ax: Any, text: str, *, corner: tuple[float, float], points: float) -> None:
    """Write a note above or below the axes, at a distance from a corner."""
    ax.annotate(
        text,
        xy=corner,
        xycoords="axes fraction",
        xytext=(0, points),
        textcoords="offset points",
        va="top" if points < 0 else "bottom",
        fontsize=NOTE_SIZE,
        color=NOTE,
        linespacing=1.4,
    )
