"""What lies around IP in a capture: link types, tunnels, and names for what holds no IP."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

from typer.testing import CliRunner

from dumbbell.capture import survey
from dumbbell.capture.page import page
from dumbbell.capture.tables import frames, write
from dumbbell.cli import app
from tests.segments import pcap, transfer

ETHERNET = bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2])


def ethernet(path: Path, found: Iterable[tuple[float, bytes]]) -> Path:
    """A file of Ethernet frames."""
    pcap(found, path)
    data = bytearray(path.read_bytes())
    data[20] = 1
    path.write_bytes(bytes(data))
    return path


def vxlan(network: int, packet: bytes) -> bytes:
    """An Ethernet frame with VXLAN, and an IPv4 packet in it."""
    inner = struct.pack(">II", 8 << 24, network << 8) + ETHERNET + b"\x08\x00" + packet
    udp = struct.pack(">HHHH", 50_000, 4789, 8 + len(inner), 0) + inner
    ends = bytes([192, 0, 2, 1, 192, 0, 2, 2])
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0) + ends
    return ETHERNET + b"\x08\x00" + ip + udp


def overlay(path: Path) -> Path:
    """The same transfer in two networks of VXLAN, and an ARP frame."""
    found = [(time, vxlan(net, data)) for net in (7, 8) for time, data in transfer(5000, 3000)]
    return ethernet(path, [*found, (1.0, ETHERNET + b"\x08\x06" + bytes(28))])


def test_connections_in_tunnels_are_told_apart_and_the_tunnel_is_a_column(tmp_path: Path) -> None:
    found = survey(overlay(tmp_path / "v.pcap"))
    names = [f"vxlan {net} 192.0.2.1 > 192.0.2.2" for net in (7, 8)]
    tcp = [row for row in found["conversations"] if row["protocol"] == "tcp"]
    assert [row["tunnel"] for row in tcp] == names
    data = [row for row in found["connections"] if row["unique_bytes"]]
    assert [(row["tunnel"], row["unique_bytes"]) for row in data] == [(n, 3000) for n in names]
    (outer,) = [row for row in found["conversations"] if row["protocol"] == "udp"]
    assert (outer["tunnel"], outer["port_b"]) == (None, 4789)
    assert outer["packets_a_to_b"] == found["file"]["packets"] - 1
    tables = frames(found)
    assert set(tables["connections"]["tunnel"]) == set(names)
    assert write(found, tmp_path / "tables", "csv")
    assert write(found, tmp_path / "tables", "parquet")


def test_link_types_and_what_holds_no_ip_are_named(tmp_path: Path) -> None:
    path = overlay(tmp_path / "v.pcap")
    found = survey(path)
    every = found["file"]["packets"]
    assert found["link_types"] == [{"link_type": "Ethernet", "number": 1, "packets": every}]
    assert found["skipped"] == [{"what": "ARP", "packets": 1}]
    done = CliRunner().invoke(app, ["capture", str(path)])
    assert "link type: Ethernet" in done.output
    assert "without IP: 1: 1 ARP" in done.output
    assert "2   vxlan 8 192.0.2.1 > 192.0.2.2" in done.output
    assert "vxlan 8 192.0.2.1 > 192.0.2.2" in page([found])
