"""Cause of a retransmission without loss: late or lost ACKs, reordering, a silent peer."""

from __future__ import annotations

from dumbbell.console.words import many
from dumbbell.explain.dropped import drop_causes, loss_at, rate_changes
from dumbbell.explain.explanation import Link, Step, What
from dumbbell.explain.observed import Observed
from dumbbell.explain.packets import Packet, Passage
from dumbbell.explain.queue_state import queue_state
from dumbbell.explain.words import moment, share, span


def late_causes(seen: Observed, again: Packet) -> list[Link]:
    """Links for the cause of a spurious retransmission."""
    first = original(seen, again)
    if first is None:
        return [_unknown(again, "The original lies before the packets that are kept.")]
    if again.cause == "fast" or again.cause == "again":
        passed = overtaken(seen, first)
        if passed:
            return passed
    if first.arrived_ns < 0:
        return [_unseen(seen, first)]
    lost = [
        one
        for one in seen.packets
        if not one.out
        and one.dropped
        and one.ack >= first.end
        and first.sent_ns <= one.sent_ns
        and one.dropped_ns <= again.sent_ns
    ]
    if lost:
        what = (
            f"{many(len(lost), 'ACK')} that covered {first.name}"
            f" {'was' if len(lost) == 1 else 'were'} lost before the sender repeated it;"
            f" {first.name} itself had arrived at {moment(first.arrived_ns)}."
        )
        link = Link(
            Step.CAUSE,
            What.LOST_ACKS,
            lost[0].dropped_ns,
            what,
            lost[0],
            lost[0].dropped_at,
            "",
            {"lost_acks": len(lost)},
        )
        return [link, *drop_causes(seen, lost)]
    replies = [
        one
        for one in seen.packets
        if not one.out
        and one.sent_ns >= first.arrived_ns >= 0
        and (one.ack >= first.end or one.syn)
    ]
    reply = min(replies, key=lambda one: one.sent_ns, default=None)
    quiet = seen.to_ns if reply is None else reply.sent_ns
    if (
        first.arrived_ns < again.sent_ns
        and quiet - first.arrived_ns > (again.sent_ns - first.sent_ns) // 2
    ):
        return [_silent(seen, first, again, reply)]
    if reply is None:
        return [_silent(seen, first, again, reply)]
    return _slowest(seen, first, reply)


def _unseen(seen: Observed, first: Packet) -> Link:
    """Link about a segment that did not arrive, though no drop of it is recorded."""
    last, time = first.path[-1].pipe, first.path[-1].offered_ns
    sentence = (
        f"{first.title}, sent at {moment(first.sent_ns)}, did not arrive in the time that is kept;"
        f" it was seen last at {last}"
    )
    loss, since = loss_at(seen.pipes[last], time) if last in seen.pipes else ("none", None)
    spec = loss.get("independent") if isinstance(loss, dict) else None
    if spec is None or spec["probability"] < 1:
        return Link(Step.CAUSE, What.UNKNOWN, first.sent_ns, f"{sentence}.", first, last)
    when = f" since the change at {moment(since)}" if since is not None else ""
    sentence += f", which was down{when}: it loses every packet."
    return Link(Step.CAUSE, What.OUTAGE, time, sentence, first, last)


def original(seen: Observed, again: Packet) -> Packet | None:
    """Packet that carried these bytes before."""
    before = [
        one
        for one in seen.data
        if one.sent_ns < again.sent_ns
        and one.seq <= again.seq < max(one.end, one.seq + 1)
        and one.syn == again.syn
    ]
    return next((one for one in before if one.arrived_ns >= 0), before[-1]) if before else None


def overtaken(seen: Observed, first: Packet) -> list[Link]:
    """Links if packets sent later arrived before the original."""
    ahead = [
        one
        for one in seen.data
        if one.number > first.number and 0 <= one.arrived_ns < first.arrived_ns
    ]
    if not ahead:
        return []
    by = ahead[0]
    numbers: dict[str, int | float | str] = {
        "overtaken_by": len(ahead),
        "one_way_ns": first.arrived_ns - first.sent_ns,
        "one_way_other_ns": by.arrived_ns - by.sent_ns,
    }
    ours, other = [one.pipe for one in first.path], [one.pipe for one in by.path]
    took = f"{span(first.arrived_ns - first.sent_ns)}, {by.name} {span(by.arrived_ns - by.sent_ns)}"
    head = f"{many(len(ahead), 'segment')} sent later arrived before {first.name}"
    if ours != other:
        split = next(
            n for n, pair in enumerate(zip(ours, other, strict=False)) if pair[0] != pair[1]
        )
        node = _node_of(seen, ours[split])
        sprays = next(
            (one for one in seen.scenario["nodes"] if one["name"] == node and one["spray"]), None
        )
        policy = f" ({sprays['spray']['policy']})" if sprays and sprays["spray"] else ""
        sentence = (
            f"{head}: {node} sprays packets over several paths{policy}. It sent this one over"
            f" {ours[split]} and {by.name} over {other[split]}; on their way {first.name} took"
            f" {took}."
        )
        return [
            Link(Step.CAUSE, What.SPRAYING, first.arrived_ns, sentence, first, node, "", numbers)
        ]
    place = _overtaking(seen, first, by)
    setting = seen.pipes[place]["reordering"] if place in seen.pipes else None
    why = (
        f", which delays {share(setting['probability'])} of packets by"
        f" {span(setting['extra_delay_ns'])}"
        if setting
        else ""
    )
    sentence = f"{head}: they overtook it on {place}{why}; {first.name} took {took}."
    return [
        Link(
            Step.CAUSE, What.LINK_REORDERING, first.arrived_ns, sentence, first, place, "", numbers
        )
    ]


