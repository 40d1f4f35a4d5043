"""Scenes of captures that were taken at two or more points."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import polars as pl

from dumbbell import _core
from dumbbell.animation.scene import Flow, Link, Pipe, Scene, placed
from dumbbell.animation.sources import HOPS_MAX, Places
from dumbbell.capture import CaptureError
from dumbbell.codes import Code
from dumbbell.console.words import many
from dumbbell.errors import DumbbellError
from dumbbell.store.tables import empty
from dumbbell.trace import taps


def scene_of_captures(
    files: Sequence[str],
    *,
    window: tuple[int, int | None] = (0, None),
    given: Places | None = None,
) -> Scene:
    """The scene of captures: each interface of each file is a point, packets go between them.

    Times begin at the first packet. Clocks of different machines are taken as they are.

    Raises:
        DumbbellError: They cannot be read, or saw no packet in common.
    """
    names = _names(files)
    try:
        text, tables = _core.capture_sightings(list(zip(files, names, strict=True)), 2 * HOPS_MAX)
    except OSError as error:
        place = error.filename or ", ".join(files)
        raise CaptureError(f"{place}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise CaptureError(f"{', '.join(files)}: {error}") from None
    about = json.loads(text)
    seen = pl.read_ipc_stream(io.BytesIO(tables["packets"]))
    if seen.is_empty():
        raise DumbbellError(f"{', '.join(files)}: no packet of IP in it", code=Code.CAPTURE)
    begin = int(seen["time_ns"].to_numpy()[0])
    seen = seen.with_columns(pl.col("time_ns") - begin)
    end = window[1] or int(seen["time_ns"].to_numpy()[-1])
    kinds = {one["flow"]: one["kind"] for one in about["flows"]}
    seen = seen.filter(pl.col("time_ns").is_between(window[0], end)).with_columns(
        flow_kind=pl.col("flow").replace_strict(kinds, return_dtype=pl.String)
    )
    order = {point: number for number, point in enumerate(about["points"])}
    hops = taps.hops(taps.steps(seen, _along(seen, order)), _pipe)
    if hops.is_empty():
        points = ", ".join(about["points"])
        raise DumbbellError(
            f"{', '.join(files)}: no packet was seen at two points; packets move between points,"
            f" and here is {points}",
            code=Code.CAPTURE,
        )
    if hops.height > HOPS_MAX:
        raise DumbbellError(
            "more packets than a page takes: choose less with --from and --to", code=Code.ANIMATION
        )
    links = _links(hops)
    flows = _flows(about, hops)
    kinds_of = dict.fromkeys((node for link in links for node in (link.a, link.b)), "router")
    return Scene(
        ", ".join(Path(file).name for file in files),
        window[0],
        end,
        placed(kinds_of, links, flows, given),
        links,
        flows,
        hops,
        empty("samples"),
        notes=_notes(about, hops),
    )


def _along(seen: pl.DataFrame, order: dict[str, int]) -> pl.Series:
    """Position of each sighting on its packet's path; orders sightings of the same time.

    A point is as far along a flow as its outward packets need to get there, on the average; points
    that they pass at one time stand in the order in which they were given.
    """
    packet = ["flow", "direction", "packet_number"]
    since = pl.col("time_ns") - pl.col("time_ns").min().over(packet)
    far = (
        seen.filter(pl.col("direction") == "out")
        .select("flow", "tap", since=since)
        .group_by("flow", "tap")
        .agg(pl.col("since").mean())
    )
    given = pl.col("tap").replace_strict(order, return_dtype=pl.Float64)
    joined = seen.join(far, on=["flow", "tap"], how="left", maintain_order="left").with_columns(
        place=pl.col("since").fill_null(0.0) + given * 1e-3
    )
    back = pl.col("direction") == "back"
    return joined.select(pl.when(back).then(-pl.col("place")).otherwise("place"))["place"]


def _names(files: Sequence[str]) -> list[str]:
    """A short name of each file, no two alike."""
    names: list[str] = []
    for file in files:
        stem = Path(file).name.split(".")[0]
        names.append(stem if stem not in names else f"{stem} {len(names) + 1}")
    return names


def _pipe(a: str, b: str) -> str:
    """The way from one point to another, as a direction of the link between them."""
    return f"{a}|{b}/forward" if a <= b else f"{b}|{a}/backward"


def _links(hops: pl.DataFrame) -> list[Link]:
    links = {}
    for name in hops["pipe"].unique(maintain_order=True).to_list():
        link = name.rsplit("/", 1)[0]
        a, b = link.split("|")
        links[link] = Link(a, b, Pipe(f"{link}/forward"), Pipe(f"{link}/backward"))
    return list(links.values())


def _flows(about: dict[str, list[dict[str, str]]], hops: pl.DataFrame) -> list[Flow]:
    """Flows that moved, with the points at which they were seen first and last."""
    ways = hops.filter(pl.col("direction") == "out").sort("offered_ns")
    pairs = ways.group_by("flow", "packet_number", maintain_order=True).agg(
        pl.col("pipe").first().alias("first"), pl.col("pipe").last().alias("last")
    )
    most = pairs.group_by("flow", "first", "last").len().sort("len", descending=True)
    found: dict[str, tuple[str, str]] = {}
    for flow, first, last, _ in most.rows():
        found.setdefault(flow, (_ends(first)[0], _ends(last)[1]))
    here = set(hops["flow"].unique().to_list())
    return [
        Flow(one["flow"], one["kind"], *found.get(one["flow"], ("", "")))
        for one in about["flows"]
        if one["flow"] in here
    ]


def _ends(pipe: str) -> tuple[str, str]:
    link, way = pipe.rsplit("/", 1)
    a, b = link.split("|")
    return (a, b) if way == "forward" else (b, a)


def _notes(about: dict[str, list[dict[str, str]]], hops: pl.DataFrame) -> list[str]:
    notes = [
        "Captures know when a packet passed a point: where it waited between two of them, and why"
        " it was lost, they do not."
    ]
    notes += [f"{one['file']}: {one['message']}" for one in about["problems"][:5]]
    left_out = cast("int", about["left_out"])
    if left_out:
        notes.append(f"Left out beyond the most that are read: {many(left_out, 'packet')}.")
    at_once = hops.filter(pl.col("ended_ns") == pl.col("leaves_ns")).height
    if at_once > hops.height / 2:
        notes.append("Most packets pass two points at the same instant.")
    return notes
