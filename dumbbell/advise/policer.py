"""A policer where a shaper is meant: it has no queue, so its burst acts as the buffer."""

from __future__ import annotations

from dumbbell.advise import mends
from dumbbell.advise.advice import Advice, better, mbps, percent
from dumbbell.advise.case import Case
from dumbbell.advise.fields import bits

#: A flow with more of the rate does not suffer from a policer.
_ENOUGH = 0.75


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    policer, flow = case.pipes[pipe]["policer"], case.flow_of(pipe)
    if policer is None or flow is None:
        return None
    lost = case.value("loss_ratio_policed", pipe)
    rate, burst = policer["rate_bps"], policer["burst_bytes"]
    if not lost > 0 or not case.value("goodput_mbps", flow) * 1e6 < _ENOUGH * rate:
        return None
    depth = max(burst, 3000)
    bucket = {"rate": bits(rate), "burst": f"{depth} bytes", "initial": "full"}
    open_ = {"rate": "10 Tbit/s", "burst": "1 GB"}  # polices nothing
    fields = {"policer": open_, "shaper": {"tbf": bucket}, "buffer": "50 ms"}
    mended = case.again(pipe, fields)
    if mended is None or not better(case, mended, flow):
        return None
    return Advice(
        "policer",
        pipe,
        f"a policer drops what exceeds its burst of {burst} bytes, and nothing waits: a TCP flow "
        "needs about rate × RTT of burst",
        f"{mbps(case, flow)} of {bits(rate)}, {percent(lost)} policed; shaped, with a queue of "
        f"50 ms: {mbps(mended, flow)}",
        mends.shaper(case, rate, depth),
    )
