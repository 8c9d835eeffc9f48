"""The generalized problem C(X)'C(X) V = 𝔑(C) V Λ (paper, eq. gep), solved on factors.

With A'A = C(X)'C(X) and B'B = 𝔑(C), find vectors v with ‖B v‖ = 1 that diagonalize both sides. The
extent of the polynomial C v is then ‖A v‖, its size on X relative to its size under the
normalization: the square root of the generalized eigenvalue.

The obvious way, an eigenvalue problem of the two Gram matrices, squares all numbers: extents below
sqrt(eps) are lost, and it fails where B is singular. Instead this is solved as a generalized
singular value problem of the factors A and B themselves: a QR factorization of the two stacked,
[A; B] = [Q_A; Q_B] R, then a CS decomposition of its orthogonal part, Q_A W = U diag(α) and Q_B W =
Z diag(β) with α² + β² = 1. The columns of R⁻¹ W diagonalize both sides, and α/β are the extents.
β = 0 gives directions of infinite extent, which are nonvanishing, and a rank-deficient R directions
that are zero on both sides, which are dropped.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, qr, solve_triangular, svd

from vanishing.arrays.kernels import MANY_COLUMNS, norms, solve_upper, triangular_factor
from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    move_like,
    move_to_numpy,
    namespace,
)
from vanishing.construction.candidates import Coordinates, Form
from vanishing.levels import LONG_SUM, ROUNDING, SAFETY, SAME
from vanishing.polynomials.monomials import CANCELLED

# --- Bounds on rounding errors --------------------------------------------------------------------
#
# Whether an extent is zero is a question about rounding errors, not about the tolerance alone. Each
# column of A and B comes with a bound on its error, which lower degrees have propagated to it. The
# error of ‖A v‖ is at most the sum of these bounds times |v|. Three answers are possible:
#
#   extent <= noise           zero as far as the data itself is accurate: the polynomial vanishes
#   noise < extent <= doubt   the errors are larger than those of the data: undecided
#   doubt < extent            known, to be compared with the tolerance

EPS = float(np.finfo(np.float64).eps)
#: Squares of singular values that are not smaller are known to two thirds of the digits, so that
#: eigenvalues are as good as singular values, which take three times as long.
REGULAR = float(np.cbrt(ROUNDING))
#: Errors of rounding that are better known than by ``SAFETY``: half of its bits.
CLOSELY = float(np.sqrt(SAFETY))


def bound_trusted_error(unit: float) -> float:
    """Return the largest error that counts as one of the data: half of the digits, at least."""
    return max(SAME, LONG_SUM / ROUNDING * unit)


class RankMargin(NamedTuple):
    """How far sizes are from the threshold that decides about a rank, relative to it."""

    accepted: float = np.inf  # the smallest size that counts
    rejected: float = 0.0  # the largest size that is taken for zero

    @classmethod
    def measure(
        cls, sizes: FloatArray, threshold: float | FloatArray, counts: BoolArray
    ) -> "RankMargin":
        """Compare sizes with a threshold."""
        # Zeros are as far from any threshold as can be, and so are sizes without an error.
        ratios = np.divide(sizes, threshold, out=np.full(len(sizes), np.inf), where=threshold > 0)
        accepted, rejected = ratios[counts], ratios[~counts & (sizes > 0)]
        return cls(float(np.min(accepted, initial=np.inf)), float(np.max(rejected, initial=0.0)))

    def join(self, other: "RankMargin") -> "RankMargin":
        """Return the margin of two decisions."""
        return RankMargin(min(self.accepted, other.accepted), max(self.rejected, other.rejected))


NO_DECISION = RankMargin()  # no rank was in question


@dataclass(frozen=True, eq=False)
class Side:
    """One side of the problem, A or B."""

    factor: FloatArray
    scale: FloatArray  # of each column before projection
    error: FloatArray  # rounding error of each column
    terms: FloatArray  # size of the terms of each column, which may cancel
    unit: float = EPS  # relative rounding error of the values themselves
    definite: bool = False

    @property
    def trusted(self) -> float:
        """The largest rounding error, relative to the size of the terms, that is acceptable."""
        return bound_trusted_error(self.unit)

    def restrict(self, subspace: FloatArray) -> "Side":
        """Return the side in the coordinates of a subspace, given by orthonormal columns."""
        sizes = np.abs(subspace)
        return Side(
            self.factor @ subspace,
            self.scale @ sizes,
            self.error @ sizes,
            self.terms @ sizes,
            self.unit,
            self.definite,
        )

    def negligible(self, v: FloatArray) -> FloatArray:
        """Bound ‖factor @ v‖ for ``v`` to be called zero, one value per column."""
        return np.asarray(self.trusted * (self.terms @ np.abs(v)))

    def noise(self, v: FloatArray) -> FloatArray:
        """Bound the rounding error of ‖factor @ v‖, one value per column of ``v``."""
        return np.asarray(SAFETY * (self.error @ np.abs(v)))

    def norms(self, v: FloatArray) -> FloatArray:
        """Return ‖factor @ v‖, one value per column of ``v``."""
        return norms(self.factor @ v)


@dataclass(frozen=True, eq=False)
class Solution:
    """Directions that diagonalize both sides; extents ascend, except among ties."""

    vectors: FloatArray  # one a column, of size 1 under the normalization
    reduced: FloatArray  # without large multiples of exact relations, for F
    extents: FloatArray  # ‖A v‖
    noise: FloatArray  # extents up to this vanish
    doubt: FloatArray  # extents up to this may be rounding errors
    unbounded: FloatArray  # of size 0 under the normalization, and ‖A v‖ = 1
    dropped: int  # directions that are zero on both sides
    lost: int  # directions that may be zero on both sides
    condition: float
    margin: RankMargin = NO_DECISION
    n_certain: int = 0  # extents that are zero because there are so few points


def solve(points: Side, form: Form, near: Array | None = None) -> Solution:
    """Solve the problem for A = ``points`` and B = ``form``; large ones near the rows."""
    if form.coordinates is not None:
        return solve_in_coordinates(points, form.coordinates)
    sizes = Side(form.factor, form.scale, form.error, form.scale, points.unit, form.definite)
    if form.subspace is None:
        found = None
        if near is not None and len(points.scale) >= MANY_COLUMNS:  # pragma: no cover - needs CUDA
            found = solve_on_accelerator(points, sizes, near)
        return solve_pair(points, sizes) if found is None else found
    u = form.subspace
    inside = solve_pair(points.restrict(u), sizes.restrict(u))
    return replace(
        inside,
        vectors=fix_signs(u @ inside.vectors),
        reduced=fix_signs(u @ inside.reduced),
        unbounded=fix_signs(u @ inside.unbounded),
        dropped=inside.dropped + u.shape[0] - u.shape[1],
    )


# --- The problem for factors of ordinary grading --------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Scaling:
    """Factors that give columns, by their size before projection, and both sides equal weights."""

    weight_a: float
    weight_b: float
    columns: FloatArray
    noise: float  # bound on the rounding errors of the scaled stack

    @classmethod
    def of(cls, points: Side, form: Side) -> "_Scaling":
        weight_a, weight_b = (
            float(_inverse(norms(each.scale[:, None])[0])) for each in (points, form)
        )
        found = cls._weigh(points, form, weight_a, weight_b)
        is_common = (points.scale > 0) & (form.scale > SAFETY * form.error)
        if found.noise > SAME and is_common.any():
            # A column in large units that is zero on the contrast decides about one side only, and
            # its errors would hide the others. Columns that both sides have know better.
            ratio = np.exp(np.median(np.log(points.scale[is_common] / form.scale[is_common])))
            other = cls._weigh(points, form, weight_a, float(weight_a * ratio))
            found = min(found, other, key=lambda each: each.noise)
        return found

    @classmethod
    def _weigh(cls, points: Side, form: Side, weight_a: float, weight_b: float) -> "_Scaling":
        d = _inverse(np.hypot(points.scale * weight_a, form.scale * weight_b))
        if len(d) >= MANY_COLUMNS:
            # Projection may leave much less of one side than of the other. With equal weights of
            # what is left, α and β are about the same, and eigenvalues are as good as singular
            # values.
            sizes = [norms(each.factor * d) for each in (points, form)]
            whole = [float(norms(each[:, None])[0]) for each in sizes]
            if all(0 < size < np.inf for size in whole):
                largest = float(np.max(np.hypot(sizes[0] / whole[0], sizes[1] / whole[1])))
                weight_a, weight_b = (1 / (size * largest) for size in whole)
        error = np.maximum(points.error * weight_a, form.error * weight_b)
        noise = SAFETY * float(np.max(d * error, initial=0.0))
        return cls(weight_a, weight_b, d, noise)

    @property
    def resolution(self) -> float:
        """Extents below this are lost in the stack.

        There a vector of size 1 under the form has length weight_b, and its part on X,
        weight_a ‖A v‖, has an error of eps times that.
        """
        return SAFETY * EPS * float(_inverse(self.weight_a) * self.weight_b)


def solve_pair(points: Side, form: Side) -> Solution:
    """Solve the problem for A = ``points`` and B = ``form``."""
    n_columns = points.scale.shape[0]
    is_zero = (norms(points.factor) == 0) & (points.error == 0)
    if is_zero.any():
        return _solve_beside_zeros(points, form, is_zero)
    scaling = _Scaling.of(points, form)
    d, noise = scaling.columns, scaling.noise
    a = _compress(points.factor * (scaling.weight_a * d))
    b = _compress(form.factor * (scaling.weight_b * d))
    stacked, height = np.vstack([a, b]), len(a)
    del a, b  # square matrices, of which there are many here
    trusted = max(points.trusted, form.trusted)
    q, triangle, order, lost, margin = _rank_revealing_qr(stacked, noise, trusted)
    del stacked
    rank = len(triangle)

    w, alpha, beta = _cs_decomposition(q[:height], q[height:])
    del q
    vectors = np.zeros((n_columns, rank))
    vectors[order[:rank]] = solve_triangular(triangle[:, :rank], w, check_finite=False)
    relations: FloatArray = np.zeros((n_columns, 0))
    if rank < n_columns:
        null = np.zeros((n_columns, n_columns - rank))
        null[order[:rank]] = -solve_triangular(triangle[:, :rank], triangle[:, rank:])
        null[order[rank:]] = np.eye(n_columns - rank)
        unit = qr(null, mode="economic", check_finite=False)[0]
        relations = _find_relations(unit * d[:, None], points, form)
        if noise < SAFETY**2 * EPS:
            # Vectors are determined up to the null space of the stack. The smallest ones are
            # taken, so that the result does not depend on the choice of pivots. Not if rounding
            # errors are large: then the null space is not zero enough to be added.
            vectors -= unit @ (unit.T @ vectors)
    vectors *= d[:, None]

    norm_a, norm_b = points.norms(vectors), form.norms(vectors)
    # A side may also be zero up to the rounding of the decomposition itself (alpha, beta <= eps).
    zero_a = (norm_a <= points.noise(vectors)) | (alpha <= SAFETY * EPS)
    zero_b = (norm_b <= form.noise(vectors)) | (beta <= SAFETY * EPS)
    finite, infinite, neither = ~zero_b, zero_b & ~zero_a, zero_b & zero_a
    is_lost = (norm_a > points.negligible(vectors)) | (norm_b > form.negligible(vectors))
    # Under a definite form no polynomial has size zero: the digits of the size are lost.
    lost += int(np.sum(neither & (is_lost | form.definite)))

    found: FloatArray = vectors[:, finite] / norm_b[finite]
    unbounded = vectors[:, infinite] / norm_a[infinite]
    # If A itself is more accurate than the stack, refine.
    resolution = scaling.resolution
    extents = points.norms(found)
    if np.any(extents <= resolution):
        # Two zeros may be mixed, with the errors of the larger one. Their rotation is fixed later,
        # and the smaller one would seem to be known to be nonzero.
        rotated, after = fix_rotation(found, extents, points, noise)
        both, sizes = np.hstack([found, rotated]), np.append(extents, after)
        if np.any((sizes > points.noise(both)) & (sizes <= resolution)):
            found = _refine(found, unbounded, points, form)
    found = np.hstack([relations, found])
    found, extents = fix_rotation(found, points.norms(found), points, noise)
    # Refined directions were separated twice, each time up to the errors of the stack.
    rounding = SAFETY * EPS * resolution
    doubt = np.maximum(points.noise(found), rounding)
    # At most as many directions are nonvanishing as A has rows: the extents of the others are
    # rounding errors, whatever their size.
    n_zero_on_points = max(0, len(extents) + unbounded.shape[1] - len(points.factor))
    smallest = np.argsort(extents, kind="stable")[:n_zero_on_points]
    doubt[smallest] = np.maximum(doubt[smallest], extents[smallest])
    # If the size of a direction under the normalization is unknown, so is its extent.
    is_known = form.noise(found) <= 0.5
    negligible = np.where(is_known, np.maximum(points.negligible(found), rounding), 0.0)
    zero = np.minimum(doubt, negligible)
    n_zero = n_columns - found.shape[1] - unbounded.shape[1]
    lost = min(lost, n_zero)
    found = fix_signs(found)
    return Solution(
        vectors=found,
        reduced=_leave_out_relations(found, extents <= zero, points),
        extents=extents,
        noise=zero,
        doubt=doubt,
        unbounded=fix_signs(_echelon(unbounded)),
        dropped=n_zero - lost,
        lost=lost,
        condition=estimate_condition(triangle[:, :rank]),
        margin=margin,
        n_certain=n_zero_on_points,
    )


def _leave_out_relations(vectors: FloatArray, is_exact: BoolArray, points: Side) -> FloatArray:
    """Return the directions without large multiples of exact relations, for F.

    All directions are orthogonal under the form. If a relation is small under it, as one of low
    degree is on a contrast much wider than X, the others contain large multiples of it. These are
    zero on the points, but products of F would then be nearly the same multiples of the relation,
    and what distinguishes them would be lost in rounding errors.
    """
    others = vectors[:, ~is_exact]
    if not is_exact.any() or not others.size:
        return vectors
    # Orthogonal in the units of the points: rounding errors there are what should be small.
    units = np.where(points.scale > 0, points.scale, 1.0)[:, None]
    relations = vectors[:, is_exact] * units
    unit = qr(relations / norms(relations), mode="economic", check_finite=False)[0]
    rest = others * units
    rest = (rest - unit @ (unit.T @ rest)) / units
    is_large = points.noise(others) > CLOSELY * points.noise(rest)
    if not is_large.any():
        return vectors
    reduced = vectors.copy()
    reduced[:, ~is_exact] = np.where(is_large, rest, others)
    return fix_signs(reduced)


def _solve_beside_zeros(points: Side, form: Side, is_zero: BoolArray) -> Solution:
    """Solve the problem where some columns are zero on the points, without any rounding error.

    Beside other columns the decomposition would give them the errors of these, and a column of
    zeros would seem to be known to be nonzero.
    """
    n_columns = len(is_zero)
    zeros = _echelon(_find_relations(np.eye(n_columns)[:, is_zero], points, form))
    sizes = form.factor @ zeros  # orthonormal
    kept = np.eye(n_columns)[:, ~is_zero]
    sides = points.restrict(kept), form.restrict(kept)
    rest = sides[1].factor
    inside = solve_pair(sides[0], replace(sides[1], factor=rest - sizes @ (sizes.T @ rest)))

    def extend(vectors: FloatArray) -> FloatArray:
        """Return directions of all columns, orthogonal to the zeros under the form."""
        full = np.zeros((n_columns, vectors.shape[1]))
        full[~is_zero] = vectors
        return np.asarray(full - zeros @ (sizes.T @ (rest @ vectors)))

    added = np.zeros(zeros.shape[1])
    return replace(
        inside,
        vectors=fix_signs(np.hstack([zeros, extend(inside.vectors)])),
        reduced=fix_signs(np.hstack([zeros, extend(inside.reduced)])),
        extents=np.concatenate([added, inside.extents]),
        noise=np.concatenate([added, inside.noise]),
        doubt=np.concatenate([added, inside.doubt]),
        unbounded=extend(inside.unbounded),
        dropped=inside.dropped + int(is_zero.sum()) - zeros.shape[1],
    )


def _find_relations(null: FloatArray, points: Side, form: Side) -> FloatArray:
    """Return the directions of the null space of the stack that have a size under the form."""
    # Relations that are small under the form may be below errors of the stack, but not their own.
    if not form.definite and (form.norms(null) <= form.noise(null)).all():
        return null[:, :0]  # as for products that are combinations of others
    rotated = null @ right_singular_vectors(form.factor @ null)
    sizes, errors = form.norms(rotated), form.noise(rotated)
    if form.definite:
        sizes = np.maximum(sizes, errors)
        is_relation = sizes > 0
    else:
        is_relation = sizes > errors
    zero = np.minimum(points.noise(rotated), points.negligible(rotated))
    is_relation &= points.norms(rotated) <= zero
    return np.asarray(rotated[:, is_relation] / sizes[is_relation])


def _refine(vectors: FloatArray, unbounded: FloatArray, points: Side, form: Side) -> FloatArray:
    """Separate directions whose extents differ by more than the rounding error of the stack.

    Columns of X in very different units, such as a timestamp and a temperature, have extents of
    1e12 and 1. The error of the former, eps times 1e12, hides the latter. In the coordinates of the
    first solution the columns of A are graded, and each singular value of a graded matrix can be
    found to full relative accuracy.

    ``vectors`` of shape (n_columns, n_finite): of size 1 under the form. ``unbounded`` of shape
    (n_columns, n_unbounded): of size 0 under the form and size 1 on the points.
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
    """Return right singular vectors, accurate relative to each column (one-sided Jacobi)."""
    n_rows, n_columns = matrix.shape
    largest = np.max(norms(matrix), initial=0.0)
    if largest == 0:
        return np.eye(n_columns)
    tall = np.zeros((max(n_rows, n_columns), n_columns), order="F")
    tall[:n_rows] = matrix / largest
    # Accurate relative to each column, no U, V, the full range of numbers, no transposition, no
    # perturbation of tiny numbers.
    _, _, vectors, _, _, info = lapack.dgejsv(tall, joba=0, jobu=3, jobv=0, jobr=0, jobt=0, jobp=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"LAPACK's gejsv returned info={info}")
    return np.asarray(vectors)


