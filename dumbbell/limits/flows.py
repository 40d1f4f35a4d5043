"""Bandwidth-delay product and physical limits of a flow, read from its scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from dumbbell._core import Network
from dumbbell.limits.buckets import least_delay_ns, netem_of
from dumbbell.limits.outages import Stretch, outages, union
from dumbbell.limits.pipes import OPPORTUNITY_BYTES, delay_ns, least_time_s, own_rate_of, rate_of
from dumbbell.scenario import Arrivals, Flow, Pipe, Scenario, Subflow, read_scenario, shaper_of

ETHERNET_HEADER_BYTES = 14
TIMESTAMPS_BYTES = 12
#: Ethernet, IPv4 and TCP headers with the timestamps option, in bytes, around a TCP payload.
TCP_OVERHEAD_BYTES = ETHERNET_HEADER_BYTES + 20 + 20 + TIMESTAMPS_BYTES
#: Ethernet frame of a full segment: 1448 bytes of payload and its headers.
FRAME_BYTES = 1514


@dataclass(frozen=True)
class FlowLimits:
    """Limits of a flow that has the network for itself.

    `rate_bps`: capacity of all its paths together (Ethernet frames without FCS; infinite where
    nothing limits), `base_rtt_s`: round trip without any queue over the longest of its paths,
    `paths`: number of paths its data may take, `buffer_packets`: room in the queues of the
    bottlenecks (NaN where a queue has no limit in packets).
    """

    rate_bps: float
    base_rtt_s: float
    paths: int
    buffer_packets: float

    @property
    def bdp_bytes(self) -> float:
        """Bandwidth × base RTT in bytes."""
        return self.rate_bps * self.base_rtt_s / 8

    @property
    def bdp_packets(self) -> float:
        """Bandwidth × base RTT in full frames of 1514 bytes."""
        return self.bdp_bytes / FRAME_BYTES

    @property
    def goodput_limit_mbps(self) -> float:
        """Highest possible TCP goodput: the share of payload in full frames (1448 of 1514)."""
        return self.rate_bps * 1e-6 * (FRAME_BYTES - TCP_OVERHEAD_BYTES) / FRAME_BYTES


def flow_limits(scenario: str | Scenario, flow: str) -> FlowLimits:
    """Limits of a flow, from a scenario (JSON text, or read).

    Source of the BDP: RFC 6349 §3.3.1, with all paths that the flow's packets may take. Raises
    `KeyError` for an unknown flow and `ValueError` if no path joins its ends.
    """
    if isinstance(scenario, str):
        known = _read(scenario)
        if flow not in known.limits:
            known.limits[flow] = flow_limits(known.spec, flow)
        return known.limits[flow]
    out, back = _paths(scenario, flow)
    narrowest = {id(pipe): pipe for pipe in (min(path, key=_rate) for path in out)}
    rtt = max(map(_delay, out)) + max(map(_delay, back))
    return FlowLimits(
        rate_bps=sum(map(_rate, narrowest.values())),
        base_rtt_s=rtt,
        paths=len(out),
        buffer_packets=sum(map(_room, narrowest.values())),
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """A scenario that was read, which nobody changes, and what was asked of its flows."""

    spec: Scenario
    limits: dict[str, FlowLimits] = field(default_factory=dict)
    narrowest: dict[str, list[str]] = field(default_factory=dict)


@lru_cache(maxsize=8)
def _read(scenario: str) -> _Read:
    """Scenario of a JSON text. Metrics ask for all flows of one scenario, many times."""
    return _Read(read_scenario(scenario))


def path_outages(spec: Scenario, flow: str) -> list[Stretch]:
    """Times in which a link of one of a flow's paths is down, there or back, in order.

    Raises `KeyError` for an unknown flow and `ValueError` if no path joins its ends.
    """
    out, back = _paths(spec, flow)
    pipes = {id(pipe): pipe for path in (*out, *back) for pipe in path}.values()
    return union(one for pipe in pipes for one in outages(pipe, spec["duration_ns"]))


#: With more paths, only what all of them pass can be said to limit a flow.
_FEW_PATHS = 2


def narrowest_pipes(scenario: str | Scenario, flow: str) -> list[str]:
    """Names of the pipes that limit a flow's data: the narrowest of each of its paths.

    None where no pipe has a rate. Raises `KeyError` for an unknown flow and `ValueError` if no path
    joins its ends.
    """
    if isinstance(scenario, str):
        known = _read(scenario)
        if flow not in known.narrowest:
            known.narrowest[flow] = narrowest_pipes(known.spec, flow)
        return list(known.narrowest[flow])
    names = {
        id(link[way]): f"{link['name']}/{way}"
        for link in scenario["links"]
        for way in ("forward", "backward")
    }
    found = []
    for path in _paths(scenario, flow)[0]:
        least = min(map(_rate, path))
        limiting = (pipe for pipe in path if _rate(pipe) == least < float("inf"))
        found.append({names[id(pipe)] for pipe in limiting})
    few = len(found) <= _FEW_PATHS
    return sorted(set.union(*found) if few else set.intersection(*found))


def _paths(spec: Scenario, flow: str) -> tuple[list[list[Pipe]], list[list[Pipe]]]:
    """All ways that a flow's packets may take, and their ACKs."""
    out: list[list[Pipe]] = []
    back: list[list[Pipe]] = []
    for ends, reachable in _ends(spec, flow):
        out += paths_between(reachable, ends["from"], ends["to"])
        back += paths_between(reachable, ends["to"], ends["from"])
    if not out or not back:
        raise ValueError(f"no path for {flow} and back")
    return out, back


