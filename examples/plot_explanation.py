"""
Explaining an alarm: which sensor is broken?
============================================

A pump has seven sensors, and physics ties their readings together. The detector does not know the
physics. It learns the equations from normal readings, and shows for an alarm which equations are
broken and by which sensors.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/explanation.png"

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from vanishing import VanishingDetector
from vanishing.plotting import ExplanationDisplay


def normal_readings(n_rows, rng):
    """Readings of a healthy pump, each with a noise of one percent."""
    speed = rng.uniform(20, 50, n_rows)  # turns per second
    valve = rng.uniform(0.3, 1.0, n_rows)  # how far it is open
    ambient = rng.normal(20, 3, n_rows)
    flow = 0.8 * speed * valve
    pressure = 0.01 * speed**2 * (1.2 - 0.6 * valve)
    power = 0.5 + flow * pressure / 60
    table = pd.DataFrame(
        {
            "speed": speed,
            "valve": valve,
            "flow": flow,
            "pressure": pressure,
            "power": power,
            "ambient": ambient,
            "temperature": ambient + 8 * power,
        }
    )
    return table * (1 + 0.01 * rng.normal(size=table.shape))


rng = np.random.default_rng(0)
detector = VanishingDetector(contamination=0.01, calibration=0.3)
detector.fit(normal_readings(1500, rng))
today = normal_readings(10, rng)

# %%
# The pressure sensor begins to read a quarter too high. The reading is well within the usual range
# of the pressure, but it is no longer consistent with the other readings.

reading = today.iloc[[7]].copy()
print(f"pressure {reading['pressure'].item():.1f}, prediction {detector.predict(reading)[0]:+d}")
reading["pressure"] *= 1.25
print(f"pressure {reading['pressure'].item():.1f}, prediction {detector.predict(reading)[0]:+d}")

# %%
# ``explain`` looks for the nearest readings that satisfy the equations as well as nine of ten
# training rows, and tries changes of a single column first. The *suggested fix* is what the sensor
# should have read, roughly: the nearest acceptable value, not the most likely one. Attributions sum
# to the difference between the two scores.

explanation = detector.explain(reading, n_equations=3)[0]
fixed = f"{explanation.counterfactual_score:.2f} with the suggested fix"
print(f"score {explanation.score:.2f}, {fixed}")
for name, added in explanation.ranked(2):
    print(f"  {name:8} adds {added:.2f}")

display = ExplanationDisplay.from_explanation(explanation)

# %%
# A reading that satisfies the equations has nothing to explain: the attribution is 0.

print(detector.explain(today.iloc[[7]])[0].attribution)

# %%
# How far can this be trusted? Each sensor in turn reads a quarter too high, in ten rows. The broken
# sensor is named first if several equations contain it. The ambient temperature is in only one,
# together with power and temperature. Power is determined by flow and pressure, but nothing
# distinguishes the other two, and sometimes the smaller change is one of the temperature.

names = list(today.columns)
named = np.zeros((7, 7), dtype=int)
for broken, name in enumerate(names):
    readings = today.copy()
    readings[name] *= 1.25
    for explanation in detector.explain(readings):
        named[broken, names.index(explanation.ranked(1)[0][0])] += 1
print(f"named first: the broken one in {np.trace(named)} of {named.sum()} rows")

figure, axis = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
axis.imshow(named, cmap="Blues", vmin=0, vmax=14)
for broken, who in np.argwhere(named):
    color = "white" if named[broken, who] > 6 else "#333333"
    axis.text(who, broken, named[broken, who], ha="center", va="center", color=color)
axis.set_xticks(range(7), names, rotation=45, ha="right")
axis.set_yticks(range(7), names)
axis.set(xlabel="sensor named first", ylabel="broken sensor")
axis.set_title("Ten faults of each sensor, and which one is named")
axis.tick_params(length=0)
axis.spines[:].set_visible(False)
plt.show()
