"""A disk that is full leaves no part of a file behind."""

import errno
import sys

import pytest
from tests.support.processes import run_python

from vanishing.data import as_source

SCRIPT = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from vanishing.data import write

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing beyond the limit is an error then
folder = Path(sys.argv[1])
rows = np.random.default_rng(0).standard_normal((200_000, 3))
endings = [".parquet", ".csv", ".npy", ".zarr"]
for ending in endings:
    write(rows[:10], folder / f"there{ending}")
before = sorted(path.name for path in folder.iterdir())
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for ending in endings:
    for name in ("there", "new"):
        try:
            write(lambda: iter(np.array_split(rows, 20)), folder / f"{name}{ending}")
        except OSError as error:
            print("refused", f"{name}{ending}", error.errno, error)
assert sorted(path.name for path in folder.iterdir()) == before
"""


@pytest.mark.programs
@pytest.mark.skipif(sys.platform != "linux", reason="limits on the size of files are Linux's")
def test_nothing_is_left_on_a_full_disk(tmp_path):
    ran = run_python(SCRIPT, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("refused") == 8, ran.stdout
    for line in ran.stdout.splitlines():
        _, name, number, message = line.split(" ", 3)
        assert int(number) == errno.EFBIG
        assert "no space left on the device; free" in message
        assert message.endswith(f"{name}'"), message
    for ending in (".parquet", ".csv", ".npy", ".zarr"):
        assert as_source(tmp_path / f"there{ending}").n_samples == 10