def _overtaking(seen: Observed, first: Packet, by: Packet) -> str:
    """Pipe, or node, at which a packet was overtaken on a common path."""
    for number, (ours, other) in enumerate(zip(first.path, by.path, strict=False)):
        if other.offered_ns < ours.offered_ns:
            before = number - 1
            on_link = before >= 0 and by.path[before].ended_ns < first.path[before].ended_ns
            return first.path[before].pipe if on_link else _node_of(seen, ours.pipe)
    return first.path[-1].pipe


def _node_of(seen: Observed, pipe: str) -> str:
    """Node at the near end of a pipe."""
    name, _, way = pipe.rpartition("/")
    for link in seen.scenario["links"]:
        if link["name"] == name:
            return link["a"] if way == "forward" else link["b"]
    return pipe


def _silent(seen: Observed, first: Packet, again: Packet, reply: Packet | None) -> Link:
    host = seen.totals["to_host"]
    until = f"until {moment(reply.sent_ns)}" if reply else "at all in the time that is kept"
    sentence = (
        f"{first.title} arrived at {host} at {moment(first.arrived_ns)}, and"
        f" {host} sent no ACK for it {until}."
    )
    numbers = {"silent_ns": (reply.sent_ns if reply else seen.to_ns) - first.arrived_ns}
    return Link(Step.CAUSE, What.SILENT_PEER, first.arrived_ns, sentence, first, host, "", numbers)


def _slowest(seen: Observed, first: Packet, reply: Packet) -> list[Link]:
    """Links for the pipe that delayed a packet, or its ACK, most beyond the shortest time there."""
    passages = [one for one in (*first.path, *reply.path) if one.ended_ns >= 0]
    least_wait: dict[str, int] = {}
    least_way: dict[str, int] = {}
    for packet in seen.packets:
        for one in packet.path:
            if one.ended_ns >= 0 and one.leaves_ns >= 0:
                least_wait[one.pipe] = min(least_wait.get(one.pipe, one.waited_ns), one.waited_ns)
                least_way[one.pipe] = min(
                    least_way.get(one.pipe, one.travelled_ns), one.travelled_ns
                )

    def excess(one: Passage) -> tuple[int, int]:
        return (
            one.waited_ns - least_wait.get(one.pipe, 0),
            one.travelled_ns - least_way.get(one.pipe, 0),
        )

    if not passages:
        return [_unknown(first, "No passage of the packet is kept.")]
    worst = max(passages, key=lambda one: max(excess(one)))
    waited, way = excess(worst)
    whole = (reply.arrived_ns if reply.arrived_ns >= 0 else seen.to_ns) - first.sent_ns
    head = f"{first.title} was not lost: its ACK came {span(whole)} after it was sent."
    if way > waited:
        changes = [
            (one["at_ns"], one["delay_ns"])
            for one in (seen.pipes[worst.pipe]["changes"] if worst.pipe in seen.pipes else [])
            if one["delay_ns"] is not None and one["at_ns"] <= worst.ended_ns
        ]
        if changes:
            since, delay = changes[-1]
            sentence = (
                f"{head} At {moment(since)} the delay of {worst.pipe} had changed to {span(delay)}."
            )
            numbers = {"delay_ns": delay, "rtt_ns": whole}
            what = What.DELAY_CHANGE
            return [Link(Step.CAUSE, what, since, sentence, first, worst.pipe, "", numbers)]
        sentence = f"{head} On {worst.pipe} it took {span(way)} more than the fastest packet."
        return [Link(Step.CAUSE, What.LATE_ACK, worst.ended_ns, sentence, first, worst.pipe)]
    state = queue_state(seen, worst.pipe, worst.offered_ns)
    sentence = (
        f"{head} It waited {span(waited)} in the queue of {worst.pipe}, behind"
        f" {many(state.packets, 'packet')}."
    )
    link = Link(
        Step.CAUSE,
        What.QUEUEING,
        worst.offered_ns,
        sentence,
        first,
        worst.pipe,
        many(state.packets, "packet"),
        {"waited_ns": waited, "rtt_ns": whole, **state.numbers},
    )
    return [
        link,
        *rate_changes(seen, worst.pipe, worst.offered_ns - 10 * seen.rtt_ns, worst.ended_ns),
    ]


def _unknown(packet: Packet, why: str) -> Link:
    return Link(Step.CAUSE, What.UNKNOWN, packet.sent_ns, f"The cause is not known. {why}", packet)
