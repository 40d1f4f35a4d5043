"""Qdiscs and classes whose parent is not in the text."""

from __future__ import annotations

from dumbbell.translate.interface import Interface, Path, Qdisc, major
from dumbbell.translate.mistakes import Notes


def adopted(interface: Interface) -> Qdisc | None:
    """What is used as the root of an interface without one; None: nothing is there."""
    handles = {one.handle for one in interface.qdiscs.values()}
    for qdisc in interface.qdiscs.values():
        if major(qdisc.parent) not in handles and qdisc.parent not in interface.classes:
            text = "there is no such class or qdisc: used as if at the root"
            qdisc.notes.lost(qdisc.line, f"{qdisc.kind} parent {qdisc.parent}", text)
            return qdisc
    for one in interface.classes.values():
        handle = major(one.id)
        if handle not in handles:
            notes = Notes()
            text = f"there is no qdisc {handle}: so its classes are used as if it were at the root"
            notes.lost(one.line, f"class {one.id}", text)
            kind = "drr" if one.stage is None else "htb"
            made = Qdisc(kind, one.line, one.command, handle, "root", None, notes)
            made.implicit = True
            return made
    return next(iter(interface.qdiscs.values()), None)


def left_out(interface: Interface, root: Qdisc, path: Path) -> Notes:
    """Remarks on what the packets of the experiment do not pass."""
    notes = Notes()
    walked = {id(one) for one in path.notes}
    known = {one.handle: one for one in [root, *interface.qdiscs.values()]}
    for qdisc in interface.qdiscs.values():
        words = f"{qdisc.kind} parent {qdisc.parent}"
        above = known.get(major(qdisc.parent))
        if id(qdisc.notes) in walked or qdisc.parent in interface.classes:
            continue
        if above is None or above.kind == "htb":
            notes.lost(qdisc.line, words, "left out: there is no such class or qdisc")
        elif id(above.notes) not in walked:
            notes.lost(qdisc.line, words, "left out, with its parent")
        elif above.kind == "prio":
            taken = f"{above.handle}:{above.default:x}" if above.default else "another"
            text = f"left out: packets without a filter or TOS are in {taken} (priomap)"
            if any(major(one.target) == above.handle for one in interface.steered):
                text = "left out: a filter names another band"
            notes.lost(qdisc.line, words, text)
        else:
            notes.lost(qdisc.line, words, "left out: the flow passes another child")
    for one in interface.classes.values():
        if major(one.id) not in known:
            text = f"left out: there is no qdisc {major(one.id)}:"
            notes.lost(one.line, f"class {one.id}", text)
    return notes
