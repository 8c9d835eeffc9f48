"""The figure of the bounds: what the paper proves, and how often it happens."""

import numpy as np
from experiments.harness import look, store
from experiments.synthetic import laws
from experiments.synthetic.draws import MULTIPLES
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter


def draw(results, size):
    """Draw all bounds with frequencies and their intervals."""
    figure = Figure(figsize=(10, 8.4), facecolor="white")
    panels = figure.subplots(2, 2)
    figure.subplots_adjust(
        left=0.075, right=0.985, bottom=0.065, top=0.925, wspace=0.18, hspace=0.42
    )
    _theorem6_below(panels[0, 0], results)
    _theorem6_large(panels[0, 1], results)
    _proposition5(panels[1, 0], results)
    _chi_square(panels[1, 1], results)
    for axes in panels.flat:
        look.bare(axes)
    return store.save_figure(figure, "synthetic_bounds", size)


def _theorem6_below(axes, results):
    """Theorem 6 (2), all settings on one scale: multiples of the standard deviation of g on V."""
    s = np.linspace(1, 5.5, 200)
    axes.fill_between(s, 0, 1 - 1 / s**2, color=look.SHADE, lw=0)
    axes.plot(s, 1 - 1 / s**2, color=look.INK, lw=1.8)
    rows = [row for result in _grid(results) for row in result["rows"]]
    for row, shift in zip(rows, np.linspace(-0.28, 0.28, len(rows)), strict=True):
        color = look.BLUE if row["w"] == "Gaussian" else look.GREEN
        for multiple, count in zip(MULTIPLES, row["below"], strict=True):
            _dot(axes, multiple + shift, count, row["trials"], color, 2.6)
    for row in results["Theorem 6 with few random points"]["rows"]:
        if row.get("|Z|") in (107, 125, 150):
            shares = np.array(row["below"]) / row["trials"]
            axes.plot(MULTIPLES, shares, color=look.ORANGE, lw=1)
            for multiple, count in zip(MULTIPLES, row["below"], strict=True):
                _dot(axes, multiple, count, row["trials"], look.ORANGE, 4)
            look.write(
                axes, 1.12, shares[0], f"|Z| = {row['|Z|']}", look.BROWN, ha="right", va="center"
            )
    axes.set(
        xlim=(0.1, 5.5),
        ylim=(0.25, 1.01),
        xlabel="t, in standard deviations of g on V: √(m/(n−k))",
    )
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    look.heading(axes, "Theorem 6 (2): points of V with |g| < t", "holds, if |Z| is well above n")
    look.write(axes, 5.4, 0.5, "● w Gaussian, as in the theorem", look.BLUE, ha="right")
    look.write(axes, 5.4, 0.445, "● fitted polynomials, |Z| ≥ 1,000", look.GREEN, ha="right")
    look.write(axes, 5.4, 0.39, "● fitted, n = 105, few random points", look.BROWN, ha="right")
    look.write(axes, 5.4, 0.335, "━ bound: 1 − (m/(n−k))/t²", weight="bold", ha="right")


def _theorem6_large(axes, results):
    """Theorem 6 (3): both sides depend on d = n - k - m only, if w is the theorem's."""
    d = np.unique(np.rint(np.geomspace(1, 400, 60)).astype(int))
    exact = [1 - float(laws.below(np.sqrt(one / 2), 1, 0, one)) for one in d]
    axes.plot(d, exact, color=look.GREY, lw=1)
    axes.plot(d, d / (4 * (d + 2)), color=look.INK, lw=1.8)
    axes.plot(d, d / (12 * (d + 2)), color=look.INK, lw=1.4, ls=look.DASHES)
    axes.fill_between(d, 0, d / (4 * (d + 2)), color=look.SHADE, lw=0)
    for result in _grid(results):
        at = result["n"] - result["k"] - result["m"]
        for row, shift in zip(result["rows"], (1, 1.05, 1.1), strict=False):
            color = look.BLUE if row["w"] == "Gaussian" else look.GREEN
            _dot(axes, at * shift, row["large"], row["trials"], color, 3.2)
    axes.set(xscale="log", xlim=(0.9, 420), ylim=(0, 0.62), xlabel="d = n − k − m")
    axes.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    look.heading(
        axes,
        "Theorem 6 (3): points outside V with large |g|",
        "|g| ≥ √(d / 2(n−k)); holds, with room",
    )
    look.write(axes, 1.0, 0.43, "● w Gaussian", look.BLUE)
    look.write(axes, 1.0, 0.475, "● fitted polynomials", look.GREEN)
    look.write(axes, 3.6, 0.375, "─ exact", look.GREY)
    look.write(axes, 370, 0.18, "bound as printed: d / 4(d+2)", weight="bold", ha="right")
    look.write(axes, 370, 0.03, "what its proof gives: d / 12(d+2)", ha="right")


