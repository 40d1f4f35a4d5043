"""Errors that are the user's to mend: one clear message each, never a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN = 12
#: Characters of a field's path that a message shows.
_FIELD = 120


class DumbbellError(Exception):
    """Anything the user can mend. The command line prints it and ends with exit code 2."""


class StoreError(DumbbellError):
    """A store that cannot be read or written."""


class EngineError(DumbbellError):
    """An engine that cannot do what a scenario asks, or failed while doing it."""


class Interrupted(DumbbellError):
    """Stopped from outside. What was finished is kept.

    Attributes:
        done: Runs of the experiment that are in the store.
        total: Runs of the experiment.
    """

    def __init__(self, done: int, total: int) -> None:
        super().__init__(
            f"stopped; {done} of {total} runs are finished and kept: "
            "the same command goes on from there"
        )
        self.done = done
        self.total = total


class ExperimentError(DumbbellError):
    """Something wrong in an experiment file.

    Attributes:
        message: What is wrong.
        file: The file, as the user named it.
        line: Line in it, counted from 1; None if unknown.
        field: Path of the field, as `flows[1].tcp`; empty for the file as a whole.
        found: What stands there, shortened; None if nothing does.
        allowed: What may stand there.
        nearest: The allowed name most like the one found.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int | None = None,
        field: str = "",
        found: str | None = None,
        allowed: Iterable[str] = (),
        nearest: str | None = None,
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.field = field
        self.found = found
        self.allowed = tuple(allowed)
        self.nearest = nearest
        super().__init__(message)

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        field = self.field if len(self.field) <= _FIELD else shortened(self.field, _FIELD)
        head = ": ".join(part for part in (where, field, self.message) if part)
        if self.found is not None:
            head += f"; found {self.found or 'nothing'}"
        if self.nearest is not None:
            head += f"; did you mean {self.nearest}?"
        if self.allowed:
            shown = [shortened(one) for one in self.allowed[:_SHOWN]]
            more = len(self.allowed) - len(shown)
            tail = f" and {more} more" if more > 0 else ""
            head += f"; allowed: {', '.join(shown)}{tail}"
        return head


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None if none is like it."""
    known = list(known)
    folded = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower()[:100], list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def shortened(value: object, limit: int = 60) -> str:
    """A value as a message shows it: at most `limit` characters, on one line."""
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text[: 4 * limit].split())
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class DefectWarning(UserWarning):
    """A number that cannot be: the program is wrong, not the experiment."""
