"""The equations of a model expanded into monomials of the columns of the data; SymPy, LaTeX."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from vanishing.arrays.blocks import format_bytes
from vanishing.arrays.namespace import FloatArray, IntArray, import_extra, lazy
from vanishing.arrays.parameters import check_whole
from vanishing.equations.sizes import DataScale
from vanishing.equations.text import LATEX, SHOWN_DIGITS, Sum
from vanishing.levels import BLOCK, MEMORY
from vanishing.polynomials.basis import PolynomialBasis
from vanishing.polynomials.monomials import AffineMap, count, variable_names

# --- Fitted preprocessing of scikit-learn as affine maps ------------------------------------------

SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


def affine_map(preprocessor: Any) -> AffineMap:
    """Return the affine map that a fitted preprocessor applies.

    Parameters
    ----------
    preprocessor : StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA or Pipeline
        Fitted. A pipeline is made of these; steps may be ``"passthrough"``.

    Returns
    -------
    AffineMap

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vanishing.equations import affine_map
    >>> found = affine_map(StandardScaler().fit([[1.0], [5.0]]))
    >>> found.matrix, found.offset
    (array([[0.5]]), array([-1.5]))
    """
    if isinstance(preprocessor, Pipeline):
        return compose_maps(map(affine_map, steps_of(preprocessor)))
    # No subclasses: they may do anything.
    if type(preprocessor) not in (*SCALERS, PCA):
        known = ", ".join(kind.__name__ for kind in (*SCALERS, PCA))
        raise ValueError(
            f"polynomials are carried back through {known} and pipelines of these, got "
            f"{type(preprocessor).__name__}; leave it out, and the equations are in its output"
        )
    check_is_fitted(preprocessor)
    return _pca_map(preprocessor) if type(preprocessor) is PCA else _scaler_map(preprocessor)


def steps_of(model: Any) -> list[Any]:
    """Return the steps that do something, those of pipelines in a pipeline too; or the model."""
    if not isinstance(model, Pipeline):
        return [] if model is None or model == "passthrough" else [model]
    return [each for _, step in model.steps for each in steps_of(step)]


def compose_maps(maps: Iterable[AffineMap]) -> AffineMap:
    """Return the map that applies several, the first one first."""
    several = list(maps)
    if not several:
        raise ValueError("expected a pipeline with at least one step, got an empty one")
    return reduce(lambda first, second: second.after(first), several)


class Scaling(NamedTuple):
    """The map x ↦ (x - center) · factor + shift, variable by variable."""

    center: FloatArray
    factor: FloatArray
    shift: FloatArray


def scaling_of(scaler: Any) -> Scaling:
    """Return what a fitted scaler does."""
    if getattr(scaler, "clip", False):  # MaxAbsScaler has it in later versions only
        raise ValueError(
            f"{type(scaler).__name__}(clip=True) clips values, so it is not affine; fit it "
            "without clip"
        )
    zero, one = np.zeros(scaler.n_features_in_), np.ones(scaler.n_features_in_)
    match scaler:
        case StandardScaler():
            center = scaler.mean_ if scaler.with_mean else zero
            scale = scaler.scale_ if scaler.with_std else one
        case RobustScaler():
            center = scaler.center_ if scaler.with_centering else zero
            scale = scaler.scale_ if scaler.with_scaling else one
        case MinMaxScaler():
            center = np.asarray(scaler.data_min_ + scaler.data_max_, dtype=np.float64) / 2
            factor = np.asarray(scaler.scale_, dtype=np.float64)
            return Scaling(center, factor, factor * center + scaler.min_)
        case _:
            center, scale = zero, scaler.scale_
    return Scaling(np.asarray(center, dtype=np.float64), 1.0 / scale.astype(np.float64), zero)


def _scaler_map(scaler: Any) -> AffineMap:
    center, factor, shift = scaling_of(scaler)
    return AffineMap(np.diag(factor), shift - factor * center, center if center.any() else None)


def _pca_map(pca: Any) -> AffineMap:
    components = np.asarray(pca.components_, dtype=np.float64)
    if pca.whiten:
        scale = np.sqrt(pca.explained_variance_)
        # As scikit-learn does, so that directions without variance do not become infinite.
        components = components / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]
    mean = np.asarray(pca.mean_, dtype=np.float64)
    return AffineMap(components, -components @ mean, mean)


# --- What can be written down: the equations of a model, in the variables of the user -------------


@dataclass(frozen=True, eq=False)
class ModelEquations:
    """Polynomials in the variables that the user's data has."""

    basis: PolynomialBasis
    names: tuple[str, ...]
    named: bool  # whether somebody gave the names
    source: str  # in words, what the polynomials come from
    model: Any = None  # the ideal, if there is one

    @lazy
    def scale(self) -> DataScale:
        """How large the variables are on the data of the fit."""
        return DataScale.of(self.basis, self.model)


def equations_of(
    model: Any, feature_names: Any = None, *, preprocessor: Any = None
) -> ModelEquations:
    """Carry the equations of a model back through its preprocessing to the columns of the data."""
    steps = [] if preprocessor is None else [preprocessor]
    if isinstance(model, Pipeline):
        *before, model = steps_of(model) or [None]
        steps += before
    basis, source = _basis_of(model)
    if steps:
        basis = basis.compose(compose_maps(map(affine_map, steps)))
        source += " after " + ", ".join(map(_in_one_line, steps))
    if feature_names is None:
        feature_names = getattr(steps[0] if steps else model, "feature_names_in_", None)
    names = check_names(feature_names, basis.n_features)
    ideal = None if isinstance(model, PolynomialBasis) else model
    return ModelEquations(basis, names, feature_names is not None, source, ideal)


