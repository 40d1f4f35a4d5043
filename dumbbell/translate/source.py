"""Texts of users: a file or standard input, of a bounded size."""

from __future__ import annotations

import sys
from pathlib import Path

from dumbbell.files.input import TooLargeError, read_file
from dumbbell.translate.mistakes import TranslateError

#: Largest text, in bytes.
MOST_BYTES = 1 << 20
_STDIN = "-"


def shown_name(file: str) -> str:
    """Name of the source in messages."""
    return "standard input" if file == _STDIN else file


def read_words(file: str) -> str:
    """Text of a file, or of standard input for `-`. Raises `TranslateError`."""
    try:
        if file != _STDIN:
            data = read_file(Path(file), MOST_BYTES)
        else:
            data = b"" if sys.stdin is None else sys.stdin.buffer.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise TooLargeError(len(data), MOST_BYTES)
    except TooLargeError:
        raise TranslateError(f"larger than {MOST_BYTES} bytes", file=shown_name(file)) from None
    except OSError as error:
        raise TranslateError(error.strerror or str(error), file=shown_name(file)) from None
    if b"\0" in data:
        raise TranslateError("not a text", file=shown_name(file))
    return data.decode("utf-8", errors="replace")
