"""Files of strangers: they are read, or refused in one line, and never fill the memory."""

import bz2
import gzip
import io
import pickle
import random
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from tests.support.bad_inputs import npy, zipped
from tests.support.command_line import environment

import vanishing
from vanishing.data import as_source, read_table
from vanishing.data.csv_files import MOST_TIMES, TableError
from vanishing.persistence import ModelFileError

ROWS = np.random.default_rng(0).normal(size=(30, 3))


def table():
    return pa.table(dict(zip("abc", ROWS.T, strict=True)))


def written(write, *arguments):
    file = io.BytesIO()
    write(*arguments, file)
    return file.getvalue()


def workbook(cells=()):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [["a", "b", "c"], *ROWS.tolist()]:
        sheet.append(row)
    for place, value in cells:
        sheet[place] = value
    return written(book.save)


def csv_text():
    return "\n".join(["a,b,c", *(",".join(map(repr, row)) for row in ROWS.tolist())]).encode()


def npz():
    file = io.BytesIO()
    np.savez_compressed(file, rows=ROWS)
    return file.getvalue()


#: Whole files of each kind.
FILES = {
    "table.csv": csv_text,
    "table.csv.gz": lambda: gzip.compress(csv_text(), mtime=0),
    "table.csv.bz2": lambda: bz2.compress(csv_text()),
    "table.npy": lambda: written(lambda file: np.save(file, ROWS)),
    "table.npz": npz,
    "table.parquet": lambda: written(parquet.write_table, table()),
    "table.feather": lambda: written(lambda file: feather.write_feather(table(), file)),
    "table.xlsx": workbook,
}


def read(path):
    """Read a table; None if it is refused. Other errors are those that a user should not see."""
    try:
        with np.errstate(all="ignore"):
            return read_table(path)
    except (TableError, OSError):  # the second of decompressors
        return None


