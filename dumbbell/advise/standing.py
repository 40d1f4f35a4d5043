"""A buffer of seconds: the queue adds more delay than any path."""

from __future__ import annotations

import math
from typing import Any

from dumbbell.advise.advice import Advice, mbps
from dumbbell.advise.case import Case
from dumbbell.advise.fields import bits, netem_fields
from dumbbell.limits.buckets import bucket_of, longest_delay_s
from dumbbell.limits.flows import FRAME_BYTES
from dumbbell.metrics.numbers import number

#: Queueing delay from which it is said, and the queue in place of it.
_LONG_MS, _MEANT_S = 500.0, 0.05
#: Fewest packets of a queue.
_FEW = 10


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    spec, flow = case.pipes[pipe], case.flow_of(pipe)
    if flow is None:
        return None
    rate = case.rate_bps(pipe, flow)
    inside_s = longest_delay_s(spec)
    before = case.value("queue_delay_p95_ms", pipe)
    if rate is None or not before - 1e3 * inside_s > _LONG_MS:
        return None
    seconds = _MEANT_S + case.limits_of(flow).base_rtt_s / 2 + inside_s
    limit = max(math.ceil(rate * seconds / 8 / FRAME_BYTES), _FEW)
    fields = _shorter(spec, limit)
    mended = None if fields is None else case.again(pipe, fields)
    if mended is None or not mended.value("queue_delay_p95_ms", pipe) < before / 2:
        return None
    after = mended.value("queue_delay_p95_ms", pipe)
    return Advice(
        "buffer",
        pipe,
        f"the queue in front of {bits(rate)} holds {number(before)} ms of packets: everything "
        "behind it waits",
        f"queueing delay {number(before)} ms (95 %) at {mbps(case, flow)}; with limit {limit}: "
        f"{number(after)} ms at {mbps(mended, flow)}",
        f"limit {limit} packets, or fq_codel as the queue",
    )


def _shorter(spec: Any, limit: int) -> dict[str, Any] | None:
    """Fields of a pipe with a shorter queue; None: its discipline is not changed."""
    queue = spec["queue"]
    if "netem" in queue:
        return {"netem": netem_fields(queue["netem"], limit=limit)}
    if "drop_tail" in queue:
        return {"buffer": f"{limit} packets", "queue": None, "netem": None}
    bucket = bucket_of(spec)
    if bucket is None or bucket[0] != "htb":
        return None
    htb = queue["htb"]
    pfifo = {"pfifo": {"limit": f"{limit} packets"}}
    made = {"rate": bits(bucket[1]), "burst": f"{htb['burst_bytes']} bytes", "queue": pfifo}
    return {"queue": {"htb": made}}
