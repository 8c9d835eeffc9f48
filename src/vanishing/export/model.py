"""What can be written down: the equations of a model, in the variables of the user."""

from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from vanishing._xp import FloatArray, IntArray
from vanishing._xp.lazy import lazy
from vanishing.export.preprocessing import affine_map, composed
from vanishing.export.sizes import DataScale
from vanishing.polynomials import PolynomialBasis
from vanishing.polynomials.memory import as_text
from vanishing.polynomials.monomials import count

#: Bytes that the coefficients of the polynomials of one degree may take when they are expanded.
LARGEST_EXPANSION = 2**31


@dataclass(frozen=True, eq=False)
class Equations:
    """Polynomials in the variables that the user's data has.

    Parameters
    ----------
    basis : PolynomialBasis
    names : tuple of str
        One a variable, all different.
    named : bool
        Whether somebody gave these names.
    source : str
        What they come from, in words.
    model : VanishingIdeal or None
        The ideal that they come from.
    """

    basis: PolynomialBasis
    names: tuple[str, ...]
    named: bool
    source: str
    model: Any = None

    @lazy
    def scale(self) -> DataScale:
        """How large the variables are on the data of the fit."""
        return DataScale.of(self.basis, self.model)


def equations_of(model: Any, feature_names: Any = None, *, preprocessor: Any = None) -> Equations:
    """Carry the equations of a model back through its preprocessing.

    Parameters
    ----------
    model : VanishingIdeal, PolynomialBasis, or Pipeline that ends in a VanishingIdeal
        Fitted.
    feature_names : sequence of str, optional
        By default the column names of the data, or x0, x1, ...
    preprocessor : transformer, optional
        What was applied to the data before the model: one that ``affine_map`` takes.

    Returns
    -------
    Equations
    """
    steps = [] if preprocessor is None else [preprocessor]
    while isinstance(model, Pipeline):
        steps += [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        model = model.steps[-1][1]
    basis, source = _basis_of(model)
    if steps:
        basis = basis.composed_with(composed(map(affine_map, steps)))
        source += " after " + ", ".join(map(_in_one_line, steps))
    if feature_names is None:
        feature_names = getattr(steps[0] if steps else model, "feature_names_in_", None)
    names = checked_names(feature_names, basis.n_features)
    ideal = None if isinstance(model, PolynomialBasis) else model
    return Equations(basis, names, feature_names is not None, source, ideal)


def expanded(basis: PolynomialBasis) -> tuple[IntArray, FloatArray]:
    """Expand into monomials, unless that takes too much memory.

    Parameters
    ----------
    basis : PolynomialBasis

    Returns
    -------
    exponents, coefficients
        As ``PolynomialBasis.expand`` returns them.
    """
    widest = max((block.n_candidates for block in basis.blocks), default=0)
    n_monomials = count(basis.n_features, len(basis.blocks))
    n_bytes = 8 * n_monomials * max(widest, basis.count())
    if n_bytes > LARGEST_EXPANSION:
        raise ValueError(
            f"in {basis.n_features} variables there are {n_monomials} monomials up to degree "
            f"{len(basis.blocks)}, whose coefficients take {as_text(n_bytes)}: nobody would read "
            "that; write the equations in the preprocessed variables (pass the ideal without its "
            "pipeline), or fewer of them (basis.restricted), or as source (to_python, to_c)"
        )
    return basis.expand()


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


def checked_names(feature_names: Any, n_features: int) -> tuple[str, ...]:
    """Return as many names as there are features, all different; x0, x1, ... by default."""
    names = names_for(feature_names, n_features)
    if len(set(names)) < n_features:
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"feature names must differ, got {', '.join(twice)} more than once")
    return names


def names_for(feature_names: Any, n_features: int) -> tuple[str, ...]:
    """Return as many names as there are features; x0, x1, ... by default."""
    if feature_names is None:
        feature_names = [f"x{i}" for i in range(n_features)]
    names = tuple(str(name) for name in feature_names)
    if len(names) != n_features:
        raise ValueError(f"expected {n_features} feature names, got {len(names)}")
    return names


def _in_one_line(estimator: Any) -> str:
    return " ".join(repr(estimator).split())
