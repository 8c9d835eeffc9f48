"""Tables, models, equations and anomalies as the command line prints them."""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import floor, isfinite, log10
from typing import Any, NamedTuple

import numpy as np

from vanishing import ClassVanishingFeatures, VanishingIdeal
from vanishing.app.cli import models
from vanishing.app.cli.console import (
    MOST_LINES,
    DataError,
    ModelError,
    bar,
    fit_width,
    list_lines,
    list_some,
    make_table,
    out,
    pick,
    say,
    state,
    track,
    working,
)
from vanishing.app.cli.options import Reading
from vanishing.app.cli.tables import PIPE, choose, open_input, place_of, table_errors, tell
from vanishing.app.wording import (
    MOST_IN_FULL,
    MOST_SHOWN_COLUMNS,
    MOST_WRITTEN_TERMS,
    TOGETHER,
    count_things,
    describe_distance,
    have_enough_rows,
    list_changes,
    measure_distance,
    take_terms,
)
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.data.csv_files import Stray
from vanishing.data.source import have_lost_digits
from vanishing.data.whole_tables import Table
from vanishing.equations.expansion import affine_map, choose_terms
from vanishing.equations.simplification import TidyEquation, tidy
from vanishing.equations.sizes import DataScale
from vanishing.equations.text import (
    ASCII,
    MOST_NAMED,
    UNICODE,
    Sum,
    exact_number,
    plain_symbol,
    significant,
)
from vanishing.ideal import find_smallest_extent
from vanishing.levels import OUTLYING, SAME
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
    left_out = "smaller term" if scale.is_complete else "more term"
    chosen = choose_terms(basis, scale, digits=digits, n_terms=terms or None)
    return [_write(each, names, left_out) for each in chosen]


def tidy_equations(
    ideal: Any,
    points: FloatArray,
    names: Sequence[str],
    *,
    mix: bool = False,
    digits: int | None = None,
) -> list[TidyEquation] | None:
    """Return equations as short as the noise allows, with ``mix`` combined; None if that fails."""
    with working("rounding"):
        for is_mixed in (mix, False):  # combinations may be lost in rounding errors
            with suppress(ValueError):
                return tidy(ideal, points, names, mix=is_mixed, digits=digits)
    return None


def tidy_text(equation: TidyEquation, *, terms: int = 0) -> str:
    """Write a tidy equation as one line; at most so many terms, 0 for all."""
    return _write(take_terms(equation, terms or None), equation.names)


