"""Catalogue of what an experiment can name: `crates/model/src/catalogue`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from dumbbell import _core


@dataclass(frozen=True, slots=True)
class InLinux:
    """Support of an entry in Linux.

    Attributes:
        name: Name in `sysctl` or `tc`.
        option: Option of the kernel's configuration, without `CONFIG_`; empty: always built in.
        since: First release with this entry.
    """

    name: str
    option: str
    since: str


@dataclass(frozen=True, slots=True)
class CongestionControl:
    """A congestion control.

    Attributes:
        name: Name in experiment files and results.
        title: Name on pages.
        linux: Support in Linux; None: no kernel has it.
        coupled: Couples the subflows of Multipath TCP connections; refused for plain TCP.
        paced_by_fq: Paced by fq of the sending host by default.
        needs_ecn: Negotiates ECN whatever the hosts' options say; both ends use it.
        l4s: Sends ECT(1), and takes no other ECN than Accurate ECN.
        source: RFC, paper, file of the Linux kernel.
        about: One sentence.
    """

    name: str
    title: str
    linux: InLinux | None
    coupled: bool
    paced_by_fq: bool
    needs_ecn: bool
    l4s: bool
    source: str
    about: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an entry.

    Attributes:
        name: Name in experiment files.
        field: Field in the scenario, with its unit.
        unit: Unit (`Unit` in `crates/model/src/catalogue/parameter.rs`).
        least: Minimum, in the base unit (bytes, ns).
        most: Maximum, in the base unit.
        choices: Names of a choice.
        default: Default in the base unit; None: required, or given by `rule`.
        rule: Rule for a default that follows from other values, in Markdown; None: no rule.
        about: Description, one phrase.
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
        """Reads a parameter from an entry of the catalogue."""
        default = entry["default"]
        rule = default["rule"] if isinstance(default, dict) else None
        read = {"default": None if rule else default, "rule": rule}
        return cls(**{**entry, **read, "choices": tuple(entry["choices"])})


@dataclass(frozen=True, slots=True)
class Discipline:
    """A queue discipline.

    Attributes:
        name: Name in experiment files and, where Linux has it, in `tc`.
        key: Key in the scenario.
        variant: Name of the type; with suffix `Spec`, of the definition in the schema.
        title: Name on pages.
        linux: Support in Linux; None: no kernel has it.
        not_in_linux: Reason why no kernel has it.
        source: RFC, paper, file of the Linux kernel.
        about: One sentence.
        parameters: Parameters; none for classful disciplines, which have models of their own.
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
        place: Source of the setting in Linux: `sysctl`, `route`, `device`, `module`, `build`;
            `absent`: Linux has no such setting.
        setting: Name of the setting.
        since: First release of Linux with this option; empty: none, or all.
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
        name: Name in experiment files and in the scenario.
        title: Name on pages.
        linux: Socket on the kernel's engines.
        source: RFC or paper.
        about: One sentence.
        short: Parameter that a bare value sets.
        parameters: Parameters in page order; none: `dumbbell.experiment.traffic` has a model.
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
        """Parameters that an experiment file may set."""
        return tuple(one for one in self.parameters if one.unit != "unwritten")


@dataclass(frozen=True, slots=True)
class Impairment:
    """An impairment of links.

    Attributes:
        name: Field of a link; a dot separates the name of one of several models.
        title: Name on pages.
        linux: Realisation on the kernel's engines; empty: they refuse it.
        source: RFC or paper; may be empty.
        about: One sentence.
        parameters: Parameters; none: the field is a value.
    """

    name: str
    title: str
    linux: str
    source: str
    about: str
    parameters: tuple[Parameter, ...]


@lru_cache(maxsize=1)
def impairments() -> dict[str, Impairment]:
    """All impairments by name, in the order of their application to a packet."""
    entries: list[dict[str, Any]] = json.loads(_core.catalogue())["impairments"]
    found = {}
    for entry in entries:
        parameters = tuple(map(Parameter.read, entry["parameters"]))
        found[entry["name"]] = Impairment(**{**entry, "parameters": parameters})
    return found


@lru_cache(maxsize=1)
def tcp_options() -> dict[str, TcpOption]:
    """All TCP options by their names in experiment files, in the order of the scenario."""
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
    """Columns with known values, by origin (an engine, or `trace`) and table. netns: as linux."""
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


def single_path() -> tuple[str, ...]:
    """Names of the congestion controls of a connection with one path."""
    return tuple(one.name for one in congestion_controls().values() if not one.coupled)


@lru_cache(maxsize=1)
def access_models() -> dict[str, Any]:
    """Models of access links by name (`crates/experiment/src/access/models.rs`)."""
    found: dict[str, Any] = json.loads(
        _core.access_models(), object_hook=lambda one: SimpleNamespace(**one)
    ).__dict__
    for model in found.values():
        model.sources = vars(model.sources)
    return found


@lru_cache(maxsize=1)
def typical_pages() -> dict[str, list[dict[str, Any]]]:
    """Objects of typical pages by name, as experiment files write them."""
    found: dict[str, list[dict[str, Any]]] = json.loads(_core.typical_pages())
    return found


@lru_cache(maxsize=1)
def queue_parameters() -> dict[tuple[str, str], str]:
    """Name of a parameter, as `CoDel target`, by (key of a discipline, field)."""
    entries: list[dict[str, Any]] = json.loads(_core.catalogue())["disciplines"]
    return {
        (entry["key"], parameter["field"]): f"{entry['title']} {parameter['name']}"
        for entry in reversed(entries)  # the first of several entries with one key wins
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
