"""Pictures of images, in the page itself."""

import struct
import zlib
from base64 import b64encode
from math import ceil

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import FloatArray
from vanishing.equations.mathml import Element, element
from vanishing.equations.text import number
from vanishing.explain.record import Explanation

Pixels = npt.NDArray[np.uint8]

#: Blue and vermilion of Okabe and Ito, as in the displays.
LESS, MORE = (0, 114, 178), (213, 94, 0)
#: Width and height of a picture on the page, at least; pixels stay squares.
SIDE = 112


def draw_explanation(explanation: Explanation, shape: tuple[int, ...], row: str) -> Element:
    """Return an image, the suggested fix, and what each pixel adds to the score.

    Parameters
    ----------
    explanation : Explanation
    shape : tuple of int
        Height, width and perhaps channels.
    row : str
        Its name.
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
            f"what each pixel adds (at most {number(float(np.abs(heat).max()), '.2g')})",
        ),
    ]
    return element("div", [_panel(*each) for each in pictures], class_="pictures")


def picture(sample: FloatArray, shape: tuple[int, ...], row: str) -> Element:
    """Return an image alone."""
    levels = _levels(sample, shape, float(sample.min()), float(sample.max()))
    return element("div", _panel(levels, f"image {row}", "image"), class_="pictures")


def summary_images(X: FloatArray, shape: tuple[int, ...]) -> Element:
    """Return the mean and the spread of images."""
    mean, spread = X.mean(axis=0), X.std(axis=0)
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
    scale = ceil(SIDE / max(height, width))
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
    colors = np.where((added > 0)[..., None], np.array(MORE), np.array(LESS))
    return np.concatenate([colors, np.round(255 * strength)[..., None]], axis=2).astype(np.uint8)


def png(pixels: Pixels) -> bytes:
    """Write pixels of shape (height, width, 4) as PNG.

    Parameters
    ----------
    pixels : array of shape (height, width, 4)
        Red, green, blue and opacity.
    """

    def chunk(name: bytes, content: bytes) -> bytes:
        checked = name + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    height, width = pixels.shape[:2]
    # 8 bits, colours with opacity; every line begins with the filter "none".
    header = struct.pack(">2I5B", width, height, 8, 6, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels))
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
