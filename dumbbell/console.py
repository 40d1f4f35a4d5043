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


def say(message: str) -> None:
    """To standard error, as it is."""
    err.print(message, markup=False, soft_wrap=True)
