"""Effect of each factor: the two cells that differ in it alone, and most; a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dumbbell.catalogue import congestion_controls, disciplines
from dumbbell.metrics import METRICS, Tables, summary
from dumbbell.metrics.numbers import number
from dumbbell.summary.cells import CellLine, of_links
from dumbbell.summary.setting import PipeSetting

#: Factor between two values of a quantity from which on they differ.
DIFFERENT = 1.1
#: A difference of queueing delays below this share of the base RTT is none.
_OF_RTT = 0.1
#: Quantities that a sentence gives.
_MOST = 4


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
        ("drops", "%"): lambda cell: _percent(of_links(cell, "dropped", max)),
    }
    for (words, unit), value in of_cells.items():
        found.append(Quantity(words, unit, [value(cell) for cell in cells]))
    return [one for one in found if any(value is not None for value in one.values)]


def contrasts(cells: list[CellLine], results: Tables) -> list[str]:
    """A sentence per factor that changes something, or one if none does."""
    if len(cells) < 2:
        return []
    known = quantities(cells, results)
    told: list[str] = []
    done: set[frozenset[str]] = set()
    for factor in results.experiment.factors:
        together = _tied(factor, cells)
        if together not in done:
            done.add(together)
            told += _effect(together, cells, known)
    if told:
        return told
    words = ", ".join(one.words for one in known if one.words != "drops")
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


def _effect(factors: frozenset[str], cells: list[CellLine], known: list[Quantity]) -> Iterable[str]:
    """The sentence about factors that change together."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, cell in enumerate(cells):
        rest = tuple(level for name, level in cell.levels.items() if name not in factors)
        groups.setdefault(rest, []).append(place)
    for quantity in known:
        best = (DIFFERENT, -1, -1)
        for places in groups.values():
            values = [(quantity.values[place], place) for place in places]
            positive = [
                (value, place) for value, place in values if value is not None and value > 0
            ]
            if len(positive) < 2:
                continue
            (least, a), (most, b) = min(positive), max(positive)
            if _matters(quantity, least, most, cells[a]) and most / least > best[0]:
                best = (most / least, min(a, b), max(a, b))
        if best[1] >= 0 and quantity.words != "drops":
            return [_sentence(factors, cells[best[1]], cells[best[2]], best[1:], known)]
    return []


def _matters(quantity: Quantity, least: float, most: float, cell: CellLine) -> bool:
    if quantity.unit != "ms" or "queueing" not in quantity.words:
        return True
    rtts = [flow.base_rtt_ms[1] for flow in cell.flows if flow.base_rtt_ms is not None]
    return most - least >= _OF_RTT * max(rtts, default=0.0)


def _sentence(
    factors: frozenset[str],
    one: CellLine,
    other: CellLine,
    places: tuple[int, int],
    known: list[Quantity],
) -> str:
    rest = ", ".join(f"{name} {level}" for name, level in one.levels.items() if name not in factors)
    changed = ", ".join(
        f"{name} {level} → {other.levels[name]}"
        for name, level in one.levels.items()
        if name in factors
    )
    told = []
    for quantity in known:
        ends = [quantity.values[place] for place in places]
        if ends[0] is not None and ends[1] is not None:
            figures = " → ".join(number(_rounded(end)) for end in ends if end is not None)
            told.append(f"{quantity.words} {figures} {quantity.unit}".rstrip())
    head = f"At {rest}: {changed}" if rest else changed
    cause = _cause(one, other)
    return f"{head}: {', '.join(told[:_MOST])}.{f' {cause}' if cause else ''}"


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _cause(one: CellLine, other: CellLine) -> str:
    """What the two cells have different, as far as it explains a difference."""
    parts = [
        *_random_loss(one, other),
        *_spraying(one, other),
        *_algorithms(one, other),
        *_pipes(one, other),
        *_capacity(one, other),
    ]
    return " ".join(parts[:2])


#: Ways to choose the next hop of a packet.
_SPRAYING = {
    "per_flow": "a hash keeps a flow on one path, where it may meet others while paths stay idle",
    "random": "each packet takes a path at random",
    "round_robin": "packets take the paths in turn",
}


def _spraying(one: CellLine, other: CellLine) -> Iterable[str]:
    policies = [cell.setting.spraying if cell.setting else "" for cell in (one, other)]
    if policies[0] != policies[1] and all(policy in _SPRAYING for policy in policies):
        yield "; ".join(f"{policy}: {_SPRAYING[policy]}" for policy in policies) + "."


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


def _algorithms(one: CellLine, other: CellLine) -> Iterable[str]:
    """`BBR: paces at the measured bottleneck rate, …`."""
    kinds = [list(dict.fromkeys(flow.algorithm for flow in cell.flows)) for cell in (one, other)]
    about = {entry.title: entry.about for entry in congestion_controls().values()}
    for own, before in ((kinds[0], kinds[1]), (kinds[1], kinds[0])):
        for kind in own:
            if kind not in before and kind in about:
                yield f"{kind}: {_lower(about[kind].partition('. ')[0].rstrip('.'))}."


def _pipes(one: CellLine, other: CellLine) -> Iterable[str]:
    if one.setting is None or other.setting is None:
        return
    named = {link.pipe for cell in (one, other) for link in cell.links}
    for name in sorted(named & one.setting.pipes.keys() & other.setting.pipes.keys()):
        a, b = one.setting.pipes[name], other.setting.pipes[name]
        if a.discipline != b.discipline:
            for pipe in (a, b):
                if pipe.discipline in disciplines():
                    entry = disciplines()[pipe.discipline]
                    yield f"{entry.title}: {_lower(entry.about)}"
            return
        if a.bursty_loss != b.bursty_loss and a.loss and b.loss:
            yield "A burst of losses reduces the window once, as a single loss does."
            return
        if words := _limits(a, b):
            yield words
            return


def _limits(a: PipeSetting, b: PipeSetting) -> str:
    """`Queue limit 10 → 66 packets (0.15 → 1 BDP)`."""
    if a.limit_packets is None or b.limit_packets is None or a.limit_packets == b.limit_packets:
        return ""
    packets = f"{number(round(a.limit_packets))} → {number(round(b.limit_packets))} packets"
    if a.limit_ms is None or b.limit_ms is None:
        return f"The queue limit is {packets}."
    return f"The queue limit is {packets}: {number(a.limit_ms)} → {number(b.limit_ms)} ms."


def _capacity(one: CellLine, other: CellLine) -> Iterable[str]:
    """More paths, or an application that does not always have data."""
    rates = [
        max((flow.rate_mbps for flow in cell.flows if flow.rate_mbps is not None), default=None)
        for cell in (one, other)
    ]
    if rates[0] is not None and rates[1] is not None and rates[0] != rates[1]:
        yield f"The paths of a flow carry {number(rates[0])} → {number(rates[1])} Mbit/s."
    limits = [
        min(
            (rate for flow in cell.setting.flows.values() if (rate := flow.application_mbps)),
            default=None,
        )
        for cell in (one, other)
        if cell.setting is not None
    ]
    if len(set(limits)) > 1 and (least := min(rate for rate in limits if rate is not None)):
        yield f"The application limits the flow to {number(_rounded(least))} Mbit/s."


def _lower(text: str) -> str:
    return text[0].lower() + text[1:] if text[:2] != text[:2].upper() else text


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