def expand_basis(basis: PolynomialBasis) -> tuple[IntArray, FloatArray]:
    """Expand into monomials, as ``PolynomialBasis.expand``, unless that takes too much memory."""
    widest = max((block.n_candidates for block in basis.blocks), default=0)
    n_monomials = count(basis.n_features, len(basis.blocks))
    n_bytes = 8 * n_monomials * max(widest, basis.count())
    if n_bytes > MEMORY:
        raise ValueError(
            f"{basis.n_features} variables have {n_monomials} monomials up to degree "
            f"{len(basis.blocks)}, whose coefficients take {format_bytes(n_bytes)}: too many to "
            "write out; write the equations in the preprocessed variables (pass the ideal without "
            "its pipeline), or fewer of them (basis.restrict), or as source (to_python, to_c)"
        )
    return basis.expand()


def choose_terms(
    basis: PolynomialBasis,
    scale: DataScale,
    *,
    digits: int | None = None,
    n_terms: int | None = None,
) -> list[Sum]:
    """Expand the vanishing polynomials, and choose terms and digits that count on the data."""
    exponents, coefficients = expand_basis(basis)
    chosen = zip(coefficients.T, scale.terms(basis, coefficients, digits=digits), strict=True)
    return [
        Sum(exponents[kept], column[kept].tolist(), of_each.tolist()).shorten(n_terms)
        for column, (kept, of_each) in chosen
    ]


def _basis_of(model: Any) -> tuple[PolynomialBasis, str]:
    if isinstance(model, PolynomialBasis):
        return model, repr(model)
    if not hasattr(model, "to_sympy"):
        hint = " (its ideals_ are such)" if hasattr(model, "ideals_") else ""
        raise TypeError(
            "expected a VanishingIdeal, its basis, or a Pipeline that ends in a VanishingIdeal, "
            f"got {type(model).__name__}{hint}"
        )
    check_is_fitted(model)
    return model.basis_, _in_one_line(model)


def check_names(feature_names: Any, n_features: int) -> tuple[str, ...]:
    """Return as many names as there are features, all different; x0, x1, ... by default."""
    names = variable_names(n_features, feature_names)
    if len(set(names)) < n_features:
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"feature names must differ, got {', '.join(twice)} more than once")
    return names


def _in_one_line(estimator: Any) -> str:
    return " ".join(repr(estimator).split())


def is_quick(basis: PolynomialBasis, degree: int) -> bool:
    """Whether the polynomials up to a degree can be expanded in a fraction of a second."""
    blocks = basis.blocks[:degree]
    widest = max((block.n_candidates for block in blocks), default=0)
    n_monomials = count(basis.n_features, degree)
    return n_monomials * max(widest, basis.n_features) <= BLOCK


# --- SymPy ----------------------------------------------------------------------------------------


def to_sympy(model: Any, feature_names: Any = None, *, preprocessor: Any = None) -> list[Any]:
    """Expand the vanishing polynomials into SymPy expressions.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted. Polynomials are carried back through scaling and PCA to the variables of the data.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...
    preprocessor : transformer, optional
        What was applied to the data before the model: StandardScaler, MinMaxScaler, MaxAbsScaler,
        RobustScaler, PCA, or a Pipeline of these.

    Returns
    -------
    list of sympy.Expr
        In ``Symbol(name)``, coefficients as floats, all terms kept.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.equations import to_sympy
    >>> X = np.column_stack([np.arange(9.0), 2 * np.arange(9.0)])
    >>> line = make_pipeline(StandardScaler(), VanishingIdeal(max_degree=1, tol=0)).fit(X)
    >>> (equation,) = to_sympy(line, ["u", "v"])
    >>> equation.coeff("v").round(3), equation.coeff("u").round(3)
    (-0.137, 0.274)
    """
    sympy = import_extra("sympy", extra="symbolic", purpose="to_sympy")
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    exponents, coefficients = expand_basis(equations.basis)
    monomials = sympy_monomials(equations.names, exponents)
    return [
        sympy.Add(*(sympy.Float(c) * m for c, m in zip(column.tolist(), monomials, strict=True)))
        for column in coefficients.T
    ]


def sympy_monomials(names: Sequence[str], exponents: IntArray) -> list[Any]:
    """Return the products of powers of variables in SymPy."""
    import sympy

    symbols = [sympy.Symbol(name) for name in names]
    return [
        sympy.Mul(*(symbol**power for symbol, power in zip(symbols, powers, strict=True)))
        for powers in exponents.tolist()
    ]


# --- LaTeX ----------------------------------------------------------------------------------------


def to_latex(
    model: Any, feature_names: Any = None, *, preprocessor: Any = None, digits: int = SHOWN_DIGITS
) -> list[str]:
    """Write the vanishing polynomials as LaTeX, highest degree first.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted. Polynomials are carried back through scaling and PCA to the variables of the data.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...; "x12" becomes ``x_{12}``, other
        names are set upright.
    preprocessor : transformer, optional
        What was applied to the data before the model, as in ``to_sympy``.
    digits : int
        Significant digits of the coefficients. There are more where fewer would change what an
        equation says about the data of the fit, and terms are left out that change it by less than
        the last digit. What counts is the size of a term on the data, not its coefficient.

    Returns
    -------
    list of str
    """
    check_whole("digits", digits)
    equations = equations_of(model, feature_names, preprocessor=preprocessor)
    sums = choose_terms(equations.basis, equations.scale, digits=digits)
    return [LATEX.write(each, equations.names) for each in sums]
