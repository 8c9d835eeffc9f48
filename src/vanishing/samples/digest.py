"""Whether two sets of rows are the same, without keeping either."""

import hashlib
from typing import NamedTuple

import numpy as np

from vanishing._xp import Array, on_host
from vanishing.polynomials.memory import block_rows
from vanishing.samples.source import SampleSource

#: Odd, so that no digit is lost when others are appended.
BASE = 2**128 + 51


class Digits(NamedTuple):
    """Digests of some blocks as the digits of a number, and how many there are."""

    value: int
    length: int

    def followed_by(self, other: "Digits") -> "Digits":
        """Append the digits of the blocks that come next."""
        shifted = self.value * pow(BASE, other.length, 2**256)
        return Digits((shifted + other.value) % 2**256, self.length + other.length)


def digest(source: SampleSource) -> str:
    """Return a digest of the rows, their weights, array library and precision.

    Blocks are digested one by one, and the digests are the digits of one number, so that their
    order counts, and neighbours may be joined in any grouping. Takes one pass over the rows.

    Parameters
    ----------
    source : SampleSource
    """

    def of_block(rows: Array, root_weights: Array | None = None) -> Digits:
        found = hashlib.blake2b(digest_size=32)
        found.update(f"{type(rows).__module__} {rows.dtype} {rows.device} {rows.shape}".encode())
        for array in (rows, root_weights):
            if array is not None:
                found.update(np.ascontiguousarray(on_host(array)).data)
        return Digits(int.from_bytes(found.digest(), "big"), 1)

    rows = block_rows(source.n_features, cpu=source.cpu)
    return f"{source.map_reduce(of_block, Digits.followed_by, max_rows=rows).value:064x}"
