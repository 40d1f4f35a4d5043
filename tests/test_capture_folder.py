"""`dumbbell capture FOLDER`: a line for each capture."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from tests.segments import pcap, transfer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder `f`: two captures, a file that only looks like one, and another."""
    monkeypatch.chdir(tmp_path)
    place = Path("f")
    (place / "below").mkdir(parents=True)
    pcap(transfer(1001, 3000), place / "a.pcap")
    pcap(transfer(1002, 2000), place / "below" / "b.pcap")
    (place / "c.gz").write_bytes(gzip.compress(b"no capture"))
    (place / "d.txt").write_text("text", encoding="utf-8")
    return place


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, ["capture", *map(str, words)])


def test_each_capture_of_a_folder_has_a_line(folder: Path) -> None:
    done = run(folder)
    assert done.exit_code == 0, done.output
    lines = {line.split()[0]: line for line in done.output.splitlines() if "f/" in line}
    assert set(lines) == {"f/a.pcap", "f/below/b.pcap", "f/c.gz:"}
    words = lines[str(folder / "a.pcap")].split()
    assert words[1] == "9" and words[-2:] == ["raw", "IP"]
    assert "neither pcap, pcapng nor snoop" in lines["f/c.gz:"]


def test_the_captures_of_a_folder_are_written_as_several_files_are(folder: Path) -> None:
    done = run(folder, "--json")
    names = [one["file"]["name"] for one in json.loads(done.stdout)["files"]]
    assert names == [str(folder / "a.pcap"), str(folder / "below/b.pcap")]
    assert run(folder, "--csv").stdout.count("1002") == 2


def test_a_folder_without_captures_is_one_message(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.exit_code == 2
    assert "no capture in this folder" in " ".join(done.output.split())
