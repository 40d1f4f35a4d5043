"""Interfaces with their qdiscs, classes and filters, as `tc` builds them."""

from __future__ import annotations

from dataclasses import dataclass, field

from dumbbell.translate.filters import Steer
from dumbbell.translate.htb import HtbClass
from dumbbell.translate.mistakes import Notes
from dumbbell.translate.police import Police
from dumbbell.translate.stage import FRAME, HEADER, Pipe, Stage, Value


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
        default: Minor number of the class without a filter: HTB's default, prio's first band.
        framing: Framing of its size table (stab).
        implicit: True if no command has it, only its classes.
    """

    kind: str
    line: int
    command: str
    handle: str
    parent: str
    stage: Stage | None
    notes: Notes
    default: int | None = None
    framing: dict[str, Value] = field(default_factory=dict)
    implicit: bool = False


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
        steered: Filters that send packets to a class, in order.
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
    steered: list[Steer] = field(default_factory=list)
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
        return bool(self.qdiscs or self.classes or self.policers or self.leaving or self.redirected)


@dataclass
class Path:
    """Direction of an interface: its pipes and the commands behind them.

    Attributes:
        pipes: Its pipes, in the order of packets.
        sources: Lines with their commands.
        notes: Remarks.
        direct: HTB that sends the packets unshaped; None: none does.
    """

    pipes: list[Pipe] = field(default_factory=list)
    sources: list[tuple[int, str]] = field(default_factory=list)
    notes: list[Notes] = field(default_factory=list)
    direct: Direct | None = None


@dataclass
class Direct:
    """HTB whose packets have no class.

    Attributes:
        default: Default class as given, hexadecimal; empty: none.
        leaf: Minor number of its first leaf, hexadecimal; empty: it has none.
        pipe: What the leaf would be.
    """

    default: str
    leaf: str
    pipe: Pipe | None


def major(name: str) -> str:
    """Major number of a handle or class."""
    return name.partition(":")[0]