def _proposition5(axes, results):
    bites = results["Proposition 5 where it bites"]
    paper = results["Proposition 5 in the paper's setting"]
    eps = np.linspace(0.05, 2.05, 80)
    bound = laws.size_bound(eps, bites["N"], bites["|Z|"])
    exact = np.exp([laws.log_size_probability(one, bites["N"], bites["|Z|"]) for one in eps])
    axes.axhspan(1, 1e5, color=look.SHADE, lw=0)
    axes.plot(eps, exact, color=look.GREY, lw=1)
    axes.plot(eps, bound, color=look.INK, lw=1.8)
    axes.plot(eps, laws.size_bound(eps, paper["N"], paper["|Z|"]), color=look.ORANGE, lw=1.8)
    for result, color in ((paper, look.ORANGE), (bites, look.BLUE)):
        for one, count in zip(result["ε"], result["far"], strict=True):
            _dot(axes, one, count, result["trials"], color, 4)
    axes.set(yscale="log", xlim=(0, 2.1), ylim=(1e-5, 1e5), xlabel="ε")
    axes.yaxis.set_major_locator(FixedLocator([1e-4, 1e-2, 1, 1e2, 1e4]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_power))
    look.heading(
        axes,
        "Proposition 5: ‖g(Z)‖²/|Z| off by 2ε or more",
        "holds; says something only if |Z| ≫ N²",
    )
    look.write(
        axes,
        2.05,
        2000.0,
        "bound in the paper's setting,\nN = 100, |Z| = 10,000: says nothing",
        look.BROWN,
        ha="right",
        va="top",
    )
    look.write(axes, 1.4, 0.065, "bound at N = 10,\n|Z| = 100,000", va="bottom", weight="bold")
    look.write(axes, 1.33, 2.2e-05, "exact", look.GREY, ha="right")
    look.write(
        axes, 0.09, 2e-05, "● frequencies, 99 % intervals\n▼ upper end, none seen", look.BLUE
    )


def _chi_square(axes, results):
    lemma = results["χ² lemma"]
    eps, at = lemma["ε"], lemma["M"]
    degrees = np.geomspace(10, 1500, 100)
    axes.plot(degrees, laws.upper_tail_bound(eps, degrees), color=look.RED, lw=1.8)
    axes.plot(degrees, laws.upper_tail_chernoff(eps, degrees), color=look.INK, lw=1.8)
    axes.plot(degrees, laws.chi2.sf((1 + eps) * degrees, degrees), color=look.BLUE, lw=1.8)
    _dot(axes, at, lemma["above"], lemma["trials"], look.BLUE, 6)
    axes.plot(at, lemma["printed bound"], "o", color=look.RED, ms=6)
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(10, 1600),
        ylim=(1e-18, 30),
        xlabel="M, degrees of freedom",
    )
    axes.set_xticks([10, 30, 100, 300, 1000], ["10", "30", "100", "300", "1,000"])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator([1e-16, 1e-12, 1e-8, 1e-4, 1]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_power))
    look.heading(
        axes, "χ² lemma: P[χ² ≥ (1+ε) M] at ε = 0.1", "false: the probability is above the bound"
    )
    look.write(axes, 1450, 0.5, "Chernoff's bound", ha="right", va="bottom")
    look.write(
        axes,
        at,
        0.0004,
        f"{lemma['probability']:.4f}",
        look.BLUE,
        weight="bold",
        ha="center",
        va="top",
    )
    look.write(axes, 60, 0.001, "probability", look.BLUE)
    look.write(
        axes,
        at * 0.92,
        lemma["printed bound"],
        f"printed: ≤ {_scientific(lemma['printed bound'])}",
        look.RED,
        weight="bold",
        ha="right",
        va="center",
    )
    look.write(axes, 190, 1e-07, "bound as printed,\nλ = 1/3", look.RED, ha="right")


# --- pieces ---------------------------------------------------------------------------------------


def _grid(results):
    return [result for name, result in results.items() if name.startswith("Theorem 6, ")]


def _dot(axes, x, count, trials, color, size):
    """Draw a frequency with its interval; where nothing was seen, the upper end only."""
    low, high = laws.interval(count, trials)
    if count == 0:
        axes.plot(x, high, "v", color=color, ms=size + 1.5)
        return
    axes.plot([x, x], [low, high], color=color, lw=1.2, solid_capstyle="butt")
    axes.plot(x, count / trials, "o", color=color, ms=size, mew=0)


def _power(value, _):
    exponent = round(np.log10(value))
    return "1" if exponent == 0 else f"$10^{{{exponent}}}$"


def _scientific(value):
    exponent = int(np.floor(np.log10(value)))
    return rf"{value / 10.0**exponent:.0f} × $\mathbf{{10^{{{exponent}}}}}$"
