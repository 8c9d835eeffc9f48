"""Pairs of point sets on known varieties, and what Theorem 17 of the paper says of them."""

from dataclasses import dataclass
from fractions import Fraction

from experiments.ideal_quotient.varieties import PARAMETERS, Variety

s, t, u, v = PARAMETERS.gens


@dataclass(frozen=True)
class Example:
    """Points X and Y, a degree to stop at, and the algebraic sets of the theorem.

    Parameters
    ----------
    name : str
    X, Y : tuples of Variety
        What the points are sampled from.
    degree : int or None
        ``max_degree`` of the fit; None runs to exhaustion.
    W : tuple of Variety
        The irreducible set that holds Y; more than one make it reducible. Y's by default.
    V : tuple of Variety
        The irreducible components that V = V(G) should have; X's by default. They are a claim,
        which is checked.
    fails : tuple of str
        The hypotheses and conclusions that do not hold; none where the theorem applies.
    remark : str
    """

    name: str
    X: tuple[Variety, ...]
    Y: tuple[Variety, ...]
    degree: int | None
    W: tuple[Variety, ...] = ()
    V: tuple[Variety, ...] | None = None
    fails: tuple[str, ...] = ()
    remark: str = ""

    @property
    def variables(self) -> str:
        return "xyzw"[: len(self.X[0].coordinates)]

    @property
    def claimed_components(self) -> tuple[Variety, ...]:
        return self.X if self.V is None else self.V

    @property
    def around_contrast(self) -> tuple[Variety, ...]:
        return self.W or self.Y


# --- varieties -----------------------------------------------------------------------------------

CIRCLE = Variety((1 - u**2, 2 * u), over=1 + u**2)
#: Half axes 2 and 2/3, centre (1/2, 0).
ELLIPSE = Variety((3 * (1 + u**2) + 12 * (1 - u**2), 8 * u), over=6 * (1 + u**2))
PARABOLA = Variety((u, u**2))
HYPERBOLA = Variety((u**2, 1), over=u)
PLANE = Variety((u, v, 0))
Z_AXIS = Variety((0, 0, u))
SPHERE = Variety((2 * u, 2 * v, u**2 + v**2 - 1), over=u**2 + v**2 + 1)
EQUATOR = Variety((1 - u**2, 2 * u, 0), over=1 + u**2)
TWISTED_CUBIC = Variety((u, u**2, u**3))
#: (cos², cos sin, sin): the sphere and the cylinder x² + y² = x.
VIVIANI = Variety(((1 - u**2) ** 2, (1 - u**2) * 2 * u, 2 * u * (1 + u**2)), over=(1 + u**2) ** 2)
#: 1/x + 1/y + 1/z + 1 = 0.
CAYLEY_CUBIC = Variety((u * (u * v + u + v), v * (u * v + u + v), -u * v), over=u * v + u + v)
#: 2x2 matrices of determinant 0.
SEGRE = Variety((s * u, s * v, t * u, t * v))


def points(*coordinates: tuple[int | Fraction, ...]) -> tuple[Variety, ...]:
    """Single points as varieties."""
    return tuple(Variety(each) for each in coordinates)


# --- where the hypotheses hold -------------------------------------------------------------------

