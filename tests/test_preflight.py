"""Warnings and refusals of the kernel's engines before a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dumbbell.engines.preflight import (
    concerns,
    refused_in_real_time,
    refused_in_virtual_time,
)
from dumbbell.engines.virtual_time import concerns_in_virtual_time
from dumbbell.experiment import load_text

PLAIN = """dumbbell: 1
name: x
template:
  dumbbell: {pairs: 1, rate: 10 Mbit/s, rtt: 40 ms, buffer: 60 packets}
flows:
  - {from: s1, to: d1, tcp: cubic}
duration: 1 s
"""


#: Two hosts and a router; the first link is the sender's own.
OWN = """dumbbell: 1
name: x
hosts: {a: , b: }
routers: {r: }
links:
  - {between: [a, r], forward: FIRST, backward: {delay: 10 ms}}
  - {between: [r, b], forward: SECOND, backward: {delay: 10 ms}}
flows:
  - {from: a, to: b, tcp: cubic}
duration: 1 s
"""


def scenario(text: str) -> str:
    """The only scenario of an experiment."""
    return load_text(text, Path("x.yaml")).cells[0].scenario


def own(first: str = "{delay: 10 ms}", second: str = "{delay: 10 ms}") -> str:
    return scenario(OWN.replace("FIRST", first).replace("SECOND", second))


def test_a_plain_bottleneck_raises_no_concern() -> None:
    assert concerns(scenario(PLAIN)) == []
    assert concerns(own()) == []


def test_loss_at_the_senders_interface() -> None:
    (found,) = concerns(own(first="{delay: 10 ms, loss: 1 %}"))
    assert found.path == "links[0].forward.loss"
    assert "TCP of a" in found.message
    assert concerns(own(second="{delay: 10 ms, loss: 1 %}")) == []


def test_a_bottleneck_at_the_senders_interface() -> None:
    (found,) = concerns(own(first="{delay: 10 ms, rate: 10 Mbit/s, buffer: 50 packets}"))
    assert found.path == "links[0].forward.queue"
    assert "50 packets" in found.message
    # As an access link it is faster than the bottleneck behind it.
    slower = "{delay: 10 ms, rate: 1 Mbit/s, buffer: 50 packets}"
    assert concerns(own(first="{rate: 10 Mbit/s, buffer: 50 packets}", second=slower)) == []


def test_netem_with_a_limit_below_the_bandwidth_delay_product() -> None:
    def tbf(limit: int) -> str:
        shaper = "tbf: {rate: 10 Mbit/s, burst: 5120 bytes}"
        return f"{{shaper: {{{shaper}}}, netem: {{limit: {limit} packets}}, delay: 20 ms}}"

    # 10 Mbit/s times 50 ms are 41 packets.
    (found,) = concerns(own(second=tbf(40)))
    assert found.path == "links[1].forward.queue.netem.limit_packets"
    assert "holds 40 packets" in found.message
    assert "41 packets" in found.message
    assert concerns(own(second=tbf(42))) == []


@pytest.mark.parametrize(
    ("interval", "virtual", "real"), [("999 us", False, True), ("999 ns", True, True)]
)
def test_sampling_faster_than_the_clock(interval: str, virtual: bool, real: bool) -> None:
    text = scenario(PLAIN + f"sampling: {{interval: {interval}}}\n")
    assert (refused_in_virtual_time(text) is not None) == virtual
    assert (refused_in_real_time(text) is not None) == real


def test_more_packets_than_one_core_carries() -> None:
    assert refused_in_real_time(scenario(PLAIN)) is None
    fast = refused_in_real_time(scenario(PLAIN.replace("10 Mbit/s", "10 Gbit/s")))
    assert fast is not None
    assert fast.path == "flows[0]"


@pytest.mark.parametrize(
    ("traffic", "refused"),
    [
        # Two hops at a rate of 100 kpkt/s are the limit.
        ("udp: {rate: 79.9 Mbit/s, datagram: 100 bytes}", False),
        ("udp: {rate: 80.1 Mbit/s, datagram: 100 bytes}", True),
        # A video frame of 1 kB at 1 kfps is 10 datagrams: 10 kpkt/s.
        ("video: {rate: 8 Mbit/s, frame: 1 ms, datagram: 100 bytes}", False),
        ("video: {rate: 80.1 Mbit/s, frame: 1 ms, datagram: 100 bytes}", True),
        # A frame of 10 bytes still takes a datagram.
        ("video: {rate: 8.8 Mbit/s, frame: 9 us, datagram: 1200 bytes}", True),
        ("video: {rate: 8.8 Mbit/s, frame: 11 us, datagram: 1200 bytes}", False),
        ("ping: 1 s", False),
    ],
)
def test_every_kind_that_sends_at_a_rate_counts(traffic: str, refused: bool) -> None:
    text = OWN.replace("FIRST", "{delay: 10 ms}").replace("SECOND", "{delay: 10 ms}")
    found = refused_in_real_time(scenario(text.replace("tcp: cubic", traffic)))
    assert (found is not None) == refused


#: Servers of a data centre that answer one client.
INCAST = """dumbbell: 1
name: x
template:
  dumbbell: {pairs: 32, rate: 10 Gbit/s, rtt: RTT, buffer: 100 packets}
flows:
  - {name: "w{i}", from: "s{i}", to: d1, count: 32, start_jitter: JITTER, tcp: cubic}
duration: 1 s
"""


def test_starts_that_the_hosts_of_a_guest_cannot_make_at_once() -> None:
    def found(jitter: str, rtt: str = "100 us") -> list[str]:
        text = INCAST.replace("JITTER", jitter).replace("RTT", rtt)
        return [one.message for one in concerns_in_virtual_time(scenario(text))]

    # 32 times 1.5 us.
    (message,) = found("10 us")
    assert "32 connections start within 10 us" in message
    assert "take 48 us, of a base RTT of 100 us" in message
    assert "spread over 480 us" in message
    assert found("480 us") == []
    assert found("10 us", "1 ms") == []
    assert concerns_in_virtual_time(scenario(PLAIN.replace("40 ms", "2 us"))) == []