def fix_rotation(
    vectors: FloatArray, extents: FloatArray, points: Side, noise: float
) -> tuple[FloatArray, FloatArray]:
    """Sort by extents, and fix the rotation of tied directions, which the problem leaves open.

    These directions determine the candidates of the next degrees: an arbitrary rotation would make
    results depend on the order of rows. Extents that are rounding errors are all tied.
    """
    order = np.argsort(extents, kind="stable")
    vectors, extents = vectors[:, order], extents[order]
    same = extents[1:] - extents[:-1] <= max(SAME, noise) * extents[1:]
    same |= (extents <= points.noise(vectors) / CLOSELY)[1:]
    first = np.concatenate([[0], np.flatnonzero(~same) + 1, [len(extents)]])
    for start, stop in pairwise(first.tolist()):
        if stop - start > 1:
            vectors[:, start:stop] = _echelon(vectors[:, start:stop])
            extents[start:stop] = points.norms(vectors[:, start:stop])
    return _separate_small(vectors, extents, points)


def _separate_small(
    vectors: FloatArray, extents: FloatArray, points: Side
) -> tuple[FloatArray, FloatArray]:
    """Take multiples of directions of large extents out of those of very small ones.

    Rotations leave multiples of about eps. Of relations of columns in different units, those in
    small units may have less noise than that, and would seem to be known not to vanish.
    """
    is_small = extents < SAME * extents[:, None]
    if is_small.any():
        safe = np.where(is_small.any(axis=1), extents, 1.0)  # the others are not used
        on_points = points.factor @ vectors
        multiples = ((on_points / safe).T @ on_points) / safe[:, None]
        vectors = vectors - vectors @ np.where(is_small, multiples, 0.0)
        extents = points.norms(vectors)
    return vectors, extents


