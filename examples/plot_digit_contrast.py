"""
Images with contrast: what makes a 3 a 3, and not an 8
======================================================

Images of handwritten 3s satisfy equations. Most of them do not help to distinguish a 3 from an 8:
the corners are white in both. With the 8s as the *contrast*, equations are small on 3s **and** of
size 1 on 8s: they describe the difference.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/digit_contrast.png"

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from vanishing import VanishingIdeal

digits = load_digits()
images, labels = digits.data / 16, digits.target
train, test, train_labels, test_labels = train_test_split(
    images, labels, stratify=labels, random_state=0
)
pca = PCA(10, random_state=0).fit(train)
threes, eights = (pca.transform(train[train_labels == digit]) for digit in (3, 8))

# %%
# Equations without and with contrast
# -----------------------------------
# Both have degree one and two, in ten principal components. How well do they separate unseen 3s
# from unseen 8s? The score of an image is how much it violates the equations of the 3.

chosen = np.isin(test_labels, (3, 8))
unseen, is_eight = pca.transform(test[chosen]), test_labels[chosen] == 8
spread = np.linalg.norm(threes.std(axis=0))
without = VanishingIdeal(max_degree=2, tol=0.25 * spread).fit(threes)
with_contrast = VanishingIdeal(max_degree=2, tol=0.2, normalization="contrastive")
with_contrast.fit(threes, contrast=eights)

scores = {}
for name, ideal in (("without contrast", without), ("with contrast", with_contrast)):
    scores[name] = np.linalg.norm(ideal.transform(unseen), axis=1)
    auc = roc_auc_score(is_eight, scores[name])
    print(f"{name:17} {len(ideal.extents_):3d} equations, AUC {auc:.3f}")

# %%
# Where does the best equation look?
# ----------------------------------
# The gradient of an equation shows which pixels would change its value. Here it is averaged over 8s
# and converted from principal components to pixels: ink in the red pixels makes an image less like
# a 3, ink in the blue pixels more like a 3.

best = int(np.argmin(with_contrast.extents_))
slopes = with_contrast.basis_.jacobian(eights)[:, best]
values = with_contrast.basis_.evaluate(eights)[:, best]
toward = (np.sign(values)[:, None] * slopes).mean(axis=0) @ pca.components_

figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
for axis, digit in zip(axes, (3, 8), strict=False):
    axis.imshow(train[train_labels == digit].mean(axis=0).reshape(8, 8), cmap="gray_r")
    axis.set_title(f"mean of the {digit}s")
limit = np.abs(toward).max()
axes[2].imshow(toward.reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
axes[2].set_title("what the equation looks at")
for axis in axes:
    axis.set(xticks=[], yticks=[])
plt.show()

# %%
# The scores of unseen images.

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
for axis, (name, found) in zip(axes, scores.items(), strict=True):
    bins = np.geomspace(max(found.min(), 1e-3), found.max(), 20)
    axis.hist(found[~is_eight], bins, alpha=0.75, color="#0072B2", label="3")
    axis.hist(found[is_eight], bins, alpha=0.75, color="#E69F00", label="8")
    axis.set(xscale="log", xlabel="how badly the equations of the 3 are broken", title=name)
    axis.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
    axis.minorticks_off()
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("images")
axes[0].legend(frameon=False)
plt.show()

aucs = [roc_auc_score(is_eight, found) for found in scores.values()]
assert aucs[1] > aucs[0]