def _write(terms: Sum, names: Sequence[str], left_out: str = "more term") -> str:
    """Write an equation with the characters that standard output has."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    written = (UNICODE if is_unicode else ASCII).write(terms, list(map(plain_symbol, names)))
    more = f" + ({count_things(terms.n_left_out, left_out)})" if terms.n_left_out else ""
    return f"{written}{more} = 0"


# --- Equations in the columns of the table, wherever they can be carried back there ---------------


class Written(NamedTuple):
    """An ideal in the variables to write it in, their names, and what these are in words."""

    ideal: VanishingIdeal
    names: list[str]
    meaning: str


def carry_back(model: Any, key: str) -> Written:
    """Carry an ideal of a model back through scaling and PCA, as far as that is possible."""
    from vanishing.plotting.overview import compose_ideal

    ideal = models.ideals_of(model)[key]
    as_it_is = Written(ideal, *models.coordinate_names(model, key))
    steps = models.preprocessing(model)
    if steps is None or models.coordinate_names(models.core(model), key)[1]:
        return as_it_is
    names = models.feature_names(model)
    if count(len(names), len(ideal.basis_.blocks)) > MOST_LISTED_TERMS:
        return as_it_is
    try:
        carried = compose_ideal(ideal, affine_map(steps), model)
    except ValueError:  # not affine, or onto less than the ideal has variables
        return as_it_is
    return Written(carried, names, "")


# --- A model in words, tables and JSON ------------------------------------------------------------


def fit_record(model: Any, table: Table, *, raw: bool) -> dict[str, Any]:
    """Return what a model that was fitted to a table is, for JSON."""
    record: dict[str, Any] = {
        "model": models.kind_of(model),
        "features": models.feature_names(model),
        "ideals": {
            key: {
                "equations": ideal.basis_.count(),
                "degrees": ideal.basis_.degrees(),
                "extents": ideal.extents_,
                "stop_reason": ideal.stop_reason_,
            }
            for key, ideal in models.ideals_of(model).items()
        },
    }
    if models.is_detector(model):
        return record | {"threshold": models.threshold_of(model)}
    if not isinstance(models.core(model), VanishingIdeal):
        return record
    ideal, names, _ = carry_back(model, "0")
    tidied = None if raw else tidy_equations(ideal, table.values, names, mix=True)
    equations: list[dict[str, Any]] = []
    if tidied is None:
        equations = [{"text": text} for text in equation_texts(ideal, names)]
    for each in tidied or []:
        distance = measure_distance(each, table.values)
        equations.append({"text": tidy_text(each), "degree": each.degree, "distance": distance})
    noise = None
    if ideal.noise_ is not None:  # what a fit with --tol auto found
        noise = pick(ideal.noise_, "level", "share", "degree", "levels")
        noise["text"] = noise_text(ideal)
    return record | {"equations": equations, "noise": noise}


def noise_text(ideal: VanishingIdeal) -> str:
    """Return one line about the noise that a fit with ``--tol auto`` found."""
    if ideal.noise_ is not None and ideal.noise_.degree is None and ideal.basis_.count():
        return "no noise was found; the equations hold up to rounding errors"
    return str(ideal.noise_)


def describe_model(model: Any, table: Table, *, raw: bool) -> None:
    """Say what is in a model that was fitted to a table, and show its first equations."""
    say(headline(model))
    if models.is_detector(model):
        for line in getattr(models.core(model), "chosen_", []):
            say(f"  {line}")
        say(f"rows with a score above {models.threshold_of(model):.4g} are called anomalous")
        return
    show_equations(model, None, terms=MOST_WRITTEN_TERMS, table=None if raw else table, mix=True)


def headline(model: Any) -> str:
    """Return one line about a model."""
    names = models.feature_names(model)
    found = [ideal.basis_.count() for ideal in models.ideals_of(model).values()]
    what = f"{models.kind_of(model)}: {count_things(sum(found), 'equation')}"
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
    """Print the equations of one ideal, or of each class, as short as a table allows."""
    of_classes = isinstance(models.core(model), ClassVanishingFeatures)
    ideals = models.ideals_of(model)
    for key in ideals if name is None and of_classes else [models.choose_ideal(model, name)[0]]:
        ideal, names, meaning = carry_back(model, key)
        if len(ideals) > 1:
            say(f"ideal {key}" + (f", {meaning}" if meaning else "") + ":")
        elif meaning:
            say(f"{meaning}:")
        n_vanishing = ideal.basis_.count()
        if not n_vanishing:
            say(f"  {models.nothing_vanishes(find_smallest_extent(ideal), ideal.tol)}")
            continue
        if ideal.noise_ is not None:
            say(noise_text(ideal))
        labels = [f"{label}: " for label in ideal.get_feature_names_out()]
        tidied = None
        if table is not None and not meaning and not of_classes:
            tidied = tidy_equations(ideal, table.values, names, mix=mix)
        if tidied is None or table is None:
            n_equations = n_vanishing
            texts = equation_texts(ideal, names, digits=digits, terms=terms, most=MOST_LINES)
            hows = [f"extent {extent:.3g}" for extent in ideal.extents_]
        else:
            n_equations = len(tidied)
            texts = [tidy_text(each, terms=terms) for each in tidied]
            hows = [describe_distance(measure_distance(each, table.values)) for each in tidied]
            if mix:  # these are not the polynomials of the ideal
                labels = [""] * len(texts)
        for label, text, how in zip(labels[:MOST_LINES], texts, hows, strict=False):
            say(f"  {label}{text}   ({how})")
        if n_equations > MOST_LINES:
            say(f"  ... and {n_equations - MOST_LINES} more; --json lists all of them")
        if n_equations < n_vanishing:
            say(f"  ({n_vanishing - n_equations} more follow from these)")


def show_spectrum(model: Any, name: str | None) -> None:
    """Print the extents of all degrees as bars, on a logarithmic scale."""
    key, ideal = models.choose_ideal(model, name)
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
    key, ideal = models.choose_ideal(model, name)
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


# --- What a detector finds in a table -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Findings:
    """Scores of all rows, and explanations of the worst.

    ``worst`` are the anomalous rows of largest score, largest first; an explanation is None where
    the score is not finite. ``auc`` is the area under the ROC curve, with labels of both kinds.
    """

    scores: FloatArray
    threshold: float
    anomalous: BoolArray
    worst: IntArray
    explanations: list[Any]
    auc: float | None


def find(detector: Any, table: Table, known: BoolArray | None, *, top: int) -> Findings:
    """Score all rows, and explain the most anomalous ones."""
    scores = models.anomaly_scores(detector, table)
    threshold = models.threshold_of(detector)
    anomalous = scores > threshold
    order = np.argsort(-scores, kind="stable")
    worst = order[: min(top, int(anomalous.sum()))]
    explanations = []
    for index in track(worst, "explaining", len(worst)):
        try:
            explanations.append(explain_row(detector, table, index))
        except DataError:  # no reason to keep the scores back
            explanations.append(None)
    auc = None
    if known is not None and 0 < known.sum() < len(known):
        from sklearn.metrics import roc_auc_score

        auc = float(roc_auc_score(known, np.clip(scores, None, np.finfo(float).max)))
    return Findings(scores, threshold, anomalous, worst, explanations, auc)


def explain_row(detector: Any, table: Table, index: int, *, n_equations: int = 5) -> Any:
    """Explain one row; None where its score is not finite."""
    row = table.keep(np.array([index]))
    if not np.isfinite(models.anomaly_scores(detector, row))[0]:
        return None
    with models.library_errors(f"{table.where}, row {table.row_name(index)}"):
        return detector.explain(row.for_model, n_equations=n_equations)[0]


def findings_record(findings: Findings, table: Table) -> dict[str, Any]:
    """Return what was found, for JSON."""
    anomalies = []
    for index, why in zip(findings.worst, findings.explanations, strict=True):
        changed = np.flatnonzero(why.changed) if why else ()
        found = {
            "score": findings.scores[index],
            "features": dict(why.ranked()) if why else {},
            "fix": {why.feature_names[j]: why.counterfactual[j] for j in changed},
        }
        anomalies.append(place_of(table, index) | found)
    counts = {"n_rows": len(table), "n_anomalies": findings.anomalous.sum()}
    return counts | pick(findings, "threshold", "auc") | {"anomalies": anomalies}


def show_findings(findings: Findings, table: Table, *, is_error: bool = False) -> None:
    """Print the number of anomalies, and what would be typical for the worst ones."""
    tell = partial(say, is_error=is_error)
    number = int(findings.anomalous.sum())
    tell(
        f"{number} of {len(table)} rows {'is' if number == 1 else 'are'} anomalous "
        f"(score above {findings.threshold:.4g})"
    )
    if findings.auc is not None:
        tell(f"area under the ROC curve: {findings.auc:.3f}")
    if not number and len(table):
        highest = int(np.argmax(findings.scores))
        score = findings.scores[highest]
        tell(f"the highest score is {score:.4g} (row {table.row_name(highest)})")
    if not len(findings.worst):
        return
    bars = _draw_bars(findings.scores, findings.worst, 12)
    rows = []
    for index, drawn, why in zip(findings.worst, bars, findings.explanations, strict=True):
        changes = [] if why is None else list_changes(why)
        words = ", ".join(f"{each.name} ({each.value} to {each.fix})" for each in changes)
        fix = "no explanation" if why is None else _plain_minus(words) or TOGETHER
        rows.append((table.row_name(index), f"{findings.scores[index]:.4g}", drawn, fix))
    titles = ("row", "score", "", "typical value")
    out(is_error=is_error).print(make_table(titles, rows, left=("", "typical value")))
    if len(findings.worst) < number:
        tell(f"... and {number - len(findings.worst)} more (--top, --out)")


# --- Explanations in tables and JSON --------------------------------------------------------------

#: What is told of a broken equation, besides its ideal.
TOLD = ("part", "index", "degree", "value", "usual", "typical", "times_typical")


def explanation_record(detector: Any, table: Table, index: int, why: Any) -> dict[str, Any]:
    """Return an explanation, for JSON."""
    record = place_of(table, index) | {"threshold": models.threshold_of(detector)}
    if why is None:
        return record | {"score": None, "features": [], "equations": []}
    features = {"name": why.feature_names, "value": why.sample}
    features |= pick(why, "counterfactual", "changed", "attribution")
    return record | {
        "score": why.score,
        "counterfactual_score": why.counterfactual_score,
        "features": list_lines(features),
        "equations": [
            {"ideal": ",".join(map(str, each.ideal))} | pick(each, *TOLD) for each in why.equations
        ],
    }


def show_explanation(
    detector: Any,
    table: Table,
    index: int,
    why: Any,
    *,
    n_features: int,
    normal: Table | None,
    raw: bool,
) -> None:
    """Print the attribution of each feature, and the broken equations."""
    name, threshold = table.row_name(index), models.threshold_of(detector)
    if why is None:
        say(f"row {name}: too far from normal data to be explained")
        return
    verdict = "anomalous" if why.score > threshold else "normal"
    say(f"row {name}: score {why.score:.4g}, {verdict} (threshold {threshold:.4g})")
    if not why.attribution.any():
        say("it satisfies the equations as well as normal rows do")
        return
    say(f"the nearest row that satisfies the equations has score {why.counterfactual_score:.4g}\n")
    order = np.argsort(-why.attribution, kind="stable")[:n_features]
    rows = []
    for j, drawn in zip(order, _draw_bars(why.attribution, order), strict=True):
        value, fixed = map(_plain_minus, (exact_number(why.sample[j]), why.format_values(j)[1]))
        rows.append((why.feature_names[j], value, fixed, f"{why.attribution[j]:+.3g}", drawn))
    titles = ("feature", "value", "fixed", "attribution", "")
    out().print(make_table(titles, rows, left=("feature", "")))
    constants = models.core(detector).anomaly_score_.constants
    if constants is not None:
        broken = constants.constant & (why.attribution != 0) & why.changed
        for j in np.flatnonzero(broken):
            always = f"{why.feature_names[j]} = {constants.values[j]:g} in every normal row"
            say(f"\n{always}; here it is {why.sample[j]:g}")
    if why.equations:
        say("\nequations it breaks:")
        tidied = [] if raw else _tidied(detector, table if normal is None else normal)
    for each in why.equations:
        say(f"  {each}")
        if tidied:
            say(f"    rounded and scaled: {tidy_text(tidied[each.index])}")
            continue
        key = f"{each.ideal[0]},{each.ideal[1]}"
        ideal, names, _ = carry_back(detector, key)
        try:
            (text,) = equation_texts(ideal, names, terms=MOST_WRITTEN_TERMS, only=each.index)
        except ModelError:
            text = f"(ideal {key}, number {each.index}: too many terms to write out)"
        say(f"    {text}")


def _draw_bars(values: FloatArray, chosen: IntArray, width: int = 20) -> list[str]:
    """Return a bar for each of the chosen values, as long as the largest of all allows."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
    return [bar(float(values[k]) / largest, width) for k in chosen]


