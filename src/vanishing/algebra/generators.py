"""Minimal generators of an ideal, Groebner bases and membership."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, Literal, get_args

import numpy as np
from scipy.linalg import qr

from vanishing.arrays.kernels import norms
from vanishing.arrays.namespace import BoolArray, FloatArray, IntArray
from vanishing.arrays.parameters import check_real, check_whole
from vanishing.levels import MEMORY, ROUNDING, SAFETY
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import (
    NEARLY_DEPENDENT,
    count,
    make_coprime_integers,
    monomials,
    multiples,
    multiples_up_to,
    multiply_forms,
    normalize_columns,
    read_polynomial,
    spanning,
    variable_names,
)

# --- Polynomials with rational coefficients, as exact algebra needs them --------------------------


def rational_polynomials(polynomials: Sequence[Any]) -> list[Any]:
    """Return the nonzero ones of polynomials that are exact and in the same variables, or raise."""
    import sympy

    if not polynomials:
        raise ValueError("expected at least one polynomial; the variables are taken from them")
    for polynomial in polynomials:
        if not isinstance(polynomial, sympy.Poly):
            raise TypeError(f"expected polynomials of type sympy.Poly, got {polynomial!r}")
        if polynomial.gens != polynomials[0].gens:
            raise ValueError(
                f"expected polynomials in the same variables, got {polynomials[0].gens} and "
                f"{polynomial.gens}"
            )
        check_rational(polynomial)
    return [polynomial for polynomial in polynomials if polynomial]


def check_rational(polynomial: Any) -> None:
    """Refuse a polynomial with rounded or irrational coefficients."""
    if not (polynomial.domain.is_ZZ or polynomial.domain.is_QQ):
        raise ValueError(
            f"expected rational coefficients, got {polynomial}; a fitted basis becomes exact "
            "by to_rational"
        )


# --- Generators and membership in exact arithmetic, by Groebner bases -----------------------------


def minimal_generators_exactly(polynomials: Sequence[Any]) -> list[Any]:
    """Leave out polynomials that are combinations of others, as far as degrees go.

    The exact counterpart of :func:`minimal_generators`. Homogenized, a polynomial is in the ideal
    of others if and only if it is a sum of their multiples none of which exceeds its degree.

    Parameters
    ----------
    polynomials : sequence of sympy.Poly
        With rational coefficients, for instance from ``to_rational``.

    Returns
    -------
    list of sympy.Poly
        By degree. If degrees are allowed to rise on the way, still fewer may do: then see
        ``to_rational(..., minimal=True)``.

    Examples
    --------
    >>> from sympy import Poly
    >>> from sympy.abc import x, y, z
    >>> from vanishing.algebra import minimal_generators_exactly
    >>> twisted = [Poly(p, x, y, z) for p in (y - x**2, z - x * y, x * z - y**2, z - x**3)]
    >>> [p.as_expr() for p in minimal_generators_exactly(twisted)]
    [-x**2 + y, -x*y + z, x*z - y**2]
    """
    import sympy

    level = sympy.Dummy("level")
    kept: list[Any] = []
    homogeneous: list[Any] = []
    by_degree = sorted(rational_polynomials(polynomials), key=lambda p: p.total_degree())
    for polynomial in by_degree:
        candidate = polynomial.homogenize(level)
        if not homogeneous or not _contains(homogeneous, candidate):
            kept.append(polynomial)
            homogeneous.append(candidate)
    return kept


def contains_exactly(generators: Sequence[Any], polynomial: Any) -> bool:
    """Check whether a polynomial is in the ideal that others generate.

    Parameters
    ----------
    generators : sequence of sympy.Poly
        With rational coefficients, for instance from ``to_rational``.
    polynomial : sympy.Poly or sympy.Expr
        With rational coefficients.

    Returns
    -------
    bool

    Examples
    --------
    >>> from sympy import Poly
    >>> from sympy.abc import x, y
    >>> from vanishing.algebra import contains_exactly
    >>> circle = [Poly(x**2 + y**2 - 1, x, y)]
    >>> contains_exactly(circle, x**4 - (1 - y**2) ** 2), contains_exactly(circle, x - 1)
    (True, False)
    """
    import sympy

    rational = rational_polynomials(generators)
    wanted = sympy.Poly(polynomial, *generators[0].gens)
    check_rational(wanted)
    return _contains(rational, wanted) if rational else not wanted


def _contains(generators: list[Any], polynomial: Any) -> bool:
    import sympy

    basis = sympy.groebner(generators, *polynomial.gens, order="grevlex")
    return bool(basis.contains(polynomial.as_expr()))  # SymPy 1.13 takes no Poly


# --- Minimal generators, by leading forms ---------------------------------------------------------
#
# The vanishing polynomials of a fit are an H-basis: every polynomial of degree t in the ideal is a
# sum of multiples h·g of degree at most t. If the leading form of some g of degree t lies in the
# span of the leading forms of multiples of others, g less these multiples is of lower degree and in
# the ideal, so that g is a combination of the others. What remains when all such g are left out is
# a minimal H-basis; homogenized, it is a minimal set of generators of the projective closure, and
# the numbers by degree do not depend on the choices made.
#
# The Hilbert function bounds these numbers. Of the forms of degree t, those that are leading forms
# of the ideal have as many dimensions as there are forms less nonvanishing polynomials of this
# degree; multiples of lower generators span some of them, and no more can be new than the rest.
# Counts withstand noise better than the angles between forms do.
#
# Forms are taken in z = F_1(x), whose coordinates have root mean square 1 on the data whatever the
# units of x are. Linear equations are all needed; they have been used to eliminate variables, so
# that their multiples do not occur above degree 1.
#
# A leading form of norm 1 lies in the span of others if it is nearer than the tolerance: twice the
# noise, which is the root mean square on the data of a polynomial whose leading form has norm 1.
# Multiples of noisy equations are independent that would depend on each other without noise, and
# would take the place of new generators.

# What is below a gap of SAFETY is an error, and what is above one counts, even if that is on the
# wrong side of the tolerance. Errors of single precision are larger than the noise tells.


def check_basis(basis: Any) -> None:
    """Raise if the argument is not a basis, such as a fitted estimator."""
    if not isinstance(basis, PolynomialBasis):
        raise TypeError(
            f"expected a PolynomialBasis, got {type(basis).__name__}; pass the basis_ of a fitted "
            "VanishingIdeal"
        )


def minimal_generators(basis: PolynomialBasis) -> PolynomialBasis:
    """Leave out vanishing polynomials that are combinations of others, as far as degrees go.

    Which ones remain is a choice, their number by degree is not. Polynomials are left out and not
    recombined: within one degree, those whose leading forms are independent modulo multiples of
    lower generators span the rest. How noisy they are is seen from their extents.

    Parameters
    ----------
    basis : PolynomialBasis

    Returns
    -------
    PolynomialBasis
        With all nonvanishing polynomials and the needed vanishing ones.

    Examples
    --------
    On a sphere, everything follows from one equation:

    >>> from vanishing import VanishingIdeal
    >>> from vanishing.algebra import minimal_generators
    >>> from vanishing.datasets import make_variety
    >>> ideal = VanishingIdeal(max_degree=4, tol=1e-9).fit(make_variety("sphere", 300))
    >>> ideal.basis_.degrees()
    array([2, 3, 3, 3, 4, 4, 4, 4, 4, 4])
    >>> minimal_generators(ideal.basis_).degrees()
    array([2])
    """
    check_basis(basis)
    return basis.restrict(find_minimal_generators(basis))


def find_minimal_generators(basis: PolynomialBasis) -> BoolArray:
    """Return which vanishing polynomials :func:`minimal_generators` keeps."""
    if not basis.blocks:
        return np.zeros(0, dtype=bool)
    first = basis.blocks[0]
    n_variables = first.nonvanishing.shape[1]
    kept = [np.ones(first.vanishing.shape[1], dtype=bool)]
    generators: dict[int, FloatArray] = {}  # leading forms by degree
    rounding = float(np.finfo(np.float64).eps)
    single = 8 * float(np.finfo(np.float32).eps)  # a fit in single precision is not known better
    nonvanishing, noise_below = np.eye(n_variables), rounding
    if kept[0].any() and n_variables == basis.n_features:
        # F_1 of a full border is all variables: multiples of linear equations do occur.
        generators[1] = np.linalg.solve(first.nonvanishing, np.asarray(first.vanishing))
        noise_below = max(rounding, float(np.max(first.extents / norms(generators[1]))))
    for degree, block in enumerate(basis.blocks[1:], start=2):
        products = multiply_forms(nonvanishing, n_variables, degree, block.left, block.right)
        nonvanishing = products @ block.nonvanishing
        forms = products @ block.vanishing
        needed = np.zeros(forms.shape[1], dtype=bool)
        kept.append(needed)
        if not needed.size:
            continue
        sizes = norms(forms)
        # The leading terms of a polynomial may cancel but for their rounding errors. Its form says
        # nothing then, and must not take the place of one that does.
        noise = np.maximum(block.extents, rounding * norms(np.asarray(block.vanishing))) / sizes
        tol = np.clip(2 * np.maximum(noise, noise_below), single, NEARLY_DEPENDENT)
        known = _span(_multiply_up(generators, n_variables, degree), float(tol.min()), noise_below)
        outside = forms / sizes
        outside -= known @ (known.T @ outside)
        n_leading = len(forms) - block.nonvanishing.shape[1]
        n_new = max(0, n_leading - known.shape[1])
        if not known.size and forms.shape[1] <= n_new:
            # Nothing of lower degree to follow from. For columns in very different units, forms
            # that differ may be nearer to each other than the tolerance.
            needed[:] = True
        else:
            needed[_independent(outside / tol, noise / tol, at_most=n_new)] = True
        generators[degree] = forms[:, needed]
        noise_below = max(noise_below, float(np.max(noise[needed], initial=0.0)))
    return np.concatenate(kept)


def _multiply_up(generators: dict[int, FloatArray], n_variables: int, degree: int) -> FloatArray:
    """Return all multiples, of norm 1, of forms of lower degrees that have a degree."""
    table = monomials(n_variables, degree)
    start = table.first_of(degree)
    n_multiples = sum(
        forms.shape[1] * count(n_variables - 1, degree - below)
        for below, forms in generators.items()
    )
    n_bytes = 8 * len(table) * n_multiples
    if n_bytes > MEMORY:
        raise ValueError(
            f"the {n_multiples} multiples of degree {degree} of equations in {n_variables} "
            f"variables take {n_bytes / 2**30:.1f} GiB, too many to find out which equations "
            "are needed; lower max_degree, reduce the number of features, or keep all equations "
            "(generators='all')"
        )
    parts: list[FloatArray] = [np.zeros((len(table) - start, 0))]
    for below, forms in generators.items():
        padded = np.zeros((count(n_variables, below), forms.shape[1]))
        padded[-len(forms) :] = normalize_columns(forms)
        missing = monomials(n_variables, degree - below)
        factors = missing.exponents[missing.first_of(missing.degree) :]
        parts.append(multiples(padded, table, factors)[start:])
    return np.hstack(parts)


def _span(columns: FloatArray, tol: float, noise: float) -> FloatArray:
    """Return a basis of the span of columns."""
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    rank = _count(singular, tol, np.full(len(singular), noise))
    uncertain = min(SAFETY * tol, max(tol, SAFETY**2 * noise))
    doubtful = np.flatnonzero(singular[:rank] < uncertain)
    if doubtful.size and doubtful[0] > 0 and singular[doubtful[0] - 1] > SAFETY**2 * tol:
        rank = int(doubtful[0])
    return np.asarray(left[:, :rank])


def _independent(columns: FloatArray, noise: FloatArray, *, at_most: int) -> IntArray:
    """Choose columns far from the span of those chosen before, in units of the tolerance."""
    triangle, order = qr(columns, mode="r", pivoting=True)
    distances = np.abs(np.diag(triangle))
    n_far = _count(distances, 1.0, noise[order[: len(distances)]])
    return np.sort(order[: min(n_far, at_most)])


def _count(sizes: FloatArray, tol: float, noise: FloatArray) -> int:
    """Count those of descending sizes that are not errors.

    Points that nearly coincide have forms that nearly do. Sizes below the tolerance count if they
    are far above the noise, and a wide gap above all others.
    """
    rank = int(np.sum(sizes > tol))
    following = np.append(sizes[1:], 0.0)
    is_clear = (sizes > SAFETY * noise) & (sizes > SAFETY**2 * following)
    return max(rank, int(np.max(np.flatnonzero(is_clear) + 1, initial=0)))


# --- Reduced Groebner bases of exact polynomials --------------------------------------------------

Order = Literal["grevlex", "grlex", "lex"]


def groebner_basis(polynomials: Sequence[Any], *, order: Order = "grevlex") -> list[Any]:
    """Compute the reduced Groebner basis of an ideal, by SymPy.

    Parameters
    ----------
    polynomials : sequence of sympy.Poly
        With rational coefficients, for instance from ``to_rational``. The first variable is the
        largest.
    order : {"grevlex", "grlex", "lex"}
        Of the monomials; "lex" eliminates variables, and takes longest.

    Returns
    -------
    list of sympy.Poly
        Largest leading monomial first; coprime integers as coefficients, the leading one positive.

    Examples
    --------
    >>> from sympy import Poly
    >>> from sympy.abc import t, x, y
    >>> from vanishing.algebra import groebner_basis
    >>> curve = [Poly(x - t**2, t, x, y), Poly(y - t**3, t, x, y)]
    >>> [str(p.as_expr()) for p in groebner_basis(curve, order="lex")]  # t is eliminated
    ['t**2 - x', 't*x - y', 't*y - x**2', 'x**3 - y**2']
    """
    import sympy
    from sympy.polys.orderings import monomial_key

    if order not in get_args(Order):
        raise ValueError(f"order must be one of {', '.join(get_args(Order))}, got {order!r}")
    rational = rational_polynomials(polynomials)
    if not rational:
        return []
    reduced = sympy.groebner(rational, *rational[0].gens, order=order).polys
    key = monomial_key(order)
    whole = [make_coprime_integers(polynomial, order) for polynomial in reduced]
    return sorted(whole, key=lambda p: key(p.monoms(order=order)[0]), reverse=True)


# --- Membership in an ideal, numerically ----------------------------------------------------------


@dataclass(frozen=True)
class Membership:
    """Whether a polynomial is in an ideal, up to a tolerance.

    Parameters
    ----------
    contained : bool
        Whether the residual is within the tolerance.
    residual : float
        Norm of what remains of the polynomial's coefficients after reduction, relative to theirs.
    degree : int
        Up to which multiples of the generators were used.
    """

    contained: bool
    residual: float
    degree: int


def contains(
    basis: PolynomialBasis,
    polynomial: Any,
    names: Sequence[str] | None = None,
    *,
    degree: int | None = None,
    tol: float = 1e-6,
) -> Membership:
    """Check whether a polynomial is in the ideal of the vanishing polynomials, up to a tolerance.

    The polynomial is reduced by least squares: the nearest combination of multiples x^a g is
    subtracted from its coefficients. These depend on the units of the columns: scale columns that
    are far from 1 in size. See :func:`contains_exactly` for a proof.

    Parameters
    ----------
    basis : PolynomialBasis
    polynomial : sympy.Expr, sympy.Poly, or array of shape (n_monomials,)
        An array holds the coefficients on monomials in the order of ``basis.expand``, as many as
        there are up to some degree.
    names : sequence of str, optional
        Of the variables in an expression; by default x0, x1, ...
    degree : int, optional
        Of the multiples, at most. By default the polynomial's own, which is enough if the
        generators are all those of a fit up to this degree (an H-basis). If they are fewer,
        "not contained" means "not with multiples of this degree".
    tol : float
        Largest relative residual of a polynomial that is contained.

    Returns
    -------
    Membership

    Examples
    --------
    >>> import sympy
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.algebra import contains
    >>> from vanishing.datasets import make_variety
    >>> circle = VanishingIdeal(max_degree=2, tol=1e-9).fit(make_variety("circle", 100)).basis_
    >>> x, y = sympy.symbols("x y")
    >>> contains(circle, x**4 - (1 - y**2) ** 2, ["x", "y"]).contained
    True
    >>> contains(circle, [-1.0, 1.0, 0.0]).contained  # x - 1
    False
    """
    check_basis(basis)
    check_real("tol", tol, zero=True)
    wanted = _coefficients(polynomial, basis.n_features, names)
    last = int(np.max(np.flatnonzero(wanted), initial=0))
    own_degree = _find_degree(basis.n_features, last + 1)
    highest = own_degree if degree is None else check_whole("degree", degree)
    if highest < own_degree:
        raise ValueError(f"degree must be at least the polynomial's {own_degree}, got {highest}")
    _refuse_degree(basis.n_features, highest)
    norm = float(np.linalg.norm(wanted))
    if norm == 0.0:
        return Membership(contained=True, residual=0.0, degree=highest)

    columns = _multiples_up_to(basis, highest)
    known = spanning(columns, ROUNDING * max(columns.shape))
    remaining = np.zeros(len(columns))
    n_common = min(len(wanted), len(columns))  # what either has more is zero
    remaining[:n_common] = wanted[:n_common]
    # Twice, so that what remains is not the rounding error of the first time.
    for _ in range(2):
        remaining -= known @ (known.T @ remaining)
    residual = float(np.linalg.norm(remaining)) / norm
    return Membership(contained=residual <= tol, residual=residual, degree=highest)


def _refuse_degree(n_variables: int, degree: int) -> None:
    n_monomials, most = count(n_variables, degree), isqrt(MEMORY // 8)
    if n_monomials > most:
        raise ValueError(
            f"polynomials of degree {degree} in {n_variables} variables have {n_monomials} terms, "
            f"over the limit of {most}; lower the degree, or use contains_exactly"
        )


def _multiples_up_to(basis: PolynomialBasis, highest: int) -> FloatArray:
    """Coefficients of all x^a g of degree at most ``highest``, of norm 1."""
    table = monomials(basis.n_features, highest)
    _, coefficients = basis.expand()
    degrees = basis.degrees()
    parts: list[FloatArray] = [np.zeros((len(table), 0))]
    for degree in np.unique(degrees[degrees <= highest]).tolist():
        own = normalize_columns(coefficients[:, degrees == degree])
        parts.append(multiples_up_to(own, degree, highest, table))
    return np.hstack(parts)


def _coefficients(polynomial: Any, n_variables: int, names: Sequence[str] | None) -> FloatArray:
    """Coefficients on all monomials up to some degree."""
    if hasattr(polynomial, "free_symbols"):
        return _symbolic_coefficients(polynomial, n_variables, names)
    if isinstance(polynomial, str):
        raise TypeError(
            f"expected a polynomial, got a text; pass sympy.sympify({polynomial!r:.40})"
        )
    given = np.asarray(polynomial, dtype=np.float64)
    if not np.isfinite(given).all():
        raise ValueError("the coefficients of the polynomial contain NaN or infinity")
    if given.shape != (count(n_variables, _find_degree(n_variables, given.size)),):
        raise ValueError(
            f"expected one coefficient for each monomial in {n_variables} variables up to some "
            f"degree ({', '.join(str(count(n_variables, d)) for d in range(4))}, ...), got shape "
            f"{given.shape}"
        )
    return given


def _find_degree(n_variables: int, n_monomials: int) -> int:
    """Return the lowest degree up to which there are at least so many monomials."""
    degree = 0
    while count(n_variables, degree) < n_monomials:
        degree += 1
    return degree


def _symbolic_coefficients(
    polynomial: Any, n_variables: int, names: Sequence[str] | None
) -> FloatArray:
    import sympy

    names = variable_names(n_variables, names)
    try:
        expanded = read_polynomial(polynomial, names)
    except sympy.PolynomialError as error:
        raise ValueError(
            f"expected a polynomial in {', '.join(names)}, got {polynomial}"
        ) from error
    terms = dict(expanded.terms())
    if not all(value.is_real and value.is_finite for value in terms.values()):
        raise ValueError(f"expected finite real coefficients, got {polynomial}")
    _refuse_degree(n_variables, max(0, expanded.total_degree()))
    table = monomials(n_variables, max(0, expanded.total_degree()))
    return np.array([float(terms.get(tuple(e), 0)) for e in table.exponents.tolist()])
