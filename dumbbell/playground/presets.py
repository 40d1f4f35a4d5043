"""Experiments that the page offers."""

from __future__ import annotations

_TWO_FLOWS = """\
# CUBIC sends, BBR comes after 5 s. Change a number: the figures follow.
dumbbell: 1
name: two flows
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: $rtt, buffer: 1 BDP}}
flows:
  - {name: cubic, from: s1, to: d1, tcp: cubic}
  - {name: bbr, from: s2, to: d2, tcp: bbr, start: 5 s}
duration: 30 s
factors: {rtt: [10 ms, 40 ms, 80 ms]}
repeats: 10
"""
_BUFFER = """\
# A longer queue: more throughput, up to a point, and more delay.
dumbbell: 1
name: buffer size
template: {dumbbell: {rate: 20 Mbit/s, rtt: 50 ms, buffer: $buffer}}
flows:
  - {name: reno, from: s1, to: d1, tcp: reno}
duration: 20 s
factors: {buffer: [0.1 BDP, 0.5 BDP, 1 BDP, 4 BDP]}
"""
_QUEUES = """\
# Two downloads beside ping on a slow line: which queue keeps the delay short?
dumbbell: 1
name: bufferbloat
template:
  dumbbell:
    pairs: 3
    rate: 10 Mbit/s
    rtt: 30 ms
    forward: $queue
    backward: {buffer: 1000 packets}
flows:
  - {name: "load{i}", from: "s{i}", to: "d{i}", count: 2, tcp: cubic}
  - {name: echo, from: s3, to: d3, ping: 100 ms}
duration: 20 s
factors:
  queue:
    - {label: drop-tail, value: {buffer: 1000 packets}}
    - {label: codel, value: {queue: codel}}
    - {label: fq_codel, value: {queue: fq_codel}}
"""
_LOSS = """\
# Random loss: CUBIC takes each for congestion, BBR does not.
dumbbell: 1
name: random loss
template: {dumbbell: {rate: 20 Mbit/s, rtt: 40 ms, forward: {loss: $loss}}}
flows:
  - {name: flow, from: s1, to: d1, tcp: $cc}
duration: 10 s
factors:
  cc: [cubic, bbr, reno]
  loss: [0 %, 0.1 %, 1 %]
"""
_RTTS = """\
# Flows of different RTT share a bottleneck: who gets more?
dumbbell: 1
name: RTT fairness
template: {dumbbell: {pairs: 3, rate: 20 Mbit/s, rtt: [10 ms, 40 ms, 160 ms], buffer: 1 BDP}}
flows:
  - {name: "flow{i}", from: "s{i}", to: "d{i}", count: 3, tcp: $cc, start_jitter: 1 RTT}
duration: 30 s
factors: {cc: [reno, cubic, bbr]}
"""
_ONE_LOSS = """\
# Exactly one segment is lost: recovery with and without SACK.
dumbbell: 1
name: one loss
template:
  dumbbell:
    rate: 10 Mbit/s
    rtt: 40 ms
    buffer: 500 packets
    forward: {loss: {scripted: [{flow: transfer, nth: [20]}]}}
hosts:
  defaults: {tcp_sack: $sack}
flows:
  - {name: transfer, from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 1 MiB}}
duration: 2 s
sampling: 2 ms
factors: {sack: [true, false]}
"""
_PARKING = """\
# A long flow crosses three bottlenecks, each shared with a short flow.
dumbbell: 1
name: parking lot
template:
  parking-lot: {hops: 3, rate: 10 Mbit/s, rtt: 30 ms, buffer: 50 packets}
flows:
  - {name: long, from: s0, to: d0, tcp: cubic}
  - {name: "short{i}", from: "s{i}", to: "d{i}", count: 3, tcp: cubic}
duration: 20 s
"""

_PRESETS = (
    ("CUBIC and BBR", _TWO_FLOWS),
    ("Buffer size", _BUFFER),
    ("Bufferbloat", _QUEUES),
    ("Random loss", _LOSS),
    ("RTT fairness", _RTTS),
    ("One loss", _ONE_LOSS),
    ("Parking lot", _PARKING),
)


def presets() -> list[dict[str, str]]:
    """Title and text of each experiment."""
    return [{"title": title, "text": text} for title, text in _PRESETS]
