"""What a report is made of: the data, the words, the facts about a run."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vanishing.app.report.charts import summary_images, tiny_histogram
from vanishing.app.wording import MOST_IN_FULL, MOST_SHOWN_COLUMNS, find_version
from vanishing.arrays.namespace import BoolArray, FloatArray, move_to_host, unmask
from vanishing.data.inputs import check_new_table, get_feature_names
from vanishing.detectors.base import Detector
from vanishing.detectors.score import Normal
from vanishing.equations.mathml import Child, Element, element
from vanishing.equations.text import number, significant

T = TypeVar("T")

# --- Parts of the page that several sections use -------------------------------------------------

#: Lines of a list that are seen at once, about a screen, and those that follow in a fold.
LISTED, FOLDED = 20, 180
#: The same for formulas, pictures and rows in detail, which take more space.
LARGE_LISTED, LARGE_FOLDED = 6, 24


def format_count(count: int, what: str) -> str:
    """Write a number of things: "1 row", "1,200 rows"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def format_score(score: float) -> str:
    """Write a score with four digits, as the terminal does."""
    return format_power(score + 0.0, ".4g") if np.isfinite(score) else "infinite"  # never -0


def raise_power(written: str) -> str:
    """Write a number with a raised exponent where it has one: "3×10⁻⁷".

    Examples
    --------
    >>> from vanishing.app.report.content import raise_power
    >>> raise_power("0.012"), raise_power("3e−07"), raise_power("1e-9")
    ('0.012', '3×10⁻⁷', '10⁻⁹')
    """
    digits, has_power, power = written.partition("e")
    if not has_power or not digits[-1:].isdigit():
        return written
    exponent = int(power.replace("−", "-"))
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digits == "1" else f"{digits}×10{raised}"


def format_power(value: float, form: str) -> str:
    """Write a number by a format, with a raised exponent where it has one."""
    return raise_power(number(value, form))


def format_value(value: float) -> str:
    """Write a number of a table: whole numbers in full, others with four digits or more.

    Examples
    --------
    >>> from vanishing.app.report.content import format_value
    >>> format_value(129726.0), format_value(129726.25), format_value(0.012345)
    ('129726', '129726', '0.01235')
    """
    if not np.isfinite(value):
        return "infinite"
    is_short = abs(value) < MOST_IN_FULL
    if is_short and value == round(value):
        return number(int(value), "d")
    if is_short and abs(value) >= 1:
        return significant(value, max(4, len(str(int(abs(value))))))
    return format_power(value, ".4g")


def figure(drawing: Element, caption: Child) -> Element:
    """Return a drawing with its caption."""
    return element("figure", drawing, element("figcaption", caption))


def fold(words: str, *children: Child) -> Element:
    """Return what is seen when it is asked for, and not in print."""
    return element("details", element("summary", words), *children)


def fold_rest(
    items: Sequence[T],
    show: Callable[[Sequence[T], int], Element],
    what: str,
    *,
    is_large: bool = False,
    all_folded: bool = False,
) -> list[Element]:
    """Show the first items at once and the next ones in a fold, and say how many are left.

    ``show`` takes some of the items and the place of the first of them.
    """
    n_seen, n_folded = (LARGE_LISTED, LARGE_FOLDED) if is_large else (LISTED, FOLDED)
    n_seen = 0 if all_folded else n_seen
    found = [show(items[:n_seen], 0)] if items[:n_seen] else []
    if following := items[n_seen : n_seen + n_folded]:
        words = format_count(len(following), f"more {what}" if n_seen else what)
        found.append(fold(words, show(following, n_seen)))
    if (n_left := len(items) - n_seen - n_folded) > 0:
        words = f"{format_count(n_left, f'more {what}')} not listed."
        found.append(element("p", words, class_="note"))
    return found


