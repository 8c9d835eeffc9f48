"""Many clients at once: how long answers take, which are refused, whether memory grows.

Every client asks again as soon as it is answered, or when the server, being busy, tells it to. A
visitor opens a page every now and then meanwhile, as people do who come while others work.

    python -m benchmarks.playground.load               # make load; writes load_results.json, .md
    python -m benchmarks.playground.load --append      # adds a row, to compare two versions
"""

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from benchmarks import machine
from benchmarks.playground.server import Running, running

#: Share of the time after which memory is looked at first: every worker has done all by then.
WARM = 0.25
#: What clients ask for, and how often. "open" is what a page asks for first, the same for all.
MIX = {"fit": 0.8, "scene": 0.08, "explain": 0.04, "open": 0.08}
BUSY = 503
#: Seconds between two visits.
VISITS = 0.5


@dataclass
class Account:
    """What happened."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    visits: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """Return the figures that are reported."""
        answered = np.array(self.seconds)
        return {
            "answers": len(answered),
            "busy": self.statuses[BUSY],
            "busy_share": round(self.statuses[BUSY] / len(answered), 4),
            "errors": len(self.errors),
            "median_s": round(float(np.median(answered)), 3),
            "p99_s": round(float(np.quantile(answered, 0.99)), 3),
            "slowest_s": round(float(answered.max()), 3),
            "page_median_s": round(float(np.median(self.visits)), 3),
            "page_slowest_s": round(max(self.visits), 3),
            "memory_mb_after_warming": round(self.memory_mb[0], 1),
            "memory_mb_at_the_end": round(self.memory_mb[-1], 1),
        }


def put_under_load(server: Running, *, clients: int, seconds: float) -> Account:
    """Let clients ask for a time.

    Parameters
    ----------
    server : Running
    clients : int
    seconds : float

    Returns
    -------
    Account
        Seconds are those of all answers, refusals included.
    """
    account = Account()
    asyncio.run(_all(server, clients, seconds, account))
    return account


async def _all(server: Running, clients: int, seconds: float, account: Account) -> None:
    end = time.monotonic() + seconds
    await asyncio.gather(
        _watch_memory(server, seconds, account),
        _visit(server.url, end, account),
        *(_one(server.url, random.Random(number), end, account) for number in range(clients)),
    )


async def _watch_memory(server: Running, seconds: float, account: Account) -> None:
    for share in (WARM, 1.0 - WARM):
        await asyncio.sleep(share * seconds)
        account.memory_mb.append(await asyncio.to_thread(server.memory_mb))


async def _visit(url: str, end: float, account: Account) -> None:
    """Open a page again and again, on a connection of its own each time."""
    while time.monotonic() < end:
        start = time.monotonic()
        connection = Connection(url)
        try:
            status, _, _ = await connection.ask("GET", "/points")
            if status != 200:
                account.errors.append(f"a page was answered with {status}")
        except (OSError, EOFError) as error:
            account.errors.append(f"a page: {error!r}")
        connection.close()
        account.visits.append(time.monotonic() - start)
        await asyncio.sleep(VISITS)


async def _one(url: str, rng: random.Random, end: float, account: Account) -> None:
    connection = Connection(url)
    while time.monotonic() < end:
        task = rng.choices(list(MIX), list(MIX.values()))[0]
        address = "/api/scene" if task == "open" else f"/api/{task}"
        body = json.dumps(_body(task, rng)).encode()
        start = time.monotonic()
        try:
            status, headers, content = await connection.ask("POST", address, body)
        except (OSError, EOFError) as error:
            account.errors.append(repr(error))
            connection.close()
            continue
        account.seconds.append(time.monotonic() - start)
        account.statuses[status] += 1
        if status == BUSY:
            connection.close()  # the server would, at about the time of the next request
            await asyncio.sleep(float(headers["retry-after"]))
        elif status != 200:
            account.errors.append(content.decode())
    connection.close()


class Connection:
    """HTTP for one client. Libraries for it take more of the processor than the server does."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, body: bytes = b""
    ) -> tuple[int, dict[str, str], bytes]:
        """Send JSON; return status, headers and body of the answer."""
        if self.streams is None or self.streams[0].at_eof():
            self.close()
            self.streams = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.streams
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
        content = await reader.readexactly(int(headers["content-length"]))
        return int(first.split()[1]), headers, content

    def close(self) -> None:
        """End the connection."""
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


def _body(task: str, rng: random.Random) -> dict[str, Any]:
    if task == "open":
        return {"x": "arc", "y": "rest", "n_points": 200, "noise": 0.02, "seed": 0}
    if task == "scene":
        return {
            "x": rng.choice(["arc", "lissajous", "elliptic-curve"]),
            "y": rng.choice(["rest", "uniform", "permuted"]),
            "n_points": 400,
            "noise": 0.02,
            "seed": rng.randrange(1000),
        }
    if task == "explain":
        return {"normal": "2", "image": [rng.random() for _ in range(64)]}

    def points(number: int) -> list[list[float]]:
        return [[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(number)]

    return {
        "x": points(rng.randrange(10, 200)),
        "y": points(rng.randrange(10, 200)),
        "degree": rng.randrange(1, 5),
        "normalization": rng.choice(["gradient", "gradient-weighted", "coefficient", "vca"]),
        "tol": 0.1,
        "contrast_tol": 0.1,
    }


# --- from the command line ------------------------------------------------------------------------

RESULTS = Path(__file__).parent / "load_results.json"


def page(results: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    made_on = results["machine"]
    columns = {
        "commit": "commit",
        "answers": "answers",
        "busy_share": "told to come again",
        "errors": "errors",
        "median_s": "median s",
        "p99_s": "99 % s",
        "page_median_s": "a page, median s",
        "page_slowest_s": "slowest s",
        "memory_mb_after_warming": "memory MB, warm",
        "memory_mb_at_the_end": "at the end",
    }
    lines = [
        "# Many clients at once",
        "",
        f"Made by `python -m benchmarks.playground.load --clients {results['clients']} --seconds "
        f"{results['seconds']:g}` on {made_on['date']}, {made_on['cores']} × {made_on['cpu']}.",
        "",
        f"{results['clients']} clients ask for fits, scenes and explanations for "
        f"{results['seconds']:g} s, each again as soon as it is answered, and a visitor opens a "
        "page twice a second. All run on the machine of the server. Compare rows with each other: "
        "the machine may have had other work, as much for one as for the next.",
        "",
        f"| {' | '.join(columns.values())} |",
        "|---" * len(columns) + "|",
    ]
    for run in results["runs"]:
        cells = {**run, "busy_share": f"{run['busy_share']:.1%}"}
        lines.append(f"| {' | '.join(str(cells[name]) for name in columns)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="Put the playground under load.")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--append", action="store_true", help="keep the rows that are there")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    with running() as server:
        account = put_under_load(server, clients=asked.clients, seconds=asked.seconds)
    for error in account.errors[:5]:
        print(error)
    made_on = machine.describe()
    results = {"machine": made_on, "clients": asked.clients, "seconds": asked.seconds, "runs": []}
    if asked.append and asked.out.exists():
        results["runs"] = json.loads(asked.out.read_text())["runs"]
    results["runs"].append({"commit": made_on["commit"], **account.summary()})
    asked.out.write_text(json.dumps(results, indent=1) + "\n")
    asked.out.with_suffix(".md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
