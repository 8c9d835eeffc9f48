"""What people use instead, told which column is the target.

Both are optional: ``pip install pysindy gplearn``.
"""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from benchmarks.laws.formulas import HIGHEST_DEGREE, Formula

#: Thresholds of STLSQ; the one that predicts held-out rows best is taken.
THRESHOLDS = (0.001, 0.01, 0.1, 1.0)
HELD_OUT = 0.3
#: Errors within this factor of the smallest are as good, and the shortest of them is taken.
AS_GOOD = 1.05


@dataclass
class Fitted:
    """What a peer found: monomials and coefficients if it is a polynomial, and its predictions."""

    terms: dict[tuple[int, ...], float] | None
    text: str
    predicted: np.ndarray
    seconds: float


def sparse_regression(X: np.ndarray, fresh: np.ndarray) -> Fitted:
    """Regress the last column on monomials of the others with pysindy's STLSQ."""
    import pysindy

    started = time.process_time()
    library = pysindy.PolynomialLibrary(degree=HIGHEST_DEGREE)
    features = np.asarray(library.fit_transform(X[:, :-1]))
    target = X[:, -1]
    n_fitted = round((1 - HELD_OUT) * len(X))
    fits = []
    for threshold in THRESHOLDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                optimizer = pysindy.STLSQ(threshold=threshold)
                optimizer.fit(features[:n_fitted], target[:n_fitted, None])
            except ValueError:  # no term is left
                continue
        weights = np.asarray(optimizer.coef_).ravel()
        errors = features[n_fitted:] @ weights - target[n_fitted:]
        fits.append((float(np.sqrt(np.mean(errors**2))), np.count_nonzero(weights), weights))
    limit = AS_GOOD * min(error for error, *_ in fits) + 1e-9 * target.std()
    _, _, weights = min((fit for fit in fits if fit[0] <= limit), key=lambda fit: fit[1])
    kept = np.flatnonzero(weights)
    weights = np.zeros_like(weights)
    weights[kept] = np.linalg.lstsq(features[:, kept], target, rcond=None)[0]
    terms = {(*powers, 0): -weights[i] for i, powers in enumerate(_powers(library)) if weights[i]}
    terms[(0,) * (X.shape[1] - 1) + (1,)] = 1.0
    predicted = np.asarray(library.transform(fresh[:, :-1])) @ weights
    seconds = time.process_time() - started
    return Fitted(terms, f"{len(terms) - 1} terms", predicted, seconds)


def _powers(library: Any) -> list[tuple[int, ...]]:
    """Return the exponents of a library's monomials, read from their names."""
    symbols = [sympy.Symbol(f"x{j}") for j in range(library.n_features_in_)]
    names = library.get_feature_names([str(symbol) for symbol in symbols])
    written = (name.replace("^", "**").replace(" ", "*") for name in names)
    return [sympy.Poly(sympy.sympify(text), *symbols).monoms()[0] for text in written]


def symbolic_regression(X: np.ndarray, fresh: np.ndarray, seed: int) -> Fitted:
    """Search a formula of the last column with gplearn and its default budget."""
    from gplearn.genetic import SymbolicRegressor

    started = time.process_time()
    functions = ("add", "sub", "mul", "div", "sqrt")
    model = SymbolicRegressor(function_set=functions, metric="rmse", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:, :-1], X[:, -1])
        predicted = np.asarray(model.predict(fresh[:, :-1]))
    return Fitted(None, str(model._program), predicted, time.process_time() - started)


def prediction_error(formula: Formula, fitted: Fitted, fresh: np.ndarray) -> float:
    """Return the error on rows without noise, relative to the spread of the target."""
    errors = fitted.predicted - fresh[:, -1]
    return float(np.sqrt(np.mean(errors**2)) / fresh[:, -1].std())
