"""What the layers above tell of themselves: the nodes of a map of samples, and of a model.

``export`` does not know estimators and detectors. They register here what they add to a graph, by
their type: a subclass may do anything, and is not taken for its base. Samples come one a row, as
they do outside; only the values of polynomials are turned (see ``basis``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from vanishing.export.onnx.graph import Graph, Value


@dataclass(frozen=True, eq=False)
class Output:
    """What a model answers.

    Parameters
    ----------
    name : str
    value : Value
        Of shape (n_samples,) or (n_samples, width).
    width : int or None
        None for one number a sample.
    is_label : bool
        Whether its numbers are int64, whatever the type of the others.
    """

    name: str
    value: Value
    width: int | None = None
    is_label: bool = False


AddMap = Callable[[Any, Graph, Value], Value]
AddModel = Callable[[Any, Graph, Value], list[Output]]
_MAPS: dict[type, AddMap] = {}
_MODELS: dict[type, AddModel] = {}


def map_nodes(kind: type) -> Callable[[AddMap], AddMap]:
    """Register the function that adds the nodes of maps of a type, for ``mapped``."""

    def register(add: AddMap) -> AddMap:
        _MAPS[kind] = add
        return add

    return register


def model_nodes(kind: type) -> Callable[[AddModel], AddModel]:
    """Register the function that adds the nodes of models of a type, for ``outputs_of``."""

    def register(add: AddModel) -> AddModel:
        _MODELS[kind] = add
        return add

    return register


def mapped(step: Any, graph: Graph, x: Value) -> Value:
    """Add the nodes of a map of samples, such as a fitted preprocessor.

    Parameters
    ----------
    step : object
        Of a type that is registered.
    graph : Graph
    x : Value
        Of shape (n_points, n_features).

    Returns
    -------
    Value
        Of shape (n_points, n_coordinates).
    """
    if type(step) not in _MAPS:
        known = ", ".join(kind.__name__ for kind in _MAPS)
        raise TypeError(
            f"{type(step).__name__} cannot be exported to ONNX as a step before a model, only "
            f"{known}; apply it to the data beforehand, fit the model to what comes out, and "
            "export that model"
        )
    check_is_fitted(step)
    return _MAPS[type(step)](step, graph, x)


def outputs_of(model: Any, graph: Graph, x: Value) -> list[Output]:
    """Add the nodes of a fitted model.

    Parameters
    ----------
    model : object
        Of a type that is registered.
    graph : Graph
    x : Value
        Of shape (n_samples, n_features).
    """
    check_model(model)
    return _MODELS[type(model)](model, graph, x)


def check_model(model: Any) -> None:
    """Raise if a model is of no type that is registered, or not fitted."""
    if type(model) not in _MODELS:
        known = ", ".join(kind.__name__ for kind in _MODELS)
        raise TypeError(
            f"{type(model).__name__} cannot be exported to ONNX, only {known}; of a pipeline that "
            "goes on after one of them, export the steps before, as in to_onnx(pipeline[:-1])"
        )
    if hasattr(model, "fit"):
        check_is_fitted(model)
