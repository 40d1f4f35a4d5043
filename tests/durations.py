"""Processor time of each test file, and the budget that it is held against (`tests/budget.toml`).

Processor time is user and system time of tests and of the processes that they start and wait for.
A machine's speed is measured with a fixed sum before each file: budgets are in seconds of a machine
that needs `calibration_s` for it. A busy machine slows both alike.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

BUDGET = Path(__file__).with_name("budget.toml")
#: Where the record lies in pytest's cache.
RECORD = "dumbbell/durations"
#: Growth beyond the budget that is allowed: a fifth.
TOLERATED = 1.2
_START = pytest.StashKey[float]()


def processor_s() -> float:
    """Processor time of this process and of its children that ended, in seconds."""
    return sum(os.times()[:4])


def calibration_s() -> float:
    """Processor time of a fixed sum, in seconds: hashes, dictionaries, text."""
    begin = time.thread_time()
    for turn in range(8):
        found = {str(n): [n, n * 0.5, hashlib.sha256(b"%d" % n).hexdigest()] for n in range(400)}
        text = json.dumps(found, sort_keys=True)
        assert len(json.loads(text)) == 400, turn
    return time.thread_time() - begin


@dataclass(frozen=True, slots=True)
class Budget:
    """Processor time that the suite may take.

    Attributes:
        calibration_s: Processor time of the fixed sum on the machine of the budget.
        total_s: Of all tests.
        other_s: Of each file without a budget of its own.
        files_s: Of files with one.
    """

    calibration_s: float
    total_s: float
    other_s: float
    files_s: Mapping[str, float]


def budget() -> Budget:
    """The budget of `tests/budget.toml`."""
    return read_budget(BUDGET.read_text(encoding="utf-8"))


def read_budget(text: str) -> Budget:
    """A budget from the text of its file."""
    found = tomllib.loads(text)
    return Budget(found["calibration_s"], found["total_s"], found["other_s"], found["files"])


def beyond(files_s: Mapping[str, float], measured_calibration_s: float, meant: Budget) -> list[str]:
    """Sentences about what took more than a fifth beyond its budget.

    A file is named only if its time and its share of the whole are both too large, so that neither
    a machine of another kind nor other files that became shorter are taken for growth.
    """
    scale = meant.calibration_s / measured_calibration_s
    whole = sum(files_s.values())
    told = []
    if whole * scale > TOLERATED * meant.total_s:
        told.append(f"all tests took {whole * scale:.0f} s, budget {meant.total_s:.0f} s")
    for file, taken in files_s.items():
        allowed = meant.files_s.get(file, meant.other_s)
        share = allowed / meant.total_s
        if taken * scale > TOLERATED * allowed and taken / whole > TOLERATED * share:
            told.append(f"{file} took {taken * scale:.0f} s, budget {allowed:.0f} s")
    return told


class Recorder:
    """Measures each test in the process that runs it, and adds up in the first process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.files_s: dict[str, float] = defaultdict(float)
        self.clock_s: dict[str, float] = defaultdict(float)
        self.calibrations_s: list[float] = []
        self._file = ""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measures the machine at a new file, and remembers the processor time before a test."""
        file = item.nodeid.partition("::")[0]
        if file != self._file:
            self._file = file
            item.user_properties.append(("calibration_s", calibration_s()))
        item.stash[_START] = processor_s()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Iterator[Any]:
        """Writes the processor time of a test and its fixtures into its last report."""
        report = yield
        if call.when == "teardown":
            report.user_properties.append(("processor_s", processor_s() - item.stash[_START]))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds a report to its file."""
        file = report.nodeid.partition("::")[0]
        self.clock_s[file] += report.duration
        if report.when == "teardown":
            told = dict(report.user_properties)
            self.files_s[file] += float(told["processor_s"])
            if "calibration_s" in told:
                self.calibrations_s.append(float(told["calibration_s"]))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """With `--budget`: keeps the record, and fails if it is beyond the budget."""
        if not self.asked():
            return
        record = {
            "calibration_s": statistics.median(self.calibrations_s),
            "files": {
                file: {"processor_s": round(taken, 2), "clock_s": round(self.clock_s[file], 2)}
                for file, taken in sorted(self.files_s.items(), key=lambda one: -one[1])
            },
        }
        cache = getattr(self.config, "cache", None)  # Not there with `-p no:cacheprovider`.
        if cache is not None:
            cache.set(RECORD, record)
        if self.told():
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def asked(self) -> bool:
        """Returns true in the first process of a session with `--budget` that ran a test."""
        worker = hasattr(self.config, "workerinput")
        return self.config.getoption("--budget") and not worker and bool(self.calibrations_s)

    def told(self) -> list[str]:
        """What is beyond the budget."""
        return beyond(self.files_s, statistics.median(self.calibrations_s), budget())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the processor time of all tests, and what is beyond the budget."""
        if not self.asked():
            return
        taken, measured = sum(self.files_s.values()), statistics.median(self.calibrations_s)
        scaled = taken * budget().calibration_s / measured
        terminalreporter.section("processor time")
        terminalreporter.write_line(
            f"all tests: {taken:.0f} s; {scaled:.0f} s on the machine of tests/budget.toml, budget"
            f" {budget().total_s:.0f} s"
        )
        for one in self.told():
            terminalreporter.write_line(f"beyond the budget by more than a fifth: {one}", red=True)
