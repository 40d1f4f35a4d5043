"""Accurate ECN over networks that mark, bleach and drop: counterparts of Linux's selftests.

Each situation has hosts, routers and a flow of its own; one run on each engine has them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest
import yaml

import dumbbell
from dumbbell.engines.linux.kernel import kernels

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        "7.3" not in {one.name for one in kernels()}, reason="dumbbell kernel build --release 7.3"
    ),
]

ASKS, ACCEPTS = "syn ece cwr ae", "syn cwr"
#: What is compared of a packet. Its time may be off by what the kernel computes.
COLUMNS = ("tcp_flags", "tos", "seq_bytes", "ack_bytes", "payload_bytes", "frame_bytes")
#: A timer of the kernel may expire a jiffy (1 ms) later, as the tail loss probe of
#: `client_accecn_options_drop`: its send time lies 0.05 ms later, behind a tick.
LATE_NS = 2_000_000


@dataclass(frozen=True)
class Case:
    """A situation: what the line does in each direction, and options of hosts and flow."""

    forward: dict[str, Any] = field(default_factory=dict)
    backward: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    tcp: dict[str, Any] = field(default_factory=dict)
    access: dict[str, Any] = field(default_factory=dict)
    far: dict[str, Any] = field(default_factory=dict)
    delay: str = "10 ms"


def ecn(value: str, *nth: int) -> dict[str, Any]:
    return {"flow": "f", "nth": list(nth), "ecn": value}


def outage(start_ms: float, end_ms: float) -> list[dict[str, Any]]:
    return [{"at": f"{start_ms} ms", "loss": "100 %"}, {"at": f"{end_ms} ms", "loss": "none"}]


def rewrites(*found: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"rewrites": list(found), **others}


ALL = {"flow": "f"}
#: The third segment and the data behind it leave the line of access one after the other.
SLOW = {"rate": "1 Mbit/s", "buffer": "1000 packets"}

CASES = {
    "syn_ce": Case(forward=rewrites(ecn("ce", 1))),
    "syn_ect0": Case(forward=rewrites(ecn("ect0", 1))),
    "syn_ect1": Case(forward=rewrites(ecn("ect1", 1))),
    "synack_ce": Case(backward=rewrites(ecn("ce", 1))),
    "synack_ect0": Case(backward=rewrites(ecn("ect0", 1))),
    "synack_ect1": Case(backward=rewrites(ecn("ect1", 1))),
    "synack_ce_updates_delivered_ce": Case(
        backward=rewrites(ecn("ce", 1)), tcp={"congestion_control": "dctcp"}
    ),
    "3rd_ack_ce_updates_received_ce": Case(forward=rewrites(ecn("ce", 2))),
    "3rd_dups": Case(delay="600 ms", forward=rewrites(ecn("ce", 4, 5, 6))),
    "2nd_data_as_first": Case(
        access=SLOW, forward=rewrites(ecn("ce", 4, 5, 6), changes=outage(15, 25 + 10))
    ),
    "2nd_data_as_first_connect": Case(
        access=SLOW, forward=rewrites(ecn("ce", 4), changes=outage(15, 25 + 10))
    ),
    "3rd_ack_lost_data_ce": Case(
        access=SLOW, forward=rewrites(ecn("ce", 3, 4), changes=outage(15, 25))
    ),
    "noprogress": Case(
        options={"tcp_timestamps": False},
        far={"duplication": "100 %"},
        backward=rewrites({"flow": "f", "nth": [4, 6, 8], "set_flags": ["cwr", "ece"]}),
    ),
    "tsnoprogress": Case(
        far={"duplication": "100 %"},
        backward=rewrites({"flow": "f", "nth": [4, 6, 8], "set_flags": ["cwr", "ece"]}),
    ),
    # The ACK of a duplicate acknowledges nothing new; it has a later timestamp.
    "tsprogress": Case(
        backward=rewrites(
            {"flow": "f", "nth": [13], "set_flags": ["cwr"]},
            changes=[{"at": "30 ms", "delay": "700 ms"}],
        ),
    ),
    "client_accecn_options_drop": Case(
        backward={"changes": outage(35, 1700)}, tcp={"bytes": "200 KB"}
    ),
    "client_accecn_options_lost": Case(
        forward={"loss": {"scripted": [{"flow": "f", "nth": [1, 2]}]}}
    ),
    "ipflags_drop": Case(
        forward=rewrites(
            {"flow": "f", "nth": [1, 2], "clear_flags": ["ae", "cwr", "ece"]},
            changes=outage(0, 500),
        )
    ),
    "listen_opt_drop": Case(backward={"changes": outage(0, 2600)}),
    "negotiation_bleach": Case(
        forward=rewrites({"flow": "f", "nth": [2], "clear_flags": ["ae", "cwr", "ece"]})
    ),
    "serverside_broken": Case(
        backward=rewrites({"flow": "f", "nth": [1], "set_flags": ["ae", "cwr", "ece"]})
    ),
    "notecn_then_accecn_syn": Case(
        forward=rewrites(
            {"flow": "f", "nth": [1], "clear_flags": ["ae", "cwr", "ece"]}, ecn("ect0", 2)
        ),
        backward={"changes": outage(0, 500)},
    ),
    "close_local_close_then_remote_fin": Case(
        options={"tcp_ecn_option": 0}, backward=rewrites(ecn("ect1", 1))
    ),
    "negotiation_optenable": Case(
        forward=rewrites({"flow": "f", "nth": [2], "strip_option": "accecn"})
    ),
    "option that stays": Case(
        options={"tcp_ecn_option": 3},
        backward={"changes": outage(35, 1700)},
        tcp={"bytes": "200 KB"},
    ),
    "option on demand": Case(
        options={"tcp_ecn_option": 1, "tcp_ecn_option_beacon": 0},
        forward=rewrites(ecn("ce", 6, 9)),
        tcp={"bytes": "100 KB"},
    ),
    "option some times per round trip": Case(
        options={"tcp_ecn_option": 1}, forward=rewrites(ecn("ce", 6)), tcp={"bytes": "80 KB"}
    ),
    "bleached field": Case(forward=rewrites({**ALL, "ecn": "not_ect"})),
    "stripped option": Case(
        forward=rewrites({**ALL, "strip_option": "accecn"}),
        backward=rewrites({**ALL, "strip_option": "accecn"}),
    ),
    "stripped option of the SYN-ACK": Case(
        backward=rewrites({"flow": "f", "nth": [1], "strip_option": "accecn"})
    ),
}


#: Packets with CE that the client has counted, one value after the other, as the scripts have them.
COUNTED = {
    "3rd_ack_ce_updates_received_ce": [0, 1],
    "2nd_data_as_first": [0, 1, 2, 3],
    "2nd_data_as_first_connect": [0, 1],
    "3rd_ack_lost_data_ce": [0, 1, 2],
    "noprogress": [0],
    "tsnoprogress": [0],
    "tsprogress": [0, 2],
    "negotiation_bleach": [0],
}
#: Flags of the first packets of client and server, as the scripts have them.
FLAGS = {
    "syn_ce": ([ASKS, "cwr"], ["syn cwr ae"]),
    "syn_ect0": ([ASKS, "cwr"], ["syn ae"]),
    "syn_ect1": ([ASKS, "cwr"], ["syn ece cwr"]),
    "synack_ce": ([ASKS, "cwr ae", "cwr ae"], [ACCEPTS, "ece ae"]),
    "synack_ect0": ([ASKS, "ae", "ece ae"], [ACCEPTS, "ece ae"]),
    "synack_ect1": ([ASKS, "ece cwr", "ece ae"], [ACCEPTS, "ece ae"]),
    "synack_ce_updates_delivered_ce": ([ASKS, "cwr ae"], []),
    "3rd_ack_ce_updates_received_ce": ([ASKS, "cwr"], [ACCEPTS, "cwr ae"]),
    "ipflags_drop": ([ASKS, ASKS, "", ""], ["syn", ""]),
    "listen_opt_drop": ([ASKS, ASKS], [ACCEPTS, ACCEPTS, "syn"]),
    "negotiation_bleach": ([ASKS, "cwr", "ece ae"], [ACCEPTS, "ece ae"]),
    "serverside_broken": ([ASKS, "", ""], [ACCEPTS]),
    "notecn_then_accecn_syn": ([ASKS, ASKS, ""], ["syn", "syn"]),
    "close_local_close_then_remote_fin": ([ASKS, "ece cwr", "ece ae"], [ACCEPTS, "ece ae"]),
    "bleached field": ([ASKS, "cwr", "ece ae"], [ACCEPTS, "ece ae"]),
}


def named(pipe: dict[str, Any], flow: str) -> dict[str, Any]:
    """The pipe with the name of the case's flow."""
    return dict(yaml.safe_load(yaml.safe_dump(pipe).replace("flow: f\n", f"flow: {flow}\n")))


