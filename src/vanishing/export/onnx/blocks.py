"""Nodes that work through a batch in blocks of rows, so that memory does not grow with it."""

from typing import Any

import numpy as np

from vanishing.export.onnx.graph import Graph, Value
from vanishing.export.onnx.hooks import Output


def in_blocks(
    graph: Graph, x: Value, rows: Value, nodes: list[Any], outputs: list[Output], *, n_rows: int
) -> list[Output]:
    """Add a loop over blocks of rows.

    Parameters
    ----------
    graph : Graph
    x : Value
        Of shape (n_samples, n_features).
    rows : Value
        What the nodes take for a block of x.
    nodes : list of NodeProto
        What is done with a block.
    outputs : list of Output
        What comes out of it.
    n_rows : int
        Of a block, at most.

    Returns
    -------
    list of Output
        Of all samples.
    """
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
    stacked = _loop(graph, n_blocks, number, body, goes_on, outputs)
    end = n_samples.reshape(1)
    return [
        Output(each.name, _joined(graph, all_blocks, each.width, end), each.width, each.is_label)
        for each, all_blocks in zip(outputs, stacked, strict=True)
    ]


def _loop(
    graph: Graph,
    n_times: Value,
    number: Value,
    body: list[Any],
    goes_on: Value,
    outputs: list[Output],
) -> list[Value]:
    """Add the loop, and return its outputs stacked along a new first axis."""
    info, kind_of = graph.helper.make_tensor_value_info, graph.helper.np_dtype_to_tensor_dtype
    integer, boolean = kind_of(np.dtype(np.int64)), kind_of(np.dtype(np.bool_))
    number_type = kind_of(graph.arithmetic)
    results = [
        info(
            each.value.name,
            integer if each.is_label else number_type,
            ["block"] if each.width is None else ["block", each.width],
        )
        for each in outputs
    ]
    repeated = graph.helper.make_graph(
        body,
        "block",
        [info(number.name, integer, []), info(graph.new_name("went_on"), boolean, [])],
        [info(goes_on.name, boolean, []), *results],
    )
    stacked = [Value(graph, graph.new_name("loop")) for _ in outputs]
    graph.nodes.append(
        graph.helper.make_node(
            "Loop", [n_times.name, ""], [each.name for each in stacked], body=repeated
        )
    )
    return stacked


def _joined(graph: Graph, stacked: Value, width: int | None, end: Value) -> Value:
    """Join the blocks, without the rows that were repeated."""
    joined = stacked.reshape(-1) if width is None else stacked.reshape(-1, width)
    return graph.op("Slice", joined, [0], end, [0])
