"""State of a queue at a time: its length, its limit, its discipline, whose packets wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from dumbbell.catalogue import disciplines
from dumbbell.console.words import many
from dumbbell.explain.explanation import What
from dumbbell.explain.observed import Observed
from dumbbell.explain.packets import Packet
from dumbbell.explain.words import share, size, span

#: Factor by which a sample exceeds the packets counted where some arrived before those kept.
_MORE = 1.1


@dataclass(frozen=True, slots=True)
class QueueState:
    """State of a queue.

    Attributes:
        pipe: Pipe.
        packets: Packets that waited.
        bytes: Their frames.
        by_flow: Flow → its packets among them, the most first; empty: not known, or none waited.
        known: True if each packet that waited is among those kept. Otherwise the numbers are those
            of the last sample.
        discipline: Name of the discipline.
        limit: Its limit in words; empty: none.
        detail: State of an active queue management in words; empty: none is known.
        numbers: The same as numbers.
    """

    pipe: str
    packets: int
    bytes: int
    by_flow: Mapping[str, int]
    discipline: str
    limit: str
    detail: str
    numbers: Mapping[str, int | float | str]
    known: bool = True


def queue_state(
    seen: Observed,
    pipe: str,
    at_ns: int,
    wait_ns: int = 0,
    packet: Packet | None = None,
    signal: What | None = None,
) -> QueueState:
    """State of a pipe's queue just before a time.

    Args:
        seen: Observations.
        pipe: Name of the pipe.
        at_ns: Time.
        wait_ns: Time that the packet in question had waited, for the state of CoDel.
        packet: That packet, if it arrived there at this time: those before it count.
        signal: Mark or drop by the queue's active queue management at this time; None: neither.
    """
    came = pl.col("offered_ns") < at_ns
    if packet is not None:
        came |= (pl.col("offered_ns") == at_ns) & ~_from(packet)
    waits = (pl.col("leaves_ns") > at_ns) | (pl.col("leaves_ns") < 0)
    inside = (pl.col("dropped") == "") | (pl.col("ended_ns") >= at_ns)
    offered = seen.hops.filter((pl.col("pipe") == pipe) & came & inside)
    queue = seen.pipes[pipe]["queue"] if pipe in seen.pipes else None
    title, spec = _acting(queue, managed=signal is not None)
    here = offered.filter(waits)
    most = spec.get("limit_packets")
    if packet is not None and signal is None and isinstance(most, int):
        # One that leaves at this very time leaves after the drop, or the queue had not been full.
        leaving = offered.filter(waits | (pl.col("leaves_ns") == at_ns))
        here = leaving if leaving.height <= most else here
    by_flow = here.group_by("flow").len().sort("len", "flow", descending=[True, False])
    packets, waiting_bytes = here.height, int(here["frame_bytes"].sum())
    sampled = _sampled(seen, pipe, at_ns, packets) if packet is not None else None
    if sampled is not None:
        packets, waiting_bytes, by_flow = *sampled, by_flow.clear()
    detail, numbers = _managed(seen, pipe, at_ns, spec, wait_ns, signal)
    return QueueState(
        pipe,
        packets,
        waiting_bytes,
        dict(by_flow.iter_rows()),
        title,
        _limit(spec),
        detail,
        {"queued_packets": packets, "queued_bytes": waiting_bytes, **numbers},
        sampled is None,
    )


def _sampled(seen: Observed, pipe: str, at_ns: int, counted: int) -> tuple[int, int] | None:
    """Packets and bytes of the last sample where more waited than packets are kept; else None."""
    row = seen.queue_before(pipe, at_ns) if seen.from_ns > 0 else None
    if row is None or row["queued_packets"] <= _MORE * counted + 1:
        return None
    return int(row["queued_packets"]), int(row["queued_bytes"])


def _from(packet: Packet) -> pl.Expr:
    """Expression: the packet, and those that arrived after it at the same place (rows in order)."""
    here = (
        (pl.col("flow") == packet.flow)
        & (pl.col("packet_number") == packet.number)
        & (pl.col("direction") == ("out" if packet.out else "back"))
        & (pl.col("pipe") == packet.dropped_at)
    )
    return here.cum_max()


def discipline_of(queue: Any) -> tuple[str, Mapping[str, Any]]:
    """Name of a discipline and its parameters, as a scenario has them."""
    if isinstance(queue, str):
        return queue, {}
    if isinstance(queue, dict) and len(queue) == 1:
        name, spec = next(iter(queue.items()))
        return name, spec if isinstance(spec, dict) else {}
    return "", {}


def _acting(queue: Any, *, managed: bool) -> tuple[str, Mapping[str, Any]]:
    """Title and parameters of the discipline that drops or marks, inside a classful one too.

    `managed`: an active queue management did so. If several may have done so, it is the outer one.
    """
    outer, spec = discipline_of(queue)
    inner = [one for one in _leaves(queue) if not (managed and one[0] == "drop_tail")]
    if len(inner) != 1 or inner[0][0] == outer:
        return _title(outer), spec
    return f"{_title(inner[0][0])} in {_title(outer)}", inner[0][1]


def _leaves(queue: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Disciplines in which packets wait: those of the classes and bands of a classful one."""
    kind, spec = discipline_of(queue)
    parts = [*spec.get("classes", ()), *spec.get("bands", ())]
    return [leaf for part in parts for leaf in _leaves(part["queue"])] or [(kind, spec)]


