"""The terms of a law: short polynomials that vanish on noisy columns.

A polynomial g with coefficients c on monomials Φ has, on the rows of a table, the mean square c'Ac
with A = Φ'Φ/N, and the mean squared gradient c'Bc, in units of the columns' spreads. Noise of
relative size σ in every column gives a law the *extent* √(c'Ac / c'Bc) ≈ σ, whatever its degree. So
a set S of monomials carries a relation at the noise level τ exactly if the principal submatrix of

    M(τ) = A - τ² B

that belongs to S is not positive definite. This turns the search for the shortest law into a search
for the smallest principal submatrix of one matrix with a negative eigenvalue. All supports of two,
three and four terms are tried: given two terms of a support, the Schur complement of M decides
about all pairs of further terms at once.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import svd
from scipy.optimize import linprog

from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.arrays.parameters import check_whole
from vanishing.polynomials.monomials import count, monomials

#: Monomials whose values are factored, at most.
MOST_FACTORED = 260
#: Mean square of the monomials in a row, relative to that in all rows, below which it counts no
#: more: if all rows have the same noise, and if it is in proportion to the values.
SMALL_ROW, SMALLEST_ROW = 0.05, 1e-6
#: Ratio of the squared gradients of a new law, across those of known laws and along them.
LEAST_NEW = 1e-3
#: Most monomials from which terms are eliminated one by one.
MOST_ELIMINATED = 60
#: Degree up to which equations are looked for, and monomials that a search may have.
HIGHEST_DEGREE, MOST_TERMS = 4, 2000

Support = tuple[int, ...]


@dataclass(frozen=True)
class Terms:
    """Monomials of scaled columns, by degree, and their second moments.

    ``values`` is A and ``gradients`` B, in units of the noise. ``factor`` is R with A = R'R, from a
    QR factorization, since a Gram matrix loses half of the digits. ``known`` holds the mean
    products of the parts of the gradients that known laws explain; B is without them.
    """

    exponents: IntArray
    values: FloatArray
    gradients: FloatArray
    factor: FloatArray
    weights: FloatArray
    known: FloatArray | None = None

    @property
    def rounding(self) -> float:
        """Relative rounding error of sums over all rows."""
        return len(self.weights) * float(np.finfo(float).eps)

    @property
    def degrees(self) -> IntArray:
        """The total degree of each monomial."""
        return np.asarray(self.exponents.sum(axis=1))

    def take(self, kept: IntArray) -> "Terms":
        """Return some of the terms."""
        block = np.ix_(kept, kept)
        return Terms(
            self.exponents[kept],
            self.values[block],
            self.gradients[block],
            self.factor[:, kept]
            if kept.max(initial=0) < self.factor.shape[1]
            else self.factor[:, :0],
            self.weights,
            None if self.known is None else self.known[block],
        )

    def restrict(self, exponents: IntArray | None) -> "Terms":
        """Return those of the terms that are among some monomials; all if there are none."""
        if exponents is None:
            return self
        wanted = {tuple(row) for row in exponents.tolist()}
        kept = [i for i, row in enumerate(self.exponents.tolist()) if tuple(row) in wanted]
        return self.take(np.array(kept, dtype=np.intp))

    def shifted(self, noise: float) -> FloatArray:
        """Return M(τ), scaled to a unit diagonal of A, less what rounding may hide."""
        size = np.sqrt(np.diag(self.values))
        gradients = self.gradients
        if self.known is not None:
            gradients = gradients - LEAST_NEW * self.known
        scaled = (self.values - noise**2 * gradients) / np.outer(size, size)
        return np.asarray(scaled - self.rounding * np.eye(len(scaled)))

    def extent(self, support: Support) -> float:
        """Return the smallest extent of a polynomial with these terms."""
        return float(self.extents(np.asarray([support]))[0])

    def extents(self, supports: IntArray) -> FloatArray:
        """Return the smallest extent of each support, shape (n_supports, n_terms of each)."""
        rows, columns = supports[:, :, None], supports[:, None, :]
        values, gradients = self.values[rows, columns], self.gradients[rows, columns]
        size = np.sqrt(np.einsum("sii->si", values))
        size = np.where(size > 0, size, 1.0)
        scale = size[:, :, None] * size[:, None, :]
        # λ / (1 + λ) is the eigenvalue of the pair (A, A + B), whose second matrix is definite.
        values, both = values / scale, (values + gradients) / scale
        # Not by a Cholesky factor: rounding errors may leave an eigenvalue below zero.
        sizes, vectors = np.linalg.eigh(both)
        root = np.swapaxes(vectors, 1, 2) / np.sqrt(np.maximum(sizes, self.rounding))[:, :, None]
        ratio = np.linalg.eigvalsh(root @ values @ np.swapaxes(root, 1, 2))[:, 0]
        return np.asarray(np.sqrt(np.clip(ratio, 0, None) / np.clip(1 - ratio, 1e-300, None)))


def make_terms(
    rows: FloatArray,
    spreads: FloatArray,
    degree: int,
    powers: IntArray,
    groups: IntArray | None = None,
    proportional: bool = False,
) -> Terms:
    """Return all monomials up to a degree in the columns of a table.

    Columns have a root mean square of 1 and are not centred: laws are short in the columns
    themselves. A column has no powers from ``powers`` on. With ``groups``, trajectories one after
    the other, A holds the products of monomials minus their means along each trajectory. The noise
    is ``proportional`` to the values, or to the ``spreads``.
    """
    table = monomials(rows.shape[1], degree)
    exponents = table.exponents
    values = np.asarray(table.values(rows.T))
    weights = even_weights(values, SMALLEST_ROW if proportional else SMALL_ROW)
    gram = (values * weights) @ values.T
    moments = gram
    if groups is not None:
        values = center(values.T, groups, weights).T
        moments = (values * weights) @ values.T
    if proportional:
        gradients = gram * (exponents @ exponents.T)  # x_j ∂_j x^e = e_j x^e
    else:
        gradients = _multiply_gradients(exponents, spreads, gram)
    # Products of columns that exclude each other are zero, as are constants within trajectories.
    kept = np.flatnonzero((exponents < powers).all(axis=1) & (np.diag(moments) > 1e-20))
    first = values[kept[:MOST_FACTORED]] * np.sqrt(weights)
    factor = np.asarray(np.linalg.qr(first.T, mode="r"))
    block = np.ix_(kept, kept)
    return Terms(exponents[kept], moments[block], gradients[block], factor, weights)


def _multiply_gradients(exponents: IntArray, spreads: FloatArray, gram: FloatArray) -> FloatArray:
    """Return the mean products of gradients, which are those of monomials of lower degrees."""
    gradients = np.zeros_like(gram)
    index = {tuple(row): position for position, row in enumerate(exponents.tolist())}
    for j in range(exponents.shape[1]):
        having = np.flatnonzero(exponents[:, j])
        lower = exponents[having].copy()
        lower[:, j] -= 1
        found = np.array([index[tuple(row)] for row in lower.tolist()], dtype=np.intp)
        slopes = exponents[having, j] * spreads[j]
        gradients[np.ix_(having, having)] += gram[np.ix_(found, found)] * np.outer(slopes, slopes)
    return gradients


def center(values: FloatArray, groups: IntArray, weights: FloatArray) -> FloatArray:
    """Subtract the weighted mean of each group, whose rows stand together."""
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    total = np.add.reduceat(weights, starts)
    sums = np.add.reduceat(values * weights[:, None], starts, axis=0)
    means = sums / np.where(total > 0, total, 1.0)[:, None]
    return np.asarray(values - np.repeat(means, np.diff(np.r_[starts, len(values)]), axis=0))


def even_weights(values: FloatArray, least: float = SMALL_ROW) -> FloatArray:
    """Return weights of rows with which none dominates the moments.

    Noise makes g² ≈ σ² |∇g|² in every row, so every weighting gives a law the same extent. Without
    one, the moments of high powers consist of a few rows, and a polynomial that is steep there and
    nowhere else has a smaller extent than the law. Rows whose mean square is below ``least`` weigh
    no more than others. ``values`` has the shape (n_terms, n_rows).
    """
    sizes = np.mean(values**2, axis=1, keepdims=True)
    weights = 1.0 / (np.mean(values**2 / np.where(sizes > 0, sizes, 1.0), axis=0) + least)
    return np.asarray(weights / weights.sum())


def find_singular_vectors(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular value decomposition with as few vectors as there are values.

    The fast method of LAPACK does not always converge where many values are close to 0 or 1, as
    those of orthonormal factors are. The slower one does.
    """
    try:
        left, singular, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        left, singular, right = svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return left, singular, right