def write_change(
    name: str, value: str, fix: str, word: str | None = None, note: str | None = None
) -> Element:
    """Return a column, its value and the one that it should have, with a word before and a note."""
    return element(
        "span",
        word,
        element("strong", name),
        " ",
        element("span", " → ".join(map(raise_power, filter(None, (value, fix)))), class_="values"),
        [" ", element("span", note, class_="note")] if note else None,
        class_="change",
    )


def make_table(
    titles: Sequence[Child],
    rows: Sequence[Sequence[Child]],
    kinds: Sequence[str | None],
    *,
    caption: str,
    class_: str,
    is_caption_seen: bool = True,
) -> Element:
    """Return a table, whose rows narrow screens show as blocks of several lines.

    The first cell is the name of the row. A block has those titles that are strings beside the
    cells; ``kinds`` are the classes of the cells, by column.
    """
    heads = [
        element("th", title, scope="col", class_=kind)
        for title, kind in zip(titles, kinds, strict=True)
    ]
    lines = []
    for name, *cells in rows:
        line = [element("th", name, scope="row", class_=kinds[0])]
        for cell, title, kind in zip(cells, titles[1:], kinds[1:], strict=True):
            words = title if isinstance(title, str) else None
            line.append(element("td", cell, class_=kind, data_title=words))
        lines.append(element("tr", line))
    table = element(
        "table",
        element("caption", caption, class_=None if is_caption_seen else "unseen"),
        element("thead", element("tr", heads)),
        element("tbody", lines),
        class_=class_,
    )
    # What is too wide even so is moved sideways, with the keyboard as well.
    return element("div", table, class_="scrolled", tabindex=0, role="region", aria_label=caption)


# --- What a report is made of, checked before any work is done ------------------------------------


@dataclass(frozen=True, eq=False)
class Given:
    """Scored data and its detector.

    Scores are larger for anomalous rows, and infinite for rows beyond all numbers. ``one_class``
    says that labels were given, all of them the same; ``labels`` is None then.
    """

    detector: Detector
    X: FloatArray
    scores: FloatArray
    anomalous: BoolArray
    labels: BoolArray | None
    one_class: bool
    ids: tuple[str, ...]
    names: tuple[str, ...]
    train: FloatArray | None
    train_scores: FloatArray | None
    image_shape: tuple[int, ...] | None

    @property
    def threshold(self) -> float:
        """The anomaly score above which rows are called anomalous."""
        return -float(self.detector.offset_)

    @property
    def normal(self) -> Normal:
        """Mean and spread of the training data."""
        assert self.detector.anomaly_score_.normal is not None
        return self.detector.anomaly_score_.normal

    @property
    def unit(self) -> str:
        """What a row is."""
        return "row" if self.image_shape is None else "image"

    @property
    def order(self) -> list[int]:
        """Rows, most anomalous first."""
        return [int(row) for row in np.argsort(-self.scores, kind="stable")]


def check_given(
    detector: Any, X: Any, *, scores: Any, labels: Any, ids: Any, feature_names: Any, train: Any
) -> Given:
    """Check what ``write_report`` is given, and score what has no scores yet."""
    if not isinstance(detector, Detector):
        raise TypeError(
            "detector must be a fitted VanishingDetector or TransformationDetector, got "
            f"{type(detector).__name__}"
        )
    check_is_fitted(detector)
    table = take_rows(detector, X)
    n_rows = len(table)
    found = detector.score_samples(X) if scores is None else scores
    normality = _vector("scores", move_to_host(found), n_rows).astype(np.float64)
    if np.isnan(normality).any():
        raise ValueError(
            "scores contain NaN; pass the result of detector.score_samples(X), or None"
        )
    kinds, one_class = _check_labels(labels, n_rows)
    names = tuple(get_feature_names(detector, feature_names))
    train_table = None if train is None else take_rows(detector, train)
    return Given(
        detector=detector,
        X=table,
        scores=-normality,
        anomalous=normality < detector.offset_,
        labels=kinds,
        one_class=one_class,
        ids=take_row_names(ids, X, n_rows),
        names=names,
        train=train_table,
        train_scores=None if train is None else -move_to_host(detector.score_samples(train)),
        image_shape=image_shape_of(detector),
    )


