"""Jitter of a netem without a rate reorders packets."""

from __future__ import annotations

import math
import statistics
from typing import Any

from dumbbell.advise.advice import WORTH, Advice, mbps, percent
from dumbbell.advise.case import Case
from dumbbell.advise.fields import netem_fields, span
from dumbbell.advise.mends import order
from dumbbell.metrics.numbers import number
from dumbbell.translate.units import time_text

#: Less reordering than this is no storm.
_MUCH = 0.01
#: Seeds that show the error of sampling, and Student's t of 99 % with as many less one.
_SEEDS, _STUDENT = 8, 2.998


def look(case: Case, pipe: str) -> Advice | None:
    """See the module."""
    queue, flow = case.pipes[pipe]["queue"], case.flow_of(pipe)
    if "netem" not in queue or flow is None:
        return None
    netem = queue["netem"]
    # Twice the standard deviation, or the half width, of netem's own words.
    delay_ns, jitter_ns = (int(netem[field]) for field in ("delay_ns", "jitter_ns"))
    width_ns = jitter_ns or 2 * (netem.get("words") or {"jitter_ns": 0})["jitter_ns"]
    if not width_ns:
        return None
    reordered = case.value("reordered_ratio", flow)
    if not reordered > _MUCH:
        return None
    shorter_ns = 0 if jitter_ns else min(delay_ns, width_ns // 2)
    mean = netem_fields(netem, jitter_ns=0, delay_ns=delay_ns - shorter_ns, spread_ns=0)
    fields = {"netem": mean, "jitter": time_text(width_ns)}
    mended = case.again(pipe, fields)
    if mended is None:
        return None
    factor = _factor(case, mended, pipe, fields, flow)
    if factor is None:
        return None
    return Advice(
        "jitter",
        pipe,
        f"netem draws a delay for each packet, so a jitter of {span(width_ns / 2)} above "
        "the gap between packets reorders them",
        f"{percent(reordered)} of the packets reordered, {mbps(case, flow)}; the same delays in "
        f"order: {percent(mended.value('reordered_ratio', flow))}, {mbps(mended, flow)}; "
        f"{number(factor)} times as much in the mean of {_SEEDS} seeds",
        order(case, time_text(width_ns)),
    )


def _factor(case: Case, mended: Case, pipe: str, fields: dict[str, Any], flow: str) -> float | None:
    """Mean factor of goodput over seeds; None: it may be an error of sampling.

    Each seed is a pair; Student's t of the logarithms of their ratios, one-sided.
    """
    pairs = [(case, mended)]
    for seed in range(2, _SEEDS + 1):
        before, after = case.again(seed=seed), case.again(pipe, fields, seed=seed)
        if before is not None and after is not None:
            pairs.append((before, after))
    rates = [[one.value("goodput_mbps", flow) for one in pair] for pair in pairs]
    if len(rates) < _SEEDS or not all(rate > 0 for pair in rates for rate in pair):
        return None
    ratios = [math.log(after / before) for before, after in rates]
    mean = statistics.fmean(ratios)
    error = statistics.stdev(ratios) / math.sqrt(_SEEDS)
    return math.exp(mean) if mean > _STUDENT * error and mean > math.log(WORTH) else None
