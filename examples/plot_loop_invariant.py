"""
A program: the invariant of its loop, found and proved
======================================================

Euclid's algorithm by subtraction, with four more variables for Bézout's coefficients:

.. code-block:: python

    a, b, p, q, r, s = x, y, 1, 0, 0, 1
    while a != b:
        if a > b:
            a, p, r = a - b, p - q, r - s
        else:
            b, q, s = b - a, q - p, s - r

Why is it right? A proof needs the *invariant* of the loop: what holds whenever its head is
reached. Here equations are found in recorded states of the program, made exact, and then proved.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/loop_invariant.png"

import numpy as np
import sympy
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from vanishing import VanishingIdeal
from vanishing.algebra import contains_exactly

NAMES = ["a", "b", "p", "q", "r", "s", "x", "y"]


def states(x, y):
    """All values of the variables at the head of the loop."""
    a, b, p, q, r, s = x, y, 1, 0, 0, 1
    yield a, b, p, q, r, s, x, y
    while a != b:
        if a > b:
            a, p, r = a - b, p - q, r - s
        else:
            b, q, s = b - a, q - p, s - r
        yield a, b, p, q, r, s, x, y


inputs = np.random.default_rng(0).integers(1, 60, size=(40, 2)).tolist()
recorded = np.unique([state for x, y in inputs for state in states(x, y)], axis=0)
print(f"{len(recorded)} states of {len(inputs)} runs, {recorded.shape[1]} variables")

# %%
# The states are integers, so relations hold exactly or not at all, and the tolerance is 0. There
# are 45 monomials of degree at most 2 and far more states, so nothing vanishes by chance.
# ``to_rational`` turns the floating-point equations into ones with integer coefficients, and checks
# in exact arithmetic that they vanish on every recorded state.

ideal = VanishingIdeal(max_degree=2, tol=0).fit(recorded.astype(float))
equations = ideal.to_rational(recorded, NAMES)
for equation in equations:
    print(equation.as_expr(), "= 0")

# %%
# When the loop ends with a = b, the last two say that this number is a combination of x and y, so
# every common divisor of x and y divides it. The first two, y = bp - aq and x = as - br, say that
# it divides both. So it is the greatest common divisor. Two of the five equations follow from the
# other three:

for equation in ideal.to_rational(recorded, NAMES, minimal=True):
    print(equation.as_expr(), "= 0")

# %%
# So far, this has been observed only in some runs. It is proved for all runs by induction: the
# equations hold at the start, and if they hold before a step, they hold after it. "After" means:
# with the new values put in, each equation lies in the ideal of the old ones.

a, b, p, q, r, s, x, y = symbols = sympy.symbols(NAMES)
start = {a: x, b: y, p: 1, q: 0, r: 0, s: 1}
steps = {
    "if a > b": {a: a - b, p: p - q, r: r - s},
    "else": {b: b - a, q: q - p, s: s - r},
}
assert all(equation.as_expr().subs(start).expand() == 0 for equation in equations)
print("start     holds")
for name, step in steps.items():
    for equation in equations:
        after = equation.as_expr().subs(step, simultaneous=True).expand()
        assert contains_exactly(equations, after)
    print(f"{name:9} preserved")

# %%
# A picture of what the program does: a rectangle of 58 by 21 loses a square at every subtraction,
# until a square is left, whose side is the greatest common divisor, here 1.

COLORS = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73")
figure, axis = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
left, bottom, turns, was_wide = 0, 0, 0, True
for a, b, *_ in states(58, 21):
    side, is_wide = min(a, b), a > b
    turns += is_wide != was_wide
    color = COLORS[turns % len(COLORS)]
    axis.add_patch(Rectangle((left, bottom), side, side, fc=color, ec="white", lw=1.5))
    if side > 1:
        middle = left + side / 2, bottom + side / 2
        axis.text(*middle, side, ha="center", va="center", color="white", fontsize=6 + 0.7 * side)
    left, bottom = (left + side, bottom) if is_wide else (left, bottom + side)
    was_wide = is_wide
axis.set(xlim=(0, 58), ylim=(0, 21), aspect="equal", xticks=[0, 21, 42, 58], yticks=[0, 16, 21])
axis.set_title("gcd(58, 21): the side of each square is what one turn of the loop subtracts")
axis.spines[:].set_visible(False)
plt.show()