def _tidied(detector: Any, table: Table) -> list[TidyEquation]:
    """Return rounded equations of a detector that is one ideal, where there are rows enough."""
    ideal, names, meaning = carry_back(detector, models.choose_ideal(detector, None)[0])
    n_terms = count(ideal.basis_.n_features, len(ideal.basis_.blocks))
    if meaning or len(models.ideals_of(detector)) > 1 or not have_enough_rows(len(table), n_terms):
        return []
    usual = table.keep(models.anomaly_scores(detector, table) <= models.threshold_of(detector))
    if not have_enough_rows(len(usual), n_terms):
        return []
    return tidy_equations(ideal, usual.values, names) or []


def show_values(
    model: Any, table: Table, index: int, n_equations: int, *, raw: bool
) -> dict[str, Any]:
    """Print the values of an ideal's equations at a row, largest first; return them for JSON."""
    ideal = models.core(model)
    shown_ideal, names, meaning = carry_back(model, "0")
    row = table.keep(np.array([index]))
    extents = ideal.extents_
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        values = ideal.transform(models.preprocess(model, row.for_model), output="signed")[0]
        times = np.where(values == 0, 0.0, np.abs(values) / extents)
    order = np.argsort(-times, kind="stable")[:n_equations]
    labels = ideal.get_feature_names_out()
    broken = {"name": labels, "value": values, "extent": extents, "times_extent": times}
    record = place_of(table, index) | {
        "score": float(np.linalg.norm(values)),
        "equations": list_lines({name: each[order] for name, each in broken.items()}),
    }
    if state.json:
        return record
    say(f"row {table.row_name(index)}: score {record['score']:.4g}\n")
    rows = [
        (str(labels[k]), f"{values[k]:.4g}", f"{extents[k]:.3g}", f"{times[k]:.3g}", drawn)
        for k, drawn in zip(order, _draw_bars(times, order), strict=True)
    ]
    titles = ("equation", "value", "extent", "times extent", "")
    out().print(make_table(titles, rows, left=("equation", "")))
    tidied: list[TidyEquation] = []
    n_terms = count(shown_ideal.basis_.n_features, len(shown_ideal.basis_.blocks))
    if not raw and not meaning and len(table) > n_terms:
        off = models.evaluate_rows(
            table,
            lambda some: ideal.transform(models.preprocess(model, some), output="abs"),
            "evaluating",
        )
        # Rows that are not outliers of any equation, rounding errors aside.
        sound = table.keep((off <= OUTLYING * extents + SAME).all(axis=1))
        if len(sound) > n_terms:
            tidied = tidy_equations(shown_ideal, sound.values, names, mix=True) or []
    if tidied:
        say("\nthe same equations, as short as the noise of the other rows allows:")
        deviations = [(float(each.evaluate(row.values)[0]), each) for each in tidied]
        deviations.sort(key=lambda each: -abs(each[0]) / each[1].size)
        for deviation, each in deviations[:n_equations]:
            say(f"  {tidy_text(each, terms=MOST_WRITTEN_TERMS)}   (off by {deviation:.4g})")
    else:
        texts = equation_texts(shown_ideal, names, terms=MOST_WRITTEN_TERMS)
        say(f"\nequations, {meaning}:" if meaning else "")
        for k in order:
            say(f"  {labels[k]}: {texts[k]}")
    say("\nvanishing check suggests a fix, and so does a detector (vanishing fit --kind detector)")
    return record


