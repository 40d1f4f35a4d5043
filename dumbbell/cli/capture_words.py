"""Command line of the verb `capture`. Imports no large package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from dumbbell.files.kinds import is_capture
from dumbbell.files.output import PRINTED

#: Options with an optional value.
_PLACES = ("--json", "--csv", "--packets")


class CaptureCommand(TyperCommand):
    """Command that accepts `--json` and the like without a value, and lists of classes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Adds the values that the command line omits."""
        full: list[str] = []
        in_classes = False
        for number, word in enumerate(args):
            follows = args[number + 1] if number + 1 < len(args) else None
            if word.startswith("--"):
                in_classes = word == "--class"
            elif in_classes and full[-1] != "--class":
                in_classes = _is_class(word)
                if in_classes:
                    full.append("--class")
            full.append(word)
            if word in _PLACES and _stands_alone(follows):
                full.append(PRINTED)
        taken = _taken_without_captures(full)
        if taken is not None:
            ctx.fail(f"no capture is given: {taken[1]} is the output of {taken[0]}")
        return super().parse_args(ctx, full)


def _taken_without_captures(args: list[str]) -> tuple[str, str] | None:
    """First option with an output, and this output, if no word is a capture; else None."""
    taken = None
    words = iter(args)
    for word in words:
        if not word.startswith("--"):
            return None
        if "=" not in word and word != "--help":
            value = next(words, "")
            if taken is None and word in _PLACES and value != PRINTED:
                taken = (word, value)
    return taken


def _is_class(word: str) -> bool:
    """Returns true for a size class, or a class name that is not the name of a file."""
    return "<" in word or (word.replace(" ", "").isalnum() and not _is_there(word))


def _is_there(word: str) -> bool:
    try:
        return Path(word).exists()
    except OSError:  # not a possible file name
        return False


def _stands_alone(follows: str | None) -> bool:
    """Returns true if the next word is not the value of an option with an optional value."""
    if follows == PRINTED:
        return False  # as in `trace`: `-` prints as well
    if follows is None or follows.startswith("-"):
        return True
    return is_capture(Path(follows))
