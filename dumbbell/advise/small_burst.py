"""A token bucket that holds less than a full frame."""

from __future__ import annotations

from dumbbell.advise import mends
from dumbbell.advise.advice import Advice, better, mbps
from dumbbell.advise.case import Case
from dumbbell.advise.fields import deeper
from dumbbell.limits.buckets import bucket_of
from dumbbell.limits.flows import longest_frame_bytes


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    flow, bucket = case.flow_of(pipe), bucket_of(case.pipes[pipe])
    if flow is None or bucket is None:
        return None
    kind, _, burst = bucket
    frame = longest_frame_bytes(case.scenario)
    if burst >= frame:
        return None
    enough = 2 * frame
    mended = case.again(pipe, deeper(case.pipes[pipe], kind, enough))
    if mended is None or not better(case, mended, flow):
        return None
    return Advice(
        "small burst",
        pipe,
        f"the bucket of {burst} bytes holds less than a full frame of {frame} bytes, which never "
        "finds enough tokens",
        f"{mbps(case, flow)}; with burst {enough}: {mbps(mended, flow)}",
        mends.burst(case, pipe, kind, enough),
    )
