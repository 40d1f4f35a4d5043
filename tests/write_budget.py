"""Writes `tests/budget.toml` from the record of the last `make test`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from tests.durations import BUDGET, RECORD
from tests.helpers import ROOT

#: Room for machines on which system calls and guests are dearer than the fixed sum.
MARGIN = 1.2
#: Files that take more have a line of their own.
LONG_S = 20.0
HEAD = """\
# Processor time that `make test` may take (tests/durations.py), in seconds of a machine that needs
# `calibration_s` for the fixed sum. Files without a line have `other_s`. Written from the record of
# `make test` (.pytest_cache/v/dumbbell/durations) by `python -m tests.write_budget`.
"""


def text(calibration_s: float, files_s: Mapping[str, float]) -> str:
    """The budget of a record: what was taken with the margin, rounded up to tens of seconds."""
    longest = sorted(files_s.items(), key=lambda one: -one[1])
    lines = [f'"{file}" = {_tens(taken)}' for file, taken in longest if taken > LONG_S]
    head = f"calibration_s = {calibration_s:.4f}\ntotal_s = {_tens(sum(files_s.values()))}\n"
    return f"{HEAD}{head}other_s = {LONG_S:.0f}\n\n[files]\n" + "".join(f"{one}\n" for one in lines)


def _tens(taken_s: float) -> int:
    return 10 * math.ceil(round(MARGIN * taken_s, 3) / 10)


def main() -> None:
    """Writes the file."""
    record = json.loads((ROOT / ".pytest_cache" / "v" / RECORD).read_text(encoding="utf-8"))
    files_s = {file: one["processor_s"] for file, one in record["files"].items()}
    BUDGET.write_text(text(record["calibration_s"], files_s), encoding="utf-8")


if __name__ == "__main__":
    main()
