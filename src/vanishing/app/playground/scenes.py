"""What the playground's pages ask for: scenes, fits, explained images."""

import warnings
from functools import cache
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from vanishing.app.wording import NAMED
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.contrasts import Contrast, GaussianNoise, Permuted, Uniform
from vanishing.datasets.images import ImageSet, load_digits_images
from vanishing.datasets.varieties import describe_variety, make_variety, varieties
from vanishing.detectors.transformation import TransformationDetector
from vanishing.equations.sizes import DataScale
from vanishing.ideal import ContrastError, InterpolationWarning, UndecidedWarning, VanishingIdeal
from vanishing.transformations import Rotations

# --- Points to start from: parts of a circle, known curves, contrasts made out of X ---------------

#: Names of the curves in the plane that `make_variety` knows; not single points.
CURVES = tuple(
    name
    for name in varieties()
    if describe_variety(name).n_features == 2 and describe_variety(name).dimension == 1
)
#: Angles between which the parts of the unit circle lie.
ARCS = {"arc": (-1.2, 1.2), "rest": (1.5, 2 * np.pi - 1.5)}
CONTRASTS: dict[str, Contrast] = {
    "permuted": Permuted(),
    "uniform": Uniform(margin=0.25),
    "moved": GaussianNoise(scale=0.5),
}
X_SOURCES = (*ARCS, *CURVES)
Y_SOURCES = (*ARCS, *CONTRASTS, *CURVES)


def scene(
    *, x: str | list[Any], y: str | list[Any], n_points: int, noise: float, seed: int
) -> dict[str, Any]:
    """Draw the points of both sets, with noise in units of the size of the curve."""
    X = np.asarray(x) if isinstance(x, list) else _on_curve(x, n_points, noise, (seed, 0))
    if isinstance(y, list):
        Y = np.asarray(y)
    elif y in CONTRASTS:
        rng = np.random.default_rng((seed, 1))
        Y = CONTRASTS[y].make(X, rng, n_points) if len(X) else X
    else:
        Y = _on_curve(y, n_points, noise, (seed, 1))
    return {"x": X.tolist(), "y": Y.tolist()}


def _on_curve(name: str, n_points: int, noise: float, seed: tuple[int, int]) -> FloatArray:
    rng = np.random.default_rng(seed)
    if name not in ARCS:
        return make_variety(name, n_points, noise=noise, random_state=rng)
    angle = rng.uniform(*ARCS[name], n_points)
    exact = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(exact + noise * rng.standard_normal(exact.shape))


# --- Equations of points in the plane, without and with contrast ----------------------------------


def fit(
    *, x: list[Any], y: list[Any], degree: int, normalization: str, tol: float, contrast_tol: float
) -> dict[str, Any]:
    """Fit both ideals that the page shows side by side, without and with contrast.

    Either set may be empty. An ideal has a "problem", a word for why there is none, or None. The
    "terms" of an equation are those to write: which ones, and with how many digits.
    """
    X, Y = (np.asarray(points, dtype=np.float64).reshape(-1, 2) for points in (x, y))
    # Squares of such numbers would underflow.
    least = np.sqrt(np.finfo(np.float64).tiny)
    X, Y = (np.where(np.abs(points) < least, 0.0, points) for points in (X, Y))
    plain = VanishingIdeal(max_degree=degree, tol=tol, normalization=normalization)
    contrastive = VanishingIdeal(max_degree=degree, tol=contrast_tol, normalization="contrastive")
    return {"plain": _fitted(plain, X, Y, None), "contrastive": _fitted(contrastive, X, Y, Y)}


def _fitted(
    ideal: VanishingIdeal, X: FloatArray, Y: FloatArray, contrast: FloatArray | None
) -> dict[str, Any]:
    if len(X) == 0:
        return {"problem": "no-points"}
    if contrast is not None and len(contrast) == 0:
        return {"problem": "no-contrast"}
    try:
        with warnings.catch_warnings():  # the page shows what comes out of a few points, too
            warnings.simplefilter("ignore", InterpolationWarning)
            warnings.simplefilter("ignore", UndecidedWarning)
            ideal.fit(X, contrast=contrast)
    except ContrastError:
        return {"problem": "contrast-within"}
    basis = ideal.basis_
    exponents, coefficients = basis.expand()
    # How large the equations are on Y, whether or not Y was used.
    on_contrast: list[float | None] = [None] * basis.count()
    if len(Y):
        on_contrast = np.sqrt(np.mean(basis.evaluate(Y) ** 2, axis=0)).tolist()
    counted = ("degree", "candidates", "vanishing", "dropped", "unbounded")
    return {
        "problem": None,
        "degrees": [
            {name: getattr(step, name) for name in counted} | {"spectrum": step.spectrum.tolist()}
            for step in ideal.trace_
        ],
        "exponents": exponents.tolist(),
        "equations": [
            {
                "degree": degree,
                "extent": extent,
                "onContrast": size,
                "coefficients": column,
                "terms": np.column_stack(chosen).tolist(),
            }
            for degree, extent, size, column, chosen in zip(
                basis.degrees().tolist(),
                ideal.extents_.tolist(),
                on_contrast,
                coefficients.T.tolist(),
                DataScale(X).terms(basis, coefficients, digits=3),
                strict=True,
            )
        ],
    }


# --- Handwritten digits: the paper's detector, its scores and explanations ------------------------


def gallery(*, normal: str) -> dict[str, Any]:
    """Score all test images, where "even", "odd" or a single digit is normal.

    Images are texts: the grey level of each pixel, 0 to 16, as a character from "0" to "@".
    """
    images, detector = _images(), _detector(normal)
    levels = np.rint(16 * images.test_images).astype(int).tolist()
    return {
        "images": ["".join(chr(ord("0") + level) for level in image) for image in levels],
        "labels": images.test_labels.tolist(),
        "isNormal": _is_normal(images.test_labels, normal).tolist(),
        "scores": (-detector.score_samples(images.test_images)).tolist(),
        "threshold": -float(detector.offset_),
        "trainedOn": int(_is_normal(images.train_labels, normal).sum()),
    }


def explain(*, normal: str, image: list[float]) -> dict[str, Any]:
    """Explain the score of one image, and say how well each of its rotations is recognized."""
    detector = _detector(normal)
    row = np.asarray([image], dtype=np.float64)
    explanation = detector.explain(row, n_equations=NAMED)[0]
    (mixture,) = detector.mixtures_
    rotations = []
    for i, transformation in enumerate(detector.transformations_):
        # Its part of the score, -log P_i.
        moved = detector.anomaly_score_.coordinates.image(i, row)
        loss = float(mixture.value(mixture.measure(moved), i)[0])
        turned = transformation(row)[0].tolist()
        rotations.append({"name": transformation.name, "image": turned, "loss": loss})
    return {
        "score": explanation.score,
        "threshold": -float(detector.offset_),
        "counterfactual": explanation.counterfactual.tolist(),
        "counterfactualScore": explanation.counterfactual_score,
        "attribution": explanation.attribution.tolist(),
        "rotations": rotations,
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
        contamination=0.05,
    )
    return detector.fit(images.train_images[_is_normal(images.train_labels, normal)])


def _is_normal(labels: IntArray, normal: str) -> BoolArray:
    if normal in ("even", "odd"):
        return np.asarray(labels % 2 == (normal == "odd"))
    return np.asarray(labels == int(normal))
