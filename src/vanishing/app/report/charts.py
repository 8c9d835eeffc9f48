"""Charts in SVG, whose colours follow the page: light, dark, or print.

All have the size of a phone's screen, so that letters are legible there; wider screens place
several side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vanishing.arrays.namespace import FloatArray
from vanishing.equations.mathml import Element, element
from vanishing.equations.text import number

#: Size of a chart, and the space around its axes for names and numbers.
WIDTH, HEIGHT = 360.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 12.0, 36.0, 40.0
#: Size of a histogram in a table.
TINY_WIDTH, TINY_HEIGHT = 96.0, 22.0
#: Numbers up to this size can be subtracted from each other.
LARGEST = 1e307


@dataclass(eq=False)
class Chart:
    """Axes from x to y, and what is drawn inside of them.

    Parameters
    ----------
    x, y : pairs of float
        Ends of the axes.
    label : str
        What the chart shows, for those who do not see it.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    label: str
    marks: list[Element] = field(default_factory=list)

    def across(self, x: Any) -> Any:
        """Return where a value of x is drawn."""
        share = (np.asarray(x, dtype=float) - self.x[0]) / (self.x[1] - self.x[0] or 1.0)
        return LEFT + np.clip(share, 0.0, 1.0) * (WIDTH - LEFT - RIGHT)

    def up(self, y: Any) -> Any:
        """Return where a value of y is drawn."""
        share = (np.asarray(y, dtype=float) - self.y[0]) / (self.y[1] - self.y[0] or 1.0)
        return HEIGHT - BOTTOM - np.clip(share, 0.0, 1.0) * (HEIGHT - TOP - BOTTOM)

    def bars(self, edges: FloatArray, heights: FloatArray, kind: str) -> None:
        """Draw a histogram."""
        self.marks.append(element("path", d=_bars(self, edges, heights), class_=f"fill {kind}"))

    def line(self, x: Any, y: Any, kind: str) -> None:
        """Draw a line through points."""
        points = zip(np.atleast_1d(self.across(x)), np.atleast_1d(self.up(y)), strict=True)
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        self.marks.append(element("polyline", points=path, class_=f"stroke {kind}"))

    def upright(self, x: float, name: str) -> None:
        """Draw a line from bottom to top, with a name beside its upper end."""
        place = float(self.across(x))
        self.marks.append(
            element(
                "line", x1=_at(place), x2=_at(place), y1=TOP - 6, y2=HEIGHT - BOTTOM, class_="mark"
            )
        )
        left = place > WIDTH * 0.62
        self.text(place + (3 if left else -3), TOP - 10, name, anchor="end" if left else "start")

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "middle", kind: str = ""
    ) -> None:
        """Write."""
        self.marks.append(
            element("text", words, x=_at(x), y=_at(y), text_anchor=anchor, class_=kind or None)
        )

    def x_axis(self, ticks: Sequence[tuple[float, str]], name: str) -> None:
        """Draw the axis with its numbers and its name."""
        base = HEIGHT - BOTTOM
        self.marks.append(
            element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=base, y2=base, class_="axis")
        )
        for value, words in ticks:
            place = float(self.across(value))
            self.marks.append(
                element("line", x1=_at(place), x2=_at(place), y1=base, y2=base + 4, class_="axis")
            )
            self.text(place, base + 16, words)
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, name, kind="name")

    def y_axis(self, ticks: Sequence[tuple[float, str]], name: str) -> None:
        """Draw faint lines across, with numbers; the name is above."""
        lines = []
        for value, words in ticks:
            place = float(self.up(value))
            lines.append(
                element(
                    "line", x1=LEFT, x2=WIDTH - RIGHT, y1=_at(place), y2=_at(place), class_="grid"
                )
            )
            self.text(LEFT - 5, place + 4, words, anchor="end")
        self.marks[:0] = lines
        self.text(2, 11, name, anchor="start", kind="name")

    def svg(self) -> Element:
        """Return the chart."""
        box = f"0 0 {WIDTH:g} {HEIGHT:g}"
        return element("svg", self.marks, viewBox=box, role="img", aria_label=self.label)


def tiny_histogram(
    values: FloatArray, other: FloatArray | None, ends: tuple[float, float]
) -> Element:
    """Return a histogram for a cell of a table, with other data as a line over it."""
    if max(map(abs, ends)) > LARGEST:  # the difference of the ends would overflow
        ends = (ends[0] / 4, ends[1] / 4)
        values, other = values / 4, None if other is None else other / 4
    edges = np.linspace(*ends, 17) if ends[1] > ends[0] else np.linspace(-0.5, 0.5, 17) + ends[0]
    marks = []
    width = TINY_WIDTH / (len(edges) - 1)

    def heights_of(data: FloatArray) -> FloatArray:
        counts = np.histogram(data, edges)[0]
        return np.asarray(TINY_HEIGHT * counts / max(counts.max(), 1))

    bars = [
        f"M{i * width:.1f} {TINY_HEIGHT:g}v{-height:.1f}h{width - 1:.1f}v{height:.1f}z"
        for i, height in enumerate(heights_of(values))
        if height > 0
    ]
    marks.append(element("path", d="".join(bars), class_="fill normal"))
    if other is not None:
        steps = "".join(
            f"{'M' if i == 0 else 'L'}{i * width:.1f} {TINY_HEIGHT - height:.1f}h{width:.1f}"
            for i, height in enumerate(heights_of(other))
        )
        marks.append(element("path", d=steps, class_="stroke train"))
    box = f"0 0 {TINY_WIDTH:g} {TINY_HEIGHT:g}"
    return element("svg", marks, viewBox=box, class_="tiny", aria_hidden="true")


def round_ticks(low: float, high: float, most: int = 5) -> list[tuple[float, str]]:
    """Return round numbers between two ends, and how to write them.

    ``matplotlib.ticker.MaxNLocator`` finds the same numbers in three of four cases, others that do
    as well in the fourth, and takes 0.25 s to import; its formatter cannot write single numbers.
    """
    if not high > low:
        return [(low, number(low, ".4g"))]
    step = 10.0 ** np.floor(np.log10((high - low) / most))
    while (high - low) / step > most:
        step *= 2 if round(step / 10 ** np.floor(np.log10(step) + 1e-9)) != 2 else 2.5
    first = np.ceil(low / step - 1e-9)
    values = [float(k * step) for k in np.arange(first, np.floor(high / step + 1e-9) + 1)]
    digits = max(0, -int(np.floor(np.log10(step))))
    if (largest := max(abs(low), abs(high))) >= 1e5 or digits > 4:
        needed = int(np.floor(np.log10(largest)) - np.floor(np.log10(step))) + 1
        return [(value, number(value, f".{needed}g")) for value in values]
    return [(value, number(round(value, digits) + 0.0, f".{digits}f")) for value in values]


def _bars(chart: Chart, edges: FloatArray, heights: FloatArray) -> str:
    base = HEIGHT - BOTTOM
    paths = []
    for start, stop, height in zip(
        chart.across(edges[:-1]), chart.across(edges[1:]), chart.up(heights), strict=True
    ):
        if height < base:
            gap = 1.0 if stop - start > 3 else 0.0
            paths.append(f"M{start:.1f} {base:g}V{height:.1f}H{stop - gap:.1f}V{base:g}z")
    return "".join(paths)


def _at(place: float) -> str:
    return f"{place:.1f}"
