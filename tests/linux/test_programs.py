"""Programs of the user in a guest: what they see, how they end, and what is kept."""

from __future__ import annotations

import json
import platform
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.cli.app import app
from dumbbell.engines.linux.launch import KEEP
from dumbbell.engines.programs import PATH
from dumbbell.errors import DumbbellError, StoreWarning
from dumbbell.summary.programs import programs, said
from tests.helpers import ROOT

pytestmark = pytest.mark.kernel

FILE = """\
dumbbell: 1
name: programs
template: {dumbbell: {rate: 20 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
programs:
PROGRAMS
duration: DURATION
"""


def installed(name: str) -> pytest.MarkDecorator:
    missing = shutil.which(name, path=PATH) is None
    return pytest.mark.skipif(missing, reason=f"{name} is not installed")


def ran(
    folder: Path, text: str, duration: str = "1 s", more: str = "", seed: int = 1
) -> dumbbell.Results:
    file = folder / "e.yaml"
    file.write_text(
        FILE.replace("PROGRAMS", text).replace("DURATION", duration) + more, encoding="utf-8"
    )
    return dumbbell.run(file, engine="linux", seed=seed)


def of(results: dumbbell.Results, name: str) -> dict[str, object]:
    return results.programs.filter(pl.col("program") == name).row(0, named=True)


def test_a_program_sees_its_host_and_virtual_time(tmp_path: Path) -> None:
    results = ran(
        tmp_path,
        """
  - name: look
    on: s1
    run: [sh, -c, "hostname; pwd; cat /etc/hosts; sleep 0.25; echo $$WORD; cat; echo no >&2"]
    start: 100 ms
    environment: {WORD: hello}
    input: from stdin
""",
    )
    row = of(results, "look")
    assert (row["outcome"], row["exit_code"], row["host"]) == ("exited", 0, "s1")
    lines = str(row["output"]).split("\n")
    assert lines[:2] == ["s1", "/tmp/look"]
    assert re.search(r"^10\.0\.0\.\d+ d1$", str(row["output"]), re.MULTILINE)
    assert lines[-2:] == ["hello", "from stdin"]
    assert row["errors"] == "no\n"
    # It computes in no time: 250 ms of sleep and the timer's slack.
    assert isinstance(row["start_ns"], int) and isinstance(row["end_ns"], int)
    assert 100e6 <= row["start_ns"] < 100.1e6
    assert 250e6 <= row["end_ns"] - row["start_ns"] < 251e6


#: A server and a client of one connection, in Python.
TRANSFER = """
  - {name: server, on: d1, run: [python3, -c, "import socket\\n\
s = socket.create_server(('', 5000))\\nc, _ = s.accept()\\nwhile c.recv(65536): pass\\n"]}
  - {name: client, on: s1, start: 500 ms, run: [python3, -c, "import socket\\n\
c = socket.create_connection(('{d1}', 5000))\\nc.sendall(bytes(2_000_000))\\n"]}
"""


def test_sockets_of_programs_are_sampled(tmp_path: Path) -> None:
    """As `ss -ti` shows them, on both hosts; nothing is acknowledged that was not received."""
    results = ran(tmp_path, TRANSFER, "3 s", "sampling: {interval: 50 ms, keep: [samples]}\n")
    sockets = results.sockets
    ends = {
        host: rows.sort("time_ns")
        for (host,), rows in sockets.partition_by("host", as_dict=True).items()
    }
    assert set(ends) == {"s1", "d1"}
    assert ends["s1"]["remote"].unique().to_list() == ends["d1"]["local"].unique().to_list()
    assert set(sockets["congestion_control"]) == {"cubic"}
    both = ends["s1"].join(ends["d1"], on="time_ns", suffix="_server")
    assert both.height > 15
    assert (both["acked_bytes"] <= both["received_bytes_server"] + 1).all()  # The SYN counts.
    assert both["acked_bytes"].is_sorted() and both["acked_bytes"].max() > 1_500_000
    assert (both["rtt_min_ns"] >= 20_000_000).all()
    rate = both["delivery_rate_bps"].max()
    assert isinstance(rate, int) and 17e6 < rate < 20e6


