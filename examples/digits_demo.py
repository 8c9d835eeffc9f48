"""Equations of a handwritten digit: what all images of a 5 have in common, and others do not.

Run with ``make demo``. Prints what it finds and writes demo_output/digits.png and .svg.

The tolerance is the library's default, and the best of ten in cross-validation on the training
images over all digits; the 5 is the digit where contrast helped most there. The last two tables
show what other choices give. The cells are coarse because 127 images cannot settle the
coefficients of quadratic equations in 64 pixels.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import NullLocator
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from vanishing import VanishingIdeal, vca

DIGIT = 5
TOL = 0.1  # an equation vanishes if its size on the digit is at most a tenth of that on the others
OTHER_TOLS = (0.05, 0.07, 0.1, 0.15, 0.2)

ROWS = ("top", "upper", "lower", "bottom")
COLUMNS = ("left", "right")
CELLS = [f"{row}_{column}" for row in ROWS for column in COLUMNS]

OUTPUT = Path("demo_output")
# Colours that colour-blind people tell apart; they also differ in grey.
OURS, THEIRS, DARK_THEIRS = "#0072B2", "#E69F00", "#A36F00"
NEAR, FRAME, INK = "#DDEBF5", "#BBBBBB", "#333333"
NOTE = 10.5  # size of letters


# --- the equations --------------------------------------------------------------------------------


def cells(images):
    """Describe 8 x 8 images by the mean ink (0 to 1) in 4 x 2 cells."""
    return images.reshape(-1, 4, 2, 2, 4).mean(axis=(2, 4)).reshape(-1, 8) / 16


def with_contrast(X, Y, tol=TOL):
    """Fit equations that hold on X and not on Y."""
    return vca(X, Y, tol=tol)


def without_contrast(X):
    """Fit equations that hold on X, for a range of tolerances, which are lengths here."""
    spread = np.linalg.norm(X.std(axis=0))
    return [
        VanishingIdeal(max_degree=2, tol=tol, normalization="gradient").fit(X)
        for tol in spread * np.geomspace(0.01, 1, 50)
    ]


def nearest_in_number(ideals, n_equations):
    """Choose the ideal whose number of equations comes closest, for a fair comparison."""
    return min(ideals, key=lambda ideal: abs(len(ideal.extents_) - n_equations))


def score(ideal, X):
    """Say how badly each point breaks the equations: the norm of G(x)."""
    return np.linalg.norm(ideal.transform(X), axis=1)


def auc(ideal, X, is_other):
    """Share of pairs (digit, other) in which the other one scores higher."""
    return roc_auc_score(is_other, score(ideal, X))


# --- text -----------------------------------------------------------------------------------------


def print_spectrum(ideal):
    """Print a histogram of the extents of each degree."""
    edges = [0.0, 0.03, 0.1, 0.3, 1.0, np.inf]
    for step in ideal.trace_:
        print(f"  degree {step.degree}: {step.candidates} candidates, {step.vanishing} vanish")
        for low, high in pairwise(edges):
            n = int(np.sum((step.spectrum > low) & (step.spectrum <= high)))
            bar = ("#" if high <= step.tol else ".") * n
            print(f"    {low:4.2f} to {high:4.2f}  {n:2d} {bar}".rstrip())


def print_equations(ideal, n_equations=2, n_terms=5):
    """Print the equations that hold best, with their largest terms."""
    expressions, names = ideal.to_sympy(CELLS), ideal.get_feature_names_out()
    for index in np.argsort(ideal.extents_)[:n_equations]:
        terms = expressions[index].as_coefficients_dict().items()
        largest = sorted(terms, key=lambda term: -abs(term[1]))[:n_terms]
        print(f"  {names[index]}, extent {ideal.extents_[index]:.3f}")
        for monomial, coefficient in largest:
            print(f"    {float(coefficient):+6.1f} {monomial}".replace("**2", "^2"))
        print(f"           and {len(terms) - n_terms} smaller terms = 0")


def print_other_choices(X_train, y_train, X_test, y_test):
    """Print the AUC for every digit, and its mean for other tolerances."""
    found = {tol: [] for tol in OTHER_TOLS}
    for digit in range(10):
        X, Y = X_train[y_train == digit], X_train[y_train != digit]
        plain_ideals = without_contrast(X)
        for tol in OTHER_TOLS:
            ideal = with_contrast(X, Y, tol)
            plain = nearest_in_number(plain_ideals, len(ideal.extents_))
            is_other = y_test != digit
            aucs = auc(ideal, X_test, is_other), auc(plain, X_test, is_other)
            found[tol].append((len(ideal.extents_), *aucs))
    equations, contrasted, plain = np.transpose(found[TOL])
    print(f"\nEvery digit in turn (tol = {TOL}):")
    print("  digit            " + "".join(f"{digit:6d}" for digit in range(10)))
    print("  equations        " + "".join(f"{int(number):6d}" for number in equations))
    print("  with contrast    " + "".join(f"{value:6.2f}" for value in contrasted))
    print("  without contrast " + "".join(f"{value:6.2f}" for value in plain))
    print("\nMeans over the ten digits, for other tolerances:")
    means = [np.mean(found[tol], axis=0) for tol in OTHER_TOLS]
    print("  tol              " + "".join(f"{tol:7.2f}" for tol in OTHER_TOLS))
    print("  equations        " + "".join(f"{mean[0]:7.1f}" for mean in means))
    print("  with contrast    " + "".join(f"{mean[1]:7.3f}" for mean in means))
    print("  without contrast " + "".join(f"{mean[2]:7.3f}" for mean in means))


# --- picture --------------------------------------------------------------------------------------


def points_in_the_plane():
    """Draw points near one circle: X on an arc of it, Y on the rest."""
    rng = np.random.default_rng(0)
    on_arc, off_arc = rng.uniform(-1.2, 1.2, 120), rng.uniform(1.5, 2 * np.pi - 1.5, 160)
    angle = np.concatenate([on_arc, off_arc])
    radius = 1 + 0.03 * rng.standard_normal(280)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return points[:120], points[120:]


def draw_plane(axes, ideal, X, Y):
    """Draw where the best of the equations holds, exactly and nearly."""
    best = int(np.argmin(ideal.extents_))
    x, y = np.meshgrid(np.linspace(-1.5, 1.5, 400), np.linspace(-1.5, 1.5, 400))
    grid = np.column_stack([x.ravel(), y.ravel()])
    values = ideal.transform(grid, output="signed")[:, best].reshape(x.shape)
    axes.contourf(x, y, np.abs(values), levels=[0, 3 * ideal.extents_[best]], colors=[NEAR])
    axes.contour(x, y, values, levels=[0], colors=[INK], linewidths=1.5)
    axes.scatter(*Y.T, s=14, color=THEIRS, marker="^", linewidths=0)
    axes.scatter(*X.T, s=14, color=OURS, linewidths=0)
    axes.set(aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_color(FRAME)


def draw_scores(axes, scores, is_other):
    """Draw histograms of the scores of the digit and of the others, each of area one."""
    bins = np.geomspace(0.2, 50, 25)
    for chosen, color in ((is_other, THEIRS), (~is_other, OURS)):
        weights = np.full(int(chosen.sum()), 1 / chosen.sum())
        axes.hist(scores[chosen], bins, weights=weights, color=color, alpha=0.8)
    axes.set(xscale="log", xlim=(bins[0], bins[-1]), ylim=(0, 0.26), yticks=[])
    axes.set_xticks([0.3, 1, 3, 10, 30], ["0.3", "1", "3", "10", "30"])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(colors=INK, labelsize=NOTE)
    axes.spines[["left", "top", "right"]].set_visible(False)


def draw_images(figure, left, bottom, images, scores, title):
    """Draw a row of images with their scores below."""
    figure.text(left, bottom + 0.138, title, fontsize=NOTE, color=INK)
    for column, (image, value) in enumerate(zip(images, scores, strict=True)):
        axes = figure.add_axes((left + 0.054 * column, bottom, 0.05, 0.13))
        axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color(FRAME)
        axes.set_xlabel(f"{value:.1f}", fontsize=NOTE - 1, color=INK, labelpad=2)


def draw(ideal, plain, X_train, images, X_test, is_other):
    """Draw the idea in the plane, the scores of unseen images, and some of these images."""
    figure = plt.figure(figsize=(11, 6.0), facecolor="white")

    def write(x, y, text, **how):
        figure.text(x, y, text, **({"fontsize": NOTE, "color": INK} | how))

    title = {"fontsize": 13, "weight": "bold"}
    write(0.05, 0.95, "The idea, in the plane", **title)
    write(0.05, 0.91, "● points X", color=OURS)
    write(0.14, 0.91, "▲ contrast Y", color=DARK_THEIRS)
    write(0.32, 0.95, f"Unseen digits: how badly they break the equations of a {DIGIT}", **title)
    write(0.32, 0.91, f"■ {np.sum(~is_other)} images of a {DIGIT}", color=OURS)
    write(0.455, 0.91, f"■ {np.sum(is_other)} images of other digits", color=DARK_THEIRS)
    X, Y = points_in_the_plane()
    for bottom, name, planar, one, caption in (
        (0.53, "without contrast", VanishingIdeal().fit(X), plain, "true of X and of Y"),
        (0.09, "with contrast", with_contrast(X, Y), ideal, "true of X only"),
    ):
        write(0.025, bottom + 0.17, name, rotation=90, va="center", ha="center", **title)
        draw_plane(figure.add_axes((0.05, bottom, 0.1851, 0.3403)), planar, X, Y)
        write(0.05, bottom - 0.035, f"best equation: {caption}")
        scores = score(one, X_test) / np.median(score(one, X_train))
        axes = figure.add_axes((0.32, bottom, 0.28, 0.33))
        draw_scores(axes, scores, is_other)
        n_equations, value = len(one.extents_), auc(one, X_test, is_other)
        write(0.6, bottom + 0.31, f"{n_equations} equations, AUC {value:.3f}", ha="right")
    write(0.46, 0.02, f"score ‖G(x)‖, in units of a typical {DIGIT}", ha="center")
    write(0.05, 0.02, "line: it holds, shaded: nearly")

    order = np.argsort(scores)  # with contrast
    ours, others = order[~is_other[order]], order[is_other[order]]
    for bottom, chosen, name in (
        (0.735, ours[:6], f"the {DIGIT}s that keep them best"),
        (0.515, ours[:-7:-1], f"the {DIGIT}s that break them most"),
        (0.295, others[:6], "other digits that come closest"),
        (0.075, others[:-7:-1], "other digits that break them most"),
    ):
        draw_images(figure, 0.665, bottom, images[chosen], scores[chosen], name)
    write(0.665, 0.02, "numbers: scores, with contrast")

    OUTPUT.mkdir(exist_ok=True)
    figure.savefig(OUTPUT / "digits.png", dpi=150)
    figure.savefig(OUTPUT / "digits.svg")


def main():
    images, labels = load_digits(return_X_y=True)
    train, test = train_test_split(
        np.arange(len(labels)), test_size=0.3, stratify=labels, random_state=0
    )
    X_train, X_test = cells(images[train]), cells(images[test])
    X, Y = X_train[labels[train] == DIGIT], X_train[labels[train] != DIGIT]
    is_other = labels[test] != DIGIT

    print(
        f"Looking for polynomial equations of degree 1 and 2 that hold for {len(X)} images of a "
        f"{DIGIT}\nand not for {len(Y)} images of other digits. An image is given by the ink in "
        f"4 x 2 cells:\n{CELLS[0]}, {CELLS[1]}, {CELLS[2]}, ..., {CELLS[-1]}.\n"
    )
    ideal = with_contrast(X, Y)
    print(
        f"Extent of a polynomial = its root mean square on the {DIGIT}s; on the others it is 1.\n"
        f"Up to tol = {TOL} it counts as vanishing (#)."
    )
    print_spectrum(ideal)
    print("\nThe equations that hold best:")
    print_equations(ideal)

    plain = nearest_in_number(without_contrast(X), len(ideal.extents_))
    print(
        f"\nUnseen images, {np.sum(~is_other)} of a {DIGIT} and {np.sum(is_other)} others: AUC of "
        "the score ||G(x)|| (0.5 is chance, 1 is perfect)"
    )
    for name, one in (("with contrast", ideal), ("without contrast", plain)):
        n_equations = len(one.extents_)
        print(f"  {name:17s} {n_equations} equations  AUC {auc(one, X_test, is_other):.3f}")
    print_other_choices(X_train, labels[train], X_test, labels[test])

    draw(ideal, plain, X, images[test], X_test, is_other)
    print(f"\nPicture: {OUTPUT / 'digits.png'}")


if __name__ == "__main__":
    main()
