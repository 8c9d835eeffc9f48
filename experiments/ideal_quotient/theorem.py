"""Theorem 17 of the paper, hypothesis by hypothesis and conclusion by conclusion.

Let G = VCA(X, Y) at tolerance 0, V = V(G) with irreducible components V_i, and W an irreducible
algebraic set with Y ⊂ W and dim W = min dim V_i. Then

    (1)   V ⊄ W and W ⊄ V,
    (2)   V is the closure of V ∖ W,
    (3)   I(V) = I(V ∖ W) = I(V) : I(W),
    (3)'  over the complex numbers, √<G> = I(V) = I(V) : I(W).

All is decided exactly, over the rationals. It carries over to the complex numbers, because Groebner
bases do not change when the field grows, and because ideals of parametrized varieties are prime
there too. It carries over to the real numbers, because real points are dense in parametrized
varieties, so that I(V) is the same for the real and for the complex V.
"""

import random
import time
from dataclasses import dataclass
from functools import reduce

import numpy as np
from sympy import Poly
from sympy.polys.rings import PolyElement

from experiments.ideal_quotient.algebra import Ideal, polynomial_ring
from experiments.ideal_quotient.examples import Example
from experiments.ideal_quotient.varieties import Point, Variety
from vanishing import VanishingIdeal
from vanishing.ideal import ContrastError

#: Points on each variety that is not a point.
N_POINTS = 120


@dataclass(frozen=True)
class Finding:
    """What holds for one example.

    Parameters
    ----------
    example : Example
    G : tuple of polynomials
        What the theorem speaks of: rational, and proved to vanish on X.
    shared : tuple of polynomials
        Equations of X and Y together, where the fit dropped some; G is determined modulo these.
    primes_V, primes_W : tuples of Ideal
        Ideals of the irreducible components of V and W.
    ideal_V, ideal_W : Ideal
        Their intersections: I(V) and I(W).
    saturation : Ideal
        <G> : I(W)^∞.
    quotient : Ideal
        I(V) : I(W).
    components_proved : bool
        Whether √<G> is I(V) as computed from the components that the example claims, none of them
        inside another. It is proved by <G> ⊂ I(V) ⊂ √<G>, and has to be true for anything else here
        to have a meaning.
    hypotheses, conclusions : dicts of bool
        Named as in ``Example.fails``.
    seconds : float
    """

    example: Example
    G: tuple[PolyElement, ...]
    shared: tuple[PolyElement, ...]
    primes_V: tuple[Ideal, ...]
    primes_W: tuple[Ideal, ...]
    ideal_V: Ideal
    ideal_W: Ideal
    saturation: Ideal
    quotient: Ideal
    components_proved: bool
    hypotheses: dict[str, bool]
    conclusions: dict[str, bool]
    seconds: float

    @property
    def generated(self) -> Ideal:
        """The ideal <G>."""
        return Ideal(self.ideal_V.ring, self.G)

    @property
    def fails(self) -> tuple[str, ...]:
        """Names of what does not hold."""
        both = self.hypotheses | self.conclusions
        return tuple(name for name, holds in both.items() if not holds)


def check(example: Example, *, seed: int = 0) -> Finding:
    """Sample X and Y, fit, round, and decide everything that the theorem speaks of."""
    started = time.perf_counter()
    rng = random.Random(seed)
    X, Y = _points(example.X, rng), _points(example.Y, rng)
    ring = polynomial_ring(example.variables)
    G, shared = (
        tuple(ring.from_expr(g.as_expr()) for g in equations)
        for equations in contrastive_equations(X, Y, example)
    )
    generated = Ideal(ring, G)
    primes_V, primes_W = (
        tuple(variety.ideal(ring) for variety in varieties)
        for varieties in (example.claimed_components, example.around_contrast)
    )
    ideal_V, ideal_W = (reduce(Ideal.__and__, primes) for primes in (primes_V, primes_W))
    saturation = generated.saturation(ideal_W)
    quotient = ideal_V.quotient(ideal_W)
    is_radical_of_G = generated <= ideal_V and all(map(generated.radical_contains, ideal_V.basis))
    return Finding(
        example=example,
        G=G,
        shared=shared,
        primes_V=primes_V,
        primes_W=primes_W,
        ideal_V=ideal_V,
        ideal_W=ideal_W,
        saturation=saturation,
        quotient=quotient,
        components_proved=is_radical_of_G and len(_minimal(primes_V)) == len(primes_V),
        hypotheses={
            "G nonzero on Y": bool(G) and all(any(_values(g, Y)) for g in G),
            "Y in W": not any(any(_values(f, Y)) for f in ideal_W.basis),
            "W irreducible": len(_minimal(primes_W)) == 1,
            "dim W = min dim V_i": ideal_W.dimension == min(p.dimension for p in primes_V),
        },
        conclusions={
            # V ⊂ W means I(W) ⊂ I(V).
            "(1)": not ideal_W <= ideal_V and not ideal_V <= ideal_W,
            # V(<G> : I(W)^∞) is the closure of V ∖ W, whether or not <G> is radical.
            "(2)": saturation <= ideal_V,
            "(3)": quotient == ideal_V,
            "(3)'": is_radical_of_G and quotient == ideal_V,
        },
        seconds=time.perf_counter() - started,
    )


def contrastive_equations(
    X: list[Point], Y: list[Point], example: Example
) -> tuple[list[Poly], list[Poly]]:
    """VCA(X, Y), rational, and the equations of X and Y together that are missing in it.

    Polynomials that vanish on X and on Y have no size and are dropped; where there are some, G is
    determined only modulo them. Both lists are empty where the fit is refused because Y lies in the
    variety of X.
    """
    ideal = VanishingIdeal(max_degree=example.degree, tol=0, normalization="contrastive")
    try:
        ideal.fit(_rounded(X), contrast=_rounded(Y))
    except ContrastError:
        return [], []
    dropped_at = [step.degree for step in ideal.trace_ if step.dropped]
    shared: list[Poly] = []
    if dropped_at:
        both = VanishingIdeal(max_degree=max(dropped_at), tol=0, normalization="coefficient")
        shared = both.fit(_rounded(X + Y)).to_rational(X + Y, example.variables)
    return ideal.to_rational(X, example.variables, modulo=shared), shared


def _points(varieties: tuple[Variety, ...], rng: random.Random) -> list[Point]:
    return [point for variety in varieties for point in variety.points(N_POINTS, rng)]


def _rounded(points: list[Point]) -> np.ndarray:
    return np.array(points, dtype=np.float64)


def _values(polynomial: PolyElement, points: list[Point]) -> list:
    domain = polynomial.ring.domain
    return [polynomial(*(domain(c.numerator, c.denominator) for c in point)) for point in points]


def _minimal(primes: tuple[Ideal, ...]) -> list[Ideal]:
    """The irreducible components among some irreducible sets: those inside no other one."""
    return [p for p in primes if not any(q <= p for q in primes if q is not p)]
