"""Modules of Linux: the text of a `tcp_*.c` with the headers beside it. Its SHA-256 is the module's
identity, for the simulator and for kernels."""

from __future__ import annotations

import re
from pathlib import Path

from dumbbell.files.input import TooLargeError, read_file
from dumbbell.plugins.unusable import UnusableError

#: Largest text with its headers, bytes.
MOST_BYTES = 1 << 20
#: How deep headers may include others.
_MOST_DEPTH = 8
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]*)"[^\n]*$', re.MULTILINE)
_NAME = re.compile(r"(?:tcp_)?([a-z][a-z0-9_]{0,14})\.c")


def module_text(path: Path) -> bytes:
    """Text of a module, with each header that lies beside it in the place of its `#include "…"`.

    Raises:
        UnusableError: It is too large, or its headers include each other without end.
        OSError: It cannot be read.
    """
    text = _with_headers(path, 0)
    if len(text) > MOST_BYTES:
        raise UnusableError(f"with its headers it has more than {MOST_BYTES} bytes")
    return text


def module_name(path: Path) -> str:
    """Name of the algorithm in Linux: that of the file without `tcp_`.

    Raises `UnusableError` if it cannot be one.
    """
    found = _NAME.fullmatch(path.name)
    if found is None:
        raise UnusableError(
            "a name as tcp_mine.c is needed: at most 15 small letters, digits and _ behind tcp_"
        )
    return found[1]


def _with_headers(path: Path, depth: int) -> bytes:
    if depth > _MOST_DEPTH:
        raise UnusableError(f"{path.name}: headers include each other more than {_MOST_DEPTH} deep")
    try:
        text = read_file(path, MOST_BYTES)
    except TooLargeError:
        raise UnusableError(f"{path.name} has more than {MOST_BYTES} bytes") from None
    parts, at = [], 0
    for found in _INCLUDE.finditer(text):
        header = found[1].decode("utf-8", "replace")
        if "/" in header or not (path.parent / header).is_file():
            continue
        line = text.count(b"\n", 0, found.end()) + 2
        inside = _with_headers(path.parent / header, depth + 1)
        back = f'\n#line {line} "{path.name if depth else "module.c"}"'.encode()
        parts += [text[at : found.start()], f'#line 1 "{header}"\n'.encode(), inside, back]
        at = found.end()
        if sum(map(len, parts)) > MOST_BYTES:
            raise UnusableError(f"with its headers it has more than {MOST_BYTES} bytes")
    return b"".join([*parts, text[at:]])
