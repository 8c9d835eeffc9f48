"""The figure of numbers of polynomials: a panel a data set, a line a normalization."""

from experiments.harness import look, store
from experiments.images.data import SETS
from matplotlib.figure import Figure

COLORS = (look.GREY, look.ORANGE, look.GREEN, look.BLUE)


def draw(results, methods, size):
    figure = Figure(figsize=(10, 4.2), facecolor="white")
    for axes, name in zip(figure.subplots(1, len(SETS)), SETS, strict=True):
        for method, color in zip(methods, COLORS, strict=True):
            points = results.get(f"{name}, {method}", {}).get("points", [])
            points = sorted(points, key=lambda point: point["polynomials"])
            x, y = [point["polynomials"] for point in points], [point["AUC"] for point in points]
            axes.plot(x, y, "o-", color=color, ms=4.5, lw=1.5, label=method)
        axes.set_xscale("log")
        axes.set(xlabel="polynomials of a copy", ylabel="AUC × 100")
        axes.grid(axis="y", color=look.LIGHT, lw=0.7)
        look.bare(axes)
        look.heading(axes, name)
    axes.legend(frameon=False, fontsize=look.NOTE - 0.5)
    figure.tight_layout()
    return store.save_figure(figure, "counts", size)
