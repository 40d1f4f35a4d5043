"""A rate that is never reached: by the window of TCP, or an offered load above the rate."""

from __future__ import annotations

import math

from dumbbell.advise import mends
from dumbbell.advise.advice import Advice, better, mbps, percent
from dumbbell.advise.case import Case
from dumbbell.advise.fields import bits, span
from dumbbell.limits.flows import narrowest_pipes
from dumbbell.limits.paths import paths_between
from dumbbell.limits.pipes import rate_of

#: Share of the limit below which a rate is not reached; datagrams lost.
_REACHED, _LOST = 0.7, 0.02


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    return _window(case, pipe) or _offered(case, pipe)


def _window(case: Case, pipe: str) -> Advice | None:
    flow, rate = case.flow_of(pipe), rate_of(case.pipes[pipe])
    if flow is None or rate is None or pipe not in narrowest_pipes(case.scenario, flow):
        return None
    limits = case.limits_of(flow)
    lost = [case.value("retransmitted_share", flow), case.value("loss_ratio", pipe)]
    reached = case.value("goodput_mbps", flow) >= _REACHED * limits.goodput_limit_mbps
    if reached or any(value > 0 for value in lost) or limits.bdp_bytes < 2**20:
        return None
    largest = 2 ** math.ceil(math.log2(4 * limits.bdp_bytes))
    size = f"4096 131072 {largest}"
    mended = case.again(hosts={"tcp_rmem": size, "tcp_wmem": size})
    if mended is None or not better(case, mended, flow):
        return None
    return Advice(
        "rate",
        pipe,
        f"{bits(rate)} × {span(limits.base_rtt_s * 1e9)} exceed the largest window of Linux's "
        "tcp_rmem and tcp_wmem, and nothing is lost",
        f"{mbps(case, flow)} of {bits(rate)}; with windows of {largest} bytes: "
        f"{mbps(mended, flow)}",
        mends.windows(case, size),
    )


def _offered(case: Case, pipe: str) -> Advice | None:
    """Datagrams at a rate above that of the pipe."""
    rate, wanted = rate_of(case.pipes[pipe]), case.pipes[pipe]
    for flow in case.scenario["flows"]:
        udp = flow["traffic"].get("udp")
        if udp is None or rate is None or udp["rate_bps"] <= rate:
            continue
        paths = paths_between(case.scenario, flow["from"], flow["to"])
        lost = case.value("datagram_loss_ratio", str(flow["name"]))
        if lost > _LOST and any(one is wanted for path in paths for one in path):
            return Advice(
                "rate",
                pipe,
                f"{flow['name']} offers {bits(udp['rate_bps'])} to {bits(rate)}, which never "
                "carries it",
                f"{mbps(case, str(flow['name']))} arrive, {percent(lost)} of datagrams are lost",
                f"an offered load below {bits(rate)}",
            )
    return None
