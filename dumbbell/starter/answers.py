"""Answers to the questions of `dumbbell init`, read by the parsers of experiment files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dumbbell import units
from dumbbell.catalogue import congestion_controls, single_path
from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.experiment.contents import MAX_REPEATS

#: Between two values: a comma, or white space before a number.
_BETWEEN = re.compile(r"\s*,\s*|\s+(?=[-+]?\d)")
#: Between two names.
_WORDS = re.compile(r"[\s,]+")
_NUMBER = re.compile(r"[0-9]{1,9}")
_BEFORE_UNIT = re.compile(r"(?<=\d)\s*(?=[^\d\s._eE+-])")


@dataclass(frozen=True, slots=True)
class Answers:
    """What a first experiment is made of, in the syntax of experiment files.

    Attributes:
        rate: Rate of the bottleneck.
        rtt: RTT without queues.
        controls: Congestion controls.
        duration: Virtual time of a run.
        repeats: Number of repeats.
    """

    rate: str = "10 Mbit/s"
    rtt: str = "40 ms"
    controls: tuple[str, ...] = ("cubic", "bbr")
    duration: str = "30 s"
    repeats: int = 3

    @property
    def rate_bps(self) -> int:
        """Rate of the bottleneck in bit/s."""
        return units.whole(self.rate, units.RATE)

    @property
    def rtt_ns(self) -> int:
        """RTT in ns."""
        return units.whole(self.rtt, units.TIME)

    @property
    def duration_ns(self) -> int:
        """Virtual time of a run in ns."""
        return units.whole(self.duration, units.TIME)

    def with_line(self, text: str) -> Answers:
        """Answers with a rate, an RTT or both, as `10 Mbit/s, 40 ms`. Raises `ExperimentError`."""
        found: dict[str, str] = {}
        for part in _BETWEEN.split(text.strip()):
            name = _line_field(part)
            if name in found:
                what = "one rate and one RTT are needed, as 10 Mbit/s, 40 ms"
                raise ExperimentError(what, found=shortened(text), code=Code.NO_ANSWER)
            found[name] = _spaced(part)
        return replace(self, rate=found.get("rate", self.rate), rtt=found.get("rtt", self.rtt))

    def with_controls(self, text: str) -> Answers:
        """Answers with these congestion controls, as `cubic, bbr`. Raises `ExperimentError`."""
        names = _WORDS.split(text.strip(" ,"))
        for number, name in enumerate(names):
            _refuse_unknown(name)
            if name in names[:number]:
                what = "each congestion control once; a single one competes with itself"
                raise ExperimentError(what, found=f"{name} twice", code=Code.NO_ANSWER)
        return replace(self, controls=tuple(names))

    def with_length(self, text: str) -> Answers:
        """Answers with a duration, or with the number of repeats too, as `30 s, 3`.

        Raises `ExperimentError`.
        """
        duration, *rest = _BETWEEN.split(text.strip())
        _positive(duration, units.TIME)
        if len(rest) > 1 or not all(map(_NUMBER.fullmatch, rest)):
            what = "a duration and a number of repeats are needed, as 30 s, 3"
            raise ExperimentError(what, found=shortened(text), code=Code.NO_ANSWER)
        repeats = int(rest[0]) if rest else self.repeats
        if not 1 <= repeats <= MAX_REPEATS:
            what = f"should be a whole number from 1 to {MAX_REPEATS}"
            raise ExperimentError(what, found=str(repeats), code=Code.OUT_OF_RANGE)
        return replace(self, duration=_spaced(duration), repeats=repeats)


def _positive(text: str, family: units.Family) -> None:
    """Raises `ExperimentError` unless a quantity is above 0."""
    try:
        units.positive(text, family)
    except units.QuantityError as error:
        raise error.alone() from None


def _refuse_unknown(name: str) -> None:
    """Raises `ExperimentError` unless this is a congestion control of a single path."""
    known = single_path()
    if name in known:
        return
    what = "unknown congestion control"
    if name in congestion_controls():
        what = f"{name} couples the subflows of a multipath connection (mptcp:); tcp has one path"
    near = nearest_name(name, known)
    raise ExperimentError(what, found=name, allowed=known, nearest=near, code=Code.UNKNOWN_NAME)


def _line_field(text: str) -> str:
    """Field of a rate or a time. Raises `ExperimentError`."""
    try:
        family, _ = units.parse(text, units.RATE, units.TIME)
    except units.QuantityError as error:
        raise error.alone() from None
    _positive(text, family)
    return "rate" if family is units.RATE else "rtt"


def _spaced(text: str) -> str:
    """Quantity with one space before its unit."""
    return _BEFORE_UNIT.sub(" ", text, count=1)


def joined(words: Sequence[str]) -> str:
    """Words in a sentence: `cubic, reno and bbr`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def time_text(time_ns: int) -> str:
    """Time in the largest unit in which it is a whole number."""
    return _whole(time_ns, (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)))


def rate_text(rate_bps: int) -> str:
    """Rate in the largest unit in which it is a whole number."""
    sizes = (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3), ("bit/s", 1))
    return _whole(rate_bps, sizes)


def _whole(value: int, sizes: Sequence[tuple[str, int]]) -> str:
    unit, size = next(one for one in sizes if value % one[1] == 0)
    return f"{value // size} {unit}"