def smallest_extent(terms: Terms) -> float:
    """Return the smallest extent of any polynomial with these terms."""
    extents, _ = solve(terms)
    return float(extents[-1])


def solve(terms: Terms) -> tuple[FloatArray, FloatArray]:
    """Return all extents of the generalized problem, falling, and the coefficients of each."""
    size = np.sqrt(np.diag(terms.values))
    top = terms.factor / size
    squares, vectors = np.linalg.eigh(terms.gradients / np.outer(size, size))
    bottom = np.sqrt(np.clip(squares, 0, None))[:, None] * vectors.T
    left, singular, right = find_singular_vectors(np.vstack([top, bottom]))
    # Products of laws have tiny values and tiny gradients: their ratio is rounding.
    kept = singular > np.sqrt(terms.rounding) * singular[0]
    _, sines, turned = find_singular_vectors(left[: len(top), kept])
    extents = sines / np.sqrt(np.clip(1 - sines**2, 1e-300, None))
    return extents, (turned / singular[kept]) @ right[kept] / size


def shorten(terms: Terms, noise: float) -> list[Support]:
    """Return short polynomials among those that vanish at a noise level.

    For each term the combination of vanishing polynomials with the smallest sum of absolute
    coefficients in which this term has the coefficient 1: a linear program, whose solutions have
    few terms.
    """
    extents, coefficients = solve(terms)
    vanishing = coefficients[extents <= noise]
    if not len(vanishing):
        return []
    slopes = np.sqrt(np.diag(terms.gradients))
    scaled = vanishing * np.where(slopes > 0, slopes, 1.0)
    n_polynomials, n_terms = scaled.shape
    costs = np.r_[np.zeros(n_polynomials), np.ones(n_terms)]
    upper = np.block([[scaled.T, -np.eye(n_terms)], [-scaled.T, -np.eye(n_terms)]])
    bounds = [(None, None)] * n_polynomials + [(0, None)] * n_terms
    supports = set()
    for term in np.flatnonzero(slopes > 0):
        if np.abs(scaled[:, term]).max() <= 1e-9 * np.abs(scaled).max():
            continue
        unit = np.r_[scaled[:, term], np.zeros(n_terms)][None]
        result = linprog(costs, upper, np.zeros(2 * n_terms), unit, [1.0], bounds)
        if result.status == 0:
            sizes = np.abs(result.x[:n_polynomials] @ scaled)
            chosen = np.flatnonzero(sizes > max(1e-6, 5 * noise) * sizes.max())
            supports.add(tuple(int(i) for i in chosen))
    return sorted(supports, key=len)


