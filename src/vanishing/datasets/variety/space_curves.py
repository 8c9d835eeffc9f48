"""Curves in spaces of three and more dimensions."""

from typing import Any

from vanishing.datasets.variety.charts import Angle, Chart, Charts, CosineSine, Interval, chart
from vanishing.datasets.variety.record import Variety


def _twisted_cubic(t: Any) -> tuple[Any, ...]:
    return t, t * t, t * t * t


def _rational_normal_curve(t: Any) -> tuple[Any, ...]:
    return t, t * t, t * t * t, t * t * t * t


def _viviani(angle: CosineSine) -> tuple[Any, ...]:
    c, s = angle
    return c * c, c * s, s


def _crown(angle: CosineSine) -> tuple[Any, ...]:
    c, s = angle
    return c, s, s * (3 - 4 * s * s)  # the last one is the sine of three times the angle


def _x_axis(t: Any) -> tuple[Any, ...]:
    return t, 0, 0


def _y_axis(t: Any) -> tuple[Any, ...]:
    return 0, t, 0


def _z_axis(t: Any) -> tuple[Any, ...]:
    return 0, 0, t


def _cyclic(t: Any) -> tuple[Any, ...]:
    return t, 1 / t, -t, -1 / t


def _cyclic_reversed(t: Any) -> tuple[Any, ...]:
    return t, -1 / t, -t, 1 / t


SPACE_CURVES = (
    Variety(
        name="twisted-cubic",
        variables=("x", "y", "z"),
        equations=("x**2 - y", "x*y - z", "x*z - y**2"),
        dimension=1,
        degree=3,
        size=0.8937,
        sampling="-1 ≤ x ≤ 1",
        sampler=chart(_twisted_cubic, Interval(-1, 1)),
    ),
    Variety(
        name="rational-normal-curve",
        variables=("x0", "x1", "x2", "x3"),
        # Minors of [[1, x0, x1, x2], [x0, x1, x2, x3]].
        equations=(
            "x1 - x0**2",
            "x2 - x0*x1",
            "x3 - x0*x2",
            "x0*x2 - x1**2",
            "x0*x3 - x1*x2",
            "x1*x3 - x2**2",
        ),
        dimension=1,
        degree=4,
        size=0.9869,
        sampling="-1 ≤ x0 ≤ 1",
        sampler=chart(_rational_normal_curve, Interval(-1, 1)),
    ),
    Variety(
        name="viviani",
        variables=("x", "y", "z"),
        equations=("x**2 + y**2 + z**2 - 1", "x**2 + y**2 - x"),
        dimension=1,
        degree=4,
        size=0.8401,
        sampling="all of it: where a sphere meets a cylinder of half its width, from within",
        sampler=chart(_viviani, Angle()),
    ),
    Variety(
        name="crown",
        variables=("x", "y", "z"),
        equations=("x**2 + y**2 - 1", "z - 3*y + 4*y**3"),
        dimension=1,
        degree=6,
        size=1.1759,
        sampling="all of it: a wave around a cylinder, three times up and down",
        sampler=chart(_crown, Angle()),
    ),
    Variety(
        name="axes",
        variables=("x", "y", "z"),
        equations=("x*y", "x*z", "y*z"),
        dimension=1,
        degree=3,
        size=0.5774,
        sampling="the three axes, from -1 to 1",
        sampler=Charts(*(Chart(a, (Interval(-1, 1),)) for a in (_x_axis, _y_axis, _z_axis))),
    ),
    Variety(
        name="cyclic-4",
        variables=("x0", "x1", "x2", "x3"),
        # The roots of the cyclic system x0 + x1 + x2 + x3, x0*x1 + x1*x2 + x2*x3 + x3*x0,
        # x0*x1*x2 + x1*x2*x3 + x2*x3*x0 + x3*x0*x1, x0*x1*x2*x3 - 1: its first two equations are
        # s + t and s*t for s = x0 + x2 and t = x1 + x3, so that both are zero.
        equations=("x0 + x2", "x1 + x3", "x0**2*x1**2 - 1"),
        dimension=1,
        degree=4,
        size=3.0117,
        sampling="all four branches of two hyperbolas, 1/3 ≤ |x0| ≤ 3",
        sampler=Charts(
            *(
                Chart(branch, (Interval(low, high),))
                for branch in (_cyclic, _cyclic_reversed)
                for low, high in ((1 / 3, 3), (-3, -1 / 3))
            )
        ),
    ),
)
