"""Made-up tables with the columns that engines fill, for tests without an engine."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dumbbell.results import ExperimentInfo, Results

ROOT = Path(__file__).resolve().parents[1]
KERNEL = ROOT / "studies" / "multipath" / "kernel.csv"
_TYPES = {"Int": pl.Int64, "Float": pl.Float64, "String": pl.Utf8}
_EMPTY = {"Int": -1, "Float": float("nan"), "String": ""}
_RUNS = {
    "engine": "String",
    "engine_version": "String",
    "digest": "String",
    "wall_s": "Float",
    "packets": "Int",
    "events": "Int",
    "scenario": "String",
}


def _specification() -> dict[str, dict[str, str]]:
    text = (ROOT / "crates/model/src/tables.rs").read_text(encoding="utf-8")
    tables: dict[str, dict[str, str]] = {}
    for name, body in re.findall(r'\w+Row, \w+, "(\w+)", \{(.*?)\n    \}', text, re.DOTALL):
        tables[name] = dict(re.findall(r"(\w+): (Int|Float|String) =", body))
    tables["runs"] = _RUNS
    return tables


COLUMNS = _specification()


def table(name: str, factors: Iterable[str], rows: Iterable[Mapping[str, object]]) -> pl.DataFrame:
    """A table from partly filled rows; what a row leaves out is unknown."""
    kinds = COLUMNS[name]
    schema: dict[str, Any] = {"run": pl.Utf8}
    schema |= dict.fromkeys(factors, pl.Utf8)
    schema |= {"repeat": pl.Int64, "seed": pl.Int64}
    schema |= {column: _TYPES[kind] for column, kind in kinds.items()}
    defaults = {column: _EMPTY[kind] for column, kind in kinds.items()}
    filled = []
    for row in rows:
        unknown = set(row) - set(schema)
        assert not unknown, f"{name} has no columns {unknown}"
        filled.append({**defaults, **row})
    return pl.DataFrame(filled, schema=schema, orient="row")


def results(
    factors: Mapping[str, list[str]],
    tables: Mapping[str, list[dict[str, object]]],
    *,
    name: str = "made-up",
    repeats: int = 1,
    yaml: str = "name: made-up\n",
) -> Results:
    """Results from rows by table."""
    frames = {key: table(key, factors, tables.get(key, [])) for key in COLUMNS}
    info = ExperimentInfo(name, yaml, dict(factors), repeats, 1)
    return Results(experiment=info, **frames)


def flow(**changes: object) -> dict[str, object]:
    """A row of `flows`: 100 s of TCP at 19.128 Mbit/s of payload, every field sensible."""
    row: dict[str, object] = {
        "flow": "flow1",
        "kind": "tcp",
        "congestion_control": "cubic",
        "from_host": "h1",
        "to_host": "h2",
        "start_ns": 0,
        "established_ns": 10_000_000,
        "end_ns": 100_010_000_000,
        "last_delivery_ns": 100_000_000_000,
        "delivered_bytes": 239_100_000,
        "sent_packets": 165_500,
        "sent_bytes": 250_300_000,
        "data_packets": 165_400,
        "received_packets": 165_300,
        "received_bytes": 250_000_000,
        "cwnd_max_packets": 217,
        "cwnd_mean_packets": 170.0,
        "in_flight_mean_packets": 160.0,
        "srtt_mean_ns": 100e6,
        "tap_rtt_samples": 160_000,
        "tap_rtt_mean_ns": 105e6,
        "tap_rtt_min_ns": 10_200_000,
        "tap_rtt_max_ns": 180_000_000,
        "tap_acks": 90_000,
    }
    return {**row, **changes}


def pipe(
    rate_mbps: float | None = None, delay_ms: float = 0.0, limit: int = 1000
) -> dict[str, Any]:
    """One direction of a link: TBF over netem, or nothing but delay."""
    shaper: Any = "none"
    queue: Any = {"drop_tail": {"limit_packets": limit, "limit_bytes": None}}
    delay_ns = round(delay_ms * 1e6)
    if rate_mbps is not None:
        rate = round(rate_mbps * 1e6)
        shaper = {"tbf": {"rate_bps": rate, "burst_bytes": 5120, "initial_bytes": None}}
        queue = {"netem": {"delay_ns": delay_ns, "jitter_ns": 0, "limit_packets": limit}}
        delay_ns = 0
    return {
        "policer": None,
        "loss": "none",
        "corruption": 0.0,
        "duplication": 0.0,
        "queue": queue,
        "shaper": shaper,
        "framing": {"overhead_bytes": 0, "mpu_bytes": 0, "atm": False},
        "delay_ns": delay_ns,
        "jitter_ns": 0,
        "reordering": None,
        "ack_aggregation": None,
        "changes": [],
    }


def multipath_scenario(*, multi: bool = True, delay_ms: float = 10.0) -> dict[str, Any]:
    """Study 1's testbed: two switches between two routers, a source and a destination host."""
    spray = {"policy": "round_robin", "what": "both", "first": None} if multi else None
    node = {"spray": None, "processing_jitter_ns": 0, "tcp": None}
    nodes = [
        {**node, "name": "s1", "kind": "host"},
        {**node, "name": "r1", "kind": "router", "spray": spray},
        {**node, "name": "p1", "kind": "switch"},
        {**node, "name": "p2", "kind": "switch"},
        {**node, "name": "r2", "kind": "router", "spray": spray},
        {**node, "name": "d1", "kind": "host"},
    ]

    def link(name: str, a: str, b: str, shaped: bool) -> dict[str, Any]:
        one = pipe(10.0, delay_ms / 2, 100) if shaped else pipe()
        back = pipe(10.0, delay_ms / 2, 100) if name.endswith("out") else pipe()
        return {"name": name, "a": a, "b": b, "forward": one, "backward": back if shaped else one}

    links = [link("s1", "s1", "r1", False)]
    for path in ("path1", "path2"):
        switch = "p" + path[-1]
        near, far = pipe(), pipe(10.0, delay_ms / 2, 100)
        links.append(
            {"name": f"{path}-in", "a": "r1", "b": switch, "forward": near, "backward": far}
        )
        links.append(
            {"name": f"{path}-out", "a": switch, "b": "r2", "forward": far, "backward": near}
        )
    links.append(link("d1", "r2", "d1", False))
    traffic = {"from": "s1", "to": "d1", "start_ns": 0, "stop_ns": None}
    return {
        "version": 1,
        "name": "multipath",
        "duration_ns": 100_000_000_000,
        "nodes": nodes,
        "links": links,
        "routes": [],
        "flows": [{"name": "flow1", **traffic, "start_jitter_ns": 0, "traffic": {"tcp": {}}}],
        "taps": [{"name": "tap", "node": "r1", "link": "s1"}],
        "sampling": {"interval_ns": 100_000_000, "samples": True, "queues": False, "drops": True},
    }


