"""Equations of a handwritten digit: what images of a 2 have in common, and other digits do not.

Run with ``make demo``. Prints what it finds and writes demo_output/digits.png and .svg.
"""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from vanishing import VanishingIdeal

DIGIT = 2
# How strictly an equation has to hold: its size on the digit is at most 3 % of that on the others.
TOL = 0.03
OTHER_TOLS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2)

ROWS = ("top", "upper", "lower", "bottom")
COLUMNS = ("left", "right")
CELLS = [f"{row}_{column}" for row in ROWS for column in COLUMNS]

OUTPUT = Path("demo_output")
# Told apart by people who do not see red and green, and in grey.
OURS, THEIRS, PALE, INK = "#0072B2", "#E69F00", "#D4E6F1", "#333333"


# --- the ideals -----------------------------------------------------------------------------------


def cells(images):
    """Describe 8 x 8 images by the mean ink (0 to 1) in 4 x 2 cells."""
    return images.reshape(-1, 4, 2, 2, 4).mean(axis=(2, 4)).reshape(-1, 8) / 16


def with_contrast(X, Y, tol):
    """Fit the equations of X, measured against Y."""
    ideal = VanishingIdeal(max_degree=2, tol=tol, normalization="contrastive")
    return ideal.fit(X, contrast=Y)


def without_contrast(X, n_equations):
    """Fit the equations of X alone, as near as possible to this many."""
    # Here the tolerance is a length; look from a thousandth of the spread of X upwards.
    spread = np.linalg.norm(X.std(axis=0))
    ideals = [
        VanishingIdeal(max_degree=2, tol=tol, normalization="gradient").fit(X)
        for tol in spread * np.geomspace(1e-3, 1, 60)
    ]
    return min(ideals, key=lambda ideal: abs(len(ideal.extents_) - n_equations))


def score(ideal, X):
    """Say how badly each point breaks the equations: the norm of G(x)."""
    return np.linalg.norm(ideal.transform(X), axis=1)


def auc(ideal, X, is_other):
    """Probability that an image of another digit scores higher than one of the digit."""
    return roc_auc_score(is_other, score(ideal, X))


# --- text -----------------------------------------------------------------------------------------


def show_spectrum(ideal):
    """Print a histogram of the extents of each degree."""
    for step in ideal.trace_:
        print(f"  degree {step.degree}: {step.candidates} candidates, {step.vanishing} vanish")
        for low, high in ((0.0, 0.01), (0.01, 0.03), (0.03, 0.1), (0.1, 0.3), (0.3, 1.0), (1, 9)):
            n = int(np.sum((step.spectrum > low) & (step.spectrum <= high)))
            mark = "#" if high <= step.tol else "."
            print(f"    {low:4.2f} to {high:4.2f} {n:4d}  {mark * n}")


def show_equations(ideal, n_equations=2, n_terms=5):
    """Print the equations that hold best, with their largest terms."""
    best = np.argsort(ideal.extents_)[:n_equations]
    for index, expression in enumerate(ideal.to_sympy(CELLS)):
        if index not in best:
            continue
        terms = sorted(expression.as_coefficients_dict().items(), key=lambda term: -abs(term[1]))
        print(f"  {ideal.get_feature_names_out()[index]}, extent {ideal.extents_[index]:.3f}:")
        for monomial, coefficient in terms[:n_terms]:
            print(f"    {float(coefficient):+7.1f} {monomial}".replace("**2", "²"))
        print(f"    and {len(terms) - n_terms} smaller terms = 0")


def compare_all_digits(X_train, y_train, X_test, y_test):
    """Print the mean AUC of all ten digits for several tolerances."""
    print("  tol    equations    with contrast    without, same number")
    for tol in OTHER_TOLS:
        counts, aucs, plain_aucs = [], [], []
        for digit in range(10):
            X, Y = X_train[y_train == digit], X_train[y_train != digit]
            ideal = with_contrast(X, Y, tol)
            plain = without_contrast(X, len(ideal.extents_))
            counts.append(len(ideal.extents_))
            aucs.append(auc(ideal, X_test, y_test != digit))
            plain_aucs.append(auc(plain, X_test, y_test != digit))
        print(
            f"  {tol:<6g} {np.mean(counts):8.1f} {np.mean(aucs):14.3f} {np.mean(plain_aucs):18.3f}"
        )


