"""BasisDisplay and SpectrumDisplay: a basis at a glance, and the extents of each degree."""

from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.namespace import FloatArray, move_to_numpy
from vanishing.construction.loop import DegreeTrace
from vanishing.data.inputs import check_new_table, get_feature_names
from vanishing.detectors.base import Detector
from vanishing.equations.expansion import affine_map, compose_maps
from vanishing.equations.text import number, shorten_name
from vanishing.ideal import VanishingIdeal
from vanishing.levels import CHANCE
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import AffineMap
from vanishing.style import (
    CELL,
    LABELS,
    LEGEND,
    LINE_SPACING,
    LOWEST_DRAWN,
    NARROW_SIDE,
    NOTE_SIZE,
    TEXT_SIZE,
    TITLE_SIZE,
    WIDE_SIDE,
    choose_colors,
    draw_two_spines,
    legend_entry,
    new_axes,
    pyplot,
    write_labels,
    write_legend,
)
from vanishing.transformations import Transformation

# --- What displays of a fitted ideal are given, checked -------------------------------------------


def fitted_ideal(model: Any) -> VanishingIdeal:
    """Return the ideal of a fitted model, in the columns of the data, or raise.

    The polynomials of a pipeline are carried back through its steps. Of a detector it is the first
    ideal, that of all rows.
    """
    if isinstance(model, VanishingIdeal):
        check_is_fitted(model)
        return model
    if isinstance(model, Pipeline):
        inner = fitted_ideal(model[-1])
        return compose_ideal(inner, affine_map(model[:-1]), model) if len(model) > 1 else inner
    if isinstance(model, Detector):
        check_is_fitted(model)
        if not model.ideals_:
            raise ValueError("the detector has no ideal: all columns were constant in training")
        coordinates = model.anomaly_score_.coordinates
        if isinstance(coordinates.maps[0], Transformation):
            raise TypeError(
                f"a {type(model).__name__} has ideals of transformed data, and no single one to "
                "draw; pass one of detector.ideals_[transformation][cluster], with its points"
            )
        steps = [step for step in (coordinates.scaler, coordinates.maps[0]) if step is not None]
        maps = [AffineMap.identity(model.n_features_in_), *map(affine_map, steps)]
        if coordinates.columns is not None:
            # After the scaler, before the map of the image.
            chosen = np.eye(model.n_features_in_)[coordinates.columns]
            place = 1 + (coordinates.scaler is not None)
            maps.insert(place, AffineMap(chosen, np.zeros(len(chosen))))
        return compose_ideal(model.ideals_[0][0], compose_maps(maps), model)
    raise TypeError(
        "expected a fitted VanishingIdeal, a pipeline that ends in one, or a detector, got "
        f"{type(model).__name__}"
    )


def compose_ideal(ideal: VanishingIdeal, inner: AffineMap, model: Any) -> VanishingIdeal:
    """Return a copy of an ideal whose polynomials are in the columns of the model's data."""
    carried = copy(ideal)
    carried.basis_ = ideal.basis_.compose(inner)
    carried.n_features_in_ = inner.n_in
    carried.__dict__.pop("feature_names_in_", None)
    if (names := getattr(model, "feature_names_in_", None)) is not None:
        carried.feature_names_in_ = names
    return carried


def points_of(ideal: VanishingIdeal, X: Any) -> FloatArray | None:
    """Return points of the width of the ideal as a NumPy array; None stays None."""
    if X is None:
        return None
    points: FloatArray = np.asarray(move_to_numpy(check_new_table(ideal, X)), dtype=np.float64)
    return points


# --- BasisDisplay: numbers, extents and variables -------------------------------------------------

#: Polynomials and variables that have a row or a column of their own, at most, and letters of names
#: that are written across, which a column has room for.
MOST_SHOWN, SHORT_NAME = 24, 3
NOTHING = "Nothing vanishes:\nraise tol or max_degree."


