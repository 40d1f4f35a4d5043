"""Benchmarks: names, files, what is measured, and limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results.json"
#: Programs of the peers are built here.
BUILT = ROOT / "target" / "benchmarks"

#: Rate of access links where links of hosts serialise.
ACCESS_BPS = 400_000_000_000


@dataclass(frozen=True)
class Limit:
    """What a quantity must stay below, and should.

    Attributes:
        case: Letter of the benchmark, or a word.
        quantity: Key of the value: a property of `results.Run`, or a key of the sections `others`
            and `memory`.
        title: Words of the quantity.
        unit: Unit of must, aim and the printed value.
        must: Largest value that is accepted.
        aim: Value to reach, None if there is none beyond `must`.
        one: Size of one `unit` in the quantity's own unit.
    """

    case: str
    quantity: str
    title: str
    unit: str
    must: float
    aim: float | None = None
    one: float = 1


@dataclass(frozen=True)
class Network:
    """Parameters of a dumbbell, for peers. A test compares them with the experiment file."""

    flows: int
    rate_bps: int
    shortest_rtt_ns: int
    longest_rtt_ns: int
    queue_bytes: int
    duration_s: float


@dataclass(frozen=True)
class FatTree:
    """Parameters of a fat tree with a flow from every host, for peers."""

    ports: int
    rate_bps: int
    delay_ns: int
    queue_bytes: int
    duration_s: float


@dataclass(frozen=True)
class Case:
    """A scenario in `scenarios/`.

    Attributes:
        name: Letter.
        title: Words for tables.
        rounds: How often it runs. The fastest run counts.
        network: What peers simulate; None: they do not.
        has_setup: True if the set-up is measured by itself.
    """

    name: str
    title: str
    rounds: int
    network: Network | FatTree | None = None
    has_setup: bool = False

    @property
    def file(self) -> Path:
        """The experiment file."""
        return HERE / "scenarios" / f"{self.name}.yaml"


MS = 1_000_000
CASES = [
    Case(
        "A",
        "1 flow, 20 Mbit/s, RTT 10 ms, buffer 200 packets, 100 s",
        9,
        Network(1, 20_000_000, 10 * MS, 10 * MS, 300_000, 100),
    ),
    Case(
        "B",
        "1 flow, 1 Gbit/s, RTT 20 ms, buffer 1 BDP, 30 s",
        5,
        Network(1, 1_000_000_000, 20 * MS, 20 * MS, 2_500_000, 30),
    ),
    Case(
        "C",
        "100 flows, 1 Gbit/s, RTT 20–120 ms, buffer 50 ms, 30 s",
        5,
        Network(100, 1_000_000_000, 20 * MS, 120 * MS, 6_250_000, 30),
    ),
    Case(
        "D",
        "1000 flows, 10 Gbit/s, RTT 20–120 ms, buffer 20 ms, 5 s",
        5,
        Network(1000, 10_000_000_000, 20 * MS, 120 * MS, 25_000_000, 5),
    ),
    Case(
        "E", "10⁴ flows from 10⁴ hosts, 100 Gbit/s, RTT 20–120 ms, buffer 20 ms, 2 s", 3, None, True
    ),
    Case("F", "10⁶ short flows in 600 s on 10 Gbit/s", 3),
    Case(
        "G",
        "fat tree k = 8, 128 hosts, 10 Gbit/s, permutation of CUBIC flows, 0.1 s",
        5,
        FatTree(8, 10_000_000_000, 1000, 150_000, 0.1),
    ),
]

MB = 1e6
KB = 1e3
MILLI = 1e-3
CPU = "processor time"
LIMITS = [
    Limit("A", "cpu_s", CPU, "s", 0.035, 0.02),
    Limit("A", "above_bytes", "memory above imports", "MB", 30, None, MB),
    Limit("B", "cpu_s", CPU, "s", 0.4, 0.25),
    Limit("C", "cpu_s", CPU, "s", 0.8, 0.5),
    Limit("D", "cpu_s", CPU, "s", 2.0, 1.0),
    Limit("D/A", "growth", "cost of a packet, D over A", "×", 2.0, 1.5),
    Limit("E", "reading_s", "reading the file", "s", 1.0),
    Limit("E", "setup_s", "set-up", "s", 0.5),
    Limit("E", "run_s", "run", "s", 12, 6),
    Limit("E", "peak_bytes", "memory of the process", "MB", 300, 150, MB),
    Limit("F", "cpu_s", CPU, "s", 15, 8),
    Limit("F", "peak_bytes", "memory of the process", "MB", 300, None, MB),
    Limit("G", "cpu_s", CPU, "s", 3.0, 1.5),
    Limit("G", "fabric", "cost of a delivered byte, over htsim's", "×", 0.5),
    Limit("idle", "idle_flow_bytes", "memory of an idle TCP flow", "KB", 4, None, KB),
    Limit("active", "active_flow_bytes", "memory of an active one, less window", "KB", 8, None, KB),
    Limit("H", "call_s", "`dumbbell.run` of 1 s at 20 Mbit/s", "ms", 3.0, 1.5, MILLI),
    Limit("I", "import_s", "`import dumbbell`, whole process", "s", 0.25, 0.1),
    Limit("I", "help_s", "`dumbbell --help`, whole process", "s", 0.3, 0.1),
    Limit("J", "grid_s", "study 1's 1340 runs on two cores", "s", 90, 60),
]


def verdict(value: float, limit: Limit) -> str:
    """Verdict on a value in the limit's unit."""
    if limit.aim is not None and value <= limit.aim:
        return "aim met"
    return "must met" if value <= limit.must else "MUST MISSED"
