"""The configuration for images that the experiments use, the same for every data set."""

from typing import Any

from vanishing import TransformationDetector, VanishingIdeal, anomaly

#: Those of ``vanishing.anomaly.image_detector``, for the text of the page.
RESOLUTIONS, TOL, SHIFT, DISTANCE_WEIGHT = (1, 10, 20, 50, 100), 0.9, 4, 1 / 3


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
