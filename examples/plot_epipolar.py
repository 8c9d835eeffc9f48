"""
Two cameras: the epipolar constraint, and matches that break it
===============================================================

Two cameras look at the same scene. Nothing is known about either of them; the only data are
matches: a point (u, v) of the left picture and the point (u', v') of the right one that shows the
same thing. Seen as points of a space of four dimensions, right matches satisfy one equation of
degree 2,

.. math:: (u', v', 1) \\, F \\, (u, v, 1)^T = 0,

and its nine coefficients are the *fundamental matrix* F. Here it is found from the matches alone,
although one in ten of them is wrong.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/epipolar.png"

import numpy as np
import sympy
from matplotlib import pyplot as plt
from scipy.spatial.transform import Rotation

from vanishing import VanishingIdeal

WIDTH, HEIGHT, FOCAL, NOISE = 640, 480, 400, 0.5  # pixels
NAMES = ["u", "v", "u2", "v2"]
RIGHT, WRONG, INK = "#0072B2", "#D55E00", "#333333"

rng = np.random.default_rng(1)
turn = Rotation.from_euler("yxz", [60, -4, -12], degrees=True).as_matrix()
shift = -turn @ [5.0, 0.5, 3.0]  # the right camera stands at (5, 0.5, 3)


def picture(scene, turn, shift):
    """Project points of space to pixels."""
    seen = scene @ turn.T + shift
    return FOCAL * seen[:, :2] / seen[:, 2:] + [WIDTH / 2, HEIGHT / 2]


scene = rng.uniform([-4, -3, 3], [5, 3, 10], size=(6000, 3))
matches = np.hstack([picture(scene, np.eye(3), np.zeros(3)), picture(scene, turn, shift)])
matches += NOISE * rng.normal(size=matches.shape)
frame = [WIDTH, HEIGHT] * 2
matches = matches[np.all((matches > 0) & (matches < frame), axis=1)][:600]
is_wrong = np.arange(len(matches)) % 10 == 0
matches[is_wrong, 2:] = rng.uniform([0, 0], [WIDTH, HEIGHT], size=(is_wrong.sum(), 2))

# %%
# The gradient normalization turns the values of an equation into lengths: g(x) is about the
# distance of the match x from the surface g = 0, in pixels (Sampson's distance, in computer
# vision). So right matches have values of about the noise, half a pixel, and a tolerance of twice
# the noise finds what holds up to it. Wrong matches are far off and would spoil the fit. As is
# usual there, a first equation comes from many small random samples, one of which happens to
# contain no wrong matches; it decides which matches are used. Pixel coordinates are measured from
# the center of each picture.

points = matches - np.divide(frame, 2)
best = np.full(len(points), np.inf)
for _ in range(200):
    draw = rng.choice(points, 30, replace=False)
    rough = VanishingIdeal(max_degree=2, tol=4 * NOISE).fit(draw)
    if len(rough.extents_):
        distance = rough.transform(points)[:, np.argmin(rough.extents_)]
        best = min(best, distance, key=np.median)

for _ in range(3):
    ideal = VanishingIdeal(max_degree=2, tol=2 * NOISE).fit(points[best < 3 * NOISE])
    best = ideal.transform(points)[:, 0]

for step in ideal.trace_:
    print(f"degree {step.degree}: {step.vanishing} vanish, extents {step.spectrum[:3].round(2)}")

# %%
# A quadric in four variables has 15 coefficients. The nine of u'u, u'v, ..., 1 are F. The other six
# belong to products within one picture, and are only noise: nothing forced them to be 0. The truth
# is known here: it follows from where the cameras stand (*essential matrix*).

u, v, u2, v2 = sympy.symbols(NAMES)
equation = sympy.Poly(ideal.to_sympy(NAMES)[0], u, v, u2, v2)
found = np.array([[float(equation.coeff_monomial(q * p)) for p in (u, v, 1)] for q in (u2, v2, 1)])
within = [float(equation.coeff_monomial(p)) for p in (u**2, u * v, v**2, u2**2, u2 * v2, v2**2)]

# In units of the focal length, so that coefficients of all degrees can be compared.
pixels = np.diag([FOCAL, FOCAL, 1])
ours, true = pixels @ found @ pixels, np.cross(np.eye(3), shift).T @ turn
rest = FOCAL**2 * np.abs(within).max() / np.linalg.norm(ours)
ours, true = ours / np.linalg.norm(ours), true / np.linalg.norm(true)
ours *= np.sign(np.sum(ours * true))
print("found                 true")
for pair in zip(ours, true, strict=True):
    print("   ".join("  ".join(f"{value:+.2f}" for value in row) for row in pair))
print(f"difference {np.linalg.norm(ours - true):.3f}, of matrices of norm 1")
print(f"the other six coefficients are at most {rest:.3f}")
assert np.linalg.norm(ours - true) < 0.05

# %%
# A matrix of this kind has two equal singular values, and the third is 0. This was not enforced
# either:

print(np.linalg.svd(ours)[1].round(3))

# %%
# Every point of the left picture has a line on the right, on which its match must lie. Right
# matches are on their lines, wrong ones are not, unless by chance.

figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained", width_ratios=[4, 4, 3.4])
by_height = np.argsort(matches[:, 3])
shown_right = by_height[~is_wrong[by_height]][20::40]
shown_wrong = by_height[is_wrong[by_height]][3::12]
for axis, columns, title in ((axes[0], slice(0, 2), "left"), (axes[1], slice(2, 4), "right")):
    for rows, color, marker in ((shown_right, RIGHT, "o"), (shown_wrong, WRONG, "X")):
        axis.scatter(*matches[rows, columns].T, color=color, marker=marker, s=36, zorder=3)
    axis.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0), xticks=[], yticks=[], aspect="equal")
    axis.set_title(f"{title} picture", fontsize=10, color=INK)
for rows, color in ((shown_right, RIGHT), (shown_wrong, WRONG)):
    for a, b, c in np.column_stack([points[rows, :2], np.ones(len(rows))]) @ found.T:
        across = np.array([-WIDTH / 2, WIDTH / 2])
        down = -(a * across + c) / b
        axes[1].plot(across + WIDTH / 2, down + HEIGHT / 2, color=color, lw=0.8, alpha=0.7)
bins = np.geomspace(0.01, 300, 36)
axes[2].hist(best[~is_wrong], bins, color=RIGHT, alpha=0.8)
axes[2].hist(best[is_wrong], bins, color=WRONG, alpha=0.8)
axes[2].axvline(3 * NOISE, color=INK, lw=1, ls="--")
axes[2].set(xscale="log", xlabel="|g|, about pixels", yticks=[])
axes[2].text(0.012, 60, "right\nmatches", color=RIGHT)
axes[2].text(30, 16, "wrong\nmatches", color=WRONG)
axes[2].spines[["left", "top", "right"]].set_visible(False)

used = best < 3 * NOISE
print(f"wrong matches recognized: {np.mean(~used[is_wrong]):.0%}")
print(f"right matches kept: {np.mean(used[~is_wrong]):.0%}")
plt.show()
