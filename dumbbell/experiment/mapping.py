"""An experiment as a mapping of Python, written as the text of an experiment file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from dumbbell.codes import Code
from dumbbell.errors import MAPPING, ExperimentError, shortened
from dumbbell.experiment.source import MAX_DEPTH, Loc, dotted
from dumbbell.files.yaml_text import block

#: File of messages about a mapping; relative names of other files begin at the working folder.
PATH = Path(MAPPING)


def written(given: Mapping[str, Any]) -> str:
    """Text of an experiment file with the contents of a mapping.

    Args:
        given: Fields of the file: text, numbers, true and false, None, lists and mappings.

    Raises:
        ExperimentError: A key is not text, or a value has no form in a file.
    """
    return "\n".join(block(_plain(given, ()))) + "\n"


def _plain(value: object, at: Loc) -> Any:
    """Value of text, numbers, bools, None, lists and dicts. Raises `ExperimentError`."""
    if len(at) > MAX_DEPTH:
        raise _error(f"nested more than {MAX_DEPTH} deep", at[:3])
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise _error("the name of a field must be text", at, key)
        return {key: _plain(one, (*at, key)) for key, one in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        if math.isfinite(value):
            return float(value)
        raise _error("not a finite number", at, value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(one, (*at, i)) for i, one in enumerate(value)]
    message = f"a {type(value).__name__} has no form in a file; take text or a number"
    raise _error(message, at, value)


def _error(message: str, at: Loc, found: object = None) -> ExperimentError:
    return ExperimentError(
        message,
        file=MAPPING,
        field=dotted(at),
        found=None if found is None else shortened(found),
        code=Code.FIELD_KIND,
    )
