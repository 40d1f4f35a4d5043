"""qlog of TCP flows, JSON-SEQ: draft-ietf-quic-qlog-main-schema-13, events of -quic-events-12.

Values that qlog does not have are fields that begin with `dumbbell_`. The states are Linux's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.export.run import OneRun, Row, known
from dumbbell.files.output import json_text
from dumbbell.measured.qlog import OWN_DELIVERED, OWN_FLOW, OWN_KIND, OWN_SEGMENT
from dumbbell.metrics.definition import CONTROLLED

SUFFIX = ".sqlog"
_NO_THRESHOLD = 2**31 - 1
_MS = 1e6


def encode(run: OneRun) -> Mapping[str, bytes]:
    """A log per connection: its metrics at each sample, and changes of its state.

    Raises `DumbbellError` if the run kept no samples of a connection.
    """
    found = {
        str(flow["flow"]): _log(run, flow)
        for flow in run.flows(*CONTROLLED)
        if not run.samples(flow["flow"]).is_empty()
    }
    if not found:
        raise DumbbellError(
            "no samples of a connection are kept: `sampling: {keep: [samples]}` keeps them",
            code=Code.NOT_KEPT,
        )
    return found


def _log(run: OneRun, flow: Row) -> bytes:
    head = {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "qlog_version": "0.4",
        "qlog_format": "JSON-SEQ",
        "title": run.title,
        "trace": {
            "title": flow["flow"],
            "vantage_point": {"name": flow["from_host"], "type": "client"},
            "event_schemas": ["urn:ietf:params:qlog:events:quic-12"],
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
                "protocol_types": [str(flow["kind"]).upper()],
                OWN_FLOW: flow["flow"],
                OWN_KIND: flow["kind"],
                OWN_SEGMENT: run.segment_bytes(flow["flow"]),
            },
        },
    }
    records = [head, *_events(run, flow)]
    return "".join(f"\x1e{json_text(one)}\n" for one in records).encode()


def _events(run: OneRun, flow: Row) -> Iterator[dict[str, Any]]:
    before: dict[str, Any] = {}
    state = ""
    # Windows are in packets.
    segment_bytes = run.segment_bytes(flow["flow"])
    for row in run.samples(flow["flow"]).iter_rows(named=True):
        time = row["time_ns"] / _MS
        if row["state"] not in ("", state):
            yield {
                "time": time,
                "name": "recovery:congestion_state_updated",
                "data": {**({"old": state} if state else {}), "new": row["state"]},
            }
            state = row["state"]
        data = _metrics(row, segment_bytes)
        changed = {name: value for name, value in data.items() if before.get(name) != value}
        if changed:
            yield {"time": time, "name": "recovery:metrics_updated", "data": changed}
        before |= data


def _metrics(row: Row, segment_bytes: int) -> dict[str, Any]:
    """An event has only the fields that changed."""
    values = known({name: row[name] for name in row})
    found: dict[str, Any] = {
        name: values[column] / _MS
        for name, column in (
            ("smoothed_rtt", "srtt_ns"), ("rtt_variance", "rttvar_ns"), ("min_rtt", "rtt_min_ns"),
        )
        if column in values
    }  # fmt: skip
    for name, column in (("congestion_window", "cwnd_packets"), ("ssthresh", "ssthresh_packets")):
        if column in values and values[column] < _NO_THRESHOLD:
            found[name] = values[column] * segment_bytes
    for name, column in (
        ("packets_in_flight", "in_flight_packets"),
        ("pacing_rate", "pacing_bps"),
        (OWN_DELIVERED, "delivered_bytes"),
    ):
        if column in values:
            found[name] = values[column]
    return found