def kernel_rows(part: str) -> list[dict[str, str]]:
    """The rows of the kernel reference for one part of study 1."""
    with KERNEL.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["part"] == part]


def _sawtooth(cc: str, delay: float, phase: float) -> tuple[np.ndarray, np.ndarray]:
    """A window over 100 s in steps of 0.1 s, and the times of its losses."""
    times = np.arange(0.1, 100.0, 0.1)
    bdp = 20e6 * delay / 1e3 / 8 / 1514
    if cc == "bbr":
        gain = np.where((times % (8 * delay / 1e3 + 0.4)) < 0.1, 2.6, 2.4)
        window = np.where((times + phase) % 10 < 0.2, 4, gain * bdp)
        return times, window
    period = {"reno": 9.0, "bic": 3.0, "cubic": 6.0}[cc]
    top = 200 + bdp
    drop = {"reno": 0.5, "bic": 0.2, "cubic": 0.3}[cc]
    position = ((times + phase) % period) / period
    return times, top * (1 - drop * (1 - position ** (1 if cc == "reno" else 0.5)))


def multipath(part: str = "delay", repeats: int = 3, *, samples: bool = True) -> Results:
    """Tables for `single-vs-multi` or `delay` with numbers near the kernel's."""
    factor = "routing" if part == "single-vs-multi" else "delay"
    rng = np.random.default_rng(1)
    tables: dict[str, list[dict[str, object]]] = {name: [] for name in COLUMNS}
    levels: dict[str, list[str]] = {factor: [], "cc": []}
    seen: set[tuple[str, str]] = set()
    for row in kernel_rows(part):
        level = row["mode"] if factor == "routing" else f"{row['delay_ms']} ms"
        cell = (level, row["cc"])
        if cell in seen:
            continue
        seen.add(cell)
        for name, value in zip(levels, cell, strict=True):
            if value not in levels[name]:
                levels[name].append(value)
        for repeat in range(repeats):
            key: dict[str, object] = {
                "run": f"{part}-{level}-{row['cc']}-{repeat}",
                factor: level,
                "cc": row["cc"],
            }
            key |= {"repeat": repeat, "seed": 1 + repeat}
            noise = rng.normal(1.0, 0.004)
            tables["flows"].append({**key, **_flow_like(row, noise)})
            scenario = multipath_scenario(
                multi=row["mode"] == "multi", delay_ms=float(row["delay_ms"])
            )
            tables["runs"].append({**key, **_run_like(key["run"], scenario)})
            if samples:
                _add_series(tables, key, row, float(repeat))
    return results(levels, tables, name=part, repeats=repeats, yaml=f"name: {part}\n")


