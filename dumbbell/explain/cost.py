"""Cost of an incident: its time, and the goodput in it beside that before."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.explain.explanation import Link, Number, Step, What
from dumbbell.explain.incident import Incident
from dumbbell.explain.observed import Observed, Row
from dumbbell.explain.words import rate, span


def costs(seen: Observed, incident: Incident) -> list[Link]:
    """Link with the goodput from the incident's start to its end, and in the same time before."""
    start, end = incident.start_ns, max(incident.end_ns, incident.start_ns + seen.rtt_ns)
    end = min(end, seen.to_ns)
    length = end - start
    rows = seen.within(start, end)
    if length <= 0 or len(rows) < 2:
        return []
    earlier = seen.within(max(start - length, seen.from_ns), start)
    during = _goodput(rows)
    before = _goodput(earlier) if len(earlier) > 1 else None
    still = _longest_stop(rows)
    numbers: dict[str, Number] = {"time_ns": length, "goodput_bps": during}
    sentence = f"In the {span(length)} from its start to its end the goodput was {rate(during)}"
    if before is not None:
        numbers["goodput_before_bps"] = before
        as_long = "the same time" if start - length >= seen.from_ns else span(start - seen.from_ns)
        sentence += f", in {as_long} before {rate(before)}"
    if still > seen.rtt_ns // 4:
        numbers["longest_stop_ns"] = still
        sentence += f"; for {span(still)} nothing arrived in order"
    return [Link(Step.COST, What.GOODPUT, end, f"{sentence}.", numbers=numbers)]


def _goodput(rows: Sequence[Row]) -> float:
    """Payload delivered in order between the first and the last sample, bit/s."""
    length = rows[-1]["time_ns"] - rows[0]["time_ns"]
    return float((rows[-1]["delivered_bytes"] - rows[0]["delivered_bytes"]) * 8e9 / max(length, 1))


def _longest_stop(rows: Sequence[Row]) -> int:
    """Longest time between samples in which nothing was delivered in order."""
    longest, since = 0, rows[0]
    for row in rows[1:]:
        if row["delivered_bytes"] > since["delivered_bytes"]:
            since = row
        longest = max(longest, row["time_ns"] - since["time_ns"])
    return int(longest)
