"""Command line of the verb `capture`; nothing heavy is imported here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from dumbbell.files.kinds import is_capture
from dumbbell.files.output import PRINTED

#: Options with a place, which they may leave out.
_PLACES = ("--json", "--csv", "--packets")


class CaptureCommand(TyperCommand):
    """Accepts `--json` and the like without a value, and several classes after one `--class`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Writes out what was left out."""
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
            ctx.fail(f"no capture is given: {taken[1]} is what {taken[0]} writes")
        return super().parse_args(ctx, full)


def _taken_without_captures(args: list[str]) -> tuple[str, str] | None:
    """If every word belongs to an option: the first that names a place, with this."""
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
    """A class of connections, or the name of a last one; not a file."""
    return "<" in word or (word.replace(" ", "").isalnum() and not _is_there(word))


def _is_there(word: str) -> bool:
    try:
        return Path(word).exists()
    except OSError:  # No file can have such a name.
        return False


def _stands_alone(follows: str | None) -> bool:
    """Returns true if what follows `--json` or the like is no place to write to."""
    if follows == PRINTED:
        return False  # As for `trace`: it says the same.
    if follows is None or follows.startswith("-"):
        return True
    return is_capture(Path(follows))
