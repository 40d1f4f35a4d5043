"""Time of a transfer of given size, of every kind of connection."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import dumbbell
from dumbbell.metrics import METRICS

SENDERS = {
    "tcp": "tcp: {congestion_control: cubic, bytes: 2 MB}",
    "quic": "quic: {congestion_control: cubic, bytes: 2 MB}",
    "mptcp": "mptcp: {congestion_control: lia, bytes: 2 MB}",
}


@pytest.mark.parametrize("kind", SENDERS)
def test_a_transfer_of_given_size_has_a_time(kind: str, tmp_path: Path) -> None:
    """2 MB over 10 Mbit/s take 1.6 s and more, the handshake included."""
    file = tmp_path / "e.yaml"
    head = "dumbbell: 1\nname: sized\n"
    head += "template: {dumbbell: {rate: 10 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}\n"
    flow = f"flows: [{{name: f, from: s1, to: d1, {SENDERS[kind]}}}]\n"
    file.write_text(f"{head}{flow}duration: 5 s\n", encoding="utf-8")
    results = dumbbell.run(file)
    times = METRICS["transfer_s"].measure(results)
    (seconds,) = [one for one in times["value"] if not math.isnan(one)]
    assert 1.7 < seconds < 2.1
    (end_ns,) = results.transfers["end_ns"]
    assert seconds == pytest.approx((end_ns - results.flows["start_ns"].min()) / 1e9)
