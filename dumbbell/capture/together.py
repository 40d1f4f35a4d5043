"""Statistics over the TCP connections of a capture: RTT, requests, delayed ACKs."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

#: Endpoints of a connection: the opener, and its peer.
ENDS = ("client", "server")


def is_client(row: dict[str, Any]) -> bool:
    """Returns true if the sender opened the connection. If unknown: if it has the higher port."""
    if row["opened_it"] is not None:
        return bool(row["opened_it"])
    return bool(row["from_port"] > row["to_port"])


def together(connections: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Statistics over all connections. One seen at several interfaces counts at the first.

    Args:
        connections: Table of `survey`, a row per interface and direction.

    Returns:
        `connections`: number with payload. `syn_rtt_ns`, `handshake_rtt_ns`: number of
        `connections` with a known RTT, `min`, `median`, `max`. `requests`: number of connections by
        number of requests (turns of the client). `persistent_connections`: number with more than
        one request. `acknowledges`: for client and server, number of ACKs by number of newly
        acknowledged segments, `segments_one_by_one` (quick ACKs at the start), and number of
        streams by prevailing policy.
    """
    pairs = _pairs(connections)
    carrying = [pair for pair in pairs if any(row["unique_bytes"] for row in pair)]
    requests = Counter(turns for pair in carrying if (turns := _requests(pair)))
    return {
        "connections": len(carrying),
        **{name: _spread([pair[0][name] for pair in pairs]) for name in _TIMES},
        "requests": [{"requests": n, "connections": requests[n]} for n in sorted(requests)],
        "persistent_connections": sum(count for n, count in requests.items() if n > 1),
        "acknowledges": [_acknowledges(carrying, by) for by in ENDS],
    }


_TIMES = ("syn_rtt_ns", "handshake_rtt_ns")
_ACKS = ("acks_of_one_segment", "acks_of_two_segments", "acks_of_more_segments")
_OTHERS = (
    *("conversation", "connection", "opened_it", "from_port", "to_port"),
    *("unique_bytes", "turns", "quick_acks", "acknowledges"),
)


def needed(row: dict[str, Any]) -> dict[str, Any]:
    """Columns of a row that `together` needs, to save memory."""
    return {name: row[name] for name in (*_OTHERS, *_TIMES, *_ACKS)}


def _pairs(rows: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Both directions of each connection."""
    first: dict[int, int] = {}
    pairs: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        if first.setdefault(row["conversation"], row["connection"]) == row["connection"]:
            pairs.setdefault(row["conversation"], []).append(row)
    return list(pairs.values())


def _requests(pair: Sequence[dict[str, Any]]) -> int:
    return sum(row["turns"] for row in pair if is_client(row))


def _spread(times: Sequence[int | None]) -> dict[str, Any]:
    known = [time for time in times if time is not None]
    if not known:
        return {"connections": 0, "min": None, "median": None, "max": None}
    middle = statistics.median(known)
    return {"connections": len(known), "min": min(known), "median": middle, "max": max(known)}


def _acknowledges(pairs: Iterable[Sequence[dict[str, Any]]], by: str) -> dict[str, Any]:
    """Delayed ACKs of one end."""
    rows = [row for pair in pairs for row in pair if is_client(row) is (by == "server")]
    policies = Counter(row["acknowledges"] for row in rows if row["acknowledges"] is not None)
    return {
        "by": by,
        **{name: sum(row[name] for row in rows) for name in _ACKS},
        "segments_one_by_one": sum(row["quick_acks"] for row in rows),
        "streams": dict(policies.most_common()),
    }
