"""Options of the verb `figure` as those of a kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from dumbbell.cli.guard import levels
from dumbbell.figures import function_of, options_of


def levels_of(where: list[str] | None) -> dict[str, str | list[str]]:
    """Factor → level, or levels where several are given. Raises `DumbbellError`."""
    found = levels(where, "--where")
    return {name: one[0] if len(one) == 1 else one for name, one in found.items()}


def checked(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the kind takes them.

    Raises:
        ValueError: The kind is unknown, or takes none of that name, or not several values.
    """
    every = options_of(function_of(kind))
    taken = {name: types for name, types in every.items() if name not in _PYTHON_ONLY}
    refused = [name for name in given if name not in taken]
    if refused:
        raise ValueError(f"takes no {_flags(refused)}; it takes {_flags(taken)}")
    found = dict(given)
    if "by" in found and Sequence[str] not in get_args(taken["by"]):
        if len(found["by"]) > 1:
            raise ValueError("takes one --by")
        (found["by"],) = found["by"]
    return found


#: Options of `plot` that are none of the command line.
_PYTHON_ONLY = ("extras",)


def _flags(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)
