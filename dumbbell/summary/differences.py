"""Differences in the settings of cells that explain those of their results; a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dumbbell.catalogue import congestion_controls, disciplines
from dumbbell.metrics.numbers import number
from dumbbell.summary.causes import LOSS_BLIND, span_ms
from dumbbell.summary.cells import CellLine
from dumbbell.summary.links import LinkLine, arrow
from dumbbell.summary.setting import FlowSetting, PipeSetting

#: Sentences about some cells.
_MOST = 3
#: Share of reordered packets from which on their effect is told; share of spurious retransmissions
#: below which there is none.
_MUCH_REORDERED, _FEW_SPURIOUS = 0.01, 0.005
#: A sender that takes losses for congestion has less than this part of what others have.
_SLOW = 0.9
#: Share of transfers with a time-out from which on it matters.
_MANY_LATE = 0.01


def reasons(cells: list[CellLine]) -> str:
    """Sentences about what differs; empty if nothing does that explains a result."""
    one, other = cells[0], cells[-1]
    parts = [
        *_marking(cells),
        *_random_loss(cells),
        *_time_outs(cells),
        *_reordering(cells),
        *_spraying(cells),
        *_disciplines(cells),
        *_pipes(cells),
        *_connections(one, other),
        *_single_holes(cells),
        *_capacity(cells),
        *_applications(one, other),
    ]
    return " ".join(parts[:_MOST])


#: Ways to choose the next hop of a packet.
_SPRAYING = {
    "per_flow": "a hash keeps a flow on one path, where it may meet others while paths stay idle",
    "random": "each packet takes a path at random, so queues differ and packets are reordered",
    "round_robin": "packets take the paths in turn, so that all paths carry the same",
}


def _spraying(cells: list[CellLine]) -> Iterable[str]:
    policies = [cell.setting.spraying if cell.setting else "" for cell in cells]
    if len(set(policies)) > 1 and all(policy in _SPRAYING for policy in policies):
        told = (f"{policy}: {_SPRAYING[policy]}" for policy in dict.fromkeys(policies))
        yield "; ".join(told) + "."


def _disciplines(cells: list[CellLine]) -> Iterable[str]:
    """`CoDel: signals while packets have waited longer than a target for an interval.`"""
    found: dict[str, None] = {}
    pipes = [cell.setting.pipes if cell.setting else {} for cell in cells]
    for name in dict.fromkeys(link.pipe for cell in cells for link in cell.links):
        here = [own[name].inside for own in pipes if name in own]
        # A discipline that a link has in every cell explains no difference.
        common = set[str].intersection(*map(set, here)) if here else set()
        found |= {one: None for names in here for one in names if one not in common}
    for name in found:
        if name in disciplines():
            yield f"{disciplines()[name].title}: {_lower(disciplines()[name].about)}"


def _marking(cells: list[CellLine]) -> Iterable[str]:
    """Algorithms that some cells have, and that need marks."""
    kinds = [{flow.algorithm for flow in cell.flows} for cell in cells]
    for one in congestion_controls().values():
        if one.needs_ecn and len({one.title in own for own in kinds}) > 1:
            yield f"{one.title}: {_lower(one.about)}"


def _time_outs(cells: list[CellLine]) -> Iterable[str]:
    """Time-outs of short transfers (RFC 5681 §3.2: fast retransmit needs three duplicate ACKs)."""
    late = [cell.timed_out for cell in cells if cell.timed_out is not None]
    if len(late) == len(cells) and max(late) >= _MANY_LATE and max(late) > 2 * min(late):
        yield (
            "Few ACKs follow the losses of a short transfer, so it waits for a time-out, which "
            "lasts longer than most transfers."
        )


def _reordering(cells: list[CellLine]) -> Iterable[str]:
    """Effect of reordering on senders."""
    much = [cell for cell in cells if (cell.reordered or 0.0) >= _MUCH_REORDERED]
    known = [cell.reordering_packets for cell in much if cell.reordering_packets is not None]
    if not known:
        return
    allowed = " / ".join(dict.fromkeys(number(round(packets)) for packets in known))
    if max(cell.spurious or 0.0 for cell in much) < _FEW_SPURIOUS:
        yield (
            "Few of the reordered packets are taken for lost: senders allow for a reordering of up "
            f"to {allowed} packets."
        )
    else:
        yield (
            "Where packets are reordered, senders take some for lost and reduce their windows, "
            f"although they come to allow for a reordering of {allowed} packets."
        )


def _random_loss(cells: list[CellLine]) -> Iterable[str]:
    """BBR's model does not count losses (BBR v1)."""
    one, kinds = cells[0], [{flow.algorithm for flow in cell.flows} for cell in cells]
    lossy = any(
        pipe.loss or any("loss" in words for _, words in pipe.changes)
        for pipe in (one.setting.pipes.values() if one.setting else ())
    )
    changed = {kind for own in kinds for kind in own if not all(kind in one for one in kinds)}
    lost = any(link.drops.get("random loss") for cell in cells for link in cell.links)
    blind = sorted(changed.intersection(LOSS_BLIND))
    # Others may stand them as well (Copa).
    fast = max((_mbps(cells, kind) for kind in blind), default=0.0)
    slow = (kind for kind in changed.difference(LOSS_BLIND) if _mbps(cells, kind) < _SLOW * fast)
    others = sorted(slow)
    if lossy and lost and blind and others:
        verb = "do" if len(others) > 1 else "does"
        does = "do" if len(blind) > 1 else "does"
        each = [max((_random(link) for link in cell.links), default=0.0) for cell in cells]
        # Other drops stand beside it: the sentence is about few of them.
        much = "" if _random_alone(cells) else f" ({_spread(each)} % of the packets)"
        yield (
            f"{' and '.join(blind)} {does} not take random losses{much} for congestion; "
            f"{' and '.join(others)} {verb}."
        )


