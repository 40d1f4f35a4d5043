"""Topologies and link options of mininet: Python read as text, with `ast`. Nothing is executed.

Options become the commands of `tc` that mininet's `TCIntf` runs (`mininet/link.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from dumbbell.translate.interface import Interface
from dumbbell.translate.leaving import egress
from dumbbell.translate.mistakes import TranslateError
from dumbbell.translate.network import Flow, Link, Network, safe
from dumbbell.translate.pyread import UNKNOWN, Added, collected
from dumbbell.translate.tc import Script, read_one
from dumbbell.translate.units import time as read_time

#: Options of TCIntf.config, and those of links that say nothing about packets.
OPTIONS = (
    "bw", "delay", "jitter", "loss", "max_queue_size", "use_htb", "use_hfsc", "use_tbf",
    "latency_ms", "enable_ecn", "enable_red", "speedup", "gro", "txo", "rxo",
)  # fmt: skip
_SILENT = (
    "cls", "cls1", "cls2", "port1", "port2", "intf", "params1", "params2", "addr1", "addr2",
    "intfName1", "intfName2", "fast", "link", "key", "use_htb", "gro", "txo", "rxo",
)  # fmt: skip
_MOST_BW = 1000


def read(text: str, file: str) -> Network:
    """Reads a topology, or options alone. Raises `TranslateError`."""
    found = collected(text, file)
    made = Network()
    names: dict[str, str] = {}
    _nodes(made, found.hosts, found.switches, found.links, names)
    for added in found.links:
        taken = [link.name for link in made.links]
        name = safe(f"{names[added.ends[0]]}-{names[added.ends[1]]}", taken)
        link = Link(name, (names[added.ends[0]], names[added.ends[1]]))
        _options(link, added, file)
        made.links.append(link)
    for line, words in found.unread:
        made.notes.lost(
            line, words, "no counterpart: its value is known only when the program runs"
        )
    _flows(made)
    return made


def _nodes(
    made: Network, hosts: list[str], switches: list[str], links: list[Added], names: dict[str, str]
) -> None:
    ends = [end for one in links for end in one.ends]
    guessed = [end for end in ends if end[:1] not in ("s", "r", "c")]
    lone = len({*hosts, *guessed}) < 2
    for node in [*hosts, *switches, *ends]:
        if node in names:
            continue
        names[node] = safe(node, [*names.values()])
        is_switch = node in switches or (node not in hosts and node[:1] in ("s", "r", "c"))
        if ends.count(node) == 1 and lone:
            is_switch = False
        if is_switch:
            made.switches.append(names[node])
        else:
            made.hosts[names[node]] = None


def _options(link: Link, added: Added, file: str) -> None:
    """Adds the pipes of both interfaces of a link."""
    for end, own in enumerate(("params1", "params2")):
        side = added.options.get(own)
        options = {**added.options, **(side if isinstance(side, Mapping) else {})}
        path = egress(_interface(options, added, file, link.name))
        if end == 0:
            link.forward = path
        else:
            link.backward = path
    link.backward.sources.clear()


def _interface(options: Mapping[str, object], added: Added, file: str, device: str) -> Interface:
    """The interface as mininet's commands make it."""
    script = Script(file)
    for name, value in options.items():
        if name not in OPTIONS and name not in _SILENT:
            raise TranslateError(
                "a link of mininet has no such option", file=file, line=added.line, found=str(name),
                allowed=OPTIONS,
            )  # fmt: skip
        if value is UNKNOWN and name in OPTIONS:
            added.unknown.append(name)
    lines, parent = _rate(options, added, file)
    lines += _netem(options, parent, added, file)
    for line in lines:
        read_one(script, line.replace("dev x", f"dev {device}", 1).split(), added.line)
    made = script.interface(device)
    for qdisc in made.qdiscs.values():
        for name, why in _without_effect(options):
            qdisc.notes.lost(added.line, name, why)
        for name in dict.fromkeys(added.unknown):
            qdisc.notes.lost(
                added.line, name, "left out: its value is known only when the program runs"
            )
        break
    return made


def _without_effect(options: Mapping[str, object]) -> list[tuple[str, str]]:
    """Options that mininet reads and that shape nothing, or not as it shapes."""
    found = []
    if options.get("use_hfsc") is True and options.get("use_tbf") is not True:
        found.append(("use_hfsc", "no counterpart: the class of HTB with this rate"))
    if options.get("latency_ms") is not None and options.get("use_tbf") is not True:
        found.append(("latency_ms", "without effect: only use_tbf takes it"))
    if options.get("speedup") is not None and options.get("bw"):
        found.append(("speedup", "without effect beside bw"))
    return found


