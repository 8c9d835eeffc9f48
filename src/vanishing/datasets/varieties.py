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


# --- The catalogue: equation, dimension, degree, size and where points are drawn ------------------

XY, XYZ = ("x", "y"), ("x", "y", "z")
SPACE = ("x0", "x1", "x2", "x3", "x4", "x5")

# Cosine and sine of an angle are c and s, of a second one d and e.
_ROUND, _SECOND = Angle("c", "s"), Angle("d", "e")
_LATITUDE = Angle("d", "e", -pi / 2, pi / 2)
_UNIT, _OTHER_UNIT = Interval("t", -1, 1), Interval("u", -1, 1)
_POSITIVE, _NEGATIVE = Interval("t", 1 / 3, 3), Interval("t", -3, -1 / 3)

# Of genus 1, and smooth of degree 4: they have no rational parametrization.
_ELLIPTIC = "y**2 - x**3 + x"
_TANGLECUBE = "80*(x**4 + y**4 + z**4) - 100*(x**2 + y**2 + z**2) + 59"


def _curve(
    name: str, equation: str, sampler: Sampler, *, degree: int, size: float, sampling: str
) -> Variety:
    return Variety(name, XY, (equation,), 1, degree, size, sampling, sampler)


def _surface(
    name: str, equation: str, sampler: Sampler, *, degree: int, size: float, sampling: str
) -> Variety:
    return Variety(name, XYZ, (equation,), 2, degree, size, sampling, sampler)


POINTS = Variety(
    name="grid",
    variables=XY,
    equations=("x*(x - 1)*(x - 2)*(x - 3)", "y*(y - 1)*(y - 2)"),
    dimension=0,
    degree=12,
    size=1.3844,
    sampling="its twelve points, each equally often up to one",
    sampler=FinitePoints(tuple((x, y) for x in range(4) for y in range(3))),
)

# fmt: off
PLANE_CURVES = (
    _curve("circle", "x**2 + y**2 - 1", chart("c, s", _ROUND),
           degree=2, size=1.0, sampling="all of it"),
    _curve("ellipse", "4*x**2 + 36*y**2 - 9", chart("3*c/2, s/2", _ROUND),
           degree=2, size=1.0112, sampling="all of it, of half axes 3/2 and 1/2"),
    _curve("parabola", "y - x**2", chart("t, t*t", _UNIT),
           degree=2, size=0.7111, sampling="-1 ≤ x ≤ 1"),
    _curve("hyperbola", "x*y - 1",
           Charts(Chart("t, 1/t", _POSITIVE), Chart("t, 1/t", _NEGATIVE)),
           degree=2, size=2.1296, sampling="both branches, 1/3 ≤ |x| ≤ 3"),
    _curve("line-pair", "(2*x - y)*(x + y - 1)",
           Charts(Chart("t, 2*t", _UNIT), Chart("t, 1 - t", _UNIT)),
           degree=2, size=1.2315, sampling="both lines, -1 ≤ x ≤ 1"),
    _curve("nodal-cubic", "y**2 - x**3 - x**2",
           chart("t*t - 1, t*(t*t - 1)", Interval("t", -1.5, 1.5)),
           degree=3, size=1.0937, sampling="the loop, and both arms to x = 5/4"),
    _curve("cuspidal-cubic", "y**2 - x**3", chart("t*t, t*t*t", _UNIT),
           degree=3, size=0.6085, sampling="0 ≤ x ≤ 1"),
    _curve("elliptic-curve", _ELLIPTIC, LineSections(Polynomial(_ELLIPTIC, XY), 3, radius=2.0),
           degree=3, size=1.091, sampling="the oval, and the branch within the disk of radius 2"),
    _curve("lemniscate", "(x**2 + y**2)**2 - x**2 + y**2",
           chart("c/(1 + s*s), s*c/(1 + s*s)", _ROUND),
           degree=4, size=0.676, sampling="all of it"),
    _curve("lissajous",
           "4*(y**2 - 2*x**2)**2 - 4*(y**2 - 2*x**2)*(1 - 4*x**2) + x**2*(1 - 4*x**2)**2",
           chart("2*s*c, s*(3 - 4*s*s)", _ROUND),
           degree=6, size=0.9247, sampling="all of it: sines of twice and of three times an angle"),
)

