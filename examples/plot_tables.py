"""
Tables: a detector without choices, and a threshold with a guarantee
====================================================================

``VanishingDetector()`` takes any table of numbers. Here its rows are tumours, described by
thirty measurements. It learns from benign ones, and malignant ones are the anomalies.
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
# There is nothing to scale and nothing to choose. What the model consists of can be read:

detector = VanishingDetector().fit(train)
for line in detector.chosen_:
    print(line)

# %%
# Scores are larger for samples that are more normal, as scikit-learn has it. The area under the
# curve says how often a benign tumour scores higher than a malignant one.


def auc(detector, unseen_benign):
    scores = [detector.score_samples(unseen_benign), detector.score_samples(malignant)]
    return roc_auc_score(np.repeat([1, 0], list(map(len, scores))), np.concatenate(scores))


print(f"AUC: {auc(detector, unseen_benign):.3f}")

# %%
# To raise an alarm takes a threshold. Equations fit the rows that they were found on better than
# any others, and with few rows and many columns much better, so by default the threshold is put
# by rows that are left out of the fit in turn. That keeps false alarms few, but does not say how
# few. ``contamination=0.05`` alone leaves five percent of the *training* rows below the threshold
# and promises nothing about new rows. With ``calibration=0.3`` it does: three tenths of the rows
# are kept out of the fit, the threshold is put by these, and a new benign tumour is an alarm with
# probability 0.05 at most.

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
# The scores of the last split, and the threshold (``offset_``): what lies left of it is an alarm.

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
