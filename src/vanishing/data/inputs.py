"""What a user passes as X: recognized, wrapped as a source, checked for an estimator.

Scikit-learn checks NumPy arrays and frames; files, chunks and arrays of other libraries are checked
here.
"""

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, validate_data

from vanishing.arrays.blocks import format_bytes
from vanishing.arrays.namespace import (
    Array,
    IntArray,
    is_from,
    is_truth_value,
    move_to_host,
    namespace,
    require_dense,
    take_rows,
    unmask,
)
from vanishing.data.source import (
    ArraySource,
    NoRowsError,
    SampleSource,
    add_weights,
    as_array,
    check_block,
    close_after,
    get_column_names,
    get_columns,
    have_lost_digits,
    is_lazy,
    is_url,
    wrap_frame,
)
from vanishing.levels import MEMORY
from vanishing.polynomials.monomials import variable_names

# --- Which kind of data it is ---------------------------------------------------------------------


def is_chunked(data: object) -> bool:
    """Say whether ``data`` is a source or comes in chunks of rows, rather than as one table."""
    if isinstance(data, SampleSource | Iterator) or callable(data) or _is_path(data):
        return True
    if _is_dask(data) or _is_zarr_array(data) or _is_dataset(data) or is_lazy(data):
        return True
    if isinstance(data, list | tuple):
        return bool(data) and all(len(getattr(chunk, "shape", ())) == 2 for chunk in data)
    # Any other re-iterable that is no table: it has neither shape nor array interface.
    table_like = ("shape", "__array__", "__array_interface__", "__dataframe__")
    return hasattr(data, "__iter__") and not (
        isinstance(data, bytes | dict | set) or any(hasattr(data, a) for a in table_like)
    )


def is_foreign_array(data: object) -> bool:
    """Say whether ``data`` is an array of another library than NumPy, or a memory map."""
    if isinstance(data, np.memmap):
        return True
    library = type(data).__module__.split(".")[0]
    return library in ("torch", "array_api_strict", "cupy", "jaxlib", "jax")


