"""Varieties of several dimensions in spaces of four and more: embeddings of Veronese and Segre."""

from math import pi
from typing import Any

from vanishing.datasets.variety.charts import Angle, CosineSine, Interval, chart
from vanishing.datasets.variety.record import Variety


def _veronese(s: Any, t: Any) -> tuple[Any, ...]:
    return s, t, s * s, s * t, t * t


def _segre(length: Any, column: CosineSine, row: CosineSine) -> tuple[Any, ...]:
    return tuple(length * a * b for a in column for b in row)


def _segre_2x3(
    length: Any, column: CosineSine, longitude: CosineSine, latitude: CosineSine
) -> tuple[Any, ...]:
    (c, s), (width, height) = longitude, latitude
    row = (width * c, width * s, height)
    return tuple(length * a * b for a in column for b in row)


EMBEDDINGS = (
    Variety(
        name="veronese",
        variables=("x0", "x1", "x2", "x3", "x4"),
        # Minors of the symmetric matrix [[1, x0, x1], [x0, x2, x3], [x1, x3, x4]].
        equations=(
            "x2 - x0**2",
            "x3 - x0*x1",
            "x4 - x1**2",
            "x0*x3 - x1*x2",
            "x0*x4 - x1*x3",
            "x2*x4 - x3**2",
        ),
        dimension=2,
        degree=4,
        size=1.0933,
        sampling="-1 ≤ x0 ≤ 1 and -1 ≤ x1 ≤ 1",
        sampler=chart(_veronese, Interval(-1, 1), Interval(-1, 1)),
    ),
    Variety(
        name="segre",
        variables=("x0", "x1", "x2", "x3"),
        # Matrices [[x0, x1], [x2, x3]] of rank 1 or 0.
        equations=("x0*x3 - x1*x2",),
        dimension=3,
        degree=2,
        size=0.7746,
        sampling="within the unit ball: 2 × 2 matrices of determinant 0",
        sampler=chart(_segre, Interval(0, 1), Angle(), Angle()),
    ),
    Variety(
        name="segre-2x3",
        variables=("x0", "x1", "x2", "x3", "x4", "x5"),
        # Minors of [[x0, x1, x2], [x3, x4, x5]].
        equations=("x0*x4 - x1*x3", "x0*x5 - x2*x3", "x1*x5 - x2*x4"),
        dimension=4,
        degree=3,
        size=0.8165,
        sampling="within the unit ball: 2 × 3 matrices of rank 1",
        sampler=chart(_segre_2x3, Interval(0, 1), Angle(), Angle(), Angle(-pi / 2, pi / 2)),
    ),
)
