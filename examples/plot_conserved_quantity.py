"""
A tumbling body: what stays the same
====================================

Throw a book into the air with a spin about its middle axis, and it does not only spin, it tumbles.
A sensor inside records the angular velocity ω, in the body's own axes. What is conserved in
this motion? Quantities that are constant along a trajectory are equations of it, q(ω) = const, and
those of degree 2 can be found without knowing the body or the laws of motion.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/conserved_quantity.png"

import numpy as np
import sympy
from matplotlib import pyplot as plt
from scipy.integrate import solve_ivp
from scipy.linalg import subspace_angles

from vanishing import VanishingIdeal

INERTIA = np.array([1.0, 2.0, 3.0])  # moments about the three axes; the fit does not know them
COLORS, INK = ("#0072B2", "#D55E00", "#009E73"), "#333333"


def tumble(start, duration=40, n_readings=600):
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


motion = tumble([0.1, 1.0, 0.15])

# %%
# Two quadrics vanish, to the precision of the integrator; the next polynomial is ten orders of
# magnitude above them, so that any tolerance in between does.

ideal = VanishingIdeal(max_degree=2, tol=1e-6).fit(motion)
print("extents of degree 2:", *(f"{extent:.0e}" for extent in ideal.trace_[1].spectrum))
for equation in ideal.to_latex(["w1", "w2", "w3"], digits=3):
    print(equation)
assert [step.vanishing for step in ideal.trace_] == [0, 2]

# %%
# A body that is free has two conserved quantities of degree 2: its energy, and the square of its
# angular momentum,
#
# .. math:: 2E = \sum I_i \omega_i^2, \qquad |L|^2 = \sum I_i^2 \omega_i^2.
#
# Any two combinations of them are as good, so what has to be compared are the planes that
# they span, in the space of coefficients.

w = sympy.symbols("w1:4")
monomials = sorted(sympy.itermonomials(w, 2), key=str)
found = [
    [float(sympy.Poly(g, *w).coeff_monomial(m)) for m in monomials if m != 1]
    for g in ideal.to_sympy(list(map(str, w)))
]
squares = np.array([[float(m == v**2) for m in monomials if m != 1] for v in w])
true = np.array([INERTIA, INERTIA**2]) @ squares
angles = subspace_angles(np.transpose(found), true.T)
print(f"angles between the planes: {np.degrees(angles).max():.0e} degrees")
assert angles.max() < 1e-6

# %%
# They were found on one motion, but they are no property of it. Along any other motion of the
# same body they are constant too, with other values. This is what makes them conserved
# quantities, and it can be tried: another throw, about another axis.

other = tumble([0.9, 0.5, 0.4])
values = ideal.transform(other, output="signed")
for value, spread in zip(values.mean(axis=0), values.std(axis=0), strict=True):
    print(f"along the other motion {value:+.3f}, constant up to {spread:.0e}")
assert values.std(axis=0).max() < 1e-9

figure = plt.figure(figsize=(9.5, 4), layout="constrained")
space, time = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
energy = np.sum(INERTIA * motion[0] ** 2)
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
        draw(sign * tumble(start), color="#8A8A8A", lw=0.8)
draw(motion, color=COLORS[0], lw=3)
for i in range(3):
    axis = np.outer([1, 1.45], radii * np.eye(3)[i])
    space.plot(*axis.T, color=INK, lw=1)
    space.text(*(1.08 * axis[1]), f"$\\omega_{i + 1}$", color=INK, fontsize=12)
space.view_init(np.degrees(0.5), np.degrees(0.9))
space.set_box_aspect(radii, zoom=1.55)
space.axis("off")
clock = np.linspace(0, 40, len(other))
for i, color in enumerate(COLORS):
    time.plot(clock, other[:, i], color=color, lw=1.2, label=f"$\\omega_{i + 1}$")
for i, value in enumerate(values.T):
    time.plot(clock, value, color=INK, lw=3)
    time.text(40.6, value[0], f"$g_{i + 1}$", color=INK, va="center", fontsize=12)
time.set(xlabel="time", title="another motion: the ω change, the polynomials do not")
time.title.set(fontsize=10, color=INK)
time.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1.02))
time.spines[["top", "right"]].set_visible(False)
plt.show()
