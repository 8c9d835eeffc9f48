"""
Tables: a detector without choices, and a threshold with a guarantee
====================================================================

``VanishingDetector()`` takes any table of numbers. Here the rows are tumors, described by thirty
measurements. The detector learns from benign tumors, and malignant ones are the anomalies.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/tables.png"

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from vanishing import VanishingDetector

measurements, is_benign = load_breast_cancer(return_X_y=True)
benign, malignant = measurements[is_benign == 1], measurements[is_benign == 0]
train, unseen_benign = train_test_split(benign, test_size=0.3, random_state=0)

# %%
# There is nothing to scale and nothing to choose. ``chosen_`` describes the model:

detector = VanishingDetector().fit(train)
for line in detector.chosen_:
    print(line)

# %%
# As in scikit-learn, more normal samples have larger scores. The area under the curve is the
# probability that a benign tumor scores higher than a malignant one.


def auc(detector, unseen_benign):
    scores = [detector.score_samples(unseen_benign), detector.score_samples(malignant)]
    return roc_auc_score(np.repeat([1, 0], list(map(len, scores))), np.concatenate(scores))


print(f"AUC: {auc(detector, unseen_benign):.3f}")

# %%
# An alarm needs a threshold. Equations fit the training rows better than other rows, and much
# better with few rows and many columns. So by default, the threshold comes from rows that are left
# out of the fit in turn. This keeps false alarms rare, but without a guarantee.
# ``contamination=0.05`` alone leaves five percent of the *training* rows below the threshold and
# guarantees nothing about new rows. With ``calibration=0.3`` it does: three tenths of the rows are
# held out, the threshold is set by these, and a new benign tumor causes an alarm with probability
# at most 0.05.

CHOICES = {
    "by default": {},
    "without calibration": {"contamination": 0.05},
    "with calibration": {"contamination": 0.05, "calibration": 0.3},
}
print("means over 10 splits   AUC    false alarms   malignant found")
for name, parameters in CHOICES.items():
    found = []
    for seed in range(10):
        train, unseen_benign = train_test_split(benign, test_size=0.3, random_state=seed)
        detector = VanishingDetector(**parameters).fit(train)
        false_alarms = np.mean(detector.predict(unseen_benign) == -1)
        found.append(
            (auc(detector, unseen_benign), false_alarms, np.mean(detector.predict(malignant) == -1))
        )
    print("{:21}  {:.3f}  {:12.3f}   {:15.3f}".format(name, *np.mean(found, axis=0)))

# %%
# The scores of the last split, and the threshold (``offset_``): scores to the left of it are
# alarms.

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
bins = np.linspace(np.quantile(detector.score_samples(malignant), 0.02), 2, 41)
for rows, color, name in (
    (unseen_benign, "#0072B2", "benign, unseen"),
    (malignant, "#E69F00", "malignant"),
):
    axis.hist(detector.score_samples(rows), bins, density=True, alpha=0.7, color=color, label=name)
axis.axvline(detector.offset_, color="#333333")
axis.text(detector.offset_, axis.get_ylim()[1], " threshold", va="top", color="#333333")
axis.set(xlabel="score (score_samples)", ylabel="share of rows", yticks=[])
axis.set_title("Scores of unseen rows: alarms lie left of the threshold")
axis.legend(frameon=False, loc="center left")
axis.spines[["left", "top", "right"]].set_visible(False)
plt.show()
