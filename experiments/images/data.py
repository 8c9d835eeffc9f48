"""Images split into normal and anomalous, and how well a detector tells them apart.

MNIST and Fashion-MNIST are looked for in the folder VANISHING_DATA, or downloaded. Where torch sees
a CUDA device detectors get the images there, in single precision, elsewhere as NumPy arrays.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from experiments.harness.machine import has_accelerator
from sklearn.metrics import roc_auc_score

from vanishing.datasets import ImageSet, load_fashion_mnist, load_mnist

SHAPE = (28, 28)
LOADERS: dict[str, Callable[[], ImageSet]] = {
    "MNIST": load_mnist,
    "Fashion-MNIST": load_fashion_mnist,
}
SETS = tuple(LOADERS)
ALL = 60_000
N_TEST = 10_000
#: One in five normal training images is held out where settings are chosen without labels.
HELD_OUT = 5


@dataclass(frozen=True, eq=False)
class Task:
    """Normal images to learn from, and images to tell apart.

    Parameters
    ----------
    train : array of shape (n_images, n_pixels)
        Normal images only.
    test : array of shape (n_test_images, n_pixels)
    is_normal : bool array of shape (n_test_images,)
    """

    train: Any
    test: Any
    is_normal: np.ndarray

    def mapped(self, function: Callable[[Any], Any]) -> "Task":
        """Return the task with other coordinates for its images."""
        return Task(function(self.train), function(self.test), self.is_normal)


def even_labels(name: str, n_images: int, *, seed: int = 0, n_test: int = N_TEST) -> Task:
    """Return the paper's task: labels 0, 2, 4, 6, 8 are normal.

    Parameters
    ----------
    name : str
        Of ``SETS``.
    n_images : int
        Training images, before the odd labels are left out.
    seed : int
        0 takes the first images, as the paper does; others draw them out of all 60,000.
    n_test : int
        The first so many test images.
    """
    images = LOADERS[name]()
    rows = np.arange(n_images)
    if seed and n_images < len(images.train_labels):
        drawn = np.random.default_rng(seed).choice(len(images.train_labels), n_images, False)
        rows = np.sort(drawn)
    normal = rows[images.train_labels[rows] % 2 == 0]
    return Task(
        images.train_images[normal],
        images.test_images[:n_test],
        images.test_labels[:n_test] % 2 == 0,
    )


def one_label(name: str, label: int, *, n_images: int = ALL, n_test: int = N_TEST) -> Task:
    """Return the task of one class against the nine others."""
    images = LOADERS[name]()
    return Task(
        images.train_images[:n_images][images.train_labels[:n_images] == label],
        images.test_images[:n_test],
        images.test_labels[:n_test] == label,
    )


def held_out(task: Task) -> tuple[Task, Any]:
    """Return the task without a fifth of its normal images, and these."""
    kept = np.arange(len(task.train)) % HELD_OUT != 0
    return Task(task.train[kept], task.test, task.is_normal), task.train[~kept]


def on_device(images: Any) -> Any:
    """Return the images where detectors are to work on them."""
    if not has_accelerator():
        return images
    import torch

    return torch.as_tensor(images, dtype=torch.float32, device="cuda")


def evaluate(detector: Any, task: Task, *, accelerated: bool = True) -> dict[str, Any]:
    """Fit, score, and return the AUC × 100, seconds and the memory of the accelerator.

    The sign of the scores is scikit-learn's: normal images score higher.
    """
    accelerated = accelerated and has_accelerator()
    if accelerated:
        task = task.mapped(on_device)
    started = time.perf_counter()
    detector.fit(task.train)
    fitted = time.perf_counter()
    area = auc(detector, task)
    found = {
        "AUC": area,
        "fit s": round(fitted - started, 2),
        "score s": round(time.perf_counter() - fitted, 2),
    }
    if accelerated:
        import torch

        found["device MB"] = round(torch.cuda.max_memory_allocated() / 2**20)
    return found


def auc(detector: Any, task: Task) -> float:
    """Return the area under the curve × 100 of a fitted detector on the test images."""
    scores = detector.score_samples(task.test)
    move_to_host = scores if isinstance(scores, np.ndarray) else scores.cpu().numpy()
    # A score of -inf stands for as anomalous as can be; the area needs finite numbers.
    finite = np.nan_to_num(move_to_host, neginf=np.finfo(np.float64).min)
    return round(100 * float(roc_auc_score(task.is_normal, finite)), 2)