def test_a_program_has_no_rights_and_changes_no_file(tmp_path: Path) -> None:
    command = (
        "touch /etc/x-of-dumbbell; ip link set lo down; ls /run/out; touch own && echo kept > own"
    )
    results = ran(tmp_path, f'  - {{name: p, on: s1, run: [sh, -c, "{command}"]}}')
    errors = str(of(results, "p")["errors"])
    assert "Read-only file system" in errors
    assert not Path("/etc/x-of-dumbbell").exists()
    assert "Operation not permitted" in errors or "not permitted" in errors
    (file,) = results.program_files.iter_rows(named=True)
    assert (file["path"], file["size_bytes"], file["content"]) == ("own", 5, "kept\n")


def test_a_server_is_stopped_with_the_run_and_one_that_resists_is_killed(tmp_path: Path) -> None:
    results = ran(
        tmp_path,
        """
  - {name: server, on: d1, run: "sleep 1000"}
  - {name: early, on: d1, run: "sleep 1000", stop: 300 ms}
  - {name: deaf, on: d1, run: [sh, -c, "trap '' TERM; while sleep 0.1; do :; done"], stop: 300 ms}
  - {name: late, on: s1, run: "sleep 1000", start: 999 ms}
""",
        "2 s",
    )
    assert {row["outcome"] for row in results.programs.iter_rows(named=True)} == {"stopped"}
    for name in ("server", "late"):  # At the end of the run, not when its taps are read.
        row = of(results, name)
        assert row["signal"] == 15 and isinstance(row["end_ns"], int)
        assert 2000e6 <= row["end_ns"] < 2001e6
    early, deaf = of(results, "early"), of(results, "deaf")
    assert isinstance(early["end_ns"], int) and isinstance(deaf["end_ns"], int)
    assert early["signal"] == 15 and 300e6 <= early["end_ns"] < 301e6
    assert deaf["signal"] == 9 and 1300e6 <= deaf["end_ns"] < 1301e6


def test_a_program_that_fills_its_folder_can_still_say_so(tmp_path: Path) -> None:
    """Files of all programs have 128 MB, each at most 16 MiB; outputs have a place of their own."""
    loop = "for i in 1 2 3 4 5 6 7 8 9 10; do head -c 15000000 /dev/zero > p$$i || exit 1; done"
    row = of(ran(tmp_path, f'  - {{name: p, on: s1, run: [sh, -c, "{loop}"]}}'), "p")
    assert row["exit_code"] == 1
    assert "No space left on device" in str(row["errors"])


def test_what_a_program_leaves_in_its_group_ends_with_it_and_a_daemon_with_the_run(
    tmp_path: Path,
) -> None:
    results = ran(
        tmp_path,
        """
  - {name: group, on: s1, run: [sh, -c, "(sleep 0.2; echo late > late) & sleep 0.1; echo over"]}
  - {name: daemon, on: s1, run: [sh, -c, "setsid sh -c 'sleep 0.2; echo late > late' & sleep 0.1"]}
""",
    )
    assert str(of(results, "group")["output"]) == "over\n"
    assert results.program_files["program"].to_list() == ["daemon"]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("[sh, -c, 'echo why >&2; exit 3']", "program p: exit code 3, expected 0; it said: why"),
        ("[sh, -c, 'kill -9 $$$$']", "program p: killed"),
        ("sleep 9", "it still ran when it was to stop (signal 15), expected 0; it said nothing"),
        ("[sh, -c, 'exec head -c 30000000 /dev/zero']", "more than 16 MiB"),
        ("[sh, -c, 'exec nothing-like-this']", "program p: exit code 127"),
    ],
)
def test_an_unexpected_end_is_one_message(run: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DumbbellError) as raised:
        ran(tmp_path, f"  - {{name: p, on: s1, run: {run}, expect: {{exit: 0}}}}")
    assert message in str(raised.value)


def test_a_failure_loses_no_other_run(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    text = '  - {name: p, on: s1, run: [sh, -c, "exit $code"], expect: {exit: 0}}'
    more = "factors: {code: [0, 1]}\n"
    text = FILE.replace("PROGRAMS", text).replace("DURATION", "1 s") + more
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DumbbellError, match=r"code=1, repeat 0.*exit code 1, expected 0"):
        dumbbell.run(file, engine="linux", store=tmp_path / "store")
    with pytest.warns(StoreWarning, match="1 of 2 runs is not finished"):
        kept = dumbbell.load_results(tmp_path / "store", partial=True)
    assert kept.programs["exit_code"].to_list() == [0]


