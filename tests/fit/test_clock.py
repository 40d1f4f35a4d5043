"""Clocks that jump, go back, or are coarse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dumbbell.fit.clock import straightened
from dumbbell.fit.path import Path as Estimated
from dumbbell.fit.path import estimate
from tests.fit.cut import edited
from tests.fit.judge import read
from tests.fit.paths import captured

MS = 1_000_000


def times(count: int = 200) -> np.ndarray:
    """A packet each ms."""
    return np.arange(count, dtype=np.int64) * MS


def in_flight(count: int = 200) -> np.ndarray:
    return np.ones(count, bool)


def test_times_without_faults_stay() -> None:
    found = straightened(times(), in_flight())
    assert found.seconds == pytest.approx(np.arange(200) / 1e3)
    assert (found.backward_steps, found.ahead_s, found.tick_s) == (0, 0.0, 0.001)


def test_a_jump_ahead_with_data_in_flight_is_taken_out() -> None:
    jumped = times()
    jumped[100:] += 3600 * 1000 * MS
    found = straightened(jumped, in_flight())
    assert found.ahead_s == pytest.approx(3600)
    assert found.seconds[-1] == pytest.approx(0.199, abs=0.002)


def test_a_silence_without_data_in_flight_is_a_pause() -> None:
    paused, quiet = times(), in_flight()
    paused[100:] += 3600 * 1000 * MS
    quiet[99] = False
    found = straightened(paused, quiet)
    assert found.ahead_s == 0.0
    assert found.seconds[-1] == pytest.approx(3600.199)


def test_a_clock_that_was_set_back_goes_on() -> None:
    back = times()
    back[100:] -= 50 * MS
    found = straightened(back, in_flight())
    assert found.backward_steps == 1
    assert found.seconds[-1] == pytest.approx(0.198)
    assert np.diff(found.seconds).max() < 0.002


def test_packets_out_of_order_do_not_move_the_others() -> None:
    swapped = times()
    swapped[50:150:10] -= 5 * MS
    found = straightened(swapped, in_flight())
    assert found.backward_steps == 10
    assert found.seconds[-1] == pytest.approx(0.199)


def test_many_steps_back_end() -> None:
    found = straightened(np.tile(np.array([9, 0], np.int64) * MS, 5000), np.ones(10_000, bool))
    assert found.backward_steps == 5000
    assert (np.diff(found.seconds) >= 0).all()


def test_a_gap_of_a_long_path_is_no_jump() -> None:
    """Over 900 ms a sender waits for a second now and then; the handshake tells how long it is."""
    told = np.array([0, 900, 901, 1801, 1802, 3400, 3401], dtype=np.int64) * MS
    clock = straightened(told, in_flight(len(told)))
    assert clock.ahead_s == 0
    assert clock.seconds[-1] == pytest.approx(3.401)


def coarse(tick_ms: int, rate: str, tap: str, folder: Path) -> Estimated:
    """CUBIC over a link with a queue of 100 packets, captured with a coarse clock."""
    file = Path(captured("cubic", folder, rate=rate, tap=tap))
    tick = tick_ms * MS
    file.write_bytes(edited(file.read_bytes(), lambda number, at, frame: at // tick * tick))
    return estimate(read(str(file)))


@pytest.mark.parametrize("tap", ["s1", "d1"])
@pytest.mark.parametrize(("tick_ms", "rate"), [(1, "100 Mbit/s"), (10, "20 Mbit/s")])
def test_ticks_of_the_clock_are_no_slots(tick_ms: int, rate: str, tap: str, tmp_path: Path) -> None:
    """The queue holds 12 ms and 60 ms: more ticks than hide it."""
    found = coarse(tick_ms, rate, tap, tmp_path)
    assert (found.shaper.kind, found.queue.kind) == ("link", "drop-tail")
    assert found.factor.name == "bottleneck"
    limit = found.queue.limit_packets
    assert (limit.low or 0) <= 101 <= (limit.high or 0)
    assert found.rtt.path.low is not None and found.rtt.path.high is not None
    assert found.rtt.path.low <= 0.04 <= found.rtt.path.high


def test_a_queue_shorter_than_the_ticks_is_not_known(tmp_path: Path) -> None:
    """12 ms of queue and ticks of 10 ms: neither its kind nor what it limits shows."""
    found = coarse(10, "100 Mbit/s", "s1", tmp_path)
    assert (found.shaper.kind, found.queue.kind) == ("link", "unknown")
    assert found.factor.name == "unknown" and "ticks of 10 ms" in found.factor.why
    assert found.losses.random_share.value is None
