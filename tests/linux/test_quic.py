"""QUIC: the stack sends the same datagrams in the simulator and over the kernel's UDP."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dumbbell

TEXT = """\
dumbbell: 1
name: quic
template: {dumbbell: {pairs: 1, rate: RATE, rtt: RTT, buffer: BUFFER, queue: QUEUE}}
flows: [{name: q, from: s1, to: d1, start: 10 ms, quic: {congestion_control: CC, streams: 2}}]
taps: [{name: t, at: s1, link: s1-r1}]
sampling: {packets: {to: 1 s}}
duration: 5 s
seed: 3
"""
#: Datagrams of each direction that are compared one by one: handshake, first window and its
#: answers. Later the pacer, which counts microseconds, sends one more or less for an ACK.
FIRST = {"out": 25, "back": 20}


def run(engine: str, folder: Path, **settings: str) -> dumbbell.Results:
    text = TEXT
    default = {"RATE": "10 Mbit/s", "RTT": "40 ms", "CC": "cubic"}
    if "QUEUE" not in settings:
        text = text.replace(", queue: QUEUE", "")
        default["BUFFER"] = "1 BDP"
    else:
        text = text.replace(", buffer: BUFFER", "")
    for name, value in {**default, **settings}.items():
        text = text.replace(name, value)
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file, engine=engine)


@pytest.mark.kernel
@pytest.mark.parametrize("control", ["cubic", "bbr", "new_reno"])
def test_the_first_datagrams_are_the_same_on_the_kernel(control: str, tmp_path: Path) -> None:
    ours, theirs = (run(engine, tmp_path, CC=control) for engine in ("sim", "linux"))
    for direction, first in FIRST.items():
        sent, seen = (
            one.packets.filter(pl.col("direction") == direction)
            .sort("time_ns", maintain_order=True)
            .head(first)
            for one in (ours, theirs)
        )
        for column in ("payload_bytes", "tos", "packet_number"):
            assert sent[column].to_list() == seen[column].to_list(), (control, direction, column)
        assert ((seen["time_ns"] - sent["time_ns"]).abs() < 100_000).all()
    (mine,), (its,) = ours.flows.to_dicts(), theirs.flows.to_dicts()
    assert (mine["kind"], mine["congestion_control"]) == ("quic", f"quinn:{control}")
    assert (its["kind"], its["congestion_control"]) == ("quic", f"quinn:{control}")
    assert mine["delivered_bytes"] == pytest.approx(its["delivered_bytes"], rel=0.01)
    assert mine["srtt_mean_ns"] == pytest.approx(its["srtt_mean_ns"], rel=0.05)
    assert mine["cwnd_mean_packets"] == pytest.approx(its["cwnd_mean_packets"], rel=0.05)


@pytest.mark.kernel
@pytest.mark.parametrize("control", ["cubic", "bbr"])
def test_s2n_does_on_the_kernel_what_it_does_in_the_simulator(control: str, tmp_path: Path) -> None:
    cc = f"{{stack: s2n, congestion_control: {control}}}"
    text = TEXT.replace("quic: {congestion_control: CC, streams: 2}", f"quic: {cc}")
    text = text.replace(", queue: QUEUE", "").replace("RATE", "10 Mbit/s").replace("RTT", "40 ms")
    (tmp_path / "e.yaml").write_text(text.replace("BUFFER", "4 BDP"), encoding="utf-8")
    rows = [dumbbell.run(tmp_path / "e.yaml", engine=one).flows for one in ("sim", "linux")]
    (mine,), (its,) = (one.to_dicts() for one in rows)
    assert its["congestion_control"] == f"s2n:{control}"
    for column in ("delivered_bytes", "srtt_mean_ns", "cwnd_mean_packets", "established_ns"):
        assert mine[column] == pytest.approx(its[column], rel=0.02), column


@pytest.mark.kernel
def test_marks_reach_the_stack_on_the_kernel(tmp_path: Path) -> None:
    queue = "{codel: {target: 5 ms, ecn: true}}"
    ours, theirs = (run(engine, tmp_path, QUEUE=queue) for engine in ("sim", "linux"))
    for one in (ours, theirs):
        (flow,) = one.flows.to_dicts()
        assert one.pipes["marked_packets"].sum() > 0
        assert flow["retransmitted_packets"] == 0
    mine, its = (one.flows["delivered_bytes"][0] for one in (ours, theirs))
    assert mine == pytest.approx(its, rel=0.02)
