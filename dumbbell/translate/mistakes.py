"""Errors of words that cannot be translated, and remarks on those that can."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened


class TranslateError(ExperimentError):
    """Word of another tool that is wrong, or unknown."""

    code = Code.TRANSLATE

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int | None = None,
        found: str | None = None,
        allowed: Iterable[str] = (),
    ) -> None:
        allowed = tuple(allowed)
        super().__init__(
            message,
            file=file,
            line=line,
            found=None if found is None else shortened(found),
            allowed=allowed,
            nearest=None if found is None else nearest_name(found, allowed),
            code=Code.TRANSLATE,
        )


@dataclass(frozen=True)
class Note:
    """Remark on words of the source.

    Attributes:
        line: Line in the source, counted from 1.
        words: The words.
        text: Their translation, or the reason why they have none.
        lost: True if the words have no counterpart, or only a part of them has.
    """

    line: int
    words: str
    text: str
    lost: bool = False

    def __str__(self) -> str:
        return f"{self.words}: {self.text}" if self.lost else f"{self.words} → {self.text}"


@dataclass
class Notes:
    """Remarks in the order of the source."""

    all: list[Note] = field(default_factory=list)

    def became(self, line: int, words: str, text: str) -> None:
        """Adds a translation."""
        self.all.append(Note(line, shortened(words, 100), text))

    def lost(self, line: int, words: str, text: str) -> None:
        """Adds words without a counterpart."""
        self.all.append(Note(line, shortened(words, 100), text, lost=True))
