"""Bandwidth-delay product and physical limits of a flow, read from its scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from dumbbell.limits.buckets import least_delay_ns, netem_of
from dumbbell.limits.outages import Stretch, outages, union
from dumbbell.limits.paths import Paths
from dumbbell.limits.pipes import (
    ETHERNET_HEADER_BYTES,
    OPPORTUNITY_BYTES,
    delay_ns,
    least_time_s,
    own_rate_of,
    rate_of,
    wire_bytes,
)
from dumbbell.scenario import Pipe, Scenario, shaper_of, shared_scenario

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
    bottlenecks (NaN where a queue has no limit in packets), `frame_bytes`: Ethernet frame of a full
    segment, `wire_bytes`: what it takes on the narrowest link, with cells and overhead.
    """

    rate_bps: float
    base_rtt_s: float
    paths: int
    buffer_packets: float
    frame_bytes: int = FRAME_BYTES
    wire_bytes: int = FRAME_BYTES

    @property
    def bdp_bytes(self) -> float:
        """Bandwidth × base RTT in bytes."""
        return self.rate_bps * self.base_rtt_s / 8

    @property
    def bdp_packets(self) -> float:
        """Bandwidth × base RTT in full frames, as they are on the wire."""
        return self.bdp_bytes / self.wire_bytes

    @property
    def goodput_limit_mbps(self) -> float:
        """Highest possible TCP goodput: the share of payload in what full frames take."""
        return self.rate_bps * 1e-6 * (self.frame_bytes - TCP_OVERHEAD_BYTES) / self.wire_bytes


#: With more paths, only what all of them pass can be said to limit a flow.
_FEW_PATHS = 2


@dataclass(frozen=True)
class NetworkLimits:
    """Limits of the flows of a scenario, which nobody changes."""

    paths: Paths
    _flows: dict[str, FlowLimits] = field(default_factory=dict)
    _narrowest: dict[str, list[str]] = field(default_factory=dict)

    def of(self, flow: str) -> FlowLimits:
        """Limits of a flow.

        Source of the BDP: RFC 6349 §3.3.1, with all paths that the flow's packets may take. Raises
        `KeyError` for an unknown flow and `ValueError` if no path joins its ends.
        """
        alike = self.paths.alike(flow)
        if alike not in self._flows:
            self._flows[alike] = _limits(*self.paths.of(alike), self.paths.frame_bytes(alike))
        return self._flows[alike]

    def narrowest_pipes(self, flow: str) -> list[str]:
        """Names of the pipes that limit a flow's data: the narrowest of each of its paths.

        None where no pipe has a rate. Raises `KeyError` for an unknown flow and `ValueError` if no
        path joins its ends.
        """
        alike = self.paths.alike(flow)
        if alike not in self._narrowest:
            self._narrowest[alike] = self._limiting(alike)
        return list(self._narrowest[alike])

    def pipes_of_data(self, flow: str) -> frozenset[str]:
        """Names of all pipes that a flow's data may pass; not those of its ACKs.

        Raises `KeyError` for an unknown flow and `ValueError` if no path joins its ends.
        """
        paths = self.paths.of(self.paths.alike(flow))[0]
        return frozenset(self._names[id(pipe)] for path in paths for pipe in path)

    def name_of(self, pipe: Pipe) -> str:
        """Name of a pipe of this scenario."""
        return self._names[id(pipe)]

    def _limiting(self, flow: str) -> list[str]:
        found = []
        for path in self.paths.of(flow)[0]:
            least = min(map(_rate, path))
            limiting = (pipe for pipe in path if _rate(pipe) == least < float("inf"))
            found.append({self._names[id(pipe)] for pipe in limiting})
        few = len(found) <= _FEW_PATHS
        return sorted(set.union(*found) if few else set.intersection(*found))

    @cached_property
    def _names(self) -> dict[int, str]:
        """Names of the pipes, by `id`."""
        return {
            id(link[way]): f"{link['name']}/{way}"
            for link in self.paths.spec["links"]
            for way in ("forward", "backward")
        }


@lru_cache(maxsize=8)
def _read(scenario: str) -> NetworkLimits:
    return NetworkLimits(Paths(shared_scenario(scenario)))


def network_limits(scenario: str | Scenario) -> NetworkLimits:
    """Limits of all flows of a scenario (JSON text, or read).

    Who asks for many flows calls it once: the text of a large scenario takes ms to compare.
    """
    return _read(scenario) if isinstance(scenario, str) else NetworkLimits(Paths(scenario))


def flow_limits(scenario: str | Scenario, flow: str) -> FlowLimits:
    """Limits of a flow of a scenario, as `NetworkLimits.of`."""
    return network_limits(scenario).of(flow)


def narrowest_pipes(scenario: str | Scenario, flow: str) -> list[str]:
    """Names of the pipes that limit a flow's data, as `NetworkLimits.narrowest_pipes`."""
    return network_limits(scenario).narrowest_pipes(flow)


def _limits(out: list[list[Pipe]], back: list[list[Pipe]], frame_bytes: int) -> FlowLimits:
    narrowest = {id(pipe): pipe for pipe in (min(path, key=_rate) for path in out)}
    rtt = max(map(_delay, out)) + max(map(_delay, back))
    return FlowLimits(
        rate_bps=sum(map(_rate, narrowest.values())),
        base_rtt_s=rtt,
        paths=len(out),
        buffer_packets=sum(map(_room, narrowest.values())),
        frame_bytes=frame_bytes,
        wire_bytes=max(wire_bytes(pipe, frame_bytes) for pipe in narrowest.values()),
    )


def path_outages(spec: Scenario, flow: str) -> list[Stretch]:
    """Times in which a link of one of a flow's paths is down, there or back, in order.

    Raises `KeyError` for an unknown flow and `ValueError` if no path joins its ends.
    """
    out, back = Paths(spec).of(flow)
    pipes = {id(pipe): pipe for path in (*out, *back) for pipe in path}.values()
    return union(one for pipe in pipes for one in outages(pipe, spec["duration_ns"]))


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
    paths = network_limits(scenario).paths
    spec, (out, back) = paths.spec, paths.of(flow)
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
