"""Warnings about starts that the engine linux cannot make at once (docs/data-centre.md).

A guest has one processor."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.engines.preflight import Concern
from dumbbell.limits.flows import flow_limits
from dumbbell.scenario import Scenario, read_scenario

#: Virtual time that the start of a connection takes from all hosts of a guest: about six readings
#: of the clock, 256 ns each.
START_NS = 1_500
#: Share of the base RTT from which on this time matters.
SHARE = 0.1
#: Starts that are spread over so many times that time are not delayed by each other.
SPREAD = 10


def concerns_in_virtual_time(scenario: str) -> list[Concern]:
    """Warnings about a scenario for the engine linux."""
    return [*_starts(read_scenario(scenario))]


def _starts(spec: Scenario) -> Iterator[Concern]:
    """TCP flows that begin together on a path whose RTT is about as long as their starts take."""
    tcp = [(i, flow) for i, flow in enumerate(spec["flows"]) if "tcp" in flow["traffic"]]
    if len(tcp) < 2:
        return
    first = min(flow["start_ns"] for _, flow in tcp)
    spread_ns = max(flow["start_ns"] + flow["start_jitter_ns"] for _, flow in tcp) - first
    takes_ns = len(tcp) * START_NS
    number, flow = tcp[0]
    if spread_ns >= SPREAD * takes_ns:
        return
    rtt_ns = 1e9 * flow_limits(spec, flow["name"]).base_rtt_s
    if takes_ns > SHARE * rtt_ns > 0:
        yield Concern(
            f"flows[{number}]",
            f"{len(tcp)} connections start within {spread_ns / 1e3:g} us: the hosts of a guest "
            f"share one processor, and their starts take {takes_ns / 1e3:g} us, of a base RTT of "
            f"{rtt_ns / 1e3:g} us. Hosts of a real network start at once. With starts spread over "
            f"{SPREAD * takes_ns / 1e3:g} us (start_jitter) this does not matter",
        )
