"""Cost of an incident: its time, and the goodput in it beside that before."""

from __future__ import annotations

from dumbbell.explain.explanation import Link, Number, Step, What
from dumbbell.explain.incident import Incident
from dumbbell.explain.observed import Observed
from dumbbell.explain.words import rate, span
from dumbbell.metrics.stretch import begin_ns, goodput_bps, longest_stop_ns


def costs(seen: Observed, incident: Incident) -> list[Link]:
    """Link with the goodput from the incident's start to its end, and in the same time before."""
    start, end = incident.start_ns, max(incident.end_ns, incident.start_ns + seen.rtt_ns)
    end = min(end, seen.to_ns)
    length = end - start
    if length <= 0:
        return []
    during = _goodput(seen, start, end)
    still = longest_stop_ns(seen.within(start, end))
    numbers: dict[str, Number] = {"time_ns": length, "goodput_bps": during}
    sentence = f"In the {span(length)} from its start to its end the goodput was {rate(during)}"
    began = max(seen.from_ns, begin_ns(seen.totals))
    earlier = max(start - length, began)
    if start - earlier >= seen.rtt_ns and seen.totals["established_ns"] >= 0:
        before = _goodput(seen, earlier, start)
        numbers["goodput_before_bps"] = before
        as_long = "the same time" if start - length >= began else span(start - earlier)
        sentence += f", in {as_long} before {rate(before)}"
    if still > seen.rtt_ns // 4:
        numbers["longest_stop_ns"] = still
        sentence += f"; for {span(still)} nothing arrived in order"
    return [Link(Step.COST, What.GOODPUT, end, f"{sentence}.", numbers=numbers)]


def _goodput(seen: Observed, from_ns: int, to_ns: int) -> float:
    return goodput_bps(
        ((one.arrived_ns, one.seq, one.payload) for one in seen.data), from_ns, to_ns
    )
