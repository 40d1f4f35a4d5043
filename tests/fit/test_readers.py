"""Transfers to an application that reads slowly, and frames that offload merged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell.capture import survey
from dumbbell.fit.chosen import chosen
from dumbbell.fit.fitting import fit
from dumbbell.fit.observe import _segment, observe
from dumbbell.fit.path import estimate
from dumbbell.fit.running import run_twin
from dumbbell.fit.twin import sketch
from tests.fit.judge import read
from tests.fit.paths import captured


def reads(rate: str, memory: str | None = None) -> dict[str, Any]:
    """CUBIC to an application that reads at this rate."""
    receiver = {"receiver": {"tcp_rmem": memory}} if memory else {}
    return {"congestion_control": "cubic", "sink": {"rate": rate}, **receiver}


@pytest.mark.parametrize("tap", ["s1", "d1"])
@pytest.mark.parametrize("memory", [None, "4096 300000 300000"])
def test_a_slow_reader_is_no_bottleneck(memory: str | None, tap: str, tmp_path: Path) -> None:
    """16 Mbit/s are read of 20: ACKs wait for the reads, which looks like a queue."""
    seen = read(captured(reads("16 Mbit/s", memory), tmp_path, tap=tap, duration="12 s"))
    found = estimate(seen)
    assert found.factor.name == "receive window"
    assert "the application reads 16" in found.factor.why
    assert found.limits.reads_bps.value == pytest.approx(16e6, rel=0.02)
    assert found.rate.rate_bps.value is not None and found.rate.rate_bps.value > 16.5e6


def test_a_small_window_is_no_bottleneck_if_its_reader_delays_acks(tmp_path: Path) -> None:
    """58 kB in an RTT of 50 ms, of which 10 ms are the wait for the reader: 9 of 20 Mbit/s."""
    file = captured(reads("16 Mbit/s", "4096 100000 100000"), tmp_path)
    found = estimate(read(file))
    assert found.factor.name == "receive window"
    assert found.rate.rate_bps.knowledge == "at least"


def test_the_twin_of_a_slow_reader_reads_slowly(tmp_path: Path) -> None:
    seen = read(captured(reads("8 Mbit/s"), tmp_path))
    one = sketch(seen, estimate(seen))
    assert one.reads_bps == pytest.approx(8e6, rel=0.02)
    twin = run_twin(one, "cubic", 1, seen)
    assert twin.delivered_bytes[-1] == pytest.approx(seen.delivered_bytes[-1], rel=0.05)


@pytest.mark.parametrize("memory", ["4096 100000 100000", "4096 300000 300000"])
def test_a_window_that_stays_has_a_fast_reader(memory: str, tmp_path: Path) -> None:
    tcp = {"congestion_control": "cubic", "receiver": {"tcp_rmem": memory}}
    assert estimate(read(captured(tcp, tmp_path))).limits.reads_bps.value is None


@pytest.mark.parametrize("scaling", [True, False])
def test_the_twin_scales_windows_as_the_capture(scaling: bool, tmp_path: Path) -> None:
    """Without window scale no window exceeds 65 535 bytes, whatever the twin changes."""
    end = {"tcp_window_scaling": scaling}
    tcp = {"congestion_control": "cubic", "receiver": end}
    file = captured(tcp, tmp_path, rtt="200 ms")
    seen = observe(file, chosen(file, None)[0])
    twin = run_twin(sketch(seen, estimate(seen)), "cubic", 1, seen)
    windows = [float(np.max(one.edge_bytes - one.ack_bytes)) for one in (seen, twin)]
    assert (windows[0] < 65_536) == (windows[1] < 65_536) == (not scaling)


def test_an_end_without_window_scale_is_that_of_either_syn(tmp_path: Path) -> None:
    """The SYN/ACK alone lacks it, where a middlebox or the server does."""
    tcp = {"congestion_control": "cubic", "receiver": {"tcp_window_scaling": False}}
    file = captured(tcp, tmp_path, duration="2 s")
    rows = survey(file)["connections"]
    data = max(rows, key=lambda row: row["unique_bytes"])
    assert data["window_scale"] is not None
    peer = next(row for row in rows if row["direction"] != data["direction"])
    assert not observe(file, {**data, "peer": peer}).scaled
    assert not fit(file, algorithms=[]).seen.scaled


def test_frames_of_several_segments_count_as_segments(tmp_path: Path) -> None:
    """TSO: the tap sees frames of up to 64 kB, and the wire has segments of 1448 bytes."""
    file = captured({"congestion_control": "cubic"}, tmp_path, duration="3 s")
    row = max(survey(file)["connections"], key=lambda one: one["unique_bytes"])
    assert _segment(row, np.array([1448.0, 14480.0, 14480.0, 5792.0])) == 1448
    assert _segment({**row, "mss_bytes": None}, np.array([14480.0, 14480.0])) == 14480
    assert _segment({**row, "peer": {"mss_bytes": 1300}}, np.array([2576.0, 2576.0])) == 1288
    assert _segment(row, np.array([500.0, 500.0, 1448.0])) == 500


def test_a_bucket_of_the_twin_passes_its_longest_frame(tmp_path: Path) -> None:
    """A frame that is longer than the bucket never passes, and the twin sends nothing."""
    seen = read(captured({"congestion_control": "cubic"}, tmp_path, duration="3 s"))
    path = sketch(seen, estimate(seen))
    for changed in ({"serialises": False}, {"burst_bytes": 2000.0}, {"policer": (15e6, 2000.0)}):
        long = replace(path, payload_bytes=8948, **changed)
        assert run_twin(long, "cubic", 1, seen).delivered_bytes[-1] > 4e5, changed


@pytest.mark.parametrize(("buffer", "seldom"), [("100 packets", False), ("2000 packets", True)])
def test_packets_that_wait_are_not_said_to_wait_seldom(
    buffer: str, seldom: bool, tmp_path: Path
) -> None:
    """A third of the time is not seldom, and a table beside the sentence says so."""
    source = {"on_off": {"chunk": "20 KB", "interval": "10 ms", "on": "1 s", "off": "1 s"}}
    slow = {"on_off": {"chunk": "8 KB", "interval": "10 ms", "on": "1 s", "off": "1 s"}}
    tcp = {"congestion_control": "cubic", "source": slow if seldom else source}
    found = estimate(read(captured(tcp, tmp_path, buffer=buffer)))
    assert (found.rate.busy_share < 0.1) is seldom
    assert ("seldom wait" in found.competing.evidence) is seldom
