"""Change the library in many places, one at a time, and count the changes that tests notice.

    python tools/mutation.py                     draw places with a fixed seed, test, report
    python tools/mutation.py --mutants all       every change at every place; takes days
    python tools/mutation.py --packages laws     places of one package only
    python tools/mutation.py --again survived    run the survivors again, with the tests of now

`make mutation` runs the first. A change (a mutant) is one of cosmic-ray's: another operator, a
number off by one, a condition negated, a loop that never runs, a decorator removed. Only tests
that run the changed line can notice it, so the suite first runs once with coverage, which records
the tests of each line. They run the quickest first, those of the mirrored test file before
others, up to a budget of seconds. Every mutant runs in a forked process in its own copy of the
tree.

At the end the tests that noticed a mutant run on the tree as it is, in the same way. One that fails
there is unreliable: its mutants run again without it.

Everything is kept in build/mutation, and a second call continues where the first one stopped.
"""

import argparse
import ast
import collections
import dataclasses
import functools
import importlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import coverage

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("construction", "polynomials", "data", "detectors", "laws")
REPORT = ROOT / "benchmarks" / "campaigns" / "mutation_results"

#: cosmic-ray's operators that give a change somebody could have written by mistake. The others
#: (`+` by `<<`, say) fail at once and say nothing about the tests.
OPERATORS = (
    *(
        f"ReplaceBinaryOperator_{pair}"
        for pair in (
            "Add_Sub",
            "Sub_Add",
            "Mul_Div",
            "Div_Mul",
            "FloorDiv_Mul",
            "Mod_FloorDiv",
            "Pow_Mul",
            "BitOr_BitAnd",
            "BitAnd_BitOr",
        )
    ),
    *(
        f"ReplaceComparisonOperator_{pair}"
        for pair in (
            "Eq_NotEq",
            "NotEq_Eq",
            "Lt_LtE",
            "Lt_GtE",
            "LtE_Lt",
            "LtE_Gt",
            "Gt_GtE",
            "Gt_LtE",
            "GtE_Gt",
            "GtE_Lt",
            "Is_IsNot",
            "IsNot_Is",
        )
    ),
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Invert",
    "ReplaceUnaryOperator_Delete_Not",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ExceptionReplacer",
    "NumberReplacer",
    "RemoveDecorator",
    "ZeroIterationForLoop",
)

#: Imported before the first fork, so that a mutant does not pay for them.
HEAVY = (
    "numpy",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "scipy.spatial",
    "sklearn.base",
    "sklearn.cluster",
    "sklearn.covariance",
    "sklearn.decomposition",
    "sklearn.ensemble",
    "sklearn.mixture",
    "sklearn.model_selection",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.svm",
    "sklearn.utils.estimator_checks",
    "array_api_compat.numpy",
    "pandas",
    "pyarrow",
    "pyarrow.dataset",
    "sympy",
    "torch",
    "hypothesis",
    "hypothesis.extra.numpy",
    "_pytest.python",
)

QUICK_ROUND_S = 6.0  # estimated seconds of the tests that run before the others are collected
MEMORY = 8 * 2**30  # bytes of data that a mutant may allocate
BROKEN = 70  # exit status of a process in which not the tests, but this program failed


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change of one file: `before` at `offset` becomes `after`."""

    file: str
    line: int
    offset: int
    before: str
    after: str
    operator: str

    @property
    def name(self) -> str:
        """What identifies the mutant in the results."""
        return f"{self.file}:{self.line}:{self.offset}:{self.operator}:{self.after.strip()}"

    def apply(self, source: str) -> str:
        """Return the changed source."""
        end = self.offset + len(self.before)
        assert source[self.offset : end] == self.before, self
        return source[: self.offset] + self.after + source[end:]

    def describe(self, source: str) -> str:
        """Return the changed lines, before and after."""
        start = source.rfind("\n", 0, self.offset) + 1
        end = source.find("\n", self.offset + len(self.before))
        changed = self.apply(source)
        after = changed[start : end + len(changed) - len(source)]
        before, after = (" ".join(text.split()) for text in (source[start:end], after))
        return f"`{before}` → `{after}`"


# --- mutants ------------------------------------------------------------------------------------


def list_places(path: Path) -> dict[tuple, list[tuple[str, int]]]:
    """List the places of a file that operators change, with the operators and their counts."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    operators = [(name, get_operator(f"core/{name}")()) for name in OPERATORS]
    counted = collections.Counter()
    places = collections.defaultdict(list)
    for node in ast_nodes(get_ast(path.read_text(encoding="utf-8"))):
        for name, operator in operators:
            for start, _ in operator.mutation_positions(node):
                places[path.relative_to(ROOT).as_posix(), *start].append((name, counted[name]))
                counted[name] += 1
    return places