# --- picture --------------------------------------------------------------------------------------


def points_in_the_plane(rng):
    """Draw points near one circle: ours on an arc, the others on the rest."""
    angle = np.concatenate([rng.uniform(-0.7, 0.7, 80), rng.uniform(1.0, 2 * np.pi - 1.0, 160)])
    radius = 1 + 0.04 * rng.standard_normal(240)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return points[:80], points[80:]


def draw_plane(axes, ideal, X, Y):
    """Draw the zero set of the equation that holds best, and where it nearly holds."""
    best = int(np.argmin(ideal.extents_))
    x, y = np.meshgrid(np.linspace(-1.55, 1.55, 400), np.linspace(-1.45, 1.45, 400))
    grid = np.column_stack([x.ravel(), y.ravel()])
    values = ideal.transform(grid, output="signed")[:, best].reshape(x.shape)
    near = 3 * ideal.extents_[best]
    axes.contourf(x, y, np.abs(values), levels=[0, near], colors=[PALE])
    axes.contour(x, y, values, levels=[0], colors=[INK], linewidths=1.6)
    axes.scatter(*Y.T, s=11, color=THEIRS, marker="^", linewidths=0)
    axes.scatter(*X.T, s=11, color=OURS, linewidths=0)
    axes.set(aspect="equal", xticks=[], yticks=[])


def draw_scores(axes, ideal, X, is_other, bins):
    """Draw histograms of the scores of the digit and of the others."""
    scores = np.log10(score(ideal, X) / np.median(score(ideal, X[~is_other])))
    axes.hist(scores[is_other], bins, density=True, color=THEIRS, alpha=0.75)
    axes.hist(scores[~is_other], bins, density=True, color=OURS, alpha=0.75)
    axes.set(yticks=[], xlim=(bins[0], bins[-1]))
    axes.spines[["left", "top", "right"]].set_visible(False)


def draw_images(figure, place, images, scores, title):
    """Draw a row of images, with their scores below."""
    panel = figure.add_subfigure(place)
    panel.suptitle(title, x=0.02, ha="left", fontsize=10, color=INK)
    for axes, image, value in zip(panel.subplots(1, len(images)), images, scores, strict=True):
        axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        axes.set(xticks=[], yticks=[])
        axes.set_xlabel(f"{value:.2f}", fontsize=8.5, color=INK, labelpad=2)


def main():
    images, labels = load_digits(return_X_y=True)
    train, test = train_test_split(
        np.arange(len(labels)), test_size=0.3, stratify=labels, random_state=0
    )
    X_train, X_test = cells(images[train]), cells(images[test])
    X, Y = X_train[labels[train] == DIGIT], X_train[labels[train] != DIGIT]
    is_other = labels[test] != DIGIT

    print(
        f"Looking for quadratic equations that {len(X)} images of a {DIGIT} satisfy, and {len(Y)} "
        "images of other\ndigits do not. Each image is described by the ink in 4 x 2 cells: "
        f"{CELLS[0]}, {CELLS[1]},\n{CELLS[2]}, ..., {CELLS[-1]}.\n"
    )
    ideal = with_contrast(X, Y, TOL)
    print(f"Extents: root mean square on the {DIGIT}s, where it is 1 on the others.")
    print(f"Below tol = {TOL} an equation counts as vanishing (#).")
    show_spectrum(ideal)

    print("\nThe equations that hold best:")
    show_equations(ideal)

    n_equations = len(ideal.extents_)
    plain = without_contrast(X, n_equations)
    print(f"\nTelling {np.sum(~is_other)} unseen {DIGIT}s from {np.sum(is_other)} unseen others:")
    print(f"  with contrast     {n_equations} equations   AUC {auc(ideal, X_test, is_other):.3f}")
    print(
        f"  without contrast  {len(plain.extents_)} equations   AUC {auc(plain, X_test, is_other):.3f}"
    )
    print("\nThe same for each of the ten digits in turn, mean AUC:")
    compare_all_digits(X_train, labels[train], X_test, labels[test])


if __name__ == "__main__":
    main()
