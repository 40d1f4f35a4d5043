"""A tap whose queue is in another namespace: two rings, which hand over their frames late."""

from __future__ import annotations

import polars as pl
import pytest

import dumbbell

pytestmark = pytest.mark.kernel

EXPERIMENT = {
    "dumbbell": 1,
    "name": "two rings",
    "hosts": {"s1": {}, "d1": {}},
    "routers": {"r1": {}},
    "links": [
        {"between": ["s1", "r1"], "rate": "70 Mbit/s", "delay": "26 ms", "buffer": "77 packets"},
        {"between": ["r1", "d1"], "rate": "1 Gbit/s", "buffer": "10000 packets"},
    ],
    "taps": [{"at": "s1", "link": "s1-r1"}],
    "flows": [{"name": "f", "from": "s1", "to": "d1", "tcp": "bbr"}],
    "duration": "7 s",
    "sampling": {"packets": {"to": "7 s"}},
}


def test_frames_of_both_rings_are_in_order_of_time() -> None:
    results = dumbbell.run(EXPERIMENT, engine="linux")
    packets = results.packets
    assert packets["time_ns"].is_sorted()
    out = packets.filter(pl.col("direction") == "out", pl.col("payload_bytes") > 0)
    # More than a block of a ring: some 5000 frames.
    assert out.height > 20_000
    (flow,) = results.flows.iter_rows(named=True)
    assert flow["tap_data_packets"] == out.height
    # The tap is behind the queue: it does not see those that the queue drops. Without order of
    # time, all data after an ACK of later data counted: 25 000.
    assert 0 <= flow["retransmitted_packets"] - flow["tap_retransmissions"] < 50
    assert flow["tap_retransmissions"] > 1000
