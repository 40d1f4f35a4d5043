"""QUIC in the simulator: laws of the path, determinism, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell
from dumbbell.experiment import load_text

TEXT = """\
dumbbell: 1
name: quic
template: {dumbbell: {pairs: 2, rate: 20 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}
flows:
  - {name: q, from: s1, to: d1, quic: QUIC}
duration: 5 s
seed: 3
"""
RTT_NS = 40_000_000


def run(folder: Path, quic: str, *, more: str = "", text: str = TEXT) -> dumbbell.Results:
    file = folder / "e.yaml"
    flows = f"QUIC}}\n{more}" if more else "QUIC}\n"
    file.write_text(text.replace("QUIC}\n", flows).replace("QUIC", quic), encoding="utf-8")
    return dumbbell.run(file)


def flow(results: dumbbell.Results, name: str = "q") -> dict[str, Any]:
    (row,) = results.flows.filter(pl.col("flow") == name).to_dicts()
    return row


def value(results: dumbbell.Results, metric: str, **of: str) -> float:
    rows = dumbbell.METRICS[metric].measure(results)
    for column, name in of.items():
        rows = rows.filter(pl.col(column) == name)
    (found,) = rows["value"].to_list()
    return float(found)


#: Stacks and their controls.
STACKS = [
    ("quinn", "cubic"), ("quinn", "bbr"), ("quinn", "new_reno"), ("s2n", "cubic"), ("s2n", "bbr"),
]  # fmt: skip


@pytest.mark.parametrize(("stack", "control"), STACKS)
def test_laws_of_the_path(stack: str, control: str, tmp_path: Path) -> None:
    found = run(tmp_path, f"{{stack: {stack}, congestion_control: {control}}}")
    row = flow(found)
    assert row["congestion_control"] == f"{stack}:{control}"
    # A handshake of one round trip, and the bytes of its frames.
    assert RTT_NS <= row["established_ns"] < 1.5 * RTT_NS
    assert row["rtt_min_ns"] >= RTT_NS
    # Of a frame of 1494 bytes at most 1452 less QUIC's header and tag are payload.
    assert 15 < value(found, "goodput_mbps", flow="q") < 20 * 1430 / 1494
    pipe = found.pipes.filter(pl.col("pipe") == "bottleneck/forward").to_dicts()[0]
    assert value(found, "utilisation", pipe="bottleneck/forward") <= 1
    assert pipe["arrived_packets"] == row["data_packets"]
    assert row["received_packets"] + row["dropped_packets"] <= row["data_packets"]
    # What the path dropped is declared lost, and nothing else: the path reorders nothing.
    assert 0 < row["retransmitted_packets"] <= row["dropped_packets"]


@pytest.mark.parametrize("stack", ["quinn", "s2n"])
def test_bytes_end_the_flow(stack: str, tmp_path: Path) -> None:
    found = run(tmp_path, f"{{stack: {stack}, bytes: 1 MiB, streams: 7}}")
    row = flow(found)
    assert row["delivered_bytes"] == 1 << 20
    (transfer,) = found.transfers.to_dicts()
    assert transfer["transfer_bytes"] == 1 << 20
    assert transfer["end_ns"] == row["last_delivery_ns"] < row["end_ns"]
    # The last ACK comes half a round trip after the last byte.
    assert row["end_ns"] >= row["last_delivery_ns"] + RTT_NS // 2
    assert found.runs["packets"][0] > 700


@pytest.mark.parametrize("stack", ["quinn", "s2n"])
def test_a_stopped_flow_sends_no_new_data(stack: str, tmp_path: Path) -> None:
    text = TEXT.replace("to: d1,", "to: d1, stop: 2 s,")
    row = flow(run(tmp_path, f"{{stack: {stack}}}", text=text))
    assert row["last_delivery_ns"] < 2e9 + 3 * RTT_NS


@pytest.mark.parametrize("stack", ["quinn", "s2n"])
def test_another_flow_elsewhere_changes_nothing(stack: str, tmp_path: Path) -> None:
    cubic = f"{{stack: {stack}}}"
    alone = run(tmp_path, cubic)
    ping = "  - {name: p, from: d2, to: s2, ping: 100 ms}\n"
    beside = run(tmp_path, cubic, more=ping)
    assert alone.runs["digest"][0] == run(tmp_path, cubic).runs["digest"][0]
    mine, its = flow(alone), flow(beside)
    # The probes take a place in the queue now and then, and draw none of the stack's numbers.
    assert mine["delivered_bytes"] == pytest.approx(its["delivered_bytes"], rel=0.02)
    late_ping = "flows:\n  - {name: first, from: s2, to: d2, start: 4 s, ping: 1 s}"
    text = TEXT.replace("flows:", late_ping)
    finite = f"{{stack: {stack}, bytes: 1 MB}}"
    late = run(tmp_path, finite, text=text)
    columns = ("delivered_bytes", "end_ns", "data_packets", "srtt_mean_ns", "cwnd_mean_packets")
    mine, its = flow(late), flow(run(tmp_path, finite))
    assert [mine[one] for one in columns] == [its[one] for one in columns]


def test_workers_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    s2n = "{label: s2n, value: {stack: s2n}}"
    quinn = ", ".join(f"{{label: {name}, value: {name}}}" for name in ("cubic", "bbr", "new_reno"))
    more = f"factors: {{cc: [{quinn}, {s2n}]}}\nrepeats: 2\n"
    text = TEXT.replace("seed: 3\n", more).replace("QUIC", "$cc")
    file.write_text(text, encoding="utf-8")
    one, two = (dumbbell.run(file, workers=number).runs for number in (1, 2))
    assert one["digest"].to_list() == two["digest"].to_list()
    assert one["digest"].n_unique() == 8


@pytest.mark.parametrize("stack", ["quinn", "s2n"])
def test_losses_reordering_and_duplicates_leave_the_data_whole(stack: str, tmp_path: Path) -> None:
    quic = f"{{stack: {stack}, bytes: 1 MiB, congestion_control: bbr}}"
    text = TEXT.replace("buffer: 1 BDP}", "buffer: 1 BDP, IMPAIRED}")
    for impaired in ("loss: 2 %", "duplication: 5 %", "jitter: 3 ms"):
        one = text.replace("IMPAIRED", impaired)
        found = run(tmp_path, quic, text=one)
        row = flow(found)
        assert row["delivered_bytes"] == 1 << 20, impaired
        if impaired.startswith("duplication"):
            assert row["received_packets"] + row["dropped_packets"] > row["data_packets"]


def test_a_quic_flow_competes_with_tcp(tmp_path: Path) -> None:
    more = "  - {name: t, from: s2, to: d2, start: 50 ms, tcp: cubic}\n"
    found = run(tmp_path, "cubic", more=more)
    shares = [value(found, "share", flow=name) for name in ("q", "t")]
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0.05
    assert value(found, "total_goodput_mbps") < 20 * 1448 / 1494


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    with pytest.raises(dumbbell.ExperimentError, match=r"quic.stack: .*picoquic.*quinn"):
        load_text(TEXT.replace("QUIC", "{stack: picoquic}"), Path("e.yaml"))
    with pytest.raises(dumbbell.ExperimentError, match=r"streams.*1 to 100.*found 0"):
        load_text(TEXT.replace("QUIC", "{streams: 0}"), Path("e.yaml"))
    with pytest.raises(dumbbell.ExperimentError, match="s2n has no new_reno; allowed: cubic, bbr"):
        load_text(
            TEXT.replace("QUIC", "{stack: s2n, congestion_control: new_reno}"), Path("e.yaml")
        )
    with pytest.raises(dumbbell.ExperimentError, match="s2n runs without encryption"):
        load_text(TEXT.replace("QUIC", "{stack: s2n, encryption: tls}"), Path("e.yaml"))
    text = TEXT.replace("flows:", "hosts: {defaults: {mtu: 1000 bytes}}\nflows:")
    with pytest.raises(dumbbell.DumbbellError, match=r"stack quinn, flow q.*1200.*leaves 972"):
        run(tmp_path, "cubic", text=text)


STOPPED = """\
dumbbell: 1
name: stopped
template: {dumbbell: {rate: 10 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}
flows: [{name: get, from: s1, to: d1, quic: {stack: $stack}, start: 1 s, stop: 4 s}]
duration: 10 s
factors: {stack: [quinn, s2n]}
"""


def test_a_flow_that_is_stopped_ends(tmp_path: Path) -> None:
    """An abandoned stream is never acknowledged: its goodput is that of 3 s, not of 9."""
    file = tmp_path / "stopped.yaml"
    file.write_text(STOPPED, encoding="utf-8")
    results = dumbbell.run(file)
    for row in results.flows.iter_rows(named=True):
        assert 4e9 <= row["end_ns"] < 4.2e9
    for goodput in dumbbell.METRICS["goodput_mbps"].measure(results)["value"]:
        assert 8.5 < goodput < 10
