"""Models as ONNX graphs: preprocessing, the polynomials of a basis, the file."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from importlib import import_module
from math import isqrt
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.blocks import format_bytes
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray, import_extra
from vanishing.equations.expansion import SCALERS, scaling_of, steps_of
from vanishing.levels import BLOCK
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import DegreeBlock, needed_blocks

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
        # ONNX Runtime up to 1.20 names what it makes of a node after it: nodes need names.
        node = self.helper.make_node(kind, inputs, [result.name], name=result.name, **attributes)
        self.nodes.append(node)
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

    def describe(self, name: str, kind: npt.DTypeLike, shape: Sequence[str | int] = ()) -> Any:
        """Return the name, type and shape of an input or output."""
        to = self.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return self.helper.make_tensor_value_info(name, to, shape)

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


def _operator(kind: str) -> Callable[["Value", "Operand"], "Value"]:
    """Return the method that adds a node of a kind with two operands."""
    return lambda value, other: value.graph.op(kind, value, other)


@dataclass(frozen=True, eq=False)
class Value:
    """The result of a node, a constant or an input, known by its name."""

    graph: Graph
    name: str

    # NumPy leaves operators between its arrays and values to us.
    __array_ufunc__ = None

    __add__ = _operator("Add")
    __sub__ = _operator("Sub")
    __mul__ = _operator("Mul")
    __truediv__ = _operator("Div")
    __matmul__ = _operator("MatMul")
    __lt__ = _operator("Less")
    __le__ = _operator("LessOrEqual")

    def __rmatmul__(self, other: "Operand") -> "Value":
        return self.graph.op("MatMul", other, self)

    def __neg__(self) -> "Value":
        return self.apply("Neg")

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
        """The transpose, for outputs only: onnxruntime may join it to a product as FusedMatMul."""
        return self.graph.op("Transpose", self, perm=[1, 0])


Operand = Value | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Output:
    """What a model answers: one number a sample if ``width`` is None, and labels as int64."""

    name: str
    value: Value
    width: int | None = None
    is_label: bool = False

    def describe(self, graph: Graph, name: str, rows: str, kind: npt.DTypeLike) -> Any:
        """Return its name, type and shape, for a graph that has it as an output."""
        shape: list[str | int] = [rows] if self.width is None else [rows, self.width]
        return graph.describe(name, np.int64 if self.is_label else kind, shape)


# --- Nodes of the preprocessing that is known: scalers, PCA and pipelines -------------------------
#
# Step by step and centred first: products with large means would cost digits, and scaling as a
# matrix would cost memory.


def _scaling(scaler: Any, graph: Graph, x: Value) -> Value:
    if getattr(scaler, "clip", False):
        raise TypeError(
            f"{type(scaler).__name__}(clip=True) cannot be exported to ONNX: clipped values would "
            "not be recognized as anomalous; fit it without clip"
        )
    center, factor, shift = scaling_of(scaler)
    scaled = (x - center if center.any() else x) * factor
    return scaled + shift if shift.any() else scaled


def _pca(pca: Any, graph: Graph, x: Value) -> Value:
    axes, mean = (np.asarray(each, np.float64) for each in (pca.components_.T, pca.mean_))
    # What scikit-learn subtracts, which is rounded to the type of its training data.
    subtracted = pca.mean_ @ pca.components_.T
    z: Value = (x - mean) @ axes + (mean @ axes - subtracted)
    if not pca.whiten:
        return z
    spreads = np.sqrt(pca.explained_variance_)
    # As scikit-learn does, so that directions without variance do not become infinite.
    return z / np.asarray(np.maximum(spreads, np.finfo(spreads.dtype).eps))


#: What can stand before a model.
_MAPS = {**dict.fromkeys(SCALERS, _scaling), PCA: _pca, IncrementalPCA: _pca}


def map_samples(step: Any, graph: Graph, x: Value) -> Value:
    """Add the nodes of fitted preprocessing: a scaler, PCA, or a pipeline of them."""
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


# --- Several bases in the same variables, padded to one shape and stacked -------------------------
#
# A detector has an ideal for each cluster of the data, thousands in all, of the same kind. Stacked,
# a degree of all of them is one batched matrix product. Padding has matrices of zeros.


@dataclass(frozen=True, eq=False)
class Polynomials:
    """The vanishing polynomials of a basis, shifted and scaled: (g - center) · factor."""

    basis: PolynomialBasis
    centers: FloatArray
    factors: FloatArray


@dataclass(frozen=True, eq=False)
class StackedDegree:
    """One degree of all bases: [F_t G_t] as matrix times terms plus bias.

    Terms are the variables at degree 1, and F_1, ..., F_{t-1} and the products of higher ones.
    """

    left: IntArray  # rows of F_1 of all bases; none at degree 1
    right: IntArray  # rows of F_{t-1}
    matrix: FloatArray  # (n_bases, n_polynomials, n_terms)
    bias: FloatArray  # (n_bases, n_polynomials, 1)
    real: BoolArray  # which of the vanishing polynomials are not padding

    @property
    def n_nonvanishing(self) -> int:
        """How many polynomials of each basis are F_t, which come first."""
        return int(self.matrix.shape[1] - self.real.shape[1])


def stacked(stack: Sequence[Polynomials]) -> list[StackedDegree]:
    """Stack bases, up to the last degree in which one of them has vanishing polynomials."""
    bases = [needed_blocks(each.basis.blocks) for each in stack]
    widths: list[int] = []  # of F_1, F_2, ... with their padding
    degrees = []
    for t in range(max(map(len, bases))):
        present = [(j, blocks[t]) for j, blocks in enumerate(bases) if t < len(blocks)]
        n_products = max(block.n_candidates for _, block in present) if t else 0
        n_vanishing = max(block.vanishing.shape[1] for _, block in present)
        n_nonvanishing = max(block.nonvanishing.shape[1] for _, block in present)
        n_terms = sum(widths) + n_products if t else stack[0].basis.n_features
        n_both = n_nonvanishing + n_vanishing
        degree = StackedDegree(
            left=np.zeros((len(stack), n_products), dtype=np.intp),
            right=np.zeros((len(stack), n_products), dtype=np.intp),
            matrix=np.zeros((len(stack), n_both, n_terms)),
            bias=np.zeros((len(stack), n_both, 1)),
            real=np.zeros((len(stack), n_vanishing), dtype=np.bool_),
        )
        for j, block in present:
            on_products, on_lower = block.all_polynomials
            # Added, since the same variable may stand at several places.
            terms = np.zeros((n_terms, on_products.shape[1]))
            columns = _columns(block, bases[j][:t], widths)
            np.add.at(terms, columns, np.concatenate([on_products, -on_lower[1:]]))
            constant = -on_lower[0]  # what the constant 1 adds
            start = sum(lower.vanishing.shape[1] for lower in bases[j][:t])
            n_f, n_g = block.nonvanishing.shape[1], block.vanishing.shape[1]
            own = slice(start, start + n_g)
            constant[n_f:] = (constant[n_f:] - stack[j].centers[own]) * stack[j].factors[own]
            terms[:, n_f:] *= stack[j].factors[own]
            places = np.concatenate([np.arange(n_f), n_nonvanishing + np.arange(n_g)])
            degree.matrix[j, places], degree.bias[j, places, 0] = terms.T, constant
            degree.real[j, :n_g] = True
            if t:
                degree.left[j, : block.n_candidates] = block.left
                degree.right[j, : block.n_candidates] = block.right
        if t:
            # In F_1 and F_{t-1} of all bases together.
            degree.left[...] += widths[0] * np.arange(len(stack))[:, None]
            degree.right[...] += widths[-1] * np.arange(len(stack))[:, None]
        degrees.append(degree)
        widths.append(n_nonvanishing)
    return degrees


def _columns(block: DegreeBlock, lower: Sequence[DegreeBlock], widths: Sequence[int]) -> IntArray:
    """Return the places of a basis's candidates and F_1, ..., F_{t-1} among the terms."""
    if not lower:
        return block.left
    *starts, products = np.cumsum([0, *widths])
    counts = [each.nonvanishing.shape[1] for each in lower]
    places = [start + np.arange(count) for start, count in zip(starts, counts, strict=True)]
    return np.concatenate([products + np.arange(block.n_candidates), *places])


