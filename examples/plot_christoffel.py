"""
Where is the data? The Christoffel function
===========================================

Orthonormal polynomials of a point cloud are small where there are points, and grow quickly
elsewhere. The sum of their squares, one over the Christoffel function, scores how far a sample is
from the data, and its level sets follow the shape of the support.
"""

import numpy as np
from matplotlib import pyplot as plt

from vanishing.datasets import make_variety
from vanishing.detectors import ChristoffelDetector

# %%
# Points around a lemniscate, with an outlier inside of each loop.

curve = make_variety("lemniscate", 1000, noise=0.05)
outliers = np.array([[0.65, 0.0], [-0.65, 0.0]])
X = np.vstack([curve, outliers])

# %%
# ``max_degree`` is the only parameter to choose. At degree 2 the loops are filled; from degree 4 on
# they have holes, and as the degree grows, the region follows the curve. Lines are thresholds: in
# the light regions beyond them ``predict`` is -1.

x, y = np.meshgrid(np.linspace(-1.4, 1.4, 160), np.linspace(-0.8, 0.8, 100))
grid = np.column_stack([x.ravel(), y.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.5), layout="constrained", sharey=True)
for axis, degree in zip(axes, (2, 4, 8), strict=True):
    detector = ChristoffelDetector(degree).fit(X)
    scores = detector.score_samples(grid).reshape(x.shape)
    axis.contourf(x, y, np.maximum(scores, -12), levels=24, cmap="Blues")
    axis.contour(
        x, y, scores, levels=[detector.offset_], colors="#333333", linestyles="solid", linewidths=1
    )
    axis.scatter(*curve[::3].T, s=1.5, color="white", alpha=0.7)
    axis.scatter(*outliers.T, s=30, color="#E69F00", edgecolor="#333333", linewidth=0.6)
    axis.set_title(f"degree {degree}", loc="left", fontsize=10)
    axis.set_aspect("equal")
    print(f"degree {degree}: outliers found: {np.sum(detector.predict(outliers) == -1)} of 2")
plt.show()

# %%
# Rows may come in parts. Only the moments of their monomials and a sample for the threshold are
# kept, and the scores are those of a fit to all rows, up to rounding.

streamed = ChristoffelDetector(8)
for part in np.array_split(X, 10):
    streamed.partial_fit(part)
difference = np.abs(streamed.score_samples(grid) - detector.score_samples(grid)).max()
print(f"largest difference of scores: {difference:.1g}")