def experiment() -> dict[str, Any]:
    hosts: dict[str, Any] = {"defaults": {"profile": "linux-7.3", "tcp_ecn": 3}}
    routers: dict[str, Any] = {}
    links, flows, taps = [], [], []
    for i, case in enumerate(CASES.values()):
        hosts |= {f"s{i}": case.options or None, f"d{i}": case.options or None}
        routers |= {f"r{i}": None, f"q{i}": None}
        links += [
            {"name": f"a{i}", "between": [f"s{i}", f"r{i}"], **case.access},
            {
                "name": f"l{i}",
                "between": [f"r{i}", f"q{i}"],
                "buffer": "1000 packets",
                "rate": "20 Mbit/s",
                "delay": case.delay,
                "forward": named(case.forward, f"f{i}"),
                "backward": named(case.backward, f"f{i}"),
            },
            {"name": f"b{i}", "between": [f"q{i}", f"d{i}"], "backward": case.far},
        ]
        tcp = {"congestion_control": "cubic", "bytes": "20 KB", **case.tcp}
        flows.append({"name": f"f{i}", "from": f"s{i}", "to": f"d{i}", "tcp": tcp})
        taps += [
            {"name": f"client{i}", "at": f"s{i}", "link": f"a{i}"},
            {"name": f"server{i}", "at": f"d{i}", "link": f"b{i}"},
        ]
    return {
        "dumbbell": 1,
        "name": "networks",
        "hosts": hosts,
        "routers": routers,
        "links": links,
        "flows": flows,
        "taps": taps,
        "sampling": {"interval": "5 ms", "keep": ["samples"], "packets": {"to": "6 s"}},
        "duration": "6 s",
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dumbbell.Results]:
    """Runs of all situations on both engines."""
    file = tmp_path_factory.mktemp("networks") / "e.yaml"
    file.write_text(yaml.safe_dump(experiment(), sort_keys=False), encoding="utf-8")
    return {engine: dumbbell.run(file, engine=engine) for engine in ("sim", "linux:7.3")}


