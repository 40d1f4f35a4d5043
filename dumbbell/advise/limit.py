"""netem's queue limit is below rate × delay: it holds the delayed packets too."""

from __future__ import annotations

import math

from dumbbell.advise import mends
from dumbbell.advise.advice import Advice, better, mbps, percent
from dumbbell.advise.case import Case
from dumbbell.advise.fields import bits, netem_fields, span
from dumbbell.limits.buckets import mean_delay_s
from dumbbell.limits.flows import FRAME_BYTES


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    queue, flow = case.pipes[pipe]["queue"], case.flow_of(pipe)
    if "netem" not in queue or flow is None or not queue["netem"]["delay_ns"]:
        return None
    rate = case.rate_bps(pipe, flow)
    lost = case.value("loss_ratio_overflow", pipe)
    if not lost > 0:
        return None
    netem, delay_s = queue["netem"], mean_delay_s(case.pipes[pipe])
    limit = netem["limit_packets"]
    need = 10 * limit if rate is None else math.ceil(rate * delay_s / 8 / FRAME_BYTES)
    if limit >= need:
        return None
    enough = _rounded(1.25 * need + 100)
    mended = case.again(pipe, {"netem": netem_fields(netem, limit=enough)})
    if mended is None or not better(case, mended, flow):
        return None
    return Advice(
        "limit",
        pipe,
        f"netem's limit of {limit} packets holds the delayed packets too: {_full(rate, need)} "
        f"arrive in {span(1e9 * delay_s)}",
        f"{mbps(case, flow)} and {percent(lost)} lost; with limit {enough}: "
        f"{mbps(mended, flow)} and {percent(mended.value('loss_ratio_overflow', pipe))}",
        mends.queue_packets(case, pipe, enough),
    )


def _full(rate: float | None, need: int) -> str:
    return "more" if rate is None else f"at {bits(rate)} {need} packets"


def _rounded(packets: float) -> int:
    """Number of packets with two digits, rounded up."""
    scale = int(10 ** max(len(str(int(packets))) - 2, 0))
    return math.ceil(packets / scale) * scale
