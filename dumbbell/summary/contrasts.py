"""Effect of each factor: the two cells that differ in it alone, and most; a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.active import lives_differ, several_flows
from dumbbell.metrics.numbers import number
from dumbbell.summary.cells import CellLine, means, of_links
from dumbbell.summary.differences import reasons
from dumbbell.summary.links import arrow, shown

#: Factor between two values of a quantity from which on they differ.
DIFFERENT = 1.1
#: A difference of queueing delays below this share of the base RTT is none.
_OF_RTT = 0.1
#: Shares of packets below this percentage are no difference.
_MUCH = 1.0
#: Values that differ less are the same in a sentence.
_SAME = 1.02
#: Quantities of a sentence, and levels of a factor in it.
_MOST, _MOST_LEVELS = 5, 5
_GOODPUT, _SUM = "goodput", "goodput of all flows"
_ANY = " while any is under way"
_DROPS, _MARKS = "drops", "marked packets"
_REORDERED, _SPURIOUS = "reordered packets", "spurious retransmissions"


@dataclass(frozen=True)
class Quantity:
    """A quantity of cells.

    Attributes:
        words: What it is.
        unit: Its unit; empty without one.
        values: Its value in each cell; None where it is not known.
        place: Where or when it is measured, if there are several places or times.
    """

    words: str
    unit: str
    values: list[float | None]
    place: str = ""


#: Metrics of applications, in order of what people ask first, and their words.
_ASKED = {
    "page_load_s": "page load",
    "request_median_ms": "median request",
    "fct_slowdown": "slowdown of transfers",
    "voice_mos": "speech quality (MOS, 1–4.5)",
    "latency_p95_ms": "RTT of pings under load (p95)",
}


def quantities(cells: list[CellLine], results: Tables) -> list[Quantity]:
    """Quantities by which cells are told apart, the most asked for first."""
    found = [
        Quantity(words, METRICS[name].unit, means(results, name, cells))
        for name, words in _ASKED.items()
    ]
    goodput = _SUM if several_flows(results) else _GOODPUT
    lives = _ANY if lives_differ(results) else ""
    of_cells: dict[tuple[str, str], Callable[[CellLine], float | None]] = {
        ("transfer time", "s"): lambda cell: cell.transfer_s,
        (goodput, "Mbit/s"): lambda cell: cell.goodput_mbps,
        (_REORDERED, "%"): lambda cell: _percent(cell.reordered),
        (_SPURIOUS, "%"): lambda cell: _percent(cell.spurious),
        ("flows with a time-out", "%"): lambda cell: _percent(cell.timed_out),
        ("recovery from a loss", "ms"): lambda cell: cell.recovery_ms,
    }
    for (words, unit), value in of_cells.items():
        place = lives if words == goodput else ""
        found.append(Quantity(words, unit, [value(cell) for cell in cells], place))
        if words == goodput:
            found += [_of_one_link(cells, *one) for one in _OF_LINKS]
    return [one for one in found if any(value is not None for value in one.values)]


_Choose = Callable[[Iterable[float]], float]
#: Quantities of links: words, unit, field of a line, which of several links of a cell is told.
_OF_LINKS: list[tuple[str, str, str, _Choose]] = [
    ("Jain's index", "", "jain", min),
    ("queueing delay (p95)", "ms", "delay_p95_ms", max),
    (_MARKS, "%", "marked", max),
    (_DROPS, "%", "dropped", max),
]


def _of_one_link(
    cells: list[CellLine], words: str, unit: str, field: str, choose: _Choose
) -> Quantity:
    """The quantity at one link that all cells show; without one, at the worst link of each."""
    scale = 100 if unit == "%" else 1
    worst = [of_links(cell, field, choose) for cell in cells]
    known = [value for value in worst if value is not None]
    place, values = "", worst
    if known:
        own = [{link.pipe: getattr(link, field) for link in shown(cell.links)} for cell in cells]
        most = choose(known)
        pipes = [pipe for one in own for pipe, value in one.items() if value == most]
        common = [pipe for pipe in pipes if all(one.get(pipe) is not None for one in own)]
        several = len({pipe for one in own for pipe, value in one.items() if value is not None}) > 1
        if common:
            values = [one[common[0]] for one in own]
            place = f" of {arrow(common[0])}" if several else ""
        elif several:
            place = " at the worst link"
    return Quantity(words, unit, [None if one is None else scale * one for one in values], place)


def contrasts(cells: list[CellLine], results: Tables) -> list[str]:
    """A sentence per factor, the largest effect first; one if no factor changes anything."""
    if len(cells) < 2:
        return []
    known = quantities(cells, results)
    told: list[tuple[float, str]] = []
    done: set[frozenset[str]] = set()
    for factor in results.experiment.factors:
        together = _tied(factor, cells)
        if together not in done:
            done.add(together)
            told += _effect(together, cells, known)
    if told:
        return [sentence for _, sentence in sorted(told, key=lambda one: -one[0])]
    words = ", ".join(one.words for one in known if one.unit != "%")
    if not words:
        return []
    why = reasons(cells)
    return [f"No factor changes {words} by 10 % or more.{f' {why}' if why else ''}"]


def _tied(factor: str, cells: list[CellLine]) -> frozenset[str]:
    """The factor, and those whose level follows from its level."""
    names = cells[0].levels
    pairs = {name: {(cell.levels[factor], cell.levels[name]) for cell in cells} for name in names}
    levels = {name: len({cell.levels[name] for cell in cells}) for name in names}
    return frozenset(
        name
        for name in names
        if name == factor or (levels[name] > 1 and len(pairs[name]) == levels[factor])
    )


def _effect(
    factors: frozenset[str], cells: list[CellLine], known: list[Quantity]
) -> Iterable[tuple[float, str]]:
    """The sentence about factors that change together, and how much they change."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, cell in enumerate(cells):
        rest = tuple(level for name, level in cell.levels.items() if name not in factors)
        groups.setdefault(rest, []).append(place)
    for quantity in known:
        best: tuple[float, list[int]] = (1.0, [])
        for places in groups.values():
            ratio = _ratio(quantity, places, cells)
            if ratio > best[0]:
                best = (ratio, places)
        # A measured run may not know what others know.
        places = [one for one in best[1] if quantity.values[one] is not None]
        if places:
            return [(best[0], _sentence(factors, [cells[one] for one in places], places, known))]
    return []


