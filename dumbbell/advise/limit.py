"""netem's queue limit is below rate × delay: it holds the delayed packets too."""

from __future__ import annotations

import math

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
    if rate is None or not lost > 0:
        return None
    netem, delay_s = queue["netem"], mean_delay_s(case.pipes[pipe])
    need = math.ceil(rate * delay_s / 8 / FRAME_BYTES)
    limit = netem["limit_packets"]
    if limit is None or limit >= need:
        return None
    enough = _rounded(1.25 * need + 100)
    mended = case.again(pipe, {"netem": netem_fields(netem, limit=enough)})
    if mended is None or not better(case, mended, flow):
        return None
    return Advice(
        "limit",
        pipe,
        f"netem's limit of {limit} packets holds the delayed packets too: {bits(rate)} × "
        f"{span(1e9 * delay_s)} are {need} packets",
        f"{mbps(case, flow)} and {percent(lost)} lost; with limit {enough}: "
        f"{mbps(mended, flow)} and {percent(mended.value('loss_ratio_overflow', pipe))}",
        f"limit {enough}",
    )


def _rounded(packets: float) -> int:
    """Number of packets with two digits, rounded up."""
    scale = int(10 ** max(len(str(int(packets))) - 2, 0))
    return math.ceil(packets / scale) * scale
