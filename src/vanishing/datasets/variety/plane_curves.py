"""Curves and points in the plane."""

from typing import Any

from vanishing.datasets.variety.charts import Angle, Chart, Charts, CosineSine, Interval, chart
from vanishing.datasets.variety.finite import FinitePoints
from vanishing.datasets.variety.polynomial import Polynomial
from vanishing.datasets.variety.record import Variety
from vanishing.datasets.variety.sampler import Sampler
from vanishing.datasets.variety.sections import LineSections

Point = tuple[Any, Any]


def _circle(angle: CosineSine) -> Point:
    return angle


def _ellipse(angle: CosineSine) -> Point:
    c, s = angle
    return 3 * c / 2, s / 2


def _parabola(t: Any) -> Point:
    return t, t * t


def _hyperbola(t: Any) -> Point:
    return t, 1 / t


def _rising_line(t: Any) -> Point:
    return t, 2 * t


def _falling_line(t: Any) -> Point:
    return t, 1 - t


def _nodal_cubic(slope: Any) -> Point:
    x = slope * slope - 1
    return x, slope * x


def _cuspidal_cubic(slope: Any) -> Point:
    return slope * slope, slope * slope * slope


def _lemniscate(angle: CosineSine) -> Point:
    c, s = angle
    return c / (1 + s * s), s * c / (1 + s * s)


def _lissajous(angle: CosineSine) -> Point:
    c, s = angle
    return 2 * s * c, s * (3 - 4 * s * s)  # sine of twice and of three times the angle


def _curve(
    name: str, equation: str, *, degree: int, size: float, sampling: str, sampler: Sampler
) -> Variety:
    return Variety(name, ("x", "y"), (equation,), 1, degree, size, sampling, sampler)


_ELLIPTIC = "y**2 - x**3 + x"

PLANE_CURVES = (
    _curve(
        "circle",
        "x**2 + y**2 - 1",
        degree=2,
        size=1.0,
        sampling="all of it",
        sampler=chart(_circle, Angle()),
    ),
    _curve(
        "ellipse",
        "4*x**2 + 36*y**2 - 9",
        degree=2,
        size=1.0112,
        sampling="all of it, of half axes 3/2 and 1/2",
        sampler=chart(_ellipse, Angle()),
    ),
    _curve(
        "parabola",
        "y - x**2",
        degree=2,
        size=0.7111,
        sampling="-1 ≤ x ≤ 1",
        sampler=chart(_parabola, Interval(-1, 1)),
    ),
    _curve(
        "hyperbola",
        "x*y - 1",
        degree=2,
        size=2.1296,
        sampling="both branches, 1/3 ≤ |x| ≤ 3",
        sampler=Charts(
            Chart(_hyperbola, (Interval(1 / 3, 3),)), Chart(_hyperbola, (Interval(-3, -1 / 3),))
        ),
    ),
    _curve(
        "line-pair",
        "(2*x - y)*(x + y - 1)",
        degree=2,
        size=1.2315,
        sampling="both lines, -1 ≤ x ≤ 1",
        sampler=Charts(
            Chart(_rising_line, (Interval(-1, 1),)), Chart(_falling_line, (Interval(-1, 1),))
        ),
    ),
    _curve(
        "nodal-cubic",
        "y**2 - x**3 - x**2",
        degree=3,
        size=1.0937,
        sampling="the loop, and both arms to x = 5/4",
        sampler=chart(_nodal_cubic, Interval(-1.5, 1.5)),
    ),
    _curve(
        "cuspidal-cubic",
        "y**2 - x**3",
        degree=3,
        size=0.6085,
        sampling="0 ≤ x ≤ 1",
        sampler=chart(_cuspidal_cubic, Interval(-1, 1)),
    ),
    # Of genus 1, so that it has no rational parametrization.
    _curve(
        "elliptic-curve",
        _ELLIPTIC,
        degree=3,
        size=1.091,
        sampling="the oval, and the branch within the disk of radius 2",
        sampler=LineSections(Polynomial(_ELLIPTIC, ("x", "y")), degree=3, radius=2.0),
    ),
    _curve(
        "lemniscate",
        "(x**2 + y**2)**2 - x**2 + y**2",
        degree=4,
        size=0.676,
        sampling="all of it",
        sampler=chart(_lemniscate, Angle()),
    ),
    _curve(
        "lissajous",
        "4*(y**2 - 2*x**2)**2 - 4*(y**2 - 2*x**2)*(1 - 4*x**2) + x**2*(1 - 4*x**2)**2",
        degree=6,
        size=0.9247,
        sampling="all of it: sines of twice and of three times an angle",
        sampler=chart(_lissajous, Angle()),
    ),
)

GRID = Variety(
    name="grid",
    variables=("x", "y"),
    equations=("x*(x - 1)*(x - 2)*(x - 3)", "y*(y - 1)*(y - 2)"),
    dimension=0,
    degree=12,
    size=1.3844,
    sampling="its twelve points, each equally often up to one",
    sampler=FinitePoints(tuple((x, y) for x in range(4) for y in range(3))),
)
