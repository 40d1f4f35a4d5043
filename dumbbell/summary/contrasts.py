"""Effect of each factor: the two cells that differ in it alone, and most; a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dumbbell.metrics import METRICS, Tables
from dumbbell.metrics.active import lives_differ, several_flows
from dumbbell.metrics.numbers import number
from dumbbell.metrics.paired import ALPHA, compared
from dumbbell.summary.cells import FIELDS, CellLine, of_metric
from dumbbell.summary.differences import reasons
from dumbbell.summary.links import arrow, shown

#: Factor between two values of a quantity from which on they differ.
DIFFERENT = 1.1
#: A difference of queueing delays below this share of the base RTT is none.
_OF_RTT = 0.1
#: Shorter queueing delays are told in no sentence.
_NO_DELAY_MS = 0.1
#: Shares of packets below this percentage are no difference.
_MUCH = 1.0
#: A larger ratio, as of a value over 0, counts no more.
_MOST_RATIO = 1000.0
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
        samples: Its value in each repeat, for each cell; empty: not known.
    """

    words: str
    unit: str
    values: Sequence[float | None]
    place: str = ""
    samples: Sequence[Sequence[float]] = ()

    def may_be_chance(self, one: int, other: int) -> bool:
        """True if the repeats of two cells show no difference between them."""
        if not self.samples or len(self.samples[one]) != len(self.samples[other]):
            return False
        # Of a single repeat, p is not known.
        return compared(self.samples[one], self.samples[other]).p >= ALPHA


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
    found = [_of_metric(cells, results, name, words) for name, words in _ASKED.items()]
    goodput = _SUM if several_flows(results) else _GOODPUT
    lives = _ANY if lives_differ(results) else ""
    found += [
        _of_metric(cells, results, FIELDS["transfer_s"], "transfer time"),
        _of_metric(cells, results, FIELDS["goodput_mbps"], goodput, lives),
        *(_of_one_link(cells, *one) for one in _OF_LINKS),
    ]
    of_cells: dict[tuple[str, str], Callable[[CellLine], float | None]] = {
        (_REORDERED, "%"): lambda cell: _percent(cell.reordered),
        (_SPURIOUS, "%"): lambda cell: _percent(cell.spurious),
        ("flows with a time-out", "%"): lambda cell: _percent(cell.timed_out),
        ("recovery from a loss", "ms"): lambda cell: cell.recovery_ms,
    }
    for (words, unit), value in of_cells.items():
        found.append(Quantity(words, unit, [value(cell) for cell in cells]))
    return [one for one in found if any(value is not None for value in one.values)]


def _of_metric(
    cells: list[CellLine], results: Tables, name: str, words: str, place: str = ""
) -> Quantity:
    """A metric of whole cells, with its repeats."""
    of_cells = of_metric(results, name, cells)
    means, samples = ([one.mean() for one in of_cells], [one.per_repeat() for one in of_cells])
    return Quantity(words, METRICS[name].unit, means, place, samples)


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
    worst = [cell.worst.get(field) for cell in cells]
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
    alike = [one for one in known if one.unit != "%" and _is_alike(one)]
    words = ", ".join(f"{one.words}{one.place}" for one in alike)
    parts = [f"No factor changes {words} by 10 % or more."] if words else []
    parts += [why] if known and (why := reasons(cells)) else []
    return [" ".join(parts)] if parts else []


def _is_alike(quantity: Quantity) -> bool:
    """True if no two cells differ in it, also by chance or by little that matters."""
    values = [value for value in quantity.values if value is not None]
    return bool(values) and max(values) < DIFFERENT * min(values)


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
            own = [cells[one] for one in places]
            without = [cells[one] for one in best[1] if one not in places]
            unknown = _not_known(factors, without)
            return [(best[0], _sentence(factors, own, places, known, quantity, unknown))]
    return []


def _not_known(factors: frozenset[str], cells: list[CellLine]) -> str:
    """` (not known at 9.9 s)`: levels at which a transfer does not finish; empty for none."""
    levels = [
        ", ".join(level for name, level in cell.levels.items() if name in factors) for cell in cells
    ]
    shown = " / ".join(levels) if len(levels) <= _MOST_LEVELS else f"{len(levels)} other levels"
    return f" (not known at {shown})" if levels else ""


def _ratio(quantity: Quantity, places: list[int], cells: list[CellLine]) -> float:
    """Largest over smallest value in some cells; 1 if that is no difference."""
    known = {place: value for place in places if (value := quantity.values[place]) is not None}
    if len(known) < 2:
        return 1.0
    low, high = min(known, key=lambda one: known[one]), max(known, key=lambda one: known[one])
    least, most = known[low], known[high]
    if most <= 0 or most < DIFFERENT * least or quantity.may_be_chance(low, high):
        return 1.0
    matters = _matters(quantity, least, most, cells[places[0]])
    return most / max(least, most / _MOST_RATIO) if matters else 1.0


def _matters(quantity: Quantity, least: float, most: float, cell: CellLine) -> bool:
    if quantity.words in (_DROPS, _MARKS, _REORDERED, _SPURIOUS):
        return most >= _MUCH
    if "queueing" not in quantity.words:
        return True
    rtts = [flow.base_rtt_ms[1] for flow in cell.flows if flow.base_rtt_ms is not None]
    return most - least >= _OF_RTT * max(rtts, default=0.0)


def _sentence(
    factors: frozenset[str],
    cells: list[CellLine],
    places: list[int],
    known: list[Quantity],
    told_first: Quantity,
    unknown: str,
) -> str:
    """All levels of a factor with the quantities that follow; of many, those that differ most.

    `unknown` are words about levels at which the first of the quantities is not known.
    """
    if len(cells) > _MOST_LEVELS:
        by_value = sorted(range(len(places)), key=lambda one: told_first.values[places[one]] or 0.0)
        ends = sorted((by_value[0], by_value[-1]))
        cells, places = [cells[one] for one in ends], [places[one] for one in ends]
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
        if "queueing" in quantity.words and max(values) < _NO_DELAY_MS:
            continue
        own = unknown if quantity is told_first else ""
        told += [f"{words}{own}" for words in _told(quantity, values, places)]
    head = f"At {rest}: {changed}" if rest else changed
    cause = reasons(cells)
    return f"{head}: {', '.join(told[:_MOST])}.{f' {cause}' if cause else ''}"


def _told(quantity: Quantity, values: list[float], places: list[int]) -> list[str]:
    """Values of cells; of what is asked for first that they are the same, or alike."""
    goodput = quantity.words in (_GOODPUT, _SUM)
    texts = [number(value) for value in values]
    figures = f"{' / '.join(texts)} {quantity.unit}".rstrip()
    apart = max(values) > (_SAME if goodput else DIFFERENT) * min(values)
    if apart:
        ends = (places[values.index(choose(values))] for choose in (min, max))
        if quantity.may_be_chance(*ends):
            return [f"{quantity.words}{quantity.place} {figures} (no difference shown)"]
        return [f"{quantity.words}{quantity.place} {figures}"]
    if not goodput and quantity.words not in _ASKED.values():
        return []
    if max(values) <= _SAME * min(values) or len(set(texts)) == 1:
        return [f"{quantity.words} the same"]
    return [f"{quantity.words} alike ({figures})"]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