def _is_path(data: object) -> bool:
    """Say whether ``data`` is a path, or a list of paths."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(part, str | os.PathLike) for part in data)
    return isinstance(data, str | os.PathLike)


def _is_dask(data: object) -> bool:
    return is_from(data, "dask") and (hasattr(data, "chunks") or hasattr(data, "to_dask_array"))


def _is_zarr_array(data: object) -> bool:
    return is_from(data, "zarr") and hasattr(data, "chunks")


def _is_dataset(data: object) -> bool:
    return is_from(data, "pyarrow") and hasattr(data, "scanner")


# --- Data of any kind as a source -----------------------------------------------------------------


def as_source(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    name: str = "X",
    weights: Any = None,
) -> SampleSource:
    """Wrap data of any kind as a source.

    Parameters
    ----------
    data : array, frame, path, URL, query, dataset, chunks, or SampleSource
        An array or a frame of any library, a memory map, a ``zarr.Array``, a Dask array or frame;
        the path of a .npy or .npz file, of a .zarr folder, or of a Parquet, CSV, TSV or Feather
        file or a folder of such files, or a list of paths; a ``pyarrow.dataset.Dataset``; a
        re-iterable of chunks of rows, or a callable that returns a fresh iterator over them each
        time it is called. Also a table of a database, such as "duckdb:shop.db#orders",
        "sqlite:shop.db#orders" or the URL of SQLAlchemy with "#orders" after it, and a lazy frame
        of polars, DuckDB, Ibis or Spark: these are queried once, into a temporary Parquet file.
    columns : sequence of str, optional
        Which columns of a table in files or of a query to use, in this order; all by default.
    header : bool, optional
        Whether the first line of CSV files holds names; guessed by default. Columns without names
        are called x0, x1, ...
    decimal : {".", ","}, optional
        The decimal sign of CSV files; by default what their numbers show, with a ``UserWarning`` if
        they leave it open.
    name : str
        What error messages call the rows.
    weights : array-like of shape (n_samples,), optional
        Sample weights, in the order of the rows, also if they come in chunks.

    Returns
    -------
    SampleSource
    """
    if _is_path(data) and not is_url(data):
        from vanishing.data.streamed_tables import open_path

        source = open_path(data, columns=columns, header=header, decimal=decimal, name=name)
        return add_weights(source, weights)
    for option, value in (("header", header), ("decimal", decimal)):
        if value is not None:
            raise ValueError(f"{option} is for the paths of CSV files, got a {type(data).__name__}")
    return add_weights(_wrap(data, columns, name), weights)


def _wrap(data: Any, columns: Sequence[str] | None, name: str) -> SampleSource:
    # Arrays need no readers of files and chunks, and no Dask.
    if _is_dataset(data):
        from vanishing.data.streamed_tables import TableSource, split_dataset

        return TableSource(split_dataset(data), columns=columns, name=name)
    if is_url(data) or is_lazy(data):
        from vanishing.data.streamed_tables import open_query

        return open_query(data, columns, name)
    if columns is not None:
        raise ValueError(
            f"columns can only be chosen for tables in files, but {name} is a {type(data).__name__}"
        )
    if isinstance(data, SampleSource):
        return data if data.name == name else data.named(name)
    if _is_dask(data):
        from vanishing.data.dask import DaskSource, as_dask_array

        return DaskSource(*as_dask_array(data, name), name=name)
    if isinstance(data, np.memmap) or _is_zarr_array(data):
        from vanishing.data.streams import StoredArraySource

        return StoredArraySource(data, name=name)
    if is_chunked(data):
        from vanishing.data.streams import ChunkSource

        return ChunkSource(data, name=name)
    array = check_block(as_array(require_dense(data, name), name), name=name)
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {tuple(array.shape)}: at least one row and one column are required"
        )
    source = ArraySource(array).named(name)
    source.feature_names = get_column_names(get_columns(data))
    return source


# --- Data of any kind checked for an estimator ----------------------------------------------------

DTYPES = [np.float64, np.float32]


class NumberRange(Interval):
    """An interval of scikit-learn without True and False, which count as 1 and 0 there."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Say whether a value is a number in the interval."""
        return not is_truth_value(val) and bool(super().is_satisfied_by(val))


#: What parameters called n_jobs may be: all but 0.
N_JOBS = [
    NumberRange(Integral, None, -1, closed="right"),
    NumberRange(Integral, 1, None, closed="left"),
    None,
]


def validate_table(estimator: Any, X: Any, **options: Any) -> Any:
    """Let scikit-learn check a table, and y in ``options``, after refusing masks."""
    if (y := options.get("y")) is not None:
        options["y"] = unmask(y, "y")
    X = require_dense(X, "X")
    _refuse_types(X)
    try:
        found = validate_data(estimator, X, dtype=DTYPES, **options)
        if any(str(dtype).lower() in ("int64", "uint64") for dtype in _get_dtypes(X)):
            _warn_of_lost_digits(found[0] if isinstance(found, tuple) else found)
        return found
    except OverflowError as error:
        raise ValueError(
            f"X holds whole numbers beyond {np.finfo(np.float64).max:.3g}, too large for floating "
            "point; rescale them, or leave such rows out"
        ) from error
    except (TypeError, ValueError) as error:
        if "could not convert string to float" in str(error):
            texts = [
                repr(name)
                for name in getattr(X, "columns", ())
                if np.asarray(X[name]).dtype.kind in "OUS"
            ]
            where = f" of column {texts[0]}" if len(texts) == 1 else ""
            raise ValueError(
                f"{error}: X must hold numbers only; leave the strings{where} out, or encode them, "
                "for instance with OneHotEncoder"
            ) from error
        if "setting an array element" in str(error) or "float() argument must be" in str(error):
            where = _describe_cell(X)
            raise TypeError(
                f"{error}: X must hold one real number in each cell{where}; leave such columns "
                "out, or convert them to numbers"
            ) from error
        raise


