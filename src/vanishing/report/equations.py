"""The sections on the equations and on the spectrum."""

from collections.abc import Sequence

import numpy as np

from vanishing._xp import FloatArray
from vanishing.anomaly.parts import Part
from vanishing.export.markup import Element, element
from vanishing.export.writing import number, significant
from vanishing.report.charts import Chart
from vanishing.report.formulas import Formulas
from vanishing.report.words import counted, figure, fold, join

#: Equations of the first part that are seen at once, and of each part in folds.
FIRST, FOLDED = 5, 12
#: Parts whose equations are listed, and whose spectra are drawn, at most.
MOST_PARTS = 6
#: Bars of a spectrum.
BINS = 36
#: Extents below this are rounding; they are counted there, since zero has no logarithm.
SMALLEST = 1e-16


def equations_section(parts: Sequence[Part], formulas: Sequence[Formulas]) -> list[Element]:
    """Return the equations, those that hold best first."""
    if not parts:
        words = "There are no equations: every column of the training data is constant."
        return [element("p", words)]
    total = sum(ideal.basis_.count() for part in parts for ideal in part.ideals)
    rounding = (
        "Rounding a coefficient, or leaving a term out, changes an equation by less than a tenth "
        "of what it is usually off by"
    )
    if any(each.tidied for each in formulas):
        rounding = (
            "Coefficients are rounded and terms left out as long as the noise of normal rows does "
            "not tell the difference"
        )
    found: list[Element] = [
        element(
            "p",
            f"Normal rows keep {counted(total, 'equation')}, up to noise. {rounding}; where there "
            "are many terms, dots stand for all but the largest.",
        )
    ]
    if any(not each.in_columns for each in formulas):
        found.append(
            element(
                "p",
                "The variables u₁, u₂, … are the coordinates that the detector works in, after its "
                "transformations and its preprocessing: in the columns themselves the formulas "
                "would have too many terms.",
            )
        )
    for place, (part, written) in enumerate(zip(parts, formulas, strict=True)):
        if place == MOST_PARTS:
            left = [each.name for each in parts[MOST_PARTS:]]
            found.append(element("p", f"Not listed: {join(left)}.", class_="note"))
            break
        found += _part(part, written, seen=place == 0)
    return found


def _part(part: Part, written: Formulas, *, seen: bool) -> list[Element]:
    """List the equations of one part."""
    ranked = sorted(
        (float(size), piece, index)
        for piece, sizes in enumerate(part.typical)
        for index, size in enumerate(sizes)
    )
    heading = element("h3", part.name[:1].upper() + part.name[1:])
    words = f"{counted(len(ranked), 'equation')} up to degree {_degree(part)}"
    if len(part.ideals) > 1:
        words += f", of {len(part.ideals):,} pieces into which normal rows were divided"
    about = element("p", f"{words}.", class_="note")
    n_first = FIRST if seen else 0
    first = _listed(part, written, ranked[:n_first])
    rest = _listed(part, written, ranked[n_first : n_first + FOLDED])
    found = [heading, about, first]
    if rest is not None:
        beyond = len(ranked) - n_first - FOLDED
        more = None
        if beyond > 0:
            more = element("p", f"{counted(beyond, 'more equation')} not listed.", class_="note")
        n_folded = min(len(ranked) - n_first, FOLDED)
        words = counted(n_folded, "more equation" if seen else "equation")
        found.append(fold(words, rest, more))
    return [each for each in found if each is not None]


def _degree(part: Part) -> int:
    return max(int(ideal.basis_.degrees().max()) for ideal in part.ideals)


