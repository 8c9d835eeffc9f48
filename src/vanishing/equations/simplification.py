"""Tidy equations: short as far as the data cannot tell, and the first ones of a fit, as printed."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, isqrt, lcm, log10
from sys import float_info
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2, norm

from vanishing.arrays.namespace import (
    FloatArray,
    IntArray,
    import_extra,
    unmask,
)
from vanishing.arrays.parameters import check_real, check_whole
from vanishing.equations.expansion import (
    ModelEquations,
    check_names,
    choose_terms,
    equations_of,
    is_quick,
    sympy_monomials,
)
from vanishing.equations.rational import reduced_echelon, reduced_modulo
from vanishing.equations.rounding import Adjustable, simple_number
from vanishing.equations.sizes import DataScale, terms_that_count
from vanishing.equations.text import (
    LATEX,
    LAW,
    SHOWN_DIGITS,
    SHOWN_LINES,
    SHOWN_TERMS,
    UNNOTICED,
    Sum,
    latex_symbol,
)
from vanishing.equations.uncertainty import FittedSample, Sample
from vanishing.levels import BLOCK, CHANCE, OUTLYING, ROUNDING, SAME
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import count, multiples_up_to, normalize_columns

# --- Shorter polynomials that the data cannot tell from the fitted ones ---------------------------
#
# Everything is done with one test at the level CHANCE: the changes, in standard errors, are not
# more than chance makes of the errors themselves, neither all together (chi-squared) nor the one
# that is moved furthest.

#: Fractions as simple as one that says something are near by chance less often than this.
LARGEST_COINCIDENCE = 0.2


@dataclass(frozen=True, eq=False)
class Simplified:
    """Coefficients that are zero or short; integers, times ``scale``, if all are."""

    coefficients: tuple[int | float, ...]
    scale: int


def drop_terms(polynomial: Adjustable, sizes: FloatArray, share: float | None) -> None:
    """Drop terms that noise does not tell from zero, or that are smaller than a share."""
    furthest = float(norm.isf(CHANCE / 2 / len(sizes)))
    allowed = chi2.isf(CHANCE, np.arange(1, len(sizes) + 1))
    n_dropped = 0
    while not polynomial.fixed.all():
        candidates = np.flatnonzero(~polynomial.fixed)
        contributions = np.abs(polynomial.coefficients) * sizes
        if share is None:
            ratios = np.abs(polynomial.coefficients[candidates]) / polynomial.errors()[candidates]
            smallest = int(candidates[np.argmin(ratios)])
            cost = polynomial.cost_of(smallest, 0.0)
            if cost > furthest**2 or polynomial.cost + cost > allowed[n_dropped]:
                return
        else:
            smallest = int(candidates[np.argmin(contributions[candidates])])
            if contributions[smallest] >= share * contributions.max():
                return
        polynomial.fix(smallest, 0.0)
        n_dropped += 1


def with_fractions(polynomial: Adjustable) -> Simplified | None:
    """Round all coefficients to simple fractions, or return None if noise tells the difference."""
    trial = polynomial.copy()
    fractions = [Fraction(c) for c in trial.coefficients]  # those that are fixed are 0 or 1
    while not trial.fixed.all():
        margins = norm.isf(CHANCE / 2) * trial.errors()
        nearby = {
            index: simple_number(float(trial.coefficients[index]), float(margins[index]))
            for index in np.flatnonzero(~trial.fixed).tolist()
        }
        # The one that is least likely a coincidence first: the others get more certain by it.
        index = min(nearby, key=lambda i: nearby[i].coincidence if nearby[i].value else np.inf)
        if not nearby[index].value or nearby[index].coincidence > LARGEST_COINCIDENCE:
            return None
        fractions[index] = nearby[index].value
        trial.fix(index, float(fractions[index]))
    scale = lcm(*(fraction.denominator for fraction in fractions))
    if scale * CHANCE > 1 or trial.cost > chi2.isf(CHANCE, len(fractions)):
        return None
    return Simplified(tuple(int(fraction * scale) for fraction in fractions), scale)


def with_decimals(polynomial: Adjustable, digits: int | None) -> Simplified:
    """Round each coefficient to ``digits``, or to the last digit that its error leaves."""
    while not polynomial.fixed.all():
        sizes = np.maximum(np.abs(polynomial.coefficients), float_info.min)
        uncertainty = np.where(polynomial.fixed, -np.inf, polynomial.errors() / sizes)
        index = int(np.argmax(uncertainty))
        value, error = float(polynomial.coefficients[index]), float(polynomial.errors()[index])
        polynomial.fix(index, _rounded(value, error, digits))
    # The leading coefficient is written as 1, and not as 1.0.
    rounded = polynomial.coefficients.tolist()
    return Simplified(tuple(int(c) if abs(c) == 1 else c for c in rounded), 1)


def _rounded(value: float, error: float, digits: int | None) -> float:
    if value == 0.0:
        return 0.0
    first = floor(log10(abs(value)))
    place = floor(log10(error)) if digits is None else first - digits + 1
    # At least one digit is kept, and not more than a float has.
    place = min(max(place, first - float_info.dig + 1), first)
    return float(round(Fraction(value) * Fraction(10) ** -place) * Fraction(10) ** place)


def significant_digits(value: float) -> int:
    """Return how many digits it takes to write a number, leading and trailing zeros left out."""
    mantissa = f"{abs(value):.{float_info.dig - 1}e}".split("e")[0]
    return len(mantissa.replace(".", "").rstrip("0")) or 1


# --- One equation in a readable form, and what is known of it -------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class TidyEquation:
    """A vanishing polynomial that was made readable.

    Parameters
    ----------
    names : tuple of str
        Of the variables.
    degree : int
    exponents : int array of shape (n_terms, n_variables)
        Of the terms that are left.
    coefficients : tuple of int or float
        Rounded, as they are printed. All of them are integers, or the leading one is 1.
    standard_errors : array of shape (n_terms,)
        Of the fitted coefficients, in the scale of the rounded ones; zero for the leading one,
        which sets the scale.
    n_dropped : int
        Number of terms that were left out.
    dropped_share : float
        How large they were: the root of the sum of their squares on X, relative to all terms.
    digits : int
        Significant digits of the longest coefficient.
    extent_before, extent : float
        Root mean square on X of the fitted polynomial, in the scale of this one, and of this one.
    change : float
        Root mean square on X of the difference of the two: the error that tidying caused.
    size : float
        Root of the sum of the squares of the terms on X, before.
    is_product : bool
        Whether ``expression`` and ``latex`` show factors.
    """

    names: tuple[str, ...]
    degree: int
    exponents: IntArray
    coefficients: tuple[int | float, ...]
    standard_errors: FloatArray
    n_dropped: int
    dropped_share: float
    digits: int
    extent_before: float
    extent: float
    change: float
    size: float
    is_product: bool = False

    @property
    def change_to_extent(self) -> float:
        """The change relative to the extent of the fitted polynomial: below 1 it is noise."""
        return self.change / self.extent_before if self.extent_before else np.inf

    @property
    def change_to_size(self) -> float:
        """The change relative to the size of the terms."""
        return self.change / self.size

    @property
    def expression(self) -> Any:
        """The polynomial as a SymPy expression."""
        sympy = import_extra("sympy", extra="symbolic", purpose="TidyEquation.expression")
        products = sympy_monomials(self.names, self.exponents)
        terms = zip(self.coefficients, products, strict=True)
        total = sympy.Add(*(sympy.sympify(c) * product for c, product in terms))
        return sympy.factor(total) if self.is_product else total

    @property
    def latex(self) -> str:
        """The polynomial as LaTeX."""
        if self.is_product:
            import sympy

            names = {sympy.Symbol(name): latex_symbol(name) for name in self.names}
            return str(sympy.latex(self.expression, symbol_names=names))
        return LATEX.write(self._sum, self.names)

    def __str__(self) -> str:
        if self.is_product:
            return f"{str(self.expression).replace('**', '^')} = 0"
        return f"{LAW.write(self._sum, self.names)} = 0"

    @property
    def _sum(self) -> Sum:
        return Sum(self.exponents, self.coefficients, float_info.dig)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def evaluate(self, x: Any) -> FloatArray:
        """Return the values at points.

        Parameters
        ----------
        x : array of shape (n_samples, n_variables)

        Returns
        -------
        array of shape (n_samples,)
        """
        points = np.asarray(unmask(x, "x"), dtype=np.float64)
        values = np.zeros(len(points))
        for coefficient, powers in zip(self.coefficients, self.exponents, strict=True):
            values += coefficient * np.prod(points**powers, axis=1)
        return values

    def factored(self) -> "TidyEquation":
        """Return it as a product, if it has factors with integer coefficients.

        Returns
        -------
        TidyEquation
        """
        if not all(isinstance(c, int) for c in self.coefficients):
            return self
        product = replace(self, is_product=True)
        return product if product.expression.is_Mul or product.expression.is_Pow else self


# --- Which polynomials to write down: the span of those of one degree is what the data determines -
#
# Which ones of it a fit finds is a matter of coordinates. In reduced echelon form simple equations
# show, and modulo multiples of the equations of lower degree still simpler ones.

# Nothing is built on a number that may be noise, with a factor of two to spare: it is not a pivot,
# and a polynomial that differs by so little from multiples of others is one of them. Half of the
# largest is enough for a pivot, and half of a polynomial for a new one, however uncertain they are.


@dataclass(frozen=True, eq=False)
class EchelonForm:
    """Polynomials, one a column, each of which alone has its pivot, where its coefficient is 1."""

    coefficients: FloatArray
    pivots: IntArray

    def kept_by(self, directions: FloatArray) -> FloatArray:
        """Return directions, modulo the polynomials, that leave the pivots as they are."""
        kept = directions - self.coefficients @ directions[self.pivots]
        kept[self.pivots] = 0.0
        return kept


class Chosen(NamedTuple):
    """A polynomial to write: degree, coefficients, and what fixes its scale and mixture."""

    degree: int
    coefficients: FloatArray
    coordinates: EchelonForm


def choices(sample: Sample, *, mix: bool) -> list[list[Chosen]]:
    """Choose polynomials to write, in one way, or by eliminating other variables too."""
    orders = (False, True) if mix else (False,)
    return [list(_choose(sample, mix=mix, last_first=last_first)) for last_first in orders]


def _choose(sample: Sample, *, mix: bool, last_first: bool) -> Iterator[Chosen]:
    """Choose polynomials to write: with ``mix`` combined, and modulo lower ones."""
    degrees = sample.basis.degrees()
    if not mix:
        for degree, column in zip(degrees.tolist(), sample.coefficients.T, strict=True):
            noise = _noise(sample, column[:, None], degree)
            alone = _echelon(sample, column[None, :] * sample.sizes, noise, last_first)
            yield Chosen(degree, alone.coefficients[:, 0], alone)
        return
    lower: list[tuple[int, FloatArray]] = []
    for degree in np.unique(degrees).tolist():
        own = sample.coefficients[:, degrees == degree]
        noise = _noise(sample, own, degree)
        known = _echelon(sample, _multiples(sample, lower, degree), noise, last_first)
        new, is_reduced = _new(sample, own, known, noise)
        found = _echelon(sample, new, noise, last_first)
        if is_reduced:
            found.coefficients[known.pivots] = 0.0  # up to rounding errors
        both = _joined(known, found) if is_reduced else found
        for coefficients in found.coefficients.T:
            lower.append((degree, coefficients))
            yield Chosen(degree, coefficients, both)


def _noise(sample: Sample, polynomials: FloatArray, degree: int) -> float:
    """Return the largest uncertainty of polynomials of one degree, relative to their size."""
    weights = sample.sizes[:, None]
    return max(
        float(np.linalg.norm(sample.directions(g, degree) * weights))
        / float(np.linalg.norm(g * sample.sizes))
        for g in polynomials.T
    )


def _echelon(
    sample: Sample, rows: FloatArray, noise: float, last_first: bool = False
) -> EchelonForm:
    """Bring weighted rows of coefficients to echelon form."""
    # High degrees first, so that pivots are leading terms; the first variable first within one.
    exponents = sample.table.exponents
    powers = exponents if last_first else exponents[:, ::-1]
    order = np.lexsort((*-powers.T, -exponents.sum(axis=1)))
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    echelon, pivots = reduced_echelon(
        rows / np.where(norms > 0, norms, 1.0), order, pivot_share=_noticed(noise, UNNOTICED)
    )
    by_pivot = np.argsort(pivots)
    echelon, pivots = echelon[by_pivot], pivots[by_pivot]
    coefficients = echelon.T / sample.sizes[:, None] * sample.sizes[pivots]
    coefficients[pivots] = np.eye(len(pivots))
    return EchelonForm(coefficients, pivots)


def _multiples(sample: Sample, lower: list[tuple[int, FloatArray]], degree: int) -> FloatArray:
    """Multiples of polynomials up to a degree, as weighted rows."""
    parts: list[FloatArray] = [np.zeros((len(sample.table), 0))]
    for own_degree, coefficients in lower:
        parts.append(multiples_up_to(coefficients[:, None], own_degree, degree, sample.table))
    return (np.hstack(parts) * sample.sizes[:, None]).T


def _new(
    sample: Sample, own: FloatArray, known: EchelonForm, noise: float
) -> tuple[FloatArray, bool]:
    """Return what polynomials have beyond multiples of others, as weighted rows; if without."""
    weights = sample.sizes[:, None]
    rows = normalize_columns(own * weights).T
    # Multiples of lower equations may be large on a contrast that is not known.
    reduce = not sample.has_unknown_contrast
    if not known.pivots.size:
        return rows, reduce
    echelon = (known.coefficients * weights / sample.sizes[known.pivots]).T
    reduced = reduced_modulo(rows, echelon, known.pivots)
    combinations, singular, spanned = np.linalg.svd(reduced, full_matrices=False)
    beyond = singular > _noticed(noise, SAME)
    mixed, rest = combinations.T[beyond] @ rows, spanned[beyond]
    if not reduce or not len(rest):
        return mixed, reduce
    # Of what is told by the others noise is left, which vanishes for no mixture of the rest.
    principal = _principal(sample, rest)
    holds = sample.ratios((principal @ rest).T / weights) <= (1 + UNNOTICED) * sample.limit
    left_out = (principal[~holds] @ (mixed / singular[beyond, None])).T / weights
    if np.any(sample.sizes_of(left_out) < 2.0):  # half of a polynomial is more than noise
        return mixed, False
    return np.asarray(principal[holds] @ rest), True


def _principal(sample: Sample, rows: FloatArray) -> FloatArray:
    """Return the mixtures of polynomials, of size 1, that VCA would find: one on each row."""
    coefficients = rows.T / sample.sizes[:, None]
    _, sizes, directions = np.linalg.svd(sample.measures_of(coefficients), full_matrices=False)
    known = sizes > SAME * sizes.max(initial=0.0)
    units = directions[known].T / sizes[known]
    _, _, principal = np.linalg.svd(sample.values_of(coefficients @ units), full_matrices=False)
    return np.asarray(principal @ units.T)


def _noticed(noise: float, least: float) -> float:
    """Return the share of a polynomial that is not noise: at most half, however large that is."""
    return min(max(least, 2 * OUTLYING * noise), 0.5)


def _joined(known: EchelonForm, found: EchelonForm) -> EchelonForm:
    """Put two sets together; the second one has nothing on the pivots of the first."""
    reduced = known.coefficients - found.coefficients @ known.coefficients[found.pivots]
    return EchelonForm(
        np.hstack([reduced, found.coefficients]), np.concatenate([known.pivots, found.pivots])
    )


def simplify(
    sample: Sample,
    chosen: Chosen,
    *,
    drop: float | None = None,
    digits: int | None = None,
    integers: bool = True,
) -> Simplified:
    """Drop terms of one polynomial and round its coefficients, as ``tidy`` is told to."""
    degree, fitted, coordinates = chosen
    if sample.is_lost(fitted):
        raise ValueError(
            f"an equation of degree {degree} has terms so large that rounding errors hide "
            "it: X is far from the origin, compared with its spread; subtract the mean first, or "
            "pass mix=False"
        )
    uncertain = coordinates.kept_by(sample.directions(fitted, degree))
    single = coordinates.kept_by(np.diag(sample.roundings(fitted, degree)))
    # Terms of this degree or less: they come first.
    own = slice(count(sample.basis.n_features, degree))
    # As few directions as there are terms: only lengths and angles of the rows matter.
    directions = np.hstack([uncertain[own], single[own, own]])
    directions = np.asarray(np.linalg.qr(directions.T, mode="r")).T
    # Changes that noise does not tell, each by itself, may add up to one that breaks the equation.
    before, allowed = sample.ratio(fitted), sample.allowed(fitted)
    while True:
        polynomial = Adjustable(fitted[own], directions)
        drop_terms(polynomial, sample.sizes[own], drop)
        simplified = with_fractions(polynomial) if integers and digits is None else None
        if simplified is None:
            simplified = with_decimals(polynomial, digits)
        after = sample.ratio(np.asarray(simplified.coefficients, dtype=np.float64))
        if drop is not None or digits is not None or after <= allowed:
            break
        change, most = np.sqrt(np.abs(np.square([after, allowed]) - before**2))
        directions *= min(0.5, most / change) if np.isfinite(change) else 0.5
        if np.abs(directions).max() <= ROUNDING * np.abs(fitted).max():
            break
    # People write sums of whole numbers with a positive first term.
    kept = np.flatnonzero(simplified.coefficients)
    degrees = sample.table.exponents[kept].sum(axis=1)
    first = kept[np.argmax(degrees == degrees.max(initial=0))] if kept.size else 0
    whole = all(isinstance(c, int) for c in simplified.coefficients)
    sign = -1 if whole and simplified.coefficients[first] < 0 else 1
    return Simplified(tuple(sign * c for c in simplified.coefficients), sign * simplified.scale)


def write_shortest(
    sample: Sample, among: list[list[Chosen]], most: int | None = None, **rounding: Any
) -> list[tuple[Chosen, Simplified]]:
    """Simplify the first polynomials of each list; return the most, of fewest terms."""
    written = [
        [(each, simplify(sample, each, **rounding)) for each in chosen[:most]] for chosen in among
    ]
    n_terms = [sum(np.count_nonzero(s.coefficients) for _, s in found) for found in written]
    return min(zip(written, n_terms, strict=True), key=lambda each: (-len(each[0]), each[1]))[0]


# --- Equations as people would write them, with the error that this causes ------------------------

#: Monomials of an equation that can be tidied: a matrix of them is worked on at a time.
MOST_TIDIED = isqrt(BLOCK)


def tidy(
    model: Any,
    X: Any,
    feature_names: Any = None,
    *,
    preprocessor: Any = None,
    drop: float | None = None,
    digits: int | None = None,
    integers: bool = True,
    mix: bool = True,
    factor: bool = False,
    contrast: Any = None,
) -> list[TidyEquation]:
    """Write the shortest equations of the fitted ideal that the noise of the data allows.

    Which polynomials of one degree a fit finds is chance: any mixtures of them vanish as well. They
    are combined to others that span the same and have fewer terms, and multiples of shorter
    equations are left out.

    The leading coefficient becomes 1. Terms are dropped and coefficients rounded one after the
    other, and each time the rest is adjusted so that the values on X change least. This goes on as
    long as the noise of X, by the standard errors of the coefficients that follow from it, does not
    tell the result from the fitted polynomial.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted. Polynomials are carried back through scaling and PCA to the variables of the data.
    X : array of shape (n_samples, n_features)
        The data of the fit, before preprocessing, or other data of the same kind.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...
    preprocessor : transformer, optional
        What was applied to the data before the model, as in ``to_sympy``.
    drop : float, optional
        Drop terms whose root mean square on X is smaller than this share of the largest term's. By
        default those that noise does not tell from zero.
    digits : int, optional
        Significant digits of the coefficients. By default as many as noise leaves, coefficient by
        coefficient.
    integers : bool
        Whether to look for small integers or simple fractions near all coefficients, if ``digits``
        is not given.
    mix : bool
        Whether to combine the polynomials of each degree to others that span the same and have
        fewer terms (reduced echelon form). With False, each polynomial of the fit is tidied by
        itself.
    factor : bool
        Whether to write the expression as a product. It takes integers to find one.
    contrast : array of shape (n_contrast, n_features), optional
        The contrast of a fit with ``normalization="contrastive"``, before preprocessing. Without it
        only equations of the same degree are combined, and more terms are left.

    Returns
    -------
    list of TidyEquation
        By degree. With ``mix=False`` one for each column of ``transform``, in its order.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.datasets import make_variety
    >>> from vanishing.equations import tidy
    >>> X = make_variety("circle", 200, noise=0.001)
    >>> ideal = VanishingIdeal(tol=0.01).fit(X)
    >>> (circle,) = tidy(ideal, X, ["x", "y"])
    >>> circle.expression
    x**2 + y**2 - 1
    >>> bool(circle.change < circle.extent / 5)
    True
    """
    if drop is not None and check_real("drop", drop, zero=True) >= 1:
        raise ValueError(f"drop must be a fraction, at least 0 and less than 1, got {drop}")
    if digits is not None:
        check_whole("digits", digits)
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    basis = equations.basis
    if not basis.count():
        return []
    names = _names_for(equations, X, feature_names)
    n_monomials = count(basis.n_features, len(basis.blocks))
    if n_monomials > MOST_TIDIED:
        raise ValueError(
            f"there are {n_monomials} monomials in {basis.n_features} variables up to degree "
            f"{len(basis.blocks)}, more than the {MOST_TIDIED} that can be tidied; pass the "
            "ideal without its preprocessing, or fewer degrees"
        )
    sample = Sample.of(basis, X, equations.model, contrast)
    among = choices(sample, mix=mix)
    written = write_shortest(sample, among, drop=drop, digits=digits, integers=integers)
    found = [_measured(sample, *each, names) for each in written]
    return [each.factored() for each in found] if factor else found


def _names_for(equations: ModelEquations, X: Any, feature_names: Any) -> tuple[str, ...]:
    """Take the names of a frame's columns where the model has none, and compare them otherwise."""
    columns = getattr(X, "columns", None)
    if feature_names is not None or columns is None:
        return equations.names
    of_frame = tuple(str(column) for column in columns)
    if not equations.named:
        return check_names(of_frame, len(equations.names))
    if of_frame != equations.names:
        raise ValueError(
            f"X has columns {list(of_frame)}, but the model was fitted to {list(equations.names)}"
        )
    return equations.names


