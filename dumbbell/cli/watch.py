"""Checks of an experiment file, again and again as it is saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dumbbell import console
from dumbbell.cli.excerpt import excerpt
from dumbbell.errors import DumbbellError, ExperimentError

#: Time between two looks at the files, s.
POLL_S = 0.25
#: Maximum number of looks that wait for an editor to finish.
_SETTLE = 8
#: Maximum number of files that are watched.
_FILES = 100

State = tuple[tuple[int, int, int] | None, ...]


def watch(file: Path, check: Callable[[Path], str], pause: Callable[[float], None]) -> None:
    """Checks a file now and after each change, until Ctrl-C.

    Args:
        file: Experiment file; it may be missing, removed or replaced meanwhile.
        check: Returns one line about a good file; raises `DumbbellError`.
        pause: Waits for a number of seconds.
    """
    files, state, told = [file], None, ""
    while True:
        now = _settled(files, pause)
        if now != state:
            text = _checked(file, check)
            files = [file, *named(file, files[1:])]
            state = _state(files)
            # A file that was touched and is as it was needs no second report.
            if text != told or not console.out.is_terminal:
                told = text
                _show(text)
        pause(POLL_S)


def named(file: Path, before: list[Path]) -> list[Path]:
    """Files that an experiment names; those known `before` if it cannot be read."""
    from dumbbell.experiment.source import parse, read

    try:
        root = parse(read(file), str(file)).plain()
    except ExperimentError:
        return before
    found = dict.fromkeys(file.parent / name for name in _files(root))
    return list(found)[:_FILES]


def _files(value: object) -> Iterator[str]:
    """Values of the fields `file`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "file" and isinstance(inner, str):
                yield inner
            else:
                yield from _files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _files(inner)


def _state(files: list[Path]) -> State:
    """Time of change, size and inode of each file; None: it is not there."""
    return tuple(_one(file) for file in files)


def _one(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _settled(files: list[Path], pause: Callable[[float], None]) -> State:
    """State of the files once two looks agree: editors truncate, write and rename."""
    state = _state(files)
    for _ in range(_SETTLE):
        pause(POLL_S / 10)
        again = _state(files)
        if again == state:
            break
        state = again
    return state


def _checked(file: Path, check: Callable[[Path], str]) -> str:
    try:
        return check(file)
    except ExperimentError as error:
        return "\n".join((f"{error} [{error.code}]", *excerpt(error)))
    except DumbbellError as error:
        return f"{error} [{error.code}]"


def _show(text: str) -> None:
    if console.out.is_terminal:
        console.out.clear()
    console.out.print(f"{time.strftime('%H:%M:%S')} {text}", soft_wrap=True)
