"""Scenes of runs and of traces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell.animation.scene import Flow, Link, Pipe, Scene, pipe_of, placed
from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.explain.every import ExplainedIncident, explained_incidents
from dumbbell.results import Results
from dumbbell.scenario import Scenario, read_scenario
from dumbbell.store.tables import empty
from dumbbell.trace import Told, read_hops

#: Hops that a page shows: beyond, it would open slowly and be too large.
HOPS_MAX = 1_000_000
#: Incidents that a page explains: about 1 KB each.
_EXPLAINED = 500
_FLOW = ("flow", "kind", "from_host", "to_host")
Places = Mapping[str, tuple[float, float]]


def scene_of_run(
    results: Results,
    row: Mapping[str, Any],
    hops: pl.DataFrame,
    *,
    title: str,
    window: tuple[int, int | None] = (0, None),
    given: Places | None = None,
) -> Scene:
    """The scene of one run.

    Args:
        results: Of its experiment.
        row: Its row in `results.runs`.
        hops: The way of its packets.
        title: Heading of the page.
        window: From and to, ns; None: its end.
        given: Places of nodes.

    Raises:
        DumbbellError: It kept no packet events.
    """
    scenario = read_scenario(row["scenario"])
    if hops.is_empty():
        raise DumbbellError(
            f"{title}: there are no packet events of this run; the experiment keeps them with"
            " `sampling: {hops: {to: 10 s}}`, and `dumbbell animate FILE.yaml` by itself",
            code=Code.NOT_KEPT,
        )
    links, kinds = _network(scenario)
    flows = [
        Flow(one["name"], next(iter(one["traffic"])), one["from"], one["to"])
        for one in scenario["flows"]
    ]
    flows += _drawn(results, row, {flow.name for flow in flows}, hops)
    kept = scenario["sampling"].get("hops") or {"from_ns": 0, "to_ns": scenario["duration_ns"]}
    start = max(window[0], kept["from_ns"])
    end = min(window[1] or scenario["duration_ns"], kept["to_ns"], scenario["duration_ns"])
    if start >= end:
        last = min(kept["to_ns"], scenario["duration_ns"])
        ends = f"{kept['from_ns'] / 1e9:g} s and {last / 1e9:g} s"
        asked = f"--from {window[0] / 1e9:g} s" if window[0] >= last else f"--to {end / 1e9:g} s"
        raise DumbbellError(
            f"{asked}: the packets of this run are kept between {ends}", code=Code.MOMENT
        )
    hops = _within(hops, start, end, title)
    samples = results.samples.filter(pl.col("run") == row["run"])
    explained = _explained(results, row["run"], scenario, (start, end), hops)
    return Scene(
        title,
        start,
        end,
        placed(kinds, links, flows, given),
        links,
        flows,
        hops,
        samples,
        explained=explained,
    )


def _explained(
    results: Results, run: str, scenario: Scenario, stretch: tuple[int, int], hops: pl.DataFrame
) -> list[ExplainedIncident]:
    """Explanations of the first incidents; none if the run kept no windows or queues."""
    own = pl.col("run") == run
    tables = {name: getattr(results, name).filter(own) for name in ("flows", "samples", "queues")}
    if tables["samples"].is_empty() or tables["queues"].is_empty():
        return []
    packets = results.packets.filter(own)
    return explained_incidents(
        scenario, {**tables, "hops": hops, "packets": packets}, stretch, _EXPLAINED
    )


def _drawn(
    results: Results, row: Mapping[str, Any], known: set[str], hops: pl.DataFrame
) -> list[Flow]:
    """Flows that the run drew by itself (`arrivals`), in the order of their packets."""
    rows = results.flows.filter(pl.col("run") == row["run"])
    ends = {name: (kind, a, b) for name, kind, a, b in rows.select(_FLOW).rows()}
    names = hops["flow"].unique(maintain_order=True).to_list()
    return [Flow(name, *ends.get(name, ("tcp", "", ""))) for name in names if name not in known]


def scene_of_trace(
    path: str | Path,
    *,
    window: tuple[int, int | None] = (0, None),
    names: Path | None = None,
    given: Places | None = None,
    told: Told | None = None,
) -> Scene:
    """The scene of a trace of ns-2 or ns-3.

    Raises:
        DumbbellError: It cannot be read, or has more packets than a page takes.
    """
    start, end = window[0], window[1]
    trace = read_hops(
        path, from_ns=start, to_ns=end or 2**62, most=HOPS_MAX, names=names, told=told
    )
    about, title = trace.about, Path(trace.name).name
    if about["left_out"]:
        raise DumbbellError(_too_many(title, HOPS_MAX + about["left_out"]), code=Code.ANIMATION)
    hops = trace.tables["hops"]
    if hops.is_empty():
        raise DumbbellError(f"{title}: no packet in this stretch of time", code=Code.MOMENT)
    ends = {one["pipe"]: (one["from"], one["to"] or "?") for one in about["links"]}
    if trace.names is not None:
        links, kinds = _network(trace.names.scenario)
    else:
        links, kinds = _found_network(ends, _rates(hops))
    flows = _found_flows(about, hops, ends)
    if trace.names is not None:
        order = {name: number for number, name in enumerate(trace.names.flows)}
        flows.sort(key=lambda flow: order.get(flow.name, len(order)))
    notes = [f"line {one['line']}: {one['message']}" for one in about["problems"][:5]]
    counts = "bytes" if _counts_bytes(hops) else "packets"
    return Scene(
        title,
        max(start, 0) if window[0] else about["first_ns"],
        end or about["last_ns"],
        placed(kinds, links, flows, given),
        links,
        flows,
        hops,
        empty("samples"),
        counts,
        [(one["time_ns"], one["text"]) for one in about["remarks"]],
        notes,
    )


def _within(hops: pl.DataFrame, start: int, end: int, title: str) -> pl.DataFrame:
    # What came before and is still there then belongs to the picture.
    is_there = (pl.col("ended_ns") >= start) | (pl.col("ended_ns") < 0)
    found = hops.filter((pl.col("offered_ns") < end) & is_there)
    if found.height > HOPS_MAX:
        raise DumbbellError(_too_many(title, found.height), code=Code.ANIMATION)
    if found.is_empty():
        raise DumbbellError(f"{title}: no packet in this stretch of time", code=Code.MOMENT)
    return found


def _too_many(title: str, hops: int) -> str:
    return (
        f"{title}: packets come to links {hops:,} times, and a page takes {HOPS_MAX:,}: choose a"
        " shorter stretch with --from and --to"
    ).replace(",", "\u202f")


def _network(scenario: Scenario) -> tuple[list[Link], dict[str, str]]:
    end_ns = scenario["duration_ns"]
    links = [
        Link(
            one["a"],
            one["b"],
            pipe_of(f"{one['name']}/forward", one["forward"], end_ns),
            pipe_of(f"{one['name']}/backward", one["backward"], end_ns),
        )
        for one in scenario["links"]
    ]
    return links, {node["name"]: node["kind"] for node in scenario["nodes"]}


def _found_network(
    ends: Mapping[str, tuple[str, str]], rates: Mapping[str, float]
) -> tuple[list[Link], dict[str, str]]:
    """Links and nodes of a trace; a direction that carried nothing is there all the same."""
    found: dict[str, tuple[str, str]] = {}
    for pipe, (from_, to) in ends.items():
        name, way = pipe.rsplit("/", 1)
        found[name] = (from_, to) if way == "forward" else (to, from_)
    links = [
        Link(a, b, *(_found_pipe(f"{name}/{way}", rates) for way in ("forward", "backward")))
        for name, (a, b) in found.items()
    ]
    kinds = dict.fromkeys((node for ab in found.values() for node in ab), "node")
    return links, kinds


def _found_pipe(name: str, rates: Mapping[str, float]) -> Pipe:
    rate = rates.get(name, 0.0)
    words = f"≈ {rate / 1e6:.4g} Mbit/s" if rate else ""
    return Pipe(name, rate, words=words)


def _rates(hops: pl.DataFrame) -> dict[str, float]:
    """The rate of each pipe in which a packet ever waited: of packets that followed each other."""
    left = hops.filter(pl.col("leaves_ns") >= 0).sort("pipe", "leaves_ns")
    gaps = left.select(
        "pipe",
        waited=pl.col("leaves_ns") > pl.col("offered_ns"),
        bits=pl.col("frame_bytes").shift().over("pipe") * 8,
        gap_ns=pl.col("leaves_ns").diff().over("pipe"),
    ).filter(pl.col("waited") & (pl.col("gap_ns") > 0))
    sums = gaps.group_by("pipe").agg(pl.col("bits").sum(), pl.col("gap_ns").sum())
    return {
        pipe: bits * 1e9 / gap for pipe, bits, gap in sums.select("pipe", "bits", "gap_ns").rows()
    }


def _counts_bytes(hops: pl.DataFrame) -> bool:
    """Returns true if TCP's sequence numbers count bytes, not packets."""
    data = hops.filter((pl.col("kind") == "tcp") & (pl.col("direction") == "out"))
    steps = data.select(pl.col("seq_bytes").diff().over("flow", "pipe")).drop_nulls()
    steps = steps.filter(pl.col("seq_bytes") > 0)
    return steps.height > 0 and steps.filter(pl.col("seq_bytes") > 1).height > steps.height / 2


def _found_flows(
    about: dict[str, Any], hops: pl.DataFrame, ends: Mapping[str, tuple[str, str]]
) -> list[Flow]:
    """Flows of a trace that have packets here: where they begin, and where they end."""
    seen = hops.group_by("flow", "direction", "packet_number", maintain_order=True).agg(
        pl.col("pipe").first().alias("first"),
        pl.col("pipe").last().alias("last"),
        pl.col("dropped").last(),
    )
    whole = seen.filter((pl.col("direction") == "out") & (pl.col("dropped") == ""))
    most = (
        whole.group_by("flow", "first", "last")
        .len()
        .sort("len", descending=True)
        .unique("flow", keep="first", maintain_order=True)
    )
    way = {flow: (first, last) for flow, first, last, _ in most.rows()}
    here = set(hops["flow"].unique().to_list())
    flows = []
    for one in about["flows"]:
        if one["flow"] in here:
            first, last = way.get(one["flow"], ("", ""))
            kind = "tcp" if one["kind"] in ("tcp", "ack") else one["kind"]
            from_, to = ends.get(first, ("", ""))[0], ends.get(last, ("", ""))[1]
            flows.append(Flow(one["flow"], kind, from_, to))
    return flows
