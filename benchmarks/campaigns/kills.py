"""Writers that are killed, interrupted, or run out of disk space: what is left of their files?

Each subject is something that the library or the command line writes: models, laws, reports,
tables, exported equations. A file of it is there already, and a process writes another version.

*Killed*: SIGKILL at a random moment. For every other kill the moment is drawn from the whole
operation, for the rest from the time since the temporary file appeared. The file must then be the
old one or the new one, byte for byte, and after the next writer nothing but that file may be in the
folder.

*Interrupted*: Ctrl-C (SIGINT) and SIGTERM, sent to the command line at random moments. The program
must end with its exit code and one line, and leave the old file or the new one, and no other.

*Full*: the disk takes only a part of the new version: by the limit on the size of files
(``RLIMIT_FSIZE``), and on a small tmpfs where one may be mounted. The old file must be as it was,
the error must say that there is no space left, and nothing else may be in the folder.

Processes are forked after everything is imported, so that a kill costs milliseconds.

    python -m benchmarks.campaigns.kills                     # make kills; writes kills_results.*
    python -m benchmarks.campaigns.kills --kills 10 --out FOLDER
"""

import argparse
import contextlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import describe

from vanishing import VanishingDetector, VanishingIdeal, discover, load
from vanishing.app.cli import main as run_command
from vanishing.app.report import write_laws_report, write_report
from vanishing.data import write
from vanishing.saving import ModelFileError

HERE = Path(__file__).parent
#: Parts of the new version that the disk takes.
SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)
#: Exit code of the command line: the disk is full.
OUTPUT = 5


# --- subjects -------------------------------------------------------------------------------------


@dataclass
class Subjects:
    """What is written: two versions of everything, told apart by their bytes."""

    inputs: Path
    models: list[Any] = field(default_factory=list)
    detectors: list[Any] = field(default_factory=list)
    laws: list[Any] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    tables: list[Any] = field(default_factory=list)

    def __post_init__(self):
        rng = np.random.default_rng(0)
        for version in range(2):
            rows = rng.standard_normal((3000, 5))
            rows[:, 4] = rows[:, 0] * rows[:, 1] + 0.1 * version
            table = rng.uniform(1, 9, (60, 3)).round(3)
            table[:, 2] = table[:, 0] * table[:, 1] + version
            self.rows.append(rows)
            self.tables.append(table)
            self.models.append(VanishingIdeal(max_degree=3, tol=0.3).fit(rows))
            self.detectors.append(VanishingDetector().fit(rows[:300]))
            self.laws.append(discover(table, ["a", "b", "c"]))
            np.save(self.inputs / f"rows{version}.npy", rows)
            np.save(self.inputs / f"few{version}.npy", rows[:200])
            np.save(self.inputs / f"table{version}.npy", table)
            self.models[version].save(self.inputs / f"model{version}.safetensors")
            self.detectors[version].save(self.inputs / f"detector{version}.safetensors")

    def save_model(self, path, version):
        self.models[version].save(path)

    def save_detector(self, path, version):
        self.detectors[version].save(path)

    def save_laws(self, path, version):
        discover(self.tables[version], ["a", "b", "c"]).save(path)

    def report_anomalies(self, path, version):
        write_report(path, self.detectors[version], self.rows[version][:60])

    def report_laws(self, path, version):
        write_laws_report(path, self.laws[version], X=self.tables[version])

    def transform(self, path, version):
        chunks = np.array_split(self.rows[version], 10)
        write(self.models[version].transform(chunks), path)

    def export_onnx(self, path, version):
        self.models[version].to_onnx(path)

    def evaluate(self, path):
        """Return the values of a saved model as bytes."""
        try:
            return load(path).transform(self.rows[0][:20]).tobytes()
        except ModelFileError:
            return b""

    def command(self, name, path, version):
        """Run the command line; return its exit code."""
        arguments = {
            "fit": ["fit", "few{}.npy", "--save", "PATH"],
            "report": ["fit", "few{}.npy", "--degree", "1", "--report", "PATH"],
            "transform": ["transform", "rows{}.npy", "-m", "model{}.safetensors", "-o", "PATH"],
            "export": ["export", "model{}.safetensors", "c", "-o", "PATH"],
            "laws": ["laws", "table{}.npy", "-o", "PATH"],
        }[name]
        placed = [
            str(path)
            if each == "PATH"
            else str(self.inputs / each.format(version))
            if "{}" in each
            else each
            for each in arguments
        ]
        with contextlib.redirect_stdout(io.StringIO()):
            return run_command([*placed, "--quiet"])


