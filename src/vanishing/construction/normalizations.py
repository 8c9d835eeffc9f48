"""The five normalizations: how large a polynomial is.

Each is a bilinear form on span(F ∪ C), given by a factor of its matrix 𝔑(C) on the candidates:
``vca``, ``coefficient``, ``gradient``, ``gradient-weighted`` and ``contrastive`` (paper, Step 2).
"""

from dataclasses import dataclass, replace
from math import log2
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import qr, svd

from vanishing.arrays.blocks import BudgetError, block_rows, format_bytes
from vanishing.arrays.kernels import SQUARABLE, norms
from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    move_like,
    move_to_numpy,
    namespace,
)
from vanishing.construction.candidates import EPS, Coordinates, Form, RecalledSource, Stage
from vanishing.construction.gsvd import estimate_condition
from vanishing.construction.passes import resolve_choice
from vanishing.levels import SAFETY, SAME
from vanishing.polynomials.evaluation import Evaluator, jacobian_with_candidates
from vanishing.polynomials.monomials import (
    CANCELLED,
    Monomials,
    count,
    expand_monomials,
    independent_columns,
    leading_forms,
    monomials,
    multiply_forms,
)

__all__ = [
    "Coefficient",
    "Contrastive",
    "Gradient",
    "GradientWeighted",
    "Normalization",
    "Vca",
    "resolve_normalization",
]


# --- What a normalization is, and the names of those that ship with the library -------------------


class Normalization:
    """Base class of the normalizations: a way to measure polynomials.

    Subclasses are small frozen dataclasses that define ``form``. They may use all that the
    ``Stage`` offers: values of [F C] on any points, a pass over X or over the contrast,
    coefficients on monomials.
    """

    #: Whether ``fit`` needs a second set of points.
    needs_contrast: bool = False
    #: Whether the form is defined on the full list of products, so that none may be left out.
    uses_all_products: bool = False
    #: Whether a rotation of the data leaves the sizes of polynomials as they are.
    rotation_invariant: bool = False

    def form(self, stage: Stage) -> Form:
        """Return a factor of the form on the candidates of this degree.

        Parameters
        ----------
        stage : Stage
            The degree, after its pass over X.

        Returns
        -------
        Form
            As ``stage.form`` makes it.
        """
        raise NotImplementedError


def resolve_normalization(normalization: Any) -> Normalization:
    """Return the normalization of a name, or the object itself."""
    known = {
        "vca": Vca,
        "coefficient": Coefficient,
        "gradient": Gradient,
        "gradient-weighted": GradientWeighted,
        "contrastive": Contrastive,
    }
    found: Normalization = resolve_choice(
        "normalization", normalization, known, Normalization, "an instance of Normalization"
    )
    return found


# --- Forms on monomial coefficients if the units of the columns are far from 1 --------------------
#
# Coefficients on monomials x^a have units: for data of size s, those of degree d are about s^-d.
# The form B = W S E on the candidates is a product of
#
# * E, the coefficients of the candidates on monomials of z = F_1(x), which is orthonormal on X: E
#   depends neither on the units nor on the origin;
# * S, the expansion of the monomials of z in monomials of the columns, in units of their own;
# * W, the weights of these monomials: their units, and what the normalization adds to them.
#
# Only W may be far from 1, and it has one power of two per row. The product B is accurate to eps
# relative to its largest entries only: the small ones, such as the leading coefficients of data of
# large size, would be lost. A QR factorization with rows sorted by size and pivoted columns keeps
# every row accurate to eps relative to its own size (Cox and Higham, 1998).

#: Coefficients whose sizes differ by fewer bits lose six of sixteen digits at most, which is fine.
ORDINARY = -log2(CANCELLED)
#: Sizes beyond this power of two, or below its inverse, are refused: squares of numbers beside them
#: that are just not rounding errors would overflow or underflow.
LARGEST_POWER = log2(EPS / SQUARABLE)


