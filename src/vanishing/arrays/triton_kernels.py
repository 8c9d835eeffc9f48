"""Kernels for NVIDIA and AMD devices, in Triton, which torch brings along there.

Imported by ``polynomials/evaluation.py`` alone, where torch and Triton are at hand.
"""

from typing import Any

import torch
import triton
import triton.language as tl

#: Rows worked on by one program: fastest, by a little, of 512 to 4096 (H200).
ROWS_PER_PROGRAM = 1024


# Triton reads annotations as types of its own, so that the kernel has none but constants.
@triton.jit  # type: ignore[untyped-decorator]
def _multiply_rows(  # type: ignore[no-untyped-def]
    out,
    first,
    left,
    last,
    right,
    n_rows,
    out_stride,
    first_stride,
    last_stride,
    BLOCK: tl.constexpr,
):
    # Products of the same rows follow each other, so that their factors are found in the cache.
    product = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = rows < n_rows
    i, j = tl.load(left + product), tl.load(right + product)
    factor = tl.load(first + i * first_stride + rows, mask=inside)
    factor *= tl.load(last + j * last_stride + rows, mask=inside)
    tl.store(out + product * out_stride + rows, factor, mask=inside)


def multiply_rows(out: Any, first: Any, left: Any, last: Any, right: Any) -> None:
    """Do what ``evaluation.multiply_rows`` does, writing every product once and nothing else."""
    n_products, n_rows = out.shape
    if n_products == 0 or n_rows == 0:
        return
    with torch.cuda.device(out.device):
        _multiply_rows[n_products, triton.cdiv(n_rows, ROWS_PER_PROGRAM)](
            out,
            first,
            left,
            last,
            right,
            n_rows,
            out.stride(0),
            first.stride(0),
            last.stride(0),
            BLOCK=ROWS_PER_PROGRAM,
        )