def _plain_minus(text: str) -> str:
    """Return a text with a sign that every terminal has."""
    return text.replace("\u2212", "-")


# --- What is known of a table ---------------------------------------------------------------------

#: What equations of the degrees that are counted look like.
EXAMPLES = {1: "a = b + c", 2: "a = b*c", 3: "a = b*c^2", 4: "a = b*c^3"}
#: Kind of a column whose numbers differ in digits that floating-point numbers do not have.
ROUNDED = "too many digits"


@dataclass(frozen=True)
class Column:
    """One column of a table.

    The kind is "number", "whole number", "yes-no", "constant", "too many digits", "text", "date" or
    "empty"; ``missing`` is a share, ``different_values`` the number of different texts or dates,
    and ``is_unique`` says that all of these differ, so that they can name the rows.
    """

    name: str
    kind: str
    missing: float
    low: float | str | None = None
    high: float | str | None = None
    spread: float | None = None
    different_values: int | None = None
    is_unique: bool = False
    unit: str | None = None

    @property
    def is_sparse(self) -> bool:
        """Whether numbers are missing from most rows."""
        return self.different_values is None and self.missing > 0.5


@dataclass(frozen=True)
class Description:
    """What ``vanishing info`` says of a table; gaps of sparse columns do not count."""

    path: str
    where: str
    n_rows: int
    n_complete: int
    columns: list[Column]
    duplicates: list[list[str]]
    strays: Sequence[Stray] = ()

    @property
    def numeric(self) -> list[Column]:
        """The columns of numbers that vary."""
        return [column for column in self.columns if column.spread and not column.is_sparse]

    @property
    def switches(self) -> list[str]:
        """Names of the columns of zeros and ones."""
        return [column.name for column in self.numeric if column.kind == "yes-no"]

    @property
    def orders(self) -> float:
        """Orders of magnitude between the smallest and the largest spread."""
        spreads = [column.spread for column in self.numeric if column.spread]
        return log10(max(spreads) / min(spreads)) if spreads else 0.0

    @property
    def n_terms(self) -> dict[int, int]:
        """Number of terms that a polynomial of the columns has, for each degree."""
        return {degree: count(len(self.numeric), degree) for degree in EXAMPLES}


