"""Processes measured: their output, processor time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import HERE

KIB = 1024
POLL_S = 0.01


@dataclass(frozen=True)
class Measured:
    """A process that ended: the JSON that it printed, and what it cost.

    Attributes:
        answer: The last line of its output that is a JSON object.
        cpu_s: Processor time, user and system.
        peak_bytes: Peak memory.
    """

    answer: dict[str, Any]
    cpu_s: float
    peak_bytes: int


class Failed(Exception):
    """A process failed, or took longer than it may."""


def measure(command: Sequence[str | Path], limit_s: float = 3600) -> Measured:
    """Runs a process.

    Args:
        command: Program and arguments.
        limit_s: Wall-clock time after which the process is killed.

    Raises:
        Failed: It failed, was killed, or printed no JSON object.
    """
    words = [str(part) for part in command]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        deadline = time.monotonic() + limit_s
        with subprocess.Popen(words, stdout=out, stderr=said) as process:
            # wait4 measures this child; getrusage would give the maximum of all children so far.
            while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
                if time.monotonic() > deadline:
                    process.kill()
                time.sleep(POLL_S)
            process.returncode = os.waitstatus_to_exitcode(ended[1])
        out.seek(0)
        said.seek(0)
        lines = [line for line in out if line.startswith("{")]
        if process.returncode != 0 or not lines:
            why = ["", f"exit code {process.returncode}", *said.read().split("\n")]
            raise Failed(f"{' '.join(words)}: {[line for line in why if line.strip()][-1]}")
    usage = ended[2]
    cpu_s = usage.ru_utime + usage.ru_stime
    return Measured(json.loads(lines[-1]), cpu_s, usage.ru_maxrss * KIB)


def child(*arguments: str | Path) -> Measured:
    """Runs a command of `child.py`."""
    return measure([sys.executable, HERE / "child.py", *arguments])
