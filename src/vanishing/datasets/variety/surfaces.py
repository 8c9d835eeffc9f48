"""Surfaces in space."""

from math import pi
from typing import Any

from vanishing.datasets.variety.charts import Angle, CosineSine, Interval, chart
from vanishing.datasets.variety.clebsch import CLEBSCH_EQUATION, ClebschSampler
from vanishing.datasets.variety.polynomial import Polynomial
from vanishing.datasets.variety.record import Variety
from vanishing.datasets.variety.sampler import Sampler
from vanishing.datasets.variety.sections import LineSections

Point = tuple[Any, Any, Any]

XYZ = ("x", "y", "z")


def _sphere(longitude: CosineSine, latitude: CosineSine) -> Point:
    (c, s), (width, height) = longitude, latitude
    return width * c, width * s, height


def _cylinder(angle: CosineSine, height: Any) -> Point:
    c, s = angle
    return c, s, height


def _cone(angle: CosineSine, height: Any) -> Point:
    c, s = angle
    return height * c, height * s, height


def _torus(around: CosineSine, tube: CosineSine) -> Point:
    (c, s), (outwards, upwards) = around, tube
    width = 1 + outwards / 2
    return width * c, width * s, upwards / 2


def _whitney_umbrella(u: Any, v: Any) -> Point:
    return u * v, u, v * v


def _cayley_cubic(first: CosineSine, second: CosineSine) -> Point:
    (c, s), (d, t) = first, second
    return c, d, c * d - s * t  # cosines of two angles and of their sum


def _surface(
    name: str, equation: str, *, degree: int, size: float, sampling: str, sampler: Sampler
) -> Variety:
    return Variety(name, XYZ, (equation,), 2, degree, size, sampling, sampler)


# Of degree 4 and smooth, so that it has no rational parametrization.
_TANGLECUBE = "80*(x**4 + y**4 + z**4) - 100*(x**2 + y**2 + z**2) + 59"

SURFACES = (
    _surface(
        "sphere",
        "x**2 + y**2 + z**2 - 1",
        degree=2,
        size=1.0,
        sampling="all of it",
        sampler=chart(_sphere, Angle(), Angle(-pi / 2, pi / 2)),
    ),
    _surface(
        "cylinder",
        "x**2 + y**2 - 1",
        degree=2,
        size=1.1547,
        sampling="-1 ≤ z ≤ 1",
        sampler=chart(_cylinder, Angle(), Interval(-1, 1)),
    ),
    _surface(
        "cone",
        "x**2 + y**2 - z**2",
        degree=2,
        size=1.0,
        sampling="-1 ≤ z ≤ 1",
        sampler=chart(_cone, Angle(), Interval(-1, 1)),
    ),
    _surface(
        "torus",
        "(4*x**2 + 4*y**2 + 4*z**2 + 3)**2 - 64*(x**2 + y**2)",
        degree=4,
        size=1.2247,
        sampling="all of it, of radii 1 and 1/2",
        sampler=chart(_torus, Angle(), Angle()),
    ),
    _surface(
        "whitney-umbrella",
        "x**2 - y**2*z",
        degree=3,
        size=0.7887,
        sampling="-1 ≤ y ≤ 1 and 0 ≤ z ≤ 1, without its handle, the line x = y = 0 below z = 0",
        sampler=chart(_whitney_umbrella, Interval(-1, 1), Interval(-1, 1)),
    ),
    _surface(
        "cayley-cubic",
        "x**2 + y**2 + z**2 - 2*x*y*z - 1",
        degree=3,
        size=1.1129,
        sampling="its bounded piece between the four nodes, within the cube [-1, 1]^3",
        sampler=chart(_cayley_cubic, Angle(), Angle()),
    ),
    _surface(
        "clebsch-cubic",
        CLEBSCH_EQUATION,
        degree=3,
        size=1.38,
        sampling="within the ball of radius 2",
        sampler=ClebschSampler(LineSections(Polynomial(CLEBSCH_EQUATION, XYZ), 3, radius=2.0)),
    ),
    _surface(
        "tanglecube",
        _TANGLECUBE,
        degree=4,
        size=1.289,
        sampling="all of it",
        sampler=LineSections(Polynomial(_TANGLECUBE, XYZ), degree=4, radius=2.0),
    ),
)
