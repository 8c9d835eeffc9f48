"""Algebraic sets with known equations, dimension and degree, and random points on them.

One file a family of varieties, and one a way of drawing points: ``charts`` where a variety is
parametrized, ``sections`` where only its equation is known, ``finite`` for single points.
"""

from vanishing.datasets.variety.catalogue import describe_variety, varieties
from vanishing.datasets.variety.make import make_variety
from vanishing.datasets.variety.record import Variety

__all__ = ["Variety", "describe_variety", "make_variety", "varieties"]
