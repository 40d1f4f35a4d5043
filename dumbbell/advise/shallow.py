"""A queue that holds less than half a bandwidth-delay product, or than an initial window.

Then the line runs empty after a loss, or the first packets of a flow are lost. Sources:
Appenzeller, Keslassy, McKeown, "Sizing router buffers", SIGCOMM 2004, section 2; RFC 6928.
"""

from __future__ import annotations

import math
from typing import Any

from dumbbell.advise import mends
from dumbbell.advise.advice import Advice, better, mbps, percent
from dumbbell.advise.case import Case
from dumbbell.limits.buckets import bucket_of
from dumbbell.metrics.numbers import number

#: Share of the bandwidth-delay product, and packets, below which a queue is shallow.
_SHALLOW, _INITIAL_WINDOW = 0.5, 10
#: Fewest packets of the queue in place of it.
_FEW = 20
#: A larger loss is told, if a longer queue leaves less than a third of it.
_LOSSY, _LESS = 0.03, 1 / 3


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    spec, flow = case.pipes[pipe], case.flow_of(pipe)
    tail = spec["queue"].get("drop_tail")
    if flow is None or not tail:
        return None
    path, lost = case.limits_of(flow), case.value("loss_ratio_overflow", pipe)
    held = _packets(tail, path.frame_bytes)
    if not lost > 0 or math.isinf(path.bdp_packets):
        return None
    if held >= max(_SHALLOW * path.bdp_packets, _INITIAL_WINDOW):
        return None
    enough = max(math.ceil(path.bdp_packets), _FEW)
    bucket = bucket_of(spec)
    size = enough * path.frame_bytes + (bucket[2] if bucket else 0)
    in_bytes = bool(tail.get("limit_bytes"))
    longer = f"{size} bytes" if in_bytes else f"{enough} packets"
    fields: dict[str, Any] = {"buffer": longer, "queue": None, "netem": None}
    mended = case.again(pipe, fields)
    if mended is None:
        return None
    less = mended.value("loss_ratio_overflow", pipe)
    if not better(case, mended, flow) and not (lost > _LOSSY and less < _LESS * lost):
        return None
    if in_bytes:
        latency_ms = math.ceil(8e3 * enough * path.frame_bytes / path.rate_bps)
        mend = mends.queue_bytes(case, pipe, size, latency_ms, path.rate_bps)
    else:
        mend = mends.queue_packets(case, pipe, enough)
    return Advice(
        "shallow",
        pipe,
        f"the queue holds {_full(held)}, {_why(held, path.bdp_packets)}",
        f"{mbps(case, flow)} and {percent(lost)} lost; with {longer}: {mbps(mended, flow)} and "
        f"{percent(less)}",
        mend,
    )


def _full(held: float) -> str:
    return f"{number(held)} full packet{'' if held == 1 else 's'}"


def _why(held: float, bdp: float) -> str:
    if held < _SHALLOW * bdp:
        return f"{number(held / bdp)} BDP: after a loss the reduced window does not fill the line"
    return "less than an initial window of 10: the first packets of each flow are lost"


def _packets(tail: dict[str, Any], frame_bytes: int) -> float:
    """Full packets that a drop-tail queue holds; infinite without a limit."""
    limits = [tail["limit_packets"]] if tail.get("limit_packets") else []
    limits += [tail["limit_bytes"] / frame_bytes] if tail.get("limit_bytes") else []
    return min(limits, default=math.inf)
