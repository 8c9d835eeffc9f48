"""Ideals of polynomials over the rationals, by Groebner bases in SymPy.

References are to Cox, Little, O'Shea, "Ideals, Varieties, and Algorithms", 4th edition. All of
these operations commute with extending the field from the rationals to the complex numbers, so that
what is found here holds there.
"""

from collections.abc import Iterable
from functools import reduce
from itertools import combinations

from sympy import QQ
from sympy.polys.groebnertools import groebner
from sympy.polys.orderings import ProductOrder, grevlex
from sympy.polys.rings import PolyElement, PolyRing


def polynomial_ring(names: Iterable[str]) -> PolyRing:
    """Rational polynomials in some variables, ordered by degree (grevlex)."""
    return PolyRing(list(names), QQ, grevlex)


class Ideal:
    """An ideal, kept as its reduced Groebner basis, which is the same for all its generators."""

    def __init__(self, ring: PolyRing, generators: Iterable[PolyElement]) -> None:
        self.ring = ring
        nonzero = [g for g in generators if g]
        self.basis = tuple(groebner(nonzero, ring)) if nonzero else ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ideal) and self.ring == other.ring and self.basis == other.basis

    def __hash__(self) -> int:
        return hash(self.basis)

    def __contains__(self, polynomial: PolyElement) -> bool:
        return not (polynomial.rem(list(self.basis)) if self.basis else polynomial)

    def __le__(self, other: "Ideal") -> bool:
        """Whether this ideal lies in the other one."""
        return all(g in other for g in self.basis)

    def __and__(self, other: "Ideal") -> "Ideal":
        """Intersection: the part of t I + (1 - t) J without t (Ch. 4 §3, Theorem 11)."""
        larger = Extension(self.ring, 1)
        (t,) = larger.new
        mixed = [t * larger.lift(g) for g in self.basis]
        mixed += [(1 - t) * larger.lift(g) for g in other.basis]
        return larger.contracted(mixed)

    def quotient(self, other: "Ideal") -> "Ideal":
        """I : J, the intersection of I : f over generators f of J (Ch. 4 §4, Proposition 13)."""
        return reduce(Ideal.__and__, (self._quotient_by(f) for f in other.basis), self._whole())

    def _quotient_by(self, f: PolyElement) -> "Ideal":
        """I : f = (I ∩ <f>) / f (Ch. 4 §4, Theorem 14)."""
        common = self & Ideal(self.ring, [f])
        return Ideal(self.ring, [g.exquo(f) for g in common.basis])

    def saturation(self, other: "Ideal") -> "Ideal":
        """I : J^∞, the polynomials that vanish on V(I) without V(J), up to radicals (Ch. 4 §4)."""
        return reduce(Ideal.__and__, (self._saturation_by(f) for f in other.basis), self._whole())

    def _saturation_by(self, f: PolyElement) -> "Ideal":
        """I : f^∞, the part of I + <1 - z f> without z (Ch. 4 §4, Theorem 14)."""
        larger = Extension(self.ring, 1)
        (z,) = larger.new
        return larger.contracted([*map(larger.lift, self.basis), 1 - z * larger.lift(f)])

    def radical_contains(self, f: PolyElement) -> bool:
        """Whether a power of f lies in the ideal: I : f^∞ is everything (Ch. 4 §2, Prop. 8)."""
        return self._saturation_by(f) == self._whole()

    def _whole(self) -> "Ideal":
        return Ideal(self.ring, [self.ring.one])

    @property
    def dimension(self) -> int:
        """Dimension of the complex zeros; -1 if there are none (Ch. 9 §3, Theorem 8).

        The largest number of variables such that no leading monomial is in these alone.
        """
        if self == self._whole():
            return -1
        variables = range(self.ring.ngens)
        leading = [{v for v in variables if g.LM[v]} for g in self.basis]
        return max(
            size
            for size in range(self.ring.ngens + 1)
            for chosen in combinations(variables, size)
            if not any(support <= set(chosen) for support in leading)
        )


class Extension:
    """A ring with new variables before the old ones, ordered so that the new can be eliminated."""

    def __init__(self, ring: PolyRing, n_new: int) -> None:
        self.ring = ring
        self.n_new = n_new
        order = ProductOrder((grevlex, lambda m: m[:n_new]), (grevlex, lambda m: m[n_new:]))
        names = [f"new{i}" for i in range(n_new)] + [symbol.name for symbol in ring.symbols]
        self.larger = PolyRing(names, QQ, order)
        self.new = self.larger.gens[:n_new]
        self.old = self.larger.gens[n_new:]

    def lift(self, polynomial: PolyElement) -> PolyElement:
        """The same polynomial in the larger ring."""
        zeros = (0,) * self.n_new
        return self.larger.from_dict({zeros + m: c for m, c in polynomial.items()})

    def contracted(self, generators: Iterable[PolyElement]) -> Ideal:
        """The part of an ideal without new variables (Ch. 3 §1, Theorem 2)."""
        basis = groebner([g for g in generators if g], self.larger)
        kept = [g for g in basis if not any(any(m[: self.n_new]) for m in g)]
        without = [{m[self.n_new :]: c for m, c in g.items()} for g in kept]
        return Ideal(self.ring, map(self.ring.from_dict, without))
