"""The equations of a report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vanishing.app.report.charts import BINS, draw_chart, mark_place, name_axes
from vanishing.app.report.content import (
    figure,
    fold,
    fold_rest,
    format_count,
    format_power,
    raise_power,
)
from vanishing.app.wording import (
    LONGEST_FORMULA_NAME,
    MOST_WRITTEN_TERMS,
    NAMED,
    have_enough_rows,
    take_terms,
)
from vanishing.arrays.namespace import FloatArray, lazy
from vanishing.detectors.score import Part
from vanishing.equations.expansion import is_quick
from vanishing.equations.mathml import Element, element, mathml_equation
from vanishing.equations.simplification import TidyEquation, tidy
from vanishing.equations.sizes import DataScale, terms_that_count
from vanishing.equations.text import Sum, join, shorten_names, significant
from vanishing.explain.record import Explanation
from vanishing.explain.view import linear_part
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import AffineMap, count
from vanishing.style import LESS, NEUTRAL

# --- Equations of a detector as formulas, in the columns of the table where that can be read ------

#: Rows on which the sizes of terms and the noise are taken: they are known to a few percent then.
MEASURED_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Formula:
    """One equation; ``usual`` is how far off it usually is on normal data, in the same units."""

    terms: Sum
    names: Sequence[str]
    usual: float

    @property
    def element(self) -> Element:
        """The formula."""
        return mathml_equation(self.terms, self.names, relation="≈ 0")

    @property
    def n_left_out(self) -> int:
        """Terms for which dots stand."""
        return self.terms.n_left_out

    def explicit(self) -> Element:
        """Return the formula of a variable with the coefficient 1, or what is zero without any.

        People read "power ≈ speed · force" more easily than what is zero. A variable is preferred
        that is a sum of others.
        """
        best: tuple[int, Sum, str] | None = None
        for variable, name in enumerate(self.names):
            sides = self._solve(variable)
            if sides is not None and abs(sides[1]) == 1:
                n_negative = sum(value < 0 for value in sides[0].coefficients)
                if best is None or n_negative < best[0]:
                    best = n_negative, sides[0], name
        if best is None:
            return self.element
        return mathml_equation(best[1], self.names, relation="≈", left=best[2])

    def solve_for(self, variable: int, row: FloatArray) -> tuple[Element, float] | None:
        """Return the formula of one variable, and what it gives in a row; None without any."""
        sides = self._solve(variable)
        if sides is None:
            return None
        terms = sides[0]
        value = np.prod(row**terms.exponents, axis=1) @ np.asarray(terms.coefficients)
        return (
            mathml_equation(terms, self.names, relation="≈", left=self.names[variable]),
            float(value),
        )

    def _solve(self, variable: int) -> tuple[Sum, float] | None:
        """Return what a variable is, if it stands alone in one term only, and its coefficient."""
        exponents, coefficients = self.terms.exponents, np.asarray(self.terms.coefficients)
        having = np.flatnonzero(exponents[:, variable])
        if self.n_left_out or len(having) != 1 or exponents[having[0]].sum() != 1:
            return None
        others, own = np.arange(len(exponents)) != having[0], float(coefficients[having[0]])
        digits = np.broadcast_to(self.terms.digits, len(exponents))[others].tolist()
        return Sum(exponents[others], (-coefficients[others] / own).tolist(), digits), own


@dataclass(frozen=True, eq=False)
class Formulas:
    """The equations of one part of a detector.

    The sizes of terms are taken on ``rows``, which are normal; ``center`` and ``scale`` are mean
    and spread of the training data.
    """

    part: Part
    rows: FloatArray
    names: tuple[str, ...]
    center: FloatArray
    scale: FloatArray

    @lazy
    def _seen(self) -> FloatArray:
        """Some rows as the equations see them."""
        return np.asarray(self.part.coordinates(self._some_rows), dtype=np.float64)

    @property
    def _some_rows(self) -> FloatArray:
        return self.rows[:: max(1, len(self.rows) // MEASURED_ROWS)]

    @lazy
    def _affine(self) -> AffineMap | None:
        """The map from features to coordinates, where it is to be used."""
        if len(self.names) > 2 * self._seen.shape[1]:  # formulas would be much longer
            return None
        try:
            matrix = linear_part(self.part.coordinates, self.center, self.scale)
            matrix = matrix.toarray() if issparse(matrix) else matrix
            middle = self.part.coordinates(self.center[None, :])[0]
            found = AffineMap(matrix, middle - matrix @ self.center, self.center)
            found.preimage(middle)
        except ValueError:  # a preprocessor that is not affine, or not onto
            return None
        return found

    @lazy
    def _short_names(self) -> list[str]:
        return shorten_names(self.names, LONGEST_FORMULA_NAME)

    @property
    def in_columns(self) -> bool:
        """Whether formulas are in the columns of the table, or else in coordinates u1, u2, ..."""
        return self._affine is not None

    @lazy
    def tidied(self) -> list[TidyEquation]:
        """The equations as short as the noise allows, of one ideal in the columns themselves.

        None where there are too few rows that keep them to tell the noise.
        """
        first = self.part.components[0]
        if not self.part.in_features or len(self.part.components) > 1 or first.center.any():
            return []
        basis = first.ideal.basis_
        rows = self._some_rows
        if not have_enough_rows(len(rows), count(basis.n_features, len(basis.blocks))):
            return []
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.sqrt(np.mean(basis.evaluate(rows) ** 2, axis=0))
        if not (off <= 2 * first.typical).all():
            return []
        try:
            return tidy(basis, rows, mix=False)
        except ValueError:  # too many terms, or too large ones
            return []

    def _tidied_formula(self, index: int) -> Formula | None:
        if not self.tidied or len(self.tidied[index].coefficients) > MOST_WRITTEN_TERMS:
            return None
        equation = self.tidied[index]
        return Formula(take_terms(equation), self._short_names, equation.extent)

    def formula(self, cluster: int, index: int) -> Formula | None:
        """Return one equation of a cluster, or None if it has too many or too large terms."""
        tidied = self._tidied_formula(index)
        if tidied is not None:
            return tidied
        component = self.part.components[cluster]
        basis = component.ideal.basis_
        basis = basis.restrict(np.arange(basis.count()) == index)
        degree = int(basis.degrees()[0])
        basis = PolynomialBasis(basis.n_features, basis.blocks[:degree])
        rows, names = self._seen, [f"u{k + 1}" for k in range(basis.n_features)]
        if self._affine is not None:
            basis = basis.compose(self._affine)
            rows, names = self._some_rows, self._short_names
        if not is_quick(basis, degree):
            return None
        exponents, coefficients = basis.expand()
        scale = DataScale(rows)
        sizes = scale.sizes(degree)
        if sizes is None:  # data of such a size that its squares overflow
            return None
        p = coefficients[:, 0].copy()
        p[0] -= component.center[index]
        usual = float(component.typical[index])
        leading = 1 + int(np.argmax(np.abs(p[1:]) * sizes[1:]))
        if p[leading] == 0:  # nothing but rounding
            return None
        span, usual = (each / abs(float(p[leading])) for each in (scale.spans(basis)[0], usual))
        p = p / p[leading]
        kept, digits = terms_that_count(p, sizes, span=span, extent=usual)
        shown = kept[:MOST_WRITTEN_TERMS]
        left_out = len(kept) - len(shown)
        # The first of the highest degree, as terms are written.
        first = min(shown, key=lambda k: (-exponents[k].sum(), k))
        p = p * np.sign(p[first])  # the sign is free, and a formula does not begin with a minus
        digits = digits[:MOST_WRITTEN_TERMS]
        return Formula(
            Sum(exponents[shown], p[shown].tolist(), digits.tolist(), left_out), names, usual
        )


# --- The sections on the equations and on the spectrum --------------------------------------------

#: Parts whose equations are listed, and whose spectra are drawn: a report is not an atlas.
MOST_PARTS = 6


def equations_section(
    parts: Sequence[Part],
    formulas: Sequence[Formulas],
    unit: str,
    explained: Sequence[Explanation] = (),
) -> list[Element]:
    """Return the equations: those that anomalous rows break most, and then those that hold best.

    The unit is what a row is called; ``explained`` are the explanations of anomalous rows.
    """
    if not parts:
        words = "There are no equations: every column of the training data is constant."
        return [element("p", words)]
    rounding = (
        "Coefficients are rounded and small terms left out where that changes an equation by less "
        "than a tenth of its usual deviation"
    )
    if any(each.tidied for each in formulas):
        rounding = (
            f"Coefficients are rounded and terms left out as long as the noise of normal {unit}s "
            "hides the change"
        )
    found: list[Element] = [
        element(
            "p",
            f"{_count_equations(parts, unit)} {rounding}; "
            "if there are many terms, dots stand for all but the largest.",
        ),
        *_list_broken(formulas, unit, explained),
    ]
    if any(not each.in_columns for each in formulas):
        found.append(
            element(
                "p",
                "The variables u₁, u₂, … are the coordinates of the detector, after its "
                "transformations and its preprocessing: written in the original columns, the "
                "formulas would have too many terms.",
            )
        )
    first, *others = [
        _part(part, written, seen=place == 0 and written.in_columns, unit=unit)
        for place, (part, written) in enumerate(zip(parts, formulas, strict=True))
        if place < MOST_PARTS
    ]
    if left := [each.name for each in parts[MOST_PARTS:]]:
        others.append([element("p", f"Not listed: {join(left)}.", class_="note")])
    if unit == "row" and formulas[0].in_columns:
        words = f"The other parts: {join([each.name for each in parts[1:]])}"
        return [*found, *first, *([fold(words, *others)] if others else [])]
    # Formulas of pixels, or of coordinates that nobody knows.
    return [*found[:1], fold("The equations", *found[1:], first, *others)]


def _count_equations(parts: Sequence[Part], unit: str) -> str:
    """Say how many equations hold for all rows, and how many in clusters of them."""
    whole = sum(len(p.components[0].center) for p in parts if len(p.components) == 1)
    n_clusters = sum(len(p.components) for p in parts if len(p.components) > 1)
    in_clusters = sum(len(c.center) for p in parts for c in p.components) - whole
    clusters = f"{n_clusters:,} clusters of normal {unit}s"
    if not whole:
        return f"In {clusters}, {format_count(in_clusters, 'equation')} hold up to noise."
    found = f"Normal {unit}s satisfy {format_count(whole, 'equation')}, up to noise"
    return f"{found}; {in_clusters:,} more hold in {clusters}." if in_clusters else f"{found}."


def _list_broken(
    formulas: Sequence[Formulas], unit: str, explained: Sequence[Explanation]
) -> list[Element]:
    """List the few equations that most of the explained rows break, if they can be read."""
    broken = Counter(
        (*equation.ideal, equation.index) for each in explained for equation in each.equations
    )
    items: list[Element] = []
    for (part, cluster, index), n_rows in broken.most_common():
        formula = formulas[part].formula(cluster, index) if formulas[part].in_columns else None
        if formula is not None and not formula.n_left_out and len(items) < NAMED:
            words = f"among those that {format_count(n_rows, unit)} break{'s' * (n_rows == 1)} most"
            items.append(element("li", formula.explicit(), element("span", words, class_="note")))
    if not items:
        return []
    heading = element("h3", f"Broken most by anomalous {unit}s")
    return [heading, list_formulas(items, 0)]


def _part(part: Part, written: Formulas, *, seen: bool, unit: str) -> list[Element]:
    """List the equations of one part."""
    ranked = sorted(
        (float(size), cluster, index)
        for cluster, component in enumerate(part.components)
        for index, size in enumerate(component.typical)
    )
    heading = element("h3", part.name[:1].upper() + part.name[1:])
    degree = max(component.degree for component in part.components)
    words = f"{format_count(len(ranked), 'equation')} up to degree {degree}"
    if len(part.components) > 1:
        words += f", of {len(part.components):,} clusters of normal {unit}s"

    def show(chosen: Sequence[tuple[float, int, int]], start: int) -> Element:
        return list_formulas([_item(part, written, *each[1:]) for each in chosen], start)

    about = element("p", f"{words}.", class_="note")
    listed = fold_rest(ranked, show, "equation", is_large=True, all_folded=not seen)
    return [heading, about, *listed]


def list_formulas(items: Sequence[Element], start: int) -> Element:
    """Return a numbered list of equations that follow on others."""
    return element("ol", list(items), class_="equations", start=start + 1 if start else None)


def _item(part: Part, written: Formulas, cluster: int, index: int) -> Element:
    formula = written.formula(cluster, index)
    degree = int(part.components[cluster].ideal.basis_.degrees()[index])
    where = f", cluster {cluster + 1}" if len(part.components) > 1 else ""
    if formula is None:
        words = f"degree {degree}{where}: too large to be written out"
        return element("li", element("span", words, class_="note"))
    words = f"usually off by {raise_power(significant(formula.usual, 2))}, degree {degree}{where}"
    if formula.n_left_out:
        words += f", {format_count(formula.n_left_out, 'smaller term')} left out"
    return element("li", formula.explicit(), element("span", words, class_="note"))


def spectrum_section(parts: Sequence[Part]) -> list[Element]:
    """Return a histogram of the extents of every degree of every part."""
    if not parts:
        return [element("p", "There are no equations, so there is no spectrum.")]
    found = draw_spectra(
        {part.name: [each.ideal.trace_ for each in part.components] for part in parts[:MOST_PARTS]}
    )
    if left := [each.name for each in parts[MOST_PARTS:]]:
        found.append(element("p", f"Not drawn: {join(left)}.", class_="note"))
    return found


def draw_spectra(traces: Mapping[str, Sequence[Sequence[Any]]]) -> list[Element]:
    """Return a histogram of the extents of every degree, of the traces of each part by its name."""
    words = (
        "Each direction of a degree is a polynomial of size 1; its extent is its root mean square "
        "on the training rows. If the extent is at most the tolerance, the polynomial vanishes and "
        "is an equation."
    )
    charts = [
        figure(*_spectrum(name, steps))
        for name, several in traces.items()
        for degree in range(1, max(map(len, several)) + 1)
        if (steps := [step for trace in several for step in trace if step.degree == degree])
    ]
    return [element("p", words), element("div", charts, class_="charts")]


def _spectrum(name: str, steps: Sequence[Any]) -> tuple[Element, str]:
    """Return the chart of one degree, and its caption."""
    vanishing = np.concatenate([step.spectrum[: step.vanishing] for step in steps])
    others = np.concatenate([step.spectrum[step.vanishing :] for step in steps])
    tols = sorted({step.tol for step in steps})
    # Extents below rounding errors are counted there, since zero has no logarithm.
    least = np.finfo(np.float64).eps
    logs = [np.log10(np.clip(each, least, None)) for each in (vanishing, others)]
    drawn_tols = [np.log10(tol) for tol in tols if tol > 0]
    everything = np.concatenate([*logs, drawn_tols])
    low, high = _whole_powers(everything)
    edges = np.linspace(low, high, BINS + 1)
    counts = [np.histogram(each, edges)[0] for each in logs]
    found = f"{len(vanishing)} of {format_count(len(vanishing) + len(others), 'direction')} vanish"
    words = f"{name}, degree {steps[0].degree}: {found}"

    def paint(ax: Any) -> None:
        ax.stairs(counts[0] + counts[1], edges, fill=True, color=NEUTRAL)
        ax.stairs(counts[0], edges, fill=True, color=LESS)
        ax.set(xlim=(low, high), ylim=(0, 1.02 * max(1, (counts[0] + counts[1]).max())))
        name_axes(ax, "extent", "directions", counts=True)
        powers = np.unique(np.round(np.linspace(low, high, min(5, int(high - low) + 1))))
        ax.set_xticks(powers, [format_power(10.0**power, "g") for power in powers.tolist()])
        if len(drawn_tols) == 1:
            mark_place(ax, drawn_tols[0], f"tolerance {format_power(tols[-1], '.3g')}")
        elif drawn_tols:
            mark_place(ax, drawn_tols[0], f"tolerances {format_power(tols[0], '.2g')}")
            mark_place(ax, drawn_tols[-1], f"to {format_power(tols[-1], '.2g')}")

    n_infinite = sum(step.unbounded for step in steps)
    infinite = f", {n_infinite} of infinite extent" if n_infinite else ""
    return draw_chart(paint, f"Histogram of extents. {words}"), words + infinite


def _whole_powers(logs: FloatArray) -> tuple[float, float]:
    """Return whole powers of ten around some logarithms, at least one apart."""
    finite = logs[np.isfinite(logs)]
    if not finite.size:
        return -1.0, 0.0
    low, high = float(np.floor(finite.min() - 0.02)), float(np.ceil(finite.max() + 0.02))
    return low, max(high, low + 1.0)
