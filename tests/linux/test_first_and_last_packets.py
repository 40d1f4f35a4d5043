"""First and last packets of connections on both engines: options of SYNs, TIME_WAIT, RSTs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import dumbbell

pytestmark = pytest.mark.kernel

TWICE = {"duplication": "100 %"}
#: Options of client and server, line towards the server and back.
CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "as usual": ({}, {}, {}, {}),
    "client without timestamps": ({"tcp_timestamps": False}, {}, {}, {}),
    "server without timestamps": ({}, {"tcp_timestamps": False}, {}, {}),
    "neither SACK nor timestamps": (
        {"tcp_sack": False, "tcp_dsack": False, "tcp_timestamps": False},
        {},
        {},
        {},
    ),
    "server without SACK": ({}, {"tcp_sack": False, "tcp_dsack": False}, {}, {}),
    "client without window scale": ({"tcp_window_scaling": False}, {}, {}, {}),
    "server without window scale": ({}, {"tcp_window_scaling": False}, {}, {}),
    "all arrives twice at the server": ({}, {}, TWICE, {}),
    "all arrives twice at the client": ({}, {}, {}, TWICE),
    "FINs arrive late": ({}, {}, {}, {"changes": [{"at": "45 ms", "delay": "700 ms"}]}),
    "no ACK of the FIN": (
        {},
        {},
        {"changes": [{"at": "60 ms", "loss": "100 %"}, {"at": "1 s", "loss": "none"}]},
        {},
    ),
}
#: Congestion controls: with classic ECN of DCTCP all segments but the last ones are ECN-capable.
ALGORITHMS = ("cubic", "dctcp")
COLUMNS = ("tcp_flags", "tos", "seq_bytes", "ack_bytes", "payload_bytes", "frame_bytes")
#: Timers of the kernel may expire a jiffy (1 ms) later.
LATE_NS = 2_000_000


def experiment() -> dict[str, Any]:
    hosts: dict[str, Any] = {}
    links, flows, taps = [], [], []
    names = [(case, algorithm) for case in CASES.values() for algorithm in ALGORITHMS]
    for i, ((client, server, forward, backward), algorithm) in enumerate(names):
        hosts |= {f"s{i}": client or None, f"r{i}": None, f"q{i}": None, f"d{i}": server or None}
        line = {"rate": "20 Mbit/s", "delay": "10 ms", "buffer": "1000 packets"}
        links += [
            {"name": f"a{i}", "between": [f"s{i}", f"r{i}"], "backward": backward},
            {"name": f"l{i}", "between": [f"r{i}", f"q{i}"], **line},
            {"name": f"b{i}", "between": [f"q{i}", f"d{i}"], "forward": forward},
        ]
        tcp = {"congestion_control": algorithm, "bytes": "20 KB"}
        flows.append({"name": f"f{i}", "from": f"s{i}", "to": f"d{i}", "tcp": tcp})
        taps += [
            {"name": f"client{i}", "at": f"r{i}", "link": f"l{i}"},
            {"name": f"server{i}", "at": f"q{i}", "link": f"l{i}"},
        ]
    return {
        "dumbbell": 1,
        "name": "first and last",
        "hosts": {name: options for name, options in hosts.items() if name[0] in "sd"},
        "routers": {name: None for name in hosts if name[0] in "rq"},
        "links": links,
        "flows": flows,
        "taps": taps,
        "sampling": {"packets": {"to": "3 s"}},
        "duration": "3 s",
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """Packets of all cases on both engines."""
    file: Path = tmp_path_factory.mktemp("first-and-last") / "e.yaml"
    file.write_text(yaml.safe_dump(experiment(), sort_keys=False), encoding="utf-8")
    return {e: dumbbell.run(file, engine=e).packets.sort("time_ns") for e in ("sim", "linux")}


def sent(
    packets: pl.DataFrame, case: str, algorithm: str, side: str
) -> tuple[list[dict[str, Any]], list[int]]:
    """Packets that a side sent, and their times."""
    number = list(CASES).index(case) * len(ALGORITHMS) + ALGORITHMS.index(algorithm)
    direction = "out" if side == "client" else "back"
    rows = packets.filter((pl.col("tap") == f"{side}{number}") & (pl.col("direction") == direction))
    return rows.select(*COLUMNS).to_dicts(), rows["time_ns"].to_list()


@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", CASES)
def test_the_packets_are_those_of_linux(
    found: dict[str, pl.DataFrame], case: str, algorithm: str, side: str
) -> None:
    (ours, our_ns), (theirs, their_ns) = (
        sent(found[engine], case, algorithm, side) for engine in ("sim", "linux")
    )
    assert ours == theirs
    assert max(abs(one - other) for one, other in zip(our_ns, their_ns, strict=True)) < LATE_NS


def test_cases_have_what_they_are_for(found: dict[str, pl.DataFrame]) -> None:
    def first_bytes(case: str) -> list[int]:
        sides = ("client", "server")
        return [sent(found["linux"], case, "cubic", side)[0][0]["frame_bytes"] for side in sides]

    assert first_bytes("as usual") == [74, 74]
    assert first_bytes("client without timestamps") == [66, 66]
    assert first_bytes("server without timestamps") == [74, 66]
    assert first_bytes("neither SACK nor timestamps") == [62, 62]
    assert first_bytes("server without window scale") == [74, 70]
    for case, resets in (
        ("as usual", 0),
        ("all arrives twice at the client", 1),
        ("all arrives twice at the server", 1),
    ):
        rows, _ = sent(found["linux"], case, "dctcp", "server")
        last = [row for row in rows if row["tcp_flags"] == "rst"]
        assert (len(last) > 0) == (resets > 0)
        assert {row["tos"] for row in last} <= {0}
