"""Default of the field `sampling`: tables over time that a run keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.experiment.network import SamplingSpec

#: Number of points in time that a figure can show.
POINTS = 500
#: Maximum number of rows of a run. A row takes 33 bytes in a store: together less than 2 MB.
MOST_ROWS = 40_000
#: Fewest points: with more flows or queues than these allow, their table is not kept.
_FEWEST_POINTS = 50
#: Maximum number of probes of a run that are kept; a probe takes about 2 bytes in a store.
_MOST_PROBES = 200_000
#: Traffic that is judged by its delays.
_JUDGED = ("ping", "video")
#: Shortest interval: below it engines in real time show their host's scheduler.
_SHORTEST_NS = 1_000_000
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10)

_Json = Mapping[str, Any]


def default_sampling(
    duration_ns: int,
    links: Sequence[_Json],
    flows: Sequence[_Json],
    *,
    programs: int,
    arrivals: bool,
) -> SamplingSpec:
    """Windows and queues over time, at some `POINTS` times, in at most `MOST_ROWS` rows.

    Probes are kept where there is ping, voice or video.

    Args:
        duration_ns: Duration of the run.
        links: Links of the scenario.
        flows: Flows that it names.
        programs: Number of programs, each with a connection or so.
        arrivals: True if other flows arrive. Then no windows are kept: flows could not be
            forgotten when they are over.
    """
    queues = sum(_has_queue(link[way]) for link in links for way in ("forward", "backward"))
    series = {"samples": 0 if arrivals else len(flows) + programs, "queues": queues}
    keep = [table for table, count in series.items() if 0 < count * _FEWEST_POINTS <= MOST_ROWS]
    if sum(series[table] for table in keep) * _FEWEST_POINTS > MOST_ROWS:
        keep.remove(max(keep, key=series.__getitem__))
    count = sum(series[table] for table in keep)
    points = min(POINTS, MOST_ROWS // max(count, 1))
    judged = any(_is_judged(flow["traffic"]) for flow in flows)
    if judged and sum(_probes(flow, duration_ns) for flow in flows) <= _MOST_PROBES:
        keep.append("probes")
    return SamplingSpec.made({"interval": _interval_ns(duration_ns, points), "keep": keep})


def _has_queue(pipe: _Json) -> bool:
    """True if packets can wait."""
    return pipe["shaper"] != "none" or "drop_tail" not in pipe["queue"]


def _is_judged(traffic: _Json) -> bool:
    """True if the quality of a flow is read from its probes."""
    voice = "udp" in traffic and traffic["udp"].get("codec") is not None
    return voice or any(kind in traffic for kind in _JUDGED)


def _probes(flow: _Json, duration_ns: int) -> float:
    """Echo requests, or datagrams, that a flow sends at most."""
    traffic = flow["traffic"]
    if "ping" in traffic:
        return float(duration_ns / traffic["ping"]["interval_ns"])
    if "udp" in traffic:
        udp = traffic["udp"]
        return float(duration_ns * 1e-9 * udp["rate_bps"] / (8 * udp["datagram_bytes"]))
    if "video" in traffic:
        video = traffic["video"]
        frames = duration_ns / video["frame_ns"]
        bits = 8 * video["datagram_bytes"]
        return float(frames + duration_ns * 1e-9 * video["rate_bps"] / bits)
    return 0.0 if "tcp" in traffic else float("inf")


def _interval_ns(duration_ns: int, points: int) -> int:
    """The shortest round interval that gives at most so many points."""
    power = 1
    while power * 10 * points < duration_ns:
        power *= 10
    found = next(step * power for step in _STEPS if step * power * points >= duration_ns)
    return max(found, _SHORTEST_NS)
