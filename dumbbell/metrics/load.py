"""When there is load, and what it carries up and down."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import Metric, Tables, keys, ratio

WORDS = (
    "the time in which all TCP flows are under way: from the latest start_ns to the earliest "
    "end_ns; the whole run if there is none"
)


def load_windows(tables: Tables) -> pl.DataFrame:
    """The time of load of each run: `run`, `load_start_ns`, `load_end_ns`, `first_start_ns`.

    `first_start_ns` is when the first TCP flow starts: before it the line is idle.
    """
    tcp = pl.col("kind").is_in(["tcp", "mptcp"])
    found = tables.flows.group_by("run").agg(
        pl.col("start_ns").filter(tcp).max().alias("load_start_ns"),
        pl.col("end_ns").filter(tcp).min().alias("load_end_ns"),
        pl.col("start_ns").filter(tcp).min().alias("first_start_ns"),
        pl.col("end_ns").max().alias("last_ns"),
    )
    some = (pl.col("load_end_ns") > pl.col("load_start_ns")).fill_null(value=False)
    return found.select(
        "run",
        pl.when(some).then(pl.col("load_start_ns")).otherwise(0).alias("load_start_ns"),
        pl.when(some).then(pl.col("load_end_ns")).otherwise(pl.col("last_ns")).alias("load_end_ns"),
        pl.when(some).then(pl.col("first_start_ns")).otherwise(0).alias("first_start_ns"),
    )


def _direction(tables: Tables, end: str) -> pl.DataFrame:
    """Goodput of the TCP flows that have a host which asks for round trips at this end."""
    clients = (
        tables.flows.filter(pl.col("kind") == "ping")
        .select("run", pl.col("from_host").alias(end))
        .unique()
    )
    window_s = (pl.col("load_end_ns") - pl.col("load_start_ns")) / 1e9
    rate = ratio(pl.col("delivered_bytes") * 8e-6, window_s)
    carried = (
        tables.flows.filter(pl.col("kind").is_in(["tcp", "mptcp"]))
        .join(clients, on=["run", end], how="semi")
        .join(load_windows(tables), on="run")
        .group_by("run")
        .agg(rate.sum().alias("value"))
    )
    runs = tables.flows.select(keys(tables)).unique(maintain_order=True)
    return runs.join(carried, on="run", how="left", maintain_order="left").with_columns(
        pl.col("value").fill_null(float("nan"))
    )


def _measure_utilisation(tables: Tables) -> pl.DataFrame:
    """Bits that left each pipe between the samples nearest to the time of load, over its rate."""
    columns = [*keys(tables), "pipe"]
    base = tables.pipes.select(*columns, "rate_bps")
    inside = (pl.col("time_ns") >= pl.col("load_start_ns")) & (
        pl.col("time_ns") <= pl.col("load_end_ns")
    )
    sent = (
        tables.queues.join(load_windows(tables), on="run")
        .filter(inside)
        .group_by("run", "pipe")
        .agg(
            (pl.col("sent_bytes").max() - pl.col("sent_bytes").min()).alias("bytes"),
            (pl.col("time_ns").max() - pl.col("time_ns").min()).alias("ns"),
        )
    )
    rate = pl.col("bytes") * 8e9 / pl.col("ns") / pl.col("rate_bps")
    known = (pl.col("rate_bps") > 0) & (pl.col("ns") > 0)
    return base.join(sent, on=["run", "pipe"], how="left", maintain_order="left").select(
        *columns, pl.when(known).then(rate).otherwise(float("nan")).alias("value")
    )


UPLOAD = Metric(
    name="upload_mbps",
    label="Upload",
    unit="Mbit/s",
    formula="Σ over TCP flows from a host that asks for round trips: 8 · delivered_bytes / time",
    place="the receiving applications",
    window=WORDS,
    source="Flent's TCP upload sum (Høiland-Jørgensen et al. 2017)",
    measure=lambda tables: _direction(tables, "from_host"),
    of=(),
)

DOWNLOAD = Metric(
    name="download_mbps",
    label="Download",
    unit="Mbit/s",
    formula="Σ over TCP flows to a host that asks for round trips: 8 · delivered_bytes / time",
    place="the receiving applications",
    window=WORDS,
    source="Flent's TCP download sum (Høiland-Jørgensen et al. 2017)",
    measure=lambda tables: _direction(tables, "to_host"),
    of=(),
)

UTILISATION = Metric(
    name="utilisation",
    label="Utilisation of a pipe",
    unit="share",
    formula="bits of frames that left the pipe / (its rate · time), between the first and the last "
    "sample of the queue in the time of load; NaN without samples of queues or a rate",
    place="each direction of each link",
    window=WORDS,
    source="RFC 5136 §2.3.4 (IP-layer link utilization), with frames",
    measure=_measure_utilisation,
    of=("pipe",),
    # A bucket of tokens may empty within the window.
    bounds=(0.0, 1.05),
)

METRICS = (UPLOAD, DOWNLOAD, UTILISATION)
