"""Networks of translated words: nodes, links with a chain of pipes per direction, flows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from dumbbell.translate.interface import Interface, Path
from dumbbell.translate.leaving import egress
from dumbbell.translate.mistakes import Note, Notes
from dumbbell.translate.stage import Pipe
from dumbbell.translate.tc import Script
from dumbbell.translate.units import rate_text

#: Rates of interfaces, of which the first that is ten times the fastest rate is taken.
_LINES = (10**9, 10**10, 10**11, 10**12)
_MOST_LINKS = 400


@dataclass
class Link:
    """A link.

    Attributes:
        name: Its name.
        between: Its ends.
        forward: Path from the first end to the second.
        backward: Path from the second end to the first.
        frame: Bytes of a full frame.
        notes: Remarks on the link itself.
    """

    name: str
    between: tuple[str, str]
    forward: Path = field(default_factory=Path)
    backward: Path = field(default_factory=Path)
    notes: Notes = field(default_factory=Notes)

    @property
    def pipes(self) -> list[Pipe]:
        """Pipes of both directions."""
        return [*self.forward.pipes, *self.backward.pipes]


@dataclass
class Flow:
    """A bulk flow; times in seconds."""

    name: str
    ends: tuple[str, str]


@dataclass
class Network:
    """A network.

    Attributes:
        hosts: Host → IP MTU; None: 1500.
        switches: Switches and routers.
        links: Links.
        flows: Flows, one after the other.
        notes: Remarks that belong to no link.
    """

    hosts: dict[str, int | None] = field(default_factory=dict)
    switches: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)

    @property
    def line_bps(self) -> int:
        """Rate of the interfaces themselves."""
        fastest = max((p.rate_bps or 0 for link in self.links for p in link.pipes), default=0)
        if any(pipe.needs_rate for link in self.links for pipe in link.pipes):
            fastest = max(fastest, 10**9)
        return next((rate for rate in _LINES if rate >= 10 * fastest), _LINES[-1])

    @property
    def lost(self) -> list[Note]:
        """Words without a counterpart, in the order of the source."""
        groups = [self.notes]
        for link in self.links:
            groups += [link.notes, *link.forward.notes, *link.backward.notes]
        found = [note for notes in groups for note in notes.all if note.lost]
        return sorted(dict.fromkeys(found), key=lambda note: note.line)


def safe(name: str, taken: Sequence[str] = ()) -> str:
    """Name for an experiment file: letters, digits, `-` and `_`, and not taken."""
    made = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:24].strip("_-") or "x"
    made = made if made[0].isalpha() else f"x{made}"
    unique, number = made, 1
    while unique in taken:
        number += 1
        unique = f"{made}-{number}"
    return unique


def of_script(script: Script) -> Network:
    """Network in which each interface that shapes is a link of its own, between two hosts."""
    made = Network(notes=script.notes)
    _revive(script)
    fed = {one.redirected for one in script.interfaces.values() if one.redirected}
    seen: set[str] = set()
    for interface in script.interfaces.values():
        plain = not interface.shapes and interface.mtu is None
        if interface.name in seen or interface.name in fed or plain:
            continue
        if len(seen) >= _MOST_LINKS:
            made.notes.lost(1, interface.name, f"left out, with all others after {_MOST_LINKS}")
            break
        other = _other_end(script, interface.name)
        seen |= {interface.name, other or interface.name}
        _island(made, script, interface, script.interfaces.get(other or ""))
    if len(made.flows) > 1:
        text = "each interface is a link of its own, between hosts of its own"
        made.notes.became(1, f"{len(made.flows)} flows", text)
    return made


def _revive(script: Script) -> None:
    """Takes back the last `tc qdisc del` if nothing is left without it."""
    if any(one.shapes or one.mtu is not None for one in script.interfaces.values()):
        return
    for interface in script.interfaces.values():
        if interface.before is not None:
            interface.qdiscs, interface.classes = interface.before
            if interface.qdiscs:
                first = next(iter(interface.qdiscs.values()))
                text = "the script deletes it at its end; the experiment keeps it"
                first.notes.became(first.line, "tc qdisc del", text)


def _other_end(script: Script, name: str) -> str | None:
    """Other end of a veth pair, if it shapes or has an MTU too."""
    for one, other in script.pairs.items():
        mate = {one: other, other: one}.get(name)
        known = script.interfaces.get(mate or "")
        if known is not None and (known.shapes or known.mtu is not None):
            return mate
    return None


def arriving(script: Script, interface: Interface) -> Path:
    """Path of packets that arrive at an interface: its policers, then what ifb does."""
    made = Path()
    for police, command, notes in interface.policers:
        made.pipes += police.pipes(interface.frame, notes)
        made.sources.append((notes.all[0].line if notes.all else 0, command))
        made.notes.append(notes)
    other = script.interfaces.get(interface.redirected or "")
    if other is not None and other is not interface:
        behind = egress(other)
        made.pipes += behind.pipes
        made.sources += behind.sources
        made.notes += behind.notes
        made.direct = behind.direct
    return made


def _island(made: Network, script: Script, interface: Interface, mate: Interface | None) -> None:
    """Adds two hosts and the link of an interface between them."""
    number = "" if not made.links else str(len(made.flows) + 1)
    here, there, node = f"here{number}", f"there{number}", f"node{number}"
    taken = [link.name for link in made.links]
    backward = arriving(script, interface) if mate is None else egress(mate)
    link = Link(safe(interface.name, [*taken, "wire"]), (node, there), egress(interface), backward)
    for host, end in ((here, interface), (there, mate or interface)):
        made.hosts[host] = end.mtu
        if end.mtu is not None:
            link.notes.became(end.mtu_line, f"mtu {end.mtu}", f"mtu {end.mtu} bytes of {host}")
    made.switches.append(node)
    made.links += [Link(f"wire{number}", (here, node)), link]
    ways = (bool(link.forward.pipes) or not backward.pipes, bool(backward.pipes))
    if ways[1]:
        far = f"far{number}"
        made.switches.append(far)
        link.between = (node, far)
        made.links.append(Link(f"far-wire{number}", (far, there)))
    if ways[0]:
        made.flows.append(Flow(safe(interface.name), (here, there)))
    if ways[1]:
        made.flows.append(Flow(safe(f"{interface.name}-in"), (there, here)))


def fill_rates(network: Network) -> None:
    """Gives queues without a rate that of the interface, ten times below the wires'."""
    for link in network.links:
        for path in (link.forward, link.backward):
            for pipe in path.pipes:
                if pipe.needs_rate and pipe.rate_bps is None:
                    pipe.rate_bps = 10**9
                    pipe.fields = {"rate": rate_text(10**9), **pipe.fields}
                    line = path.sources[0][0] if path.sources else 1
                    text = "rate of the interface, which no word gives: correct it"
                    link.notes.became(line, "rate 1 Gbit/s", text)
