"""Equations as source code: C and Python."""

import builtins
import re
import sys
from functools import cache
from importlib.resources import files
from keyword import iskeyword
from textwrap import wrap
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np

from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.equations.expansion import (
    ModelEquations,
    choose_terms,
    equations_of,
    is_quick,
)
from vanishing.equations.text import CODE, SHOWN_LINES, SHOWN_TERMS
from vanishing.levels import BLOCK
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.evaluation import needed_blocks

# --- Where generated source comes from, as lines of plain ASCII for a comment ---------------------


def provenance(equations: ModelEquations) -> list[str]:
    """Say what source was made of and which equations it evaluates, in printable ASCII."""
    version = sys.modules["vanishing"].__version__  # an import would go upwards
    basis = equations.basis
    names = ", ".join(equations.names)
    degrees = ", ".join(map(str, basis.degrees().tolist()))
    paragraphs = [
        f"Written by vanishing {version} from {equations.source}.",
        f"Variables, in this order: {names}",
        f"Degrees of the polynomials: {degrees}",
        "Root mean squares on the data of the fit: "
        + ", ".join(f"{extent:.3g}" for extent in basis.extents.tolist()),
        "Values are signed. Polynomials are evaluated as nested products, not as sums of "
        "monomials, which is more accurate.",
    ]
    if basis.count() <= SHOWN_LINES and is_quick(basis, len(basis.blocks)):
        paragraphs += [
            f"[{k}] about {CODE.write(each, equations.names)}"
            for k, each in enumerate(choose_terms(basis, equations.scale))
            if len(each.coefficients) <= SHOWN_TERMS
        ]
    return [line for text in paragraphs for line in wrap(_plain(text), 88, subsequent_indent="  ")]


def _plain(text: str) -> str:
    """Return text that neither ends nor begins a comment or a line of C or Python."""
    escaped = text.encode("unicode_escape").decode("ascii")
    for sign, harmless in (("*/", "* /"), ("/*", "/ *"), ("??", "? ?"), ('"""', '" " "')):
        escaped = escaped.replace(sign, harmless)
    return escaped


# --- Names that functions of generated C source cannot have ---------------------------------------


@cache
def _match_reserved() -> re.Pattern[str]:
    """Compile the names in ``c_names.txt``, the mathematical ones for all types."""
    lines = files(__package__).joinpath("c_names.txt").read_text("ascii").splitlines()
    text = " ".join(line for line in lines if not line.startswith("#"))
    plain, _, mathematical = text.partition("[mathematical]")
    of_type = "(f|l|f16|f32x?|f64x?|f128x?|d32x?|d64x?|d128x?)?(_r)?"
    either = "|".join(re.findall(r"\b\w+\b(?!\])", plain))
    return re.compile(f"{either}|({'|'.join(mathematical.split())}){of_type}")


# --- The numbers that an evaluator needs, and how it goes about it, for source in any language ----
#
# Polynomials are evaluated as they are nested, degree by degree, and not as sums of monomials:
# there are fewer operations, and no large terms that cancel, as those of a polynomial that is small
# on the data do. At degree 1 the center is taken off first, for the same reason.
#
# values of F: the constant 1
# degree 1:    c_i = x_i - center_i                             for every variable
# degree t:    c_i = F_1[left_i] · F_(t-1)[right_i]             for every product
#              [F_t G_t] = Σ_i c_i on_products_i - Σ_j F_j on_lower_j


class DegreeTable(NamedTuple):
    """What is combined to the polynomials of one degree, nonvanishing ones first."""

    left: IntArray  # place of a factor among F, the variable at degree 1
    right: IntArray
    on_products: FloatArray  # one column a polynomial
    on_lower: FloatArray
    n_nonvanishing: int
    n_vanishing: int


def tables_of(basis: PolynomialBasis) -> list[DegreeTable]:
    """Collect the numbers that an evaluator needs, besides the center of the variables."""
    blocks = needed_blocks(basis.blocks)
    if not blocks:
        raise ValueError(
            "nothing vanishes, so there is nothing to evaluate; raise tol or max_degree"
        )
    offsets = np.cumsum([0, 1, *(block.nonvanishing.shape[1] for block in blocks)]).tolist()
    tables = []
    for degree, block in enumerate(blocks, start=1):
        left, right = offsets[1] + block.left, offsets[degree - 1] + block.right
        sizes = block.nonvanishing.shape[1], block.vanishing.shape[1]
        tables.append(DegreeTable(left, right, *block.all_polynomials, *sizes))
    n_numbers = sum(each.on_products.size + each.on_lower.size for each in tables)
    if n_numbers > BLOCK:  # compilers get slow
        raise ValueError(
            f"the source would hold {n_numbers} numbers, more than {BLOCK}; keep fewer "
            "polynomials (basis.restrict, max_nonvanishing), or save the model into a file"
        )
    if not all(np.isfinite(matrix).all() for each in tables for matrix in each[2:4]):
        raise ValueError("the model holds numbers that are infinite or NaN")
    return tables


# --- An evaluator as C99 source, without dependencies ---------------------------------------------