def _random(link: LinkLine) -> float:
    """Packets lost at random, in percent of the packets offered."""
    return 100 * link.drops.get("random loss", 0.0)


def _random_alone(cells: list[CellLine]) -> bool:
    """True if most drops of each link are random losses."""
    links = [link for cell in cells for link in cell.links if link.dropped]
    return all(_random(link) > 50 * (link.dropped or 0.0) for link in links)


def _mbps(cells: list[CellLine], kind: str) -> float:
    """Largest mean goodput of a flow with this algorithm."""
    flows = (flow for cell in cells for flow in cell.flows if flow.algorithm == kind)
    return max((flow.goodput_mbps.mean for flow in flows), default=0.0)


def _pipes(cells: list[CellLine]) -> Iterable[str]:
    settings = [cell.setting for cell in cells if cell.setting is not None]
    if len(settings) < len(cells):
        return
    named = {link.pipe for cell in cells for link in cell.links}
    for name in sorted(named.intersection(*(one.pipes for one in settings))):
        pipes = [one.pipes[name] for one in settings]
        first, last = pipes[0], pipes[-1]
        if first.inside != last.inside:
            return
        if first.bursty_loss != last.bursty_loss and first.loss and last.loss:
            yield "A burst of losses reduces the window once, as a single loss does."
            return
        if words := _limits(pipes):
            of = f" of {arrow(name)}" if len(named) > 1 else ""
            yield f"The queue limit{of} is {words}."
            return


def _spread(values: list[float]) -> str:
    """`10 / 66` of two, `10 to 66` of more; one number where they are the same to three digits."""
    if len(values) == 2:
        return " / ".join(dict.fromkeys(map(number, values)))
    return " to ".join(dict.fromkeys((number(min(values)), number(max(values)))))


def _limits(pipes: list[PipeSetting]) -> str:
    """`10 / 66 packets: 6 / 40 ms of full frames`."""
    packets = [float(round(one.limit_packets)) for one in pipes if one.limit_packets is not None]
    if len(packets) < len(pipes) or len(set(map(number, packets))) == 1:
        return ""
    words = f"{_spread(packets)} packets"
    times = [one.limit_ms for one in pipes if one.limit_ms is not None]
    if len(times) < len(pipes):
        return words
    if len(times) == 2:
        spans = " / ".join(dict.fromkeys(map(span_ms, times)))
    else:
        spans = _spread([one for both in times for one in both])
    return f"{words}: {spans} ms of full frames"


def _capacity(cells: list[CellLine]) -> Iterable[str]:
    """More paths, or a wider link."""
    rates = [
        max((flow.rate_mbps for flow in cell.flows if flow.rate_mbps is not None), default=None)
        for cell in cells
    ]
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(cells) or len(set(map(number, known))) == 1:
        return
    flows = [flow for cell in cells if cell.setting for flow in cell.setting.flows.values()]
    what = "The widest path of a flow carries"
    if any(flow.paths > 1 for flow in flows):
        also = ", backups included," if any(flow.backups for flow in flows) else ""
        what = f"All paths of a flow{also} together carry"
    yield f"{what} {_spread(known)} Mbit/s."


def _single_holes(cells: list[CellLine]) -> Iterable[str]:
    """SACK tells more than ACKs only of several losses in a window (RFC 6675 §1)."""
    known = {cell.setting.sack for cell in cells if cell.setting is not None}
    lost = [cell.segments_per_recovery for cell in cells]
    if known >= {True, False} and all(count is not None and count <= 1 for count in lost):
        yield "Each recovery repairs one segment; duplicate ACKs alone tell which."


def _connections(one: CellLine, other: CellLine) -> Iterable[str]:
    """More connections for the same pages begin with more windows."""
    counts = [count for count in (one.page_connections, other.page_connections) if count]
    if len(counts) == 2 and counts[0] != counts[1]:
        yield (
            f"The pages are loaded over {' / '.join(map(number, counts))} connections; each begins "
            "with its own initial window."
        )


def _applications(one: CellLine, other: CellLine) -> Iterable[str]:
    """An application that does not always have data, or does not always read."""
    for words, value in _LIMITS.items():
        limits = [
            min(
                (rate for flow in cell.setting.flows.values() if (rate := value(flow))),
                default=None,
            )
            for cell in (one, other)
            if cell.setting is not None
        ]
        known = [rate for rate in limits if rate is not None]
        if known and len(set(limits)) > 1:
            yield f"{words} {number(min(known))} Mbit/s."


#: Rates of the ends of a flow.
_LIMITS: dict[str, Callable[[FlowSetting], float | None]] = {
    "The sending application writes only": lambda flow: flow.written_mbps,
    "The receiving application reads only": lambda flow: flow.read_mbps,
}


def _lower(text: str) -> str:
    """`a queue …`; a name in capitals stays: `ECN …`."""
    return text if text[1:2].isupper() else text[0].lower() + text[1:]
