"""Sets of IDX files: where they are looked for, and that they are the right ones."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vanishing.datasets.idx import decompress, parse_idx

#: Environment variable that names the folder of data.
FOLDER_VARIABLE = "VANISHING_DATA"


@dataclass(frozen=True)
class Archive:
    """Four IDX files, as published.

    Parameters
    ----------
    title : str
    folder : str
        Name of the subfolder that holds the files.
    url : str
        Where the files are published, compressed by gzip.
    sha256 : mapping of str to str
        For each file its checksum *after* decompression, since the same data is in circulation
        compressed in different ways.
    """

    title: str
    folder: str
    url: str
    sha256: Mapping[str, str]

    def read(self, file: str, path: Path) -> npt.NDArray[np.uint8]:
        """Read one of the files from ``path``, or raise if it holds anything else."""
        try:
            content = decompress(path.read_bytes())
            entries = parse_idx(content)
        except ValueError as error:
            raise ValueError(f"{path} cannot be read: {error}; {self.remedy()}") from error
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256[file]:
            raise ValueError(
                f"{path} is not the file {file} of {self.title}: the SHA-256 of its content is "
                f"{digest}, not {self.sha256[file]}. Files of other sets have the same names, "
                f"those of MNIST and Fashion-MNIST for instance; {self.remedy()}"
            )
        return entries

    def remedy(self) -> str:
        """Say how to get the files by hand."""
        files = ", ".join(f"{file}.gz" for file in self.sha256)
        return (
            f"get {files} from {self.url}, put them into a folder, as they are or unpacked, and "
            f"give that folder as folder= or in the environment variable {FOLDER_VARIABLE}"
        )


def files_in_folder(
    archive: Archive, folder: str | os.PathLike[str], named_by: str
) -> dict[str, Path]:
    """Find the files of ``archive``, in its own subfolder or directly in ``folder``.

    Parameters
    ----------
    archive : Archive
    folder : str or path
    named_by : str
        Where the name of the folder comes from, for the message if the files are not there.
    """
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise FileNotFoundError(
            f"there is no folder {os.fspath(folder)!r}, which {named_by} names; {archive.remedy()}"
        )
    found = {}
    for file in archive.sha256:
        candidates = [
            place / name for place in (root / archive.folder, root) for name in (f"{file}.gz", file)
        ]
        path = next((path for path in candidates if path.is_file()), None)
        if path is None:
            raise FileNotFoundError(
                f"{archive.title} is not complete in the folder {os.fspath(folder)!r}, which "
                f"{named_by} names: it holds no {file} or {file}.gz, nor does its subfolder "
                f"{archive.folder!r}; {archive.remedy()}"
            )
        found[file] = path
    return found
