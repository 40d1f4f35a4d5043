"""The compiled part of Dumbbell: the simulator and the scenario's only validator."""

from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final, Protocol, final

from numpy.typing import NDArray

from dumbbell.codes import Code

__all__ = [
    "AckEvent",
    "AckSample",
    "Cancelled",
    "Cell",
    "Conn",
    "DefectError",
    "Experiment",
    "LostSkb",
    "Monitor",
    "Network",
    "Output",
    "PluginError",
    "Policy",
    "RateSample",
    "RefusedError",
    "RoutingError",
    "ScenarioError",
    "Survey",
    "Window",
    "Worlds",
    "access_models",
    "budget",
    "capture_packets",
    "capture_series",
    "capture_sightings",
    "catalogue",
    "default_profile",
    "engine_version",
    "experiment_schema",
    "gym_catalogue",
    "play_packetdrill",
    "plugin_library",
    "profiles",
    "run",
    "survey",
    "tables",
    "trace_hops",
    "trace_summary",
    "typical_pages",
    "validate",
    "version",
]

version: Final[str]
engine_version: Final[str]

class ScenarioError(Exception):
    """A scenario that cannot be run."""

    path: str
    message: str
    code: Code  # of errors that Python raises

class RoutingError(Exception):
    """Missing path, or a routing loop.

    Attributes:
        message: What is wrong.
        node: Node at which the path ends or repeats.
        flow: Index of the flow at fault.
        route: Index of the explicit route at fault; None: no explicit route is.
    """

    message: str
    node: str
    flow: int
    route: int | None

class Cancelled(Exception):
    """The run was stopped by its monitor."""

class PluginError(Exception):
    """A plug-in failed during a run."""

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
    @property
    def logs(self) -> dict[str, tuple[bytes, bytes]]: ...

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

@final
class Network:
    """Graph of nodes and links; next hops and paths, as the engines take them.

    A pipe is a link's index and its direction: 0 forward, 1 backward. A flow is its source, its
    destination, and the links of both interfaces (None: any).
    """

    def __new__(
        cls,
        nodes: list[tuple[str, bool, bool]],
        links: list[tuple[str, str]],
        delays_ns: list[tuple[int, int]],
        routes: list[tuple[str, str, list[int]]],
    ) -> Network:
        """Network of nodes (name, forwards, sprays), links, their fixed delays and routes.

        Args:
            nodes: Name, and whether the node forwards and sprays.
            links: Names of both nodes.
            delays_ns: Fixed delay of each link, forward and backward.
            routes: Explicit routes: node, destination, links.
        """

    def ends(self, link: int) -> tuple[str, str]:
        """Names of both nodes of a link."""

    def leads_to(self, pipe: tuple[int, int]) -> str:
        """Name of the node at the far end of a pipe."""

    def links_of(self, node: str) -> list[int]:
        """Indices of the links at a node, ascending."""

    def next_hops(self, node: str, to: str) -> list[tuple[int, int]]:
        """Pipes that packets for host `to` take from `node`, in link order."""

    def check(self, flow: tuple[str, str, int | None, int | None]) -> None:
        """Raises `RoutingError` unless a flow has a path and a path back."""

    def round_trips(
        self, flows: list[tuple[str, str, int | None, int | None]]
    ) -> tuple[list[int], dict[tuple[int, int], int]]:
        """Base RTT of each flow, and the largest one of the flows through each pipe, ns.

        Raises:
            RoutingError: There is no path, or it has a loop.
        """

@final
class Worlds:
    """Runs of scenarios whose flows agents control, moved on by one call: see `dumbbell.gym`.

    Arrays have the shape (worlds, agents, …) and are contiguous.
    """

    def __new__(
        cls,
        worlds: int,
        agents: Sequence[str],
        actions: Sequence[str],
        scaled: bool,
        stepping: str,
        count: int,
        length_ns: int,
        observations: Sequence[str],
        normalised: bool,
        reward: str,
    ) -> Worlds:
        """Worlds without an episode.

        Args:
            worlds: Number of worlds.
            agents: Names of the agents' flows.
            actions: Names of what an agent sets.
            scaled: Actions are −1 to 1, on a logarithmic scale between their bounds.
            stepping: `time`, `rtt` or `acks`.
            count: Round trips or ACKs of a step.
            length_ns: Length of a step, or its most, ns.
            observations: Names of what an agent sees.
            normalised: Observations have no unit.
            reward: Name of the reward.
        """

    def add(self, scenario_json: str, kept: bool) -> int:
        """Adds a scenario, with its tables if they are kept; returns its number."""

    def bind(
        self,
        actions: NDArray[Any],
        observations: NDArray[Any],
        rewards: NDArray[Any],
        terminated: NDArray[Any],
        truncated: NDArray[Any],
    ) -> None:
        """Names the arrays that a step reads and writes."""

    def reset(self, world: int, scenario: int, seed: int) -> bool:
        """Begins an episode. Returns False if the run ends before all agents are connected."""

    def step(self) -> list[int]:
        """Moves on all worlds. Returns those whose episode was over, which have not moved.

        Raises:
            ValueError: An action is out of range; nothing has moved.
        """

    def values(self, world: int, agent: int) -> tuple[float, list[float]] | None:
        """Virtual time in s and all observations, each in its unit; None: no episode."""

    def finish(self, world: int) -> Output:
        """Runs an episode to its end with the last actions; it is closed then."""

