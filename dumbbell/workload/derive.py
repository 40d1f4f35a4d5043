"""Workload from a capture: its connections, or a number of them by size (study 2, Table 3)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dumbbell.capture.classes import DEFAULT_CLASSES, SizeClass
from dumbbell.capture.damage import damage
from dumbbell.capture.together import is_client
from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError

#: Maximum number of captured connections with a group each; more are grouped by size class.
EACH_MAX = 100
#: Maximum number of connections of a workload without a given number.
CONNECTIONS_MAX = 1000
#: Defaults for values that a capture does not show: RTT (ns) and rate (bit/s).
RTT_ASSUMED_NS = 50_000_000
RATE_ASSUMED_BPS = 10_000_000
#: Maximum plausible RTTs and start times (ns). Larger ones are errors of the clock.
_RTT_MAX_NS = 60 * 10**9
_SPREAD_MAX_NS = 3600 * 10**9
_SIZES: dict[str, Callable[[Sequence[int]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
}


@dataclass(frozen=True)
class Transfer:
    """Connection of a capture, by its direction with more payload.

    Attributes:
        payload_bytes: Unique payload of this direction.
        is_upload: True if the opener of the connection sent it.
        start_ns: Timestamp of the first packet; None: the capture has no timestamps.
        rtt_ns: RTT of the handshake; None: not in the capture.
    """

    payload_bytes: int
    is_upload: bool
    start_ns: int | None
    rtt_ns: int | None


@dataclass(frozen=True)
class Class:
    """Size class, captured and derived.

    Attributes:
        name: Name of the class.
        from_bytes, to_bytes: Minimum and maximum payload; `to_bytes` None: no maximum.
        captured: Number of connections in the capture.
        captured_bytes: Payload of these connections.
        derived: Number of connections in the workload.
    """

    name: str
    from_bytes: int
    to_bytes: int | None
    captured: int
    captured_bytes: int
    derived: int


@dataclass(frozen=True)
class Group:
    """Group of equal connections of the workload.

    Attributes:
        class_: Name of their class.
        is_upload: True if the client sends.
        connections: Number of connections.
        payload_bytes: Payload of each connection.
        start_ns, spread_ns: Start times are uniform in [start_ns, start_ns + spread_ns].
    """

    class_: str
    is_upload: bool
    connections: int
    payload_bytes: int
    start_ns: int
    spread_ns: int


@dataclass(frozen=True)
class Workload:
    """Workload derived from a capture.

    Attributes:
        classes: Size classes, the smallest first, empty ones included.
        groups: Connections of the workload.
        rtt_ns: RTT of the path without queues.
        rate_bps: Rate of the bottleneck.
        notes: Notes for the user about assumptions, omissions and repairs.
    """

    classes: tuple[Class, ...]
    groups: tuple[Group, ...]
    rtt_ns: int
    rate_bps: int
    notes: tuple[str, ...]


def derive(
    found: dict[str, Any],
    *,
    classes: Iterable[SizeClass] = DEFAULT_CLASSES,
    connections: int | None = None,
    size: str | None = None,
    rtt_ns: int | None = None,
    rate_bps: int | None = None,
) -> Workload:
    """Derives a workload with the connections of a capture, or with their proportions.

    The size of a connection is the payload of its direction with more payload. Without
    `connections` and `size`, up to `EACH_MAX` connections keep their own size and start. Otherwise
    the numbers per class are those of the capture, scaled to `connections` and rounded by largest
    remainders, with at least one connection of each class in the capture.

    Args:
        found: Result of `dumbbell.capture.survey`.
        classes: Size classes, the smallest first.
        connections: Total number of connections; None: as captured, at most `CONNECTIONS_MAX`.
        size: Size of all connections of a class: `mean` or `median`, rounded to 1000 bytes; None:
            the own size of each connection, or the mean.
        rtt_ns: Base RTT; None: the median of the handshakes.
        rate_bps: Rate of the bottleneck; None: the rate of the capture's busiest interval.

    Raises:
        DumbbellError: No connection carries payload, or there are more classes than `connections`.
    """
    notes = _state_of(found["file"])
    transfers, said = _transfers(found["connections"])
    notes += said
    if not transfers:
        file = found["file"]
        what = f"no TCP connection with payload among its {many(file['packets'], 'packet')}"
        raise DumbbellError(
            ": ".join((file["name"], "no workload can be derived", what, *notes)),
            code=Code.WORKLOAD,
        )
    one_by_one = connections is None and size is None and len(transfers) <= EACH_MAX
    number = min(len(transfers), CONNECTIONS_MAX) if connections is None else connections
    notes.append(_number(number, len(transfers), one_by_one))
    rows = _classes(transfers, tuple(classes), number)
    begin = min((one.start_ns for one in transfers if one.start_ns is not None), default=None)
    if begin is None:
        notes.append("the capture has no times: all connections start at once")
    if one_by_one:
        groups = _each(rows, transfers, begin)
    else:
        groups = _groups(rows, transfers, size or "mean", begin)
    if max(group.start_ns + group.spread_ns for group in groups) == _SPREAD_MAX_NS:
        notes.append("starts are spread over more than an hour: those of the workload over one")
    rtt, said = _rtt(transfers) if rtt_ns is None else (rtt_ns, [])
    notes += said
    rate, said = _rate(found) if rate_bps is None else (rate_bps, [])
    notes += said
    return Workload(tuple(rows), tuple(groups), rtt, rate, tuple(notes))


def _number(number: int, captured: int, one_by_one: bool) -> str:
    """Note about the number of connections."""
    words = many(number, "connection")
    if one_by_one:
        return f"{words} as captured, each of its size; --connections N scales them"
    if number == captured:
        return f"{words} as captured, of the sizes of their classes"
    return f"{words} for {captured} captured; --connections N takes another number"


def _each(rows: Sequence[Class], transfers: Sequence[Transfer], begin: int | None) -> list[Group]:
    """One group per connection, in start order."""
    groups = []
    for one in sorted(transfers, key=lambda one: one.start_ns or 0):
        (name,) = (row.name for row in rows if _is_in(row, one.payload_bytes))
        start = 0 if begin is None or one.start_ns is None else one.start_ns - begin
        start = min(start, _SPREAD_MAX_NS)
        groups.append(Group(name, one.is_upload, 1, one.payload_bytes, start, 0))
    return groups


def _groups(
    rows: Sequence[Class], transfers: Sequence[Transfer], size: str, begin: int | None
) -> list[Group]:
    """One group per class and direction, the largest first."""
    groups = []
    for row in reversed(rows):
        mine = [one for one in transfers if _is_in(row, one.payload_bytes)]
        parts = [[one for one in mine if one.is_upload is upload] for upload in (False, True)]
        for part, number in zip(parts, shares([len(p) for p in parts], row.derived), strict=True):
            if number:
                groups.append(_group(row.name, part, number, size, begin))
    return groups


def shares(weights: Sequence[int], total: int, least: int = 0) -> list[int]:
    """Divides a total in proportion to weights, by largest remainders.

    Every weight above 0 gets at least `least`, taken from those furthest above their share.
    """
    everything = sum(weights)
    if everything == 0:
        return [0 for _ in weights]
    quotas = [Fraction(weight * total, everything) for weight in weights]
    parts = [int(quota) for quota in quotas]
    order = sorted(range(len(weights)), key=lambda place: (parts[place] - quotas[place], place))
    for place in order[: total - sum(parts)]:
        parts[place] += 1
    for place, weight in enumerate(weights):
        while weight and parts[place] < least:
            above = [n for n in range(len(parts)) if parts[n] > least]
            richest = max(above, key=lambda n: (parts[n] - quotas[n], parts[n]))
            parts[richest] -= 1
            parts[place] += 1
    return parts


def rounded(payload_bytes: float) -> int:
    """Size in a workload: rounded to 1000 bytes, below 1000 to 100 bytes, never 0."""
    step = 1000 if payload_bytes >= 1000 else 100
    return max(step, step * round(payload_bytes / step))


def _state_of(file: dict[str, Any]) -> list[str]:
    """Note about missing parts of the file."""
    notes: list[str] = damage(file) + file["notes"]
    if file["tcp_packets_not_read"]:
        notes.append(
            many(file["tcp_packets_not_read"], "TCP packet")
            + " cut off in the headers: not counted"
        )
    return notes


def _transfers(rows: Iterable[dict[str, Any]]) -> tuple[list[Transfer], list[str]]:
    """Connections with payload. One seen at several interfaces counts where most of it was seen."""
    connections: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        connections.setdefault(row["connection"], []).append(row)
    best: dict[int, list[dict[str, Any]]] = {}
    for ends in connections.values():
        kept = best.get(ends[0]["conversation"])
        if kept is None or _seen(ends) > _seen(kept):
            best[ends[0]["conversation"]] = ends
    carrying = [ends for ends in best.values() if any(map(_payload, ends))]
    empty = len(best) - len(carrying)
    guessed = sum(ends[0]["opened_it"] is None for ends in carrying)
    unseen = sum(max(ends, key=_payload)["unseen_bytes"] > 0 for ends in carrying)
    notes = []
    if len(best) < len(connections):
        notes.append(
            many(len(connections) - len(best), "connection")
            + " seen at a second interface: counted once"
        )
    if empty:
        notes.append(f"{many(empty, 'connection')} without payload: left out")
    if unseen:
        notes.append(
            many(unseen, "connection")
            + ": data is acknowledged that the capture does not show; counted"
        )
    if guessed:
        notes.append(
            many(guessed, "connection")
            + " open before the capture: the end with the lower port is the server"
        )
    return [_transfer(ends) for ends in carrying], notes


def _seen(ends: Sequence[dict[str, Any]]) -> int:
    return sum(int(end["unique_bytes"]) for end in ends)


def _payload(end: dict[str, Any]) -> int:
    return int(end["unique_bytes"]) + int(end["unseen_bytes"])


def _transfer(ends: Sequence[dict[str, Any]]) -> Transfer:
    heavier = max(ends, key=lambda end: (_payload(end), not is_client(end)))
    rtts = (heavier["handshake_rtt_ns"], heavier["syn_rtt_ns"])
    rtt = next((one for one in rtts if one is not None and 0 < one <= _RTT_MAX_NS), None)
    return Transfer(_payload(heavier), is_client(heavier), heavier["first_ns"], rtt)


def _classes(
    transfers: Sequence[Transfer], classes: Sequence[SizeClass], connections: int
) -> list[Class]:
    rows, start = [], 0
    for one in classes:
        end = None if one.below_bytes is None else one.below_bytes - 1
        rows.append(Class(one.name, start, end, 0, 0, 0))
        start = one.below_bytes or start
    sizes = [[t.payload_bytes for t in transfers if _is_in(row, t.payload_bytes)] for row in rows]
    occurring = sum(map(bool, sizes))
    if connections < occurring:
        raise DumbbellError(
            f"--connections {connections}: {occurring} classes occur, and one of each is needed",
            code=Code.WORKLOAD,
        )
    derived = shares([len(one) for one in sizes], connections, least=1)
    return [
        Class(row.name, row.from_bytes, row.to_bytes, len(one), sum(one), number)
        for row, one, number in zip(rows, sizes, derived, strict=True)
    ]


def _is_in(row: Class, payload_bytes: int) -> bool:
    return row.from_bytes <= payload_bytes and (
        row.to_bytes is None or payload_bytes <= row.to_bytes
    )


def _group(name: str, part: Sequence[Transfer], number: int, size: str, begin: int | None) -> Group:
    starts = [0]
    if begin is not None:
        starts = [one.start_ns - begin for one in part if one.start_ns is not None] or [0]
    first, last = (min(time, _SPREAD_MAX_NS) for time in (min(starts), max(starts)))
    each = rounded(_SIZES[size]([one.payload_bytes for one in part]))
    return Group(name, part[0].is_upload, number, each, first, last - first)


def _rtt(transfers: Sequence[Transfer]) -> tuple[int, list[str]]:
    known = [one.rtt_ns for one in transfers if one.rtt_ns is not None]
    if not known:
        assumed = RTT_ASSUMED_NS / 1e6
        text = f"RTT unknown: no handshake in the capture; {assumed:g} ms assumed, set --rtt"
        return RTT_ASSUMED_NS, [text]
    median = round(statistics.median(known))
    text = (
        f"RTT {median / 1e6:.3g} ms: the median of {many(len(known), 'handshake')}, "
        f"queues included; the smallest took {min(known) / 1e6:.3g} ms"
    )
    return median, [text]


def _rate(found: dict[str, Any]) -> tuple[int, list[str]]:
    """Rate of the busiest tenth of a second in bit/s: a lower bound of the line rate."""
    file = found["file"]
    if file["duration_s"] is None:
        assumed = RATE_ASSUMED_BPS / 1e6
        text = f"rate unknown: the capture has no times; {assumed:g} Mbit/s assumed, set --rate"
        return RATE_ASSUMED_BPS, [text]
    bps = 8 * 10 * file["busiest_100ms_bytes"]
    digits = max(0, len(str(bps)) - 3)
    bps = max(10_000, round(bps, -digits))
    return bps, [
        f"rate {bps / 1e6:g} Mbit/s: that of the capture's busiest 0.1 s, both ways together. "
        "If that time did not fill the line, the line's rate is higher: set --rate"
    ]
