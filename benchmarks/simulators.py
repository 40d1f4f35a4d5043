"""The peers: other simulators, how their programs are built and run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import ACCESS_BPS, BUILT, HERE, Case, FatTree, Network
from benchmarks.measure import measure
from benchmarks.results import Run

PEERS = HERE / "peers"
#: Factor of a simulated time after which nothing has been sent yet.
NOTHING = 1e-9
#: A time is read from a clock if it is this many times the clock's resolution.
CLOCKS = 100
NS3_HEADER = Path("/usr/include/ns3/core-module.h")


@dataclass(frozen=True)
class Peer:
    """Another simulator with our program for it.

    Attributes:
        name: Its name in tables.
        title: Version and kind of TCP.
        command: The program for dumbbells, which takes the arguments of `arguments`.
        fat_tree: The program for fat trees.
        lean: Scenarios that it runs without access links.
        access: Scenarios that it runs with access links.
        clock_s: Resolution of the program's own clock. Short runs are measured from outside, less a
            run that ends at once.
    """

    name: str
    title: str
    command: tuple[str, ...]
    lean: str = "ABCD"
    access: str = "ABCD"
    clock_s: float = 1e-6
    fat_tree: tuple[str, ...] = ()

    def runs(self, case: Case, *, access: bool) -> bool:
        """Returns true if it runs a scenario."""
        if isinstance(case.network, FatTree):
            return bool(self.fat_tree) and not access
        return case.network is not None and case.name in (self.access if access else self.lean)


def available(htsim: Path | None) -> Iterable[Peer]:
    """Builds the programs. Says which peers are left out, and why.

    Args:
        htsim: Folder of csg-htsim's sources.
    """
    if shutil.which("ns") is None:
        print("ns-2 left out: apt-get install ns2")
    else:
        yield Peer(
            "ns-2",
            "ns-2.35, TCP/Linux with CUBIC, SACK, delayed ACKs",
            ("ns", str(PEERS / "ns2" / "scenario.tcl")),
            clock_s=0.01,
        )
    if htsim is None:
        print("htsim left out: --htsim names the folder of csg-htsim's sources")
    elif built("htsim", f"HTSIM={htsim.resolve()}"):
        yield Peer(
            "htsim",
            "csg-htsim, NewReno without SACK, an ACK per packet",
            (str(BUILT / "htsim-scenario"),),
            fat_tree=(str(BUILT / "htsim-fat_tree"),),
        )
    if not NS3_HEADER.exists():
        print("ns-3 left out: apt-get install libns3-dev")
    elif built("ns3"):
        # C takes minutes, D more than ten: C is stopped at the limit of time, D left out.
        yield Peer(
            "ns-3",
            "ns-3.37, CUBIC with SACK, delayed ACKs",
            (str(BUILT / "ns3-scenario"),),
            lean="ABC",
            access="A",
        )


def built(name: str, *variables: str) -> bool:
    """Builds our program for a peer."""
    missing = [tool for tool in ("g++", "make") if shutil.which(tool) is None]
    if missing:
        print(f"{name} left out: needs {', '.join(missing)}")
        return False
    command = ["make", "--silent", "-C", str(PEERS / name), f"BUILD={BUILT}", *variables]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name} left out: its program cannot be built:\n{done.stderr}")
    return done.returncode == 0


def arguments(network: Network | FatTree, access: bool, scale: float, limit_s: float) -> list[str]:
    """Arguments of the programs in `peers/`."""
    if isinstance(network, FatTree):
        return [
            str(network.ports),
            str(network.rate_bps),
            str(network.delay_ns),
            str(network.queue_bytes),
            f"{network.duration_s * scale:g}",
            f"{limit_s:g}",
        ]
    return [
        str(network.flows),
        str(network.rate_bps),
        str(network.shortest_rtt_ns),
        str(network.longest_rtt_ns),
        str(network.queue_bytes),
        f"{network.duration_s * scale:g}",
        str(ACCESS_BPS if access else 0),
        f"{limit_s:g}",
    ]


def simulate(peer: Peer, case: Case, *, access: bool, scale: float, limit_s: float) -> Run:
    """Runs a scenario once.

    Args:
        peer: The simulator.
        case: The scenario, with a network.
        access: With links of hosts that serialise.
        scale: Factor of the simulated time.
        limit_s: Processor time after which the program stops by itself.

    Raises:
        Failed: The program failed.
    """
    assert case.network is not None
    command = peer.fat_tree if isinstance(case.network, FatTree) else peer.command
    words = arguments(case.network, access, scale, limit_s)
    found = measure([*command, *words])
    answer = found.answer
    cpu_s = answer["cpu_s"]
    if cpu_s < peer.clock_s * CLOCKS:
        nothing = arguments(case.network, access, NOTHING, limit_s)
        cpu_s = found.cpu_s - measure([*command, *nothing]).cpu_s
    wanted_s = case.network.duration_s * scale
    return Run(
        case=case.name,
        engine=peer.name,
        access=access,
        cpu_s=cpu_s,
        process_s=found.cpu_s,
        packets=answer["packets"],
        goodput_bps=answer["goodput_bps"],
        simulated_s=answer["simulated_s"],
        peak_bytes=answer["peak_bytes"],
        finished=answer["simulated_s"] > wanted_s * (1 - 1e-3),
    )
