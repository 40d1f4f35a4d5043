"""Every switch of loss recovery beside the kernel: the same drops, the same segments, at the same
times. Many transfers share a guest, each with hosts and a path of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

import dumbbell
from dumbbell.results import Results

pytestmark = pytest.mark.kernel

#: Guests have memory for the packet rings of so many taps.
CASES_PER_GUEST = 12
TOLERANCE_NS = 1_000_000
DURATION_S = 8

#: Delay of a line for which 15 ms is a tie: near it, 3 us decide whether CUBIC sends a segment more
#: in an RTT, on 6.12 as in the simulator. In a guest of many hosts, packets leave up to 20 us late.
DELAYS_MS = {"NewReno, no timestamps": 14.6}


@dataclass(frozen=True)
class Case:
    """A transfer of 71 segments (70 without timestamps) if `traffic` says nothing else."""

    name: str
    #: Packets with payload that are dropped, from 1, retransmissions counted.
    lost: Iterable[int] = ()
    #: TCP options of both hosts.
    options: Mapping[str, object] = field(default_factory=dict)
    cc: str = "cubic"
    traffic: Mapping[str, object] = field(default_factory=lambda: {"bytes": "100 KiB"})
    rate: str = "10 Mbit/s"
    delay_ms: float = 15
    #: Stretch of time (ms) in which everything is dropped, of data or of ACKs.
    dark: tuple[float, float] | None = None
    dark_back: tuple[float, float] | None = None


#: Which packets are dropped of the 71.
LOSSES: dict[str, Iterable[int]] = {
    "none": (),
    "first": [1],
    "middle": [25],
    "three in a row": [25, 26, 27],
    "holes": [21, 24, 26, 31],
    "every second": range(11, 40, 2),
    "window": range(31, 61),
    "first window": range(1, 11),
    "first window, probe": range(1, 13),
    "last": [71],
    "last three": [69, 70, 71],
    "last five, probe": range(67, 73),
    "last, probe, RTO": [71, 72, 73],
    "retransmission": [25, *range(40, 44)],
}

#: Each with all losses.
SWITCHES: dict[str, Mapping[str, object]] = {
    "SACK": {},
    "NewReno": {"tcp_sack": False},
    "RFC 6675": {"tcp_recovery": 0},
    "no timestamps": {"tcp_timestamps": False},
}

#: Each with these losses.
SOME = ["first", "holes", "window", "last three"]
MORE_SWITCHES: dict[str, Mapping[str, object]] = {
    "NewReno, no timestamps": {"tcp_sack": False, "tcp_timestamps": False},
    "RFC 6675, no probe, no F-RTO": {"tcp_recovery": 0, "tcp_early_retrans": 0, "tcp_frto": 0},
    "no DSACK": {"tcp_dsack": False},
    "RACK, static window": {"tcp_recovery": 3},
    "RACK, no threshold": {"tcp_recovery": 5},
    "no RACK, static window": {"tcp_recovery": 2},
    "no RACK, no threshold": {"tcp_recovery": 4},
    "no probe": {"tcp_early_retrans": 0},
    "no F-RTO": {"tcp_frto": 0},
    "IW 3": {"initcwnd": 3},
    "RTO from 50 ms": {"rto_min": "50 ms"},
    "RTO from 400 ms": {"rto_min": "400 ms"},
    "no delayed ACKs": {"delayed_ack": "never"},
    "reordering 6": {"tcp_reordering": 6},
    "reordering 6, RFC 6675": {"tcp_reordering": 6, "tcp_recovery": 0},
    "reordering 6, NewReno": {"tcp_reordering": 6, "tcp_sack": False},
    "no compressed SACKs": {"tcp_comp_sack_nr": 0},
}

CHUNKS = {"source": {"periodic": {"chunk": "40 kB", "interval": "600 ms", "bytes": "120 kB"}}}
THIN = {"source": {"periodic": {"chunk": "1000 B", "interval": "100 ms", "bytes": "20 kB"}}}


def grid() -> list[Case]:
    """Switches times losses."""
    cases = []
    for switch, options in SWITCHES.items():
        for loss, lost in LOSSES.items():
            cases.append(Case(f"{switch}: {loss}", lost, options))
    for switch, options in MORE_SWITCHES.items():
        for loss in SOME:
            delay_ms = DELAYS_MS.get(switch, 15)
            name = f"{switch}: {loss}"
            cases.append(Case(name, LOSSES[loss], options, delay_ms=delay_ms))
    for loss in [*SOME, "none", "middle", "first window, probe", "retransmission"]:
        cases.append(Case(f"Reno: {loss}", LOSSES[loss], cc="reno"))
    for loss in ["none", "middle", "holes", "window", "last three", "first window, probe"]:
        cases.append(Case(f"BBR: {loss}", LOSSES[loss], cc="bbr"))
    return cases


def outages() -> list[Case]:
    """What a stretch without packets does: SYNs, ACKs, whole flights, back-off."""
    cases = []
    for name, options in [("SACK", {}), ("NewReno", {"tcp_sack": False})]:
        for what, dark, dark_back in [
            ("SYN", (0, 500), None),
            ("two SYNs", (0, 2500), None),
            ("SYN-ACK", None, (0, 500)),
            ("two SYN-ACKs", None, (0, 1500)),
            ("ACK of the SYN-ACK, first flight", (20, 200), None),
            ("a flight", (95, 140), None),
            ("800 ms", (95, 900), None),
            ("ACKs of 5 ms", None, (95, 100)),
            ("ACKs of 100 ms", None, (95, 195)),
            ("ACKs of 400 ms", None, (95, 495)),
            ("ACKs of the first flight", None, (40, 70)),
            ("ACKs of the end", None, (150, 260)),
        ]:
            options_of: dict[str, object] = dict(options)
            named = f"{name}: {what}"
            cases.append(Case(named, options=options_of, dark=dark, dark_back=dark_back))
    for switch in ("tcp_frto", "tcp_dsack", "tcp_early_retrans", "tcp_timestamps"):
        off: dict[str, object] = {switch: 0}
        cases.append(Case(f"{switch} 0: ACKs of 400 ms", options=off, dark_back=(95, 495)))
    few: dict[str, object] = {"tcp_syn_retries": 2}
    cases.append(Case("two SYN retries: all lost", options=few, dark=(0, 7900)))
    cases.append(Case("four SYNs", dark=(0, 6500)))
    return cases


def transfers() -> list[Case]:
    """Other lengths, paths and applications."""
    cases = []
    for name, options in [
        ("", {}),
        ("no restart", {"tcp_slow_start_after_idle": False}),
        ("NewReno", {"tcp_sack": False}),
    ]:
        with_options: dict[str, object] = dict(options)
        for what, lost, traffic in [
            ("idle", [], CHUNKS),
            ("idle, loss", [29, 58, 60], CHUNKS),
            ("thin stream, loss", [4, 9], THIN),
        ]:
            cases.append(Case(f"{name}: {what}", lost, with_options, traffic=traffic))
    for size, lost in [
        ("1 B", []),
        ("1 B", [1]),
        ("2 kB", []),
        ("5 kB", [2]),
        ("14 kB", [10]),
        ("200 kB", [30, 33, 60, 61, 90]),
    ]:
        cases.append(Case(f"{size}, lost {lost}", lost, traffic={"bytes": size}))
    for size, lost in [("20 kB", [5, 7]), ("20 kB", [13, 14, 15]), ("60 kB", [20, 21, 22, 23, 24])]:
        name = f"1 Mbit/s: {size}, lost {lost}"
        cases.append(Case(name, lost, traffic={"bytes": size}, rate="1 Mbit/s", delay_ms=25))
    name = "5 Mbit/s, odd delay"
    cases.append(
        Case(name, [30, 33, 90], traffic={"bytes": "200 kB"}, rate="5 Mbit/s", delay_ms=10.3)
    )
    return cases


def without_hystart() -> list[Case]:
    """CUBIC's options are those of the kernel, so of a guest."""
    off: dict[str, object] = {"cubic_hystart": False}
    return [Case(f"no HyStart: {loss}", LOSSES[loss], off) for loss in ["none", *SOME]]


