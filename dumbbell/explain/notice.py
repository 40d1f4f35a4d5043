"""How a sender learned of a loss, or believed in one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from dumbbell.console.words import many
from dumbbell.explain.explanation import Link, Step, What
from dumbbell.explain.incident import Incident
from dumbbell.explain.late import original
from dumbbell.explain.observed import Observed
from dumbbell.explain.packets import Packet
from dumbbell.explain.words import moment, span
from dumbbell.limits.outages import union

#: Time between an ACK and a retransmission that it triggers, at most.
_AT_ONCE_NS = 50_000
#: A timer of Linux runs out so much late at most: its wheel has ticks of 4 ms, and from 256 ms on
#: buckets of eight.
_TICKS_NS = 32_000_000


def notices(seen: Observed, incident: Incident) -> list[Link]:
    """Links for the first retransmission of each cause, in order of time."""
    found: list[Link] = []
    causes: set[str] = set()
    for one in incident.retransmissions:
        if one.cause not in causes:
            causes.add(one.cause)
            found.append(_notice(seen, incident, one))
    if not found:
        found.append(
            Link(
                Step.NOTICE,
                What.NEVER,
                incident.end_ns,
                f"Up to {moment(seen.to_ns)}, the end of what is kept, {seen.flow} retransmitted"
                " nothing.",
            )
        )
    return found


def _notice(seen: Observed, incident: Incident, again: Packet) -> Link:
    if again.cause == "timeout":
        return _timer(seen, again)
    if again.cause == "probe":
        return _probe(seen, again)
    if again.cause == "fast":
        return _acks(seen, incident, again)
    sentence = (
        f"{seen.flow} retransmitted {again.name} at {moment(again.sent_ns)}; what made it do so is"
        " not known on this engine."
    )
    return Link(Step.NOTICE, What.UNKNOWN, again.sent_ns, sentence, again)


def _acks(seen: Observed, incident: Incident, again: Packet) -> Link:
    first = original(seen, again)
    since = incident.start_ns if first is None else first.sent_ns
    decided = _decided_ns(seen, since, again.sent_ns)
    before = [one for one in seen.acks_within(since, decided) if one.ack == again.seq]
    duplicates = [
        one
        for place, one in enumerate(before)
        if one.sack or (place > 0 and (one.sack is None or not seen.has_sack))
    ]
    # An ACK has room for three or four blocks: all of them together tell what arrived.
    reported = sacked_bytes(one.sack for one in duplicates if one.sack)
    segments = -(-reported // seen.mss)
    row = seen.before(again.sent_ns)
    # Of a stack from outside it is not known: RFC 5681's three.
    told = row is None or row["reordering_packets"] >= 0
    degree = row["reordering_packets"] if row and told else 3
    numbers = {"duplicate_acks": len(duplicates), "sacked_segments": segments}
    if told:
        numbers["reordering_packets"] = degree
    last = duplicates[-1].arrived_ns if duplicates else -1
    late = again.sent_ns - last
    paced = bool(duplicates) and decided < again.sent_ns and late > _AT_ONCE_NS
    sent = f"{f'{span(late)} later, ' if paced else ''}at {moment(again.sent_ns)}"
    blocks = f", with SACK blocks for {many(segments, 'segment')}" if reported else ""
    seen_acks = (
        f"{many(len(duplicates), 'duplicate ACK')} for byte {again.seq} arrived{blocks}, the last"
        f" at {moment(last)}."
        if duplicates
        else f"ACKs reported segments behind {again.name}."
    )
    enough = max(segments, len(duplicates)) >= degree
    at = last if paced else again.sent_ns
    if enough and (paced or 0 <= late <= _AT_ONCE_NS):
        reason = f" That is the reordering degree, {degree}:" if told else ""
        sentence = (
            f"{seen_acks}{reason} {seen.flow} took {again.name} for lost and retransmitted it"
            f" {sent} (fast retransmit).{_timers_before(seen, incident, since, again)}"
        )
        return Link(Step.NOTICE, What.DUPLICATE_ACKS, at, sentence, again, numbers=numbers)
    by_rack = not enough and seen.has_sack
    what = What.RACK if by_rack else What.DUPLICATE_ACKS
    why = " by RACK, as segments sent later had arrived" if by_rack else ""
    sentence = (
        f"{seen_acks} {seen.flow} took {again.name} for lost{why}, and retransmitted it {sent}."
        f"{_timers_before(seen, incident, since, again)}"
    )
    return Link(Step.NOTICE, what, at, sentence, again, numbers=numbers)


def _timers_before(seen: Observed, incident: Incident, since_ns: int, again: Packet) -> str:
    """Time-outs between a loss and its repair that retransmitted other segments."""
    own = {one.number for one in incident.retransmissions}
    expired = [
        one
        for one in seen.data
        if one.cause == "timeout" and since_ns <= one.sent_ns < again.sent_ns
    ]
    others = [one for one in expired if one.number not in own]
    if not others:
        return ""
    times = many(len(others), "retransmission")
    return (
        f" Time-outs had come before: {times} of {others[0].name} from {moment(others[0].sent_ns)}."
    )


def _decided_ns(seen: Observed, since_ns: int, sent_ns: int) -> int:
    """Time by which the sender took a segment for lost: a paced retransmission leaves later."""
    rows = seen.within(since_ns, sent_ns)
    entered = (
        row["time_ns"]
        for before, row in pairwise(rows)
        if row["state"] == "Recovery" != before["state"]
    )
    return next(entered, sent_ns)


def sacked_bytes(acks: Iterable[str]) -> int:
    """Bytes in the SACK blocks of some ACKs, each once."""
    blocks = (block.partition("-") for one in acks for block in one.split())
    return sum(end - first for first, end in union((int(a), int(b)) for a, _, b in blocks))


def _timer(seen: Observed, again: Packet) -> Link:
    row = seen.before(again.sent_ns)
    rto = int(row["rto_ns"]) if row and row["rto_ns"] > 0 and not again.syn else -1
    last = max((one.arrived_ns for one in seen.acks_within(-1, again.sent_ns - 1)), default=-1)
    first = next((one for one in seen.data if one.syn), None)
    numbers = {} if rto < 0 else {"rto_ns": rto}
    if again.syn and first is not None:
        waited = again.sent_ns - first.sent_ns
        missed = "ACK for its SYN-ACK" if again.answer else "SYN-ACK"
        sentence = (
            f"No {missed} came within {span(waited)}: the initial retransmission time-out expired,"
            f" and {seen.flow} sent its {again.name} again at {moment(again.sent_ns)}."
        )
        numbers = {"rto_ns": waited}
    else:
        quiet = f" The last ACK had come at {moment(last)}." if last >= 0 else ""
        probe = _restarted(seen, again, last, rto)
        if probe is not None:
            quiet = (
                f" The last ACK had come at {moment(last)}; a tail loss probe, sent at"
                f" {moment(probe.sent_ns)}, had restarted the timer."
            )
        timer = f" of {span(rto)}" if rto > 0 else ""
        sentence = (
            f"The retransmission timer{timer} expired at {moment(again.sent_ns)}, and {seen.flow}"
            f" retransmitted {again.name}.{quiet}"
        )
    return Link(Step.NOTICE, What.RTO, again.sent_ns, sentence, again, numbers=numbers)


def _restarted(seen: Observed, again: Packet, last_ns: int, rto_ns: int) -> Packet | None:
    """Tail loss probe, of old data or new, that restarted the timer (RFC 8985 §7.3); None: none."""
    before = (one for one in seen.data if last_ns < one.sent_ns < again.sent_ns)
    latest = max(before, key=lambda one: one.sent_ns, default=None)
    if latest is None or latest.cause not in ("", "probe") or rto_ns <= 0 or last_ns < 0:
        return None
    # Data that follows an ACK at once is no probe: the timer runs from the ACK.
    if last_ns + rto_ns + _TICKS_NS >= again.sent_ns:
        return None
    return latest if 0 <= again.sent_ns - latest.sent_ns - rto_ns <= _TICKS_NS else None


def _probe(seen: Observed, again: Packet) -> Link:
    last = max(
        (one.sent_ns for one in seen.data if one.sent_ns < again.sent_ns), default=again.sent_ns
    )
    waited = again.sent_ns - last
    sentence = (
        f"No ACK came for {span(waited)} after the last segment was sent: the probe timer expired,"
        f" and {seen.flow} sent {again.name} again as a tail loss probe at {moment(again.sent_ns)}."
    )
    return Link(
        Step.NOTICE, What.PROBE, again.sent_ns, sentence, again, numbers={"waited_ns": waited}
    )
