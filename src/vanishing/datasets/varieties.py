"""Varieties with known equations, by name, and how points are drawn from them."""

from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from math import pi
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import BoolArray, FloatArray, unmask
from vanishing.arrays.parameters import check_real, check_whole
from vanishing.levels import ROUNDING

__all__ = ["Variety", "describe_variety", "make_variety", "varieties"]


# --- What draws points of a variety ---------------------------------------------------------------

#: NumPy array of ``fractions.Fraction``.
FractionArray = npt.NDArray[Any]

#: Of rational numbers with denominators up to this there are about 30 million in an interval of
#: length 1, so that points rarely repeat, and yet those numbers are short.
_MAX_DENOMINATOR = 10_000


class Sampler(ABC):
    """Draws points at random: a small frozen configuration object."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points, an array of shape (n_samples, n_features) in double precision."""


class RationalSampler(Sampler):
    """Draws points whose coordinates are rational numbers, too."""

    @abstractmethod
    def draw_exact(self, rng: np.random.Generator, n_samples: int) -> FractionArray:
        """Draw points exactly, close to those of ``draw`` from the same generator."""


def nearby_fractions(values: FloatArray) -> FractionArray:
    """Round to fractions with small denominators."""

    def nearby(value: float) -> Fraction:
        return Fraction(value).limit_denominator(_MAX_DENOMINATOR)

    return np.asarray(np.vectorize(nearby, otypes=[object])(values))


def exact_rows(coordinates: tuple[Any, ...]) -> FractionArray:
    """Put coordinates side by side, each an array of fractions or one whole number for all."""
    stacked = np.stack(np.broadcast_arrays(*coordinates), axis=1)
    return np.asarray(np.vectorize(Fraction, otypes=[object])(stacked))


# --- Expressions that are written down ------------------------------------------------------------


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression of names; a text with commas gives a tuple."""
    # The texts are those of the catalogue, never a user's.
    return eval(text, {"__builtins__": {}}, dict(values))


@dataclass(frozen=True)
class Polynomial:
    """A polynomial with whole coefficients, in the syntax that Python and SymPy share."""

    text: str
    variables: tuple[str, ...]

    def __call__(self, points: Any) -> Any:
        """Return the values at points, an array of any numbers of shape (..., n_variables)."""
        return evaluate(self.text, {name: points[..., k] for k, name in enumerate(self.variables)})


# --- Varieties that are parametrized: points spread evenly by length, area or volume --------------

#: How many parameters are looked at to find where a chart stretches most.
_GRID_SIZE = 4096
#: Between the points of the grid it may stretch more. The tests check that this is enough.
_SAFETY = 1.1


@dataclass(frozen=True)
class Interval:
    """A parameter that is a number."""

    name: str
    low: float
    high: float

    def values(self, number: Any) -> dict[str, Any]:
        """Return what a chart is given, by name."""
        return {self.name: number}

    def exact_values(self, number: FloatArray) -> dict[str, Any]:
        """Return a fraction near ``number``."""
        return {self.name: nearby_fractions(number)}


@dataclass(frozen=True)
class Angle:
    """A parameter that is an angle; a chart is given its cosine and sine.

    Every rational point of the circle but one is the image of a rational number, the tangent of
    half the angle.
    """

    cosine: str
    sine: str
    low: float = -pi
    high: float = pi

    def values(self, number: Any) -> dict[str, Any]:
        """Return cosine and sine, by name."""
        return {self.cosine: np.cos(number), self.sine: np.sin(number)}

    def exact_values(self, number: FloatArray) -> dict[str, Any]:
        """Return cosine and sine of an angle near ``number`` that has rational ones."""
        t = nearby_fractions(np.tan(number / 2))
        return {self.cosine: (1 - t * t) / (1 + t * t), self.sine: 2 * t / (1 + t * t)}


class Chart:
    """A map by +, -, * and / from a box of parameters onto a variety or a piece of it."""

    def __init__(self, text: str, *parameters: Interval | Angle) -> None:
        self.text, self.parameters = text, parameters

    def rows(self, numbers: Any) -> Any:
        """Return the points of parameters of shape (n, n_parameters)."""
        values = [each.values(numbers[:, k]) for k, each in enumerate(self.parameters)]
        return np.stack(np.broadcast_arrays(*evaluate(self.text, ChainMap(*values))), axis=1)

    def exact_rows(self, numbers: FloatArray) -> FractionArray:
        """Return exact points for nearby parameters."""
        values = [each.exact_values(numbers[:, k]) for k, each in enumerate(self.parameters)]
        return exact_rows(evaluate(self.text, ChainMap(*values)))

    def stretch(self, numbers: FloatArray) -> FloatArray:
        """Return how the chart magnifies volumes, by complex steps, which are exact to rounding."""
        step = 1e-30
        directions = np.eye(len(self.parameters))
        columns = [self.rows(numbers + 1j * step * d).imag / step for d in directions]
        jacobian = np.stack(columns, axis=2)
        gram = np.swapaxes(jacobian, 1, 2) @ jacobian
        magnification: FloatArray = np.sqrt(np.maximum(np.linalg.det(gram), 0.0))
        return magnification

    def grid(self) -> FloatArray:
        """Return parameters all over the box, its boundary included."""
        per_axis = round(_GRID_SIZE ** (1 / len(self.parameters)))
        axes = [np.linspace(each.low, each.high, per_axis) for each in self.parameters]
        return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))

    def volume(self) -> float:
        """Return the length, area or volume of the image, roughly."""
        box = np.prod([each.high - each.low for each in self.parameters])
        return float(box * self.stretch(self.grid()).mean())

    def draw_parameters(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw parameters so that their points are spread evenly, by rejection."""
        low = [each.low for each in self.parameters]
        high = [each.high for each in self.parameters]
        bound = _SAFETY * self.stretch(self.grid()).max()
        accepted = np.empty((0, len(self.parameters)))
        while len(accepted) < n_samples:
            drawn = rng.uniform(low, high, (2 * n_samples, len(low)))
            kept = drawn[rng.uniform(0, bound, len(drawn)) < self.stretch(drawn)]
            accepted = np.concatenate([accepted, kept])
        return accepted[:n_samples]


