"""Detectors made from options."""

import dataclasses
from typing import Any, Literal

from vanishing import VanishingDetector, VanishingIdeal
from vanishing.anomaly import fit_to_mixed, image_detector
from vanishing.anomaly.mixed import FEWEST_ROWS, N_FITS
from vanishing.cli.console import note, working
from vanishing.cli.exits import DataError, UsageError
from vanishing.cli.models import library_errors
from vanishing.cli.options import Equations, Threshold
from vanishing.cli.tables import Table
from vanishing.samples.checks import too_large_to_square


def make_ideal(wanted: Equations, *, contrastive: bool) -> VanishingIdeal:
    """Return an ideal that is not fitted yet.

    Parameters
    ----------
    wanted : Equations
        What the user says of it.
    contrastive : bool
        Whether there is a contrast, where the user does not say.
    """
    chosen: dict[str, Any] = {"normalization": "contrastive" if contrastive else "gradient"}
    if wanted.degree is not None:
        chosen["max_degree"] = wanted.degree
    if wanted.normalization is not None:
        chosen["normalization"] = wanted.normalization
    if wanted.tol is not None:
        chosen["tol"] = _tolerance(wanted.tol)
    return VanishingIdeal(**chosen)


def _tolerance(text: str) -> float | str:
    if text == "gap":
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise UsageError(f"--tol takes a number from 0 up or 'gap', got {text!r}")
    return value


def refuse_unused(wanted: Equations, threshold: Threshold, reason: str) -> None:
    """Refuse options that would have no effect.

    Parameters
    ----------
    wanted : Equations
    threshold : Threshold
    reason : str
        Why they have none.
    """
    given = [
        f"--{each.name.replace('_', '-')}"
        for group in (wanted, threshold)
        for each in dataclasses.fields(group)
        if getattr(group, each.name) != each.default
    ]
    if given:
        raise UsageError(f"{' and '.join(given)} would have no effect: {reason}; leave it out")


def fit_detector(table: Table, threshold: Threshold, wanted: Equations) -> Any:
    """Fit a detector to normal rows.

    Parameters
    ----------
    table : Table
    threshold : Threshold
    wanted : Equations
        Which equations; where the user does not say, those of the recipe.
    """
    detector = _detector(table, threshold, wanted)
    _refuse_huge(table)
    with library_errors(table.where), working(f"fitting {len(table)} rows"):
        return detector.fit(table.for_model)


def fit_to_itself(table: Table, threshold: Threshold, wanted: Equations) -> Any:
    """Fit a detector to rows of which most, and not all, are normal.

    Parameters
    ----------
    table : Table
    threshold : Threshold
        Applies to all rows of the table.
    wanted : Equations
    """
    if threshold.calibration is not None:
        raise UsageError(
            "--calibration gives a guarantee for rows like known normal ones: pass them with "
            "--train"
        )
    detector = _detector(table, threshold, wanted)
    _refuse_huge(table)
    if len(table) < FEWEST_ROWS:
        return fit_detector(table, threshold, wanted)
    note(f"no --train: {table.where} is judged by itself, in {N_FITS} fits")
    with library_errors(table.where), working("fitting parts of the rows", N_FITS) as step:
        return fit_to_mixed(detector, table.for_model, callback=lambda _: step(1))


def _refuse_huge(table: Table) -> None:
    """Say which row cannot be fitted to, by its own name."""
    if (place := too_large_to_square(table.values)) is not None:
        row, column = place
        name = table.shown_names[column]
        raise DataError(
            f"{table.where}: row {table.row_name(row)} has {table.values[place]:.3g} in column "
            f"{name!r}, too large to be squared; leave such rows out, the column with --drop, or "
            "write it in another unit"
        )


def _detector(table: Table, threshold: Threshold, wanted: Equations) -> Any:
    ideal = make_ideal(wanted, contrastive=False) if wanted.given else None
    options: dict[str, Any] = {
        "contamination": contamination(threshold.contamination),
        "calibration": threshold.calibration,
        "random_state": threshold.seed,
    }
    if threshold.image_shape is None:
        return VanishingDetector(ideal, **options)
    if ideal is not None:
        raise UsageError("--image-shape chooses its own equations; leave --degree, --tol out")
    shape = _shape(threshold.image_shape)
    if shape[0] * shape[1] != table.values.shape[1]:
        raise UsageError(
            f"images of {shape[0]}x{shape[1]} have {shape[0] * shape[1]} pixels, but "
            f"{table.where} has {table.values.shape[1]} columns; choose them with --columns"
        )
    return image_detector(shape, **options)


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
