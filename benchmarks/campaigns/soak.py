r"""Hours of random work in one process: does memory grow, do descriptors or files stay behind?

One process fits, scores, saves, loads, exports, draws, reports, discovers laws and runs the command
line, on data of random sizes; it also serves the playground from a thread and sends requests to it,
good and bad ones. Between two operations it measures itself every few seconds: resident memory of
the process and of the playground's workers, open descriptors, threads, temporary files. Each
operation has its own folder, which must hold no temporary file afterwards. A few fits with fixed
seeds are repeated all the time, and must give the same bits as at the start.

Memory is measured in three ways, since a leak and fragmentation look the same from outside: the
resident memory of the process; the bytes that malloc has handed out; and the number of Python's own
small blocks, which malloc does not see. A leak raises the last two. Memory that allocators hold
free, in the heap and in the arenas of threads, raises the first alone.

Memory is *flat* if Theil-Sen's slope after the warm-up, a quarter of the time, is below 1 % of the
memory an hour (or below what its confidence interval can tell from zero). Descriptors, threads and
temporary files are flat if no more of them are open at rest, in the lowest tenth of the samples, in
the last quarter than in the second: a connection that is open for a moment is no growth.

    make soak                                             # with allocators that give memory back
    python -m benchmarks.campaigns.soak --seconds 7200    # with the default ones
    python -m benchmarks.campaigns.soak --seconds 60 --out FOLDER
    python -m benchmarks.campaigns.soak --append          # a second run beside the first
"""

import argparse
import contextlib
import ctypes
import gc
import hashlib
import importlib.util
import io
import json
import math
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import httpx
import matplotlib as mpl
import numpy as np
import psutil
import uvicorn
from benchmarks.machine import describe
from scipy.stats import theilslopes

from vanishing import (
    ClassVanishingFeatures,
    TransformationDetector,
    VanishingDetector,
    VanishingIdeal,
    discover,
    load,
)
from vanishing.app.cli import main as run_command
from vanishing.app.playground import Limits, create_app
from vanishing.app.report import write_equations_report, write_laws_report, write_report
from vanishing.data import write
from vanishing.equations import to_c, to_computer_algebra, to_python

mpl.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
CONSTRUCTIONS = ("vca", "abm", "oavi", "abm-gradient")
NORMALIZATIONS = ("gradient", "gradient-weighted", "coefficient", "vca", "contrastive")
#: Share of the time before memory is judged, and growth in an hour that still counts as none.
WARM, GROWTH = 0.25, 0.01
#: Share of the samples, the lowest ones, that show what is open at rest.
REST = 0.1
#: Errors that random settings may lead to, and that are an answer as well.
REFUSALS = (ValueError, OSError)
#: How the names of variables begin that set malloc and Arrow's memory pool.
ALLOCATORS = ("MALLOC_", "ARROW_D")
#: What commands print. The same streams for all: click keeps each that it has written to.
OUTPUT, ERRORS = io.StringIO(), io.StringIO()


# --- data -----------------------------------------------------------------------------------------


def make_points(rng):
    """Draw points near a curve in 2 to 5 dimensions."""
    n_columns = int(rng.integers(2, 6))
    n_rows = int(rng.choice([20, 60, 200, 600, 3000]))
    X = rng.standard_normal((n_rows, n_columns))
    X[:, -1] = X[:, 0] ** 2 + 0.01 * rng.standard_normal(n_rows)
    return X * 10.0 ** rng.integers(-3, 4) + rng.integers(-3, 4)


def make_table(rng):
    """Draw a table with a law and a few broken cells, as CSV."""
    n_rows = int(rng.integers(40, 200))
    a, b = rng.uniform(1, 9, (2, n_rows)).round(3)
    table = np.column_stack([a, b, a * b, rng.uniform(0, 1, n_rows)])
    table[rng.integers(n_rows, size=2), 2] *= 2
    return table


def as_csv(table):
    rows = [",".join(f"{value:.6g}" for value in row) for row in table]
    return "\n".join(["a,b,product,noise", *rows]) + "\n"


# --- operations: each takes a generator of random numbers, a folder and the playground ------------


def random_ideal(rng):
    """Draw the settings of an ideal."""
    construction = str(rng.choice(CONSTRUCTIONS))
    settings = {
        "construction": construction,
        "max_degree": int(rng.integers(1, 4)),
        "tol": [0.0, 1e-3, 0.1, "auto", "gap"][rng.integers(5 if construction == "vca" else 3)],
        "reduction": str(rng.choice(["tsqr", "gram"])),
        "output": str(rng.choice(["abs", "signed"])),
    }
    if construction == "vca":
        settings["normalization"] = str(rng.choice(NORMALIZATIONS))
        settings["products"] = str(rng.choice(["independent", "all"]))
        settings["generators"] = str(rng.choice(["all", "minimal"]))
    elif rng.random() < 0.3:
        settings["normalization"] = "contrastive"
    return VanishingIdeal(**settings)