def primitive(exponents: IntArray, supports: IntArray) -> BoolArray:
    """Return which supports have no common factor, and are not powers of shorter equations.

    x y = x z says no more than y = z, and x³ = y³ no more than x = y.
    """
    has_factor = exponents[supports].min(axis=1).any(axis=1)
    if supports.shape[1] > 2:
        return np.asarray(~has_factor)
    powers = np.gcd.reduce(np.gcd.reduce(exponents[supports], axis=1), axis=1)
    return np.asarray(~has_factor & (powers == 1))


def search_supports(terms: Terms, noise: float, size: int) -> IntArray:
    """Return the supports of a size that carry a relation, and no smaller part of which does."""
    shifted = terms.shifted(noise)
    n_terms = len(shifted)
    if size == 1:
        return np.flatnonzero(np.diag(shifted) <= 0)[:, None]
    order, n_heads = np.arange(n_terms), n_terms
    if size > 3:
        definite = _definite_part(shifted)
        order, n_heads = np.argsort(definite, kind="stable"), int(np.sum(~definite))
    shifted = shifted[np.ix_(order, order)]
    found: list[IntArray] = []
    for chosen in combinations(range(n_terms), max(size - 3, 0)):
        if chosen and chosen[0] >= n_heads:  # what is left is definite
            break
        rest = np.arange(chosen[-1] + 1 if chosen else 0, n_terms)
        complement = shifted[np.ix_(rest, rest)]
        if chosen:
            head = np.array(chosen, dtype=np.intp)
            block, across = shifted[np.ix_(head, head)], shifted[np.ix_(head, rest)]
            complement = complement - across.T @ np.linalg.solve(block, across)
        alive = np.diag(complement) > 0
        rest, complement = rest[alive], complement[np.ix_(alive, alive)]
        if len(rest) < min(size, 3):
            continue
        scale = 1 / np.sqrt(np.diag(complement))
        tails = (_dependent_pairs if size == 2 else _dependent_triples)(
            complement * scale * scale[:, None]
        )
        if len(tails):
            heads = np.broadcast_to(np.array(chosen, dtype=np.intp), (len(tails), len(chosen)))
            found.append(np.column_stack([heads, rest[tails]]))
    if not found:
        return np.empty((0, size), dtype=np.intp)
    return np.sort(order[_minimal(shifted, np.concatenate(found))], axis=1)


def _definite_part(shifted: FloatArray) -> BoolArray:
    """Return terms whose block is definite, taken one after the other (a Cholesky factor).

    None of their supports carries a relation.
    """
    left = shifted.copy()
    taken = np.zeros(len(left), dtype=bool)
    for i in range(len(left)):
        # Not what rounding errors may hide.
        if left[i, i] > len(left) * np.finfo(float).eps * shifted[i, i]:
            taken[i] = True
            left -= np.outer(left[i], left[i] / left[i, i])
    return taken


