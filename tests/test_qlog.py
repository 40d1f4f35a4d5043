"""`dumbbell qlog`: logs of the stack in virtual time, which agree with the tables."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dumbbell import load_results
from dumbbell.cli import app

TEXT = """\
dumbbell: 1
name: logged
template: {dumbbell: {pairs: 2, rate: 20 Mbit/s, rtt: 40 ms, buffer: 30 kB}}
flows:
  - {name: q, from: s1, to: d1, quic: {congestion_control: $cc, bytes: 300 KiB}}
  - {name: t, from: s2, to: d2, start: 1.9 s, tcp: cubic}
duration: 2 s
factors: {cc: [cubic, new_reno]}
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("qlog")
    (folder / "e.yaml").write_text(TEXT, encoding="utf-8")
    call("run", folder / "e.yaml", "--store", folder / "store")
    return folder / "store"


def call(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def records(path: Path) -> list[dict[str, Any]]:
    """Records of JSON text sequences (RFC 7464): each between RS and LF."""
    text = path.read_bytes()
    assert text.startswith(b"\x1e") and text.endswith(b"\n")
    return [json.loads(one) for one in text.split(b"\x1e")[1:]]


def test_events_are_those_of_the_tables(store: Path, tmp_path: Path) -> None:
    call("qlog", store, "--cell", "cc=new_reno", "-o", tmp_path / "logs")
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == [
        "q.client.sqlog", "q.server.sqlog",
    ]  # fmt: skip
    head, *events = records(tmp_path / "logs" / "q.client.sqlog")
    assert head["qlog_format"] == "JSON-SEQ"
    names = Counter(event["name"] for event in events)
    flows = load_results(store).flows.filter(cc="new_reno", flow="q").to_dicts()
    (row,) = flows
    assert names["recovery:packet_lost"] == row["retransmitted_packets"] > 0
    sent = [event for event in events if event["name"] == "transport:packet_sent"]
    # Two packets of the handshake may share a datagram.
    assert row["data_packets"] <= len(sent) <= row["data_packets"] + 4
    times = [event["time"] for event in events]
    assert times == sorted(times) and times[0] >= 0 and times[-1] <= 2000
    numbers = [event["data"]["header"]["packet_number"] for event in sent]
    assert len(set(numbers)) >= len(numbers) - 4
    _, *answers = records(tmp_path / "logs" / "q.server.sqlog")
    received = [event for event in answers if event["name"] == "transport:packet_received"]
    assert row["received_packets"] <= len(received) <= row["received_packets"] + 4


def test_the_same_run_has_the_same_log(store: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        call("qlog", store, "-o", tmp_path / name)
    one, two = ((tmp_path / name / "q.client.sqlog").read_bytes() for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize("traffic", ["tcp: cubic", "quic: {stack: s2n}"])
def test_a_run_without_logs_is_refused(traffic: str, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "dumbbell: 1\nname: tcp\ntemplate: {dumbbell: {rate: 1 Mbit/s, rtt: 1 ms, buffer: 1 BDP}}\n"
        f"flows: [{{from: s1, to: d1, {traffic}}}]\nduration: 1 s\n",
        encoding="utf-8",
    )
    call("run", tmp_path / "e.yaml", "--store", tmp_path / "s")
    done = CliRunner().invoke(app, ["qlog", str(tmp_path / "s"), "-o", str(tmp_path / "logs")])
    assert done.exit_code != 0
    assert "no QUIC flow in this run" in done.output
    assert not (tmp_path / "logs").exists()
