"""The twin as an experiment file, with the evidence of each line as a comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.fit.estimate import Estimate
from dumbbell.fit.path import Path
from dumbbell.fit.twin import Sketch, experiment

_Place = tuple[str, ...]


def text(one: Sketch, path: Path, algorithm: str, why: str, head: tuple[str, ...]) -> str:
    """Text of the experiment file.

    Args:
        one: Values of the twin.
        path: Estimates, for the comments.
        algorithm: Congestion control of the sender.
        why: Evidence for the algorithm.
        head: Lines of the comment at the top.
    """
    contents = {**experiment(one, algorithm, sampled=True), "name": "twin"}
    lines = [f"# {line}" for line in head]
    lines += _lines(contents, (), _comments(path, algorithm, why))
    return "\n".join(lines) + "\n"


def _comments(path: Path, algorithm: str, why: str) -> dict[_Place, str]:
    """Comments by place in the file; a place is the keys, with names in lists."""
    rate, shaper, queue = path.rate, path.shaper, path.queue
    side = path.rtt.far if path.behind else path.rtt.near
    other = path.rtt.near if path.behind else path.rtt.far
    forward = ("links", "bottleneck", "forward")
    tcp = ("flows", "twin", "tcp")
    rated = ("not shown by the capture: " if path.rate_unseen else "") + _said(rate.rate_bps)
    found = {
        ("links", "bottleneck", "delay"): _half(side),
        ("links", "other", "delay"): _half(other),
        (*forward, "rate"): rated,
        (*forward, "policer"): shaper.evidence,
        (*forward, "shaper"): shaper.evidence if shaper.kind == "token bucket" else rated,
        (*forward, "slots"): shaper.evidence,
        (*forward, "buffer"): f"{_said(queue.limit_packets)}; kind: {queue.kind}: {queue.evidence}",
        (*forward, "queue"): f"{queue.kind}: {queue.evidence}",
        (*forward, "loss"): _said(path.losses.random_share),
        (*forward, "changes"): "piecewise constant rate of the windows with a queue",
        (*tcp, "congestion_control"): why,
        (*tcp, "sender", "initcwnd"): _said(path.limits.initial_window),
        (*tcp, "sender", "tcp_wmem"): path.factor.why,
        (*tcp, "receiver", "tcp_rmem"): _said(path.limits.window_bytes),
        (*tcp, "sink"): _said(path.limits.reads_bps),
        (*tcp, "source"): path.factor.why,
        ("duration",): "time of the capture",
        ("taps",): "place of the tap: by the RTTs on both sides",
    }
    return {place: words for place, words in found.items() if words}


def _half(found: Estimate) -> str:
    if found.value is None:
        return ""
    return f"half of {found.value * 1e3:.4g} ms: {found.evidence}"


def _said(found: Estimate) -> str:
    bound = "at least; " if found.knowledge == "at least" else ""
    return bound + found.evidence


def _lines(value: Any, place: _Place, comments: Mapping[_Place, str]) -> Iterator[str]:
    indent = "  " * len(place)
    for key, one in value.items():
        here = (*place, key)
        comment = f"  # {comments[here]}" if here in comments else ""
        if isinstance(one, Mapping) and one:
            yield f"{indent}{key}:{comment}"
            yield from _lines(one, here, comments)
        elif isinstance(one, list) and one and isinstance(one[0], Mapping):
            yield f"{indent}{key}:{comment}"
            for item in one:
                name = str(item.get("name", len(here)))
                inner = list(_lines(item, (*here, name), comments))
                short = "  " * len(here)
                yield f"{short}- {inner[0].strip()}"
                yield from (f"{short}  {line.removeprefix(short + '  ')}" for line in inner[1:])
        else:
            yield f"{indent}{key}: {_leaf(one)}{comment}"


def _leaf(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_leaf, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_leaf(one)}" for key, one in value.items()) + "}"
    return str(value)
