"""A plugin of pytest that records which tests run which lines, and how long each one takes.

    RECORD=FOLDER PYTHONPATH=tools python -m pytest -p record_tests -n 2

Each process of the run writes a data file of coverage in which every test is a context, and the
controlling one `tests.json` with the outcome and the seconds of each test. The files of the
workers stay apart, since combining contexts takes longer than the tests themselves.
"""

import json
import os
from pathlib import Path

import coverage
import pytest

FOLDER = Path(os.environ["RECORD"])


def pytest_configure(config):
    """Start measuring, before the library is imported."""
    plugin = Worker() if hasattr(config, "workerinput") else Controller()
    config.pluginmanager.register(plugin)


class Worker:
    """Measures the lines and branches that each test runs."""

    def __init__(self):
        self.coverage = coverage.Coverage(
            data_file=str(FOLDER / "lines"),
            data_suffix=True,
            config_file=False,
            branch=True,
            source_pkgs=["vanishing"],
        )
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    def pytest_sessionfinish(self):
        self.coverage.stop()
        self.coverage.save()


class Controller:
    """Keeps the outcome and the seconds of each test."""

    def __init__(self):
        self.tests = {}

    def pytest_runtest_logreport(self, report):
        seconds, outcome = self.tests.get(report.nodeid, (0.0, "passed"))
        if report.outcome != "passed":
            outcome = report.outcome
        self.tests[report.nodeid] = (seconds + report.duration, outcome)

    def pytest_sessionfinish(self):
        (FOLDER / "tests.json").write_text(json.dumps(self.tests))
