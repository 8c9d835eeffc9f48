"""The numbers that an evaluator needs, and how it goes about it, for source in any language.

Polynomials are evaluated as they are nested, degree by degree, and not as sums of monomials: there
are fewer operations, and no large terms that cancel, as those of a polynomial that is small on the
data do. At degree 1 the center is taken off first, for the same reason.

    values of F: the constant 1
    degree 1:    c_i = x_i - center_i                             for every variable
    degree t:    c_i = F_1[left_i] · F_(t-1)[right_i]             for every product
                 [F_t G_t] = Σ_i c_i on_products_i - Σ_j F_j on_lower_j
"""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray, IntArray
from vanishing.polynomials import PolynomialBasis
from vanishing.polynomials.evaluate import last_degree_with_vanishing

#: Numbers in the source; compilers and people get slow beyond.
MOST_NUMBERS = 1_000_000


@dataclass(frozen=True, eq=False)
class DegreeTable:
    """What is combined to the polynomials of one degree above 1.

    Parameters
    ----------
    left, right : int arrays of shape (n_products,)
        Where the factors are among the values of F.
    on_products : array of shape (n_products, n_nonvanishing + n_vanishing)
    on_lower : array of shape (n_lower, n_nonvanishing + n_vanishing)
    n_nonvanishing, n_vanishing : int
    """

    left: IntArray
    right: IntArray
    on_products: FloatArray
    on_lower: FloatArray
    n_nonvanishing: int
    n_vanishing: int


@dataclass(frozen=True, eq=False)
class Tables:
    """All that an evaluator needs.

    Parameters
    ----------
    center : array of shape (n_features,)
    first : array of shape (n_features, n_nonvanishing + n_vanishing)
        Degree 1, on the centered variables.
    n_first_nonvanishing, n_first_vanishing : int
    higher : tuple of DegreeTable
        Degrees 2, 3, ...
    """

    center: FloatArray
    first: FloatArray
    n_first_nonvanishing: int
    n_first_vanishing: int
    higher: tuple[DegreeTable, ...]

    @property
    def n_nonvanishing(self) -> int:
        """Number of values of F that are needed, the constant included."""
        return 1 + self.n_first_nonvanishing + sum(each.n_nonvanishing for each in self.higher)

    @property
    def n_vanishing(self) -> int:
        """Number of polynomials."""
        return self.n_first_vanishing + sum(each.n_vanishing for each in self.higher)


def tables_of(basis: PolynomialBasis) -> Tables:
    """Collect the numbers of a basis.

    Parameters
    ----------
    basis : PolynomialBasis

    Returns
    -------
    Tables
    """
    last = last_degree_with_vanishing(basis.blocks)
    if last == 0:
        raise ValueError(
            "nothing vanishes, so that there is nothing to evaluate; raise tol or max_degree"
        )
    higher = []
    offsets = np.cumsum([0, 1, *(block.nonvanishing.shape[1] for block in basis.blocks)]).tolist()
    matrices = []
    for degree, block in enumerate(basis.blocks[:last], start=1):
        # The nonvanishing polynomials of the last degree are not needed.
        n_used = block.nonvanishing.shape[1] if degree < last else 0
        on_products = np.hstack([block.nonvanishing[:, :n_used], block.vanishing])
        on_lower = np.hstack([block.nonvanishing_lower[:, :n_used], block.vanishing_lower])
        matrices += [on_products, on_lower]
        if degree == 1:
            first, n_first = on_products, n_used
            continue
        higher.append(
            DegreeTable(
                left=offsets[1] + block.left,
                right=offsets[degree - 1] + block.right,
                on_products=on_products,
                on_lower=on_lower,
                n_nonvanishing=n_used,
                n_vanishing=block.vanishing.shape[1],
            )
        )
    n_numbers = sum(matrix.size for matrix in matrices)
    if n_numbers > MOST_NUMBERS:
        raise ValueError(
            f"the source would hold {n_numbers} numbers, more than {MOST_NUMBERS}; keep fewer "
            "polynomials (basis.restricted, max_nonvanishing), or save the model into a file"
        )
    if not all(np.isfinite(matrix).all() for matrix in matrices):
        raise ValueError("the model holds numbers that are infinite or NaN")
    center = basis.blocks[0].projection[0]
    return Tables(center, first, n_first, first.shape[1] - n_first, tuple(higher))
