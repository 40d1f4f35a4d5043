"""The engine `linux`: a real kernel beside laws and beside the simulator.

`make test` builds the kernel first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell._core import Cancelled, Monitor
from dumbbell.engines import Run, engine_named
from dumbbell.engines.linux.launch import FOLDER_PREFIX, boot_command
from dumbbell.engines.linux.probe import probe
from dumbbell.errors import EngineError, ExperimentError
from dumbbell.experiment import load_text
from dumbbell.results import Results

pytestmark = pytest.mark.kernel

BASE = """\
dumbbell: 1
name: kernel
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 50 packets}}
flows:
  - {from: s1, to: d1, tcp: cubic}
taps: [{at: s1, link: s1-r1}]
sampling: {interval: 20 ms}
duration: 10 s
"""


def made(tmp_path: Path, text: str, engine: str = "linux", seed: int = 1) -> Results:
    file = tmp_path / "e.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file, engine=engine, seed=seed)


def one_run(text: str, seed: int = 1) -> Run:
    cell = load_text(text, Path("e.yaml")).cells[0]
    return Run("id", cell.scenario, seed, cell.duration_ns)


def guests(launcher: int) -> list[int]:
    """Processes of kernels that a process started: their folder has its number in its name."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "cmdline").read_bytes()
                place = (folder / "cwd").readlink().name
            except OSError:
                continue
            started = place.startswith(f"{FOLDER_PREFIX}{launcher}-")
            if started and b"init=/proc/self/cwd/init" in text:
                found.append(int(folder.name))
    return found


def test_a_flow_obeys_the_law_and_agrees_with_the_simulator(tmp_path: Path) -> None:
    ours = made(tmp_path, BASE).flows.row(0, named=True)
    theirs = made(tmp_path, BASE, "sim").flows.row(0, named=True)
    assert 20_000_000 <= ours["tap_rtt_min_ns"] < 25_000_000
    goodput = ours["delivered_bytes"] * 8e-6 / 10
    assert 9.2 < goodput <= 10 * 1448 / 1514
    assert ours["delivered_bytes"] == pytest.approx(theirs["delivered_bytes"], rel=0.01)
    assert ours["tap_rtt_mean_ns"] == pytest.approx(theirs["tap_rtt_mean_ns"], rel=0.1)
    assert ours["dropped_packets"] > 0  # 50 packets are less than slow start overshoots


PING = """\
dumbbell: 1
name: ping
hosts: {a: {}, b: {}}
links: [{between: [a, b], delay: 5 ms}]
flows: [{from: a, to: b, ping: {interval: 100 ms}}]
duration: 2 s
"""


def test_ping_takes_the_propagation_delay_to_the_microsecond(tmp_path: Path) -> None:
    row = made(tmp_path, PING).flows.row(0, named=True)
    # Each reading of the clock by a process takes 256 ns.
    assert 0 <= row["rtt_min_ns"] - 10_000_000 < 2_500
    assert row["rtt_mean_ns"] < row["rtt_min_ns"] + 10_000


def test_the_same_seed_gives_the_same_digest_and_another_another() -> None:
    engine = engine_named("linux")
    text = BASE.replace("buffer: 50 packets", "buffer: 50 packets, forward: {loss: 1 %}")
    run = one_run(text.replace("10 s", "3 s"))
    first, again = (engine.execute(run, Monitor()) for _ in range(2))
    assert first.digest == again.digest
    assert first.tables == again.tables
    other = engine.execute(one_run(text.replace("10 s", "3 s"), 2), Monitor())
    assert other.digest != first.digest


@pytest.mark.parametrize("cc", ["reno", "bic", "cubic", "bbr"])
def test_every_congestion_control_carries_a_flow(tmp_path: Path, cc: str) -> None:
    text = BASE.replace("tcp: cubic", f"tcp: {{congestion_control: {cc}, bytes: 1 MB}}")
    row = made(tmp_path, text).flows.row(0, named=True)
    assert row["delivered_bytes"] == 1 << 20
    assert row["congestion_control"] == cc
    assert row["last_delivery_ns"] <= row["end_ns"] < 3_000_000_000


def test_udp_arrives_at_its_rate(tmp_path: Path) -> None:
    text = BASE.replace("tcp: cubic", "udp: {rate: 4 Mbit/s, datagram: 4000 bytes}")
    row = made(tmp_path, text).flows.row(0, named=True)
    assert row["delivered_bytes"] * 8 / 10 == pytest.approx(4e6, rel=0.01)
    assert row["sent_packets"] == 3 * row["delivered_bytes"] / 4000 or row["dropped_packets"] == 0


