"""Flows that share a bottleneck, read from a scenario."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dumbbell.limits.flows import NetworkLimits, network_limits
from dumbbell.scenario import Flow, TcpOptions


@dataclass(frozen=True)
class Bottlenecks:
    """Bottlenecks of the flows of a scenario.

    Attributes:
        pipes: Flow → the pipes that limit its data.
        bulk: Flows that always have data to send.
        held: Flows that the buffers of their hosts keep below an equal share, even without a queue.
    """

    pipes: dict[str, frozenset[str]]
    bulk: frozenset[str]
    held: frozenset[str] = frozenset()

    def of_all(self, flows: Iterable[str]) -> frozenset[str]:
        """The pipes that limit all of these flows."""
        found = [self.pipes.get(flow, frozenset()) for flow in flows]
        return frozenset.intersection(*found) if found else frozenset()


def bottlenecks(scenario: str, flows: Iterable[str]) -> Bottlenecks:
    """Bottlenecks of some flows of a scenario (JSON text)."""
    return _read(scenario, tuple(dict.fromkeys(flows)))


@lru_cache(maxsize=8)
def _read(scenario: str, names: tuple[str, ...]) -> Bottlenecks:
    """Several metrics ask for the same."""
    found: dict[str, frozenset[str]] = {}
    limits = network_limits(scenario)
    spec = limits.paths.spec
    for name in names:
        try:
            found[name] = frozenset(limits.narrowest_pipes(name))
        except (KeyError, ValueError):  # a flow of a page
            found[name] = frozenset()
    applications: dict[str, Any] = {
        flow["name"]: flow["traffic"].get("tcp") for flow in spec["flows"]
    }
    quic: dict[str, Any] = {flow["name"]: flow["traffic"].get("quic") for flow in spec["flows"]}
    applications |= {one["name"]: one for one in spec.get("connections", ())}
    bulk = {name for name in names if _is_bulk(applications.get(name) or {})}
    bulk |= {name for name in names if (own := quic.get(name)) and not own["bytes"]}
    return Bottlenecks(found, frozenset(bulk), _held(limits, found, bulk))


def _held(
    limits: NetworkLimits, pipes: Mapping[str, frozenset[str]], bulk: Iterable[str]
) -> frozenset[str]:
    """Bulk flows whose buffers hold less than an equal share of a bottleneck in a base RTT."""
    spec = limits.paths.spec
    hosts = {node["name"]: node["tcp"] for node in spec["nodes"]}
    in_flight = {flow["name"]: _most_in_flight_bytes(hosts, flow) for flow in spec["flows"]}
    beside = Counter(pipe for name in bulk for pipe in pipes[name])
    found = set()
    for name in bulk:
        own, most = limits.of(name), in_flight.get(name)
        count = max((beside[pipe] for pipe in pipes[name]), default=1)
        if most is not None and math.isfinite(own.bdp_bytes) and most * count < own.bdp_bytes:
            found.add(name)
    return frozenset(found)


def _most_in_flight_bytes(hosts: Mapping[str, TcpOptions | None], flow: Flow) -> float | None:
    """What the largest buffers of a TCP flow's hosts let be in flight; None for other traffic.

    Of a receive buffer half is window (tcp_adv_win_scale).
    """
    buffers = buffers_of(hosts, flow)
    return min(buffers["tcp_wmem"], buffers["tcp_rmem"] / 2) if buffers else None


def buffers_of(hosts: Mapping[str, TcpOptions | None], flow: Flow) -> dict[str, int]:
    """Largest send and receive buffer of a TCP flow: `tcp_wmem`, `tcp_rmem`; empty for others."""
    own = flow["traffic"].get("tcp")
    if own is None:
        return {}
    sender = own.get("sender") or hosts[flow["from"]]  # stores of older versions lack them
    receiver = own.get("receiver") or hosts[flow["to"]]
    if sender is None or receiver is None:
        return {}
    return {"tcp_wmem": sender["tcp_wmem"][2], "tcp_rmem": receiver["tcp_rmem"][2]}


def _is_bulk(application: Mapping[str, Any]) -> bool:
    """True if it always has data, and the receiver reads what arrives."""
    source = application.get("source")
    if not isinstance(source, dict) or "bulk" not in source:
        return False
    return source["bulk"]["bytes"] is None and application["sink"]["rate_bps"] is None
