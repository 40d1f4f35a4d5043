"""Where verbs print, and how their errors end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import typer
from rich.console import Console

from dumbbell.errors import DumbbellError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turns errors into one message and an exit code."""
    from dumbbell.execution import Interrupted

    try:
        yield
    except Interrupted as error:
        say(f"dumbbell: {error}")
        raise typer.Exit(130) from None
    except DumbbellError as error:
        say(f"dumbbell: {error}")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        say("dumbbell: stopped")
        raise typer.Exit(130) from None


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
    err.print(message, markup=False, soft_wrap=True)
