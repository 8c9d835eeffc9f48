"""Models and equations as the command line prints them."""

import sys
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table as RichTable

from vanishing import ClassVanishingFeatures, VanishingIdeal
from vanishing.app.cli.console import ModelError, bar, cell, out, say, working
from vanishing.app.cli.models import (
    choose_ideal,
    coordinate_names,
    core,
    feature_names,
    ideals_of,
    is_detector,
    kind_of,
    nothing_vanishes,
    preprocessing,
    threshold_of,
)
from vanishing.arrays.namespace import FloatArray
from vanishing.data.whole_tables import Table
from vanishing.equations.expansion import affine_map, choose_terms
from vanishing.equations.simplification import tidy
from vanishing.equations.sizes import DataScale
from vanishing.equations.text import ASCII, UNICODE, Sum, plain_symbol
from vanishing.polynomials.monomials import count

# --- Equations as lines of text -------------------------------------------------------------------

#: More monomials than anyone reads; a model of images has millions.
MOST_MONOMIALS = 200_000


def equation_texts(
    ideal: VanishingIdeal,
    names: Sequence[str],
    *,
    digits: int | None = None,
    terms: int = 0,
    only: int | None = None,
) -> list[str]:
    """Write each vanishing polynomial as one line, such as "0.5 x² + 0.5 y² - 0.5 = 0".

    Terms are left out, and coefficients rounded, where that changes the values on the data of the
    fit by less than a tenth of the extent, or by less than ``digits`` show. ``terms`` bounds the
    number of terms, 0 for all; ``only`` is the index of the one polynomial to write.
    """
    basis = ideal.basis_
    n_monomials = count(basis.n_features, len(basis.blocks))
    if n_monomials > MOST_MONOMIALS:
        raise ModelError(
            f"equations in {basis.n_features} variables have up to {n_monomials} terms, too many "
            "to write out; look at 'show MODEL spectrum', or fit fewer columns"
        )
    scale = DataScale.of(basis, ideal)
    if only is not None:
        basis = basis.restrict(np.arange(basis.count()) == only)
    texts = []
    for each in choose_terms(basis, scale, digits=digits, n_terms=terms or None):
        more = ""
        if each.n_left_out:
            which = "smaller" if scale.is_complete else "more"
            more = f" + ({each.n_left_out} {which} term{'' if each.n_left_out == 1 else 's'})"
        texts.append(f"{_write(each, names)}{more} = 0")
    return texts


def tidy_texts(
    ideal: Any, points: FloatArray, names: Sequence[str]
) -> list[tuple[str, float]] | None:
    """Write equations as short as the noise of the points allows.

    Each comes with its root mean square on the points; None if there are too many terms.
    """
    try:
        found = tidy(ideal, points, names)
    except ValueError:
        return None
    return [
        (
            _write(
                Sum(each.exponents, list(map(float, each.coefficients)), max(6, each.digits)), names
            )
            + " = 0",
            each.extent,
        )
        for each in found
    ]


