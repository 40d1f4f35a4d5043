"""Commands of `tc` and `ip link`: interfaces with their qdiscs, classes and policers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dumbbell.errors import shortened
from dumbbell.translate import (
    disciplines,
    filters,
    htb,
    netem,
    police,
    prio,
    pumba,
    shown,
    stab,
    tbf,
)
from dumbbell.translate.interface import Class, Interface, Qdisc
from dumbbell.translate.mistakes import Notes
from dumbbell.translate.shell import Command, commands
from dumbbell.translate.stage import Reading, Stage, Value
from dumbbell.translate.words import Words

#: Qdiscs that only choose a child.
_CHOOSING = (
    "prio",
    "mq",
    "mqprio",
    "multiq",
    "drr",
    "hfsc",
    "ets",
    "taprio",
    "cbq",
    "qfq",
    "dsmark",
)
_INGRESS = ("ingress", "clsact")
KINDS = ("netem", "tbf", "htb", *disciplines.WORDS, *_CHOOSING, *_INGRESS)
_OBJECTS = ("qdisc", "class", "filter", "chain", "action", "monitor", "exec")
_SETTING = ("add", "replace", "change")
_ACTIONS = (*_SETTING, "link", "del", "delete", "show", "list", "ls", "get")
#: Options of tc with a value, and without.
_VALUED = ("-n", "-netns", "-b", "-batch", "-cf", "-conf")
_MOST_COMMANDS = 2000
#: Variable of a script that has the path of tc.
_VARIABLE_TC = re.compile(r"\$\{?TC(?:_\w{1,20})?\}?\Z")


@dataclass
class Script:
    """What commands have set up.

    Attributes:
        file: Name of the file, for messages.
        interfaces: Name → interface, in order of appearance.
        pairs: veth interface → its other end.
        notes: Remarks that belong to no interface.
        count: Commands that were read.
        shown: True if lines that tc shows are read as commands.
    """

    file: str
    interfaces: dict[str, Interface] = field(default_factory=dict)
    pairs: dict[str, str] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    count: int = 0
    shown: bool = False

    def interface(self, name: str) -> Interface:
        """The interface of this name."""
        return self.interfaces.setdefault(name, Interface(name))


def read_script(text: str, file: str) -> Script:
    """Reads all commands of a script. Raises `TranslateError`."""
    made = Script(file)
    read_commands(made, commands(text))
    if not made.interfaces:
        read_commands(made, commands(text, root=True))
    if not made.interfaces:
        made.shown = True
        read_commands(made, commands(text))
    return made


def read_commands(made: Script, found: Iterable[Command]) -> None:
    """Reads commands; those of other programs are left out."""
    for command in found:
        if made.count >= _MOST_COMMANDS:
            made.notes.lost(command.line, "…", f"only the first {_MOST_COMMANDS} commands are read")
            return
        read_one(made, command.words, command.line)


def read_one(made: Script, words: Sequence[str], line: int) -> None:
    """Reads a command if it is one of tc or ip, or a line that tc shows."""
    told = shown.command_of(words) if made.shown else None
    if told is not None:
        if told:
            made.count += 1
            _tc(made, told, line)
        return
    for place, word in enumerate(words[:40]):
        name = word.rpartition("/")[2].partition(":")[0]
        name = "tc" if _VARIABLE_TC.match(name) else name
        following = words[place + 1] if place + 1 < len(words) else ""
        if name == "tc" and (following[:1] == "-" or _matched(following, _OBJECTS)):
            made.count += 1
            _tc(made, words[place + 1 :], line)
            return
        if name == "ip" and "link" in words[place + 1 : place + 4]:
            _ip_link(made, words[place + 1 :], line)
            return
        if name == "pumba":
            _pumba(made, words[place + 1 :], line)
            return
        if name in ("echo", "printf", "grep", "man", "which", "apt", "apt-get"):
            return


def _matched(word: str, known: Sequence[str]) -> str:
    """Full name of a word, which tc takes abbreviated; empty: none."""
    return next((one for one in known if word and one.startswith(word)), "")


def _tc(made: Script, given: Sequence[str], line: int) -> None:
    given = _without_redirections(given)
    words = Words(given, line, made.file)
    while words.peek().startswith("-"):
        if words.take() in _VALUED and words.more:
            words.take()
    if not words.more:
        return
    kind = _matched(words.take(), _OBJECTS)
    if kind not in ("qdisc", "class", "filter"):
        return
    action = _matched(words.peek(), _ACTIONS)
    if not action:
        raise words.mistake(f"tc {kind} has no such command", words.peek(), _ACTIONS)
    words.take()
    command = shortened("tc " + " ".join(given), 140)
    if action in ("del", "delete"):
        _delete(made, kind, words)
    elif action in _SETTING:
        {"qdisc": _qdisc, "class": _class, "filter": _filter}[kind](made, words, command, action)


def _pumba(made: Script, words: Sequence[str], line: int) -> None:
    """Reads `pumba netem`, which runs `tc qdisc add dev eth0 root netem …`."""
    found = pumba.tc_words(words, line, made.file)
    if found is not None:
        device, netem_words = found
        _tc(made, ["qdisc", "replace", "dev", device, "root", "netem", *netem_words], line)
        made.count += 1


def _without_redirections(words: Sequence[str]) -> list[str]:
    """Words without `2>/dev/null` and the like."""
    kept: list[str] = []
    skip = False
    for word in words:
        bare = word.lstrip("012")
        if skip or bare.startswith((">", "<")):
            skip = not skip and bare in (">", ">>", "<")
            continue
        kept.append(word)
    return kept


@dataclass
class _Place:
    device: str
    parent: str = ""
    handle: str = ""
    classid: str = ""
    framing: dict[str, Value] = field(default_factory=dict)
    lost: list[tuple[str, str]] = field(default_factory=list)


def _place(words: Words) -> _Place:
    """Reads `dev`, `root`, `parent`, `handle` and `classid` in any order."""
    made = _Place("")
    while words.more:
        word = words.peek()
        if word == "dev":
            words.take()
            made.device = words.value("dev", "an interface", ("eth0",))
        elif word in ("root", "ingress", "clsact", "egress"):
            words.take()
            made.parent = word
        elif word == "parent":
            words.take()
            made.parent = _id(words.value("parent", "a handle", ("1:1",)))
        elif word == "handle":
            words.take()
            made.handle = _id(words.value("handle", "a handle", ("1:",)))
        elif word == "classid":
            words.take()
            made.classid = _id(words.value("classid", "a class", ("1:1",)))
        elif word in ("ingress_block", "egress_block"):
            words.take()
            words.value(word)
        elif word in ("est", "estimator"):
            words.take()
            values = f"{words.value(word)} {words.value(word)}"
            made.lost.append((f"{word} {values}", "without effect: it only counts"))
        elif word == "stab":
            words.take()
            made.framing |= stab.read(Reading(words, Notes()))
        else:
            break
    if not made.device:
        allowed = ("dev eth0", "root", "parent", "handle")
        raise words.mistake("tc needs an interface: dev", words.peek(), allowed)
    return made


def _id(text: str) -> str:
    """Handle or class with equal writing: lower case, no leading zeros, minor 0 left out."""
    if text == "root":
        return text
    major, _, minor = text.lower().partition(":")
    return f"{major.lstrip('0') or '0'}:{minor.lstrip('0')}"


def _qdisc(made: Script, words: Words, command: str, action: str) -> None:
    place = _place(words)
    interface = made.interface(place.device)
    notes = Notes()
    if place.parent in ("ingress", "clsact"):
        return
    kind = words.value("tc qdisc", "a qdisc", KINDS)
    if kind not in KINDS:
        raise words.mistake("no such qdisc", kind, KINDS)
    if kind in _INGRESS:
        return
    if not place.parent:
        raise words.mistake("tc qdisc needs root or parent", kind, ("root", "parent 1:1"))
    before = interface.qdiscs.get(place.parent)
    if place.parent == "root" and before is not None:
        if action == "add":
            notes.lost(words.line, "add", "the interface had a qdisc already: this one replaces it")
        if action != "change":
            interface.qdiscs.clear()
            interface.classes.clear()
            interface.steered.clear()
    handle = place.handle.partition(":")[0]
    if handle == "0" and place.parent != "root":
        handle = ""  # as tc shows qdiscs that the kernel made: they have none
    handle = handle or (before.handle if before else f"?{len(interface.qdiscs)}")
    stage, default = _stage(kind, Reading(words, notes))
    for word, why in place.lost:
        notes.lost(words.first, word, why)
    interface.qdiscs[place.parent] = Qdisc(
        kind, words.first, command, handle, place.parent, stage, notes, default, place.framing
    )


def _stage(kind: str, reading: Reading) -> tuple[Stage | None, int | None]:
    """Parameters of a qdisc; the default class of HTB, that of TOS 0 of prio."""
    if kind == "netem":
        return netem.read(reading), None
    if kind == "tbf":
        return tbf.read(reading), None
    if kind == "htb":
        return None, htb.read(reading).default
    if kind == "prio":
        return None, prio.read(reading)
    if kind in _CHOOSING:
        left = " ".join(reading.words.rest())
        if kind != "mq":
            reading.lost(f"{kind} {left}".strip(), "no counterpart: packets pass to one child")
        return None, None
    return disciplines.read(kind, reading), None


def _class(made: Script, words: Words, command: str, action: str) -> None:
    place = _place(words)
    kind = words.value("tc class", "a class", ("htb",))
    if not place.classid:
        raise words.mistake("tc class needs a classid", kind, ("classid 1:10",))
    interface, notes = made.interface(place.device), Notes()
    if kind != "htb":
        if kind not in _CHOOSING:
            raise words.mistake("no such class", kind, ("htb", *_CHOOSING))
        notes.lost(
            words.line, f"class {kind} {' '.join(words.rest())}", "no counterpart: only HTB shapes"
        )
        interface.classes[place.classid] = Class(
            place.classid, place.parent, words.first, command, None, notes
        )
        return
    above = interface.classes.get(place.parent)
    if action == "change" and not place.parent and place.classid in interface.classes:
        before = interface.classes[place.classid]
        place.parent, above = before.parent, interface.classes.get(before.parent)
    parent = above.stage if above is not None and place.parent != place.classid else None
    stage = htb.read_class(Reading(words, notes), parent)
    interface.classes[place.classid] = Class(
        place.classid, place.parent, words.first, command, stage, notes
    )


def _filter(made: Script, words: Words, command: str, action: str) -> None:
    """Reads a filter as far as it polices, redirects or steers."""
    interface, notes = made.interface(""), Notes()
    left = words.rest()
    inner = Words(left, words.line, words.file)
    device, parent = "", ""
    while inner.more:
        word = inner.take()
        if word == "dev" and not device:
            device = inner.value("dev", "an interface", ("eth0",))
            interface = made.interface(device)
        elif word in ("ingress", "egress", "root") and not parent:
            parent = word
        elif word == "parent":
            parent = _id(inner.value("parent", "a handle", ("1:",)))
        elif word in ("flowid", "classid"):
            target = _id(inner.value(word, "a class", ("1:10",)))
            data = filters.matches_data(left)
            steer = filters.Steer(target, words.line, command, filters.condition(left), data)
            interface.steered.append(steer)
        elif word == "police":
            found = police.read(Reading(inner, notes))
            filters.remark_police(left, words.line, notes)
            leaves = parent not in ("ffff:", "ffff:fff2", "ingress")
            (interface.leaving if leaves else interface.policers).append((found, command, notes))
        elif word == "mirred":
            _mirred(inner, interface)
        elif word == "match" and inner.peek() in ("ip", "ip6", "u8", "u16", "u32"):
            continue
    made.interfaces.pop("", None)
    if not device:
        raise words.mistake(
            "tc filter needs an interface: dev", left[0] if left else "", ("dev eth0",)
        )


def _mirred(words: Words, interface: Interface) -> None:
    for _ in range(4):
        word = words.peek()
        if word == "dev":
            words.take()
            interface.redirected = words.value("dev", "an interface", ("ifb0",))
            return
        if not words.more:
            return
        words.take()


def _delete(made: Script, kind: str, words: Words) -> None:
    place = _place(words)
    interface = made.interfaces.get(place.device)
    if interface is None or kind != "qdisc":
        return
    if place.parent in ("ingress", "clsact"):
        interface.policers.clear()
        interface.redirected = None
    elif place.parent == "root":
        kept = dict(interface.qdiscs), dict(interface.classes)
        interface.qdiscs.clear()
        interface.classes.clear()
        interface.before = kept
    else:
        interface.qdiscs.pop(place.parent, None)


def _ip_link(made: Script, given: Sequence[str], line: int) -> None:
    """Reads `mtu` of `ip link set`, and pairs of `ip link add … type veth peer`."""
    words = Words(_without_redirections(given), line, made.file)
    while words.more and words.take() != "link":
        pass
    action = words.take() if words.more else ""
    words.take_if("dev", "name")
    if action not in ("set", "add") or not words.more:
        return
    name = words.take()
    if action == "add" and name == "type":
        return
    while words.more:
        word = words.take()
        if word == "mtu":
            mtu = words.count("mtu", 65535)
            if mtu < 88:
                raise words.mistake("mtu should be 88 to 65535", str(mtu), ("1500", "9000"))
            made.interface(name).mtu, made.interface(name).mtu_line = mtu, line
            made.count += 1
        elif word == "peer" and action == "add":
            words.take_if("name")
            if words.more:
                made.pairs[name] = words.take()
