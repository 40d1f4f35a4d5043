"""Tables of a capture that may be large, read and written in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from dumbbell._core import Survey
from dumbbell.files.output import json_text

#: Conversations, or connections, of a piece.
PIECE = 2000

#: A row of a table by column.
Row = dict[str, Any]


def conversations(found: Survey) -> Iterator[str]:
    """The table `conversations` as JSON lists, one per piece."""
    for start in range(0, found.conversation_count, PIECE):
        yield found.conversations(start, PIECE)


def connections(found: Survey) -> Iterator[str]:
    """The table `connections` as JSON lists, one per piece."""
    for start in range(0, found.connection_count, PIECE):
        yield found.connections(start, PIECE)


def rows(pieces: Iterable[str]) -> Iterator[Row]:
    """The rows of a table."""
    for piece in pieces:
        yield from json.loads(piece)


def as_json(small: Row, found: Survey) -> Iterator[str]:
    """An object of the small tables and both large ones as JSON text, piece by piece."""
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
