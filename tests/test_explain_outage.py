"""Explanations of a loss at the beginning of an outage, and of an application that paces."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from dumbbell.cli.app import app

OUTAGE = """\
dumbbell: 1
name: outage
template: {dumbbell: {rate: 2 Mbit/s, rtt: 20 ms, buffer: 3 packets}}
links:
  - {name: bottleneck, changes: [{at: 5 s, state: down}, {at: 9 s, state: up}]}
flows:
  - {name: get, from: s1, to: d1, tcp: vegas}
duration: 14 s
"""
PACED = """\
dumbbell: 1
name: paced
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}
flows:
  - name: telemetry
    from: s1
    to: d1
    tcp: {congestion_control: cubic, source: {periodic: {chunk: 1 KB, interval: 100 ms}}}
  - {name: bulk, from: s2, to: d2, tcp: cubic, start: 2 s}
duration: 10 s
"""


def told(folder: Path, text: str, flow: str, at: str) -> str:
    (folder / "e.yaml").write_text(text, encoding="utf-8")
    store = str(folder / "store")
    run = ["run", str(folder / "e.yaml"), "--store", store, "--workers", "1"]
    for command in run, ["explain", store, "--flow", flow, "--at", at]:
        outcome = CliRunner().invoke(app, command)
        assert outcome.exit_code == 0, outcome.output
    return " ".join(outcome.output.split())


def test_time_outs_between_a_loss_and_its_repair_are_told(tmp_path: Path) -> None:
    """In the outage the timer retransmits an earlier segment; this one is repaired 7 s later."""
    words = told(tmp_path, OUTAGE, "get", "5.2 s")
    assert "Time-outs had come before: 5 retransmissions of segment" in words


SHORT_QUEUE = """\
dumbbell: 1
name: short queue
template: {dumbbell: {rate: 10 Mbit/s, rtt: 40 ms, buffer: 10 packets}}
links:
  - {name: bottleneck, forward: {changes: [{at: 5 s, state: down}, {at: 7 s, state: up}]}}
flows:
  - {name: up, from: s1, to: d1, tcp: cubic}
duration: 9 s
"""


def test_a_probe_with_new_data_restarts_the_timer(tmp_path: Path) -> None:
    """From the last ACK to the time-out it is longer than the timer of the sentence."""
    words = told(tmp_path, SHORT_QUEUE, "up", "5.2 s")
    found = re.search(
        r"timer of ([\d.]+) ms expired at ([\d.]+) s.* The last ACK had come at ([\d.]+) s; a tail "
        r"loss probe, sent at ([\d.]+) s, had restarted the timer\.",
        words,
    )
    assert found is not None, words
    rto_ms, expired, last, probe = map(float, found.groups())
    assert 0 <= 1e3 * (expired - probe) - rto_ms <= 32
    assert 1e3 * (expired - last) > rto_ms + 32


def test_an_application_that_writes_now_and_then_writes_all_the_time(tmp_path: Path) -> None:
    words = told(tmp_path, PACED, "telemetry", "5 s")
    assert "limited by its application" in words and "it writes 1024 bytes every 100 ms" in words
    assert "wrote again" not in words


BOTH_WAYS = """\
dumbbell: 1
name: both ways
template: {dumbbell: {rate: 20 Mbit/s, rtt: 40 ms, buffer: 100 packets}}
links:
  - {name: bottleneck, changes: [{at: 8 s, state: down}, {at: 10 s, state: up}]}
flows:
  - {name: up, from: s1, to: d1, tcp: cubic}
duration: 12 s
"""


def test_a_dropped_retransmission_is_one_and_its_cause_a_lost_ack(tmp_path: Path) -> None:
    """What the timer repeats had arrived before the outage, whose ACKs were lost in it."""
    words = told(tmp_path, BOTH_WAYS, "up", "8.5 s")
    happened, _, why = words.partition(" Why ")
    assert "The retransmission of segment" in happened and "was dropped" in happened
    assert "ACKs that covered segment" in why and "itself had arrived at 7.9" in why
    assert "The next retransmission of segment" in why
    # 109 segments behind it were lost, whatever the sender concluded.
    assert "learned that nothing was lost" not in why


START = """\
dumbbell: 1
name: start
template: {dumbbell: {rate: 10 Mbit/s, rtt: 400 ms, buffer: 50 packets}}
flows:
  - {name: bulk, from: s1, to: d1, tcp: reno}
duration: 5 s
"""


def test_a_burst_of_slow_start_fills_a_queue_at_a_low_mean_rate(tmp_path: Path) -> None:
    """Over an RTT, arrivals are below the rate; a packet leaves as another is dropped."""
    words = told(tmp_path, START, "bulk", "2 s")
    assert "was full: 50 packets, 73.93 KiB; its limit is 50 packets." in words
    found = re.search(
        r"since the first of them came, packets arrived there at ([\d.]+) Mbit", words
    )
    assert found is not None, words
    # Slow start sends twice what ACKs acknowledge at 10 Mbit/s.
    assert 15 < float(found[1]) < 25
