"""Detectors made from options."""

from typing import Any, Literal

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.anomaly import image_detector
from vanishing.cli.console import working
from vanishing.cli.exits import UsageError
from vanishing.cli.models import library_errors
from vanishing.cli.options import Threshold
from vanishing.cli.tables import Table


def fit_detector(table: Table, threshold: Threshold, ideal: VanishingIdeal | None = None) -> Any:
    """Fit a detector to normal rows.

    Parameters
    ----------
    table : Table
    threshold : Threshold
    ideal : VanishingIdeal or None
        In place of the recipe.
    """
    options: dict[str, Any] = {
        "contamination": contamination(threshold.contamination),
        "calibration": threshold.calibration,
        "random_state": threshold.seed,
    }
    if threshold.image_shape is None:
        detector = VanishingDetector(ideal, **options)
    else:
        if ideal is not None:
            raise UsageError("--image-shape chooses its own equations; leave --degree, --tol out")
        shape = _shape(threshold.image_shape)
        if shape[0] * shape[1] != table.values.shape[1]:
            raise UsageError(
                f"images of {shape[0]}x{shape[1]} have {shape[0] * shape[1]} pixels, but "
                f"{table.where} has {table.values.shape[1]} columns; choose them with --columns"
            )
        detector = image_detector(shape, **options)
    with library_errors(table.where), working(f"fitting {len(table)} rows"):
        return detector.fit(table.for_model)


def contamination(text: str) -> float | Literal["auto"]:
    """Return what the option says: a share, or "auto"."""
    if text == "auto":
        return "auto"
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share <= 0.5:
        raise UsageError(f"--contamination takes a share up to 0.5 or 'auto', got {text!r}")
    return share


def _shape(text: str) -> tuple[int, int]:
    height, _, width = text.lower().partition("x")
    if not (height.isdecimal() and width.isdecimal() and int(height) * int(width)):
        raise UsageError(f"--image-shape takes height x width, such as 28x28, got {text!r}")
    return int(height), int(width)
