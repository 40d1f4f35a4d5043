"""Times of pages and their objects, from the table `transfers`."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import Metric, Tables, keys
from dumbbell.metrics.requests import clients

_ARRIVED = "NaN where an object has not arrived by the end of the run"


def _objects(tables: Tables) -> pl.DataFrame:
    of_page = (pl.col("session") != "") & ~pl.col("session").is_in(clients(tables))
    return tables.transfers.filter(of_page)


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


PAGE_LOAD = Metric(
    name="page_load_s",
    label="Page load time",
    unit="s",
    formula="(latest end_ns − earliest start_ns) / 10⁹ over the objects of a page (transfers)",
    place="the client's application: from wanting the first object to having the last",
    window=f"the page's load; {_ARRIVED}",
    source="Resource Timing (W3C): from the first fetchStart to the last responseEnd",
    computed=_measure_page,
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
    computed=lambda tables: _mean_of_objects(tables, "start_ns", "end_ns"),
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
    computed=lambda tables: _mean_of_objects(tables, "start_ns", "first_byte_ns"),
    of=("session", "group"),
)

METRICS = (PAGE_LOAD, OBJECT_TIME, TTFB)
