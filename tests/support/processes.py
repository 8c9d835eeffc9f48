"""Python programs in processes of their own."""

import os
import subprocess
import sys


def run_python(code, *arguments, threads=1, timeout=300):
    """Run a program with a number of BLAS threads; return its exit status and output."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | limits,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
