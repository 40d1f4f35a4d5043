"""What stands out, by fixed rules: a sentence each, the gravest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from dumbbell.metrics import METRICS, Tables, summary
from dumbbell.metrics.numbers import number
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
    return sorted(found, key=lambda one: -one.gravity)


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
    "latency_p95_ms": "95th percentile of the RTT under load",
}


def extremes(cells: list[CellLine], results: Tables) -> str:
    """Sentence about how much cells differ; empty if little.

    Of applications if there are any, then of the fullest link and of the queueing delay.
    """
    asked = [
        (words, METRICS[name].unit, _measured(results, name, cells))
        for name, words in _ASKED.items()
    ]
    used = _of_links(cells, lambda link: None if link.used is None else 100 * link.used)
    delays = _of_links(cells, lambda link: link.delay_p95_ms)
    of_links = [
        ("use of the fullest link", "%", used),
        ("95th percentile of the queueing delay", "ms", delays),
    ]
    told = []
    for what, unit, found in (*asked, *of_links):
        least, most = (pick(found, key=lambda one: one[0], default=None) for pick in (min, max))
        if least and most and most[0] >= DIFFERENT * least[0] > 0:
            high = f"{number(most[0])} {unit}".rstrip()
            low = f"{what} {number(least[0])} ({_cell(least[1])})"
            told.append(f"{low} to {high} ({_cell(most[1])})")
    return f"Between cells: {'; '.join(told)}." if told else ""


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


def _cell(cell: CellLine) -> str:
    return ", ".join(f"{factor} {level}" for factor, level in cell.levels.items())


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
                f"a standing queue at {link.pipe}: the delay is {number(least)} ms or more in nine "
                f"tenths of the time, half of the time {number(link.delay_p50_ms)} ms or more"
            )
            yield least / STANDING_MS, words


def _underused(cell: CellLine) -> Iterable[tuple[float, str]]:
    used = [link.used for link in cell.links if link.used is not None]
    if cell.bulk and used and max(used) < UNDERUSED:
        (link,) = [link for link in cell.links if link.used == max(used)][:1]
        words = f"{link.pipe} carries only {_percent(max(used))} of what it could"
        yield UNDERUSED / max(max(used), 1e-3), words


def _lossy(cell: CellLine) -> Iterable[tuple[float, str]]:
    for link in cell.links:
        if link.dropped is not None and link.dropped > LOSSY:
            why = max(link.drops, key=lambda reason: link.drops[reason])
            words = f"{link.pipe} drops {_percent(link.dropped)} of its packets"
            yield link.dropped / LOSSY, f"{words} ({why})"


def _timeouts(cell: CellLine) -> Iterable[tuple[float, str]]:
    for flow in cell.flows:
        if flow.timeouts > 0:
            noun = "time-out" if flow.timeouts == 1 else "time-outs"
            yield 1 + flow.timeouts / 10, f"{flow.title} has {number(flow.timeouts)} {noun} per run"


def _unequal(cell: CellLine) -> Iterable[tuple[float, str]]:
    known = [link for link in cell.links if link.jain is not None and link.jain < UNEQUAL]
    groups = [flow for flow in cell.flows if flow.share is not None and flow.fair_share is not None]
    if not known or not groups:
        return
    link = min(known, key=lambda one: one.jain or 0.0)
    index = link.jain or 0.0
    most = max(groups, key=lambda flow: (flow.share or 0.0) / flow.count)
    words = f"flows share {link.pipe} unequally (Jain's index {number(index)})"
    if len(groups) > 1:
        words += f": {most.title} takes {_percent(most.share or 0.0)}"
    yield UNEQUAL / max(index, 1e-3), words


_RULES: dict[str, _Rule] = {
    "starvation": _starvation,
    "standing queue": _standing_queue,
    "underused": _underused,
    "lossy": _lossy,
    "unequal shares": _unequal,
    "time-outs": _timeouts,
}


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
