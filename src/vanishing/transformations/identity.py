"""The data as it is."""

from dataclasses import dataclass

import numpy as np

from vanishing.transformations.base import Transformation, Transformations
from vanishing.transformations.gather import Gather


@dataclass(frozen=True)
class Identity(Transformations):
    """One transformation, which changes nothing; of use in a ``Union``."""

    def for_width(self, n_features: int) -> tuple[Transformation, ...]:
        """Return the identity."""
        # A gather like the others, so that it is seen to equal a rotation by 0°.
        return (Gather("unchanged", np.arange(n_features, dtype=np.intp)),)
