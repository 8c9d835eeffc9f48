"""write_equations_report: a page about the equations of a table."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from vanishing.app.report.content import (
    LISTED,
    describe_model,
    fold,
    fold_rest,
    format_count,
    format_power,
    make_table,
    summarize_columns,
    take_row_names,
    take_rows,
)
from vanishing.app.report.equations import draw_spectra, list_formulas
from vanishing.app.report.page import check_folder, write_page
from vanishing.app.wording import (
    LONGEST_FORMULA_NAME,
    MOST_WRITTEN_TERMS,
    describe_distance,
    is_exact,
    measure_distance,
    take_terms,
)
from vanishing.arrays.namespace import FloatArray
from vanishing.data.inputs import get_feature_names
from vanishing.equations.expansion import choose_terms, equations_of
from vanishing.equations.mathml import Element, element, mathml_equation
from vanishing.equations.simplification import TidyEquation, tidy
from vanishing.equations.text import shorten_names
from vanishing.ideal import VanishingIdeal


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
    check_folder(path)
    ideal = model
    while isinstance(ideal, Pipeline):
        ideal = ideal.steps[-1][1]
    if not isinstance(ideal, VanishingIdeal):
        raise TypeError(
            "model must be a fitted VanishingIdeal or a Pipeline that ends in one, got "
            f"{type(ideal).__name__}"
        )
    rows = take_rows(model, X)
    names = tuple(get_feature_names(model, feature_names))
    row_names = take_row_names(ids, X, len(rows))
    tidied: list[TidyEquation] = []
    with suppress(ValueError):  # too many terms, or lost in rounding errors
        tidied = tidy(model, rows, names)
    n_found = ideal.basis_.count()
    lead = f"{format_count(len(tidied) or n_found, 'equation')} in {len(names)} columns."
    figures = [
        (f"{len(rows):,}", "rows"),
        (f"{len(names):,}", "columns"),
        (f"{len(tidied) or n_found:,}", "equation" if n_found == 1 else "equations"),
    ]
    if ideal.noise_ is not None and ideal.noise_.degree is not None:
        share = 100 * float(ideal.noise_.share)
        figures.append((f"{format_power(share, '.2g')}\u00a0%", "noise, of a column's spread"))
        lead += f" {str(ideal.noise_)[:1].upper()}{str(ideal.noise_)[1:]}."
    sections = [("equations", "Equations", _list_equations(model, ideal, tidied, rows, names))]
    if n_found:
        sections.append(("rows", "Rows", _list_rows(model, ideal, tidied, rows, row_names)))
    sections += [
        ("data", "Data", summarize_columns(rows, names)),
        (
            "details",
            "Details",
            [
                fold("Spectrum", *draw_spectra({"the ideal": [ideal.trace_]})),
                fold("Parameters and versions", *describe_model(model)),
            ],
        ),
    ]
    write_page(path, title or "Equations", lead, figures, sections)


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
    if tidied:
        words = (
            "Terms are left out and coefficients rounded as long as the noise of the rows hides "
            "the change. How far the rows are off is given in root mean square."
        )
        distances = [measure_distance(each, rows) for each in tidied]
        pairs = list(zip(tidied, distances, strict=True))
        hows = [f"{describe_distance(distance)}, degree {each.degree}" for each, distance in pairs]
        written = [
            mathml_equation(
                take_terms(each, MOST_WRITTEN_TERMS),
                short,
                relation="= 0" if is_exact(distance) else "≈ 0",
            )
            for each, distance in pairs
        ]
    else:
        try:
            equations = equations_of(model, names)
            terms = choose_terms(equations.basis, equations.scale, n_terms=MOST_WRITTEN_TERMS)
        except ValueError as error:
            return [element("p", f"The equations are not written out: {error}.")]
        words = "As fitted; dots stand for all but the largest terms."
        written = [mathml_equation(each, short, relation="≈ 0") for each in terms]
        degrees = ideal.basis_.degrees()
        hows = [
            f"extent {format_power(extent, '.2g')}, degree {degree}"
            for extent, degree in zip(ideal.extents_, degrees, strict=True)
        ]
    items = [
        element("li", formula, element("span", how, class_="note"))
        for formula, how in zip(written, hows, strict=True)
    ]
    return [element("p", words), *fold_rest(items, list_formulas, "equation", is_large=True)]


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
    which = times.argmax(axis=1)
    order = np.argsort(-times.max(axis=1), kind="stable")[:LISTED]
    lines = [
        (
            row_names[i],
            str(which[i] + 1),
            format_power(float(values[i, which[i]]), ".4g"),
            format_power(float(times[i, which[i]]), ".3g"),
        )
        for i in order
    ]
    table = make_table(
        ("row", "equation", "off by", "times typical"),
        lines,
        ("row-name", "number", "number", "number"),
        caption=f"The {format_count(len(order), 'row')} that are furthest off",
        class_="ranked small",
    )
    words = (
        "A row that is off by many times the typical distance may be broken: vanishing check, or "
        "discover(X).check(X), finds the cell."
    )
    return [table, element("p", words, class_="note")]