def _listed(
    part: Part, written: Formulas, chosen: Sequence[tuple[float, int, int]]
) -> Element | None:
    items = []
    for _, piece, index in chosen:
        formula = written.formula(piece, index)
        degree = int(part.ideals[piece].basis_.degrees()[index])
        where = f", piece {piece + 1}" if len(part.ideals) > 1 else ""
        if formula is None:
            words = f"degree {degree}{where}: too large to be written out"
            items.append(element("li", element("span", words, class_="note")))
            continue
        left_out = f", {counted(formula.n_left_out, 'smaller term')} left out"
        words = f"usually off by {significant(formula.usual, 2)}, degree {degree}{where}"
        words += left_out if formula.n_left_out else ""
        items.append(element("li", formula.element, element("span", words, class_="note")))
    return element("ol", items, class_="equations") if items else None


def spectrum_section(parts: Sequence[Part]) -> list[Element]:
    """Return a histogram of the extents of every degree of every part."""
    if not parts:
        return [element("p", "There are no equations, and so there is no spectrum.")]
    charts = [
        figure(*_spectrum(part, degree))
        for part in parts[:MOST_PARTS]
        for degree in range(1, max(len(ideal.trace_) for ideal in part.ideals) + 1)
    ]
    words = (
        "Each direction of a degree is a polynomial of size 1; its extent is the root mean square "
        "on the rows that it was fitted to. Up to the tolerance it vanishes, and is an equation."
    )
    left = [each.name for each in parts[MOST_PARTS:]]
    more = element("p", f"Not drawn: {join(left)}.", class_="note") if left else None
    grid = element("div", charts, class_="charts")
    return [each for each in (element("p", words), grid, more) if each is not None]


def _spectrum(part: Part, degree: int) -> tuple[Element, str]:
    """Return the chart of one degree, and its caption."""
    steps = [step for ideal in part.ideals for step in ideal.trace_ if step.degree == degree]
    vanishing = np.concatenate([step.spectrum[: step.vanishing] for step in steps])
    others = np.concatenate([step.spectrum[step.vanishing :] for step in steps])
    tols = sorted({step.tol for step in steps})
    logs = [np.log10(np.clip(each, SMALLEST, None)) for each in (vanishing, others)]
    drawn_tols = [np.log10(tol) for tol in tols if tol > 0]
    everything = np.concatenate([*logs, drawn_tols])
    low, high = _whole_powers(everything)
    edges = np.linspace(low, high, BINS + 1)
    counts = [np.histogram(each, edges)[0] for each in logs]
    most = max(1, int((counts[0] + counts[1]).max()))
    found = f"{len(vanishing)} of {counted(len(vanishing) + len(others), 'direction')} vanish"
    words = f"{part.name}, degree {degree}: {found}"
    chart = Chart((low, high), (0.0, float(most)), f"Histogram of extents. {words}")
    chart.y_axis([(0.0, "0"), (float(most), str(most))], "directions")
    chart.bars(edges, counts[0] + counts[1], "rest")
    chart.bars(edges, counts[0], "normal")
    powers = np.unique(np.round(np.linspace(low, high, min(5, int(high - low) + 1))))
    ticks = [(float(power), _power_of_ten(int(power))) for power in powers]
    chart.x_axis(ticks, "extent")
    if len(drawn_tols) == 1:
        chart.upright(drawn_tols[0], f"tolerance {number(tols[-1], '.3g')}")
    elif drawn_tols:
        chart.upright(drawn_tols[0], f"tolerances {number(tols[0], '.2g')}")
        chart.upright(drawn_tols[-1], f"to {number(tols[-1], '.2g')}")
    n_infinite = sum(step.unbounded for step in steps)
    infinite = f", {n_infinite} of infinite extent" if n_infinite else ""
    return chart.svg(), words + infinite


def _whole_powers(logs: FloatArray) -> tuple[float, float]:
    """Return whole powers of ten around some logarithms, at least one apart."""
    finite = logs[np.isfinite(logs)]
    if not finite.size:
        return -1.0, 0.0
    low, high = float(np.floor(finite.min() - 0.02)), float(np.ceil(finite.max() + 0.02))
    return low, max(high, low + 1.0)


def _power_of_ten(power: int) -> str:
    if -3 <= power <= 3:
        return f"{10.0**power:g}"
    raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}"
