"""Causes of retransmissions beside those of another analyser, on captures of a clone of zeek/zeek.

`DUMBBELL_ZEEK=PATH pytest tests/test_capture_labelled.py` runs the test.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT

CLONE = os.environ.get("DUMBBELL_ZEEK", "")


def _script() -> Any:
    path = ROOT / "studies" / "captures" / "labelled.py"
    spec = importlib.util.spec_from_file_location("capture_labelled", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not CLONE, reason="DUMBBELL_ZEEK names no clone of github.com/zeek/zeek")
def test_all_labelled_retransmissions_are_found_and_differences_are_decided() -> None:
    labelled = _script()
    found = labelled.compare(Path(CLONE))
    assert found.captures == found.same_count == 103
    assert found.data == (1180, 1180)
    assert found.missed == []
    assert found.differences == dict.fromkeys(labelled.FAST_INDEED, ("time-out", "fast"))


def test_a_log_of_labels_is_read() -> None:
    labelled = _script()
    row = ["1.5", *["-"] * 11, "15", "-", "0", "0"]
    log = "\n".join(["#fields\tts", "\t".join(row), "\t".join([*row[:12], "5", *row[13:]])])
    assert labelled.causes(log) == {"1.5": ["time-out", "none"]}
    found = labelled.Found()
    ours = [("1.5", 7, "fast", True), ("1.5", 8, "time-out", True), ("2.0", 9, "fast", False)]
    labelled._compare_one("one", labelled.causes(log), ours, found)
    assert found.differences == {("one", 7): ("time-out", "fast")}
    assert found.alone == [("one", 9, "fast")] and found.same_count == 1
    assert "| one | 7 | time-out | fast | **open** |" in labelled.report(found)
