"""Causes of unequal shares of a bottleneck, as far as the measurements of a cell tell them."""

from __future__ import annotations

import math

from dumbbell.metrics.numbers import number
from dumbbell.metrics.phases import Phase
from dumbbell.summary.causes import BY_MODEL, LOSS_BLIND, time_of
from dumbbell.summary.cells import CellLine
from dumbbell.summary.flow_lines import FlowLine

#: Base RTTs that differ by this factor explain unequal shares.
_RTT_APART = 1.3


def of_unequal_shares(cell: CellLine, one: FlowLine) -> str:
    """Why a flow has more, or less, than the others that share a bottleneck with it."""
    groups = [
        flow
        for flow in cell.flows
        if flow.fair_share is not None
        and (flow is one or not flow.narrowest or not flow.narrowest.isdisjoint(one.narrowest))
    ]
    others = [flow for flow in groups if flow is not one]
    parts = []
    if others and {flow.algorithm for flow in others} != {one.algorithm}:
        parts.append(_together(cell, groups))
        lost = any(flow.lost for flow in groups)
        taker = max(groups, key=lambda flow: flow.fair_share or 0.0)
        if taker.algorithm in LOSS_BLIND and lost:
            parts.append(f"{taker.algorithm} does not slow down for losses")
    elif one.hops and others and any(one.hops != flow.hops for flow in others if flow.hops):
        most = max(groups, key=lambda flow: flow.hops)
        more = _retransmitted(most, others)
        does = f"loses packets at {most.hops} bottlenecks{more}" if more else _passes(most)
        parts.append(f"{most.title} {does}")
    parts.append(_rtts(groups))
    return "; ".join(part for part in parts if part)


def _passes(flow: FlowLine) -> str:
    return f"passes {flow.hops} bottlenecks"


def _rtts(groups: list[FlowLine]) -> str:
    """`base RTTs from 10 to 30 ms, with queues 62 to 192 ms`; empty if they are much the same.

    Flows of several paths have several.
    """
    groups = [flow for flow in groups if flow.hops]
    base = [limit for flow in groups if flow.base_rtt_ms is not None for limit in flow.base_rtt_ms]
    if not base or max(base) <= _RTT_APART * min(base):
        return ""
    words = f"base RTTs from {number(min(base))} to {number(max(base))} ms"
    means = [flow.rtt_ms.mean for flow in groups if not math.isnan(flow.rtt_ms.mean)]
    # The mean of flows of one line whose base RTTs differ is that of none of them.
    apart = any(one[0] < one[1] for flow in groups if (one := flow.base_rtt_ms) is not None)
    if len(means) > 1 and not apart:
        words += f", with queues {number(min(means))} to {number(max(means))} ms"
    return words + _of_rtts(groups)


def _of_rtts(groups: list[FlowLine]) -> str:
    """What the RTTs do to the shares, if that is what is seen."""
    near = min(groups, key=lambda flow: flow.base_rtt_ms or (math.inf, math.inf))
    far = max(groups, key=lambda flow: flow.base_rtt_ms or (0.0, 0.0))
    ahead = near.goodput_mbps.mean > far.goodput_mbps.mean
    model = {near.algorithm, far.algorithm} <= set(BY_MODEL)
    if ahead and any(flow.lost for flow in groups) and not model:
        return ", and windows recover more slowly at a longer RTT"
    if model and not ahead:
        return ", and two BDP in flight are more at a longer RTT"
    return ""


def _retransmitted(one: FlowLine, others: list[FlowLine]) -> str:
    """` (5.2 % retransmitted, others at most 0.1 %)`."""
    known = [flow.lost for flow in others if flow.lost is not None and flow is not one]
    if one.lost is None or not known or max(known) >= one.lost:
        return ""
    rest = 100 * max(known)
    return f" ({100 * one.lost:.2g} % retransmitted, others at most {rest:.2g} %)"


def _together(cell: CellLine, groups: list[FlowLine]) -> str:
    """Goodput of each before and while all of them send."""
    titles = [flow.title for flow in groups]
    # While its bottleneck is down, a flow receives what had passed before.
    narrowest = {pipe for flow in groups for pipe in flow.narrowest}
    sampled = not all(narrowest.isdisjoint(phase.used) for phase in cell.phases)
    up = [phase for phase in cell.phases if not sampled or not narrowest.isdisjoint(phase.used)]
    alone = [phase for phase in up if _sending(phase, titles) == 1]
    together = [phase for phase in cell.phases if _sending(phase, titles) == len(titles)]
    if not together:
        return ""
    last = max(together, key=lambda phase: phase.end_s - phase.begin_s)
    each = {flow.title: " each" if flow.count > 1 else "" for flow in groups}
    shares = ", ".join(
        f"{title} {number(last.goodput_mbps[title])}{each[title]}" for title in titles
    )
    words = f"{time_of(last)}, together: {shares} Mbit/s"
    if alone:
        longest = max(alone, key=lambda phase: phase.end_s - phase.begin_s)
        (title,) = [one for one in titles if one in longest.goodput_mbps]
        rate = f"{number(longest.goodput_mbps[title])} Mbit/s{each[title]}"
        told = [words, f"{time_of(longest)}: {title} alone {rate}"]
        words = "; ".join(told if last.begin_s < longest.begin_s else reversed(told))
    return words


def _sending(phase: Phase, titles: list[str]) -> int:
    return sum(title in phase.goodput_mbps for title in titles)
