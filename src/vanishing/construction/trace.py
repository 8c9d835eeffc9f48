"""What happened at each degree."""

from dataclasses import dataclass

from vanishing._xp import FloatArray


@dataclass(frozen=True, eq=False)
class DegreeTrace:
    """Account of one degree.

    Parameters
    ----------
    degree : int
    candidates : int
        Products that entered.
    rank : int
        Directions that are not zero both on X and under the normalization.
    vanishing, nonvanishing : int
        Polynomials found.
    dropped : int
        Directions that are zero both on X and under the normalization.
    unbounded : int
        Nonvanishing polynomials that are zero under the normalization (infinite extent).
    cut : int
        Nonvanishing polynomials given up because of ``max_nonvanishing``.
    left_out : int
        Nonvanishing polynomials of the degree below that were not multiplied further because
        their products would exceed the memory budget.
    tol : float
        The tolerance that was applied, as a root mean square.
    condition : float
        Condition number of the generalized problem after scaling; normalizations hold to about
        ``100 * eps * condition``.
    spectrum : array of shape (n_finite,)
        All finite extents, ascending, those of undecided polynomials included.
    seconds : float
        Wall-clock time.
    undecided : int
        Polynomials that are neither: their values on X are no larger than the rounding errors
        that the lower degrees have left, and these are much larger than those of the data.
    """

    degree: int
    candidates: int
    rank: int
    vanishing: int
    nonvanishing: int
    dropped: int
    unbounded: int
    cut: int
    left_out: int
    tol: float
    condition: float
    spectrum: FloatArray
    seconds: float
    undecided: int = 0
