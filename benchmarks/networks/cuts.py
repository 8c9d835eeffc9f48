"""Networks that are cut: which heads are tried, how they are trained, what they reach."""

import sys
import time
from collections import OrderedDict
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from benchmarks.networks.network import N_CLASSES, Images, accuracy, count_numbers, train
from torch import nn

from vanishing import VanishingIdeal
from vanishing.layers import VanishingLayer, cut_network

# --- Heads made of class ideals -------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """How class ideals are fitted to latent vectors.

    Parameters
    ----------
    cut : int
        Number of convolutions that are kept.
    pool, n_components, max_samples, max_polynomials, linear
        As in ``cut_network``.
    degree, tol
        Of the ideals, whose normalization is contrastive.
    """

    cut: int = 4
    pool: int = 3
    n_components: int = 16
    degree: int = 2
    tol: float = 0.5
    max_samples: int = 2000
    max_polynomials: int | None = None
    linear: bool = False


#: What is trained further.
LINES = Setting(n_components=32, degree=1, tol=0.9)
QUADRICS = Setting()
HEADS = {"degree 1, 32 components": LINES, "degree 2, 16 components": QUADRICS}
CUTS = (4, 3)
#: What is fitted and not trained: one thing is changed at a time.
SETTINGS = [
    *(replace(LINES, linear=linear) for linear in (False, True)),
    *(replace(QUADRICS, linear=linear) for linear in (False, True)),
    *(replace(LINES, n_components=n) for n in (16, 64)),
    *(replace(QUADRICS, n_components=n) for n in (8, 32)),
    replace(QUADRICS, n_components=32, max_polynomials=16),
    *(replace(QUADRICS, tol=tol) for tol in (0.3, 0.7)),
    *(replace(QUADRICS, max_samples=n) for n in (250, 1000, 6000)),
    replace(LINES, pool=1),
    *(replace(LINES, cut=n, linear=linear) for n in (3, 5) for linear in (False, True)),
    replace(QUADRICS, cut=3, linear=True),
]


def fit_head(network: nn.Sequential, images: Images, setting: Setting) -> nn.Sequential:
    """Cut the network and fit class ideals; the body is a copy."""
    ideal = VanishingIdeal(
        max_degree=setting.degree, tol=setting.tol, normalization="contrastive", reduction="gram"
    )
    return cut_network(
        deepcopy(network[: setting.cut]),
        *images.train,
        ideal=ideal,
        n_components=setting.n_components,
        pool=setting.pool,
        max_polynomials=setting.max_polynomials,
        max_samples=setting.max_samples,
        linear=setting.linear,
    )


# --- Heads to compare with ------------------------------------------------------------------------


def add_perceptron(body: nn.Module, n_latent: int, n_numbers: int, pool: int) -> nn.Sequential:
    """Add a hidden layer, so wide that the network has about so many numbers."""
    rest = n_numbers - count_numbers(body) - 2 * n_latent - N_CLASSES
    n_hidden = max(1, round(rest / (n_latent + 1 + N_CLASSES)))
    head = [nn.BatchNorm1d(n_latent), nn.Linear(n_latent, n_hidden), nn.ReLU()]
    return _join(body, pool, [*head, nn.Linear(n_hidden, N_CLASSES)])


def add_linear(body: nn.Module, n_latent: int, pool: int) -> nn.Sequential:
    """Add a linear classifier."""
    return _join(body, pool, [nn.BatchNorm1d(n_latent), nn.Linear(n_latent, N_CLASSES)])


def _join(body: nn.Module, pool: int, head: list[nn.Module]) -> nn.Sequential:
    device = next(body.parameters()).device
    parts = [nn.AdaptiveAvgPool2d(pool), nn.Flatten(), *head]
    named = OrderedDict(body=body, head=nn.Sequential(*parts).to(device))
    return nn.Sequential(named)


def randomize(network: nn.Sequential) -> nn.Sequential:
    """Return a copy whose polynomials and classifier have random coefficients."""
    copied = deepcopy(network)
    for part in ("polynomials", "classify"):
        for module in copied.get_submodule(part).modules():
            if isinstance(module, nn.Linear):
                module.reset_parameters()
    return copied


# --- Results --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """Epochs of the whole network, of a head, and of a whole cut network."""

    whole: int = 30
    head: int = 12
    cut: int = 16


def try_settings(network: nn.Sequential, images: Images, settings: list[Setting]) -> list[Any]:
    """Fit all settings and measure them without training."""
    rows = []
    for setting in settings:
        started = time.perf_counter()
        cut = fit_head(network, images, setting)
        row = asdict(setting) | describe(cut, images)
        rows.append(row | {"fit_s": round(time.perf_counter() - started, 1)})
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def train_cuts(network: nn.Sequential, images: Images, schedule: Schedule) -> list[Any]:
    """Train heads, with the body frozen and with it, taught by the whole network."""
    rows = []

    def measure(cut: int, head: str, trained: str, made: nn.Sequential) -> None:
        before = time.perf_counter()
        frozen = made.get_submodule("body") if trained == "head" else None
        if trained != "nothing":
            train(
                made,
                images.train,
                n_epochs=schedule.head if trained == "head" else schedule.cut,
                rate=2e-3,
                optimizer="adam",
                teacher=network,
                frozen=frozen,
                batch_size=min(1000, len(images.train[0])),
            )
        row = {"cut": cut, "head": head, "trained": trained} | describe(made, images)
        rows.append(row | {"seconds": round(time.perf_counter() - before, 1)})
        print(rows[-1], file=sys.stderr, flush=True)

    for cut in CUTS:
        for name, setting in HEADS.items():
            fitted = fit_head(network, images, replace(setting, cut=cut))
            for trained in ("nothing", "head", "all"):
                measure(cut, f"class ideals, {name}", trained, deepcopy(fitted))
            # What training does alone, without the ideals to start from.
            for trained in ("head", "all") if cut == CUTS[0] else ():
                measure(cut, f"random polynomials, {name}", trained, randomize(fitted))
        n_latent = network[:cut](images.test[0][:2]).shape[1] * setting.pool**2
        for trained in ("head", "all") if cut == CUTS[0] else ("all",):
            linear = add_linear(deepcopy(network[:cut]), n_latent, setting.pool)
            measure(cut, "linear", trained, linear)
            body = deepcopy(network[:cut])
            perceptron = add_perceptron(body, n_latent, count_numbers(fitted), setting.pool)
            measure(cut, "hidden layer", trained, perceptron)
    return rows


def describe(network: nn.Module, images: Images) -> dict[str, Any]:
    """Return numbers that the network holds, its polynomials, and the accuracies."""
    layers = [each for each in network.modules() if isinstance(each, VanishingLayer)]
    return {
        "numbers": count_numbers(network),
        "polynomials": sum(layer.out_features for layer in layers),
        "validation": round(accuracy(network, images.validation), 2),
        "test": round(accuracy(network, images.test), 2),
    }


# --- Throughput -----------------------------------------------------------------------------------


def measure_throughput(networks: dict[str, nn.Module], images: Images) -> list[dict[str, Any]]:
    """Return images per second of networks in evaluation mode, as they are and compiled."""
    batch = images.test[0][:1000].contiguous()
    rows = []
    for name, network in networks.items():
        network.eval()
        compiled = torch.compile(network, mode="reduce-overhead", dynamic=False)
        row = {
            "network": name,
            "numbers": count_numbers(network),
            "images_per_s": round(len(batch) / _seconds(network, batch)),
            "images_per_s_compiled": round(len(batch) / _seconds(compiled, batch)),
        }
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    return rows


@torch.no_grad()
def _seconds(function: Any, batch: torch.Tensor) -> float:
    """Return the best mean time of a call out of five rounds."""

    def wait() -> None:
        if batch.is_cuda:
            torch.cuda.synchronize()

    n_calls = 20 if batch.is_cuda else 2
    for _ in range(3):
        function(batch)
    best = float("inf")
    for _ in range(5):
        wait()
        started = time.perf_counter()
        for _ in range(n_calls):
            function(batch)
        wait()
        best = min(best, (time.perf_counter() - started) / n_calls)
    return best
