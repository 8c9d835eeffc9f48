"""The section on the data."""

import numpy as np

from vanishing._xp import FloatArray
from vanishing.export.markup import Element, element
from vanishing.export.writing import number
from vanishing.report.charts import tiny_histogram
from vanishing.report.given import Given
from vanishing.report.pictures import summary_images
from vanishing.report.words import counted, row_of, scrolled

#: Columns that have a row of their own, at most.
MOST_COLUMNS = 40


def data_section(given: Given) -> list[Element]:
    """Return a summary of every column, or of the images."""
    n_rows, n_columns = given.X.shape
    found: list[Element] = []
    if given.image_shape is not None:
        size = " × ".join(map(str, given.image_shape))
        words = f"{counted(n_rows, 'image')} of {size} pixels."
        return [element("p", words), summary_images(given.X, given.image_shape)]
    constant = given.X.min(axis=0) == given.X.max(axis=0)
    words = f"{counted(n_rows, 'row')} and {counted(n_columns, 'column')}."
    if constant.any() and n_rows > 1:
        words += f" {counted(int(constant.sum()), 'column')} constant."
    if given.train is not None:
        words += (
            f" The detector was fitted to {counted(len(given.train), 'row')}; lines over the "
            "histograms are theirs."
        )
    found.append(element("p", words))
    shown = _chosen(given)
    found.append(scrolled(_table(given, shown), "Columns of the data"))
    if len(shown) < n_columns:
        left = n_columns - len(shown)
        how = "those furthest from the training mean come first"
        found.append(
            element("p", f"{counted(left, 'more column')} not shown; {how}.", class_="note")
        )
    return found


def _chosen(given: Given) -> list[int]:
    """Return the columns that are shown: all, or those that differ most from the training data."""
    n_columns = given.X.shape[1]
    if n_columns <= MOST_COLUMNS:
        return list(range(n_columns))
    moved = np.abs(given.X.mean(axis=0) - given.detector._mean_row) / given.detector._spread_row
    return [int(j) for j in np.argsort(-moved, kind="stable")[:MOST_COLUMNS]]


def _table(given: Given, shown: list[int]) -> Element:
    titles = ["column", "distribution", "min", "median", "max", "mean", "std"]
    if given.train is not None:
        titles.append("outside training range")
    numeric = [None, None] + ["number"] * (len(titles) - 2)
    rows = [row_of("td", _cells(given, j), numeric) for j in shown]
    return element(
        "table",
        element("caption", "Statistics of the columns"),
        element("thead", row_of("th", titles, numeric)),
        element("tbody", rows),
    )


def _cells(given: Given, column: int) -> list[object]:
    values = given.X[:, column]
    train = None if given.train is None else given.train[:, column]
    known = values if train is None else np.concatenate([values, train])
    histogram = tiny_histogram(values, train, (float(known.min()), float(known.max())))
    cells: list[object] = [given.names[column], histogram]
    cells += [_written(statistic) for statistic in _statistics(values)]
    if train is not None:
        outside = int(np.sum((values < train.min()) | (values > train.max())))
        cells.append(f"{outside:,}" if outside else "–")
    return cells


def _statistics(values: FloatArray) -> list[float]:
    with np.errstate(over="ignore"):
        found = [values.min(), np.median(values), values.max(), values.mean(), values.std()]
    return [float(each) for each in found]


def _written(value: float) -> str:
    return number(value + 0.0, ".4g")
