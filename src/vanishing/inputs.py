"""What a user passes, checked: NumPy and frames by scikit-learn, the rest by us."""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, validate_data

from vanishing.arrays.memory import as_text
from vanishing.arrays.namespace import Array, namespace, on_host, unmasked
from vanishing.data.arrays import ArraySource
from vanishing.data.coerce import as_source, is_chunked
from vanishing.data.source import SampleSource, closed_after, dense
from vanishing.polynomials.monomials import variable_names

DTYPES = [np.float64, np.float32]
#: Rows of files and chunks are read into one array, where one is needed, up to this size.
TABLE_BYTES = 2**30


def is_foreign_array(data: object) -> bool:
    """Say whether ``data`` is an array of a library other than NumPy, or a memory map.

    Memory maps are checked and converted by blocks, not as a whole.
    """
    if isinstance(data, np.memmap):
        return True
    library = type(data).__module__.split(".")[0]
    return library in ("torch", "array_api_strict", "cupy", "jaxlib", "jax")


def validated(estimator: Any, X: Any, **options: Any) -> Any:
    """Check one table by scikit-learn, whose own check takes what a mask hides.

    Parameters
    ----------
    estimator : estimator
    X : array-like
    **options
        Of ``sklearn.utils.validation.validate_data``, such as y.

    Returns
    -------
    array, or arrays X and y
    """
    if (y := options.get("y")) is not None:
        options["y"] = unmasked(y, "y")
    return validate_data(estimator, dense(X, "X"), dtype=DTYPES, **options)


def fit_source(estimator: Any, X: Any) -> SampleSource:
    """Check training data, record its width and names on ``estimator``, wrap it."""
    if not is_chunked(X) and not is_foreign_array(X):
        return ArraySource(validated(estimator, X))
    source = as_source(X, name="X")
    if hasattr(estimator, "feature_names_in_"):  # of an earlier fit
        del estimator.feature_names_in_
    estimator.n_features_in_ = source.n_features
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(source.feature_names, dtype=object)
    return source


def fit_rows(estimator: Any, X: Any) -> Array | SampleSource:
    """Check training data as ``fit_table`` does; what is too large for a table stays a source."""
    if not is_chunked(X):
        return fit_table(estimator, X)
    source = fit_source(estimator, X)
    if source.weighted:
        raise ValueError(
            f"X has weights, but {type(estimator).__name__} takes the rows alone; pass the "
            "weights by themselves, as sample_weight"
        )
    table = as_table(source, TABLE_BYTES)
    if table is not None and table.shape[0] < 2:
        raise ValueError(f"X has {table.shape[0]} row, but at least two are required")
    return source if table is None else table


def fit_table(estimator: Any, X: Any) -> Array:
    """Check a table of training data, and record its width and names on ``estimator``.

    Arrays of other libraries stay where they are, everything else becomes a NumPy array.
    """
    if is_chunked(X):
        rows = fit_rows(estimator, X)
        if isinstance(rows, SampleSource):
            raise too_large(type(estimator).__name__)
        return rows
    if isinstance(X, np.memmap):
        X = X.view(np.ndarray)
    if is_foreign_array(X):
        source = fit_source(estimator, X)
        if source.n_samples < 2:
            raise ValueError(f"X has {source.n_samples} row, but at least two are required")
        return next(source.blocks(source.n_samples))
    return validated(estimator, X, ensure_min_samples=2)


def new_table(estimator: Any, X: Any) -> Array:
    """Check a table passed to a fitted estimator; arrays of other libraries stay where they are."""
    if is_chunked(X):
        table = as_table(new_points(estimator, X), TABLE_BYTES)
        if table is None:
            raise too_large(type(estimator).__name__)
        return table
    if is_foreign_array(X):
        return new_points(estimator, X)
    return validated(estimator, X, reset=False)


