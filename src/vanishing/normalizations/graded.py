"""Forms on monomial coefficients where the units of the columns are far from 1.

The coefficients of p on monomials x^a have units of their own: at data of size s those of degree d
are about s^-d. Their form B = W S E on the candidates is then a product of

* E, the coefficients of the candidates on monomials of z: z = F_1(x), orthonormal on X, so that E
  depends neither on units nor on the origin;
* S, the expansion of monomials of z in monomials of the columns in units of their own;
* W, the weights of these monomials: units, and what the normalization adds to them.

Only W may be far from 1, and it is a power of two for each row. Taken as one matrix B would be
known to a unit of rounding of its largest entries, and what is known of small ones, the leading
coefficients of data of large size, would be lost. A QR factorization with rows sorted by size and
pivoted columns keeps every row to a unit of its own rounding (Cox and Higham, 1998).
"""

import numpy as np
from scipy.linalg import get_lapack_funcs, qr, svd

from vanishing._xp import FloatArray, IntArray, norms
from vanishing.normalizations.stage import EPS, Coordinates, Form, Stage
from vanishing.polynomials.expand import monomials_of_affine
from vanishing.polynomials.memory import BudgetError, as_text
from vanishing.polynomials.monomials import count

#: Coefficients that differ by less, in bits, lose no digits that matter: six of sixteen.
ORDINARY = 20.0
#: Sizes beyond this power of two either way are not computed with.
LARGEST = 450.0


def columns_in_units(stage: Stage) -> tuple[FloatArray, IntArray]:
    """Return the variables z by the columns in units of their own.

    Parameters
    ----------
    stage : Stage

    Returns
    -------
    variables : array of shape (1 + n_features, n_variables)
        Coefficients of each z on 1 and on x / 2**exponents.
    exponents : int array of shape (n_features,)
        Units of the columns, powers of two.
    """
    if stage.degree > 1:
        first = stage.blocks[0]
        exponents = -_exponent(np.max(np.abs(first.nonvanishing), axis=1, initial=0.0))
        linear = np.ldexp(first.nonvanishing, exponents[:, None])
        return np.vstack([-first.nonvanishing_lower, linear]), exponents
    mean, centred = stage.split
    rms = stage.on_points.column_rms[stage.n_lower :]
    spread = norms(centred)
    rounding = 64 * stage.on_points.relative_error * rms
    exponents = _exponent(np.where(spread > rounding, spread, rms))
    return np.vstack([np.ldexp(-mean[0], -exponents), np.eye(len(rms))]), exponents


def is_ordinary(
    variables: FloatArray, exponents: IntArray, degree: int, *, homogeneous: bool
) -> bool:
    """Say whether coefficients of all degrees can be computed with as they are.

    Parameters
    ----------
    variables, exponents
        As ``columns_in_units`` returns them.
    degree : int
    homogeneous : bool
        Whether a common unit of all columns weighs all coefficients alike.
    """
    offset = np.log2(np.max(np.abs(variables[0]), initial=1.0))
    if homogeneous:
        bits = degree * offset + np.ptp(exponents)
    else:
        bits = degree * (offset + max(0, -exponents.min()) + exponents.max())
        bits = max(bits, degree * np.ptp(exponents))
    return bool(bits <= ORDINARY and degree * np.max(np.abs(exponents)) <= LARGEST / 2)


def identity_form(stage: Stage, unit: float = 1.0) -> Form | None:
    """Return ``unit`` times the identity on the columns, at degree 1; None if they are alike.

    Parameters
    ----------
    stage : Stage
    unit : float
    """
    variables, exponents = columns_in_units(stage)
    if is_ordinary(np.zeros_like(variables), exponents, 1, homogeneous=True):
        return None
    weights = np.append(-np.inf, np.log2(unit) - exponents)  # nothing for the constant
    return graded_form(stage, variables, exponents, weights)


