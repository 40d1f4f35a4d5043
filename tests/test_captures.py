"""Captures: what is in the file is what the tables say, and others' tools read it."""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest

import dumbbell
from dumbbell.errors import ExperimentError
from dumbbell.files.output import OutputError

#: Loss behind the first tap, a datagram in fragments, echo requests; taps before and behind.
TEXT = """\
dumbbell: 1
name: a capture
template: {dumbbell: {pairs: 2, rate: 10 Mbit/s, rtt: 20 ms, buffer: 30 packets}}
flows:
  - {name: f, from: s1, to: d1, stop: 3 s, tcp: $cc}
  - {name: u, from: s2, to: d2, start: 1 s, udp: {rate: 1 Mbit/s, datagram: 8192 bytes}}
  - {name: p, from: s1, to: d1, ping: {interval: 100 ms}}
taps:
  - {name: in, at: r1, link: s1-r1}
  - {name: udp, at: r1, link: s2-r1}
  - {name: out, at: d1, link: r2-d1}
sampling: {capture: true, packets: {to: 4 s}, keep: [drops]}
factors: {cc: [cubic, bbr]}
duration: 4 s
"""
LINUX = pytest.param("linux", marks=pytest.mark.kernel)


@dataclass(frozen=True)
class Frame:
    """A packet block."""

    interface: int
    time_ns: int
    length: int
    data: bytes
    comment: str


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and body of each block of a little-endian pcapng file."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        yield kind, data[at + 8 : at + length - 4]
        at += length


def options(body: bytes, at: int) -> dict[int, bytes]:
    found = {}
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        found[code] = body[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


def read(path: Path) -> tuple[list[str], list[Frame]]:
    """Names of interfaces, and frames."""
    names, frames = [], []
    for kind, body in blocks(path.read_bytes()):
        if kind == 1:
            names.append(options(body, 8)[2].decode())
        elif kind == 6:
            interface, high, low, kept, length = struct.unpack_from("<IIIII", body)
            rest = options(body, 20 + (kept + 3) // 4 * 4)
            comment = rest.get(1, b"").decode()
            data = body[20 : 20 + kept]
            frames.append(Frame(interface, high << 32 | low, length, data, comment))
    return names, frames


@dataclass(frozen=True)
class Captured:
    """An experiment and its captures, one per level of `cc`."""

    results: dumbbell.Results
    files: dict[str, Path]


@pytest.fixture(scope="module", params=["sim", LINUX])
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    folder = tmp_path_factory.mktemp(request.param)
    file = folder / "e.yaml"
    file.write_text(TEXT, encoding="utf-8")
    results = dumbbell.run(file, engine=request.param, captures=folder / "c")
    files = {cc: folder / "c" / f"a_capture-{cc}-0.pcapng" for cc in ("cubic", "bbr")}
    assert sorted((folder / "c").iterdir()) == sorted(files.values())
    return Captured(results, files)


@pytest.mark.slow
def test_every_packet_of_the_tables_is_there_and_no_other(captured: Captured) -> None:
    for cc, path in captured.files.items():
        names, frames = read(path)
        assert names == ["in", "udp", "out"]
        assert [frame.time_ns for frame in frames] == sorted(frame.time_ns for frame in frames)
        rows = captured.results.packets.filter(pl.col("cc") == cc)
        expected = Counter(rows.select("tap", "time_ns", "frame_bytes").iter_rows())
        ip = [frame for frame in frames if frame.data[12:14] == b"\x08\x00"]
        found = Counter((names[f.interface], f.time_ns, f.length) for f in ip)
        assert found == expected
        assert all(len(frame.data) == min(96, frame.length) for frame in frames)


def test_the_simulator_tells_why_segments_were_sent_and_dropped(captured: Captured) -> None:
    told = again = 0
    for cc, path in captured.files.items():
        names, frames = read(path)
        comments = Counter((names[f.interface], f.comment.split(" at ")[0]) for f in frames)
        if captured.results.runs["engine"][0] != "sim":
            assert not any(comment for _, comment in comments)
            continue
        mine = captured.results.flows.filter((pl.col("cc") == cc) & (pl.col("flow") == "f"))
        row = mine.row(0, named=True)
        causes = Counter[str]()
        for (tap, comment), count in comments.items():
            if tap == "in":
                for part in comment.split("; "):
                    causes[part] += count
        # It ends a second before the run, so that all of it has passed the tap.
        for kind in ("fast", "time-out", "tail loss probe"):
            column = {"fast": "fast", "time-out": "timeout", "tail loss probe": "probe"}[kind]
            sent = row[f"{column}_retransmitted_packets"]
            assert causes[f"retransmission: {kind}"] == sent
            again += sent
        # The tap is on the way of the flow and of the echo requests.
        drops = captured.results.drops.filter((pl.col("cc") == cc) & (pl.col("flow") != "u"))
        assert causes["dropped"] == drops.height
        told += drops.height
    if captured.results.runs["engine"][0] == "sim":
        assert told > 0
        assert again > 0


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sim", LINUX])
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    tmp_path: Path, engine: str
) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT.replace("[cubic, bbr]", "[cubic]"), encoding="utf-8")
    data = []
    for number, seed in enumerate((1, 1, 2)):
        folder = tmp_path / f"{engine}{number}"
        dumbbell.run(file, engine=engine, seed=seed, captures=folder)
        (path,) = folder.iterdir()
        data.append(path.read_bytes())
    assert data[0] == data[1]
    assert data[0] != data[2]


