"""Captures whose snap length cuts TCP options: what they had shown is unknown, not wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.capture import CaptureError, survey
from dumbbell.fit.fitting import Fit, fit
from tests.fit.cut import snapped
from tests.fit.paths import captured


def fitted(most: int, tap: str, folder: Path) -> Fit:
    """CUBIC over 20 Mbit/s, a queue of 100 packets; 54 bytes are the headers without options."""
    file = Path(captured("cubic", folder, tap=tap))
    file.write_bytes(snapped(file.read_bytes(), most))
    return fit(file, algorithms=[])


@pytest.mark.parametrize("most", [54, 64, 68, 80])
def test_the_path_behind_the_tap_shows_without_options(most: int, tmp_path: Path) -> None:
    """80 bytes have timestamps and a SACK block; an ACK with two blocks loses both."""
    found = fitted(most, "s1", tmp_path)
    path = found.path
    assert path.rate.rate_bps.value == pytest.approx(20e6, rel=0.01)
    assert (path.factor.name, path.queue.kind) == ("bottleneck", "drop-tail")
    assert path.queue.limit_packets.value == pytest.approx(100, rel=0.05)
    assert any("the snap length cuts the TCP options" in note for note in found.notes)


@pytest.mark.parametrize("most", [54, 64])
def test_the_queue_before_the_tap_is_unknown_without_timestamps(most: int, tmp_path: Path) -> None:
    found = fitted(most, "d1", tmp_path)
    assert (found.path.factor.name, found.path.queue.kind) == ("unknown", "unknown")
    assert found.path.queue.limit_packets.value is None
    assert found.path.rate.rate_bps.knowledge == "at least"
    assert any("the RTT to the sender" in note for note in found.notes)


@pytest.mark.parametrize("most", [54, 200])
def test_what_is_cut_is_unknown_in_the_survey(most: int, tmp_path: Path) -> None:
    file = Path(captured("cubic", tmp_path))
    file.write_bytes(snapped(file.read_bytes(), most))
    row = max(survey(file)["connections"], key=lambda one: one["unique_bytes"])
    cut = most == 54
    assert (row["cut_options_packets"] > 0) == (row["acks_with_cut_options"] > 0) == cut
    names = ("timestamps", "sack_permitted", "acks_with_sack", "dsacks", "window_max_bytes")
    assert [row[name] is None for name in names] == [cut] * len(names)


def test_without_tcp_headers_the_snap_length_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="the snap length cuts frames"):
        fitted(50, "s1", tmp_path)
