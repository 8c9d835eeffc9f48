"""Weights on polynomials that minimize the mean training score (paper, end of its method section).

The score depends on the weights w only through u = w² >= 0: D_j = Σ_g u_g (g - c_g)². For ε = 0 and
one component per transformation it is convex in u, a linear function plus a logarithm of a sum of
exponentials of linear functions, and a bounded quasi-Newton method finds the optimum. With more
components it is a difference of such terms, and what is found is a local optimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from vanishing._xp import Array, FloatArray, move_like, move_to_numpy, namespace
from vanishing.anomaly.counts import total
from vanishing.anomaly.scores import value_and_slopes

#: Where the transformations can be told apart perfectly there is no finite minimum.
LARGEST_WEIGHT = 100.0
#: The paper's plain gradient descent.
RATE, EPOCHS = 1e-5, 300


@dataclass(frozen=True, eq=False)
class WeightProblem:
    """Mean training score as a function of u.

    Parameters
    ----------
    squares : sequence of arrays of shape (n_points, n_polynomials), of any library
        Per transformation T_i, (g(T_i x) - c_g)² for the polynomials g of all components.
    components : sequence of slices
        The polynomials of each component.
    n_pieces : int
        Components per transformation; those of T_i come together, in the order of i.
    smoothing : float
    counts : array of shape (n_points,), optional
        How often each point counts.
    """

    squares: Sequence[Array]
    components: Sequence[slice]
    n_pieces: int
    smoothing: float
    counts: FloatArray | None = None

    @property
    def n_points(self) -> float:
        """Number of points, those that count twice counted twice."""
        return total(self.counts, int(self.squares[0].shape[0]))

    def loss_and_gradient(self, u: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean score and its derivative with respect to u."""
        xp = namespace(self.squares[0])
        counts = None if self.counts is None else move_like(self.counts, self.squares[0])
        weights = move_like(u, self.squares[0])
        loss, gradient = 0.0, np.zeros_like(u)
        for i, squares in enumerate(self.squares):
            deviations = xp.stack([squares[:, s] @ weights[s] for s in self.components], axis=1)
            own = slice(i * self.n_pieces, (i + 1) * self.n_pieces)
            values, slopes = value_and_slopes(deviations, own, self.smoothing)
            if counts is not None:
                values, slopes = counts * values, counts[:, None] * slopes
            loss += float(xp.sum(values))
            parts = [squares[:, s].T @ slopes[:, j] for j, s in enumerate(self.components)]
            gradient += move_to_numpy(xp.concat(parts))
        return loss / self.n_points, gradient / self.n_points


def convex_weights(problem: WeightProblem, *, penalty: float = 0.0) -> FloatArray:
    """Minimize the mean score, plus ``penalty`` times the sum of u, over 0 <= u <= a bound."""

    def objective(u: FloatArray) -> tuple[float, FloatArray]:
        loss, gradient = problem.loss_and_gradient(u)
        return loss + penalty * float(np.sum(u)), gradient + penalty

    n_polynomials = problem.components[-1].stop
    start = np.ones(n_polynomials)
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, LARGEST_WEIGHT)] * n_polynomials,
        options={"maxiter": 500},
    )
    return np.asarray(found.x)


def descent_weights(problem: WeightProblem) -> FloatArray:
    """Follow the paper: gradient descent on w with u = w², from w = 1, on the summed score."""
    w = np.ones(problem.components[-1].stop)
    for _ in range(EPOCHS):
        _, gradient = problem.loss_and_gradient(w**2)
        w -= RATE * problem.n_points * 2 * w * gradient
    return np.asarray(w**2)
