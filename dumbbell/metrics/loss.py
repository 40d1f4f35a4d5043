"""Losses, by place and reason."""

from __future__ import annotations

import polars as pl

from dumbbell.limits.datagrams import packets_of
from dumbbell.metrics.definition import Metric, Tables, keys, known, per_flow, ratio
from dumbbell.scenario import shared_scenario

#: Reasons for which a pipe drops a packet, as in the names of its columns.
REASONS = ("overflow", "random", "scripted", "policed", "corrupted", "aqm", "link_down")


def losses(tables: Tables) -> pl.DataFrame:
    """Losses of each pipe by reason, one row per run, pipe and reason.

    Columns: `run`, the factors, `repeat`, `seed`, `pipe`, `reason`, `arrived_packets`,
    `dropped_packets` (-1: unknown), `loss_ratio` (dropped / offered, 0–1; NaN: unknown).
    Source: RFC 7680 (one-way loss), taken per pipe.
    """
    columns = [f"dropped_{reason}_packets" for reason in REASONS]
    return (
        tables.pipes.select(*keys(tables), "pipe", "arrived_packets", *columns)
        .unpivot(
            on=columns,
            index=[*keys(tables), "pipe", "arrived_packets"],
            variable_name="reason",
            value_name="dropped_packets",
        )
        .with_columns(
            pl.col("reason").str.strip_prefix("dropped_").str.strip_suffix("_packets"),
            ratio(known("dropped_packets"), known("arrived_packets")).alias("loss_ratio"),
        )
        .sort([*keys(tables), "pipe"], maintain_order=True)
    )


def _measure_pipe_loss(tables: Tables) -> pl.DataFrame:
    by_reason = sum((known(f"dropped_{reason}_packets") for reason in REASONS), start=pl.lit(0.0))
    # An engine may not tell reasons apart, but for damage, which a receiver finds behind the pipe.
    gone = known("arrived_packets") - known("left_packets") - known("remaining_packets")
    apart = by_reason.is_nan() & known("dropped_corrupted_packets").is_not_nan()
    dropped = pl.when(apart).then(gone).otherwise(by_reason)
    return tables.pipes.select(
        *keys(tables), "pipe", ratio(dropped, known("arrived_packets")).alias("value")
    )


PIPE_LOSS = Metric(
    name="loss_ratio",
    label="Loss ratio of a pipe",
    unit="share",
    formula="Σ over reasons of dropped packets / packets offered to the pipe; "
    "`dumbbell.metrics.losses` gives it by reason (overflow, random, scripted, policed, "
    "corrupted, aqm, link_down). Where an engine does not tell these apart: offered − left − "
    "remaining",
    place="each direction of each link",
    window="the whole run",
    source="RFC 7680 (one-way loss), taken per pipe",
    computed=_measure_pipe_loss,
    of=("pipe",),
    bounds=(0.0, 1.0),
)

DROPPED = Metric(
    name="dropped_packets",
    label="Dropped packets",
    unit="packets",
    formula="packets of the flow, both directions, that were dropped anywhere",
    place="all pipes and hosts on the flow's path",
    window="the whole run",
    source="RFC 7680",
    computed=per_flow(known("dropped_packets")),
)


def _measure_datagrams(tables: Tables) -> pl.DataFrame:
    rows = []
    texts = tables.runs.select("run", "scenario").unique("run")
    of_texts = {text: _fragmented(text) for text in texts["scenario"].unique()}
    for run, text in texts.iter_rows():
        rows += [(run, *one) for one in of_texts[text]]
    schema = {"run": pl.String, "flow": pl.String, "packets": pl.Int64, "bytes": pl.Int64}
    split = pl.DataFrame(rows, schema=schema, orient="row")
    # Of a fragmented datagram the receiver counts packets, and hands on only whole datagrams.
    whole = known("delivered_bytes") / pl.col("bytes") * pl.col("packets")
    arrived = pl.when(pl.col("packets").is_null()).then(known("received_packets")).otherwise(whole)
    missing = (1 - arrived / known("sent_packets")).clip(0, 1)
    # What is under way at the end is missing, and not dropped. A drop takes a datagram at most.
    datagrams = known("sent_packets") / pl.col("packets").fill_null(1)
    lost = pl.min_horizontal(missing, known("dropped_packets") / datagrams)
    applies = (pl.col("kind") == "udp") & (pl.col("sent_packets") > 0)
    return tables.flows.join(split, on=["run", "flow"], how="left", maintain_order="left").select(
        *keys(tables),
        "flow",
        "kind",
        "congestion_control",
        pl.when(applies).then(lost).otherwise(float("nan")).alias("value"),
    )


def _fragmented(scenario: str) -> list[tuple[str, int, int]]:
    """UDP flows whose datagrams are fragmented: flow, packets and payload bytes of a datagram."""
    found = []
    for flow in shared_scenario(scenario)["flows"]:
        udp = flow["traffic"].get("udp")
        if udp and (packets := packets_of(udp)) > 1:
            found.append((flow["name"], packets, udp["datagram_bytes"]))
    return found


DATAGRAMS = Metric(
    name="datagram_loss_ratio",
    label="Datagrams that never arrived",
    unit="share",
    formula="1 − received_packets / sent_packets of a UDP flow. Where a datagram is fragmented: "
    "1 − (delivered_bytes / payload of a datagram) / (sent_packets / its fragments). At most one "
    "datagram for each of dropped_packets, if these are known: what is under way at the end is not "
    "lost. Duplicates count as received",
    place="the receiving host",
    window="the whole run",
    source="RFC 7680 (one-way loss)",
    computed=_measure_datagrams,
    bounds=(0.0, 1.0),
)

METRICS = (PIPE_LOSS, DROPPED, DATAGRAMS)
