"""Some rows of what a user passed."""

from collections.abc import Callable
from typing import Any

from sklearn.utils import _safe_indexing

from vanishing._xp import Array, IntArray, take_rows
from vanishing.samples.coerce import is_chunked


def is_frame(X: Any) -> bool:
    """Whether X is a table in memory whose columns have names."""
    return hasattr(X, "columns") and not is_chunked(X)


def picker(X: Any, table: Array) -> Callable[[IntArray], Any]:
    """Return a function from numbers of rows to these rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        As the user passed it: rows of a frame keep the names of their columns.
    table : array of shape (n_samples, n_features)
        The same, checked.
    """

    def rows_of(rows: IntArray) -> Any:
        if not is_frame(X):
            return take_rows(table, rows)
        # Frames of Arrow: scikit-learn knows them only from version 1.8 on.
        return X.take(rows) if type(X).__module__ == "pyarrow.lib" else _safe_indexing(X, rows)

    return rows_of
