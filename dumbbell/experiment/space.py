"""Space of a search: names with ranges or lists, read from an experiment file.

Without a search, each name stands for its start value, as a factor with this one level does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dumbbell import units
from dumbbell.errors import ExperimentError, nearest_name, shortened
from dumbbell.experiment.source import Node
from dumbbell.units import Family, QuantityError

_FAMILIES = (
    units.TIME, units.RATE, units.SIZE, units.PACKETS, units.SHARE, units.BDP, units.RTT,
)  # fmt: skip
#: Families whose values are whole numbers of the base unit.
_WHOLE = (units.TIME, units.RATE, units.SIZE, units.PACKETS)
#: Units of values, the largest first.
_UNITS = {
    "time": ("s", "ms", "us", "ns"),
    "rate": ("Gbit/s", "Mbit/s", "kbit/s", "bit/s"),
    "size": ("MiB", "KiB", "bytes"),
    "share": ("%",),
}
_FIELDS = ("from", "to", "scale", "start", "path")
_SCALES = ("linear", "log")
#: Significant digits of values. A range with fewer steps than these has more digits.
_DIGITS, _STEPS = 2, 15
#: A number with more characters is written in the base unit.
_SHORT = 8


@dataclass(frozen=True, slots=True)
class Level:
    """Level of a name: its label and its value."""

    label: str
    node: Node


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers between two ends, both included.

    Attributes:
        low: Lower end in base units of the family.
        high: Upper end.
        start: Value without a search.
        log: True if equal ratios are equally likely, false if equal steps are.
        family: Units of the values; None: numbers without unit.
        whole: True if values are whole numbers of the base unit.
        line: Line in the file.
    """

    low: Fraction
    high: Fraction
    start: Fraction
    log: bool
    family: Family | None
    whole: bool
    line: int

    def rounded(self, value: float | Fraction, digits: int | None = None) -> Fraction:
        """The number in the range with so many significant digits that is nearest to `value`."""
        exact = min(max(Fraction(value), self.low), self.high)
        if exact == 0:
            return exact
        count = self._digits() if digits is None else digits
        quantum = Fraction(10) ** (math.floor(math.log10(abs(exact))) - count + 1)
        near = round(exact / quantum) * quantum
        if self.whole:
            near = Fraction(round(near))
        return min(max(near, self.low), self.high)

    def level(self, value: float | Fraction) -> Level:
        """Level with this value, as text with a unit."""
        text = self._text(Fraction(value))
        plain: str | int | float = text
        if self.family is None:
            plain = int(text) if self.whole else float(text)
        return Level(text, Node(plain, text, self.line))

    def exact(self, level: Level) -> Fraction:
        """Value of a level in base units."""
        if self.family is None:
            return Fraction(level.label)
        return units.parse(level.label, self.family)[1]

    def start_level(self) -> Level:
        """Level of the start value."""
        return self.level(self.start)

    def _digits(self) -> int:
        """Two significant digits, or more until the widest decade has some steps."""
        width = float(self.high - self.low)
        exponent = math.ceil(math.log10(self.high)) - 1
        return next(d for d in range(_DIGITS, 18) if width >= _STEPS * 10.0 ** (exponent - d + 1))

    def _text(self, value: Fraction) -> str:
        if self.family is None:
            return _number(value)
        family = self.family
        for unit in _UNITS.get(family.name, family.likely[:1]):
            scaled = value / family.units[unit]
            if scaled >= 1 or unit == family.base or unit == "%":
                number = _number(scaled)
                text = f"{number} {unit}"
                if len(number) <= _SHORT and units.parse(text, family)[1] == value:
                    return text
        return f"{_number(value)} {family.base}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Some levels, the first of which is the start."""

    levels: tuple[Level, ...]

    def start_level(self) -> Level:
        """Level of the start value."""
        return self.levels[0]


Dimension = Range | Choice
Space = dict[str, Dimension]


