"""Standard output and standard error, with replacements for characters the terminal lacks."""

from __future__ import annotations

import codecs
import sys
import time
from typing import TYPE_CHECKING

from dumbbell.console.streams import written
from dumbbell.files.output import OutputError

if TYPE_CHECKING:
    from rich.console import Console

    from dumbbell.console.output import Output

    out: Output
    err: Output

#: Time of the first line of progress in s, and the maximum time between two lines.
FIRST_LINE_S, MOST_BETWEEN_S = 5.0, 60.0
#: ASCII replacements of our characters. Others become `?`.
_ASCII = {
    "±": "+-", "–": "-", "—": "-", "−": "-", "×": "x", "·": "|", "…": "...", "µ": "u", "μ": "u",
    "≤": "<=", "≥": ">=", "→": "->", "←": "<-", "↳": "->", "•": "*", "✓": "ok", "✗": "FAIL",
    "\u202f": "", "\xa0": " ",
}  # fmt: skip


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    return "".join(_ASCII.get(sign, "?") for sign in part), error.end


codecs.register_error("dumbbell", _in_ascii)


def __getattr__(name: str) -> Output:
    """Makes the consoles `out` and `err` on first use: a help text needs no rich."""
    if name not in ("out", "err"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dumbbell.console.output import Output

    made = Output(stderr=name == "err")
    globals()[name] = made
    return made


def print_text(text: str) -> None:
    """Writes data to standard output, always in UTF-8. Raises `OutputError`."""
    if sys.stdout is None:
        raise OutputError("standard output: it is closed")
    with written():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(errors="replace"))
        sys.stdout.flush()


_last_word = False


def claim_last_word() -> bool:
    """Returns true if someone else has claimed the message that the program was stopped."""
    global _last_word
    before, _last_word = _last_word, True
    return before


class Pulse:
    """Lines of progress where there is no terminal, at growing intervals."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begin = time.monotonic()
        self._next_s = FIRST_LINE_S

    def __call__(self, text: str) -> None:
        """Prints the text if the interval is over; never on a terminal."""
        elapsed_s = time.monotonic() - self._begin
        if self._console.is_terminal or elapsed_s < self._next_s:
            return
        self._next_s = elapsed_s + min(max(elapsed_s, FIRST_LINE_S), MOST_BETWEEN_S)
        self._console.print(text, soft_wrap=True)


def say(message: str) -> None:
    """Prints a message to standard error, as it is."""
    from dumbbell.console import err

    err.print(message, soft_wrap=True)


def use_terminal() -> None:
    """Replaces characters that the encoding of a stream lacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="dumbbell")