class BasisDisplay:
    """Overview of a basis of polynomials.

    From left to right: the numbers of vanishing and nonvanishing polynomials of each degree; the
    extent of each vanishing polynomial; and the share that each variable has in it.

    The share of a variable in a polynomial is the root mean square of its derivative, times the
    spread of the variable, as a part of the sum over all variables: by how much the polynomial
    would change if the variable moved as it does among the points.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    basis : PolynomialBasis
    shares : array of shape (n_vanishing, n_features) or None, default=None
        Share of each variable in each vanishing polynomial.
    feature_names : sequence of str, optional

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        Numbers, extents, and shares if there are some.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.datasets import make_variety
    >>> from vanishing.plotting import BasisDisplay
    >>> X = make_variety("cylinder", 200)
    >>> ideal = VanishingIdeal(max_degree=2, tol=1e-6).fit(X)
    >>> BasisDisplay.from_estimator(ideal, X).shares.round(1)
    array([[0.5, 0.5, 0. ]])
    """

    ax_: Any
    axes_: Any
    figure_: Any

    def __init__(
        self,
        basis: PolynomialBasis,
        *,
        shares: FloatArray | None = None,
        feature_names: Any = None,
    ) -> None:
        self.basis = basis
        self.shares = shares
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls, ideal: Any, X: Any = None, *, feature_names: Any = None, ax: Any = None
    ) -> Self:
        """Draw an overview of an ideal.

        Parameters
        ----------
        ideal : VanishingIdeal, Pipeline or VanishingDetector
            Fitted. The polynomials of a pipeline are carried back to its columns. Of a detector it
            is the first ideal, that of all rows.
        X : array-like of shape (n_samples, n_features), optional
            Points from which the shares of the variables are computed; at most 1000 are used.
            Without X no shares are drawn, since an ideal does not know the spread of its variables.
        feature_names : sequence of str, optional
            By default the column names of the fit, or x0, x1, ...
        ax : sequence of matplotlib Axes or None, default=None
            Where to draw: three, or two without X. None makes a figure.

        Returns
        -------
        BasisDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        fitted = fitted_ideal(ideal)
        points = points_of(fitted, X)
        shares = None if points is None else variable_shares(fitted.basis_, points)
        names = get_feature_names(fitted, feature_names)
        return cls(fitted.basis_, shares=shares, feature_names=names).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : sequence of matplotlib Axes or None, default=None
            Where to draw: three, or two without shares. None makes a figure.

        Returns
        -------
        BasisDisplay
            With ``axes_``, ``ax_`` and ``figure_``.
        """
        pyplot(f"{type(self).__name__}.plot")
        n_panels = 2 if self.shares is None else 3
        if ax is None:
            n_columns = min(self.basis.n_features, MOST_SHOWN + 1)
            widths = [NARROW_SIDE, NARROW_SIDE, max(CELL * n_columns, NARROW_SIDE)][:n_panels]
            rows = LINE_SPACING * TEXT_SIZE / 72 * self._n_shown
            names = 0.0
            if self.shares is not None:
                # Upright names of variables, whose letters are two thirds as wide as high.
                longest = max(map(len, self._columns(self.shares)[1]))
                names = 2 / 3 * NOTE_SIZE / 72 * longest if longest > SHORT_NAME else 0.0
            size = sum(widths) + 2 * LABELS, max(rows + LABELS, NARROW_SIDE) + LABELS + names
            ax = new_axes(n_panels, size, ratios=widths)
        elif np.shape(ax) != (n_panels,):
            raise ValueError(
                f"ax must be a sequence of {n_panels} Axes, such as those of "
                f"plt.subplots(1, {n_panels})"
            )
        self.axes_ = np.array(ax, dtype=object)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self._draw_numbers(self.axes_[0])
        self._draw_extents(self.axes_[1])
        if self.shares is not None:
            self._draw_shares(self.axes_[2])
        return self

    @property
    def _n_shown(self) -> int:
        return min(self.basis.count(), MOST_SHOWN)

    def _draw_numbers(self, ax: Any) -> None:
        """Draw two bars a degree, with their numbers."""
        from matplotlib.transforms import offset_copy

        top = len(self.basis.blocks)
        degrees, colors = np.arange(1, top + 1), choose_colors(ax.figure)
        for which, color, offset in (
            ("vanishing", colors.less, -0.2),
            ("nonvanishing", colors.neutral, 0.2),
        ):
            found = self.basis.degrees(which=which)  # type: ignore[arg-type]
            counts = np.bincount(found, minlength=top + 1)[1:]
            bars = ax.bar(degrees + offset, counts, width=0.38, color=color, label=which)
            ax.bar_label(bars, counts.astype(str), fontsize=NOTE_SIZE, color=colors.ink, padding=1)
        ax.set_xticks(degrees)
        ax.set_yticks([])
        write_labels(ax, xlabel="degree")
        ax.margins(y=0.12)
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(0.0, 0.0),
            # Below the names of the axis, however high the axes are.
            bbox_transform=offset_copy(ax.transAxes, ax.figure, y=-3 * NOTE_SIZE, units="points"),
            borderaxespad=0.0,
            frameon=False,
            fontsize=NOTE_SIZE,
            labelcolor=colors.ink,
            handlelength=1.0,
        )
        _finish(ax, "Polynomials", frame="bottom")

    def _draw_extents(self, ax: Any) -> None:
        """Draw the extents downwards, in the order of the columns of ``transform``."""
        extents = self.basis.extents[: self._n_shown]
        rows, colors = np.arange(len(extents)), choose_colors(ax.figure)
        title = "Extents"
        if len(extents) < self.basis.count():
            title += f", {len(extents)} of {self.basis.count()}"
        _finish(ax, title, frame="bottom")
        if not len(extents):
            ax.set(xticks=[], yticks=[])
            look = {"ha": "center", "va": "center", "fontsize": NOTE_SIZE, "color": colors.ink}
            ax.text(0.5, 0.5, NOTHING, **look)
            return
        heights = np.clip(extents, LOWEST_DRAWN, None)
        ax.set_xscale("log")
        # Whole powers of ten, and few of them, so that their names do not meet.
        low, high = np.floor(np.log10(heights.min())), np.ceil(np.log10(heights.max() * 1.01))
        ax.set_xlim(10.0**low, 10.0**high)
        ax.set_xticks(10.0 ** np.unique(np.round(np.linspace(low, high, 4))))
        ax.set_xticks([], minor=True)
        ax.hlines(rows, ax.get_xlim()[0], heights, color=colors.neutral, linewidth=0.8)
        ax.plot(heights, rows, "o", color=colors.less, markersize=4)
        degrees = self.basis.degrees().tolist()[: len(extents)]
        # As get_feature_names_out has them.
        names = [f"g{degree}_{i - degrees.index(degree)}" for i, degree in enumerate(degrees)]
        ax.set_yticks(rows, names, fontsize=NOTE_SIZE, color=colors.ink)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        write_labels(ax, xlabel="root mean square on X")

    def _draw_shares(self, ax: Any) -> None:
        """Draw a cell for each variable and polynomial; the number where it is large."""
        from matplotlib.colors import LinearSegmentedColormap

        assert self.shares is not None
        shares, names = self._columns(self.shares[: self._n_shown])
        _finish(ax, "Share of each variable" if len(shares) else "", frame="")
        ax.set(xticks=[], yticks=[])
        if not len(shares):
            return
        colors = choose_colors(ax.figure)
        shades = LinearSegmentedColormap.from_list("shares", [colors.paper, colors.less])
        look = {"cmap": shades, "vmin": 0.0, "vmax": 1.0}
        ax.pcolormesh(shares, edgecolors=colors.paper, linewidth=1, **look)
        ax.set_ylim(len(shares), 0)
        for (row, column), share in np.ndenumerate(shares):
            if share >= 0.1:
                written = number(float(100 * share), ".0f")
                color = colors.paper if share > 0.8 else colors.ink
                place = {"ha": "center", "va": "center", "fontsize": NOTE_SIZE - 1.5}
                ax.text(column + 0.5, row + 0.5, written, color=color, **place)
        upright = max(map(len, names)) > SHORT_NAME
        ax.set_xticks(
            np.arange(len(names)) + 0.5,
            names,
            fontsize=NOTE_SIZE,
            color=colors.ink,
            rotation=90 if upright else 0,
            parse_math=False,
        )
        write_labels(ax, xlabel="percent, from 10 on")

    def _columns(self, shares: FloatArray) -> tuple[FloatArray, list[str]]:
        """Return the variables with the largest shares, in their order, and the rest as one."""
        names = [shorten_name(str(name), 20) for name in self.feature_names]
        if shares.shape[1] <= MOST_SHOWN + 1:
            return shares, names
        largest = np.argsort(-shares.sum(axis=0), kind="stable")
        shown, rest = np.sort(largest[:MOST_SHOWN]), largest[MOST_SHOWN:]
        joined = np.column_stack([shares[:, shown], shares[:, rest].sum(axis=1)])
        return joined, [*(names[j] for j in shown), f"{len(rest)} others"]


