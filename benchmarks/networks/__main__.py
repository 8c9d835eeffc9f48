"""A small network on Fashion-MNIST, cut in the middle: ``python -m benchmarks.networks STAGE``.

Stages: ``whole`` trains networks (minutes on a GPU), ``heads`` replaces their last layers by class
ideals and trains these with the rest frozen, ``cuts`` trains all of the cut network (on a GPU),
``throughput`` measures images per second, ``report`` writes ``results.md`` and a figure. Each stage
replaces its part of ``results.json`` beside this file. Images are read from the folder
VANISHING_DATA; trained networks are kept in the folder ``--networks``.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from benchmarks import machine
from benchmarks.networks.cuts import (
    HEADS,
    SETTINGS,
    find_latent,
    fit_head,
    measure_throughput,
    take_body,
    train_cuts,
    train_heads,
    try_settings,
)
from benchmarks.networks.network import (
    Images,
    accuracy,
    count_numbers,
    load_images,
    make_network,
    train,
)
from benchmarks.networks.report import write_report
from torch import nn

HERE = Path(__file__).parent
STAGES = ("whole", "heads", "cuts", "throughput", "report")
#: Convolutions that are kept, of six.
CUT = 4
#: The network that the heads without ideals and all settings are tried on.
TRIED = 1


def main() -> None:
    """Run one stage and keep what it measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.networks", description=__doc__)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--networks", type=Path, default=HERE.parents[1] / "build" / "networks")
    parser.add_argument("--output", type=Path, default=HERE, help="folder of the results")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--few", type=int, help="use so few images, to see that it works")
    parser.add_argument(
        "--epochs", type=int, help="30 of a whole network, 8 of a head, 20 of a cut"
    )
    arguments = parser.parse_args()
    path = arguments.output / "results.json"
    if arguments.stage != "report":
        if not os.environ.get("VANISHING_DATA"):
            sys.exit("set VANISHING_DATA to a folder that holds fashion-mnist/")
        measured = measure(arguments)
        results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        stage = arguments.stage
        if stage == "throughput" and measured["machine"]["device"] is None:
            stage = "throughput of a processor"
        # Networks that were not looked at now keep their rows.
        before = results.get(stage, {"rows": []})["rows"]
        measured["rows"] += [row for row in before if row["seed"] not in arguments.seeds]
        results[stage] = measured
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    write_report(path)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run a stage for all seeds, and say on what."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    images = load_images(device, n_images=arguments.few)
    arguments.networks.mkdir(parents=True, exist_ok=True)
    rows = []
    for seed in arguments.seeds:
        torch.manual_seed(seed)
        network = make_network().to(device)
        stored = arguments.networks / f"network-{seed}.pt"
        if arguments.stage == "whole":
            trained = {"n_epochs": arguments.epochs or 30, "rate": arguments.rate}
            train(network, images.train, **trained)
            torch.save(network.state_dict(), stored)
            found = [trained | describe_whole(network, images)]
        else:
            if not stored.exists():
                sys.exit(f"no {stored}: run the stage whole first, or name the folder --networks")
            network.load_state_dict(torch.load(stored, map_location=device))
            network.eval().requires_grad_(False)
            tried = seed == TRIED
            found = run_stage(arguments.stage, network, images, arguments.epochs, tried=tried)
        rows += [{"seed": seed} | row for row in found]
    described = machine.describe()
    described["libraries"]["torch"] = torch.__version__
    described["device"] = torch.cuda.get_device_name() if device == "cuda" else None
    return {"machine": described, "images_used": arguments.few or "all", "rows": rows}


def run_stage(
    stage: str, network: nn.Sequential, images: Images, epochs: int | None, *, tried: bool
) -> list[dict[str, Any]]:
    """Run a stage for one network; what needs no repetition is tried on one network only."""
    latent = find_latent(network, images, CUT)
    if stage == "heads":
        rows: list[dict[str, Any]] = [describe_whole(network, images)]
        rows += train_heads(network, latent, CUT, n_epochs=epochs or 8, controls=tried)
        return rows + try_settings(network, latent, CUT, SETTINGS if tried else SETTINGS[:4])
    if stage == "cuts":
        found = train_cuts(network, images, latent, CUT, n_epochs=epochs or 20, controls=tried)
        return [describe_whole(network, images), *found]
    body = take_body(network, CUT)
    networks = {"whole network": network} | {
        name: nn.Sequential(body, fit_head(latent, setting)) for name, setting in HEADS.items()
    }
    batch = images.test[0][: 1000 if images.test[0].is_cuda else 200].contiguous()
    return [
        {"compiled": compiled, "images_per_s": measure_throughput(networks, batch, compiled)}
        for compiled in ((False, True) if batch.is_cuda else (False,))
    ]


def describe_whole(network: nn.Module, images: Images) -> dict[str, Any]:
    """Return what the whole network reaches."""
    return {
        "head": "whole network",
        "numbers": count_numbers(network),
        "validation": round(accuracy(network, images.validation), 2),
        "test": round(accuracy(network, images.test), 2),
    }


if __name__ == "__main__":
    main()
