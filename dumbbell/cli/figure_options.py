"""Options of the verb `figure` as those of a kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from dumbbell.cli.guard import levels
from dumbbell.figures import function_of, options_of
from dumbbell.figures.options import needed_options
from dumbbell.store import levels as stored


def levels_of(where: list[str] | None) -> dict[str, str | list[str]]:
    """Factor → level, or levels where several are given. Raises `DumbbellError`."""
    found = levels(where, "--where")
    return {name: one[0] if len(one) == 1 else one for name, one in found.items()}


def known_levels(
    where: Sequence[str], factors: Mapping[str, Sequence[str]]
) -> dict[str, str | list[str]]:
    """Values of `--where`, those of factors as the experiment writes them.

    A value may name several factors, as that of `--cell`. Other columns, as `flow`, are kept.

    Raises:
        DumbbellError: A factor has no such level.
    """
    found: dict[str, list[str]] = {}
    for text in where:
        is_factor = text.partition("=")[0].strip() in factors
        chosen = stored.levels_of(text, factors, "--where") if is_factor else levels_of([text])
        for name, level in chosen.items():
            found.setdefault(name, []).append(str(level))
    return {name: one[0] if len(one) == 1 else one for name, one in found.items()}


def in_flags(error: ValueError) -> str:
    """Message of a figure in words of the command line."""
    return re.sub(r"by where=?$", "by --where FACTOR=LEVEL", str(error))


def checked(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the kind takes them.

    Raises:
        ValueError: The kind is unknown, takes none of that name, needs another, or takes one value.
    """
    every = options_of(function_of(kind))
    taken = {name: types for name, types in every.items() if name not in _PYTHON_ONLY}
    refused = [name for name in given if name not in taken]
    if refused:
        raise ValueError(f"takes no {_flags(refused)}; it takes {_flags(taken)}")
    if lacking := [name for name in needed_options(function_of(kind)) if name not in given]:
        raise ValueError(f"needs {_flags(lacking)}, as --metric goodput_mbps")
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