def fit_random_ideal(rng):
    X = make_points(rng)
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    ideal = random_ideal(rng)
    Y = X[rng.permutation(len(X))] + X.std(0) * rng.standard_normal(X.shape).astype(X.dtype)
    backend = rng.choice(["numpy", "torch", "chunks"])
    if backend == "torch" and importlib.util.find_spec("torch"):
        import torch

        X, Y = torch.asarray(X), torch.asarray(Y)
    elif backend == "chunks":
        X, Y = np.array_split(X, 5), np.array_split(Y, 5)
    contrast = Y if ideal.needs_contrast else None
    return ideal.fit(X, contrast=contrast), X


def fit_ideal(rng, folder, playground):
    ideal, X = fit_random_ideal(rng)
    values = ideal.transform(X)
    if isinstance(X, list):  # chunks, which are evaluated when they are taken
        for _ in values.blocks(500):
            pass


def fit_parts(rng, folder, playground):
    X = make_points(rng)
    ideal = VanishingIdeal(max_degree=2, tol=0.01)
    for part in np.array_split(X, 4):
        ideal.partial_fit(part)
    ideal.transform(X)


def fit_classes(rng, folder, playground):
    X = make_points(rng)
    y = rng.integers(3, size=len(X))
    features = ClassVanishingFeatures(VanishingIdeal(max_degree=2, tol=0.3)).fit(X, y)
    features.transform(X)
    save_and_load(features, X, folder)


def fit_detector(rng, folder, playground):
    X = make_points(rng)[:600]
    detector = VanishingDetector()
    if rng.random() < 0.5:
        detector = VanishingDetector(VanishingIdeal(tol=0.5), n_components=int(rng.integers(1, 3)))
        X = (X - X.mean(0)) / X.std(0)
    detector.fit(X)
    X[0] += 5 * X.std(0)
    detector.predict(X)
    for explanation in detector.explain(X[:2]):
        str(explanation)
    save_and_load(detector, X, folder)
    if rng.random() < 0.5:
        write_report(folder / "report.html", detector, X)


def fit_transformation_detector(rng, folder, playground):
    X = make_points(rng)[:200]
    X = (X - X.mean(0)) / X.std(0)
    detector = TransformationDetector(ideal=VanishingIdeal(tol=0.9)).fit(X)
    detector.score_samples(X)
    save_and_load(detector, X, folder)


def save_and_load(model, X, folder):
    model.save(folder / "model.safetensors")
    method = "score_samples" if hasattr(model, "score_samples") else "transform"
    again = load(folder / "model.safetensors")
    if not np.array_equal(getattr(model, method)(X), getattr(again, method)(X)):
        raise AssertionError("a model that was saved and loaded gives other numbers")


def export(rng, folder, playground):
    X = make_points(rng)[:200]
    X = (X - X.mean(0)) / X.std(0)
    ideal = VanishingIdeal(max_degree=2, tol=0.1).fit(X)
    save_and_load(ideal, X, folder)
    ideal.to_sympy()
    ideal.to_latex()
    to_c(ideal)
    to_python(ideal)
    to_computer_algebra(ideal, str(rng.choice(["macaulay2", "singular"])))
    if importlib.util.find_spec("onnx"):
        ideal.to_onnx(folder / "ideal.onnx")
    write_equations_report(folder / "equations.html", ideal, X)


def use_files(rng, folder, playground):
    X = make_points(rng)
    path = folder / f"rows.{rng.choice(['csv', 'npy', 'parquet', 'zarr'])}"
    write(X / X.std(0), path)
    ideal = VanishingIdeal(max_degree=2, tol=0.1).fit(path)
    write(ideal.transform(path), folder / "features.csv")


def find_laws(rng, folder, playground):
    table = make_table(rng)
    laws = discover(table, ["a", "b", "product", "noise"])
    check = laws.check(table)
    str(laws.summary()), check.to_frame()
    laws.save(folder / "laws.safetensors")
    load(folder / "laws.safetensors").residuals(table)
    write_laws_report(folder / "laws.html", laws, check, X=table)
    if rng.random() < 0.3 and len(laws.equations):
        laws.plot(table)
        plt.close("all")


