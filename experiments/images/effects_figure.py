"""The figure of single choices: small multiples, a panel a choice, a colour a data set."""

from experiments.harness import look, store
from experiments.images.data import SETS
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

COLORS = dict(zip(SETS, (look.BLUE, look.ORANGE), strict=True))
LETTERS = dict(zip(SETS, (look.BLUE, look.BROWN), strict=True))
STYLES = ("-", look.DASHES, (0, (1, 1.5)))
SUBTITLES = {
    "dimension": "principal components",
    "degree": "largest degree of the polynomials",
    "tolerance": "size on the own copy, relative to the others",
    "training images": "before odd labels are left out",
    "weights": "on the polynomials",
    "transformations": "that are told apart",
}
#: Panels whose numbers grow by factors.
BY_FACTORS = ("dimension", "training images")


def draw(drawn, size):
    figure = Figure(figsize=(11, 7.6), facecolor="white")
    axes = figure.subplots(2, 3, sharey=True)
    for place, (panel, content) in zip(axes.flat, drawn.items(), strict=True):
        _draw_panel(place, panel, content)
    for place in axes[:, 0]:
        place.set_ylabel("AUC × 100")
    for i, name in enumerate(SETS):
        how = {"weight": "bold", "ha": "left", "va": "top", "fontsize": look.HEADING}
        figure.text(0.05 + 0.09 * i, 0.98, name, color=LETTERS[name], **how)
    figure.tight_layout(rect=(0, 0, 1, 0.95), h_pad=2.5)
    return store.save_figure(figure, "effects", size)


def _draw_panel(axes, panel, content):
    words = _words(content)
    styles = dict(zip(dict.fromkeys(line for line, _ in content), STYLES, strict=False))
    for (line, name), points in content.items():
        if not points:
            continue
        x = [words.index(value) if words else value for value, _ in points]
        y = [auc for _, auc in points]
        how = {"color": COLORS[name], "ms": 5, "lw": 0 if words else 1.6}
        axes.plot(x, y, "o", ls=styles[line], **how)
    if words:
        axes.set_xticks(range(len(words)), [word.replace(", ", ",\n") for word in words])
        axes.set_xlim(-0.5, len(words) - 0.5)
        axes.tick_params(axis="x", labelrotation=35 if len(words) > 3 else 0)
    elif panel in BY_FACTORS:
        axes.set_xscale("log")
        ticks = sorted({value for points in content.values() for value, _ in points})
        axes.set_xticks(ticks, [f"{tick / 1000:g}k" if tick >= 1000 else tick for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
    elif panel == "degree":
        axes.set_xticks(range(1, 5))
    if any(styles):  # the lines are too close to each other to be named at their ends
        keys = [Line2D([], [], color=look.GREY, ls=ls, label=line) for line, ls in styles.items()]
        how = {"framealpha": 1, "edgecolor": "none", "labelcolor": look.INK}
        axes.legend(handles=keys, loc="lower right", fontsize=look.NOTE, handlelength=3, **how)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.grid(axis="y", color=look.LIGHT, lw=0.7)
    look.bare(axes)
    look.heading(axes, panel.capitalize(), SUBTITLES[panel])


def _words(content):
    """Return the names on an axis that has no numbers, in their order; none if it has."""
    values = dict.fromkeys(x for points in content.values() for x, _ in points)
    return [x for x in values if isinstance(x, str)]
