"""Charts of matplotlib as SVG in the page, whose colours follow it: light, dark, or print.

Most have the width of a phone's screen, so that letters are legible there; wider screens place
several side by side.
"""

import io
import re
import warnings
from base64 import b64encode
from collections.abc import Callable
from math import ceil, isfinite
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import FloatArray, import_extra
from vanishing.equations.mathml import Element, clean, element
from vanishing.equations.text import number, significant
from vanishing.explain.record import Explanation
from vanishing.style import INK, LESS, MORE, NEUTRAL, NOTE, NOTE_SIZE, draw_two_spines

# --- Charts ---------------------------------------------------------------------------------------

#: Inches: a chart, and one that takes the whole of a wide screen. On the page they are as wide as
#: their columns, and letters as high as those of the text.
CHART, WIDE_CHART = (3.6, 2.4), (9.4, 2.4)
#: Size of a histogram in a table.
TINY_WIDTH, TINY_HEIGHT = 96.0, 22.0
#: Bars of a histogram: each is as wide as a few pixels of a phone.
BINS = 40
#: Lines across, on which heights are read off.
GRID = "#D5D9DF"
#: What the colours of a drawing are called on the page.
COLORS = {LESS: "normal", MORE: "anomaly", NEUTRAL: "rest", INK: "ink", NOTE: "note", GRID: "line"}


def draw_chart(
    paint: Callable[..., None],
    label: str,
    *,
    size: tuple[float, float] = CHART,
    ratios: tuple[int, ...] = (1,),
) -> Element:
    """Return a chart that a function paints on axes of matplotlib, with a label in words."""
    import_extra("matplotlib", extra="plot", purpose="a report")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "chart"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the page has other fonts
        figure = Figure(figsize=size, layout="constrained")
        paint(*figure.subplots(len(ratios), height_ratios=ratios, sharex=True, squeeze=False)[:, 0])
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    return _take_into_page(ElementTree.fromstring(clean(drawn.getvalue())), label)


