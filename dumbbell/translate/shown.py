"""Lines that `tc qdisc show` and `tc class show` print, as the commands that make the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: A line of `tc qdisc show` or `tc class show`, for recognising a text.
LINE = re.compile(r"^\s*(?:qdisc|class)\s+\w+\s+[0-9a-f]*:[0-9a-f]*\s", re.MULTILINE)
_HANDLE = re.compile(r"[0-9a-f]{0,4}:[0-9a-f]{0,4}\Z")
#: Words of the output that no command has, with the number of their values.
_ONLY_SHOWN = {
    "refcnt": 1, "direct_packets_stat": 1, "leaf": 1, "offloaded": 0, "deleted": 0, "level": 1,
}  # fmt: skip
_PACKETS = re.compile(r"[0-9]{1,10}p\Z")
#: Kinds that shape nothing.
_SKIPPED = ("noqueue", "ingress", "clsact")


def command_of(words: Sequence[str]) -> list[str] | None:
    """Words behind `tc` for a line of its output; None: the line is none."""
    if len(words) < 4 or words[0] not in ("qdisc", "class") or not _HANDLE.match(words[2]):
        return None
    thing, kind, handle, *left = words
    if kind in _SKIPPED or (thing == "class" and kind != "htb"):
        return []
    device, parent, rest = "eth0", ["root"], list[str]()
    while left:
        word = left.pop(0)
        if word == "dev" and left:
            device = left.pop(0)
        elif word == "parent" and left:
            parent = ["parent", left.pop(0)]
        elif word == "root":
            parent = ["root"]
        elif word in _ONLY_SHOWN:
            del left[: _ONLY_SHOWN[word]]
        else:
            rest.append(_given(word))
    if kind == "pfifo_fast":
        rest = []
    own = ["classid", handle] if thing == "class" else ["handle", handle]
    return [thing, "replace", "dev", device, *parent, *own, kind, *rest]


def _given(word: str) -> str:
    """A word as it is given: `lat` is latency, `10240p` are packets."""
    return "latency" if word == "lat" else word[:-1] if _PACKETS.match(word) else word
