"""Paths of packets that leave through an interface: its qdiscs and classes from the root down."""

from __future__ import annotations

from dumbbell.translate import htb, orphans, stab
from dumbbell.translate.disciplines import Discipline
from dumbbell.translate.htb import HtbClass
from dumbbell.translate.interface import Class, Direct, Interface, Path, Qdisc, major
from dumbbell.translate.mistakes import Notes
from dumbbell.translate.stage import Pipe, Stage, Value
from dumbbell.translate.tbf import Tbf
from dumbbell.translate.units import rate_text, size_text


def egress(interface: Interface) -> Path:
    """Path of packets that leave through an interface."""
    made = Path()
    for police, command, notes in interface.leaving:
        made.pipes += police.pipes(interface.frame, notes)
        made.sources.append((notes.all[0].line if notes.all else 0, command))
        made.notes.append(notes)
    root = interface.qdiscs.get("root") or orphans.adopted(interface)
    if root is not None:
        made.pipes += _below(interface, root, made, 0)
        made.notes.append(orphans.left_out(interface, root, made))
    return made


def _below(interface: Interface, qdisc: Qdisc, made: Path, depth: int) -> list[Pipe]:
    """Pipes of a qdisc and of what lies below it."""
    found = _unframed(interface, qdisc, made, depth)
    if qdisc.framing:
        stab.apply(qdisc.framing, found, qdisc.notes, qdisc.line)
    return found


def _unframed(interface: Interface, qdisc: Qdisc, made: Path, depth: int) -> list[Pipe]:
    """The same without the size table of the qdisc."""
    made.sources.append((qdisc.line, qdisc.command))
    made.notes.append(qdisc.notes)
    if depth > 16:
        return []
    stage = qdisc.stage
    own = [one for one in interface.classes.values() if major(one.id) == qdisc.handle]
    if own or qdisc.kind == "htb":
        return _in_class(interface, qdisc, own, made, depth)
    child = _child(interface, qdisc, made)
    below = [] if child is None else _below(interface, child, made, depth + 1)
    if stage is None:
        return below or _band(qdisc)
    if isinstance(stage, Tbf):
        stage.child = _passed_stage(interface, child)
        if child is not None:
            text = "its queue replaces the limit of tbf"
            qdisc.notes.became(child.line, child.kind, text)
    elif isinstance(stage, Discipline) and child is not None:
        text = "its queue and its delayed packets are no part of red's average"
        if stage.name != "red":
            text = f"{stage.name} takes no child, tc refuses it: here it follows"
        qdisc.notes.lost(child.line, f"{child.kind} below {stage.name}", text)
    return stage.pipes(below, interface.frame)


def _passed_stage(interface: Interface, child: Qdisc | None) -> Stage | None:
    """Stage of a child, or of what lies below one that only chooses."""
    for _ in range(16):
        if child is None or child.stage is not None:
            break
        child = _child(interface, child)
    return None if child is None else child.stage


def _band(qdisc: Qdisc) -> list[Pipe]:
    """The queue that prio gives a band without a child."""
    if qdisc.kind != "prio":
        return []
    text = f"the band has a pfifo of {htb.LEAF_PACKETS} packets"
    qdisc.notes.became(qdisc.line, "prio", text)
    return [_fifo()]


def _fifo() -> Pipe:
    queue: dict[str, Value] = {"pfifo": {"limit": f"{htb.LEAF_PACKETS} packets"}}
    return Pipe({"queue": queue}, needs_rate=True)


def _in_class(
    interface: Interface, qdisc: Qdisc, own: list[Class], made: Path, depth: int
) -> list[Pipe]:
    """Pipes of the class whose packets the experiment shows."""
    chosen = _chosen(interface, qdisc, own, made)
    if chosen is None:
        return _unshaped(interface, qdisc, own, made)
    passed = [chosen]
    while (above := interface.classes.get(passed[-1].parent)) is not None and above not in passed:
        passed.append(above)
    for one in reversed(passed):
        made.sources.append((one.line, one.command))
        made.notes.append(one.notes)
    top = passed[-1]
    if top.parent not in ("root", f"{qdisc.handle}:", top.id) and top.stage is not None:
        text = f"there is no such class or qdisc: class {top.id} is used as if at the root"
        top.notes.lost(top.line, f"parent {top.parent or '(none)'}", text)
    leaves = [one for one in own if not any(other.parent == one.id for other in own)]
    others = [one for one in leaves if one is not chosen]
    if others:
        named = ", ".join(one.id for one in others[:8])
        chosen.notes.lost(
            chosen.line,
            f"{'class' if len(others) == 1 else 'classes'} {named}",
            f"left out: the experiment has class {chosen.id}",
        )
    child = interface.qdiscs.get(chosen.id)
    below = [] if child is None else _below(interface, child, made, depth + 1)
    if chosen.stage is None:
        return below
    chosen.stage.child = _passed_stage(interface, child)
    text = _class_text(chosen.stage)
    chosen.notes.became(chosen.line, f"class {chosen.id}", text)
    return chosen.stage.pipes(below, interface.frame)