def _number(value: Fraction) -> str:
    return str(int(value)) if value.denominator == 1 else f"{float(value):.12g}"


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file

    def fail(
        self,
        message: str,
        line: int,
        at: str,
        found: str | None = None,
        allowed: tuple[str, ...] = (),
        nearest: str | None = None,
    ) -> ExperimentError:
        return ExperimentError(
            message,
            file=self.file,
            line=line or None,
            field=at,
            found=found,
            allowed=allowed,
            nearest=nearest,
        )

    def range(self, spec: Node, line: int, at: str) -> Range:
        given = spec.value if isinstance(spec.value, dict) else {}
        for key in given:
            if key not in _FIELDS:
                near = nearest_name(key, _FIELDS)
                where = f"{at}.{key}"
                key_line = spec.key_lines[key]
                raise self.fail("unknown field", key_line, where, None, _FIELDS, near)
        for key in ("from", "to"):
            if key not in given:
                raise self.fail("is missing", line, f"{at}.{key}")
        family, low = self.value(given["from"], f"{at}.from")
        _, high = self.value(given["to"], f"{at}.to", family, given["from"])
        if low >= high:
            found = f"{given['from'].text} to {given['to'].text}"
            raise self.fail("an empty range: `to` should be above `from`", line, at, found)
        log = self.is_log(given.get("scale"), f"{at}.scale")
        if log and low <= 0:
            message = "a logarithmic scale needs a value above 0"
            raise self.fail(message, line, f"{at}.from", given["from"].text)
        ends = [given[key].value for key in ("from", "to")]
        whole = family in _WHOLE or (family is None and all(isinstance(e, int) for e in ends))
        middle = Fraction(math.sqrt(low * high)) if log else (low + high) / 2
        found_range = Range(low, high, middle, log, family, whole, line)
        start = found_range.rounded(middle, 1)
        if "start" in given:
            _, start = self.value(given["start"], f"{at}.start", family, given["from"])
            if not low <= start <= high:
                ends_text = f"{given['from'].text} to {given['to'].text}"
                start_line, text = given["start"].line, given["start"].text
                message = f"lies outside {ends_text}"
                raise self.fail(message, start_line, f"{at}.start", text)
        return Range(low, high, start, log, family, whole, line)

    def value(
        self, node: Node, at: str, like: Family | None = None, first: Node | None = None
    ) -> tuple[Family | None, Fraction]:
        """Family and value of an end. `first`: the other end, whose family `like` it must have."""
        family: Family | None = None
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            number = Fraction(str(node.value))
        else:
            try:
                family, number = units.parse(node.value, *_FAMILIES)
            except QuantityError as error:
                message = "neither a number nor a quantity"
                if error.message.startswith("unknown unit"):
                    message = "unknown unit"
                allowed, near = error.allowed, error.nearest
                raise self.fail(message, node.line, at, error.found, allowed, near) from None
        if first is not None and family is not like:
            kinds = [one.name if one else "number without unit" for one in (family, like)]
            message = f"is a {kinds[0]}, but `from` is a {kinds[1]}, {shortened(first.text)}"
            raise self.fail(message, node.line, at, shortened(node.text))
        if family in _WHOLE and number.denominator != 1:
            base = family.base if family else ""
            message = f"not a whole number of {base}"
            raise self.fail(message, node.line, at, shortened(node.text))
        return family, number

    def is_log(self, node: Node | None, at: str) -> bool:
        if node is None:
            return False
        if node.value not in _SCALES:
            near = nearest_name(node.text, _SCALES)
            raise self.fail("unknown scale", node.line, at, shortened(node.text), _SCALES, near)
        return node.value == "log"


def read_range(root: Node, name: str, file: str) -> Range:
    """Range of a name of the space. Raises `ExperimentError`."""
    space = _space(root)
    spec, line = space.value[name], space.key_lines.get(name, space.line)
    return _Reader(file).range(spec, line, f"search.space.{name}")


def read_space(root: Node, file: str) -> Space:
    """Space of a file that is checked: its ranges and lists by name."""
    space: Space = {}
    node = _space(root)
    for name, spec in node.value.items():
        if isinstance(spec.value, dict) and "levels" not in spec.value:
            space[name] = read_range(root, name, file)
            continue
        levels = spec.value["levels"] if isinstance(spec.value, dict) else spec
        items = levels.value if isinstance(levels.value, list) else []
        space[name] = Choice(tuple(level_of(one) for one in items))
    return space


def _space(root: Node) -> Any:
    """The mapping `search.space`."""
    found: Any = root
    for name in ("search", "space"):
        found = found.value[name]
    return found


def level_of(node: Node) -> Level:
    """Level of a value, or of a label and a value."""
    label = node
    if isinstance(node.value, dict) and set(node.value) == {"label", "value"}:
        label, node = node.value["label"], node.value["value"]
    return Level(" ".join(label.text.split()), node)