def scale_columns(stage: Stage) -> tuple[FloatArray, IntArray]:
    """Return coefficients of each z on 1 and on x / 2**exponents, and these exponents."""
    if stage.degree > 1:
        first = stage.blocks[0]
        exponents = -_exponent(np.max(np.abs(first.nonvanishing), axis=1, initial=0.0))
        linear = np.ldexp(first.nonvanishing, exponents[:, None])
        return np.vstack([-first.nonvanishing_lower, linear]), exponents
    mean, centred = stage.split
    rms = stage.on_points.column_rms[stage.n_lower :]
    spread = norms(centred)
    rounding = SAFETY * stage.on_points.relative_error * rms
    sizes = np.where(spread > rounding, spread, rms)
    # A column of zeros has no units of its own. In the largest units, rounding errors that mix it
    # into other polynomials stay small.
    exponents = _exponent(np.where(sizes > 0, sizes, np.max(sizes, initial=0.0)))
    return np.vstack([np.ldexp(-mean[0], -exponents), np.eye(len(rms))]), exponents


def is_ordinary(
    variables: FloatArray, exponents: IntArray, degree: int, *, homogeneous: bool
) -> bool:
    """Say whether coefficients up to a degree can be used as they are."""
    offset = np.log2(np.max(np.abs(variables[0]), initial=1.0))
    if homogeneous:
        bits = degree * offset + np.ptp(exponents)
    else:
        bits = degree * (offset + max(0, -exponents.min()) + exponents.max())
        bits = max(bits, degree * np.ptp(exponents))
    return bool(bits <= ORDINARY and degree * np.max(np.abs(exponents)) <= LARGEST_POWER / 2)


def identity_form(stage: Stage, unit: float = 1.0) -> Form | None:
    """Return ``unit`` times the identity on the columns of degree 1; None if their units agree."""
    variables, exponents = scale_columns(stage)
    has_zeros = bool(np.any(stage.on_points.column_rms[stage.n_lower :] == 0))
    if is_ordinary(np.zeros_like(variables), exponents, 1, homogeneous=True) and not has_zeros:
        return None
    weights = np.append(-np.inf, np.log2(unit) - exponents)  # nothing for the constant
    return graded_form(stage, variables, exponents, weights)


def graded_form(
    stage: Stage, variables: FloatArray, exponents: IntArray, weights: FloatArray
) -> Form:
    """Return the form with weights of any size, by logarithms, on the coefficients (B above)."""
    _check_budget(stage, variables.shape[1])
    left, sizes, right = _coefficients(stage, exponents)
    rows = expand_monomials(variables, stage.degree) @ left
    return grade_rows(stage, rows, weights, sizes, right)


def grade_rows(
    stage: Stage, rows: FloatArray, weights: FloatArray, sizes: FloatArray, right: FloatArray
) -> Form:
    """Return the form that weighs rows, by binary logarithms, which measure the directions."""
    lengths = norms(rows.T)
    with np.errstate(divide="ignore"):
        logarithms = weights + np.log2(lengths)
    order = np.argsort(-logarithms, kind="stable")
    order = order[np.isfinite(logarithms[order])]
    if len(order) < rows.shape[1]:
        raise refuse_units(stage)
    top = float(np.ceil(logarithms[order[0]]))
    sorted_rows = (
        rows[order] * np.exp2(np.maximum(weights[order] - top, -2 * LARGEST_POWER))[:, None]
    )
    triangle, pivots = qr(sorted_rows, mode="r", pivoting=True, check_finite=False)
    triangle = triangle[: rows.shape[1]]
    diagonal = np.abs(np.diag(triangle))
    if diagonal.size and (
        diagonal.min() < 2.0 ** (-LARGEST_POWER) * diagonal.max() or abs(top) > 2 * LARGEST_POWER
    ):
        raise refuse_units(stage)
    by_rows = np.empty_like(triangle)
    by_rows[:, pivots] = triangle
    factor = np.ldexp((by_rows * sizes) @ right.T, int(top))
    scale = norms(factor)
    ratio = float(np.max(sizes) / np.min(sizes)) if sizes.size else 1.0
    condition = estimate_condition(triangle / diagonal[:, None]) * ratio
    lost = 0 if stage.all_products else stage.n_candidates - len(sizes)
    return Form(
        factor,
        scale,
        EPS * stage.amplification * scale,
        coordinates=Coordinates(right / sizes, by_rows, int(top), condition, lost),
    )


