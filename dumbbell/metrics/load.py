"""Window of load, and goodput up and down in it."""

from __future__ import annotations

import polars as pl

from dumbbell.limits.flows import longest_frame_bytes
from dumbbell.limits.pipes import (
    admitted_bits,
    frames_exceed_wire,
    is_in_cells,
    surplus_bits,
)
from dumbbell.metrics.active import active_windows
from dumbbell.metrics.definition import (
    CONNECTIONS,
    Metric,
    Tables,
    keys,
    known,
    present,
    ratio,
)
from dumbbell.metrics.joint import between
from dumbbell.scenario import Pipe, Scenario, shared_scenario

#: A common time that is a smaller part of the time in which any TCP flow is under way tells little.
_SUBSTANTIAL = 0.25

WORDS = (
    "the time of load: from the latest start_ns to the earliest end_ns of the TCP flows that live "
    "for at least half of the time in which any is under way; the whole run if there are none, or "
    "if it is less than a quarter of that time"
)


def load_windows(tables: Tables) -> pl.DataFrame:
    """The time of load of each run: `run`, `load_start_ns`, `load_end_ns`, `first_start_ns`.

    It is the time in which all TCP flows are under way that live for at least half of the time of
    all: short ones come and go in it. `first_start_ns` is when the first TCP flow starts: before it
    the line is idle. `common` is false where those flows have no time in common, or little, and the
    time is that of the run.
    """
    tcp = pl.col("kind").is_in(CONNECTIONS) & (pl.col("start_ns") >= 0)
    start, end = pl.col("start_ns"), pl.col("end_ns")
    under_way_ns = end.filter(tcp).max() - start.filter(tcp).min()
    lasting = tcp & (2 * (end - start) >= under_way_ns)
    found = tables.flows.group_by("run").agg(
        start.filter(lasting).max().alias("load_start_ns"),
        end.filter(lasting).min().alias("load_end_ns"),
        start.filter(tcp).min().alias("first_start_ns"),
        end.max().alias("last_ns"),
        under_way_ns.alias("under_way_ns"),
    )
    common_ns = pl.col("load_end_ns") - pl.col("load_start_ns")
    some = (common_ns > 0) & (common_ns >= _SUBSTANTIAL * pl.col("under_way_ns"))
    some = some.fill_null(value=False)
    return found.select(
        "run",
        pl.when(some).then(pl.col("load_start_ns")).otherwise(0).alias("load_start_ns"),
        pl.when(some).then(pl.col("load_end_ns")).otherwise(pl.col("last_ns")).alias("load_end_ns"),
        pl.when(some).then(pl.col("first_start_ns")).otherwise(0).alias("first_start_ns"),
        some.alias("common"),
    )


def _measure_load_share(tables: Tables) -> pl.DataFrame:
    """Length of the time of load over that of all flows of the run."""
    windows = load_windows(tables).filter("common").join(active_windows(tables), on="run")
    length_ns = pl.col("load_end_ns") - pl.col("load_start_ns")
    share = length_ns / (pl.col("end_ns") - pl.col("begin_ns"))
    runs = tables.flows.select(keys(tables)).unique(maintain_order=True)
    found = windows.select("run", share.alias("value"))
    return runs.join(found, on="run", how="left", maintain_order="left").with_columns(
        pl.col("value").fill_null(float("nan"))
    )


#: Of a flow of which this share of its life is in the time of load, all bytes count.
_SAME_LIFE = 0.99


def _direction(tables: Tables, end: str) -> pl.DataFrame:
    """Goodput of the TCP flows with a host that sends probes at this end."""
    clients = (
        tables.flows.filter(pl.col("kind") == "ping")
        .select("run", pl.col("from_host").alias(end))
        .unique()
    )
    windows = load_windows(tables).select(
        "run", begin_ns="load_start_ns", end_ns="load_end_ns", until_ns="load_end_ns"
    )
    flows = (
        tables.flows.filter(pl.col("kind").is_in(CONNECTIONS) & (pl.col("start_ns") >= 0))
        .join(clients, on=["run", end], how="semi")
        .join(windows.drop("end_ns"), on="run")
    )
    window_ns = pl.col("until_ns") - pl.col("begin_ns")
    inside_ns = pl.min_horizontal("until_ns", "end_ns") - pl.max_horizontal("begin_ns", "start_ns")
    alike = inside_ns >= _SAME_LIFE * (pl.col("end_ns") - pl.col("start_ns"))
    flows = flows.with_columns(alike.alias("alike"))
    if tables.has("samples") and not flows["alike"].all():
        grown = between(tables, windows.select("run", "begin_ns", "end_ns"))
        flows = flows.join(grown, on=["run", "flow"], how="left", maintain_order="left")
    else:
        flows = flows.with_columns(pl.lit(None, pl.Float64).alias("mbps"))
    own = pl.when("alike").then(ratio(known("delivered_bytes") * 8e3, window_ns))
    # A flow that does not live in that time carries nothing in it.
    rate = pl.when(inside_ns <= 0).then(0.0).otherwise(pl.coalesce("mbps", own))
    # A sum of which a part is not known is not known.
    whole = pl.when(rate.is_null().any()).then(float("nan")).otherwise(rate.sum())
    carried = flows.group_by("run").agg(whole.alias("value"))
    runs = tables.flows.select(keys(tables)).unique(maintain_order=True)
    return runs.join(carried, on="run", how="left", maintain_order="left").with_columns(
        pl.col("value").fill_null(float("nan"))
    )


