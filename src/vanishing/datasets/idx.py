"""The IDX format of MNIST: a header of big-endian numbers, then the entries as bytes."""

import gzip
import math
import zlib

import numpy as np
import numpy.typing as npt

_GZIP_MAGIC = b"\x1f\x8b"
_UNSIGNED_BYTES = 0x08


def decompress(content: bytes) -> bytes:
    """Undo gzip, if ``content`` is gzip; otherwise return it as it is.

    The content decides and not the file name, since browsers and servers unpack files and keep
    their names.
    """
    if not content.startswith(_GZIP_MAGIC):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"it is a damaged or incomplete gzip file ({error})") from error


def parse_idx(content: bytes) -> npt.NDArray[np.uint8]:
    """Read an array of unsigned bytes; the array is a view of ``content``.

    The header is two zero bytes, one for the type of the entries, one for the number n of axes,
    and n lengths of four bytes.
    """
    if len(content) < 4 or content[:2] != b"\x00\x00":
        raise ValueError(f"it is not an IDX file: it starts with {content[:4]!r}")
    entry_type, n_axes = content[2], content[3]
    if entry_type != _UNSIGNED_BYTES:
        raise ValueError(
            f"its entries have the IDX type 0x{entry_type:02x}; unsigned bytes, "
            f"0x{_UNSIGNED_BYTES:02x}, were expected"
        )
    start = 4 + 4 * n_axes
    if len(content) < start:
        raise ValueError(f"it ends after {len(content)} bytes, within its header of {start} bytes")
    shape = tuple(int(length) for length in np.frombuffer(content[4:start], dtype=">u4"))
    promised, found = math.prod(shape), len(content) - start
    if found != promised:
        raise ValueError(
            f"it is {'cut off' if found < promised else 'too long'}: its header promises "
            f"{' × '.join(map(str, shape))} = {promised} bytes of entries, and {found} follow"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