@installed("python3")
def test_a_loop_that_waits_for_the_network_lets_others_run(tmp_path: Path) -> None:
    """Such programs busy-wait on the clock; the network, another program and flows go on."""
    turns = "iter(lambda: time.monotonic() < begin + 0.02, False)"
    spin = f"import time; begin = time.monotonic(); [0 for _ in {turns}]"
    results = ran(
        tmp_path,
        f"""
  - {{name: spin, on: s1, run: [python3, -c, "{spin}"], expect: {{exit: 0}}}}
  - {{name: tick, on: s1, run: [sh, -c, "for i in 1 2 3 4 5; do sleep 0.01; done; date +%N"]}}
""",
        more="flows: [{name: probe, from: s1, to: d1, ping: {interval: 10 ms}}]\n",
    )
    ended = of(results, "tick")["end_ns"]
    assert isinstance(ended, int) and ended < 60e6
    (rtt,) = results.flows["rtt_mean_ns"].to_list()
    assert rtt == pytest.approx(20e6, rel=0.02)


#: Reads the time stamp counter (RDTSC, RDTSCP) and the clock, without a compiler.
COUNTER = """\
import ctypes, mmap, time
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
join = bytes.fromhex("48c1e2204809d0c3")  # rax |= rdx << 32; return
for offset, read in ((0, "0f31"), (64, "0f01f9")):
    code = bytes.fromhex(read) + join
    page[offset : offset + len(code)] = code
    counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(at + offset)
    before = time.monotonic_ns()
    ticks = [counter(), counter()]
    print(before, *ticks, time.monotonic_ns())
"""


@installed("python3")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="RDTSC is an instruction of x86-64")
def test_the_time_stamp_counter_has_virtual_time(tmp_path: Path) -> None:
    """Go's scheduler takes random numbers from it; two runs would differ."""
    rest = f"input: {json.dumps(COUNTER)}, expect: {{exit: 0}}"
    results = ran(tmp_path, f"  - {{name: counter, on: s1, run: [python3, '-'], {rest}}}\n")
    lines = str(of(results, "counter")["output"]).splitlines()
    assert len(lines) == 2
    for line in lines:
        before, first, second, after = map(int, line.split())
        assert before < first < second < after < before + 10_000


@installed("ping")
def test_ping_measures_the_base_rtt(tmp_path: Path) -> None:
    results = ran(tmp_path, '  - {name: p, on: s1, run: "ping -c 3 -i 0.2 d1"}', "2 s")
    found = re.search(r"= ([\d.]+)/([\d.]+)/", str(of(results, "p")["output"]))
    assert found is not None
    # 56 bytes of payload take 39 us on a wire of 20 Mbit/s, there and back.
    assert 20 <= float(found[1]) <= float(found[2]) < 20.2


@installed("iperf3")
def test_iperf3_reports_what_passes_the_tap(tmp_path: Path) -> None:
    text = """
  - {name: server, on: d1, run: "iperf3 -s -1", expect: {exit: 0}}
  - {name: client, on: s1, run: "iperf3 -c {d1} -t 10 -J", start: 500 ms, expect: {exit: 0}}
"""
    results = ran(tmp_path, text, "13 s")
    report = json.loads(str(of(results, "client")["output"]))
    received = report["end"]["sum_received"]
    (pipe,) = results.pipes.filter(pl.col("pipe") == "r2-d1/forward").iter_rows(named=True)
    # A frame of 1514 bytes carries 1448 of payload; the control connection has a few kB.
    carried = pipe["left_bytes"] * 1448 / 1514
    assert received["bytes"] == pytest.approx(carried, rel=0.005)
    # Law: no more than the line carries.
    assert received["bits_per_second"] <= 20e6 * 1448 / 1514 * 1.001
    (row,) = [one for one in programs(results) if one.name == "client"]
    assert row.said.startswith(f"{received['bits_per_second'] * 1e-6:.4g} Mbit/s, ")
    # Equal seeds give equal bytes; another seed gives another cookie.
    again = ran(tmp_path, text, "13 s")
    assert again.programs.equals(results.programs)
    assert again.runs["digest"].to_list() == results.runs["digest"].to_list()
    other = ran(tmp_path, text, "13 s", seed=2)
    assert not other.programs["output"].equals(results.programs["output"])


