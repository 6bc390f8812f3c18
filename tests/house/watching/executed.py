"""A pytest plugin for runs of any commit: which lines each test file executes, and which tests fail.

It imports nothing of the checkout, for it is loaded beside one that may not have it: `-p executed`, with this folder
on PYTHONPATH. EXECUTED_DATA names a folder for the lines, EXECUTED_FAILED a file for the failed tests.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

DATA = os.environ.get("EXECUTED_DATA", "")
FAILED = os.environ.get("EXECUTED_FAILED", "")

if DATA:
    from coverage import Coverage

    _COVERAGE = Coverage(
        data_file=f"{DATA}/coverage.{os.getpid()}",
        include=[f"{Path.cwd()}/{package}/*" for package in os.environ["EXECUTED_PACKAGES"].split()],
        config_file=False,
        messages=False,
    )
    _COVERAGE.set_option("run:disable_warnings", ["no-data-collected", "module-not-imported", "already-imported"])
    _SECONDS: dict[str, float] = defaultdict(float)

    def pytest_sessionstart() -> None:
        _COVERAGE.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
        """Whatever is executed from here on belongs to this test's file."""
        file = item.nodeid.partition("::")[0]
        _COVERAGE.switch_context(file)
        start = time.monotonic()
        try:
            return (yield)
        finally:
            _SECONDS[file] += time.monotonic() - start

    def pytest_sessionfinish() -> None:
        _COVERAGE.stop()
        _COVERAGE.save()
        Path(DATA, f"seconds.{os.getpid()}").write_text(json.dumps(_SECONDS), encoding="utf-8")


def _failed(nodeid: str) -> None:
    if FAILED:
        with open(FAILED, "a", encoding="utf-8") as file:
            file.write(f"{nodeid}\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _failed(report.nodeid)
