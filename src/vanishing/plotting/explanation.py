"""ExplanationDisplay: an explanation as bars, or on the pixels of an image."""

from collections.abc import Sequence
from math import prod
from textwrap import fill
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import FloatArray
from vanishing.equations.text import number, shorten_names
from vanishing.explain.record import TYPICAL, Bar, Explanation
from vanishing.style import (
    CELL,
    LABELS,
    LEGEND,
    LINE_SPACING,
    NARROW_SIDE,
    NOTE_SIZE,
    PAD,
    TEXT_SIZE,
    TITLE_SIZE,
    WIDE_SIDE,
    choose_colors,
    diverging_colors,
    new_axes,
    pyplot,
)

# --- The explanation of a row of a table: a bar for each feature, and the broken equations --------


def draw_bars(explanation: Explanation, n_features: int, ax: Any) -> Any:
    """Draw an explanation as bars, one for each of ``n_features`` at most and one for the rest."""
    bars = _shorten(explanation.bars(n_features))
    lines = [equation.summary for equation in explanation.equations] if bars else []
    lines = ["Broken equations:", *lines] if lines else []
    if ax is None:
        height = 2 * LABELS + CELL * len(bars) + LINE_SPACING * NOTE_SIZE / 72 * len(lines)
        # The equations begin below the bars, to the right of the names.
        needed = _measure([bar.name for bar in bars], TEXT_SIZE) + _measure(lines, NOTE_SIZE)
        ax = new_axes(1, (max(WIDE_SIDE + LEGEND, needed + LABELS), height))
    elif np.ndim(ax) > 0:
        raise ValueError("ax must be one Axes for a table; pass image_shape if x is an image")
    ink = choose_colors(ax.figure).ink
    score, pad = f"Score {number(explanation.score, '.3g')}", 2 * PAD
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    if bars:
        score += f", {number(explanation.counterfactual_score, '.3g')} with the suggested fix"
        pad = 2 * TEXT_SIZE + PAD
        _draw_bars(ax, bars)
    else:
        ax.text(0, 0.5, fill(TYPICAL, 66), fontsize=TEXT_SIZE, color=ink, va="center")
    ax.set_title(score, loc="left", fontsize=TITLE_SIZE, color=ink, pad=pad)
    if lines:
        _write_beside(ax, "\n".join(lines), corner=(0, 0), points=-3 * NOTE_SIZE)
    return ax


def _shorten(bars: Sequence[Bar]) -> list[Bar]:
    """Return bars with names that are short, but different from each other."""
    short = iter(shorten_names([bar.name for bar in bars if not bar.is_rest]))
    return [bar if bar.is_rest else bar._replace(name=next(short)) for bar in bars]


def _measure(texts: Sequence[str], size: float) -> float:
    """Return how wide the longest text is, in inches."""
    from matplotlib.textpath import TextPath

    paths = [TextPath((0, 0), text, size=size) for text in texts if text]
    return max((float(path.get_extents().width) for path in paths), default=0.0) / 72


def _draw_bars(ax: Any, bars: Sequence[Bar]) -> None:
    """Draw one bar a feature, names on the left, numbers and values in columns on the right."""
    added = np.array([bar.attribution for bar in bars])
    look = choose_colors(ax.figure)
    colors = [
        look.neutral if bar.is_rest else look.more if bar.attribution > 0 else look.less
        for bar in bars
    ]
    places = np.arange(len(bars))
    ax.barh(places, added, height=0.62, color=colors)
    ax.axvline(0, color=look.ink, linewidth=0.8)
    ax.set_xlim(min(added.min(), 0.0), max(added.max(), 0.0))
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.set_yticks(
        places, [bar.name for bar in bars], fontsize=TEXT_SIZE, color=look.ink, parse_math=False
    )
    ax.tick_params(axis="y", length=0, pad=PAD)
    ax.set_xlabel(
        "what each feature adds to the score", fontsize=NOTE_SIZE, color=look.note, loc="left"
    )
    # Columns that are as wide as their text never run into each other, whatever the numbers are.
    start = float(TEXT_SIZE)
    beside: dict[str, Any] = {
        "xycoords": ax.get_yaxis_transform(), "textcoords": "offset points",
        "va": "center", "fontsize": TEXT_SIZE, "color": look.ink,
    }  # fmt: skip
    for heading, texts in (
        ("adds", [bar.written for bar in bars]),
        ("value → suggested fix", [bar.change for bar in bars]),
    ):
        for place, text in zip(places, texts, strict=True):
            ax.annotate(text, xy=(1, place), xytext=(start, 0), **beside)
        _write_beside(ax, heading, corner=(1, 1), points=PAD, right=start)
        start += TEXT_SIZE + 72 * _measure([heading, *texts], TEXT_SIZE)