def _refuse_types(X: Any) -> None:
    """Raise for columns that are no numbers, which scikit-learn takes or explains badly."""
    names = get_columns(X) if getattr(X, "ndim", 2) == 2 else None
    if names == []:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({len(X)}, 0)) while a minimum of 1 is required."
        )
    twice = [str(name) for name, times in Counter(names or ()).items() if times > 1]
    if twice:
        raise ValueError(
            f"the columns of X must have different names, got {twice[0]!r} more than once; rename "
            "one, or leave it out"
        )
    for name, dtype in zip(names or [None], _get_dtypes(X), strict=False):
        kind = str(dtype).lower()
        where, leave = "", ""
        if name is not None:
            where, leave = f" in column {name!r}", "leave it out, or "
        if getattr(dtype, "names", None) is not None:
            raise TypeError(
                "X must be a table of numbers, got an array of records with the fields "
                f"{dtype.names}; pass pandas.DataFrame(X)"
            )
        if kind.startswith(("datetime", "date", "duration", "timedelta", "time", "period")):
            raise TypeError(
                f"X must hold numbers, got dates or durations{where} ({dtype}); {leave}pass, for "
                "instance, the days since the first date"
            )
        if kind.startswith("sparse"):
            raise TypeError(
                f"Sparse data was passed for X, got {dtype}{where}, but dense data is required: "
                "products of polynomials fill up. Use '.sparse.to_dense()' to convert it."
            )
        if kind.startswith(("complex", "interval", "list", "array", "struct", "object_")):
            problem = "Complex data not supported: " if kind.startswith("complex") else ""
            raise ValueError(
                f"{problem}X must hold real numbers, got {dtype}{where}; {leave}pass its parts as "
                "columns"
            )


def _get_dtypes(X: Any) -> list[Any]:
    """Return the types of an array or of the columns of a frame; nothing if it does not tell."""
    if isinstance(X, np.ndarray) or getattr(X, "ndim", 2) == 1:
        return [getattr(X, "dtype", None)]
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None:
        return list(getattr(getattr(X, "schema", None), "types", ()))
    return list(dtypes)


def _warn_of_lost_digits(array: Array) -> None:
    """Warn of whole numbers that are equal, or nearly so, as floating-point numbers only."""
    for j in np.flatnonzero(have_lost_digits(array)).tolist():
        warnings.warn(
            f"the whole numbers in column {j} of X, about {array[0, j]:.3g}, differ in digits that "
            "floating-point numbers do not have; subtract a constant from them",
            UserWarning,
            stacklevel=4,
        )


def _describe_cell(X: Any) -> str:
    """Say which cell of a table is no number, if it can be found."""
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:
        return ""
    for place, cell in np.ndenumerate(cells):
        try:
            float(cell)
        except (TypeError, ValueError):
            return f", but row {place[0]} has {type(cell).__name__} {cell!r:.40}"
    return ""


def check_training_source(estimator: Any, X: Any) -> SampleSource:
    """Check training data, record its width and names on ``estimator``, and wrap it."""
    if not is_chunked(X) and not is_foreign_array(X):
        return ArraySource(validate_table(estimator, X))
    source = as_source(X, name="X")
    if hasattr(estimator, "feature_names_in_"):  # of an earlier fit
        del estimator.feature_names_in_
    estimator.n_features_in_ = source.n_features
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(source.feature_names, dtype=object)
    return source


def check_training_rows(estimator: Any, X: Any) -> Array | SampleSource:
    """Check training rows, and record their width and names; what is too large stays a source."""
    if isinstance(X, np.memmap):
        X = X.view(np.ndarray)
    if not is_chunked(X) and not is_foreign_array(X):
        return validate_table(estimator, X, ensure_min_samples=2)
    source = check_training_source(estimator, X)
    if source.weighted:
        raise ValueError(
            f"X has weights, but {type(estimator).__name__} takes rows only; pass the weights "
            "as sample_weight"
        )
    is_whole = is_foreign_array(X)
    table = next(source.blocks(source.n_samples)) if is_whole else as_table(source)
    if table is not None and table.shape[0] < 2:
        raise ValueError(f"X has {table.shape[0]} row, but at least two are required")
    return source if table is None else table