@pytest.fixture(scope="module")
def found(results: dict[str, dumbbell.Results]) -> dict[str, pl.DataFrame]:
    """Packets of all situations on both engines."""
    return {engine: result.packets.sort("time_ns") for engine, result in results.items()}


Rows = list[dict[str, Any]]


def sides(packets: pl.DataFrame, case: str) -> tuple[Rows, Rows]:
    """Packets that client and server of a situation sent."""
    number = list(CASES).index(case)
    client, server = (
        packets.filter((pl.col("tap") == f"{tap}{number}") & (pl.col("direction") == direction))
        .select(*COLUMNS, "time_ns")
        .to_dicts()
        for tap, direction in (("client", "out"), ("server", "back"))
    )
    return client, server


@pytest.mark.parametrize("case", CASES)
def test_networks_that_change_headers_meet_linux(found: dict[str, pl.DataFrame], case: str) -> None:
    ours, theirs = (sides(found[engine], case) for engine in ("sim", "linux:7.3"))
    assert len(ours[0]) > 10 and len(ours[1]) > 3
    for our, their in zip(ours, theirs, strict=True):
        our_ns, their_ns = ([row.pop("time_ns") for row in rows] for rows in (our, their))
        assert our == their
        late = (abs(one - other) for one, other in zip(our_ns, their_ns, strict=True))
        assert max(late) < LATE_NS


