"""Analysis of captures as CSV or Parquet files, with a table `flows` as of the engines."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import _core
from dumbbell.files.output import write_output, write_parquet


def frames(found: dict[str, Any]) -> dict[str, pl.DataFrame]:
    """Tables by name: the result of `survey`, rates with a row per bin, and `flows`.

    `flows` has the columns of the engines' table. Columns that a capture cannot know have the
    unknown values of the engines (-1, NaN, empty). A row is a direction of a TCP connection with
    data.
    """
    file = {**found["file"], "notes": "; ".join(found["file"]["notes"])}
    del file["problems"]
    tables = {
        "file": [file],
        "problems": found["file"]["problems"],
        **{
            name: found[name]
            for name in (
                "interfaces",
                "link_types",
                "skipped",
                "conversations",
                "lengths",
                "classes",
                "pings",
                "icmp",
            )
        },
        "rates": _bins(found["rates"], {}),
        "connections": [_without_rates(row) for row in found["connections"]],
        "connection_rates": [
            one
            for row in found["connections"]
            if row["rates"] is not None
            for one in _bins(
                row["rates"], {"connection": row["connection"], "direction": row["direction"]}
            )
        ],
        "flows": _flows(found),
    }
    return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items()}


def write(found: dict[str, Any], folder: Path, kind: str) -> list[Path]:
    """Writes every non-empty table to `<folder>/<name>.<kind>`; kind: `csv` or `parquet`.

    Returns the files. Raises `OutputError` if they cannot be written.
    """
    written = []
    for name, frame in frames(found).items():
        path = folder / f"{name}.{kind}"
        if frame.width == 0:
            # A file of an earlier capture must not remain.
            with contextlib.suppress(OSError):
                path.unlink()
            continue
        if kind == "csv":
            write_output(path, frame.write_csv())
        else:
            write_parquet(path, frame)
        written.append(path)
    return written


def _bins(rates: dict[str, Any], first: dict[str, Any]) -> list[dict[str, Any]]:
    names = [name for name in rates if name not in ("start_ns", "width_ns")]
    start, width = rates["start_ns"], rates["width_ns"]
    return [
        {
            **first,
            "from_ns": start + number * width,
            "to_ns": start + (number + 1) * width,
            **dict(zip(names, values, strict=True)),
        }
        for number, values in enumerate(zip(*(rates[name] for name in names), strict=True))
    ]


#: First columns of connections.
_FIRST = (
    "connection",
    "interface",
    "direction",
    "from_address",
    "from_port",
    "to_address",
    "to_port",
    "first_ns",
    "last_ns",
    "closed",
    "packets",
    "bytes",
    "unique_bytes",
    "retransmitted_packets",
    "reordered_packets",
    "rtt_mean_ns",
)


def _without_rates(row: dict[str, Any]) -> dict[str, Any]:
    rest = (name for name in row if name not in _FIRST and name != "rates")
    return {name: row[name] for name in (*_FIRST, *rest)}


_UNKNOWN: dict[str, Any] = {"int": -1, "float": float("nan"), "text": ""}
#: Columns of `flows` and the corresponding columns of `connections`.
_SAME = {
    "from_host": "from_address",
    "to_host": "to_address",
    "established_ns": "established_ns",
    "last_delivery_ns": "last_data_ns",
    "end_ns": "last_ns",
    "delivered_bytes": "acked_bytes",
    "data_packets": "data_packets",
    "retransmitted_packets": "retransmitted_packets",
    "fast_retransmitted_packets": "fast_retransmitted_packets",
    "timeout_retransmitted_packets": "timeout_retransmitted_packets",
    "probe_retransmitted_packets": "probe_retransmitted_packets",
    "spurious_retransmitted_packets": "spurious_retransmitted_packets",
    "timeouts": "timeouts",
    "recoveries": "recoveries",
    "reordered_packets": "reordered_packets",
    "tap_data_packets": "data_packets",
    "tap_retransmissions": "retransmitted_packets",
    "tap_rtt_samples": "rtt_samples",
    "tap_rtt_mean_ns": "rtt_mean_ns",
    "tap_rtt_min_ns": "rtt_min_ns",
    "tap_rtt_max_ns": "rtt_max_ns",
    "tap_acks": "acks",
    "tap_acks_with_sack": "acks_with_sack",
    "tap_sack_blocks": "sack_blocks",
}


def _flows(found: dict[str, Any]) -> list[dict[str, Any]]:
    (spec,) = (table for table in json.loads(_core.tables()) if table["name"] == "flows")
    names = {row["interface"]: row["name"] for row in found["interfaces"]}
    rows = []
    for row in found["connections"]:
        if row["data_packets"] == 0:
            continue
        flow = {column["name"]: _UNKNOWN[column["kind"]] for column in spec["columns"]}
        flow |= {ours: row[theirs] for ours, theirs in _SAME.items() if row[theirs] is not None}
        ends = (f"{row[f'{end}_address']}:{row[f'{end}_port']}" for end in ("from", "to"))
        interface = row["interface"]
        flow |= {
            "flow": " > ".join(ends),
            "kind": "tcp",
            "start_ns": row["opened_ns"] if row["opened_ns"] is not None else row["first_ns"],
            "tap": names.get(interface) or str(interface),
            "sent_packets": row["packets"],
            "sent_bytes": row["bytes"],
        }
        rows.append(flow)
    return rows
