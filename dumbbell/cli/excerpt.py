"""The line of a file that an error is about, with a caret below."""

from __future__ import annotations

import re
from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.files.input import read_file

#: Maximum size of a file that is read for its line, bytes.
_MAX_BYTES = 1 << 24
#: Maximum width of an excerpt, and characters kept before the caret.
_WIDTH, _BEFORE = 90, 40
_WORD = re.compile(r"([^.\[\]]+)(?:\[\d+\])*\Z")


def excerpt(error: ExperimentError) -> list[str]:
    """Line of the file with its number, and carets below; empty if there is no such line."""
    if error.line is None:
        return []
    try:
        lines = read_file(Path(error.file), _MAX_BYTES).decode("utf-8-sig").splitlines()
        line = lines[error.line - 1]
    except (OSError, UnicodeDecodeError, IndexError):
        return []
    line = "".join(c if c.isprintable() else " " for c in line)
    begin, end = _place(line, error)
    cut = max(0, begin - _BEFORE) if len(line) > _WIDTH else 0
    shown = line[cut : cut + _WIDTH].rstrip()
    carets = "^" * max(1, min(end, cut + _WIDTH) - begin)
    number = str(error.line)
    return [
        f"  {number} | {'…' if cut else ''}{shown}",
        f"  {' ' * len(number)} | {' ' * (begin - cut + bool(cut))}{carets}",
    ]


def _place(line: str, error: ExperimentError) -> tuple[int, int]:
    """Columns of the value that was found, of its field, or of the whole line."""
    word = _WORD.search(error.field)
    key = word[1] if word is not None else ""
    match = re.search(rf"(?<!\w){re.escape(key)}(?=\W*:)", line) if key else None
    after = match.end() if match is not None else 0
    if error.found:
        at = line.find(error.found, after)
        if at >= 0:
            return at, at + len(error.found)
    if match is not None:
        return match.span()
    return len(line) - len(line.lstrip()), len(line.rstrip())
