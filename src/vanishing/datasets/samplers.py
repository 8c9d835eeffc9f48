"""How points are drawn from varieties: charts, sections, finite sets."""

from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import pi
from types import CodeType
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.namespace import BoolArray, FloatArray
from vanishing.levels import ROUNDING

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

    return _each(nearby, values)


def exact_rows(coordinates: tuple[Any, ...]) -> FractionArray:
    """Put coordinates side by side, each an array of fractions or one whole number for all."""
    stacked = np.stack(np.broadcast_arrays(*coordinates), axis=1)
    return _each(Fraction, stacked)


def _each(function: Callable[[Any], Fraction], values: npt.NDArray[Any]) -> FractionArray:
    return np.asarray(np.frompyfunc(function, 1, 1)(values), dtype=object)


# --- Expressions that are written down ------------------------------------------------------------


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression of names; a text with commas gives a tuple."""
    # The texts are those of the catalogue, never a user's.
    return eval(_compiled(text), {"__builtins__": {}}, dict(values))


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, text, "eval")


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


@dataclass(frozen=True, init=False)
class Chart:
    """A map by +, -, * and / from a box of parameters onto a variety or a piece of it."""

    text: str
    parameters: tuple[Interval | Angle, ...]

    def __init__(self, text: str, *parameters: Interval | Angle) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "parameters", parameters)

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


@dataclass(frozen=True, init=False)
class Charts(RationalSampler):
    """Points spread evenly over the images of one or more charts."""

    charts: tuple[Chart, ...]

    def __init__(self, *charts: Chart) -> None:
        object.__setattr__(self, "charts", charts)

    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points."""
        points: FloatArray = self._fill(Chart.rows, rng, n_samples)
        return points

    def draw_exact(self, rng: np.random.Generator, n_samples: int) -> FractionArray:
        """Draw exact points."""
        points: FractionArray = self._fill(Chart.exact_rows, rng, n_samples)
        return points

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
