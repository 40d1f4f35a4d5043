"""Retransmissions: seen at the tap, counted by the sender, and those that were not needed."""

from __future__ import annotations

import polars as pl

from dumbbell.metrics.definition import CONTROLLED, Metric, known, per_flow, ratio

_RUN = "the whole run"
_SENDER = "the sender"


def _count(name: str, label: str, column: str, formula: str, source: str, unit: str = "") -> Metric:
    return Metric(
        name=name,
        label=label,
        unit=unit,
        formula=formula,
        place=_SENDER,
        window=_RUN,
        source=source,
        computed=per_flow(known(column), CONTROLLED),
    )


AT_TAP = Metric(
    name="retransmissions_at_tap",
    label="Retransmissions at the tap",
    unit="packets",
    formula="packets with payload at the tap that the sender had sent before, as the analysis of "
    "captures tells them from reordered and duplicate frames (docs/captures.md)",
    place="the flow's tap; retransmissions of what was lost before it count",
    window=_RUN,
    source="RFC 4898 tcpEStatsPerfSegsRetrans, inferred at a tap",
    computed=per_flow(known("tap_retransmissions"), CONTROLLED),
)

TOTAL = _count(
    "retransmissions",
    "Retransmissions",
    "retransmitted_packets",
    "segments retransmitted by the sender (Linux tcpi_total_retrans)",
    "Linux tcp_info; RFC 4898 tcpEStatsPerfSegsRetrans",
    "packets",
)

SPURIOUS = _count(
    "spurious_retransmissions",
    "Spurious retransmissions",
    "spurious_retransmitted_packets",
    "retransmissions that arrived when the receiver already had their payload, by the engine's "
    "knowledge of both ends; NaN on an engine that sees one end only",
    "RFC 3522 §1, RFC 5682 §1 (what Eifel and F-RTO try to detect)",
    "packets",
)

SPURIOUS_SHARE = Metric(
    name="spurious_share",
    label="Share of retransmissions that were spurious",
    unit="",
    formula="spurious_retransmitted_packets / retransmitted_packets; 0 without retransmissions",
    place=_SENDER,
    window=_RUN,
    source="as spurious_retransmissions",
    computed=per_flow(
        ratio(known("spurious_retransmitted_packets"), known("retransmitted_packets")), ("tcp",)
    ),
    bounds=(0.0, 1.0),
)

TIMEOUTS = _count(
    "timeouts",
    "Retransmission time-outs",
    "timeouts",
    "number of times the retransmission timer ran out",
    "RFC 6298 §5",
)

UNDOS = _count(
    "undos",
    "Undone window reductions",
    "undos",
    "window reductions taken back after DSACK, Eifel's timestamps or F-RTO showed them to be wrong",
    "RFC 2883, RFC 4015, RFC 5682",
)

SHARE = Metric(
    name="retransmitted_share",
    label="Share of segments that are retransmissions",
    unit="share",
    formula="retransmitted_packets / data_packets; NaN without data",
    place=_SENDER,
    window=_RUN,
    source="as retransmissions",
    computed=per_flow(
        pl.when(pl.col("data_packets") > 0).then(
            known("retransmitted_packets") / known("data_packets")
        ),
        CONTROLLED,
    ),
    bounds=(0.0, 1.0),
)

METRICS = (AT_TAP, TOTAL, SHARE, SPURIOUS, SPURIOUS_SHARE, TIMEOUTS, UNDOS)


def with_retransmissions(samples: pl.DataFrame) -> pl.DataFrame:
    """Samples of one flow, in order of time, before which segments were retransmitted."""
    return samples.filter(pl.col("retransmitted_packets").diff().fill_null(0) > 0)