def _dependent_pairs(correlations: FloatArray) -> IntArray:
    """Return the pairs whose correlation is 1 or more, which no definite matrix has."""
    return np.argwhere(np.triu(np.abs(correlations) >= 1, 1))


def _dependent_triples(correlations: FloatArray) -> IntArray:
    """Return the triples with a determinant of 0 or less, no pair of which is dependent."""
    apart = np.abs(correlations) < 1
    later = np.triu(apart, 1)
    found = []
    for i in range(len(correlations) - 2):
        first, rest = correlations[i, i + 1 :], apart[i, i + 1 :]
        # (r_jk - r_ij r_ik)² ≥ (1 - r_ij²)(1 - r_ik²), a determinant of three rows
        gaps = correlations[i + 1 :, i + 1 :] - first * first[:, None]
        gaps *= gaps
        left = np.where(rest, 1 - first**2, np.inf)
        hits = (gaps >= left * left[:, None]) & later[i + 1 :, i + 1 :]
        if hits.any():
            j, k = i + 1 + np.array(np.nonzero(hits))
            found.append(np.column_stack([np.full(len(j), i), j, k]))
    return np.concatenate(found) if found else np.empty((0, 3), dtype=np.intp)


def _are_definite(blocks: FloatArray) -> BoolArray:
    """Return which matrices are positive definite, shape (..., n, n)."""
    return np.asarray(np.linalg.eigvalsh(blocks)[..., 0] > 0)


def _minimal(shifted: FloatArray, supports: IntArray) -> IntArray:
    """Return the supports no part of which carries a relation."""
    size = supports.shape[1]
    kept = np.ones(len(supports), dtype=bool)
    for left_out in range(size):
        parts = np.delete(supports, left_out, axis=1)
        blocks = shifted[parts[:, :, None], parts[:, None, :]]
        kept &= _are_definite(blocks)
    return supports[kept]


def eliminate(terms: Terms, noise: float, kept: int | None = None) -> Support | None:
    """Leave out terms one by one as long as the others carry a relation.

    Each time the term goes that contributes least to the relation of the smallest extent, unless
    none is left without it. ``kept`` is a term that stays.
    """
    shifted = terms.shifted(noise)
    left = np.arange(len(shifted))
    fixed = {kept} if kept is not None else set()
    extents, vectors = np.linalg.eigh(shifted)
    if extents[0] > 0:
        return None
    while len(left) > 2:
        block = shifted[np.ix_(left, left)]
        _, vectors = np.linalg.eigh(block)
        order = np.argsort(np.abs(vectors[:, 0]))
        for position in order:
            if left[position] in fixed:
                continue
            fewer = np.delete(left, position)
            if not _are_definite(shifted[np.ix_(fewer, fewer)]):
                left = fewer
                break
            fixed.add(int(left[position]))
        else:
            break
    return tuple(int(i) for i in left)


# --- Which terms ----------------------------------------------------------------------------------


def check_options(max_degree: Any, random_state: Any) -> None:
    """Raise if an option of a search is not a whole number in its range."""
    for name, value, least in (("max_degree", max_degree, 1), ("random_state", random_state, 0)):
        if value is not None:
            check_whole(name, value, least)


def choose_degree(n_columns: int, max_degree: int | None, notes: list[str]) -> int:
    """Return the highest degree whose monomials are few enough."""
    wanted = HIGHEST_DEGREE if max_degree is None else max_degree
    degree = 1
    while degree < wanted and count(n_columns, degree + 1) <= MOST_TERMS:
        degree += 1
    if degree < wanted:
        notes.append(
            f"laws of degree {degree + 1} and more were not looked for in {n_columns} columns"
        )
    if n_columns >= MOST_FACTORED:
        notes.append(f"laws of more than three terms were not looked for in {n_columns} columns")
    return degree


def order_terms(exponents: IntArray) -> IntArray:
    """Return the order that monomials have, by their exponents."""
    return np.lexsort((*-exponents.T[::-1], exponents.sum(axis=1)))


def sort_terms(exponents: IntArray) -> IntArray:
    """Return exponents in the order that monomials have."""
    return exponents[order_terms(exponents)]


def highest_powers(rows: FloatArray, spreads: FloatArray) -> IntArray:
    """Return for each column the lowest power that is left out.

    A column with k values satisfies an equation of degree k of its own, which is not a law. Powers
    of a column whose spread is tiny beside its size are the same up to rounding.
    """
    levels = np.array([len(np.unique(column)) for column in rows.T])
    resolved = np.floor(6.0 / np.maximum(-np.log10(np.clip(spreads, 1e-300, 1.0)), 1e-9))
    return np.asarray(np.minimum(levels, np.maximum(resolved, 1) + 1), dtype=np.intp)