def test_captures_need_a_tap_and_a_folder_that_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    start, end = TEXT.index("taps:"), TEXT.index("sampling:")
    text = (TEXT[:start] + TEXT[end:]).replace(", packets: {to: 4 s}", "")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ExperimentError, match="packets are captured at taps; there is none"):
        dumbbell.run(file)
    file.write_text(TEXT, encoding="utf-8")
    (tmp_path / "c").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot be written"):
        dumbbell.run(file, captures=tmp_path / "c")


def test_captures_that_were_not_asked_for_are_one_message(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT.replace("capture: true, ", ""), encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"e\.yaml: captures are wanted, but .* makes none"):
        dumbbell.run(file, captures=tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
def test_a_file_per_tap_holds_what_the_one_file_does(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT.replace("[cubic, bbr]", "[cubic]"), encoding="utf-8")
    dumbbell.run(file, captures=tmp_path / "whole")
    dumbbell.run(file, captures=tmp_path / "parts", per_tap=True)
    names, frames = read(tmp_path / "whole" / "a_capture-cubic-0.pcapng")
    for number, name in enumerate(names):
        own, part = read(tmp_path / "parts" / f"a_capture-cubic-0-{name}.pcapng")
        assert own == [name]
        expected = [replace(f, interface=0) for f in frames if f.interface == number]
        assert part == expected and expected


def tshark(path: Path, *arguments: str) -> str:
    command = ["tshark", "-r", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.peers("tshark")
def test_tshark_finds_nothing_wrong_with_headers_and_checksums(captured: Captured) -> None:
    checks = [f"-o{name}.check_checksum:TRUE" for name in ("ip", "tcp", "udp")]
    for path in captured.files.values():
        wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0"
        wrong += " || udp.checksum.status == 0 || icmp.checksum.status == 0"
        assert tshark(path, *checks, "-Y", wrong) == ""
        fields = ["-T", "fields", "-e", "frame.len", "-Y", "tcp && frame.interface_id == 0"]
        lengths = tshark(path, *checks, *fields).split()
        mine = [f.length for f in read(path)[1] if f.interface == 0 and f.data[23] == 6]
        assert [int(length) for length in lengths] == mine


@pytest.mark.peers("tshark", "tcptrace")
def test_tcptrace_counts_what_the_tap_counts(captured: Captured, tmp_path: Path) -> None:
    for cc, path in captured.files.items():
        one = tmp_path / "one.pcap"
        tshark(path, "-Y", "tcp && frame.interface_id == 0", "-F", "pcap", "-w", str(one))
        said = subprocess.run(
            ["tcptrace", "-l", str(one)], capture_output=True, text=True, check=True
        ).stdout
        flow = captured.results.flows.filter((pl.col("cc") == cc) & (pl.col("flow") == "f"))
        row = flow.row(0, named=True)
        counts = {}
        for line in said.splitlines():
            words = line.split()
            if len(words) >= 4 and "pkts:" in words:
                counts[" ".join(words[: words.index("pkts:")])] = int(
                    words[words.index("pkts:") + 1]
                )
        assert counts["actual data"] == row["tap_data_packets"]
        assert abs(counts["rexmt data"] - row["tap_retransmissions"]) <= 1