CONICS = (
    Example("circle, ellipse", (CIRCLE,), (ELLIPSE,), 2),
    Example("circle, secant", (CIRCLE,), (Variety((u, 2 * u - 1)),), 2),
    Example("circle, tangent", (CIRCLE,), (Variety((1, u)),), 2),
    Example("parabola, circle", (PARABOLA,), (CIRCLE,), 2),
    Example(
        "two lines, third line through their crossing",
        (Variety((u, 2 * u)), Variety((u, -u))),
        (Variety((u, 3 * u)),),
        2,
    ),
    Example("two parallel lines, circle", (Variety((u, u + 1)), Variety((u, u - 1))), (CIRCLE,), 2),
    Example("circle and line, parabola", (CIRCLE, Variety((u, 2 - u))), (PARABOLA,), 3),
)
FINITE_SETS = (
    Example(
        "five points, line",
        points((1, 1), (2, Fraction(1, 2)), (-1, -1), (-2, Fraction(-1, 2)), (Fraction(1, 2), 2)),
        (Variety((u, 2 * u)),),
        2,
        V=(HYPERBOLA,),
        remark="V is the conic through the points, not the points",
    ),
    Example(
        "three points, one point",
        points((0, 0), (1, 0), (3, 0)),
        points((2, 5)),
        None,
        remark="run to exhaustion: V is X, and W can only be a single point",
    ),
)
SPACE = (
    Example("twisted cubic, line", (TWISTED_CUBIC,), (Variety((u, 2, 1 - u)),), 2),
    Example("twisted cubic, circle", (TWISTED_CUBIC,), (EQUATOR,), 2),
    Example(
        "twisted cubic, parabola",
        (TWISTED_CUBIC,),
        (Variety((u, u**2, 0)),),
        2,
        V=(TWISTED_CUBIC, Variety((u, 0, 0))),
        remark="x² = y holds on both, so that it is not in G, and V gets a line more than X has",
    ),
    Example(
        "parabola and line, parabola",
        (Variety((0, u, u**2)), Variety((u, 0, 0))),
        (Variety((u, 0, u**2 + 1)),),
        2,
        remark="xy = 0 holds on both; without it <G> counts the line twice and is not radical",
    ),
    Example("Viviani's curve, line", (VIVIANI,), (Variety((1 - u, u, 2 * u)),), 2),
    Example(
        "Viviani's curve, equator",
        (VIVIANI,),
        (EQUATOR,),
        2,
        W=(SPHERE,),
        V=(Variety((1 - u**2, v, u)),),
        remark="the sphere holds on both; V is a surface, and the sphere can be W",
    ),
    Example("sphere, plane", (SPHERE,), (Variety((u, v, u + v)),), 2),
    Example("Cayley's cubic, sphere", (CAYLEY_CUBIC,), (SPHERE,), 3),
    Example("2x2 determinant, hyperplane", (SEGRE,), (Variety((s, t, u, 1 + s - u)),), 2),
    Example(
        "plane and axis, line",
        (PLANE, Z_AXIS),
        (Variety((1 + u, u, 2 * u)),),
        2,
        remark="components of two dimensions: W has the smaller one",
    ),
)

# --- where they do not ---------------------------------------------------------------------------

COUNTEREXAMPLES = (
    Example(
        "plane and axis, cylinder through the axis",
        (PLANE, Z_AXIS),
        (Variety((2, 2 * u, v * (1 + u**2)), over=1 + u**2),),
        2,
        fails=("dim W = min dim V_i", "(2)", "(3)", "(3)'"),
        remark="W is larger than the axis and swallows it",
    ),
    Example(
        "circle, circle and line",
        (CIRCLE,),
        (CIRCLE, Variety((u, 2 - u))),
        2,
        fails=("W irreducible", "(1)", "(2)", "(3)", "(3)'"),
        remark="a reducible W can contain V",
    ),
    Example(
        "four points, line through one of them",
        points((0, 0), (1, 0), (0, 1), (1, 1)),
        (Variety((u, 2 * u)),),
        None,
        fails=("dim W = min dim V_i", "(2)", "(3)", "(3)'"),
        remark="run to exhaustion: V is X, and no irreducible W of dimension 0 contains Y",
    ),
    Example(
        "circle, the same circle",
        (CIRCLE,),
        (CIRCLE,),
        2,
        V=(Variety((u, v)),),
        fails=("G nonzero on Y", "dim W = min dim V_i", "(1)"),
        remark="VanishingIdeal refuses: G is empty, and V is the plane",
    ),
)

EXAMPLES = (*CONICS, *FINITE_SETS, *SPACE, *COUNTEREXAMPLES)
