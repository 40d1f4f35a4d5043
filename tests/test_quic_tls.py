"""QUIC with TLS 1.3: encryption changes no time and no length, and Wireshark decrypts captures."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

import dumbbell
from dumbbell.capture.kept import write_captures
from dumbbell.store import Store

TEXT = """\
dumbbell: 1
name: tls
template: {dumbbell: {rate: 20 Mbit/s, rtt: 40 ms, buffer: 30 kB}}
flows:
  - {name: q, from: s1, to: d1, quic: {congestion_control: $cc, bytes: 300 KiB, encryption: $how}}
taps: [{at: s1, link: s1-r1}]
sampling: {capture: {snap: 65535 bytes}}
duration: 2 s
factors: {cc: [cubic, bbr, new_reno], how: [none, tls]}
"""


def captures(folder: Path, text: str = TEXT, engine: str = "sim") -> dumbbell.Results:
    (folder / "e.yaml").write_text(text, encoding="utf-8")
    found = dumbbell.run(folder / "e.yaml", engine=engine, store=folder / "store")
    with Store(folder / "store", write=False) as store:
        write_captures(store, found, folder)
    return found


def decrypted(path: Path) -> list[tuple[str, str, set[int]]]:
    """Time, source port and types of the frames of each datagram, as tshark reads them."""
    fields = ("frame.time_relative", "udp.srcport", "quic.frame_type")
    command = ["tshark", "-r", str(path), "-T", "fields"]
    command += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return [
        (at, port, {int(one, 0) for one in kinds.split(",") if one}) for at, port, kinds in rows
    ]


def test_encryption_changes_neither_times_nor_lengths(tmp_path: Path) -> None:
    digests = captures(tmp_path).runs.select("cc", "how", "digest")
    for _, of_cc in digests.group_by("cc"):
        assert of_cc["digest"].n_unique() == 1
    assert digests["digest"].n_unique() == 3
    paths = (tmp_path / f"tls-cubic-{how}-0.pcapng" for how in ("none", "tls"))
    plain, hidden = (path.read_bytes() for path in paths)
    assert plain != hidden


@pytest.mark.peers("tshark")
@pytest.mark.parametrize("engine", ["sim", pytest.param("linux", marks=pytest.mark.kernel)])
def test_wireshark_decrypts_a_capture(engine: str, tmp_path: Path) -> None:
    text = TEXT.replace("[cubic, bbr, new_reno]", "[cubic]").replace("[none, tls]", "[tls]")
    found = captures(tmp_path, text, engine)
    (flow,) = found.flows.to_dicts()
    (path,) = tmp_path.glob("*.pcapng")
    seen = decrypted(path)
    assert all(kinds for *_, kinds in seen), "every datagram is read"
    client = seen[0][1]
    kinds = Counter(kind for _, port, kinds in seen if port == client for kind in kinds)
    data = sum(kinds[kind] for kind in range(0x08, 0x10))
    # Each datagram of the client has a STREAM frame (RFC 9000 §19.8), but those of the handshake,
    # of acknowledgements, and probes of the path's MTU.
    assert flow["delivered_bytes"] == 300 << 10
    assert flow["data_packets"] - 12 <= data <= flow["data_packets"]
    answers = [kinds for _, port, kinds in seen if port != client]
    assert any(0x1E in kinds for kinds in answers), "HANDSHAKE_DONE"
    # The path marks and keeps ECT(0): acknowledgements count it (RFC 9000 §19.3.2).
    assert sum(0x03 in kinds for kinds in answers) > len(answers) * 0.8
