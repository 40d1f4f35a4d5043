"""Cause of a reduction of the window without loss: a mark, an idle time, the algorithm itself."""

from __future__ import annotations

from dumbbell.console.words import many
from dumbbell.explain.dropped import filling, managed_link, shares
from dumbbell.explain.explanation import Link, Step, What
from dumbbell.explain.incident import Incident
from dumbbell.explain.observed import Observed, Row
from dumbbell.explain.packets import Packet
from dumbbell.explain.queue_state import queue_state
from dumbbell.explain.words import moment, span
from dumbbell.metrics.stretch import is_long_wait, rtts_before_ns

#: RTTs before a reduction in which a mark counts as its cause.
_RTTS = 3
#: Share of the smallest RTT from which a wait in a queue is told.
_WAITED = 0.1


def mark_before(seen: Observed, incident: Incident) -> tuple[Packet, Packet] | None:
    """Marked packet and the ACK that echoed it, if a mark caused the reduction; else None."""
    _, after = incident.reduced[0]
    since = rtts_before_ns(after, _RTTS, seen.rtt_ns)
    marked = [
        one for one in seen.data if one.marked_at and since <= one.marked_ns <= after["time_ns"]
    ]
    echoes = [one for one in seen.acks_within(since, after["time_ns"]) if {"ece", "ae"} & one.flags]
    for echo in reversed(echoes):
        before = [one for one in marked if 0 <= one.arrived_ns <= echo.sent_ns]
        if before:
            return before[-1], echo
    return None


def reduced_causes(seen: Observed, incident: Incident) -> list[Link]:
    """Links for the cause of the reduction and how the sender learned of it."""
    found = mark_before(seen, incident)
    if found is not None:
        marked, echo = found
        passage = next(one for one in marked.path if one.pipe == marked.marked_at)
        return [
            managed_link(
                seen, marked, marked.marked_at, marked.marked_ns, passage.waited_ns, What.AQM_MARK
            ),
            Link(
                Step.NOTICE,
                What.ECN_ECHO,
                echo.arrived_ns,
                f"The receiver echoed the mark; its ACK with ECE arrived at"
                f" {moment(echo.arrived_ns)}.",
                echo,
            ),
        ]
    before, after = incident.reduced[0]
    idle = _idle(seen, after)
    return [idle] if idle else [_algorithm(seen, before, after), *_queued(seen, after)]


def _queued(seen: Observed, after: Row) -> list[Link]:
    """Links about the queue in which the packet acknowledged last had waited most."""
    acks = seen.acks_within(-1, after["time_ns"])
    last = max(
        (one for one in seen.data if one.arrived_ns >= 0 and acks and one.end <= acks[-1].ack),
        key=lambda one: one.sent_ns,
        default=None,
    )
    if last is None:
        return []
    worst = max(last.path, key=lambda one: one.waited_ns)
    if not is_long_wait(worst.waited_ns, after, _WAITED):
        return []
    state = queue_state(seen, worst.pipe, worst.offered_ns)
    sentence = (
        f"{last.title} had waited {span(worst.waited_ns)} in the queue of"
        f" {worst.pipe}, behind {many(state.packets, 'packet')}. {shares(state)}"
    )
    link = Link(
        Step.CAUSE,
        What.QUEUEING,
        worst.offered_ns,
        sentence,
        last,
        worst.pipe,
        many(state.packets, "packet"),
        {"waited_ns": worst.waited_ns, **state.numbers},
    )
    return [link, *filling(seen, state, worst.offered_ns)[:1]]


def _idle(seen: Observed, after: Row) -> Link | None:
    """Link if the sender had sent nothing for longer than its time-out (RFC 5681 §4.1)."""
    sent = [one.sent_ns for one in seen.data if one.sent_ns <= after["time_ns"]]
    gaps = [
        (later - earlier, later) for earlier, later in zip(sent[-200:], sent[-199:], strict=False)
    ]
    near = [gap for gap in gaps if after["time_ns"] - gap[1] <= 2 * seen.rtt_ns]
    longest, until = max(near, default=(0, 0))
    if after["rto_ns"] <= 0 or longest < after["rto_ns"]:
        return None
    sentence = (
        f"{seen.flow} had sent nothing for {span(longest)}, longer than its time-out of"
        f" {span(after['rto_ns'])}: it starts again with a smaller window (slow start after idle)."
    )
    return Link(Step.CAUSE, What.IDLE, until, sentence, state="idle", numbers={"idle_ns": longest})


def _rtts(row: Row) -> str:
    """` Its RTT was 31 ms, the smallest measured 20 ms.`; empty where it is not known."""
    now, least = row["srtt_ns"], row["rtt_min_ns"]
    if now < 0:
        return ""
    measured = f", the smallest measured {span(least)}" if least >= 0 else ""
    return f" Its RTT was {span(now)}{measured}."


def _algorithm(seen: Observed, before: Row, after: Row) -> Link:
    name = seen.totals["congestion_control"] or "the congestion control"
    marks = [one for one in seen.data if one.marked_at]
    sentence = (
        f"No packet of it was dropped{'' if marks else ' or marked'} before: {name} reduced the"
        f" window by itself.{_rtts(after)}"
    )
    numbers = {
        "srtt_ns": after["srtt_ns"],
        "rtt_min_ns": after["rtt_min_ns"],
        "marked_packets": len(marks),
    }
    count = many(len(marks), "mark")
    return Link(
        Step.CAUSE, What.ALGORITHM, after["time_ns"], sentence, state=count, numbers=numbers
    )