# --- Nodes of polynomials -------------------------------------------------------------------------
#
# Values are (n_bases, n_polynomials, n_points), or (n_bases · n_polynomials, n_points): one
# polynomial a row, so that the factors of products are gathered as whole rows. Points come one a
# row;
# they are turned by the product at degree 1, which a Gemm does by itself, without a Transpose.


def values(stack: Sequence[Polynomials], graph: Graph, x: Value) -> Value:
    """Add the nodes of all vanishing polynomials of several bases; points come one a row."""
    degrees = stacked(stack)
    if not degrees:
        return x.take([], axis=1)
    real = np.concatenate([degree.real for degree in degrees], axis=1).reshape(-1)
    rows = _padded_values(degrees, graph, x).reshape(real.size, -1)
    return (rows if real.all() else rows.take(np.flatnonzero(real), axis=0)).T


def sums_of_squares(
    stack: Sequence[Polynomials], graph: Graph, x: Value, *, n_images: int = 1
) -> Value:
    """Add the nodes of the sum of squares of the polynomials of each basis, (n_bases, n_points)."""
    return _padded_values(stacked(stack), graph, x, n_images).reduce("SumSquare", axis=1)


def transformer_outputs(
    bases: Sequence[PolynomialBasis], output: str, graph: Graph, x: Value
) -> list[Output]:
    """Add what a transformer returns, and the values of its polynomials with their signs."""
    if output == "nonvanishing":
        bases = [basis.take_nonvanishing() for basis in bases]
    counts = [basis.count() for basis in bases]
    stack = [Polynomials(b, np.zeros(n), np.ones(n)) for b, n in zip(bases, counts, strict=True)]
    signed, width = values(stack, graph, x), sum(counts)
    features = signed.apply("Abs") if output == "abs" else signed
    return [Output("features", features, width), Output("values", signed, width)]


