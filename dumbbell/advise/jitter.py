"""Jitter of a netem without a rate reorders packets."""

from __future__ import annotations

from dumbbell.advise.advice import Advice, mbps, percent
from dumbbell.advise.case import Case
from dumbbell.advise.fields import netem_fields, span
from dumbbell.translate.units import time_text

#: Less reordering than this is no storm.
_MUCH = 0.01


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    queue, flow = case.pipes[pipe]["queue"], case.flow_of(pipe)
    if "netem" not in queue or flow is None or not queue["netem"]["jitter_ns"]:
        return None
    reordered = case.value("reordered_ratio", flow)
    if not reordered > _MUCH:
        return None
    netem = queue["netem"]
    fields = {"netem": netem_fields(netem, jitter_ns=0), "jitter": time_text(netem["jitter_ns"])}
    mended = case.again(pipe, fields)
    if mended is None or not mended.value("reordered_ratio", flow) < reordered / 2:
        return None
    return Advice(
        "jitter",
        pipe,
        f"netem draws a delay for each packet, so a jitter of {span(netem['jitter_ns'] / 2)} above "
        "the gap between packets reorders them",
        f"{percent(reordered)} of the packets reordered, {mbps(case, flow)}; the same delays in "
        f"order: {percent(mended.value('reordered_ratio', flow))}, {mbps(mended, flow)}",
        "netem … rate 100gbit (with a rate netem keeps the order)",
    )
