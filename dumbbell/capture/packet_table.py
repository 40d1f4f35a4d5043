"""Table of the packets of TCP connections, with their classification and its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from dumbbell.capture import packets
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError

#: Maximum number of packets of one connection.
MOST = 1_000_000
_FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE")


def packet_table(found: dict[str, Any], connections: Sequence[int]) -> pl.DataFrame:
    """Table with a row per packet, in file order.

    Args:
        found: Result of `survey`. The file is read once more.
        connections: Numbers of the connections; none: all of `found["connections"]`.

    Raises:
        DumbbellError: The capture came from standard input, has no such connection, or has more
            than `MOST` packets of one.
    """
    name = found["file"]["name"]
    if name == "-":
        raise DumbbellError(
            "--packets reads the file once more: give a file, not standard input",
            code=Code.EXCLUSIVE,
        )
    ends = _ends(found["connections"])
    for one in connections:
        if one not in ends:
            known = f"0 to {max(ends)}" if ends else "none"
            raise DumbbellError(
                f"{name}: --connection {one}: there are {known}", code=Code.SELECTION
            )
    wanted = list(connections) or list(ends)
    if not wanted:
        return pl.DataFrame(schema=_SCHEMA)
    file = found["file"]
    window = (file["window_from_ns"], file["window_to_ns"])
    columns = packets(name, wanted, MOST, window)
    for one, count in columns["packets_of_connections"].items():
        if count > MOST:
            raise DumbbellError(
                f"{name}: connection {one} has {count} packets; at most {MOST}", code=Code.SELECTION
            )
    sides = zip(columns["connection"], columns["side"], strict=True)
    places = [ends[one][side] for one, side in sides]
    table = {
        **{key: columns[key] for key in ("frame", "time_ns", "connection")},
        "from": [place[0] for place in places],
        "to": [place[1] for place in places],
        "flags": [_flags(one) for one in columns["flags"]],
        **{
            key: columns[key]
            for key in ("position_bytes", "payload_bytes", "ack_bytes", "window_bytes")
        },
        "sack": [
            " ".join(f"{a}-{b}" for a, b in one) or None for one in columns["sack_ranges_bytes"]
        ],
        "in_flight_bytes": columns["in_flight_bytes"],
        "what": [one or None for one in columns["what"]],
        **{key: columns[key] for key in ("kind", "evidence")},
        "spurious": columns["spurious"],
    }
    return pl.DataFrame(table, schema=_SCHEMA)


_SCHEMA: dict[str, Any] = {
    "frame": pl.Int64,
    "time_ns": pl.Int64,
    "connection": pl.Int64,
    "from": pl.String,
    "to": pl.String,
    "flags": pl.String,
    "position_bytes": pl.Int64,
    "payload_bytes": pl.Int64,
    "ack_bytes": pl.Int64,
    "window_bytes": pl.Int64,
    "sack": pl.String,
    "in_flight_bytes": pl.Int64,
    "what": pl.String,
    "kind": pl.String,
    "evidence": pl.String,
    "spurious": pl.Boolean,
}


def _ends(rows: Sequence[dict[str, Any]]) -> dict[int, tuple[tuple[str, str], tuple[str, str]]]:
    """Source and destination of the packets of each side of a connection."""
    found = {}
    for row in rows:
        if row["direction"] == "a_to_b":
            there, back = (
                f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
                for address, port in (
                    (row["from_address"], row["from_port"]),
                    (row["to_address"], row["to_port"]),
                )
            )
            found[row["connection"]] = ((there, back), (back, there))
    return found


def _flags(bits: int) -> str:
    return " ".join(name for number, name in enumerate(_FLAGS) if bits >> number & 1)
