"""Models and equations as the command line prints them."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from vanishing import ClassVanishingFeatures, VanishingIdeal
from vanishing.app.cli.console import (
    MOST_LINES,
    ModelError,
    bar,
    list_some,
    make_table,
    out,
    say,
    working,
)
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
from vanishing.app.wording import (
    MOST_WRITTEN_TERMS,
    count_things,
    describe_distance,
    measure_distance,
    take_terms,
)
from vanishing.arrays.namespace import FloatArray
from vanishing.data.whole_tables import Table
from vanishing.equations.expansion import affine_map, choose_terms
from vanishing.equations.simplification import TidyEquation, tidy
from vanishing.equations.sizes import DataScale
from vanishing.equations.text import ASCII, UNICODE, Sum, plain_symbol
from vanishing.ideal import find_smallest_extent
from vanishing.polynomials.monomials import count

# --- Equations as lines of text -------------------------------------------------------------------

#: More monomials than anyone reads; a model of images has millions.
MOST_LISTED_TERMS = 200_000


def equation_texts(
    ideal: VanishingIdeal,
    names: Sequence[str],
    *,
    digits: int | None = None,
    terms: int = 0,
    only: int | None = None,
    most: int | None = None,
) -> list[str]:
    """Write each vanishing polynomial as one line, such as "0.5 x² + 0.5 y² - 0.5 = 0".

    Terms are left out, and coefficients rounded, where that changes the values on the data of the
    fit by less than a tenth of the extent, or by less than ``digits`` show. ``terms`` bounds the
    number of terms, 0 for all; ``only`` is the index of the one polynomial to write, ``most`` the
    number of polynomials.
    """
    basis = ideal.basis_
    n_monomials = count(basis.n_features, len(basis.blocks))
    if n_monomials > MOST_LISTED_TERMS:
        raise ModelError(
            f"equations in {basis.n_features} variables have up to {n_monomials} terms, too many "
            "to write out; look at 'show MODEL spectrum', or fit fewer columns"
        )
    scale = DataScale.of(basis, ideal)
    if only is not None:
        basis = basis.restrict(np.arange(basis.count()) == only)
    if most is not None:
        basis = basis.restrict(np.arange(basis.count()) < most)
    texts = []
    for each in choose_terms(basis, scale, digits=digits, n_terms=terms or None):
        which = "smaller term" if scale.is_complete else "more term"
        more = f" + ({count_things(each.n_left_out, which)})" if each.n_left_out else ""
        texts.append(f"{_write(each, names)}{more} = 0")
    return texts


def tidy_equations(
    ideal: Any,
    points: FloatArray,
    names: Sequence[str],
    *,
    mix: bool = False,
    digits: int | None = None,
) -> list[TidyEquation] | None:
    """Return equations as short as the noise of the points allows.

    None if they have too many terms, or rounding errors hide them.
    With ``mix`` those of a degree are combined to others that are shorter, so that they are no
    longer the polynomials of the ideal, but equivalent ones.
    """
    with working("rounding"):
        for is_mixed in (mix, False):  # combinations may be lost in rounding errors
            with suppress(ValueError):
                return tidy(ideal, points, names, mix=is_mixed, digits=digits)
    return None


def tidy_text(equation: TidyEquation, *, terms: int = 0) -> str:
    """Write a tidy equation as one line; at most so many terms, 0 for all."""
    taken = take_terms(equation, terms or None)
    more = f" + ({count_things(taken.n_left_out, 'more term')})" if taken.n_left_out else ""
    return f"{_write(taken, equation.names)}{more} = 0"


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
    if count(len(names), len(ideal.basis_.blocks)) > MOST_LISTED_TERMS:
        return as_it_is
    try:
        basis = ideal.basis_.compose(affine_map(steps))
    except ValueError:  # not affine, or onto less than the ideal has variables
        return as_it_is
    carried = copy(ideal)
    carried.basis_ = basis
    carried.n_features_in_ = len(names)
    if hasattr(model, "feature_names_in_"):
        carried.feature_names_in_ = model.feature_names_in_
    return Written(carried, names, "")


# --- A model in words, tables and JSON ------------------------------------------------------------


def fit_record(model: Any, table: Table, *, raw: bool) -> dict[str, Any]:
    """Return what a model that was fitted to a table is, for JSON."""
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
        return record | {"threshold": threshold_of(model)}
    if not isinstance(core(model), VanishingIdeal):
        return record
    ideal, names, _ = carry_back(model, "0")
    tidied = None if raw else tidy_equations(ideal, table.values, names, mix=True)
    equations: list[dict[str, Any]]
    if tidied is None:
        equations = [{"text": text} for text in equation_texts(ideal, names)]
    else:
        equations = [
            {
                "text": tidy_text(each),
                "degree": each.degree,
                "distance": measure_distance(each, table.values),
            }
            for each in tidied
        ]
    noise = None
    if ideal.noise_ is not None:  # what a fit with --tol auto found
        shown = ("level", "share", "degree", "levels")
        noise = {each: getattr(ideal.noise_, each) for each in shown} | {"text": noise_text(ideal)}
    return record | {"equations": equations, "noise": noise}


def noise_text(ideal: VanishingIdeal) -> str:
    """Return one line about the noise that a fit with ``--tol auto`` found."""
    if ideal.noise_ is not None and ideal.noise_.degree is None and ideal.basis_.count():
        return "no noise was found; the equations hold up to rounding errors"
    return str(ideal.noise_)


def describe(model: Any, table: Table, *, raw: bool) -> None:
    """Say what is in a model that was fitted to a table, and show its first equations."""
    say(headline(model))
    if is_detector(model):
        for line in getattr(core(model), "chosen_", []):
            say(f"  {line}")
        say(f"rows with a score above {threshold_of(model):.4g} are called anomalous")
        return
    show_equations(model, None, terms=MOST_WRITTEN_TERMS, table=None if raw else table, mix=True)


def headline(model: Any) -> str:
    """Return one line about a model."""
    names = feature_names(model)
    found = [ideal.basis_.count() for ideal in ideals_of(model).values()]
    what = f"{kind_of(model)}: {count_things(sum(found), 'equation')}"
    if len(found) > 1:
        what += f" of {len(found)} ideals"
    return f"{what} in {count_things(len(names), 'column')} ({list_some(names)})"


def show_equations(
    model: Any,
    name: str | None,
    *,
    digits: int | None = None,
    terms: int,
    table: Table | None = None,
    mix: bool = False,
) -> None:
    """Print the equations of one ideal, or of each class.

    With the data they are written as short as its noise allows; with ``mix``, equivalent ones that
    are still shorter.
    """
    for key in _chosen(model, name):
        ideal, names, meaning = carry_back(model, key)
        if len(ideals_of(model)) > 1:
            say(f"ideal {key}" + (f", {meaning}" if meaning else "") + ":")
        elif meaning:
            say(f"{meaning}:")
        if not ideal.basis_.count():
            say(f"  {nothing_vanishes(find_smallest_extent(ideal), ideal.tol)}")
            continue
        if ideal.noise_ is not None:
            say(noise_text(ideal))
        in_columns = not meaning and not isinstance(core(model), ClassVanishingFeatures)
        points = None if table is None else table.values
        tidied = None
        if points is not None and in_columns:
            tidied = tidy_equations(ideal, points, names, mix=mix)
        labels = [f"{label}: " for label in ideal.get_feature_names_out()]
        if tidied is None or points is None:
            n_equations = ideal.basis_.count()
            texts = equation_texts(ideal, names, digits=digits, terms=terms, most=MOST_LINES)
            hows = [f"extent {extent:.3g}" for extent in ideal.extents_]
        else:
            n_equations = len(tidied)
            texts = [tidy_text(each, terms=terms) for each in tidied]
            hows = [describe_distance(measure_distance(each, points)) for each in tidied]
            if mix:  # these are not the polynomials of the ideal
                labels = [""] * len(texts)
        for label, text, how in zip(labels[:MOST_LINES], texts, hows, strict=False):
            say(f"  {label}{text}   ({how})")
        if n_equations > MOST_LINES:
            say(f"  ... and {n_equations - MOST_LINES} more; --json lists all of them")
        if n_equations < ideal.basis_.count():
            say(f"  ({ideal.basis_.count() - n_equations} more follow from these)")


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
    columns = ["degree", "candidates", "vanishing", "nonvanishing", "dropped", "cut"]
    if any(trace.undecided for trace in ideal.trace_):
        columns.append("undecided")
    rows = [
        (*(str(getattr(trace, column)) for column in columns), f"{trace.tol:.3g}")
        for trace in ideal.trace_
    ]
    titles = ["equations" if each == "vanishing" else each for each in (*columns, "tol")]
    say(f"ideal {key}, ended: {ideal.stop_reason_}")
    out().print(make_table(titles, rows))
