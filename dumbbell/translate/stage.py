"""Parts of a path: pipes of an experiment file, and the qdiscs that become them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dumbbell.translate.mistakes import Notes
from dumbbell.translate.words import Words

Value = str | bool | int | Mapping[str, "Value"] | list["Value"]

#: Bytes of a full Ethernet frame without FCS.
FRAME = 1514
#: Ethernet header, which `mtu` does not count.
HEADER = 14


@dataclass
class Pipe:
    """One direction of a link.

    Attributes:
        fields: Fields of the experiment file.
        delay_ns: Mean delay.
        rate_bps: Rate of the pipe; None: no word gives one.
        needs_rate: True if the queue needs a rate that no word gives.
    """

    fields: dict[str, Value] = field(default_factory=dict)
    delay_ns: int = 0
    rate_bps: int | None = None
    needs_rate: bool = False


class Stage(Protocol):
    """A qdisc as read."""

    def pipes(self, below: list[Pipe], frame: int) -> list[Pipe]:
        """Pipes of this qdisc with those of its child, in the order of packets.

        `frame`: bytes of a full frame at this interface.
        """
        ...


@dataclass
class Reading:
    """What readers of a qdisc share.

    Attributes:
        words: Words behind the name of the qdisc.
        notes: Remarks.
    """

    words: Words
    notes: Notes

    def became(self, words: str, text: str) -> None:
        """Remarks a translation."""
        self.notes.became(self.words.line, words, text)

    def lost(self, words: str, text: str) -> None:
        """Remarks words without a counterpart."""
        self.notes.lost(self.words.line, words, text)
