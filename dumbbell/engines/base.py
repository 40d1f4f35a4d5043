"""What every engine is: something that executes a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from dumbbell import _core
from dumbbell._core import Monitor as Monitor
from dumbbell.engines.preflight import Concern

ID_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario with a seed on an engine.

    Attributes:
        id: Hash of scenario, seed, engine and its version; see :func:`run_id`.
        scenario: Canonical JSON.
        seed: Of all random streams.
        duration_ns: Virtual time.
    """

    id: str
    scenario: str
    seed: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run gave.

    Attributes:
        tables: Each result table as an Arrow IPC stream, by name.
        digest: SHA-256 over the tables.
        wall_s: Real time it took, in seconds.
        packets: Packets that left a host.
        events: Events processed; 0 where the engine has none.
        capture: What passed the taps, as pcapng, if the scenario asks for it.
    """

    tables: Mapping[str, bytes]
    digest: str
    wall_s: float
    packets: int
    events: int
    capture: bytes | None = None


class Engine(Protocol):
    """Executes runs; several at once, from several threads."""

    @property
    def name(self) -> str:
        """As on the command line."""

    @property
    def version(self) -> str:
        """Differs whenever the same scenario and seed may give another result."""

    @property
    def workers_max(self) -> int | None:
        """Runs that may go on at once without changing each other; None: any number."""

    @property
    def repeatable(self) -> bool:
        """Whether the same scenario and seed give the same digest again."""

    def begin(self) -> list[str]:
        """Before the first run. Returns what the user should be told."""

    def concerns(self, scenario: str) -> list[Concern]:
        """What of a scenario may not be what was meant; empty if the engine has no pitfalls."""

    def check(self, scenario: str) -> None:
        """Before anything is run.

        Raises:
            dumbbell._core.ScenarioError: The engine cannot do what the scenario asks.
        """

    def execute(self, run: Run, monitor: Monitor) -> RunResult:
        """Executes a run; the interpreter's lock is released meanwhile.

        Raises:
            dumbbell._core.ScenarioError: The engine cannot do what the scenario asks.
            dumbbell._core.Cancelled: The monitor was cancelled.
        """


@lru_cache(maxsize=64)
def _nameless(scenario: str) -> bytes:
    """Hash of a scenario without its name, which decides nothing."""
    fields = json.loads(scenario)
    fields.pop("name", None)
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()


def run_id(scenario: str, seed: int, engine: str, version: str) -> str:
    """The address of a run: a hash of all that decides its result."""
    hashed = hashlib.sha256(_nameless(scenario))
    for part in (str(seed), engine, version):
        data = part.encode()
        hashed.update(len(data).to_bytes(8, "little"))
        hashed.update(data)
    return hashed.hexdigest()[:ID_LENGTH]


def scenario_error(path: str, message: str) -> _core.ScenarioError:
    """An error about a field of a scenario."""
    error = _core.ScenarioError(path, message)
    error.path, error.message = path, message
    return error