def _echelon(vectors: FloatArray) -> FloatArray:
    """Rotate columns among themselves to lower trapezoidal form, which is unique up to signs."""
    if vectors.shape[1] < 2:
        return vectors
    scale = norms(vectors.T).max()
    rotation = qr(vectors.T / scale, mode="economic", check_finite=False)[0]
    return np.asarray(vectors @ rotation)


def _inverse(size: FloatArray | float) -> FloatArray:
    size = np.asarray(size, dtype=np.float64)
    return np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)


def _compress(factor: FloatArray) -> FloatArray:
    """Return a factor of the same form with no more rows than columns."""
    if factor.shape[0] <= factor.shape[1]:
        return factor
    return np.asarray(triangular_factor(np.ascontiguousarray(factor.T)))


def _rank_revealing_qr(
    stacked: FloatArray, noise: float, trusted: float
) -> tuple[FloatArray, FloatArray, IntArray, int, RankMargin]:
    """Return Q, R, columns above the noise, how many below are not negligible, the margin."""
    # Columns are scaled to size 1 before projection, which errors are relative to. What projection
    # leaves of data far from the origin may be much smaller.
    q, triangle = qr(stacked, mode="economic", check_finite=False)
    if triangle.shape[0] == triangle.shape[1]:
        condition = estimate_condition(triangle)
        smallest = np.max(np.sum(np.abs(triangle), axis=0), initial=0.0) / condition
        if condition * SAME < 1 and smallest > noise:
            margin = RankMargin.measure(np.array([smallest]), noise, np.ones(1, dtype=bool))
            return q, triangle, np.arange(triangle.shape[1]), 0, margin
    q, triangle, order = qr(stacked, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.sum(diagonal > noise))
    lost = int(np.sum(diagonal[rank:] > trusted))
    margin = RankMargin.measure(diagonal, noise, diagonal > noise)
    return q[:, :rank], triangle[:rank], order, lost, margin


