"""Reading the next item while the present one is worked on."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

Item = TypeVar("Item")


def prefetched(items: Iterator[Item]) -> Generator[Item, None, None]:
    """Yield the items of an iterator, the next one being made by a thread in the meantime.

    Two items are alive at a time, the one handed out and the next. An error of the iterator is
    raised where its item would have come. The thread ends with the items, with an error, and when
    the generator is closed before its end.
    """
    end: Any = object()
    context = copy_context()  # as NumPy's handling of overflow, which belongs to the caller

    def take() -> Any:
        return context.run(next, items, end)

    with ThreadPoolExecutor(1, thread_name_prefix="vanishing-prefetch") as reader:
        coming = reader.submit(take)
        try:
            while (item := coming.result()) is not end:
                coming = reader.submit(take)
                yield item
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                coming.exception()  # the thread may be in the middle of the next item
                context.run(close)