def _write_beside(
    ax: Any, text: str, *, corner: tuple[float, float], points: float, right: float = 0.0
) -> None:
    """Write a note above or below the axes, at a distance from a corner."""
    ax.annotate(
        text,
        xy=corner,
        xycoords="axes fraction",
        xytext=(right, points),
        textcoords="offset points",
        va="top" if points < 0 else "bottom",
        fontsize=NOTE_SIZE,
        color=choose_colors(ax.figure).note,
        linespacing=LINE_SPACING,
    )


# --- The explanation of an image: the image, the suggested fix, and what each pixel adds ----------

#: How much of the image is seen below its attribution, and the share of the largest attribution
#: from which one hides the image.
IMAGE_OPACITY = 0.25


def draw_pixels(
    explanation: Explanation, image_shape: tuple[int, ...], cmap: Any, ax: Any
) -> list[Any]:
    """Draw an explanation as three images of a shape: height, width and perhaps channels."""
    shape = _checked_shape(image_shape, len(explanation.attribution))
    if ax is None:
        ax = new_axes(3, (3 * NARROW_SIDE + 2 * LABELS, NARROW_SIDE + LABELS))
    elif np.shape(ax) != (3,):
        raise ValueError(
            "ax must be a sequence of three Axes for an image, such as those of plt.subplots(1, 3)"
        )
    left, middle, right = axes = list(ax)
    sample, fix = (
        _drawable(values.reshape(shape), explanation.sample)
        for values in (explanation.sample, explanation.counterfactual)
    )
    levels = {"cmap": cmap, "vmin": 0.0, "vmax": 1.0}
    left.imshow(sample, **levels)
    middle.imshow(fix, **levels)
    right.set_facecolor("white")  # on dark figures too: what adds nothing is white
    right.imshow(sample, alpha=IMAGE_OPACITY, **levels)
    _draw_heat(right, explanation.attribution.reshape(shape).sum(axis=2), axes)
    titles = [f"score {number(explanation.score, '.3g')}", "nothing to fix", "no pixel adds"]
    if explanation.attribution.any():
        fixed = number(explanation.counterfactual_score, ".3g")
        titles[1:] = f"suggested fix: score {fixed}", "what each pixel adds"
    look = choose_colors(left.figure)
    for panel, title in zip(axes, titles, strict=True):
        panel.set_title(title, fontsize=TITLE_SIZE, color=look.ink)
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_color(look.neutral)
    return axes