#: Of what a pipe can carry in a window, the most that may have been under way when it began.
_SURPLUS_MOST = 0.05


def _has_own_cells(pipe: Pipe) -> bool:
    """CAKE counts cells or an overhead; those of a link are left to who reads the value."""
    return "cake" in pipe["queue"] and is_in_cells(pipe)


def _capacities(tables: Tables, sent: pl.DataFrame) -> pl.DataFrame:
    """Bits that each pipe could carry in its window; null where that decides nothing."""
    texts = dict(tables.runs["run", "scenario"].iter_rows())
    read: dict[str, Scenario] = {}
    rows = []
    for run, name, begin_ns, end_ns in sent["run", "pipe", "begin_ns", "end_ns"].iter_rows():
        text = texts[run]
        if text not in read:
            read[text] = shared_scenario(text)
        spec = read[text]
        link, _, side = name.rpartition("/")
        (found,) = (one for one in spec["links"] if one["name"] == link)
        pipe = found["forward"] if side == "forward" else found["backward"]
        bits = admitted_bits(pipe, begin_ns, end_ns)
        surplus = surplus_bits(pipe, longest_frame_bytes(spec))
        told = bits < float("inf") and surplus <= _SURPLUS_MOST * bits
        told &= not frames_exceed_wire(pipe) and not _has_own_cells(pipe)
        rows.append((run, name, bits if told else None))
    schema = {"run": pl.String, "pipe": pl.String, "bits": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _measure_utilisation(tables: Tables) -> pl.DataFrame:
    """Bits that left each pipe between the first and last sample under load, over its capacity."""
    columns = [*keys(tables), "pipe"]
    base = tables.pipes.select(columns)
    inside = (pl.col("time_ns") >= pl.col("load_start_ns")) & (
        pl.col("time_ns") <= pl.col("load_end_ns")
    )
    windows = load_windows(tables)
    numbers = dict.fromkeys(("bytes", "begin_ns", "end_ns"), pl.Int64())
    none = pl.DataFrame(schema={"run": pl.String(), "pipe": pl.String(), **numbers})
    found = [
        queues.join(windows, on="run")
        .filter(inside)
        .group_by("run", "pipe")
        .agg(
            (present("sent_bytes").max() - present("sent_bytes").min()).alias("bytes"),
            pl.col("time_ns").min().alias("begin_ns"),
            pl.col("time_ns").max().alias("end_ns"),
        )
        for queues in tables.parts("queues", ("pipe", "time_ns", "sent_bytes"))
    ]
    sent = pl.concat([none, *found])
    used = sent.join(_capacities(tables, sent), on=["run", "pipe"])
    share = (pl.col("bytes") * 8 / pl.col("bits")).fill_null(float("nan"))
    return base.join(used, on=["run", "pipe"], how="left", maintain_order="left").select(
        *columns, share.alias("value")
    )


_GROWTH = (
    "8 · growth of delivered_bytes / time (samples). Without samples, and where 99 % of each "
    "flow's life or more are in that time: delivered_bytes / time. NaN if neither is known of a "
    "flow"
)

UPLOAD = Metric(
    name="upload_mbps",
    label="Upload",
    unit="Mbit/s",
    formula=f"Σ over TCP flows from a host that sends probes: {_GROWTH}",
    place="the receiving applications",
    window=WORDS,
    source="Flent's TCP upload sum (Høiland-Jørgensen et al. 2017)",
    computed=lambda tables: _direction(tables, "from_host"),
    of=(),
)

DOWNLOAD = Metric(
    name="download_mbps",
    label="Download",
    unit="Mbit/s",
    formula=f"Σ over TCP flows to a host that sends probes: {_GROWTH}",
    place="the receiving applications",
    window=WORDS,
    source="Flent's TCP download sum (Høiland-Jørgensen et al. 2017)",
    computed=lambda tables: _direction(tables, "to_host"),
    of=(),
)

UTILISATION = Metric(
    name="utilisation",
    label="Utilisation of a pipe",
    unit="share",
    formula="bits of frames that left the pipe / bits that its shaper and its policer could let "
    "through (its rate over time, changes included, while the link is up; a trace's "
    "opportunities). Both count from the first to the last sample of the queue in the time of "
    "load. NaN without samples of queues, without a shaper, with cells or an overhead of CAKE, "
    "if frames are shorter on the wire than their length, and if packets under way at the "
    "beginning (a frame, a burst, packets in a delay that shrinks) may be more than 5 % of the "
    "window's bits",
    place="each direction of each link",
    window=WORDS,
    source="RFC 5136 §2.3.4 (IP-layer link utilization), with frames",
    computed=_measure_utilisation,
    of=("pipe",),
    bounds=(0.0, 1.0 + _SURPLUS_MOST),
)

LOAD_SHARE = Metric(
    name="load_share",
    label="Share of the time of load",
    unit="share",
    formula="time of load (in which all TCP flows are under way that live for half of the time of "
    "all) / time in which any flow is; NaN if they have no time in common, or little",
    place="the senders",
    window="from the first start_ns to the last end_ns of the run's flows",
    source="how much of a run the percentiles of its queueing delay stand for",
    computed=_measure_load_share,
    of=(),
    bounds=(0.0, 1.0),
)

METRICS = (UPLOAD, DOWNLOAD, UTILISATION, LOAD_SHARE)