class Charts(RationalSampler):
    """Points spread evenly over the images of one or more charts."""

    def __init__(self, *charts: Chart) -> None:
        self.charts = charts

    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points."""
        return np.asarray(self._fill(Chart.rows, rng, n_samples))

    def draw_exact(self, rng: np.random.Generator, n_samples: int) -> FractionArray:
        """Draw exact points."""
        return np.asarray(self._fill(Chart.exact_rows, rng, n_samples))

    def _fill(
        self, rows: Callable[[Chart, FloatArray], Any], rng: np.random.Generator, n_samples: int
    ) -> Any:
        """Draw for each row a chart by its volume, and a point on it."""
        volumes = np.array([chart.volume() for chart in self.charts])
        choice = rng.choice(len(self.charts), n_samples, p=volumes / volumes.sum())
        order = np.argsort(choice, kind="stable")
        pieces = [
            rows(chart, chart.draw_parameters(rng, int(np.sum(choice == number))))
            for number, chart in enumerate(self.charts)
        ]
        points = np.concatenate(pieces)
        points[order] = points.copy()
        return points


def chart(text: str, *parameters: Interval | Angle) -> Charts:
    """Return the sampler of a variety that one chart covers."""
    return Charts(Chart(text, *parameters))


# --- Hypersurfaces that are given by their equation: points on random lines -----------------------


@dataclass(frozen=True)
class LineSections(Sampler):
    """Points of a hypersurface within a ball around the origin, spread evenly by length or area.

    Lines are drawn so that all those that meet the ball are equally likely (isotropic direction,
    uniform offset). By Crofton's formula a piece of the hypersurface then is hit in proportion to
    its area, wherever it lies and however it is inclined. Points that share a line are not quite
    independent of each other.
    """

    polynomial: Polynomial
    degree: int
    radius: float

    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points."""
        found = np.empty((0, len(self.polynomial.variables)))
        n_drawn = 4 * n_samples  # so that few of those that are returned share their line
        while len(found) < n_drawn:
            found = np.concatenate([found, self._points_on_lines(rng, n_drawn)])
        return found[rng.choice(len(found), n_samples, replace=False)]

    def _points_on_lines(self, rng: np.random.Generator, n_lines: int) -> FloatArray:
        """Draw lines and return all their points on the hypersurface, within the ball."""
        origin, direction = self._lines(rng, n_lines)

        def value(line: Any, position: Any) -> Any:
            """Value at positions, in units of the radius, on lines."""
            return self.polynomial(origin[line] + position[..., None] * direction[line])

        nodes = np.cos(np.pi * (np.arange(self.degree + 1) + 0.5) / (self.degree + 1))
        every_line = np.arange(n_lines)[:, None]
        values = value(every_line, np.broadcast_to(nodes, (n_lines, len(nodes))))
        line, position = _real_roots(values @ np.linalg.inv(np.vander(nodes)).T)
        # Eigenvalues have half of the digits or more, and each step of Newton doubles them.
        # It fails where a line is all but tangent: then it ends at infinity or NaN, or at values
        # beyond the rounding errors of a hundred operations.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            for _ in range(3):
                slope = value(line, position + 1e-30j).imag / 1e-30
                position = position - value(line, position) / slope
            rounding = 100 * ROUNDING * np.abs(values).max(axis=1)[line]
            solved = np.abs(value(line, position)) <= rounding
        line, position = line[solved], position[solved]
        points: FloatArray = origin[line] + position[:, None] * direction[line]
        inside: BoolArray = np.linalg.norm(points, axis=1) <= self.radius
        return points[inside]

    def _lines(self, rng: np.random.Generator, n_lines: int) -> tuple[FloatArray, FloatArray]:
        """Draw lines: the point of each that is nearest to the origin, and its direction."""
        n_features = len(self.polynomial.variables)
        direction = rng.standard_normal((n_lines, n_features))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        offset = rng.standard_normal((n_lines, n_features))
        offset -= np.sum(offset * direction, axis=1, keepdims=True) * direction
        offset /= np.linalg.norm(offset, axis=1, keepdims=True)
        length = rng.uniform(size=(n_lines, 1)) ** (1 / (n_features - 1))
        return self.radius * length * offset, self.radius * direction