#: Written by the library: how the name ends, and the method.
WRITERS = {
    "save a model": (".safetensors", "save_model"),
    "save a detector": (".safetensors", "save_detector"),
    "discover and save laws": (".safetensors", "save_laws"),
    "write a report on anomalies": (".html", "report_anomalies"),
    "write a report on laws": (".html", "report_laws"),
    "transform to CSV": (".csv", "transform"),
    "transform to npy": (".npy", "transform"),
    "transform to Parquet": (".parquet", "transform"),
    "transform to Zarr": (".zarr", "transform"),
    "export as ONNX": (".onnx", "export_onnx"),
}
#: Written by the command line.
COMMANDS = {
    "vanishing fit --save": (".safetensors", "fit"),
    "vanishing fit --report": (".html", "report"),
    "vanishing transform --out CSV": (".csv", "transform"),
    "vanishing transform --out npy": (".npy", "transform"),
    "vanishing export c --out": (".c", "export"),
    "vanishing laws --out": (".csv", "laws"),
}


class Target:
    """One file that is written again and again, and both of its versions."""

    def __init__(self, subjects, name, folder):
        self.name = name
        self.folder = folder
        self._subjects = subjects
        self._is_command = name in COMMANDS
        ending, self._method = (COMMANDS if self._is_command else WRITERS)[name]
        self.path = folder / f"file{ending}"
        self.versions = []
        for version in range(2):
            start = time.perf_counter()
            self.write(version)
            #: How long the second time takes, and the size of the largest file of version 1.
            self.seconds = time.perf_counter() - start
            self.versions.append(self.content())
            self.largest = largest_file(self.path)
        self.write(0)
        if self.versions[0] == self.versions[1]:
            raise AssertionError(f"{name}: both versions are the same")

    def write(self, version):
        """Write a version; return the exit code."""
        if self._is_command:
            return self._subjects.command(self._method, self.path, version)
        return getattr(self._subjects, self._method)(self.path, version) or 0

    def content(self):
        """Return the bytes of the file, or those of the files of a folder, without dates.

        Models of the command line hold how long the fit took: they are loaded, which checks their
        digest, and evaluated.
        """
        if self._method == "fit":
            return [(self.path.name, self._subjects.evaluate(self.path))]
        files = sorted(self.path.rglob("*")) if self.path.is_dir() else [self.path]
        parts = [(str(p.relative_to(self.folder)), p.read_bytes()) for p in files if p.is_file()]
        return [
            (name, re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d", b"0000-00-00 00:00", part))
            for name, part in parts
        ]

    def version(self):
        """Return which version is there; None for neither."""
        found = self.content() if self.path.exists() else None
        return self.versions.index(found) if found in self.versions else None

    def others(self):
        """Return what else is in the folder."""
        return sorted(path.name for path in self.folder.iterdir() if path != self.path)


def largest_file(path):
    return max(each.stat().st_size for each in (path, *path.rglob("*")) if each.is_file())


# --- processes ------------------------------------------------------------------------------------


class Process:
    """A fork that writes a version; it has begun when this is made."""

    def __init__(self, target, version, *, prepare=None):
        ready, begun = os.pipe()
        self._said, said = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(ready)
            os.close(self._said)
            write_and_exit(target, version, prepare, begun, said)
        os.close(begun)
        os.close(said)
        os.read(ready, 1)
        os.close(ready)

    def is_over(self):
        """Say whether it has ended, without waiting for it."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def kill(self, number):
        """Send a signal."""
        os.kill(self.pid, number)

    def end(self):
        """Wait for the end; return the exit code, negative after a signal, and standard error."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        with os.fdopen(self._said, "rb") as said:
            return code, said.read().decode(errors="replace")


def write_and_exit(target, version, prepare, begun, said):
    """Write a version in a fork, which ends here whatever happens."""
    code = 70
    try:
        os.dup2(said, 2)
        sys.stderr = os.fdopen(2, "w", closefd=False)  # the old one may be that of a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if prepare is not None:
            prepare()
        os.write(begun, b".")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = target.write(version)
    except OSError as error:
        print(error, file=sys.stderr)
        code = OUTPUT if "no space left" in str(error) else 71
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def wait_for_moment(rng, target, process, number):
    """Wait for a random moment of an operation: of all of it, or since its file appeared."""
    if number % 2 == 0:
        time.sleep(rng.uniform(0, 1.2 * target.seconds))
        return
    while not target.others() and not process.is_over():
        time.sleep(0)
    # Most files are written in less than a millisecond.
    time.sleep(rng.uniform(0, 1) ** 3 * 0.2 * target.seconds)


def kill(rng, target, n_kills):
    """Kill writers; return what was found how often."""
    found = Counter()
    for number in range(n_kills):
        process = Process(target, 1)
        wait_for_moment(rng, target, process, number)
        process.kill(signal.SIGKILL)
        code, said = process.end()
        count_version(target, found)
        found["in the middle"] += bool(target.others())
        found["killed"] += code == -signal.SIGKILL
        if code not in (0, -signal.SIGKILL):
            count_failure(found, code, said)
        target.write(0)  # the next writer
        if target.others() or target.version() != 0:
            found["left behind"] += 1
            clean(target)
    return found


def interrupt(rng, target, sent, n_signals):
    """Send a signal to commands; return what was found how often."""
    found = Counter()
    for number in range(n_signals):
        process = Process(target, 1)
        wait_for_moment(rng, target, process, number)
        process.kill(sent)
        code, said = process.end()
        count_version(target, found)
        found["interrupted"] += code != 0
        # Before the command line has installed its handler, the system ends the process.
        if code not in (0, 128 + sent, -sent) or "Traceback" in said:
            count_failure(found, code, said)
        if target.others():
            found["left behind"] += 1
            clean(target)
        target.write(0)
    return found


def count_version(target, found):
    left = target.version()
    found["damaged" if left is None else ("old", "new")[left]] += 1


def count_failure(found, code, said):
    found["failed"] += 1
    last = said.splitlines()[-1:]
    found[f"exit code {code}: {last}"] += 1


def clean(target):
    """Remove what was left, so that it counts once."""
    for name in target.others():
        path = target.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    target.write(0)


def limit_size(n_bytes):
    """Limit the size of files of this process; going beyond is an error."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def judge_full(target, process, found, others=()):
    """Look at what a writer did that had no space."""
    code, said = process.end()
    found["refused"] += code == OUTPUT
    found["damaged"] += target.version() != 0
    found["left behind"] += target.others() != list(others)
    if code != OUTPUT or "no space left" not in said or "Traceback" in said:
        count_failure(found, code, said)


def fill_by_limit(target):
    """Let files be shorter than the new version."""
    found = Counter()
    for share in SHARES:
        n_bytes = min(int(share * target.largest), target.largest - 1)
        process = Process(target, 1, prepare=lambda n=n_bytes: limit_size(n))
        judge_full(target, process, found)
        clean(target)
    return found


@contextlib.contextmanager
def small_disk(folder, n_bytes):
    """Mount a disk of a size, in the place of a folder; yield whether that is possible."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={n_bytes},nr_inodes=1000", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:  # there is no such command
        done = False
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", str(folder)], check=True)


def fill_disk(target):
    """Write to a disk that has space for the old version, and a part of the new one."""
    found = Counter()
    page = os.sysconf("SC_PAGE_SIZE")
    for share in SHARES:
        with small_disk(target.folder, 4 * target.largest + 64 * page) as mounted:
            if not mounted:
                return found
            target.write(0)
            kept = int(share * (target.largest - page)) // page * page
            free = shutil.disk_usage(target.folder).free
            (target.folder / "filler").write_bytes(bytes(free - max(0, kept)))
            judge_full(target, Process(target, 1), found, others=["filler"])
    return found


# --- the campaign ---------------------------------------------------------------------------------


def run(n_kills, n_signals, *, seed=0, only=""):
    """Run all parts; return rows of counts."""
    rng = np.random.default_rng(seed)
    rows = []
    with tempfile.TemporaryDirectory() as home:
        inputs = Path(home, "inputs")
        inputs.mkdir()
        subjects = Subjects(inputs)

        def add(kind, name, part):
            folder = Path(home, f"folder{len(rows)}")
            folder.mkdir()
            begun = time.monotonic()
            target = Target(subjects, name, folder)
            counts = dict(part(target))
            seconds = round(time.monotonic() - begun, 1)
            rows.append({"kind": kind, "subject": name, "seconds": seconds, **counts})
            print(rows[-1], file=sys.stderr, flush=True)

        for name in WRITERS | COMMANDS:
            if only not in name:
                continue
            add("SIGKILL", name, lambda target: kill(rng, target, n_kills))
            add("size limit", name, fill_by_limit)
            add("full disk", name, fill_disk)
            if name in COMMANDS:
                for sent in (signal.SIGINT, signal.SIGTERM):
                    add(sent.name, name, lambda to, s=sent: interrupt(rng, to, s, n_signals))
    return rows


def problems(rows):
    """Return the rows in which something was wrong."""
    return [row for row in rows if any(row.get(k) for k in ("damaged", "left behind", "failed"))]


def page(results):
    """Return the results as Markdown."""
    made_on, rows = results["machine"], results["rows"]
    wrong = len(problems(rows))
    lines = [
        "# Killed writers and full disks",
        "",
        f"Made by `{results['command']}` on {made_on['date']}, commit {made_on['commit']}, "
        f"{made_on['cores']} × {made_on['cpu']}, in {results['seconds'] / 60:.0f} minutes.",
        "",
        f"{wrong} of {len(rows)} rows with a damaged file, a file left behind, or a wrong end.",
        "",
    ]
    parts = {
        "SIGKILL": (
            "Killed at random moments. *In the middle*: a temporary file was there, which the next "
            "writer removed.",
            ("killed", "in the middle", "old", "new", "damaged", "left behind", "failed"),
        ),
        "SIGINT": (
            "Ctrl-C at random moments.",
            ("interrupted", "old", "new", "damaged", "left behind", "failed"),
        ),
        "SIGTERM": (
            "SIGTERM at random moments.",
            ("interrupted", "old", "new", "damaged", "left behind", "failed"),
        ),
        "full disk": (
            "A disk that takes 0, 10, 50, 90 % or nearly all of the new version.",
            ("refused", "damaged", "left behind", "failed"),
        ),
        "size limit": (
            "Files may have 0, 10, 50, 90 % of the bytes of the new version, or all but one.",
            ("refused", "damaged", "left behind", "failed"),
        ),
    }
    for kind, (text, columns) in parts.items():
        lines += [f"## {kind}", "", text, "", f"| | {' | '.join(columns)} |"]
        lines.append("|---" * (1 + len(columns)) + "|")
        for row in rows:
            if row["kind"] == kind:
                cells = " | ".join(str(row.get(column, 0)) for column in columns)
                lines.append(f"| {row['subject']} | {cells} |")
        lines.append("")
    return "\n".join(lines)


def main():
    """Run from the command line; the exit code is 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="of each subject")
    parser.add_argument("--signals", type=int, default=100, help="SIGINT and SIGTERM, each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="subjects whose name contains this")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results")
    asked = parser.parse_args()
    begun = time.monotonic()
    results = {"machine": describe()}
    results["command"] = (
        f"python -m benchmarks.campaigns.kills --kills {asked.kills} --signals {asked.signals} "
        f"--seed {asked.seed}" + (f" --only '{asked.only}'" if asked.only else "")
    )
    results["rows"] = run(asked.kills, asked.signals, seed=asked.seed, only=asked.only)
    results["seconds"] = round(time.monotonic() - begun, 1)
    asked.out.mkdir(exist_ok=True)
    (asked.out / "kills_results.json").write_text(json.dumps(results, indent=1) + "\n")
    (asked.out / "kills_results.md").write_text(page(results))
    print(page(results))
    return int(bool(problems(results["rows"])))


if __name__ == "__main__":
    sys.exit(main())
