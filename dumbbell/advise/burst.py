"""A token bucket so deep that a probe, or a whole transfer, passes at the rate of the wire."""

from __future__ import annotations

from dumbbell.advise import mends
from dumbbell.advise.advice import Advice
from dumbbell.advise.case import Case
from dumbbell.advise.fields import bits, deeper, span
from dumbbell.limits.buckets import bucket_of
from dumbbell.limits.flows import FRAME_BYTES
from dumbbell.metrics.numbers import number

#: A bucket is deep from this time of its rate on, and from this number of full frames on.
_DEEP_S, _DEEP_FRAMES = 0.1, 20
#: Longest look at the start of a flow.
_LOOK_S = 1.0
#: Throughput over the look, as a share of the rate.
_ABOVE = 1.5


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    flow, bucket = case.flow_of(pipe), bucket_of(case.pipes[pipe])
    if flow is None or bucket is None:
        return None
    kind, rate, burst = bucket
    drains_s = burst * 8 / rate
    if drains_s < _DEEP_S or burst < _DEEP_FRAMES * FRAME_BYTES:
        return None
    look_s = min(drains_s, _LOOK_S)
    alone = case.alone(flow)
    start = None if alone is None else alone.again(duration_s=look_s)
    if start is None or alone is None:
        return None
    first = start.value("link_throughput_mbps", pipe)
    if not first * 1e6 > _ABOVE * rate:
        return None
    shallow = max(int(rate * 0.01 / 8), 2 * FRAME_BYTES)
    mended = alone.again(pipe, deeper(case.pipes[pipe], kind, shallow), duration_s=look_s)
    if mended is None:
        return None
    after = mended.value("link_throughput_mbps", pipe)
    return Advice(
        "burst",
        pipe,
        f"the bucket of {burst} bytes holds {span(drains_s * 1e9)} of {bits(rate)}: a burst or a "
        "probe passes at the rate of the wire",
        f"{number(first)} Mbit/s in the first {span(look_s * 1e9)}; with burst {shallow}: "
        f"{number(after)} Mbit/s",
        mends.burst(case, pipe, kind, shallow),
    )
