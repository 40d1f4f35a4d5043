"""Everything that an experiment can name, and what engines know: `crates/model/src/catalogue`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dumbbell import _core


@dataclass(frozen=True, slots=True)
class InLinux:
    """How a Linux kernel knows an entry.

    Attributes:
        name: In `sysctl` or `tc`.
        option: Of the kernel's configuration, without `CONFIG_`; empty: always built in.
        since: The first release that has it.
    """

    name: str
    option: str
    since: str


@dataclass(frozen=True, slots=True)
class CongestionControl:
    """A congestion control.

    Attributes:
        name: In experiment files and in results.
        title: On pages.
        linux: How Linux knows it; None: no kernel has it.
        coupled: Looks at all subflows of a Multipath TCP connection; no single path takes it.
        paced_by_fq: The sending host's fq paces it unless the file says otherwise.
        source: RFC, paper, file of the Linux kernel.
        about: One sentence.
    """

    name: str
    title: str
    linux: InLinux | None
    coupled: bool
    paced_by_fq: bool
    source: str
    about: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a queue discipline.

    Attributes:
        name: In experiment files and in `tc`.
        field: In the scenario, below the entry's name.
        unit: `packets`, `bytes`, `quantum` (bytes, at least the longest frame), `time` (ns),
            `share` (of 1), `number` or `flag`.
        least: Least value, in the base unit.
        most: Greatest value.
        default: Value where it is not written; None: it follows from others.
        rule: The rule by which it does, in Markdown.
        about: One sentence.
    """

    name: str
    field: str
    unit: str
    least: int
    most: int
    default: int | float | bool | None
    rule: str | None
    about: str


@dataclass(frozen=True, slots=True)
class Discipline:
    """A queue discipline.

    Attributes:
        name: In experiment files and, where Linux has it, in `tc`.
        key: In the scenario.
        variant: Name of its type; with `Spec`, of its definition in the schema.
        title: On pages.
        linux: How Linux knows it; None: no kernel has it.
        not_in_linux: Why no kernel has it.
        source: RFC, paper, file of the Linux kernel.
        about: One sentence.
        parameters: None for disciplines with classes, whose fields are written by hand.
    """

    name: str
    key: str
    variant: str
    title: str
    linux: InLinux | None
    not_in_linux: str
    source: str
    about: str
    parameters: tuple[Parameter, ...]


@lru_cache(maxsize=1)
def known_columns() -> dict[str, dict[str, frozenset[str]]]:
    """By origin (an engine, or `trace`) and table, the columns that may be known; netns: linux."""
    origins: dict[str, dict[str, list[str]]] = json.loads(_core.catalogue())["known_columns"]
    return {
        origin: {table: frozenset(columns) for table, columns in tables.items()}
        for origin, tables in origins.items()
    }


@lru_cache(maxsize=1)
def congestion_controls() -> dict[str, CongestionControl]:
    """All congestion controls by name."""
    entries: list[dict[str, Any]] = json.loads(_core.catalogue())["congestion_controls"]
    found = {}
    for entry in entries:
        linux = entry["linux"] and InLinux(**entry["linux"])
        found[entry["name"]] = CongestionControl(**{**entry, "linux": linux})
    return found


@lru_cache(maxsize=1)
def queue_parameters() -> dict[tuple[str, str], str]:
    """(key of a discipline, field) in scenarios → the parameter's name: `CoDel target`."""
    entries: list[dict[str, Any]] = json.loads(_core.catalogue())["disciplines"]
    return {
        (entry["key"], parameter["field"]): f"{entry['title']} {parameter['name']}"
        for entry in reversed(entries)  # Of several with one key the first counts.
        for parameter in entry["parameters"]
    }


@lru_cache(maxsize=1)
def disciplines() -> dict[str, Discipline]:
    """All queue disciplines by name."""
    entries: list[dict[str, Any]] = json.loads(_core.catalogue())["disciplines"]
    found = {}
    for entry in entries:
        linux = entry["linux"] and InLinux(**entry["linux"])
        parameters = tuple(map(_parameter, entry["parameters"]))
        found[entry["name"]] = Discipline(**{**entry, "linux": linux, "parameters": parameters})
    return found


def _parameter(entry: dict[str, Any]) -> Parameter:
    given: Any = entry["default"]
    rule: str | None = given["rule"] if isinstance(given, dict) else None
    return Parameter(**{**entry, "default": None if rule else given, "rule": rule})
