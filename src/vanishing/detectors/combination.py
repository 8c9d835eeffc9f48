"""The score of a transformation detector: the paper's, or several parts combined.

One mixture gives the paper's loss -Σ_i log P_i. Losses at several resolutions, and distances from
the nearest piece, have sizes of their own. Their logarithms are standardized on the training data,
and the score is the mean of these parts.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vanishing.arrays.namespace import Array, FloatArray, move_like, namespace
from vanishing.detectors.mixture import Mixture
from vanishing.detectors.views import LocalView, LogSumView, TransformedView
from vanishing.explain.view import View

#: Added to losses before their logarithm is taken.
SMALL_LOSS = 1e-3

Map = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Combination:
    """What a score is made of.

    Parameters
    ----------
    mixtures : list of Mixture
        One a resolution.
    distance_weight : float
        Of the distances beside the losses; 0 leaves them out.
    """

    mixtures: list[Mixture]
    distance_weight: float

    @property
    def has_parts(self) -> bool:
        """Whether several parts are combined, rather than the score being the paper's."""
        return len(self.mixtures) > 1 or self.distance_weight > 0

    @property
    def weights(self) -> FloatArray:
        """Weights of the parts, of sum 1: losses, then distances."""
        n_mixtures = len(self.mixtures)
        weights = np.ones(n_mixtures)
        if self.distance_weight > 0:
            weights = np.concatenate([weights, np.full(n_mixtures, self.distance_weight)])
        return np.asarray(weights / weights.sum())

    def parts(self, images: Iterable[Array]) -> Array:
        """Return the loss, or the logarithms that are combined.

        Parameters
        ----------
        images : iterable of arrays of shape (n_samples, n_coordinates)
            The samples under each transformation.

        Returns
        -------
        array of shape (n_parts, n_samples)
        """
        losses: list[Any] = [0.0] * len(self.mixtures)
        distances = []
        for i, z in enumerate(images):
            losses = [
                loss + mixture.loss(i, z)
                for loss, mixture in zip(losses, self.mixtures, strict=True)
            ]
            if i == 0 and self.distance_weight > 0:
                distances = [m.local_residuals().log_deviation(z) for m in self.mixtures]
        xp = namespace(losses[0])
        if not self.has_parts:
            return xp.stack(losses)
        positive = [xp.maximum(loss, xp.zeros_like(loss)) + SMALL_LOSS for loss in losses]
        return xp.stack([xp.log(loss) for loss in positive] + distances)

    def scores(self, parts: Array, means: FloatArray, spreads: FloatArray) -> Array:
        """Return minus the score made of the parts, so that higher is more normal.

        Parameters
        ----------
        parts : array of shape (n_parts, n_samples)
        means, spreads : arrays of shape (n_parts,)
            Of the training data.
        """
        xp = namespace(parts)
        scores = -parts[0, :]
        if self.has_parts:
            means, spreads = move_like(means, parts), move_like(spreads, parts)
            with np.errstate(invalid="ignore"):
                standardized = (parts - means[:, None]) / spreads[:, None]
                scores = -move_like(self.weights, parts) @ standardized
        # Infinitely far from every ideal, or not a number: as anomalous as can be.
        return xp.where(xp.isnan(scores), xp.full_like(scores, -xp.inf), scores)

    def views(
        self, images: Sequence[Map], names: Sequence[str], means: FloatArray, spreads: FloatArray
    ) -> tuple[list[Map], list[View]]:
        """Return the summands of the score for explanations, each with the map to its coordinates.

        Parameters
        ----------
        images : sequence of callables
            From samples to their image under each transformation.
        names : sequence of str
            Of the transformations.
        means, spreads : arrays of shape (n_parts,)
        """
        if not self.has_parts:
            return list(images), [
                TransformedView(self.mixtures[0], i, name) for i, name in enumerate(names)
            ]

        def all_images(X: FloatArray) -> FloatArray:
            return np.hstack([image(X) for image in images])

        factors = self.weights / spreads
        n_mixtures, first_piece = len(self.mixtures), 0
        losses: list[View] = []
        distances: list[View] = []
        for m, mixture in enumerate(self.mixtures):
            views = [TransformedView(mixture, i, n, first_piece) for i, n in enumerate(names)]
            losses.append(LogSumView(views, SMALL_LOSS, means[m], factors[m]))
            if self.distance_weight > 0:
                d = n_mixtures + m
                model = mixture.local_residuals()
                distances.append(LocalView(model, "distance", 0, means[d], factors[d], first_piece))
            first_piece += mixture.n_pieces
        return [all_images] * n_mixtures + [images[0]] * len(distances), losses + distances
