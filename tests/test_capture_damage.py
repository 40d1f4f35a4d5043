"""Damaged captures: what is sound is read, and the place of the damage is told in one line."""

from __future__ import annotations

import lzma
import struct
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dumbbell
from dumbbell.capture import survey
from dumbbell.capture.damage import damage
from dumbbell.cli import app

RUN = """\
dumbbell: 1
name: cap
template: {dumbbell: {pairs: 1, rate: 10 Mbit/s, rtt: 20 ms, buffer: 1 BDP}}
flows: [{from: s1, to: d1, tcp: cubic}]
taps: [{at: r1, link: s1-r1}]
duration: 1 s
sampling: {capture: true}
"""
ENHANCED_PACKET = 6


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    (folder / "x.yaml").write_text(RUN)
    dumbbell.run(folder / "x.yaml", captures=folder)
    (file,) = folder.glob("*.pcapng")
    return file


def blocks(data: bytes) -> list[int]:
    """Offsets of the packets."""
    at, found = 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        found += [at] if kind == ENHANCED_PACKET else []
        at += length
    return found


def with_length(data: bytes, number: int, length: int) -> bytes:
    """The file with another length of a packet."""
    at = blocks(data)[number] + 4
    return data[:at] + struct.pack("<I", length) + data[at + 4 :]


def test_a_damaged_length_costs_one_packet(capture: Path, tmp_path: Path) -> None:
    data, bad = capture.read_bytes(), tmp_path / "bad.pcapng"
    whole, at = survey(capture)["file"]["packets"], blocks(data)[100]
    for length in (0x7FFFFF00, 5, 0):
        bad.write_bytes(with_length(data, 100, length))
        file = survey(bad)["file"]
        assert file["packets"] == whole - 1
        (said,) = damage(file)
        begin = f"the capture is damaged at byte {at}: a block of {length} bytes: skipped to byte "
        assert said == begin + f"{blocks(data)[101]}; packets read before: 100"


def test_every_reader_of_captures_tells_the_damage(capture: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pcapng"
    bad.write_bytes(with_length(capture.read_bytes(), 100, 5))
    for words in (
        ["capture", bad],
        ["fit", bad, "--no-rank"],
        ["workload", "from-capture", bad, "-o", tmp_path / "w.yaml"],
    ):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        assert "packets read before: 100" in " ".join(done.output.split()), words


def test_of_damaged_xz_what_is_before_is_read(capture: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pcapng.xz"
    data = bytearray(lzma.compress(capture.read_bytes()))
    data[len(data) // 2] ^= 0xFF
    bad.write_bytes(data)
    file = survey(bad)["file"]
    assert file["packets"] > 100
    (said,) = damage(file)
    assert said.startswith("the capture breaks off: ")
    assert said.endswith(f"packets read before: {file['packets']}; what follows is missing")


def test_a_whole_capture_has_no_damage(capture: Path) -> None:
    assert damage(survey(capture)["file"]) == []