def _write(terms: Sum, names: Sequence[str]) -> str:
    """Write terms with the characters that standard output has."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    return (UNICODE if is_unicode else ASCII).write(terms, list(map(plain_symbol, names)))


# --- Equations in the columns of the table, wherever they can be carried back there ---------------


class Written(NamedTuple):
    """An ideal in the variables to write it in, their names, and what these are.

    ``meaning`` is empty where the variables are the columns of the table.
    """

    ideal: VanishingIdeal
    names: list[str]
    meaning: str


def carry_back(model: Any, key: str) -> Written:
    """Carry an ideal of a model back through scaling and PCA, as far as that is possible."""
    ideal = ideals_of(model)[key]
    as_it_is = Written(ideal, *coordinate_names(model, key))
    steps = preprocessing(model)
    if steps is None or coordinate_names(core(model), key)[1]:
        return as_it_is
    names = feature_names(model)
    if count(len(names), len(ideal.basis_.blocks)) > MOST_MONOMIALS:
        return as_it_is
    try:
        basis = ideal.basis_.compose(affine_map(steps))
    except ValueError:  # not affine, or onto less than the ideal has variables
        return as_it_is
    carried = copy(ideal)
    carried.basis_ = basis
    return Written(carried, names, "")


# --- A model in words, tables and JSON ------------------------------------------------------------

#: Of more than these, the first are shown.
MOST_LINES = 20
#: Of more terms than these, the largest are shown.
TERMS = 12


def model_record(model: Any) -> dict[str, Any]:
    """Return what a model is, for JSON."""
    record: dict[str, Any] = {
        "model": kind_of(model),
        "features": feature_names(model),
        "ideals": {
            key: {
                "equations": ideal.basis_.count(),
                "degrees": ideal.basis_.degrees(),
                "extents": ideal.extents_,
                "stop_reason": ideal.stop_reason_,
            }
            for key, ideal in ideals_of(model).items()
        },
    }
    if is_detector(model):
        record["threshold"] = threshold_of(model)
    return record


def describe(model: Any, table: Table) -> None:
    """Say what is in a model that was fitted to a table, and show its first equations."""
    say(headline(model))
    if is_detector(model):
        for line in getattr(core(model), "chosen_", []):
            say(f"  {line}")
        say(f"rows with a score above {threshold_of(model):.4g} are called anomalous")
        return
    show_equations(model, None, terms=TERMS, table=table)


def headline(model: Any) -> str:
    """Return one line about a model."""
    names = feature_names(model)
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    found = [ideal.basis_.count() for ideal in ideals_of(model).values()]
    what = f"{kind_of(model)}: {_many(sum(found), 'equation')}"
    if len(found) > 1:
        what += f" of {len(found)} ideals"
    return f"{what} in {_many(len(names), 'column')} ({shown})"


def show_equations(
    model: Any,
    name: str | None,
    *,
    digits: int | None = None,
    terms: int,
    table: Table | None = None,
) -> None:
    """Print the equations of one ideal, or of each class.

    With the data they are written as short as its noise allows, which gives them another scale:
    then there is both what the printed one is off by, and the extent that compares with tol.
    """
    for key in _chosen(model, name):
        ideal, names, meaning = carry_back(model, key)
        if len(ideals_of(model)) > 1:
            say(f"ideal {key}" + (f", {meaning}" if meaning else "") + ":")
        elif meaning:
            say(f"{meaning}:")
        if not ideal.basis_.count():
            smallest = min(float(step.spectrum.min(initial=np.inf)) for step in ideal.trace_)
            say(f"  {nothing_vanishes(smallest, ideal.tol)}")
            continue
        lines = [
            (text, f"extent {extent:.3g}")
            for text, extent in zip(
                equation_texts(ideal, names, digits=digits, terms=terms),
                ideal.extents_,
                strict=True,
            )
        ]
        in_columns = not meaning and not isinstance(core(model), ClassVanishingFeatures)
        if table is not None and in_columns:
            with working("rounding"):
                tidied = tidy_texts(ideal, table.values, names) or []
            lines = [
                (text, f"off by {off:.3g}, {how}")
                for (text, off), (_, how) in zip(tidied, lines, strict=False)
            ] or lines
        labels = ideal.get_feature_names_out()
        for label, (text, how) in list(zip(labels, lines, strict=True))[:MOST_LINES]:
            say(f"  {label}: {text}   ({how})")
        if len(lines) > MOST_LINES:
            say(f"  ... and {len(lines) - MOST_LINES} more; --json lists them all")


def _chosen(model: Any, name: str | None) -> list[str]:
    if name is None and isinstance(core(model), ClassVanishingFeatures):
        return list(ideals_of(model))
    return [choose_ideal(model, name)[0]]


def show_spectrum(model: Any, name: str | None) -> None:
    """Print the extents of all degrees as bars, on a logarithmic scale."""
    key, ideal = choose_ideal(model, name)
    spectra = [trace.spectrum for trace in ideal.trace_]
    positive = np.concatenate([np.asarray(each)[np.asarray(each) > 0] for each in spectra])
    if not positive.size:
        raise ModelError("all extents are zero: there is no spectrum to show")
    low, high = np.log10(positive.min()), np.log10(positive.max())
    say(f"extents of ideal {key}, on a logarithmic scale; those at or below tol are equations")
    for trace in ideal.trace_:
        say(f"degree {trace.degree}: tol {trace.tol:.3g}")
        for extent in trace.spectrum[:MOST_LINES]:
            size = 0.0 if extent <= 0 else (np.log10(extent) - low) / max(high - low, 1e-9)
            mark = "equation" if extent <= trace.tol else ""
            say(f"  {extent:9.3g} {bar(0.05 + 0.95 * size, 30):30} {mark}".rstrip())
        if len(trace.spectrum) > MOST_LINES:
            say(f"  ... and {len(trace.spectrum) - MOST_LINES} larger ones")


def show_basis(model: Any, name: str | None) -> None:
    """Print what happened at each degree."""
    key, ideal = choose_ideal(model, name)
    title = cell(f"ideal {key}, ended: {ideal.stop_reason_}")  # which may look like markup
    table = RichTable(title=title, title_justify="left")
    columns = ["degree", "candidates", "vanishing", "nonvanishing", "dropped", "cut"]
    if any(trace.undecided for trace in ideal.trace_):
        columns.append("undecided")
    for column in (*columns, "tol"):
        table.add_column("equations" if column == "vanishing" else column, justify="right")
    for trace in ideal.trace_:
        cells = [str(getattr(trace, column)) for column in columns]
        table.add_row(*cells, f"{trace.tol:.3g}")
    out().print(table)


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
