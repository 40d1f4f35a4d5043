"""RTTs on both sides of a tap, and the queue at a loss, from few packets."""

from __future__ import annotations

import numpy as np
import pytest

from dumbbell.fit.estimate import unknown
from dumbbell.fit.loss import Losses
from dumbbell.fit.queue import _random_loss, _without_queue
from dumbbell.fit.rounds import duplicates, full_rtt, near_rtt, rtt_of_segments

MSS = 1000.0
FRAME_S = 0.001


def near(
    sent_s: list[float],
    echo: list[int],
    ack_s: list[float],
    stamp: list[int],
    left_s: list[float] | None = None,
) -> list[float]:
    found = near_rtt(
        np.array(sent_s),
        np.array(echo),
        np.array(ack_s),
        np.array(stamp),
        np.ones(len(sent_s), bool),
        np.array(left_s or [np.nan] * len(sent_s)),
    )
    return [round(float(one), 6) for one in found if one == one]


def test_the_echo_of_an_ack_shows_the_way_to_the_sender() -> None:
    """Other data passes between an ACK and its echo."""
    sent = [0.001, 0.010, 0.011, 0.020, 0.021]
    assert near(sent, [1, 2, 2, 3, 3], [0.0005, 0.0105], [2, 3]) == [0.0095, 0.0095]


def test_a_sender_that_was_silent_shows_nothing() -> None:
    """0.5 s without data between the last ACK and its echo: it had nothing to send."""
    sent = [0.001, 0.010, 0.011, 0.520]
    assert near(sent, [1, 2, 2, 3], [0.0005, 0.012], [2, 3]) == [0.0095]


def test_the_clock_of_a_silent_sender_tells_the_way_from_its_silence() -> None:
    """The way takes 9 ms; the last packet leaves after 0.5 s of silence and waits 4 ms more."""
    left = [0.0, 0.009, 0.010, 0.515]
    sent = [0.001, 0.010, 0.011, 0.520]
    found = near(sent, [1, 2, 2, 3], [0.0005, 0.012], [2, 3], left)
    assert found == [0.0095, pytest.approx(0.0095 + 0.004 - 0.001)]  # less a tick of the clock


@pytest.mark.parametrize(("segments", "known"), [(2, 2), (40, 40), (100, 3)])
def test_of_an_ack_for_many_segments_the_last_have_an_rtt(segments: int, known: int) -> None:
    sent = np.arange(segments) * FRAME_S
    end = (np.arange(segments) + 1) * MSS
    last = np.array([0.0, end[-1]])
    found = rtt_of_segments(
        sent,
        end,
        np.full(segments, MSS),
        np.ones(segments, bool),
        np.array([-1.0, 0.2]),
        last,
        last,
    )
    assert (~np.isnan(found)).sum() == known
    assert found[-1] == pytest.approx(0.2 - sent[-1])


@pytest.mark.parametrize(("delay_s", "random"), [(0.0005, True), (0.006, False)])
def test_no_discipline_drops_while_only_a_frame_waits(delay_s: float, random: bool) -> None:
    """One overflow of a long queue, then losses at this delay."""
    delays = np.array([0.1, *([delay_s] * 7)])
    lost = Losses(
        np.arange(8.0),
        delays,
        np.ones(8, bool),
        0.01,
        unknown(""),
        0.0,
        np.linspace(0, 0.1, 50),
        0.1,
    )
    assert _without_queue(lost, FRAME_S) is random


def test_duplicate_acks_are_those_of_the_same_window_without_data() -> None:
    ack = np.array([1.0, 1, 1, 1, 2, 2, 2])
    window = np.array([5, 5, 5, 9, 9, 9, 9])  # the fourth ACK updates the window
    pure = np.array([True, True, True, True, True, True, False])
    assert duplicates(ack, window, pure).tolist() == [0, 1, 2, 2, 0, 1, 1]


@pytest.mark.parametrize(
    ("shake_s", "lost_behind", "expected"),
    [
        (0.0, float("nan"), [0.040, 0.050]),  # the tap is at the sender
        (0.020, 1.0, [0.060, 0.070]),  # packets wait behind the tap
        (0.020, 0.0, [float("nan"), float("nan")]),  # they wait before it
    ],
)
def test_without_timestamps_the_handshake_shows_the_way_to_the_sender(
    shake_s: float, lost_behind: float, expected: list[float]
) -> None:
    far, near = np.array([0.040, 0.050]), np.full(2, np.nan)
    found = full_rtt(np.array([0.0, 1.0]), far, near, shake_s, lost_behind)
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("late", "random"), [(1.0, True), (3.0, False)])
def test_a_loss_that_delays_the_ack_before_it_does_not_depend_on_the_queue(
    late: float, random: bool
) -> None:
    """The ACK of every second packet waits for the next one: a frame longer if that was lost."""
    delays = np.linspace(0, 3, 400) * FRAME_S
    at = delays + np.tile(np.array([0.0, late]), 200) * FRAME_S
    events = np.ones(400, bool)
    lost = Losses(np.arange(400.0), at, events, 0.01, unknown(""), 0.0, delays, 30 * FRAME_S)
    assert _random_loss(lost, events, FRAME_S) is random
    assert not _random_loss(lost, events, 0.0)
