"""
A lab sheet: the law of the pendulum, and a misread row
=======================================================

Students measure pendulums: the length of the thread, the mass of the bob, the angle at which they
let it go, and the time of ten swings. Every reading has an error. Which quantities does the time
depend on, and how? No formula is assumed and no column is named as the result.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/lab_sheet.png"

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from vanishing import discover

rng = np.random.default_rng(0)
n_readings = 120
length = rng.uniform(0.3, 1.5, n_readings)  # m
mass = rng.uniform(0.05, 0.5, n_readings)  # kg
angle = rng.uniform(2, 8, n_readings)  # degrees, small
period = 2 * np.pi * np.sqrt(length / 9.81)

sheet = pd.DataFrame(
    {
        "length": length + rng.normal(0, 0.004, n_readings),
        "mass": mass + rng.normal(0, 0.002, n_readings),
        "angle": angle + rng.normal(0, 0.1, n_readings),
        "period": period + rng.normal(0, 0.005, n_readings),
    }
)
sheet.loc[41, "period"] *= 1.1  # eleven swings were counted instead of ten
sheet.head().round(3)

# %%
# The law
# -------
# Mass and angle do not appear: the period does not depend on them. The number in the law is 4π²/g.

laws = discover(sheet)
print(laws)
(law,) = laws.equations
assert set(law.columns) == {"length", "period"}

# %%
# Solved for the period, and the acceleration of gravity that it gives. Standard errors come with
# the coefficients.

formula = laws.solve_for("period")[-1]
per_length = float((formula**2).subs("length", 1))
g = 4 * np.pi**2 / per_length
error = g * max(law.standard_errors) / max(1.0, per_length)
print(f"period = {formula.evalf(4)}")
print(f"g = {g:.2f} m/s², standard error {error:.2f}; 9.81 in the book")
assert abs(g - 9.81) < 0.15

# %%
# The misread row
# ---------------
# One row breaks the law. With one law between two quantities, either of them may be wrong, and both
# fixes are listed. The students know which one: the period is 11/10 of the right value. About one
# correct row in 200 is just beyond the noise and is also listed.

findings = laws.check(sheet)
print(findings)
assert 41 in set(findings.to_frame()["row"])

# %%
# The readings, and the law that was found.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
broken = sheet.index.isin(findings.to_frame()["row"])
axis.scatter(
    sheet["length"][~broken], sheet["period"][~broken], s=14, color="#0072B2", label="readings"
)
axis.scatter(
    sheet["length"][broken],
    sheet["period"][broken],
    s=70,
    color="#D55E00",
    marker="X",
    label="breaks the law",
)
grid = np.linspace(0.25, 1.55, 200)
axis.plot(
    grid, [float(formula.subs("length", x)) for x in grid], color="#333333", lw=1.5, label=str(law)
)
axis.set(
    xlabel="length of the thread, m",
    ylabel="period, s",
    title="Pendulums: readings and the law found",
)
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