def run_commands(rng, folder, playground):
    path = folder / "table.csv"
    path.write_text(as_csv(make_table(rng)))
    commands = [
        ["info", str(path)],
        ["laws", str(path), "--json"],
        ["check", str(path), "--report", str(folder / "check.html")],
        ["detect", str(path), "--report", str(folder / "detect.html")],
        ["fit", str(path), "--save", str(folder / "m.safetensors")],
        ["laws", str(folder / "missing.csv")],
    ]
    command = commands[rng.integers(len(commands))]
    for stream in (OUTPUT, ERRORS):
        stream.seek(0)
        stream.truncate()
    with contextlib.redirect_stdout(OUTPUT), contextlib.redirect_stderr(ERRORS):
        code = run_command(command)
    if code not in (0, 1) and "missing.csv" not in str(command):
        raise AssertionError(f"{command[0]} ended with {code}: {ERRORS.getvalue()}")


def fail(rng, folder, playground):
    """Fits, files and commands that are refused must leave nothing either."""
    X = make_points(rng)
    X[0, 0] = np.nan
    for attempt in (
        lambda: VanishingIdeal().fit(X),
        lambda: VanishingDetector().fit(X[:1]),
        lambda: load(folder / "nothing"),
        lambda: write(iter_and_fail(), folder / "half.csv"),
    ):
        try:
            attempt()
        except (ValueError, OSError):
            continue
        raise AssertionError("bad input was accepted")


def iter_and_fail():
    def chunks():
        yield np.ones((100_000, 3))
        raise ValueError("the reader failed")

    return chunks


def send_request(rng, folder, playground):
    points = rng.standard_normal((int(rng.integers(5, 300)), 2)).tolist()
    fit = {
        "x": points,
        "y": points[::-1],
        "degree": int(rng.integers(1, 5)),
        "normalization": str(rng.choice(NORMALIZATIONS[:4])),
        "tol": 0.1,
        "contrast_tol": 0.1,
    }
    scene = {"x": "arc", "y": "uniform", "n_points": 200, "noise": 0.02, "seed": 1}
    csv = {"content": as_csv(make_table(rng)), "headers": {"content-type": "text/csv"}}
    requests = [
        ("/api/fit", {"json": fit}, 200),
        ("/api/scene", {"json": scene}, 200),
        ("/api/explain", {"json": {"normal": "2", "image": rng.random(64).tolist()}}, 200),
        ("/api/columns", csv, 200),
        ("/api/laws", csv, 200),
        ("/api/fit", {"json": fit | {"degree": 99}}, 422),
        ("/api/fit", {"content": b"{", "headers": {"content-type": "application/json"}}, 422),
        ("/api/laws", {"content": b"\xff\x00", "headers": {"content-type": "text/csv"}}, None),
    ]
    path, keywords, expected = requests[rng.integers(len(requests))]
    answer = playground.post(path, **keywords)
    if answer.status_code != expected and expected is not None:
        raise AssertionError(f"{path}: {answer.status_code} {answer.text[:200]}")
    playground.get("/").raise_for_status()
    if rng.random() < 0.2:  # a connection of its own, which is closed at once
        httpx.get(str(playground.base_url) + "/static/none").close()


#: How often each is drawn.
OPERATIONS = {
    fit_ideal: 40,
    fit_parts: 10,
    fit_classes: 10,
    fit_detector: 8,
    fit_transformation_detector: 4,
    export: 8,
    use_files: 8,
    find_laws: 1,
    run_commands: 2,
    fail: 8,
    send_request: 20,
}


def digest():
    """Return the bits of a few fits with fixed seeds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    found = hashlib.sha256()
    for construction in CONSTRUCTIONS:
        ideal = VanishingIdeal(construction=construction, max_degree=2, tol=1e-3).fit(X)
        found.update(np.ascontiguousarray(ideal.transform(X)).tobytes())
    found.update(VanishingDetector().fit(X).score_samples(X).tobytes())
    return found.hexdigest()


# --- the run --------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving():
    """Serve the playground from a thread; yield a client."""
    config = uvicorn.Config(
        create_app(Limits(queue_seconds=60, work_seconds=60)),
        port=0,
        loop="asyncio",
        lifespan="on",
        log_level="critical",
        ws="none",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the playground did not start")
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        # A connection kept for the next request would be open or half closed, depending on how long
        # ago the last one was: descriptors at rest could not be compared.
        limits = httpx.Limits(max_keepalive_connections=0)
        address = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=address, timeout=120, limits=limits) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(timeout=60)


class Mallinfo(ctypes.Structure):
    """What glibc says about the memory that it hands out."""

    _fields_ = tuple((f"field{k}", ctypes.c_size_t) for k in range(10))


def allocated_bytes():
    """Return the bytes that are in use, of malloc: without what is free, but not given back."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):  # another C library
        return math.nan
    mallinfo.restype = Mallinfo
    found = mallinfo()
    return found.field4 + found.field7  # hblkhd, mapped on its own, and uordblks


