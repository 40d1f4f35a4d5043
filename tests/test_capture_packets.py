"""`dumbbell capture --packets`, `--host` and `--port`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from dumbbell.capture import packets, survey
from dumbbell.cli import app
from tests.segments import ACK, frame, pcap, transfer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two transfers; of the first, a segment is sent a second time after 2 s."""
    frames = transfer(1001, 3000) + transfer(1002, 2000, at=1)
    frames.append((2.0, frame(80, 1001, ACK, 2001, 1, 1000)))
    return pcap(sorted(frames, key=lambda one: one[0]), tmp_path / "c.pcap")


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(app, ["capture", *map(str, words)])


def test_packets_are_printed_with_what_each_was(file: Path) -> None:
    done = run(file, "--packets")
    assert done.exit_code == 0, done.output
    table = pl.read_csv(io.StringIO(done.stdout))
    whole = packets(file)
    for name in ("frame", "payload_bytes", "what", "spurious"):
        theirs = [None if one == "" else one for one in whole[name]]
        assert table[name].to_list() == theirs, name
    last = table.row(-1, named=True)
    assert (last["from"], last["to"]) == ("10.0.0.1:80", "10.0.0.1:1001")
    assert (last["what"], last["flags"], last["payload_bytes"]) == ("retransmitted", "ACK", 1000)
    assert table.row(1, named=True)["flags"] == "SYN ACK"


@pytest.mark.slow
def test_packets_of_one_connection_or_port_go_to_a_file(file: Path, tmp_path: Path) -> None:
    for words in (["--connection", "1"], ["--port", "1002"]):
        out = tmp_path / "p.csv"
        done = run(file, "--packets", out, *words)
        assert done.exit_code == 0, done.output
        assert set(pl.read_csv(out)["connection"]) == {1}
        assert "TCP" in done.output
    done = run(file, file, "--packets", "--connection", "0")
    assert pl.read_csv(io.StringIO(done.stdout)).columns[:2] == ["file", "frame"]


@pytest.mark.slow
def test_only_conversations_of_a_host_and_port_are_shown(file: Path) -> None:
    done = run(file, "--csv", "--port", "1002")
    assert set(pl.read_csv(io.StringIO(done.stdout))["connection"]) == {1}
    shown = run(file, "--host", "10.0.0.1", "--port", "1001").output
    assert "1001" in shown and "1002" not in shown
    assert "10.0.0.1" not in run(file, "--host", "2001:DB8::1").output


def test_only_frames_of_a_stretch_of_time_count_and_keep_their_numbers(
    file: Path, tmp_path: Path
) -> None:
    done = run(file, "--json", "--from", "1 s", "--to", "1.03 s")
    found = json.loads(done.stdout)
    assert (found["file"]["packets"], found["file"]["first_ns"]) == (3, 1_000_000_000)
    assert {row["port_a"] for row in found["conversations"] if row["port_a"]} == {1002}
    table = pl.read_csv(io.StringIO(run(file, "--packets", "--from", "1030 ms").stdout))
    assert table["frame"].to_list() == [13, 14, 15, 16, 17]
    page = tmp_path / "p.html"
    assert run(file, "--html", page, "--from", "1.5 s").exit_code == 0
    assert '"frame":[17]' in page.read_text(encoding="utf-8")
    assert survey(file)["file"]["packets"] == 17


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--packets", "--json"], "--json and --packets cannot both be printed"),
        (["--packets", "--connection", "7"], "--connection 7: there are 0 to 1"),
        (["--connection", "0"], "it needs --html or --packets"),
        (["--host", "example.org"], "--host example.org: no address"),
        (["--from", "soon"], "--from soon: "),
        (["--from", "2 s", "--to", "1 s"], "--to 1 s: it should be later than --from"),
        (["--port", "70000"], "less than or equal to 65535"),
    ],
)
def test_what_cannot_be_is_one_message(words: list[str], said: str, file: Path) -> None:
    done = run(file, *words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_packets_are_never_written_over_a_capture(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(file.read_bytes())
    done = run(file, f"--packets={copy}")
    assert done.exit_code == 2
    assert copy.read_bytes() == file.read_bytes()
