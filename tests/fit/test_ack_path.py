"""ACKs that wait on their way back: neither a queue of the data nor its rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dumbbell.fit.ack_path import near_without_waits, way_back, without_waits
from dumbbell.fit.chosen import chosen, lacking
from dumbbell.fit.observe import observe
from dumbbell.fit.path import estimate
from dumbbell.fit.running import run_twin
from dumbbell.fit.twin import sketch
from tests.fit.judge import read
from tests.fit.paths import captured


@pytest.mark.parametrize("tap", ["s1", "d1"])
@pytest.mark.parametrize("rate", ["200 kbit/s", "400 kbit/s"])
def test_spaced_acks_do_not_show_the_rate_of_the_data(rate: str, tap: str, tmp_path: Path) -> None:
    """Each ACK for many segments, as others are lost: 37 Mbit/s by the gaps of ACKs, of 20."""
    back = {"rate": rate, "buffer": "20 packets"}
    found = estimate(read(captured("cubic", tmp_path, tap=tap, backward=back)))
    assert found.rate.rate_bps.value == pytest.approx(20e6, rel=0.01)
    assert (found.queue.kind, found.factor.name) == ("drop-tail", "bottleneck")
    assert found.competing.kind == "none"


@pytest.mark.parametrize("tap", ["s1", "d1"])
def test_a_queue_of_acks_is_the_bottleneck(tap: str, tmp_path: Path) -> None:
    """Data never waits: 300 kbit/s of ACKs carry less than 20 Mbit/s of data."""
    back = {"rate": "300 kbit/s", "buffer": "1000 packets"}
    file = captured("cubic", tmp_path, tap=tap, backward=back, duration="15 s")
    seen = observe(file, chosen(file, None)[0])
    found = estimate(seen)
    assert found.factor.name == "bottleneck" and "on the way back" in found.factor.why
    assert found.competing.kind == "unknown" and found.rate.rate_bps.knowledge == "at least"
    assert any("ACKs wait on their way back" in note for note in lacking(seen))
    one = sketch(seen, found)
    assert one.back is not None and one.back[0] == pytest.approx(300e3, rel=0.15)
    twin = run_twin(one, "cubic", 1, seen)
    assert twin.delivered_bytes[-1] == pytest.approx(seen.delivered_bytes[-1], rel=0.12)


def test_acks_without_a_queue_stay_as_they_are(tmp_path: Path) -> None:
    seen = read(captured("cubic", tmp_path))
    assert seen.ack_wait_s == 0 and (seen.left_s == seen.ack_s).all()
    assert sketch(seen, estimate(seen)).back is None


def test_waits_are_those_beyond_the_least_difference_of_the_clocks() -> None:
    left = np.arange(0, 1, 0.01)
    waits = np.linspace(0, 0.1, 100)
    assert without_waits(left + waits + 7, left) == pytest.approx(left + 7)
    unknown = np.full(100, np.nan)
    assert without_waits(left, unknown) is left
    assert near_without_waits(unknown, left, left)[1] == 0.0


def test_uneven_waits_are_no_queue() -> None:
    ack = np.cumsum(np.tile(np.array([0.001, 0.03, 0.012]), 70)).astype(np.float64)
    assert way_back(ack, ack - 0.02, 0.02, 0.04) is None
    even = np.linspace(0, 2, 201)
    assert way_back(even, even - 0.02, 0.02, 0.04) == pytest.approx((100, 0.02))
