"""Chain of causes of the incident that a time means."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.console.words import many
from dumbbell.explain.cost import costs
from dumbbell.explain.dropped import drop_causes
from dumbbell.explain.explanation import Explanation, Link, Step, What
from dumbbell.explain.incident import Incident, cut, nearest
from dumbbell.explain.late import late_causes, original, overtaken
from dumbbell.explain.limit_chain import limit_links
from dumbbell.explain.notice import notices
from dumbbell.explain.observed import Observed
from dumbbell.explain.packets import Packet
from dumbbell.explain.reaction import lowest_after, reactions
from dumbbell.explain.reduced import reduced_causes
from dumbbell.explain.repair import repairs
from dumbbell.explain.words import moment, span

#: Places and reasons of drops that are told.
_PLACES = 3


def explain(seen: Observed, at_ns: int) -> Explanation | None:
    """Chain of the incident near a time; None: nothing happened to the flow near it.

    Args:
        seen: Observations of the flow around the time.
        at_ns: Time.
    """
    incident = nearest(seen, at_ns)
    return None if incident is None else chain_of(seen, incident, at_ns)


def chain_of(seen: Observed, incident: Incident, at_ns: int) -> Explanation:
    """Chain of an incident.

    Args:
        seen: Observations of the flow around the incident.
        incident: Incident of the flow.
        at_ns: Time that is asked about: of several drops the nearest is named.
    """
    made = {
        What.DROP: _loss,
        What.TIMEOUT: _without_loss,
        What.SPURIOUS: _without_loss,
        What.REDUCTION: _reduction,
        What.LOST_ACK: _lost_ack,
        What.REORDERING: _reordering,
    }.get(incident.what, limit_links)
    return Explanation(seen.flow, at_ns, made(seen, incident, at_ns), cut(seen, incident))


def _loss(seen: Observed, incident: Incident, at_ns: int) -> list[Link]:
    nearest_drop = min(
        incident.drops, key=lambda one: (abs(one.dropped_ns - at_ns), one.dropped_ns)
    )
    groups: dict[tuple[str, str], list[Packet]] = {}
    for one in incident.drops:
        groups.setdefault((one.dropped_at, one.dropped), []).append(one)
    chosen = sorted(groups.values(), key=lambda group: nearest_drop not in group)[:_PLACES]
    chosen.sort(key=lambda group: group[0].dropped_ns)
    first = incident.drops[0]
    count = len(incident.drops)
    what = f"The retransmission of {first.name}" if first.cause else first.title
    sentence = (
        f"{what} of {seen.flow} (packet {first.number}, sent at {moment(first.sent_ns)})"
        f" was dropped at {first.dropped_at} at {moment(first.dropped_ns)}."
    )
    if count > 1:
        last = incident.drops[-1].dropped_ns
        place = "one of at least" if cut(seen, incident) else "the first of"
        sentence += f" It is {place} {many(count, 'drop')} up to {moment(last)}"
        near = nearest_drop
        apart = near is not first and near.dropped_ns - first.dropped_ns > seen.rtt_ns
        sentence += f", {near.name} at {moment(near.dropped_ns)} among them." if apart else "."
    links = [
        Link(
            Step.INCIDENT,
            What.DROP,
            first.dropped_ns,
            sentence,
            first,
            first.dropped_at,
            first.dropped,
            {"drops": count},
        )
    ]
    if first.cause and (sent := original(seen, first)) and sent.arrived_ns >= 0:
        # What it repeats had arrived: its time-out is of a late or lost ACK.
        links += late_causes(seen, first)
    for group in chosen:
        links += drop_causes(seen, group)
    links += _lost_again(incident)
    return [
        *links,
        *notices(seen, incident),
        *reactions(seen, incident),
        *repairs(seen, incident),
        *costs(seen, incident),
    ]


def _lost_again(incident: Incident) -> list[Link]:
    """Link if retransmissions were lost."""
    lost = [one for one in incident.drops[1:] if one.cause]
    if not lost:
        return []
    one = lost[0]
    again = "The next" if incident.drops[0].cause and one.seq == incident.drops[0].seq else "The"
    more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
    sentence = (
        f"{again} retransmission of {one.name}, sent at {moment(one.sent_ns)}, was lost too, at"
        f" {one.dropped_at} at {moment(one.dropped_ns)}{more}."
    )
    return [
        Link(
            Step.CAUSE,
            What.LOST_RETRANSMISSION,
            one.dropped_ns,
            sentence,
            one,
            one.dropped_at,
            one.dropped,
            {"lost_retransmissions": len(lost)},
        )
    ]


def _without_loss(seen: Observed, incident: Incident, at_ns: int) -> list[Link]:
    again = incident.retransmissions[0]
    timeout = incident.what is What.TIMEOUT
    first = next((one for one in incident.retransmissions if one.cause == "timeout"), again)
    again = first if timeout else again
    what = (
        "after a time-out" if timeout else "as a tail loss probe" if again.cause == "probe" else ""
    )
    first_sent = original(seen, again)
    arrived = first_sent is None or first_sent.arrived_ns >= 0
    known = ", though none of its segments was dropped" if arrived else ""
    sentence = (
        f"{seen.flow} retransmitted {again.name} at {moment(again.sent_ns)}"
        f"{' ' + what if what else ''}{known}."
    )
    return [
        Link(Step.INCIDENT, incident.what, again.sent_ns, sentence, again),
        *late_causes(seen, again),
        *notices(seen, incident),
        *reactions(seen, incident),
        *repairs(seen, incident),
        *costs(seen, incident),
    ]


def _reduction(seen: Observed, incident: Incident, at_ns: int) -> list[Link]:
    before, after = incident.reduced[0]
    lowest = lowest_after(seen, incident, after)
    sentence = (
        f"{seen.flow} reduced its window at {moment(after['time_ns'])} without a loss: from"
        f" {before['cwnd_packets']} to {many(lowest['cwnd_packets'], 'packet')}."
    )
    first = Link(Step.INCIDENT, What.REDUCTION, after["time_ns"], sentence, state=after["state"])
    return [
        first,
        *reduced_causes(seen, incident),
        *reactions(seen, incident),
        *costs(seen, incident),
    ]


def _lost_ack(seen: Observed, incident: Incident, at_ns: int) -> list[Link]:
    packet = incident.packet
    assert packet is not None
    sentence = (
        f"{packet.title} of the receiver for {seen.flow} was dropped at {packet.dropped_at} at"
        f" {moment(packet.dropped_ns)}."
        if packet.syn or packet.payload
        else f"ACK {packet.ack} for {seen.flow} was dropped at {packet.dropped_at} at"
        f" {moment(packet.dropped_ns)}."
    )
    later = seen.acknowledged_ns(packet.ack, packet.dropped_ns)
    if packet.syn or packet.payload:
        repeat = _repeated(seen, packet)
        later = repeat.sent_ns if repeat is not None else None
        end = (
            "The receiver did not send it again in the time that is kept."
            if repeat is None
            else f"The receiver sent it again at {moment(repeat.sent_ns)},"
            f" {span(repeat.sent_ns - packet.sent_ns)} after the first time."
        )
    elif later is None:
        end = "No later ACK covered the same bytes in the time that is kept."
    else:
        end = (
            f"A later ACK covered the same bytes at {moment(later)},"
            f" {span(later - packet.dropped_ns)} after it; the sender retransmitted nothing."
        )
    return [
        Link(
            Step.INCIDENT,
            What.LOST_ACK,
            packet.dropped_ns,
            sentence,
            packet,
            packet.dropped_at,
            packet.dropped,
        ),
        *drop_causes(seen, [packet]),
        Link(Step.REPAIR, What.NOTHING_LOST, later or packet.dropped_ns, end),
    ]


def _repeated(seen: Observed, packet: Packet) -> Packet | None:
    """The receiver's next packet with the same data or SYN."""
    same = (
        one
        for one in seen.packets
        if not one.out
        and one.sent_ns > packet.sent_ns
        and one.syn == packet.syn
        and one.seq <= packet.seq < max(one.end, one.seq + 1)
        and (one.syn or one.payload)
    )
    return next(same, None)


def _reordering(seen: Observed, incident: Incident, at_ns: int) -> list[Link]:
    packet = incident.packet
    assert packet is not None
    sentence = (
        f"{packet.title} of {seen.flow} arrived at {moment(packet.arrived_ns)},"
        " after segments sent later."
    )
    causes: Sequence[Link] = overtaken(seen, packet)
    end = "The sender took nothing for lost: no retransmission, no smaller window."
    return [
        Link(Step.INCIDENT, What.REORDERING, packet.arrived_ns, sentence, packet),
        *causes,
        Link(Step.REACTION, What.UNCHANGED, packet.arrived_ns, end),
    ]
