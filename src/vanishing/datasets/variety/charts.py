"""Varieties that are parametrized: points spread evenly by length, area or volume."""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from vanishing._xp import FloatArray
from vanishing.datasets.variety.sampler import (
    FractionArray,
    RationalSampler,
    exact_rows,
    nearby_fractions,
)

#: What a chart is given for an angle.
CosineSine = tuple[Any, Any]

#: How many parameters are looked at to find where a chart stretches most.
_GRID_SIZE = 4096
#: Between the points of the grid it may stretch more. The tests check that this is enough.
_SAFETY = 1.1


@dataclass(frozen=True)
class Interval:
    """A parameter that is a number."""

    low: float
    high: float

    def value(self, number: Any) -> Any:
        """Return what a chart is given."""
        return number

    def exact_value(self, number: FloatArray) -> FractionArray:
        """Return a fraction near ``number``."""
        return nearby_fractions(number)


@dataclass(frozen=True)
class Angle:
    """A parameter that is an angle; a chart is given its cosine and sine.

    Every rational point of the circle but one is the image of a rational number, the tangent of
    half the angle.
    """

    low: float = -pi
    high: float = pi

    def value(self, number: Any) -> CosineSine:
        """Return cosine and sine."""
        return np.cos(number), np.sin(number)

    def exact_value(self, number: FloatArray) -> CosineSine:
        """Return cosine and sine of an angle near ``number`` that has rational ones."""
        t = nearby_fractions(np.tan(number / 2))
        return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)


@dataclass(frozen=True)
class Chart:
    """A rational map from a box of parameters onto a variety or a piece of it.

    Parameters
    ----------
    point : callable
        Returns the coordinates, by +, -, * and / only, so that it serves floats, fractions and
        complex numbers. One argument a parameter.
    parameters : tuple of Interval and Angle
    """

    point: Callable[..., tuple[Any, ...]]
    parameters: tuple[Interval | Angle, ...]

    def rows(self, numbers: Any) -> Any:
        """Return the points of parameters of shape (n, n_parameters)."""
        values = [each.value(numbers[:, k]) for k, each in enumerate(self.parameters)]
        return np.stack(np.broadcast_arrays(*self.point(*values)), axis=1)

    def exact_rows(self, numbers: FloatArray) -> FractionArray:
        """Return exact points for nearby parameters."""
        values = [each.exact_value(numbers[:, k]) for k, each in enumerate(self.parameters)]
        return exact_rows(self.point(*values))

    def stretch(self, numbers: FloatArray) -> FloatArray:
        """Return by how much the chart magnifies lengths, areas or volumes at its parameters.

        Derivatives are taken by complex steps, which are exact to rounding.
        """
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


def chart(point: Callable[..., tuple[Any, ...]], *parameters: Interval | Angle) -> Charts:
    """Return the sampler of a variety that one chart covers."""
    return Charts(Chart(point, parameters))
