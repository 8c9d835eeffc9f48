"""
Normalizations compared: the same points under all five
=======================================================

An equation can be made arbitrarily small by shrinking its coefficients, so a rule must fix its
size. The rule determines which equation holds best. This example has noisy points near an arc of an
ellipse, and shows the quadric that each of the five rules prefers.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/normalizations.png"

import numpy as np
from matplotlib import pyplot as plt

from vanishing import VanishingIdeal

NOISE = 0.03
POINTS, CONTRAST, INK = "#0072B2", "#E69F00", "#333333"


def on_ellipse(low, high, rng):
    """Points near an arc of the ellipse x²/4 + y² = 1."""
    angle = rng.uniform(low, high, 150)
    ellipse = np.column_stack([2 * np.cos(angle), np.sin(angle)])
    return ellipse + NOISE * rng.normal(size=ellipse.shape)


rng = np.random.default_rng(4)
X = on_ellipse(-0.6, 2.6, rng)
Y = on_ellipse(2.9, 5.3, rng)  # the rest of the ellipse

# %%
# An extent is the root mean square on X of a polynomial of size 1, so the meaning of extents and of
# the tolerance depends on the rule. For each rule, the tolerance lies between the best quadric and
# the next one. The last columns of the table show what happens when X is in other units, with
# numbers ten times as large: extents stay the same, grow tenfold, or do something else.

TOLERANCES = {
    "contrastive": 0.1,  # a ratio, X to Y
    "gradient": 0.07,  # a length, as X has it
    "gradient-weighted": 0.07,
    "coefficient": 0.045,
    "vca": 0.17,  # a pure number
}
print("normalization        extents of degree 2     the same, X ten times as large")
ideals = {}
for name, tol in TOLERANCES.items():
    extents = []
    for scale in (1, 10):
        contrast = {"contrast": scale * Y} if name == "contrastive" else {}
        ideal = VanishingIdeal(tol=tol, normalization=name).fit(scale * X, **contrast)
        extents.append(ideal.trace_[1].spectrum)
        ideals.setdefault(name, ideal)
    print(f"{name:18}  ", *("".join(f"{e:7.3f} " for e in some) + "  " for some in extents))

# %%
# The first rule answers a different question: what holds on X and *not on Y*? The ellipse holds on
# both, so it is not an answer. Of the others, the gradient comes closest to the true ellipse,
# because its extents are nearly distances, and least squares of distances suit Gaussian noise. The
# others measure size differently, and noise pulls their curves inwards or outwards. How close do
# they come to the unseen rest of the ellipse?

for name, ideal in ideals.items():
    values = ideal.basis_.evaluate(Y)[:, 0]
    slopes = np.linalg.norm(ideal.basis_.jacobian(Y)[:, 0], axis=1)
    print(f"{name:18}  distance of Y from the curve, about {np.mean(np.abs(values / slopes)):.2f}")

# %%
# In the shaded region, the polynomial is at most twice its extent.

figure, axes = plt.subplots(2, 5, figsize=(11, 3.9), layout="constrained", height_ratios=[3, 2])
window = np.meshgrid(np.linspace(-2.8, 2.8, 300), np.linspace(-1.9, 1.9, 200))
grid = np.column_stack([w.ravel() for w in window])
for (name, ideal), (plane, spectrum) in zip(ideals.items(), axes.T, strict=True):
    values = ideal.transform(grid, output="signed")[:, 0].reshape(window[0].shape)
    band = 2 * ideal.extents_[0]
    plane.contourf(*window, np.abs(values), levels=[0, band], colors=["#DDEBF5"])
    plane.contour(*window, values, levels=[0], colors=[INK], linewidths=1.5)
    plane.scatter(*Y.T, s=5, color=CONTRAST, marker="^", linewidths=0)
    plane.scatter(*X.T, s=5, color=POINTS, linewidths=0)
    plane.set(aspect="equal", xticks=[], yticks=[])
    plane.set_title(name, fontsize=11, color=INK)
    plane.spines[:].set_color("#BBBBBB")
    extents = ideal.trace_[1].spectrum
    colors = [INK if extent <= ideal.tol else "#B0B0B0" for extent in extents]
    spectrum.scatter(range(1, 4), extents, color=colors, s=30, zorder=3)
    spectrum.axhline(ideal.tol, color="#D55E00", lw=1, ls="--")
    spectrum.set(yscale="log", ylim=(0.01, 2), xlim=(0.5, 3.5), xticks=[])
    spectrum.tick_params(labelleft=name == "contrastive", labelsize=9)
    spectrum.spines[["top", "right"]].set_visible(False)
axes[1, 0].set_ylabel("extent", fontsize=10, color=INK)
axes[1, 0].text(3.5, 0.11, "tol", color="#D55E00", ha="right", va="bottom", fontsize=9)
plt.show()
