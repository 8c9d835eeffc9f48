"""Nodes of the preprocessing that is known: scalers, PCA and pipelines.

Step by step and centred first: products with large means would cost digits, and scaling as a
matrix would cost memory.
"""

from typing import Any

import numpy as np
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from vanishing._xp import FloatArray
from vanishing.export.onnx.graph import Graph, Value
from vanishing.export.onnx.hooks import (
    Output,
    check_model,
    map_nodes,
    mapped,
    model_nodes,
    outputs_of,
)


@map_nodes(StandardScaler)
def _standard(scaler: Any, graph: Graph, x: Value) -> Value:
    centred = x - _row(scaler.mean_) if scaler.with_mean else x
    return centred / _row(scaler.scale_) if scaler.with_std else centred


@map_nodes(RobustScaler)
def _robust(scaler: Any, graph: Graph, x: Value) -> Value:
    centred = x - _row(scaler.center_) if scaler.with_centering else x
    return centred / _row(scaler.scale_) if scaler.with_scaling else centred


@map_nodes(MinMaxScaler)
def _min_max(scaler: Any, graph: Graph, x: Value) -> Value:
    _refuse_clip(scaler)
    return x * _row(scaler.scale_) + _row(scaler.min_)


@map_nodes(MaxAbsScaler)
def _max_abs(scaler: Any, graph: Graph, x: Value) -> Value:
    _refuse_clip(scaler)
    return x / _row(scaler.scale_)


@map_nodes(PCA)
@map_nodes(IncrementalPCA)
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


@map_nodes(Pipeline)
def _preprocessing(pipeline: Any, graph: Graph, x: Value) -> Value:
    for step in steps_of(pipeline):
        x = mapped(step, graph, x)
    return x


@model_nodes(Pipeline)
def _model(pipeline: Any, graph: Graph, x: Value) -> list[Output]:
    steps = steps_of(pipeline)
    if not steps:
        raise TypeError("a pipeline without steps cannot be exported to ONNX; add a model to it")
    *first, last = steps
    check_model(last)  # before the steps that lead to it: what comes after a model is no model
    for step in first:
        x = mapped(step, graph, x)
    return outputs_of(last, graph, x)


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
