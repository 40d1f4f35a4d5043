"""Programs of tests: installed by one script, and missed in continuous integration."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import MEANT, NOT_MEANT, is_meant
from tests.helpers import ROOT

#: A test that is skipped without the program `ns`.
SKIPPED = ["tests/test_benchmarks.py", "-m", "peers", "-p", "no:cacheprovider"]


def test_the_script_installs_what_is_meant_to_be_there() -> None:
    text = (ROOT / "scripts" / "test-tools.sh").read_text(encoding="utf-8")
    block = re.search(r"^tools=\($(.*?)^\)$", text, re.DOTALL | re.MULTILINE)
    assert block is not None
    assert {*re.findall(r"([a-z0-9-]+):", block[1]), "python3"} == set(MEANT)


def test_each_program_of_a_test_is_meant_to_be_there_or_has_a_reason() -> None:
    named: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for inside in re.findall(r"\bmark\.peers\(([^)*]*)\)|^@installed\(([^)]*)\)", text, re.M):
            named |= set(re.findall(r'"([a-z0-9]+)"', "".join(inside)))
    assert named >= {"iperf3", "ping", "ns", "npm"}
    assert named <= {*MEANT, *NOT_MEANT}


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("iperf3 is not installed", True),
        ("no chromium is installed", True),
        ("no usable kernel: no kernel is built", True),
        ("dumbbell kernel build --release 7.3", True),
        ("docs/l4s.md has the command", False),
        ("npm is not installed", False),
        ("needs the rights of root", False),
    ],
)
def test_what_is_meant(reason: str, expected: bool) -> None:
    assert is_meant(reason) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "expected"), [("true", 1), ("", 0)])
def test_a_skipped_test_fails_in_continuous_integration(ci: str, expected: int) -> None:
    """The PATH has no program `ns`."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *SKIPPED],
        cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "CI": ci, "PATH": "/nowhere"},
    )  # fmt: skip
    assert "skipped: ns is not installed" in done.stdout
    assert ("an error with CI=true" in done.stdout) == bool(expected)
    assert done.returncode == expected, done.stdout + done.stderr
