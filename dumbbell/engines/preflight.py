"""Warnings before a run: scenarios that an engine would run and a study seldom means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dumbbell.metrics.bdp import (
    FRAME_BYTES,
    flow_limits,
    longest_frame_bytes,
    paths_between,
)
from dumbbell.metrics.capacity import rate_of
from dumbbell.scenario import Flow, Pipe, Scenario, read_scenario, shaper_of

#: Hops of packets a second that the engine netns attempts in real time. A choice on the safe side,
#: 5 us for a hop; not measured on any host.
HOPS_PER_SECOND = 200_000
#: Sampling at a shorter interval reads the clock's steps (`linux`), or the scheduler (`netns`).
LINUX_INTERVAL_NS = 1_000
NETNS_INTERVAL_NS = 1_000_000


@dataclass(frozen=True)
class Concern:
    """A field of a scenario, and why it may not be what was meant."""

    path: str
    message: str


def concerns_everywhere(scenario: str) -> list[Concern]:
    """Buckets that no full frame fits into: they drop all of them, on every engine."""
    spec = read_scenario(scenario)
    longest = longest_frame_bytes(spec)
    found = []
    for number, link in enumerate(spec["links"]):
        for side in ("forward", "backward"):
            for field, burst_bytes in _bursts(link[side]):
                if burst_bytes < longest:
                    message = (
                        f"a burst of {burst_bytes} bytes holds no full frame ({longest} bytes): "
                        "all of them are dropped here, as on Linux"
                    )
                    found.append(Concern(f"links[{number}].{side}.{field}", message))
    return found


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
    """Warnings about a scenario on a kernel, each with its reason."""
    spec = read_scenario(scenario)
    places = _places(spec)
    found = {(one.path, one.message): one for one in concerns_everywhere(scenario)}
    for flow in spec["flows"]:
        for concern in _of_flow(spec, flow, places):
            found.setdefault((concern.path, concern.message.split(":")[0]), concern)
    return list(found.values())


def _places(spec: Scenario) -> dict[int, str]:
    """Path of each pipe in the scenario, by its id."""
    return {
        id(link[side]): f"links[{number}].{side}"
        for number, link in enumerate(spec["links"])
        for side in ("forward", "backward")
    }


def _of_flow(spec: Scenario, flow: Flow, places: Mapping[int, str]) -> Iterator[Concern]:
    out = paths_between(spec, flow["from"], flow["to"])
    if "tcp" not in flow["traffic"] or not out:
        return
    limits = flow_limits(spec, flow["name"])
    own = out[0][0]
    place = places[id(own)]
    if own["loss"] != "none":
        yield Concern(
            f"{place}.loss",
            "loss at the sender's own interface: on a host of your own, a queueing discipline "
            f"that drops there tells the TCP of {flow['from']} so at once (local congestion); "
            "here the loss happens behind the interface, as on a link",
        )
    rate = rate_of(own)
    if rate is not None and rate <= limits.rate_bps and _limit(own) is not None:
        yield Concern(
            f"{place}.queue",
            f"the bottleneck is the sender's own interface: on a host of your own, small queues "
            f"(TSQ) hold the TCP of {flow['from']} back before this queue of {_limit(own)} packets "
            "fills; here it lies behind the interface, as in a router",
        )
    for pipe in {id(pipe): pipe for path in out for pipe in path}.values():
        netem, rate = pipe["queue"].get("netem"), rate_of(pipe)
        if netem is None or rate is None:
            continue
        product = rate * limits.base_rtt_s / 8 / FRAME_BYTES
        if netem["limit_packets"] < product:
            yield Concern(
                f"{places[id(pipe)]}.queue.netem.limit_packets",
                f"netem under a shaper holds {netem['limit_packets']} packets, less than the "
                f"bandwidth-delay product of {flow['name']}, {product:.0f} packets "
                f"({rate / 1e6:g} Mbit/s × {limits.base_rtt_s * 1e3:g} ms): one flow cannot fill "
                "the link",
            )


def refused_in_real_time(scenario: str) -> Concern | None:
    """Reason why a host cannot run a scenario in real time; None if it can."""
    spec = read_scenario(scenario)
    if spec["sampling"]["interval_ns"] < NETNS_INTERVAL_NS:
        message = "a sampling interval below 1 ms reads the host's scheduler, not the flow"
        return Concern("sampling.interval_ns", message)
    hops = 0.0
    for number, flow in enumerate(spec["flows"]):
        out = paths_between(spec, flow["from"], flow["to"])
        if "udp" in flow["traffic"]:
            udp = flow["traffic"]["udp"]
            sent = udp["rate_bps"] / 8 / min(udp["datagram_bytes"], FRAME_BYTES)
        elif "tcp" in flow["traffic"]:
            sent = 1.5 * flow_limits(spec, flow["name"]).rate_bps / 8 / FRAME_BYTES
        else:
            continue
        hops += sent * max(map(len, out), default=0)
        if hops > HOPS_PER_SECOND:
            return Concern(
                f"flows[{number}]",
                f"more than {HOPS_PER_SECOND:,} hops of packets a second: one core does not carry "
                "that in real time; the engine linux has no such limit",
            )
    return None


def refused_in_virtual_time(scenario: str) -> Concern | None:
    """Reason why results of the engine linux would be wrong; None if there is none."""
    if read_scenario(scenario)["sampling"]["interval_ns"] < LINUX_INTERVAL_NS:
        message = "a sampling interval below 1 us: the kernel's clock has steps of 256 ns"
        return Concern("sampling.interval_ns", message)
    return None


def _limit(pipe: Pipe) -> int | None:
    (settings,) = pipe["queue"].values()
    limit: int | None = settings.get("limit_packets")
    return limit