@pytest.mark.parametrize("case", CASES)
def test_marks_are_counted_as_linux_counts_them(
    results: dict[str, dumbbell.Results], case: str
) -> None:
    """While the kernel's connection is open."""
    flow = f"f{list(CASES).index(case)}"
    ours, theirs = (
        results[engine]
        .samples.filter((pl.col("flow") == flow) & (pl.col("delivered_ce_packets") >= 0))
        .select("time_ns", "delivered_ce_packets")
        .sort("time_ns")
        for engine in ("sim", "linux:7.3")
    )
    assert theirs.height > 5
    assert ours.join(theirs, on="time_ns", how="semi").equals(theirs)
    if case in COUNTED:
        counted = theirs["delivered_ce_packets"]
        assert counted.unique(maintain_order=True).to_list() == COUNTED[case]


@pytest.mark.parametrize("case", FLAGS)
def test_flags_are_those_of_the_scripts(found: dict[str, pl.DataFrame], case: str) -> None:
    for rows, flags in zip(sides(found["linux:7.3"], case), FLAGS[case], strict=True):
        without_push = [row["tcp_flags"].replace("psh", "").strip() for row in rows]
        assert [" ".join(one.split()) for one in without_push[: len(flags)]] == flags


def test_the_option_ends_where_it_does_not_arrive(found: dict[str, pl.DataFrame]) -> None:
    """After two lost ACKs with the option about the same duplicate (`tcp_rcv_spurious_retrans`)."""
    for packets in found.values():
        _, server = sides(packets, "client_accecn_options_drop")
        acks = [row["frame_bytes"] for row in server if row["payload_bytes"] == 0]
        # Ethernet, IP, TCP with timestamps: 66; the option 12.
        assert acks[1] == 66 + 12
        assert acks[-1] == 66


def lengths(rows: Rows) -> set[int]:
    """Lengths of the headers of segments: 66 bytes, with the option 78."""
    return {
        row["frame_bytes"] - row["payload_bytes"] for row in rows if "syn" not in row["tcp_flags"]
    }


def test_the_option_comes_as_its_sysctl_says(found: dict[str, pl.DataFrame]) -> None:
    for packets in found.values():
        _, server = sides(packets, "option that stays")
        assert lengths(server[-3:]) == {78}
        client, server = sides(packets, "option on demand")
        for rows in (client, server):
            assert lengths(rows) == {66, 78}
        marked, usual = ([row["frame_bytes"] for row in side] for side in (server, client))
        assert marked.count(78) in range(3, 12), "after the handshake and after changes"
        assert usual.count(1514) > 50 and max(row["payload_bytes"] for row in client) == 1448
        _, often = sides(packets, "option some times per round trip")
        assert [row["frame_bytes"] for row in often].count(78) > marked.count(78)


def test_a_host_that_cannot_rely_on_its_peer_sends_not_ect(found: dict[str, pl.DataFrame]) -> None:
    """The server whose third segment was bleached, and both ends behind a broken server."""
    for case, which in (("negotiation_bleach", [1]), ("serverside_broken", [0, 1])):
        both = sides(found["linux:7.3"], case)
        assert {row["tos"] for side in which for row in both[side]} == {0}, case
