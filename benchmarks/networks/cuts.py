"""Networks that are cut: which heads are tried, how they are trained, what they reach."""

import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from benchmarks.networks.network import (
    N_CLASSES,
    Images,
    accuracy,
    count_numbers,
    train,
    train_head,
)
from torch import Tensor, nn

from vanishing import VanishingIdeal
from vanishing.layers import VanishingLayer, cut_network


@dataclass(frozen=True)
class Setting:
    """How class ideals are fitted to latent vectors.

    Parameters
    ----------
    n_components, max_samples, max_polynomials, linear
        As in ``cut_network``.
    degree, tol
        Of the ideals, whose normalization is contrastive.
    """

    n_components: int = 16
    degree: int = 2
    tol: float = 0.5
    max_samples: int = 2000
    max_polynomials: int | None = None
    linear: bool = False


#: Images of 7 × 7 or more pixels are averaged to so many.
POOL = 3
LINES = Setting(n_components=32, degree=1, tol=0.9)
QUADRICS = Setting()
#: What is trained further.
HEADS = {"degree 1, 32 components": LINES, "degree 2, 16 components": QUADRICS}
#: What is fitted and not trained: one thing is changed at a time.
SETTINGS = [
    *(replace(LINES, linear=linear) for linear in (False, True)),
    *(replace(QUADRICS, linear=linear) for linear in (False, True)),
    *(replace(LINES, n_components=n) for n in (16, 64)),
    *(replace(QUADRICS, n_components=n) for n in (8, 32)),
    replace(QUADRICS, n_components=32, max_polynomials=16),
    *(replace(QUADRICS, tol=tol) for tol in (0.3, 0.7)),
    *(replace(QUADRICS, max_samples=n) for n in (250, 1000, 6000)),
]


# --- Latent vectors, computed once ----------------------------------------------------------------


def take_body(network: nn.Sequential, cut: int) -> nn.Sequential:
    """Return the first convolutions, and what makes vectors of their images."""
    return nn.Sequential(*network[:cut], nn.AdaptiveAvgPool2d(POOL), nn.Flatten())


