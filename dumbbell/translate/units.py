"""Quantities as tc(8) reads them, and as experiment files write them.

A rate without a unit is in bit/s, a time in microseconds, a size in bytes. `kbit` is 1000 bit/s
as a rate and 128 bytes as a size; `kbps` is 8000 bit/s; `kb` is 1024 bytes.
"""

from __future__ import annotations

import re
from fractions import Fraction

_NUMBER = re.compile(r"([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})(?:[eE]([-+]?[0-9]{1,2}))?")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
RATES = {"": 1, "bit": 1, "bps": 8}
SIZES = {"": 1, "b": 1}
for _letter, _power in _POWERS.items():
    for _word, _bits in (("bit", 1), ("bps", 8)):
        RATES[f"{_letter}{_word}"] = _bits * 1000**_power
        RATES[f"{_letter}i{_word}"] = _bits * 1024**_power
    if _letter != "t":
        for _word in ("", "b"):
            SIZES[f"{_letter}{_word}"] = 1024**_power
#: In eighths of a byte.
_SIZE_BITS = {"kbit": 1024, "mbit": 1024**2, "gbit": 1024**3}
#: Nanoseconds of a unit.
TIMES = {
    **dict.fromkeys(("s", "sec", "secs"), 10**9),
    **dict.fromkeys(("ms", "msec", "msecs"), 10**6),
    **dict.fromkeys(("", "us", "usec", "usecs"), 10**3),
    **dict.fromkeys(("ns", "nsec", "nsecs"), 1),
}
#: Units for messages.
RATE_WORDS = ("1mbit", "500kbit", "1gbit", "1mbps (8 Mbit/s)")
SIZE_WORDS = ("1600", "15k", "32kbit", "1mb")
TIME_WORDS = ("100ms", "1s", "500us")
PERCENT_WORDS = ("1%", "0.1%", "25")
#: The kernel's fields hold no more.
_MOST = {"rate": 2**63, "size": 2**32 - 1, "time": 10**9 * 3600}


def _split(text: str) -> tuple[Fraction, str] | None:
    """Number and the word behind it; None: no number."""
    found = _NUMBER.match(text[:80])
    if found is None or len(text) > 80:
        return None
    number = Fraction(found[1]) * Fraction(10) ** int(found[2] or 0)
    return number, text[found.end() :].lower()


def _read(text: str, units: dict[str, int], kind: str) -> int | None:
    split = _split(text)
    if split is None or split[1] not in units:
        return None
    value = int(split[0] * units[split[1]])
    return value if value <= _MOST[kind] else None


def rate(text: str) -> int | None:
    """Rate in bit/s; None: not a rate."""
    return _read(text, RATES, "rate")


def size(text: str) -> int | None:
    """Size in bytes; None: not a size."""
    split = _split(text)
    if split is not None and split[1] in _SIZE_BITS:
        value = int(split[0] * _SIZE_BITS[split[1]] / 8)
        return value if value <= _MOST["size"] else None
    return _read(text, SIZES, "size")


def time(text: str) -> int | None:
    """Time in nanoseconds; None: not a time."""
    return _read(text, TIMES, "time")


def percent(text: str) -> Fraction | None:
    """Share from 0 to 1, with or without `%`; None: not a share."""
    split = _split(text)
    if split is None or split[1] not in ("", "%") or split[0] > 100:
        return None
    return split[0] / 100


def number(text: str) -> Fraction | None:
    """Number without a unit; None: not a number."""
    split = _split(text)
    return None if split is None or split[1] else split[0]


def is_unit(text: str) -> bool:
    """Returns true for a unit of a rate, a time or a size, or `%`."""
    word = text.lower()
    return bool(word) and (word in ("%", *RATES, *SIZES, *TIMES, *_SIZE_BITS))


def meant_rate(text: str) -> str | None:
    """Rate that is meant by `100M`, `100Mb` and the like; None: unknown."""
    split = _split(text)
    found = (
        None if split is None else re.fullmatch(r"([kmgt])(?:b|bits?|b/s|bit/s|bits/s)?", split[1])
    )
    return None if split is None or found is None else f"{decimal(split[0])}{found[1]}bit"


def decimal(value: Fraction, places: int = 9) -> str:
    """Plain decimal number, without trailing zeros."""
    whole, part = divmod(round(value * 10**places), 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")


def rate_text(bps: int) -> str:
    """Rate for an experiment file."""
    for unit, scale in (("Tbit/s", 10**12), ("Gbit/s", 10**9), ("Mbit/s", 10**6)):
        if bps >= scale and bps * 1000 % scale == 0:
            return f"{decimal(Fraction(bps, scale))} {unit}"
    if bps >= 1000 and bps % 10 == 0:
        return f"{decimal(Fraction(bps, 1000))} kbit/s"
    return f"{bps} bit/s"


def time_text(ns: int) -> str:
    """Time for an experiment file."""
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= scale and ns * 1000 % scale == 0:
            return f"{decimal(Fraction(ns, scale))} {unit}"
    return f"{ns} ns" if ns else "0 ms"


def size_text(count: int) -> str:
    """Size for an experiment file."""
    return f"{count} bytes"


def share_text(share: Fraction) -> str:
    """Share for an experiment file."""
    return f"{decimal(share * 100, 12)} %"
