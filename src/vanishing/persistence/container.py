"""The container of a model: a safetensors file with a JSON header."""

import hashlib
import json
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save as to_bytes

# --- The one error of model files -----------------------------------------------------------------


class ModelFileError(ValueError):
    """A model cannot be written to a file, or a file holds no model that can be read."""


def require(condition: bool, message: str) -> None:
    """Raise ``ModelFileError`` unless the condition holds."""
    if not condition:
        raise ModelFileError(message)


# --- Bytes of a file: safetensors, with one text, the manifest, and a digest in its metadata ------
#
# The digest covers manifest and arrays. It tells of damage, such as a flipped bit in a coefficient,
# and is no protection against intent: whoever changes a file can write a new digest as well.

Arrays = dict[str, npt.NDArray[Any]]

#: Bytes of the header, which holds the manifest; a detector of a thousand ideals has some 5 MB.
LARGEST_HEADER = 2**26
#: Bytes of an array of strings, in which every one takes as much as the longest.
LARGEST_STRINGS = 2**24
#: What arrays may hold, by the names of safetensors.
DTYPES: dict[str, type[np.generic]] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U64": np.uint64,
    "U32": np.uint32,
    "U16": np.uint16,
    "U8": np.uint8,
    "BOOL": np.bool_,
}


def pack(manifest: str, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return the content of a file."""
    plain = {name: _plain(array) for name, array in arrays.items()}
    content = to_bytes(plain, {"manifest": manifest, "sha256": digest(manifest, arrays)})
    header_size = int.from_bytes(content[:8], "little")
    require(
        header_size <= LARGEST_HEADER,
        f"the model has too many parts for a file: their list takes {header_size} bytes, over "
        f"{LARGEST_HEADER}",
    )
    return content


def unpack(file: IO[bytes], size: int) -> tuple[str, str, Arrays]:
    """Read a file of known size; nothing is allocated that it does not hold.

    Parameters
    ----------
    file : binary file
    size : int
        Its number of bytes.

    Returns
    -------
    manifest : str
    sha256 : str
        The digest as it was written, not yet compared.
    arrays : dict of arrays
    """
    start = file.read(8)
    header_size = int.from_bytes(start, "little")
    require(
        len(start) == 8 and 0 < header_size <= min(LARGEST_HEADER, size - 8),
        "this is no model file, or it is cut off: the length of its header does not fit",
    )
    header = file.read(header_size)
    described = parse_json(header, "header")
    metadata = described.get("__metadata__") if isinstance(described, dict) else None
    if not (
        isinstance(metadata, dict)
        and isinstance(manifest := metadata.get("manifest"), str)
        and isinstance(sha256 := metadata.get("sha256"), str)
    ):
        raise ModelFileError("this is no model file: it has no manifest")
    content = start + header + file.read(size - 8 - header_size)
    try:
        # Checks that arrays have the size of their shape, do not overlap and fill the file.
        tensors = deserialize(content)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFileError(f"the arrays do not fit the file: {error}") from error
    return manifest, sha256, {name: _array(name, tensor, size) for name, tensor in tensors}


def digest(manifest: str, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the digest of all that a file says."""
    found = hashlib.sha256(manifest.encode(errors="surrogatepass"))
    for name in sorted(arrays):
        array = _plain(arrays[name])
        found.update(repr((name, array.dtype.str, array.shape)).encode())
        found.update(array.tobytes())
    return found.hexdigest()


def parse_json(text: str | bytes, what: str) -> Any:
    """Parse JSON that may be damaged or hostile."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the {what} is no valid JSON: {error}") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not part of JSON")


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array as the format wants it: row by row, the least significant byte first."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _array(name: str, tensor: Mapping[str, Any], size: int) -> npt.NDArray[Any]:
    dtype = DTYPES.get(tensor["dtype"])
    if dtype is None:
        raise ModelFileError(f"array {name!r} has the dtype {tensor['dtype']}, which no model has")
    shape = tensor["shape"]
    # An empty array may claim any length in its other dimension.
    require(
        len(shape) <= 2 and max(shape, default=0) <= size,
        f"array {name!r} has the shape {tuple(shape)}, which no model has",
    )
    if dtype is np.bool_:
        # What NumPy does with other bytes, as in counting and selecting rows, is not defined.
        truths = np.frombuffer(tensor["data"], dtype=np.uint8)
        require(bool(np.all(truths <= 1)), f"array {name!r} holds other values than true and false")
    stored = np.frombuffer(tensor["data"], dtype=np.dtype(dtype).newbyteorder("<"))
    return stored.reshape(shape).astype(dtype, copy=False)
