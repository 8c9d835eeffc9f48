"""The detector: training, centres, scores."""

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from experiments.images.goad.loss import (
    center_triplet_loss,
    cross_entropy,
    log_probabilities,
    squared_distances,
)
from experiments.images.goad.network import WideResidualNetwork
from experiments.images.goad.transformations import (
    geometric_transformations,
    index_table,
    transformed,
)
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted
from torch import nn


class GOAD(BaseEstimator):
    """Anomaly detector that tells geometric transformations of images apart.

    A network learns features in which the copies of normal images under each of M transformations
    gather around a centre of their own. A new image is normal if each of its copies lies close to
    the centre of its transformation and far from the others.

    From the paper: the transformations, the network, the centres, the loss and the score. Our
    choices, where it is silent or we do not know: ε, equal weights of both losses, Adam with its
    usual rate (as in Golan and El-Yaniv), the batch size, centres of a batch with gradients through
    them, and images standardized by the mean and deviation of all training pixels together.

    Parameters
    ----------
    image_shape : tuple of int, default=(28, 28)
        Height and width, equal; one channel.
    epochs : int, default=3
        Passes over all copies of all images. Golan and El-Yaniv make 200 / M, rounded up.
    batch_size : int, default=16
        Images in a batch, at least 2; all M copies of each are in it.
    learning_rate : float, default=0.001
    margin : float, default=1.0
        s of the triplet loss. 1 is the scale on which the score tells distances apart: with it a
        copy of a normal image is e times as probable under its own transformation as under the
        next.
    cross_entropy_weight : float, default=1.0
        Of the loss of a linear classifier of the features, relative to the triplet loss. The
        classifier only helps the training; the score does not use it.
    smoothing : float, default=1e-6
        ε of the score.
    shift : int, default=8
        Of the translations, in pixels.
    n_transformations : int or None, default=None
        Use the first ones only: 4 are the rotations, 36 all without flips. None means all 72.
    widen_factor : int, default=4
        Of the network.
    seed : int, default=0
        Of the first weights and of the batches. The same seed gives the same scores on the CPU, and
        should on CUDA with the same device and versions: we know of no operation used here that
        adds in random order there. CPU and CUDA differ: the latter convolves in bfloat16.
    device : str or None, default=None
        None means "cuda" if there is such a device, and "cpu" otherwise.

    Attributes
    ----------
    network_ : WideResidualNetwork
    centers_ : tensor of shape (M, n_features)
        Mean features of the training images under each transformation.
    loss_curve_ : array of shape (epochs,)
        Mean loss in each epoch.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "image_shape": [tuple, list],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "margin": [Interval(Real, 0, None, closed="left")],
        "cross_entropy_weight": [Interval(Real, 0, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "shift": [Interval(Integral, 1, None, closed="left")],
        "n_transformations": [Interval(Integral, 2, 72, closed="both"), None],
        "widen_factor": [Interval(Integral, 1, None, closed="left")],
        "seed": [Interval(Integral, 0, None, closed="left")],
        "device": [str, None],
    }

    def __init__(
        self,
        image_shape: tuple[int, int] = (28, 28),
        *,
        epochs: int = 3,
        batch_size: int = 16,
        learning_rate: float = 1e-3,
        margin: float = 1.0,
        cross_entropy_weight: float = 1.0,
        smoothing: float = 1e-6,
        shift: int = 8,
        n_transformations: int | None = None,
        widen_factor: int = 4,
        seed: int = 0,
        device: str | None = None,
    ) -> None:
        self.image_shape = image_shape
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.margin = margin
        self.cross_entropy_weight = cross_entropy_weight
        self.smoothing = smoothing
        self.shift = shift
        self.n_transformations = n_transformations
        self.widen_factor = widen_factor
        self.seed = seed
        self.device = device

    def fit(self, images: Any, y: Any = None) -> Self:
        """Train the network on normal images, then find the centres.

        Parameters
        ----------
        images : array-like of shape (n_images, height, width) or (n_images, height * width)
            At least two. Kept as bytes on the device if they are, as float32 otherwise.
        y : ignored

        Returns
        -------
        self
        """
        self._validate_params()
        if len(self.image_shape) != 2:
            raise ValueError(
                f"image_shape must be (height, width), got {self.image_shape}: images have one "
                "channel"
            )
        pixels = checked_rows(images, self.image_shape)
        if len(pixels) < 2:
            raise ValueError(
                f"got {len(pixels)} image, but centres are means over images: at least two are "
                "required"
            )
        mean, deviation = pixels.mean(dtype=np.float64), pixels.std(dtype=np.float64)
        if deviation == 0:
            raise ValueError(
                "all pixels of all images are equal, so that there is nothing to learn"
            )
        maps = geometric_transformations(tuple(self.image_shape), self.shift)
        table = index_table(maps, pixels.shape[1])[: self.n_transformations]
        device = torch.device(self.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        rows = torch.tensor(pixels, device=device)
        # The first weights are drawn on the CPU, so that they are the same on every device, and
        # without touching the generator of the caller.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(self.seed)
            network = WideResidualNetwork(self.widen_factor)
            classifier = nn.Linear(network.n_features, len(table))
        self._mean, self._deviation = float(mean), float(deviation)
        self._table = table.to(device)
        self.network_ = network.to(device)
        with repeatable_convolutions():
            self.loss_curve_ = self._train(rows, classifier.to(device))
            self.centers_ = self._find_centers(rows)
        if not torch.isfinite(self.centers_).all():
            del self.centers_
            raise RuntimeError(
                f"training diverged with learning_rate={self.learning_rate}; lower it"
            )
        return self

    def score_samples(self, images: Any) -> np.ndarray:
        """Return Σ_m log P(m | T(x, m)), so that higher is more normal.

        Parameters
        ----------
        images : array-like of shape (n_images, height, width) or (n_images, height * width)
            On the scale of the training images. The score of an image does not depend on the
            others, up to rounding.

        Returns
        -------
        float64 array of shape (n_images,)
        """
        check_is_fitted(self, "centers_")
        rows = torch.tensor(checked_rows(images, self.image_shape), device=self.centers_.device)
        with repeatable_convolutions():
            scores = [
                log_probabilities(squared_distances(features, self.centers_), self.smoothing)
                .double()
                .sum(dim=1)
                for features in self._final_features(rows)
            ]
        return torch.cat(scores).cpu().numpy()

    def _train(self, rows: torch.Tensor, classifier: nn.Linear) -> np.ndarray:
        """Train network and classifier; return the mean loss of each epoch."""
        parameters = [*self.network_.parameters(), *classifier.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=self.learning_rate, fused=rows.is_cuda)
        generator = torch.Generator().manual_seed(self.seed)
        # No batch is smaller than batch_size, for the means in it.
        n_batches = max(1, len(rows) // self.batch_size)
        self.network_.train()
        # Losses stay on the device: to look at one would wait for it.
        loss_curve = torch.zeros(self.epochs, device=rows.device)
        for epoch in range(self.epochs):
            order = torch.randperm(len(rows), generator=generator).to(rows.device)
            for batch in order.tensor_split(n_batches):
                loss = self._loss(self._features(rows[batch]), classifier)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                loss_curve[epoch] += loss.detach() / n_batches
        self.network_.eval()
        return loss_curve.cpu().numpy()

    def _loss(self, features: torch.Tensor, classifier: nn.Linear) -> torch.Tensor:
        centers = features.mean(dim=0)  # of this batch
        triplets = center_triplet_loss(squared_distances(features, centers), self.margin)
        return triplets + self.cross_entropy_weight * cross_entropy(classifier(features))

    def _find_centers(self, rows: torch.Tensor) -> torch.Tensor:
        """Return c_m: the mean of f(T(x, m)) over all training images x."""
        sums = sum(features.double().sum(dim=0) for features in self._final_features(rows))
        return (sums / len(rows)).float()

    @torch.no_grad()
    def _final_features(self, rows: torch.Tensor) -> Iterator[torch.Tensor]:
        """Yield the features of batch after batch of images, after training."""
        for batch in rows.split(self.batch_size):
            yield self._features(batch)

    def _features(self, rows: torch.Tensor) -> torch.Tensor:
        """Return f(T(x, m)), of shape (n_images, M, n_features)."""
        copies = (transformed(rows, self._table).float() - self._mean) / self._deviation
        features = self.network_(copies.flatten(0, 1).unflatten(1, tuple(self.image_shape)))
        return features.unflatten(0, copies.shape[:2])


def checked_rows(images: Any, image_shape: tuple[int, int]) -> np.ndarray:
    """Return flat images, bytes as they are and other numbers as float32, or raise."""
    array = np.asarray(images)
    if array.dtype.kind not in "buif":
        raise TypeError(f"images must be real numbers, got an array of dtype {array.dtype}")
    height, width = image_shape
    if array.shape[1:] not in ((height, width), (height * width,)) or not len(array):
        raise ValueError(
            f"images must be an array of shape (n_images, {height}, {width}) or (n_images, "
            f"{height * width}) with at least one image, got shape {array.shape}; pass the "
            "image_shape of the images"
        )
    array = array.reshape(len(array), height * width)
    if array.dtype != np.uint8:
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise ValueError("images contain NaN, infinity or a number too large for float32")
    return array


def repeatable_convolutions() -> Any:
    """Return a context in which cuDNN uses algorithms that add in a fixed order."""
    return torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True)
