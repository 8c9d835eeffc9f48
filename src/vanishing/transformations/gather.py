"""Maps that permute or repeat columns: all that happens to the pixels of an image here."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing._xp import Array, IntArray, move_like, namespace
from vanishing.transformations.base import Transformation, check_width


@dataclass(frozen=True, eq=False)
class Gather(Transformation):
    """Column j of the result is column ``columns[j]`` of the block.

    Parameters
    ----------
    name : str
    columns : int array of shape (n_features,)
    """

    name: str
    columns: IntArray

    def __post_init__(self) -> None:
        columns = np.array(self.columns, dtype=np.intp)
        columns.setflags(write=False)
        object.__setattr__(self, "columns", columns)

    def __call__(self, block: Array) -> Array:
        """Take the columns, in a copy even where nothing moves."""
        check_width(self.name, block, len(self.columns))
        return namespace(block).take(block, move_like(self.columns, block), axis=1)

    def then(self, second: "Gather", name: str) -> "Gather":
        """Return the composition as one gather: (x[a])[b] = x[a[b]]."""
        return Gather(name, self.columns[second.columns])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gather) and np.array_equal(self.columns, other.columns)

    def __hash__(self) -> int:
        return hash(self.columns.tobytes())

    def __reduce__(self) -> tuple[Any, ...]:
        # Through __init__, since a pickled or deep-copied array comes back writable.
        return Gather, (self.name, self.columns)
