"""Captures that lack something: what can be said is said, the rest named."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.capture import CaptureError
from dumbbell.errors import DumbbellError
from dumbbell.fit.fitting import Fit, fit
from tests.fit.cases import Case, draw
from tests.fit.cut import edited, flags, is_from_sender

SYN = 2


@pytest.fixture(scope="module")
def case() -> Case:
    """Highspeed over 2.3 Mbit/s, tap at the receiver."""
    return draw(15)


@pytest.fixture(scope="module")
def capture(case: Case) -> bytes:
    return case.capture()


def fitted(data: bytes, folder: Path, **options: object) -> Fit:
    file = folder / "c.pcapng"
    file.write_bytes(data)
    return fit(file, algorithms=[], **options)  # type: ignore[arg-type]


def rate_of(found: Fit) -> float:
    return found.path.rate.rate_bps.value or 0.0


def test_without_handshake(case: Case, capture: bytes, tmp_path: Path) -> None:
    found = fitted(
        edited(capture, lambda _, at, frame: None if flags(frame) & SYN else at), tmp_path
    )
    assert any("no handshake" in note for note in found.notes)
    assert found.path.limits.initial_window.value is None
    assert rate_of(found) == pytest.approx(case.truth.rates[0][1], rel=0.03)
    assert found.path.rtt.path.value == pytest.approx(case.truth.rtt_s, rel=0.05)


def test_a_slice(case: Case, capture: bytes, tmp_path: Path) -> None:
    found = fitted(edited(capture, lambda _, at, frame: at if 10e9 < at < 25e9 else None), tmp_path)
    assert rate_of(found) == pytest.approx(case.truth.rates[0][1], rel=0.03)


def test_drops_of_the_tap_are_named(capture: bytes, tmp_path: Path) -> None:
    found = fitted(
        edited(capture, lambda number, at, frame: None if number % 97 == 50 else at), tmp_path
    )
    assert any("tap dropped packets" in note for note in found.notes)


def test_a_clock_that_goes_back(case: Case, capture: bytes, tmp_path: Path) -> None:
    jumps = edited(capture, lambda number, at, frame: at - (10**9 if number > 3000 else 0))
    found = fitted(jumps, tmp_path)
    assert any("the clock goes back 1 time" in note for note in found.notes)
    assert rate_of(found) == pytest.approx(case.truth.rates[0][1], rel=0.05)


def test_data_alone(capture: bytes, tmp_path: Path) -> None:
    only = edited(capture, lambda _, at, frame: at if is_from_sender(frame) else None)
    with pytest.raises(CaptureError, match="and 0 ACKs"):
        fitted(only, tmp_path)


def test_acks_alone(capture: bytes, tmp_path: Path) -> None:
    only = edited(capture, lambda _, at, frame: None if is_from_sender(frame) else at)
    with pytest.raises(CaptureError, match="ACKs but no data"):
        fitted(only, tmp_path)


def test_an_unknown_connection(capture: bytes, tmp_path: Path) -> None:
    with pytest.raises(DumbbellError, match="--connection 7: with data there are 0"):
        fitted(capture, tmp_path, connection=7)


def test_no_tcp(tmp_path: Path) -> None:
    from dumbbell import _core
    from dumbbell.experiment.load import load

    contents = {
        **draw(15).experiment,
        "flows": [{"name": "f", "from": "s", "to": "d", "udp": "1 Mbit/s"}],
        "duration": "0.2 s",
    }
    data = _core.run(load(contents).cells[0].scenario, 1).capture
    assert data is not None
    with pytest.raises(CaptureError, match="QUIC"):
        fitted(data, tmp_path)
