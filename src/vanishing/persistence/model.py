"""Saving and loading models."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import vanishing
from vanishing.class_features import ClassVanishingFeatures
from vanishing.data.atomic import write_whole
from vanishing.detectors.base import Detector
from vanishing.ideal import VanishingIdeal
from vanishing.persistence.coding import Decoder, Encoder
from vanishing.persistence.container import (
    ModelFileError,
    digest,
    pack,
    parse_json,
    require,
    unpack,
)
from vanishing.persistence.schema import MODELS, check_model_pipeline, input_width

# --- Which data a model was fitted to, without the data -------------------------------------------


def fingerprint(model: Any) -> str:
    """Return a digest of the statistics of the training data that a fitted model holds.

    Models of one class that were fitted to the same data with the same parameters have the same
    fingerprint, and other data has another one: means and spreads of the columns for a detector,
    the extents of all polynomials, of every degree, for an ideal.

    Parameters
    ----------
    model : fitted estimator
    """
    found = hashlib.sha256()
    for name in getattr(model, "feature_names_in_", ()):
        found.update(repr(str(name)).encode())
    for statistic in _statistics(model):
        found.update(repr(statistic.shape).encode())
        found.update(np.ascontiguousarray(statistic, dtype="<f8").data)
    return found.hexdigest()[:16]


def _statistics(model: Any) -> list[Any]:
    if isinstance(model, Detector):
        assert model.anomaly_score_.normal is not None
        return [model.anomaly_score_.normal.mean, model.anomaly_score_.normal.spread]
    ideals = model.ideals_ if isinstance(model, ClassVanishingFeatures) else [model]
    assert all(isinstance(ideal, VanishingIdeal) for ideal in ideals)
    return [step.spectrum for ideal in ideals for step in ideal.trace_]


# --- A model to a file and back -------------------------------------------------------------------

FORMAT = "vanishing model"
#: Raised when files of an earlier version would be misread; those versions stay readable.
FORMAT_VERSION = 2


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model into one file.

    The file is written whole or not at all, and what cannot be kept is refused before.

    Parameters
    ----------
    model : VanishingIdeal, ClassVanishingFeatures, VanishingDetector or TransformationDetector
        Fitted; or a ``Pipeline`` of ``PCA`` and ``StandardScaler`` that ends in one of them.
    path : path
        A file that exists is replaced.

    Raises
    ------
    ModelFileError
        If the model holds something that no file can: a function, a class of your own, a
        preprocessor other than ``PCA``, ``StandardScaler`` and pipelines of them.
    """
    last = model.steps[-1][1] if type(model) is Pipeline else model
    if type(last) not in MODELS:
        kinds = ", ".join(kind.__name__ for kind in MODELS)
        raise ModelFileError(
            f"model files hold {kinds}, and pipelines that end in one, got {type(last).__name__}"
        )
    for each in _steps(model):
        check_is_fitted(each)
    encoder = Encoder()
    encoded = encoder.encode(model, "model", fitted=True)
    if type(model) is Pipeline:
        check_model_pipeline(model, MODELS)
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": {
            "vanishing": vanishing.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "data": {"n_features": input_width(_steps(model)[0]), "fingerprint": fingerprint(last)},
        "model": encoded,
    }
    text = json.dumps(manifest, allow_nan=False, separators=(",", ":"))
    write_whole(path, pack(text, encoder.arrays))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted model from a file that ``save`` wrote.

    Nothing in the file is executed, so that files of others can be opened. Scores of the model are
    those of the model that was saved, to the last bit on the same machine.

    Parameters
    ----------
    path : path

    Returns
    -------
    VanishingIdeal, ClassVanishingFeatures, VanishingDetector, TransformationDetector or Pipeline

    Raises
    ------
    ModelFileError
        If the file is damaged, of a later version of the format, or no model file.
    """
    try:
        with Path(path).open("rb") as file:
            text, sha256, arrays = unpack(file, os.fstat(file.fileno()).st_size)
        manifest = parse_json(text, "manifest")
        _check_version(manifest)
        require(sha256 == digest(text, arrays), "it is damaged: its checksum is another one")
        decoder = Decoder(arrays, is_format_1=manifest["format_version"] == 1)
        model = decoder.decode(manifest.get("model"), "model", fitted=True)
        if type(model) is Pipeline:
            check_model_pipeline(model, MODELS)
        else:
            require(type(model) in MODELS, "it holds no model")
        require(not arrays, f"it holds arrays that belong to nothing: {sorted(arrays)[:3]}")
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be read: {error}") from error
    return model


def _steps(model: Any) -> list[Any]:
    """Return the estimators that a model applies one after the other."""
    if type(model) is not Pipeline:
        return [model]
    return [step for _, step in model.steps if step not in (None, "passthrough")]


def _check_version(manifest: Any) -> None:
    require(
        isinstance(manifest, dict) and manifest.get("format") == FORMAT,
        "it is no model file: its manifest says something else",
    )
    found = manifest.get("format_version")
    require(
        type(found) is int and 1 <= found <= FORMAT_VERSION,
        f"its format has the version {found!r}, and this version of vanishing reads those up to "
        f"{FORMAT_VERSION}; a newer one may read it",
    )
