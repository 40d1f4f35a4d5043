"""Options of the verb `fit`, checked, and its progress."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from dumbbell.catalogue import single_path
from dumbbell.codes import Code
from dumbbell.console import say
from dumbbell.errors import DumbbellError, did_you_mean, nearest_name
from dumbbell.experiment.beside import Files

#: Time between two lines of progress, s.
_BETWEEN_S = 4.0


def known(names: Sequence[str] | None) -> list[str] | None:
    """Names of algorithms, checked; None: all.

    Raises:
        DumbbellError: No congestion control of the catalogue has this name.
    """
    if not names:
        return None
    every = single_path()
    for name in names:
        if name not in every:
            near = nearest_name(name, every)
            hint = did_you_mean(near)
            raise DumbbellError(
                f"--algorithm {name}: no congestion control of one path{hint} Known: "
                f"{', '.join(every)}",
                code=Code.SELECTION,
            )
    return list(dict.fromkeys(names))


def plugins(texts: Sequence[str] | None) -> dict[str, str]:
    """Congestion controls in files, `FILE` or `NAME=FILE`: name → absolute path.

    Raises:
        DumbbellError: A file is no plug-in, or its name is one of the catalogue's or not free.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        name, sign, file = text.rpartition("=")
        path = Path(file).absolute()
        name = name if sign else path.stem
        taken = name in found or name in single_path()
        other = f"{name} is taken; give another name: --plugin NAME={file}"
        reason = other if taken else _unusable(path, name)
        if reason:
            raise DumbbellError(f"--plugin {text}: {reason}", code=Code.SELECTION)
        found[name] = str(path)
    return found


def _unusable(path: Path, name: str) -> str | None:
    """Why a file is no plug-in; None: it is one."""
    found = Files(path.parent).plugin(name, path.name)
    return found if isinstance(found, str) else None


class Progress:
    """Says how far the ranking is, a line each few seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, runs: int, most: int, best: str) -> None:
        """Told after each run."""
        now = time.monotonic()
        if now - self._last >= _BETWEEN_S:
            self._last = now
            say(f"{runs} of at most {most} runs; the most probable so far: {best}")