def image_shape_of(detector: Any) -> tuple[int, ...] | None:
    """Return the shape of the images that the transformations of a detector act on, if any."""
    waiting = [getattr(detector, "transformations", None)]
    while waiting:
        each = waiting.pop()
        if (shape := getattr(each, "image_shape", None)) is not None:
            shape = tuple(shape)
            drawable = len(shape) == 2 or shape[2] in (1, 3)
            return shape if drawable and prod(shape) == detector.n_features_in_ else None
        waiting += getattr(each, "sets", ())
    return None


def take_rows(model: Any, X: Any) -> FloatArray:
    """Return the rows of a table that a model may be applied to."""
    table: FloatArray = np.asarray(move_to_host(check_new_table(model, X)), dtype=np.float64)
    return table


def _vector(name: str, values: Any, n_rows: int) -> Any:
    vector = np.asarray(unmask(values, name))
    if vector.ndim == 2 and vector.shape[1] == 1:  # a column of a frame
        vector = vector[:, 0]
    if vector.shape != (n_rows,):
        raise ValueError(
            f"{name} must be one value for each of the {n_rows} rows of X, got shape {vector.shape}"
        )
    return vector


def _check_labels(labels: Any, n_rows: int) -> tuple[BoolArray | None, bool]:
    """Return which rows are anomalies, and whether all labels are the same."""
    if labels is None:
        return None, False
    vector = _vector("labels", labels, n_rows)
    try:
        numbers = vector.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "labels must be 1 for anomalies and 0 for normal rows, or -1 and +1, got "
            f"{str(vector[0])!r}"
        ) from error
    if np.isnan(numbers).any():
        raise ValueError(
            f"labels are missing in {int(np.isnan(numbers).sum())} of {n_rows} rows; label every "
            "row, or leave labels out"
        )
    values = set(np.unique(numbers).tolist())
    if not (values <= {0.0, 1.0} or values <= {-1.0, 1.0}):
        raise ValueError(
            "labels must be 1 for anomalies and 0 for normal rows, or -1 and +1 as returned by "
            f"predict, got the values {sorted(values)[:6]}"
        )
    if len(values) < 2:
        return None, True
    return (numbers == (-1.0 if -1.0 in values else 1.0)), False


def take_row_names(ids: Any, X: Any, n_rows: int) -> tuple[str, ...]:
    """Return what the rows are called: by default the index of a frame, or their numbers."""
    if ids is None:
        ids = getattr(X, "index", None)
        ids = range(n_rows) if ids is None or callable(ids) else ids
    names: Sequence[str] = [str(each) for each in ids]
    if len(names) != n_rows:
        raise ValueError(f"ids must name each of the {n_rows} rows of X, got {len(names)}")
    return tuple(names)


# --- The section on how the report came about: parameters and versions ----------------------------

LIBRARIES = ("vanishing", "numpy", "scipy", "scikit-learn")


def describe_fit(given: Given) -> Element:
    """Return a table of what a detector learned."""
    detector = given.detector
    fitted: list[tuple[str, Any]] = [
        ("threshold on the anomaly score", number(given.threshold, ".6g")),
        ("pixels" if given.image_shape else "columns", f"{detector.n_features_in_:,}"),
    ]
    for place, words in enumerate(getattr(detector, "chosen_", ()), start=1):
        fitted.append((f"part {place}", " ".join(str(words).split())))
    return _table_of_facts("What was fitted", fitted)


