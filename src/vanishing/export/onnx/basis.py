"""Nodes of polynomials.

Values are (n_bases, n_polynomials, n_points), or (n_bases · n_polynomials, n_points): one
polynomial a row, so that the factors of products are gathered as whole rows. Points come one a row;
they are turned by the product at degree 1, which a Gemm does by itself, without a Transpose.
"""

from collections.abc import Sequence

import numpy as np

from vanishing.export.onnx.graph import Graph, Value
from vanishing.export.onnx.hooks import Output, model_nodes
from vanishing.export.onnx.stack import Combination, Polynomials, StackedDegree, stacked
from vanishing.polynomials import PolynomialBasis


def values(stack: Sequence[Polynomials], graph: Graph, x: Value) -> Value:
    """Add the nodes of all vanishing polynomials of several bases.

    Parameters
    ----------
    stack : sequence of Polynomials
    graph : Graph
    x : Value
        Of shape (n_points, n_features).

    Returns
    -------
    Value
        Of shape (n_points, n_vanishing), by basis and degree.
    """
    degrees = stacked(stack)
    if not degrees:
        return x.take([], axis=1)
    real = np.concatenate([degree.real for degree in degrees], axis=1).reshape(-1)
    rows = _padded_values(degrees, graph, x).reshape(real.size, -1)
    return (rows if real.all() else rows.take(np.flatnonzero(real), axis=0)).T


def sums_of_squares(
    stack: Sequence[Polynomials], graph: Graph, x: Value, *, n_images: int = 1
) -> Value:
    """Add the nodes of the sum of squares of the polynomials of each basis.

    Parameters
    ----------
    stack : sequence of Polynomials
        At least one has vanishing polynomials.
    graph : Graph
    x : Value
        Of shape (n_points, n_features).
    n_images : int
        Points that are made of one sample.

    Returns
    -------
    Value
        Of shape (n_bases, n_points).
    """
    return _padded_values(stacked(stack), graph, x, n_images).reduce("SumSquare", axis=1)


@model_nodes(PolynomialBasis)
def _basis(basis: PolynomialBasis, graph: Graph, x: Value) -> list[Output]:
    found = values([Polynomials.plain(basis)], graph, x)
    return [Output("values", found, width=basis.count())]


def _padded_values(
    degrees: Sequence[StackedDegree], graph: Graph, x: Value, n_images: int = 1
) -> Value:
    """Return the values of all vanishing polynomials, (n_bases, n_polynomials, n_points)."""
    n_bases = len(degrees[0].real)
    terms: Value | None = None  # the variables themselves at degree 1
    lower: list[Value] = []  # F_1, F_2, ...
    found: list[Value] = []
    for t, degree in enumerate(degrees):
        if t:
            first, last = (_rows(degrees[s].nonvanishing, lower[s]) for s in (0, t - 1))
            left, right = (each.reshape(-1) for each in (degree.left, degree.right))
            products = first.take(left, axis=0) * last.take(right, axis=0)
            terms = graph.concat([*lower, products.reshape(*degree.left.shape, -1)], axis=1)
            graph.hold(n_images * n_bases * degree.vanishing.matrix.shape[2])
        if degree.real.any():
            found.append(_combined(degree.vanishing, x, terms))
        if degree is not degrees[-1]:
            lower.append(_combined(degree.nonvanishing, x, terms))
    graph.hold(n_images * sum(degree.real.size for degree in degrees))
    return graph.concat(found, axis=1)


def _combined(polynomials: Combination, x: Value, terms: Value | None) -> Value:
    if terms is not None:
        return polynomials.matrix @ terms + polynomials.bias
    n_bases, n_polynomials, n_features = polynomials.matrix.shape
    matrix, bias = polynomials.matrix.reshape(-1, n_features), polynomials.bias.reshape(-1, 1)
    turned = x.graph.op("Gemm", matrix, x, bias, transB=1)
    return turned.reshape(n_bases, n_polynomials, -1)


def _rows(polynomials: Combination, found: Value) -> Value:
    """Return the values of the polynomials of all bases, one a row."""
    return found.reshape(polynomials.bias.size, -1)
