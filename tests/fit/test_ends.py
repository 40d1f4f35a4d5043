"""Transfers that an end limits: the path's rate does not show, and no algorithm is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell.fit.fitting import fit
from dumbbell.fit.path import estimate
from dumbbell.fit.running import run_twin
from dumbbell.fit.twin import sketch
from tests.fit.judge import read
from tests.fit.paths import captured


def writes(chunk: str, interval: str) -> dict[str, Any]:
    """CUBIC behind an application that writes at its own pace."""
    source = {"periodic": {"chunk": chunk, "interval": interval}}
    return {"congestion_control": "cubic", "source": source}


def buffered(algorithm: str) -> dict[str, Any]:
    """A send buffer of less than the path takes: 92 kB of segments, and the path takes 100 kB."""
    return {"congestion_control": algorithm, "sender": {"tcp_wmem": "4096 80000 80000"}}


@pytest.mark.parametrize("tap", ["s1", "d1"])
@pytest.mark.parametrize(
    ("chunk", "interval"), [("1448 bytes", "2.3 ms"), ("14480 bytes", "11.5 ms")]
)
def test_full_segments_at_an_applications_pace_are_no_bottleneck(
    chunk: str, interval: str, tap: str, tmp_path: Path
) -> None:
    """5 and 10 Mbit/s over 20: packets are spaced by the application, and none ever waits."""
    found = estimate(read(captured(writes(chunk, interval), tmp_path, tap=tap)))
    assert found.factor.name == "application"
    assert found.rate.rate_bps.knowledge == "at least"
    assert found.rate.rate_bps.value is not None and found.rate.rate_bps.value < 20e6
    assert found.queue.limit_packets.knowledge == "at least"


def test_no_algorithm_is_named_where_the_application_paces(tmp_path: Path) -> None:
    found = fit(captured(writes("1448 bytes", "2.3 ms"), tmp_path, duration="5 s"))
    assert found.ranking is not None and not found.ranking.told
    assert "cannot tell: an end limited the transfer" in found.experiment
    assert "not shown by the capture: at least" in found.experiment
    assert all(one.explained for one in found.residues)


@pytest.mark.parametrize("tap", ["s1", "d1"])
def test_partial_segments_of_a_fast_application(tap: str, tmp_path: Path) -> None:
    """18 Mbit/s over 20 in chunks of 7.8 segments: each RTT the sender runs out of data."""
    found = estimate(read(captured(writes("11250 bytes", "5 ms"), tmp_path, tap=tap)))
    assert found.factor.name == "application"


def test_a_silence_before_the_tap_is_no_queue(tmp_path: Path) -> None:
    """0.3 s of silence between chunks, seen at the receiver: at most 200 frames wait, not 500."""
    file = captured(writes("312500 bytes", "500 ms"), tmp_path, tap="d1")
    found = estimate(read(file))
    assert found.factor.name == "application"
    assert (found.queue.limit_packets.value or 0) < 110


@pytest.mark.parametrize("tap", ["s1", "d1"])
@pytest.mark.parametrize("algorithm", ["cubic", "vegas"])
def test_a_send_buffer_is_told_by_the_ack_clock(algorithm: str, tap: str, tmp_path: Path) -> None:
    """CUBIC's sender has partial segments as its buffer is full, Vegas's has none."""
    seen = read(captured(buffered(algorithm), tmp_path, tap=tap))
    found = estimate(seen)
    assert found.factor.name == "send buffer"
    assert found.limits.clocking.clocked


def test_a_paced_sender_at_a_plateau_is_not_known(tmp_path: Path) -> None:
    """BBR paces, so ACKs do not clock its packets: a buffer or an application may limit it."""
    found = estimate(read(captured(buffered("bbr"), tmp_path)))
    assert found.factor.name == "unknown"
    assert "the send buffer or the application" in found.factor.why


@pytest.mark.parametrize("memory", [60_000, 200_000, 400_000])
def test_the_twin_has_the_receive_window_of_the_capture(memory: int, tmp_path: Path) -> None:
    """Linux takes the part of the memory that is payload: 0.59 for full segments, not a half."""
    tcp = {"congestion_control": "cubic", "receiver": {"tcp_rmem": f"4096 {memory} {memory}"}}
    seen = read(captured(tcp, tmp_path, rate="100 Mbit/s"))
    found = estimate(seen)
    assert found.factor.name == "receive window"
    twin = run_twin(sketch(seen, found), "cubic", 1, seen)
    windows = [np.median((one.edge_bytes - one.ack_bytes)[100:]) for one in (seen, twin)]
    assert windows[1] == pytest.approx(windows[0], rel=0.02)


@pytest.mark.parametrize("tap", ["s1", "d1"])
@pytest.mark.parametrize(
    ("chunk", "on", "off"),
    [("20 KB", "1 s", "1 s"), ("10 KB", "2 s", "300 ms"), ("100 KB", "500 ms", "3 s")],
)
def test_the_twin_of_bursts_and_pauses_has_them(
    chunk: str, on: str, off: str, tap: str, tmp_path: Path
) -> None:
    """A video-like source: a chunk of 2 MB every 2 s does not fit into a send buffer."""
    source = {"on_off": {"chunk": chunk, "interval": "10 ms", "on": on, "off": off}}
    tcp = {"congestion_control": "cubic", "source": source}
    seen = read(captured(tcp, tmp_path, tap=tap, duration="16 s"))
    found = estimate(seen)
    assert found.factor.name == "application"
    one = sketch(seen, found)
    assert one.writes is not None and one.writes.on_s is not None
    assert one.writes.on_s + one.writes.off_s == pytest.approx(
        sum(float(time.split()[0]) / (1000 if "ms" in time else 1) for time in (on, off)), rel=0.02
    )
    twin = run_twin(one, "cubic", 1, seen)
    assert twin.delivered_bytes[-1] == pytest.approx(seen.delivered_bytes[-1], rel=0.08)
    medians = [float(np.nanmedian(each.rtt_s)) for each in (seen, twin)]
    assert medians[1] == pytest.approx(medians[0], rel=0.15)
