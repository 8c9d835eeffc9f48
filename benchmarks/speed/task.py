"""One measurement, described in plain values, so that it can be sent to a process of its own.

This file and all that ``run`` imports need the standard library only: a process starts with the
peak memory of the one that made it, so the parent has to stay small.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

Source = Literal["array", "memmap", "chunks", "callable"]
TolNorm = Literal["rms", "euclidean"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A fit and a transform on generated data.

    Parameters
    ----------
    section, name : str
        Where the result is shown, and as what.
    data : str
        Key of ``cases.CASES``.
    rows, features, degree : int
    normalization, tol, reduction, tol_norm
        As in ``VanishingIdeal``.
    contrast_rows : int
        Rows of the contrast; 0 for none.
    source : {"array", "memmap", "chunks", "callable"}
        How the rows are handed over; all but the first read them from a temporary file.
    repeats : int
        The shortest time of so many is taken.
    threads : int
        Of BLAS and OpenMP.
    """

    section: str
    name: str
    data: str
    rows: int
    features: int
    degree: int
    normalization: str
    tol: float
    reduction: str
    tol_norm: TolNorm = "rms"
    contrast_rows: int = 0
    source: Source = "array"
    repeats: int = 3
    threads: int = 1

    def to_json(self) -> str:
        """Write the task as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True, kw_only=True)
class Result:
    """What was measured.

    Parameters
    ----------
    task : Task
    fit_s, transform_s : float
        Wall-clock seconds; a source that is not an array is transformed block by block.
    peak_mb : float
        Peak resident memory up to the end of fit, interpreter, imports and data included.
    mapped_mb : float or None
        Pages of data files in memory maps: counted in the peak, but the system takes them back
        when it needs them. None where it cannot be told.
    syrk_s, geqrf_s : float
        The floors: bare BLAS and LAPACK on matrices of the same shapes, in the same process. The
        second is None for a fit without QR.
    products_s : float
        The floor of transform: its matrix products alone; 0 where nothing vanishes.
    columns, vanishing : tuple of int
        Columns of [F C], and vanishing polynomials found, for each degree.
    """

    task: Task
    fit_s: float
    transform_s: float
    peak_mb: float
    mapped_mb: float | None
    syrk_s: float
    geqrf_s: float | None
    products_s: float
    columns: tuple[int, ...]
    vanishing: tuple[int, ...]

    @property
    def over_syrk(self) -> float:
        """Fit time over the BLAS floor."""
        return self.fit_s / self.syrk_s

    @property
    def over_geqrf(self) -> float | None:
        """Fit time over bare QR."""
        return None if self.geqrf_s is None else self.fit_s / self.geqrf_s

    @property
    def over_products(self) -> float | None:
        """Time of transform over that of its matrix products."""
        return self.transform_s / self.products_s if self.products_s else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ratios included."""
        ratios = ("over_syrk", "over_geqrf", "over_products")
        return asdict(self) | {name: getattr(self, name) for name in ratios}
