"""The look of the figures: colours, letters, bare axes."""

# Okabe and Ito's colours, which colour-blind people tell apart.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
BROWN = "#A36F00"  # orange, dark enough for letters
INK, GREY, LIGHT, SHADE = "#222222", "#777777", "#DDDDDD", "#F3F3F3"
NOTE, HEADING = 10, 11.5  # sizes of letters
DASHES = (0, (3, 2))


def write(axes, x, y, text, color=INK, **how):
    """Write a note at a place given in the coordinates of the data."""
    axes.text(x, y, text, **({"color": color, "fontsize": NOTE} | how))


def heading(axes, title, subtitle=""):
    """Write what a panel shows, and below it what it says."""
    pad = 21 if subtitle else 6
    axes.set_title(title, loc="left", fontsize=HEADING, weight="bold", color=INK, pad=pad)
    axes.text(0, 1.025, subtitle, transform=axes.transAxes, fontsize=NOTE, color=GREY)


def bare(axes):
    """Leave two faint axes and their numbers."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LIGHT)
    axes.tick_params(colors=INK, labelsize=NOTE - 0.5, length=0)
    axes.xaxis.label.set(fontsize=NOTE, color=INK)
    axes.yaxis.label.set(fontsize=NOTE, color=INK)
