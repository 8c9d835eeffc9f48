"""The paper's probability bounds, the probabilities they bound, and intervals for frequencies.

Letters are the paper's: X spans k of n dimensions, V = V_X + V_Y is m dimensions larger, N = n - k,
and g(x) = w·x has coefficients w_i ~ N(0, 1/N) outside V_X. Every probability below is that of a
product of two independent variables, so one integral gives it to many digits, and the bounds can
be checked where no Monte Carlo draw will ever land.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import erf, erfc, logsumexp
from scipy.stats import beta, binomtest, chi2

#: Of the Clopper-Pearson intervals. Many are looked at: at 95 % some would miss by chance.
CONFIDENCE = 0.99


# --- bounds, as printed ---------------------------------------------------------------------------


def below_bound(t, n, k, m):
    """Theorem 6 (2): at least this share of V has |g| < t."""
    return 1 - m / (n - k) / np.square(t)


def large_threshold(n, k, m):
    """Return what |g| is compared with in Theorem 6 (3)."""
    return np.sqrt((n - k - m) / (2 * (n - k)))


def large_bound(n, k, m, *, factor=1 / 4):
    """Theorem 6 (3): at least this share of the complement of V has large |g|.

    The paper prints 1/4. Its proof overlooks that E[g⁴] holds a factor 3 and gives 1/12.
    """
    d = n - k - m
    return factor * d / (d + 2)


def size_bound(eps, N, n_random):
    """Proposition 5: at most this often ‖g(Z)‖²/|Z| is 2ε or more away from 1."""
    eta = eps / ((1 + eps) * N)
    return (
        two_sided_bound(eps, N)
        + (N**2 - N) * np.exp(-(eta**2) * n_random / 2)
        + N * two_sided_bound(eta, n_random)
    )


def upper_tail_bound(eps, M):
    """χ² lemma of the supplement: P[χ²_M ≥ (1 + ε) M], with the λ = 1/3 of its corollary."""
    return np.exp(-eps * M / 3)


def lower_tail_bound(eps, M):
    """χ² lemma of the supplement: P[χ²_M ≤ (1 - ε) M]."""
    return np.exp(-(eps**2) * M / 6)


def two_sided_bound(eps, M):
    """Corollary of the χ² lemma: the sum of both tails."""
    return lower_tail_bound(eps, M) + upper_tail_bound(eps, M)


def upper_tail_chernoff(eps, M):
    """Return what Chernoff's method does give for the upper tail, for every ε > 0."""
    return np.exp(-M * (eps - np.log1p(eps)) / 2)


def inner_product_bound(eps, M):
    """Lemma on the inner product of the supplement: P[|Σ x_i y_i| ≥ ε M] of M Gaussian pairs."""
    return 2 * np.exp(-(eps**2) * M / 2)


# --- the probabilities themselves -----------------------------------------------------------------


def below(t, n, k, n_dimensions):
    """Return P[|g(p)| < t] for Gaussian p in n_dimensions of the dimensions outside V_X.

    Given the part w' of w in these dimensions, g(p) is N(0, ‖w'‖²), and N ‖w'‖² is χ².
    """
    share, size = _midpoints(chi2(n_dimensions))
    scale = np.sqrt(2 * size / (n - k))
    return np.sum(share * erf(np.asarray(t)[..., None] / scale), axis=-1)


def log_size_probability(eps, N, n_random):
    """Return log P[|‖g(Z)‖²/|Z| - 1| ≥ 2ε].

    Given w, the values of g on Z are independent N(0, ‖w‖²), so that ‖g(Z)‖²/|Z| is the product
    of χ²_N / N and χ²_|Z| / |Z|.
    """
    ratio, log_weight = _grid(n_random)
    log_above = chi2.logsf((1 + 2 * eps) * N / ratio, N)
    log_below = chi2.logcdf(np.maximum(1 - 2 * eps, 0) * N / ratio, N)
    return float(logsumexp(np.logaddexp(log_above, log_below) + log_weight))


def log_inner_product_probability(eps, M):
    """Return log P[|Σ x_i y_i| ≥ ε M]: 2 xy is the difference of two independent χ²_1."""
    ratio, log_weight = _grid(M)
    return float(np.log(2) + logsumexp(chi2.logsf((ratio + 2 * eps) * M, M) + log_weight))


def _midpoints(law, number=4000):
    """Return weights and places that integrate against a law."""
    share = (np.arange(number) + 0.5) / number
    return np.full(number, 1 / number), law.ppf(share)


def _grid(M, number=8001):
    """Return places and log weights that integrate against χ²_M / M, far into its tails."""
    lowest, highest = -40 / np.sqrt(M) - 80 / M, np.log1p(40 / np.sqrt(M) + 1500 / M)
    log_ratio, step = np.linspace(lowest, highest, number, retstep=True)
    ratio = np.exp(log_ratio)
    return ratio, chi2.logpdf(ratio * M, M) + np.log(M * ratio * step)


def expected_share_of_breakers(n, k, m):
    """Return the share of single polynomials, of size 1, below the curve of Theorem 6 (2).

    A single g is N(0, s²) on V, where s² is the share of w in V. Its curve P[|g| < t] dips below
    1 - (m/N)/t² as soon as s² exceeds m/N by a factor of about 3; for w uniform on the sphere s²
    follows a beta law.
    """
    highest = -minimize_scalar(
        lambda x: -(x**2) * erfc(x / np.sqrt(2)), bounds=(0.1, 5), method="bounded"
    ).fun
    N = n - k
    return float(beta.sf(m / N / highest, m / 2, (N - m) / 2))


# --- frequencies ----------------------------------------------------------------------------------


def interval(successes, trials):
    """Return the Clopper-Pearson interval of a frequency."""
    found = binomtest(int(successes), int(trials)).proportion_ci(CONFIDENCE, method="exact")
    return float(found.low), float(found.high)


def at_least(successes, trials, bound):
    """Judge "the probability is at least the bound" by the interval of a frequency."""
    low, high = interval(successes, trials)
    if low >= bound:
        return "holds"
    return "fails" if high < bound else "open"


def at_most(successes, trials, bound):
    """Judge "the probability is at most the bound" by the interval of a frequency."""
    return at_least(trials - successes, trials, 1 - bound)