def _padded_values(
    degrees: Sequence[StackedDegree], graph: Graph, x: Value, n_images: int = 1
) -> Value:
    """Return the values of all vanishing polynomials, (n_bases, n_polynomials, n_points)."""
    n_bases = len(degrees[0].real)
    lower: list[Value] = []  # F_1, F_2, ...
    found: list[Value] = []
    for t, degree in enumerate(degrees):
        n_both, n_terms = degree.matrix.shape[1:]
        if t:
            first, last = (
                lower[s].reshape(n_bases * degrees[s].n_nonvanishing, -1) for s in (0, t - 1)
            )
            left, right = (each.reshape(-1) for each in (degree.left, degree.right))
            products = first.take(left, axis=0) * last.take(right, axis=0)
            terms = graph.concat([*lower, products.reshape(*degree.left.shape, -1)], axis=1)
            both = degree.matrix @ terms + degree.bias
            graph.hold(n_images * n_bases * n_terms)
        else:
            matrix, bias = degree.matrix.reshape(-1, n_terms), degree.bias.reshape(-1, 1)
            both = graph.op("Gemm", matrix, x, bias, transB=1).reshape(n_bases, n_both, -1)
        n_f = degree.n_nonvanishing
        if n_f and n_f < n_both:
            lower.append(graph.op("Slice", both, [0], [n_f], [1]))
            found.append(graph.op("Slice", both, [n_f], [n_both], [1]))
        else:
            (lower if n_f else found).append(both)
    graph.hold(n_images * sum(degree.real.size for degree in degrees))
    return graph.concat(found, axis=1)


# --- Nodes that work through a batch in blocks of rows, so that memory does not grow with it ------


