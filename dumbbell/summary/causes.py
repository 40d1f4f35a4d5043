"""Causes of findings, as far as the setting and the measurements of a cell tell them.

Each function returns a clause that follows a colon, or nothing where no cause is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from dumbbell.catalogue import disciplines
from dumbbell.metrics.numbers import number
from dumbbell.metrics.phases import Phase
from dumbbell.summary.cells import CellLine
from dumbbell.summary.flow_lines import FlowLine
from dumbbell.summary.links import LinkLine, arrow
from dumbbell.summary.pipe_words import size_words
from dumbbell.summary.setting import PipeSetting

#: Algorithms that keep up to two BDP in flight, by a model of the path.
BY_MODEL = ("BBR", "BBR v3", "quinn BBR", "s2n BBR")
#: Those whose model leaves losses out (BBR v1).
LOSS_BLIND = ("BBR", "quinn BBR")
#: A loss-based sender needs about a BDP of buffer (Appenzeller et al. 2004, §2); below half of it
#: the line runs empty after a reduction.
_SHORT_OF_BDP = 0.5
#: Random loss, or a policer, is the cause where it is more than this part of all loss.
_MOST_OF_LOSS = 0.5
#: From so many flows on, each has few packets under way.
_MANY = 20
#: Flows of a kind fill a queue if they have more than this share of the goodput, and matter for a
#: loss if they send more than this share of what the link carries.
_MUCH = 0.3
#: A mean window of so many BDP, and BBR's least window of 4 packets, is more than two BDP.
_ABOVE_TWO, _LEAST_WINDOW = 3, 4
#: Congestion controls of Multipath TCP that couple the windows of subflows.
_COUPLED = ("LIA", "OLIA", "BALIA")
#: Below so many packets in the window, a loss is rarely followed by three duplicate ACKs (RFC 5681
#: §3.2), and a time-out repairs it.
_SMALL_WINDOW = 6
#: Minimum RTO of Linux (TCP_RTO_MIN): a wait of one is no back-off, s.
_RTO_MIN_S = 0.2
#: Uses of two phases that differ by more are told.
_USE_APART = 0.1


def at(cell: CellLine, pipe: str) -> list[FlowLine]:
    """Flows of a cell that this pipe limits, or of which that is not known."""
    return [flow for flow in cell.flows if not flow.narrowest or pipe in flow.narrowest]


def crossing(cell: CellLine, pipe: str) -> list[FlowLine]:
    """Flows of a cell whose data may pass this pipe, or of which that is not known."""
    return [flow for flow in cell.flows if not flow.pipes or pipe in flow.pipes]


def of_standing_queue(cell: CellLine, link: LinkLine) -> str:
    """Why a queue does not drain."""
    if cell.setting is None or link.pipe not in cell.setting.pipes:
        return ""
    pipe = cell.setting.pipes[link.pipe]
    silent = _silent(pipe, link)
    if pipe.discipline != "drop_tail" and not silent:
        return ""
    limit = f"{silent}the queue limit is {_limit(pipe)}"
    if pipe.limit_bytes is None:
        limit = f"{silent}the queue has no limit"
    elif pipe.limit_ms is not None:
        limit += f" ({span_ms(pipe.limit_ms)} ms of full frames)"
    kinds = _filling(cell, link)
    if not kinds:
        return limit
    if kinds == {"UDP"}:
        return f"{limit}, and UDP sends more than the link carries"
    names, several = " and ".join(sorted(kinds)), len(kinds) > 1
    fits = f"what {names} {'have' if several else 'has'} in flight fits into it"
    if kinds <= set(BY_MODEL):
        keep = f"{limit}, and {names} {'keep' if several else 'keeps'} up to two BDP in flight"
        return keep + _estimated(cell, link)
    if not link.dropped:
        return f"{limit}, and {fits}"
    if link.late_overflow == 0:
        return f"{limit}; it drops at first, and in the second half of the load {fits}"
    return f"{limit}, and {_fill(sorted(kinds - set(BY_MODEL)))} it until it drops"


def _estimated(cell: CellLine, link: LinkLine) -> str:
    """Windows above two BDP: of a path whose RTT a sender never sees without a queue."""
    for flow in crossing(cell, link.pipe):
        window, bdp = flow.window_packets or 0.0, flow.bdp_packets or 0.0
        if flow.algorithm in BY_MODEL and bdp and window > _ABOVE_TWO * bdp + _LEAST_WINDOW:
            words = f"mean window {number(window)} packets, BDP {number(bdp)}"
            return f" as it estimates them ({words})"
    return ""


def _silent(pipe: PipeSetting, link: LinkLine) -> str:
    """`CoDel signals nothing below its target of 5 ms; `, where that is what keeps a queue."""
    if pipe.target_ms is None or link.marked or link.drops.get("AQM"):
        return ""
    title = disciplines()[pipe.discipline].title
    return f"{title} signals nothing below its target of {number(pipe.target_ms)} ms; "


def _filling(cell: CellLine, link: LinkLine) -> set[str]:
    """Algorithms of the flows that fill a queue."""
    flows = [flow for flow in crossing(cell, link.pipe) if flow.algorithm != "ping"]
    kinds = {flow.algorithm for flow in flows if _share(flows, flow.algorithm) > _MUCH}
    rates = cell.setting.pipes[link.pipe].rates_bps if cell.setting else None
    if _sent_mbps(flows, "UDP") > max(link.throughput_mbps, rates[1] * 1e-6 if rates else 0.0):
        return {"UDP"}
    if bulk := {flow.algorithm for flow in flows if flow.bulk}:
        # A flow that always has data fills the queue, even at a small share of the rate.
        return kinds - {"UDP"} or bulk
    return kinds


def of_underuse(cell: CellLine, link: LinkLine, *, loaded: bool) -> str:
    """Why a bottleneck with bulk traffic is not full, or not under load (loaded)."""
    phases = [phase for phase in cell.phases if phase.loaded or not loaded]
    told = (
        _use_by_phase(cell, link, phases),
        _backed_off(cell, link),
        _random_loss(cell, link),
        _idle_between_bursts(cell, link),
    )
    parts = [words for words in told if words]
    return (
        "; ".join(parts)
        or _policed(cell, link)
        or _short_buffer(cell, link)
        or _host_buffer(cell, link)
        or _blocked(cell)
        or _coupling(cell)
    )


def of_loss(cell: CellLine, link: LinkLine) -> str:
    """Why a bottleneck drops many packets."""
    if not any(link.drops.values()):
        return ""
    why = max(link.drops, key=lambda reason: link.drops[reason])
    if cell.setting is None or link.pipe not in cell.setting.pipes:
        return why
    pipe = cell.setting.pipes[link.pipe]
    if why == "policer":
        words = "its policer drops what exceeds the rate at once, before the queue"
    elif why == "overflow" and pipe.limit_bytes:
        words = f"overflow of a queue of {_limit(pipe)}"
    elif why == "AQM" and pipe.filters_acks:
        return "CAKE's ACK filter removes ACKs that later ones make needless, or AQM"
    else:
        return why
    passing = crossing(cell, link.pipe)
    burst = max((flow.burst_packets for flow in passing), default=0.0)
    if why == "overflow" and pipe.limit_packets and burst > pipe.limit_packets:
        return f"{words}, and {_packets(burst)} of UDP arrive in a burst"
    senders = [flow for flow in at(cell, link.pipe) if flow.bulk]
    flows = sum(flow.count for flow in senders)
    bdp = max((flow.bdp_packets or 0.0 for flow in senders), default=0.0)
    if why == "overflow" and pipe.limit_packets and flows >= _MANY:
        each = (bdp + pipe.limit_packets) / flows
        return f"{words}; path and queue hold {number(each)} packets for each of {flows} flows"
    least = _MUCH * link.throughput_mbps
    unmoved = [kind for kind in ("UDP", *LOSS_BLIND) if _sent_mbps(passing, kind) > least]
    if unmoved:
        verb = "do" if len(unmoved) > 1 else "does"
        words += f"; {' and '.join(unmoved)} {verb} not slow down for losses"
    return words


def of_timeouts(cell: CellLine, flow: FlowLine) -> str:
    """Why losses were not repaired by fast retransmit."""
    if flow.outage_s:
        return f"its path is down for {number(flow.outage_s)} s"
    if flow.window_packets is None or flow.window_packets >= _SMALL_WINDOW:
        return ""
    return (
        f"its mean window is {number(flow.window_packets)} packets, so few ACKs follow a loss that "
        "could reveal it"
    )


def _share(flows: list[FlowLine], kind: str) -> float:
    """Part of the goodput of some flows that is of those of this kind."""
    rates = [(flow.algorithm, flow.goodput_mbps.mean * flow.count) for flow in flows]
    rates = [(own, rate) for own, rate in rates if rate > 0]
    whole = sum(rate for _, rate in rates)
    return sum(rate for own, rate in rates if own == kind) / whole if whole else 0.0


def _sent_mbps(flows: list[FlowLine], kind: str) -> float:
    """Payload that flows of this kind carried into the network, Mbit/s."""
    return sum(
        flow.goodput_mbps.mean * flow.count / (1 - flow.lost)
        for flow in flows
        if flow.algorithm == kind and flow.lost is not None and flow.lost < 1
    )


def _use_by_phase(cell: CellLine, link: LinkLine, phases: list[Phase]) -> str:
    """`by phase → up 0–10 s 99 %, 10–20 s 22 %`, if uses differ."""
    known = [(phase, phase.used[link.pipe]) for phase in phases if link.pipe in phase.used]
    uses = [used for _, used in known]
    if len(known) < 2 or max(uses) - min(uses) < _USE_APART:
        return ""
    pipe = cell.setting.pipes[link.pipe] if cell.setting else None
    told = []
    for phase, used in known:
        new = pipe.change_in(phase.begin_s, phase.end_s) if pipe else ""
        told.append(f"{time_of(phase)}{f' ({new})' if new else ''} {100 * used:.0f} %")
    of = f" of {arrow(link.pipe)}" if len(cell.links) > 1 else ""
    return f"use{of} by phase {', '.join(told)}"


def _backed_off(cell: CellLine, link: LinkLine) -> str:
    """Idle time after an outage, until the time-out that finds the link up (RFC 6298 §5.5)."""
    waits = [
        flow for flow in at(cell, link.pipe) if flow.timeouts and (flow.resume_s or 0) > _RTO_MIN_S
    ]
    if not waits:
        return ""
    # A subflow says more than its connection.
    longest = max(waits, key=lambda flow: (flow.resume_s or 0.0, len(flow.title)))
    return (
        f"{longest.title} has no new data at its receiver until {number(longest.resume_s)} s after "
        "an outage: its RTO doubles with each time-out, so the next comes late"
    )


def _idle_between_bursts(cell: CellLine, link: LinkLine) -> str:
    pipe = cell.setting.pipes.get(link.pipe) if cell.setting else None
    burst = max((flow.burst_packets for flow in crossing(cell, link.pipe)), default=0.0)
    if pipe is None or pipe.limit_packets is None or burst <= pipe.limit_packets:
        return ""
    return "bursts of UDP overflow the queue, and the line is idle between them"


def _random_loss(cell: CellLine, link: LinkLine) -> str:
    random = link.drops.get("random loss", 0.0)
    if not link.dropped or random < _MOST_OF_LOSS * link.dropped:
        return ""
    senders = [flow for flow in cell.flows if flow.bulk and flow.algorithm not in BY_MODEL]
    if not senders:
        return ""
    words = f"{100 * random:.2g} % random loss, which {_names(senders)} takes for congestion"
    window, bdp = senders[0].window_packets, senders[0].bdp_packets
    if window is not None and bdp is not None and window < bdp:
        words += f" (mean window {number(window)} packets, BDP {number(bdp)})"
    return words


def _short_buffer(cell: CellLine, link: LinkLine) -> str:
    if cell.setting is None or not link.drops.get("overflow"):
        return ""
    pipe = cell.setting.pipes.get(link.pipe)
    bdp = _largest_bdp(cell, link)
    if pipe is None or pipe.limit_packets is None or not bdp:
        return ""
    if pipe.limit_packets > _SHORT_OF_BDP * bdp:
        return ""
    return (
        f"the queue limit of {_limit(pipe)} is {pipe.limit_packets / bdp:.2g} BDP, "
        "and after a loss the reduced window does not fill the line"
    )


def _policed(cell: CellLine, link: LinkLine) -> str:
    """Small burst of a policer, all the buffer there is."""
    pipe = cell.setting.pipes.get(link.pipe) if cell.setting else None
    bdp = _largest_bdp(cell, link)
    policed = link.drops.get("policer", 0.0)
    if pipe is None or pipe.policer_bytes is None or not bdp or not policed:
        return ""
    share = pipe.policer_bytes / pipe.frame_bytes / bdp
    if share > _SHORT_OF_BDP or policed < _MOST_OF_LOSS * (link.dropped or 0.0):
        return ""
    return (
        f"its policer has no queue, and a burst of {size_words(pipe.policer_bytes)} is "
        f"{share:.2g} BDP; after a loss the reduced window does not fill the line"
    )


def _host_buffer(cell: CellLine, link: LinkLine) -> str:
    """Buffer of a host that holds less than the BDP, where nothing is dropped."""
    bdp = _largest_bdp(cell, link)
    if cell.setting is None or link.dropped or not bdp:
        return ""
    every = [one for one in cell.setting.flows.values() if one.buffers]
    if len(every) != 1:
        return ""
    # Of a receive buffer, half is window (tcp_adv_win_scale).
    room = {
        name: size / (2 if name == "tcp_rmem" else 1) for name, size in every[0].buffers.items()
    }
    name, size = min(room.items(), key=lambda one: one[1])
    share = size / every[0].frame_bytes / bdp
    if share >= 1:
        return ""
    most = size_words(every[0].buffers[name])
    if name == "tcp_rmem":
        return f"of the receive buffer (tcp_rmem) of at most {most} half is window, {share:.2g} BDP"
    return f"the send buffer (tcp_wmem) of at most {most} is {share:.2g} BDP"


def _largest_bdp(cell: CellLine, link: LinkLine) -> float | None:
    flows = [flow for flow in at(cell, link.pipe) if flow.bulk]
    return max((flow.bdp_packets for flow in flows if flow.bdp_packets is not None), default=None)


#: A connection that waits for so much of its life is held up.
_MUCH_BLOCKED = 0.1


def _blocked(cell: CellLine) -> str:
    """Head-of-line blocking of a Multipath TCP connection (RFC 6182 §3.2)."""
    long = [flow for flow in cell.flows if (flow.blocked or 0.0) > _MUCH_BLOCKED]
    if not long:
        return ""
    worst = max(long, key=lambda flow: flow.blocked or 0.0)
    return (
        f"for {100 * (worst.blocked or 0.0):.0f} % of its life the receiver of {worst.title} waits "
        "for data of the other path (head-of-line blocking)"
    )


def _coupling(cell: CellLine) -> str:
    """RFC 6356 §2, goals 1 and 2."""
    kinds = {flow.algorithm for flow in cell.flows}
    coupled = [kind for kind in _COUPLED if kind in kinds]
    if not coupled or not kinds <= set(_COUPLED):
        return ""
    return (
        f"{coupled[0]} couples its windows: together they grow no faster than one TCP on the best "
        "path (RFC 6356)"
    )


def _fill(kinds: list[str]) -> str:
    """`CUBIC fills`, `CUBIC and Reno fill`."""
    names = list(dict.fromkeys(kinds))
    return f"{' and '.join(names)} {'fill' if len(names) > 1 else 'fills'}"


def _names(flows: Iterable[FlowLine]) -> str:
    """`CUBIC and UDP`."""
    return " and ".join(dict.fromkeys(flow.algorithm for flow in flows))


def _limit(pipe: PipeSetting) -> str:
    """Queue limit in its own unit; in packets of any length only where it counts them."""
    full = _packets(pipe.limit_packets)
    if not pipe.in_bytes:
        return full
    return f"{size_words(pipe.limit_bytes or 0)}, about {full.replace(' ', ' full ', 1)}"


def span_ms(limits: tuple[float, float]) -> str:
    """`62.5`, or `62.5 to 250` where they differ."""
    return " to ".join(dict.fromkeys(map(number, limits)))


def _packets(count: float | None) -> str:
    whole = round(count or 0)
    return f"{number(whole)} packet{'' if whole == 1 else 's'}"


def time_of(phase: Phase) -> str:
    """`0–10 s`."""
    return f"{number(round(phase.begin_s, 1))}–{number(round(phase.end_s, 1))} s"