def _ratio(quantity: Quantity, places: list[int], cells: list[CellLine]) -> float:
    """Largest over smallest value in some cells; 1 if that is no difference."""
    known = [value for place in places if (value := quantity.values[place]) and value > 0]
    if len(known) < 2 or max(known) < DIFFERENT * min(known):
        return 1.0
    matters = _matters(quantity, min(known), max(known), cells[places[0]])
    return max(known) / min(known) if matters else 1.0


def _matters(quantity: Quantity, least: float, most: float, cell: CellLine) -> bool:
    if quantity.words in (_DROPS, _MARKS, _REORDERED, _SPURIOUS):
        return most >= _MUCH
    if "queueing" not in quantity.words:
        return True
    rtts = [flow.base_rtt_ms[1] for flow in cell.flows if flow.base_rtt_ms is not None]
    return most - least >= _OF_RTT * max(rtts, default=0.0)


def _sentence(
    factors: frozenset[str], cells: list[CellLine], places: list[int], known: list[Quantity]
) -> str:
    """All levels of a factor with the quantities that follow; of many, the first and the last."""
    if len(cells) > _MOST_LEVELS:
        cells, places = [cells[0], cells[-1]], [places[0], places[-1]]
    first = cells[0]
    rest = ", ".join(f"{name} {own}" for name, own in first.levels.items() if name not in factors)
    changed = ", ".join(
        f"{name} {' / '.join(cell.levels[name] for cell in cells)}"
        for name in first.levels
        if name in factors
    )
    told: list[str] = []
    for quantity in known:
        values = [value for place in places if (value := quantity.values[place]) is not None]
        if len(values) < len(places) or not any(values):
            continue
        if quantity.words in (_REORDERED, _SPURIOUS) and max(values) < _MUCH:
            continue
        told += _told(quantity, values)
    head = f"At {rest}: {changed}" if rest else changed
    cause = reasons(cells)
    return f"{head}: {', '.join(told[:_MOST])}.{f' {cause}' if cause else ''}"


def _told(quantity: Quantity, values: list[float]) -> list[str]:
    """Values of cells; of what is asked for first that they are the same, or alike."""
    goodput = quantity.words in (_GOODPUT, _SUM)
    texts = [number(value) for value in values]
    figures = f"{' / '.join(texts)} {quantity.unit}".rstrip()
    if max(values) > (_SAME if goodput else DIFFERENT) * min(values):
        return [f"{quantity.words}{quantity.place} {figures}"]
    if not goodput and quantity.words not in _ASKED.values():
        return []
    if max(values) <= _SAME * min(values) or len(set(texts)) == 1:
        return [f"{quantity.words} the same"]
    return [f"{quantity.words} alike ({figures})"]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
