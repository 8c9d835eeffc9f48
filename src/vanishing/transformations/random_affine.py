"""Random affine maps: the paper's transformations of vectors (R.A.)."""

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from vanishing._xp import Array, FloatArray, move_like, namespace
from vanishing.transformations.base import Transformation, Transformations, check_width


@dataclass(frozen=True)
class RandomAffine(Transformations):
    """Maps x ↦ W_i x + b_i with independent standard Gaussian entries, for vectors of any width.

    The same seed gives the same maps, and a larger number of them begins with those of a smaller.
    Each W_i is a matrix of n_features², so that wide data is better reduced first.

    Parameters
    ----------
    n_transformations : int, default=4
        M. The paper has four, and three in its supplement.
    random_state : int, default=0
        Seed of ``numpy.random.default_rng``.

    Examples
    --------
    >>> from vanishing.transformations import RandomAffine
    >>> [t.name for t in RandomAffine(n_transformations=2).for_width(30)]
    ['random affine map 1', 'random affine map 2']
    """

    n_transformations: int = 4
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, smallest in (("n_transformations", 1), ("random_state", 0)):
            value = getattr(self, name)
            try:
                number = index(value)
            except TypeError:
                number = smallest - 1
            if number < smallest:
                raise ValueError(f"{name} must be an integer of at least {smallest}, got {value!r}")
            object.__setattr__(self, name, number)

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Draw the maps."""
        rng = np.random.default_rng(self.random_state)
        return tuple(
            Affine(
                f"random affine map {i + 1}",
                rng.standard_normal((n_features, n_features)),
                rng.standard_normal(n_features),
            )
            for i in range(self.n_transformations)
        )


@dataclass(frozen=True, eq=False)
class Affine(Transformation):
    """x ↦ W x + b.

    Parameters
    ----------
    name : str
    matrix : array of shape (n_features, n_features)
        W.
    offset : array of shape (n_features,)
        b.
    """

    name: str
    matrix: FloatArray
    offset: FloatArray

    def __post_init__(self) -> None:
        for array in (self.matrix, self.offset):
            array.setflags(write=False)

    def __call__(self, block: Array) -> Array:
        """Return ``block @ W.T + b``; integers become double precision."""
        check_width(self.name, block, len(self.offset))
        xp = namespace(block)
        if not xp.isdtype(block.dtype, "real floating"):
            block = xp.astype(block, xp.float64)
        return block @ move_like(self.matrix, block).T + move_like(self.offset, block)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Affine)
            and np.array_equal(self.offset, other.offset)
            and np.array_equal(self.matrix, other.matrix)
        )

    def __hash__(self) -> int:
        return hash(self.offset.tobytes())

    def __reduce__(self) -> tuple[Any, ...]:
        # Through __init__, since a pickled or deep-copied array comes back writable.
        return Affine, (self.name, self.matrix, self.offset)