SPACE_CURVES = (
    Variety("twisted-cubic", XYZ, ("x**2 - y", "x*y - z", "x*z - y**2"), dimension=1, degree=3,
            size=0.8937, sampling="-1 ≤ x ≤ 1", sampler=chart("t, t*t, t*t*t", _UNIT)),
    # Minors of [[1, x0, x1, x2], [x0, x1, x2, x3]].
    Variety("rational-normal-curve", SPACE[:4],
            ("x1 - x0**2", "x2 - x0*x1", "x3 - x0*x2", "x0*x2 - x1**2", "x0*x3 - x1*x2",
             "x1*x3 - x2**2"),
            dimension=1, degree=4, size=0.9869, sampling="-1 ≤ x0 ≤ 1",
            sampler=chart("t, t*t, t*t*t, t*t*t*t", _UNIT)),
    Variety("viviani", XYZ, ("x**2 + y**2 + z**2 - 1", "x**2 + y**2 - x"), dimension=1, degree=4,
            size=0.8401,
            sampling="all of it: where a sphere meets a cylinder of half its width, from within",
            sampler=chart("c*c, c*s, s", _ROUND)),
    Variety("crown", XYZ, ("x**2 + y**2 - 1", "z - 3*y + 4*y**3"), dimension=1, degree=6,
            size=1.1759, sampling="all of it: a wave around a cylinder, three times up and down",
            sampler=chart("c, s, s*(3 - 4*s*s)", _ROUND)),
    Variety("axes", XYZ, ("x*y", "x*z", "y*z"), dimension=1, degree=3, size=0.5774,
            sampling="the three axes, from -1 to 1",
            sampler=Charts(*(Chart(each, _UNIT) for each in ("t, 0, 0", "0, t, 0", "0, 0, t")))),
    # The roots of the cyclic system x0 + x1 + x2 + x3, x0*x1 + x1*x2 + x2*x3 + x3*x0,
    # x0*x1*x2 + x1*x2*x3 + x2*x3*x0 + x3*x0*x1, x0*x1*x2*x3 - 1: its first two equations are
    # s + t and s*t for s = x0 + x2 and t = x1 + x3, so that both are zero.
    Variety("cyclic-4", SPACE[:4], ("x0 + x2", "x1 + x3", "x0**2*x1**2 - 1"), dimension=1,
            degree=4, size=3.0117,
            sampling="all four branches of two hyperbolas, 1/3 ≤ |x0| ≤ 3",
            sampler=Charts(*(Chart(branch, part)
                             for branch in ("t, 1/t, -t, -1/t", "t, -1/t, -t, 1/t")
                             for part in (_POSITIVE, _NEGATIVE)))),
)

SURFACES = (
    _surface("sphere", "x**2 + y**2 + z**2 - 1", chart("d*c, d*s, e", _ROUND, _LATITUDE),
             degree=2, size=1.0, sampling="all of it"),
    _surface("cylinder", "x**2 + y**2 - 1", chart("c, s, t", _ROUND, _UNIT),
             degree=2, size=1.1547, sampling="-1 ≤ z ≤ 1"),
    _surface("cone", "x**2 + y**2 - z**2", chart("t*c, t*s, t", _ROUND, _UNIT),
             degree=2, size=1.0, sampling="-1 ≤ z ≤ 1"),
    _surface("torus", "(4*x**2 + 4*y**2 + 4*z**2 + 3)**2 - 64*(x**2 + y**2)",
             chart("(1 + d/2)*c, (1 + d/2)*s, e/2", _ROUND, _SECOND),
             degree=4, size=1.2247, sampling="all of it, of radii 1 and 1/2"),
    _surface("whitney-umbrella", "x**2 - y**2*z", chart("u*t, u, t*t", _OTHER_UNIT, _UNIT),
             degree=3, size=0.7887,
             sampling="-1 ≤ y ≤ 1 and 0 ≤ z ≤ 1, without its handle, the line x = y = 0 below "
                      "z = 0"),
    # Cosines of two angles and of their sum.
    _surface("cayley-cubic", "x**2 + y**2 + z**2 - 2*x*y*z - 1",
             chart("c, d, c*d - s*e", _ROUND, _SECOND),
             degree=3, size=1.1129,
             sampling="its bounded piece between the four nodes, within the cube [-1, 1]^3"),
    _surface("clebsch-cubic", CLEBSCH_EQUATION,
             ClebschSampler(LineSections(Polynomial(CLEBSCH_EQUATION, XYZ), 3, radius=2.0)),
             degree=3, size=1.38, sampling="within the ball of radius 2"),
    _surface("tanglecube", _TANGLECUBE, LineSections(Polynomial(_TANGLECUBE, XYZ), 4, radius=2.0),
             degree=4, size=1.289, sampling="all of it"),
)

EMBEDDINGS = (
    # Minors of the symmetric matrix [[1, x0, x1], [x0, x2, x3], [x1, x3, x4]].
    Variety("veronese", SPACE[:5],
            ("x2 - x0**2", "x3 - x0*x1", "x4 - x1**2", "x0*x3 - x1*x2", "x0*x4 - x1*x3",
             "x2*x4 - x3**2"),
            dimension=2, degree=4, size=1.0933, sampling="-1 ≤ x0 ≤ 1 and -1 ≤ x1 ≤ 1",
            sampler=chart("t, u, t*t, t*u, u*u", _UNIT, _OTHER_UNIT)),
    # Matrices [[x0, x1], [x2, x3]] of rank 1 or 0.
    Variety("segre", SPACE[:4], ("x0*x3 - x1*x2",), dimension=3, degree=2, size=0.7746,
            sampling="within the unit ball: 2 × 2 matrices of determinant 0",
            sampler=chart("r*c*d, r*c*e, r*s*d, r*s*e", Interval("r", 0, 1), _ROUND, _SECOND)),
    # Minors of [[x0, x1, x2], [x3, x4, x5]].
    Variety("segre-2x3", SPACE, ("x0*x4 - x1*x3", "x0*x5 - x2*x3", "x1*x5 - x2*x4"), dimension=4,
            degree=3, size=0.8165, sampling="within the unit ball: 2 × 3 matrices of rank 1",
            sampler=chart("r*a*(d*c), r*a*(d*s), r*a*e, r*b*(d*c), r*b*(d*s), r*b*e",
                          Interval("r", 0, 1), Angle("a", "b"), _ROUND, _LATITUDE)),
)
# fmt: on


# --- All varieties by name ------------------------------------------------------------------------

_CATALOGUE = {
    variety.name: variety
    for variety in (POINTS, *PLANE_CURVES, *SPACE_CURVES, *SURFACES, *EMBEDDINGS)
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