def guests() -> list[list[Case]]:
    """All cases, as they share guests."""
    together = grid() + outages() + transfers()
    parts = range(0, len(together), CASES_PER_GUEST)
    return [together[at : at + CASES_PER_GUEST] for at in parts] + [without_hystart()]


GUESTS = guests()


def loss_between(start_ms: float, end_ms: float) -> dict[str, object]:
    """Fields of a pipe that drops everything for a while."""
    changes: list[object] = [{"at": f"{end_ms} ms", "loss": "none"}]
    if start_ms == 0:
        return {"loss": "100 %", "changes": changes}
    return {"changes": [{"at": f"{start_ms} ms", "loss": "100 %"}, *changes]}


def experiment(cases: list[Case]) -> str:
    """All cases side by side in one run; none shares anything with another."""
    hosts: dict[str, object] = {}
    links: list[object] = []
    flows: list[object] = []
    for i, case in enumerate(cases):
        hosts |= {f"a{i}": case.options, f"b{i}": case.options}
        forward: dict[str, object] = {"rate": case.rate, "buffer": "100 packets"}
        if case.lost:
            forward["loss"] = {"scripted": [{"flow": f"f{i}", "nth": list(case.lost)}]}
        if case.dark:
            forward |= loss_between(*case.dark)
        backward = loss_between(*case.dark_back) if case.dark_back else {}
        line = {"between": [f"r{i}", f"b{i}"], "delay": f"{case.delay_ms} ms"}
        links += [
            {"name": f"near{i}", "between": [f"a{i}", f"r{i}"]},
            {"name": f"line{i}", **line, "forward": forward, "backward": backward},
        ]
        tcp = {"congestion_control": case.cc, **case.traffic}
        flows.append({"name": f"f{i}", "from": f"a{i}", "to": f"b{i}", "tcp": tcp})
    numbers = range(len(cases))
    return json.dumps(
        {
            "dumbbell": 1,
            "name": "switches",
            "hosts": hosts,
            "routers": {f"r{i}": {} for i in numbers},
            "links": links,
            "flows": flows,
            "taps": [{"name": f"t{i}", "at": f"a{i}", "link": f"near{i}"} for i in numbers],
            "sampling": {"packets": {"to": f"{DURATION_S} s"}},
            "duration": f"{DURATION_S} s",
        }
    )


