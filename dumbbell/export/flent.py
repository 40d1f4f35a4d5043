"""Data files of Flent, version 4. Source of the layout: doc/data-format.rst of Flent."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.export.run import OneRun, Row, intervals, known
from dumbbell.measured.flent import OWN_NAME, VERSION
from dumbbell.metrics.definition import CONNECTIONS

SUFFIX = ".flent.gz"
#: Flows of `rrul_be` in each direction, and its probes besides ICMP.
_EACH_WAY, _UDP_PROBES = 4, 3
#: Time 0 of a run, which is in virtual time. Small numbers keep the nanoseconds of points.
_BEGIN = "1970-01-01T00:00:00.000000Z"
_STEP_S = 0.2
#: Points of a series.
_MOST_POINTS = 100_000

Points = list[float | None]


def encode(run: OneRun) -> Mapping[str, bytes]:
    """Data file of a run. Its test is `tcp_1up`, `tcp_nup` or `rrul_be`, by its flows.

    Raises `DumbbellError` if the run has no TCP flow, or more in two directions than `rrul_be`.
    """
    tcp = run.flows(*CONNECTIONS)
    test, names = _series(tcp)
    pings = _pings(run.flows("ping"), test, run)
    others = [one["flow"] for one in run.flows("udp")]
    if others:
        run.notes.append(f"no series of {test} for {', '.join(others)}")
    step = max(_STEP_S, run.duration_s / _MOST_POINTS)
    places = math.ceil(run.duration_s / step) + 1
    results: dict[str, Points] = {}
    raw: dict[str, list[dict[str, Any]]] = {}
    meta: dict[str, dict[str, Any]] = {}
    rates, delays = run.values("goodput_mbps"), run.values("ping_rtt_ms")
    for name, flow in names.items():
        results[name] = [None] * places
        raw[name] = []
        meta[name] = {"UNITS": "Mbits/s", "RUNNER": "Dumbbell"}
        if flow is not None:
            parts = list(intervals(flow, run.samples(flow["flow"])))
            results[name] = _binned(parts, places, step)
            raw[name] = _rates(parts) + _states(run, flow)
            meta[name] |= _meta(flow, rates.get(flow["flow"]))
    for name, flow in pings.items():
        probes = run.probes(flow["flow"]).select("time_ns", "probe_number", "delay_ns").rows()
        results[name] = _averaged(probes, places, step)
        raw[name] = [_probe(*one) for one in probes]
        meta[name] = {"UNITS": "ms", "RUNNER": "Dumbbell"}
        meta[name] |= _meta(flow, delays.get(flow["flow"]))
    results |= _computed(test, results)
    file = {
        "version": VERSION,
        "metadata": {**_metadata(run, test, step), "SERIES_META": meta},
        "x_values": [place * step for place in range(places)],
        "results": results,
        "raw_values": raw,
    }
    text = json.dumps(file, indent=2, sort_keys=True, allow_nan=False)
    return {"": gzip.compress(text.encode(), mtime=0)}


def _series(flows: Sequence[Row]) -> tuple[str, dict[str, Row | None]]:
    """Test, and its series with their flows; None: the test has it, the run does not."""
    if not flows:
        raise DumbbellError("no TCP flow: no test of Flent has these series", code=Code.SELECTION)
    first = flows[0]["from_host"]
    up = [one for one in flows if one["from_host"] == first]
    down = [one for one in flows if one["from_host"] != first]
    if not down and len(up) == 1:
        return "tcp_1up", {"TCP upload": up[0]}
    if not down:
        return "tcp_nup", {f"TCP upload::{number}": one for number, one in enumerate(up, 1)}
    if max(len(up), len(down)) > _EACH_WAY:
        raise DumbbellError(
            f"{len(up)} and {len(down)} TCP flows in two directions: rrul_be of Flent has "
            f"{_EACH_WAY} each way",
            code=Code.SELECTION,
        )
    return "rrul_be", {
        f"TCP {way} BE{number if number > 1 else ''}": own[number - 1]
        if number <= len(own)
        else None
        for way, own in (("upload", up), ("download", down))
        for number in range(1, _EACH_WAY + 1)
    }


def _pings(flows: Sequence[Row], test: str, run: OneRun) -> dict[str, Row]:
    """Series of probes. A test has one of ICMP, `rrul_be` three of UDP besides."""
    kinds = {
        one["flow"]: str(kind[0])
        for one in flows
        if len(kind := run.probes(one["flow"])["kind"].unique().to_list()) == 1
    }
    icmp = [one for one in flows if kinds.get(one["flow"]) == "icmp"]
    udp = [one for one in flows if kinds.get(one["flow"]) == "udp"]
    found = dict(zip(["Ping (ms) ICMP"], icmp, strict=False))
    if test == "rrul_be":
        names = [f"Ping (ms) UDP BE{number}" for number in range(1, _UDP_PROBES + 1)]
        found |= dict(zip(names, udp, strict=False))
    lost = [one["flow"] for one in flows if one not in found.values()]
    if lost:
        run.notes.append(f"no probes are kept, or no series of {test}: {', '.join(lost)}")
    return found


def _rates(parts: Sequence[tuple[int, int, int]]) -> list[dict[str, Any]]:
    return [
        {"t": end / 1e9, "dur": (end - begin) / 1e9, "val": size * 8e3 / (end - begin)}
        for begin, end, size in parts
    ]


def _states(run: OneRun, flow: Row) -> list[dict[str, Any]]:
    """Windows, RTTs and rates of the sender, in Flent's names and units."""
    columns = ("time_ns", "cwnd_packets", "srtt_ns", "rttvar_ns", "pacing_bps", "delivery_rate_bps")
    names = (
        ("tcp_cwnd", 1.0),
        ("tcp_rtt", 1e6),
        ("tcp_rtt_var", 1e6),
        ("tcp_pacing_rate", 1e6),
        ("tcp_delivery_rate", 1e6),
    )
    found = []
    alive = pl.col("time_ns").is_between(flow["established_ns"], flow["end_ns"])
    for time, *values in run.samples(flow["flow"]).filter(alive).select(columns).iter_rows():
        point = {
            name: value / size
            for (name, size), value in zip(names, values, strict=True)
            if value >= 0
        }
        if point:
            found.append({"t": time / 1e9, **point})
    return found


