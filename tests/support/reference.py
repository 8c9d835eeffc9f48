"""Reference implementation of VCA(X, Y) with five normalizations: slow, explicit, independent.

Every polynomial is the vector of its coefficients on all monomials in x_1..x_n up to
``max_degree``. Values, gradients and norms are read off the monomials, never off nested products,
so a mistake in a library that works with nested products cannot repeat itself here. Accurate for
data of scale about 1 and low degrees (up to about 5); nothing here is meant to be fast.

Letters, as in the paper: F nonvanishing, G vanishing, C candidates, L projection, V eigenvectors.
Here ``P`` are the candidates before projection, all products (i, j) of F_1 and F_{t-1}, and ``B``
is a basis of the coordinates on them that the problem is solved in.
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

NORMALIZATIONS = ("vca", "coefficient", "gradient", "gradient-weighted", "contrastive")
EPS = np.finfo(np.float64).eps
TIE = 1e-6  # sizes this close, relatively, are equal: the lower index wins
INDEPENDENT = 1e-8  # a leading form is new if this part of it, relatively, is not yet spanned
RANK = 1e-12  # a column smaller than this, relative to its size before projection, is zero


@dataclass(frozen=True)
class Reference:
    """The two bases, degree by degree, as coefficient matrices on the rows of ``exponents``.

    ``extents[t - 1]`` are the RMS on X of the columns of ``vanishing[t - 1]``, the degree t;
    ``nonvanishing_extents[t]`` those of ``nonvanishing[t]`` before it was rescaled (may be inf).
    Under "vca" with tol_norm="euclidean" F has norm 1 on X, not RMS 1 (the constant stays 1).
    """

    exponents: np.ndarray  # (M, n)
    vanishing: list[np.ndarray]  # degrees 1..T, each (M, k_t), ascending extent
    nonvanishing: list[np.ndarray]  # degrees 0..T, each (M, k_t), descending extent, RMS 1 on X
    extents: list[np.ndarray]  # degrees 1..T
    nonvanishing_extents: list[np.ndarray]  # degrees 0..T
    dropped: list[int]  # degrees 1..T: directions that are zero on X and in the normalization
    stop_reason: str  # "exhausted" | "max_degree"


# --- polynomials as coefficient vectors ----------------------------------------------------------


def exponent_table(n, max_degree):
    """Exponents of all monomials in n variables of degree <= max_degree, (M, n), by degree."""
    chosen = [c for t in range(max_degree + 1) for c in combinations_with_replacement(range(n), t)]
    return np.array([[c.count(k) for k in range(n)] for c in chosen], dtype=int)


def monomials(x, exponents):
    """Values of all monomials at the rows of x, (n_samples, M)."""
    columns = [np.prod(x**e, axis=1) for e in exponents]
    return np.stack(columns, axis=1)


def monomial_gradients(x, exponents):
    """Gradients of all monomials at the rows of x, (n_samples, M, n)."""
    parts = []
    for k in range(exponents.shape[1]):
        lowered = exponents.copy()
        lowered[:, k] = np.maximum(lowered[:, k] - 1, 0)
        parts.append(exponents[:, k] * monomials(x, lowered))
    return np.stack(parts, axis=2)


def values(coefs, exponents, x):
    """Values of polynomials at the rows of x, (n_samples, k)."""
    return monomials(np.asarray(x, dtype=float), exponents) @ coefs


def gradients(coefs, exponents, x):
    """Gradients of polynomials at the rows of x, (n_samples, k, n)."""
    derivatives = monomial_gradients(np.asarray(x, dtype=float), exponents)
    return np.einsum("sMn,Mk->skn", derivatives, coefs)


def times_variable(coefs, exponents, k):
    """Coefficients of x_k p for every column p of coefs (of degree < max_degree)."""
    row = {tuple(e): r for r, e in enumerate(exponents)}
    out = np.zeros_like(coefs)
    for r, e in enumerate(exponents):
        raised = row.get((*e[:k], e[k] + 1, *e[k + 1 :]))
        if raised is not None:
            out[raised] = coefs[r]
    return out


def products_with_linear(linear, coefs, exponents):
    """All products linear[i] * coefs[j], column i * n_coefs + j; linear has degree <= 1."""
    n = exponents.shape[1]
    shifted = [times_variable(coefs, exponents, k) for k in range(n)]
    degree = exponents.sum(axis=1)
    rows = [np.flatnonzero((degree == 1) & (exponents[:, k] == 1))[0] for k in range(n)]
    blocks = []
    for p in linear.T:
        blocks.append(p[0] * coefs + sum(p[rows[k]] * shifted[k] for k in range(n)))
    return np.concatenate(blocks, axis=1)


# --- candidates without duplicates (leading forms) -----------------------------------------------


def first_largest(sizes):
    """Index of the largest size; among those within TIE of it, the lowest index."""
    return int(np.flatnonzero(sizes >= (1 - TIE) * np.max(sizes))[0])


def independent_columns(forms):
    """Greedy pivoted QR: the chosen columns in ascending order, and an orthonormal basis Q."""
    own = np.linalg.norm(forms, axis=0)
    residual, chosen, Q = forms.copy(), [], np.zeros((len(forms), 0))
    while True:
        size = np.linalg.norm(residual, axis=0)
        size[size <= INDEPENDENT * own] = 0.0
        if not np.any(size):
            return sorted(chosen), Q
        pivot = first_largest(size)
        q = residual[:, pivot] - Q @ (Q.T @ residual[:, pivot])
        Q = np.column_stack([Q, q / np.linalg.norm(q)])
        chosen.append(pivot)
        residual = forms - Q @ (Q.T @ forms)
        residual -= Q @ (Q.T @ residual)
        residual[:, chosen] = 0.0


def candidate_coordinates(forms, normalization):
    """Basis B, (n_products, r), of the coordinates that stand for independent products."""
    chosen, Q = independent_columns(forms)
    if normalization != "vca":
        return np.eye(forms.shape[1])[:, chosen]
    # Row space of the product map = orthogonal complement of its kernel, with orthonormal B.
    return np.linalg.qr((Q.T @ forms).T)[0]


# --- normalizations ------------------------------------------------------------------------------


def normalization_factor(normalization, coefs, exponents, X, Y):
    """A matrix E, (any, k), with E^T E = the Gram matrix of the columns of coefs in the form."""
    k = coefs.shape[1]
    if normalization == "coefficient":
        return coefs
    if normalization == "gradient":
        jacobian = gradients(coefs, exponents, X)
        return jacobian.transpose(0, 2, 1).reshape(-1, k) / np.sqrt(len(X))
    if normalization == "gradient-weighted":
        squared = np.sum(monomial_gradients(X, exponents) ** 2, axis=2)
        length = np.linalg.norm(exponents, axis=1)
        length[0] = 1.0  # the constant: its gradient, and so its weight, is zero
        return (np.sqrt(np.mean(squared, axis=0)) / length)[:, None] * coefs
    if normalization == "contrastive":
        return values(coefs, exponents, Y) / np.sqrt(len(Y))
    raise ValueError(f"no form on polynomials for normalization {normalization!r}")


# --- the generalized problem ---------------------------------------------------------------------


def generalized_pairs(A, E, size_A, size_E):
    """A^T A v = lambda E^T E v from the factors A and E, without Gram matrices.

    ``size_A`` and ``size_E`` are the sizes of the columns before projection. Returns V, and
    ``norm_A``, ``norm_E``, the norms of A V and E V (lambda is the square of their ratio; where
    norm_E is zero it is exactly 0.0), the rounding in norm_A in units of eps, and the number of
    directions that are zero in both.
    """
    scale_A = np.linalg.norm(size_A) or 1.0
    scale_E = np.linalg.norm(size_E) or 1.0
    column = np.hypot(size_A / scale_A, size_E / scale_E)
    column[column == 0] = 1.0
    top = np.linalg.qr(A, mode="r") / scale_A / column
    bottom = np.linalg.qr(E, mode="r") / scale_E / column
    U, s, Wt = np.linalg.svd(np.vstack([top, bottom]), full_matrices=False)
    keep = s > RANK * np.sqrt(len(s))
    U, s, W = U[:, keep], s[keep], Wt[keep].T

    # CS decomposition: U1^T U1 + U2^T U2 = I. The SVD of U1 is accurate for small alpha, that of
    # U2 for small beta, so directions with alpha^2 > 1/2 are turned by the SVD of U2.
    U1, U2 = U[: len(top)], U[len(top) :]
    Z = np.linalg.svd(U1)[2].T
    high = np.linalg.norm(U1 @ Z, axis=0) > np.sqrt(0.5)
    if np.any(high):
        Z[:, high] = Z[:, high] @ np.linalg.svd(U2 @ Z[:, high])[2].T
    V = (W / s) @ Z / column[:, None]
    norm_A = scale_A * np.linalg.norm(U1 @ Z, axis=0)
    norm_E = scale_E * np.linalg.norm(U2 @ Z, axis=0)
    norm_E[norm_E <= RANK * (size_E @ np.abs(V))] = 0.0
    rounding = scale_A * np.linalg.norm(column[:, None] * V, axis=0)
    return V, norm_A, norm_E, rounding, int(np.sum(~keep))


def signs(V):
    """Sign of the largest entry of every column, (k,)."""
    return np.array([np.sign(v[first_largest(np.abs(v))]) or 1.0 for v in V.T])


# --- the algorithm -------------------------------------------------------------------------------


def fit(
    X,
    *,
    normalization,
    tol,
    max_degree,
    contrast=None,
    products="independent",
    tol_norm="rms",
):
    """Run the algorithm on the points X, (N, n); contrast is Y, for "contrastive" only."""
    if normalization not in NORMALIZATIONS:
        raise ValueError(f"normalization must be one of {NORMALIZATIONS}, got {normalization!r}")
    if products not in ("independent", "all"):
        raise ValueError(f'products must be "independent" or "all", got {products!r}')
    if tol_norm not in ("rms", "euclidean"):
        raise ValueError(f'tol_norm must be "rms" or "euclidean", got {tol_norm!r}')
    if (contrast is not None) != (normalization == "contrastive"):
        raise ValueError('contrast goes with normalization="contrastive", and only with it')
    X = np.asarray(X, dtype=float)
    Y = None if contrast is None else np.asarray(contrast, dtype=float)
    N, n = X.shape
    exponents = exponent_table(n, max_degree)
    M = len(exponents)
    tol_rms = tol / np.sqrt(N) if tol_norm == "euclidean" else tol
    f_rms = 1 / np.sqrt(N) if (normalization, tol_norm) == ("vca", "euclidean") else 1.0

    F, G = [np.eye(M)[:, :1]], []
    extents, f_extents, dropped, stop_reason = [], [np.ones(1)], [], "max_degree"
    z_exponents = z_variables = forms = None  # leading forms of F_1 and F_{t-1}, from degree 1 on
    for t in range(1, max_degree + 1):
        # Step 1: candidates, and their projection off the lower nonvanishing polynomials.
        if t == 1:
            P = np.eye(M)[:, 1 : n + 1]
            B = np.eye(n)
        else:
            P = products_with_linear(F[1], F[t - 1], exponents)
            P_forms = products_with_linear(z_variables, forms, z_exponents)
            if products == "all":
                B = np.eye(P.shape[1])
            else:
                B = candidate_coordinates(P_forms, normalization)
        F_all = np.concatenate(F, axis=1)
        P_X = values(P, exponents, X)
        P_rms = np.linalg.norm(P_X, axis=0) / np.sqrt(N)
        Q, R = np.linalg.qr(values(F_all, exponents, X))
        C_X = P_X @ B
        L = np.linalg.solve(R, Q.T @ C_X)
        C = P @ B - F_all @ L
        C_X -= Q @ (Q.T @ C_X)
        C_X -= Q @ (Q.T @ C_X)  # once more, for orthogonality to rounding

        # Step 2: the generalized problem on the factors.
        A = C_X / np.sqrt(N)
        size_A = np.abs(B).T @ P_rms
        if normalization == "vca":
            # At degree 1 in units of the largest spread of X, except under the paper's convention.
            spread = np.linalg.norm(A, 2) if t == 1 and tol_norm == "rms" else 1.0
            E = (spread or 1.0) * np.eye(B.shape[1])
            size_E = np.linalg.norm(E, axis=0)
        else:
            E = normalization_factor(normalization, C, exponents, X, Y)
            E_P = normalization_factor(normalization, P @ B, exponents, X, Y)
            E_F = normalization_factor(normalization, F_all, exponents, X, Y)
            # Rounding in L is relative to C_pre on X and reaches E through F.
            size_E = np.linalg.norm(E_P, axis=0) + size_A * np.linalg.norm(E_F)
        V, norm_A, norm_E, rounding, n_dropped = generalized_pairs(A, E, size_A, size_E)

        # Step 3: normalize, split and sort.
        finite = norm_E > 0
        scale = np.where(finite, norm_E, norm_A)
        V = V / scale * signs(B @ V)
        rms = norm_A / scale
        extent = np.where(finite, rms, np.inf)
        # The second term, the rounding of the solver, counts where a column is zero on X itself.
        floor = 64 * EPS * (P_rms @ np.abs(B @ V) + rounding / scale)
        vanishes = finite & (rms <= np.maximum(tol_rms, floor))
        order = np.argsort(extent, kind="stable")
        g = order[vanishes[order]]
        f = order[~vanishes[order]][::-1]
        V_F = V[:, f] / rms[f] * f_rms
        G.append(C @ V[:, g])
        F.append(C @ V_F)
        extents.append(extent[g])
        f_extents.append(extent[f])
        dropped.append(n_dropped)
        if len(f) == 0:
            stop_reason = "exhausted"
            break

        # Leading forms, in variables z_i that stand for the elements of F_1.
        if t == 1:
            z_exponents = exponent_table(len(f), max_degree)
            z_variables = np.eye(len(z_exponents))[:, 1 : len(f) + 1]
            forms = z_variables
        else:
            forms = P_forms @ B @ V_F
    return Reference(exponents, G, F, extents, f_extents, dropped, stop_reason)