def _title(kind: str) -> str:
    """Name of a discipline for people."""
    known = disciplines()
    return known[kind].title if kind in known else kind.replace("drop_tail", "drop-tail queue")


def _limit(spec: Mapping[str, Any]) -> str:
    """Limit of a queue in words."""
    packets = spec.get("limit_packets", spec.get("packets"))
    count = spec.get("limit_bytes", spec.get("bytes"))
    words = [many(packets, "packet")] if isinstance(packets, int) else []
    words += [size(count)] if isinstance(count, int) else []
    return " or ".join(words)


def _managed(
    seen: Observed,
    pipe: str,
    at_ns: int,
    spec: Mapping[str, Any],
    wait_ns: int,
    signal: What | None,
) -> tuple[str, dict[str, int | float | str]]:
    """State of an active queue management, in words and numbers."""
    row = seen.queue_before(pipe, at_ns)
    words: list[str] = []
    numbers: dict[str, int | float | str] = {}
    if wait_ns > 0:
        words.append(f"the packet had waited {span(wait_ns)}")
        numbers["waited_ns"] = wait_ns
    target, threshold = spec.get("target_ns"), spec.get("ce_threshold_ns") or 0
    passed = signal is What.AQM_MARK and 0 < threshold < wait_ns
    if passed:
        words.append(f"longer than the ce_threshold of {span(threshold)}")
        numbers["ce_threshold_ns"] = threshold
    # A packet that waited less than the target is not marked by CoDel's control law.
    if isinstance(target, int) and not (passed and wait_ns < target):
        words.append(f"the target is {span(target)}")
        numbers["target_ns"] = target
    if row is None:
        return ", ".join(words), numbers
    later = seen.queue_after(pipe, at_ns)
    if row["dropping"] == 1:
        words.append(f"CoDel was in its dropping state with count {row['drop_count']}")
        numbers["drop_count"] = int(row["drop_count"])
    elif row["dropping"] == 0 and later is not None and later["dropping"] == 1:
        words.append("with it CoDel entered its dropping state")
        numbers["drop_count"] = int(later["drop_count"])
    if row["average_bytes"] >= 0:
        words.append(f"RED's average was {size(int(row['average_bytes']))}")
        numbers["average_bytes"] = float(row["average_bytes"])
        for name in ("min_bytes", "max_bytes"):
            if isinstance(spec.get(name), int):
                words.append(f"{name[:3]} is {size(spec[name])}")
    if row["drop_probability"] >= 0:
        words.append(f"the drop probability was {share(row['drop_probability'])}")
        numbers["drop_probability"] = float(row["drop_probability"])
    return ", ".join(words), numbers
