"""A playground in a process of its own, and the memory that it and its workers hold."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
COMMAND = "from vanishing.app.playground import serve; serve(port=0)"


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    url: str
    process: psutil.Process

    def memory_mb(self) -> float:
        """Memory that would be free without the server and its workers."""
        family = [self.process, *self.process.children(recursive=True)]
        return sum(member.memory_full_info().uss for member in family) / 1e6


@contextmanager
def running() -> Iterator[Running]:
    """Start a playground on a free port; stop it in the end."""
    places = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    started = subprocess.Popen(
        [sys.executable, "-c", COMMAND],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stderr is not None
        line = started.stderr.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            raise RuntimeError(f"the playground did not start: {line}{started.stderr.read()}")
        yield Running(found.group(), psutil.Process(started.pid))
    finally:
        started.terminate()
        started.wait(timeout=30)
        if started.stderr is not None:
            sys.stderr.write(started.stderr.read())
            started.stderr.close()
