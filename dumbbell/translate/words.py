"""Reader of the words of one command, as iproute2 reads its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeVar

from dumbbell.translate import units
from dumbbell.translate.mistakes import TranslateError

_Value = TypeVar("_Value")


class Words:
    """Words of a command from left to right.

    Attributes:
        first: First line of the command.
        line: Line of the word that was taken last.
        file: Name of the file, for messages.
    """

    def __init__(self, words: Sequence[str], line: int, file: str) -> None:
        self.first = self.line = line
        self.file = file
        self._words = list(words)
        self._next = 0

    @property
    def more(self) -> bool:
        """True if a word follows."""
        return self._next < len(self._words)

    def peek(self) -> str:
        """Next word; empty: none."""
        return self._words[self._next] if self.more else ""

    def take(self) -> str:
        """Next word, which the caller knows to follow."""
        self._next += 1
        word = self._words[self._next - 1]
        self.line = getattr(word, "line", self.line)
        return word

    def take_if(self, *words: str) -> str | None:
        """Next word if it is one of these."""
        return self.take() if self.peek() in words and self.more else None

    def rest(self) -> list[str]:
        """All words that follow."""
        left = self._words[self._next :]
        self._next = len(self._words)
        return left

    @property
    def number_follows(self) -> bool:
        """True if the next word begins with a digit (NEXT_IS_NUMBER of iproute2)."""
        return self.peek()[:1].isdigit()

    def value(self, of: str, kind: str = "a value", allowed: Iterable[str] = ()) -> str:
        """Next word as the value of `of`. Raises `TranslateError` if there is none."""
        if not self.more:
            raise self.mistake(f"{of} needs {kind}", "", allowed)
        return self.take()

    def _quantity(
        self,
        of: str,
        read: Callable[[str], _Value | None],
        kind: str,
        allowed: Sequence[str],
    ) -> _Value:
        text = self.value(of, kind, allowed)
        value = read(text)
        if value is None and "$" in text:
            message = f"{of} has a variable that the script does not set"
            name, example = text.strip("${}"), allowed[0] if allowed else "10"
            name = name if name.isidentifier() else "NAME"
            ways = (f"{name}={example} on a line in front of it", f"${{{name}:-{example}}}")
            raise self.mistake(message, text, ways, near=False)
        if value is None:
            error = self.mistake(f"{of} should be {kind}", text, allowed, near=False)
            error.nearest = units.meant_rate(text) if kind == "a rate" else None
            raise error
        return value

    def rate(self, of: str) -> int:
        """Rate in bit/s."""
        return self._quantity(of, units.rate, "a rate", units.RATE_WORDS)

    def positive_rate(self, of: str) -> int:
        """Rate in bit/s that is no 0 for tc, which counts whole bytes per second."""
        text, rate = self.peek(), self.rate(of)
        if rate < 8:
            message = f"{of} is 0 bytes/s"
            raise self.mistake(message, text, ("8bit or more", *units.RATE_WORDS), near=False)
        return rate

    def size(self, of: str) -> int:
        """Size in bytes."""
        return self._quantity(of, units.size, "a size", units.SIZE_WORDS)

    def time(self, of: str) -> int:
        """Time in nanoseconds."""
        return self._quantity(of, units.time, "a time", units.TIME_WORDS)

    def percent(self, of: str) -> Fraction:
        """Share from 0 to 1."""
        return self._quantity(of, units.percent, "a percentage", units.PERCENT_WORDS)

    def number(self, of: str) -> Fraction:
        """Number without a unit."""
        return self._quantity(of, units.number, "a number", ("0.02", "1"))

    def count(self, of: str, most: int = 2**32 - 1) -> int:
        """Whole number."""

        def whole(text: str) -> int | None:
            plain = text.isascii() and text.isdigit() and len(text) <= 20
            return int(text) if plain and int(text) <= most else None

        return self._quantity(of, whole, f"a whole number up to {most}", ("100", "1000"))

    def mistake(
        self,
        message: str,
        found: str | None = None,
        allowed: Iterable[str] = (),
        *,
        near: bool = True,
    ) -> TranslateError:
        """Error about a word of this command."""
        before = self._words[self._next - 2] if self._next > 1 else ""
        if found is not None and units.is_unit(found) and units.number(before) is not None:
            whole = f"{before}{found}"
            message, allowed = f"a unit follows its number without a space: write {whole}", (whole,)
            found, near = f"{before} {found}", False
        error = TranslateError(
            message, file=self.file, line=self.line, found=found, allowed=tuple(allowed)
        )
        if not near:
            error.nearest = None
        return error
