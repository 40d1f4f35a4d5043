"""Mends in the words and units of the format that the source has."""

from __future__ import annotations

from dumbbell.advise.case import Case
from dumbbell.translate.units import rate_text

#: Formats that set up `tc` with words of their own, which do not cover everything.
_TITLES = {
    "kubernetes": "annotation",
    "cni": "key of the plug-in bandwidth",
    "tcconfig": "key of tcconfig",
    "mininet": "option of mininet",
    "toxiproxy": "attribute of toxiproxy",
    "compose": "option of pumba",
    "sqm": "option of SQM",
}
_QUEUE = {
    "cni": "fq_codel in front of the plug-in's token bucket",
    "kubernetes": "fq_codel in front of the token bucket",
    "toxiproxy": "the windows of TCP at both ends bound what the proxy holds",
}


def _plain(case: Case, words: str) -> str:
    """Words of tc where the format has none of its own."""
    return f"{words} (no {_TITLES[case.language]} says it)"


def queue_packets(case: Case, pipe: str, packets: int) -> str:
    """A queue of some packets, `netem` or a FIFO."""
    if case.language == "":
        netem = "netem" in case.pipes[pipe]["queue"]
        return f"netem: {{limit: {packets} packets}}" if netem else f"buffer: {packets} packets"
    if case.language == "mininet":
        return f"max_queue_size={packets}"
    if case.language == "sqm":
        return f"option {_sqm(pipe)}limit '{packets}'"
    if case.language == "tc":
        leaf = "htb" in case.pipes[pipe]["queue"]
        return f"pfifo limit {packets} below the class" if leaf else f"limit {packets}"
    if case.language in _QUEUE:
        return _plain(case, _QUEUE[case.language])
    return _plain(case, f"tc qdisc change … limit {packets}")


def queue_bytes(case: Case, pipe: str, count: int, latency_ms: int, rate: float) -> str:
    """The queue of a token bucket, in bytes."""
    if case.language == "":
        return f"buffer: {count} bytes"
    if case.language == "mininet":
        return f"latency_ms={latency_ms}"
    if case.language == "tc":
        return f"limit {count} (bytes), or latency {latency_ms}ms of tbf"
    if case.language in ("cni", "kubernetes"):
        return burst(case, pipe, "tbf", max(int(rate * latency_ms / 8e3), 3028))
    return _plain(case, f"tc qdisc change … tbf … latency {latency_ms}ms")


def burst(case: Case, pipe: str, kind: str, count: int) -> str:
    """The depth of a token bucket."""
    words = f"burst {count}" + (f" cburst {count}" if kind == "htb" else "")
    if case.language == "":
        return f"burst: {count} bytes"
    if case.language == "tc":
        return words
    if case.language in ("cni", "kubernetes"):
        way = "egress" if pipe.endswith("/forward") else "ingress"
        key = f'"{way}Burst": {8 * count} (bits)'
        return (
            key if case.language == "cni" else _plain(case, f"{key} of the CNI plug-in bandwidth")
        )
    if case.language == "mininet" and kind == "htb":
        return (
            "use_tbf=True (its bucket has 15000 bytes)" if count >= 15000 else _plain(case, words)
        )
    if case.language == "sqm":
        return f"option {_sqm(pipe)}shaper_burst_dur_us '1000'"
    return _plain(case, words)


def loss(case: Case, percent: int) -> str:
    """Random loss."""
    if case.language == "":
        return f"loss: {percent} %"
    if case.language == "mininet":
        return f"loss={percent}"
    if case.language == "tcconfig":
        return f'"loss": "{percent}%"'
    return f"loss {percent}%"


def order(case: Case, jitter: str) -> str:
    """Jitter that keeps the order."""
    if case.language == "":
        return f"jitter: {jitter} of the link in place of netem's"
    words = "netem … rate 100gbit"
    words = words if case.language == "tc" else _plain(case, f"tc … {words}")
    return f"{words}: with a rate netem keeps the order"


def shaper(case: Case, rate: int, depth: int) -> str:
    """A token bucket with a queue, in place of a policer."""
    if case.language == "":
        return f"shaper: {{tbf: {{rate: {rate_text(rate)}, burst: {depth} bytes}}}}, buffer: 50 ms"
    return f"tbf rate {rate}bit burst {depth} latency 50ms (on an ifb for arriving packets)"


def windows(case: Case, sizes: str) -> str:
    """Largest windows of TCP."""
    if case.language == "":
        return f"hosts: {{defaults: {{tcp_rmem: {sizes}, tcp_wmem: {sizes}}}}}"
    return f'sysctl -w net.ipv4.tcp_rmem="{sizes}" net.ipv4.tcp_wmem="{sizes}"'


def mtu(case: Case, count: int) -> str:
    """MTU of both ends."""
    if case.language == "":
        return f"mtu: {count} bytes of both hosts"
    return f"ip link set dev … mtu {count} at both ends"


def _sqm(pipe: str) -> str:
    """First letter of SQM's options: those of leaving, or of arriving packets."""
    return "e" if pipe.endswith("/forward") else "i"
