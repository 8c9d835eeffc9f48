"""The explanation of an image: the image, the mended one, and the shares of the pixels."""

from math import prod
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.anomaly.explain import Explanation
from vanishing.plotting.style import (
    INK,
    NEUTRAL,
    NOTE_SIZE,
    TITLE_SIZE,
    diverging_colors,
    new_axes,
    number,
)

#: Inches.
SIZE = (8.4, 2.9)
#: How much of the image is seen below its shares, and how many times smaller than the largest a
#: share may be to hide it all the same.
FAINT, OPAQUE = 0.25, 4.0


def draw_pixels(
    explanation: Explanation, image_shape: tuple[int, ...], cmap: Any, ax: Any
) -> list[Any]:
    """Draw an explanation as three images.

    Parameters
    ----------
    explanation : Explanation
    image_shape : tuple of int
        Height, width and perhaps channels.
    cmap : str or matplotlib Colormap
        For images of one channel.
    ax : sequence of three matplotlib Axes, or None
        None for a new figure.

    Returns
    -------
    list of three matplotlib Axes
    """
    shape = _checked_shape(image_shape, len(explanation.shares))
    if ax is None:
        ax = new_axes(3, SIZE)
    elif np.shape(ax) != (3,):
        raise ValueError(
            "ax must be a sequence of three Axes for an image, such as those of plt.subplots(1, 3)"
        )
    left, middle, right = axes = list(ax)
    sample, mended = (
        _drawable(values.reshape(shape), explanation.sample)
        for values in (explanation.sample, explanation.reference)
    )
    look = {"cmap": cmap, "vmin": 0.0, "vmax": 1.0}
    left.imshow(sample, **look)
    middle.imshow(mended, **look)
    right.imshow(sample, alpha=FAINT, **look)
    _draw_shares(right, explanation.shares.reshape(shape).sum(axis=2), axes)
    for panel, title in zip(axes, _titles(explanation), strict=True):
        panel.set_title(title, fontsize=TITLE_SIZE, color=INK)
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_color(NEUTRAL)
    return axes


def _draw_shares(ax: Any, shares: FloatArray, axes: list[Any]) -> None:
    """Draw the shares over what is there, and their scale beside all axes."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    largest = np.abs(shares).max()
    if largest == 0.0:
        return
    colors = {"cmap": diverging_colors(), "norm": Normalize(-largest, largest)}
    ax.imshow(shares, alpha=np.minimum(OPAQUE * np.abs(shares) / largest, 1.0), **colors)
    # The scale of the heat map itself would fade as it does.
    bar = ax.figure.colorbar(ScalarMappable(**colors), ax=axes, shrink=0.8, pad=0.02)
    bar.ax.tick_params(labelsize=NOTE_SIZE, colors=INK)
    bar.outline.set_visible(False)


def _checked_shape(image_shape: Any, n_features: int) -> tuple[int, int, int]:
    """Return height, width and channels."""
    shape = tuple(image_shape) if np.ndim(image_shape) == 1 else ()
    if len(shape) not in (2, 3) or min(shape) < 1 or (*shape, 1)[2] not in (1, 3):
        raise ValueError(
            "image_shape must be (height, width), or (height, width, channels) with 1 or 3 "
            f"channels, got {image_shape!r}"
        )
    if prod(shape) != n_features:
        raise ValueError(
            f"image_shape {shape} has {prod(shape)} values, the sample has {n_features} features; "
            "pass the shape of one image, or leave image_shape out for a table"
        )
    height, width, channels = (*shape, 1)[:3]
    return height, width, channels


def _drawable(image: FloatArray, sample: FloatArray) -> FloatArray:
    """Return grey levels or colours from 0 to 1, the range of the sample, cut off there."""
    low, high = sample.min(), sample.max()
    levels: FloatArray = np.clip((image - low) / (high - low or 1.0), 0.0, 1.0)
    return levels[:, :, 0] if levels.shape[2] == 1 else levels


def _titles(explanation: Explanation) -> tuple[str, str, str]:
    """Return what is written above the three images."""
    sample = f"score {number(explanation.score, '.3g')}"
    if not explanation.shares.any():
        return sample, "mended: the same", "no pixel adds"
    mended = f"mended: score {number(explanation.reference_score, '.3g')}"
    return sample, mended, "what each pixel adds"
