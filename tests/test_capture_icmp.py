"""What ICMP says of a connection: events, causes of retransmissions, on terminal and page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from dumbbell.capture import packets, survey
from dumbbell.capture.tables import frames
from dumbbell.cli import app
from tests.segments import ACK, FIN, SYN, frame, icmp, pcap

PORT = 1001


def _up(seq: int, data: int, flags: int = ACK) -> bytes:
    return frame(PORT, 80, flags, seq, 1, data)


def _down(ack: int, flags: int = ACK) -> bytes:
    return frame(80, PORT, flags, 1, ack)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A client whose SYN and FIN are lost, whose segments exceed the MTU, then without a route."""
    opened = [
        (0.0, _up(0, 0, SYN)),
        (1.0, _up(0, 0, SYN)),
        (1.04, frame(80, PORT, SYN | ACK, 0, 1)),
        (1.04, _up(1, 0)),
    ]
    large = [(1.1, _up(1 + 1440 * n, 1440)) for n in range(3)]
    small = [
        (1.102, icmp(3, 4, 1440, _up(1, 1440))),
        (1.103, _up(1, 1400)),
        (1.104, icmp(3, 4, 1440, _up(1441, 1440))),
        (1.15, _down(1401)),
        (1.15, _up(1401, 1400)),
        (1.15, _up(2801, 1400)),
        (1.15, _up(4201, 120)),
        (1.2, _down(4321)),
    ]
    unrouted = [
        (2.0, _up(4321, 1000)),
        (2.0, _up(5321, 1000)),
        (2.01, icmp(3, 1, 0, _up(4321, 1000))),
        (2.02, icmp(11, 0, 0, frame(PORT, 81, ACK, 7, 1, 10))),
        (2.4, _up(4321, 1000)),
        (2.44, _down(6321)),
    ]
    closed = [(3.0, _up(6321, 0, FIN | ACK)), (3.3, _up(6321, 0, FIN | ACK)), (3.34, _down(6322))]
    return pcap(opened + large + small + unrouted + closed, tmp_path / "c.pcap")


def _sent(found: dict[str, Any]) -> dict[str, Any]:
    (row,) = (row for row in found["connections"] if row["from_port"] == PORT)
    return dict(row)


def test_each_retransmission_has_its_cause(file: Path) -> None:
    found = packets(file)
    again = [
        (frame, kind)
        for frame, kind in zip(found["frame"], found["kind"], strict=True)
        if kind is not None
    ]
    path_mtu = [(frame, "path MTU") for frame in (9, 12, 13, 14)]
    assert again == [
        (2, "handshake"),
        *path_mtu,
        (20, "unreachable"),
        (23, "time-out"),
    ]
    row = _sent(survey(file))
    # Counts of data add up; SYNs and FINs are counted apart from it.
    assert row["retransmitted_packets"] == 5
    assert row["path_mtu_retransmitted_packets"] == 4
    assert row["unreachable_retransmitted_packets"] == 1
    assert (row["retransmitted_syns"], row["retransmitted_fins"]) == (1, 1)
    assert (row["icmp_too_big"], row["icmp_unreachable"], row["icmp_time_exceeded"]) == (2, 1, 0)
    assert row["path_mtu_bytes"] == 1440


def test_errors_are_a_table_with_the_packets_that_they_quote(file: Path) -> None:
    found = survey(file)
    table = frames(found)["icmp"]
    assert found["file"]["icmp_errors"] == table.height == 4
    assert table["what"].to_list() == [
        *["fragmentation needed"] * 2,
        "host unreachable",
        "hop limit exceeded",
    ]
    assert table["mtu_bytes"].to_list() == [1440, 1440, None, None]
    assert table["position_bytes"].to_list() == [0, 1440, 4320, None]
    assert table["connection"].to_list() == [0, 0, 0, None]
    assert set(table["from_address"]) == {"10.0.0.254"}
    assert table["quoted_to_port"].to_list() == [80, 80, 80, 81]
    (flow,) = frames(found)["flows"].filter(pl.col("data_packets") > 0).iter_rows(named=True)
    assert flow["retransmitted_packets"] == 5 and flow["fast_retransmitted_packets"] == 0


def test_terminal_page_and_files_show_them(file: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["capture", str(file)], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    assert "ICMP errors" in done.output
    assert "fragmentation needed, MTU 1440" in done.output
    assert "SYN, FIN: retransmitted, without data" in done.output
    words = ["capture", str(file), "--csv", str(tmp_path / "t"), "--html", str(tmp_path / "p.html")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert pl.read_csv(tmp_path / "t" / "icmp.csv").height == 4
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    data = text.partition('id="data"')[2].partition(">")[2].partition("</script>")[0]
    (on_page,) = json.loads(data)
    assert [row["mtu_bytes"] for row in on_page["icmp"]] == [1440, 1440, None, None]
    # Without ICMP and repeated SYNs or FINs, their columns and table are left out.
    plain = pcap([(0.0, _up(1, 10)), (0.1, _down(11))], tmp_path / "plain.pcap")
    shown = CliRunner().invoke(app, ["capture", str(plain)]).output
    assert "TCP data" in shown and "ICMP" not in shown and "SYN, FIN" not in shown


def test_only_errors_about_chosen_packets_are_kept(file: Path) -> None:
    done = CliRunner().invoke(app, ["capture", str(file), "--csv", "--port", "81"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["capture", str(file), "--port", "81"], env={"COLUMNS": "120"})
    assert "hop limit exceeded" in done.output and "host unreachable" not in done.output
