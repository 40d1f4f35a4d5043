"""Effect of each factor: the two cells that differ in it alone, and most; a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dumbbell.catalogue import disciplines
from dumbbell.metrics import METRICS, Tables, summary
from dumbbell.metrics.numbers import number
from dumbbell.summary.cells import CellLine, of_links
from dumbbell.summary.setting import PipeSetting

#: Factor between two values of a quantity from which on they differ.
DIFFERENT = 1.1
#: A difference of queueing delays below this share of the base RTT is none.
_OF_RTT = 0.1
#: Drops below this percentage are no difference.
_MUCH_DROPPED = 1.0
#: Values that differ less are the same in a sentence.
_SAME = 1.02
#: Quantities of a sentence, levels of a factor in it, and causes.
_MOST, _MOST_LEVELS, _MOST_CAUSES = 4, 5, 3
_DROPS = "drops"


@dataclass(frozen=True)
class Quantity:
    """A quantity of cells.

    Attributes:
        words: What it is.
        unit: Its unit; empty without one.
        values: Its value in each cell; None where it is not known.
    """

    words: str
    unit: str
    values: list[float | None]


#: Metrics of applications, in order of what people ask first, and their words.
_ASKED = {
    "page_load_s": "page load",
    "fct_slowdown": "slowdown of transfers",
    "voice_mos": "speech quality (MOS, 1–4.5)",
    "latency_p95_ms": "RTT of pings under load (p95)",
}


def quantities(cells: list[CellLine], results: Tables) -> list[Quantity]:
    """Quantities by which cells are told apart, the most asked for first."""
    factors = list(results.experiment.factors)
    found = []
    for name, words in _ASKED.items():
        rows = summary(results, METRICS[name], by=factors).rows(named=True)
        means = {tuple(row[one] for one in factors): row["mean"] for row in rows if row["count"]}
        values = [means.get(tuple(cell.levels.values())) for cell in cells]
        found.append(Quantity(words, METRICS[name].unit, values))
    of_cells: dict[tuple[str, str], Callable[[CellLine], float | None]] = {
        ("transfer time", "s"): lambda cell: cell.transfer_s,
        ("goodput", "Mbit/s"): lambda cell: cell.goodput_mbps,
        ("Jain's index", ""): lambda cell: of_links(cell, "jain", min),
        ("queueing delay (p95)", "ms"): lambda cell: of_links(cell, "delay_p95_ms", max),
        (_DROPS, "%"): lambda cell: _percent(of_links(cell, "dropped", max)),
    }
    for (words, unit), value in of_cells.items():
        found.append(Quantity(words, unit, [value(cell) for cell in cells]))
    return [one for one in found if any(value is not None for value in one.values)]


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
    words = ", ".join(one.words for one in known if one.words != _DROPS)
    return [f"No factor changes {words} by 10 % or more."]


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
        if best[1]:
            return [(best[0], _sentence(factors, [cells[one] for one in best[1]], best[1], known))]
    return []


def _ratio(quantity: Quantity, places: list[int], cells: list[CellLine]) -> float:
    """Largest over smallest value in some cells; 1 if that is no difference."""
    known = [value for place in places if (value := quantity.values[place]) and value > 0]
    if len(known) < 2 or max(known) < DIFFERENT * min(known):
        return 1.0
    matters = _matters(quantity, min(known), max(known), cells[places[0]])
    return max(known) / min(known) if matters else 1.0


def _matters(quantity: Quantity, least: float, most: float, cell: CellLine) -> bool:
    if quantity.words == _DROPS:
        return most >= _MUCH_DROPPED
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
    told = []
    for quantity in known:
        values = [value for place in places if (value := quantity.values[place]) is not None]
        if len(values) < len(places) or not any(values):
            continue
        if max(values) > _SAME * min(values):
            figures = " / ".join(number(value) for value in values)
            told.append(f"{quantity.words} {figures} {quantity.unit}".rstrip())
        elif quantity.words == "goodput":
            told.append("goodput the same")
    head = f"At {rest}: {changed}" if rest else changed
    cause = _cause(cells)
    return f"{head}: {', '.join(told[:_MOST])}.{f' {cause}' if cause else ''}"


def _cause(cells: list[CellLine]) -> str:
    """Differences in the setting of the cells that explain those of the results."""
    one, other = cells[0], cells[-1]
    parts = [
        *_random_loss(one, other),
        *_spraying(cells),
        *_disciplines(cells),
        *_pipes(one, other),
        *_capacity(one, other),
    ]
    return " ".join(parts[:_MOST_CAUSES])


#: Ways to choose the next hop of a packet.
_SPRAYING = {
    "per_flow": "a hash keeps a flow on one path, where it may meet others while paths stay idle",
    "random": "each packet takes a path at random",
    "round_robin": "packets take the paths in turn",
}


def _spraying(cells: list[CellLine]) -> Iterable[str]:
    policies = [cell.setting.spraying if cell.setting else "" for cell in cells]
    if len(set(policies)) > 1 and all(policy in _SPRAYING for policy in policies):
        told = (f"{policy}: {_SPRAYING[policy]}" for policy in dict.fromkeys(policies))
        yield "; ".join(told) + "."


def _disciplines(cells: list[CellLine]) -> Iterable[str]:
    """`CoDel: signals while packets have waited longer than a target for an interval.`"""
    found: dict[str, None] = {}
    for cell in cells:
        pipes = cell.setting.pipes if cell.setting else {}
        found |= {pipes[link.pipe].discipline: None for link in cell.links if link.pipe in pipes}
    if len(found) > 1:
        for name in found:
            if name in disciplines():
                yield f"{disciplines()[name].title}: {_lower(disciplines()[name].about)}"


def _random_loss(one: CellLine, other: CellLine) -> Iterable[str]:
    """BBR's model does not count losses (BBR v1)."""
    kinds = [{flow.algorithm for flow in cell.flows} for cell in (one, other)]
    lossy = any(
        pipe.loss or any("loss" in words for _, words in pipe.changes)
        for pipe in (one.setting.pipes.values() if one.setting else ())
    )
    changed = kinds[0] ^ kinds[1]
    if lossy and "BBR" in changed and len(changed) > 1:
        others = " and ".join(sorted(changed - {"BBR"}))
        yield f"BBR does not take random losses for congestion; {others} does."


