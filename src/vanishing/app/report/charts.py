"""Charts in SVG, whose colours follow the page: light, dark, or print.

Most have the width of a phone's screen, so that letters are legible there; wider screens place
several side by side.
"""

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import FloatArray
from vanishing.equations.mathml import Element, element
from vanishing.equations.text import number
from vanishing.explain.record import Explanation
from vanishing.levels import SAME
from vanishing.style import LESS, MORE

# --- Charts ---------------------------------------------------------------------------------------

#: Size of a chart, the width of one that takes the whole of a wide screen, and the space around the
#: axes for names and numbers.
CHART_WIDTH, CHART_HEIGHT, WIDE_CHART = 360.0, 240.0, 940.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 12.0, 36.0, 40.0
#: Size of a histogram in a table.
TINY_WIDTH, TINY_HEIGHT = 96.0, 22.0
#: Characters of a number beside an axis, which has no room for more.
LONGEST_TICK = 6
#: Bars of a histogram: each is as wide as a few pixels of a phone.
BINS = 40


@dataclass(eq=False)
class Chart:
    """Axes between the ends x and y, and what is drawn inside of them.

    The label says what the chart shows, for those who do not see it.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    label: str
    width: float = CHART_WIDTH
    marks: list[Element] = field(default_factory=list)

    def across(self, x: Any) -> Any:
        """Return where a value of x is drawn."""
        share = (np.asarray(x, dtype=float) - self.x[0]) / (self.x[1] - self.x[0] or 1.0)
        return LEFT + np.clip(share, 0.0, 1.0) * (self.width - LEFT - RIGHT)

    def up(self, y: Any) -> Any:
        """Return where a value of y is drawn."""
        share = (np.asarray(y, dtype=float) - self.y[0]) / (self.y[1] - self.y[0] or 1.0)
        return CHART_HEIGHT - BOTTOM - np.clip(share, 0.0, 1.0) * (CHART_HEIGHT - TOP - BOTTOM)

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
        self._line(place, place, TOP - 6, CHART_HEIGHT - BOTTOM, "mark")
        left = place > self.width / 2
        self.text(place + (3 if left else -3), TOP - 10, name, anchor="end" if left else "start")

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "middle", kind: str = ""
    ) -> None:
        """Write."""
        self.marks.append(
            element("text", words, x=_at(x), y=_at(y), text_anchor=anchor, class_=kind or None)
        )

    def _line(self, x1: float, x2: float, y1: float, y2: float, kind: str) -> None:
        ends = {name: _at(each) for name, each in (("x1", x1), ("x2", x2), ("y1", y1), ("y2", y2))}
        self.marks.append(element("line", **ends, class_=kind))

    def x_axis(self, ticks: Sequence[tuple[float, str]], name: str) -> None:
        """Draw the axis with its numbers and its name."""
        base = CHART_HEIGHT - BOTTOM
        self._line(LEFT, self.width - RIGHT, base, base, "axis")
        for value, words in ticks:
            place = float(self.across(value))
            self._line(place, place, base, base + 4, "axis")
            self.text(place, base + 16, words)
        self.text((LEFT + self.width - RIGHT) / 2, CHART_HEIGHT - 6, name, kind="name")

    def y_axis(self, ticks: Sequence[tuple[float, str]], name: str) -> None:
        """Draw faint lines across, with numbers; the name is above. Called before anything else."""
        for value, words in ticks:
            place = float(self.up(value))
            self._line(LEFT, self.width - RIGHT, place, place, "grid")
            self.text(LEFT - 5, place + 4, words, anchor="end")
        self.text(2, 11, name, anchor="start", kind="name")

    def svg(self) -> Element:
        """Return the chart."""
        box = f"0 0 {self.width:g} {CHART_HEIGHT:g}"
        kind = "wide" if self.width > CHART_WIDTH else None
        return element(
            "svg", self.marks, viewBox=box, role="img", aria_label=self.label, class_=kind
        )


def tiny_histogram(
    values: FloatArray, other: FloatArray | None, ends: tuple[float, float]
) -> Element:
    """Return a histogram for a cell of a table, with other data as a line over it."""
    if not isfinite(ends[1] - ends[0]):
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
    power = 10.0 ** np.floor(np.log10((high - low) / most))
    step = next(k * power for k in (1, 2, 5, 10) if (high - low) / (k * power) <= most)
    first, last = np.ceil(low / step - SAME), np.floor(high / step + SAME)
    values = [float(k * step) for k in np.arange(first, last + 1)]
    digits = max(0, -int(np.floor(np.log10(step) + SAME)))
    largest = max(abs(low), abs(high))
    if len(f"{largest:.{digits}f}") > LONGEST_TICK:
        needed = int(np.floor(np.log10(largest)) - np.floor(np.log10(step) + SAME)) + 1
        return [(value, number(value, f".{needed}g")) for value in values]
    return [(value, number(round(value, digits) + 0.0, f".{digits}f")) for value in values]


def _bars(chart: Chart, edges: FloatArray, heights: FloatArray) -> str:
    base = CHART_HEIGHT - BOTTOM
    paths = []
    for start, stop, height in zip(
        chart.across(edges[:-1]), chart.across(edges[1:]), chart.up(heights), strict=True
    ):
        if height < base:
            gap = min(1.0, (stop - start) / 4)  # narrow bars would be lost in their gaps
            paths.append(f"M{start:.1f} {base:g}V{height:.1f}H{stop - gap:.1f}V{base:g}z")
    return "".join(paths)


def _at(place: float) -> str:
    return f"{place:.1f}"


# --- Pictures of images, in the page itself -------------------------------------------------------

Pixels = npt.NDArray[np.uint8]

#: Width and height of a picture on the page, at least; pixels stay squares.
PICTURE_SIDE = 112


def draw_explanation(explanation: Explanation, shape: tuple[int, ...], row: str) -> Element:
    """Return an image, the suggested fix, and what each pixel adds to the score.

    The shape is height, width and perhaps channels; the row is its name.
    """
    low, high = float(explanation.sample.min()), float(explanation.sample.max())
    heat = explanation.attribution.reshape(shape[0], shape[1], -1).sum(axis=2)
    pictures = [
        (_levels(explanation.sample, shape, low, high), f"image {row}", "image"),
        (
            _levels(explanation.counterfactual, shape, low, high),
            f"image {row}, suggested fix",
            "suggested fix",
        ),
        (
            _heat(heat),
            f"what each pixel of image {row} adds to the score",
            f"effect, at most {number(float(np.abs(heat).max()), '.2g')}",
        ),
    ]
    return element("div", [_panel(*each) for each in pictures], class_="pictures")


def picture(sample: FloatArray, shape: tuple[int, ...], row: str) -> Element:
    """Return an image alone."""
    levels = _levels(sample, shape, float(sample.min()), float(sample.max()))
    return element("div", _panel(levels, f"image {row}", ""), class_="pictures")


def summary_images(X: FloatArray, shape: tuple[int, ...]) -> Element:
    """Return the mean and the spread of images."""
    with np.errstate(over="ignore", invalid="ignore"):  # of images beyond all numbers
        mean, spread = X.mean(axis=0), np.nan_to_num(X.std(axis=0))
    pictures = [
        (_levels(mean, shape, float(X.min()), float(X.max())), "mean of all images", "mean"),
        (
            _levels(spread, shape, 0.0, float(spread.max())),
            "standard deviation of each pixel",
            "standard deviation",
        ),
    ]
    return element("div", [_panel(*each) for each in pictures], class_="pictures")


def _panel(pixels: Pixels, alt: str, caption: str) -> Element:
    height, width = pixels.shape[:2]
    scale = ceil(PICTURE_SIDE / max(height, width))
    source = "data:image/png;base64," + b64encode(png(pixels)).decode()
    image = element("img", src=source, alt=alt, width=scale * width, height=scale * height)
    return element("figure", image, element("figcaption", caption))


def _levels(values: FloatArray, shape: tuple[int, ...], low: float, high: float) -> Pixels:
    """Return ink on paper for one channel, colours for three, opaque."""
    image = values.reshape(shape[0], shape[1], -1)
    levels = np.clip((image - low) / (high - low or 1.0), 0.0, 1.0)
    if levels.shape[2] == 1:
        levels = np.repeat(1.0 - levels, 3, axis=2)
    opaque = np.ones((*levels.shape[:2], 1))
    return np.round(255 * np.concatenate([levels, opaque], axis=2)).astype(np.uint8)


def _heat(added: FloatArray) -> Pixels:
    """Return colours that fade to nothing where a pixel adds nothing, on any background."""
    strength = np.abs(added) / (np.abs(added).max() or 1.0)
    more, less = (np.array(list(bytes.fromhex(color[1:]))) for color in (MORE, LESS))
    colors = np.where((added > 0)[..., None], more, less)
    return np.concatenate([colors, np.round(255 * strength)[..., None]], axis=2).astype(np.uint8)


def png(pixels: Pixels) -> bytes:
    """Write pixels of shape (height, width, 4), red, green, blue and opacity, as PNG."""

    def chunk(name: bytes, content: bytes) -> bytes:
        checked = name + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    height, width = pixels.shape[:2]
    # 8 bits, colours with opacity; every line begins with the filter "none".
    header = struct.pack(">2I5B", width, height, 8, 6, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels))
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
