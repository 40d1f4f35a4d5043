"""Totals of the flows of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from dumbbell.metrics.arrivals import arrived, processes
from dumbbell.metrics.definition import (
    CONNECTIONS,
    DATA,
    Measurement,
    Metric,
    Tables,
    keys,
    known,
    present,
)
from dumbbell.metrics.rtt import RTT_MEAN, SRTT_MEAN
from dumbbell.scenario import Scenario, shared_scenario

_NONE = float("nan")
_OF_FLOWS = ("flow", "kind", "congestion_control")
_RUN = "the whole run"


def _of_runs(tables: Tables, found: pl.DataFrame) -> pl.DataFrame:
    """One row per run with its `value`; NaN where `found` (`run`, `value`) has none."""
    runs = tables.flows.select(keys(tables)).unique(maintain_order=True)
    values = found.select("run", pl.col("value").cast(pl.Float64))
    return runs.join(values, on="run", how="left", maintain_order="left").with_columns(
        pl.col("value").fill_null(_NONE)
    )


def _once(tables: Tables, kinds: tuple[str, ...]) -> pl.LazyFrame:
    """Rows of flows, each run once: cells with one scenario share it."""
    rows = tables.flows.lazy().filter(pl.col("kind").is_in(kinds))
    shared = tables.runs["run"].is_duplicated().any()
    return rows.unique(["run", "flow"], maintain_order=True) if shared else rows


def _measure_goodput(tables: Tables) -> pl.DataFrame:
    began = _once(tables, DATA).filter(pl.col("start_ns") >= 0)
    life_ns = pl.col("end_ns").max() - present("established_ns").min()
    rate = known("delivered_bytes").sum() * 8e3 / life_ns
    value = pl.when(life_ns > 0).then(rate).otherwise(0.0)
    return _of_runs(tables, began.group_by("run").agg(value.alias("value")).collect())


def _quotient(part: str, whole: str) -> Measurement:
    """Σ part / Σ whole over the TCP flows of a run for which both are known."""

    def measure(tables: Tables) -> pl.DataFrame:
        both = (pl.col(part) >= 0) & (pl.col(whole) >= 0)
        sums = (
            _once(tables, CONNECTIONS)
            .filter(both)
            .group_by("run", maintain_order=True)
            .agg(pl.col(part).sum(), pl.col(whole).sum())
            .filter(pl.col(whole) > 0)
            .collect()
        )
        return _of_runs(tables, sums.with_columns((pl.col(part) / pl.col(whole)).alias("value")))

    return measure


def _measure_rtt(tables: Tables) -> pl.DataFrame:
    """The sender's smoothed RTT, else the mean at the tap, weighted by the bytes delivered."""
    flows = _once(tables, ("tcp",)).select("run", "flow", "delivered_bytes").collect()
    values = [
        metric.computed(tables).select("run", "flow", pl.col("value").fill_nan(None).alias(name))
        .unique(["run", "flow"])
        for name, metric in (("sender", SRTT_MEAN), ("tap", RTT_MEAN))
    ]  # fmt: skip
    for one in values:
        flows = flows.join(one, on=["run", "flow"], how="left", maintain_order="left")
    rtt, weight = pl.coalesce("sender", "tap"), pl.col("delivered_bytes").clip(1)
    known_of = rtt.is_not_null() & (pl.col("delivered_bytes") >= 0)
    mean = (rtt * weight).sum() / weight.sum()
    return _of_runs(tables, flows.filter(known_of).group_by("run").agg(mean.alias("value")))


def _measure_reordering(tables: Tables) -> pl.DataFrame:
    packets = pl.col("reordering_packets")
    most = (
        _once(tables, CONNECTIONS)
        .filter(packets >= 0)
        .group_by("run")
        .agg(packets.max().alias("value"))
    )
    return _of_runs(tables, most.collect())


