"""Quantities with units. Arithmetic is exact: text → fraction → whole number of base units.

Sizes follow tc and iperf: a kilobyte is 1024 bytes in every spelling (`KB`, `kB`, `KiB`).
Rates use powers of 1000. Letter case is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from dumbbell.codes import Code
from dumbbell.errors import ExperimentError, nearest_name, shortened

MAX = 2**63 - 1
_QUANTITY = re.compile(
    r"\s*([-+]?)\s*([0-9][0-9_]{0,30}(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,2})?)\s*([^\d\s.][^\d]{0,30})?\s*\Z"
)


@dataclass(frozen=True, eq=False)
class Family:
    """Units of one quantity.

    Attributes:
        name: Name of the quantity.
        units: Spelling → value in base units. The first spelling of a value is the usual one.
        base: Base unit, for messages.
        likely: Up to three spellings that a message suggests for a bare number.
        other: Spelling of other tools → spelling here, for messages.
    """

    name: str
    units: Mapping[str, Fraction]
    base: str
    likely: tuple[str, ...]
    other: Mapping[str, str]

    @cached_property
    def folded(self) -> dict[str, Fraction]:
        """Units by spelling in lower case."""
        return {spelling.lower(): factor for spelling, factor in self.units.items()}


def _family(
    name: str,
    base: str,
    units: Mapping[str, int | Fraction],
    likely: tuple[str, ...],
    other: Mapping[str, str],
) -> Family:
    exact = {spelling: Fraction(value) for spelling, value in units.items()}
    return Family(name, exact, base, likely, other)


TIME = _family(
    "time",
    "ns",
    {
        "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6,
        "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
    },
    ("ms", "s", "us"),
    {
        "sec": "s", "secs": "s", "second": "s", "seconds": "s", "msec": "ms", "usec": "us",
        "m": "min", "minute": "min", "minutes": "min", "hour": "h", "hours": "h",
        "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns",
    },
)  # fmt: skip
RATE = _family(
    "rate",
    "bit/s",
    {
        "bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12,
        "bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12,
    },
    ("Mbit/s", "Gbit/s", "kbit/s"),
    {
        "bps": "bit/s", "kbps": "kbit/s", "mbps": "Mbit/s", "gbps": "Gbit/s", "b/s": "bit/s",
        "kb/s": "kbit/s", "mb/s": "Mbit/s", "gb/s": "Gbit/s", "k": "kbit/s", "m": "Mbit/s",
        "g": "Gbit/s", "mbits": "Mbit/s", "mbits/s": "Mbit/s",
    },
)  # fmt: skip
SIZE = _family(
    "size",
    "bytes",
    {
        "bytes": 1, "byte": 1, "B": 1, "KiB": 1 << 10, "KB": 1 << 10, "MiB": 1 << 20,
        "MB": 1 << 20, "GiB": 1 << 30, "GB": 1 << 30, "TiB": 1 << 40, "TB": 1 << 40,
    },
    ("bytes", "KiB", "MiB"),
    {"k": "KiB", "m": "MiB", "g": "GiB", "octets": "bytes"},
)  # fmt: skip
PACKETS = _family(
    "number of packets",
    "packets",
    {"packets": 1, "packet": 1},
    ("packets",),
    {"p": "packets", "pkt": "packets", "pkts": "packets", "segments": "packets"},
)
SHARE = _family(
    "share",
    "1",
    {"%": Fraction(1, 100), "ppm": Fraction(1, 10**6)},
    ("%", "ppm"),
    {"percent": "%", "pct": "%"},
)
BDP = _family("multiple of the BDP", "BDP", {"BDP": 1}, ("BDP",), {})
RTT = _family("multiple of the base RTT", "RTT", {"RTT": 1}, ("RTT",), {})


class QuantityError(ValueError):
    """Text that is not a quantity of the expected family.

    Attributes:
        message: What is wrong.
        found: Value found.
        allowed: Allowed spellings.
        nearest: Likeliest allowed spelling.
        code: Code of the cause.
    """

    def __init__(
        self,
        message: str,
        found: str,
        allowed: tuple[str, ...] = (),
        nearest: str | None = None,
        *,
        code: Code,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.found = found
        self.allowed = allowed
        self.nearest = nearest
        self.code = code

    def alone(self) -> ExperimentError:
        """The error of a value that is in no file."""
        return ExperimentError(
            self.message,
            found=self.found,
            allowed=self.allowed,
            nearest=self.nearest,
            code=self.code,
        )


def parse(value: object, *families: Family) -> tuple[Family, Fraction]:
    """Reads a quantity of one of the families.

    Returns:
        The family and the value in its base units, never negative.

    Raises:
        QuantityError: A bare number, an unknown unit, a negative or malformed value.
    """
    if isinstance(value, str):
        return _parsed(value, families)
    return _parse(value, families)


@lru_cache(maxsize=4096)
def _parsed(text: str, families: tuple[Family, ...]) -> tuple[Family, Fraction]:
    """Cached `_parse`: all cells of an experiment ask for the same quantities."""
    return _parse(text, families)


def _parse(value: object, families: tuple[Family, ...]) -> tuple[Family, Fraction]:
    name = " or ".join(family.name for family in families)
    text = value if isinstance(value, str) else _number_text(value)
    match = _QUANTITY.match(text) if text is not None else None
    if match is None:
        examples = tuple(f"10 {unit}" for unit in _likely(families))
        raise QuantityError(f"not a {name}", shortened(value), examples, code=Code.QUANTITY)
    sign, number, unit = match[1], match[2], (match[3] or "").strip()
    if not unit:
        raise QuantityError(
            f"a {name} needs a unit: {_spellings(number, families)}",
            shortened(value),
            code=Code.UNIT_MISSING,
        )
    if sign == "-":
        raise QuantityError(
            f"a {name} cannot be negative", shortened(value), code=Code.OUT_OF_RANGE
        )
    for family in families:
        if unit.lower() in family.folded:
            return family, Fraction(number.replace("_", "")) * family.folded[unit.lower()]
    usual = tuple(unit for family in families for unit in _usual(family))
    others = {key: target for family in families for key, target in family.other.items()}
    near = others.get(unit.lower()) or nearest_name(unit, usual)
    raise QuantityError(
        f"unknown unit for a {name}",
        shortened(value),
        usual,
        f"{number} {near}" if near is not None else None,
        code=Code.UNIT_UNKNOWN,
    )


def _number_text(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return repr(value)


def _usual(family: Family) -> tuple[str, ...]:
    """First spelling of each unit."""
    seen: dict[Fraction, str] = {}
    for spelling, factor in family.units.items():
        seen.setdefault(factor, spelling)
    return tuple(seen.values())


def _likely(families: tuple[Family, ...]) -> list[str]:
    """Up to three likely units: the first of each family, then the second of each."""
    ranked = [(rank, unit) for family in families for rank, unit in enumerate(family.likely)]
    return [unit for _, unit in sorted(ranked, key=lambda pair: pair[0])][:3]


def _spellings(number: str, families: tuple[Family, ...]) -> str:
    """Suggestions for a bare number: up to three, joined by commas and `or`."""
    spelled = [f"{number} {unit}" for unit in _likely(families)]
    if families == (SHARE,):
        value = Fraction(number.replace("_", ""))
        percent = [f"{float(value * 100):g} %"] if value < 1 else []
        spelled = [*percent, *spelled][:3]
    return " or ".join(filter(None, [", ".join(spelled[:-1]), spelled[-1]]))


def whole(value: object, family: Family) -> int:
    """Reads a quantity that must be a whole number of the family's base unit.

    Raises:
        QuantityError: As for :func:`parse`; a fraction of the base unit; above 2^63 - 1.
    """
    _, exact = parse(value, family)
    return integer(exact, family, value)


def positive(value: object, family: Family) -> int:
    """Reads a quantity above 0, see :func:`whole`."""
    number = whole(value, family)
    if number == 0:
        raise QuantityError(
            f"a {family.name} above 0 is needed", shortened(value), code=Code.OUT_OF_RANGE
        )
    return number


def integer(exact: Fraction, family: Family, value: object) -> int:
    """Whole number of the family's base unit. Raises `QuantityError` about `value`."""
    if exact.denominator != 1:
        raise QuantityError(
            f"not a whole number of {family.base}", shortened(value), code=Code.OUT_OF_RANGE
        )
    if exact > MAX:
        raise QuantityError(f"a {family.name} too large", shortened(value), code=Code.OUT_OF_RANGE)
    return int(exact)


def share(value: object) -> float:
    """Reads a share as a number from 0 to 1. Raises `QuantityError`."""
    _, exact = parse(value, SHARE)
    if exact > 1:
        raise QuantityError("more than 100 %", shortened(value), code=Code.OUT_OF_RANGE)
    return float(exact)
