"""write_equations_report: a page about the equations of a table; and the equations of detectors."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from vanishing.app.report import charts, page
from vanishing.app.wording import (
    LONGEST_FORMULA_NAME,
    MOST_WRITTEN_TERMS,
    NAMED,
    as_sentence,
    count_things,
    describe_distance,
    have_enough_rows,
    is_exact,
    measure_distance,
    take_terms,
)
from vanishing.arrays.namespace import FloatArray, lazy
from vanishing.data.inputs import get_feature_names
from vanishing.detectors.score import Part
from vanishing.equations.expansion import choose_terms, equations_of, is_quick, steps_of
from vanishing.equations.mathml import Element, element, mathml_equation
from vanishing.equations.simplification import TidyEquation, tidy
from vanishing.equations.sizes import DataScale, terms_that_count
from vanishing.equations.text import Sum, join, shorten_names, significant
from vanishing.explain.record import Explanation
from vanishing.explain.view import linear_part
from vanishing.ideal import VanishingIdeal
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import AffineMap, count
from vanishing.style import LESS, NEUTRAL

# --- A page about the equations of a table --------------------------------------------------------


def write_equations_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any,
    *,
    ids: Any = None,
    feature_names: Any = None,
    title: str | None = None,
) -> None:
    """Write one page of HTML about the equations of a table.

    The page holds the equations, as short as the noise of the rows allows, the rows that are
    furthest from them, a summary of the columns, and in folds the spectrum of each degree,
    parameters and versions.

    Parameters
    ----------
    path : path
        A file that exists is replaced. It is written completely or not at all.
    model : VanishingIdeal, or Pipeline that ends in one
        Fitted.
    X : array-like of shape (n_samples, n_features)
        The data of the fit, or other data of the same kind.
    ids : sequence of shape (n_samples,), optional
        Names of the rows. By default the index of a frame, or numbers from 0.
    feature_names : sequence of str, optional
        Names of the columns. By default those of the fit, or x0, x1, ...
    title : str, optional
        Heading of the page.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.app.report import write_equations_report
    >>> from vanishing.datasets import make_variety
    >>> X = make_variety("circle", 200, noise=0.001)
    >>> ideal = VanishingIdeal(tol=0.01).fit(X)
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_equations_report(page, ideal, X, feature_names=["x", "y"], title="A circle")
    >>> "A circle" in page.read_text(encoding="utf-8")
    True
    """
    page.check_folder(path)
    ideal = steps_of(model)[-1]
    if not isinstance(ideal, VanishingIdeal):
        raise TypeError(
            "model must be a fitted VanishingIdeal or a Pipeline that ends in one, got "
            f"{type(ideal).__name__}"
        )
    rows = page.take_rows(model, X)
    names = tuple(get_feature_names(model, feature_names))
    row_names = page.take_row_names(ids, X, len(rows))
    tidied: list[TidyEquation] = []
    with suppress(ValueError):  # too many terms, or lost in rounding errors
        tidied = tidy(model, rows, names)
    n_found = ideal.basis_.count()
    n_shown = len(tidied) or n_found
    lead = f"{count_things(n_shown, 'equation')} in {len(names)} columns."
    figures = [
        (f"{len(rows):,}", "rows"),
        (f"{len(names):,}", "columns"),
        (f"{n_shown:,}", "equation" if n_found == 1 else "equations"),
    ]
    if ideal.noise_ is not None and ideal.noise_.degree is not None:
        share = 100 * float(ideal.noise_.share)
        figures.append((f"{page.format_power(share, '.2g')}\u00a0%", "noise, of a column's spread"))
        lead += f" {as_sentence(str(ideal.noise_))}"
    sections = [("equations", "Equations", _list_equations(model, ideal, tidied, rows, names))]
    if n_found:
        sections.append(("rows", "Rows", _list_rows(model, ideal, tidied, rows, row_names)))
    details = [
        page.fold("Spectrum", *draw_spectra({"the ideal": [ideal.trace_]})),
        page.fold("Parameters and versions", *page.describe_model(model)),
    ]
    sections += [
        ("data", "Data", page.summarize_columns(rows, names)),
        ("details", "Details", details),
    ]
    page.write_page(path, title or "Equations", lead, figures, sections)


def _list_equations(
    model: Any,
    ideal: VanishingIdeal,
    tidied: Sequence[TidyEquation],
    rows: FloatArray,
    names: tuple[str, ...],
) -> list[Element]:
    if not ideal.basis_.count():
        words = (
            "No polynomial vanishes up to the tolerance. The spectrum below shows how close they "
            "come; a larger tolerance or degree may find one."
        )
        return [element("p", words)]
    short = shorten_names(names, LONGEST_FORMULA_NAME)
    items = []
    if tidied:
        words = (
            "Terms are left out and coefficients rounded as long as the noise of the rows hides "
            "the change. How far the rows are off is given in root mean square."
        )
        for each in tidied:
            distance = measure_distance(each, rows)
            relation = "= 0" if is_exact(distance) else "≈ 0"
            terms = take_terms(each, MOST_WRITTEN_TERMS)
            how = f"{describe_distance(distance)}, degree {each.degree}"
            items.append(_list_item(mathml_equation(terms, short, relation=relation), how))
    else:
        words = "As fitted; dots stand for all but the largest terms."
        try:
            equations = equations_of(model, names)
            written = choose_terms(equations.basis, equations.scale, n_terms=MOST_WRITTEN_TERMS)
        except ValueError as error:
            return [element("p", f"The equations are not written out: {error}.")]
        about = zip(written, ideal.extents_, ideal.basis_.degrees(), strict=True)
        for terms, extent, degree in about:
            how = f"extent {page.format_power(extent, '.2g')}, degree {degree}"
            items.append(_list_item(mathml_equation(terms, short, relation="≈ 0"), how))
    return [
        element("p", words),
        *page.fold_rest(items, page.list_formulas, "equation", is_large=True),
    ]


def _list_rows(
    model: Any,
    ideal: VanishingIdeal,
    tidied: Sequence[TidyEquation],
    rows: FloatArray,
    row_names: Sequence[str],
) -> list[Element]:
    """List the rows that are furthest off, in units of what is typical of the equation."""
    if tidied and all(is_exact(measure_distance(each, rows)) for each in tidied):
        return [element("p", "Every row satisfies the equations up to rounding errors.")]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if tidied:
            values = np.column_stack([each.evaluate(rows) for each in tidied])
            typical = np.array([each.extent for each in tidied])
        else:
            values, typical = np.asarray(model.transform(rows)), ideal.extents_
        times = np.abs(values) / np.maximum(typical, np.finfo(float).tiny)
    times = np.nan_to_num(times, nan=np.inf)
    lines = []
    for i in np.argsort(-times.max(axis=1), kind="stable")[: page.LISTED]:
        k = int(times[i].argmax())
        off = page.format_power(float(values[i, k]), ".4g")
        lines.append((row_names[i], str(k + 1), off, page.format_power(times[i, k], ".3g")))
    table = page.make_table(
        ("row", "equation", "off by", "times typical"),
        lines,
        ("row-name", "number", "number", "number"),
        caption=f"The {count_things(len(lines), 'row')} that are furthest off",
        class_="ranked small",
    )
    words = (
        "A row that is off by many times the typical distance may be broken: vanishing check, or "
        "discover(X).check(X), finds the cell."
    )
    return [table, page.write_note(words)]


def _list_item(formula: Element | None, words: str) -> Element:
    """Return an equation of a list, with a note."""
    return element("li", formula, element("span", words, class_="note"))


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

    def explicit(self) -> Element:
        """Return the formula of a variable with the coefficient 1, or what is zero without any.

        People read "power ≈ speed · force" more easily than what is zero. A variable is preferred
        that is a sum of others.
        """
        sides = [(name, self._solve(variable)) for variable, name in enumerate(self.names)]
        solved = [(name, *each) for name, each in sides if each and abs(each[1]) == 1]
        if not solved:
            return self.element
        name, terms, _ = min(solved, key=lambda each: sum(c < 0 for c in each[1].coefficients))
        return mathml_equation(terms, self.names, relation="≈", left=name)

    def solve_for(self, variable: int, row: FloatArray) -> tuple[Element, float] | None:
        """Return the formula of one variable, and what it gives in a row; None without any."""
        sides = self._solve(variable)
        if sides is None:
            return None
        terms = sides[0]
        value = np.prod(row**terms.exponents, axis=1) @ np.asarray(terms.coefficients)
        left = self.names[variable]
        return mathml_equation(terms, self.names, relation="≈", left=left), float(value)

    def _solve(self, variable: int) -> tuple[Sum, float] | None:
        """Return what a variable is, if it stands alone in one term only, and its coefficient."""
        exponents, coefficients = self.terms.exponents, np.asarray(self.terms.coefficients)
        having = np.flatnonzero(exponents[:, variable])
        if self.terms.n_left_out or len(having) != 1 or exponents[having[0]].sum() != 1:
            return None
        others, own = np.arange(len(exponents)) != having[0], float(coefficients[having[0]])
        digits = np.broadcast_to(self.terms.digits, len(exponents))[others].tolist()
        return Sum(exponents[others], (-coefficients[others] / own).tolist(), digits), own


@dataclass(frozen=True, eq=False)
class Formulas:
    """The equations of one part of a detector; the sizes of terms are taken on normal ``rows``."""

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
        """The equations of one ideal in the columns, as short as the noise allows."""
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

    def formula(self, cluster: int, index: int) -> Formula | None:
        """Return one equation of a cluster, or None if it has too many or too large terms."""
        if self.tidied and len(self.tidied[index].coefficients) <= MOST_WRITTEN_TERMS:
            equation = self.tidied[index]
            return Formula(take_terms(equation), self._short_names, equation.extent)
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
        leading = 1 + int(np.argmax(np.abs(p[1:]) * sizes[1:]))
        if p[leading] == 0:  # nothing but rounding
            return None
        unit = abs(float(p[leading]))
        span, usual = scale.spans(basis)[0] / unit, float(component.typical[index]) / unit
        p = p / p[leading]
        kept, digits = terms_that_count(p, sizes, span=span, extent=usual)
        shown, digits = kept[:MOST_WRITTEN_TERMS], digits[:MOST_WRITTEN_TERMS]
        # The first of the highest degree, as terms are written.
        first = min(shown, key=lambda k: (-exponents[k].sum(), k))
        p = p * np.sign(p[first])  # the sign is free, and a formula does not begin with a minus
        left_out = len(kept) - len(shown)
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
    """Return the equations: those that anomalous rows break most, and then those that hold best."""
    if not parts:
        words = "There are no equations: every column of the training data is constant."
        return [element("p", words)]
    # How many equations hold for all rows, and how many in clusters of them.
    whole = sum(len(p.components[0].center) for p in parts if len(p.components) == 1)
    n_clusters = sum(len(p.components) for p in parts if len(p.components) > 1)
    in_clusters = sum(len(c.center) for p in parts for c in p.components) - whole
    clusters = f"{n_clusters:,} clusters of normal {unit}s"
    words = f"Normal {unit}s satisfy {count_things(whole, 'equation')}, up to noise"
    if not whole:
        words = f"In {clusters}, {count_things(in_clusters, 'equation')} hold up to noise"
    elif in_clusters:
        words += f"; {in_clusters:,} more hold in {clusters}"
    rounded = (
        "small terms left out where that changes an equation by less than a tenth of its usual "
        "deviation"
    )
    if any(each.tidied for each in formulas):
        rounded = f"terms left out as long as the noise of normal {unit}s hides the change"
    words += (
        f". Coefficients are rounded and {rounded}; if there are many terms, dots stand for all "
        "but the largest."
    )
    found = [element("p", words), *_list_broken(formulas, unit, explained)]
    coordinates = []
    if any(not each.in_columns for each in formulas):
        words = (
            "The variables u₁, u₂, … are the coordinates of the detector, after its "
            "transformations and its preprocessing, where formulas in the original columns would "
            "have too many terms."
        )
        coordinates = [element("p", words)]
    first, *others = [
        _list_part(part, written, seen=place == 0 and written.in_columns, unit=unit)
        for place, (part, written) in enumerate(zip(parts, formulas, strict=True))
        if place < MOST_PARTS
    ]
    if left := [each.name for each in parts[MOST_PARTS:]]:
        others.append([page.write_note(f"Not listed: {join(left)}.")])
    if unit == "row" and formulas[0].in_columns:
        words = f"The other parts: {join([each.name for each in parts[1:]])}"
        folded = [page.fold(words, *coordinates, *others)] if others else []
        return [*found, *first, *folded]
    # Formulas of pixels, or of coordinates that nobody knows.
    return [*found[:1], page.fold("The equations", *found[1:], *coordinates, first, *others)]


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
        if formula is not None and not formula.terms.n_left_out and len(items) < NAMED:
            words = f"among those that {count_things(n_rows, unit)} break{'s' * (n_rows == 1)} most"
            items.append(_list_item(formula.explicit(), words))
    if not items:
        return []
    return [element("h3", f"Broken most by anomalous {unit}s"), page.list_formulas(items, 0)]


def _list_part(part: Part, written: Formulas, *, seen: bool, unit: str) -> list[Element]:
    """List the equations of one part."""
    ranked = sorted(
        (float(size), cluster, index)
        for cluster, component in enumerate(part.components)
        for index, size in enumerate(component.typical)
    )
    degree = max(component.degree for component in part.components)
    words = f"{count_things(len(ranked), 'equation')} up to degree {degree}"
    if len(part.components) > 1:
        words += f", of {len(part.components):,} clusters of normal {unit}s"

    def show(chosen: Sequence[tuple[float, int, int]], start: int) -> Element:
        return page.list_formulas([_item(part, written, *each[1:]) for each in chosen], start)

    return [
        element("h3", part.name[:1].upper() + part.name[1:]),
        page.write_note(f"{words}."),
        *page.fold_rest(ranked, show, "equation", is_large=True, all_folded=not seen),
    ]


def _item(part: Part, written: Formulas, cluster: int, index: int) -> Element:
    formula = written.formula(cluster, index)
    words = f"degree {int(part.components[cluster].ideal.basis_.degrees()[index])}"
    if len(part.components) > 1:
        words += f", cluster {cluster + 1}"
    if formula is None:
        return _list_item(None, f"{words}: too large to be written out")
    words = f"usually off by {page.raise_power(significant(formula.usual, 2))}, {words}"
    if left_out := formula.terms.n_left_out:
        words += f", {count_things(left_out, 'smaller term')} left out"
    return _list_item(formula.explicit(), words)


def spectrum_section(parts: Sequence[Part]) -> list[Element]:
    """Return a histogram of the extents of every degree of every part."""
    if not parts:
        return [element("p", "There are no equations, so there is no spectrum.")]
    found = draw_spectra(
        {part.name: [each.ideal.trace_ for each in part.components] for part in parts[:MOST_PARTS]}
    )
    if left := [each.name for each in parts[MOST_PARTS:]]:
        found.append(page.write_note(f"Not drawn: {join(left)}."))
    return found


def draw_spectra(traces: Mapping[str, Sequence[Sequence[Any]]]) -> list[Element]:
    """Return a histogram of the extents of every degree, of the traces of each part by its name."""
    words = (
        "Each direction of a degree is a polynomial of size 1; its extent is its root mean square "
        "on the training rows. If the extent is at most the tolerance, the polynomial vanishes and "
        "is an equation."
    )
    drawn = [
        page.figure(*_spectrum(name, steps))
        for name, several in traces.items()
        for degree in range(1, max(map(len, several)) + 1)
        if (steps := [step for trace in several for step in trace if step.degree == degree])
    ]
    return [element("p", words), element("div", drawn, class_="charts")]


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
    finite = everything[np.isfinite(everything)]
    # Whole powers of ten, at least one apart.
    low = float(np.floor(finite.min() - 0.02)) if finite.size else -1.0
    high = max(float(np.ceil(finite.max(initial=low) + 0.02)), low + 1.0)
    edges = np.linspace(low, high, charts.BINS + 1)
    counts = [np.histogram(each, edges)[0] for each in logs]
    found = f"{len(vanishing)} of {count_things(len(vanishing) + len(others), 'direction')} vanish"
    words = f"{name}, degree {steps[0].degree}: {found}"

    def paint(ax: Any) -> None:
        ax.stairs(counts[0] + counts[1], edges, fill=True, color=NEUTRAL)
        ax.stairs(counts[0], edges, fill=True, color=LESS)
        ax.set(xlim=(low, high), ylim=(0, 1.02 * max(1, (counts[0] + counts[1]).max())))
        charts.name_axes(ax, "extent", "directions", counts=True)
        powers = np.unique(np.round(np.linspace(low, high, min(5, int(high - low) + 1))))
        ax.set_xticks(powers, [page.format_power(10.0**power, "g") for power in powers.tolist()])
        if len(drawn_tols) == 1:
            charts.mark_place(ax, drawn_tols[0], f"tolerance {page.format_power(tols[-1], '.3g')}")
        elif drawn_tols:
            charts.mark_place(ax, drawn_tols[0], f"tolerances {page.format_power(tols[0], '.2g')}")
            charts.mark_place(ax, drawn_tols[-1], f"to {page.format_power(tols[-1], '.2g')}")

    n_infinite = sum(step.unbounded for step in steps)
    infinite = f", {n_infinite} of infinite extent" if n_infinite else ""
    return charts.draw_chart(paint, f"Histogram of extents. {words}"), words + infinite