@installed("iperf3")
def test_iperf3_beside_a_built_in_flow_shares_the_line(tmp_path: Path) -> None:
    text = """
  - {name: server, on: d1, run: "iperf3 -s -1"}
  - {name: client, on: s1, run: "iperf3 -c {d1} -t 8 -J", start: 500 ms}
"""
    more = "flows: [{name: own, from: s1, to: d1, tcp: cubic}]\ntaps: [{at: r1, link: s1-r1}]\n"
    results = ran(tmp_path, text, "10 s", more)
    report = json.loads(str(of(results, "client")["output"]))
    theirs = report["end"]["sum_received"]["bits_per_second"]
    ours = results.flows["delivered_bytes"].item() * 8 / 10
    assert theirs > 0 and ours > 0
    assert theirs * 0.8 + ours <= 20e6 * 1448 / 1514


@installed("curl")
@installed("python3")
def test_the_example_of_a_web_server() -> None:
    results = dumbbell.run(ROOT / "examples/web-server.yaml", engine="linux")
    times = {}
    for row in results.programs.filter(pl.col("program") == "client").iter_rows(named=True):
        found = re.fullmatch(r"1000000 bytes in ([\d.]+) s", row["output"])
        assert found is not None, row["output"]
        times[row["queue"]] = float(found[1])
    # 1 MB takes 0.84 s on an idle line of 10 Mbit/s; behind a full FIFO it waits for others.
    assert 0.84 < times["fq_codel"] < times["pfifo"]


def test_what_a_program_said_is_one_line() -> None:
    assert said("a\n\nb\n---\n", "") == "b"
    assert said("", "only errors\n") == "only errors"
    assert said("{}", "") == "{}"
    assert said('{"error": "no", "end": {}}', "") == "no"
    assert said("{" * 100_000, "")[:1] == "{"
    assert said(json.dumps(_iperf3(3)), "") == "5 Mbit/s, 3 retransmissions"
    both = json.dumps(_iperf3(3, back=True))
    assert said(both, "") == "5 Mbit/s, 3 retransmissions; back 2 Mbit/s"


def _iperf3(retransmits: int, *, back: bool = False) -> dict[str, Any]:
    """What iperf3 prints of a second: a stream, and one in the other direction."""

    def stream(socket: int, count: int, *, forward: bool) -> dict[str, Any]:
        half = {"socket": socket, "start": 0, "end": 1, "seconds": 1, "bytes": count}
        half |= {"bits_per_second": 8 * count, "sender": forward}
        return {"sender": {**half, "retransmits": retransmits}, "receiver": half}

    streams = [stream(5, 625_000, forward=True)]
    streams += [stream(7, 250_000, forward=False)] if back else []
    return {"start": {"version": "iperf 3.12"}, "intervals": [], "end": {"streams": streams}}


def test_what_a_guest_left_is_kept_also_if_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEEP, "")  # Restored at the end.
    file = tmp_path / "e.yaml"
    text = FILE.replace("DURATION", "1 s")
    for number, (command, code) in enumerate((("exit 0", 0), ("exit 1", 1))):
        line = f"  - {{name: p, on: s1, run: [sh, -c, {command}], expect: {{exit: 0}}}}"
        file.write_text(text.replace("PROGRAMS", line), encoding="utf-8")
        kept = tmp_path / str(number)
        words = ["run", str(file), "--engine", "linux", "--store", str(tmp_path / "store")]
        done = CliRunner().invoke(app, [*words, "--keep", str(kept)])
        assert (done.exit_code != 0) == bool(code)
        (folder,) = kept.iterdir()
        assert json.loads((folder / "scenario.json").read_text())["name"] == "programs"
        assert (folder / "console.txt").exists()
        assert (folder / ("error.json" if code else "flows.arrow")).exists()
    done = CliRunner().invoke(app, ["run", str(file), "--keep", str(tmp_path / "sim")])
    assert done.exit_code == 2 and "has no folder" in done.output