def _coefficients(stage: Stage, exponents: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular value decomposition U diag(s) V' of E, without the zeros."""
    if stage.degree == 1:
        return (
            np.eye(1 + stage.n_features)[:, 1:],
            np.ldexp(1.0, exponents),
            np.eye(stage.n_features),
        )
    # Some of all products are equal; independent ones have independent leading forms.
    smallest = np.sqrt(EPS) if stage.all_products else EPS
    left, sizes, right = svd(stage.coefficients(), full_matrices=False, check_finite=False)
    kept = sizes > smallest * np.max(sizes, initial=0.0)
    return left[:, kept], sizes[kept], right[kept].T


def _exponent(sizes: FloatArray) -> IntArray:
    """Return exponents of powers of two near sizes; 0 for a size of zero."""
    return np.asarray(np.where(sizes > 0, np.frexp(sizes)[1], 0), dtype=np.intp)


def _check_budget(stage: Stage, n_variables: int) -> None:
    n_rows, n_columns = count(stage.n_features, stage.degree), count(n_variables, stage.degree)
    needed = 8 * n_rows * (n_columns + 3 * stage.n_candidates)
    if needed > stage.passes.memory_budget:
        raise BudgetError(
            f"degree {stage.degree} needs {n_columns} monomials by {n_rows} others, since the "
            f"columns are in units far from 1: {format_bytes(needed)}, over the memory budget of "
            f"{format_bytes(stage.passes.memory_budget)}; standardize the columns, lower "
            "max_degree or raise memory_budget"
        )


def refuse_units(stage: Stage) -> ValueError:
    """Return the error that the units of the data are too far from 1 for their coefficients."""
    return ValueError(
        f"the coefficients of degree {stage.degree} are too large or too small for double "
        f"precision, since the units of {stage.source.name} are so far from 1; standardize the "
        "columns, lower max_degree, or choose another normalization"
    )


# --- Plain VCA (Livni et al., 2013): unit vectors of coefficients on the products -----------------


@dataclass(frozen=True)
class Vca(Normalization):
    """Euclidean norm of the coefficients on the candidates.

    The products F_1 × F_{t-1} are redundant (f·h = h·f). Coefficients are taken in the orthogonal
    complement of the kernel of the product map, where no polynomial is zero. With
    ``products="all"`` they are taken as they are, and some polynomials are identically zero.

    Degree 1 is measured in units of the largest spread of X, so that extents are pure numbers at
    every degree; the paper's convention leaves it in the units of the data.
    """

    uses_all_products = True
    rotation_invariant = True

    def form(self, stage: Stage) -> Form:
        """Return the identity, weighted or restricted if products coincide."""
        n_candidates = stage.n_candidates
        if stage.degree == 1:
            unit = 1.0 if stage.paper_norm else _largest_spread(stage)
            return identity_form(stage, unit) or _diagonal(np.full(n_candidates, unit))
        if stage.all_products:
            return _diagonal(np.ones(n_candidates))
        if stage.degree == 2:
            # Pairs i < j stand for both orders, f_i f_j = (f_i f_j + f_j f_i) / 2, unless the
            # memory budget left out products with f_i on the right.
            both = (stage.left != stage.right) & (stage.left <= stage.right.max(initial=0))
            return _diagonal(np.where(both, np.sqrt(0.5), 1.0))
        n_variables = stage.blocks[0].nonvanishing.shape[1]
        forms = multiply_forms(
            leading_forms(stage.blocks), n_variables, stage.degree, stage.left, stage.right
        )
        pivots, triangle = independent_columns(forms, stage.error_of_forms)
        # The rows of the triangle span the row space, whatever the scale of each.
        rows = triangle / np.linalg.norm(triangle, axis=1, keepdims=True)
        subspace = qr(rows.T, mode="economic")[0][:, : len(pivots)]
        return replace(_diagonal(np.ones(n_candidates)), subspace=subspace)


def _largest_spread(stage: Stage) -> float:
    """Largest principal standard deviation of X; 1 if X is a single point up to rounding."""
    residual = stage.split[1]
    rms = stage.on_points.column_rms[stage.n_lower :]
    unit = np.max(rms)
    if unit == 0:
        return 1.0
    spread = float(np.linalg.norm(residual / unit, 2)) if residual.size else 0.0
    rounding = SAFETY * stage.on_points.relative_error * np.linalg.norm(rms / unit)
    return float(spread * unit) if spread > rounding else 1.0


def _diagonal(entries: FloatArray) -> Form:
    return Form(np.diag(entries), entries, EPS * entries)


# --- Unit coefficient vectors (Kera and Hasegawa, 2019) -------------------------------------------


@dataclass(frozen=True)
class Coefficient(Normalization):
    """Euclidean norm of the vector of monomial coefficients.

    Coefficients of different degrees have different units, so that extents depend on the scale of
    the data: standardize it first. Exact relations do not depend on the scale.
    """

    def form(self, stage: Stage) -> Form:
        """Expand F and the candidates in the original variables."""
        if stage.projects:
            variables, exponents = scale_columns(stage)
            if not is_ordinary(variables, exponents, stage.degree, homogeneous=False):
                powers = monomials(stage.n_features, stage.degree).exponents
                return graded_form(stage, variables, exponents, -(powers @ exponents).astype(float))
        with np.errstate(over="ignore", invalid="ignore"):
            form = stage.form(stage.expansion()[1])
        largest = 2.0 ** (2 * LARGEST_POWER)
        if not (np.max(form.scale) < largest and np.min(form.scale) > 1 / largest):
            raise refuse_units(stage)
        return replace(form, definite=True)


# --- Unit mean gradient on X (Kera and Hasegawa, 2020; the paper's nVCA) --------------------------

#: A sum is not trusted if it is a smaller fraction of its terms: it lost a quarter of the digits.
TRUSTED_SUM = float(np.sqrt(SAME))


@dataclass(frozen=True)
class Gradient(Normalization):
    """𝔑(p, q) = Σ_x ∇p(x)·∇q(x) / N over X.

    The extent of a polynomial is then close to the root mean square distance of X from its zero
    set, in the units of the data.
    """

    rotation_invariant = True

    def form(self, stage: Stage) -> Form:
        """Differentiate coefficients if that is accurate, and pass over X if it is not."""
        if stage.projects:
            return self._measure(stage)
        # A polynomial b - Σ c_o o whose gradient is zero on X does not occur: its derivatives would
        # vanish on X, but one of them has a leading term in O.
        return replace(self._measure(stage), definite=True)

    @staticmethod
    def _measure(stage: Stage) -> Form:
        if stage.degree == 1:
            if stage.projects and (graded := identity_form(stage)) is not None:
                return graded
            constant = np.zeros((stage.n_features, 1))
            return stage.form(np.hstack([constant, np.eye(stage.n_features)[:, stage.left]]))
        if isinstance(stage.source, RecalledSource):
            return stage.form(*stage.source.recall_gradients(stage))
        return _from_coefficients(stage) or _from_points(stage)


def _from_coefficients(stage: Stage) -> Form | None:
    """Differentiate coefficients instead of passing over N·n rows of derivatives.

    From degree 2 on all polynomials are polynomials in z = F_1(x), an affine map with orthogonal
    columns w_k: ∂_x p = Σ_k w_k ∂_{z_k} p. The derivatives have lower degree, so that R of the
    monomials of z of degree at most t-1 determines their sizes on X. Monomials of high degree
    nearly depend on each other; None is returned if that costs digits.
    """
    expansion, coefficients = stage.expansion(in_z=True)
    table, below = expansion.table(stage.degree), expansion.table(stage.degree - 1)
    first = Evaluator(stage.blocks[:1])

    def monomials_of_z(x: Array) -> Array:
        return below.values(first.nonvanishing(x)[1:, :])

    on_points = stage.passes.factor(stage.source, monomials_of_z, len(below))
    lengths = norms(stage.blocks[0].nonvanishing)
    if stage.projects and np.ptp(np.log2(lengths)) > ORDINARY:
        graded = _grade_derivatives(stage, table, on_points.R, lengths)
        if graded is not None:
            return graded
    unit = np.max(lengths, initial=0.0) or 1.0  # squares of lengths might overflow
    lengths = lengths / unit
    parts, terms = [], np.zeros(coefficients.shape[1])
    for variable, length in enumerate(lengths):
        derivative = length * table.derivative(coefficients, variable)
        parts.append(on_points.R @ derivative)
        terms += np.sum((np.abs(on_points.R) @ np.abs(derivative)) ** 2, axis=0)
    gradients = np.vstack(parts)
    if np.any(TRUSTED_SUM**2 * terms > np.linalg.norm(gradients, axis=0) ** 2):
        return None
    return stage.form(unit * gradients, on_points.relative_error)


def _grade_derivatives(
    stage: Stage, table: Monomials, R: FloatArray, lengths: FloatArray
) -> Form | None:
    """Measure the derivatives by variables of very different units; None if some may all be zero.

    A relation of two columns in small units has small derivatives. Beside those of a column in
    large units they would be lost.
    """
    left, sizes, right = _coefficients(stage, np.zeros(stage.n_features, dtype=np.intp))
    derivatives = [table.derivative(left, variable) for variable in range(len(lengths))]
    rows = np.vstack([R @ each for each in derivatives])
    terms = np.vstack([np.abs(R) @ np.abs(each) for each in derivatives])
    if np.any(TRUSTED_SUM * norms(terms) > norms(rows)):
        return None
    singular = np.linalg.svd(rows, compute_uv=False)
    if np.min(singular, initial=np.inf) < CANCELLED * np.max(singular, initial=0.0):
        return None  # perhaps some polynomial has no derivatives
    return grade_rows(stage, rows, np.repeat(np.log2(lengths), len(R)), sizes, right)


def _from_points(stage: Stage) -> Form:
    """Reduce the derivatives of [F C_pre] at all points, n values for each."""
    n_columns = stage.n_lower + stage.n_candidates
    # Not the stage, which holds the data: the function may travel to the workers of a cluster.
    blocks, left, right = stage.blocks, stage.left, stage.right

    def derivatives(x: Array) -> Array:
        found = jacobian_with_candidates(blocks, x, left, right)
        return namespace(x).reshape(found, (n_columns, -1))

    on_points = stage.passes.factor(stage.source, derivatives, n_columns, per_row=stage.n_features)
    # The pass takes means over N·n values; the form needs sums over the n derivatives.
    return stage.form(np.sqrt(stage.n_features) * on_points.R, on_points.relative_error)


# --- Coefficients weighted by the mean gradients of their monomials (Kera, 2022) ------------------


@dataclass(frozen=True)
class GradientWeighted(Normalization):
    """𝔑(p, q) = Σ_a w_a² p_a q_a with w_a the root mean square of ‖∇x^a‖ on X over ‖a‖₂.

    The constant has weight 0. Scaling the data by s scales extents by s, as with the gradient,
    but no derivatives of candidates are needed.
    """

    def form(self, stage: Stage) -> Form:
        """Expand in the original variables and weight the monomials by moments of X."""
        table = monomials(stage.n_features, stage.degree)
        variables, exponents = scale_columns(stage)
        # With u_k = x_k / 2**e_k, ∂/∂x_k is ∂/∂u_k divided by 2**e_k.
        weights = _weights(stage, table, exponents)
        smallest = int(exponents[_is_present(stage)].min())
        if not stage.projects or is_ordinary(variables, exponents, stage.degree, homogeneous=True):
            coefficients = stage.expansion(exponents=exponents)[1]
            return stage.form(np.ldexp(weights[:, None] * coefficients, -smallest))
        with np.errstate(divide="ignore"):  # the constant has weight 0
            return graded_form(stage, variables, exponents, np.log2(weights) - smallest)


def _weights(stage: Stage, table: Monomials, exponents: IntArray) -> FloatArray:
    """Return ‖∇x^a‖, by Σ_k a_k² x^{2(a - e_k)}, in units of the columns over ‖a‖."""
    # A variable that no polynomial contains must not overflow either.
    exponents = np.where(_is_present(stage), exponents, int(2 * LARGEST_POWER))
    if stage.degree == 1:
        mean: FloatArray = np.ones(1)  # of the monomial 1
    elif isinstance(stage.source, RecalledSource):
        mean = stage.source.recall_mean_squares(stage.degree - 1, exponents)
    else:
        mean = _mean_squares(stage, monomials(stage.n_features, stage.degree - 1), exponents)
    squared = np.zeros(len(table))
    for variable, unit in enumerate(np.exp2(2.0 * (exponents.min() - exponents))):
        raised = table.times_variable[variable]
        squared[raised] += unit * table.exponents[raised, variable] ** 2 * mean
    norms = np.linalg.norm(table.exponents, axis=1)
    norms[0] = 1.0
    return np.asarray(np.sqrt(squared) / norms)


def _is_present(stage: Stage) -> BoolArray:
    """Say which columns polynomials contain: above degree 1, those of F_1."""
    if stage.degree == 1:
        return np.ones(stage.n_features, dtype=bool)
    return np.asarray(np.any(stage.blocks[0].nonvanishing, axis=1))


def _mean_squares(stage: Stage, table: Monomials, exponents: IntArray) -> FloatArray:
    """Pass over X once."""
    units = np.ldexp(1.0, -exponents)

    def squares(x: Array, root_weights: Array | None = None) -> Array:
        xp = namespace(x)
        with np.errstate(over="ignore", invalid="ignore"):  # in each thread
            x = xp.astype(x.T, xp.float64)  # squares overflow single precision
            if exponents.any():
                x = x * move_like(units, x)[:, None]
            values = table.values(x)
            if root_weights is not None:
                values *= root_weights
            return xp.sum(values * values, axis=1)

    rows = block_rows(2 * len(table), cpu=stage.source.cpu, budget_bytes=stage.passes.memory_budget)
    total = move_to_numpy(stage.source.map_reduce(squares, add, max_rows=rows))
    if not np.isfinite(total).all():
        raise ValueError(
            f"{stage.source.name} holds numbers too large for squares of monomials of degree "
            f"{table.degree}; rescale the data before fitting"
        )
    # The first monomial is 1: its squares sum to the number of rows, or to their weights.
    return np.asarray(total / total[0])


# --- The paper's normalization: root mean square on a second, contrasting set Y -------------------


@dataclass(frozen=True)
class Contrastive(Normalization):
    """𝔑(p, q) = Σ_y p(y) q(y) / n_Y (paper, Step 2).

    The extent of a polynomial is then its root mean square on X divided by that on Y: a pure
    number, whatever the units of the data.
    """

    needs_contrast = True
    rotation_invariant = True

    def form(self, stage: Stage) -> Form:
        """Pass over Y."""
        return stage.form_on_contrast()