def _cs_decomposition(
    q_a: FloatArray, q_b: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return orthogonal W and the singular values of q_a W and q_b W (alpha² + beta² = 1)."""
    rank = q_a.shape[1]
    if rank >= MANY_COLUMNS and _is_regular(squares := q_a.T @ q_a):
        eigenvalues, w = np.linalg.eigh(squares)
        return w, np.sqrt(eigenvalues), np.sqrt(1.0 - eigenvalues)
    _, singular, wt = _find_singular_vectors(q_a)
    alpha = np.zeros(rank)
    alpha[: singular.shape[0]] = singular
    w = wt.T
    # If alpha is near 1, sqrt(1 - alpha²) has no digits of beta: q_b separates those directions.
    large = alpha > np.sqrt(0.5)
    _, singular, zt = _find_singular_vectors(q_b @ w[:, large])
    w[:, large] = w[:, large] @ zt.T
    beta = np.sqrt(np.maximum(0.0, 1.0 - alpha**2))
    beta[large] = 0.0
    beta[np.flatnonzero(large)[: singular.shape[0]]] = singular
    alpha[large] = np.sqrt(np.maximum(0.0, 1.0 - beta[large] ** 2))
    return w, alpha, beta


def _find_singular_vectors(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the full singular value decomposition.

    The fast method of LAPACK, divide and conquer, sometimes fails where many singular values are
    the same. The slower one does not.
    """
    try:
        found = svd(matrix, full_matrices=True, check_finite=False)
    except np.linalg.LinAlgError:
        found = svd(matrix, full_matrices=True, check_finite=False, lapack_driver="gesvd")
    left, singular, right = found
    return left, singular, right


def _is_regular(squares: FloatArray) -> bool:
    """Say whether all eigenvalues are far enough from 0 and 1."""
    identity = np.eye(len(squares))
    bounded = (squares - REGULAR * identity, (1.0 - REGULAR) * identity - squares)
    return all(lapack.dpotrf(matrix, overwrite_a=True)[1] == 0 for matrix in bounded)


def fix_signs(vectors: FloatArray) -> FloatArray:
    """Make the largest entry of each column positive; ties go to the lower index."""
    if vectors.size == 0:
        return vectors
    sizes = np.abs(vectors)
    largest = np.argmax(sizes >= (1.0 - CANCELLED) * sizes.max(axis=0), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs))


