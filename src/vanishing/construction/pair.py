"""The generalized problem C(X)'C(X) V = 𝔑(C) V Λ (paper, eq. gep), on factors.

With factors A of the left side and B of the right one this is a generalized singular value problem.
It is solved by a QR factorization of the two stacked and a CS decomposition of its orthogonal part,
so that small extents keep their digits and no Gram matrix is formed.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import get_lapack_funcs, qr, solve_triangular, svd

from vanishing._xp import FloatArray, norms, triangular_factor

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
#: Entries within this share of the largest are tied when the sign is chosen.
SIGN_TIE = 1e-6
#: Extents that differ by less than this share are tied: their directions may be mixed.
EXTENT_TIE = 1e-10


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
    """

    factor: FloatArray
    scale: FloatArray
    error: FloatArray

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
        there does not hang on rounding.
    extents : array of shape (n_finite,)
        ‖A v‖.
    noise : array of shape (n_finite,)
        Extents below this are rounding errors.
    unbounded : array of shape (n_columns, n_unbounded)
        Directions of size 0 under the normalization and ‖A v‖ = 1.
    dropped : int
        Number of directions that are zero on both sides.
    condition : float
        Condition number of the scaled, stacked factors on their range.
    reduced : array of shape (n_columns, n_finite) or None
        ``vectors`` less multiples of exact relations, for F, where these multiples are large.
    """

    vectors: FloatArray
    extents: FloatArray
    noise: FloatArray
    unbounded: FloatArray
    dropped: int
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
    q, triangle, order = _rank_revealing_qr(stacked, noise)
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
    finite, infinite = ~zero_b, zero_b & ~zero_a

    found, extents = _without_arbitrary_rotation(
        vectors[:, finite] / norm_b[finite], norm_a[finite] / norm_b[finite], points, noise
    )
    # In the stack a vector of size 1 under the form has length weight_b, and its part on X,
    # weight_a |A v|, is known to eps of that.
    floor = np.maximum(points.noise(found), SAFETY * EPS * _inverse(weight_a) * weight_b)
    unbounded = _echelon(vectors[:, infinite] / norm_a[infinite])
    return PairSolution(
        vectors=with_fixed_signs(found),
        extents=extents,
        noise=floor,
        unbounded=with_fixed_signs(unbounded),
        dropped=n_columns - int(finite.sum()) - int(infinite.sum()),
        condition=_condition(triangle[:, :rank]),
    )


def _without_arbitrary_rotation(
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
    stacked: FloatArray, noise: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Q, R and the order of columns of the part above the noise."""
    q, triangle = qr(stacked, mode="economic", check_finite=False)
    if triangle.shape[0] == triangle.shape[1] and _reciprocal_condition(triangle) > max(
        WELL_CONDITIONED, noise
    ):
        return q, triangle, np.arange(triangle.shape[1])
    q, triangle, order = qr(stacked, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.sum(diagonal > noise * (diagonal[0] if diagonal.size else 0.0)))
    return q[:, :rank], triangle[:rank], order


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
