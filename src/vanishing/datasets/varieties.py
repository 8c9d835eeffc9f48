"""Varieties with known equations, by name, and how points are drawn from them."""

import tomllib
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from math import pi
from pathlib import Path
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
    low: float
    high: float

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


@dataclass(frozen=True)
class RationalSections(RationalSampler):
    """Points spread evenly by area, drawn by lines; exact ones by a rational parametrization."""

    sections: LineSections
    parameters: str  # u and v of a point
    point: str  # of u and v
    nonzero: str

    def draw(self, rng: np.random.Generator, n_samples: int) -> FloatArray:
        """Draw points."""
        return self.sections.draw(rng, n_samples)

    def draw_exact(self, rng: np.random.Generator, n_samples: int) -> FractionArray:
        """Draw points and round their parameters, but for the few that this moves far."""
        far = 100 / _MAX_DENOMINATOR
        variables = self.sections.polynomial.variables
        found: FractionArray = np.empty((0, len(variables)), dtype=object)
        while len(found) < n_samples:
            points = self.draw(rng, n_samples - len(found))
            values = evaluate(self.parameters, dict(zip(variables, points.T, strict=True)))
            rounded = dict(zip("uv", map(nearby_fractions, values), strict=True))
            defined = evaluate(self.nonzero, rounded) != 0
            kept = {name: each[defined] for name, each in rounded.items()}
            exact = exact_rows(evaluate(self.point, kept))
            moved = np.abs(exact.astype(np.float64) - points[defined]).max(axis=1)
            found = np.concatenate([found, exact[moved < far]])
        return found


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


# --- The catalogue, in varieties.toml -------------------------------------------------------------


def _read_parameter(text: str) -> Interval | Angle:
    """Read a parameter such as "t: -1, 1", or an angle such as "c s: -pi, pi"."""
    names, _, bounds = text.partition(":")
    low, high = evaluate(bounds.strip(), {"pi": pi})
    if " " not in names:
        return Interval(names, low, high)
    cosine, sine = names.split()
    return Angle(cosine, sine, low, high)


def _make_sampler(variables: tuple[str, ...], record: Mapping[str, Any]) -> Sampler:
    if "points" in record:
        return FinitePoints(tuple(map(tuple, record["points"])))
    if "charts" in record:
        charts = ((text, map(_read_parameter, rest)) for text, *rest in record["charts"])
        return Charts(*(Chart(text, *parameters) for text, parameters in charts))
    (equation,) = record["equations"]
    sections = LineSections(Polynomial(equation, variables), record["degree"], record["radius"])
    if (rational := record.get("rational")) is None:
        return sections
    point = ", ".join(rational["point"])
    return RationalSections(sections, rational["parameters"], point, rational["nonzero"])


def _read_catalogue() -> dict[str, Variety]:
    text = Path(__file__).with_name("varieties.toml").read_text(encoding="utf-8")
    catalogue = {}
    for name, record in tomllib.loads(text).items():
        variables = tuple(record["variables"].split())
        catalogue[name] = Variety(
            name=name,
            variables=variables,
            equations=tuple(record["equations"]),
            dimension=record["dimension"],
            degree=record["degree"],
            size=record["size"],
            sampling=record["sampling"],
            sampler=_make_sampler(variables, record),
        )
    return catalogue


_CATALOGUE = _read_catalogue()


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