def _probe(time_ns: int, number: int, delay_ns: int) -> dict[str, Any]:
    point: dict[str, Any] = {"t": time_ns / 1e9, "seq": number}
    return point | ({"val": delay_ns / 1e6} if delay_ns >= 0 else {"lost": True})


def _binned(parts: Sequence[tuple[int, int, int]], places: int, step: float) -> Points:
    """Rates over equal stretches of a flow's life, whose mean is the goodput of the flow."""
    found: Points = [None] * places
    if not parts:
        return found
    begin, end = parts[0][0], parts[-1][1]
    first = min(round(begin / 1e9 / step), places - 1)
    count = max(1, min(round((end - begin) / 1e9 / step), places - first))
    length = (end - begin) / count
    sums = [0.0] * count
    for left, right, size in parts:
        one, last = int((left - begin) // length), min(int((right - begin) // length), count - 1)
        for place in range(one, last + 1):
            within = min(right, begin + (place + 1) * length) - max(left, begin + place * length)
            sums[place] += size * max(within, 0.0) / (right - left)
    for place, total in enumerate(sums):
        found[first + place] = total * 8e3 / length
    return found


def _averaged(probes: Sequence[tuple[Any, ...]], places: int, step: float) -> Points:
    """Mean delay of the probes of each step, ms; None without any."""
    own: dict[int, list[float]] = {}
    for time, _, delay in probes:
        if delay >= 0:
            own.setdefault(min(int(time / 1e9 / step), places - 1), []).append(delay / 1e6)
    return [sum(own[place]) / len(own[place]) if place in own else None for place in range(places)]


def _computed(test: str, results: dict[str, Points]) -> dict[str, Points]:
    """Sums and means that Flent's tests have beside their series."""
    found: dict[str, Points] = {}
    ways = () if test == "tcp_1up" else ("upload", "download") if test == "rrul_be" else ("upload",)
    for way in ways:
        own = [one for name, one in results.items() if name.startswith(f"TCP {way}")]
        found[f"TCP {way} sum"] = _across(own, math.fsum)
        found[f"TCP {way} avg"] = _across(own, lambda values: math.fsum(values) / len(values))
    if test == "rrul_be":
        every = [one for name, one in results.items() if name.startswith("TCP ")]
        found["TCP totals"] = _across(every, math.fsum)
        pings = [one for name, one in results.items() if name.startswith("Ping")]
        found["Ping (ms) avg"] = _across(pings, lambda values: math.fsum(values) / len(values))
    return found


def _across(series: Sequence[Points], of: Any) -> Points:
    return [
        of(values) if (values := [one for one in row if one is not None]) else None
        for row in zip(*series, strict=True)
    ]


def _meta(flow: Row, mean: float | None) -> dict[str, Any]:
    words = {
        OWN_NAME: flow["flow"],
        "MEAN_VALUE": mean,
        "CONG_CONTROL": flow["congestion_control"],
        "TCP_RETRANSMIT": flow["retransmitted_packets"] if flow["kind"] != "ping" else None,
    }
    return known(words)


def _metadata(run: OneRun, test: str, step: float) -> dict[str, Any]:
    """Fields with which Flent lists and draws a file."""
    return {
        "NAME": test,
        "TITLE": run.title,
        "NOTE": f"Dumbbell, engine {run.engine}; times are virtual",
        "HOST": "receiver",
        "HOSTS": ["receiver"],
        "LOCAL_HOST": "sender",
        "LENGTH": math.ceil(run.duration_s),
        "TOTAL_LENGTH": math.ceil(run.duration_s),
        "STEP_SIZE": step,
        "T0": _BEGIN,
        "TIME": _BEGIN,
        "TEST_PARAMETERS": {},
        "FLENT_VERSION": "2.3.0",
        "IP_VERSION": 4,
        "DATA_FILENAME": "",
    }
