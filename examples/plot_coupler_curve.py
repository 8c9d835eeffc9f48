"""
A four-bar linkage: the curve that a point of the coupler draws
===============================================================

A crank turns, a rocker follows, and a plate, the *coupler*, joins their ends. The point P of the
plate draws a closed curve, used in sewing machines, film cameras and walking robots. It has been
known since the 1870s (Samuel Roberts) that this is a curve of degree 6, of a special kind: the
terms of its highest degree are those of (x² + y²)³. Here the equation is found from positions of P
alone.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/coupler_curve.png"

import numpy as np
import sympy
from matplotlib import pyplot as plt

from vanishing import VanishingIdeal

GROUND, CRANK, COUPLER, ROCKER = 4.0, 2.0, 3.5, 3.0
ALONG, ACROSS = 2.0, 1.5  # where P is on the plate
SEEN, UNSEEN, INK, GREY = "#0072B2", "#D55E00", "#333333", "#B0B0B0"


def joints(angle, side):
    """Ends A of the crank and B of the rocker, and the point P; ``side``: one of two assemblies."""
    A = CRANK * np.column_stack([np.cos(angle), np.sin(angle)])
    to_D = np.array([GROUND, 0.0]) - A
    length = np.linalg.norm(to_D, axis=1, keepdims=True)
    to_D /= length
    foot = (COUPLER**2 + length**2 - ROCKER**2) / (2 * length)  # law of cosines
    B = A + foot * to_D + side * np.sqrt(COUPLER**2 - foot**2) * (to_D @ [[0, 1], [-1, 0]])
    bar = (B - A) / COUPLER
    return A, B, A + ALONG * bar + ACROSS * (bar @ [[0, 1], [-1, 0]])


angle = np.linspace(0, 2 * np.pi, 300, endpoint=False)
A, B, P = joints(angle, side=+1)

# %%
# The points are exact, so the tolerance is 0: rounding errors are recognized automatically. Powers
# up to the sixth are best taken of numbers around 1, so the curve is centred and scaled. No
# polynomial below degree 6 vanishes, and one of degree 6 does.

centre, size = P.mean(axis=0), np.abs(P - P.mean(axis=0)).max()
ideal = VanishingIdeal(max_degree=6, tol=0).fit((P - centre) / size)
for step in ideal.trace_:
    print(f"degree {step.degree}: {step.vanishing} vanish, smallest extent {step.spectrum[0]:.0e}")

# %%
# Is it right? First, its terms of degree 6 are those of (x² + y²)³, up to rounding; the curve
# is *tricircular*, as the theorem says.

x, y = sympy.symbols("x y")
equation = sympy.Poly(ideal.to_sympy(["x", "y"])[0], x, y)
equation = equation.mul_ground(1 / equation.coeff_monomial(x**6))
expected = sympy.Poly((x**2 + y**2) ** 3, x, y)
for i in range(7):
    monomial = x ** (6 - i) * y**i
    value = float(equation.coeff_monomial(monomial))
    print(f"{monomial!s:>10}  {value:+.9f}   theorem {expected.coeff_monomial(monomial)}")
    assert abs(value - expected.coeff_monomial(monomial)) < 1e-6

# %%
# Second, the linkage can be put together in another way, with the rocker on the other side. The
# point then draws another closed curve, of which no position was used. It is the other
# part of the same algebraic curve, so the equation must hold there too.

_, _, other = joints(angle, side=-1)
values = ideal.transform((other - centre) / size)[:, 0]
typical = np.median(ideal.transform(np.random.default_rng(0).uniform(-3, 3, (1000, 2))))
print(f"largest value on the other curve {values.max():.0e}, at random points about {typical:.2g}")
assert values.max() < 1e-6 * typical

figure, axis = plt.subplots(figsize=(7.5, 5.4), layout="constrained")
window = np.meshgrid(np.linspace(-1.6, 6, 400), np.linspace(-1.9, 4.3, 400))
grid = (np.column_stack([w.ravel() for w in window]) - centre) / size
field = ideal.transform(grid, output="signed").reshape(window[0].shape)
axis.contour(*window, field, levels=[0], colors=[UNSEEN], linewidths=1.6, linestyles="--")
axis.plot(*np.vstack([P, P[:1]]).T, color=SEEN, lw=3, label="positions that were used")
axis.plot([], [], color=UNSEEN, ls="--", label="zeros of the equation that was found")
i = 40
axis.fill(*np.array([A[i], B[i], P[i]]).T, color=GREY, alpha=0.35, lw=0)
axis.plot(*np.array([[0, 0], A[i], B[i], [GROUND, 0]]).T, "-o", color=INK, lw=2.5, ms=6)
axis.plot(*P[i], "o", color=SEEN, ms=9)
for point, name in ((0.4 * A[i], "crank"), (0.5 * (B[i] + [GROUND, 0]), "rocker")):
    axis.annotate(name, point, xytext=(9, -6), textcoords="offset points", color=INK)
axis.annotate("P", P[i], xytext=(6, 8), textcoords="offset points", color=SEEN, weight="bold")
axis.legend(frameon=False, loc="lower center", ncols=2, bbox_to_anchor=(0.5, -0.04))
axis.set(aspect="equal", title="A four-bar linkage: its coupler point P draws a curve of degree 6")
axis.axis("off")
plt.show()
