"""A model as an ONNX file, its preprocessing included."""

import json
from functools import reduce
from importlib import import_module
from typing import Any, Literal

import numpy as np
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.namespace import FloatArray
from vanishing.equations.onnx.graph import IR_VERSION, OPSET, Graph, Output, Value
from vanishing.equations.onnx.polynomials import in_blocks, transformer_outputs
from vanishing.polynomials.basis import PolynomialBasis

# --- Nodes of the preprocessing that is known: scalers, PCA and pipelines -------------------------
#
# Step by step and centred first: products with large means would cost digits, and scaling as a
# matrix would cost memory.


def _standard(scaler: Any, graph: Graph, x: Value) -> Value:
    centred = x - _row(scaler.mean_) if scaler.with_mean else x
    return centred / _row(scaler.scale_) if scaler.with_std else centred


def _robust(scaler: Any, graph: Graph, x: Value) -> Value:
    centred = x - _row(scaler.center_) if scaler.with_centering else x
    return centred / _row(scaler.scale_) if scaler.with_scaling else centred


def _min_max(scaler: Any, graph: Graph, x: Value) -> Value:
    _refuse_clip(scaler)
    return x * _row(scaler.scale_) + _row(scaler.min_)


def _max_abs(scaler: Any, graph: Graph, x: Value) -> Value:
    _refuse_clip(scaler)
    return x / _row(scaler.scale_)


def _pca(pca: Any, graph: Graph, x: Value) -> Value:
    axes, mean = (np.asarray(each, np.float64) for each in (pca.components_.T, pca.mean_))
    # What scikit-learn subtracts, which is rounded to the type of its training data.
    subtracted = pca.mean_ @ pca.components_.T
    z = (x - mean) @ axes + _row(mean @ axes - subtracted)
    if not pca.whiten:
        return z
    spreads = np.sqrt(pca.explained_variance_)
    # As scikit-learn does, so that directions without variance do not become infinite.
    return z / _row(np.maximum(spreads, np.finfo(spreads.dtype).eps))


def steps_of(pipeline: Any) -> list[Any]:
    """Return the steps that do something, those of pipelines in it too."""
    steps: list[Any] = []
    for _, step in pipeline.steps:
        if type(step) is Pipeline:
            steps += steps_of(step)
        elif step is not None and step != "passthrough":
            steps.append(step)
    return steps


def _row(numbers: Any) -> FloatArray:
    """Return one number for each coordinate, for all points."""
    return np.asarray(numbers)


def _refuse_clip(scaler: Any) -> None:
    if getattr(scaler, "clip", False):
        raise TypeError(
            f"{type(scaler).__name__}(clip=True) cannot be exported to ONNX: values that it cuts "
            "off would not be seen as anomalous; fit it without clip"
        )


#: What can stand before a model.
_MAPS = {
    StandardScaler: _standard,
    RobustScaler: _robust,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    PCA: _pca,
    IncrementalPCA: _pca,
}


def map_samples(step: Any, graph: Graph, x: Value) -> Value:
    """Add the nodes of fitted preprocessing.

    Parameters
    ----------
    step : transformer
        A scaler, PCA, or a pipeline of them; a subclass may do anything, and is refused.
    graph : Graph
    x : Value
        Of shape (n_points, n_features).

    Returns
    -------
    Value
        Of shape (n_points, n_coordinates).
    """
    if type(step) is Pipeline:
        return reduce(lambda z, each: map_samples(each, graph, z), steps_of(step), x)
    if type(step) not in _MAPS:
        known = ", ".join(kind.__name__ for kind in (*_MAPS, Pipeline))
        raise TypeError(
            f"{type(step).__name__} cannot be exported to ONNX as a step before a model, only "
            f"{known}; apply it to the data beforehand, fit the model to what comes out, and "
            "export that model"
        )
    check_is_fitted(step)
    return _MAPS[type(step)](step, graph, x)


# --- Models as files of ONNX ----------------------------------------------------------------------

Float = Literal["float32", "float64"]

#: Models that hold more numbers than this for a sample work through the batch in blocks.
WIDE = 2**12
#: Numbers that a node holds for a block.
BLOCK = 2**22


