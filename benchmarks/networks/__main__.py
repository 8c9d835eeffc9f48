"""A small network on Fashion-MNIST, cut in the middle: ``python -m benchmarks.networks``.

Trains three networks, replaces their last layers by class ideals, and writes ``results.json``,
``results.md`` and a figure beside this file. Reads the images from the folder VANISHING_DATA. It
takes minutes with a GPU; ``--quick`` uses few images, to see that it works.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from benchmarks import machine
from benchmarks.networks.cuts import (
    CUTS,
    HEADS,
    SETTINGS,
    Schedule,
    describe,
    fit_head,
    measure_throughput,
    train_cuts,
    try_settings,
)
from benchmarks.networks.network import load_images, make_network, train
from benchmarks.networks.report import write_report

HERE = Path(__file__).parent
SEEDS = (0, 1, 2)
QUICK = Schedule(whole=1, head=1, cut=1)


def run_part(part: str, folder: Path, *, quick: bool) -> Any:
    """Run one part of the measurements in this process."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    images = load_images(device, n_images=500 if quick else None)
    schedule = QUICK if quick else Schedule()
    kind, _, seed = part.partition("-")
    torch.manual_seed(int(seed or 0))
    network = make_network().to(device)
    path = folder / f"network-{seed or 0}.pt"
    if kind == "whole":
        train(network, images.train, n_epochs=schedule.whole, rate=0.2)
        torch.save(network.state_dict(), path)
        return describe(network, images)
    network.load_state_dict(torch.load(path, map_location=device))
    network.eval().requires_grad_(False)
    if kind == "cuts":
        return train_cuts(network, images, schedule)
    if kind == "settings":
        return try_settings(network, images, SETTINGS[:4] if quick else SETTINGS)
    networks = {"whole": network} | {
        f"cut after {cut}, {name}": fit_head(network, images, replace(setting, cut=cut))
        for cut in CUTS
        for name, setting in HEADS.items()
    }
    return measure_throughput(networks, images)


def run_parts(parts: list[str], folder: Path, *, quick: bool) -> Iterator[Any]:
    """Run parts at the same time, each in a process of its own; yield what they return."""
    flags = ["--quick"] if quick else []
    command = [sys.executable, "-m", "benchmarks.networks", *flags, "--folder", str(folder)]
    threads = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // len(parts)))}
    started = [
        subprocess.Popen(
            [*command, "--part", part], stdout=subprocess.PIPE, text=True, env=os.environ | threads
        )
        for part in parts
    ]
    for part, process in zip(parts, started, strict=True):
        output, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{part} failed")
        yield json.loads(output.splitlines()[-1])


def main() -> None:
    """Run all parts and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.networks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few images, one epoch")
    parser.add_argument("--output", type=Path, default=HERE, help="folder of the results")
    parser.add_argument("--report", action="store_true", help="only write the report again")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(run_part(arguments.part, arguments.folder, quick=arguments.quick)))
        return
    path = arguments.output / "results.json"
    if not arguments.report:
        path.write_text(json.dumps(measure(arguments.quick), indent=1) + "\n", encoding="utf-8")
    write_report(path)


def measure(quick: bool) -> dict[str, Any]:
    """Measure everything."""
    if not quick and not os.environ.get("VANISHING_DATA"):
        sys.exit("set VANISHING_DATA to a folder that holds fashion-mnist/")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = list(run_parts([f"whole-{seed}" for seed in SEEDS], folder, quick=quick))
        parts = [*(f"cuts-{seed}" for seed in SEEDS), "settings"]
        *cuts, settings = run_parts(parts, folder, quick=quick)
        (throughput,) = run_parts(["throughput"], folder, quick=quick)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    libraries = {"torch": torch.__version__}
    described = machine.describe()
    described["libraries"] |= libraries
    return {
        "machine": described | {"device": device},
        "seeds": SEEDS,
        "whole": whole,
        "cuts": cuts,
        "settings": settings,
        "throughput": throughput,
    }


if __name__ == "__main__":
    main()