#: Names that the source uses itself where it calls the function, and that of programs.
TAKEN_IN_C = frozenset({"main", "n_rows", "row", "values", "x"})

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
    >>> from vanishing.equations import to_c
    >>> angle = np.linspace(0, 6, 50)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> source = to_c(VanishingIdeal(tol=1e-6).fit(circle), ["x", "y"], name="circle")
    >>> [line for line in source.splitlines() if line.startswith("void")]
    ['void circle(const double *x, double *values)', \
'void circle_batch(size_t n_rows, const double *x, double *values)']
    """
    check_c_name(name)
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    tables = tables_of(equations.basis)
    comment = "\n".join(f" * {line}" for line in provenance(equations))
    quoted = ",\n    ".join(map(_string, equations.names))
    parts = [
        f"/*\n{comment}\n */\n#include <stddef.h>",
        f"const int {name}_n_features = {len(equations.names)};\n"
        f"const int {name}_n_values = {equations.basis.count()};\n"
        f"const char *const {name}_features[] = {{\n    {quoted}\n}};",
        _table("double", f"{name}_center", equations.basis.blocks[0].projection[0]),
        _table("double", f"{name}_first", tables[0].on_products),
    ]
    for degree, each in enumerate(tables[1:], start=2):
        numbers: dict[str, FloatArray | IntArray] = {
            "left": each.left, "right": each.right,
            "products": each.on_products, "lower": each.on_lower,
        }  # fmt: skip
        parts.append("\n".join(
            _table("int" if array.dtype.kind == "i" else "double", f"{name}_{what}{degree}", array)
            for what, array in numbers.items()
        ))  # fmt: skip
    parts += [
        ADD.replace("NAME", name),
        _function(tables, name),
        BATCH.replace("NAME", name),
    ]
    return "\n\n".join(parts) + "\n"


def check_c_name(name: str) -> None:
    """Raise if a function of C cannot have this name."""
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(
            f"name must be a free identifier of C, got {name!r}; use the letters a to z, digits "
            "and underscores, and begin with a letter"
        )
    if name in TAKEN_IN_C or _match_reserved().fullmatch(name):
        raise ValueError(
            f"name must be a free identifier of C, got {name!r}, which the source or C itself "
            f"uses; choose another, such as 'evaluate' or 'evaluate_{name}'"
        )


def _function(tables: list[DegreeTable], name: str) -> str:
    n_nonvanishing = 1 + sum(each.n_nonvanishing for each in tables)
    n_vanishing = sum(each.n_vanishing for each in tables)
    lines = [
        f"void {name}(const double *x, double *values)",
        "{",
        f"    double f[{n_nonvanishing}]; /* the nonvanishing polynomials */",
        "    int i;",
        f"    for (i = 0; i < {n_nonvanishing}; i++) f[i] = i == 0 ? 1.0 : 0.0;",
        f"    for (i = 0; i < {n_vanishing}; i++) values[i] = 0.0;",
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
    n_f, n_g = tables[0].n_nonvanishing, tables[0].n_vanishing
    lines += add_rows(len(tables[0].on_products), "first", f"x[i] - {name}_center[i]")
    for degree, each in enumerate(tables[1:], start=2):
        start_f, start_g = start_f + n_f, start_g + n_g
        n_f, n_g = each.n_nonvanishing, each.n_vanishing
        product = f"f[{name}_left{degree}[i]] * f[{name}_right{degree}[i]]"
        lines += add_rows(len(each.on_products), f"products{degree}", product)
        lines += add_rows(len(each.on_lower), f"lower{degree}", "-f[i]")
    return "\n".join([*lines, "}"])


def _table(kind: str, name: str, numbers: FloatArray | IntArray) -> str:
    """Write a constant array, one row of a matrix after the other."""
    texts = [repr(number) for number in numbers.ravel().tolist()]
    lines = [", ".join(texts[i : i + 4]) for i in range(0, len(texts), 4)]  # four fit a line
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


# --- An evaluator as Python source, without imports -----------------------------------------------

#: Names that the source uses itself where it defines or calls the function.
TAKEN_IN_PYTHON = frozenset({"FEATURES", "row", "rows"})
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
    >>> from vanishing.equations import to_python
    >>> angle = np.linspace(0, 6, 50)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> source = to_python(VanishingIdeal(tol=1e-6).fit(circle), ["x", "y"])
    >>> module = {}
    >>> exec(source, module)
    >>> [round(value, 6) for value in module["evaluate"]([2.0, 0.0])]
    [1.5]
    """
    check_python_name(name)
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    tables = tables_of(equations.basis)
    return TEMPLATE.format(
        comment="\n".join(f"# {line}" for line in provenance(equations)),
        features=ascii(equations.names),
        center=_row(equations.basis.blocks[0].projection[0]),
        first=f"({tables[0].n_nonvanishing}, {_rows(tables[0].on_products.T)})",
        higher="(\n" + "".join(map(_degree, tables[1:])) + ")",
        name=name,
        n_features=len(equations.names),
        n_vanishing=equations.basis.count(),
    )


def check_python_name(name: str) -> None:
    """Raise if a function of Python cannot have this name."""
    # Python reads identifiers in this form: "ﬁt" is "fit".
    read = normalize("NFKC", name)
    if not name.isidentifier() or iskeyword(read):
        raise ValueError(
            f"name must be an identifier of Python, got {name!r}; use letters, digits and "
            "underscores, do not begin with a digit, and choose no keyword"
        )
    if read.startswith("_") or read in TAKEN_IN_PYTHON or hasattr(builtins, read):
        raise ValueError(
            f"name must be a free identifier of Python, got {name!r}, which the source or Python "
            f"itself uses; choose another, such as 'evaluate' or 'evaluate_{read.lstrip('_')}'"
        )


def _degree(each: DegreeTable) -> str:
    factors = f"{each.n_nonvanishing}, {_row(each.left)}, {_row(each.right)}"
    return f"({factors},\n {_rows(each.on_products.T)},\n {_rows(each.on_lower.T)}),\n"


def _rows(matrix: FloatArray) -> str:
    return "(" + "".join(f"\n  {_row(row)}," for row in matrix) + ")"


def _row(numbers: Any) -> str:
    return "(" + "".join(f"{number!r}, " for number in numbers.tolist()).rstrip() + ")"