def _measured(
    sample: Sample, chosen: Chosen, simplified: Simplified, names: tuple[str, ...]
) -> TidyEquation:
    """Compare a polynomial with the fitted one, both in the scale of the result."""
    degree, fitted, coordinates = chosen
    uncertain = coordinates.kept_by(sample.directions(fitted, degree))
    scale = simplified.scale
    tidied = np.zeros(len(fitted))
    tidied[: len(simplified.coefficients)] = simplified.coefficients
    kept = np.flatnonzero(tidied)
    before = scale * fitted
    differences = np.column_stack([tidied - before, before, tidied])
    change, extent_before, extent = sample.root_mean_squares(differences).tolist()
    contributions = np.abs(before) * sample.sizes
    size = float(np.linalg.norm(contributions))
    return TidyEquation(
        names=names,
        degree=degree,
        exponents=sample.table.exponents[kept],
        coefficients=tuple(simplified.coefficients[index] for index in kept),
        standard_errors=abs(scale) * np.linalg.norm(uncertain[kept], axis=1),
        n_dropped=int(np.sum((tidied == 0) & (before != 0))),
        dropped_share=float(np.linalg.norm(contributions[tidied == 0])) / size,
        digits=max(significant_digits(c) for c in tidied[kept].tolist()),
        extent_before=extent_before,
        extent=extent,
        change=change,
        size=size,
    )