def graded_form(
    stage: Stage, variables: FloatArray, exponents: IntArray, weights: FloatArray
) -> Form:
    """Return the form with weights of any size on the coefficients.

    Parameters
    ----------
    stage : Stage
    variables, exponents
        As ``columns_in_units`` returns them.
    weights : array of shape (n_monomials,)
        Binary logarithms of W: weights of the monomials of the columns in their units.
    """
    _check_budget(stage, variables.shape[1])
    left, sizes, right = _coefficients(stage, exponents)
    rows = monomials_of_affine(variables, stage.degree) @ left
    lengths = norms(rows.T)
    with np.errstate(divide="ignore"):
        logarithms = weights + np.log2(lengths)
    order = np.argsort(-logarithms, kind="stable")
    order = order[np.isfinite(logarithms[order])]
    if len(order) < rows.shape[1]:
        raise _out_of_range(stage)
    top = float(np.ceil(logarithms[order[0]]))
    sorted_rows = rows[order] * np.exp2(np.maximum(weights[order] - top, -2 * LARGEST))[:, None]
    triangle, pivots = qr(sorted_rows, mode="r", pivoting=True, check_finite=False)
    triangle = triangle[: rows.shape[1]]
    diagonal = np.abs(np.diag(triangle))
    if diagonal.size and (
        diagonal.min() < 2.0 ** (-LARGEST) * diagonal.max() or abs(top) > 2 * LARGEST
    ):
        raise _out_of_range(stage)
    by_rows = np.empty_like(triangle)
    by_rows[:, pivots] = triangle
    factor = np.ldexp((by_rows * sizes) @ right.T, int(top))
    scale = norms(factor)
    condition = _condition(triangle / diagonal[:, None]) * _ratio(sizes)
    lost = 0 if stage.all_products else stage.n_candidates - len(sizes)
    return Form(
        factor,
        scale,
        EPS * stage.amplification * scale,
        coordinates=Coordinates(right / sizes, by_rows, int(top), condition, lost),
    )


def _coefficients(stage: Stage, exponents: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the singular value decomposition U diag(s) V' of E, less what is zero."""
    if stage.degree == 1:
        return (
            np.eye(1 + stage.n_features)[:, 1:],
            np.ldexp(1.0, exponents),
            np.eye(stage.n_features),
        )
    _, coefficients = stage.expansion(in_z=True)
    lower, products = coefficients[:, : stage.n_lower], coefficients[:, stage.n_lower :]
    left, sizes, right = svd(
        products - lower @ stage.split[0], full_matrices=False, check_finite=False
    )
    # Among all products some are equal; independent ones have independent leading forms.
    smallest = np.sqrt(EPS) if stage.all_products else EPS
    kept = sizes > smallest * np.max(sizes, initial=0.0)
    return left[:, kept], sizes[kept], right[kept].T


def _exponent(sizes: FloatArray) -> IntArray:
    """Return powers of two near sizes; 0 for a size of zero."""
    return np.asarray(np.where(sizes > 0, np.frexp(sizes)[1], 0), dtype=np.intp)


def _condition(triangle: FloatArray) -> float:
    if len(triangle) == 0:
        return 1.0
    (trcon,) = get_lapack_funcs(("trcon",), (triangle,))
    reciprocal, _ = trcon(triangle)
    return 1.0 / float(reciprocal) if reciprocal > 0 else float("inf")


def _ratio(sizes: FloatArray) -> float:
    return float(np.max(sizes) / np.min(sizes)) if sizes.size else 1.0


def _check_budget(stage: Stage, n_variables: int) -> None:
    n_rows, n_columns = count(stage.n_features, stage.degree), count(n_variables, stage.degree)
    needed = 8 * n_rows * (n_columns + 3 * stage.n_candidates)
    if needed > stage.passes.memory_budget:
        raise BudgetError(
            f"degree {stage.degree} needs {n_columns} monomials by {n_rows} others, since the "
            f"columns are in units far from 1: {as_text(needed)}, over the memory budget of "
            f"{as_text(stage.passes.memory_budget)}; standardize the columns, lower max_degree or "
            "raise memory_budget"
        )


def _out_of_range(stage: Stage) -> ValueError:
    return ValueError(
        f"the coefficients of degree {stage.degree} are too large or too small for double "
        f"precision, since those of {stage.source.name} are so far from 1; standardize the "
        "columns, lower max_degree, or choose another normalization"
    )