def _ends(spec: Scenario, flow: str) -> list[tuple[Flow | Arrivals, Scenario]]:
    """The flow, or the arrivals that it is one of (`web.17`), or all subflows of a connection.

    With each, the part of the scenario that its packets may take.
    """
    found: list[tuple[Flow | Arrivals, Scenario]] = []
    for connection in spec.get("connections", ()):
        for subflow in connection["subflows"]:
            if flow in (connection["name"], subflow["flow"]):
                (entry,) = (one for one in spec["flows"] if one["name"] == subflow["flow"])
                found.append((entry, _between_interfaces(spec, entry, subflow)))
    if found:
        return found
    for entry in spec["flows"]:
        if entry["name"] == flow:
            return [(entry, spec)]
    process = flow.rpartition(".")[0]
    for one in spec.get("arrivals", ()):
        if one["name"] == process:
            return [(one, spec)]
    raise KeyError(flow)


def _between_interfaces(spec: Scenario, flow: Flow, subflow: Subflow) -> Scenario:
    """The network as if its hosts had only the interfaces of a subflow."""
    hosts, own = {flow["from"], flow["to"]}, {subflow["local"], subflow["remote"]}
    links = [
        link for link in spec["links"] if link["name"] in own or not hosts & {link["a"], link["b"]}
    ]
    return {**spec, "links": links}


def paths_between(spec: Scenario, start: str, end: str) -> list[list[Pipe]]:
    """All loop-free paths that packets from `start` to `end` may take, as pipes in order."""
    network = _network(spec)
    complete: list[list[Pipe]] = []

    def walk(here: str, seen: frozenset[str], path: list[Pipe]) -> None:
        if here == end:
            complete.append(path)
            return
        for link, direction in network.next_hops(here, end):
            to, ends = network.leads_to((link, direction)), spec["links"][link]
            if to not in seen:
                pipe = ends["backward"] if direction else ends["forward"]
                walk(to, seen | {to}, [*path, pipe])

    walk(start, frozenset({start}), [])
    return complete


def _network(spec: Scenario) -> Network:
    """The graph of a scenario."""
    numbers = {link["name"]: number for number, link in enumerate(spec["links"])}
    return Network(
        [
            (node["name"], node["kind"] != "host", node["spray"] is not None)
            for node in spec["nodes"]
        ],
        [(link["a"], link["b"]) for link in spec["links"]],
        [(0, 0)] * len(spec["links"]),
        [
            (route["at"], route["to"], [numbers[one] for one in route["via"] if one in numbers])
            for route in spec["routes"]
        ],
    )


def _rate(pipe: Pipe) -> float:
    rates = [float("inf")]
    shaper = shaper_of(pipe)
    if (rate := rate_of(pipe)) is not None:
        rates.append(rate)
    if "trace" in shaper and (times := shaper["trace"]["deliveries_ms"]):
        rates.append(len(times) * OPPORTUNITY_BYTES * 8 / (times[-1] / 1e3))
    if (own := own_rate_of(pipe)) is not None:
        rates.append(own)
    if policer := pipe["policer"]:
        rates.append(float(policer["rate_bps"]))
    return min(rates)


def _delay(path: list[Pipe]) -> float:
    return sum(map(delay_ns, path)) / 1e9


def longest_frame_bytes(spec: Scenario) -> int:
    """Ethernet frame of the largest MTU of all hosts."""
    mtus = [tcp["mtu_bytes"] for node in spec["nodes"] if (tcp := node["tcp"])]
    return ETHERNET_HEADER_BYTES + max(mtus, default=1500)


def least_transfer(scenario: str | Scenario, flow: str) -> Callable[[float], float]:
    """From payload in bytes to the seconds below which no TCP flow sends it, SYN to last byte.

    A round trip over the shortest of its paths for the handshake, then all frames at the highest
    rate that each pipe ever has, less what its buckets let through at once. Over several paths:
    each an equal share, the fastest of them.
    """
    spec = read_scenario(scenario) if isinstance(scenario, str) else scenario
    out, back = _paths(spec, flow)
    frame = longest_frame_bytes(spec)
    stamped = all(tcp["tcp_timestamps"] for node in spec["nodes"] if (tcp := node["tcp"]))
    headers = TCP_OVERHEAD_BYTES if stamped else TCP_OVERHEAD_BYTES - TIMESTAMPS_BYTES
    rtt_s = min(map(_least_delay, out)) + min(map(_least_delay, back))

    def least_s(payload_bytes: float) -> float:
        frames_bytes = payload_bytes * frame / (frame - headers) / len(out)
        return rtt_s + min(max(_least_s(one, frame, frames_bytes) for one in path) for path in out)

    return least_s


def _least_s(pipe: Pipe, frame: int, frames_bytes: float) -> float:
    shorter = min(0, pipe["framing"]["overhead_bytes"])
    return least_time_s(pipe, frames_bytes * (frame + shorter) / frame)


def _least_delay(path: list[Pipe]) -> float:
    total_ns = 0
    for pipe in path:
        changed = [one["delay_ns"] for one in pipe["changes"] if one["delay_ns"] is not None]
        netem = netem_of(pipe)
        if netem is None:
            total_ns += min([pipe["delay_ns"], *changed])
        else:
            least = min([netem["delay_ns"], *changed])
            total_ns += pipe["delay_ns"] + least_delay_ns(netem | {"delay_ns": least})
    return total_ns / 1e9


def _room(pipe: Pipe) -> float:
    (settings,) = pipe["queue"].values()
    limit = settings.get("limit_packets")
    return float("nan") if limit is None else float(limit)
