"""fq with small limits, on both engines: what short transfers lose, when they end, what waits."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from tests import kernel

pytestmark = pytest.mark.kernel

#: Transfers that lose their last segments. A tail loss probe over the idle path then measures
#: exactly the minimum RTT. With less than that RACK would ignore it (`tcp_rack_advance`), and a
#: time-out of 220 ms would follow. 6.5 ms each way are no multiple of tc's ticks of 64 ns.
TRANSFERS = """\
dumbbell: 1
name: small limits
hosts: {defaults: {profile: PROFILE}}
template:
  dumbbell:
    pairs: 3
    rtt: 13 ms
    forward: {rate: 10 Mbit/s, queue: $queue}
    backward: {buffer: 1000 packets}
flows:
  - {name: a, from: s1, to: d1, tcp: {congestion_control: veno, bytes: 15000 B}, start: 0 s}
  - {name: b, from: s2, to: d2, tcp: {congestion_control: westwood, bytes: 60000 B}, start: 700 ms}
  - {name: c, from: s3, to: d3, tcp: {congestion_control: hybla, bytes: 300000 B}, start: $third}
sampling: none
duration: 5 s
factors:
  third: [1400 ms, 720 ms]
  queue:
    - {label: 4 packets, value: {fq: {limit: 4 packets}}}
    - {label: 10 packets, value: {fq: {limit: 10 packets}}}
    - {label: 18 packets, value: {fq: {limit: 18 packets}}}
    - {label: 3 of a flow, value: {fq: {limit: 30 packets, flow_limit: 3 packets}}}
    - {label: 10 of a flow, value: {fq: {limit: 18 packets, flow_limit: 10 packets}}}
"""
COUNTS = ("data_packets", "retransmitted_packets", "delivered_bytes")


def test_short_transfers_lose_and_end_alike_with_small_limits(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TRANSFERS.replace("PROFILE", kernel.profile()), encoding="utf-8")
    cell = ("third", "queue", "flow")
    ours, theirs = (
        dumbbell.run(file, engine=engine).flows.sort(cell) for engine in ("sim", "linux")
    )
    assert ours.height == 2 * 5 * 3
    assert ours.select(*cell, *COUNTS).rows() == theirs.select(*cell, *COUNTS).rows()
    took = [(one["end_ns"] - one["start_ns"]).to_list() for one in (ours, theirs)]
    assert took[0] == pytest.approx(took[1], rel=0.001)
    # The limits matter: only 18 packets without a limit of a flow spare `b`.
    lost = ours.filter(pl.col("flow") == "b", pl.col("third") == "1400 ms")
    lost = lost.select("queue", "retransmitted_packets").rows()
    assert [name for name, packets in lost if packets == 0] == ["18 packets"]


#: Three flows that fill the queue within 10 ms.
BURST = """\
dumbbell: 1
name: burst
template:
  dumbbell:
    pairs: 3
    rtt: 20 ms
    forward: {rate: 1 Mbit/s, queue: {fq: {limit: $limit, flow_limit: 10 packets}}}
    backward: {buffer: 1000 packets}
flows:
  - {name: a, from: s1, to: d1, start: 10 ms, stop: 50 ms,
     udp: {rate: 6 Mbit/s, datagram: 1000 bytes, interval: 2 ms}}
  - {name: b, from: s2, to: d2, start: 10.3 ms, stop: 50 ms,
     udp: {rate: 6 Mbit/s, datagram: 1000 bytes, interval: 2 ms}}
  - {name: c, from: s3, to: d3, start: 10.7 ms, stop: 50 ms,
     udp: {rate: 6 Mbit/s, datagram: 1000 bytes, interval: 2 ms}}
sampling: {interval: 1 ms, keep: [queues]}
duration: 2 s
factors: {limit: [4 packets, 10 packets, 18 packets]}
"""


@pytest.mark.skipif(kernel.RELEASE == "6.1", reason="all packets count before Linux 6.7")
def test_packets_that_found_none_waiting_count_against_no_limit(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(BURST, encoding="utf-8")
    found = []
    for engine in ("sim", "linux"):
        results = dumbbell.run(file, engine=engine)
        at = pl.col("pipe") == "bottleneck/forward"
        longest = results.queues.filter(at).group_by("limit").agg(pl.max("queued_packets"))
        rows = results.flows.join(longest, "limit").sort("limit", "flow")
        found.append(rows.select("limit", "flow", "delivered_bytes", "queued_packets").rows())
    assert found[0] == found[1]
    # 8 more than the limit, and one in the bucket.
    longest = {limit: packets for limit, _, _, packets in found[0]}
    assert longest["4 packets"] == 4 + 8 + 1
    assert longest["10 packets"] == 10 + 8 + 1
