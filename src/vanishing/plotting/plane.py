"""Zero sets in the plane: contours, and the regions of either sign."""

from typing import Any

import numpy as np

from vanishing.plotting.style import LESS, MORE, NEUTRAL, SERIES, STROKES, same_units
from vanishing.polynomials import PolynomialBasis

#: Points of the grid along each axis.
RESOLUTION = 400
#: How strongly the regions of either sign are tinted.
TINT = 0.16


def draw_contours(
    ax: Any, basis: PolynomialBasis, limits: Any, resolution: int | None, *, sign_regions: bool
) -> list[bool]:
    """Draw where each polynomial of two variables is zero.

    Parameters
    ----------
    ax : matplotlib Axes
    basis : PolynomialBasis
        Its vanishing polynomials are drawn.
    limits : pair of pairs of float
    resolution : int or None
        Points of the grid along each axis.
    sign_regions : bool
        Whether to tint where the only polynomial is positive and negative.

    Returns
    -------
    list of bool
        Whether each polynomial has zeros within the limits.
    """
    axes = [np.linspace(low, high, resolution or RESOLUTION) for low, high in limits]
    grid = np.stack(np.meshgrid(*axes), axis=-1)
    values = basis.evaluate(grid.reshape(-1, 2)).reshape(*grid.shape[:2], -1)
    if sign_regions:
        size = np.abs(values[..., 0]).max() or 1.0
        # The colours of less and more, as in the other displays.
        ax.contourf(*axes, values[..., 0], levels=[-size, 0, size], colors=[LESS, MORE], alpha=TINT)
    found = []
    for number in range(values.shape[-1]):
        surface = values[..., number]
        found.append(bool(surface.min() < 0 < surface.max()))
        if found[-1]:
            ax.contour(
                *axes,
                surface,
                levels=[0.0],
                colors=[SERIES[number % len(SERIES)]],
                linewidths=1.8,
                linestyles=[STROKES[number % len(STROKES)]],
                zorder=3,
            )
    ax.set(xlim=limits[0], ylim=limits[1])
    if same_units(limits):
        ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(NEUTRAL)
    return found