def check_training_table(estimator: Any, X: Any) -> Array:
    """Check training data as ``check_training_rows`` does, all of which is needed at once."""
    return _refuse_source(estimator, check_training_rows(estimator, X))


def check_new_table(estimator: Any, X: Any) -> Array:
    """Check a table passed to a fitted estimator; arrays of other libraries stay where they are."""
    points = check_new_points(estimator, X)
    if isinstance(points, SampleSource):
        table = as_table(points)
        points = points if table is None else table
    return _refuse_source(estimator, points)


def _refuse_source(estimator: Any, rows: Array | SampleSource) -> Array:
    """Raise if rows are too many to be needed all at once."""
    if isinstance(rows, SampleSource):
        raise too_large(type(estimator).__name__)
    return rows


def as_table(source: SampleSource) -> Array | None:
    """Read all rows into one array, or return None if they leave no room for work on them."""
    blocks: list[Array] = []
    n_bytes, most_bytes = 0, MEMORY // 2
    with close_after(source.blocks(max(1, most_bytes // (64 * source.n_features)))) as reading:
        for block in reading:
            n_bytes += 8 * int(block.shape[0]) * source.n_features
            if n_bytes > most_bytes:
                return None
            blocks.append(block)
    if not blocks:
        raise NoRowsError(source.name)
    return blocks[0] if len(blocks) == 1 else namespace(blocks[0]).concat(blocks)


def too_large(what: str) -> ValueError:
    """Return the error for rows that are too many to be needed all at once."""
    return ValueError(
        f"{what} needs all rows of X at once, and they take more than "
        f"{format_bytes(MEMORY // 2)}; pass a part of them as an array"
    )


def check_contrast_source(estimator: Any, contrast: Any) -> SampleSource:
    """Check the contrasting set, which must have the columns of the training data, and wrap it."""
    name, n_features = "contrast", estimator.n_features_in_
    feature_names = getattr(estimator, "feature_names_in_", None)
    if is_chunked(contrast) or is_foreign_array(contrast):
        source = as_source(contrast, name=name)
        _check_names(name, source.feature_names, feature_names, "X has")
    else:
        contrast = require_dense(contrast, name)
        _check_names(name, getattr(contrast, "columns", None), feature_names, "X has")
        try:
            array = check_array(contrast, dtype=DTYPES, input_name=name)
        except ValueError as error:
            raise ValueError(f"{name} cannot be used: {error}") from error
        source = ArraySource(array).named(name)
    if source.n_features != n_features:
        raise ValueError(
            f"contrast has {source.n_features} features, but X has {n_features}; both must have "
            "the same columns"
        )
    return source


def _check_names(name: str, names: Any, expected: Any, who_expects: str) -> None:
    if names is not None and expected is not None and list(names) != list(expected):
        raise ValueError(
            f"{name} has columns {list(names)}, but {who_expects} {list(expected)}; choose the "
            "same columns in the same order, for instance by vanishing.data.as_source(path, "
            "columns=[...])"
        )


# --- What a user passes as y of an estimator that has none ----------------------------------------


def refuse_points_as_y(estimator: Any, X: Any, y: Any) -> None:
    """Raise if y is a set of points, as in the notation VCA(X, Y) of the paper.

    Targets of any kind are ignored, as scikit-learn asks for: one number or label for each row of
    X, in an array or in a single column.
    """
    if y is None:
        return
    shape = _find_shape(y)
    is_column = len(shape) == 2 and shape[1] == 1 and _find_shape(X)[:1] == shape[:1]
    if isinstance(y, SampleSource) or (len(shape) == 2 and not is_column):
        got = "a source of rows" if isinstance(y, SampleSource) else f"an array of shape {shape}"
        raise ValueError(
            f"{type(estimator).__name__} takes no y, got {got}. To find equations that hold on X "
            "and not on other points Y, pass Y as contrast: "
            "VanishingIdeal(normalization='contrastive').fit(X, contrast=Y)"
        )


def _find_shape(data: Any) -> tuple[int, ...]:
    """Return the shape of a table; () if there is none."""
    if hasattr(data, "shape"):
        return tuple(data.shape)
    try:
        return np.shape(data) if isinstance(data, list | tuple) else ()
    except ValueError:  # lists of different lengths
        return ()


class UnsupervisedTransformer(TransformerMixin):
    """Transformer whose ``fit`` refuses points as y; in pipelines, y belongs to a later step."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to X, then transform it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
            Targets of a later step of a pipeline, which may be several columns.
        **fit_params : dict
            Passed to ``fit``.

        Returns
        -------
        array of shape (n_samples, n_features_out)
            As ``transform`` returns it.
        """
        return super().fit_transform(X, **fit_params)


def prepare_for_sklearn(array: Array) -> Array:
    """Return a NumPy array, unless scikit-learn is set to take arrays of other libraries."""
    if isinstance(array, np.ndarray) or get_config()["array_api_dispatch"]:
        return array
    return move_to_host(array)


def check_new_points(estimator: Any, X: Any) -> Array | SampleSource:
    """Check points passed to a fitted estimator; chunks are returned as a source."""
    if not is_chunked(X) and not is_foreign_array(X):
        return validate_table(estimator, X, reset=False)
    if isinstance(X, np.memmap):
        X = X.view(np.ndarray)  # all rows are wanted
    source = as_source(X, name="X")
    fitted = getattr(estimator, "feature_names_in_", None)
    _check_names("X", source.feature_names, fitted, type(estimator).__name__ + " was fitted to")
    if source.n_features != estimator.n_features_in_:
        # In the words of scikit-learn, which its users search for.
        raise ValueError(
            f"X has {source.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return source if is_chunked(X) else next(source.blocks(source.n_samples))


def get_feature_names(estimator: Any, given: Any = None) -> list[str]:
    """Return given names of the features, else those of the fit, else x0, x1, ..."""
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
    return list(variable_names(estimator.n_features_in_, given))


def take_over(estimator: Any, fitted: Any) -> None:
    """Replace the attributes of an estimator by those of its fitted copy, all at once.

    An interrupt comes before or after, and a thread that scores meanwhile sees one fit or the
    other.
    """
    estimator.__dict__ = dict(vars(fitted))


def refuse_frames_of_chunks(estimator: Any, X: Any) -> None:
    """Raise if one frame is to be returned, but X comes in chunks."""
    wished = _get_output_config("transform", estimator)["dense"]
    if wished != "default" and is_chunked(X):
        raise ValueError(
            f"set_output(transform={wished!r}) asks for one frame, but X comes in chunks; pass X "
            "as one table, or set_output(transform='default') to get the values in chunks"
        )


def refuse_other_columns(estimator: Any, parameter: str) -> None:
    """Raise if a frame is to be returned whose columns are not those that have names."""
    wished = _get_output_config("transform", estimator)["dense"]
    if wished != "default":
        raise ValueError(
            f"set_output(transform={wished!r}) names the columns that the estimator's own "
            f"{parameter} stands for; set that with set_params({parameter}=...), or use "
            "set_output(transform='default')"
        )


def label_error(error: Exception, label: str) -> Exception:
    """Return an error of the same family whose message begins with a label."""
    family = MemoryError if isinstance(error, MemoryError) else ValueError
    return family(f"{label}: {error}")


# --- Some rows of what a user passed --------------------------------------------------------------


def is_frame(X: Any) -> bool:
    """Whether X is a table in memory whose columns have names."""
    return not is_chunked(X) and hasattr(X, "columns")


def make_row_picker(X: Any, table: Array) -> Callable[[IntArray], Any]:
    """Return a function from numbers of rows to these rows of X, whose array is ``table``."""

    def rows_of(rows: IntArray) -> Any:
        if not is_frame(X):
            return take_rows(table, rows)
        return wrap_frame(X)[rows].to_native()

    return rows_of
