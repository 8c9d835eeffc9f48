"""The picture of two classes on one surface: where an equation holds, and what it tells apart."""

import numpy as np
from experiments.harness import look, store
from experiments.two_classes.data import OTHER, RANDOM, SLOPE, auc, best_equation, fit, on_surface
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

#: Blue where g is nearly 0, so that a point there is taken for one of X.
NEARLY_ZERO = LinearSegmentedColormap.from_list("nearly zero", ["#9CCBEA", "#DCEDF8", "#FFFFFF"])
HALF_WIDTH, HALF_HEIGHT = 1.12, 1.1  # of the surface, in x and y


def draw(results, size):
    """Draw where g is nearly 0 on the surface, |g| of unseen points, and the AUCs of all draws."""
    figure = Figure(figsize=(10, 8.6), facecolor="white", dpi=200)
    for column, where in enumerate((RANDOM, OTHER)):
        ideal, X, Y = fit(0, 3, 2000, where)
        best = best_equation(ideal)
        left = 0.035 + 0.495 * column
        axes = figure.add_axes((left, 0.47, 0.45, 0.46))
        _draw_surface(axes, ideal, best)
        _draw_points(axes, X, Y)
        if where == RANDOM:
            _draw_random_points(axes)
        _draw_values(
            figure.add_axes((left + 0.025, 0.34, 0.42, 0.105)),
            ideal.transform(X)[:, best],
            ideal.transform(Y)[:, best],
        )
        look.heading(
            axes,
            f"Size 1 on {where}",
            "g ≈ 0 (blue) on the whole surface: X and Y look alike"
            if where == RANDOM
            else "g ≈ 0 (blue) along X only: Y stands out",
        )
    _draw_aucs(figure.add_axes((0.21, 0.055, 0.765, 0.175)), results)
    return store.save_figure(figure, "two_classes", size)


def project(points):
    """Look at the surface from the front and a little from above, as Figure 1 does."""
    return points[..., 0] + 0.16 * points[..., 1], 0.72 * points[..., 1] + 0.6 * points[..., 2]


def _draw_surface(axes, ideal, best):
    x = np.linspace(-HALF_WIDTH, HALF_WIDTH, 161)
    y = np.linspace(-HALF_HEIGHT, HALF_HEIGHT, 161)
    surface = on_surface(x, y[:, None])
    values = ideal.transform(surface.reshape(-1, 3), output="signed")[:, best].reshape(161, 161)
    axes.pcolormesh(
        *project(surface),
        np.abs(values),
        cmap=NEARLY_ZERO,
        vmin=0,
        vmax=1,
        shading="gouraud",
        rasterized=True,
    )
    for lines in (surface, surface.swapaxes(0, 1)):
        for line in lines[20:-20:20]:
            axes.plot(*project(line), color="#C3D3DF", lw=0.7, zorder=1)
        for line in lines[[0, -1]]:
            axes.plot(*project(line), color=look.GREY, lw=1, zorder=1)
    # An equation that holds on the whole surface has no line there, only accidents of rounding.
    if np.sqrt(np.mean(values**2)) > 0.5:
        axes.contour(*project(surface), values, levels=[0], colors=[look.INK], linewidths=2)
        look.write(axes, *project(on_surface(-1.16, 0.0)), "g = 0", ha="right", va="center")
    axes.set(aspect="equal", xlim=(-1.55, 1.6), ylim=(-1.24, 1.4), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def _draw_points(axes, X, Y, number=130):
    for points, color, dark, marker, slope, name in (
        (Y, look.ORANGE, look.BROWN, "^", SLOPE, "class Y"),
        (X, look.BLUE, look.BLUE, "o", 0, "class X"),
    ):
        how = {"s": 24, "color": color, "marker": marker, "lw": 0.5, "edgecolor": "white"}
        axes.scatter(*project(points[:number]), zorder=3, **how)
        x, y = project(on_surface(HALF_WIDTH, slope * HALF_WIDTH))
        how = {"fontsize": look.HEADING, "weight": "bold", "va": "center"}
        look.write(axes, x + 0.05, y, name, dark, **how)


def _draw_random_points(axes):
    Z = np.random.default_rng(3).uniform(-1, 1, (160, 3))
    axes.scatter(*project(Z), s=8, color="#999999", lw=0)
    look.write(axes, -1.5, -1.22, "random points", look.GREY)


def _draw_values(axes, of_X, of_Y, number=300):
    """Draw |g| of single points, a row a class."""
    height = np.random.default_rng(0).uniform(-0.28, 0.28, number)
    letters = {"fontsize": look.HEADING, "weight": "bold", "ha": "right", "va": "center"}
    for row, values, color, dark, name in (
        (0, of_Y, look.ORANGE, look.BROWN, "Y"),
        (1, of_X, look.BLUE, look.BLUE, "X"),
    ):
        axes.scatter(values[:number], row + height, s=6, color=color, alpha=0.6, lw=0)
        look.write(axes, -0.06, row, name, dark, **letters)
    look.write(axes, 2.2, 1.25, f"AUC {auc(of_X, of_Y):.2f}", **letters)
    axes.set(xlim=(-0.02, 2.2), ylim=(-0.5, 1.5), yticks=[], xlabel="|g| of unseen points")
    axes.set_xticks([0, 0.5, 1, 1.5, 2], ["0", "0.5", "1", "1.5", "2"])
    look.bare(axes)


def _draw_aucs(axes, results):
    names = [name for name in results if name.endswith(RANDOM)]
    rows = range(len(names) - 1, -1, -1)
    for row, name in zip(rows, names, strict=True):
        on_random, on_other = results[name], results[name.replace(RANDOM, OTHER)]
        for result, color, lift in (
            (on_random, look.GREY, 0.13),
            (on_other, look.GREEN, -0.13),
        ):
            values = result["AUC, equation that holds best"]
            how = {"color": color, "ms": 5.5, "alpha": 0.5, "mew": 0}
            axes.plot(values, np.full(len(values), row + lift), "o", **how)
        if max(on_other["AUC, equation that holds best"]) < 0.6:
            says = "overfits: 435 products of degree 2 for 400 points"
            look.write(axes, 0.69, row, says, va="center")
    axes.axvline(0.5, color=look.LIGHT, lw=1, zorder=0)
    axes.set_yticks(rows, [name.split(", size")[0] for name in names])
    top = len(names) - 0.45
    look.write(axes, 0.51, top, "size 1 on random points", look.GREY, weight="bold")
    look.write(axes, 0.9, top, "on the other class", look.GREEN, weight="bold", ha="center")
    axes.set(xlim=(0.45, 1), ylim=(-0.5, len(names)), xlabel="AUC of |g| (0.5: chance)")
    look.bare(axes)
    look.heading(axes, "The equation that holds best on X: every dot a draw of all points")
