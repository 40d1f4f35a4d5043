"""Translation of a checked experiment file without factors to a scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell._core import RoutingError
from dumbbell.codes import Code
from dumbbell.experiment.build_flows import FlowBuilder, suggested
from dumbbell.experiment.build_network import Parts
from dumbbell.experiment.document import ExperimentFile
from dumbbell.experiment.pipes import BuildError, fill
from dumbbell.experiment.programs import addressed, programs, talks
from dumbbell.experiment.recording import default_sampling
from dumbbell.experiment.source import Loc

__all__ = ["SCENARIO_VERSION", "Built", "Parts", "build"]

SCENARIO_VERSION = 1
KEPT = ("samples", "queues", "drops", "probes")


@dataclass(slots=True)
class Built:
    """Scenario and the origin of its parts.

    Attributes:
        scenario: JSON value of the scenario.
        origins: Path in the scenario → path in the file. The longest matching prefix counts.
        rtt_ns: Base RTT of each flow: sum of the fixed delays in both directions.
    """

    scenario: dict[str, Any]
    origins: dict[Loc, Loc] = field(default_factory=dict)
    rtt_ns: dict[str, int] = field(default_factory=dict)


class _Builder(FlowBuilder):
    def build(self) -> Built:
        self.add_nodes()
        self.add_links()
        self.add_routes()
        self.add_flows()
        self.add_pages()
        self.processes = [self.arrivals(i, spec) for i, spec in enumerate(self.file.arrivals)]
        rtt_ns = self.complete()
        discovery = self.file.neighbour_discovery
        sampling = self.file.sampling or default_sampling(
            self.file.duration,
            self.links,
            self.flows,
            programs=len(self.file.programs),
            arrivals=bool(self.processes),
        )
        scenario = {
            "version": SCENARIO_VERSION,
            "name": self.file.name,
            "duration_ns": self.file.duration,
            "nodes": self.nodes,
            "links": self.links,
            "routes": self.routes,
            "flows": self.flows,
            "arrivals": self.processes,
            "sessions": self.sessions,
            "connections": self.connections,
            **({"programs": self.programs()} if self.file.programs else {}),
            "taps": self.taps(),
            "sampling": {
                "interval_ns": sampling.interval,
                **{table: table in sampling.keep for table in KEPT},
                "packets": sampling.packets
                and {"from_ns": sampling.packets.from_, "to_ns": sampling.packets.to},
                "hops": sampling.hops
                and {"from_ns": sampling.hops.from_, "to_ns": sampling.hops.to},
                "capture": sampling.capture and {"snap_bytes": sampling.capture.snap},
            },
            "neighbour_discovery": discovery
            and {"reachable_ns": discovery.reachable, "probe_delay_ns": discovery.probe_delay},
        }
        self.origins[("duration_ns",)] = ("duration",)
        self.origins[("sampling",)] = ("sampling",)
        self.origins[("neighbour_discovery",)] = ("neighbour_discovery",)
        return Built(scenario, self.origins, rtt_ns)

    def programs(self) -> list[dict[str, Any]]:
        for i in range(len(self.file.programs)):
            self.origins["programs", i] = ("programs", i)
        return programs(self.file.programs)

    def complete(self) -> dict[str, int]:
        self.check_ends()
        flows = list(self.with_ends())
        ends = []
        for _, flow in flows:
            between = self.interfaces.get(flow["name"])
            local, remote = (between.local, between.remote) if between else (None, None)
            ends.append((flow["from"], flow["to"], local, remote))
        hosts = {node["name"] for node in self.nodes if node["kind"] == "host"}
        pairs = talks(self.file.programs, hosts)
        ends += [(*pair, None, None) for _, pair in pairs]
        try:
            rtts, through = self.network.round_trips(ends)
        except RoutingError as error:
            if error.flow >= len(flows):
                at: Loc = ("programs", pairs[error.flow - len(flows)][0])
            else:
                at = self.origins[flows[error.flow][0]]
            if error.route is not None:
                at = self.origins["routes", error.route]
            raise BuildError(error.message, at, code=Code.NO_PATH) from None
        of_flows = rtts[: len(flows)]
        rtt_ns = {flow["name"]: rtt for (_, flow), rtt in zip(flows, of_flows, strict=True)}
        largest = max(rtts, default=None)
        for key, pending in self.pending.items():
            fill(pending, rtt_ns, through.get(key, largest))
        for flow, jitter in self.jitters:
            multiple = jitter.rtt
            base = rtt_ns[flow["name"]]
            flow["start_jitter_ns"] = jitter.time_ns if multiple is None else int(base * multiple)
        return rtt_ns

    def with_ends(self) -> Iterator[tuple[Loc, dict[str, Any]]]:
        """Flows and arrivals, with their paths in the scenario."""
        for i, flow in enumerate(self.flows):
            yield ("flows", i), flow
        for i, process in enumerate(self.processes):
            yield ("arrivals", i), process

    def check_ends(self) -> None:
        """Checks the names that routing needs. The reader of the scenario checks all others."""
        known = {node["name"] for node in self.nodes}
        joined = {end for link in self.links for end in (link["a"], link["b"])}
        for i, link in enumerate(self.links):
            for end in (link["a"], link["b"]):
                if end not in known:
                    at = (*self.origins["links", i], "between")
                    raise BuildError(
                        f"no node {end}", at, None, suggested(end, known), code=Code.NO_NODE
                    )
        for key, flow in self.with_ends():
            self.check_hosts(flow, self.origins[key])
        self.check_programs()
        for i, node in enumerate(self.nodes):
            if node["name"] not in joined:
                raise BuildError(
                    f"no link joins {node['name']}", self.origins["nodes", i], code=Code.NO_PATH
                )

    def check_programs(self) -> None:
        """Checks the hosts that programs name."""
        kinds = {node["name"]: node["kind"] for node in self.nodes}
        hosts = {name for name, kind in kinds.items() if kind == "host"}
        for i, spec in enumerate(self.file.programs):
            if spec.on not in kinds:
                raise BuildError(
                    f"no node {spec.on}",
                    ("programs", i, "on"),
                    None,
                    suggested(spec.on, hosts),
                    code=Code.NO_NODE,
                )
            if kinds[spec.on] != "host":
                raise BuildError(
                    f"{spec.on} is not a host but a {kinds[spec.on]}",
                    ("programs", i, "on"),
                    code=Code.PROGRAM,
                )
            unknown = next((name for name in addressed(spec) if name not in hosts), None)
            if unknown is not None:
                raise BuildError(
                    f"{{{unknown}}}: no host {unknown}",
                    ("programs", i, "run"),
                    None,
                    suggested(unknown, hosts),
                    code=Code.NO_NODE,
                )


def build(file: ExperimentFile, folder: Path, parts: Parts | None = None) -> Built:
    """Scenario of an experiment file.

    Args:
        file: Contents of the file, with levels in place of factors.
        folder: Folder of the trace files that the file names.
        parts: Parts of earlier cells, for reuse; new parts are added.

    Raises:
        BuildError: A name is unknown, a path is missing, a limit needs a rate, or the like.
    """
    return _Builder(file, folder, parts or Parts()).build()
