"""What stands out, by fixed rules: a sentence each, the gravest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from dumbbell.metrics import METRICS, Tables, summary
from dumbbell.metrics.numbers import number
from dumbbell.summary import causes
from dumbbell.summary.cells import CellLine, LinkLine

#: A flow starves below this part of its fair share.
STARVED = 0.1
#: CoDel's target (RFC 8289 §4.4) times five: a tenth percentile of the queueing delay above it is a
#: standing queue.
TARGET_MS = 5.0
STANDING_MS = 5 * TARGET_MS
#: A bottleneck with bulk traffic that carries less of its rate is underused.
UNDERUSED = 0.9
#: Factor between the least and the largest value of a quantity that is told.
DIFFERENT = 1.1
#: A bottleneck that drops a larger part of its packets is lossy.
LOSSY = 0.05
#: Sentences about differences between cells.
_MOST_EXTREMES = 3
#: How much graver shares are per unit of Jain's index: two flows at 0.5 are as grave as a queue of
#: four times the limit.
_PER_JAIN = 10
#: Jain's index below which flows share unequally.
UNEQUAL = 0.8


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


_Rule = Callable[[CellLine], Iterable[tuple[float, str]]]


def findings(cells: list[CellLine]) -> list[Finding]:
    """All that stands out: the worst case of each rule, and in how many cells it holds."""
    found = []
    for name, rule in _RULES.items():
        worst = [(*max(cases), cell) for cell in cells if (cases := list(rule(cell)))]
        if worst:
            gravity, words, cell = max(worst, key=lambda one: one[0])
            where = ", ".join(f"{factor} {level}" for factor, level in cell.levels.items())
            many = f" (the worst of {len(worst)} of {len(cells)} cells)" if len(worst) > 1 else ""
            sentence = f"{where}: {words}{many}." if where else f"{words}{many}."
            found.append(Finding(name, gravity, sentence, cell.levels))
    # Time-outs are what comes of the other findings: last.
    return sorted(found, key=lambda one: (one.rule == "time-outs", -one.gravity))


def nothing_stands_out(cells: list[CellLine]) -> str:
    """Sentence for a run without findings: what was looked for, and what was not measured."""
    queues = any(link.delay_p10_ms is not None for cell in cells for link in cell.links)
    looked = ["starvation", *(["standing queue"] if queues else []), "idle line", "time-out"]
    unknown = "" if queues else " Queues over time were not kept."
    return f"None of these stands out: {', '.join(looked)}, loss above {_percent(LOSSY)}.{unknown}"


#: What applications ask for, where it was measured: metric, words.
_ASKED = {
    "page_load_s": "page load",
    "fct_slowdown": "slowdown of short flows",
    "voice_mos": "speech quality (MOS)",
    "latency_p95_ms": "RTT under load, 95th percentile",
}


def extremes(cells: list[CellLine], results: Tables) -> list[str]:
    """Sentences about how much cells differ, of what differs most first; one if they hardly do.

    Of applications if there are any, then of queueing delay, goodput and use.
    """
    asked = [
        (words, METRICS[name].unit, _measured(results, name, cells))
        for name, words in _ASKED.items()
    ]
    used = _of_links(cells, lambda link: None if link.used is None else 100 * link.used)
    delays = _of_links(cells, lambda link: link.delay_p95_ms)
    goodputs = [(rate, cell) for cell in cells if (rate := cell.goodput_mbps) is not None]
    of_links = [
        ("queueing delay, 95th percentile", "ms", delays),
        ("goodput of all flows", "Mbit/s", goodputs),
        ("use of the fullest link", "%", used),
    ]
    told = []
    for what, unit, found in (*asked, *of_links):
        least, most = (pick(found, key=lambda one: one[0], default=None) for pick in (min, max))
        if least and most and most[0] >= DIFFERENT * least[0] > 0:
            low, high = _levels(least[1], most[1])
            ends = f"from {number(least[0])} with {low} to {number(most[0])} {unit}".rstrip()
            told.append(f"{what[0].upper()}{what[1:]}: {ends} with {high}.")
    if not told and len(cells) > 1:
        percent = round(100 * (DIFFERENT - 1))
        return [f"Goodput, use and queueing delay of the cells differ by less than {percent} %."]
    return told[:_MOST_EXTREMES]


def _levels(one: CellLine, other: CellLine) -> tuple[str, str]:
    """Levels of two cells, of the factors in which they differ."""
    differing = [name for name, level in one.levels.items() if other.levels[name] != level]
    low, high = (
        ", ".join(f"{name} {cell.levels[name]}" for name in differing) for cell in (one, other)
    )
    return low, high


_Values = list[tuple[float, CellLine]]


def _measured(results: Tables, name: str, cells: list[CellLine]) -> _Values:
    """Mean of a metric in each cell that has it."""
    factors = list(results.experiment.factors)
    known = {tuple(cell.levels.values()): cell for cell in cells}
    rows = summary(results, METRICS[name], by=factors).filter(pl.col("count") > 0)
    return [(mean, known[tuple(levels)]) for *levels, mean in rows.select(*factors, "mean").rows()]


def _of_links(cells: list[CellLine], value: Callable[[LinkLine], float | None]) -> _Values:
    """Largest value over the bottlenecks of each cell."""
    found = []
    for cell in cells:
        values = [one for link in cell.links if (one := value(link)) is not None]
        if values:
            found.append((max(values), cell))
    return found


def _starvation(cell: CellLine) -> Iterable[tuple[float, str]]:
    for flow in cell.flows:
        if flow.fair_share is not None and flow.fair_share < STARVED:
            who = flow.title if flow.count == 1 else f"one of {flow.title}"
            words = f"{who} starves: {_percent(flow.fair_share)} of its fair share"
            yield min(STARVED / max(flow.fair_share, 1e-3), 100.0), words


def _standing_queue(cell: CellLine) -> Iterable[tuple[float, str]]:
    for link in cell.links:
        least = link.delay_p10_ms
        if least is not None and least > STANDING_MS:
            words = (
                f"{link.pipe} has a standing queue (delay: median {number(link.delay_p50_ms)} ms, "
                f"above {number(least)} ms in 90 % of the time)"
            )
            yield least / STANDING_MS, _with(words, causes.of_standing_queue(cell, link))


def _underused(cell: CellLine) -> Iterable[tuple[float, str]]:
    used = [link.used for link in cell.links if link.used is not None]
    if cell.bulk and used and max(used) < UNDERUSED:
        (link,) = [link for link in cell.links if link.used == max(used)][:1]
        words = f"{link.pipe} carries only {_percent(max(used))} of what it could"
        yield UNDERUSED / max(max(used), 1e-3), _with(words, causes.of_underuse(cell, link))


def _lossy(cell: CellLine) -> Iterable[tuple[float, str]]:
    for link in cell.links:
        if link.dropped is not None and link.dropped > LOSSY:
            words = f"{link.pipe} drops {_percent(link.dropped)} of its packets"
            yield link.dropped / LOSSY, _with(words, causes.of_loss(cell, link))


def _timeouts(cell: CellLine) -> Iterable[tuple[float, str]]:
    for flow in cell.flows:
        if flow.timeouts > 0:
            noun = "time-out" if flow.timeouts == 1 else "time-outs"
            words = f"{flow.title} has {number(flow.timeouts)} {noun} per run"
            yield 1 + flow.timeouts / 10, _with(words, causes.of_timeouts(flow))


def _unequal(cell: CellLine) -> Iterable[tuple[float, str]]:
    known = [link for link in cell.links if link.jain is not None and link.jain < UNEQUAL]
    groups = [flow for flow in cell.flows if flow.share is not None and flow.fair_share is not None]
    if not known or not groups:
        return
    link = min(known, key=lambda one: one.jain or 0.0)
    index = link.jain or 0.0
    most = max(groups, key=lambda flow: (flow.share or 0.0) / flow.count)
    taken = f"; {most.title} takes {_percent(most.share or 0.0)}" if len(groups) > 1 else ""
    words = f"flows share {link.pipe} unequally (Jain's index {number(index)}{taken})"
    yield 1 + _PER_JAIN * (UNEQUAL - index), _with(words, causes.of_unequal_shares(cell, most))


_RULES: dict[str, _Rule] = {
    "starvation": _starvation,
    "standing queue": _standing_queue,
    "underused": _underused,
    "lossy": _lossy,
    "unequal shares": _unequal,
    "time-outs": _timeouts,
}


def _with(words: str, cause: str) -> str:
    return f"{words}: {cause}" if cause else words


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
