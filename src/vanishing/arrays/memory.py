"""Memory: how many rows to work on at a time, and what is too much."""

from collections.abc import Callable, Iterator

import numpy as np

from vanishing.arrays.namespace import Array, on_cpu
from vanishing.arrays.threads import mapped, threads_for

#: Elements of a block that a processor works on: large enough for matrix products to run at full
#: speed, small enough for the block to stay in the last level of cache (fastest of 2^17 .. 2^22).
CPU_BLOCK = 2**21
#: On an accelerator blocks are larger: a launch costs more than a cache miss.
ACCELERATOR_BLOCK = 2**28
#: Fewer rows than this are not worth a pass of their own.
FEWEST_ROWS = 64


class BudgetError(MemoryError):
    """A degree needs matrices beyond the memory budget."""


def as_text(n_bytes: int) -> str:
    """Write a number of bytes for people."""
    for size, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"


def block_rows(width: int, *, cpu: bool = True, budget_bytes: int | None = None) -> int:
    """Return the number of rows of a block whose rows hold ``width`` numbers while in work."""
    elements = CPU_BLOCK if cpu else ACCELERATOR_BLOCK
    if budget_bytes is not None:
        elements = min(elements, budget_bytes // 8)
    return max(FEWEST_ROWS, elements // max(1, width))


def row_slices(x: Array, *, width: int) -> Iterator[slice]:
    """Yield slices that cover the rows of ``x`` in blocks.

    On a processor twice as long as those of a pass: much of the work is in short calls, which
    threads begin in turn.
    """
    cpu = on_cpu(x)
    step = block_rows(width, cpu=cpu) * (2 if cpu else 1)
    for start in range(0, x.shape[0], step):
        yield slice(start, min(start + step, x.shape[0]))


def for_row_slices(work: Callable[[slice], None], x: Array, *, width: int) -> None:
    """Call a function for slices that cover the rows of ``x``, several at once.

    Where polynomials overflow, infinity and NaN tell, and no warning comes with them.
    """
    slices = list(row_slices(x, width=width))
    # Around the function, since each thread has its own state of warnings.
    work = np.errstate(over="ignore", invalid="ignore")(work)
    for _ in mapped(work, slices, threads_for(x) if len(slices) > 1 else 1):
        pass
