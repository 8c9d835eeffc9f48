"""
Digits and their rotations: an alarm for what was never seen
============================================================

A detector learns only from images of 0, 2, 4, 6 and 8. Then it scores all ten digits, although it
has never seen the odd ones.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/images.png"

import numpy as np
from matplotlib import pyplot as plt
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from vanishing import TransformationDetector
from vanishing.datasets import load_digits_images
from vanishing.transformations import Rotations

digits = load_digits_images()  # 8 x 8 pixels; they come with scikit-learn
normal = digits.train_images[digits.train_labels % 2 == 0]
is_even = digits.test_labels % 2 == 0
print(f"{len(normal)} even digits to learn from, {len(is_even)} digits to score")

# %%
# Equations distinguish normal data from something else. Without anomalies, something else has to be
# generated: here, the same images, rotated. For every angle the detector looks for equations that
# hold on the images rotated by that angle and not on those rotated by the others.

rotations = Rotations(image_shape=digits.image_shape)
figure, axes = plt.subplots(1, 4, figsize=(7, 2.3), layout="constrained")
figure.suptitle("One digit in the four transformations")
for panel, rotation in zip(axes, rotations.for_width(normal.shape[1]), strict=True):
    panel.imshow(rotation(normal[:1]).reshape(digits.image_shape), cmap="gray_r")
    panel.set(title=rotation.name, xticks=[], yticks=[])

# %%
# A new image is normal if, rotated by each of the four angles, it satisfies the equations of that
# angle and violates those of the others. The rotations act on pixels; the principal components come
# after them, and equations are in twelve numbers per image.

detector = TransformationDetector(rotations, preprocessor=PCA(12, random_state=0))
scores = detector.fit(normal).score_samples(digits.test_images)
print(f"AUC: {roc_auc_score(is_even, scores):.3f}")

figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
bins = np.geomspace(0.1, 200, 40)
axis.hist(-scores[is_even], bins, alpha=0.7, color="#0072B2", label="even: normal")
axis.hist(-scores[~is_even], bins, alpha=0.7, color="#E69F00", label="odd: never seen")
axis.set(xscale="log", xlabel="anomaly score (minus score_samples)", ylabel="images")
axis.set_title("Scores of test images")
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)

# %%
# Which odd digits are the strangest to the detector, and which even ones are false alarms? Numbers
# are anomaly scores.

figure, axes = plt.subplots(2, 9, figsize=(9, 2.8), layout="constrained")
figure.suptitle("The strangest odd and even digits, with their anomaly scores")
order = np.argsort(scores)
for row, chosen, color in ((axes[0], ~is_even, "#A36F00"), (axes[1], is_even, "#0072B2")):
    for panel, image in zip(row, order[chosen[order]], strict=False):
        panel.imshow(digits.test_images[image].reshape(digits.image_shape), cmap="gray_r")
        panel.set(xticks=[], yticks=[])
        panel.set_title(f"{-scores[image]:.0f}", fontsize=10, color=color)
        panel.spines[:].set_color("#BBBBBB")
axes[0, 0].set_ylabel("odd", color="#A36F00")
axes[1, 0].set_ylabel("even", color="#0072B2")

# %%
# Two choices remain. ``weighting="convex"`` weighs the polynomials so that the mean score of the
# training images is best. ``n_components=5`` divides the normal images into five clusters, each
# with its own equations. Neither uses labels. On these few images, clusters help, and weights help
# only together with clusters.

print("AUC              unit weights   convex weights")
for n_components in (1, 5):
    aucs = []
    for weighting in (None, "convex"):
        detector.set_params(n_components=n_components, weighting=weighting)
        scores = detector.fit(normal).score_samples(digits.test_images)
        aucs.append(roc_auc_score(is_even, scores))
    print(f"clusters: {n_components}               {aucs[0]:.3f}            {aucs[1]:.3f}")

plt.show()
