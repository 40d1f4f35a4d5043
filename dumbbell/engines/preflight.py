"""Warnings before a run, and scenarios that an engine of the kernel refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, cast

from dumbbell.catalogue import traffic_kinds
from dumbbell.engines.late import after_the_end, is_late
from dumbbell.limits.flows import (
    FRAME_BYTES,
    NetworkLimits,
    longest_frame_bytes,
    network_limits,
)
from dumbbell.limits.pipes import rate_of
from dumbbell.scenario import Flow, Pipe, Scenario, read_scenario, shaper_of

#: Maximum packet hops per second of the engine netns, in real time: 5 us per hop. A conservative
#: choice, not measured.
HOPS_PER_SECOND = 200_000
#: Minimum sampling intervals. Shorter ones show the steps of the clock (`linux`), or the host's
#: scheduler (`netns`).
LINUX_INTERVAL_NS = 1_000
NETNS_INTERVAL_NS = 1_000_000


@dataclass(frozen=True)
class Concern:
    """Warning about a field of a scenario.

    Attributes:
        path: Path of the field.
        message: Why its value may not be intended.
    """

    path: str
    message: str


def concerns_everywhere(scenario: str) -> list[Concern]:
    """Warnings for every engine: bursts smaller than a full frame, times after the end."""
    # A large scenario without a token bucket and without late times is not read.
    buckets = '"tbf":{' in scenario or '"policer":{' in scenario
    late = is_late(scenario)
    spec = read_scenario(scenario) if buckets or late else None
    if spec is None:
        return []
    found = list(_small_bursts(spec)) if buckets else []
    return found + [Concern(path, message) for path, message in after_the_end(spec)]


def _small_bursts(spec: Scenario) -> Iterator[Concern]:
    """Token buckets smaller than a full frame, which drop all full frames."""
    longest = longest_frame_bytes(spec)
    for number, link in enumerate(spec["links"]):
        for side in ("forward", "backward"):
            for field, burst_bytes in _bursts(link[side]):
                if burst_bytes < longest:
                    message = (
                        f"a burst of {burst_bytes} bytes is smaller than a full frame ({longest} "
                        "bytes): all full frames are dropped here, as on Linux"
                    )
                    yield Concern(f"links[{number}].{side}.{field}", message)


def _bursts(pipe: Pipe) -> Iterator[tuple[str, int]]:
    shaper = shaper_of(pipe)
    if "tbf" in shaper:
        tbf = shaper["tbf"]
        yield "shaper.tbf.burst_bytes", tbf["burst_bytes"]
        if peak := tbf.get("peak"):
            yield "shaper.tbf.peak.burst_bytes", peak["burst_bytes"]
    if policer := pipe["policer"]:
        yield "policer.burst_bytes", policer["burst_bytes"]


def concerns(scenario: str) -> list[Concern]:
    """Warnings about a scenario for the engines of the kernel."""
    spec = read_scenario(scenario)
    places = _places(spec)
    found = {(one.path, one.message): one for one in concerns_everywhere(scenario)}
    known = network_limits(spec)
    for flow in spec["flows"]:
        for concern in _of_flow(known, flow, places):
            found.setdefault((concern.path, concern.message.split(":")[0]), concern)
    return list(found.values())


def _places(spec: Scenario) -> dict[int, str]:
    """Path of each pipe in the scenario, by `id` of the pipe."""
    return {
        id(link[side]): f"links[{number}].{side}"
        for number, link in enumerate(spec["links"])
        for side in ("forward", "backward")
    }


def _of_flow(known: NetworkLimits, flow: Flow, places: Mapping[int, str]) -> Iterator[Concern]:
    out = known.paths.between(flow["from"], flow["to"])
    if "tcp" not in flow["traffic"] or not out:
        return
    limits = known.of(flow["name"])
    own = out[0][0]
    place = places[id(own)]
    if own["loss"] != "none":
        yield Concern(
            f"{place}.loss",
            "loss at the sender's own interface: on a real host, a queue discipline that drops "
            f"there reports each drop to the TCP of {flow['from']} at once (local congestion); "
            "here packets are lost behind the interface, as on a link",
        )
    rate = rate_of(own)
    # Where a later link of the same rate is shared, the queue is there.
    alone = known.narrowest_pipes(flow["name"]) == [known.name_of(own)]
    if rate is not None and rate <= limits.rate_bps and alone and _limit(own) is not None:
        yield Concern(
            f"{place}.queue",
            f"the bottleneck is the sender's own interface: on a real host, TCP small queues (TSQ) "
            f"limit the TCP of {flow['from']} before this queue of {_limit(own)} packets fills; "
            "here the queue lies behind the interface, as in a router",
        )
    for pipe in {id(pipe): pipe for path in out for pipe in path}.values():
        netem, rate = pipe["queue"].get("netem"), rate_of(pipe)
        if netem is None or rate is None:
            continue
        product = rate * limits.base_rtt_s / 8 / limits.frame_bytes
        if netem["limit_packets"] < product:
            yield Concern(
                f"{places[id(pipe)]}.queue.netem.limit_packets",
                f"netem under a shaper holds {netem['limit_packets']} packets, less than the "
                f"bandwidth-delay product of {flow['name']}, {product:.0f} packets "
                f"({rate / 1e6:g} Mbit/s × {limits.base_rtt_s * 1e3:g} ms): one flow cannot fill "
                "the link",
            )


def refused_in_real_time(scenario: str) -> Concern | None:
    """Reason why the engine netns refuses a scenario; None: it accepts the scenario."""
    spec = read_scenario(scenario)
    if spec["sampling"]["interval_ns"] < NETNS_INTERVAL_NS:
        message = "a sampling interval below 1 ms shows the host's scheduler, not the flow"
        return Concern("sampling.interval_ns", message)
    if refused := _refused_stack(spec):
        return refused
    hops, known = 0.0, network_limits(spec)
    for number, flow in enumerate(spec["flows"]):
        out = known.paths.between(flow["from"], flow["to"])
        if flow["traffic"].keys() & {"tcp", "quic"}:
            # A pure ACK for every second segment.
            limits = known.of(flow["name"])
            sent = 1.5 * limits.rate_bps / 8 / limits.frame_bytes
        else:
            sent = _datagrams_per_s(flow)
        hops += sent * max(map(len, out), default=0)
        if hops > HOPS_PER_SECOND:
            return Concern(
                f"flows[{number}]",
                f"more than {HOPS_PER_SECOND:,} packet hops per second: one core cannot do that in "
                "real time; the engine linux has no such limit",
            )
    return None


def _datagrams_per_s(flow: Flow) -> float:
    """Packets per second while the flow sends, of a kind with a rate; 0 for other kinds."""
    traffic = cast(Mapping[str, Mapping[str, Any]], flow["traffic"])
    for kind in traffic_kinds().values():
        if kind.name in traffic and any(one.field == "rate_bps" for one in kind.parameters):
            settings = traffic[kind.name]
            bytes_per_s = settings["rate_bps"] / 8
            packet_bytes = min(settings["datagram_bytes"], FRAME_BYTES)
            if "frame_ns" not in settings:
                return float(bytes_per_s / packet_bytes)
            # Datagrams never span two video frames.
            frames_per_s = 1e9 / settings["frame_ns"]
            return float(frames_per_s * ceil(bytes_per_s / frames_per_s / packet_bytes))
    return 0.0


def refused_in_virtual_time(scenario: str) -> Concern | None:
    """Reason why the engine linux refuses a scenario; None: it accepts the scenario."""
    spec = read_scenario(scenario)
    if spec["sampling"]["interval_ns"] < LINUX_INTERVAL_NS:
        message = "a sampling interval below 1 us: each sample reads the clock, which takes 256 ns"
        return Concern("sampling.interval_ns", message)
    return _refused_stack(spec)


def _refused_stack(spec: Scenario) -> Concern | None:
    """The first flow whose stack runs in the simulator alone."""
    for number, flow in enumerate(spec["flows"]):
        for kind, alone in (("tcp", "smoltcp"), ("quic", "own")):
            settings = cast(Mapping[str, Any], flow["traffic"].get(kind, {}))
            if settings.get("stack") == alone:
                place = f"flows[{number}].traffic.{kind}.stack"
                return Concern(place, f"the stack {alone} runs in the simulator alone")
    return None


def _limit(pipe: Pipe) -> int | None:
    (settings,) = pipe["queue"].values()
    limit: int | None = settings.get("limit_packets")
    return limit