def _number(
    options: Mapping[str, object], name: str, added: Added, file: str, least: float, most: float
) -> float | None:
    value = options.get(name)
    if value is None or value is UNKNOWN:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise TranslateError(
            f"{name} should be a number from {least:g} to {most:g}", file=file, line=added.line,
            found=str(value),
        )  # fmt: skip
    return float(value)


def _rate(options: Mapping[str, object], added: Added, file: str) -> tuple[list[str], str]:
    """Commands of `bwCmds`, and the parent of what lies below."""
    bw = _number(options, "bw", added, file, 0, _MOST_BW)
    if not bw:
        return [], "root"
    if options.get("use_tbf") is True:
        latency = _number(options, "latency_ms", added, file, 0, 1e6) or 15.0 * 8 / bw
        lines = [
            f"tc qdisc add dev x root handle 5: tbf rate {bw:f}Mbit burst 15000"
            f" latency {latency:f}ms"
        ]
    else:
        lines = [
            "tc qdisc add dev x root handle 5:0 htb default 1",
            f"tc class add dev x parent 5:0 classid 5:1 htb rate {bw:f}Mbit burst 15k",
        ]
    parent = "parent 5:1"
    ecn = options.get("enable_ecn") is True
    if ecn or options.get("enable_red") is True:
        lines.append(
            f"tc qdisc add dev x {parent} handle 6: red limit 1000000 min 30000 max 35000"
            f" avpkt 1500 burst 20 bandwidth {bw:f}mbit probability 1" + (" ecn" if ecn else "")
        )
        parent = "parent 6:"
    return lines, parent


def _netem(options: Mapping[str, object], parent: str, added: Added, file: str) -> list[str]:
    """Commands of `delayCmds`."""
    words: list[str] = []
    for name in ("delay", "jitter"):
        value = options.get(name)
        if value is None or value is UNKNOWN:
            continue
        text = str(value).strip()
        if read_time(text) is None or (name == "jitter" and not words):
            allowed = ("delay='5ms'", "jitter='1ms' beside a delay")
            message = f"{name} should be a time of tc"
            raise TranslateError(message, file=file, line=added.line, found=text, allowed=allowed)
        words.append(f"delay {text}" if name == "delay" else text)
    loss = _number(options, "loss", added, file, 0, 100)
    if loss:
        words.append(f"loss {loss:.5f}")
    limit = _number(options, "max_queue_size", added, file, 1, 2**31 - 1)
    if limit:
        words.append(f"limit {int(limit)}")
    return [f"tc qdisc add dev x {parent} handle 10: netem {' '.join(words)}"] if words else []


#: Most flows of a topology.
_MOST_FLOWS = 20
#: A link, and true if a path goes from its first end to its second.
_Step = tuple[Link, bool]


def _flows(made: Network) -> None:
    """Adds flows until each link with words has one: from the first host to the last, and on."""
    without = [link for link in made.links if link.pipes]
    pair: tuple[str, str] | None = None
    for first in made.hosts:
        reached = _paths(made, first)
        others = [host for host in reversed(made.hosts) if host in reached and host != first]
        for other in others:
            passed = [link for link, along in reached[other] if _says(link, along)]
            new = [link for link in without if any(link is one for one in passed)]
            pair = pair or (first, other)
            if not new:
                continue
            if len(made.flows) == _MOST_FLOWS:
                text = f"only {_MOST_FLOWS} flows are made: no flow passes it"
                made.notes.lost(1, f"{without[0].name} and others", text)
                return
            made.flows.append(Flow(f"{first}-{other}", (first, other)))
            without = [link for link in without if not any(link is one for one in new)]
    if pair is not None and not made.flows:
        made.flows.append(Flow(f"{pair[0]}-{pair[1]}", pair))
    for link in without if made.flows else ():
        line = link.forward.sources[0][0] if link.forward.sources else 1
        made.notes.lost(line, link.name, "no flow passes it: it is on no shortest path of hosts")


def _says(link: Link, along: bool) -> bool:
    """Returns true if the link has words for this direction."""
    return bool((link.forward if along else link.backward).pipes)


def _paths(made: Network, first: str) -> dict[str, list[_Step]]:
    """Shortest path from a host to each node; other hosts forward nothing."""
    near: dict[str, list[tuple[str, _Step]]] = {}
    for link in made.links:
        one, other = link.between
        near.setdefault(one, []).append((other, (link, True)))
        near.setdefault(other, []).append((one, (link, False)))
    found: dict[str, list[_Step]] = {first: []}
    waiting = [first]
    for node in waiting:
        for following, step in (
            near.get(node, []) if node == first or node not in made.hosts else ()
        ):
            if following not in found:
                found[following] = [*found[node], step]
                waiting.append(following)
    return found
