"""An evaluator as C99 source, without dependencies."""

import re
from typing import Any

from vanishing._xp import FloatArray, IntArray
from vanishing.export.model import equations_of
from vanishing.export.provenance import provenance
from vanishing.export.reserved import is_reserved
from vanishing.export.tables import DegreeTable, Tables, tables_of

#: Names that the source uses itself where it calls the function, and that of programs.
TAKEN = frozenset({"main", "n_rows", "row", "values", "x"})
#: How many numbers to a line.
PER_LINE = 4

ADD = """\
/* Add a multiple of a row of coefficients to the polynomials of one degree. */
static void NAME_add(double c, const double *row, double *f, int n_f, double *g, int n_g)
{
    int k;
    for (k = 0; k < n_f; k++) f[k] += c * row[k];
    for (k = 0; k < n_g; k++) g[k] += c * row[n_f + k];
}"""
BATCH = """\
void NAME_batch(size_t n_rows, const double *x, double *values)
{
    size_t row;
    for (row = 0; row < n_rows; row++)
        NAME(x + row * (size_t)NAME_n_features, values + row * (size_t)NAME_n_values);
}"""


def to_c(
    model: Any, feature_names: Any = None, *, preprocessor: Any = None, name: str = "evaluate"
) -> str:
    """Write C99 source that evaluates the vanishing polynomials and needs no library.

    It defines, with ``evaluate`` replaced by ``name``::

        const int evaluate_n_features, evaluate_n_values;
        const char *const evaluate_features[];   (names of the variables, in UTF-8)
        void evaluate(const double *x, double *values);
        void evaluate_batch(size_t n_rows, const double *x, double *values);

    ``x`` holds one point, or the rows of several one after the other; ``values`` gets the (signed)
    values of all polynomials, row by row. Scaling and PCA are part of it. Polynomials are evaluated
    as nested products by loops over tables, as by ``basis_.evaluate``, and agree with it up to
    rounding. Nothing is allocated, and nothing is kept between calls.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ... Any text will do.
    preprocessor : transformer, optional
        What was applied to the data before the model, as in ``to_sympy``.
    name : str
        Of the function: an identifier that neither C, its standard library nor the source uses.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.export import to_c
    >>> angle = np.linspace(0, 6, 50)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> source = to_c(VanishingIdeal(tol=1e-6).fit(circle), ["x", "y"], name="circle")
    >>> [line for line in source.splitlines() if line.startswith("void")]
    ['void circle(const double *x, double *values)', \
'void circle_batch(size_t n_rows, const double *x, double *values)']
    """
    check_name(name)
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    tables = tables_of(equations.basis)
    comment = "\n".join(f" * {line}" for line in provenance(equations))
    parts = [
        f"/*\n{comment}\n */\n#include <stddef.h>",
        _declarations(tables, equations.names, name),
        _table("double", f"{name}_center", tables.center),
        _table("double", f"{name}_first", tables.first),
        *(_degree_tables(each, t, name) for t, each in enumerate(tables.higher, start=2)),
        ADD.replace("NAME", name),
        _function(tables, name),
        BATCH.replace("NAME", name),
    ]
    return "\n\n".join(parts) + "\n"


def check_name(name: str) -> None:
    """Raise if a function of C cannot be called so."""
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(
            f"name must be an identifier of C that is not in use, got {name!r}; use the letters a "
            "to z, digits and underscores, and begin with a letter"
        )
    if name in TAKEN or is_reserved(name):
        raise ValueError(
            f"name must be an identifier of C that is not in use, got {name!r}, which the source "
            f"or C itself uses; choose another, such as 'evaluate' or 'evaluate_{name}'"
        )


def _declarations(tables: Tables, names: tuple[str, ...], name: str) -> str:
    quoted = ",\n    ".join(map(_string, names))
    return (
        f"const int {name}_n_features = {len(names)};\n"
        f"const int {name}_n_values = {tables.n_vanishing};\n"
        f"const char *const {name}_features[] = {{\n    {quoted}\n}};"
    )


def _degree_tables(each: DegreeTable, degree: int, name: str) -> str:
    return "\n".join(
        [
            _table("int", f"{name}_left{degree}", each.left),
            _table("int", f"{name}_right{degree}", each.right),
            _table("double", f"{name}_products{degree}", each.on_products),
            _table("double", f"{name}_lower{degree}", each.on_lower),
        ]
    )


def _function(tables: Tables, name: str) -> str:
    lines = [
        f"void {name}(const double *x, double *values)",
        "{",
        f"    double f[{tables.n_nonvanishing}]; /* the nonvanishing polynomials */",
        "    int i;",
        f"    for (i = 0; i < {tables.n_nonvanishing}; i++) f[i] = i == 0 ? 1.0 : 0.0;",
        f"    for (i = 0; i < {tables.n_vanishing}; i++) values[i] = 0.0;",
    ]

    def add_rows(n_rows: int, table: str, factor: str) -> list[str]:
        """Write a loop over the rows of a table, each times a factor."""
        outputs = f"f + {start_f}, {n_f}, values + {start_g}, {n_g}"
        row = f"{name}_{table} + (size_t)i * {n_f + n_g}"
        return [
            f"    for (i = 0; i < {n_rows}; i++)",
            f"        {name}_add({factor}, {row}, {outputs});",
        ]

    start_f, start_g = 1, 0
    n_f, n_g = tables.n_first_nonvanishing, tables.n_first_vanishing
    lines += add_rows(len(tables.center), "first", f"x[i] - {name}_center[i]")
    for degree, each in enumerate(tables.higher, start=2):
        start_f, start_g = start_f + n_f, start_g + n_g
        n_f, n_g = each.n_nonvanishing, each.n_vanishing
        product = f"f[{name}_left{degree}[i]] * f[{name}_right{degree}[i]]"
        lines += add_rows(len(each.on_products), f"products{degree}", product)
        lines += add_rows(len(each.on_lower), f"lower{degree}", "-f[i]")
    return "\n".join([*lines, "}"])


def _table(kind: str, name: str, numbers: FloatArray | IntArray) -> str:
    """Write a constant array, one row of a matrix after the other."""
    texts = [repr(number) for number in numbers.ravel().tolist()]
    lines = [", ".join(texts[i : i + PER_LINE]) for i in range(0, len(texts), PER_LINE)]
    return f"static const {kind} {name}[] = {{\n    " + ",\n    ".join(lines) + "\n};"


def _string(text: str) -> str:
    """Write a string in UTF-8; other than plain characters as octal numbers of three digits."""
    plain = (
        chr(byte)
        if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in " _-+.,:()[]")
        else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "replace")
    )
    return '"' + "".join(plain) + '"'
