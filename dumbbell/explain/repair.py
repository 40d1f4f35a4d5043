"""Repair of a loss: retransmissions, those lost or spurious among them, and the last ACK."""

from __future__ import annotations

from collections import Counter

from dumbbell.console.words import many
from dumbbell.explain.explanation import Link, Number, Step, What
from dumbbell.explain.incident import Incident
from dumbbell.explain.late import original
from dumbbell.explain.observed import Observed
from dumbbell.explain.packets import Packet
from dumbbell.explain.words import moment, span

_NAMES = {
    "fast": "fast",
    "timeout": "after a time-out",
    "probe": "as probe",
    "again": "cause unknown",
}


def repairs(seen: Observed, incident: Incident) -> list[Link]:
    """Links for the retransmissions, and for the ACK that ends the repair."""
    again = incident.retransmissions
    links: list[Link] = []
    if again:
        kinds = Counter(one.cause for one in again)
        lost = sum(1 for one in again if one.dropped)
        vain = spurious(seen, incident)
        parts = ", ".join(f"{count} {_NAMES.get(kind, kind)}" for kind, count in kinds.items())
        sentence = f"{many(len(again), 'retransmission')} ({parts})"
        sentence += f"; {lost} of them {'was' if lost == 1 else 'were'} lost too" if lost else ""
        sentence += f"; {len(vain)} spurious, as what it repeats had arrived" if vain else ""
        numbers: dict[str, Number] = {
            "retransmissions": len(again),
            "lost_retransmissions": lost,
            "spurious": len(vain),
        }
        links.append(
            Link(
                Step.REPAIR,
                What.RETRANSMITTED,
                again[0].sent_ns,
                f"{sentence}.",
                again[0],
                numbers=numbers,
            )
        )
    links += [_end(seen, incident)] if incident.drops else []
    if not incident.drops:
        first = original(seen, incident.retransmissions[0]) if incident.retransmissions else None
        links.append(
            Link(
                Step.REPAIR,
                What.NOTHING_LOST,
                incident.start_ns,
                "No segment of it was lost: nothing had to be repaired."
                if first is None or first.arrived_ns >= 0
                else "The segments that did not arrive were lost, or are under way.",
            )
        )
    return links


def spurious(seen: Observed, incident: Incident) -> list[Packet]:
    """Retransmissions that arrived after the bytes that they repeat, as the tables count them."""
    return [
        one
        for one in incident.retransmissions
        if (first := original(seen, one)) is not None
        and first.arrived_ns >= 0
        and first.arrived_ns <= one.arrived_ns
    ]


def _end(seen: Observed, incident: Incident) -> Link:
    last = max(one.end for one in incident.drops)
    ack = seen.acknowledged_ns(last, incident.start_ns)
    if ack is None:
        sentence = f"It was not repaired by {moment(seen.to_ns)}, the end of the time that is kept."
        return Link(Step.REPAIR, What.NOT_REPAIRED, seen.to_ns, sentence)
    what = "the SYN" if last == 0 else f"everything up to byte {last}"
    sentence = (
        f"The ACK at {moment(ack)} covered {what}, {span(ack - incident.start_ns)} after the"
        " first drop."
    )
    return Link(
        Step.REPAIR,
        What.RESUMED,
        ack,
        sentence,
        numbers={"repair_ns": ack - incident.start_ns},
    )