def estimate_condition(triangle: FloatArray) -> float:
    """Estimate the condition number of a triangular matrix."""
    if triangle.shape[0] == 0:
        return 1.0
    reciprocal, _ = lapack.dtrcon(triangle)
    return 1.0 / reciprocal if reciprocal > 0 else float("inf")


# --- The problem on an accelerator ----------------------------------------------------------------
#
# Singular values take an accelerator longer than a processor, and it cannot pivot. It does not
# need them where the stack is well conditioned and no α and no β is small, as for most data with
# noise. Other problems are solved on the processor.


def solve_on_accelerator(points: Side, form: Side, near: Array) -> Solution | None:
    """Solve the problem for A = ``points`` and B = ``form``; None if that takes more care."""
    n_columns = len(points.scale)
    if len(points.factor) < n_columns or not (points.scale.all() and form.scale.all()):
        return None
    scaling = _Scaling.of(points, form)
    xp = namespace(near)
    a, b, d, identity = (
        move_like(np.asarray(each, dtype=np.float64), near)
        for each in (points.factor, form.factor, scaling.columns, np.eye(n_columns))
    )
    q, triangle = xp.linalg.qr(xp.concat([a * (scaling.weight_a * d), b * (scaling.weight_b * d)]))
    inverse = solve_upper(triangle, identity)
    sizes = [float(xp.max(xp.sum(xp.abs(each), axis=0))) for each in (triangle, inverse)]
    condition = sizes[0] * sizes[1]
    # The Frobenius norm of the inverse bounds the smallest singular value from below.
    smallest = 1 / float(xp.linalg.vector_norm(inverse))
    if not (condition * SAME < 1 and smallest > scaling.noise):
        return None
    q_a = q[: a.shape[0], :]
    squares, w = xp.linalg.eigh(q_a.T @ q_a)
    if not (float(squares[0]) > REGULAR and float(squares[-1]) < 1 - REGULAR):
        return None
    vectors = d[:, None] * (inverse @ w)
    vectors = vectors / xp.sqrt(xp.sum((b @ vectors) ** 2, axis=0))
    extents = move_to_numpy(xp.sqrt(xp.sum((a @ vectors) ** 2, axis=0)))
    found = move_to_numpy(vectors)
    noise = points.noise(found)
    if not (extents > np.maximum(noise, scaling.resolution)).all():
        return None
    if not (form.noise(found) <= 0.5).all():
        return None
    found, extents = fix_rotation(found, extents, points, scaling.noise)
    found = fix_signs(found)
    rounding = SAFETY * EPS * scaling.resolution
    doubt = np.maximum(points.noise(found), rounding)
    return Solution(
        vectors=found,
        reduced=found,
        extents=extents,
        noise=np.minimum(doubt, np.maximum(points.negligible(found), rounding)),
        doubt=doubt,
        unbounded=np.zeros((n_columns, 0)),
        dropped=0,
        lost=0,
        condition=condition,
        margin=RankMargin.measure(np.array([smallest]), scaling.noise, np.ones(1, dtype=bool)),
    )


