"""Flows that share a bottleneck, read from a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.limits.flows import network_limits


@dataclass(frozen=True)
class Bottlenecks:
    """Bottlenecks of the flows of a scenario.

    Attributes:
        pipes: Flow → the pipes that limit its data.
        bulk: Flows that always have data to send.
    """

    pipes: dict[str, frozenset[str]]
    bulk: frozenset[str]

    def of_all(self, flows: Iterable[str]) -> frozenset[str]:
        """The pipes that limit all of these flows."""
        found = [self.pipes.get(flow, frozenset()) for flow in flows]
        return frozenset.intersection(*found) if found else frozenset()


def bottlenecks(scenario: str, flows: Iterable[str]) -> Bottlenecks:
    """Bottlenecks of some flows of a scenario (JSON text)."""
    names = dict.fromkeys(flows)
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
    return Bottlenecks(found, frozenset(bulk))


def _is_bulk(application: Mapping[str, Any]) -> bool:
    """True if it always has data, and the receiver reads what arrives."""
    source = application.get("source")
    if not isinstance(source, dict) or "bulk" not in source:
        return False
    return source["bulk"]["bytes"] is None and application["sink"]["rate_bps"] is None