@pytest.mark.parametrize("engine", ["linux", "sim"])
def test_a_program_that_sleeps_sends_late_within_linuxs_slack(tmp_path: Path, engine: str) -> None:
    text = BASE.replace("tcp: cubic", "udp: {rate: 1 Mbit/s, datagram: 1250 bytes, sleeps: true}")
    text = text.replace("interval: 20 ms", "interval: 5 s, packets: {to: 10 s}")
    results = made(tmp_path, text, engine)
    at = results.packets.filter(pl.col("payload_bytes") == 1250)["time_ns"]
    late = (at - at[0]) - pl.int_range(at.len(), eager=True) * 10_000_000
    assert 990 < at.len() <= 1000
    # All of the slack where nobody else's timer comes before, as the reading receiver's at first.
    assert late[0] == 0 and late.min() == 0 and 49_000 < late.max() < 52_000
    assert results.flows["sent_packets"][0] == at.len()


def test_links_change_when_they_are_told_to(tmp_path: Path) -> None:
    text = BASE + "links: [{name: bottleneck, forward: {changes: [{at: 5 s, rate: 1 Mbit/s}]}}]\n"
    text = text.replace("interval: 20 ms", "interval: 500 ms, keep: [samples]")
    ours, theirs = (made(tmp_path, text, engine).samples for engine in ("linux", "sim"))
    assert ours["time_ns"].to_list() == theirs["time_ns"].to_list()
    apart = ours["delivered_bytes"] - theirs["delivered_bytes"]
    assert theirs["delivered_bytes"][9] > 5_900_000 and theirs["delivered_bytes"][19] < 6_700_000
    # What waits behind a hole counts when the hole is filled: up to a queue of 50 packets apart.
    assert apart.abs().max() <= 2 * 50 * 1448


def test_what_linux_cannot_do_is_refused_with_file_and_line(tmp_path: Path) -> None:
    traced = "{shaper: {trace: {deliveries: [1, 2]}}}"
    text = BASE + f"links: [{{name: bottleneck, backward: {traced}}}]\n"
    with pytest.raises(ExperimentError, match=r"e\.yaml:9: .*shaper.*cannot do this"):
        made(tmp_path, text)


def test_a_cancelled_run_leaves_no_process() -> None:
    engine, monitor = engine_named("linux"), Monitor()
    run = one_run(BASE.replace("10 s", "3000 s"))
    raised: list[BaseException] = []

    def execute() -> None:
        try:
            engine.execute(run, monitor)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=execute)
    thread.start()
    deadline = time.monotonic() + 20
    while monitor.progress_ns < 1_000_000_000 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert guests(os.getpid())
    monitor.cancel()
    thread.join(20)
    assert isinstance(raised[0], Cancelled)
    assert not guests(os.getpid())


def test_a_guest_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUMBBELL_GUEST_TIMEOUT_S", "1")
    with pytest.raises(EngineError, match="did not finish within 1 s and was stopped"):
        engine_named("linux").execute(one_run(BASE.replace("10 s", "3000 s")), Monitor())
    assert not guests(os.getpid())


def test_a_launcher_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(BASE.replace("10 s", "3000 s"), encoding="utf-8")
    command = f"import dumbbell; dumbbell.run({str(file)!r}, engine='linux')"
    process = subprocess.Popen([sys.executable, "-c", command])
    deadline = time.monotonic() + 30
    while not guests(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert guests(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    while guests(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not guests(process.pid)


def test_the_boot_command_names_no_folder_but_the_kernels() -> None:
    """It seeds the kernel's random numbers, so it must be the same everywhere."""
    for version, modes in (
        ("6.1.192", []),
        ("6.16", ["seccomp=auto"]),
        ("7.3.4", ["seccomp=auto"]),
    ):
        words = boot_command(Path("/k/linux"), version)
        paths = [word for word in words if "/" in word.partition("=")[2]]
        assert paths == ["hostfs=/", "init=/proc/self/cwd/init"]
        assert [word for word in words if word.startswith("seccomp")] == modes


def test_the_kernel_does_all_that_is_promised() -> None:
    found = list(probe())
    assert len(found) >= 13
    assert not [one for one in found if not one.well]


def test_scripted_drops_hit_the_named_segments(tmp_path: Path) -> None:
    text = BASE.replace("tcp: cubic", "name: f, tcp: {congestion_control: reno, bytes: 100 KiB}")
    text = text.replace("50 packets", "50 packets, forward: {loss: {scripted: NTH}}")
    text = text.replace("NTH", "[{flow: f, nth: [3, 7, 30]}]")
    text = text.replace("taps: [", "taps: [{at: d1, link: r2-d1}, ")
    text = text.replace("interval: 20 ms", "interval: 20 ms, packets: {to: 10 s}")
    results = made(tmp_path, text)
    data = results.packets.filter((pl.col("direction") == "out") & (pl.col("payload_bytes") > 0))
    sent = data.filter(pl.col("tap") == "s1:s1-r1").sort("time_ns", maintain_order=True)
    arrived = set(data.filter(pl.col("tap") == "d1:r2-d1")["packet_number"])
    lost = [n for n, number in enumerate(sent["packet_number"], 1) if number not in arrived]
    assert lost == [3, 7, 30]
    row = results.flows.row(0, named=True)
    assert row["delivered_bytes"] == 100 * 1024 and row["retransmitted_packets"] == 3