def describe_table(path: str, reading: Reading) -> Description:
    """Read a table of any columns, and describe them."""
    with working(f"reading {path}"), table_errors():
        opened = open_input(path, reading)
        chosen = choose(opened, reading).features
        features, aside = opened.set_texts_aside(chosen)
        n_rows = len(opened.texts(chosen[0]))
        values = opened.numbers(features) if features else np.empty((n_rows, 0))
        tell(opened, opened.number_notes(chosen))
        reasons = iter(aside)
        units = {j: form.unit for j, form in opened.find_formats(features).items()}
        columns = []
        for j in chosen:
            name = opened.shown_names[j]
            if j not in features:
                kind = next(reasons).reason.partition(",")[0]
                columns.append(_describe_texts(name, kind, opened.texts(j).tolist()))
                continue
            numbers = values[:, features.index(j)]
            described = _describe_numbers(name, numbers)
            if have_lost_digits(numbers[:, None])[0]:
                n_cells = len(set(opened.texts(j).tolist()))
                if n_cells > len(np.unique(numbers)):  # different cells, equal numbers
                    described = replace(described, kind=ROUNDED, spread=None)
            columns.append(replace(described, unit=units.get(j) or None))
    finite = np.isfinite(values)
    n_complete = int(finite[:, finite.mean(axis=0) >= 0.5].all(axis=1).sum())
    # Columns that hold the same numbers and lack the same cells; constants do not count.
    same: dict[bytes, list[str]] = {}
    for j, column, known in zip(features, values.T, finite.T, strict=True):
        if known.any() and column[known].min() < column[known].max():
            # -0 is the same number as 0, and a gap is a gap.
            key = np.where(np.isnan(column), np.nan, column + 0.0).tobytes()
            same.setdefault(key, []).append(opened.shown_names[j])
    duplicates = [names for names in same.values() if len(names) > 1]
    strays = opened.find_strays(features)
    return Description(path, opened.where, n_rows, n_complete, columns, duplicates, strays)


