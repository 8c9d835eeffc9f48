"""What a user passes, checked: NumPy and frames by scikit-learn, the rest by us."""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, validate_data

from vanishing._xp import Array, on_host
from vanishing.samples import ArraySource, SampleSource, as_source
from vanishing.samples.checks import refuse_sparse
from vanishing.samples.coerce import is_chunked

DTYPES = [np.float64, np.float32]


def is_foreign_array(data: object) -> bool:
    """Say whether ``data`` is an array of a library other than NumPy, or a memory map.

    Memory maps are checked and converted by blocks, not as a whole.
    """
    if isinstance(data, np.memmap):
        return True
    library = type(data).__module__.split(".")[0]
    return library in ("torch", "array_api_strict", "cupy", "jaxlib", "jax")


def fit_source(estimator: Any, X: Any) -> SampleSource:
    """Check training data, record its width and names on ``estimator``, wrap it."""
    if not is_chunked(X) and not is_foreign_array(X):
        refuse_sparse(X, "X")
        return ArraySource(validate_data(estimator, X, dtype=DTYPES))
    source = as_source(X, name="X")
    if hasattr(estimator, "feature_names_in_"):  # of an earlier fit
        del estimator.feature_names_in_
    estimator.n_features_in_ = source.n_features
    return source


def fit_table(estimator: Any, X: Any) -> Array:
    """Check a table of training data, and record its width and names on ``estimator``.

    Arrays of other libraries stay where they are, everything else becomes a NumPy array.
    """
    if is_foreign_array(X):
        source = fit_source(estimator, X)
        if source.n_samples < 2:
            raise ValueError(f"X has {source.n_samples} row, but at least two are required")
        return next(source.blocks(source.n_samples))
    return validate_data(estimator, X, dtype=DTYPES, ensure_min_samples=2)


def new_table(estimator: Any, X: Any) -> Array:
    """Check a table passed to a fitted estimator; arrays of other libraries stay where they are."""
    if is_foreign_array(X):
        return new_points(estimator, X)
    return validate_data(estimator, X, dtype=DTYPES, reset=False)


def contrast_source(contrast: Any, *, n_features: int, feature_names: Any = None) -> SampleSource:
    """Check the contrasting set, which must be as wide as the training data, and wrap it."""
    name = "contrast"
    if is_chunked(contrast) or is_foreign_array(contrast):
        source = as_source(contrast, name=name)
    else:
        refuse_sparse(contrast, name)
        names = getattr(contrast, "columns", None)
        if feature_names is not None and names is not None and list(names) != list(feature_names):
            raise ValueError(
                f"contrast has columns {list(names)}, but X has {list(feature_names)}; give both "
                "the same columns in the same order"
            )
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
        refuse_sparse(X, "X")
        return validate_data(estimator, X, dtype=DTYPES, reset=False)
    source = as_source(X, name="X")
    if source.n_features != estimator.n_features_in_:
        # The wording of scikit-learn, which its users search for.
        raise ValueError(
            f"X has {source.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return source if is_chunked(X) else next(source.blocks(source.n_samples))


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
