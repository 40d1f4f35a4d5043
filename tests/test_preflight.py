"""Warnings and refusals of the kernel's engines before a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.engines.preflight import (
    concerns,
    concerns_everywhere,
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


LATE = """dumbbell: 1
name: x
duration: 5 s
hosts: {a: , b: }
links:
  - between: [a, b]
    rate: 10 Mbit/s
    buffer: 50 packets
    delay: 10 ms
    changes:
      - {at: 2 s, rate: 5 Mbit/s}
      - {at: 7 s, rate: 1 Mbit/s}
      - {at: 8 s, state: down}
flows:
  - {from: a, to: b, tcp: cubic, stop: 6 s}
  - {from: a, to: b, tcp: cubic, stop: 5 s}
sampling: {hops: {from: 5 s, to: 9 s}}
arrivals: [{name: x, from: a, to: b, per_second: 1, size: 10 kB, tcp: cubic, start: 6 s}]
"""
FLOW = "flows: [{from: a, to: b, tcp: cubic}]\n"


def test_times_after_the_end_are_warned_of_in_a_line_each(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(LATE)
    lines = [
        "12: links[0].changes[1]: a change at 7 s and 1 other have no effect: the run ends at 5 s",
        "18: arrivals[0].start: a start at 6 s has no effect: the run ends at 5 s",
        "15: flows[0].stop: a stop at 6 s has no effect: the run ends at 5 s",
        "17: sampling.hops: a recording that begins at 5 s has no effect: the run ends at 5 s",
    ]
    for words in (["validate"], ["run", "--store", tmp_path / "s"]):
        done = CliRunner().invoke(app, [*map(str, words), str(file)])
        assert done.exit_code == 0, done.output
        told = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
        assert told == [f"warning: {file}:{line}" for line in lines]
    in_time = LATE.replace("5 s\nhosts", "10 s\nhosts")
    assert concerns_everywhere(scenario(in_time)) == []


def test_a_time_after_the_end_of_several_cells_is_warned_of_once(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    text = LATE.partition("sampling")[0].replace("duration: 5 s", "duration: $time")
    file.write_text(text + "factors: {time: [3 s, 4 s, 5 s, 6500 ms]}\n")
    for words in (["validate"], ["run", "--store", tmp_path / "s"]):
        done = CliRunner().invoke(app, [*map(str, words), str(file)])
        assert done.exit_code == 0, done.output
        assert done.stderr.count("links[0].changes[1]: a change at 7 s and 1 other") == 1


def test_a_burst_of_both_directions_is_warned_of_once(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    bucket = "shaper: {tbf: {rate: 10 Mbit/s, burst: 1000 bytes}}"
    file.write_text(LATE.partition("    changes")[0].replace("rate: 10 Mbit/s", bucket) + FLOW)
    for words in (["validate"], ["run", "--store", tmp_path / "s"]):
        done = CliRunner().invoke(app, [*map(str, words), str(file)])
        assert done.stderr.count("a burst of 1000 bytes is smaller than a full frame") == 1
