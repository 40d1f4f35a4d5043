"""Size tables of qdiscs (tc-stab(8)): a framing of what the qdisc and its children send."""

from __future__ import annotations

from collections.abc import Iterable

from dumbbell.translate.mistakes import Notes
from dumbbell.translate.stage import Pipe, Reading, Value
from dumbbell.translate.tbf import framing_word

_FRAMING = ("overhead", "mpu", "linklayer")
#: Size of the table itself.
_SILENT = ("mtu", "tsize")


def read(reading: Reading) -> dict[str, Value]:
    """Reads the words behind `stab`."""
    words, made = reading.words, dict[str, Value]()
    while words.peek() in (*_FRAMING, *_SILENT):
        word = words.take()
        if word in _SILENT:
            words.count(word)
        else:
            made |= framing_word(reading, word)
    return made


def apply(framing: dict[str, Value], pipes: Iterable[Pipe], notes: Notes, line: int) -> None:
    """Gives the framing to all pipes with a rate."""
    given = " ".join(f"{key} {value}" for key, value in framing.items())
    with_rate = [pipe for pipe in pipes if pipe.rate_bps is not None]
    for pipe in with_rate:
        pipe.fields.setdefault("framing", framing)
    if with_rate:
        notes.became(line, f"stab {given}", "framing of each packet")
    else:
        notes.lost(line, f"stab {given}", "no counterpart without a rate")