def _unshaped(interface: Interface, qdisc: Qdisc, own: list[Class], made: Path) -> list[Pipe]:
    """The direct queue of HTB: packets without a class pass unshaped (`htb_classify`)."""
    given = f"{qdisc.default:x}" if qdisc.default else ""
    words = f"default {given}" if given else "htb without default"
    why = f"there is no leaf {qdisc.handle}:{given}" if given else "no filter names a class"
    text = f"{why}, so packets pass unshaped (HTB's direct queue)"
    qdisc.notes.lost(qdisc.line, words, text)
    leaf = next((one for one in _leaves(own) if one.stage is not None), None)
    pipe = None
    if leaf is not None and leaf.stage is not None:
        child = interface.qdiscs.get(leaf.id)
        leaf.stage.child = _passed_stage(interface, child)
        below = [] if child is None else _below(interface, child, Path(), 1)
        pipe = leaf.stage.pipes(below, interface.frame)[-1]
    made.direct = Direct(given, "" if leaf is None else leaf.id.partition(":")[2], pipe)
    return [_fifo()]


def _leaves(own: list[Class]) -> list[Class]:
    return [one for one in own if not any(other.parent == one.id for other in own)] or own


def _class_text(one: HtbClass) -> str:
    text = f"rate {rate_text(one.rate)}, ceil {rate_text(one.ceil)}, "
    text += f"burst {size_text(one.burst)}, cburst {size_text(one.cburst)}"
    if one.top is None and one.ceil > one.rate:
        return f"{text}; without a parent it cannot borrow"
    return text


def _chosen(interface: Interface, qdisc: Qdisc, own: list[Class], made: Path) -> Class | None:
    """Class of a filter, else the default class; None: HTB has none of them."""
    leaves = _leaves(own)
    steer = _steered(interface, {one.id for one in leaves}, made)
    if steer is not None:
        return next(one for one in leaves if one.id == steer)
    if qdisc.default is not None:
        for one in leaves:
            if _minor(one.id) == qdisc.default:
                return one
    shapes = qdisc.kind == "htb" and not qdisc.implicit
    return None if shapes or not leaves else leaves[0]


def _steered(interface: Interface, targets: set[str], made: Path | None) -> str | None:
    """Class of the first filter that data of the flow can match; None: there is none."""
    notes, chosen = Notes(), None
    if made is not None:
        made.notes.append(notes)
    for one in interface.steered:
        if one.target not in targets:
            continue
        if made is not None:
            made.sources.append((one.line, one.command))
        if one.data:
            chosen = one.target
            if one.condition:
                text = f"the flow has such packets: class {one.target}"
                notes.became(one.line, one.condition, text)
            break
        text = f"no data of the flow is so: not class {one.target}"
        notes.became(one.line, one.condition or "filter", text)
    return chosen


def _child(interface: Interface, qdisc: Qdisc, made: Path | None = None) -> Qdisc | None:
    """Child of a qdisc without classes of its own: that of a filter, else of prio's band."""
    mine = {
        parent: one
        for parent, one in interface.qdiscs.items()
        if one is not qdisc and parent != "root" and major(parent) == qdisc.handle
    }
    bands = {one.target for one in interface.steered if major(one.target) == qdisc.handle}
    steer = _steered(interface, {*mine, *(bands if qdisc.kind == "prio" else ())}, made)
    if steer is not None:
        return mine.get(steer)
    if qdisc.kind == "prio":
        return next((one for at, one in mine.items() if _minor(at) == qdisc.default), None)
    return next(iter(mine.values()), None)


def _minor(name: str) -> int:
    try:
        return int(name.partition(":")[2] or "0", 16)
    except ValueError:
        return -1
