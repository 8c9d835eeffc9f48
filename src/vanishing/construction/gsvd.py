"""The generalized problem C(X)'C(X) V = 𝔑(C) V Λ (paper, eq. gep), on factors.

With factors A of the left side and B of the right one this is a generalized singular value problem.
It is solved by a QR factorization of the two stacked and a CS decomposition of its orthogonal part,
so that small extents keep their digits and no Gram matrix is formed.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import get_lapack_funcs, lapack, qr, solve_triangular, svd

from vanishing.arrays.factorizations import norms, triangular_factor
from vanishing.arrays.namespace import FloatArray, IntArray
from vanishing.construction.stage import Coordinates

# --- The generalized problem C(X)'C(X) V = 𝔑(C) V Λ (paper, eq. gep), on factors ------------------
#
# With factors A of the left side and B of the right one this is a generalized singular value
# problem.
# It is solved by a QR factorization of the two stacked and a CS decomposition of its orthogonal
# part,
# so that small extents keep their digits and no Gram matrix is formed.

#: Rounding errors are taken to be at most this many units.
SAFETY = 64.0
#: For extents to be tied as mere rounding errors they have to be smaller: what lies between counts
#: as vanishing, but may still be known to a digit or two.
TIE_SAFETY = 8.0
EPS = float(np.finfo(np.float64).eps)
#: Stacks better conditioned than this need no pivoting.
WELL_CONDITIONED = 1e-9
#: Directions that are zero up to less than this are exact for all purposes.
EXACT_NULL = 1e-12
#: Rounding errors up to this share of the size of the terms are those of the data itself, which
#: nobody wants to be told of: a relation that holds to that accuracy is called exact.
EXACT = 1e-8
#: Coarse arithmetic (Gram matrices, single precision) is trusted as far as this many times its own
#: rounding error.
COARSE = 16.0
#: A size under the normalization with a larger relative error than this is not known at all.
KNOWN_SIZE = 0.1
#: Entries within this share of the largest are tied when the sign is chosen.
SIGN_TIE = 1e-6
#: Extents that differ by less than this share are tied: their directions may be mixed.
EXTENT_TIE = 1e-10
#: Codes of LAPACK's gejsv: accurate relative to each column, no U, V, the full range of numbers,
#: no transposition, no perturbation of tiny numbers.
_BY_COLUMNS = {"joba": 0, "jobu": 3, "jobv": 0, "jobr": 0, "jobt": 0, "jobp": 0}


@dataclass(frozen=True, eq=False)
class Side:
    """One side of the pair.

    Parameters
    ----------
    factor : array of shape (n_rows, n_columns)
    scale : array of shape (n_columns,)
        Size of each column before projection.
    error : array of shape (n_columns,)
        Size of the rounding error of each column.
    terms : array of shape (n_columns,)
        Size of what each column is made of, which may be larger than the column itself.
    unit : float
        Relative rounding error of the values themselves, without what earlier degrees add.
    """

    factor: FloatArray
    scale: FloatArray
    error: FloatArray
    terms: FloatArray
    unit: float = EPS

    @property
    def trusted(self) -> float:
        """The largest rounding error, relative to the size of the terms, that is no concern."""
        return max(EXACT, COARSE * SAFETY * self.unit)

    def restricted(self, subspace: FloatArray) -> "Side":
        """Return the side in the coordinates of a subspace, given by orthonormal columns."""
        sizes = np.abs(subspace)
        return Side(
            self.factor @ subspace,
            self.scale @ sizes,
            self.error @ sizes,
            self.terms @ sizes,
            self.unit,
        )

    def negligible(self, v: FloatArray) -> FloatArray:
        """Return what ‖factor @ v‖ may be for ``v`` to be called zero, one value a column."""
        return np.asarray(self.trusted * (self.terms @ np.abs(v)))

    def noise(self, v: FloatArray) -> FloatArray:
        """Bound the rounding error of ‖factor @ v‖, one value a column of ``v``."""
        return np.asarray(SAFETY * (self.error @ np.abs(v)))

    def norms(self, v: FloatArray) -> FloatArray:
        """Return ‖factor @ v‖, one value a column of ``v``."""
        return norms(self.factor @ v)


@dataclass(frozen=True, eq=False)
class PairSolution:
    """Directions that diagonalize both sides.

    Parameters
    ----------
    vectors : array of shape (n_columns, n_finite)
        Size 1 under the normalization. Extents ascend, except where they are tied: the order
        there does not depend on rounding.
    extents : array of shape (n_finite,)
        ‖A v‖.
    noise : array of shape (n_finite,)
        Extents up to this are rounding errors: the polynomial vanishes as far as anybody can tell.
    doubt : array of shape (n_finite,)
        Extents between ``noise`` and this may be rounding errors or not: the errors are larger than
        those of the data, and the arithmetic does not decide.
    unbounded : array of shape (n_columns, n_unbounded)
        Directions of size 0 under the normalization and ‖A v‖ = 1.
    dropped : int
        Number of directions that are zero on both sides.
    lost : int
        Number of directions that are zero on both sides up to rounding errors too large to tell.
    condition : float
        Condition number of the scaled, stacked factors on their range.
    reduced : array of shape (n_columns, n_finite) or None
        ``vectors`` less multiples of exact relations, for F, where these multiples are large.
    """

    vectors: FloatArray
    extents: FloatArray
    noise: FloatArray
    doubt: FloatArray
    unbounded: FloatArray
    dropped: int
    lost: int
    condition: float
    reduced: FloatArray | None = None


def solve_pair(points: Side, form: Side) -> PairSolution:
    """Solve the problem for A = ``points`` and B = ``form``."""
    n_columns = points.scale.shape[0]
    # Columns get norm about 1 in the stack, the sides equal weight. Sizes before projection are
    # used: the rounding errors are relative to them, so that blowing up a small residual would
    # only blow up its noise.
    weight_a, weight_b = (_inverse(norms(each.scale[:, None])[0]) for each in (points, form))
    d = _inverse(np.hypot(points.scale * weight_a, form.scale * weight_b))
    a = _compressed(points.factor * (weight_a * d))
    b = _compressed(form.factor * (weight_b * d))
    noise = SAFETY * float(
        np.max(d * np.maximum(points.error * weight_a, form.error * weight_b), initial=0.0)
    )
    stacked, height = np.vstack([a, b]), len(a)
    del a, b  # square matrices, of which there are many here
    trusted = max(points.trusted, form.trusted)
    q, triangle, order, lost = _rank_revealing_qr(stacked, noise, trusted)
    del stacked
    rank = len(triangle)

    w, alpha, beta = _cs_decomposition(q[:height], q[height:])
    del q
    vectors = np.zeros((n_columns, rank))
    vectors[order[:rank]] = solve_triangular(triangle[:, :rank], w, check_finite=False)
    if rank < n_columns and noise < EXACT_NULL:
        # What is zero on both sides may be added at will: the smallest vector is taken, so that
        # the outcome does not hang on which columns happened to be pivots. Not so where rounding
        # errors are large: what counts as zero then is not zero enough to be added.
        null = np.zeros((n_columns, n_columns - rank))
        null[order[:rank]] = -solve_triangular(triangle[:, :rank], triangle[:, rank:])
        null[order[rank:]] = np.eye(n_columns - rank)
        unit = qr(null, mode="economic", check_finite=False)[0]
        vectors -= unit @ (unit.T @ vectors)
    vectors *= d[:, None]

    norm_a, norm_b = points.norms(vectors), form.norms(vectors)
    # A side may also be zero below the rounding of the decomposition itself (alpha, beta <= eps).
    zero_a = (norm_a <= points.noise(vectors)) | (alpha <= SAFETY * EPS)
    zero_b = (norm_b <= form.noise(vectors)) | (beta <= SAFETY * EPS)
    finite, infinite, neither = ~zero_b, zero_b & ~zero_a, zero_b & zero_a
    lost += int(
        np.sum(
            (norm_a[neither] > points.negligible(vectors[:, neither]))
            | (norm_b[neither] > form.negligible(vectors[:, neither]))
        )
    )

    found: FloatArray = vectors[:, finite] / norm_b[finite]
    unbounded = vectors[:, infinite] / norm_a[infinite]
    # In the stack a vector of size 1 under the form has length weight_b, and its part on X,
    # weight_a |A v|, is known to eps of that. Above the errors of A itself, that can be bettered.
    resolution = SAFETY * EPS * float(_inverse(weight_a) * weight_b)
    extents = points.norms(found)
    if np.any((extents > points.noise(found)) & (extents <= resolution)):
        found = _refined(found, unbounded, points, form)
    found, extents = without_arbitrary_rotation(found, points.norms(found), points, noise)
    # What is refined has been separated twice, each time up to the errors of the stack.
    rounding = SAFETY * EPS * resolution
    doubt = np.maximum(points.noise(found), rounding)
    # No more directions are nonvanishing than A has rows: the rest is zero, whatever comes out.
    n_zero_on_points = max(0, len(extents) + unbounded.shape[1] - len(points.factor))
    smallest = np.argsort(extents, kind="stable")[:n_zero_on_points]
    doubt[smallest] = np.maximum(doubt[smallest], extents[smallest])
    # Where the normalization of a direction is not known, its extent is not either.
    is_known = form.noise(found) <= KNOWN_SIZE
    negligible = np.where(is_known, np.maximum(points.negligible(found), rounding), 0.0)
    n_zero = n_columns - int(finite.sum()) - int(infinite.sum())
    return PairSolution(
        vectors=with_fixed_signs(found),
        extents=extents,
        noise=np.minimum(doubt, negligible),
        doubt=doubt,
        unbounded=with_fixed_signs(_echelon(unbounded)),
        dropped=n_zero - lost,
        lost=lost,
        condition=_condition(triangle[:, :rank]),
    )


def _refined(vectors: FloatArray, unbounded: FloatArray, points: Side, form: Side) -> FloatArray:
    """Separate directions whose extents differ by more than the rounding error of the stack.

    Columns of X in very different units, a timestamp beside a temperature, have extents of 1e12
    and 1. The error of the long direction in the short one, eps of the former, hides the latter.
    In the coordinates of the first solution the columns of A are graded, and the singular values
    of a graded matrix can be found each to its own accuracy.

    Parameters
    ----------
    vectors : array of shape (n_columns, n_finite)
        Of size 1 under the form.
    unbounded : array of shape (n_columns, n_unbounded)
        Of size 0 under the form and 1 on the points.
    points, form : Side
    """
    if vectors.shape[1] < 2 and not unbounded.size:
        return vectors
    on_points = points.factor @ unbounded
    vectors = vectors - unbounded @ (on_points.T @ (points.factor @ vectors))
    triangle = qr(form.factor @ vectors, mode="r", check_finite=False)[0][: vectors.shape[1]]
    vectors = solve_triangular(triangle, vectors.T, trans="T", check_finite=False).T
    vectors = vectors[:, np.argsort(-points.norms(vectors), kind="stable")]
    return np.asarray(vectors @ right_singular_vectors(points.factor @ vectors))


def right_singular_vectors(matrix: FloatArray) -> FloatArray:
    """Return the right singular vectors of a matrix whose columns are of very different sizes.

    Jacobi's method on the columns is accurate relative to each of them (Demmel and Veselić, 1992).
    """
    n_rows, n_columns = matrix.shape
    largest = np.max(norms(matrix), initial=0.0)
    if largest == 0:
        return np.eye(n_columns)
    tall = np.zeros((max(n_rows, n_columns), n_columns), order="F")
    tall[:n_rows] = matrix / largest
    _, _, vectors, _, _, info = lapack.dgejsv(tall, **_BY_COLUMNS)
    if info != 0:
        raise np.linalg.LinAlgError(f"LAPACK's gejsv returned info={info}")
    return np.asarray(vectors)


def without_arbitrary_rotation(
    vectors: FloatArray, extents: FloatArray, points: Side, noise: float
) -> tuple[FloatArray, FloatArray]:
    """Sort by extents, and fix the directions among tied ones, which the decomposition leaves open.

    The candidates of the next degrees are chosen by these directions: an arbitrary rotation would
    make results depend on the order of rows. Extents that are rounding errors are all tied.
    """
    order = np.argsort(extents, kind="stable")
    vectors, extents = vectors[:, order], extents[order]
    same = extents[1:] - extents[:-1] <= max(EXTENT_TIE, noise) * extents[1:]
    same |= (extents <= points.noise(vectors) * (TIE_SAFETY / SAFETY))[1:]
    first = np.concatenate([[0], np.flatnonzero(~same) + 1, [len(extents)]])
    for start, stop in pairwise(first.tolist()):
        if stop - start > 1:
            vectors[:, start:stop] = _echelon(vectors[:, start:stop])
            extents[start:stop] = points.norms(vectors[:, start:stop])
    return vectors, extents


def _echelon(vectors: FloatArray) -> FloatArray:
    """Rotate columns among themselves to lower trapezoidal form, which is unique up to signs."""
    if vectors.shape[1] < 2:
        return vectors
    scale = norms(vectors.T).max()
    rotation = qr(vectors.T / scale, mode="economic", check_finite=False)[0]
    return np.asarray(vectors @ rotation)


def _inverse(size: FloatArray | np.floating) -> FloatArray:
    size = np.asarray(size, dtype=np.float64)
    return np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)


def _compressed(factor: FloatArray) -> FloatArray:
    """Return a factor of the same form with no more rows than columns."""
    if factor.shape[0] <= factor.shape[1]:
        return factor
    return np.asarray(triangular_factor(np.ascontiguousarray(factor.T)))


def _rank_revealing_qr(
    stacked: FloatArray, noise: float, trusted: float
) -> tuple[FloatArray, FloatArray, IntArray, int]:
    """Return Q, R and the order of columns of the part above the noise.

    The last value is how many of the directions below the noise are not negligible.
    """
    q, triangle = qr(stacked, mode="economic", check_finite=False)
    if triangle.shape[0] == triangle.shape[1] and _reciprocal_condition(triangle) > max(
        WELL_CONDITIONED, noise
    ):
        return q, triangle, np.arange(triangle.shape[1]), 0
    q, triangle, order = qr(stacked, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(triangle))
    largest = diagonal[0] if diagonal.size else 0.0
    rank = int(np.sum(diagonal > noise * largest))
    lost = int(np.sum(diagonal[rank:] > trusted * largest))
    return q[:, :rank], triangle[:rank], order, lost


def _cs_decomposition(
    q_a: FloatArray, q_b: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return orthogonal W and the singular values of q_a W and q_b W (alpha² + beta² = 1)."""
    rank = q_a.shape[1]
    _, singular, wt = svd(q_a, full_matrices=True, check_finite=False)
    alpha = np.zeros(rank)
    alpha[: singular.shape[0]] = singular
    w = wt.T
    # Where alpha is near 1 it says little about beta: those directions are separated by q_b.
    large = alpha > np.sqrt(0.5)
    _, singular, zt = svd(q_b @ w[:, large], full_matrices=True, check_finite=False)
    w[:, large] = w[:, large] @ zt.T
    beta = np.sqrt(np.maximum(0.0, 1.0 - alpha**2))
    beta[large] = 0.0
    beta[np.flatnonzero(large)[: singular.shape[0]]] = singular
    alpha[large] = np.sqrt(np.maximum(0.0, 1.0 - beta[large] ** 2))
    return w, alpha, beta


