"""Pages on both engines: when each object is wanted, asked for, begun and there."""

from __future__ import annotations

import polars as pl
import pytest

import dumbbell

pytestmark = pytest.mark.kernel

PAGE = """
dumbbell: 1
name: page
hosts: {browser: , server: , cdn: }
routers: {isp: {}}
links:
  - {name: line, between: [isp, browser], rate: 10 Mbit/s, delay: 10 ms, buffer: 100 packets}
  - {between: [server, isp], delay: 10 ms}
  - {between: [cdn, isp], delay: 3 ms}
pages:
  - name: page
    client: browser
    server: server
    start: 100 ms
    protocol: $protocol
    tls: $tls
    congestion_control: $cc
    lookup: 20 ms
    objects:
      - {name: index, size: 30 KiB, service: 20 ms}
      - {name: "script{i}", count: 3, size: 60 KiB, after: index, server: cdn, delay: 5 ms}
      - {name: "image{i}", count: 12, size: 15 KiB, after: [index, script1], server: cdn}
      - {name: next, size: 200 KiB, after: [image12], delay: 700 ms, request: 3000 bytes}
duration: 4 s
factors:
  points:
    - {protocol: http/1.1, tls: none, cc: cubic}
    - {protocol: http/1.1, tls: "1.2", cc: reno}
    - {protocol: http/1.1, tls: "1.3", cc: reno}
    - {protocol: http/2, tls: "1.2", cc: reno}
    - {protocol: http/2, tls: "1.3", cc: cubic}
    - {protocol: http/2, tls: "1.3", cc: bbr}
"""
TIMES = ("start_ns", "request_ns", "first_byte_ns", "end_ns")
#: Ticks of the guest's clock, which is looked at when something happens.
TOLERANCE_NS = 1_000_000


@pytest.fixture(scope="module")
def transfers(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    file = tmp_path_factory.mktemp("page") / "page.yaml"
    file.write_text(PAGE)
    ours = dumbbell.run(file).transfers
    kernel = dumbbell.run(file, engine="linux").transfers
    cell = ["protocol", "tls", "cc", "object"]
    return ours.join(kernel, on=cell, suffix="_linux", maintain_order="left")


def test_every_object_arrives_over_the_same_connection(transfers: pl.DataFrame) -> None:
    assert transfers.height == 6 * 17
    assert transfers.filter((pl.col("end_ns") < 0) | (pl.col("end_ns_linux") < 0)).is_empty()
    assert (transfers["flow"] == transfers["flow_linux"]).all()
    assert (transfers["transfer_bytes"] == transfers["transfer_bytes_linux"]).all()


@pytest.mark.parametrize("time", TIMES)
def test_objects_take_as_long_as_on_the_kernel(transfers: pl.DataFrame, time: str) -> None:
    apart, where = max(
        (abs(row[time] - row[f"{time}_linux"]), f"{row['protocol']} {row['cc']} {row['object']}")
        for row in transfers.iter_rows(named=True)
    )
    assert apart < TOLERANCE_NS, where


def test_nothing_is_asked_before_the_name_and_the_handshakes(transfers: pl.DataFrame) -> None:
    # The index: 20 ms for the name, a round trip of 40 ms for TCP, and one or two for TLS.
    for tls, trips in (("none", 1), ("1.3", 2), ("1.2", 3)):
        index = transfers.filter((pl.col("object") == "index") & (pl.col("tls") == tls))
        waited = (index["request_ns"] - index["start_ns"]).to_list()
        assert all(20e6 + trips * 40e6 <= ns < 20e6 + trips * 40e6 + 8e6 for ns in waited), waited
