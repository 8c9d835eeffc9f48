"""An evaluator as Python source, without imports."""

import builtins
from keyword import iskeyword
from typing import Any
from unicodedata import normalize

from vanishing._xp import FloatArray
from vanishing.export.model import equations_of
from vanishing.export.provenance import provenance
from vanishing.export.tables import Tables, tables_of

#: Names that the source uses itself where it defines or calls the function.
TAKEN = frozenset({"FEATURES", "row", "rows"})
TEMPLATE = '''\
{comment}

FEATURES = {features}

_CENTER = {center}
# Degree 1: how many nonvanishing polynomials, and coefficients on the centered variables.
_FIRST = {first}
# Higher degrees: how many nonvanishing polynomials, factors of the products, coefficients on the
# products, coefficients on the nonvanishing polynomials of lower degrees.
_HIGHER = {higher}


def {name}(x):
    """Return {n_vanishing} values, of the polynomials at a point of {n_features} numbers."""
    if len(x) != {n_features}:
        raise ValueError("expected {n_features} numbers, got %d" % len(x))
    lower = [1.0]
    found = []
    centered = [float(value) - middle for value, middle in zip(x, _CENTER)]
    n_nonvanishing, columns = _FIRST
    values = [sum(c * v for c, v in zip(column, centered)) for column in columns]
    lower += values[:n_nonvanishing]
    found += values[n_nonvanishing:]
    for n_nonvanishing, left, right, on_products, on_lower in _HIGHER:
        products = [lower[i] * lower[j] for i, j in zip(left, right)]
        values = [
            sum(c * v for c, v in zip(column, products)) - sum(c * v for c, v in zip(below, lower))
            for column, below in zip(on_products, on_lower)
        ]
        lower += values[:n_nonvanishing]
        found += values[n_nonvanishing:]
    return found


def {name}_batch(rows):
    """Return the values at several points, a list for each."""
    return [{name}(row) for row in rows]
'''


def to_python(
    model: Any, feature_names: Any = None, *, preprocessor: Any = None, name: str = "evaluate"
) -> str:
    """Write a Python module that evaluates the vanishing polynomials and needs nothing else.

    It holds ``FEATURES``, the names of the variables; a function ``evaluate(x)`` from one point, a
    sequence of numbers in the order of ``FEATURES``, to the list of the (signed) values; and
    ``evaluate_batch(rows)``. Scaling and PCA are part of it. Polynomials are evaluated as nested
    products, as by ``basis_.evaluate``, and agree with it up to rounding.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ... Any text will do.
    preprocessor : transformer, optional
        What was applied to the data before the model, as in ``to_sympy``.
    name : str
        Of the function: an identifier that neither Python nor the source uses already.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.export import to_python
    >>> angle = np.linspace(0, 6, 50)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> source = to_python(VanishingIdeal(tol=1e-6).fit(circle), ["x", "y"])
    >>> module = {}
    >>> exec(source, module)
    >>> [round(value, 6) for value in module["evaluate"]([2.0, 0.0])]
    [1.5]
    """
    check_name(name)
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    tables = tables_of(equations.basis)
    return TEMPLATE.format(
        comment="\n".join(f"# {line}" for line in provenance(equations)),
        features=ascii(equations.names),
        center=_row(tables.center),
        first=f"({tables.n_first_nonvanishing}, {_rows(tables.first.T)})",
        higher=_higher(tables),
        name=name,
        n_features=len(equations.names),
        n_vanishing=tables.n_vanishing,
    )


def check_name(name: str) -> None:
    """Raise if a function of Python cannot be called so."""
    # Python reads identifiers in this form: "ﬁt" is "fit".
    read = normalize("NFKC", name)
    if not name.isidentifier() or iskeyword(read):
        raise ValueError(
            f"name must be an identifier of Python, got {name!r}; use letters, digits and "
            "underscores, do not begin with a digit, and choose no keyword"
        )
    if read.startswith("_") or read in TAKEN or hasattr(builtins, read):
        raise ValueError(
            f"name must be one that is not in use already, got {name!r}, which the source or "
            f"Python itself uses; choose another, such as 'evaluate' or "
            f"'evaluate_{read.lstrip('_')}'"
        )


def _higher(tables: Tables) -> str:
    degrees = [
        f"({each.n_nonvanishing}, {_row(each.left)}, {_row(each.right)},\n"
        f" {_rows(each.on_products.T)},\n {_rows(each.on_lower.T)}),\n"
        for each in tables.higher
    ]
    return "(\n" + "".join(degrees) + ")"


def _rows(matrix: FloatArray) -> str:
    return "(" + "".join(f"\n  {_row(row)}," for row in matrix) + ")"


def _row(numbers: Any) -> str:
    return "(" + "".join(f"{number!r}, " for number in numbers.tolist()).rstrip() + ")"
