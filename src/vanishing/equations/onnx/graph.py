"""ONNX graphs, and the parts that models add to them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.blocks import format_bytes
from vanishing.arrays.namespace import import_extra

# --- A graph of ONNX under construction: values, operators between them, constants ----------------
#
# Values are written like arrays: ``(x - mean) / scale`` adds two nodes and two constants. All
# floating point numbers in a graph are of one type, its arithmetic.

#: Version of the operators. All that are used have kernels for float64 in onnxruntime.
OPSET = 18
#: Version of the file format that came with it.
IR_VERSION = 8
#: Protocol buffers end at 2 GiB; something is left for the nodes.
LARGEST = 2**31 - 2**24


class Graph:
    """Nodes and constants, in the order in which they were added.

    Parameters
    ----------
    dtype, arithmetic : {"float32", "float64"}
        Type of the input, and of all floating point numbers in the graph.
    """

    def __init__(self, dtype: str, arithmetic: str) -> None:
        self.helper, self._from_array = _onnx()
        self.arithmetic = np.dtype(arithmetic)
        #: Relative rounding error of the input.
        self.rounding = float(np.finfo(dtype).eps)
        #: Most numbers that a node holds for one sample.
        self.widest = 0
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known: dict[tuple[str, tuple[int, ...], bytes], Value] = {}
        self._n_bytes = 0
        self._n_names = 0

    def op(self, kind: str, *operands: "Operand", name: str = "", **attributes: Any) -> "Value":
        """Add a node with one result; operands that are no values become constants."""
        inputs = [self.constant(each).name for each in operands]
        result = Value(self, name or self.new_name(kind))
        self.nodes.append(self.helper.make_node(kind, inputs, [result.name], **attributes))
        return result

    def constant(self, operand: "Operand") -> "Value":
        """Return a value that is there already, or numbers as a constant; floats get our type."""
        if isinstance(operand, Value):
            return operand
        array = np.asarray(operand)
        if array.dtype.kind in "iuf":
            kind = self.arithmetic if array.dtype.kind == "f" else np.dtype(np.int64)
            array = array.astype(kind)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._known:
            self._n_bytes += array.nbytes
            if self._n_bytes > LARGEST:
                raise ValueError(
                    f"the matrices of the model take more than {format_bytes(LARGEST)}, which is "
                    "all that a file of ONNX can hold; fit fewer pieces (n_components) or a "
                    "smaller degree"
                )
            name = self.new_name("constant")
            self.constants.append(self._from_array(np.asarray(array, order="C"), name))
            self._known[key] = Value(self, name)
        return self._known[key]

    def hold(self, n_numbers: int) -> None:
        """Note that a node holds so many numbers for each sample."""
        self.widest = max(self.widest, n_numbers)

    def cast(self, value: "Value", kind: npt.DTypeLike, name: str = "") -> "Value":
        """Return a value as another type."""
        to = self.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return self.op("Cast", value, name=name, to=to)

    def where(self, condition: "Value", yes: "Operand", no: "Operand") -> "Value":
        """Choose number by number."""
        return self.op("Where", condition, yes, no)

    def concat(self, values: "list[Value]", axis: int) -> "Value":
        """Join values along an axis; one is returned as it is."""
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=axis)

    @contextmanager
    def apart(self) -> Iterator[list[Any]]:
        """Collect the nodes that are added inside in a list of their own."""
        nodes, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = nodes

    def new_name(self, kind: str) -> str:
        """Return a name that nothing in the graph has."""
        self._n_names += 1
        return f"{kind.lower()}_{self._n_names}"


@dataclass(frozen=True, eq=False)
class Value:
    """The result of a node, a constant or an input, known by its name."""

    graph: Graph
    name: str

    # NumPy leaves operators between its arrays and values to us.
    __array_ufunc__ = None

    def __add__(self, other: "Operand") -> "Value":
        return self.graph.op("Add", self, other)

    def __sub__(self, other: "Operand") -> "Value":
        return self.graph.op("Sub", self, other)

    def __mul__(self, other: "Operand") -> "Value":
        return self.graph.op("Mul", self, other)

    def __truediv__(self, other: "Operand") -> "Value":
        return self.graph.op("Div", self, other)

    def __matmul__(self, other: "Operand") -> "Value":
        return self.graph.op("MatMul", self, other)

    def __rmatmul__(self, other: "Operand") -> "Value":
        return self.graph.op("MatMul", other, self)

    def __neg__(self) -> "Value":
        return self.graph.op("Neg", self)

    def __lt__(self, other: "Operand") -> "Value":
        return self.graph.op("Less", self, other)

    def __le__(self, other: "Operand") -> "Value":
        return self.graph.op("LessOrEqual", self, other)

    def apply(self, kind: str) -> "Value":
        """Return a function of each number: "Log", "Exp", "Abs", "IsNaN", ..."""
        return self.graph.op(kind, self)

    def reduce(self, kind: str, axis: int, *, keepdims: bool = False) -> "Value":
        """Reduce one axis: "Sum", "Max", "Min", "SumSquare"."""
        return self.graph.op(f"Reduce{kind}", self, [axis], keepdims=int(keepdims))

    def take(self, indices: npt.ArrayLike, axis: int) -> "Value":
        """Take some entries along an axis."""
        return self.graph.op("Gather", self, np.asarray(indices, dtype=np.int64), axis=axis)

    def reshape(self, *shape: int) -> "Value":
        """Return the same numbers in another shape.

        One size may be -1, for what is left; 0 stands for the size that is there now.
        """
        return self.graph.op("Reshape", self, shape)

    @property
    def T(self) -> "Value":
        """The transpose of a matrix, for outputs.

        Not for what goes into a product: onnxruntime makes one node of both, FusedMatMul, which
        has no kernel for float64 before version 1.26, and then refuses the graph.
        """
        return self.graph.op("Transpose", self, perm=[1, 0])


Operand = Value | npt.ArrayLike


def _onnx() -> tuple[Any, Any]:
    helper = import_extra("onnx.helper", extra="onnx", purpose="to_onnx")
    return helper, import_extra("onnx.numpy_helper", extra="onnx", purpose="to_onnx").from_array


# --- What the layers above tell of themselves: the nodes of a map of samples, and of a model ------
#
# ``export`` does not know estimators and detectors. They register here what they add to a graph, by
# their type: a subclass may do anything, and is not taken for its base. Samples come one a row, as
# they do outside; only the values of polynomials are turned (see ``basis``).


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
