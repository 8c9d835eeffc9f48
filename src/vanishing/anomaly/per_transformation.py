"""What was fitted, transformation by transformation."""

from typing import Any

from vanishing._xp import FloatArray
from vanishing.anomaly.mixture import Mixture
from vanishing.estimators import VanishingIdeal
from vanishing.transformations import Transformation


class PerTransformation:
    """Shows the parts of the mixtures of a detector per transformation and piece."""

    mixtures_: list[Mixture]
    transformations_: tuple[Transformation, ...]

    @property
    def ideals_(self) -> list[list[VanishingIdeal]]:
        """Ideals per transformation and piece."""
        return self._per_transformation("ideal")

    @property
    def centers_(self) -> list[list[FloatArray]]:
        """Mean of each polynomial, per transformation and piece."""
        return self._per_transformation("center")

    @property
    def weights_(self) -> list[list[FloatArray]]:
        """Weight u = w² of each polynomial, per transformation and piece."""
        return self._per_transformation("weights")

    @property
    def n_components_(self) -> int:
        """Number of pieces."""
        return sum(mixture.n_pieces for mixture in self.mixtures_)

    def _per_transformation(self, what: str) -> list[list[Any]]:
        return [
            [
                getattr(component, what)
                for mixture in self.mixtures_
                for component in mixture.components[mixture.own(i)]
            ]
            for i in range(len(self.transformations_))
        ]