def with_fixed_signs(vectors: FloatArray) -> FloatArray:
    """Make the largest entry of each column positive; ties go to the lower index."""
    if vectors.size == 0:
        return vectors
    sizes = np.abs(vectors)
    largest = np.argmax(sizes >= (1.0 - SIGN_TIE) * sizes.max(axis=0), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs))


def _reciprocal_condition(triangle: FloatArray) -> float:
    if triangle.shape[0] == 0:
        return 1.0
    (trcon,) = get_lapack_funcs(("trcon",), (triangle,))
    reciprocal, _ = trcon(triangle)
    return float(reciprocal)


def _condition(triangle: FloatArray) -> float:
    reciprocal = _reciprocal_condition(triangle)
    return 1.0 / reciprocal if reciprocal > 0 else float("inf")


# --- The generalized problem C(X)'C(X) V = 𝔑(C) V Λ (paper, eq. gep) for forms of any grading -----
#
# The sizes under a form of polynomials that are alike on the points may differ by any power of the
# units of the data. Extents then say little about what is a rounding error: that of a relation that
# holds exactly, but is small under the form, may exceed the extent of a polynomial that is none and
# large under it. Exact relations are therefore found first, in coordinates of ordinary size. They
# vanish whatever the form is.
#
# The form on the rest is the size of what is orthogonal to the relations. In coordinates w in which
# it is the identity the problem is the singular value decomposition of A K, v = K w. Columns of K
# are
# of as different sizes as the form makes them; a decomposition that is accurate relative to the
# largest would take the small ones for rounding errors. Jacobi's method, on the columns, is
# accurate
# relative to each of them (Demmel and Veselić, 1992).


