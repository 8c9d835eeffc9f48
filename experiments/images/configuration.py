"""The configuration for images that the experiments use, the same for every data set."""

from typing import Any

from vanishing import TransformationDetector, VanishingIdeal
from vanishing import detectors as anomaly

#: The library's own, which the text of the page names.
_OURS = anomaly.image_detector((28, 28))
RESOLUTIONS, DISTANCE_WEIGHT, TOL = _OURS.n_components, _OURS.distance_weight, _OURS.ideal.tol
SHIFT = _OURS.transformations.sets[1].shift


def image_detector(
    image_shape: tuple[int, int], *, tol: float = TOL, **parameters: Any
) -> TransformationDetector:
    """Return the library's detector for images, with another tolerance if one is given.

    Parameters
    ----------
    image_shape : tuple of int
        Height and width, equal.
    tol : float
        Of the linear equations.
    **parameters
        Of ``TransformationDetector``, in place of the usual ones.
    """
    ideal = VanishingIdeal(max_degree=1, tol=tol, normalization="contrastive", reduction="gram")
    return anomaly.image_detector(image_shape, ideal=ideal, **parameters)
