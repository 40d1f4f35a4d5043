"""Totals of the rows of a cell's flows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dumbbell.scenario import Scenario
from dumbbell.summary.phases import ends_itself

#: Flows that deliver until this share of a run last until its end.
_LAST = 0.98
TCP = ("tcp", "mptcp")
DATA = (*TCP, "udp")


def total_mbps(rows: list[dict[str, Any]], duration_s: float) -> float | None:
    """Mean over runs of the payload until the last flow ends, per second. It is at most what links
    carry, unlike a sum of the goodputs of flows that live at different times."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["kind"] in DATA:
            runs.setdefault(row["run"], []).append(row)
    return mean(
        sum(max(row["delivered_bytes"], 0) for row in own) * 8e-6 / active_s(own, duration_s)
        for own in runs.values()
    )


def active_s(rows: list[dict[str, Any]], duration_s: float) -> float:
    """Seconds until the last flow has delivered its last byte; the run where that is its end."""
    last = max((row["last_delivery_ns"] * 1e-9 for row in rows), default=0.0)
    return last if 0 < last < _LAST * duration_s else duration_s


def transfers_s(rows: list[dict[str, Any]], spec: Scenario) -> Iterable[float]:
    """Times of transfers of given size, from the start to the last byte delivered."""
    finite = {flow["name"] for flow in spec["flows"] if ends_itself(flow)}
    for row in rows:
        if row["flow"] in finite and row["start_ns"] >= 0 and row["last_delivery_ns"] > 0:
            yield (row["last_delivery_ns"] - row["start_ns"]) * 1e-9


def share(rows: list[dict[str, Any]], part: str, whole: str) -> float | None:
    """Sum of a column over that of another, of TCP flows; None if nothing is known."""
    known = [
        (row[part], row[whole])
        for row in rows
        if row["kind"] in TCP and (row[part] or 0) >= 0 and (row[whole] or 0) > 0
    ]
    total = sum(own for _, own in known)
    return sum(own or 0 for own, _ in known) / total if total else None


def tcp_rtt_ms(rows: list[dict[str, Any]]) -> float | None:
    """Mean RTT of the TCP flows, by the bytes that they deliver; None if it is unknown."""
    known = [
        (row["rtt_ms"], max(row["delivered_bytes"], 1))
        for row in rows
        if row["kind"] == "tcp" and row["rtt_ms"] is not None
    ]
    whole = sum(size for _, size in known)
    return sum(rtt * size for rtt, size in known) / whole if known else None


def reordering_packets(rows: list[dict[str, Any]]) -> float | None:
    """Reordering that the senders allow for: the largest of each run, mean over runs."""
    runs: dict[str, float] = {}
    for row in rows:
        if row["kind"] in TCP:
            runs[row["run"]] = max(runs.get(row["run"], 0), row["reordering_packets"] or 0)
    return mean(runs.values())


def page_connections(rows: list[dict[str, Any]], spec: Scenario) -> int:
    """Connections that pages used, mean over runs, rounded."""
    opened = {
        name
        for page in spec.get("sessions", ())  # stores of older versions
        for origin in page["origins"]
        for name in origin["connections"]
    }
    used = [row for row in rows if row["flow"] in opened and row["delivered_bytes"] > 0]
    return round(len(used) / len({row["run"] for row in used})) if used else 0


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of the known values; None if there is none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
