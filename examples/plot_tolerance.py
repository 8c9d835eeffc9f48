"""
Choosing the tolerance: the spectrum, and what lies in its gap
==============================================================

A polynomial of size 1 counts as an equation if its extent on X is at most the tolerance. Look first
at the *spectrum*, the extents of all polynomials of a degree: if it has a gap, any tolerance in the
gap gives the same equations.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/tolerance.png"

import numpy as np
from matplotlib import pyplot as plt

from vanishing import VanishingIdeal
from vanishing.datasets import make_variety

VANISH, STAY, TOL, INK = "#0072B2", "#B0B0B0", "#D55E00", "#333333"

rng = np.random.default_rng(0)
curve = make_variety("lemniscate", 500)
shake = rng.normal(size=curve.shape)


def spectrum(noise, tol=0):
    """Extents of degree 4; with ``tol=0`` nothing of the lower degrees is taken for an equation."""
    return VanishingIdeal(max_degree=4, tol=tol).fit(curve + noise * shake).trace_[3].spectrum


# %%
# The points lie near a lemniscate, a curve of degree 4 in the shape of an eight, with more and more
# noise. The gradient normalization, the default, measures in the units of X, so the extent of the
# right equation *is* the noise, until the noise is so large that the shape is lost. If the noise is
# known, twice the noise is a good tolerance.

print("noise    extents of degree 4")
for noise in (0.0, 0.001, 0.01, 0.1):
    print(f"{noise:.3f}   ", "  ".join(f"{extent:7.0e}" for extent in spectrum(noise)))

# %%
# If it is not known, ``tol="gap"`` searches for the gap: it splits each degree at the widest gap,
# if the extents on its two sides differ by a factor of five or more, and finds nothing if there is
# no such gap.

print("noise    degrees of the equations:  tol = 2 · noise    tol = 'gap'")
for noise in (0.001, 0.003, 0.01, 0.03):
    ideals = [VanishingIdeal(max_degree=4, tol=tol) for tol in (2 * noise, "gap")]
    degrees = [ideal.fit(curve + noise * shake).basis_.degrees().tolist() for ideal in ideals]
    print(f"{noise:.3f} {degrees[0]!s:>42}    {degrees[1]!s:>11}")

# %%
# Below, the noise is 0.01. A tolerance below the noise finds nothing, and one above it finds the
# curve. One that is too large accepts two cubics that only come near the points. Then the quartic
# is also found, but only few points satisfy all equations.

figure, axes = plt.subplots(
    1, 4, figsize=(11, 3), layout="constrained", width_ratios=[1.25, 1, 1, 1]
)
noises = np.geomspace(0.0005, 0.3, 25)
extents = np.array([spectrum(noise) for noise in noises])
for i in reversed(range(extents.shape[1])):
    axes[0].plot(noises, extents[:, i], color=VANISH if i == 0 else STAY, lw=2.5 if i == 0 else 1.2)
axes[0].plot(noises, noises, color=INK, ls=":", lw=1)
axes[0].set(xscale="log", yscale="log", xlabel="noise", ylabel="extents of degree 4")
axes[0].text(0.004, 0.0022, "extent = noise", rotation=38, fontsize=8, color=INK)
axes[0].spines[["top", "right"]].set_visible(False)

X = curve + 0.01 * shake
window = np.meshgrid(np.linspace(-1.3, 1.3, 300), np.linspace(-0.8, 0.8, 200))
grid = np.column_stack([w.ravel() for w in window])
for axis, tol in zip(axes[1:], (0.005, 0.02, 0.07), strict=True):
    ideal = VanishingIdeal(max_degree=4, tol=tol).fit(X)
    axis.scatter(*X.T, s=3, color=STAY, linewidths=0)
    for values, degree in zip(
        ideal.transform(grid, output="signed").T, ideal.basis_.degrees(), strict=True
    ):
        color, width = (VANISH, 2) if degree == 4 else (TOL, 1.2)
        axis.contour(
            *window, values.reshape(window[0].shape), levels=[0], colors=[color], linewidths=width
        )
    found = ", ".join(map(str, ideal.basis_.degrees())) or "none"
    axis.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.3, 1.3), ylim=(-0.8, 0.8))
    axis.set_title(f"tol = {tol}\nequations of degree: {found}", fontsize=10, color=INK)
    axis.spines[:].set_color("#BBBBBB")
plt.show()
