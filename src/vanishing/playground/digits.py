"""Handwritten digits: the paper's detector, its scores and explanations."""

from functools import cache
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from vanishing._xp import BoolArray, FloatArray, IntArray
from vanishing.anomaly import TransformationDetector
from vanishing.datasets import ImageSet, load_digits_images
from vanishing.transformations import Rotations

CONTAMINATION = 0.05
N_EQUATIONS = 3


def gallery(*, normal: str) -> dict[str, Any]:
    """Score all test images.

    Parameters
    ----------
    normal : str
        Which digits are normal: "even", "odd" or a digit.

    Returns
    -------
    dict
        "images" (the grey level of each pixel, 0 to 16, as a character from "0" to "@"),
        "labels", "scores", "isNormal" and "threshold". Anomalous is what scores above it.
    """
    images, detector = _images(), _detector(normal)
    return {
        "images": [_as_text(image) for image in images.test_images],
        "labels": images.test_labels.tolist(),
        "isNormal": _is_normal(images.test_labels, normal).tolist(),
        "scores": (-detector.score_samples(images.test_images)).tolist(),
        "threshold": -float(detector.offset_),
        "trainedOn": int(_is_normal(images.train_labels, normal).sum()),
    }


def explain(*, normal: str, image: list[float]) -> dict[str, Any]:
    """Explain the score of one image.

    Parameters
    ----------
    normal : str
    image : list of 64 floats

    Returns
    -------
    dict
        "score", "threshold", "mended" and its score, "shares" of the pixels, "rotations" with the
        probability that each is recognized, and the "equations" that are broken most.
    """
    detector = _detector(normal)
    row = np.asarray([image])
    explanation = detector.explain(row, n_equations=N_EQUATIONS)[0]
    return {
        "score": explanation.score,
        "threshold": -float(detector.offset_),
        "mended": explanation.reference.tolist(),
        "mendedScore": explanation.reference_score,
        "shares": explanation.shares.tolist(),
        "rotations": [
            {"name": transformation.name, "image": moved.tolist(), "loss": loss}
            for transformation, moved, loss in _rotations(detector, row)
        ],
        "equations": [
            {
                "part": equation.part,
                "degree": equation.degree,
                # A typical deviation of zero makes the ratio infinite, which JSON does not know.
                "timesTypical": min(equation.times_typical, 1e9),
            }
            for equation in explanation.equations
        ],
    }


def _rotations(
    detector: TransformationDetector, row: FloatArray
) -> list[tuple[Any, FloatArray, float]]:
    """Return each rotated copy with its part of the score, -log P_i."""
    (mixture,) = detector.mixtures_
    found = []
    for i, transformation in enumerate(detector.transformations_):
        moved = transformation(row)
        loss = mixture.loss(i, detector.preprocessor_.transform(moved))
        found.append((transformation, moved[0], float(loss[0])))
    return found


@cache
def _images() -> ImageSet:
    return load_digits_images(dtype=np.float64)


@cache  # there are as many as there are choices
def _detector(normal: str) -> TransformationDetector:
    images = _images()
    detector = TransformationDetector(
        Rotations(images.image_shape),
        preprocessor=PCA(12, random_state=0),
        weighting="convex",
        contamination=CONTAMINATION,
    )
    return detector.fit(images.train_images[_is_normal(images.train_labels, normal)])


def _is_normal(labels: IntArray, normal: str) -> BoolArray:
    if normal in ("even", "odd"):
        return np.asarray(labels % 2 == (normal == "odd"))
    return np.asarray(labels == int(normal))


def _as_text(image: FloatArray) -> str:
    return "".join(chr(48 + grey) for grey in np.rint(16 * image).astype(int).tolist())