def describe_model(model: Any) -> list[Element]:
    """Return tables of parameters and versions."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    tables = [
        _table_of_facts(
            f"Parameters of {type(step).__name__}",
            [
                (name, " ".join(repr(value).split()))
                for name, value in step.get_params(deep=False).items()
            ],
        )
        for step in steps
    ]
    return [*tables, list_versions()]


def list_versions() -> Element:
    """Return a table of versions."""
    versions = [(name, find_version(name) or "unknown") for name in LIBRARIES]
    return _table_of_facts("Versions", [("Python", platform.python_version()), *versions])


def _table_of_facts(caption: str, entries: list[tuple[str, Any]]) -> Element:
    rows = [
        element("tr", element("th", name, scope="row"), element("td", str(value)))
        for name, value in entries
    ]
    return element("table", element("caption", caption), element("tbody", rows), class_="facts")


# --- The section on the data ----------------------------------------------------------------------


def data_section(given: Given) -> list[Element]:
    """Return a summary of every column, or of the images."""
    n_rows = len(given.X)
    if given.image_shape is not None:
        size = " × ".join(map(str, given.image_shape))
        words = f"{format_count(n_rows, 'image')} of {size} pixels."
        return [element("p", words), summary_images(given.X, given.image_shape)]
    moved = np.abs(given.X.mean(axis=0) - given.normal.mean) / given.normal.spread
    return summarize_columns(given.X, given.names, given.train, moved)


def summarize_columns(
    X: FloatArray,
    names: Sequence[str],
    train: FloatArray | None = None,
    importance: FloatArray | None = None,
) -> list[Element]:
    """Return a table with statistics of every column, NaN left out.

    ``train`` holds other rows to compare with. Of wide tables the columns of largest importance are
    shown, by default the first ones.
    """
    n_rows, n_columns = X.shape
    words = f"{format_count(n_rows, 'row')} and {format_count(n_columns, 'column')}."
    if train is not None:
        words += (
            f" The detector was fitted to {format_count(len(train), 'row')}; lines over the "
            "histograms show these rows."
        )
    shown = list(range(n_columns))
    if n_columns > MOST_SHOWN_COLUMNS:
        by = np.zeros(n_columns) if importance is None else -importance
        shown = [int(j) for j in np.argsort(by, kind="stable")[:MOST_SHOWN_COLUMNS]]
    gaps = np.isnan(X).sum(axis=0)
    titles = ["column", "distribution", "min", "median", "max", "mean", "std"]
    titles += ["missing"] if gaps.any() else []
    titles += [] if train is None else ["outside training range"]
    kinds = [None, "distribution"] + ["number"] * (len(titles) - 2)
    rows = []
    for j in shown:
        other = None if train is None else train[:, j]
        cells = _cells(names[j], X[~np.isnan(X[:, j]), j], other)
        if gaps.any():
            cells.insert(7, f"{gaps[j]:,}" if gaps[j] else "–")
        rows.append(cells)
    table = make_table(
        titles,
        rows,
        kinds,
        caption="Statistics of the columns",
        class_="columns small" if len(shown) <= LISTED else "columns",
    )
    found = [element("p", words), table]
    if len(shown) < n_columns:
        left = format_count(n_columns - len(shown), "more column")
        how = "" if importance is None else "; those furthest from the training mean come first"
        found.append(element("p", f"{left} not shown{how}.", class_="note"))
    return found


def _cells(name: str, values: FloatArray, train: FloatArray | None) -> list[object]:
    if not len(values):
        return [name, "empty", *["–"] * 5]
    known = values if train is None else np.concatenate([values, train])
    histogram = tiny_histogram(values, train, (float(known.min()), float(known.max())))
    with np.errstate(over="ignore"):
        statistics = [values.min(), np.median(values), values.max(), values.mean(), values.std()]
    cells: list[object] = [name, histogram]
    cells += [format_value(float(each) + 0.0) for each in statistics]
    if train is not None:
        outside = int(np.sum((values < train.min()) | (values > train.max())))
        cells.append(f"{outside:,}" if outside else "–")
    return cells