def as_table(source: SampleSource, most_bytes: int) -> Array | None:
    """Read all rows into one array, or return None if they take more than ``most_bytes``."""
    blocks: list[Array] = []
    n_bytes = 0
    with closed_after(source.blocks(max(1, most_bytes // (64 * source.n_features)))) as reading:
        for block in reading:
            n_bytes += 8 * int(block.shape[0]) * source.n_features
            if n_bytes > most_bytes:
                return None
            blocks.append(block)
    if not blocks:
        raise ValueError(f"{source.name} has no rows: at least one row is required")
    return blocks[0] if len(blocks) == 1 else namespace(blocks[0]).concat(blocks)


def too_large(what: str) -> ValueError:
    """Return the error for rows that do not fit where all are needed at once."""
    return ValueError(
        f"{what} needs all rows of X at once, and they take more than {as_text(TABLE_BYTES)}; pass "
        "a part of them, as an array"
    )


def contrast_source(contrast: Any, *, n_features: int, feature_names: Any = None) -> SampleSource:
    """Check the contrasting set, which must be as wide as the training data, and wrap it."""
    name = "contrast"
    if is_chunked(contrast) or is_foreign_array(contrast):
        source = as_source(contrast, name=name)
        _check_names(name, source.feature_names, feature_names)
    else:
        contrast = dense(contrast, name)
        _check_names(name, getattr(contrast, "columns", None), feature_names)
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


def _check_names(name: str, names: Any, expected: Any) -> None:
    if names is not None and expected is not None and list(names) != list(expected):
        raise ValueError(
            f"{name} has columns {list(names)}, but X has {list(expected)}; give both the same "
            "columns in the same order"
        )


def for_scikit_learn(array: Array) -> Array:
    """Return what a transformer of scikit-learn can take.

    Arrays of other libraries come as they are where scikit-learn has been told to work on them
    (``sklearn.set_config(array_api_dispatch=True)``), and as NumPy arrays otherwise.
    """
    if isinstance(array, np.ndarray) or get_config()["array_api_dispatch"]:
        return array
    return on_host(array)


def new_points(estimator: Any, X: Any) -> Array | SampleSource:
    """Check points passed to a fitted estimator, which must be as wide as the training data.

    Chunks come back as a source, anything else as an array.
    """
    if not is_chunked(X) and not is_foreign_array(X):
        return validated(estimator, X, reset=False)
    if isinstance(X, np.memmap):
        X = X.view(np.ndarray)  # all rows are wanted
    source = as_source(X, name="X")
    _check_fitted_names(estimator, source)
    if source.n_features != estimator.n_features_in_:
        # The wording of scikit-learn, which its users search for.
        raise ValueError(
            f"X has {source.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return source if is_chunked(X) else next(source.blocks(source.n_samples))


def _check_fitted_names(estimator: Any, source: SampleSource) -> None:
    fitted = getattr(estimator, "feature_names_in_", None)
    names = source.feature_names
    if fitted is not None and names is not None and list(names) != list(fitted):
        raise ValueError(
            f"X has columns {list(names)}, but {type(estimator).__name__} was fitted to "
            f"{list(fitted)}; choose the same ones in the same order, as by "
            "vanishing.data.as_source(path, columns=[...])"
        )


def names_of_features(estimator: Any, given: Any = None) -> list[str]:
    """Return names for the features of a fitted estimator.

    Those that are given, or the column names of the fit, or x0, x1, ...
    """
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
    return list(variable_names(estimator.n_features_in_, given))


def take_over(estimator: Any, fitted: Any) -> None:
    """Give an estimator the fitted attributes of its copy, in place of those of an earlier fit."""
    for name in vars(estimator).keys() - vars(fitted).keys():
        delattr(estimator, name)
    estimator.__dict__.update(vars(fitted))


def refuse_frames_of_chunks(estimator: Any, X: Any) -> None:
    """Raise if frames are to be returned, which are made in one piece, but X comes in chunks."""
    wished = _get_output_config("transform", estimator)["dense"]
    if wished != "default" and is_chunked(X):
        raise ValueError(
            f"set_output(transform={wished!r}) asks for one frame, but X comes in chunks; pass X "
            "as one table, or set_output(transform='default') to get the values in chunks"
        )


def labelled(error: Exception, label: str) -> Exception:
    """Return an error of the same family whose message says where it came from."""
    family = MemoryError if isinstance(error, MemoryError) else ValueError
    return family(f"{label}: {error}")