def to_onnx(model: Any, *, dtype: Float = "float32", arithmetic: Float = "float64") -> Any:
    """Write a fitted model as a graph of ONNX, which runs without Python.

    The input is ``X`` of shape (n_samples, n_features), for any number of samples. Outputs of a
    detector are ``scores``, ``decision`` and ``label``: what ``score_samples``,
    ``decision_function`` and ``predict`` return. Those of a transformer are ``features``, what
    ``transform`` returns, and ``values``, the polynomials with their signs; of a basis, ``values``
    only. Operators are those of opset 18.

    Parameters
    ----------
    model : VanishingIdeal, ClassVanishingFeatures, VanishingDetector, TransformationDetector, \
PolynomialBasis or Pipeline
        Fitted. A pipeline ends in one of the others, after scalers and PCA.
    dtype : {"float32", "float64"}, default="float32"
        Type of X and of the outputs; labels are int64.
    arithmetic : {"float64", "float32"}, default="float64"
        Type of the numbers in between. "float32" is for runtimes that have no other, and loses
        digits as every evaluation of polynomials in single precision does.

    Returns
    -------
    onnx.ModelProto
        To be written by ``onnx.save``. Names of columns and the threshold are in its metadata.

    Raises
    ------
    ImportError
        If onnx is not installed.
    TypeError
        If something in the model has no counterpart in ONNX, such as a function.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.equations import to_onnx
    >>> angle = np.linspace(0, 6, 50)
    >>> ideal = VanishingIdeal(tol=1e-6).fit(np.column_stack([np.cos(angle), np.sin(angle)]))
    >>> from onnxruntime import InferenceSession
    >>> session = InferenceSession(to_onnx(ideal, dtype="float64").SerializeToString())
    >>> session.run(["features"], {"X": np.array([[1.0, 0.0], [2.0, 0.0]])})[0].round(6)
    array([[0. ],
           [1.5]])
    """
    _check_types(dtype, arithmetic)
    steps = steps_of(model) if type(model) is Pipeline else [model]
    if not steps:
        raise TypeError("a pipeline without steps cannot be exported to ONNX; add a model to it")
    *first, last = steps
    _check_model(last)
    graph = Graph(dtype, arithmetic)
    x, rows = Value(graph, "X"), Value(graph, "rows")
    with graph.apart() as nodes:
        z = reduce(lambda z, step: map_samples(step, graph, z), first, rows)
        if isinstance(last, PolynomialBasis):
            (_, *outputs) = transformer_outputs([last], "signed", graph, z)
        else:
            outputs = last.onnx_outputs(graph, z)
    widened = x if dtype == arithmetic else graph.cast(x, arithmetic)
    if graph.widest > WIDE:
        n_rows = rows_of_a_block(graph.widest)
        outputs = in_blocks(graph, widened, rows, nodes, outputs, n_rows=n_rows)
    else:
        graph.op("Identity", widened, name=rows.name)
        graph.nodes += nodes
    for output in outputs:
        graph.cast(output.value, "int64" if output.is_label else dtype, name=output.name)
    return _assemble(graph, model, steps, outputs, dtype)


def rows_of_a_block(widest: int) -> int:
    """Return how many rows are worked on at a time, each of so many numbers."""
    return max(1, BLOCK // widest)


def _check_model(model: Any) -> None:
    """Raise if a model cannot be exported, or is not fitted.

    Models of this library write themselves by a method ``onnx_outputs``. Subclasses elsewhere may
    override anything, and are not taken for their base.
    """
    ours = type(model).__module__.split(".")[0] == __name__.split(".")[0]
    if not (ours and hasattr(model, "onnx_outputs")) and type(model) is not PolynomialBasis:
        raise TypeError(
            f"{type(model).__name__} cannot be exported to ONNX, only VanishingIdeal, "
            "ClassVanishingFeatures, VanishingDetector, TransformationDetector, PolynomialBasis "
            "and pipelines that end in one of them; of a pipeline that goes on after one of them, "
            "export the steps before, as in to_onnx(pipeline[:-1])"
        )
    if hasattr(model, "fit"):
        check_is_fitted(model)


def _check_types(dtype: str, arithmetic: str) -> None:
    for name, value in (("dtype", dtype), ("arithmetic", arithmetic)):
        if value not in ("float32", "float64"):
            raise ValueError(f"{name} must be 'float32' or 'float64', got {value!r}")
    if dtype == "float64" and arithmetic == "float32":
        raise ValueError(
            "arithmetic='float32' would throw away the digits of dtype='float64'; pass "
            "dtype='float32' as well"
        )


def _assemble(graph: Graph, model: Any, steps: list[Any], outputs: list[Output], dtype: str) -> Any:
    n_features = getattr(steps[0], "n_features_in_", None) or steps[0].n_features
    helper = graph.helper
    kind_of = helper.np_dtype_to_tensor_dtype
    number, integer = kind_of(np.dtype(dtype)), kind_of(np.dtype(np.int64))
    X = helper.make_tensor_value_info("X", number, ["n_samples", n_features])
    results = [
        helper.make_tensor_value_info(
            output.name,
            integer if output.is_label else number,
            ["n_samples"] if output.width is None else ["n_samples", output.width],
        )
        for output in outputs
    ]
    name = type(steps[-1]).__name__
    proto = helper.make_model(
        helper.make_graph(graph.nodes, name, [X], results, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="vanishing",
        # By its name, since the package is above all layers.
        producer_version=import_module("vanishing").__version__,
    )
    helper.set_model_props(proto, _metadata(model, steps[-1], graph))
    return proto


def _metadata(model: Any, final: Any, graph: Graph) -> dict[str, str]:
    """Return what is told about a model: no data, apart from names."""
    found = {
        "model": type(final).__name__,
        "opset": str(OPSET),
        "arithmetic": str(graph.arithmetic),
    }
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        found["feature_names"] = json.dumps([str(each) for each in names], ensure_ascii=False)
    if hasattr(final, "get_feature_names_out"):
        features = [str(each) for each in final.get_feature_names_out()]
        found["features"] = json.dumps(features, ensure_ascii=False)
    if hasattr(final, "offset_"):
        found["threshold"] = repr(float(final.offset_))
    return found
