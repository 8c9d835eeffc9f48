"""PolynomialBasis: the polynomials of all degrees, and what can be asked of them."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import ndtri

from vanishing.arrays.blocks import apply_to_row_slices
from vanishing.arrays.namespace import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    is_array,
    namespace,
    unmask,
)
from vanishing.levels import CHANCE
from vanishing.polynomials.evaluation import (
    DegreeBlock,
    Evaluator,
    jacobian,
    pullback_of_vanishing,
)
from vanishing.polynomials.monomials import AffineMap, expand_in_variables

Which = Literal["vanishing", "nonvanishing"]


@dataclass(frozen=True, eq=False)
class PolynomialBasis:
    """Vanishing polynomials G and nonvanishing polynomials F of a point set, by degree.

    Polynomials are nested: those of degree t combine products of F_1 and F_{t-1}. The basis is
    immutable and holds no data. It keeps the small matrices of these combinations in NumPy and
    evaluates in the array library, precision and device of the points.

    Parameters
    ----------
    n_features : int
        Number of variables.
    blocks : tuple of DegreeBlock
        Degrees 1, 2, ...; degree 0 is the constant 1.
    """

    n_features: int
    blocks: tuple[DegreeBlock, ...]

    def evaluate(self, x: Array, *, which: Which = "vanishing") -> Array:
        """Evaluate the polynomials.

        Parameters
        ----------
        x : array of shape (n_samples, n_features)
            Of any library that follows the array API standard.
        which : {"vanishing", "nonvanishing"}
            The nonvanishing ones start with the constant 1.

        Returns
        -------
        array of shape (n_samples, n_polynomials)
        """
        x = self._checked(x, which)
        xp = namespace(x)
        evaluator = Evaluator(self.blocks)
        kernel = evaluator.vanishing if which == "vanishing" else evaluator.nonvanishing
        values = xp.empty((x.shape[0], self.count(which)), dtype=x.dtype, device=x.device)

        def fill(rows: slice) -> None:
            values[rows, :] = kernel(x[rows, :]).T

        apply_to_row_slices(fill, x, width=2 * (evaluator.n_nonvanishing + self._widest))
        return values

    def jacobian(self, x: Array, *, which: Which = "vanishing") -> Array:
        """Evaluate the derivatives of the polynomials with respect to the variables.

        Parameters
        ----------
        x : array of shape (n_samples, n_features)
        which : {"vanishing", "nonvanishing"}

        Returns
        -------
        array of shape (n_samples, n_polynomials, n_features)
        """
        x = self._checked(x, which)
        xp = namespace(x)
        shape = (x.shape[0], self.count(which), self.n_features)
        derivatives = xp.empty(shape, dtype=x.dtype, device=x.device)
        n_all = self.count("vanishing") + self.count("nonvanishing")

        def fill(rows: slice) -> None:
            found = jacobian(self.blocks, x[rows, :], which)
            derivatives[rows, ...] = xp.permute_dims(found, (2, 0, 1))

        apply_to_row_slices(fill, x, width=2 * self.n_features * (n_all + 2 * self._widest))
        return derivatives

    def pullback(self, x: Array, outer: Array) -> Array:
        """Evaluate the gradient of combinations of the vanishing polynomials.

        Parameters
        ----------
        x : array of shape (n_samples, n_features)
        outer : array of shape (n_samples, n_vanishing)
            The coefficients a_g for each sample.

        Returns
        -------
        array of shape (n_samples, n_features)
            Σ_g a_g ∇g at each sample: ``outer`` times the Jacobian, without forming it.
        """
        x = self._checked(x, "vanishing")
        gradients = namespace(x).empty(x.shape, dtype=x.dtype, device=x.device)
        n_all = self.count("vanishing") + self.count("nonvanishing")

        def fill(rows: slice) -> None:
            gradients[rows, :] = pullback_of_vanishing(self.blocks, x[rows, :], outer[rows, :].T).T

        apply_to_row_slices(fill, x, width=2 * (n_all + 2 * self._widest))
        return gradients

    def expand(self, *, which: Which = "vanishing") -> tuple[IntArray, FloatArray]:
        """Expand the polynomials into monomials of the variables.

        Parameters
        ----------
        which : {"vanishing", "nonvanishing"}

        Returns
        -------
        exponents : int array of shape (n_monomials, n_features)
            By degree, then lexicographic; the constant first.
        coefficients : array of shape (n_monomials, n_polynomials)
        """
        self._check_which(which)
        exponents, coefficients = expand_in_variables(self.n_features, self.blocks, which)
        return exponents.copy(), coefficients

    def degrees(self, *, which: Which = "vanishing") -> IntArray:
        """Return the degree of each polynomial.

        Parameters
        ----------
        which : {"vanishing", "nonvanishing"}

        Returns
        -------
        int array of shape (n_polynomials,)
            In the order of ``evaluate``'s columns.
        """
        self._check_which(which)
        counts = [0] if which == "vanishing" else [1]
        counts += [getattr(block, which).shape[1] for block in self.blocks]
        return np.repeat(np.arange(len(counts)), counts)

    def count(self, which: Which = "vanishing") -> int:
        """Return the number of polynomials.

        Parameters
        ----------
        which : {"vanishing", "nonvanishing"}

        Returns
        -------
        int
            The constant counts as nonvanishing.
        """
        return int(self.degrees(which=which).shape[0])

    def restrict(self, kept: BoolArray) -> "PolynomialBasis":
        """Return a basis with some of the vanishing polynomials.

        Parameters
        ----------
        kept : bool array of shape (n_vanishing,)

        Returns
        -------
        PolynomialBasis
            With all nonvanishing polynomials.
        """
        counts = np.cumsum([block.vanishing.shape[1] for block in self.blocks])
        blocks = tuple(
            replace(block, vanishing=block.vanishing[:, part], extents=block.extents[part])
            for block, part in zip(self.blocks, np.split(kept, counts[:-1]), strict=True)
        )
        return PolynomialBasis(self.n_features, blocks)

    def take_nonvanishing(self) -> "PolynomialBasis":
        """Return a basis whose vanishing polynomials are the nonvanishing ones of this basis.

        Returns
        -------
        PolynomialBasis
            Without the constant 1. All extents are 1.
        """
        blocks = tuple(
            replace(
                block, vanishing=block.nonvanishing, extents=np.ones(block.nonvanishing.shape[1])
            )
            for block in self.blocks
        )
        return PolynomialBasis(self.n_features, blocks)

    def compose(self, inner: AffineMap) -> "PolynomialBasis":
        """Return the polynomials p(A x + b) in x.

        Only the coefficients of degree 1 change, since all other polynomials are built on those.

        Parameters
        ----------
        inner : AffineMap
            From x onto the variables of this basis: the rows of A are independent.

        Returns
        -------
        PolynomialBasis
            With as many polynomials, in the variables x.

        Examples
        --------
        >>> import numpy as np
        >>> from vanishing import VanishingIdeal
        >>> from vanishing.polynomials import AffineMap
        >>> angle = np.linspace(0, 6, 50)
        >>> ideal = VanishingIdeal(tol=0).fit(np.column_stack([np.cos(angle), np.sin(angle)]))
        >>> halved = AffineMap(np.eye(2) / 2, np.zeros(2))
        >>> larger = ideal.basis_.compose(halved)  # the circle of radius 2
        >>> larger.evaluate([[2.0, 0.0], [1.0, 0.0]]).round(6)
        array([[ 0.   ],
               [-0.375]])
        """
        if inner.n_out != self.n_features:
            raise ValueError(
                f"the map gives {inner.n_out} coordinates, and the polynomials have "
                f"{self.n_features} variables"
            )
        if not self.blocks:
            return PolynomialBasis(inner.n_in, ())
        first = self.blocks[0]
        # (z - L)ᵀ V with z = A x + b is (x - p)ᵀ Aᵀ V, where p is a point that is mapped to L.
        center = np.zeros(self.n_features)
        center[first.left] = first.projection[0]
        rows = inner.matrix[first.left]
        composed = replace(
            first,
            left=np.arange(inner.n_in),
            right=np.zeros(inner.n_in, dtype=first.right.dtype),
            projection=inner.preimage(center)[None, :],
            nonvanishing=rows.T @ first.nonvanishing,
            vanishing=rows.T @ np.asarray(first.vanishing),
        )
        return PolynomialBasis(inner.n_in, (composed, *self.blocks[1:]))

    @property
    def extents(self) -> FloatArray:
        """Root mean square of each vanishing polynomial on the points it was fitted to."""
        return np.concatenate([np.empty(0), *(block.extents for block in self.blocks)])

    @property
    def _widest(self) -> int:
        return max((block.n_candidates for block in self.blocks), default=0)

    def _checked(self, x: Array, which: str) -> Array:
        self._check_which(which)
        x = unmask(x, "x")
        if not is_array(x):
            x = np.asarray(x, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != self.n_features:
            raise ValueError(
                f"expected points of shape (n_samples, {self.n_features}), got {tuple(x.shape)}"
            )
        xp = namespace(x)
        # Casts would discard imaginary parts, and read texts and dates as numbers.
        if getattr(x.dtype, "kind", "f") in "USMm" or xp.isdtype(x.dtype, "complex floating"):
            raise ValueError(f"expected points with real numbers, got dtype {x.dtype}")
        if not xp.isdtype(x.dtype, "real floating"):
            x = xp.astype(x, xp.float64)
        return x

    @staticmethod
    def _check_which(which: str) -> None:
        if which not in ("vanishing", "nonvanishing"):
            raise ValueError(f"which must be 'vanishing' or 'nonvanishing', got {which!r}")

    def __repr__(self) -> str:
        found = [str(block.vanishing.shape[1]) for block in self.blocks]
        return (
            f"PolynomialBasis(n_features={self.n_features}, max_degree={len(self.blocks)}, "
            f"vanishing per degree: {', '.join(found) or 'none'})"
        )


# --- Noise in the distances of points from polynomials --------------------------------------------

#: Standard errors by which a distance exceeds the noise by chance.
STANDARD_ERRORS = -float(ndtri(CHANCE))
#: Factor by which two levels of noise differ clearly.
CLEARLY = 1.6


def largest_by_chance(n_polynomials: FloatArray | IntArray | int, n_rows: float) -> FloatArray:
    """Return up to which factor the largest of some distances exceeds the noise by chance."""
    return np.asarray(1 + np.sqrt(n_polynomials / n_rows) + STANDARD_ERRORS / np.sqrt(2 * n_rows))
