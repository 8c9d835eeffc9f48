"""SpectrumDisplay: the extents of all directions of each degree, and where vanishing ends."""

from functools import partial
from typing import Any, Self

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.construction.loop import DegreeTrace
from vanishing.equations.text import number
from vanishing.plotting.models import fitted_ideal, points_of
from vanishing.style import (
    INK,
    LEGEND,
    LESS,
    LOWEST_DRAWN,
    MORE,
    NEUTRAL,
    NOTE,
    NOTE_SIZE,
    TEXT_SIZE,
    TITLE_SIZE,
    WIDE_SIDE,
    draw_two_spines,
    legend_entry,
    new_axes,
    pyplot,
    write_legend,
)

#: Inches: width of a degree, and the share of it that its extents are spread over.
DEGREE_WIDTH, SPREAD = 1.7, 0.76


class SpectrumDisplay:
    """Picture of the spectrum of a fitted ideal.

    Each mark is one direction of a degree; its height is the extent, the root mean square on the
    points of the fit of a polynomial of size 1. A line shows the tolerance: what lies below it
    vanishes. Directions that the tolerance only just keeps out or lets in are seen at a glance,
    and so is a gap.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    trace : tuple of DegreeTrace
        The attribute ``trace_`` of an ideal.
    elsewhere : list of arrays or None, default=None
        Per degree, the root mean square of each vanishing polynomial on other points.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.datasets import make_variety
    >>> from vanishing.plotting import SpectrumDisplay
    >>> ideal = VanishingIdeal(max_degree=3, tol=0.05).fit(make_variety("circle", 100, noise=0.01))
    >>> SpectrumDisplay.from_estimator(ideal).ax_.get_ylabel()
    'extent: root mean square on X'
    """

    ax_: Any
    figure_: Any

    def __init__(
        self, trace: tuple[DegreeTrace, ...], *, elsewhere: list[FloatArray] | None = None
    ) -> None:
        self.trace = trace
        self.elsewhere = elsewhere

    @classmethod
    def from_estimator(cls, ideal: Any, X: Any = None, *, ax: Any = None) -> Self:
        """Draw the spectrum of an ideal.

        Parameters
        ----------
        ideal : VanishingIdeal, Pipeline or VanishingDetector
            Fitted. The polynomials of a pipeline are carried back to its columns. Of a detector it
            is the first ideal, that of all rows.
        X : array-like of shape (n_samples, n_features), optional
            Other points than those of the fit: the root mean square of each vanishing polynomial on
            them is drawn as well. Equations that hold by chance are large there.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SpectrumDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        fitted = fitted_ideal(ideal)
        points = points_of(fitted, X)
        elsewhere = None
        if points is not None:
            sizes = np.sqrt(np.mean(fitted.basis_.evaluate(points) ** 2, axis=0))
            degrees = fitted.basis_.degrees()
            elsewhere = []
            for step in fitted.trace_:
                here = degrees == step.degree
                below = step.spectrum[: step.vanishing]
                where = _find_places(fitted.extents_[here], below)
                elsewhere.append(np.full(step.vanishing, np.nan))
                elsewhere[-1][where] = sizes[here]
        return cls(fitted.trace_, elsewhere=elsewhere).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SpectrumDisplay
            With ``ax_`` and ``figure_``.
        """
        pyplot(f"{type(self).__name__}.plot")
        if ax is None:
            ax = new_axes(1, (LEGEND + DEGREE_WIDTH * len(self.trace), WIDE_SIDE))
        self.ax_, self.figure_ = ax, ax.figure
        ax.set_yscale("log")
        ax.set_ylim(*self._limits())
        for place, step in enumerate(self.trace):
            self._draw_degree(place, step)
        ax.set_xlim(-0.5, len(self.trace) - 0.5)
        ax.set_xticks(range(len(self.trace)), [_below(step) for step in self.trace])
        ax.tick_params(axis="x", length=0, labelsize=TEXT_SIZE, labelcolor=INK)
        ax.tick_params(axis="y", which="both", labelsize=NOTE_SIZE, colors=NOTE)
        ax.set_ylabel("extent: root mean square on X", fontsize=NOTE_SIZE, color=NOTE)
        ax.set_title("Spectrum by degree", loc="left", fontsize=TITLE_SIZE, color=INK)
        draw_two_spines(ax)
        write_legend(ax, self._entries())
        return self

    def _limits(self) -> tuple[float, float]:
        """Return the heights between which everything lies."""
        drawn = [*(step.spectrum for step in self.trace), *(self.elsewhere or [])]
        drawn.append(np.array([step.tol for step in self.trace if step.tol > 0]))
        heights = np.clip(np.concatenate(drawn), LOWEST_DRAWN, None)
        heights = heights[np.isfinite(heights)]
        low, high = (heights.min(), heights.max()) if heights.size else (0.1, 1.0)
        # Of powers, so that there is room at both ends whatever the range.
        room = max((high / low) ** 0.08, 1.5)
        return float(low / room), float(high * room)

    def _draw_degree(self, place: int, step: DegreeTrace) -> None:
        ax, extents = self.ax_, np.clip(step.spectrum, LOWEST_DRAWN, None)
        across = place + SPREAD * _evenly(len(extents))
        size = float(np.clip(260 / max(len(extents), 1), 5, 26))
        vanishing, rest = slice(0, step.vanishing), slice(step.vanishing, None)
        marks = {"s": size, "linewidths": 1.0}
        ax.scatter(across[rest], extents[rest], facecolors="none", edgecolors=NOTE, **marks)
        ax.scatter(across[vanishing], extents[vanishing], color=LESS, **marks)
        if self.elsewhere is not None:
            heights = np.clip(self.elsewhere[place], LOWEST_DRAWN, None)
            ax.scatter(across[vanishing], heights, marker="_", color=MORE, s=size * 2.5)
        if step.tol > 0:
            ends = place - 0.46, place + 0.46
            ax.plot(ends, [step.tol] * 2, color=INK, linewidth=1.2, linestyle=(0, (5, 2.5)))
        if place:
            ax.axvline(place - 0.5, color=NEUTRAL, linewidth=0.6)

    def _entries(self) -> list[Any]:
        """Name the marks."""
        tols = {step.tol for step in self.trace}
        written = f"tolerance {number(tols.pop(), '.3g')}" if len(tols) == 1 else "tolerance"
        mark = partial(legend_entry, linestyle="")
        entries = [
            mark("nonvanishing", marker="o", color=NOTE, markerfacecolor="none"),
            mark("vanishing", marker="o", color=LESS),
        ]
        if self.elsewhere is not None:
            other = "vanishing, on\nother points"
            entries.append(mark(other, marker="_", color=MORE, markeredgewidth=2))
        stroke = (0, (3, 1.5)) if any(step.tol > 0 for step in self.trace) else ""
        return [*entries, legend_entry(written, color=INK, linewidth=1.2, linestyle=stroke)]


def _find_places(extents: FloatArray, spectrum: FloatArray) -> IntArray:
    """Return where polynomials are in a spectrum; of minimal generators, some are not there."""
    if len(extents) == len(spectrum):
        return np.arange(len(spectrum))
    return np.asarray(np.argmin(np.abs(spectrum[:, None] - extents), axis=0))


def _evenly(count: int) -> FloatArray:
    """Return places from -1/2 to 1/2; the middle for one."""
    return np.linspace(-0.5, 0.5, count) if count > 1 else np.zeros(count)


def _below(step: DegreeTrace) -> str:
    """Return what is written below a degree."""
    counted = step.vanishing + step.nonvanishing + step.cut
    lines = [f"degree {step.degree}", f"{step.vanishing} of {counted} vanish"]
    if step.unbounded:
        lines.append(f"{step.unbounded} infinite")
    return "\n".join(lines)