def make_mutant(file: str, line: int, operator: str, occurrence: int) -> Mutant | None:
    """Make a change of a file; None if it does not change what the program does."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (ROOT / file).read_text(encoding="utf-8")
    changed = mutate_code(source, get_operator(f"core/{operator}")(), occurrence)
    try:
        if changed is None or strip_annotations(changed) == strip_annotations(source):
            return None
    except SyntaxError:
        return None
    start = count_common(source, changed)
    rest = count_common(source[start:][::-1], changed[start:][::-1])
    before, after = source[start : len(source) - rest], changed[start : len(changed) - rest]
    return Mutant(file, line, start, before, after, operator)


def is_declaration(file: str, line: int, column: int) -> bool:
    """Say whether a place is a flag of a dataclass or a marker among parameters.

    mypy notices what goes wrong there, and not tests: frozen=True, eq=False, def f(x, *, y).
    """
    text = (ROOT / file).read_text(encoding="utf-8").splitlines()[line - 1]
    return text.startswith("@dataclass(") or text[column:].startswith(("*,", "/,"))


def count_common(first: str, second: str) -> int:
    """Count the characters that two strings begin with both."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))


def strip_annotations(source: str) -> str:
    """Return the syntax tree without annotations and what only type checkers run."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            node.annotation = ast.Constant(None)
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, [s for s in statements if not _is_for_types(s)])
    return ast.dump(tree)


def _is_for_types(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) in ("TYPE_CHECKING", "not TYPE_CHECKING")
    if isinstance(statement, ast.FunctionDef):
        return any(ast.unparse(decorator) == "overload" for decorator in statement.decorator_list)
    return isinstance(statement, ast.Assign) and "TypeAlias" in ast.dump(statement)


def draw_mutants(count: int | None, seed: int, packages: Sequence[str]) -> list[Mutant]:
    """Draw places of packages, and one change of each; all changes of all places for None."""
    places = {}
    for package in packages:
        for path in sorted((ROOT / "src" / "vanishing" / package).glob("*.py")):
            places |= list_places(path)
    rng = random.Random(seed)
    mutants = []
    for (file, line, column), changes in rng.sample(sorted(places.items()), len(places)):
        if is_declaration(file, line, column):
            continue
        chosen = changes if count is None else [rng.choice(changes)]
        made = [make_mutant(file, line, *change) for change in chosen]
        mutants += [mutant for mutant in made if mutant]
        if len(mutants) == count:
            break
    return mutants


# --- tests of each line -------------------------------------------------------------------------


class Failures:
    """A plugin of pytest that keeps the tests that fail."""

    def __init__(self):
        self.failed = []

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)


def record_tests(tree: Path, folder: Path, workers: int, arguments: list[str]) -> None:
    """Run the suite, and write the tests of each line with their seconds."""
    recorded = folder / "recorded"
    recorded.mkdir(exist_ok=True)
    paths = [str(tree / "src"), str(tree / "tools"), os.environ.get("PYTHONPATH", "")]
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "record_tests", "-n", str(workers)),
            *("--dist", "worksteal", "-p", "no:cacheprovider", "-p", "no:cov"),
            *("-m", "not slow and not gpu", *arguments),
        ],
        cwd=tree,
        env=os.environ | {"RECORD": str(recorded), "PYTHONPATH": ":".join(paths)},
    )
    tests = json.loads((recorded / "tests.json").read_text())
    names = sorted(name for name, (_, outcome) in tests.items() if outcome == "passed")
    numbers = {name: number for number, name in enumerate(names)}
    lines = collections.defaultdict(lambda: collections.defaultdict(set))
    files = sorted(str(path) for path in recorded.glob("lines.*"))
    with multiprocessing.Pool(workers) as pool:
        for part in pool.imap_unordered(read_lines, files):
            for file, line, contexts in part:
                lines[file][line].update(numbers[name] for name in contexts if name in numbers)
    result = {
        "tests": names,
        "seconds": [tests[name][0] for name in names],
        "lines": {
            file: {line: sorted(found) for line, found in of_file.items()}
            for file, of_file in lines.items()
        },
    }
    write_json(folder / "tests.json", result)


def read_lines(path: str) -> list[tuple[str, int, list[str]]]:
    """Read (file, line, tests) of the packages, and keep the branches without the tests."""
    data = coverage.CoverageData(path)
    data.read()
    found = []
    for file in data.measured_files():
        name = file[file.rindex("src/vanishing") :]
        if name.split("/")[2] in PACKAGES:
            found += [(name, *entry) for entry in data.contexts_by_lineno(file).items()]
    branches = coverage.CoverageData(path.replace("lines.", "branches."))
    branches.erase()
    branches.add_arcs({file: data.arcs(file) for file in data.measured_files()})
    branches.write()
    return found


def choose_tests(mutant: Mutant, recorded: dict, budget: float) -> list[str]:
    """Choose the tests that run the line of a mutant, the quickest first, within a budget."""
    lines = recorded["lines"].get(mutant.file, {})
    numbers = set()
    for line in range(*find_lines(mutant)):
        numbers.update(lines.get(str(line), ()))
    package, module = mutant.file.split("/")[-2:]
    mirrored, folder = f"tests/{package}/test_{module}", f"tests/{package}/"

    def rank(number: int) -> float:
        name, seconds = recorded["tests"][number], recorded["seconds"][number] + 0.02
        return seconds * (1 if name.startswith(mirrored) else 2 if name.startswith(folder) else 4)

    chosen, total = [], 0.0
    for number in sorted(numbers, key=lambda number: (rank(number), number)):
        total += recorded["seconds"][number]
        if chosen and total > budget:
            break
        chosen.append(recorded["tests"][number])
    return chosen


@functools.cache
def _parse(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def find_lines(mutant: Mutant) -> tuple[int, int]:
    """Find the lines whose tests run a mutant, as a half-open range.

    Within a function they are those of the statement. What runs at import (signatures, decorators,
    constants) is noticed by the tests of the function, class or file that it belongs to.
    """
    tree = _parse(mutant.file)
    owner: ast.AST = tree
    while True:
        inner = [
            node
            for node in ast.iter_child_nodes(owner)
            if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)
            and first_line(node) <= mutant.line <= last_line(node)
        ]
        if not inner:
            break
        owner = inner[0]
        if isinstance(owner, ast.FunctionDef) and mutant.line < first_line(owner.body[0]):
            break  # the signature or a decorator
    if isinstance(owner, ast.Module):
        return 1, 10**6
    if isinstance(owner, ast.FunctionDef):
        return first_line(owner.body[0]), last_line(owner) + 1
    if not is_in_function(tree, owner):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.lineno <= mutant.line <= last_line(node):
                return node.lineno, last_line(node) + 1
        return 1, 10**6
    body = getattr(owner, "body", None)
    if isinstance(body, list) and body:  # the head of an if, a loop, a with
        return first_line(owner), max(first_line(body[0]), first_line(owner) + 1)
    return first_line(owner), last_line(owner) + 1


def first_line(node: ast.AST) -> int:
    """Return the first line of a statement, decorators included."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: ast.AST) -> int:
    """Return the last line of a statement."""
    return last_line(node.body[-1]) if isinstance(node, ast.match_case) else node.end_lineno