def variable_shares(basis: PolynomialBasis, points: FloatArray) -> FloatArray:
    """Return the share of each variable in each vanishing polynomial.

    Rows add up to 1, or are 0 where a polynomial does not change at all. At most 1000 points,
    evenly chosen, are used.
    """
    chosen = points[:: max(1, -(-len(points) // round(1 / CHANCE)))]
    squares = np.zeros((basis.count(), basis.n_features))
    for row in np.array_split(chosen, max(1, len(chosen) // 100)):
        squares += np.sum(basis.jacobian(row) ** 2, axis=0)
    sizes = np.sqrt(squares / len(chosen)) * points.std(axis=0)
    totals = sizes.sum(axis=1, keepdims=True)
    return np.asarray(sizes / np.where(totals > 0, totals, 1.0))


def _finish(ax: Any, title: str, *, frame: str) -> None:
    colors = choose_colors(ax.figure)
    ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=colors.ink)
    ax.tick_params(which="both", length=0, labelsize=NOTE_SIZE, labelcolor=colors.ink)
    ax.tick_params(axis="x", labelsize=TEXT_SIZE - 1)
    ax.spines[:].set_visible(False)
    if frame:
        ax.spines[frame].set_visible(True)
        ax.spines[frame].set_color(colors.neutral)


# --- SpectrumDisplay: the extents of all directions of each degree, and where vanishing ends ------

#: Inches: width of a degree, and the share of it that its extents are spread over.
DEGREE_WIDTH, SPREAD = 1.7, 0.76


class SpectrumDisplay:
    """Picture of the spectrum of a fitted ideal.

    Each mark is one direction of a degree; its height is the extent, the root mean square on the
    points of the fit of a polynomial of size 1. A line shows the tolerance: what lies below it
    vanishes. Directions that the tolerance only just keeps out or lets in are seen at a glance,
    and so is a gap.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    trace : tuple of DegreeTrace
        The attribute ``trace_`` of an ideal.
    elsewhere : list of arrays or None, default=None
        Per degree, the root mean square of each vanishing polynomial on other points.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.datasets import make_variety
    >>> from vanishing.plotting import SpectrumDisplay
    >>> ideal = VanishingIdeal(max_degree=3, tol=0.05).fit(make_variety("circle", 100, noise=0.01))
    >>> SpectrumDisplay.from_estimator(ideal).ax_.get_ylabel()
    'extent: root mean square on X'
    """

    ax_: Any
    figure_: Any

    def __init__(
        self, trace: tuple[DegreeTrace, ...], *, elsewhere: list[FloatArray] | None = None
    ) -> None:
        self.trace = trace
        self.elsewhere = elsewhere

    @classmethod
    def from_estimator(cls, ideal: Any, X: Any = None, *, ax: Any = None) -> Self:
        """Draw the spectrum of an ideal.

        Parameters
        ----------
        ideal : VanishingIdeal, Pipeline or VanishingDetector
            Fitted. The polynomials of a pipeline are carried back to its columns. Of a detector it
            is the first ideal, that of all rows.
        X : array-like of shape (n_samples, n_features), optional
            Other points than those of the fit: the root mean square of each vanishing polynomial on
            them is drawn as well. Equations that hold by chance are large there.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SpectrumDisplay
        """
        pyplot(f"{cls.__name__}.from_estimator")
        fitted = fitted_ideal(ideal)
        points = points_of(fitted, X)
        if points is None:
            return cls(fitted.trace_).plot(ax=ax)
        sizes = np.sqrt(np.mean(fitted.basis_.evaluate(points) ** 2, axis=0))
        degrees = fitted.basis_.degrees()
        elsewhere = []
        for step in fitted.trace_:
            here = degrees == step.degree
            places = np.arange(step.vanishing)
            if here.sum() < step.vanishing:  # of minimal generators, some are not there
                below = step.spectrum[: step.vanishing, None]
                places = np.argmin(np.abs(below - fitted.extents_[here]), axis=0)
            elsewhere.append(np.full(step.vanishing, np.nan))
            elsewhere[-1][places] = sizes[here]
        return cls(fitted.trace_, elsewhere=elsewhere).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SpectrumDisplay
            With ``ax_`` and ``figure_``.
        """
        pyplot(f"{type(self).__name__}.plot")
        if ax is None:
            ax = new_axes(1, (LEGEND + DEGREE_WIDTH * len(self.trace), WIDE_SIDE))
        self.ax_, self.figure_ = ax, ax.figure
        colors = choose_colors(ax.figure)
        ax.set_yscale("log")
        ax.set_ylim(*self._limits())
        names = []
        for place, step in enumerate(self.trace):
            self._draw_degree(place, step)
            counted = step.vanishing + step.nonvanishing + step.cut
            infinite = f"\n{step.unbounded} infinite" if step.unbounded else ""
            names.append(f"degree {step.degree}\n{step.vanishing} of {counted} vanish{infinite}")
        ax.set_xlim(-0.5, len(self.trace) - 0.5)
        ax.set_xticks(range(len(self.trace)), names)
        ax.tick_params(axis="x", length=0, labelsize=TEXT_SIZE, labelcolor=colors.ink)
        ax.tick_params(axis="y", which="both", labelsize=NOTE_SIZE, colors=colors.note)
        write_labels(ax, ylabel="extent: root mean square on X")
        ax.set_title("Spectrum by degree", loc="left", fontsize=TITLE_SIZE, color=colors.ink)
        draw_two_spines(ax)
        write_legend(ax, self._entries())
        return self

    def _limits(self) -> tuple[float, float]:
        """Return the heights between which everything lies."""
        drawn = [*(step.spectrum for step in self.trace), *(self.elsewhere or [])]
        drawn.append(np.array([step.tol for step in self.trace if step.tol > 0]))
        heights = np.clip(np.concatenate(drawn), LOWEST_DRAWN, None)
        heights = heights[np.isfinite(heights)]
        low, high = (heights.min(), heights.max()) if heights.size else (0.1, 1.0)
        # Of powers, so that there is room at both ends whatever the range.
        room = max((high / low) ** 0.08, 1.5)
        return float(low / room), float(high * room)

    def _draw_degree(self, place: int, step: DegreeTrace) -> None:
        ax, extents = self.ax_, np.clip(step.spectrum, LOWEST_DRAWN, None)
        across = place + np.linspace(-SPREAD / 2, SPREAD / 2, len(extents))
        if len(extents) == 1:
            across = np.array([float(place)])
        size = float(np.clip(260 / max(len(extents), 1), 5, 26))
        vanishing, rest = slice(0, step.vanishing), slice(step.vanishing, None)
        marks, colors = {"s": size, "linewidths": 1.0}, choose_colors(ax.figure)
        ax.scatter(across[rest], extents[rest], facecolors="none", edgecolors=colors.note, **marks)
        ax.scatter(across[vanishing], extents[vanishing], color=colors.less, **marks)
        if self.elsewhere is not None:
            heights = np.clip(self.elsewhere[place], LOWEST_DRAWN, None)
            ax.scatter(across[vanishing], heights, marker="_", color=colors.more, s=size * 2.5)
        if step.tol > 0:
            ends = place - 0.46, place + 0.46
            ax.plot(ends, [step.tol] * 2, color=colors.ink, linewidth=1.2, linestyle=(0, (5, 2.5)))
        if place:
            ax.axvline(place - 0.5, color=colors.neutral, linewidth=0.6)

    def _entries(self) -> list[Any]:
        """Name the marks."""
        tols = {step.tol for step in self.trace}
        written = f"tolerance {number(tols.pop(), '.3g')}" if len(tols) == 1 else "tolerance"
        mark, colors = partial(legend_entry, linestyle=""), choose_colors(self.figure_)
        entries = [
            mark("nonvanishing", marker="o", color=colors.note, markerfacecolor="none"),
            mark("vanishing", marker="o", color=colors.less),
        ]
        if self.elsewhere is not None:
            other = "vanishing, on\nother points"
            entries.append(mark(other, marker="_", color=colors.more, markeredgewidth=2))
        stroke = (0, (3, 1.5)) if any(step.tol > 0 for step in self.trace) else ""
        return [*entries, legend_entry(written, color=colors.ink, linewidth=1.2, linestyle=stroke)]