# --- The problem for forms of any grading ---------------------------------------------------------
#
# Polynomials that are equally large on the points may differ in size under a form by any power of
# the units of the data. Extents then do not tell what is a rounding error: the error of an exact
# relation that is small under the form may exceed the extent of another polynomial that is large
# under it. So exact relations are found first, in coordinates of ordinary size. They vanish
# whatever the form is.
#
# The form on the rest is the size of the part orthogonal to the relations. In coordinates w with v
# = K w in which it is the identity, the problem is the singular value decomposition of A K. The
# columns of K differ in size as much as the form does; a decomposition that is accurate relative to
# the largest column would take the small ones for rounding errors. The one-sided Jacobi method is
# accurate relative to each column (Demmel and Veselić, 1992).


def solve_in_coordinates(points: Side, coordinates: Coordinates) -> Solution:
    """Solve the problem for A = ``points`` and a form in coordinates of ordinary size."""
    plain, B = coordinates.plain, coordinates.factor
    null, free, margin = _null_directions(points, plain)
    n_null = null.shape[1]
    relations, groups = _separate_sizes(inverse_factor(B @ null))
    relations = null @ relations  # size 1 under the form
    # Rows sorted and columns pivoted, as in ``inverse_factor``: each row keeps its digits.
    rows = np.argsort(-norms((B @ null).T), kind="stable")
    q = qr((B @ null)[rows], pivoting=True, check_finite=False)[0]
    K = free @ inverse_factor(q[:, n_null:].T @ (B @ free)[rows])
    K, relations = (np.ldexp(each, -coordinates.exponent) for each in (K, relations))

    rest = plain @ (K @ right_singular_vectors(points.factor @ (plain @ K)))
    parts = [plain @ relations[:, start:stop] for start, stop in pairwise(groups)]
    *grouped, (others, extents) = (
        fix_rotation(part, points.norms(part), points, SAFETY * EPS) for part in (*parts, rest)
    )
    exact, small = (np.concatenate(each, axis=-1) for each in zip(*grouped, strict=True))
    # Make the rest orthogonal to the relations under the form. That may add large multiples of
    # them, which are zero on the points; F does without these. It does not without others: the
    # sizes of its products under the form would change.
    sizes = norms(plain)
    y = ((plain / sizes).T @ others) / sizes[:, None]
    multiples = np.ldexp((B @ relations).T @ (B @ y), 2 * coordinates.exponent)
    vanishing = others - plain @ (relations @ multiples)
    is_harmless = points.noise(vanishing) <= CLOSELY * points.noise(others)
    reduced = np.where(is_harmless, vanishing, others)
    # The rest is known not to be a rounding error.
    doubt = np.concatenate(
        [np.maximum(points.noise(exact), small), np.minimum(points.noise(others), 0.5 * extents)]
    )
    vectors = fix_signs(np.hstack([exact, vanishing]))
    return Solution(
        vectors=vectors,
        reduced=fix_signs(np.hstack([exact, reduced])),
        extents=np.concatenate([small, extents]),
        noise=np.minimum(doubt, points.negligible(np.hstack([exact, others]))),
        doubt=doubt,
        unbounded=np.zeros((len(plain), 0)),
        dropped=len(plain) - plain.shape[1] - coordinates.lost,
        lost=coordinates.lost,
        condition=coordinates.condition,
        margin=margin,
    )


