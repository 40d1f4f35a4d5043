"""Everything that an experiment can name, and what engines know: `crates/model/src/catalogue`."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    """A parameter of an entry.

    Attributes:
        name: In experiment files.
        field: In the scenario, with its unit.
        unit: What it counts (`Unit` in `crates/model/src/catalogue/parameter.rs`).
        least: Smallest value, in the base unit (bytes, nanoseconds).
        most: Largest value.
        choices: Names that a choice takes.
        default: In the base unit; None: it must be written, or `rule` says what it follows from.
        rule: What the default follows from, in Markdown; None: from nothing.
        about: One phrase.
    """

    name: str
    field: str
    unit: str
    least: int
    most: int
    choices: tuple[str, ...]
    default: int | float | bool | str | None
    rule: str | None
    about: str

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Parameter:
        """A parameter as the catalogue has it."""
        default = entry["default"]
        rule = default["rule"] if isinstance(default, dict) else None
        read = {"default": None if rule else default, "rule": rule}
        return cls(**{**entry, **read, "choices": tuple(entry["choices"])})


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


@dataclass(frozen=True, slots=True)
class TcpOption:
    """A TCP option of a host.

    Attributes:
        parameter: Names, unit and range.
        place: Where Linux takes it from: `sysctl`, `route`, `device`, `module`, `build`; `absent`:
            from nowhere.
        setting: Its name there.
        since: First release of Linux that has it; empty: none, or all.
        source: RFC or paper; empty: only Linux describes it.
    """

    parameter: Parameter
    place: str
    setting: str
    since: str
    source: str


@dataclass(frozen=True, slots=True)
class Traffic:
    """A kind of traffic.

    Attributes:
        name: In experiment files and in the scenario.
        title: On pages.
        linux: Its socket on the kernel's engines.
        source: RFC or paper.
        about: One sentence.
        short: The parameter that a bare value stands for.
        parameters: In the order of the pages; none: a model of its own in
            `dumbbell.experiment.traffic`.
    """

    name: str
    title: str
    linux: str
    source: str
    about: str
    short: str
    parameters: tuple[Parameter, ...]

    @property
    def written(self) -> tuple[Parameter, ...]:
        """The parameters that a file may write."""
        return tuple(one for one in self.parameters if one.unit != "unwritten")


@dataclass(frozen=True, slots=True)
class Impairment:
    """An impairment of links.

    Attributes:
        name: Field of a link; below it, after a dot, one of several models.
        title: On pages.
        linux: How the kernel's engines realise it; empty: they refuse it.
        source: RFC or paper; may be empty.
        about: One sentence.
        parameters: None: the field is a value.
    """

    name: str
    title: str
    linux: str
    source: str
    about: str
    parameters: tuple[Parameter, ...]


@lru_cache(maxsize=1)
def impairments() -> dict[str, Impairment]:
    """All impairments by name, in the order in which a packet meets them."""
    entries: list[dict[str, Any]] = json.loads(_core.catalogue())["impairments"]
    found = {}
    for entry in entries:
        parameters = tuple(map(Parameter.read, entry["parameters"]))
        found[entry["name"]] = Impairment(**{**entry, "parameters": parameters})
    return found


@lru_cache(maxsize=1)
def tcp_options() -> dict[str, TcpOption]:
    """All TCP options by the name that experiment files have, in the order of the scenario."""
    entries: list[dict[str, Any]] = json.loads(_core.catalogue())["tcp_options"]
    found = {}
    for entry in entries:
        parameter, setting = Parameter.read(entry["parameter"]), entry["setting"]
        ((place, name),) = [(setting, "")] if isinstance(setting, str) else setting.items()
        known = {"since": entry["since"], "source": entry["source"]}
        found[parameter.name] = TcpOption(parameter, place, name, **known)
    return found


@lru_cache(maxsize=1)
def traffic_kinds() -> dict[str, Traffic]:
    """All kinds of traffic by name."""
    entries: list[dict[str, Any]] = json.loads(_core.catalogue())["traffic"]
    found = {}
    for entry in entries:
        parameters = tuple(map(Parameter.read, entry["parameters"]))
        found[entry["name"]] = Traffic(**{**entry, "parameters": parameters})
    return found


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
        parameters = tuple(map(Parameter.read, entry["parameters"]))
        found[entry["name"]] = Discipline(**{**entry, "linux": linux, "parameters": parameters})
    return found