def _real_roots(coefficients: FloatArray) -> tuple[Any, FloatArray]:
    """Return row numbers and real roots of polynomials, leading coefficients first."""
    degree = coefficients.shape[1] - 1
    companion = np.zeros((len(coefficients), degree, degree))
    companion[:, 0] = -coefficients[:, 1:] / coefficients[:, :1]
    companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1
    roots = np.linalg.eigvals(companion)
    row, column = np.nonzero(np.isreal(roots))
    return row, np.real(roots[row, column])


# --- Clebsch's diagonal cubic surface, the one with 27 real lines, and its rational points --------

# In the five coordinates x, y, z, 1, -(x + y + z + 1), whose sum is 0, the sum of cubes.
CLEBSCH_EQUATION = "x**3 + y**3 + z**3 + 1 - (x + y + z + 1)**3"


@dataclass(frozen=True)
class ClebschSampler(RationalSampler):
    """Points spread evenly by area, drawn by lines; exact ones by its rational parametrization.

    Two of the lines on the surface, in the five coordinates, are those through (1, -1, u, -u, 0)
    and through (1, v, -1, 0, -v) for all u and v. They do not meet. Through each other point of
    the surface goes one line that meets both of them; u and v are its parameters.
    """

    sections: LineSections

    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points."""
        return self.sections.draw(rng, n_samples)

    def draw_exact(self, rng: np.random.Generator, n_samples: int) -> FractionArray:
        """Draw points and round their parameters, but for the few that this moves far."""
        far = 100 / _MAX_DENOMINATOR
        found: FractionArray = np.empty((0, 3), dtype=object)
        while len(found) < n_samples:
            points = self.draw(rng, n_samples - len(found))
            u, v = map(nearby_fractions, _parameters(points))
            defined = _denominator(u, v) != 0
            exact = exact_rows(_point(u[defined], v[defined]))
            moved = np.abs(exact.astype(np.float64) - points[defined]).max(axis=1)
            found = np.concatenate([found, exact[moved < far]])
        return found


def _parameters(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return u and v of points of the surface."""
    x, y, z = points.T
    last = -(x + y + z + 1)
    return -1 / (x + z + 1), -last / (x + y + last)


def _point(u: Any, v: Any) -> tuple[Any, Any, Any]:
    """Return p + λq, with λ = -Σ p²q / Σ pq², on the line through those of u and v, p and q."""
    ppq = 1 + v - u * u
    pqq = 1 - v * v + u
    fourth = _denominator(u, v)
    return (pqq - ppq) / fourth, (-pqq - v * ppq) / fourth, (u * pqq + ppq) / fourth


def _denominator(u: Any, v: Any) -> Any:
    """Return the fourth coordinate of the point, which is 1 in affine space."""
    return -u * (1 - v * v + u)


# --- Finitely many points -------------------------------------------------------------------------


@dataclass(frozen=True)
class FinitePoints(RationalSampler):
    """Given points with whole coordinates, each equally often up to one, in random order."""

    points: tuple[tuple[int, ...], ...]

    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points."""
        repeats = -(-n_samples // len(self.points))
        numbers = np.concatenate([rng.permutation(len(self.points)) for _ in range(repeats)])
        rows = [self.points[number] for number in rng.permutation(numbers[:n_samples])]
        return np.array(rows, dtype=np.float64)

    def draw_exact(self, rng: np.random.Generator, n_samples: int) -> FractionArray:
        """Draw the same points as fractions."""
        return exact_rows(tuple(self.draw(rng, n_samples).T))


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
