"""Whether two sets of rows are the same, without keeping either."""

import hashlib

import numpy as np

from vanishing._xp import Array, on_host
from vanishing.polynomials.memory import block_rows
from vanishing.samples.source import SampleSource


def digest(source: SampleSource) -> str:
    """Return a digest of the rows, their weights, array library and precision.

    Blocks are digested one by one and the digests added up, so that they may come in any grouping.
    Takes one pass over the rows.

    Parameters
    ----------
    source : SampleSource
    """

    def of_block(rows: Array, root_weights: Array | None = None) -> int:
        found = hashlib.blake2b(digest_size=32)
        found.update(f"{type(rows).__module__} {rows.dtype} {rows.device} {rows.shape}".encode())
        for array in (rows, root_weights):
            if array is not None:
                found.update(np.ascontiguousarray(on_host(array)).data)
        return int.from_bytes(found.digest(), "big")

    def add(first: int, second: int) -> int:
        return (first + second) % 2**256

    rows = block_rows(source.n_features, cpu=source.cpu)
    return f"{source.map_reduce(of_block, add, max_rows=rows):064x}"
