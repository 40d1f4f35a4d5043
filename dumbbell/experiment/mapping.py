"""An experiment as a mapping of Python, written as the text of an experiment file."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from dumbbell.codes import Code
from dumbbell.errors import MAPPING, ExperimentError, shortened
from dumbbell.experiment.source import MAX_DEPTH, Loc, dotted, is_plain_text

#: File of messages about a mapping; relative names of other files begin at the working folder.
PATH = Path(MAPPING)
#: Longest mapping or list on one line, in characters.
_WIDTH = 90
_WORDS = re.compile(r"[A-Za-z_$][\w$./%+-]*( [\w./%+-]+)*\Z")
_QUANTITY = re.compile(r"[0-9.]+ ?[A-Za-zµ%][A-Za-z/]*\Z")


def written(given: Mapping[str, Any]) -> str:
    """Text of an experiment file with the contents of a mapping.

    Args:
        given: Fields of the file: text, numbers, true and false, None, lists and mappings.

    Raises:
        ExperimentError: A key is not text, or a value has no form in a file.
    """
    return "\n".join(_block(_plain(given, ()))) + "\n"


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


def _block(value: Any) -> Iterator[str]:
    """Lines of a mapping or list, an entry a line where it is short."""
    if isinstance(value, dict) and value:
        entries = [(f"{_inline(key)}:", one) for key, one in value.items()]
    elif isinstance(value, list) and value:
        entries = [("-", one) for one in value]
    else:
        entries = []
        yield _inline(value)
    for begin, one in entries:
        line = f"{begin} {_inline(one)}"
        if len(line) <= _WIDTH or not isinstance(one, dict | list):
            yield line
        else:
            yield begin
            yield from (f"  {inner}" for inner in _block(one))


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_inline(key)}: {_inline(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, str):
        bare = (_WORDS.match(value) or _QUANTITY.match(value)) and is_plain_text(value)
        return value if bare else json.dumps(value, ensure_ascii=False)
    return "null" if value is None else json.dumps(value)