def _describe_texts(name: str, kind: str, cells: list[str]) -> Column:
    different = set(cells) - {""}
    is_date = kind == "date" and different  # written so that their order is that of texts
    return Column(
        name,
        kind,
        cells.count("") / max(len(cells), 1),
        min(different) if is_date else None,
        max(different) if is_date else None,
        different_values=len(different),
        is_unique=len(different) == len(cells),
    )


def _describe_numbers(name: str, values: FloatArray) -> Column:
    known = values[np.isfinite(values)]
    missing = 1 - len(known) / max(len(values), 1)
    if not len(known):
        return Column(name, "empty", missing)
    low, high = float(known.min()), float(known.max())
    kind = "number"
    if low == high:
        kind = "constant"
    elif set(np.unique(known).tolist()) == {0.0, 1.0}:
        kind = "yes-no"
    elif np.array_equal(known, np.round(known)):
        kind = "whole number"
    with np.errstate(over="ignore", invalid="ignore"):
        spread = 0.0 if low == high else float(np.std(known))
    return Column(name, kind, missing, low, high, spread if isfinite(spread) else None)


# --- What is said about it ------------------------------------------------------------------------


def suggest(found: Description) -> list[tuple[str, str]]:
    """Return commands to run on a table, and what each does."""
    if len(found.numeric) < 2:
        return []
    table = "table.csv" if found.path == PIPE else shlex.quote(found.path)
    names = [column.name for column in found.columns if column.is_unique]
    id_option = f" --id {shlex.quote(names[0])}" if names else ""
    drop = f" --drop {shlex.quote(','.join(found.switches))}" if found.switches else ""
    suggested = [
        (f"vanishing laws {table}", "equations that the columns obey"),
        (f"vanishing check {table}{id_option}", "cells that break them"),
        (f"vanishing detect {table}{id_option}", "rows unlike the others"),
        (f"vanishing fit {table}{drop}", "a model of all equations"),
    ]
    return suggested if found.n_complete else suggested[:2]