def solve_in_coordinates(points: Side, coordinates: Coordinates) -> PairSolution:
    """Solve the problem for A = ``points`` and a form in coordinates of ordinary size.

    Parameters
    ----------
    points : Side
    coordinates : Coordinates
        Directions outside of them are zero under the form and on the points.
    """
    plain, B = coordinates.plain, coordinates.factor
    null, free = _null_directions(points, plain)
    n_null = null.shape[1]
    relations = null @ inverse_factor(B @ null)  # size 1 under the form
    q = qr(B @ null, check_finite=False)[0]
    K = free @ inverse_factor(q[:, n_null:].T @ (B @ free))
    K, relations = (np.ldexp(each, -coordinates.exponent) for each in (K, relations))

    rest = plain @ (K @ right_singular_vectors(points.factor @ (plain @ K)))
    (exact, small), (others, extents) = (
        without_arbitrary_rotation(part, points.norms(part), points, SAFETY * EPS)
        for part in (plain @ relations, rest)
    )
    # Made orthogonal to the relations under the form. That may add large multiples of them; F
    # does without these, which are zero on the points.
    sizes = norms(plain)
    y = ((plain / sizes).T @ others) / sizes[:, None]
    multiples = np.ldexp((B @ relations).T @ (B @ y), 2 * coordinates.exponent)
    vanishing = others - plain @ (relations @ multiples)
    # What is a rounding error is settled.
    doubt = np.concatenate(
        [
            np.maximum(points.noise(exact), small),
            np.minimum(points.noise(others), 0.5 * extents),
        ]
    )
    vectors = with_fixed_signs(np.hstack([exact, vanishing]))
    return PairSolution(
        vectors=vectors,
        extents=np.concatenate([small, extents]),
        noise=np.minimum(doubt, points.negligible(np.hstack([exact, others]))),
        doubt=doubt,
        unbounded=np.zeros((len(plain), 0)),
        dropped=len(plain) - plain.shape[1] - coordinates.lost,
        lost=coordinates.lost,
        condition=coordinates.condition,
        reduced=with_fixed_signs(np.hstack([exact, others])),
    )


def inverse_factor(matrix: FloatArray) -> FloatArray:
    """Return K with ``matrix @ K`` orthonormal, for rows of any sizes.

    A QR factorization with rows sorted by size and pivoted columns keeps every row to a unit of
    its own rounding (Cox and Higham, 1998).

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns)
        With independent columns.

    Returns
    -------
    array of shape (n_columns, n_columns)
    """
    n_columns = matrix.shape[1]
    rows = np.argsort(-norms(matrix.T), kind="stable")
    triangle, pivots = qr(matrix[rows], mode="r", pivoting=True, check_finite=False)
    inverse = np.zeros((n_columns, n_columns))
    # A column at a time: entries of R decrease along a row, so that nothing grows.
    inverse[pivots] = solve_triangular(
        triangle[:n_columns], np.eye(n_columns), trans="T", check_finite=False
    ).T
    return inverse


def _null_directions(points: Side, plain: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return orthonormal y for which ``plain @ y`` is zero on the points, and all others."""
    on_points = points.factor @ plain
    y = svd(on_points, full_matrices=True, check_finite=False)[2].T
    null = norms(on_points @ y) <= points.noise(plain @ y)
    return np.asarray(y[:, null]), np.asarray(y[:, ~null])