def _pipes(one: CellLine, other: CellLine) -> Iterable[str]:
    if one.setting is None or other.setting is None:
        return
    named = {link.pipe for cell in (one, other) for link in cell.links}
    for name in sorted(named & one.setting.pipes.keys() & other.setting.pipes.keys()):
        a, b = one.setting.pipes[name], other.setting.pipes[name]
        if a.discipline != b.discipline:
            return
        if a.bursty_loss != b.bursty_loss and a.loss and b.loss:
            yield "A burst of losses reduces the window once, as a single loss does."
            return
        if words := _limits(a, b):
            yield words
            return


def _limits(a: PipeSetting, b: PipeSetting) -> str:
    """`The queue limit is 10 / 66 packets: 6 / 40 ms.`."""
    if a.limit_packets is None or b.limit_packets is None or a.limit_packets == b.limit_packets:
        return ""
    packets = f"{number(round(a.limit_packets))} / {number(round(b.limit_packets))} packets"
    if a.limit_ms is None or b.limit_ms is None:
        return f"The queue limit is {packets}."
    return f"The queue limit is {packets}: {number(a.limit_ms)} / {number(b.limit_ms)} ms."


def _capacity(one: CellLine, other: CellLine) -> Iterable[str]:
    """More paths, or an application that does not always have data."""
    rates = [
        max((flow.rate_mbps for flow in cell.flows if flow.rate_mbps is not None), default=None)
        for cell in (one, other)
    ]
    if rates[0] is not None and rates[1] is not None and rates[0] != rates[1]:
        yield f"The paths of a flow carry {number(rates[0])} / {number(rates[1])} Mbit/s."
    limits = [
        min(
            (rate for flow in cell.setting.flows.values() if (rate := flow.application_mbps)),
            default=None,
        )
        for cell in (one, other)
        if cell.setting is not None
    ]
    if len(set(limits)) > 1 and (least := min(rate for rate in limits if rate is not None)):
        yield f"The application limits the flow to {number(least)} Mbit/s."


def _lower(text: str) -> str:
    return text[0].lower() + text[1:] if text[:2] != text[:2].upper() else text


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
