"""Queue disciplines as sides of a gate: `subject` stands for the discipline of a queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.catalogue import disciplines
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.gate.sides import DEFAULT_CONTROL, SUBJECT, Side, read_side

#: Name of the drop-tail queue (RFC 7928 §3.2), and the discipline that it is.
DROP_TAIL = "fifo"
_FIFO = "pfifo"
#: A suite writes limits in packets: of full frames, where a discipline counts bytes.
_PACKETS, _FRAME = "packets", 1514


@dataclass(frozen=True, slots=True)
class QueueSide:
    """A queue discipline as a side.

    Attributes:
        name: As given.
        engine: Engine that runs it.
    """

    name: str
    engine: str
    names_engine: bool = False
    is_linux_tcp: bool = True

    def fitted(self, contents: Mapping[str, Any], word: str = SUBJECT) -> dict[str, Any]:
        """An experiment of a suite with this discipline in place of a word.

        Of the parameters in the suite those stay that the discipline has.
        """
        made: dict[str, Any] = self._fitted(contents, word)
        return made

    def _fitted(self, value: Any, word: str) -> Any:
        if isinstance(value, list):
            return [self._fitted(one, word) for one in value]
        if not isinstance(value, Mapping):
            return value
        if word in value and len(value) == 1:
            entry = disciplines()[_FIFO if self.name == DROP_TAIL else self.name]
            units = {one.name: one.unit for one in entry.parameters}
            given = {name: one for name, one in value[word].items() if name in units}
            if units.get("limit") == "bytes" and "limit" in given:
                packets = int(str(given["limit"]).removesuffix(_PACKETS))
                given["limit"] = f"{packets * _FRAME} bytes"
            return {entry.name: given}
        return {name: self._fitted(one, word) for name, one in value.items()}


def queue_names() -> list[str]:
    """Names of the disciplines that can be a side: those without classes."""
    return [DROP_TAIL, *(name for name, one in disciplines().items() if one.parameters)]


def has_queue(contents: Any, word: str = SUBJECT) -> bool:
    """True if a word stands for the discipline of a queue."""
    if isinstance(contents, list):
        return any(has_queue(one, word) for one in contents)
    if not isinstance(contents, Mapping):
        return False
    queue = contents.get("queue")
    is_here = isinstance(queue, Mapping) and list(queue) == [word]
    return is_here or any(has_queue(one, word) for one in contents.values())


def read_under_test(text: str, engine: str, control: str = DEFAULT_CONTROL) -> Side | QueueSide:
    """Reads a side: the name of a queue discipline, or one of `read_side`.

    Raises:
        DumbbellError: It is none of these.
    """
    if text in queue_names():
        return QueueSide(text, engine)
    return read_side(text, engine, control)


def check_suite(suite: Mapping[str, Mapping[str, Any]], *sides: Side | QueueSide) -> None:
    """Checks that the sides are what a suite is about.

    Raises:
        DumbbellError: A discipline and a suite of senders, or a sender and one of disciplines.
    """
    for name, contents in suite.items():
        for side in sides:
            wants = "a queue discipline" if has_queue(contents) else "a sender"
            if has_queue(contents) is not isinstance(side, QueueSide):
                raise DumbbellError(f"{name} is about {wants}; {side.name} is none", code=Code.GATE)
