"""Large tables of a capture, read and written in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from dumbbell._core import Survey
from dumbbell.files.output import json_text

#: Number of conversations or connections of a piece.
PIECE = 2000

#: Row of a table: column → value.
Row = dict[str, Any]


def conversations(found: Survey) -> Iterator[str]:
    """Table `conversations` as JSON lists, one per piece."""
    for start in range(0, found.conversation_count, PIECE):
        yield found.conversations(start, PIECE)


def connections(found: Survey) -> Iterator[str]:
    """Table `connections` as JSON lists, one per piece."""
    for start in range(0, found.connection_count, PIECE):
        yield found.connections(start, PIECE)


def rows(pieces: Iterable[str]) -> Iterator[Row]:
    """Rows of a table."""
    for piece in pieces:
        yield from json.loads(piece)


def as_json(small: Row, found: Survey) -> Iterator[str]:
    """JSON text of an object with the small tables and both large ones, piece by piece."""
    yield json_text(small)[:-1]
    for name, pieces in (
        ("conversations", conversations(found)),
        ("connections", connections(found)),
    ):
        yield f',"{name}":['
        between = ""
        for piece in pieces:
            if inner := piece[1:-1]:
                yield between + inner
                between = ","
        yield "]"
    yield "}"