def is_in_function(tree: ast.Module, statement: ast.AST) -> bool:
    """Say whether a statement stands in a function."""
    return any(
        isinstance(node, ast.FunctionDef) and statement is not node and statement in ast.walk(node)
        for node in ast.walk(tree)
    )


# --- runs ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Job:
    """Tests of one mutant, or of the tree as it is."""

    key: str
    tests: list[str]
    mutant: Mutant | None = None
    pid: int = 0
    slot: int = 0
    started: float = 0.0
    limit: float = 0.0


class Runner:
    """Runs jobs in forked processes, each slot in its own copy of the tree."""

    def __init__(self, tree: Path, folder: Path, recorded: dict, workers: int):
        self.folder, self.workers = folder, workers
        self.seconds = dict(zip(recorded["tests"], recorded["seconds"], strict=True))
        for slot in range(workers):
            shutil.rmtree(folder / f"slot{slot}", ignore_errors=True)
            shutil.copytree(tree, folder / f"slot{slot}")
        for name in HEAVY:
            try:
                importlib.import_module(name)
            except ImportError:
                print(f"without {name}")

    def run(self, jobs: list[Job], finish, until: float) -> None:
        """Run jobs until a time, and call `finish(job, outcome, test, seconds)` for each."""
        waiting, running = jobs[::-1], {}
        free = list(range(self.workers))
        while waiting or running:
            while waiting and free and time.time() < until:
                job = waiting.pop()
                self._start(job, free.pop())
                running[job.pid] = job
            if not running:
                break
            for job in list(running.values()):
                pid, status = os.waitpid(job.pid, os.WNOHANG)
                seconds = time.time() - job.started
                late = not pid and seconds > job.limit
                if late:
                    os.killpg(job.pid, signal.SIGKILL)
                    os.waitpid(job.pid, 0)
                if pid or late:
                    self._restore(job)
                    free.append(job.slot)
                    del running[job.pid]
                    outcome, test = ("timeout", None) if late else self._read(job, status)
                    finish(job, outcome, test, round(seconds, 2))
            if time.time() > until + 30:  # no result rather than a wrong one
                for job in running.values():
                    os.killpg(job.pid, signal.SIGKILL)
                break
            time.sleep(0.02)

    def _start(self, job: Job, slot: int) -> None:
        tree = self.folder / f"slot{slot}"
        if job.mutant:
            path = tree / job.mutant.file
            path.write_text(job.mutant.apply(path.read_text(encoding="utf-8")), encoding="utf-8")
        estimate = sum(self.seconds.get(test, 1.0) for test in job.tests)
        job.slot, job.started, job.limit = slot, time.time(), 120 + 20 * estimate
        (self.folder / f"slot{slot}.json").unlink(missing_ok=True)
        sys.stdout.flush()
        job.pid = os.fork()
        if job.pid == 0:
            try:
                self._work(job, tree, int(30 + 6 * estimate))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(BROKEN)

    def _work(self, job: Job, tree: Path, cpu_seconds: int) -> None:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        log = os.open(self.folder / f"slot{job.slot}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(tree)
        os.environ["PYTHONPATH"] = f"{tree / 'src'}:{os.environ.get('PYTHONPATH', '')}"
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(tree / "src"))
        import pytest

        options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--tb=line"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # imported before the fork
        if job.mutant:
            options.append("-x")
        rounds = [job.tests]
        if job.mutant:
            total, count = 0.0, 0
            while count < len(job.tests) and total <= QUICK_ROUND_S:
                total += self.seconds[job.tests[count]]
                count += 1
            rounds = [job.tests[:count], job.tests[count:]]
        code, bad = 0, []
        for tests in filter(None, rounds):
            plugin = Failures()
            code = int(pytest.main([*options, *tests], plugins=[plugin]))
            bad += plugin.failed
            if code:
                break
        write_json(self.folder / f"slot{job.slot}.json", {"code": code, "bad": bad})
        os._exit(0)

    def _read(self, job: Job, status: int) -> tuple[str, object]:
        path = self.folder / f"slot{job.slot}.json"
        if not path.exists():
            if os.WIFSIGNALED(status):
                return ("timeout" if os.WTERMSIG(status) == signal.SIGXCPU else "killed"), None
            return ("error" if os.WEXITSTATUS(status) == BROKEN else "killed"), None
        result = json.loads(path.read_text())
        if not job.mutant:
            return "control", result["bad"]
        if result["bad"]:
            return "killed", result["bad"][0]
        return ("error" if result["code"] else "survived"), None  # an error: no such test, say

    def _restore(self, job: Job) -> None:
        if job.mutant:
            shutil.copy2(
                self.folder / "tree" / job.mutant.file,
                self.folder / f"slot{job.slot}" / job.mutant.file,
            )


