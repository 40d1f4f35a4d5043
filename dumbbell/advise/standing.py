"""A buffer of seconds: the queue adds more delay than any path."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dumbbell.advise import mends
from dumbbell.advise.advice import Advice, mbps
from dumbbell.advise.case import Case
from dumbbell.advise.fields import bits, deeper, netem_fields
from dumbbell.limits.buckets import bucket_of, longest_delay_s
from dumbbell.limits.flows import FRAME_BYTES
from dumbbell.metrics.numbers import number

#: Queueing delay from which it is said, and the queue in place of it.
_LONG_MS, _MEANT_MS = 500.0, 50
#: A queue of this length is judged by a longer run, which fills it.
_DEEP_S, _FILLS_S = 1.0, 60.0
#: Fewest packets of a queue.
_FEW = 10


@dataclass(frozen=True)
class _Queue:
    """A shorter queue: fields of the pipe, in words of the evidence, and of the mend."""

    fields: dict[str, Any]
    words: str
    mend: str


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    spec, flow = case.pipes[pipe], case.flow_of(pipe)
    if flow is None:
        return None
    rate = case.rate_bps(pipe, flow)
    inside_ms = 1e3 * longest_delay_s(spec)
    if rate is None:
        return None
    run, seconds = case, None
    if not _waits(run, pipe) - inside_ms > _LONG_MS and _depth_s(spec, rate) > _DEEP_S:
        run, seconds = case.again(duration_s=_FILLS_S) or case, _FILLS_S
    before = _waits(run, pipe)
    if not before - inside_ms > _LONG_MS:
        return None
    shorter = _shorter(case, pipe, rate, flow)
    mended = None if shorter is None else case.again(pipe, shorter.fields, duration_s=seconds)
    if shorter is None or mended is None or not _waits(mended, pipe) < before / 2:
        return None
    return Advice(
        "buffer",
        pipe,
        f"the queue in front of {bits(rate)} holds {number(before)} ms of packets: everything "
        "behind it waits",
        f"queueing delay {number(before)} ms (95 %) at {mbps(run, flow)}; with {shorter.words}: "
        f"{number(_waits(mended, pipe))} ms at {mbps(mended, flow)}",
        shorter.mend,
    )


def _waits(case: Case, pipe: str) -> float:
    return case.value("queue_delay_p95_ms", pipe)


def _depth_s(spec: Any, rate: float) -> float:
    """Time of the queue's limit at a rate, without the packets that netem delays; 0: unknown."""
    queue = spec["queue"]
    own = queue.get("netem") or queue.get("drop_tail") or {}
    if "htb" in queue:
        own = queue["htb"]["classes"][0]["queue"].get("drop_tail") or {}
    size = own.get("limit_bytes") or FRAME_BYTES * (own.get("limit_packets") or 0)
    return float(size * 8 / rate - longest_delay_s(spec))


def _shorter(case: Case, pipe: str, rate: float, flow: str) -> _Queue | None:
    """A shorter queue; None: its discipline is not changed."""
    spec = case.pipes[pipe]
    queue = spec["queue"]
    bucket = bucket_of(spec)
    seconds = _MEANT_MS / 1e3 + case.limits_of(flow).base_rtt_s / 2 + longest_delay_s(spec)
    limit = max(math.ceil(rate * seconds / 8 / FRAME_BYTES), _FEW)
    words, mend = f"limit {limit}", mends.queue_packets(case, pipe, limit)
    tail = queue.get("drop_tail", {})
    if "netem" in queue:
        return _Queue({"netem": netem_fields(queue["netem"], limit=limit)}, words, mend)
    if tail.get("limit_bytes") and bucket is not None and bucket[0] == "tbf":
        return _in_bytes(case, pipe, rate, bucket[2])
    if tail:
        fields = {"buffer": f"{limit} packets", "queue": None, "netem": None}
        return _Queue(fields, words, f"{mend}{_or_fq(case)}")
    if bucket is None or bucket[0] != "htb":
        return None
    pfifo = {"pfifo": {"limit": f"{limit} packets"}}
    made = {"rate": bits(bucket[1]), "burst": f"{queue['htb']['burst_bytes']} bytes"}
    return _Queue({"queue": {"htb": {**made, "queue": pfifo}}}, words, f"{mend}{_or_fq(case)}")


def _in_bytes(case: Case, pipe: str, rate: float, depth: int) -> _Queue:
    """The limit of a token bucket: rate × latency + burst, as tc has it."""
    own = rate * _MEANT_MS / 8e3
    fields: dict[str, Any] = {"queue": None, "netem": None}
    if case.language in ("cni", "kubernetes"):
        # The plug-in's latency stays; its burst is the buffer.
        depth = max(int(own), 2 * FRAME_BYTES)
        fields |= deeper(case.pipes[pipe], "tbf", depth)
    size = max(int(own) + depth, 2 * FRAME_BYTES)
    fields["buffer"] = f"{size} bytes"
    mend = mends.queue_bytes(case, pipe, size, _MEANT_MS, rate)
    return _Queue(fields, f"{size} bytes", mend)


def _or_fq(case: Case) -> str:
    return ", or fq_codel as the queue" if case.language in ("", "tc") else ""
