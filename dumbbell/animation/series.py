"""Charts below the packets, in step with them: windows, throughput and queues over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dumbbell.animation.scene import Scene

#: Points of a line.
POINTS = 1200
#: Stretches of time over which throughput is a mean.
STRETCHES = 240
#: Lines of a chart: those with most.
LINES = 8

_Floats = npt.NDArray[np.float64]


def series(scene: Scene) -> list[dict[str, Any]]:
    """Charts: `title`, `time_s`, and `lines` with name, flow or pipe, and values (None: none)."""
    charts = [_windows(scene), _throughput(scene), _queues(scene)]
    return [chart for chart in charts if chart["lines"]]


def _times(scene: Scene, points: int) -> _Floats:
    return np.linspace(scene.from_ns, scene.to_ns, points + 1)


def _windows(scene: Scene) -> dict[str, Any]:
    known = scene.samples.filter(pl.col("cwnd_packets") >= 0)
    if known.is_empty():
        return _under_way(scene)
    times = _times(scene, POINTS)
    lines = []
    for flow in _busiest(scene):
        rows = known.filter(pl.col("flow") == flow).sort("time_ns")
        if rows.height and bool((rows["cwnd_packets"] > 0).any()):
            at = np.searchsorted(rows["time_ns"].to_numpy(), times, side="right") - 1
            values = rows["cwnd_packets"].to_numpy()
            lines.append(_line(flow, [None if i < 0 else float(values[i]) for i in at]))
    return {"title": "Congestion window (packets)", "time_s": _s(times), "lines": lines}


def _under_way(scene: Scene) -> dict[str, Any]:
    """Packets in flight of each flow, in place of unknown windows."""
    times = _times(scene, POINTS)
    ways = scene.hops.filter(pl.col("direction") == "out").group_by("flow", "packet_number")
    spans = ways.agg(
        began=pl.col("offered_ns").min(),
        ended=pl.when((pl.col("ended_ns") < 0).any())
        .then(2**62)
        .otherwise(pl.col("ended_ns").max()),
    )
    lines = []
    for flow in _busiest(scene):
        mine = spans.filter(pl.col("flow") == flow)
        began, ended = (np.sort(mine[name].to_numpy()) for name in ("began", "ended"))
        lines.append(_line(flow, _present(began, ended, times)))
    return {"title": "Packets under way", "time_s": _s(times), "lines": lines}


def _throughput(scene: Scene) -> dict[str, Any]:
    """Throughput at the flow's receiver: of payload where that is known."""
    ends = {pipe.name: node for link in scene.links for pipe, node in _ends(link)}
    hosts = {flow.name: flow.to_host for flow in scene.flows}
    arrived = scene.hops.filter(
        (pl.col("direction") == "out") & (pl.col("dropped") == "") & (pl.col("ended_ns") >= 0)
    ).with_columns(
        node=pl.col("pipe").replace_strict(ends, default=""),
        host=pl.col("flow").replace_strict(hosts, default="?"),
    )
    arrived = arrived.filter(pl.col("node") == pl.col("host"))
    # So many that a stretch holds some packets of each flow.
    some = arrived.height // (8 * max(1, len(scene.flows)))
    edges = _times(scene, min(STRETCHES, max(20, some)))
    width_s = (edges[1] - edges[0]) / 1e9
    lines = []
    for flow in _busiest(scene):
        mine = arrived.filter(pl.col("flow") == flow)
        if mine.height:
            payload = mine.select(
                pl.when(pl.col("payload_bytes") >= 0)
                .then("payload_bytes")
                .otherwise("frame_bytes")
                .alias("bytes")
            )["bytes"].to_numpy()
            total, _ = np.histogram(mine["ended_ns"].to_numpy(), bins=edges, weights=payload)
            lines.append(_line(flow, (total * 8e-6 / width_s).tolist()))
    middle = (edges[:-1] + edges[1:]) / 2
    return {"title": "Arriving at the receiver (Mbit/s)", "time_s": _s(middle), "lines": lines}


def _queues(scene: Scene) -> dict[str, Any]:
    times = _times(scene, POINTS)
    found = []
    for link in scene.links:
        for pipe, _ in _ends(link):
            mine = scene.hops.filter(pl.col("pipe") == pipe.name)
            if mine.height:
                values = _present(*_waits(mine), times)
                found.append((max(values), pipe.name, values))
    found.sort(key=lambda one: -one[0])
    lines = [_line(name, values, "pipe") for most, name, values in found[:LINES] if most >= 1]
    return {"title": "Packets waiting in queues", "time_s": _s(times), "lines": lines}


def _waits(hops: pl.DataFrame) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Times at which packets joined a queue and left it, both sorted."""
    gone = hops.select(
        pl.when(pl.col("leaves_ns") >= 0)
        .then("leaves_ns")
        .when(pl.col("ended_ns") >= 0)
        .then("ended_ns")
        .otherwise(2**62)
        .alias("gone")
    )["gone"].to_numpy()
    return np.sort(hops["offered_ns"].to_numpy()), np.sort(gone)


def _present(
    began: npt.NDArray[np.int64], ended: npt.NDArray[np.int64], times: _Floats
) -> list[float]:
    """Number of intervals that contain each time."""
    inside = np.searchsorted(began, times, "right") - np.searchsorted(ended, times, "right")
    return [float(one) for one in inside]


def _ends(link: Any) -> list[tuple[Any, str]]:
    return [(link.forward, link.b), (link.backward, link.a)]


def _busiest(scene: Scene) -> list[str]:
    """Names of the flows that sent most, in the order of the scene."""
    sizes = scene.hops.group_by("flow").agg(pl.col("frame_bytes").sum())
    most = set(sizes.sort("frame_bytes", descending=True)["flow"].to_list()[:LINES])
    return [flow.name for flow in scene.flows if flow.name in most]


def _line(name: str, values: list[Any], of: str = "flow") -> dict[str, Any]:
    return {of: name, "values": [None if v is None else round(v, 3) for v in values]}


def _s(times_ns: _Floats) -> list[float]:
    return [round(float(one), 9) for one in times_ns / 1e9]
