"""One array of any library, or a memory map."""

from collections.abc import Iterator

from vanishing.arrays.namespace import Array, namespace, on_cpu, unmasked
from vanishing.data.source import SampleSource


class ArraySource(SampleSource):
    """The rows of one two-dimensional array.

    Parameters
    ----------
    array : array of shape (n_samples, n_features)
        Integers are converted a block at a time.
    """

    def __init__(self, array: Array) -> None:
        self.array = unmasked(array, "X")

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.array.shape[1])

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    @property
    def cpu(self) -> bool:
        """Whether the array lives in the memory of the processor."""
        return on_cpu(self.array)

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield slices of the array."""
        for start in range(0, self.n_samples, max_rows):
            stop = min(start + max_rows, self.n_samples)
            yield floating(self.array[start:stop, :])


def floating(block: Array) -> Array:
    """Return the block as it is if it is single or double precision, in double otherwise."""
    xp = namespace(block)
    if block.dtype in (xp.float32, xp.float64):
        return block
    return xp.astype(block, xp.float64)
