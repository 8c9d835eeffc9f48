"""
A tumbling body: what stays the same
====================================

Throw a book into the air with a spin about its middle axis, and it does not only spin, it tumbles.
A sensor inside records the angular velocity ω, in the body's own axes, with noise. What is
conserved in this motion? A quantity that is constant along each throw, and different from throw to
throw, can be found without knowing the body or the laws of motion.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/conserved_quantity.png"

import numpy as np
from matplotlib import pyplot as plt
from scipy.integrate import solve_ivp
from scipy.linalg import subspace_angles

from vanishing import discover
from vanishing.laws import discover_invariants, discover_odes

INERTIA = np.array([1.0, 2.0, 3.0])  # moments about the three axes; the fit does not know them
NAMES = ["w1", "w2", "w3"]
COLORS, INK = ("#0072B2", "#D55E00", "#009E73"), "#333333"


def tumble(start, duration=15, n_readings=150):
    """Angular velocities of a free body: Euler's equations."""
    return solve_ivp(
        lambda t, omega: np.cross(INERTIA * omega, omega) / INERTIA,
        (0, duration),
        start,
        t_eval=np.linspace(0, duration, n_readings),
        method="DOP853",
        rtol=1e-11,
        atol=1e-12,
    ).y.T


rng = np.random.default_rng(0)
clean = [tumble(start) for start in rng.normal(size=(8, 3))]
spreads = np.concatenate(clean).std(axis=0)
throws = [motion + 0.01 * spreads * rng.normal(size=motion.shape) for motion in clean]

# %%
# Eight throws, with noise of 1 % of the spread of each column. Two invariants are found.

invariants = discover_invariants(throws, feature_names=NAMES)
print(invariants)
assert len(invariants) == 2

# %%
# A free body has two conserved quantities of degree 2: its energy, and the square of its angular
# momentum,
#
# .. math:: 2E = \sum I_i \omega_i^2, \qquad |L|^2 = \sum I_i^2 \omega_i^2.
#
# Any two combinations of them are equally good, and the shortest are listed. So we compare the
# planes that they span in the space of coefficients.

found = np.zeros((2, 3))
for row, invariant in zip(found, invariants, strict=True):
    for powers, value in zip(invariant.exponents, invariant.coefficients, strict=True):
        row[np.argmax(powers)] = value
angles = subspace_angles(found.T, np.array([INERTIA, INERTIA**2]).T)
print(f"angle between the planes: {np.degrees(angles).max():.2f} degrees")
assert np.degrees(angles).max() < 1

# %%
# A single throw, here the fourth, satisfies an equation that holds on no other throw, so it is not
# a property of the body.

print(discover(throws[3], NAMES))

# %%
# The equations of motion can be found from the same records.

odes = discover_odes(throws, 15 / 149, feature_names=NAMES)
print(odes)

# %%
# Left: the trajectories of one energy, with that of the fourth throw. Right: a throw that was not
# used for the fit: the angular velocities change, the invariants do not.

other = tumble([0.9, 0.5, 0.4])
other = other + 0.01 * spreads * rng.normal(size=other.shape)
values = invariants.values(other)

figure = plt.figure(figsize=(9.5, 4), layout="constrained")
space, time = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
energy = np.sum(INERTIA * clean[3][0] ** 2)
radii = np.sqrt(energy / INERTIA)  # of the ellipsoid of this energy
theta, phi = np.meshgrid(np.linspace(0, np.pi, 60), np.linspace(0, 2 * np.pi, 90))
ball = np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
space.computed_zorder = False
space.plot_surface(*(radii[:, None, None] * ball), color="#E3EEF6", lw=0, shade=False)
eye = np.array([np.cos(0.5) * np.cos(0.9), np.cos(0.5) * np.sin(0.9), np.sin(0.5)])


def draw(curve, **style):
    """Draw the part of a curve on the ellipsoid that faces us."""
    faces_us = (INERTIA * curve) @ eye > 0
    space.plot(*np.where(faces_us[:, None], 1.01 * curve, np.nan).T, **style)


for start in ([0.3, 0.9, 0], [0.6, 0.7, 0], [1.1, 0.3, 0], [0, 0.85, 0.3], [0, 0.5, 0.5]):
    start = np.array(start) * np.sqrt(energy / np.sum(INERTIA * np.square(start)))
    for sign in (1, -1):
        draw(sign * tumble(start, 40, 600), color="#8A8A8A", lw=0.8)
for sign in (1, -1):  # the one of the two that faces us shows
    draw(sign * tumble(clean[3][0], 40, 600), color=COLORS[0], lw=3)
for i in range(3):
    axis = np.outer([1, 1.45], radii * np.eye(3)[i])
    space.plot(*axis.T, color=INK, lw=1)
    space.text(*(1.08 * axis[1]), rf"$\omega_{i + 1}$", color=INK, fontsize=12)
space.view_init(np.degrees(0.5), np.degrees(0.9))
space.set_box_aspect(radii, zoom=1.55)
space.axis("off")
clock = np.linspace(0, 15, len(other))
for i, color in enumerate(COLORS):
    time.plot(clock, other[:, i], color=color, lw=1.2, label=rf"$\omega_{i + 1}$")
for invariant, value in zip(invariants, values.T, strict=True):
    time.plot(clock, value, color=INK, lw=1.6)
    written = invariant.latex.removesuffix(r" = \mathrm{const}").replace("w_", r"\omega_")
    time.text(0, value.mean() + 0.06, f"${written}$", color=INK, va="bottom", fontsize=10)
time.set(xlabel="time", title="another throw: the ω change, the invariants do not")
time.title.set(fontsize=10, color=INK)
time.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1.02))
time.spines[["top", "right"]].set_visible(False)
plt.show()