@torch.no_grad()
def find_latent(network: nn.Sequential, images: Images, cut: int) -> Images:
    """Return the latent vectors of all images in place of the images."""
    body = take_body(network, cut).eval()

    def vectors(part: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return torch.cat([body(batch) for batch in part[0].split(500)]), part[1]

    return Images(*map(vectors, (images.train, images.validation, images.test)))


# --- Heads ----------------------------------------------------------------------------------------


def fit_head(latent: Images, setting: Setting) -> nn.Sequential:
    """Return class ideals of the latent vectors and a classifier."""
    ideal = VanishingIdeal(
        max_degree=setting.degree, tol=setting.tol, normalization="contrastive", reduction="gram"
    )
    cut = cut_network(
        nn.Identity(),
        *latent.train,
        ideal=ideal,
        n_components=setting.n_components,
        max_polynomials=setting.max_polynomials,
        max_samples=setting.max_samples,
        linear=setting.linear,
    )
    head = nn.Sequential(cut.get_submodule("polynomials"), cut.get_submodule("classify"))
    return head.to(latent.train[0].device)


def make_linear(n_latent: int) -> nn.Sequential:
    """Return a linear classifier."""
    return nn.Sequential(nn.BatchNorm1d(n_latent), nn.Linear(n_latent, N_CLASSES))


def make_perceptron(n_latent: int, n_numbers: int) -> nn.Sequential:
    """Return a classifier with a hidden layer that has about so many numbers."""
    n_hidden = max(1, round((n_numbers - 2 * n_latent - N_CLASSES) / (n_latent + 1 + N_CLASSES)))
    return nn.Sequential(
        nn.BatchNorm1d(n_latent),
        nn.Linear(n_latent, n_hidden),
        nn.ReLU(),
        nn.Linear(n_hidden, N_CLASSES),
    )


def randomize(head: nn.Sequential) -> nn.Sequential:
    """Return a copy with random coefficients."""
    copied = deepcopy(head)
    for module in copied.modules():
        if isinstance(module, nn.Linear):
            module.reset_parameters()
    return copied


def make_heads(latent: Images, *, controls: bool) -> Iterator[tuple[str, nn.Sequential]]:
    """Yield the heads to be trained; the controls have no ideals to start from."""
    n_latent = latent.train[0].shape[1]
    for name, setting in HEADS.items():
        fitted = fit_head(latent, setting)
        yield f"class ideals, {name}", fitted
        if controls:
            yield f"random polynomials, {name}", randomize(fitted)
            yield f"hidden layer like {name}", make_perceptron(n_latent, count_numbers(fitted))
    if controls:
        yield "linear", make_linear(n_latent)


# --- What they reach ------------------------------------------------------------------------------


def try_settings(network: nn.Sequential, latent: Images, cut: int, settings: list[Setting]) -> Any:
    """Fit class ideals in several ways and measure them without training."""
    rows = []
    for setting in settings:
        started = time.perf_counter()
        head = fit_head(latent, setting)
        seconds = round(time.perf_counter() - started, 1)
        row = {"cut": cut} | asdict(setting) | describe(take_body(network, cut), head, latent)
        rows.append(row | {"fit_s": seconds})
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def train_heads(
    network: nn.Sequential, latent: Images, cut: int, *, n_epochs: int, controls: bool
) -> Any:
    """Train heads on the latent vectors, with the body as it is."""
    rows = []
    for name, head in make_heads(latent, controls=controls):
        head.to(latent.train[0].device)
        train_head(head, latent.train, n_epochs=n_epochs)
        described = describe(take_body(network, cut), head, latent)
        rows.append({"cut": cut, "head": name, "trained": "head"} | described)
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def train_cuts(
    network: nn.Sequential,
    images: Images,
    latent: Images,
    cut: int,
    *,
    n_epochs: int,
    controls: bool,
) -> Any:
    """Train body and head together, taught by the whole network."""
    rows = []
    for name, head in make_heads(latent, controls=controls):
        body = deepcopy(take_body(network, cut))
        whole = nn.Sequential(body, head.to(latent.train[0].device))
        train(whole, images.train, n_epochs=n_epochs, rate=2e-3, optimizer="adam", teacher=network)
        described = describe(body, head, find_latent(body, images, cut))
        rows.append({"cut": cut, "head": name, "trained": "all"} | described)
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def describe(body: nn.Module, head: nn.Module, latent: Images) -> dict[str, Any]:
    """Return numbers that the network holds, its polynomials, and the accuracies."""
    layers = [each for each in head.modules() if isinstance(each, VanishingLayer)]
    return {
        "numbers": count_numbers(body) + count_numbers(head),
        "polynomials": sum(layer.out_features for layer in layers),
        "validation": round(accuracy(head, latent.validation), 2),
        "test": round(accuracy(head, latent.test), 2),
    }


# --- Throughput -----------------------------------------------------------------------------------


@torch.no_grad()
def measure_throughput(networks: dict[str, nn.Module], batch: Tensor, compiled: bool) -> Any:
    """Return images per second of networks in evaluation mode.

    The networks take turns, and the best of ten rounds counts, so that other work on the machine
    disturbs all of them alike.
    """
    functions = {name: network.eval() for name, network in networks.items()}
    if compiled:
        functions = {
            name: torch.compile(network, mode="reduce-overhead", dynamic=False)
            for name, network in functions.items()
        }
    best = dict.fromkeys(functions, float("inf"))
    n_calls = 20 if batch.is_cuda else 1
    for turn in range(12):
        for name, function in functions.items():
            _wait(batch)
            started = time.process_time() if not batch.is_cuda else time.perf_counter()
            for _ in range(n_calls):
                function(batch)
            _wait(batch)
            ended = time.process_time() if not batch.is_cuda else time.perf_counter()
            if turn > 1:  # the first ones warm up
                best[name] = min(best[name], (ended - started) / n_calls)
    return {name: round(len(batch) / seconds) for name, seconds in best.items()}


def _wait(batch: Tensor) -> None:
    if batch.is_cuda:
        torch.cuda.synchronize()
