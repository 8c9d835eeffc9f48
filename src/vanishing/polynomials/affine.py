"""Affine maps z = A x + b, through which polynomials in z become polynomials in x."""

from dataclasses import dataclass

import numpy as np

from vanishing._xp import FloatArray


@dataclass(frozen=True, eq=False)
class AffineMap:
    """The map z = A x + b.

    Parameters
    ----------
    matrix : array of shape (n_out, n_in)
        The matrix A.
    offset : array of shape (n_out,)
        The vector b.
    center : array of shape (n_in,), optional
        A point in the middle of the data x, where it is known: of several points with the same
        image the one nearest to it is preferred. The origin by default.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing.polynomials import AffineMap
    >>> halved = AffineMap(np.eye(2) / 2, np.array([1.0, 0.0]))
    >>> summed = AffineMap(np.array([[1.0, 1.0]]), np.zeros(1))
    >>> summed.after(halved)(np.array([[4.0, 2.0]]))
    array([[4.]])
    """

    matrix: FloatArray
    offset: FloatArray
    center: FloatArray | None = None

    def __post_init__(self) -> None:
        n_out, n_in = self.matrix.shape
        middle = np.zeros(n_in) if self.center is None else self.center
        if self.offset.shape != (n_out,) or middle.shape != (n_in,):
            raise ValueError(
                f"expected an offset of {n_out} and a center of {n_in} numbers for a matrix of "
                f"shape {self.matrix.shape}, got shapes {self.offset.shape} and {middle.shape}"
            )

    @classmethod
    def identity(cls, n_features: int) -> "AffineMap":
        """Return the map that changes nothing.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        AffineMap
        """
        return cls(np.eye(n_features), np.zeros(n_features))

    @property
    def n_in(self) -> int:
        """Number of coordinates of x."""
        return int(self.matrix.shape[1])

    @property
    def n_out(self) -> int:
        """Number of coordinates of z."""
        return int(self.matrix.shape[0])

    def __call__(self, x: FloatArray) -> FloatArray:
        """Map rows, from shape (n_samples, n_in) to (n_samples, n_out)."""
        return np.asarray(x @ self.matrix.T + self.offset)

    def after(self, first: "AffineMap") -> "AffineMap":
        """Return the map that applies ``first`` and then this one.

        Parameters
        ----------
        first : AffineMap

        Returns
        -------
        AffineMap
        """
        if first.n_out != self.n_in:
            raise ValueError(
                f"the first map gives {first.n_out} coordinates, and the second takes {self.n_in}"
            )
        matrix, offset = self.matrix @ first.matrix, self.matrix @ first.offset + self.offset
        center = first.center if self.center is None else first.preimage(self.center)
        return AffineMap(matrix, offset, center)

    def preimage(self, z: FloatArray) -> FloatArray:
        """Return the point x nearest to the center with A x + b = z.

        Parameters
        ----------
        z : array of shape (n_out,)

        Returns
        -------
        array of shape (n_in,)

        Raises
        ------
        ValueError
            If the map does not reach all z.
        """
        scales = np.diagonal(self.matrix)
        if self.n_in == self.n_out and np.array_equal(self.matrix, np.diag(scales)):
            # Scaling is undone column by column, so that small scales beside large ones count.
            rank = int(np.count_nonzero(scales))
            found = (z - self.offset) / np.where(scales == 0, 1.0, scales)
        else:
            start = np.zeros(self.n_in) if self.center is None else self.center
            missing = z - self.offset - self.matrix @ start
            step, _, rank_found, _ = np.linalg.lstsq(self.matrix, missing, rcond=None)
            found, rank = start + step, int(rank_found)
        if rank < self.n_out:
            raise ValueError(
                f"the map from {self.n_in} to {self.n_out} coordinates has rank {rank} only, so "
                "that it does not reach every point"
            )
        return np.asarray(found)