def _take_into_page(svg: Element, label: str) -> Element:
    """Return a drawing without what is global: names, fonts, sizes and colours of its own."""
    used = set(re.findall(r"#([pm]\w+)", ElementTree.tostring(svg, encoding="unicode")))
    for parent in list(svg.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for each in svg.iter():
        each.tag = each.tag.partition("}")[2]
        each.attrib = {name.partition("}")[2] or name: value for name, value in each.items()}
        if each.get("id") not in used:
            each.attrib.pop("id", None)
        if style := each.get("style"):
            style = re.sub(r"font: ([\d.]+px)[^;]*", r"font-size: \1", style)
            for color, name in COLORS.items():
                style = style.replace(color.lower(), f"var(--{name})")
            each.set("style", style)
    for group in svg.iter("g"):
        dots = group.findall("use")
        if len({dot.get("style") for dot in dots}) == 1:  # written once, and no smaller than seen
            group.set("style", dots[0].get("style", ""))
            for dot in dots:
                del dot.attrib["style"]
                dot.attrib |= {way: f"{float(dot.get(way, 0)):.1f}" for way in "xy"}
    box = svg.get("viewBox")
    svg.attrib = {"viewBox": str(box), "role": "img", "aria-label": label}
    return svg


def name_axes(ax: Any, across: str, up: str, *, counts: bool = False) -> None:
    """Write the names of both axes, and few numbers, whole ones for ``counts``."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.set_xlabel(across, fontsize=NOTE_SIZE, color=NOTE)
    # Above the words of ``mark_place``.
    ax.set_title(up, loc="left", fontsize=NOTE_SIZE, color=NOTE, pad=2 * NOTE_SIZE)
    ax.tick_params(labelsize=NOTE_SIZE, color=NOTE, labelcolor=INK)
    ax.tick_params(axis="y", length=0)
    draw_two_spines(ax)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="y", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    for axis, most in ((ax.xaxis, 6), (ax.yaxis, 4)):
        axis.set_major_locator(MaxNLocator(most, integer=counts and axis is ax.yaxis))
        axis.set_major_formatter(FuncFormatter(lambda value, _: significant(value + 0.0, 6)))


def mark_place(ax: Any, place: float, words: str) -> None:
    """Draw a line from bottom to top, with words beside its upper end."""
    ax.axvline(place, color=INK, linewidth=1.2, linestyle=(0, (4, 2)))
    low, high = ax.get_xlim()
    is_right = place > (low + high) / 2
    ax.annotate(
        words, (place, 1), xycoords=ax.get_xaxis_transform(), xytext=(-4 if is_right else 4, 4),
        textcoords="offset points", ha="right" if is_right else "left", fontsize=NOTE_SIZE,
        color=INK,
    )  # fmt: skip


def tiny_histogram(
    values: FloatArray, other: FloatArray | None, ends: tuple[float, float]
) -> Element:
    """Return a histogram for a cell of a table, with other data as a line over it."""
    if not isfinite(ends[1] - ends[0]):
        ends = (ends[0] / 4, ends[1] / 4)
        values, other = values / 4, None if other is None else other / 4
    edges = np.linspace(*ends, 17) if ends[1] > ends[0] else np.linspace(-0.5, 0.5, 17) + ends[0]
    width = TINY_WIDTH / (len(edges) - 1)
    counts = [np.histogram(each, edges)[0] for each in (values, other) if each is not None]
    bars, *lines = (TINY_HEIGHT * each / max(each.max(), 1) for each in counts)
    drawn = [
        f"M{i * width:.1f} {TINY_HEIGHT:g}v{-height:.1f}h{width - 1:.1f}v{height:.1f}z"
        for i, height in enumerate(bars)
        if height > 0
    ]
    marks = [element("path", d="".join(drawn), class_="fill normal")]
    for line in lines:
        steps = [f"{i * width:.1f} {TINY_HEIGHT - h:.1f}h{width:.1f}" for i, h in enumerate(line)]
        marks.append(element("path", d=f"M{'L'.join(steps)}", class_="stroke train"))
    box = f"0 0 {TINY_WIDTH:g} {TINY_HEIGHT:g}"
    return element("svg", marks, viewBox=box, class_="tiny", aria_hidden="true")


# --- Pictures of images, in the page itself -------------------------------------------------------

Pixels = npt.NDArray[np.uint8]

#: Width and height of a picture on the page, at least; pixels stay squares.
PICTURE_SIDE = 112


def draw_explanation(explanation: Explanation, shape: tuple[int, ...], row: str) -> Element:
    """Return an image, the suggested fix, and what each pixel adds to the score."""
    sample, fix = explanation.sample, explanation.counterfactual
    ends = float(sample.min()), float(sample.max())
    heat = explanation.attribution.reshape(shape[0], shape[1], -1).sum(axis=2)
    effect = f"effect, at most {number(float(np.abs(heat).max()), '.2g')}"
    # Colours that fade to nothing where a pixel adds nothing, on any background.
    strength = np.abs(heat) / (np.abs(heat).max() or 1.0)
    more, less = (np.array(list(bytes.fromhex(color[1:]))) for color in (MORE, LESS))
    colors = np.where((heat > 0)[..., None], more, less)
    pixels = np.concatenate([colors, np.round(255 * strength)[..., None]], axis=2).astype(np.uint8)
    return _show(
        (_levels(sample, shape, *ends), f"image {row}", "image"),
        (_levels(fix, shape, *ends), f"image {row}, suggested fix", "suggested fix"),
        (pixels, f"what each pixel of image {row} adds to the score", effect),
    )


def picture(sample: FloatArray, shape: tuple[int, ...], row: str) -> Element:
    """Return an image alone."""
    levels = _levels(sample, shape, float(sample.min()), float(sample.max()))
    return _show((levels, f"image {row}", ""))


def summary_images(X: FloatArray, shape: tuple[int, ...]) -> Element:
    """Return the mean and the spread of images."""
    with np.errstate(over="ignore", invalid="ignore"):  # of images beyond all numbers
        mean, spread = X.mean(axis=0), np.nan_to_num(X.std(axis=0))
    means = _levels(mean, shape, float(X.min()), float(X.max()))
    spreads = _levels(spread, shape, 0.0, float(spread.max()))
    return _show(
        (means, "mean of all images", "mean"),
        (spreads, "standard deviation of each pixel", "standard deviation"),
    )


def _levels(values: FloatArray, shape: tuple[int, ...], low: float, high: float) -> Pixels:
    """Return ink on paper for one channel, colours for three, opaque."""
    image = values.reshape(shape[0], shape[1], -1)
    levels = np.clip((image - low) / (high - low or 1.0), 0.0, 1.0)
    if levels.shape[2] == 1:
        levels = np.repeat(1.0 - levels, 3, axis=2)
    opaque = np.ones((*levels.shape[:2], 1))
    return np.round(255 * np.concatenate([levels, opaque], axis=2)).astype(np.uint8)


def _show(*panels: tuple[Pixels, str, str]) -> Element:
    """Return pictures side by side: their pixels, what they are in words, and captions."""
    save = import_extra("matplotlib.image", extra="plot", purpose="a report of images").imsave
    figures = []
    for pixels, alt, caption in panels:
        height, width = pixels.shape[:2]
        scale = ceil(PICTURE_SIDE / max(height, width))
        content = io.BytesIO()
        save(content, pixels, format="png")
        source = "data:image/png;base64," + b64encode(content.getvalue()).decode()
        image = element("img", src=source, alt=alt, width=scale * width, height=scale * height)
        figures.append(element("figure", image, element("figcaption", caption)))
    return element("div", figures, class_="pictures")
