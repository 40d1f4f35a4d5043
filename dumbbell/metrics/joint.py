"""Goodput in the time in which all bulk flows of a run send, and how they share it."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.arrivals import without_arrivals
from dumbbell.metrics.definition import DATA, Metric, Tables, keys, present
from dumbbell.metrics.fairness import jain_index
from dumbbell.metrics.goodput import GOODPUT
from dumbbell.metrics.sharing import (
    bulk_amounts_by_pipe,
    fair_shares,
    lasting_flows,
    shares,
)

_NONE = float("nan")
#: If the common time and the life of a flow are the same but for the rest of this share, the
#: goodput of the life stands for it.
NEARLY_ALL = 0.95

WORDS = (
    "the time in which all lasting bulk and UDP flows of the run send: from their latest start_ns "
    "to their earliest end_ns. Where all data flows live in 95 % of this time and in no more than "
    "it by as much, it is each flow's own life. A flow is lasting if it lives at least a quarter "
    "as long as any other, and bulk if it always has data. NaN for a flow that sends in less of it"
)


def joint_windows(tables: Tables) -> pl.DataFrame:
    """`run`, `begin_ns`, `end_ns`, `whole` (nearly each flow's life); none without bulk flows."""
    flows = lasting_flows(tables)
    counts = pl.col("lasting") | pl.col("steady")
    life = pl.col("end_ns") - pl.col("start_ns")
    begin, end = pl.col("start_ns").filter(counts).max(), pl.col("end_ns").filter(counts).min()
    common = end - begin
    alike = (common >= NEARLY_ALL * life.max()) & (life.min() >= NEARLY_ALL * common)
    some = pl.col("lasting").any().over("run")
    found = (
        flows.filter(some)
        .group_by("run")
        .agg(begin.alias("begin_ns"), end.alias("end_ns"), alike.alias("whole"))
    )
    return found.filter(pl.col("end_ns") > pl.col("begin_ns"))


def _measure(tables: Tables) -> pl.DataFrame:
    parts = _measure_parts(tables)
    return _of_those_who_send(tables, parts.filter(pl.col("kind").is_in(DATA)))


def _of_those_who_send(tables: Tables, values: pl.DataFrame) -> pl.DataFrame:
    """Values of the flows that send in nearly all of the time; NaN for others."""
    lives = tables.flows.select("run", "flow", "start_ns", "end_ns").unique(["run", "flow"])
    lives = lives.join(joint_windows(tables), on="run", suffix="_of_all")
    inside_ns = pl.min_horizontal("end_ns", "end_ns_of_all") - pl.max_horizontal(
        "start_ns", "begin_ns"
    )
    whole_ns = pl.col("end_ns_of_all") - pl.col("begin_ns")
    sending = lives.filter(inside_ns >= NEARLY_ALL * whole_ns).select("run", "flow")
    found = values.join(
        sending.with_columns(sends=True), on=["run", "flow"], how="left", maintain_order="left"
    )
    value = pl.when("sends").then("value").otherwise(_NONE).alias("value")
    return found.with_columns(value).drop("sends")


def _measure_parts(tables: Tables) -> pl.DataFrame:
    """Of each flow, and of each subflow of Multipath TCP."""
    tables = without_arrivals(tables)
    frame = GOODPUT.computed(tables).filter(pl.col("kind").is_in((*DATA, "subflow")))
    windows = joint_windows(tables)
    frame = frame.join(windows, on="run", how="left", maintain_order="left")
    apart = windows.filter(~pl.col("whole"))
    if not apart.is_empty() and tables.has("samples"):
        frame = frame.join(
            between(tables, apart), on=["run", "flow"], how="left", maintain_order="left"
        )
    else:
        frame = frame.with_columns(pl.lit(None, pl.Float64).alias("mbps"))
    value = pl.when(pl.col("whole")).then(pl.col("value")).otherwise(pl.col("mbps"))
    columns = [*keys(tables), "flow", "kind", "congestion_control"]
    return frame.select(*columns, value.fill_null(_NONE).alias("value"))


def between(tables: Tables, windows: pl.DataFrame) -> pl.DataFrame:
    """`run`, `flow`, `mbps`: growth of delivered_bytes between the samples at both times."""
    known = present("delivered_bytes")
    ends = {
        side: known.filter(pl.col("time_ns") <= pl.col(f"{side}_ns")).max()
        for side in ("begin", "end")
    }
    # Before the first sample of a flow nothing was delivered.
    ends["begin"] = ends["begin"].fill_null(pl.when(ends["end"].is_not_null()).then(0))
    length_ns = (pl.col("end_ns") - pl.col("begin_ns")).first()
    rate = (ends["end"] - ends["begin"]) * 8e3 / length_ns
    none = pl.DataFrame(schema={"run": pl.String, "flow": pl.String, "mbps": pl.Float64})
    found = [
        samples.join(windows, on="run").group_by("run", "flow").agg(rate.alias("mbps"))
        for samples in tables.parts("samples", ("flow", "time_ns", "delivered_bytes"))
    ]
    return pl.concat([none, *found])


JOINT_GOODPUT = Metric(
    name="joint_goodput_mbps",
    label="Joint goodput",
    unit="Mbit/s",
    formula="8 · growth of delivered_bytes (samples) / time; NaN without bulk flows, and without "
    "samples if the flows do not live at the same time",
    place=GOODPUT.place,
    window=WORDS,
    source="as goodput_mbps; RFC 5166 §2.4.1: fairness is of flows that compete",
    computed=_measure,
)

JOINT_SHARE = Metric(
    name="joint_share",
    label="Joint share of the bottleneck",
    unit="share",
    formula="joint_goodput_mbps / its sum over the TCP, MPTCP, QUIC and UDP flows with the same "
    "bottleneck (without flows of arrivals); of a Multipath TCP connection over its subflows that "
    "share one. NaN for a flow that has its bottleneck alone",
    place="goodput of each flow, and subflow; its bottleneck is the narrowest pipe of its path",
    window=WORDS,
    source="RFC 5166 §2.4.1 (fairness between flows)",
    computed=lambda tables: _of_those_who_send(tables, shares(tables, _measure_parts)),
    bounds=(0.0, 1.0),
)

JOINT_FAIR_SHARE = Metric(
    name="joint_fair_share",
    label="Joint share of the fair share",
    unit="share",
    formula="joint_goodput_mbps / its mean over the lasting bulk flows with the same "
    "bottleneck; NaN for others, and for one alone",
    place=JOINT_SHARE.place,
    window=WORDS,
    source="equal division as in RFC 5166 §2.4.1; below 10 % `dumbbell run` says that it starves",
    computed=lambda tables: fair_shares(tables, _measure_parts),
)


def _measure_jain(tables: Tables) -> pl.DataFrame:
    found = bulk_amounts_by_pipe(tables, _measure_parts)
    index = pl.col("amounts").map_elements(
        lambda rates: jain_index(rates.to_numpy()) if len(rates) > 1 else _NONE,
        return_dtype=pl.Float64,
    )
    base = tables.pipes.select(*keys(tables), "pipe")
    of_pipes = found.select("run", "pipe", index.alias("value"))
    return base.join(of_pipes, on=["run", "pipe"], how="left", maintain_order="left").with_columns(
        pl.col("value").fill_null(_NONE)
    )


LINK_JAIN = Metric(
    name="link_jain",
    label="Jain's index at a bottleneck",
    unit="",
    formula="(Σ x)² / (n · Σ x²) over joint_goodput_mbps of the n lasting bulk flows that the "
    "pipe limits; NaN with fewer than two",
    place="goodput of each flow, and subflow; the narrowest pipe of its path",
    window=WORDS,
    source="Jain, Chiu, Hawe: DEC-TR-301, 1984; RFC 5166 §2.4.1",
    computed=_measure_jain,
    of=("pipe",),
    bounds=(0.0, 1.0),
)

METRICS = (JOINT_GOODPUT, JOINT_SHARE, JOINT_FAIR_SHARE, LINK_JAIN)
