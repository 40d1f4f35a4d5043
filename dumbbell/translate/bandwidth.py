"""Limits of pods: what the CNI plug-in `bandwidth` makes of rates and bursts."""

from __future__ import annotations

from dumbbell.translate.leaving import egress
from dumbbell.translate.network import Flow, Link, Network, safe
from dumbbell.translate.tc import Script, read_one

#: Latency of the plug-in's token bucket (`createTBF`).
LATENCY_MS = 25
#: Burst that a kubelet gives to the plug-in: 2^31 - 1 bits.
KUBELET_BURST_BITS = 2**31 - 1
_TO_POD, _FROM_POD = "ingress", "egress"


def add_pod(made: Network, name: str, limits: dict[str, tuple[int, int, int]], file: str) -> None:
    """Adds a pod and a peer. `limits`: direction → line, rate (bit/s) and burst (bits)."""
    number = "" if not made.flows else str(len(made.links) + 1)
    pod = safe(name or "pod", [*made.hosts])
    peer, node, edge = f"peer{number}", f"node{number}", f"edge{number}"
    made.hosts |= {pod: None, peer: None}
    made.switches += [node, edge]
    link = Link(safe(f"{pod}-veth"), (node, edge))
    for direction, (line, rate, burst) in limits.items():
        script = Script(file)
        bucket = f"rate {rate}bit burst {burst // 8} latency {LATENCY_MS}ms"
        read_one(script, f"tc qdisc add dev {direction} root tbf {bucket}".split(), line)
        path = egress(script.interface(direction))
        if direction == _FROM_POD:
            link.forward = path
        else:
            link.backward = path
    made.links += [
        Link(f"wire{number}", (pod, node)),
        link,
        Link(f"far-wire{number}", (edge, peer)),
    ]
    if _FROM_POD in limits:
        made.flows.append(Flow(f"{pod}-out", (pod, peer)))
    if _TO_POD in limits:
        made.flows.append(Flow(f"{pod}-in", (peer, pod)))
