"""What stands out, by fixed rules: a sentence each, the gravest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dumbbell.metrics import jain_index
from dumbbell.metrics.numbers import number
from dumbbell.summary import causes
from dumbbell.summary.cells import CellLine
from dumbbell.summary.flow_lines import FlowLine
from dumbbell.summary.links import LOSSY, LinkLine, arrow
from dumbbell.summary.share_causes import of_unequal_shares

#: A flow starves below this part of its fair share.
STARVED = 0.1
#: CoDel's target (RFC 8289 §4.4) times five: a tenth percentile of the queueing delay above it is a
#: standing queue.
TARGET_MS = 5.0
STANDING_MS = 5 * TARGET_MS
#: In networks of short RTTs, so many base RTTs are one, too.
STANDING_RTTS = 2
#: A bottleneck with bulk traffic that carries less of its rate is underused.
UNDERUSED = 0.9
#: Bulk flows that deliver a smaller part of their best rate in a phase have ended.
_ENDING = 0.05
#: Flows without retransmissions.
_NO_SENDERS = ("UDP", "ping")
#: How much graver shares are per unit of Jain's index: two flows at 0.5 are as grave as a queue of
#: four times the limit.
_PER_JAIN = 10
#: Jain's index below which flows share unequally.
UNEQUAL = 0.9


@dataclass(frozen=True)
class Finding:
    """A finding.

    Attributes:
        rule: Name of its rule.
        gravity: How grave it is: larger is worse, 1 is the edge.
        sentence: It in words.
        levels: Factor → level of the cell where it is gravest.
    """

    rule: str
    gravity: float
    sentence: str
    levels: dict[str, str]


#: Gravity, words, and the cause; empty if it is not known.
_Case = tuple[float, str, str]
_Rule = Callable[[CellLine], Iterable[_Case]]


def findings(cells: list[CellLine]) -> list[Finding]:
    """All that stands out: the worst case of each rule, and in how many cells it holds."""
    found = []
    for name, rule in _RULES.items():
        worst = [(*max(cases), cell) for cell in cells if (cases := list(rule(cell)))]
        if worst:
            gravity, words, cause, cell = max(worst, key=lambda one: one[0])
            where = ", ".join(f"{factor} {level}" for factor, level in cell.levels.items())
            others = len(worst) - 1
            sentence = f"{where}: {words}" if where else words
            sentence += f": {cause}." if cause else "."
            # The cause is of this cell alone.
            if others:
                cells_too = f"{others} other cell{'s' if others > 1 else ''}"
                sentence += f" {_ALSO[name]} in {cells_too}, too."
            found.append(Finding(name, gravity, sentence, cell.levels))
    # Time-outs are what comes of the other findings: last.
    return sorted(found, key=lambda one: (one.rule == "time-outs", -one.gravity))


def gravest(cells: list[CellLine]) -> dict[str, str]:
    """Levels of the cell of the gravest finding; empty if nothing stands out."""
    found = findings(cells)
    return found[0].levels if found else {}


def nothing_stands_out(cells: list[CellLine]) -> str:
    """Sentence for a run without findings: what was looked for, and what was not measured."""
    queues = any(link.delay_p10_ms is not None for cell in cells for link in cell.links)
    drops = all(link.dropped is not None for cell in cells for link in cell.links)
    bulk = any(cell.bulk for cell in cells)
    used = any(_use(cell, link) is not None for cell in cells if cell.bulk for link in cell.links)
    each = " in each cell" if len(cells) > 1 else ""
    full = f"a link at {100 * UNDERUSED:.0f} % or more while bulk flows send{each}"
    senders = [flow for cell in cells for flow in cell.flows if flow.algorithm not in _NO_SENDERS]
    counted = all(flow.timeouts is not None for flow in senders)
    looked = [
        *(["no starvation"] if bulk else []),
        *([full] if used else []),
        *(["no standing queue"] if queues else []),
        *([f"no link that drops more than {_percent(LOSSY)}"] if drops else []),
        *([_few_time_outs(senders)] if senders and counted else []),
    ]
    repaired = counted and any(flow.lost for flow in senders)
    kind = "of TCP " if any(f.algorithm == "UDP" and f.lost for c in cells for f in c.flows) else ""
    repaired &= not any(flow.timeouts for flow in senders)
    also = f" All losses {kind}were repaired by fast retransmit" if repaired else ""
    times = [cell.recovery_ms for cell in cells if cell.recovery_ms is not None]
    if also and times:
        spread = number(min(times)), number(max(times))
        also += f", in {' to '.join(dict.fromkeys(spread))} ms from the first duplicate ACK"
    if not counted:
        unknown = dict.fromkeys(one.algorithm for one in senders if one.timeouts is None)
        also = f" Time-outs of {' and '.join(unknown)} are not known"
    also += "." if also else ""
    told = f": {', '.join(looked)}" if looked else ""
    return f"Nothing stands out{told}.{also}"


def _few_time_outs(senders: list[FlowLine]) -> str:
    """`no time-outs`, or those of the flows that have most: fewer than they are."""
    worst = max(senders, key=lambda flow: flow.timeouts or 0.0)
    if not worst.timeouts:
        return "no time-outs"
    return f"few time-outs ({number(worst.timeouts)} per run of {worst.title})"


def _starvation(cell: CellLine) -> Iterable[_Case]:
    for flow in cell.flows:
        if flow.fair_share is not None and flow.fair_share < STARVED:
            who = flow.title if flow.count == 1 else f"one of {flow.title}"
            words = f"{who} starves at {_percent(flow.fair_share)} of its fair share"
            gravity = min(STARVED / max(flow.fair_share, 1e-3), 100.0)
            yield gravity, words, of_unequal_shares(cell, flow)
        elif flow.bulk and flow.fair_share is None and flow.joint_share is not None:
            # Alone among datagrams: an equal share is what as many flows would get each.
            beside = [other for other in cell.flows if other.joint_share is not None]
            fair = flow.count / sum(other.count for other in beside)
            datagrams = any(other.algorithm == "UDP" for other in beside)
            if datagrams and flow.joint_share < STARVED * fair:
                words = f"{flow.title} starves at {_percent(flow.joint_share)} of its bottleneck"
                gravity = min(STARVED * fair / max(flow.joint_share, 1e-3), 100.0)
                yield gravity, words, "UDP does not slow down for losses"


def _standing_queue(cell: CellLine) -> Iterable[_Case]:
    rtts = [flow.base_rtt_ms[1] for flow in cell.flows if flow.base_rtt_ms is not None]
    limit = min(STANDING_MS, STANDING_RTTS * max(rtts, default=0.0) or STANDING_MS)
    for link in cell.links:
        least = link.delay_p10_ms
        # Delays are of packets: a queue that is often empty is none, however long it is at times.
        used = _use(cell, link)
        drains = used is not None and used < UNDERUSED
        if least is not None and least > limit and not drains:
            words = (
                f"{arrow(link.pipe)} has a standing queue (delay p10 {number(least)}, median "
                f"{number(link.delay_p50_ms)}, p95 {number(link.delay_p95_ms)} ms)"
            )
            yield least / limit, words, causes.of_standing_queue(cell, link)
    if all(link.delay_p10_ms is None for link in cell.links):
        yield from _long_rtt(cell, limit)


def _long_rtt(cell: CellLine, limit: float) -> Iterable[_Case]:
    """Standing queue of a cell whose queues were not sampled, as its RTTs show it."""
    for flow in cell.flows:
        uses = [_use(cell, link) for link in cell.links if link.pipe in flow.narrowest]
        # A link that is idle at times has no queue then.
        drains = any(uses) and max(used or 0.0 for used in uses) < UNDERUSED
        if flow.bulk and flow.base_rtt_ms is not None and not drains:
            waited = flow.rtt_ms.mean - flow.base_rtt_ms[1]
            if waited > limit:
                words = (
                    f"{flow.title} waits in a standing queue: mean RTT {number(flow.rtt_ms.mean)}"
                )
                base = number(flow.base_rtt_ms[1])
                yield waited / limit, f"{words} ms, base RTT {base} ms", ""


def _underused(cell: CellLine) -> Iterable[_Case]:
    used = [share for link in cell.links if (share := _use(cell, link)) is not None]
    if cell.bulk and used and max(*used, _fullest(cell), _fullest_in_turn(cell)) < UNDERUSED:
        (link,) = [link for link in cell.links if _use(cell, link) == max(used)][:1]
        who = f"{arrow(link.pipe)} carries only" if len(used) == 1 else "no link carries more than"
        loaded = _told_under_load(cell, link)
        when = " over the time of load" if loaded else " while flows are under way"
        most = max(used) if len(used) == 1 else max(*used, _fullest(cell))
        words = f"{who} {_percent(most)} of what it could{when}"
        yield UNDERUSED / max(max(used), 1e-3), words, causes.of_underuse(cell, link, loaded=loaded)


def _fullest(cell: CellLine) -> float:
    """Use of the fullest link of each run, mean over the repeats."""
    loaded = cell.worst.get("used_under_load") if cell.load_share is not None else None
    return loaded if loaded is not None else cell.worst.get("used", 0.0)


def _fullest_in_turn(cell: CellLine) -> float:
    """Use of the fullest link of each phase, by its length; 0 if that of one is not known.

    Phases of small traffic alone, before the bulk flows and after them, do not count.
    """
    bulk = [flow for flow in cell.flows if flow.bulk]
    parts = list(cell.phases)
    if not any(flow.outage_s for flow in bulk):  # Behind an outage, a phase without data is one.
        rates = [sum(one.goodput_mbps.get(flow.title, 0.0) for flow in bulk) for one in parts]
        sent = [place for place, rate in enumerate(rates) if rate > _ENDING * max(rates)]
        parts = parts[sent[0] : sent[-1] + 1] if sent else parts
    lengths = [phase.end_s - phase.begin_s for phase in parts]
    if not lengths or not all(phase.used for phase in parts):
        return 0.0
    used = [max(one.used.values()) * length for one, length in zip(parts, lengths, strict=True)]
    return sum(used) / sum(lengths)


def _told_under_load(cell: CellLine, link: LinkLine) -> bool:
    """True if the use of a link is told of the time of load."""
    return link.used_under_load is not None and cell.load_share is not None


def _use(cell: CellLine, link: LinkLine) -> float | None:
    """Use of a link under load; if that tells little, while any flow is under way."""
    return link.used_under_load if _told_under_load(cell, link) else link.used


def _lossy(cell: CellLine) -> Iterable[_Case]:
    for link in cell.links:
        if link.dropped is not None and link.dropped > LOSSY:
            words = f"{arrow(link.pipe)} drops {_percent(link.dropped)} of its packets"
            yield link.dropped / LOSSY, words, causes.of_loss(cell, link)


def _timeouts(cell: CellLine) -> Iterable[_Case]:
    for flow in cell.flows:
        if flow.timeouts is not None and flow.timeouts >= flow.count:
            noun = "time-out" if flow.timeouts == 1 else "time-outs"
            words = f"{flow.title} has {number(flow.timeouts)} {noun} per run"
            yield 1 + flow.timeouts / 10, words, causes.of_timeouts(cell, flow)


def _unequal(cell: CellLine) -> Iterable[_Case]:
    known = [link for link in cell.links if link.jain is not None and link.jain < UNEQUAL]
    if not known or any(_starvation(cell)):
        return
    link = min(known, key=lambda one: one.jain or 0.0)
    groups = [
        flow
        for flow in causes.at(cell, link.pipe)
        if flow.joint_share is not None and flow.fair_share is not None
    ]
    if not groups:
        return
    index = link.jain or 0.0
    gravity = 1 + _PER_JAIN * (UNEQUAL - index)
    words = f"flows share {arrow(link.pipe)} unequally (Jain's index {number(index)}"
    each = [(flow.joint_share or 0.0) / flow.count for flow in groups for _ in range(flow.count)]
    if len(groups) > 1 and jain_index(each) >= UNEQUAL:
        # Equal on average over the repeats: in each, other flows have more.
        yield gravity, f"{words}; which of them has more changes from repeat to repeat)", ""
        return
    most = max(groups, key=lambda flow: (flow.joint_share or 0.0) / flow.count)
    share = _percent(most.joint_share or 0.0)
    taken = f"; {most.title} takes {share} while all send" if len(groups) > 1 else ""
    datagrams = sum(
        flow.joint_share or 0.0
        for flow in causes.at(cell, link.pipe)
        if flow.algorithm == "UDP" and flow.bulk is False
    )
    if taken and datagrams > (most.joint_share or 0.0):
        taken = f"; UDP takes {_percent(datagrams)} and {most.title} {share} while all send"
    yield gravity, f"{words}{taken})", of_unequal_shares(cell, most)


_RULES: dict[str, _Rule] = {
    "starvation": _starvation,
    "standing queue": _standing_queue,
    "underused": _underused,
    "lossy": _lossy,
    "unequal shares": _unequal,
    "time-outs": _timeouts,
}


#: What holds in other cells, too.
_ALSO = {
    "starvation": "A flow starves",
    "standing queue": "A queue stands",
    "underused": "The line is underused",
    "lossy": "More than 3 % are dropped",
    "unequal shares": "Flows share unequally",
    "time-outs": "There are time-outs",
}


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
