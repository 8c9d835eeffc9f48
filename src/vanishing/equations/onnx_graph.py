"""ONNX graphs under construction: values, operators between them, outputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vanishing.arrays.blocks import format_bytes
from vanishing.arrays.namespace import import_extra
from vanishing.levels import BLOCK

# --- A graph of ONNX under construction: values, operators between them, constants ----------------
#
# Values are written like arrays: ``(x - mean) / scale`` adds two nodes and two constants. All
# floating point numbers in a graph are of one type, its arithmetic.

#: Version of the operators. All that are used have kernels for float64 in onnxruntime.
OPSET = 18


class Graph:
    """Nodes and constants, in the order in which they were added."""

    def __init__(self, dtype: str, arithmetic: str) -> None:
        onnx = import_extra("onnx", extra="onnx", purpose="to_onnx")
        self.helper, self._from_array = onnx.helper, onnx.numpy_helper.from_array
        #: Bytes of a file at most; something is left for the nodes.
        self.largest = onnx.checker.MAXIMUM_PROTOBUF - 8 * BLOCK
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
        """Add a node with one result; operands other than values become constants."""
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
            if self._n_bytes > self.largest:
                raise ValueError(
                    f"the matrices of the model take more than {format_bytes(self.largest)}, the "
                    "largest size of an ONNX file; fit fewer clusters (n_components) or a "
                    "smaller degree"
                )
            name = self.new_name("constant")
            self.constants.append(self._from_array(np.asarray(array, order="C"), name))
            self._known[key] = Value(self, name)
        return self._known[key]

    def hold(self, n_numbers: int) -> None:
        """Note how many numbers a node holds for each sample."""
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
        """Return the same numbers in another shape; -1 is what is left, 0 as it is."""
        return self.graph.op("Reshape", self, shape)

    @property
    def T(self) -> "Value":
        """The transpose of a matrix, for outputs.

        Not for what goes into a product: onnxruntime makes one node of both, FusedMatMul, which
        has no kernel for float64 before version 1.26, and then refuses the graph.
        """
        return self.graph.op("Transpose", self, perm=[1, 0])


Operand = Value | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Output:
    """What a model answers: one number a sample if ``width`` is None, and labels as int64."""

    name: str
    value: Value
    width: int | None = None
    is_label: bool = False
