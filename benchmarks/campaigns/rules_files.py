"""Files of rules that are damaged or hostile: are they read or refused, without running anything?

Each file is one that people could have, with changes: of characters and lines, of values (wrong
kinds, huge numbers, deep tables), and of rules (code, deep nesting, foreign names). It may be read
or refused with a ``RuleError``. What is read must be written and read again as the same rules, and
checked on a table or refused with a ``RuleError``. An audit hook of Python counts what would run
code or reach beyond the process: ``compile``, ``exec``, programs, connections, files that are
written.

    python -m benchmarks.campaigns.rules_files    # 10,000 files; writes rules_files_results.json
    python -m benchmarks.campaigns.rules_files --files 100 --out FOLDER
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.laws import rows
from benchmarks.machine import describe

from vanishing import discover
from vanishing.rules import RuleError, Rules, read_rules, write_rules

HERE = Path(__file__).parent
#: Rules of people, for which a table is made.
OWN = """
[[rule]]
rule = "gross == net + tax"  # ours
note = "since 2021"
tolerance = 0.005

[[rule]]
rule = "start <= end and status in ['open', 'closed']"

[[rule]]
rule = "abs(gross - round(net * 1.19, 2)) <= max(0.01, tax) or net is null"
where = "status == 'open'"

[[rule]]
rule = "balance == previous(balance, start=0) + net"
"""
#: Rows that are checked; a changed rule may be broken in all of them.
CHECKED = 4
VALUES = (
    *("-1", "0", "1e308", "-1e308", "inf", "nan", "9" * 400, f"0x{'f' * 9999}", "1e-320"),
    *("true", "[]", "[[]]", "{}", "{a = {b = 1}}", "''", "'found'", "2024-01-01", '"\\u0000"'),
)
RULES = (
    "__import__('os').system('touch pwned')", "a.__class__.__mro__ == 1", "exec('1') == 1",
    "lambda: 0", "{}", "net" + " + net" * 999, "(" * 999 + "net", "not " * 99 + "net == 1",
    "net ** 1000 == 1", "(net + tax) ** 999 == 1", "net / 0 == 1", "log(-net) <= tax",
    "previous(net, by=[`net`]) == 1", "totals(net, start)", "status < net", "start + 1 == 2",
    "net == 1e308 * 1e308 * net", "round(net, 15) == 1", "coalesce(net, start) == 1",
    "`__class__` == 1", "net in []", "net == tax ** -1", "1 == 1", "max(net, tax) == gross",
)  # fmt: skip
WATCHED = ("compile", "exec", "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pty.")


def make_table(n_rows, rng):
    """Return a table with columns of numbers, texts and dates."""
    net = rng.uniform(1, 100, n_rows).round(2)
    tax = (0.19 * net).round(2)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n_rows), "D")
    return pd.DataFrame(
        {
            "net": net, "tax": tax, "gross": (net + tax).round(2),
            "start": days.strftime("%Y-%m-%d"), "end": "2026-01-01",
            "balance": net.cumsum().round(2), "status": rng.choice(["open", "closed", ""], n_rows),
        }
    )  # fmt: skip


def make_files(rng):
    """Return files of rules that people could have, each with a table that it is about."""
    tables = [make_table(60, rng)]
    tables += [make(60, rng)[0] for make in rows.KINDS.values()]
    made = [(write_rules(Rules.from_laws(discover(each))), each) for each in tables]
    return [(made[0][0] + OWN, tables[0]), ("format = 1\n" + OWN, tables[0]), *made]


def mutate(text, rng):
    """Return a file with some changes."""
    for _ in range(rng.integers(1, 5)):
        text = str(rng.choice([_change_text, _change_value, _change_rule])(text, rng)) or "x"
    return text


def _change_text(text, rng):
    place, length = int(rng.integers(len(text))), int(rng.integers(1, 40))
    other = int(rng.integers(len(text)))
    inserted = [
        "", text[other : other + length], chr(rng.integers(1, 0xD7FF)), "[[rule]]\n", "\n", '"',
        "'", "rule." * 999 + "a = 1\n", "[" * 999,
    ]  # fmt: skip
    return text[:place] + str(rng.choice(inserted)) + text[place + int(rng.integers(0, length)) :]


def _change_value(text, rng):
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if " = " in line]
    if places:
        i = int(rng.choice(places))
        lines[i] = f"{lines[i].partition(' = ')[0]} = {rng.choice(VALUES)}"
    return "\n".join(lines)


def _change_rule(text, rng):
    return f"{text}\n[[rule]]\nrule = {json.dumps(str(rng.choice(RULES)))}\n"


class Watch:
    """Counts what Python reports to audit hooks, while it is on."""

    def __init__(self):
        self.is_on = False
        self.events = Counter()
        sys.addaudithook(self._see)

    def _see(self, event, arguments):
        if self.is_on and (event.startswith(WATCHED) or self._writes(event, arguments)):
            self.events[event] += 1

    @staticmethod
    def _writes(event, arguments):
        return event == "open" and bool(set(str(arguments[1])) & set("wax+"))


def try_file(text, table):
    """Return what became of a file: refused, or checked, or what went wrong."""
    try:
        rules = read_rules(text)
    except RuleError:
        return "refused"
    except Exception as error:
        return f"crashed: {type(error).__name__}: {error}"[:200]
    try:
        if read_rules(write_rules(rules)) != rules:
            return "changed by writing"
    except Exception as error:
        return f"cannot be written: {type(error).__name__}: {error}"[:200]
    try:
        rules.check(table[:CHECKED])
    except RuleError:
        return "read, not for the table"
    except Exception as error:
        return f"crashed in check: {type(error).__name__}: {error}"[:200]
    return "read and checked"


def run(n_files, seed):
    """Try mutated files; return the counts, what was run, and the slowest file."""
    rng = np.random.default_rng(seed)
    files = make_files(rng)
    for text, table in files:  # imports what is needed
        assert try_file(text, table) == "read and checked"
    watch, counts, slowest = Watch(), Counter(), 0.0
    for _ in range(n_files):
        text, table = files[int(rng.integers(len(files)))]
        changed = mutate(text, rng)
        start = time.process_time()
        watch.is_on = True
        counts[try_file(changed, table)] += 1
        watch.is_on = False
        slowest = max(slowest, time.process_time() - start)
    return {"files": n_files, "seed": seed, "outcomes": dict(counts.most_common()),
            "events": dict(watch.events), "slowest_seconds": round(slowest, 2)}  # fmt: skip


def main():
    """Run the campaign and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    found = run(options.files, options.seed) | {"machine": describe()}
    path = options.out / "rules_files_results.json"
    path.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found["outcomes"], indent=2), found["events"])


if __name__ == "__main__":
    main()
