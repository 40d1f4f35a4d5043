"""Bounded JSON and lines of values in texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.translate.mistakes import TranslateError

#: Deepest nesting that is walked.
_DEEP = 30
_MOST = 5000


def parsed(text: str, file: str) -> Any:
    """JSON of a text. Raises `TranslateError` with the line of its first mistake."""
    try:
        return json.loads(text.lstrip("\ufeff"), parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        raise TranslateError(f"not JSON: {error.msg}", file=file, line=error.lineno) from None
    except (RecursionError, ValueError):
        raise TranslateError(
            "not JSON: nested too deeply, or a number too long", file=file
        ) from None


def mappings(
    value: Any, path: tuple[str, ...] = (), deep: int = 0
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """All mappings inside a value, outer ones first, each with the keys above it."""
    if deep > _DEEP:
        return
    if isinstance(value, dict):
        yield path, value
        for key, one in list(value.items())[:_MOST]:
            yield from mappings(one, (*path, str(key)), deep + 1)
    elif isinstance(value, list):
        for one in value[:_MOST]:
            yield from mappings(one, path, deep + 1)


def line_of(text: str, word: str, after: int = 1) -> int:
    """Line of the first `word` in quotes, from line `after` on; `after` if there is none."""
    lines = text.splitlines()
    for number, line in enumerate(lines[after - 1 :], after):
        if re.search(rf"[\"']{re.escape(word)}[\"']", line):
            return number
    return after


def whole(value: Any, of: str, file: str, line: int, most: int = 2**63) -> int:
    """A number that is not negative. Raises `TranslateError`."""
    text = (
        str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    )
    if isinstance(value, float) and value >= 0 and value.is_integer() and value <= most:
        return int(value)
    if not text.isascii() or not text.isdigit() or len(text) > 20 or int(text) > most:
        message = f"{of} should be a whole number"
        raise TranslateError(message, file=file, line=line, found=str(value), allowed=("10000000",))
    return int(text)
