"""Rows that are kept on the host and processed on another device."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from vanishing.arrays.namespace import Array, import_extra, move_to_host
from vanishing.data.inputs import as_source
from vanishing.data.source import WrappedSource
from vanishing.levels import BLOCK


class DeviceSource(WrappedSource):
    """Blocks of another source, moved to a device while it works on the block before.

    For data that does not fit into the memory of the accelerator. Move data that fits there once:
    ``torch.asarray(X, device="cuda")``.

    Parameters
    ----------
    data : array, memory map, SampleSource or chunks
        Anything that ``as_source`` takes, in the memory of the processor.
    device : str or torch.device
        As torch names it, ``"cuda"`` for instance.
    dtype : {None, "float32", "float64"}
        Precision on the device; that of the data by default.

    Examples
    --------
    >>> import numpy as np
    >>> from vanishing import VanishingIdeal
    >>> from vanishing.data import DeviceSource
    >>> angle = np.linspace(0, 6, 100)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> ideal = VanishingIdeal(max_degree=2, tol=1e-6).fit(DeviceSource(circle, "cpu"))
    >>> len(ideal.extents_)
    1
    """

    def __init__(self, data: Any, device: Any, *, dtype: str | None = None) -> None:
        torch = import_extra("torch", extra="torch", purpose="DeviceSource")
        if dtype not in (None, "float32", "float64"):
            raise ValueError(f"dtype must be None, 'float32' or 'float64', got {dtype!r}")
        super().__init__(as_source(data))
        self.device = torch.device(device)
        self.dtype = dtype
        if self.source.weighted:
            raise ValueError(
                "the data has weights, which DeviceSource does not move; add them later, as in "
                "as_source(DeviceSource(X, device), weights=...)"
            )
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(
                f"device={device!r} was asked for, but torch sees no CUDA device; pass 'cpu', or "
                "the data itself"
            )
        if not self.source.cpu:  # pragma: no cover - needs CUDA
            raise ValueError("the data is on a device already; pass it without DeviceSource")

    @property
    def cpu(self) -> bool:
        """Whether the device is the processor."""
        return str(self.device.type) == "cpu"

    def blocks(self, max_rows: int) -> Iterator[Array]:
        """Yield the rows on the device."""
        import torch

        # The bus runs at full speed, and the first transfer, while the device waits, is short.
        max_rows = max(1, min(max_rows, BLOCK // self.n_features))
        host_blocks = (self._on_host(block) for block in self.source.blocks(max_rows))
        if self.device.type != "cuda":
            for block in host_blocks:
                yield torch.asarray(block).to(self.device)
            return
        yield from _through_pinned_memory(  # pragma: no cover - needs CUDA
            host_blocks, self.device, max_rows
        )

    def _on_host(self, block: Array) -> np.ndarray[Any, Any]:
        return np.asarray(move_to_host(block), dtype=self.dtype)


def _through_pinned_memory(  # pragma: no cover - needs CUDA
    host_blocks: Iterator[np.ndarray[Any, Any]], device: Any, max_rows: int
) -> Iterator[Array]:
    """Copy through two pinned buffers, on a stream of its own.

    Work on a block is queued on the device and does not block this loop, so that the next block is
    copied in the meantime.
    """
    import torch

    copying = torch.cuda.Stream(device)
    buffers: list[Any] = [None, None]
    copied: list[Any] = [None, None]
    for number, block in enumerate(host_blocks):
        turn = number % 2
        rows = torch.from_numpy(np.ascontiguousarray(block))
        if buffers[turn] is None or buffers[turn].dtype != rows.dtype:
            shape = (max_rows, rows.shape[1])
            buffers[turn] = torch.empty(shape, dtype=rows.dtype, pin_memory=True)
        if copied[turn] is not None:
            copied[turn].synchronize()  # the buffer is free again
        pinned = buffers[turn][: rows.shape[0]]
        pinned.copy_(rows)
        working = torch.cuda.current_stream(device)
        with torch.cuda.stream(copying):
            moved = pinned.to(device, non_blocking=True)
            copied[turn] = copying.record_event()
        working.wait_event(copied[turn])
        moved.record_stream(working)  # its memory is not reused before the work is done
        yield moved
