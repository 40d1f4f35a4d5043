"""Values of JSON from elsewhere: every access names its place and checks the type."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from dumbbell.errors import shortened
from dumbbell.measured.values import MeasuredError, plain_name

#: Largest number that a column of integers gets.
MOST = 2**62


def parsed(data: bytes) -> Any:
    """Value of a JSON text. NaN and infinities, which JSON does not have, are null.

    Raises `MeasuredError` with line and column.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if b"NaN" not in data and b"Infinity" not in data:
            raise _wrong(error) from None
    try:
        return json.loads(data.decode(), parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        raise _wrong(error) from None
    except (UnicodeDecodeError, RecursionError):
        raise MeasuredError("", "not JSON: no UTF-8, or too deep") from None


def _wrong(error: json.JSONDecodeError) -> MeasuredError:
    text = shortened(error.msg.partition(": line")[0], 80)
    place = f"line {error.lineno}, column {error.colno}"
    if "after document" in text or "Extra data" in text:
        return MeasuredError(place, "a second JSON text begins; a file has one: split it")
    return MeasuredError(place, f"not JSON, or cut off: {text}")


@dataclass(frozen=True, slots=True)
class Fields:
    """Value of JSON with its place.

    Attributes:
        value: The value; None: missing or null.
        place: Path, as `end.streams[0].sender`.
    """

    value: Any
    place: str = ""

    def part(self, name: str) -> Fields:
        """Field of an object; one without a value if it is missing."""
        if self.value is None:
            return Fields(None, self._path(name))
        if not isinstance(self.value, dict):
            raise MeasuredError(self.place or "the file", f"not an object: {self._shown()}")
        return Fields(self.value.get(name), self._path(name))

    def parts(self, name: str = "") -> Iterator[Fields]:
        """Elements of a list; none if it is missing."""
        found = self.part(name) if name else self
        if found.value is None:
            return
        if not isinstance(found.value, list):
            raise MeasuredError(found.place or "the file", f"not a list: {found._shown()}")
        for place, one in enumerate(found.value):
            yield Fields(one, f"{found.place}[{place}]")

    def items(self) -> Iterator[tuple[str, Fields]]:
        """Fields of an object, in order."""
        if self.value is None:
            return
        if not isinstance(self.value, dict):
            raise MeasuredError(self.place or "the file", f"not an object: {self._shown()}")
        for name, one in self.value.items():
            yield name, Fields(one, self._path(plain_name(name)))

    def number(self, name: str = "", least: float = 0.0) -> float | None:
        """Number of at least `least`; None: missing or null."""
        found = self.part(name) if name else self
        value = found.value
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MeasuredError(found.place, f"not a number: {found._shown()}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isnan(number):
            return None
        if not least <= number < MOST:
            raise MeasuredError(found.place, f"a number of {least:g} or more: {found._shown()}")
        return number

    def count(self, name: str = "") -> int | None:
        """Whole number ≥ 0; None: missing or null."""
        found = self.number(name)
        return None if found is None else round(found)

    def text(self, name: str = "") -> str:
        """Text on one line; empty: missing or null."""
        found = self.part(name) if name else self
        return "" if found.value is None else plain_name(str(found.value)[:1000])

    def has(self, name: str) -> bool:
        """Returns true if an object has a field that is not null."""
        return isinstance(self.value, dict) and self.value.get(name) is not None

    def _path(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def _shown(self) -> str:
        text = repr(self.value) if isinstance(self.value, str | int | float) else ""
        return shortened(text or type(self.value).__name__, 40)
