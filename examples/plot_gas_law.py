"""
The gas law, from noisy readings
================================

A vessel holds n moles of a gas at pressure p, volume V and temperature T. All four are measured,
each with an error of half a percent. Which equation relates them? We assume only that its degree is
at most 2.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/gas_law.png"

import numpy as np
import sympy
from matplotlib import pyplot as plt

from vanishing import VanishingIdeal

R = 8.314462618  # joules per mole and kelvin: what is to be found
NOISE = 0.005
NAMES = ["p", "V", "n", "T"]
FOUND, OTHER, INK = "#0072B2", "#B0B0B0", "#333333"

rng = np.random.default_rng(0)
n = rng.uniform(0.2, 2, 1000)  # moles
V = rng.uniform(5, 50, 1000)  # litres
T = rng.uniform(200, 600, 1000)  # kelvins
readings = np.column_stack([n * R * T / V, V, n, T])  # litres and kilopascals
readings *= 1 + NOISE * rng.normal(size=readings.shape)

# %%
# Columns in such different units cannot be added, so each is divided by a round typical value.
# (Subtracting means as well would spread pV over other terms.) An extent is then about a relative
# error, and three times the noise is a safe tolerance: the next polynomial is ten times above it.

UNITS = np.array([100, 20, 1, 300])
ideal = VanishingIdeal(max_degree=2, tol=3 * NOISE).fit(readings / UNITS)
for step in ideal.trace_:
    print(f"degree {step.degree}: {step.vanishing} vanish, extents {step.spectrum[:3].round(4)}")

# %%
# There is one equation, and two of its 15 terms stand out. The coefficients of the others should be
# 0 and are only noise. The two have opposite signs: pV is proportional to nT.

p, V, n, T = symbols = sympy.symbols(NAMES)
equation = sympy.Poly(ideal.to_sympy(NAMES)[0], *symbols)
coefficients = {
    sympy.prod(symbol**power for symbol, power in zip(symbols, powers, strict=True)): float(c)
    for powers, c in equation.terms()
}
ranked = sorted(coefficients, key=lambda monomial: -abs(coefficients[monomial]))
for monomial in ranked[:4]:
    print(f"{coefficients[monomial] / coefficients[n * T]:+.3f}  {monomial}")
assert set(ranked[:2]) == {p * V, n * T}

# %%
# The ratio of the two is the gas constant. It is less precise than it could be, because the small
# terms also contribute. Now that the form of the law is known, they can be left out, and R is the
# average of a single number over the readings:

ratio = -coefficients[n * T] / coefficients[p * V]
pressure, volume, moles, temperature = readings.T
estimate = np.median(pressure * volume / (moles * temperature))
print(f"R from the coefficients  {ratio * UNITS[0] * UNITS[1] / UNITS[3]:.2f}")
print(f"R from the form          {estimate:.3f}")
print(f"R                        {R:.3f}")
assert abs(estimate / R - 1) < 0.005

# %%
# Where does the law end? Two moles of cold carbon dioxide are compressed, without noise. A real gas
# falls below the law as it gets denser; here van der Waals' equation predicts by how much. The
# equation that was found is violated by nearly that much: minus its value over its term with nT is
# pV/nRT - 1, the deviation that chemists plot.

a, b = 364.0, 0.0427  # of carbon dioxide, in kPa L²/mol² and L/mol
volume = np.linspace(6, 50, 100)
pressure = 2 * R * 230 / (volume - 2 * b) - a * (2 / volume) ** 2
gas = np.column_stack([pressure, volume, np.full(100, 2.0), np.full(100, 230.0)]) / UNITS
deviation = -ideal.transform(gas, output="signed")[:, 0] / (coefficients[n * T] * 2 * 230 / 300)
true_deviation = pressure * volume / (2 * R * 230) - 1
print(f"largest difference {np.abs(deviation - true_deviation).max():.4f}")
assert np.abs(deviation - true_deviation).max() < 3 * NOISE

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
names = [f"${sympy.latex(m, order='none')}$" for m in ranked]
heights = [coefficients[m] / coefficients[n * T] for m in ranked]
colors = [FOUND if m in (p * V, n * T) else OTHER for m in ranked]
axes[0].bar(range(len(ranked)), heights, color=colors)
axes[0].axhline(0, color=INK, lw=0.8)
axes[0].set_xticks(range(len(ranked)), names)
axes[0].set_title("coefficients of the equation", fontsize=10, color=INK)
axes[1].axhspan(-3 * NOISE, 3 * NOISE, color=OTHER, alpha=0.3, lw=0)
axes[1].plot(volume, deviation, color=FOUND, lw=2.5, label="value of the equation")
axes[1].plot(volume, true_deviation, color=INK, ls="--", label="van der Waals, pV/nRT − 1")
axes[1].text(50, 2 * NOISE, "tolerance", ha="right", va="center", fontsize=9, color=INK)
axes[1].set(xlabel="volume of 2 mol at 230 K, litres")
axes[1].yaxis.set_major_formatter("{x:.0%}")
axes[1].set_title("a real gas breaks it", fontsize=10, color=INK)
axes[1].legend(frameon=False, fontsize=9, loc="lower right")
for axis in axes:
    axis.spines[["top", "right"]].set_visible(False)
plt.show()
