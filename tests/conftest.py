"""Property-based tests try the same cases everywhere; with HYPOTHESIS_PROFILE=search, new ones."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter

import pytest
from hypothesis import settings

from tests import kernel
from tests.browser import CHROMIUM, opened

# No example has a deadline: how long one takes says how busy the machine is.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Started in the background of a shell, a process ignores Ctrl-C, and so would what tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where no kernel is usable, tests that need one are skipped; `test_kernel.py` fails."""
    needing = [item for item in items if item.get_closest_marker("kernel") is not None]
    if needing and (problem := kernel.problem()) is not None:
        first = problem.splitlines()[0]
        for item in needing:
            item.add_marker(pytest.mark.skip(reason=f"no usable kernel: {first}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was not tested, and why: a line per reason."""
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    if reasons:
        terminalreporter.section("not tested", yellow=True, bold=True)
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count} skipped: {reason}")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where a browser is missing, or cannot run (no shared memory, say), nothing is tested."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    empty = tmp_path_factory.mktemp("empty")
    (empty / "page.html").write_text("<!doctype html><p>here</p>", encoding="utf-8")
    try:
        dom, _ = opened(empty / "page.html", empty)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"chromium does not run here: {error}")
    assert "here" in dom
