"""Links that go down and up, on both engines: the same packets, and the same counts of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.metrics import METRICS
from dumbbell.metrics.loss import REASONS
from tests import kernel

pytestmark = pytest.mark.kernel

TEXT = """\
dumbbell: 1
name: outage
hosts: {defaults: {profile: PROFILE}, s: {}, d: {}}
routers: {r: {}, q: {}}
links:
  - {between: [s, r], delay: 1 ms}
  - {name: line, between: [r, q], LINK}
  - {between: [q, d], delay: 1 ms}
flows: [{name: f, from: s, to: d, tcp: cubic}]
taps: [{name: t, at: s, link: s-r}]
sampling: {packets: {to: 9 s}, keep: [samples, queues]}
duration: 9 s
"""
#: Down for one and a half seconds; neither time is that of a packet or of a timer.
CHANGES = "changes: [{at: 2003.7 ms, state: down}, {at: 3501.3 ms, state: up}]"
LINKS = {
    "wire": f"rate: 10 Mbit/s, delay: 9 ms, buffer: 40 packets, {CHANGES}",
    "one direction": f"rate: 10 Mbit/s, delay: 9 ms, buffer: 40 packets, backward: {{{CHANGES}}}",
    "codel": f"rate: 10 Mbit/s, delay: 9 ms, queue: {{codel: {{limit: 200 packets}}}}, {CHANGES}",
}
HEADER = ("direction", "seq_bytes", "payload_bytes", "ack_bytes")


def on_both(folder: Path, text: str) -> list[dumbbell.Results]:
    file = folder / "e.yaml"
    file.write_text(text.replace("PROFILE", kernel.profile()), encoding="utf-8")
    return [dumbbell.run(file, engine=engine) for engine in ("sim", "linux")]


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_packets_before_during_and_after_an_outage_are_the_same(tmp_path: Path, link: str) -> None:
    ways, pipes = [], []
    for results in on_both(tmp_path, TEXT.replace("LINK", link)):
        packets = results.packets.sort("time_ns", maintain_order=True)
        after = packets.filter(pl.col("time_ns") > 3_600_000_000)
        assert after.height > 500, "the flow goes on"
        split = packets.partition_by("direction", maintain_order=True, as_dict=True)
        ways.append({way: split[(way,)].select(HEADER).rows() for way in ("out", "back")})
        pipe = results.pipes.filter(pl.col("pipe") == "line/forward").row(0, named=True)
        dropped = sum(pipe[f"dropped_{reason}_packets"] for reason in REASONS)
        left = pipe["left_packets"] + pipe["remaining_packets"]
        assert pipe["arrived_packets"] == left + dropped
        pipes.append(pipe)
    assert ways[0]["out"] == ways[1]["out"]
    assert ways[0]["back"] == ways[1]["back"]
    for name in ("arrived_packets", "left_packets"):
        assert pipes[0][name] == pipes[1][name]
    assert pipes[0]["dropped_link_down_packets"] == pipes[1]["dropped_link_down_packets"]
    down = pipes[0]["dropped_link_down_packets"]
    assert (down > 3) == ("backward" not in link)


def test_stalls_and_recoveries_are_the_same(tmp_path: Path) -> None:
    """They come from the same samples; the outage from the file."""
    found = on_both(tmp_path, TEXT.replace("LINK", LINKS["wire"]))
    for name in ("outage_s", "stall_s", "resume_s", "recover_s"):
        values = [METRICS[name].measure(results)["value"].item() for results in found]
        assert values[0] == pytest.approx(values[1], abs=0.11), name
        assert values[0] > 0, name


def test_a_link_of_hosts_alone_fails_and_comes_back(tmp_path: Path) -> None:
    """Without a delay, rate or queue it has no discipline; at a host its shaper is elsewhere."""
    text = (
        "dumbbell: 1\nname: bare\nhosts: {a: {}, b: {}}\n"
        "links:\n  - between: [a, b]\n"
        "    changes: [{at: 1003 ms, state: down}, {at: 1501 ms, state: up}]\n"
        "flows: [{name: p, from: a, to: b, ping: {interval: 10 ms}}]\n"
        "sampling: {keep: [probes]}\nduration: 3 s\n"
    )
    for results in on_both(tmp_path, text):
        pipes = results.pipes
        assert pipes["dropped_link_down_packets"].to_list() == [50, 0]
        assert pipes["arrived_packets"][0] == pipes["left_packets"][0] + 50
        lost = results.probes.filter(pl.col("delay_ns") < 0)["time_ns"]
        lost = lost.filter(lost < 2_900_000_000)  # The last one is under way at the end.
        assert lost.len() == 50
        assert lost.min() >= 1_003_000_000 and lost.max() <= 1_501_000_000
