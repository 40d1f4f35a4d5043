"""tcconfig: JSON of `tcshow` and of `tcset --import-setting`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from dumbbell.translate.fields import line_of, parsed
from dumbbell.translate.mistakes import TranslateError
from dumbbell.translate.network import Network, of_script
from dumbbell.translate.tc import Script, read_one

_WAYS = ("outgoing", "incoming")
KEYS = ("delay", "delay-distro", "loss", "duplicate", "corrupt", "reordering", "rate")
_SILENT = ("filter_id", "protocol", "dst-network", "src-network", "dst-port", "src-port")
_RATE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*([kKmMgG]?)(?:i?bit|i?bps|bit/s)?\Z")
_SCALES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def read(text: str, file: str) -> Network:
    """Reads all interfaces. Raises `TranslateError`."""
    tree = parsed(text, file)
    made = Script(file)
    for device, ways in tree.items() if isinstance(tree, dict) else ():
        for way, filters in ways.items() if isinstance(ways, dict) else ():
            if way not in _WAYS:
                line = line_of(text, way, line_of(text, device))
                raise TranslateError(
                    "no such direction", file=file, line=line, found=way, allowed=_WAYS
                )
            for rule in list(filters)[:1] if isinstance(filters, dict) else ():
                line = line_of(text, rule, line_of(text, way, line_of(text, device)))
                values = filters[rule] if isinstance(filters[rule], dict) else {}
                add(made, device.split()[0] if device.split() else "eth0", way, values, line)
                if len(filters) > 1:
                    text_of = "left out: the experiment has the first rule"
                    made.notes.lost(
                        line, f"{len(filters) - 1} other rules of {device} {way}", text_of
                    )
    return of_script(made)


def add(made: Script, device: str, way: str, values: Mapping[str, object], line: int) -> None:
    """Adds the commands of `tcset` for a direction of an interface."""
    for key in values:
        if key not in KEYS and key not in _SILENT:
            raise TranslateError(
                "tcconfig has no such key", file=made.file, line=line, found=str(key), allowed=KEYS
            )
    target = device if way == "outgoing" else f"ifb-{device}"
    given = {
        key: str(value)
        for key, value in values.items()
        if key in KEYS and value not in (None, 0, "0")
    }
    lines, parent = [], "root"
    if "rate" in given:
        rate = _rate(given["rate"], made.file, line)
        kilobytes = f"{float(Fraction(rate, 8000)):f}"
        lines += [
            f"tc qdisc add dev {target} root handle 1a1a: htb default 1",
            f"tc class add dev {target} parent 1a1a: classid 1a1a:2 htb"
            f" rate {rate}bit ceil {rate}bit"
            f" burst {kilobytes}KB cburst {kilobytes}KB",
            f"tc filter add dev {target} parent 1a1a: u32 match ip dst 0.0.0.0/0 flowid 1a1a:2",
        ]
        parent = "parent 1a1a:2"
    words = _netem(given)
    if words:
        lines.append(f"tc qdisc add dev {target} {parent} handle 2a2a: netem {words}")
    for each in lines:
        read_one(made, each.split(), line)
    if way == "incoming" and lines:
        made.interface(device).redirected = target


def _netem(given: Mapping[str, str]) -> str:
    words = []
    if "delay" in given:
        words.append(f"delay {_joined(given['delay'])}")
        if "delay-distro" in given:
            words.append(f"{_joined(given['delay-distro'])} distribution normal")
    for key, word in (
        ("loss", "loss"),
        ("duplicate", "duplicate"),
        ("corrupt", "corrupt"),
        ("reordering", "reorder"),
    ):
        if key in given:
            share = _joined(given[key])
            words.append(f"{word} {share if share.endswith('%') else share + '%'}")
    return " ".join(words)


def _joined(text: str) -> str:
    return "".join(text.split())[:40]


def _rate(text: str, file: str, line: int) -> int:
    found = _RATE.match(_joined(text))
    if found is None or not Fraction(found[1]):
        allowed = ("1Mbps (1 Mbit/s)", "250Kbps", "1G")
        raise TranslateError("should be a rate", file=file, line=line, found=text, allowed=allowed)
    return int(Fraction(found[1]) * _SCALES[found[2].lower()]) or 1