def in_blocks(
    graph: Graph, x: Value, rows: Value, nodes: list[Any], outputs: list[Output], *, n_rows: int
) -> list[Output]:
    """Add a loop of ``nodes``, which take ``rows``, over blocks of ``n_rows`` rows of x at most."""
    n_samples = graph.op("Shape", x).take(0, axis=0)
    size = graph.op("Max", graph.op("Min", n_samples, n_rows), 1)
    n_blocks = (n_samples + size - 1) / size
    number = Value(graph, graph.new_name("number"))
    with graph.apart() as body:
        start = number * size
        taken = graph.op("Range", start, start + size, 1)
        # All blocks must be of one size: the last one repeats the last row.
        taken = graph.op("Min", taken, n_samples - 1)
        graph.op("Gather", x, taken, axis=0, name=rows.name)
        body += nodes
        goes_on = graph.op("Identity", True)
    went_on = graph.describe(graph.new_name("went_on"), np.bool_)
    results = [each.describe(graph, each.value.name, "block", graph.arithmetic) for each in outputs]
    repeated = graph.helper.make_graph(
        body,
        "block",
        [graph.describe(number.name, np.int64), went_on],
        [graph.describe(goes_on.name, np.bool_), *results],
    )
    # Results of all blocks are stacked along a new first axis.
    found = [Value(graph, graph.new_name("loop")) for _ in outputs]
    names = [each.name for each in found]
    graph.nodes.append(graph.helper.make_node("Loop", [n_blocks.name, ""], names, body=repeated))
    joined = []
    for each, blocks in zip(outputs, found, strict=True):
        every = blocks.reshape(-1) if each.width is None else blocks.reshape(-1, each.width)
        # Without the rows that were repeated.
        kept = graph.op("Slice", every, [0], n_samples.reshape(1), [0])
        joined.append(replace(each, value=kept))
    return joined


# --- Models as files of ONNX ----------------------------------------------------------------------

Float = Literal["float32", "float64"]

#: Models that hold more numbers than this for a sample work through the batch in blocks, which have
#: fewer rows than a sample has numbers. With fewer numbers runtimes are faster without a loop.
WIDE_SAMPLE = isqrt(BLOCK)


def to_onnx(model: Any, *, dtype: Float = "float32", arithmetic: Float = "float64") -> Any:
    """Write a fitted model as an ONNX graph, which runs without Python.

    The input is ``X`` of shape (n_samples, n_features), for any number of samples. Outputs of a
    detector are ``scores``, ``decision`` and ``label``: what ``score_samples``,
    ``decision_function`` and ``predict`` return. Those of a transformer are ``features``, what
    ``transform`` returns, and ``values``, the polynomials with their signs; of a basis, ``values``
    only. Operators are those of opset 18.

    Parameters
    ----------
    model : VanishingIdeal, ClassVanishingFeatures, a detector, PolynomialBasis or Pipeline
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
    if graph.widest > WIDE_SAMPLE:
        n_rows = rows_of_a_block(graph.widest)
        outputs = in_blocks(graph, widened, rows, nodes, outputs, n_rows=n_rows)
    else:
        graph.op("Identity", widened, name=rows.name)
        graph.nodes += nodes
    for output in outputs:
        graph.cast(output.value, "int64" if output.is_label else dtype, name=output.name)
    return _assemble(graph, model, steps, outputs, dtype)


def rows_of_a_block(widest: int) -> int:
    """Return how many rows, each of ``widest`` numbers, are worked on at a time."""
    return max(1, BLOCK // widest)


def _check_model(model: Any) -> None:
    """Raise if a model, or a subclass elsewhere, cannot be exported, or is not fitted."""
    ours = type(model).__module__.split(".")[0] == __name__.split(".")[0]
    if not (ours and hasattr(model, "onnx_outputs")) and type(model) is not PolynomialBasis:
        raise TypeError(
            f"{type(model).__name__} cannot be exported to ONNX, only VanishingIdeal, "
            "ClassVanishingFeatures, detectors, PolynomialBasis and pipelines that end in one of "
            "them; if a pipeline continues after one of them, export the steps before, as in "
            "to_onnx(pipeline[:-1])"
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
    X = graph.describe("X", dtype, ["n_samples", n_features])
    results = [each.describe(graph, each.name, "n_samples", dtype) for each in outputs]
    name = type(steps[-1]).__name__
    operators = [helper.make_opsetid("", OPSET)]
    proto = helper.make_model(
        helper.make_graph(graph.nodes, name, [X], results, graph.constants),
        opset_imports=operators,
        ir_version=helper.find_min_ir_version_for(operators),
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
        found["feature_names"] = json.dumps([str(each) for each in names])
    if hasattr(final, "get_feature_names_out"):
        features = [str(each) for each in final.get_feature_names_out()]
        found["features"] = json.dumps(features)
    if hasattr(final, "offset_"):
        found["threshold"] = repr(float(final.offset_))
    return found
