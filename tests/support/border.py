"""Border bases by the definition, slowly: exact in a finite field, or on explicit monomials."""

from itertools import product

import numpy as np

#: Ranks of rational points are the same modulo a large prime, but for very unlucky points.
PRIME = 2**61 - 1


def terms_of_degree(n_variables, degree, order):
    """Exponents of all monomials of a degree, smallest first."""
    found = [e for e in product(range(degree + 1), repeat=n_variables) if sum(e) == degree]
    if order == "deglex":
        return sorted(found)
    return sorted(found, key=lambda e: tuple(-p for p in reversed(e)))


def divisors(term):
    """All divisors of a term of one degree less."""
    return [(*term[:j], power - 1, *term[j + 1 :]) for j, power in enumerate(term) if power > 0]


def is_corner(term, terms):
    return all(each in terms for each in divisors(term))


def exact_border_basis(points, max_degree, order="deglex"):
    """O and the leading terms of the vanishing ideal of rational points (Buchberger-Möller)."""
    rows = [[each.numerator * pow(each.denominator, -1, PRIME) % PRIME for each in point]
            for point in points]  # fmt: skip
    n_variables = len(rows[0])
    reduced, terms, leading = [], {(0,) * n_variables: None}, []
    reduce_and_keep([1] * len(rows), reduced)
    for degree in range(1, max_degree + 1):
        for term in terms_of_degree(n_variables, degree, order):
            if not is_corner(term, terms):
                continue
            values = [1] * len(rows)
            for j, power in enumerate(term):
                values = [v * pow(row[j], power, PRIME) % PRIME
                          for v, row in zip(values, rows, strict=True)]  # fmt: skip
            if reduce_and_keep(values, reduced):
                terms[term] = None
            else:
                leading.append(term)
    return list(terms), leading


def reduce_and_keep(values, reduced):
    """Reduce a vector by others with known pivots; keep it and return True if it is not zero."""
    values = list(values)
    for pivot, row in reduced:
        factor = values[pivot]
        if factor:
            values = [(v - factor * r) % PRIME for v, r in zip(values, row, strict=True)]
    pivot = next((i for i, v in enumerate(values) if v), None)
    if pivot is None:
        return False
    inverse = pow(values[pivot], -1, PRIME)
    reduced.append((pivot, [v * inverse % PRIME for v in values]))
    return True


def monomial(X, term):
    return np.prod(X ** np.asarray(term), axis=1)


def scale_to_box(X):
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - (low + high) / 2) / np.where(high > low, (high - low) / 2, 1.0)


def gradient_weights(X, terms):
    """Root mean squares of the gradients of monomials, divided by the norm of the exponents."""
    weights = []
    for term in terms:
        squares = 0.0
        for j, power in enumerate(term):
            if power:
                lower = (*term[:j], power - 1, *term[j + 1 :])
                squares += power**2 * np.mean(monomial(X, lower) ** 2)
        weights.append(np.sqrt(squares) / max(np.linalg.norm(term), 1e-300))
    return np.array(weights)


def float_border_basis(X, tol, max_degree, kind, order="deglex", contrast=None):
    """O, leading terms, extents and values of generators, on explicit monomial matrices.

    ``kind`` is "oavi" (columns scaled by the caller), "abm" or "abm-gradient"; with a contrast the
    sizes are those on the contrast.
    """
    n_variables = X.shape[1]
    terms, leading, extents, values = {(0,) * n_variables: None}, [], [], []
    for degree in range(1, max_degree + 1):
        for term in terms_of_degree(n_variables, degree, order):
            if not is_corner(term, terms):
                continue
            used = [*terms, term]
            on_points = np.column_stack([monomial(X, each) for each in used]) / np.sqrt(len(X))
            if contrast is not None:
                sizes = np.column_stack([monomial(contrast, each) for each in used])
                sizes /= np.sqrt(len(contrast))
            elif kind == "abm-gradient":
                sizes = np.diag(gradient_weights(X, used))
            else:
                sizes = np.eye(len(used))
            if kind == "oavi":
                fit = np.linalg.lstsq(on_points[:, :-1], on_points[:, -1], rcond=None)[0]
                vector = np.append(-fit, 1.0)
                if contrast is not None:
                    vector /= np.linalg.norm(sizes @ vector)
            else:
                # The least extent is the inverse of the largest size of an orthonormal polynomial.
                if len(used) > len(X):
                    vector = np.linalg.svd(on_points)[2][-1]
                    vector /= np.copysign(np.linalg.norm(sizes @ vector), vector[-1])
                    leading.append(term)
                    extents.append(0.0)
                    values.append(np.sqrt(len(X)) * on_points @ vector)
                    continue
                R = np.linalg.qr(on_points, mode="r")
                _, singular, right = np.linalg.svd(sizes @ np.linalg.inv(R))
                vector = np.linalg.solve(R, right[0]) / singular[0]
                vector *= np.copysign(1.0, vector[-1])
            extent = np.linalg.norm(on_points @ vector)
            if extent <= tol:
                leading.append(term)
                extents.append(extent)
                values.append(np.sqrt(len(X)) * on_points @ vector)
            else:
                terms[term] = None
    return list(terms), leading, np.array(extents), np.array(values).reshape(-1, len(X)).T
