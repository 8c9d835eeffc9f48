"""Monomials, affine changes of variables, and the coefficients of polynomials on monomials."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import qr

from vanishing.arrays.blocks import BudgetError, format_bytes
from vanishing.arrays.kernels import norms, pivoted_cholesky
from vanishing.arrays.namespace import Array, FloatArray, IntArray, lazy, move_like, namespace
from vanishing.levels import MEMORY, SAFETY, SAME
from vanishing.polynomials.evaluation import DegreeBlock

# --- Monomials of bounded degree: exponents, products with a variable, derivatives, values --------
#
# Monomials are ordered by degree, then lexicographically with the first variable largest. Those of
# degree at most t-1 come first among those of degree at most t.


def variable_names(n_variables: int, names: Iterable[object] | None = None) -> tuple[str, ...]:
    """Return as many names as there are variables; x0, x1, ... by default."""
    if names is None:
        return tuple(f"x{j}" for j in range(n_variables))
    given = tuple(str(name) for name in names)
    if len(given) != n_variables:
        raise ValueError(f"expected {n_variables} feature names, got {len(given)}")
    return given


def count(n_variables: int, degree: int) -> int:
    """Return the number of monomials of degree at most ``degree``."""
    return comb(n_variables + degree, degree)


@dataclass(frozen=True)
class Monomials:
    """All monomials in ``n_variables`` variables of degree at most ``degree``."""

    n_variables: int
    degree: int

    def __len__(self) -> int:
        return count(self.n_variables, self.degree)

    def first_of(self, degree: int) -> int:
        """Return the index of the first monomial of a degree."""
        return count(self.n_variables, degree - 1) if degree > 0 else 0

    @lazy
    def exponents(self) -> IntArray:
        """Exponents, shape (n_monomials, n_variables)."""
        exponents = np.zeros((len(self), self.n_variables), dtype=np.intp)
        for j, below, above in self.products():
            exponents[above] = exponents[below]
            exponents[above, j] += 1
        exponents.setflags(write=False)  # tables are cached and shared
        return exponents

    @lazy
    def times_variable(self) -> IntArray:
        """Index of x_j · x^a, shape (n_variables, n_monomials of degree < ``degree``)."""
        table = np.empty((self.n_variables, self.first_of(self.degree)), dtype=np.intp)
        for j, below, above in self.products():
            table[j, below] = np.arange(above.start, above.stop)
        # For a later variable, x_k (x_j x^a) = x_j (x_k x^a), whose factor is one degree lower.
        for j, below, above in monomials(self.n_variables, self.degree - 1).products():
            table[j + 1 :, above] = table[j, table[j + 1 :, below]]
        table.setflags(write=False)
        return table

    def values(self, x: Array) -> Array:
        """Evaluate all monomials, one per row, of variables, one per row."""
        xp = namespace(x)
        values = xp.empty((len(self), x.shape[1]), dtype=x.dtype, device=x.device)
        values[0, :] = 1.0
        for j, below, above in self.products():
            values[above, :] = x[j : j + 1, :] * values[below, :]
        return values

    def products(self) -> Iterator[tuple[int, slice, slice]]:
        """Yield j, a range and that of its products with x_j: each monomial but 1 once."""
        for degree in range(1, self.degree + 1):
            start = end_below = self.first_of(degree)
            # x_j times every monomial of the degree below in variables >= j, which come last.
            for j in range(self.n_variables):
                n_products = comb(self.n_variables - j + degree - 2, degree - 1)
                below = slice(end_below - n_products, end_below)
                yield j, below, slice(start, start + n_products)
                start += n_products

    def derivative(self, coefficients: FloatArray, variable: int) -> FloatArray:
        """Differentiate polynomials, the columns; the result is on monomials of lower degree."""
        raised = self.times_variable[variable]
        return np.asarray(self.exponents[raised, variable][:, None] * coefficients[raised])


@lru_cache(maxsize=64)
def monomials(n_variables: int, degree: int) -> Monomials:
    """Return the (cached) table of monomials."""
    return Monomials(n_variables, degree)


def make_coprime_integers(polynomial: Any, order: str) -> Any:
    """Scale a polynomial of SymPy to coprime integers, the leading coefficient positive."""
    _, integer = polynomial.clear_denoms(convert=True)
    _, primitive = integer.primitive()
    return primitive if primitive.LC(order=order) > 0 else -primitive


def read_polynomial(expression: Any, names: Sequence[str]) -> Any:
    """Return a polynomial of SymPy in variables of some names; raise if it has others."""
    import sympy

    # Symbols of the same name may differ in assumptions; the names are what counts.
    plain = {symbol: sympy.Symbol(symbol.name) for symbol in expression.free_symbols}
    if unknown := sorted({symbol.name for symbol in plain} - set(names)):
        raise ValueError(
            f"the variables are {', '.join(names)}; got {', '.join(unknown)} as well: name all of "
            "them"
        )
    return sympy.Poly(expression.as_expr().xreplace(plain), *map(sympy.Symbol, names))


# --- Affine maps z = A x + b, through which polynomials in z become polynomials in x --------------


@dataclass(frozen=True, eq=False)
class AffineMap:
    """The map z = A x + b.

    Parameters
    ----------
    matrix : array of shape (n_out, n_in)
        The matrix A.
    offset : array of shape (n_out,)
        The vector b.
    center : array of shape (n_in,), optional
        A point in the middle of the data x, if it is known: ``preimage`` returns the point nearest
        to it. The origin by default.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.polynomials import AffineMap
    >>> halved = AffineMap(np.eye(2) / 2, np.array([1.0, 0.0]))
    >>> summed = AffineMap(np.array([[1.0, 1.0]]), np.zeros(1))
    >>> summed.after(halved)(np.array([[4.0, 2.0]]))
    array([[4.]])
    """

    matrix: FloatArray
    offset: FloatArray
    center: FloatArray | None = None

    def __post_init__(self) -> None:
        n_out, n_in = self.matrix.shape
        middle = np.zeros(n_in) if self.center is None else self.center
        if self.offset.shape != (n_out,) or middle.shape != (n_in,):
            raise ValueError(
                f"expected an offset of {n_out} and a center of {n_in} numbers for a matrix of "
                f"shape {self.matrix.shape}, got shapes {self.offset.shape} and {middle.shape}"
            )

    def __repr__(self) -> str:
        return f"<AffineMap: from {self.n_in} to {self.n_out} variables>"

    @classmethod
    def identity(cls, n_features: int) -> "AffineMap":
        """Return the identity map.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        AffineMap
        """
        return cls(np.eye(n_features), np.zeros(n_features))

    @property
    def n_in(self) -> int:
        """Number of coordinates of x."""
        return int(self.matrix.shape[1])

    @property
    def n_out(self) -> int:
        """Number of coordinates of z."""
        return int(self.matrix.shape[0])

    def __call__(self, x: FloatArray) -> FloatArray:
        """Map rows, from shape (n_samples, n_in) to (n_samples, n_out)."""
        return np.asarray(x @ self.matrix.T + self.offset)

    def after(self, first: "AffineMap") -> "AffineMap":
        """Return the map that applies ``first`` and then this one.

        Parameters
        ----------
        first : AffineMap

        Returns
        -------
        AffineMap
        """
        if first.n_out != self.n_in:
            raise ValueError(
                f"the first map gives {first.n_out} coordinates, and the second takes {self.n_in}"
            )
        matrix, offset = self.matrix @ first.matrix, self.matrix @ first.offset + self.offset
        center = first.center if self.center is None else first.preimage(self.center)
        return AffineMap(matrix, offset, center)

    def preimage(self, z: FloatArray) -> FloatArray:
        """Return the point x nearest to the center with A x + b = z.

        Parameters
        ----------
        z : array of shape (n_out,)

        Returns
        -------
        array of shape (n_in,)

        Raises
        ------
        ValueError
            If the map does not reach all z.
        """
        scales = np.diagonal(self.matrix)
        if self.n_in == self.n_out and np.array_equal(self.matrix, np.diag(scales)):
            # Scaling is undone column by column, so that small scales are not lost beside large
            # ones.
            rank = int(np.count_nonzero(scales))
            found = (z - self.offset) / np.where(scales == 0, 1.0, scales)
        else:
            start = np.zeros(self.n_in) if self.center is None else self.center
            missing = z - self.offset - self.matrix @ start
            step, _, rank_found, _ = np.linalg.lstsq(self.matrix, missing, rcond=None)
            found, rank = start + step, int(rank_found)
        if rank < self.n_out:
            raise ValueError(
                f"the map from {self.n_in} to {self.n_out} coordinates has only rank {rank}, so it "
                "does not reach every point"
            )
        return np.asarray(found)


# --- Multiples x^a g of polynomials, as coefficients on monomials ---------------------------------


def multiples(coefficients: FloatArray, table: Monomials, factors: IntArray) -> FloatArray:
    """Multiply polynomials by monomials, given by exponents, the first one first."""
    n_rows, n_polynomials = coefficients.shape
    products = np.zeros((len(table), len(factors), n_polynomials))
    for number, powers in enumerate(factors.tolist()):
        place = np.arange(n_rows)
        for variable, power in enumerate(powers):
            for _ in range(power):
                place = table.times_variable[variable][place]
        products[place, number] = coefficients
    return products.reshape(len(table), -1)


def multiples_up_to(
    coefficients: FloatArray, own_degree: int, degree: int, table: Monomials
) -> FloatArray:
    """Multiply polynomials of one degree by all monomials that leave them at most of another."""
    n_variables = table.n_variables
    factors = monomials(n_variables, degree - own_degree).exponents
    return multiples(coefficients[: count(n_variables, own_degree)], table, factors)


def normalize_columns(columns: FloatArray) -> FloatArray:
    """Scale columns to norm 1; zero columns stay."""
    sizes = norms(columns)
    return np.asarray(columns / np.where(sizes > 0, sizes, 1.0))


def spanning(columns: FloatArray, tol: float) -> FloatArray:
    """Return an orthonormal basis of the span of columns, up to singular values of ``tol``."""
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, singular > tol])


# --- A maximal set of independent columns, chosen the same way every time -------------------------

#: A difference that is a smaller fraction of its terms has lost more than six of sixteen digits.
#: What differs by less is tied: that is far above rounding, and far below differences of data.
CANCELLED = 1e-6
#: Multiples of noisy equations are dependent but for errors up to this share of their size.
NEARLY_DEPENDENT = 0.1
#: Residuals that a Gram matrix, which squares them, does not tell from zero.
SQUARED_AWAY = float(np.sqrt(SAFETY * np.finfo(np.float64).eps))


def independent_columns(matrix: FloatArray, error: float = 0.0) -> tuple[IntArray, FloatArray]:
    """Choose columns by pivoted QR, up to errors; return them and R."""
    n_columns = matrix.shape[1]
    sizes = np.linalg.norm(matrix, axis=0)
    slope = _tie_breaker(n_columns)
    triangle, order = qr(matrix * slope, mode="r", pivoting=True, check_finite=False)
    residuals = np.abs(np.diag(triangle))
    independent = residuals > max(SAME, error) * sizes[order[: len(residuals)]]
    rank = len(residuals) if independent.all() else int(np.argmin(independent))
    unpermuted = np.empty((rank, n_columns))
    unpermuted[:, order] = triangle[:rank]
    return np.sort(order[:rank]), unpermuted / slope


def independent_products(
    forms: FloatArray, n_variables: int, degree: int, near: Array | None = None, error: float = 0.0
) -> IntArray | None:
    """Choose products as ``independent_columns`` does, faster; None if that does not tell."""
    n_products = n_variables * forms.shape[1]
    sizes = np.tile(np.linalg.norm(forms, axis=0), n_variables)
    slope = _tie_breaker(n_products)
    matrix = _gram_of_products(forms, n_variables, degree, near)
    scale = slope if near is None else move_like(slope, near)
    matrix *= scale[:, None] * scale
    smallest = (max(SQUARED_AWAY, error) * sizes.max(initial=0.0)) ** 2
    n_monomials = count(n_variables, degree) - count(n_variables, degree - 1)
    most = min(n_monomials, n_products)
    order, diagonal = pivoted_cholesky(matrix, smallest, most)
    # The squares of larger residuals are known to half of their digits.
    if (diagonal <= max(np.sqrt(SAME), error) * sizes[order]).any():
        return None
    return np.sort(order)


def _gram_of_products(
    forms: FloatArray, n_variables: int, degree: int, near: Array | None
) -> Array:
    """Return the Gram matrix of all products, shape (n_products, n_products)."""
    table = monomials(n_variables, degree)
    start, below = table.first_of(degree), table.first_of(degree - 1)
    raised = table.times_variable[:, below:] - start
    n_forms = forms.shape[1]
    if near is not None:
        xp, moved = namespace(near), move_like(forms, near)
        shape = (len(table) - start, n_variables * n_forms)
        products = xp.zeros(shape, dtype=near.dtype, device=near.device)
        for i, rows in enumerate(raised):
            products[move_like(rows, near), i * n_forms : (i + 1) * n_forms] = moved
        return products.T @ products
    # z_i f and z_k h have the monomials in common that contain both variables, which are few.
    place = np.full((n_variables, len(table) - start), -1)
    np.put_along_axis(place, raised, np.arange(len(forms))[None, :], axis=1)
    matrix = np.empty((n_variables, n_forms, n_variables, n_forms))
    for i in range(n_variables):
        for k in range(i, n_variables):
            common = (place[i] >= 0) & (place[k] >= 0)
            matrix[i, :, k] = forms[place[i, common]].T @ forms[place[k, common]]
            matrix[k, :, i] = matrix[i, :, k].T
    return matrix.reshape(n_variables * n_forms, -1)


def _tie_breaker(n_columns: int) -> FloatArray:
    """Return a slope that lets ties go to the lower index."""
    return np.asarray(1.0 - CANCELLED * np.arange(n_columns) / max(1, n_columns))


# --- Coefficients of nested polynomials on monomials ----------------------------------------------
#
# Two sets of variables are used. Coefficients in the original variables x are what people read.
# From degree 2 on every polynomial is also a polynomial in z = F_1(x), in which F_1 is simply
# z_1..z_m: there the expansion is cheap, and its top degree is the leading form.


def expand_in_variables(
    n_features: int, blocks: Sequence[DegreeBlock], which: str
) -> tuple[IntArray, FloatArray]:
    """Expand G or F of all degrees in the original variables: exponents and coefficients."""
    n_monomials = count(n_features, len(blocks))
    n_bytes = 8 * n_monomials * n_features
    if n_bytes > MEMORY:
        raise BudgetError(
            f"the exponents of {n_monomials} monomials in {n_features} variables take "
            f"{format_bytes(n_bytes)}; reduce the number of features, for "
            "instance by PCA, or lower max_degree"
        )
    table = monomials(n_features, len(blocks))
    expanded = Expansion(n_features, blocks)
    if which == "nonvanishing":
        return table.exponents, expanded.nonvanishing(len(blocks))
    found = (expanded.combine(t, block, "vanishing") for t, block in enumerate(blocks, start=1))
    columns = [np.zeros((len(table), 0)), *(_padded(each, len(table)) for each in found)]
    return table.exponents, np.hstack(columns)


class Expansion:
    """Coefficients of F, degree by degree, in x, in z = F_1(x) or in given coordinates of x."""

    def __init__(
        self,
        n_variables: int,
        blocks: Sequence[DegreeBlock],
        *,
        in_z: bool = False,
        variables: FloatArray | None = None,
    ) -> None:
        self.blocks = tuple(blocks)
        self.n_variables = self.blocks[0].nonvanishing.shape[1] if in_z else n_variables
        self.variables = np.eye(1 + n_variables)[:, 1:] if variables is None else variables
        self._by_degree: list[FloatArray] = [np.ones((1, 1))]
        for degree, block in enumerate(self.blocks, start=1):
            if in_z and degree == 1:
                self._by_degree.append(np.eye(self.n_variables + 1)[:, 1:])
                continue
            self._by_degree.append(self.combine(degree, block, "nonvanishing"))

    def combine(self, degree: int, block: DegreeBlock, which: str) -> FloatArray:
        """Return the coefficients of (C_pre - F L) V, for V_F or V_G of one degree."""
        combined = self.candidates(degree, block.left, block.right) @ getattr(block, which)
        lower = self.nonvanishing(degree - 1)
        combined[: len(lower)] -= lower @ getattr(block, f"{which}_lower")
        return np.asarray(combined)

    def table(self, degree: int) -> Monomials:
        """Return the monomials of degree at most ``degree`` in these variables."""
        return monomials(self.n_variables, degree)

    def nonvanishing(self, degree: int) -> FloatArray:
        """Return the coefficients of F^degree, shape (n_monomials(degree), n_nonvanishing)."""
        n_monomials = len(self.table(degree))
        return np.hstack([_padded(c, n_monomials) for c in self._by_degree[: degree + 1]])

    def candidates(self, degree: int, left: IntArray, right: IntArray) -> FloatArray:
        """Return the coefficients of F_1[left] · F_{t-1}[right] (x[left] at degree 1)."""
        table = self.table(degree)
        if degree == 1:
            return np.asarray(self.variables[:, left])
        first, last = self._by_degree[1], self._by_degree[degree - 1]
        product = np.zeros((len(table), len(left)))
        factor = last[:, right]
        product[: len(factor)] = factor * first[0, left]
        for j in np.flatnonzero(np.any(first[1:] != 0, axis=1)):
            product[table.times_variable[j]] += factor * first[1 + j, left]
        return product


def expand_monomials(variables: FloatArray, degree: int) -> FloatArray:
    """Expand the monomials of x in u, by coefficients of each x on 1, u_1, u_2, ..."""
    table = monomials(variables.shape[1], degree)
    coordinates = monomials(variables.shape[0] - 1, degree)
    expanded = np.zeros((len(coordinates), len(table)))
    expanded[0, 0] = 1.0
    for j, below, above in table.products():
        factor = expanded[:, below]
        product = variables[0, j] * factor
        for k in np.flatnonzero(variables[1:, j]):
            raised = coordinates.times_variable[k]
            product[raised] += variables[1 + k, j] * factor[: len(raised)]
        expanded[:, above] = product
    return expanded


def leading_forms(blocks: Sequence[DegreeBlock]) -> FloatArray:
    """Return the leading forms, in z = F_1(x), of the nonvanishing polynomials of top degree."""
    n_variables = blocks[0].nonvanishing.shape[1]
    forms = np.eye(n_variables)
    for degree, block in enumerate(blocks[1:], start=2):
        products = multiply_forms(forms, n_variables, degree, block.left, block.right)
        forms = products @ block.nonvanishing
    return forms


def multiply_forms(
    forms: FloatArray, n_variables: int, degree: int, left: IntArray, right: IntArray
) -> FloatArray:
    """Multiply forms of one degree below by variables."""
    table = monomials(n_variables, degree)
    start, below = table.first_of(degree), table.first_of(degree - 1)
    products = np.zeros((len(table) - start, len(left)))
    for variable in range(n_variables):
        raised = table.times_variable[variable, below:] - start
        chosen = np.flatnonzero(left == variable)
        products[np.ix_(raised, chosen)] = forms[:, right[chosen]]
    return products


def _padded(coefficients: FloatArray, n_monomials: int) -> FloatArray:
    padded = np.zeros((n_monomials, coefficients.shape[1]))
    padded[: len(coefficients)] = coefficients
    return padded
