"""A small convolutional network for Fashion-MNIST, its training, and what a network costs."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from vanishing.datasets import load_fashion_mnist

#: Channels of the six convolutions; images are halved after every second one.
CHANNELS = (32, 32, 64, 64, 128, 128)
N_CLASSES = 10
#: Training images that settings are chosen on; the test images are looked at in the end only.
N_VALIDATION = 5_000


@dataclass(frozen=True, eq=False)
class Images:
    """Fashion-MNIST on a device, in three parts."""

    train: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


def load_images(device: str, *, n_images: int | None = None) -> Images:
    """Load the images with mean 0 and standard deviation 1.

    Parameters
    ----------
    device : str
    n_images : int, optional
        Use so many of each part only, to see that everything works.
    """
    read = load_fashion_mnist()

    def move(images: np.ndarray, labels: np.ndarray) -> tuple[Tensor, Tensor]:
        x = torch.tensor(images.reshape(-1, 1, 28, 28), dtype=torch.float32, device=device)
        return x, torch.tensor(labels, dtype=torch.int64, device=device)

    x, y = move(read.train_images, read.train_labels)
    test, test_labels = move(read.test_images, read.test_labels)
    mean, spread = x.mean(), x.std()
    x, test = (x - mean) / spread, (test - mean) / spread
    few = slice(n_images)
    parts = (x[N_VALIDATION:], y[N_VALIDATION:]), (x[:N_VALIDATION], y[:N_VALIDATION])
    return Images(*((x[few], y[few]) for x, y in (*parts, (test, test_labels))))


def make_network() -> nn.Sequential:
    """Return the network: ``network[:k]`` are its first k convolutions."""
    blocks = OrderedDict[str, nn.Module]()
    n_in = 1
    for k, n_out in enumerate(CHANNELS, start=1):
        layers = [
            nn.Conv2d(n_in, n_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(n_out),
            nn.ReLU(inplace=True),
        ]
        if k % 2 == 0 and k < len(CHANNELS):
            layers.append(nn.MaxPool2d(2))
        blocks[f"conv{k}"] = nn.Sequential(*layers)
        n_in = n_out
    blocks["pool"] = nn.AdaptiveAvgPool2d(1)
    blocks["flatten"] = nn.Flatten()
    blocks["classify"] = nn.Linear(n_in, N_CLASSES)
    return nn.Sequential(blocks)


# --- Training -------------------------------------------------------------------------------------


def train(
    network: nn.Module,
    images: tuple[Tensor, Tensor],
    *,
    n_epochs: int,
    rate: float,
    optimizer: str = "sgd",
    teacher: nn.Module | None = None,
) -> None:
    """Train a network on shifted and mirrored images.

    Parameters
    ----------
    network : Module
    images : pair of tensors
        Images and labels.
    n_epochs : int
    rate : float
        Largest learning rate of one cycle.
    optimizer : {"sgd", "adam"}
    teacher : Module, optional
        A network whose probabilities are learned beside the labels.
    """
    network.train().requires_grad_(True)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        batch = augment(x)
        scores = network(batch)
        found = functional.cross_entropy(scores, y)
        if teacher is not None:
            with torch.no_grad():
                target = functional.softmax(teacher(batch) / 2, dim=1)
            found = found + 4 * functional.cross_entropy(scores / 2, target)
        return found

    if optimizer == "sgd":
        descent: torch.optim.Optimizer = torch.optim.SGD(
            network.parameters(), rate, momentum=0.9, nesterov=True, weight_decay=5e-4
        )
    else:
        descent = torch.optim.AdamW(network.parameters(), rate, weight_decay=1e-3)
    _descend(descent, loss, images, n_epochs=n_epochs, rate=rate, batch_size=500)
    network.eval()


def train_head(head: nn.Module, latent: tuple[Tensor, Tensor], *, n_epochs: int) -> None:
    """Train a classifier on latent vectors."""
    head.train().requires_grad_(True)
    rate = 2e-3
    descent = torch.optim.AdamW(head.parameters(), rate, weight_decay=1e-3)

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return functional.cross_entropy(head(x), y)

    _descend(descent, loss, latent, n_epochs=n_epochs, rate=rate, batch_size=250)
    head.eval()


def _descend(
    descent: torch.optim.Optimizer,
    loss: Callable[[Tensor, Tensor], Tensor],
    samples: tuple[Tensor, Tensor],
    *,
    n_epochs: int,
    rate: float,
    batch_size: int,
) -> None:
    """Walk through all samples in random order, with one cycle of the learning rate."""
    x, y = samples
    n_batches = len(x) // batch_size
    schedule = torch.optim.lr_scheduler.OneCycleLR(descent, rate, total_steps=n_epochs * n_batches)
    for _ in range(n_epochs):
        order = torch.randperm(len(x), device=x.device)
        for rows in order[: n_batches * batch_size].split(batch_size):
            descent.zero_grad(set_to_none=True)
            loss(x[rows], y[rows]).backward()
            descent.step()
            schedule.step()


def augment(x: Tensor) -> Tensor:
    """Return images mirrored at random, and shifted by up to two pixels."""
    n = len(x)
    flipped = torch.where(torch.rand(n, 1, 1, 1, device=x.device) < 0.5, x.flip(-1), x)
    padded = functional.pad(flipped, (2, 2, 2, 2), value=float(x.min()))
    shifts = torch.randint(0, 5, (2, n), device=x.device)
    grid = torch.arange(28, device=x.device)
    rows, columns = (shift[:, None] + grid for shift in shifts)
    number = torch.arange(n, device=x.device)[:, None, None]
    return padded[number, 0, rows[:, :, None], columns[:, None, :]][:, None]


@torch.no_grad()
def accuracy(
    network: nn.Module, images: tuple[Tensor, Tensor], *, batch_size: int = 2_000
) -> float:
    """Return the percentage of images that are classified correctly."""
    network.eval()
    right = [
        (network(x).argmax(1) == y).sum()
        for x, y in zip(*(part.split(batch_size) for part in images), strict=True)
    ]
    return 100 * float(torch.stack(right).sum()) / len(images[1])


def count_numbers(network: nn.Module) -> int:
    """Return how many numbers a network holds: parameters, frozen ones too, and centers."""
    centers = [value for name, value in network.named_buffers() if name.endswith("center")]
    return sum(each.numel() for each in [*network.parameters(), *centers])
