"""Processes that are forked during a fit can fit as well (docs/scaling.md says when)."""

import os

import pytest
from tests.support.processes import run_python

pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
]

#: Who forks while whom fits, and what the children do, in at most this many seconds each.
SCRIPT = """
import os, sys, threading, time, warnings
import numpy as np
from vanishing import VanishingDetector, VanishingIdeal
from vanishing.arrays import blocks

warnings.simplefilter("ignore")  # Python 3.12 warns of forks beside threads
X = np.random.default_rng(0).standard_normal((3000, 6))

def fit():
    ideal = VanishingIdeal(max_degree=2, tol=0.01).fit(X)
    ideal.to_latex()
    return ideal

expected = fit().trace_[-1].spectrum

def fit_on(done):
    while not done.is_set():
        fit()

def fork(done):
    try:
        for _ in range(5):
            child = os.fork()
            if not child:
                try:
                    assert blocks._allowed is None, blocks._allowed
                    found = fit().trace_[-1].spectrum
                    np.testing.assert_allclose(found, expected, rtol=1e-10)
                    os._exit(0)
                except BaseException as error:
                    sys.stderr.write(f"{error!r}\\n")
                    os._exit(1)
            end = time.monotonic() + 60
            while not (ended := os.waitpid(child, os.WNOHANG))[0]:
                if time.monotonic() > end:
                    os.kill(child, 9)
                    sys.stderr.write("a child hangs\\n")
                    os._exit(1)
                time.sleep(0.005)
            if ended[1]:
                os._exit(1)
    finally:
        done.set()

in_thread, in_main = (fork, fit_on) if sys.argv[1] == "main" else (fit_on, fork)
done = threading.Event()
other = threading.Thread(target=in_thread, args=(done,))
other.start()
in_main(done)
other.join()
"""


# Two threads of BLAS and a fit outside of the main thread are missing: that fit leaves the threads
# to BLAS, and OpenBLAS, which ends its threads before a fork, may wait forever for one that is at
# work: it forgets the request to end when the work is done.
@pytest.mark.parametrize(("fitting", "threads"), [("main", 1), ("main", 2), ("other", 1)])
def test_forks_beside_a_fit(fitting, threads):
    """The main thread fits while another forks, and the other way round."""
    ran = run_python(SCRIPT, fitting, threads=threads)
    assert ran.returncode == 0, ran.stderr
