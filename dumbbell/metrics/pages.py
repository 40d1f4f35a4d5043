"""How long pages and their objects take, from the table `transfers`."""

from __future__ import annotations

import math

import polars as pl

from dumbbell.metrics.bdp import FRAME_BYTES, TCP_OVERHEAD_BYTES, flow_limits
from dumbbell.metrics.definition import Metric, Tables, keys

_ARRIVED = "NaN where an object has not arrived by the end of the run"


def _objects(tables: Tables) -> pl.DataFrame:
    return tables.transfers.filter(pl.col("session") != "")


def _measure_page(tables: Tables) -> pl.DataFrame:
    """From the first object wanted to the last one there, for each page."""
    columns = [*keys(tables), "session"]
    whole = (pl.col("end_ns") >= 0).all()
    seconds = (pl.col("end_ns").max() - pl.col("start_ns").min()) / 1e9
    return (
        _objects(tables)
        .group_by(columns, maintain_order=True)
        .agg(pl.when(whole).then(seconds).otherwise(float("nan")).alias("value"))
    )


def _mean_of_objects(tables: Tables, begin: str, end: str) -> pl.DataFrame:
    columns = [*keys(tables), "session", "group"]
    known = (pl.col(begin) >= 0) & (pl.col(end) >= 0)
    milliseconds = (pl.col(end) - pl.col(begin)) / 1e6
    value = pl.when(known).then(milliseconds).otherwise(float("nan"))
    return _objects(tables).group_by(columns, maintain_order=True).agg(value.mean().alias("value"))


def _measure_slowdown(tables: Tables) -> pl.DataFrame:
    """Mean over the finished transfers of a flow of their time over that in an empty network."""
    columns = [*keys(tables), "flow"]
    ended = tables.transfers.filter((pl.col("end_ns") >= 0) & (pl.col("flow") != ""))
    limits: dict[tuple[str, str], tuple[float, float]] = {}
    scenarios = dict(tables.runs.select("run", "scenario").iter_rows())
    rows = []
    for run, flow in ended.select("run", "flow").unique(maintain_order=True).iter_rows():
        key = (scenarios[run], flow)
        if key not in limits:
            found = flow_limits(*key)
            limits[key] = (found.base_rtt_s, found.rate_bps)
        rows.append((run, flow, *limits[key]))
    schema = {"run": pl.String, "flow": pl.String, "rtt_s": pl.Float64, "rate_bps": pl.Float64}
    known = pl.DataFrame(rows, schema=schema, orient="row")
    payload = FRAME_BYTES - TCP_OVERHEAD_BYTES
    wire_s = pl.col("transfer_bytes") * (8 * FRAME_BYTES / payload) / pl.col("rate_bps")
    alone_s = pl.col("rtt_s") + wire_s
    took_s = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    return (
        ended.join(known, on=["run", "flow"], how="left", maintain_order="left")
        .group_by(columns, maintain_order=True)
        .agg((took_s / alone_s).mean().alias("value"))
    )


PAGE_LOAD = Metric(
    name="page_load_s",
    label="Page load time",
    unit="s",
    formula="(latest end_ns − earliest start_ns) / 10⁹ over the objects of a page (transfers)",
    place="the client's application: from wanting the first object to having the last",
    window=f"the page's load; {_ARRIVED}",
    source="Resource Timing (W3C): from the first fetchStart to the last responseEnd",
    measure=_measure_page,
    of=("session",),
)

OBJECT_TIME = Metric(
    name="object_time_ms",
    label="Time of an object",
    unit="ms",
    formula="mean over the objects of a group of (end_ns − start_ns) / 10⁶ (transfers)",
    place="the client's application; waiting for a connection, its handshakes and the name count",
    window=f"each object's load; {_ARRIVED}",
    source="Resource Timing (W3C): responseEnd − fetchStart",
    measure=lambda tables: _mean_of_objects(tables, "start_ns", "end_ns"),
    of=("session", "group"),
)

TTFB = Metric(
    name="ttfb_ms",
    label="Time to the first byte",
    unit="ms",
    formula="mean over the objects of a group of (first_byte_ns − start_ns) / 10⁶ (transfers)",
    place=OBJECT_TIME.place,
    window=OBJECT_TIME.window,
    source="Resource Timing (W3C): responseStart − fetchStart",
    measure=lambda tables: _mean_of_objects(tables, "start_ns", "first_byte_ns"),
    of=("session", "group"),
)

SLOWDOWN = Metric(
    name="fct_slowdown",
    label="Slowdown of transfers",
    unit="",
    formula="mean over the finished transfers of a flow of (end_ns − start_ns) / (base RTT + "
    "transfer_bytes · 8 · 1514 / 1448 / rate); rate and base RTT of its path, as above",
    place="the receiving application",
    window="each transfer",
    source="flow completion time over that in an empty network: Alizadeh et al., pFabric, SIGCOMM "
    "2013, §5; a request and its answer take one round trip at least, so it is never below 1",
    measure=_measure_slowdown,
    of=("flow",),
    bounds=(1.0, math.inf),
)

METRICS = (PAGE_LOAD, OBJECT_TIME, TTFB, SLOWDOWN)