def gym_catalogue() -> str:
    """What agents can see, set and be rewarded by, as JSON."""

@final
class Policy:
    """A policy that has learnt, from a file of ONNX."""

    def __new__(cls, file: bytes) -> Policy:
        """Raises `ValueError` with the reason if the file is none."""

    @property
    def observations(self) -> list[str]: ...
    @property
    def actions(self) -> list[str]: ...
    @property
    def normalised(self) -> bool: ...
    @property
    def scaled(self) -> bool: ...
    @property
    def step(self) -> tuple[str, int, int]:
        """What ends a step (`time`, `rtt`, `acks`), how many, and its length or its most, ns."""

    @property
    def layers(self) -> list[tuple[str, list[list[float]], list[float]]]:
        """Kind (`dense`, `relu`, `tanh`), weights by output, and biases."""

    def act(self, observations: Sequence[float]) -> list[float]:
        """Action for observations, as the simulator computes it. Raises `ValueError`."""

@final
class Conn:
    """What a hook may read of its connection. Units are those of `dumbbell_cc.h`."""

    @property
    def now_us(self) -> int: ...
    @property
    def now_ms(self) -> int: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def srtt_us8(self) -> int: ...
    @property
    def min_rtt_us(self) -> int: ...
    @property
    def snd_una(self) -> int: ...
    @property
    def snd_nxt(self) -> int: ...
    @property
    def mss(self) -> int: ...
    @property
    def header_bytes(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def sacked_out(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def delivered_us(self) -> int: ...
    @property
    def delivered_ce(self) -> int: ...
    @property
    def ecn(self) -> bool: ...
    @property
    def lost(self) -> int: ...
    @property
    def app_limited(self) -> int: ...
    @property
    def cwnd_limited(self) -> bool: ...
    @property
    def cwnd_limited_flight(self) -> bool: ...
    @property
    def tlp_app_limited(self) -> bool: ...
    @property
    def state(self) -> str: ...
    @property
    def last_send_ms(self) -> int: ...
    @property
    def prior_cwnd(self) -> int: ...
    @property
    def wstamp_ns(self) -> int: ...
    @property
    def tsval_ms(self) -> int: ...
    @property
    def tsecr_ms(self) -> int: ...
    @property
    def random(self) -> int: ...

@final
class RateSample:
    """Delivery rate over an ACK."""

    @property
    def prior_delivered(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def interval_us(self) -> int: ...
    @property
    def rtt_us(self) -> int: ...
    @property
    def losses(self) -> int: ...
    @property
    def acked_sacked(self) -> int: ...
    @property
    def prior_in_flight(self) -> int: ...
    @property
    def app_limited(self) -> bool: ...
    @property
    def retransmitted(self) -> bool: ...
    @property
    def ack_delayed(self) -> bool: ...
    @property
    def tx_in_flight(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def marked(self) -> int: ...
    @property
    def acks_tlp_retransmission(self) -> bool: ...

@final
class AckSample:
    """Packets that an ACK acknowledged."""

    @property
    def pkts_acked(self) -> int: ...
    @property
    def rtt_us(self) -> int: ...
    @property
    def in_flight(self) -> int: ...

@final
class AckEvent:
    """Properties of an ACK."""

    @property
    def slow_path(self) -> bool: ...
    @property
    def ece(self) -> bool: ...

@final
class LostSkb:
    """An skb that was marked lost."""

    @property
    def packets(self) -> int: ...
    @property
    def tx_in_flight(self) -> int: ...
    @property
    def lost_since_sent(self) -> int: ...
    @property
    def app_limited(self) -> bool: ...
    @property
    def used(self) -> bool: ...

@final
class Window:
    """What a hook may change: packets, and bytes per second."""

    cwnd: int
    cwnd_cnt: int
    ssthresh: int
    cwnd_clamp: int
    pacing_rate: int
    pacing: bool
    app_limited: int | None
    mtu: int | None
    enter_cwr: bool

    def in_slow_start(self) -> bool:
        """True below the threshold (`tcp_in_slow_start`)."""

    def slow_start(self, acked: int) -> int:
        """Grows up to the threshold; returns the ACKed packets beyond it (`tcp_slow_start`)."""

    def additive_increase(self, per: int, acked: int) -> None:
        """Grows by one packet per `per` ACKed packets (`tcp_cong_avoid_ai`)."""

def run(
    scenario_json: str,
    seed: int,
    monitor: Monitor | None = None,
    plugins: Mapping[str, Path | type] | None = None,
    page: Path | None = None,
    logged: bool = False,
) -> Output:
    """Runs a scenario.

    Args:
        scenario_json: Scenario as JSON.
        seed: Seed of all random streams.
        monitor: Shows the progress, and can stop the run.
        plugins: SHA-256 → path of a library or module, or class.
        page: File of 16 bytes that tells where the run is.
        logged: Connections of transport stacks write logs.

    Raises:
        ScenarioError: The scenario cannot be run.
        Cancelled: The monitor stopped the run.
        PluginError: A plug-in failed.
        DefectError: The simulator broke off.
    """

def plugin_library(path: Path) -> tuple[str, bool, bool, bool]:
    """Name of an algorithm; whether it needs ECN, is for L4S, is paced by fq.

    The file is a library or a WebAssembly module. Its code runs. Raises `ValueError` with the
    reason if it is no plug-in.
    """

def validate(scenario_json: str) -> None: ...
def survey(path: str, from_ns: int | None = None, to_ns: int | None = None) -> Survey: ...
def capture_packets(
    path: str,
    connections: list[int],
    most: int,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> str: ...
def capture_series(
    source: str | bytes,
    connection: int,
    most: int,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> dict[str, tuple[str, bytes]]:
    """Packets of one connection as arrays: name → type of numpy and bytes.

    `source` is a path, or the bytes of a capture. Unknown values of `i8` are the smallest. `ecn`:
    ECN field of the IP header. `what`:
    0 without data, 1 new, 2 reordered, 3 retransmitted, 4 duplicate, 5 keep-alive. `kind` of a
    retransmission: 1 fast, 2 time-out, 3 probe, 4 path MTU, 5 unreachable, 6 handshake.
    """

def capture_sightings(files: list[tuple[str, str]], most: int) -> tuple[str, dict[str, bytes]]: ...
def trace_summary(path: str, monitor: Monitor | None = None) -> tuple[str, dict[str, bytes]]: ...
def trace_hops(
    path: str, from_ns: int, to_ns: int, most: int, monitor: Monitor | None = None
) -> tuple[str, dict[str, bytes]]: ...
def budget(scenario_json: str) -> dict[str, Any]:
    """What a run will take, estimated from its scenario.

    `events` (packets times links, and samples), `rows`, `memory_bytes`, `capture_bytes`: numbers;
    `busiest`: number of the flow with the most packets, or None; `boundless`: numbers of the flows
    whose path limits nothing; `longest`: the field of `sampling` that costs most, or None;
    `heaviest`: the field of the scenario that needs most memory.
    """

def catalogue() -> str:
    """The catalogue of what an experiment can name, as JSON."""

def default_profile() -> str:
    """Profile of a host that names none."""

def profiles() -> dict[str, str]: ...
def tables() -> str: ...

class RefusedError(Exception):
    """Errors of an experiment file: a list of them, each as `Experiment.place` gives one."""

class _Files(Protocol):
    def read_file(self, name: str, most_bytes: int, /) -> bytes | str | None: ...
    def plugin(self, name: str, path: str, /) -> tuple[str, bool, bool, bool] | str: ...

@final
class Cell:
    """Cell of an experiment: see `dumbbell.experiment.load.Cell`."""

    labels: list[str]
    scenario: str
    content: bytes | None
    unsampled: str | None
    unsampled_content: bytes | None
    sampled: int
    rtt_ns: list[tuple[str, int]]
    duration_ns: int

@final
class Experiment:
    """An experiment file with overrides, whose cells are made when they are asked for."""

    count: int
    groups: list[tuple[list[str], list[list[str]]]]
    factors: list[tuple[str, list[str]]]
    space: list[tuple[str, list[str]]]
    def __new__(
        cls,
        root: object,
        given: Sequence[tuple[str, Sequence[object]]],
        reserved: Set[str],
        start: Callable[[str], tuple[str, object]],
        metrics: Mapping[str, tuple[str, float, float, bool]] | None,
    ) -> Experiment:
        """Reads the tree of a file. Raises `RefusedError`, and what `start` raises."""
    def contents(self) -> str:
        """Contents of the first cell beside its scenario, as JSON. Raises `RefusedError`."""
    def cell(self, number: int, files: _Files) -> Cell:
        """A cell. Raises `RefusedError`."""
    def place(
        self, number: int, path: str, message: str, files: _Files
    ) -> tuple[str, str | None, int, str, str | None, list[str], str | None, str | None]:
        """Error of an engine about a field of a cell's scenario, placed in the file.

        Message, override (None: in the file), line (0: none), field, found, allowed, nearest, code.
        """
    def check(self, begin: int, end: int, files: _Files) -> tuple[int, set[str]]:
        """Sum of virtual times in ns and names of flows of some cells. Raises `RefusedError`."""

def experiment_schema(metrics: Sequence[str]) -> str:
    """JSON Schema of experiment files. `metrics`: names of metrics."""

def access_models() -> str:
    """Models of access links by name, as JSON."""

def typical_pages() -> str:
    """Objects of typical pages by name, as JSON."""

def play_packetdrill(plan: str, profile: str, read: Callable[[str], str | None]) -> str:
    """Plays a script of packetdrill on the simulator's TCP.

    Args:
        plan: The script and how it is played, as JSON.
        profile: Name of a TCP profile.
        read: Content of a file that the script's shell names; None if it cannot be read.

    Returns:
        What came of it, as JSON.

    Raises:
        ValueError: The plan is none, or there is no such profile.
    """
