"""Varieties with known equations, by name."""

from dataclasses import dataclass, field
from difflib import get_close_matches
from math import pi
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import unmask
from vanishing.arrays.parameters import check_real, check_whole
from vanishing.datasets.samplers import (
    CLEBSCH_EQUATION,
    Angle,
    Chart,
    Charts,
    ClebschSampler,
    CosineSine,
    FinitePoints,
    Interval,
    LineSections,
    Polynomial,
    RationalSampler,
    Sampler,
    chart,
)

__all__ = ["Variety", "describe_variety", "make_variety", "varieties"]


# --- What is known of a variety -------------------------------------------------------------------


@dataclass(frozen=True)
class Variety:
    """An algebraic set in real affine space, with what is known of it.

    All of it is about the smallest algebraic set that holds every point that is drawn.

    Parameters
    ----------
    name : str
    variables : tuple of str
        Names of the coordinates.
    equations : tuple of str
        Polynomials in the syntax of Python and SymPy, with whole coefficients. They generate the
        ideal of the variety: every polynomial that vanishes on it is a combination of them.
    dimension : int
        0 for points, 1 for curves, 2 for surfaces. All components have the same.
    degree : int
        Number of complex points in which a general linear space of complementary dimension meets
        it.
    size : float
        Root mean square distance of the points drawn from their mean: the unit of noise.
    sampling : str
        Which part of the variety points are drawn from. They are uniform by length, area or
        volume there.
    sampler : Sampler
        Draws the points.

    Examples
    --------
    >>> from vanishing.datasets import describe_variety
    >>> circle = describe_variety("circle")
    >>> circle.equations, circle.dimension, circle.degree
    (('x**2 + y**2 - 1',), 1, 2)
    >>> circle.evaluate([[0.0, 1.0], [1.0, 1.0]])
    array([[0.],
           [1.]])
    """

    name: str
    variables: tuple[str, ...]
    equations: tuple[str, ...]
    dimension: int
    degree: int
    size: float
    sampling: str
    sampler: Sampler = field(repr=False, compare=False)

    @property
    def n_features(self) -> int:
        """Dimension of the space around it."""
        return len(self.variables)

    @property
    def rational(self) -> bool:
        """Whether points can be drawn exactly, as fractions."""
        return isinstance(self.sampler, RationalSampler)

    def evaluate(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the values of the equations.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Of floats, whole numbers or fractions.

        Returns
        -------
        array of shape (n_samples, n_equations)
        """
        points = np.asarray(unmask(X, "X"))
        if points.ndim != 2 or points.shape[1] != self.n_features:
            raise ValueError(
                f"X must have the shape (n_samples, {self.n_features}), one column for each of "
                f"{', '.join(self.variables)}, got shape {points.shape}"
            )
        polynomials = [Polynomial(text, self.variables) for text in self.equations]
        return np.stack([polynomial(points) for polynomial in polynomials], axis=1)


# --- Curves and points in the plane ---------------------------------------------------------------

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


# --- Curves in spaces of three and more dimensions ------------------------------------------------


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


# --- Surfaces in space ----------------------------------------------------------------------------

SpacePoint = tuple[Any, Any, Any]

XYZ = ("x", "y", "z")


def _sphere(longitude: CosineSine, latitude: CosineSine) -> SpacePoint:
    (c, s), (width, height) = longitude, latitude
    return width * c, width * s, height


def _cylinder(angle: CosineSine, height: Any) -> SpacePoint:
    c, s = angle
    return c, s, height


def _cone(angle: CosineSine, height: Any) -> SpacePoint:
    c, s = angle
    return height * c, height * s, height


def _torus(around: CosineSine, tube: CosineSine) -> SpacePoint:
    (c, s), (outwards, upwards) = around, tube
    width = 1 + outwards / 2
    return width * c, width * s, upwards / 2


def _whitney_umbrella(u: Any, v: Any) -> SpacePoint:
    return u * v, u, v * v


def _cayley_cubic(first: CosineSine, second: CosineSine) -> SpacePoint:
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


# --- Varieties of several dimensions in spaces of four and more: embeddings of Veronese and Segre -


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


# --- All varieties by name ------------------------------------------------------------------------

_CATALOGUE = {
    variety.name: variety
    for variety in (GRID, *PLANE_CURVES, *SPACE_CURVES, *SURFACES, *EMBEDDINGS)
}


def varieties() -> tuple[str, ...]:
    """Return the names of all varieties that :func:`make_variety` knows.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from vanishing.datasets import describe_variety, varieties
    >>> [name for name in varieties() if describe_variety(name).dimension == 4]
    ['segre-2x3']
    """
    return tuple(_CATALOGUE)


def describe_variety(name: str) -> Variety:
    """Return what is known of a variety: equations, dimension, degree, where points are drawn.

    Parameters
    ----------
    name : str
        One of :func:`varieties`.

    Returns
    -------
    Variety

    Examples
    --------
    >>> from vanishing.datasets import describe_variety
    >>> viviani = describe_variety("viviani")
    >>> viviani.equations
    ('x**2 + y**2 + z**2 - 1', 'x**2 + y**2 - x')
    >>> viviani.n_features, viviani.dimension, viviani.degree
    (3, 1, 4)
    """
    if name not in _CATALOGUE:
        close = get_close_matches(str(name), _CATALOGUE, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"there is no variety {name!r}.{hint} The names are {', '.join(_CATALOGUE)}"
        )
    return _CATALOGUE[name]


# --- Points on varieties --------------------------------------------------------------------------


def make_variety(
    name: str,
    n_samples: int,
    *,
    noise: float = 0.0,
    exact: bool = False,
    random_state: int | np.random.Generator | None = 0,
) -> npt.NDArray[Any]:
    """Draw points on a variety whose equations, dimension and degree are known.

    Points are drawn uniformly by length, area or volume from the part of the variety that
    ``describe_variety(name).sampling`` names. There are two exceptions: of finitely many points
    each occurs equally often, up to one; and exact points are at rational parameters near those of
    uniform ones.

    Parameters
    ----------
    name : str
        One of :func:`varieties`; :func:`describe_variety` tells what is known of it.
    n_samples : int
    noise : float, default=0.0
        Standard deviation of Gaussian noise, added to every coordinate, in units of the size of
        the variety: the root mean square distance of its points from their mean. The points
        themselves are the same with and without noise.
    exact : bool, default=False
        Return points whose coordinates are fractions, so that they satisfy the equations exactly.
        They are known for all but those varieties that have no rational parametrization.
    random_state : int, numpy.random.Generator or None, default=0
        Seed, a generator, or None for different points each time.

    Returns
    -------
    array of shape (n_samples, n_features)
        In double precision, or of ``fractions.Fraction`` if ``exact``.

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.datasets import make_variety
    >>> X = make_variety("parabola", 100)
    >>> VanishingIdeal(max_degree=2, tol=1e-9).fit(X).basis_.degrees()
    array([2])
    >>> (x, y), *_ = make_variety("circle", 10, exact=True)
    >>> x**2 + y**2
    Fraction(1, 1)
    """
    variety = describe_variety(name)
    n_drawn = check_whole("n_samples", n_samples)
    noise = check_real("noise", noise, zero=True)
    rng = np.random.default_rng(random_state)
    if not exact:
        points = variety.sampler.draw(rng, n_drawn)
        return points + noise * variety.size * rng.standard_normal(points.shape)
    if noise:
        raise ValueError(
            f"exact points have no noise, got noise={noise!r} and exact=True; leave one out"
        )
    if not isinstance(variety.sampler, RationalSampler):
        without = [each for each in varieties() if not describe_variety(each).rational]
        raise ValueError(
            f"{name!r} has no rational parametrization, so exact=True cannot draw points on it; "
            f"this is the case only for {' and '.join(map(repr, without))}"
        )
    return variety.sampler.draw_exact(rng, n_drawn)