def _draw_heat(ax: Any, added: FloatArray, axes: list[Any]) -> None:
    """Draw what pixels add over what is there, and a scale beside all axes."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    largest = np.abs(added).max()
    if largest == 0.0:
        return
    colors = {"cmap": diverging_colors(), "norm": Normalize(-largest, largest)}
    ax.imshow(added, alpha=np.minimum(np.abs(added) / (IMAGE_OPACITY * largest), 1.0), **colors)
    # The scale of the heat map itself would fade as it does.
    bar = ax.figure.colorbar(ScalarMappable(**colors), ax=axes, shrink=0.8, pad=0.02)
    bar.ax.tick_params(labelsize=NOTE_SIZE, colors=choose_colors(ax.figure).ink)
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


# --- ExplanationDisplay: the features that make a sample anomalous, for tables and images ---------


class ExplanationDisplay:
    """Picture of an :class:`~vanishing.explain.Explanation`.

    For a table: a bar for each feature, what it adds to the score, with its value and the suggested
    fix, and the broken equations below. For an image: the image, the suggested fix, and what each
    pixel adds.

    Use :meth:`from_estimator` or :meth:`from_explanation` to make one.

    Parameters
    ----------
    explanation : Explanation
    image_shape : tuple of int or None, default=None
        Height and width, and 3 for colours or 1 if there is a third axis; None for a table.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : array of matplotlib Axes
        One for a table; three for an image, from left to right.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingDetector
    >>> from vanishing.plotting import ExplanationDisplay
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 500)
    >>> normal = np.column_stack([x, x**2 + 0.02 * rng.normal(size=500)])  # near a parabola
    >>> detector = VanishingDetector().fit(normal)
    >>> display = ExplanationDisplay.from_estimator(detector, [0.5, 0.9])
    >>> display.axes_.shape
    (1,)
    """

    figure_: Any
    axes_: npt.NDArray[np.object_]

    def __init__(
        self, explanation: Explanation, *, image_shape: tuple[int, ...] | None = None
    ) -> None:
        self.explanation = explanation
        self.image_shape = image_shape

    @classmethod
    def from_estimator(
        cls,
        detector: Any,
        x: Any,
        *,
        image_shape: tuple[int, ...] | None = None,
        n_equations: int = 3,
        **look: Any,
    ) -> Self:
        """Explain one sample and draw the explanation.

        Parameters
        ----------
        detector : VanishingDetector or TransformationDetector
            Fitted.
        x : array-like of shape (n_features,) or (1, n_features)
            One sample, such as a row of an array or ``frame.iloc[[i]]``.
        image_shape : tuple of int or None, default=None
            Height and width, and 3 for colours or 1 if there is a third axis; None for a table.
        n_equations : int, default=3
            Equations that are written below a table, at most.
        **look
            ``n_features``, ``cmap`` and ``ax``, as :meth:`plot` takes them.

        Returns
        -------
        ExplanationDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        if not hasattr(detector, "explain"):
            raise TypeError(
                "detector must be a VanishingDetector or a TransformationDetector, got "
                f"{detector!r}, which does not explain its scores"
            )
        row = _as_table(x)
        if np.ndim(row) == 2 and len(row) != 1:
            raise ValueError(
                f"x must be one sample, got {len(row)}; pass X[[i]] or, for a frame, X.iloc[[i]]"
            )
        explanation = detector.explain(row, n_equations=n_equations)[0]
        return cls.from_explanation(explanation, image_shape=image_shape, **look)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        image_shape: tuple[int, ...] | None = None,
        **look: Any,
    ) -> Self:
        """Draw an existing explanation.

        Parameters
        ----------
        explanation : Explanation
            One of those that ``detector.explain(X)`` returns. All of its equations are written
            below a table.
        image_shape : tuple of int or None, default=None
            Height and width, and 3 for colours or 1 if there is a third axis; None for a table.
        **look
            ``n_features``, ``cmap`` and ``ax``, as :meth:`plot` takes them.

        Returns
        -------
        ExplanationDisplay
        """
        return cls(explanation, image_shape=image_shape).plot(**look)

    def plot(self, *, n_features: int = 10, cmap: Any = "gray_r", ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        n_features : int, default=10
            Features of a table that have a bar of their own, at most.
        cmap : str or matplotlib Colormap, default="gray_r"
            Colours of an image of one channel: ink on paper, or "gray" for a photograph.
        ax : matplotlib Axes or None, default=None
            Where to draw; for an image a sequence of three. A figure with ``layout="constrained"``
            leaves room for names and values. None makes a figure.

        Returns
        -------
        ExplanationDisplay
            With ``figure_`` and ``axes_``.
        """
        pyplot(f"{type(self).__name__}.plot")
        if self.image_shape is None:
            axes = [draw_bars(self.explanation, n_features, ax)]
        else:
            axes = draw_pixels(self.explanation, self.image_shape, cmap, ax)
        self.axes_ = np.array(axes, dtype=object)
        self.figure_ = self.axes_[0].figure
        return self


def _as_table(x: Any) -> Any:
    """Return a single sample as a table, with the names of the columns where there are some."""
    if hasattr(x, "to_frame") and hasattr(x, "iloc"):  # a row of a pandas frame
        return x.to_frame().T
    x = x if hasattr(x, "ndim") else np.asarray(x)
    return x[None, :] if x.ndim == 1 else x
