"""TCP of smoltcp: laws of the path, what the wire shows, determinism, bad input."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.capture.kept import write_captures
from dumbbell.cli import app
from dumbbell.experiment import load_text
from dumbbell.store import Store

TEXT = """\
dumbbell: 1
name: smoltcp
template: {dumbbell: {pairs: 2, rate: 20 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}
flows:
  - {name: f, from: s1, to: d1, tcp: {stack: smoltcp, congestion_control: cubic}}
duration: 5 s
seed: 3
"""
RTT_NS = 40_000_000


def run(folder: Path, text: str = TEXT, **options: Any) -> dumbbell.Results:
    (folder / "e.yaml").write_text(text, encoding="utf-8")
    return dumbbell.run(folder / "e.yaml", **options)


def flow(results: dumbbell.Results, name: str = "f") -> dict[str, Any]:
    (row,) = results.flows.filter(pl.col("flow") == name).to_dicts()
    return row


@pytest.mark.parametrize("control", ["cubic", "reno"])
def test_laws_of_the_path(control: str, tmp_path: Path) -> None:
    found = run(tmp_path, TEXT.replace("cubic", control))
    row = flow(found)
    assert (row["kind"], row["congestion_control"]) == ("tcp", f"smoltcp:{control}")
    assert RTT_NS <= row["established_ns"] < 1.1 * RTT_NS
    # A frame of 1514 bytes carries 1460: smoltcp sends no timestamps.
    assert 3e6 < row["delivered_bytes"] * 8 / 5 < 20e6 * 1460 / 1514
    (pipe,) = found.pipes.filter(pl.col("pipe") == "bottleneck/forward").to_dicts()
    # The SYN and ACKs beside the data: one for the handshake.
    assert row["data_packets"] < pipe["arrived_packets"] <= row["data_packets"] + 3
    assert row["received_packets"] + row["dropped_packets"] <= row["sent_packets"]
    assert row["dropped_packets"] > 0
    # It goes back to the first loss, and retransmits more than was lost.
    assert row["retransmitted_packets"] >= row["dropped_packets"]
    by_cause = row["fast_retransmitted_packets"] + row["timeout_retransmitted_packets"]
    assert by_cause == row["retransmitted_packets"]
    # What smoltcp does not tell is unknown, not 0.
    assert found.flows["cwnd_mean_packets"].is_nan().all()
    assert found.flows["srtt_mean_ns"].is_nan().all()
    assert row["rtt_min_ns"] == row["cwnd_max_packets"] == -1


def test_all_data_arrives_and_the_connection_closes(tmp_path: Path) -> None:
    text = TEXT.replace("cubic}", "cubic, bytes: 1 MiB}")
    for impaired in ("", "loss: 2 %", "duplication: 5 %", "jitter: 3 ms"):
        one = text.replace(
            "buffer: 1 BDP", f"buffer: 1 BDP, {impaired}" if impaired else "buffer: 1 BDP"
        )
        found = run(tmp_path, one.replace("5 s", "60 s"))
        row = flow(found)
        assert row["delivered_bytes"] == 1 << 20, impaired
        (transfer,) = found.transfers.to_dicts()
        assert transfer["end_ns"] == row["last_delivery_ns"] < row["end_ns"]
        assert row["end_ns"] >= row["last_delivery_ns"] + RTT_NS // 2


def test_a_stopped_flow_sends_what_its_buffer_holds(tmp_path: Path) -> None:
    text = TEXT.replace("to: d1,", "to: d1, stop: 1 s,").replace("5 s", "20 s")
    row = flow(run(tmp_path, text))
    assert 1e9 < row["last_delivery_ns"] < 10e9


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    text = TEXT.replace("congestion_control: cubic", "congestion_control: $cc")
    text = text.replace("seed: 3", "factors: {cc: [cubic, reno]}\nrepeats: 2")
    text = text.replace("to: d1,", "to: d1, start_jitter: 1 RTT,")
    one, two = (run(tmp_path, text, workers=number).runs for number in (1, 2))
    assert one["digest"].to_list() == two["digest"].to_list()
    assert one["digest"].n_unique() == 4
    late_ping = "flows:\n  - {name: first, from: s2, to: d2, start: 4 s, ping: 1 s}"
    finite = TEXT.replace("cubic}", "cubic, bytes: 1 MB}")
    alone = flow(run(tmp_path, finite))
    beside = flow(run(tmp_path, finite.replace("flows:", late_ping)))
    assert alone["end_ns"] < 4e9
    for column in ("delivered_bytes", "end_ns", "data_packets", "retransmitted_packets"):
        assert alone[column] == beside[column]


def test_what_smoltcp_does_not_tell_is_in_no_sentence(tmp_path: Path) -> None:
    text = TEXT.replace(
        "duration:", "taps: [{at: s1, link: s1-r1}]\nsampling: {packets: {to: 5 s}}\nduration:"
    )
    run(tmp_path, text, store=tmp_path / "store")
    words = ["explain", str(tmp_path / "store"), "--flow", "f", "--at", "1 s"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "The window of f is not known" in done.output
    assert "-1" not in done.output and "reordering degree" not in done.output


def test_it_competes_with_linux(tmp_path: Path) -> None:
    other = "\nduration"
    text = TEXT.replace(other, "\n  - {name: t, from: s2, to: d2, tcp: cubic}\nduration", 1)
    found = run(tmp_path, text.replace("5 s", "20 s"))
    rows = dumbbell.METRICS["share"].measure(found)
    shares = dict(zip(rows["flow"], rows["value"], strict=True))
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) > 0.05


@pytest.mark.peers("tshark")
def test_the_wire_shows_the_segments_of_smoltcp(tmp_path: Path) -> None:
    text = TEXT.replace(
        "duration:", "taps: [{at: s1, link: s1-r1}]\nsampling: {capture: true}\nduration:"
    )
    found = run(tmp_path, text, store=tmp_path / "store")
    with Store(tmp_path / "store", write=False) as store:
        (path,) = write_captures(store, found, tmp_path)
    fields = [
        "tcp.flags.syn",
        "tcp.options.timestamp.tsval",
        "tcp.len",
        "tcp.analysis.retransmission",
    ]
    command = ["tshark", "-r", str(path), "-T", "fields", "-Y", "tcp.srcport==20001"]
    command += ["-o", "tcp.check_checksum:TRUE", "-e", "tcp.checksum.status"]
    command += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0][1] in ("1", "True")
    assert {row[2] for row in rows} == {""}, "no timestamps"
    assert {row[0] for row in rows} <= {"1", "2"}, "no bad checksum"
    row = flow(found)
    assert sum(int(row[3]) > 0 for row in rows) == row["data_packets"]


@pytest.mark.parametrize(
    ("tcp", "words"),
    [
        ("congestion_control: bbr", r"smoltcp has no bbr; allowed: cubic, reno"),
        ("congestion_control: cubic, fq: true", "smoltcp does not pace"),
        ("congestion_control: cubic, sender: {tcp_sack: false}", "at the sender are Linux's"),
        (
            "congestion_control: cubic, source: {periodic: {chunk: 1 kB, interval: 1 ms}}",
            "smoltcp's application writes in bulk",
        ),
    ],
)  # fmt: skip
def test_what_smoltcp_cannot_do_is_said(tcp: str, words: str) -> None:
    text = TEXT.replace("congestion_control: cubic", tcp)
    with pytest.raises(dumbbell.ExperimentError, match=rf"e.yaml:5.*{words}"):
        load_text(text, Path("e.yaml"))


def test_an_unknown_stack_and_other_engines(tmp_path: Path) -> None:
    with pytest.raises(
        dumbbell.ExperimentError, match=r"unknown stack; found lwip; allowed: linux, smoltcp"
    ):
        load_text(TEXT.replace("smoltcp, ", "lwip, "), Path("e.yaml"))
    with pytest.raises(dumbbell.DumbbellError, match="stack smoltcp runs in the simulator alone"):
        run(tmp_path, engine="linux")
    arrivals = (
        "arrivals: [{name: a, from: s1, to: d1, per_second: 1, size: 1 kB, tcp: {stack: smoltcp}}]"
    )
    text = TEXT.replace("flows:", f"{arrivals}\nflows:")
    with pytest.raises(dumbbell.ExperimentError, match="stack"):
        load_text(text, Path("e.yaml"))
