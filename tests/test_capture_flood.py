"""Captures of very many connections: memory, and JSON in pieces."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from dumbbell.capture import survey, survey_json
from dumbbell.cli import app
from tests.helpers import ROOT


def _flood() -> ModuleType:
    path = ROOT / "benchmarks" / "capture_flood.py"
    spec = importlib.util.spec_from_file_location("capture_flood", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_json_is_printed_in_pieces_and_is_what_the_survey_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dumbbell.capture.pieces.PIECE", 7)
    flood = _flood()
    capture = tmp_path / "flood.pcap"
    flood.write(capture, 50)
    expected = survey(capture)
    assert len(expected["conversations"]) == 100
    assert json.loads("".join(survey_json(capture))) == expected
    done = CliRunner().invoke(app, ["capture", str(capture), str(capture), "--json", "-"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["files"] == [expected, expected]


@pytest.mark.slow
def test_a_flood_takes_little_memory_per_connection(tmp_path: Path) -> None:
    flood, used = _flood(), []
    for syns in (1000, 101_000):
        capture = tmp_path / f"{syns}.pcap"
        flood.write(capture, syns)
        used.append(flood.most_resident_bytes([sys.executable, "-c", flood.SURVEY, str(capture)]))
    # It was 1900; now 500.
    assert (used[1] - used[0]) / 100_000 < 800
