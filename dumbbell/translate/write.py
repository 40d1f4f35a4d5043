"""Experiment files of translated networks, with comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dumbbell.files.yaml_text import inline
from dumbbell.translate.interface import Direct, Path
from dumbbell.translate.network import Link, Network, fill_rates
from dumbbell.translate.stage import Value
from dumbbell.translate.units import rate_text

#: Delay of a wire of a local network, and its queue.
_WIRE = {"buffer": "10000 packets", "delay": "50 us"}
_LEAST_S, _MOST_S = 10, 60
#: A run lasts for this many RTTs, and for this many full frames.
_RTTS, _FRAMES = 30, 400


def text_of(network: Network, *, name: str, origin: str) -> str:
    """Text of the experiment."""
    fill_rates(network)
    lines = [
        f"# Translated by `dumbbell translate` from {origin}. Comments: what became of each word."
    ]
    lines += ["dumbbell: 1", f"name: {inline(name)}"]
    lines += [f"# line {note.line}: {_clean(str(note))}" for note in network.notes.all]
    links, between = _links(network)
    lines += ["hosts:", *(_host(*one) for one in network.hosts.items())]
    nodes = [*network.switches, *between]
    if nodes:
        lines += ["routers:", *(f"  {node}:" for node in nodes)]
    lines += ["links:", *links, *_flows(network)]
    return "\n".join(lines) + "\n"


def _host(name: str, mtu: int | None) -> str:
    return f"  {name}:" if mtu is None else f"  {name}: {{mtu: {mtu} bytes}}"


def _flows(network: Network) -> list[str]:
    """Flows; those whose hosts are joined come one after the other."""
    seconds = _seconds(network)
    parts = _parted(network)
    counts: dict[str, int] = {}
    lines = ["flows:"]
    for flow in network.flows:
        part = parts[flow.ends[0]]
        place = counts[part] = counts.get(part, -1) + 1
        later = sum(parts[other.ends[0]] == part for other in network.flows) - place - 1
        times = f", start: {place * seconds} s" if place else ""
        times += f", stop: {(place + 1) * seconds} s" if later else ""
        one = f"name: {inline(flow.name)}, from: {flow.ends[0]}, to: {flow.ends[1]}"
        lines.append(f"  - {{{one}, tcp: cubic{times}}}")
    return [*lines, f"duration: {(max(counts.values(), default=0) + 1) * seconds} s"]


def _parted(network: Network) -> dict[str, str]:
    """Node → a node that stands for all nodes that are joined with it."""
    above: dict[str, str] = {}

    def top(node: str) -> str:
        while above.setdefault(node, node) != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for link in network.links:
        above[top(link.between[0])] = top(link.between[1])
    return {node: top(node) for node in [*network.hosts, *above]}


def _seconds(network: Network) -> int:
    """Duration of a flow: enough round trips and enough packets."""
    delay = sum(pipe.delay_ns for link in network.links for pipe in link.pipes) / 1e9
    rates = [pipe.rate_bps for link in network.links for pipe in link.pipes if pipe.rate_bps]
    frames = _FRAMES * 1514 * 8 / min(rates) if rates else 0
    return int(min(max(_LEAST_S, _RTTS * delay, frames), _MOST_S))


def lines_of(network: Network) -> dict[str, int]:
    """Link of the experiment → line of its words."""
    made: dict[str, int] = {}
    for link in network.links:
        sources = [*link.forward.sources, *link.backward.sources]
        for part, name in enumerate(_parts(link)):
            if link.pipes and sources:
                made[name] = sources[min(part, len(sources) - 1)][0]
    return made


def direct_of(network: Network) -> dict[str, Direct]:
    """Direction of a link → HTB that sends its packets unshaped."""
    ways = [
        (f"{link.name}/{way}", path.direct)
        for link in network.links
        for way, path in (("forward", link.forward), ("backward", link.backward))
    ]
    return {name: direct for name, direct in ways if direct is not None}


def _parts(link: Link) -> list[str]:
    """Names of the links that stand for one with several pipes in a row."""
    count = max(len(link.forward.pipes), len(link.backward.pipes), 1)
    return [link.name, *(f"{link.name}-{part}" for part in range(1, count))]


def _links(network: Network) -> tuple[list[str], list[str]]:
    """Lines of all links; routers between the parts of those with several pipes in a row."""
    lines: list[str] = []
    between: list[str] = []
    wire: dict[str, Value] = {"rate": rate_text(network.line_bps), **_WIRE}
    for link in network.links:
        lines += _comments(link)
        if not link.pipes:
            lines.append(_link(link.name, link.between, wire))
            continue
        forward, backward = link.forward.pipes, link.backward.pipes[::-1]
        _, *middle = _parts(link)
        parts = len(middle) + 1
        between += [f"{node}-node" for node in middle]
        nodes = [link.between[0], *(f"{node}-node" for node in middle), link.between[1]]
        for part in range(parts):
            fields: dict[str, Value] = {}
            if part < len(forward):
                fields["forward"] = forward[part].fields
            if part < len(backward):
                fields["backward"] = backward[part].fields
            name = link.name if part == 0 else middle[part - 1]
            lines.append(_link(name, (nodes[part], nodes[part + 1]), fields))
    return lines, between


def _link(name: str, between: tuple[str, str], fields: Mapping[str, Value]) -> str:
    shown = [f"name: {inline(name)}", f"between: [{between[0]}, {between[1]}]"]
    both = fields.get("forward"), fields.get("backward")
    if None not in both and both[0] == both[1]:
        fields = both[0]  # type: ignore[assignment]
    ways = [f"{key}: {inline(value)}" for key, value in fields.items()]
    if sum(map(len, ways)) <= 80:
        return f"  - {{{', '.join([*shown, *ways])}}}"
    return "\n    ".join([f"  - {shown[0]}", shown[1], *ways])


def _comments(link: Link) -> list[str]:
    lines = [f"  # {_clean(str(note))}" for note in link.notes.all]
    for path in (link.forward, link.backward):
        lines += _path_comments(path)
    return list(dict.fromkeys(lines))


def _path_comments(path: Path) -> Iterable[str]:
    for line, command in path.sources:
        yield f"  # line {line}: {_clean(command)}"
    for notes in path.notes:
        for note in notes.all:
            mark = "lost: " if note.lost else ""
            yield f"  #   {mark}{_clean(str(note))}"


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
