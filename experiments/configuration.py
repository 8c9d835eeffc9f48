"""One configuration for images, the same for every data set."""

from typing import Any

from sklearn.decomposition import PCA

from vanishing import TransformationDetector, VanishingIdeal
from vanishing.transformations import Rotations, Translations, Union

#: Numbers of pieces; their standardized log scores are averaged.
RESOLUTIONS = (1, 10, 20, 50, 100)
TOL = 0.9
SHIFT = 4
#: Of the log distance from the nearest piece, against the scores of the paper.
DISTANCE_WEIGHT = 1 / 3
DIMENSION = 60


def image_detector(
    image_shape: tuple[int, int], *, tol: float = TOL, **parameters: Any
) -> TransformationDetector:
    """Return the detector: four rotations and eight shifts, linear equations of many pieces.

    Parameters
    ----------
    image_shape : tuple of int
        Height and width, equal.
    tol : float
        Of the equations.
    **parameters
        Of ``TransformationDetector``, in place of ours.
    """
    chosen: dict[str, Any] = {
        "preprocessor": PCA(DIMENSION, random_state=0),
        "ideal": VanishingIdeal(
            max_degree=1, tol=tol, normalization="contrastive", reduction="gram"
        ),
        "n_components": RESOLUTIONS,
        "distance_weight": DISTANCE_WEIGHT,
    }
    moves = Union(Rotations(image_shape), Translations(image_shape, shift=SHIFT, identity=False))
    return TransformationDetector(moves, **(chosen | parameters))