def _measure_late(tables: Tables) -> pl.DataFrame:
    known_of = arrived(processes(tables)) & (pl.col("timeouts") >= 0)
    late = _once(tables, CONNECTIONS).filter(known_of).group_by("run")
    return _of_runs(tables, late.agg((pl.col("timeouts") > 0).mean().alias("value")).collect())


def _measure_connections(tables: Tables) -> pl.DataFrame:
    opened: dict[str, set[str]] = {}
    rows = []
    flows = _once(tables, CONNECTIONS).select("run", "flow", "delivered_bytes").collect()
    unknown = set(flows.filter(pl.col("delivered_bytes") < 0)["run"])
    some = flows.filter(pl.col("delivered_bytes") > 0)
    used = dict(some.group_by("run").agg(pl.col("flow")).iter_rows())
    for run, text in tables.runs.select("run", "scenario").unique("run").iter_rows():
        names = opened.get(text) or opened.setdefault(text, of_pages(shared_scenario(text)))
        if names and run not in unknown:
            rows.append((run, float(len(names.intersection(used.get(run, ()))))))
    schema = {"run": pl.String, "value": pl.Float64}
    return _of_runs(tables, pl.DataFrame(rows, schema=schema, orient="row"))


def of_pages(spec: Scenario) -> set[str]:
    """Connections that pages and clients of requests may open."""
    names = {
        name
        for page in spec.get("sessions", ())  # stores of older versions
        for origin in page["origins"]
        for name in origin["connections"]
    }
    return names.union(*(one["connections"] for one in spec.get("requests", ())))


def _of_given_size(spec: Scenario) -> list[str]:
    """Flows and connections that send a number of bytes; a flow that is stopped ends, too."""
    senders: list[tuple[str, Any]] = [
        (flow["name"], kind) for flow in spec["flows"] for kind in flow["traffic"].values()
    ]
    senders += [(one["name"], one) for one in spec.get("connections", ())]
    return [name for name, one in senders if isinstance(one, dict) and _has_size(one)]


def _has_size(sender: Mapping[str, Any]) -> bool:
    source = sender.get("source")
    sources = source.values() if isinstance(source, dict) else ()
    return any(one.get("bytes") is not None for one in (sender, *sources))


def _sized_flows(tables: Tables) -> pl.DataFrame:
    """`run`, `flow` of the flows of given size."""
    of_texts: dict[str, list[str]] = {}
    rows = []
    for run, text in tables.runs.select("run", "scenario").unique("run").iter_rows():
        if text not in of_texts:
            of_texts[text] = _of_given_size(shared_scenario(text))
        rows += [(run, name) for name in of_texts[text]]
    return pl.DataFrame(rows, schema={"run": pl.String, "flow": pl.String}, orient="row")


def _measure_transfer(tables: Tables) -> pl.DataFrame:
    whole = (pl.col("session") == "") & (pl.col("end_ns") >= 0)
    done = (
        tables.transfers.filter(whole)
        .group_by("run", "flow")
        .agg(pl.col("end_ns").max(), pl.len().alias("count"))
        .filter(pl.col("count") == 1)
        .join(_sized_flows(tables), on=["run", "flow"], how="semi")
    )
    rows = tables.flows.lazy().filter(pl.col("kind").is_in(CONNECTIONS))
    rows = rows.filter(~arrived(processes(tables)))
    flows = rows.select(*keys(tables), *_OF_FLOWS, "start_ns").collect()
    took_s = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    return flows.join(done, on=["run", "flow"], how="left", maintain_order="left").select(
        *keys(tables), *_OF_FLOWS, took_s.fill_null(_NONE).alias("value")
    )


def _of_run(
    name: str, label: str, unit: str, formula: str, place: str, source: str, computed: Measurement,
    window: str = _RUN, highest: float = float("inf"),
) -> Metric:  # fmt: skip
    return Metric(
        name=name,
        label=label,
        unit=unit,
        formula=formula,
        place=place,
        window=window,
        source=source,
        computed=computed,
        of=(),
        bounds=(0.0, highest),
    )


