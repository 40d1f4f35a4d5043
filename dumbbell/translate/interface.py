"""Interfaces with their qdiscs, classes and filters, as `tc` builds them."""

from __future__ import annotations

from dataclasses import dataclass, field

from dumbbell.translate.htb import HtbClass
from dumbbell.translate.mistakes import Notes
from dumbbell.translate.police import Police
from dumbbell.translate.stage import FRAME, HEADER, Pipe, Stage
from dumbbell.translate.tbf import Tbf
from dumbbell.translate.units import rate_text, size_text


@dataclass
class Qdisc:
    """A qdisc of an interface.

    Attributes:
        kind: Its name.
        line: Line in the source.
        command: The command, for comments.
        handle: Major number as written, as `1`.
        parent: Handle of the parent, as `1:10`; `root`.
        stage: Its parameters; None: it passes packets on to its children.
        notes: Remarks on its words.
    """

    kind: str
    line: int
    command: str
    handle: str
    parent: str
    stage: Stage | None
    notes: Notes
    default: int | None = None


@dataclass
class Class:
    """A class of HTB, or of another discipline with classes (`stage` is None)."""

    id: str
    parent: str
    line: int
    command: str
    stage: HtbClass | None
    notes: Notes


@dataclass
class Interface:
    """An interface.

    Attributes:
        name: Its name.
        mtu: IP MTU; None: 1500.
        mtu_line: Line that sets it.
        qdiscs: Parent → qdisc.
        classes: Class → class.
        steered: Classes to which filters send packets, in order.
        policers: Policers for arriving packets, with the notes of their lines.
        leaving: Policers for leaving packets.
        redirected: Interface (ifb) to which arriving packets are redirected.
        before: Qdiscs and classes that the last `tc qdisc del` removed.
    """

    name: str
    mtu: int | None = None
    mtu_line: int = 1
    qdiscs: dict[str, Qdisc] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    steered: list[str] = field(default_factory=list)
    policers: list[tuple[Police, str, Notes]] = field(default_factory=list)
    leaving: list[tuple[Police, str, Notes]] = field(default_factory=list)
    redirected: str | None = None
    before: tuple[dict[str, Qdisc], dict[str, Class]] | None = None

    @property
    def frame(self) -> int:
        """Bytes of a full frame."""
        return FRAME if self.mtu is None else self.mtu + HEADER

    @property
    def shapes(self) -> bool:
        """True if anything shapes its packets."""
        return bool(self.qdiscs or self.policers or self.leaving or self.redirected)


@dataclass
class Path:
    """Direction of an interface: its pipes and the commands behind them."""

    pipes: list[Pipe] = field(default_factory=list)
    sources: list[tuple[int, str]] = field(default_factory=list)
    notes: list[Notes] = field(default_factory=list)


def egress(interface: Interface) -> Path:
    """Path of packets that leave through an interface."""
    made = Path()
    for police, command, notes in interface.leaving:
        made.pipes.append(police.pipe())
        made.sources.append((notes.all[0].line if notes.all else 0, command))
        made.notes.append(notes)
    root = interface.qdiscs.get("root")
    if root is not None:
        made.pipes += _below(interface, root, made, 0)
    return made


def _below(interface: Interface, qdisc: Qdisc, made: Path, depth: int) -> list[Pipe]:
    """Pipes of a qdisc and of what lies below it."""
    if qdisc.kind != "implicit":
        made.sources.append((qdisc.line, qdisc.command))
    made.notes.append(qdisc.notes)
    if depth > 16:
        return []
    stage, own = (
        qdisc.stage,
        [one for one in interface.classes.values() if _major(one.id) == qdisc.handle],
    )
    if own:
        return _in_class(interface, qdisc, own, made, depth)
    child = _child(interface, qdisc)
    below = [] if child is None else _below(interface, child, made, depth + 1)
    if stage is None:
        return below
    if isinstance(stage, Tbf):
        stage.child = None if child is None else child.stage
        if child is not None:
            text = "its queue replaces the limit of tbf"
            qdisc.notes.became(child.line, child.kind, text)
    return stage.pipes(below, interface.frame)


def _in_class(
    interface: Interface, qdisc: Qdisc, own: list[Class], made: Path, depth: int
) -> list[Pipe]:
    """Pipes of the class whose packets the experiment shows."""
    chosen = _chosen(interface, qdisc, own)
    passed = [chosen]
    while (above := interface.classes.get(passed[-1].parent)) is not None and above not in passed:
        passed.append(above)
    for one in reversed(passed):
        made.sources.append((one.line, one.command))
        made.notes.append(one.notes)
    leaves = [one for one in own if not any(other.parent == one.id for other in own)]
    others = [one for one in leaves if one is not chosen]
    if others:
        named = ", ".join(one.id for one in others[:8])
        chosen.notes.lost(
            chosen.line, f"classes {named}", f"left out: the experiment has class {chosen.id}"
        )
    child = interface.qdiscs.get(chosen.id)
    below = [] if child is None else _below(interface, child, made, depth + 1)
    if chosen.stage is None:
        return below
    chosen.stage.child = None if child is None else child.stage
    text = _class_text(chosen.stage)
    chosen.notes.became(chosen.line, f"class {chosen.id}", text)
    return chosen.stage.pipes(below, interface.frame)


def _class_text(one: HtbClass) -> str:
    text = f"rate {rate_text(one.rate)}, ceil {rate_text(one.ceil)}, "
    text += f"burst {size_text(one.burst)}, cburst {size_text(one.cburst)}"
    if one.top is None and one.ceil > one.rate:
        return f"{text}; without a parent it cannot borrow"
    return text


def _chosen(interface: Interface, qdisc: Qdisc, own: list[Class]) -> Class:
    """Class of a filter, else the default class, else the first leaf."""
    by_id = {one.id: one for one in own}
    leaves = [one for one in own if not any(other.parent == one.id for other in own)] or own
    for target in interface.steered:
        if target in by_id and by_id[target] in leaves:
            return by_id[target]
    if qdisc.default is not None:
        for one in leaves:
            if _minor(one.id) == qdisc.default:
                return one
    return leaves[0]


def _child(interface: Interface, qdisc: Qdisc) -> Qdisc | None:
    """Child of a qdisc without classes of its own: that of a filter, else the first."""
    mine = {
        parent: one
        for parent, one in interface.qdiscs.items()
        if one is not qdisc and parent != "root" and _major(parent) == qdisc.handle
    }
    for target in interface.steered:
        if target in mine:
            return mine[target]
    return next(iter(mine.values()), None)


def _major(name: str) -> str:
    return name.partition(":")[0]


def _minor(name: str) -> int:
    try:
        return int(name.partition(":")[2] or "0", 16)
    except ValueError:
        return -1