def _flow_like(row: Mapping[str, str], noise: float) -> dict[str, object]:
    rtt = float(row["rtt_mean_ms"]) * noise
    return flow(
        congestion_control=row["cc"],
        delivered_bytes=round(float(row["goodput_mbps"]) * 1e6 * 100 / 8),
        tap_rtt_mean_ns=rtt * 1e6,
        tap_sack_blocks=round(float(row["sack_blocks"]) * noise),
        tap_acks_with_sack=round(float(row["acks_with_sack"]) * noise),
        tap_retransmissions=int(row["retransmissions_at_tap"]),
        retransmitted_packets=int(row["total_retrans"]),
        cwnd_mean_packets=float(row["cwnd_mean"]) * noise,
        cwnd_max_packets=int(row["cwnd_max"]),
    )


def _run_like(run: object, scenario: dict[str, Any]) -> dict[str, object]:
    return {
        "engine": "sim",
        "engine_version": "0.1.0+0123456789ab",
        "digest": f"{abs(hash(str(run))) % 16**8:08x}" * 8,
        "wall_s": 0.05,
        "packets": 330_000,
        "events": 1_200_000,
        "scenario": json.dumps(scenario),
    }


def _add_series(
    tables: dict[str, list[dict[str, object]]],
    key: dict[str, object],
    row: Mapping[str, str],
    phase: float,
) -> None:
    times, window = _sawtooth(row["cc"], float(row["delay_ms"]), phase)
    rate = float(row["goodput_mbps"]) * 1e6 / 8
    for time, size in zip(times, window, strict=True):
        tables["samples"].append(
            {
                **key,
                "time_ns": round(time * 1e9),
                "flow": "flow1",
                "state": "Open",
                "cwnd_packets": round(size),
                "in_flight_packets": round(size * 0.95),
                "delivered_bytes": round(rate * time),
                "acked_bytes": round(rate * time),
            }
        )
    falls: Iterable[float] = times[1:][np.diff(window) < -10] if row["cc"] != "bbr" else []
    for time in falls:
        tables["drops"].append(
            {
                **key,
                "time_ns": round(float(time) * 1e9),
                "pipe": "path1-out/forward",
                "reason": "overflow",
                "flow": "flow1",
            }
        )