def release_memory():
    """Give back to the system what is free: garbage of Python, and free memory of malloc."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def sample(process, start, temporary):
    """Measure this process, between two operations."""
    workers = process.children(recursive=True)
    return {
        "seconds": round(time.monotonic() - start, 1),
        "rss_mb": round(process.memory_info().rss / 1e6, 2),
        "allocated_mb": round(allocated_bytes() / 1e6, 2),
        "python_blocks": sys.getallocatedblocks(),
        "workers_mb": round(sum(worker.memory_info().rss for worker in workers) / 1e6, 2),
        "workers": len(workers),
        "descriptors": process.num_fds(),
        "threads": process.num_threads(),
        "temporary_files": len(list(temporary.iterdir())),
    }


def soak(seconds, *, seed=0, share=0.5, every=5.0):
    """Do random work for a time; return samples, counts and what went wrong."""
    start, process = time.monotonic(), psutil.Process()
    rng = np.random.default_rng(seed)
    operations = list(OPERATIONS)
    chances = np.array(list(OPERATIONS.values())) / sum(OPERATIONS.values())
    samples, counts, refused = [], Counter(), Counter()
    problems, digests = [], []
    home = Path(tempfile.mkdtemp(prefix="soak"))
    temporary = home / "tmp"
    temporary.mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    try:
        with serving() as playground:
            while (now := time.monotonic()) - start < seconds:
                operation = operations[rng.choice(len(operations), p=chances)]
                folder = home / "work"
                folder.mkdir()
                drawn = int(rng.integers(2**31))
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        operation(np.random.default_rng(drawn), folder, playground)
                except REFUSALS as error:
                    refused[f"{operation.__name__}: {type(error).__name__}: {str(error)[:80]}"] += 1
                except Exception as error:
                    traceback.print_exc()
                    problems.append(f"{operation.__name__}({drawn}): {error!r}")
                counts[operation.__name__] += 1
                if strays := [path.name for path in folder.iterdir() if path.name[0] == "."]:
                    problems.append(f"{operation.__name__}({drawn}) left {strays}")
                shutil.rmtree(folder)
                if not samples or now - start - samples[-1]["seconds"] > every:
                    samples.append(sample(process, start, temporary))
                    if len(samples) % 10 == 1:
                        digests.append(digest())
                        print(samples[-1], len(problems), "problems", file=sys.stderr, flush=True)
                time.sleep(min(5.0, (time.monotonic() - now) * (1 - share) / share))
        after = sample(process, start, temporary)
        release_memory()
        released = sample(process, start, temporary)
    finally:
        tempfile.tempdir = None
        del os.environ["TMPDIR"]
        shutil.rmtree(home, ignore_errors=True)
    return {
        "seconds": seconds,
        "seed": seed,
        "share": share,
        "allocators": {key: os.environ[key] for key in sorted(os.environ) if key[:7] in ALLOCATORS},
        "cpu_seconds": round(sum(process.cpu_times()[:2]), 1),
        "operations": dict(counts.most_common()),
        "refused": dict(refused.most_common(20)),
        "digests": len(digests),
        "different_digests": len(set(digests)),
        "problems": problems[:50],
        "after_the_server": after,
        "after_release": released,
        "samples": samples,
    }


def judge(samples):
    """Compare what was measured after the warm-up; return slopes, largest values and verdicts."""
    seconds = np.array([each["seconds"] for each in samples])
    last = seconds[-1]
    warm = seconds >= WARM * last
    second, fourth = warm & (seconds < 0.5 * last), seconds >= 0.75 * last
    found = {}
    for name in ("rss_mb", "allocated_mb", "python_blocks", "workers_mb"):
        values = np.array([each.get(name, math.nan) for each in samples])
        if np.isnan(values).any():
            continue
        slope, _, low, high = theilslopes(values[warm], seconds[warm] / 3600)
        level = float(np.median(values[warm]))
        found[name] = {
            "warm": float(np.median(values[second])),
            "end": float(np.median(values[fourth])),
            "most": float(values.max()),
            "slope_per_hour": round(float(slope), 3),
            "interval": [round(float(low), 3), round(float(high), 3)],
            "flat": bool(slope <= GROWTH * level or low <= 0),
        }
    for name in ("workers", "descriptors", "threads", "temporary_files"):
        values = np.array([each[name] for each in samples])
        warm_rest, end_rest = (
            int(np.quantile(values[part], REST, method="inverted_cdf")) for part in (second, fourth)
        )
        found[name] = {
            "warm": warm_rest,
            "end": end_rest,
            "most": int(values.max()),
            "flat": end_rest <= warm_rest,
        }
    return found


def format_number(value):
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.4g}"


def describe_run(results):
    """Return the results of a run as lines of Markdown."""
    made_on, judged = results["machine"], results["judged"]
    settings = "".join(f"{name}={value} " for name, value in results["allocators"].items())
    lines = [
        f"Made by `{settings}python -m benchmarks.campaigns.soak --seconds {results['seconds']:g} "
        f"--seed {results['seed']} --share {results['share']:g}` on {made_on['date']}, commit "
        f"{made_on['commit']}, {made_on['cores']} × {made_on['cpu']}.",
        "",
        f"{sum(results['operations'].values())} operations in {results['seconds'] / 60:.0f} "
        f"minutes ({results['cpu_seconds'] / 60:.0f} minutes of processor time) in one process, "
        f"which also served the playground: {len(results['problems'])} problems. Fits with fixed "
        f"seeds, made {results['digests']} times, gave {results['different_digests']} different "
        f"answer{'s' if results['different_digests'] > 1 else ''}.",
        "",
        "| | second quarter | last quarter | most | slope an hour (95 %) | flat |",
        "|---|---|---|---|---|---|",
    ]
    titles = {
        "rss_mb": "memory of the process, MB",
        "allocated_mb": "of it in use, without what malloc keeps free, MB",
        "python_blocks": "small blocks of Python, which malloc does not see",
        "workers_mb": "memory of the playground's workers, MB",
        "workers": "workers",
        "descriptors": "descriptors",
        "threads": "threads",
        "temporary_files": "temporary files",
    }
    for name, title in titles.items():
        if name not in judged:
            continue
        each = judged[name]
        slope = ""
        if "interval" in each:
            low, high = each["interval"]
            slope = f"{each['slope_per_hour']:+,.1f} ({low:+,.1f} … {high:+,.1f})"
        flat = "yes" if each["flat"] else "**no**"
        cells = [format_number(each[key]) for key in ("warm", "end", "most")]
        lines.append(f"| {title} | {' | '.join(cells)} | {slope} | {flat} |")
    lines += [
        "",
        "Memory is the median of the quarter; all else is what is open at rest, in the lowest "
        f"{REST:.0%} of the samples. Memory is flat if the slope of the last three quarters is at "
        f"most {GROWTH:.0%} of it an hour, or may be zero.",
        "",
        f"When the server had stopped, {results['after_the_server']['rss_mb']:.0f} MB were "
        f"resident; {results['after_release']['rss_mb']:.0f} MB after a garbage collection and "
        "`malloc_trim`.",
        "",
        "| operation | times |",
        "|---|---|",
        *(f"| `{name}` | {count} |" for name, count in results["operations"].items()),
        "",
    ]
    kinds = Counter(problem.partition(": ")[2] for problem in results["problems"])
    if kinds:
        lines += ["| problem | times |", "|---|---|"]
        lines += [f"| {kind} | {count} |" for kind, count in kinds.most_common()]
        lines.append("")
    return lines


def page(runs):
    """Return the results of some runs as Markdown."""
    lines = ["# Soak", ""]
    for run in runs:
        lines += describe_run(run)
    return "\n".join(lines)


def write_results(runs, folder):
    """Write the results of some runs as JSON and as Markdown."""
    folder.mkdir(exist_ok=True)
    (folder / "soak_results.json").write_text(json.dumps({"runs": runs}) + "\n")
    (folder / "soak_results.md").write_text(page(runs))


def main():
    """Run from the command line; the exit code is 1 if something grew or went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=7200.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=0.5, help="of the time that is worked")
    parser.add_argument("--append", action="store_true", help="keep the runs that are there")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results")
    asked = parser.parse_args()
    results = {"machine": describe()}
    results |= soak(asked.seconds, seed=asked.seed, share=asked.share)
    results["judged"] = judge(results["samples"])
    known = asked.out / "soak_results.json"
    before = json.loads(known.read_text())["runs"] if asked.append and known.exists() else []
    write_results([*before, results], asked.out)
    print("\n".join(describe_run(results)))
    for problem in results["problems"]:
        print(problem)
    flat = all(each["flat"] for each in results["judged"].values())
    return int(bool(results["problems"]) or results["different_digests"] > 1 or not flat)


if __name__ == "__main__":
    sys.exit(main())