def mutate(rng, content):
    """Flip bits, cut, put numbers that claim much, splice."""
    result = bytearray(content)
    kind = rng.randrange(5)
    if kind == 0:
        for _ in range(rng.choice([1, 2, 8])):
            result[rng.randrange(len(result))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del result[rng.randrange(len(result)) :]
    elif kind == 2:
        start = rng.randrange(len(result))
        result[start : start + 4] = struct.pack("<I", rng.choice([2**31 - 1, 2**32 - 1, 0, 2**28]))
    elif kind == 3:
        start = rng.randrange(len(result))
        del result[start : start + rng.randrange(1, 40)]
    else:
        start, stop = (rng.randrange(len(result)) for _ in range(2))
        result[start : start + 16] = content[stop : stop + 16]
    return bytes(result)


@pytest.mark.parametrize("name", FILES)
def test_whole_files_are_read(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(FILES[name]())
    np.testing.assert_allclose(read(path).values, ROWS)


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_read_or_refused(name, tmp_path):
    content = FILES[name]()
    rng = random.Random(name)
    n_refused = 0
    for _ in range(60):
        path = tmp_path / name
        path.write_bytes(mutate(rng, content))
        n_refused += read(path) is None
    # Sums tell of every damage to compressed files, nothing of that to text.
    assert n_refused < 60 or name.endswith((".gz", ".bz2"))
    assert n_refused > 0 or name == "table.csv"


# --- claims and bombs: each in a process of its own, whose memory is measured ---------------------

#: The limit of the tests, so that bombs can be small.
MOST_EXPANDED = 2**25
#: Kilobytes that a process may take to read a bomb or a claim.
MOST_TAKEN = 2**18
READ = f"""
import resource, sys
import pyarrow, pyarrow.csv, pyarrow.parquet, pyarrow.feather
from vanishing.data import csv_files, read_table
from vanishing.data.csv_files import TableError
csv_files.MEMORY = {8 * MOST_EXPANDED}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_table(sys.argv[1])
    said = "read"
except TableError as error:
    said = f"refused: {{error}}"
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
print(said)
"""


def read_apart(path):
    """Read a table in another process; return kilobytes taken and what was said."""

    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    taken, said = done.stdout.split("\n", 1)
    return int(taken), said


def zeros_gz(n_bytes):
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="w", mtime=0) as packed:
        packed.write(b"a,b,c\n")
        block = b"0,0,0\n" * 2**17
        for _ in range(n_bytes // len(block)):
            packed.write(block)
    return file.getvalue()


def zeros_npz(n_bytes):
    n_rows = 2**20
    header = npy((n_rows, 3))[:-64]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for k in range(n_bytes // (24 * n_rows)):
            with archive.open(f"a{k}.npy", "w") as member:
                member.write(header)
                for _ in range(24):
                    member.write(bytes(n_rows))
    return file.getvalue()


def equal_parquet(n_bytes):
    n_rows = n_bytes // 8
    column = pa.chunked_array([pa.array(np.zeros(2**20))] * (n_rows // 2**20))
    return written(parquet.write_table, pa.table({"a": column}))


def spaces_xlsx(n_bytes):
    return zipped("xl/workbook.xml", b" " * n_bytes)


#: Small files that hold much, some of them gigabytes.
BOMBS = {
    "table.csv.gz": lambda: zeros_gz(2**27),
    "table.npz": lambda: zeros_npz(2**26),
    "table.parquet": lambda: equal_parquet(2**30),
    "table.xlsx": lambda: spaces_xlsx(2**26),
}
#: Headers that claim what is not there, and a sheet whose last cell is in use.
CLAIMS = {
    "rows.npy": lambda: npy((10**9, 3)),
    "many rows.npy": lambda: npy((10**15, 3)),
    "rows.npz": lambda: zipped("a.npy", npy((10**9, 3))),
    "corner.xlsx": lambda: workbook([("XFD60000", 1.0)]),
}


@pytest.mark.programs
@pytest.mark.skipif(sys.platform == "win32", reason="memory is measured as POSIX does")
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused(name, tmp_path):
    path = tmp_path / name
    content = BOMBS[name]()
    assert len(content) * MOST_TIMES < 2**27
    path.write_bytes(content)
    taken, said = read_apart(path)
    assert said.startswith(f"refused: {path} has {len(content)} bytes and expands to")
    assert "if you trust it, unpack it" in said
    assert taken < MOST_TAKEN


@pytest.mark.programs
@pytest.mark.skipif(sys.platform == "win32", reason="memory is measured as POSIX does")
@pytest.mark.parametrize("name", CLAIMS)
def test_claims_take_no_memory(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(CLAIMS[name]())
    taken, said = read_apart(path)
    assert said.startswith("refused" if name != "corner.xlsx" else "read")
    assert taken < MOST_TAKEN


# --- nothing in a file is executed ----------------------------------------------------------------


class Evil:
    """What a pickle of a stranger may be."""

    def __init__(self, canary):
        self.canary = canary

    def __reduce__(self):
        return open, (self.canary, "w")


@pytest.mark.parametrize("name", ["model.safetensors", "model.pkl", "model.npy", "model.joblib"])
def test_pickles_are_not_executed(name, tmp_path):
    canary = tmp_path / "pwned"
    path = tmp_path / name
    path.write_bytes(pickle.dumps(Evil(str(canary))))
    with pytest.raises(ModelFileError, match="not a model file"):
        vanishing.load(path)
    if name.endswith(".npy"):
        file = io.BytesIO()
        np.save(file, np.array([[Evil(str(canary))]], dtype=object), allow_pickle=True)
        for content in (file.getvalue(), zipped("a.npy", file.getvalue())):
            path.write_bytes(content)
            with pytest.raises(TableError, match="allow_pickle=False"):
                read_table(path)
        path.write_bytes(file.getvalue())
        with pytest.raises(ValueError, match="is not a plain array"):
            as_source(path)
    assert not canary.exists()


@pytest.mark.parametrize("member", ["../pwned.npy", "/tmp/pwned.npy", "a/../../pwned.npy"])
def test_names_in_archives_are_no_paths(member, tmp_path, monkeypatch):
    folder = tmp_path / "inner"
    folder.mkdir()
    monkeypatch.chdir(folder)
    file = io.BytesIO()
    np.save(file, ROWS)
    (folder / "table.npz").write_bytes(zipped(member, file.getvalue()))
    np.testing.assert_array_equal(read("table.npz").values, ROWS)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["inner", "table.npz"]