# --- The first equations of a fit, as short as the fit itself can tell ----------------------------


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The first equations of a basis, how many there are beyond them, and how many follow."""

    sums: list[Sum]
    degrees: IntArray
    extents: FloatArray
    n_more: int
    n_implied: int = 0

    @property
    def rest(self) -> str:
        """What is not shown, in words."""
        if not (self.n_more or self.n_implied):
            return "" if self.sums else "no equation: nothing vanishes"
        if not self.n_more:
            return f"{self.n_implied} more follow{'s' * (self.n_implied == 1)} from these"
        more = "more equation" if self.sums else "equation"
        large = "" if self.sums else ", too large to be written out"
        return f"{self.n_more} {more}{'s' * (self.n_more != 1)}{large}"


def excerpt(basis: PolynomialBasis, model: Any = None) -> Excerpt:
    """Write the first equations of a basis, those of each degree mixed to the shortest ones."""
    top = len(basis.blocks)
    if basis.count() and count(basis.n_features, top) <= MOST_TIDIED and is_quick(basis, top):
        scale = DataScale.of(basis, model)
        # Hidden by rounding errors, or beyond the range of numbers.
        with (
            suppress(ValueError, FloatingPointError),
            np.errstate(over="raise", divide="raise", invalid="raise"),
        ):
            if scale.is_complete:
                return _tidied(basis, scale, model)
    return _as_fitted(basis, model)


def _tidied(basis: PolynomialBasis, scale: DataScale, model: Any) -> Excerpt:
    """Mix the polynomials of each degree to the shortest ones, and drop and round their terms."""
    sample = FittedSample.of(basis, scale.points, model)
    # The polynomials of a border basis have leading terms, and are short.
    mix = getattr(model, "order_ideal_", None) is None
    among = choices(sample, mix=mix)
    sums, degrees, extents = [], [], []
    for (degree, fitted, _), simplified in write_shortest(sample, among, SHOWN_LINES):
        written = np.array(simplified.coefficients, dtype=np.float64)
        sizes = sample.sizes[: len(written)]
        span = 2 * abs(simplified.scale) * sample.change(fitted)
        kept, digits = terms_that_count(written, sizes, span=span, digits=SHOWN_DIGITS)
        coefficients = [simplified.coefficients[k] for k in kept]
        every = Sum(sample.table.exponents[kept], coefficients, digits.tolist())
        sums.append(every.shorten(SHOWN_TERMS))
        degrees.append(degree)
        extents.append(sample.extent(written))
    n_chosen = max(map(len, among))
    n_more, n_implied = n_chosen - len(sums), basis.count() - n_chosen
    return Excerpt(sums, np.array(degrees), np.array(extents), n_more, n_implied)


def _as_fitted(basis: PolynomialBasis, model: Any) -> Excerpt:
    """Expand as many equations as can be expanded quickly."""
    n_shown = min(SHOWN_LINES, basis.count())
    top = int(basis.degrees()[n_shown - 1]) if n_shown else 0
    while top and not is_quick(basis, top):
        top -= 1
    n_shown = min(n_shown, int(np.sum(basis.degrees() <= top)))
    lower = PolynomialBasis(basis.n_features, basis.blocks[:top])
    lower = lower.restrict(np.arange(lower.count()) < n_shown) if top else lower
    sums = []
    if n_shown:
        scale = DataScale.of(basis, model)
        sums = choose_terms(lower, scale, digits=SHOWN_DIGITS, n_terms=SHOWN_TERMS)
    return Excerpt(sums, lower.degrees(), lower.extents, basis.count() - n_shown)


def print_text(basis: PolynomialBasis, names: Sequence[str], model: Any = None) -> str:
    """Write the first equations of a basis as lines of text, with their extents."""
    found = excerpt(basis, model)
    lines = []
    for each, extent in zip(found.sums, found.extents.tolist(), strict=True):
        more = f" + ({each.n_left_out} more terms)" if each.n_left_out else ""
        lines.append(f"  {LAW.write(each, names)}{more} = 0   (extent {extent:.2g})")
    if found.rest:
        lines.append(f"  ({found.rest})")
    return "\n".join(lines)


def notebook_latex(basis: PolynomialBasis, names: Sequence[str], model: Any = None) -> str:
    """Write the first equations of a basis as one display in LaTeX."""
    found = excerpt(basis, model)
    lines = []
    for each in found.sums:
        dots = r" + \cdots" if each.n_left_out else ""
        lines.append(f"{LATEX.write(each, names)}{dots} &= 0")
    if found.rest:
        lines.append(f"&\\text{{{found.rest}}}")
    body = " \\\\\n".join(lines)
    return f"$$\\begin{{aligned}}\n{body}\n\\end{{aligned}}$$"
