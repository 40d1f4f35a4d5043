"""What tests need, and what they are told: markers, the browser, the summary of what was skipped.

Property-based tests try the same cases everywhere; with HYPOTHESIS_PROFILE=search, new ones.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
from collections import Counter
from functools import cache

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from dumbbell.engines.linux import kernel as built
from tests import durations, kernel
from tests.browser import CHROMIUM, opened
from tests.linux import differences

# No example has a deadline: how long one takes says how busy the machine is.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Output is as wide as without a terminal; pytest-xdist gives its workers the width of its own.
os.environ.pop("COLUMNS", None)

# Started in the background of a shell, a process ignores Ctrl-C, and so would what tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


# The tree of all verbs takes 0.1 s, and thousands of tests call one: it is made once.
typer.testing._get_command = cache(typer.main.get_command)  # type: ignore[attr-defined]

#: Beside the caller's PATH: programs of administrators.
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))

#: Programs that continuous integration is meant to have (scripts/test-tools.sh installs them), and
#: how a reason for skipping begins if a kernel is missing. There (CI=true) pytest fails if a
#: test was skipped for one of them.
MEANT = (
    "chromium", "clang", "curl", "ffmpeg", "iperf3", "nginx", "node", "ns", "ping", "python3",
    "tcpdump", "tcptrace", "tshark", "wasm-ld",
)  # fmt: skip
MEANT_KERNELS = ("no usable kernel", "dumbbell kernel build --release 7.3")
#: Not meant there yet: how a reason for skipping begins, and why.
NOT_MEANT = {
    "dumbbell kernel build --patch": "BBR v3 runs where --patch has the path of Google's sources",
    "docs/l4s.md has the command": "Prague runs where --patch has the path of L4STeam's sources",
    "npm": "Debian's npm has 300 packages, and the test fetches more from npm's registry",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--release`: another kernel than the default, and its profile as the default one."""
    parser.addoption("--release", help="compare with kernel RELEASE under profile linux-RELEASE")
    parser.addoption("--budget", action="store_true", help="hold times against tests/budget.toml")


def pytest_configure(config: pytest.Config) -> None:
    """Records durations; puts the release of `--release` in place of the default kernel."""
    config.pluginmanager.register(durations.Recorder(config))
    release = config.getoption("--release")
    if release is not None:
        kernel.RELEASE = release
        meant = built.kernel_named(release)
        folder, default = built.kernels_folder(), built._default
        # Tests of the cache have folders of their own.
        built._default = lambda: meant if built.kernels_folder() == folder else default()
        # The package has a function of the module's name.
        loading = importlib.import_module("dumbbell.experiment.load")
        parsed = loading._parsed
        loading.__dict__["_parsed"] = lambda text, file: kernel.with_profile(parsed(text, file))


@pytest.hookimpl(trylast=True)  # Not asked for what `-m` has left out.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests whose needs (markers `kernel`, `root`, `peers`) are not met here.

    Files that take long are first: the last one decides when all processes are done.
    """
    meant = durations.budget().files_s
    items.sort(key=lambda item: -meant.get(item.nodeid.partition("::")[0], 0.0))
    _skip_without_kernel(items)
    for item in items:
        reason = differences.KNOWN.get(kernel.RELEASE, {}).get(item.nodeid.rpartition("/")[2])
        if reason is not None:
            item.add_marker(pytest.mark.xfail(strict=True, reason=reason))
        if item.get_closest_marker("root") is not None and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs the rights of root"))
        wanted = [name for marker in item.iter_markers("peers") for name in marker.args]
        lacking = [name for name in wanted if shutil.which(name, path=PATH) is None]
        if lacking:
            item.add_marker(pytest.mark.skip(reason=f"{lacking[0]} is not installed"))


def _skip_without_kernel(items: list[pytest.Item]) -> None:
    """Without a usable kernel one test fails and says why: that marked `kernel(says_why=True)`."""
    needing = [
        (item, marker)
        for item in items
        if (marker := item.get_closest_marker("kernel")) is not None
    ]
    if needing and (problem := kernel.problem()) is not None:
        first = problem.splitlines()[0]
        for item, marker in needing:
            if not marker.kwargs.get("says_why"):
                item.add_marker(pytest.mark.skip(reason=f"no usable kernel: {first}"))


def _reasons(reporter: pytest.TerminalReporter) -> Counter[str]:
    """Reasons for skipping, with the number of tests."""
    return Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in reporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )


def is_meant(reason: str) -> bool:
    """Returns true if a reason names a program or kernel that is meant to be there."""
    if reason.startswith(MEANT_KERNELS):
        return True
    return not reason.startswith(tuple(NOT_MEANT)) and not set(MEANT).isdisjoint(reason.split())


def _why_not(reason: str) -> str:
    """Why continuous integration does without; empty if it does not."""
    return next((f" ({why})" for begin, why in NOT_MEANT.items() if reason.startswith(begin)), "")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails in continuous integration if something that it is meant to have was missing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and reporter and any(map(is_meant, _reasons(reporter))):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was not tested, and why: a line per reason."""
    reasons = _reasons(terminalreporter)
    if reasons:
        terminalreporter.section("not tested", yellow=True, bold=True)
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count} skipped: {reason}{_why_not(reason)}")
            if os.environ.get("CI") == "true" and is_meant(reason):
                terminalreporter.write_line(
                    "    an error with CI=true: scripts/test-tools.sh, `dumbbell kernel build`",
                    red=True,
                )


@pytest.fixture(autouse=True)
def _browser_where_it_is_needed(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("browser") is not None:
        request.getfixturevalue("browser")


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