def copy_tree(target: Path) -> None:
    """Copy the files that git knows, or all where there is no git."""
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode or not listed.stdout:
        shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns("build", ".venv*", "site"))
        return
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def write_json(path: Path, value: object) -> None:
    """Write JSON, the old file or the new one."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value))
    part.replace(path)


def read_outcomes(path: Path, *, last: bool = True) -> dict[str, dict]:
    """Read the last outcome of each mutant, or the first."""
    if not path.exists():
        return {}
    entries = list(map(json.loads, path.read_text().splitlines()))
    return {entry["name"]: entry for entry in (entries if last else entries[::-1])}


def test_mutants(mutants: list[Mutant], folder: Path, options: argparse.Namespace) -> None:
    """Run what has no outcome yet, then the tests that noticed something on the tree as it is."""
    until = time.time() + options.seconds
    recorded = json.loads((folder / "tests.json").read_text())
    path, unreliable_path = folder / "outcomes.jsonl", folder / "unreliable.json"
    outcomes = read_outcomes(path)
    unreliable = set(json.loads(unreliable_path.read_text())) if unreliable_path.exists() else set()
    runner = Runner(folder / "tree", folder, recorded, options.workers)
    wanted = [
        m for m in mutants if outcomes.get(m.name, {}).get("outcome") in (None, options.again)
    ]

    def finish(job: Job, outcome: str, test: object, seconds: float) -> None:
        entry = dataclasses.asdict(job.mutant) | {"name": job.key, "outcome": outcome}
        source = (folder / "tree" / job.mutant.file).read_text(encoding="utf-8")
        entry |= {"test": test, "tests": len(job.tests), "seconds": seconds}
        entry["change"] = job.mutant.describe(source)
        outcomes[job.key] = entry
        with path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        counted = collections.Counter(entry["outcome"] for entry in outcomes.values())
        print(len(outcomes), "of", len(mutants), dict(counted), flush=True)

    def control(job: Job, outcome: str, failing: list[str], seconds: float) -> None:
        unreliable.update(failing if outcome == "control" else job.tests)

    while wanted:
        jobs = []
        for mutant in wanted:
            tests = choose_tests(mutant, recorded, options.budget)
            tests = [test for test in tests if test not in unreliable]
            job = Job(mutant.name, tests, mutant)
            jobs += [job] if tests else []
            if not tests:
                finish(job, "uncovered", None, 0.0)
        runner.run(jobs, finish, until)
        noticed = sorted({outcomes[m.name]["test"] for m in wanted if m.name in outcomes} - {None})
        noticed = [test for test in noticed if test in runner.seconds]
        share = -(-len(noticed) // options.workers) or 1
        known = set(unreliable)
        controls = [Job("", noticed[i : i + share]) for i in range(0, len(noticed), share)]
        runner.run(controls, control, until + 60)
        write_json(unreliable_path, sorted(unreliable))
        fresh = unreliable - known
        wanted = [m for m in wanted if outcomes.get(m.name, {}).get("test") in fresh]
        if fresh:
            print("unreliable:", *sorted(fresh), sep="\n  ", flush=True)
        if time.time() > until:
            for mutant in wanted:
                outcomes[mutant.name] |= {"outcome": "unclear"}
            break


# --- report -------------------------------------------------------------------------------------


def report(mutants: list[Mutant], folder: Path, options: argparse.Namespace) -> None:
    """Write the outcomes as data, beside those of other seeds, and a page of all of them."""
    path = folder / "outcomes.jsonl"
    outcomes, first = read_outcomes(path), read_outcomes(path, last=False)
    entries = [outcomes[m.name] for m in mutants if m.name in outcomes]
    entries.sort(key=lambda entry: (entry["file"], entry["offset"]))
    for entry in entries:
        entry["change"] = f"{entry['file'].removeprefix('src/vanishing/')}: {entry['change']}"
        entry["at_first"] = first[entry["name"]]["outcome"]
    kept = ("file", "line", "operator", "change", "at_first", "outcome", "test")
    results = REPORT.with_suffix(".json")
    value = json.loads(results.read_text()) if results.exists() else {"explained": {}}
    samples = value.setdefault("samples", {})
    command = f"python tools/mutation.py --mutants {options.mutants} --seed {options.seed}"
    if set(options.packages) < set(PACKAGES):
        command += f" --packages {' '.join(options.packages)}"
    samples[str(options.seed)] = {
        "command": command,
        "note": samples.get(str(options.seed), {}).get("note", ""),  # written by hand
        "mutants": [{key: entry[key] for key in kept} for entry in entries],
    }
    results.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
    write_page(value)


def write_page(value: dict) -> None:
    """Write a table for each sample, and the survivors of all.

    Reasons why no test can notice a change are kept in the data, by file and change.
    """
    lines = [
        "# Mutation testing",
        "",
        "Each sample is one change at each of many places, drawn with a fixed seed. *Noticed* are",
        "those that fail a test or time out; *at first* is before tests were written for survivors",
        "of the sample. *Explained* are those that no test can notice, listed below with a reason:",
        "they change speed or memory, or a value between equally good ones. The last column leaves",
        "them out.",
    ]
    for sample in value["samples"].values():
        lines += ["", f"`{sample['command']}`, {len(sample['mutants'])} mutants:", ""]
        lines += tabulate(sample["mutants"], value["explained"])
        lines += ["", sample["note"]] if sample["note"] else []
    lines += ["", "## Not noticed", "", "| change | reason |", "|---|---|"]
    for entry in (entry for each in value["samples"].values() for entry in each["mutants"]):
        if not is_noticed(entry["outcome"]):
            change = entry["change"].replace("|", "\\|")
            lines.append(f"| {change} | {value['explained'].get(entry['change'], '')} |")
    REPORT.with_suffix(".md").write_text("\n".join(lines) + "\n")


def is_noticed(outcome: str) -> bool:
    """Say whether an outcome is that of a mutant that tests noticed."""
    return outcome in ("killed", "timeout")


def tabulate(entries: list[dict], explained: dict[str, str]) -> list[str]:
    """Return the lines of a table of the packages."""
    lines = [
        "| package | mutants | noticed at first | noticed | explained | survived "
        "| noticed of all | of the rest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in (*PACKAGES, "all"):
        chosen = [entry for entry in entries if name in (entry["file"].split("/")[2], "all")]
        if not chosen:  # none was drawn of this package
            continue
        found = sum(is_noticed(entry["outcome"]) for entry in chosen)
        at_first = sum(is_noticed(entry["at_first"]) for entry in chosen)
        reasons = sum(
            not is_noticed(entry["outcome"]) and entry["change"] in explained for entry in chosen
        )
        lines.append(
            f"| {name} | {len(chosen)} | {at_first} | {found} | {reasons} "
            f"| {len(chosen) - found - reasons} | {found / len(chosen):.1%} "
            f"| {found / max(len(chosen) - reasons, 1):.1%} |"
        )
    return lines


def main() -> None:
    """Draw, record, run, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", default="300", help="how many places, or all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=PACKAGES)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of tests per mutant")
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="when to stop, to continue later"
    )
    parser.add_argument("--again", help="an outcome whose mutants run again, as survived")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--only", choices=("draw", "record", "run", "report"))
    parser.add_argument("pytest", nargs="*", help="arguments of pytest while tests are recorded")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    steps = (options.only,) if options.only else ("draw", "record", "run", "report")
    drawn = folder / "mutants.json"
    if "draw" in steps and not drawn.exists():
        count = None if options.mutants == "all" else int(options.mutants)
        mutants = draw_mutants(count, options.seed, options.packages)
        write_json(drawn, [dataclasses.asdict(mutant) for mutant in mutants])
    if "record" in steps and not (folder / "tests.json").exists():
        copy_tree(folder / "tree")
        record_tests(folder / "tree", folder, options.workers, options.pytest)
    mutants = [Mutant(**entry) for entry in json.loads(drawn.read_text())]
    if "run" in steps:
        test_mutants(mutants, folder, options)
    if "report" in steps:
        report(mutants, folder, options)


if __name__ == "__main__":
    main()
