"""Competing traffic: what others send through the same bottleneck."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dumbbell import _core
from dumbbell.experiment.load import load
from dumbbell.fit.path import estimate
from dumbbell.fit.running import run_twin
from dumbbell.fit.twin import sketch
from tests.fit.judge import read
from tests.fit.paths import captured as path_captured

pytestmark = pytest.mark.slow


def captured(other: dict[str, Any] | None, tap: str, folder: Path) -> str:
    """CUBIC over 20 Mbit/s beside another flow."""
    flows = [{"name": "f", "from": "s1", "to": "d1", "tcp": "cubic"}]
    flows += [{"name": "g", "from": "s2", "to": "d2", **other}] if other else []
    access = {"rate": "1 Gbit/s", "buffer": "1000 packets"}
    contents = {
        "dumbbell": 1,
        "name": "beside",
        "template": {
            "dumbbell": {
                "pairs": 2,
                "rate": "20 Mbit/s",
                "rtt": "40 ms",
                "buffer": "80 packets",
                "access": access,
            }
        },
        "flows": flows,
        "taps": [{"at": tap, "link": "s1-r1" if tap == "s1" else "r2-d1"}],
        "sampling": {"keep": [], "capture": True},
        "duration": "10 s",
    }
    file = folder / "c.pcapng"
    file.write_bytes(_core.run(load(contents).cells[0].scenario, 1).capture or b"")
    return str(file)


@pytest.mark.parametrize("tap", ["s1", "d1"])
def test_steady_traffic_and_the_whole_rate(tap: str, tmp_path: Path) -> None:
    found = estimate(read(captured({"udp": "6 Mbit/s"}, tap, tmp_path)))
    assert found.rate.rate_bps.value == pytest.approx(20e6, rel=0.01)
    assert found.competing.kind == "steady"
    # Frames of the datagrams: 1448 bytes of payload and 42 bytes of headers.
    assert found.competing.rate_bps.value == pytest.approx(6e6 * 1490 / 1448, rel=0.03)
    assert found.queue.limit_packets.value == pytest.approx(80, rel=0.1)


def test_elastic_traffic_and_its_twin(tmp_path: Path) -> None:
    seen = read(captured({"tcp": "cubic"}, "s1", tmp_path))
    found = estimate(seen)
    assert (found.competing.kind, found.factor.name) == ("elastic", "bottleneck")
    assert found.rate.rate_bps.value == pytest.approx(20e6, rel=0.01)
    twin = run_twin(sketch(seen, found), "cubic", 1, seen)
    # Both shared the link in the capture, and so they do in the twin: not above three quarters.
    whole = 20e6 / 8 * 1448 / 1514 * seen.duration_s
    assert 0.25 * whole < twin.delivered_bytes[-1] < 0.75 * whole


def test_none_alone(tmp_path: Path) -> None:
    assert estimate(read(captured(None, "s1", tmp_path))).competing.kind == "none"


@pytest.mark.parametrize(
    ("rate", "buffer"),
    [
        ("10 Mbit/s", "10 packets"),
        ("10 Mbit/s", "100 packets"),
        ("16 Mbit/s", "25 packets"),
        ("16 Mbit/s", "100 packets"),
    ],
)
@pytest.mark.parametrize("tap", ["s1", "d1"])
def test_steady_traffic_is_no_policer_and_no_bucket(
    rate: str, buffer: str, tap: str, tmp_path: Path
) -> None:
    """The transfer has the rest of the rate, but each loss follows a full queue."""
    file = path_captured(
        "reno", tmp_path, tap=tap, buffer=buffer, others=[{"udp": rate}], duration="20 s"
    )
    found = estimate(read(file))
    assert found.shaper.kind == "link"
    assert found.factor.name == "bottleneck"


@pytest.mark.parametrize(
    ("rtt", "buffer", "tap"),
    [
        ("20 ms", "0.5 BDP", "s1"),
        ("20 ms", "0.5 BDP", "d1"),
        ("20 ms", "1 BDP", "s1"),
        ("60 ms", "0.5 BDP", "s1"),
        ("60 ms", "0.5 BDP", "d1"),
    ],
)
def test_two_flows_fill_a_drop_tail_queue(rtt: str, buffer: str, tap: str, tmp_path: Path) -> None:
    """After a loss a packet's ACK waits for the next packet: that wait is no longer queue."""
    file = path_captured(
        "cubic",
        tmp_path,
        tap=tap,
        rtt=rtt,
        buffer=buffer,
        others=[{"tcp": "cubic"}],
        duration="20 s",
    )
    found = estimate(read(file))
    assert found.queue.kind == "drop-tail"
    known = found.rate.rate_bps.knowledge == "measured"
    assert (found.queue.limit_packets.knowledge == "measured") is known
