"""Captures of QUIC flows have the stack's own bytes: Wireshark reads them, and engines agree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app

TEXT = """\
dumbbell: 1
name: quic capture
template: {dumbbell: {pairs: 1, rate: 20 Mbit/s, rtt: 40 ms, buffer: 30 kB}}
flows: [{name: q, from: s1, to: d1, quic: {bytes: 300 kB}}]
taps: [{name: t, at: s1, link: s1-r1}]
sampling: {capture: {snap: 65535 bytes}}
duration: 2 s
seed: 3
"""
#: Datagrams of the handshake.
FIRST = 12


def captured(engine: str, folder: Path) -> Path:
    file = folder / "e.yaml"
    file.write_text(TEXT, encoding="utf-8")
    store = folder / engine
    done = CliRunner().invoke(app, ["run", str(file), "--engine", engine, "--store", str(store)])
    assert done.exit_code == 0, done.output
    (capture,) = store.glob("runs/*.pcapng")
    return capture


def tshark(capture: Path, *fields: str) -> list[list[str]]:
    wanted = [word for field in fields for word in ("-e", field)]
    options = ["-o", "udp.check_checksum:TRUE", "-d", "udp.port==5001,quic", "-T", "fields"]
    command = ["tshark", "-r", str(capture), *options, *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.peers("tshark")
def test_wireshark_reads_the_datagrams(tmp_path: Path) -> None:
    rows = tshark(
        captured("sim", tmp_path),
        "udp.checksum.status", "udp.length", "ip.len", "quic.version", "quic.dcid",
    )  # fmt: skip
    assert len(rows) > 200
    # 1: good.
    assert {row[0] for row in rows} == {"1"}
    assert all(int(row[1]) + 20 == int(row[2]) for row in rows)
    # A client pads its first datagram to 1200 bytes (RFC 9000 §14.1), of version 1.
    assert rows[0][1:4] == [str(1200 + 8), str(1200 + 28), "0x00000001"]
    assert len(rows[0][4]) == 16


@pytest.mark.kernel
@pytest.mark.peers("tshark")
def test_the_kernel_carries_the_same_bytes(tmp_path: Path) -> None:
    ours, theirs = (
        tshark(captured(engine, tmp_path), "udp.checksum.status", "udp.payload")
        for engine in ("sim", "linux")
    )
    assert {row[0] for row in theirs} == {"1"}
    assert [row[1] for row in ours[:FIRST]] == [row[1] for row in theirs[:FIRST]]
