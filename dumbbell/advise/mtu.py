"""Hosts with different MTUs at the ends of a flow."""

from __future__ import annotations

from dumbbell.advise import mends
from dumbbell.advise.advice import Advice, mbps
from dumbbell.advise.case import Case
from dumbbell.limits.flows import narrowest_pipes


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    flow = case.flow_of(pipe)
    if flow is None or (narrowest_pipes(case.scenario, flow) or [pipe])[0] != pipe:
        return None
    one = next(each for each in case.scenario["flows"] if each["name"] == flow)
    mtus = {
        node["name"]: tcp["mtu_bytes"] for node in case.scenario["nodes"] if (tcp := node["tcp"])
    }
    sender, receiver = mtus[one["from"]], mtus[one["to"]]
    if sender == receiver:
        return None
    smaller, larger = sorted((sender, receiver))
    mended = case.again(hosts={"mtu": f"{larger} bytes"})
    if mended is None:
        return None
    return Advice(
        "mtu",
        pipe,
        f"{one['from']} has an MTU of {sender} bytes and {one['to']} of {receiver}: TCP takes the "
        "smaller",
        f"{mbps(case, flow)}; with an MTU of {larger} bytes at both ends: {mbps(mended, flow)}",
        mends.mtu(case, smaller),
    )
