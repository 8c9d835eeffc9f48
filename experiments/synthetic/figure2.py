"""Figure 2 of the paper, redone: as found, turned at random, and under other normalizations."""

import numpy as np
from experiments.harness import look, store
from experiments.synthetic.draws import CORRECTED, PRINTED, THRESHOLDS
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

KEY = {
    "loc": "lower right",
    "frameon": False,
    "labelcolor": "linecolor",
    "fontsize": look.NOTE,
    "handlelength": 1.3,
    "handletextpad": 0.6,
    "borderaxespad": 0.1,
    "labelspacing": 0.35,
}


def draw(results, size):
    """Draw the shares P_i(t) of the paper and their averages."""
    figure = Figure(figsize=(10, 4.5), facecolor="white")
    panels = figure.subplots(1, 3, sharey=True)
    figure.subplots_adjust(left=0.07, right=0.985, bottom=0.115, top=0.855, wspace=0.09)
    _single_polynomials(
        panels[0], results["Figure 2, as found"], "As the solver returns them", "an arbitrary basis"
    )
    _single_polynomials(
        panels[1],
        results["Figure 2, turned at random"],
        "Turned at random",
        "as Theorem 6 has it",
    )
    _normalizations(panels[2], results)
    for axes in panels:
        look.bare(axes)
        axes.set(xlim=(0.21, 1), ylim=(0, 1.005), xlabel="threshold t")
        axes.set_xticks([0.25, 0.5, 0.75, 1], ["0.25", "0.5", "0.75", "1"])
        axes.yaxis.set_major_formatter(PercentFormatter(1))
    panels[0].set_ylabel("points of V with |g| < t")
    return store.save_figure(figure, "synthetic", size)


def _single_polynomials(axes, result, title, subtitle):
    curves = np.array([line.split() for line in result["points below each t"]], float) / 1000
    breaks = np.any(curves < CORRECTED, axis=1)
    for chosen, style in (
        (~breaks, {"color": look.BLUE, "alpha": 0.22, "lw": 0.7}),
        (breaks, {"color": look.RED, "alpha": 0.9, "lw": 1}),
    ):
        axes.plot(THRESHOLDS, curves[chosen].T, **style)
    axes.plot(THRESHOLDS, curves.mean(axis=0), color=look.BLUE, lw=3)
    axes.plot(THRESHOLDS, CORRECTED, color=look.INK, lw=1.8)
    axes.plot(THRESHOLDS, PRINTED, color=look.INK, lw=1.4, ls=look.DASHES)
    look.heading(axes, title, subtitle)
    number = len(curves)
    axes.legend(
        handles=[
            Line2D([], [], color=look.BLUE, lw=3, label=f"average of {number} polynomials"),
            Line2D(
                [], [], color=look.BLUE, lw=1, label=f"{number - breaks.sum()} that keep the bound"
            ),
            Line2D([], [], color=look.RED, lw=1.2, label=f"{breaks.sum()} that break it"),
            Line2D([], [], color=look.INK, lw=1.8, label="bound 1 − 0.05/t²"),
            Line2D([], [], color=look.INK, lw=1.4, ls=look.DASHES, label="the paper's 1 − 0.01/t²"),
        ],
        **KEY,
    )


def _normalizations(axes, results):
    others = [
        result["average"]
        for name, result in results.items()
        if name.startswith("normalization") and "the other class" not in name
    ]
    axes.plot(THRESHOLDS, np.transpose(others), color=look.BLUE, lw=1.6)
    contrasted = results["normalization contrastive, on the other class"]
    axes.plot(THRESHOLDS, contrasted["average"], color=look.GREEN, lw=3)
    look.heading(axes, "Normalized elsewhere", "averages over polynomials, turned")
    look.write(
        axes,
        0.41,
        0.8,
        "on random points;\ngradient, coefficient, vca:\nall nearly 0 on V",
        look.BLUE,
        va="top",
    )
    look.write(
        axes,
        0.99,
        0.2,
        f"on the other class:\n{contrasted['polynomials']} polynomials, large on V",
        look.GREEN,
        weight="bold",
        ha="right",
        va="center",
    )
