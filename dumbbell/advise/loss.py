"""Random loss that no congestion control survives."""

from __future__ import annotations

from dumbbell.advise import mends
from dumbbell.advise.advice import Advice, mbps, percent
from dumbbell.advise.case import Case
from dumbbell.metrics.numbers import number

#: Loss from which it is looked at; share of the limit below which CUBIC has failed, and share of
#: its own goodput with little loss below which BBR has.
_MUCH, _FAILED, _BBR_FAILED = 0.1, 0.1, 0.25
#: Loss that BBR survives (it is below 1 - 1/1.25).
_PERCENT = 5
_MENDED = f"{_PERCENT} %"
#: Largest window of Linux's defaults, bits.
_WINDOW_BITS = 4 * 2**20 * 8


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    flow = case.flow_of(pipe)
    lost = case.value("loss_ratio_random", pipe)
    if flow is None or not lost > _MUCH:
        return None
    limits = case.limits_of(flow)
    window = _WINDOW_BITS / max(limits.base_rtt_s, 1e-4) / 1e6
    limit = min(limits.goodput_limit_mbps, window)
    if not case.value("goodput_mbps", flow) < _FAILED * limit:
        return None
    best = case.again(flow={"tcp": "bbr"})
    mended = case.again(pipe, {"loss": _MENDED}, flow={"tcp": "bbr"})
    if best is None or mended is None:
        return None
    if not best.value("goodput_mbps", flow) < _BBR_FAILED * mended.value("goodput_mbps", flow):
        return None
    return Advice(
        "loss",
        pipe,
        f"{percent(lost)} random loss: neither CUBIC nor BBR gets through it",
        f"{mbps(case, flow)} with {number(case.value('timeouts', flow))} time-outs; BBR: "
        f"{mbps(best, flow)}; BBR at {_MENDED}: {mbps(mended, flow)}",
        mends.loss(case, _PERCENT),
    )