def remarks(found: Description) -> list[str]:
    """Return sentences about typos, units, duplicates, missing cells and the number of rows."""
    from vanishing.laws.discovery import FEWEST_EXACT_ROWS  # other commands need no laws

    said = [
        f"Row {each.row}, {each.column}: {each.text!r} is not a number and is treated as missing."
        for each in found.strays[:MOST_NAMED]
    ]
    if len(found.strays) > MOST_NAMED:
        said.append(f"{len(found.strays) - MOST_NAMED} more cells are not numbers.")
    if found.orders >= 1:
        said.append("The columns differ in size. That is fine: each is scaled first.")
    if rounded := [column.name for column in found.columns if column.kind == ROUNDED]:
        said.append(
            f"The numbers of {' and '.join(map(repr, rounded))} differ in digits that "
            "floating-point numbers do not have; subtract a constant from them."
        )
    for same in found.duplicates:
        first, *others = map(repr, same)
        said.append(f"{' and '.join(others)} duplicate{'s' * (len(others) == 1)} {first}.")
    if found.switches:
        names = " and ".join(map(repr, found.switches))
        said.append(f"Leave the yes-no column{'s' * (len(found.switches) > 1)} {names} out of fit.")
    if sparse := [column.name for column in found.columns if column.is_sparse]:
        said.append(
            f"Most of {' and '.join(map(repr, sparse))} is missing; such columns are left out."
        )
    if found.n_complete < found.n_rows:
        n_missing = found.n_rows - found.n_complete
        said.append(
            f"Numbers are missing from {n_missing} of {found.n_rows} rows: check fills in those "
            "that the laws determine, detect and fit leave the rows out."
        )
    if not found.numeric:
        said.append("No column has numbers that vary, so there is no equation to find.")
        return said
    n_rows = found.n_complete
    enough = [each for each, n_terms in found.n_terms.items() if have_enough_rows(n_rows, n_terms)]
    rows = f"{count_things(n_rows, 'complete row')} {'is' if n_rows == 1 else 'are'}"
    if n_rows < FEWEST_EXACT_ROWS:
        said.append(f"{rows} too few to find equations; at least {FEWEST_EXACT_ROWS} are needed.")
    elif not enough:
        columns = count_things(len(found.numeric), "column")
        said.append(
            f"{rows} too few to fit all equations of {columns} (fit), but enough to look for short "
            "ones (laws, check)."
        )
    else:
        degree = max(enough)
        said.append(
            f"{rows} enough to fit equations up to degree {degree}, such as {EXAMPLES[degree]}."
        )
    return said


def show_description(found: Description) -> None:
    """Print a table of the columns, what there is to say, and what to run."""
    kinds = Counter(column.kind for column in found.columns)
    listed = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    size = f"{count_things(found.n_rows, 'row')}, {count_things(len(found.columns), 'column')}"
    say(f"{found.where}: {size}")
    titles = ("column", "kind", "from", "to", "spread", "missing")
    rows = [_row(column) for column in found.columns[:MOST_SHOWN_COLUMNS]]
    out().print(make_table(titles, rows, left=("column", "kind"), unbroken=titles[1:]))
    if (n_left := len(found.columns) - MOST_SHOWN_COLUMNS) > 0:
        say(f"... and {n_left} more ({listed}); --json lists them all")
    say()
    for sentence in remarks(found):
        say(fit_width(sentence))
    if suggested := suggest(found):
        say("\ntry:")
        width = max(len(command) for command, _ in suggested)
        for command, what in suggested:
            say(f"  {command:{width}}   # {what}")


def _row(column: Column) -> tuple[str, ...]:
    missing = f"{100 * column.missing:.{1 if 10 * column.missing < 1 else 0}f} %"
    kind = f"{column.kind}, {column.unit}" if column.unit else column.kind
    if column.different_values is not None:
        kind += f", {column.different_values} different"
    low, high = map(_short, (column.low, column.high))
    spread = _plain_minus(significant(column.spread, 3)) if column.spread else ""
    return column.name, kind, low, high, spread, missing if column.missing else ""


def _short(value: float | str | None) -> str:
    """Write a date as it is, whole numbers in full, and others with five digits."""
    if value is None or isinstance(value, str):
        return (value or "")[: len("2026-01-31")]
    if value == round(value) and abs(value) < MOST_IN_FULL:
        return str(int(value))
    # At least two decimals of what is written without a power of ten.
    digits = max(5, floor(log10(abs(value))) + 3) if abs(value) < MOST_IN_FULL else 5
    return _plain_minus(significant(value, digits))


def description_record(found: Description) -> dict[str, Any]:
    """Return a description, for JSON."""
    return {
        "table": found.where,
        "rows": found.n_rows,
        "complete_rows": found.n_complete,
        "columns": [vars(column) for column in found.columns],
        "orders_of_magnitude": found.orders,
        "duplicates": found.duplicates,
        "not_numbers": [each._asdict() for each in found.strays],
        "terms": {str(degree): n for degree, n in found.n_terms.items()},
        "remarks": remarks(found),
        "commands": [command for command, _ in suggest(found)],
    }
