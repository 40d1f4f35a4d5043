"""Values as text in YAML 1.2: which words are text, and how mappings and lists are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

NULL = {"", "~", "null", "Null", "NULL"}
TRUE = {"true", "True", "TRUE"}
FALSE = {"false", "False", "FALSE"}
INT = re.compile(r"[-+]?[0-9]{1,20}\Z")
FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,3})?\Z")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF|nan|NaN|NAN)\Z")
#: Longest mapping or list on one line, in characters.
_WIDTH = 90
#: Words that need no quotes: names, and quantities as `10 Mbit/s`.
_WORDS = re.compile(r"[A-Za-z_$][\w$./%+-]*( [\w./%+-]+)*\Z")
_QUANTITY = re.compile(r"[0-9.]+ ?[A-Za-zµ%][A-Za-z/]*\Z")


def is_plain_text(text: str) -> bool:
    """Returns true if a reader takes a word without quotes as text, not as another scalar."""
    if text in NULL or text in TRUE or text in FALSE:
        return False
    return not any(one.match(text) for one in (INT, FLOAT, NOT_FINITE))


def block(value: Any) -> Iterator[str]:
    """Lines of a mapping or list, an entry a line where it is short."""
    if isinstance(value, dict) and value:
        entries = [(f"{inline(key)}:", one) for key, one in value.items()]
    elif isinstance(value, list) and value:
        entries = [("-", one) for one in value]
    else:
        entries = []
        yield inline(value)
    for begin, one in entries:
        line = f"{begin} {inline(one)}"
        if len(line) <= _WIDTH or not isinstance(one, dict | list):
            yield line
        else:
            yield begin
            yield from (f"  {inner}" for inner in block(one))


def inline(value: Any) -> str:
    """A value of text, numbers, true, false, None, lists and mappings on one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{inline(key)}: {inline(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, str):
        bare = (_WORDS.match(value) or _QUANTITY.match(value)) and is_plain_text(value)
        return value if bare else json.dumps(value, ensure_ascii=False)
    return "null" if value is None else json.dumps(value)
