"""Errors of values: quantities with units, and names."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help.page import Group, Page, Sections

_UNITS = "experiment-file/quantities.md"

GROUP = Group(
    "Values and units",
    (
        Page(
            Code.QUANTITY,
            "not a quantity",
            "A quantity is a number and a unit: `10 Mbit/s`. This text is not.",
            "Write a number with a point for decimals, then a unit.",
            Sections("duration: a while", "duration: 2 s"),
            _UNITS,
        ),
        Page(
            Code.UNIT_MISSING,
            "a quantity without unit",
            "A bare number does not say what it counts.",
            "Write the unit: `100 ms`, `10 Mbit/s`, `64 KiB`, `1 %`.",
            Sections("duration: 2", "duration: 2 s"),
            _UNITS,
        ),
        Page(
            Code.UNIT_UNKNOWN,
            "unknown unit",
            "The unit is spelled otherwise, or measures something else. Rates are bits per second: "
            "`MB/s` is not accepted.",
            "Use a unit that the message lists.",
            Sections("duration: 2 seconds", "duration: 2 s"),
            _UNITS,
        ),
        Page(
            Code.OUT_OF_RANGE,
            "out of range",
            "The value is negative, zero, too large, or no whole number of its base unit.",
            "Use a value within the range that the message gives.",
            Sections("duration: 0 s", "duration: 2 s"),
            _UNITS,
        ),
        Page(
            Code.UNKNOWN_NAME,
            "unknown name",
            "No congestion control, queue discipline, metric or the like has this name.",
            "Use the name that the message suggests. `docs/catalogue.md` lists all names.",
            Sections(
                "flows:\n  - {from: s1, to: d1, tcp: cubci}",
                "flows:\n  - {from: s1, to: d1, tcp: cubic}",
            ),
            "catalogue.md",
        ),
        Page(
            Code.BAD_NAME,
            "not a name",
            "A name has 1 to 200 printable characters, and no space at its ends.",
            "Write a short word.",
            Sections('name: ""', "name: example"),
            "experiment-file/index.md",
        ),
    ),
)