def _separate_sizes(vectors: FloatArray) -> tuple[FloatArray, list[int]]:
    """Rotate tied relations so that those of very different coefficients are orthogonal."""
    # For points of size s the form sees x² - s² by s², and the difference of two such polynomials
    # by 1: its coefficients are s² times larger then. A mixture leaves no digits of the smaller.
    n_relations = vectors.shape[1]
    rotated = vectors @ right_singular_vectors(vectors)
    rotated = rotated[:, np.argsort(-norms(rotated), kind="stable")]
    sizes = norms(rotated)
    starts = [0]
    for place, size in enumerate(sizes.tolist()):
        if size < np.sqrt(CANCELLED) * sizes[starts[-1]]:  # three digits of it would be lost
            starts.append(place)
    if len(starts) == 1:  # the rotation is fixed later
        return vectors, [0, n_relations]
    return rotated, [*starts, n_relations]


def inverse_factor(matrix: FloatArray) -> FloatArray:
    """Return K with ``matrix @ K`` orthonormal, for rows of any sizes (Cox and Higham, 1998)."""
    n_columns = matrix.shape[1]
    rows = np.argsort(-norms(matrix.T), kind="stable")
    triangle, pivots = qr(matrix[rows], mode="r", pivoting=True, check_finite=False)
    inverse = np.zeros((n_columns, n_columns))
    # Entries of R decrease along each row, so that nothing grows in the substitution.
    inverse[pivots] = solve_triangular(
        triangle[:n_columns], np.eye(n_columns), trans="T", check_finite=False
    ).T
    return inverse


def _null_directions(points: Side, plain: FloatArray) -> tuple[FloatArray, FloatArray, RankMargin]:
    """Return orthonormal y for which ``plain @ y`` is zero on the points, and all others."""
    on_points = points.factor @ plain
    # A column that is zero everywhere has no rounding errors. Beside others the decomposition would
    # give it some, which nothing would tell from values.
    is_zero = norms(on_points) == 0
    unit = np.eye(plain.shape[1])
    y = unit[:, ~is_zero] @ _find_singular_vectors(on_points[:, ~is_zero])[2].T
    sizes, noise = norms(on_points @ y), points.noise(plain @ y)
    is_null = sizes <= noise
    margin = RankMargin.measure(sizes, noise, ~is_null)
    return np.hstack([unit[:, is_zero], y[:, is_null]]), np.asarray(y[:, ~is_null]), margin
