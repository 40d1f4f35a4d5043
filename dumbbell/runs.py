"""Experiments and runs as values: a scenario with a seed on an engine, its result, and its id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from dumbbell import _core

ID_LENGTH = 32
#: Engine of runs that were measured elsewhere; in the table `runs` with the format of their file:
#: `measured:iperf3`. Field of their scenario, which has no network.
MEASURED = "measured"
#: Columns beside those of the engines' tables.
_OWN = {
    "run", "repeat", "seed", "engine", "engine_version", "digest", "wall_s", "packets", "events",
    "scenario",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExperimentInfo:
    """The experiment behind a set of results.

    Attributes:
        name: Name of the experiment.
        yaml: Text of the experiment file.
        factors: Factor → levels as written, in order.
        repeats: Runs per combination of levels.
        seed: Seed of the first repeat; repeat k has seed + k.
    """

    name: str
    yaml: str
    factors: dict[str, list[str]]
    repeats: int
    seed: int


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario with a seed on an engine.

    Attributes:
        id: Hash of scenario, seed, engine, its version, and programs of the machine that the
            scenario runs; see :func:`run_id`.
        scenario: Scenario as canonical JSON.
        seed: Seed of all random streams.
        duration_ns: Virtual time of the run.
    """

    id: str
    scenario: str
    seed: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of a run.

    Attributes:
        tables: Each result table as an Arrow IPC stream, by name.
        digest: SHA-256 over the tables.
        wall_s: Real time of the run in s.
        packets: Number of packets sent by hosts.
        events: Number of events; 0: the engine has none.
        capture: Packets at the taps as pcapng; None: not requested.
    """

    tables: Mapping[str, bytes]
    digest: str
    wall_s: float
    packets: int
    events: int
    capture: bytes | None = None


@lru_cache(maxsize=64)
def _nameless(scenario: str) -> bytes:
    """Hash of a scenario without its name, which has no effect on results."""
    fields = json.loads(scenario)
    fields.pop("name", None)
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()


def run_id(
    scenario: str, seed: int, engine: str, version: str, content: bytes | None = None
) -> str:
    """Id of a run: hash of everything that determines its result.

    `content`: hash of the scenario without its name, if it is known.
    """
    hashed = hashlib.sha256(_nameless(scenario) if content is None else content)
    for part in (str(seed), engine, version):
        data = part.encode()
        hashed.update(len(data).to_bytes(8, "little"))
        hashed.update(data)
    return hashed.hexdigest()[:ID_LENGTH]


@cache
def column_names() -> frozenset[str]:
    """Names of the columns of all result tables, without factors."""
    tables = json.loads(_core.tables())
    return frozenset(column["name"] for table in tables for column in table["columns"]) | _OWN


def measured_from(scenario: str) -> dict[str, Any]:
    """Where a measured run is from: `file`, `format`, `reader`, `sha256`, `about`, `notes`."""
    found: dict[str, Any] = json.loads(scenario)[MEASURED]
    return found
