"""Event traces that are damaged, cut off, or none at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.trace import TraceError, read_trace
from tests.test_trace import GOOD, TRACES, plain


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("+ 1.1 0 1 tcp 1000 ------- 1\n", "line 2: 8 fields instead of 12: source is missing"),
        ("+ -1 0 1 tcp 1000 ------- 1 0.0 1.0 0 1\n", "line 2: the time is negative: '-1'"),
        ("+ 0.5 0 1 tcp 1000 ------- 1 0.0 1.0 0 1\n", "line 2: the time goes back by 0.5 s"),
        ("+ 2 0 1 tcp big ------- 1 0.0 1.0 0 1\n", "line 2: field 6 (size) is 'big'"),
        ("s 2.0 _0_ AGT --- 0 cbr 512 [0 0 0 0]\n", "line 2: size or addresses are missing"),
        ("f 2.0 _0_ RTR --- 0 cbr 512 [0 0 0 0]\n", "line 2: an event of routing (RTR)"),
        ("\0\1\2\3\n", "line 2: not text"),
        ("+ 2 0 1 tcp 10", "line 2: the last line is cut off: 6 fields instead of 12"),
        ("x 2 0 1\n", "line 2: it begins with 'x'; an event is one of + - r d"),
        ("y" * 20_000 + "\n", "line 2: longer than any line of a trace"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_rest_kept(
    lines: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.tr"
    after = "" if not lines.endswith("\n") else "r 3 0 1 tcp 1000 ------- 1 0.0 1.0 0 0\n"
    path.write_bytes((GOOD + lines + after).encode("latin-1"))
    trace = read_trace(path)
    (problem,) = trace.about["problems"]
    assert f"line {problem['line']}: {problem['message']}".startswith(message)
    assert trace.about["events"] == 1 + bool(after)
    assert trace.tables["pipes"]["arrived_packets"].to_list() == [1]


@pytest.mark.parametrize(
    "line",
    [
        "d 2 0 1 tcp 1000 ------- 1 0.0 1.0 0 0",
        "e 2 0 1 tcp 1000 ------- 1 0.0 1.0 0 0",
        "  d 2 0 1 tcp 1000 ------- 1 0.0 1.0 0 0",
        "d\t2\t0\t1\ttcp\t1000\t-------\t1\t0.0\t1.0\t0\t0\r",
        "d 0.99995 0 1 tcp 1000 ------- 1 0.0 1.0 0 0",
    ],
)
def test_drops_are_read_however_they_are_written(line: str, tmp_path: Path) -> None:
    path = tmp_path / "some.tr"
    path.write_text("\ufeff" + GOOD + line + "\n", encoding="utf-8")
    trace = read_trace(path)
    assert trace.about["events"] == 2 and trace.about["dropped_packets"] == 1
    for problem in trace.about["problems"]:
        assert "the time of the line before is used" in problem["message"]


def test_satellites_drop_to_nobody(tmp_path: Path) -> None:
    path = tmp_path / "some.tr"
    path.write_text("d 848.0 14 -1 tcp 1000 ------- 1 0.0 1.0 0 0\n", encoding="utf-8")
    assert read_trace(path).about["links"] == [{"pipe": "14--1/forward", "from": "14", "to": "-1"}]


@pytest.mark.slow
def test_a_trace_that_comes_through_a_pipe_is_whole(tmp_path: Path) -> None:
    whole = read_trace(plain("tcpecn.tr", tmp_path))
    command = f"{sys.executable} -m dumbbell trace <(cat {tmp_path}/tcpecn.tr) --json -"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["events"] == whole.about["events"]


def test_a_compressed_trace_that_breaks_off_is_read_to_there(tmp_path: Path) -> None:
    whole = read_trace(TRACES / "tcpecn.tr.gz")
    path = tmp_path / "cut.tr.gz"
    path.write_bytes((TRACES / "tcpecn.tr.gz").read_bytes()[:12_000])
    found = read_trace(path)
    assert 1000 < found.about["events"] < whole.about["events"]
    assert "breaks off" in found.about["problems"][-1]["message"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"V -t * -v 1.0a5 -a 0\n", "a nam trace"),
        (b"s 2.0 _0_ MAC --- 0 cbr 512\n", "below routing"),
        (b"\x7fELF\x02\x01\x01\0\0\0\n", "not text"),
        (b"hello\n", "'hello'"),
    ],
)
def test_what_is_no_trace_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "no.tr"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        read_trace(path)
    found = CliRunner().invoke(app, ["trace", str(path)])
    assert found.exit_code == 2 and message in found.stderr
    assert "Traceback" not in found.output
