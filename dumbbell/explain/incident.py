"""Incidents of a flow, and the one that a time means."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.explain.explanation import What
from dumbbell.explain.limited import limited
from dumbbell.explain.observed import Observed, Row
from dumbbell.explain.packets import Packet
from dumbbell.metrics.stretch import reductions

#: RTTs around a time in which an incident counts as near, and the shortest such time.
NEAR_RTTS = 4
_NEAR_NS = 100_000_000
#: Priority at the same distance, the first before the others.
_ORDER = (What.DROP, What.TIMEOUT, What.SPURIOUS, What.REDUCTION)


#: Start and end of an event, and its packet, or the samples around a reduction.
Event = tuple[int, int, Packet | tuple[Row, Row]]


@dataclass(frozen=True, slots=True)
class Incident:
    """Incident of a flow.

    Attributes:
        what: Kind.
        start_ns: First event.
        end_ns: End of its repair, or of its stretch.
        drops: Dropped packets of the sender, with payload or SYN.
        retransmissions: Retransmissions.
        reduced: Samples around each reduction of the window: before, after.
        packet: Packet of an incident of one packet; None: several, or none.
        limit: Samples of a stretch in which the flow was limited.
    """

    what: What
    start_ns: int
    end_ns: int
    drops: Sequence[Packet] = ()
    retransmissions: Sequence[Packet] = ()
    reduced: Sequence[tuple[Row, Row]] = ()
    packet: Packet | None = None
    limit: Sequence[Row] = ()

    def distance(self, at_ns: int) -> int:
        """Time between the incident and a time; 0: the time lies in it."""
        return max(0, self.start_ns - at_ns, at_ns - self.end_ns)


def near_ns(seen: Observed) -> int:
    """Time around the one asked for in which an incident counts as near."""
    return max(NEAR_RTTS * seen.rtt_ns, _NEAR_NS)


def nearest(seen: Observed, at_ns: int) -> Incident | None:
    """Incident that a time means; None: nothing happened near it.

    Events come before limits: a flow may be limited during its whole life.
    """
    reach = near_ns(seen)
    small = [*reorderings(seen), *lost_acks(seen)]
    for found in (episodes(seen), small, limited_incidents(seen)):
        near = [one for one in found if one.distance(at_ns) <= reach]
        if near:
            return min(near, key=lambda one: (one.distance(at_ns), _rank(one), -one.start_ns))
    return None


def _rank(one: Incident) -> int:
    return _ORDER.index(one.what) if one.what in _ORDER else len(_ORDER)


def episodes(seen: Observed) -> list[Incident]:
    """Losses, retransmissions and reductions, those of one repair together."""
    drops = [one for one in seen.data if one.dropped]
    again = [one for one in seen.data if one.cause]
    cuts = reductions(seen.samples)
    events: list[Event] = [
        *((one.dropped_ns, _repaired(seen, one, one.dropped_ns), one) for one in drops),
        *((one.sent_ns, _repaired(seen, one, one.sent_ns), one) for one in again),
        *((after["time_ns"], _calm(seen, after), (before, after)) for before, after in cuts),
    ]
    events.sort(key=lambda event: (event[0], event[1]))
    found: list[list[Event]] = []
    end = -1
    for event in events:
        if event[0] > end:
            found.append([])
        end = event[1] if event[0] > end else max(end, event[1])
        found[-1].append(event)
    return [_episode(part) for events in found for part in _parts(events)]


def _parts(events: list[Event]) -> list[list[Event]]:
    """Events of each reaction: a drop belongs to the reaction in which it was repaired.

    Drops that follow closely overlap: the next ones come before the first are repaired.
    """
    cuts = [one for _, _, one in events if isinstance(one, tuple)]
    begins = [before["time_ns"] for before, _ in cuts if before["state"] in ("Open", "Disorder")]
    if len(begins) < 2:
        return [events]
    again = [one for _, _, one in events if isinstance(one, Packet) and one.cause]

    def part(event: Event) -> int:
        what = event[2]
        if isinstance(what, tuple):
            time = what[0]["time_ns"]
        elif what.dropped and not what.cause:
            later = (one for one in again if one.seq == what.seq and one.sent_ns > what.sent_ns)
            time = next((one.sent_ns for one in later), event[0])
        else:
            time = what.sent_ns
        return max(0, bisect_right(begins, time) - 1)

    found: dict[int, list[Event]] = {}
    for event in events:
        found.setdefault(part(event), []).append(event)
    return [found[number] for number in sorted(found)]


def _episode(events: list[Event]) -> Incident:
    packets = [one for _, _, one in events if isinstance(one, Packet)]
    unique = list(dict.fromkeys(packets))
    drops = [one for one in unique if one.dropped]
    again = [one for one in unique if one.cause]
    cuts = [one for _, _, one in events if not isinstance(one, Packet)]
    if drops:
        what = What.DROP
    elif any(one.cause == "timeout" for one in again):
        what = What.TIMEOUT
    else:
        what = What.SPURIOUS if again else What.REDUCTION
    end = max(event[1] for event in events)
    return Incident(what, events[0][0], end, drops, again, cuts)


def _repaired(seen: Observed, packet: Packet, after_ns: int) -> int:
    """Time of the ACK that covers a packet; the end of the stretch if none does."""
    found = seen.acknowledged_ns(packet.end, after_ns)
    return seen.to_ns if found is None else found


def _calm(seen: Observed, row: Row) -> int:
    """End of the state that a sample shows: the first later sample in another one."""
    for other in seen.within(row["time_ns"], seen.to_ns):
        if other["state"] in ("Open", "Disorder"):
            return int(other["time_ns"])
    return seen.to_ns


def cut(seen: Observed, incident: Incident) -> bool:
    """Returns true if an incident of packets may have begun before the packets that are kept.

    Either its first event lies before that time, or a segment was first sent before it.
    """
    if seen.from_ns <= 0 or incident.limit:
        return False
    if incident.start_ns < seen.from_ns:
        return True
    new = sorted((one.seq, one.end) for one in seen.data if not one.cause)

    def unseen(byte: int) -> bool:
        index = bisect_right(new, (byte, sys.maxsize)) - 1
        return index < 0 or byte >= max(new[index][1], new[index][0] + 1)

    return any(unseen(one.seq) for one in incident.retransmissions)


def reorderings(seen: Observed) -> list[Incident]:
    """Data packets that arrived after one sent later, those within an RTT of the first together."""
    arrived = [one for one in seen.data if one.arrived_ns >= 0 and not one.cause and one.payload]
    found: list[Incident] = []
    highest = -1
    for one in sorted(arrived, key=lambda packet: packet.arrived_ns):
        if one.number > highest:
            highest = one.number
            continue
        if found and one.arrived_ns - found[-1].start_ns <= seen.rtt_ns:
            found[-1] = Incident(
                What.REORDERING, found[-1].start_ns, one.arrived_ns, packet=found[-1].packet
            )
        else:
            found.append(Incident(What.REORDERING, one.arrived_ns, one.arrived_ns, packet=one))
    return found


def lost_acks(seen: Observed) -> list[Incident]:
    """Dropped packets of the receiver."""
    lost = [one for one in seen.packets if not one.out and one.dropped]
    return [Incident(What.LOST_ACK, one.dropped_ns, one.dropped_ns, packet=one) for one in lost]


def limited_incidents(seen: Observed) -> list[Incident]:
    """Stretches in which the receive window or the application limited the flow."""
    return [
        Incident(what, rows[0]["time_ns"], rows[-1]["time_ns"], limit=rows)
        for what, rows in limited(seen)
    ]
