"""What the measurements were made on and with. Names no host and no path.

``python -m benchmarks.machine`` prints it as JSON; ``describe`` starts that, so that the libraries
are loaded in another process than the one that measures.
"""

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import ONE_THREAD, ROOT, hold_to_threads

LIBRARIES = ("numpy", "scipy", "scikit-learn", "array-api-compat", "threadpoolctl")


def describe() -> dict[str, Any]:
    """Describe the machine, the libraries and the state of the code."""
    command = [sys.executable, "-m", "benchmarks.machine"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | ONE_THREAD,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    description: dict[str, Any] = json.loads(done.stdout)
    return description


def _describe() -> dict[str, Any]:
    import numpy  # noqa: F401  both bring a library whose threads are looked at
    import scipy.linalg  # noqa: F401

    hold_to_threads(1)
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "blas": _blas(),
        "threads": 1,
    }


def _cpu() -> str:
    """Return the model, from the place where Linux says it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _blas() -> list[str]:
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return sorted(
        {
            f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')})"
            for pool in pools
        }
    )


def _commit() -> str:
    """Return the commit, and whether the library differs from it.

    A copy of the tree without its history is told the commit by ``BENCHMARK_COMMIT``.
    """
    if told := os.environ.get("BENCHMARK_COMMIT"):
        return told
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        return commit + (" with changes in src" if _git("status", "--porcelain", "src") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return done.stdout.strip()


if __name__ == "__main__":
    print(json.dumps(_describe()))
