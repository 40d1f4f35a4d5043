"""Places of a network's nodes in a drawing: columns by distance from the senders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

#: Times that rows are put in order, to and fro.
_SWEEPS = 8


def places(
    nodes: Sequence[str],
    links: Iterable[tuple[str, str]],
    flows: Iterable[tuple[str, str]],
) -> dict[str, tuple[int, float]]:
    """Column and row of each node, both from 0; columns are centred on each other.

    Within a column, nodes stand in the order of the mean row of those that they are joined to, so
    that few links cross (the barycentre method of Sugiyama, Tagawa, Toda 1981).

    Args:
        nodes: Their names.
        links: The two ends of each.
        flows: Where each begins and ends.
    """
    neighbours: dict[str, list[str]] = {name: [] for name in nodes}
    for a, b in links:
        neighbours[a].append(b)
        neighbours[b].append(a)
    columns: dict[int, list[str]] = {}
    for name, distance in _distances(nodes, neighbours, list(flows)).items():
        columns.setdefault(distance, []).append(name)
    order = sorted(columns)
    for sweep in range(_SWEEPS):
        along = order if sweep % 2 == 0 else order[::-1]
        for before, here in pairwise(along):
            rows = _centred(columns[before])
            columns[here].sort(key=lambda name: _mean_row(neighbours[name], rows))
    return {name: (at, row) for at in order for name, row in _settled(columns, at).items()}


def _settled(columns: Mapping[int, list[str]], at: int) -> dict[str, float]:
    """Rows from 0 of the tallest column, the others centred beside it."""
    middle = (max(map(len, columns.values())) - 1) / 2
    return {name: middle + row for name, row in _centred(columns[at]).items()}


def _centred(names: Sequence[str]) -> dict[str, float]:
    return {name: place - (len(names) - 1) / 2 for place, name in enumerate(names)}


def _mean_row(names: Iterable[str], rows: Mapping[str, float]) -> float:
    known = [rows[name] for name in names if name in rows]
    return sum(known) / len(known) if known else 0.0


def _distances(
    nodes: Sequence[str],
    neighbours: Mapping[str, Sequence[str]],
    flows: Sequence[tuple[str, str]],
) -> dict[str, int]:
    senders = [name for name, _ in flows if name in neighbours]
    receivers = {name for _, name in flows}
    edge = [name for name in dict.fromkeys(senders) if name not in receivers] or senders[:1]
    distance = distances(edge or list(nodes[:1]), neighbours)
    return {name: distance.get(name, 0) for name in nodes}


def distances(edge: Iterable[str], neighbours: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Links between some nodes and all that can be reached from them."""
    waiting = list(edge)
    distance = dict.fromkeys(waiting, 0)
    while waiting:
        here = waiting.pop(0)
        for other in neighbours[here]:
            if other not in distance:
                distance[other] = distance[here] + 1
                waiting.append(other)
    return distance
