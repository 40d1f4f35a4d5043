"""Error handling of verbs: one message and an exit code."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import typer

from dumbbell.codes import Code
from dumbbell.console import claim_last_word, say
from dumbbell.console.streams import written
from dumbbell.errors import DefectWarning, DumbbellError, ExperimentError, Interrupted, StoreWarning
from dumbbell.files.output import check_place


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Context that turns errors into one message and an exit code."""
    try:
        with _warnings_told():
            yield
        if sys.stdout is not None:
            with written():
                sys.stdout.flush()
    except Interrupted as error:
        _say_last(f"dumbbell: {error} [{error.code}]")
        raise typer.Exit(130) from None
    except DumbbellError as error:
        for one in (error, *(error.others if isinstance(error, ExperimentError) else ())):
            say(f"dumbbell: {one} [{one.code}]")
            _say_excerpt(one)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        _say_last("dumbbell: stopped")
        raise typer.Exit(130) from None


def _say_excerpt(error: DumbbellError) -> None:
    """Prints the line of the experiment file that an error is about, on a terminal."""
    from dumbbell import console

    if isinstance(error, ExperimentError) and console.err.is_terminal:
        from dumbbell.cli.excerpt import excerpt

        for line in excerpt(error):
            say(line)


@contextlib.contextmanager
def _warnings_told() -> Iterator[None]:
    """Context that prints warnings: values outside physical bounds, what a store lacks."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DefectWarning)
        warnings.simplefilter("always", StoreWarning)
        shown = warnings.showwarning

        def show(message: Warning | str, kind: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(kind, DefectWarning):
                say(f"dumbbell: {message}")
            elif issubclass(kind, StoreWarning):
                say(f"dumbbell: warning: {message}")
            else:
                shown(message, kind, *where, **more)

        warnings.showwarning = cast("Any", show)
        yield


def _say_last(message: str) -> None:
    """Prints that the program was stopped. Another Ctrl-C meanwhile is ignored."""
    before = None
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        claim_last_word()
        say(message)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def levels(chosen: list[str] | None, option: str = "--set") -> dict[str, list[str]]:
    """Values of `--set` as factor → levels. Raises `DumbbellError` for a malformed value."""
    found: dict[str, list[str]] = {}
    for text in chosen or ():
        name, equals, level = text.partition("=")
        if not equals or not name.strip():
            raise DumbbellError(
                f"{option} {text}: should be FACTOR=LEVEL, as {option} cc=cubic", code=Code.SET_FORM
            )
        found.setdefault(name.strip(), []).append(level)
    return found


def check_places(*paths: Path | None) -> None:
    """Raises an error for unwritable outputs, before a run."""
    for path in paths:
        if path is not None:
            check_place(path)
