"""Irreducible varieties given by rational parametrizations.

A parametrization says three things at once that would each be hard to see from equations. The ideal
of its image is the kernel of a map into a field of rational functions, so it is prime, also over
the complex numbers. Real points are dense in it. And it yields as many rational points as are
wanted.
"""

import random
from dataclasses import dataclass
from fractions import Fraction

from sympy.polys.rings import PolyElement, PolyRing

from experiments.ideal_quotient.algebra import Extension, Ideal, polynomial_ring

Point = tuple[Fraction, ...]

#: The parameters that varieties may use are its generators.
PARAMETERS = polynomial_ring("stuv")


@dataclass(frozen=True)
class Variety:
    """The Zariski closure of the points ``coordinates / over``.

    Both are polynomials in the parameters; without parameters they are a point.
    """

    coordinates: tuple[PolyElement | int | Fraction, ...]
    over: PolyElement | int = 1

    @property
    def is_point(self) -> bool:
        return all(PARAMETERS(c).is_ground for c in (*self.coordinates, self.over))

    def points(self, n_points: int, rng: random.Random) -> list[Point]:
        """Rational points, all different: ``n_points`` of them, or the only one there is."""
        *numerators, denominator = map(PARAMETERS, (*self.coordinates, self.over))
        found: dict[Point, None] = {}
        while len(found) < (1 if self.is_point else n_points):
            at = [PARAMETERS.domain(rng.randint(-30, 30), rng.randint(9, 14)) for _ in range(4)]
            bottom = denominator(*at)
            if bottom:
                values = [numerator(*at) / bottom for numerator in numerators]
                found[tuple(Fraction(int(v.numerator), int(v.denominator)) for v in values)] = None
        return list(found)

    def ideal(self, ring: PolyRing) -> Ideal:
        """The prime ideal of the variety, by implicitization.

        The part of <q x_i - p_i, 1 - z q> without z and the parameters, for x_i = p_i / q
        (Cox, Little, O'Shea, Ch. 3 §3, Theorem 2).
        """
        larger = Extension(ring, 1 + PARAMETERS.ngens)
        *numerators, denominator = (
            larger.larger.from_dict(
                {(0, *powers, *ring.zero_monom): c for powers, c in PARAMETERS(p).items()}
            )
            for p in (*self.coordinates, self.over)
        )
        z = larger.new[0]
        graph = [
            denominator * x - numerator for x, numerator in zip(larger.old, numerators, strict=True)
        ]
        return larger.contracted([*graph, 1 - z * denominator])
