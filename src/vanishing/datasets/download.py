"""Files of an archive out of the internet, by pooch, kept in its cache."""

from pathlib import Path
from typing import Any

from vanishing.datasets.archive import FOLDER_VARIABLE, Archive
from vanishing.datasets.idx import decompress


def downloaded_files(archive: Archive) -> dict[str, Path]:
    """Return the files of ``archive`` from the cache, downloading those that are not there.

    The cache holds them unpacked. A file whose checksum is wrong is downloaded again.
    """
    try:
        import pooch
        import requests
    except ImportError as error:
        raise ImportError(
            f"{archive.title} was not given as a folder, by folder= or {FOLDER_VARIABLE}, and "
            "downloading it needs pooch: pip install 'vanishing[data]'. Without it, "
            f"{archive.remedy()}"
        ) from error
    # Paths of os_cache are those that the system sets aside: ~/.cache/vanishing on Linux.
    cache = Path(pooch.os_cache("vanishing")) / archive.folder
    files = {}
    for file, digest in archive.sha256.items():
        url = f"{archive.url}/{file}.gz"
        try:
            path = pooch.retrieve(
                url, f"sha256:{digest}", fname=file, path=cache, downloader=_unpacked
            )
        except requests.RequestException as error:
            raise ConnectionError(
                f"{archive.title} could not be downloaded from {url} ({error}). Try again with "
                f"internet, or {archive.remedy()}"
            ) from error
        except ValueError as error:
            raise ValueError(
                f"what came from {url} is not the {file} of {archive.title}: {error}. Try again, "
                f"or {archive.remedy()}"
            ) from error
        files[file] = Path(path)
    return files


def _unpacked(url: str, output_file: str, pooch: Any) -> None:
    """Download and unpack, so that pooch checks the content and not its compression."""
    from pooch import HTTPDownloader

    HTTPDownloader()(url, output_file, pooch)
    packed = Path(output_file)
    packed.write_bytes(decompress(packed.read_bytes()))