@cache
def results(guest: int) -> tuple[Results, Results]:
    """Of the simulator and of the kernel."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "e.yaml"
        file.write_text(experiment(GUESTS[guest]), encoding="utf-8")
        return dumbbell.run(file, engine="sim"), dumbbell.run(file, engine="linux")


def sent(found: Results, flow: str) -> list[tuple[int, int, int, bool, bool]]:
    """Time, first byte and length of all that the sender's tap saw leave but for bare ACKs, and
    whether it is a SYN or has a FIN."""
    flags = pl.col("tcp_flags")
    syn, fin = flags.str.contains("syn"), flags.str.contains("fin")
    packets = (
        found.packets.sort("time_ns", maintain_order=True)
        .filter(pl.col("flow") == flow, pl.col("direction") == "out")
        .filter((pl.col("payload_bytes") > 0) | syn | fin)
        .select("time_ns", "seq_bytes", "payload_bytes", syn.alias("syn"), fin.alias("fin"))
    )
    return packets.rows()


@pytest.mark.parametrize(
    ("guest", "at"),
    [
        pytest.param(guest, at, id=case.name)
        for guest, cases in enumerate(GUESTS)
        for at, case in enumerate(cases)
    ],
)
def test_the_same_segments_leave_at_the_same_times(guest: int, at: int) -> None:
    ours, theirs = (sent(found, f"f{at}") for found in results(guest))
    assert len(theirs) >= 3
    assert [one[1:] for one in ours] == [one[1:] for one in theirs]
    apart = [abs(mine[0] - other[0]) for mine, other in zip(ours, theirs, strict=True)]
    assert max(apart) < TOLERANCE_NS
    ends = [found.flows.filter(pl.col("flow") == f"f{at}") for found in results(guest)]
    assert ends[0]["delivered_bytes"][0] == ends[1]["delivered_bytes"][0]
    assert abs(ends[0]["last_delivery_ns"][0] - ends[1]["last_delivery_ns"][0]) < TOLERANCE_NS
