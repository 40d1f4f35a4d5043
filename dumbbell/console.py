"""Where verbs print, and how their errors end."""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any, cast

import typer
from rich.console import Console

from dumbbell.errors import DefectWarning, DumbbellError, Interrupted
from dumbbell.output import OutputError

#: Seconds after which a first line tells how far the work is, and the most between two lines.
FIRST_LINE_S, MOST_BETWEEN_S = 5.0, 60.0
#: Where a terminal has only ASCII: our signs in it. Others become `?`.
_ASCII = {
    "±": "+-", "–": "-", "—": "-", "−": "-", "×": "x", "·": "|", "…": "...", "µ": "u", "μ": "u",
    "≤": "<=", "≥": ">=", "→": "->", "↳": "->", "✓": "ok", "✗": "FAIL", "\u202f": "", "\xa0": " ",
}  # fmt: skip


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    return "".join(_ASCII.get(sign, "?") for sign in part), error.end


codecs.register_error("dumbbell", _in_ascii)


class _Output(Console):
    """Shows text as it is: names come from files, so no word is markup, an emoji or highlighted."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich's; raises `OutputError` if standard output takes nothing."""
        with _written(self.stderr):
            super().print(*objects, **options)


out = _Output()
err = _Output(stderr=True)


@contextlib.contextmanager
def _written(to_errors: bool = False) -> Iterator[None]:
    """Tells what standard output does not take; of standard error nobody could be told."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if not to_errors:
            _silence(sys.stdout)
            raise OutputError(f"standard output: {error.strerror or error}") from None


def _silence(stream: Any) -> None:
    """What is left to write goes nowhere: the interpreter would try, and fail, as it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_text(text: str) -> None:
    """Writes data to standard output, in UTF-8 whatever the terminal. Raises `OutputError`."""
    if sys.stdout is None:
        raise OutputError("standard output: it is closed")
    with _written():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(errors="replace"))
        sys.stdout.flush()


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turns errors into one message and an exit code."""
    try:
        with _defects_told():
            yield
        if sys.stdout is not None:
            with _written():
                sys.stdout.flush()
    except Interrupted as error:
        _say_last(f"dumbbell: {error}")
        raise typer.Exit(130) from None
    except DumbbellError as error:
        say(f"dumbbell: {error}")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        _say_last("dumbbell: stopped")
        raise typer.Exit(130) from None


@contextlib.contextmanager
def _defects_told() -> Iterator[None]:
    """Says each number that cannot be in a line of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DefectWarning)
        shown = warnings.showwarning

        def show(message: Warning | str, kind: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(kind, DefectWarning):
                say(f"dumbbell: {message}")
            else:
                shown(message, kind, *where, **more)

        warnings.showwarning = cast("Any", show)
        yield


def _say_last(message: str) -> None:
    """Says that the program was stopped; another Ctrl-C meanwhile changes nothing."""
    before = None
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        claim_last_word()
        say(message)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


_last_word = False


def claim_last_word() -> bool:
    """Whether somebody else says, or has said, that the program was stopped."""
    global _last_word
    before, _last_word = _last_word, True
    return before


class Pulse:
    """A line now and then, where no terminal shows a bar: sooner at first, then seldom."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begin = time.monotonic()
        self._next_s = FIRST_LINE_S

    def __call__(self, text: str) -> None:
        """Prints the text if it is time to; never on a terminal."""
        elapsed_s = time.monotonic() - self._begin
        if self._console.is_terminal or elapsed_s < self._next_s:
            return
        self._next_s = elapsed_s + min(max(elapsed_s, FIRST_LINE_S), MOST_BETWEEN_S)
        self._console.print(text, soft_wrap=True)


def levels(chosen: list[str] | None) -> dict[str, list[str]]:
    """`--set` as factor → levels. Raises `DumbbellError` for what is no such pair."""
    found: dict[str, list[str]] = {}
    for text in chosen or ():
        name, equals, level = text.partition("=")
        if not equals or not name.strip():
            raise DumbbellError(f"--set {text}: should be FACTOR=LEVEL, as --set cc=cubic")
        found.setdefault(name.strip(), []).append(level)
    return found


def say(message: str) -> None:
    """To standard error, as it is."""
    err.print(message, soft_wrap=True)


def use_terminal() -> None:
    """Lets each stream write what it can: signs that its encoding lacks are spelled out."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="dumbbell")
