"""The compiled part of Dumbbell: the simulator and the scenario's only validator."""

from typing import Any, Final, final

__all__ = [
    "Cancelled",
    "DefectError",
    "Monitor",
    "Output",
    "ScenarioError",
    "Survey",
    "budget",
    "capture_packets",
    "capture_sightings",
    "catalogue",
    "engine_version",
    "profiles",
    "run",
    "survey",
    "tables",
    "trace_hops",
    "trace_summary",
    "validate",
    "version",
]

version: Final[str]
engine_version: Final[str]

class ScenarioError(Exception):
    """A scenario that cannot be run."""

    path: str
    message: str

class Cancelled(Exception):
    """The run was stopped by its monitor."""

class DefectError(Exception):
    """The simulator lost track of a packet, or broke off: a defect of the program."""

@final
class Monitor:
    """Watches and stops a run from another thread."""

    def __new__(cls) -> Monitor: ...
    @property
    def progress_ns(self) -> int: ...
    @property
    def cancelled(self) -> bool: ...
    def report(self, progress_ns: int) -> None: ...
    def cancel(self) -> None: ...

@final
class Output:
    """What a run gives."""

    @property
    def tables(self) -> dict[str, bytes]: ...
    @property
    def digest(self) -> str: ...
    @property
    def packets(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def capture(self) -> bytes | None: ...

@final
class Survey:
    """What a capture holds; tables are JSON texts."""

    @property
    def small(self) -> str: ...
    @property
    def conversation_count(self) -> int: ...
    @property
    def connection_count(self) -> int: ...
    def conversations(self, start: int, count: int) -> str: ...
    def connections(self, start: int, count: int) -> str: ...

def run(scenario_json: str, seed: int, monitor: Monitor | None = None) -> Output: ...
def validate(scenario_json: str) -> None: ...
def survey(path: str, from_ns: int | None = None, to_ns: int | None = None) -> Survey: ...
def capture_packets(
    path: str,
    connections: list[int],
    most: int,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> str: ...
def capture_sightings(files: list[tuple[str, str]], most: int) -> tuple[str, dict[str, bytes]]: ...
def trace_summary(path: str, monitor: Monitor | None = None) -> tuple[str, dict[str, bytes]]: ...
def trace_hops(
    path: str, from_ns: int, to_ns: int, most: int, monitor: Monitor | None = None
) -> tuple[str, dict[str, bytes]]: ...
def budget(scenario_json: str) -> dict[str, Any]:
    """What a run will take, estimated from its scenario.

    `events` (packets times links, and samples), `rows`, `memory_bytes`, `capture_bytes`: numbers;
    `busiest`: number of the flow with the most packets, or None; `boundless`: numbers of the flows
    whose path limits nothing; `longest`: the field of `sampling` that costs most, or None.
    """

def catalogue() -> str:
    """The catalogue of what an experiment can name, as JSON."""

def profiles() -> dict[str, str]: ...
def tables() -> str: ...