_SENDERS, _RECEIVERS = "the senders", "the receivers"
GOODPUT = _of_run(
    "total_goodput_mbps",
    "Goodput of all flows",
    "Mbit/s",
    "8 · Σ delivered_bytes of the TCP, MPTCP, QUIC and UDP flows / time. Flows in both directions "
    "count, so it may exceed the rate of a link",
    "the receivers' in-order streams: payload without headers",
    "RFC 2647 §3.17 (goodput), summed over flows",
    _measure_goodput,
    window="from the first established_ns to the last end_ns of these flows: of one flow it is its "
    "life, as in goodput_mbps",
)
RETRANSMITTED = _of_run(
    "total_retransmitted_share",
    "Retransmitted segments of all flows",
    "share",
    "Σ retransmitted_packets / Σ data_packets over the TCP, MPTCP and QUIC connections",
    _SENDERS,
    "RFC 4898 tcpEStatsPerfSegsRetrans",
    _quotient("retransmitted_packets", "data_packets"),
    highest=1.0,
)
SPURIOUS = _of_run(
    "total_spurious_share",
    "Segments retransmitted although they arrived",
    "share",
    "Σ spurious_retransmitted_packets / Σ data_packets over the TCP, MPTCP and QUIC connections",
    _SENDERS,
    "RFC 3522 §1, RFC 5682 §1",
    _quotient("spurious_retransmitted_packets", "data_packets"),
    highest=1.0,
)
REORDERED = _of_run(
    "total_reordered_share",
    "Reordered packets of all flows",
    "share",
    "Σ reordered_packets / Σ received_packets over the TCP, MPTCP and QUIC connections",
    _RECEIVERS,
    "RFC 4737 §3, §4.1",
    _quotient("reordered_packets", "received_packets"),
    highest=1.0,
)
PER_RECOVERY = _of_run(
    "segments_per_recovery",
    "Fast retransmissions per recovery",
    "packets",
    "Σ fast_retransmitted_packets / Σ recoveries over the TCP flows; NaN without a recovery",
    _SENDERS,
    "RFC 6675 §5; Linux tcp_ca_state",
    _quotient("fast_retransmitted_packets", "recoveries"),
)
RTT = _of_run(
    "tcp_rtt_ms",
    "RTT of the TCP flows",
    "ms",
    "mean of srtt_mean_ms (where it is not known, rtt_mean_ms) over the TCP flows, weighted by "
    "delivered_bytes",
    _SENDERS,
    "RFC 6298 §2; Linux tcpi_rtt",
    _measure_rtt,
)
REORDERING = _of_run(
    "reordering_degree_max",
    "Largest reordering degree of the senders",
    "packets",
    "largest reordering_packets of the TCP flows at the end of the run",
    _SENDERS,
    "Linux tcpi_reordering",
    _measure_reordering,
)
LATE = _of_run(
    "timed_out_share",
    "Flows with a time-out",
    "share",
    "flows of arrivals with timeouts > 0 / flows of arrivals; NaN where time-outs are not known",
    _SENDERS,
    "RFC 6298 §5",
    _measure_late,
    highest=1.0,
)
PAGE_CONNECTIONS = _of_run(
    "page_connections",
    "Connections of pages",
    "connections",
    "number of connections that pages opened and that delivered something",
    "the clients",
    "RFC 9112 §9.4 (persistent connections)",
    _measure_connections,
)
TRANSFER = Metric(
    name="transfer_s",
    label="Transfer time",
    unit="s",
    formula="(end_ns of the transfer − start_ns of the flow) / 10⁹ of a flow of given size "
    "(transfers); NaN if it did not finish",
    place="from the sender's SYN to the last byte at the receiving application",
    window="the transfer",
    source="flow completion time: Dukkipati and McKeown, CCR 36(1), 2006",
    computed=_measure_transfer,
)

METRICS = (
    GOODPUT, RTT, RETRANSMITTED, SPURIOUS, PER_RECOVERY, REORDERED, REORDERING, LATE,
    PAGE_CONNECTIONS, TRANSFER,
)  # fmt: skip
