"""Filters that send packets to a class: which packets they match (tc-u32(8), tc-flower(8))."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dumbbell.translate.mistakes import Notes

_CLASSIFIERS = ("u32", "flower", "matchall", "basic", "fw", "route", "flow", "bpf", "cgroup")
#: Words behind which a filter has what becomes of a packet.
_RESULTS = ("flowid", "classid", "action", "police")
#: Conditions that every packet meets, and words that are none.
_ALL = re.compile(
    r"match u(?:8|16|32) (?:0x)?0+ (?:0x)?0+(?!\S)(?: at \d+)?"
    r"|match ip6? (?:src|dst) (?:0\.0\.0\.0|::)/0|match ip6? any|match all|skip_[sh]w|divisor \d+"
)
_PROTOCOL = re.compile(r"(?:match ip6? protocol|ip_proto) (\w+)")
_TOS = re.compile(
    r"(?:match ip6? (?:tos|dsfield|priority)|ip_tos|match u8(?= \S+ \S+ at 1\b)) "
    r"(0x[0-9a-f]{1,2}|\d{1,3})(?:[ /](0x[0-9a-f]{1,2}|\d{1,3}))?"
)
#: IP packets of less than 64 bytes, as pure ACKs are.
_SHORT = re.compile(r"match u16 0x0+ 0xffc0 at 2\b")


@dataclass(frozen=True)
class Steer:
    """Filter with a class.

    Attributes:
        target: The class.
        line: Its line.
        command: The command.
        condition: Words that choose packets; empty: all packets.
        data: False if no data of TCP with TOS 0 matches.
    """

    target: str
    line: int
    command: str
    condition: str
    data: bool


def condition(words: Sequence[str]) -> str:
    """Words of a filter that choose packets; empty: it matches all."""
    place = next((at for at, one in enumerate(words) if one in _CLASSIFIERS), None)
    if place is None:
        return ""
    chosen = list(words[place + 1 :])
    for at, word in enumerate(chosen):
        if word in _RESULTS:
            chosen = chosen[:at]
            break
    text = " ".join(_ALL.sub(" ", " ".join(chosen)).split())
    if words[place] == "fw" or not text:
        handle = dict(pairwise(words)).get("handle", "")
        return f"fw handle {handle}".strip() if words[place] == "fw" else ""
    return text


def matches_data(words: Sequence[str]) -> bool:
    """False if no data of TCP with TOS 0 matches the words of a filter."""
    place = next((at for at, one in enumerate(words) if one in _CLASSIFIERS), len(words))
    before = dict(pairwise(words[:place]))
    if before.get("protocol") in ("arp", "0x0806", "802.1q", "802.1Q"):
        return False
    text = " ".join(words[place:]).lower()
    if any(one[1] not in ("tcp", "6", "0x6", "0x06") for one in _PROTOCOL.finditer(text)):
        return False
    for one in _TOS.finditer(text):
        if int(one[1], 0) & int(one[2] or "0xff", 0):
            return False
    return _SHORT.search(text) is None


def remark_police(words: Sequence[str], line: int, notes: Notes) -> None:
    """Remarks which packets a filter polices, if not all."""
    chosen = condition(words)
    if not matches_data(words):
        text = "only these packets are policed: here the flow is, although it has none of them"
        notes.lost(line, chosen or "filter", text)
    elif chosen:
        notes.became(line, chosen, "the flow has such packets: it is policed")
