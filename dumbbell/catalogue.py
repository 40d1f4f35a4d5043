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
