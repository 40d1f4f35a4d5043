"""Selective acknowledgements as seen at the tap."""

from __future__ import annotations

from dumbbell.metrics.definition import CONTROLLED, Metric, known, per_flow, ratio

_TAP = "the flow's tap, packets of the receiver"
_RUN = "the whole run"

SACK_BLOCKS = Metric(
    name="sack_blocks",
    label="SACK blocks",
    unit="blocks",
    formula="Σ over all ACKs at the tap of the SACK blocks each carries (DSACK blocks included)",
    place=_TAP,
    window=_RUN,
    source="RFC 2018 §3, RFC 2883; counted in study 1's Table 5.1",
    computed=per_flow(known("tap_sack_blocks"), CONTROLLED),
)

ACKS_WITH_SACK = Metric(
    name="acks_with_sack",
    label="ACKs with SACK",
    unit="packets",
    formula="number of ACKs at the tap that carry at least one SACK block",
    place=_TAP,
    window=_RUN,
    source="RFC 2018 §3",
    computed=per_flow(known("tap_acks_with_sack"), CONTROLLED),
)

SACK_SHARE = Metric(
    name="sack_share",
    label="Share of ACKs with SACK",
    unit="",
    formula="tap_acks_with_sack / tap_acks",
    place=_TAP,
    window=_RUN,
    source="RFC 2018 §3",
    computed=per_flow(ratio(known("tap_acks_with_sack"), known("tap_acks")), CONTROLLED),
    bounds=(0.0, 1.0),
)

METRICS = (SACK_BLOCKS, ACKS_WITH_SACK, SACK_SHARE)
