"""`dumbbell capture` beside tshark, on captures of the simulator, the kernel and this machine."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.capture import CaptureError, survey
from dumbbell.cli import app

TEXT = """\
dumbbell: 1
name: c
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 30 packets}}
flows:
  - {from: s1, to: d1, count: 2, start: 10 ms, tcp: {congestion_control: cubic, bytes: 300 KiB}}
  - {from: s2, to: d2, udp: {rate: 1 Mbit/s, datagram: 8192 bytes}}
  - {from: s1, to: d1, ping: {interval: 100 ms}}
taps: [{at: r1, link: bottleneck}, {at: d1, link: r2-d1}]
sampling: {capture: {snap: SNAP}}
duration: 2 s
"""


LINUX = pytest.param("linux", marks=pytest.mark.kernel)


@pytest.fixture(scope="module", params=["sim", "sim whole frames", LINUX])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture; cut to 96 bytes, or with whole frames (so that fragments are reassembled)."""
    folder = tmp_path_factory.mktemp("capture")
    engine, _, whole = request.param.partition(" ")
    experiment = folder / "e.yaml"
    snap = "2000 bytes" if whole else "96 bytes"
    experiment.write_text(TEXT.replace("SNAP", snap), encoding="utf-8")
    dumbbell.run(experiment, engine=engine, captures=folder)
    (path,) = folder.glob("*.pcapng")
    return path


@pytest.fixture(scope="module")
def loopback(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What tcpdump sees of three transfers within this machine, IPv4 and IPv6, and a datagram."""
    tcpdump = shutil.which("tcpdump") or "/usr/sbin/tcpdump"
    path = tmp_path_factory.mktemp("loopback") / "lo.pcap"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [tcpdump, "-i", "lo", "-w", str(path), "-U", "-s", "128", "port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = process.stderr.readline()
            if "listening" not in said:
                pytest.skip(f"tcpdump cannot listen here: {said.strip()}")
            for host in ("127.0.0.1", "127.0.0.1", "::1"):
                _transfer(host, port)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(bytes(100), ("127.0.0.1", port))
            deadline = time.monotonic() + 10
            while path.stat().st_size < 10_000 and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.3)
        finally:
            process.terminate()
    return path


def _transfer(host: str, port: int) -> None:
    """300 kB there, in three writes, each answered."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            return
        listener.listen()
        with socket.create_connection((host, port), timeout=5) as client:
            server, _ = listener.accept()
            with server:
                server.settimeout(5)
                for _ in range(3):
                    client.sendall(bytes(100_000))
                    left = 100_000
                    while left:
                        left -= len(server.recv(left))
                    server.sendall(b"done")
                    assert client.recv(4)


@pytest.mark.peers("tcpdump", "tshark")
def test_what_tcpdump_wrote_is_counted_as_tshark_does(loopback: Path) -> None:
    test_conversations_bytes_and_lengths_are_those_of_tshark(loopback)
    found = survey(loopback)
    data = [row for row in found["connections"] if row["unique_bytes"] == 300_000]
    assert len(data) >= 2
    for row in data:
        # Three requests, each answered; nothing is lost within a machine.
        assert (row["turns"], row["retransmitted_packets"], row["closed"]) == (3, 0, "both")
        assert row["rtt_samples"] > 0


def tshark(path: Path) -> list[list[str]]:
    """Length, addresses, number and ports of TCP's and UDP's conversation, for each frame."""
    fields = [
        "frame.len",
        "ip.src",
        "ipv6.src",
        "ip.dst",
        "tcp.stream",
        "tcp.srcport",
        "udp.stream",
        "udp.srcport",
    ]
    wanted = [word for field in fields for word in ("-e", field)]
    command = ["tshark", "-r", str(path), "-T", "fields", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return [[length, four or six, *rest] for length, four, six, *rest in rows]


@pytest.mark.peers("tshark")
def test_conversations_bytes_and_lengths_are_those_of_tshark(file: Path) -> None:
    found = survey(file)
    frames = tshark(file)
    assert found["file"]["packets"] == len(frames)
    assert found["file"]["bytes"] == sum(int(frame[0]) for frame in frames)
    ends = [one["to_bytes"] or 1 << 30 for one in found["lengths"]]
    bins = Counter(next(end for end in ends if int(frame[0]) <= end) for frame in frames)
    assert [one["packets"] for one in found["lengths"]] == [bins[end] for end in ends]
    theirs: Counter[tuple[Any, ...]] = Counter()
    for length, source, _, tcp, tcp_port, udp, udp_port in frames:
        for name, stream, port in (("tcp", tcp, tcp_port), ("udp", udp, udp_port)):
            if stream:
                theirs[name, source, int(port), "packets"] += 1
                theirs[name, source, int(port), "bytes"] += int(length)
    ours: Counter[tuple[Any, ...]] = Counter()
    for one in found["conversations"]:
        for side, there in (("a", "a_to_b"), ("b", "b_to_a")):
            for what in ("packets", "bytes"):
                if one["protocol"] != "ip" and one[f"{what}_{there}"]:
                    key = (one["protocol"], one[f"address_{side}"], one[f"port_{side}"], what)
                    ours[key] += one[f"{what}_{there}"]
    assert ours == theirs
    streams = {(frame[3], frame[5]) for frame in frames if frame[3] or frame[5]}
    assert len([one for one in found["conversations"] if one["protocol"] != "ip"]) == len(streams)


@pytest.mark.slow
def test_compressed_and_from_standard_input(file: Path, tmp_path: Path) -> None:
    plain = survey(file)
    packed = tmp_path / "c.pcapng.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert survey(packed)["conversations"] == plain["conversations"]
    command = "from dumbbell.capture import survey; import json; print(json.dumps(survey('-')))"
    with file.open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-c", command], stdin=stream, capture_output=True, check=True
        )
    assert json.loads(done.stdout)["conversations"] == plain["conversations"]


def test_the_command_shows_and_writes_json(file: Path, tmp_path: Path) -> None:
    written = tmp_path / "c.json"
    done = CliRunner().invoke(app, ["capture", str(file), "--json", str(written)])
    assert done.exit_code == 0, done.output
    assert "TCP" in done.output
    assert json.loads(written.read_text(encoding="utf-8")) == survey(file)


@pytest.mark.slow
def test_json_to_a_dash_is_printed_as_by_trace(file: Path) -> None:
    for words in (["--json", "-", str(file)], [str(file), "--json", "-"], [str(file), "--json"]):
        done = CliRunner().invoke(app, ["capture", *words])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["file"] == survey(file)["file"]
    done = CliRunner().invoke(app, ["capture", "--json", "-"])
    assert done.exit_code == 2
    assert "Missing argument 'files'" in done.output


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "neither pcap, pcapng nor snoop: it begins with nothing"),
        (
            b"dumbbell: 1\n",
            "neither pcap, pcapng nor snoop: it begins with 64 75 6d 62 62 65 6c 6c",
        ),
        (b"\x1f\x8b\x08\x00\x01\x02\x03", "cannot be read"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_read_is_one_message(
    content: bytes | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.pcap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CaptureError) as raised:
        survey(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert said in str(raised.value)
