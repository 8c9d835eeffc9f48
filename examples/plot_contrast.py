"""
Choosing the contrast: what the equations are for
=================================================

The contrast Y determines what the equations should distinguish X from. Here the same X, points
along half a circle, gets four different contrasts. Nothing else changes, but the equation that
holds best is different each time.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/contrast.png"

import numpy as np
from matplotlib import pyplot as plt

from vanishing import VanishingIdeal

POINTS, CONTRAST, INK = "#0072B2", "#E69F00", "#333333"

rng = np.random.default_rng(0)


def on_circle(low, high, n_points):
    """Points near an arc of the unit circle."""
    angle = rng.uniform(low, high, n_points)
    radius = 1 + 0.01 * rng.normal(size=n_points)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


X = on_circle(-1.6, 1.6, 200)
CONTRASTS = {
    "the rest of the circle": on_circle(1.9, 4.4, 200),
    "X, turned by a half": -X,
    "a box around X": rng.uniform([-1.6, -1.6], [1.6, 1.6], size=(2000, 2)),
    "X, columns permuted": np.column_stack([rng.permutation(column) for column in X.T]),
}

# %%
# With the contrastive normalization, a polynomial has root mean square 1 on Y, and its extent is
# its root mean square on X, which is small if the polynomial distinguishes X from Y. Its values
# elsewhere do not matter.
#
# * **Another class** in the same region as X gives an equation that separates the two. The circle,
#   which holds on both, does not help and is not found.
# * **Transformed copies of X** do much the same if no other class is known: the paper rotates
#   images.
# * **Random points** in the surrounding space give the circle: they differ from X by not being on
#   it, but another class on the circle does not. This is the subject of the paper's Theorem 6.
# * **Permuted columns** keep the range of each variable but lose the relation between them. The
#   equation is this relation, again the circle. This is the usual choice for tables, where
#   anomalies are rows that break such relations.
#
# The table shows the difference: the size of each equation on a class on the rest of the circle,
# which none of the fits has seen.

figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), layout="constrained")
window = np.meshgrid(np.linspace(-1.7, 1.7, 300), np.linspace(-1.7, 1.7, 300))
grid = np.column_stack([w.ravel() for w in window])
unseen = on_circle(1.9, 4.4, 1000)  # another class on the same circle
print("contrast                 extent   on another class of the circle")
for (name, Y), plane in zip(CONTRASTS.items(), axes, strict=True):
    ideal = VanishingIdeal(max_degree=2, tol=0.1, normalization="contrastive")
    ideal.fit(X, contrast=Y)
    best = int(np.argmin(ideal.extents_))
    elsewhere = np.sqrt(np.mean(ideal.transform(unseen)[:, best] ** 2))
    print(f"{name:23}   {ideal.extents_[best]:.3f}   {elsewhere:.3f}")
    values = ideal.transform(grid, output="signed")[:, best].reshape(window[0].shape)
    band = 3 * ideal.extents_[best]
    plane.contourf(*window, np.abs(values), levels=[0, band], colors=["#DDEBF5"])
    plane.contour(*window, values, levels=[0], colors=[INK], linewidths=1.5)
    plane.scatter(*Y[:300].T, s=7, color=CONTRAST, marker="^", linewidths=0, alpha=0.8)
    plane.scatter(*X.T, s=7, color=POINTS, linewidths=0)
    plane.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.7, 1.7), ylim=(-1.7, 1.7))
    plane.set_title(name, fontsize=10, color=INK)
    plane.spines[:].set_color("#BBBBBB")
plt.show()
