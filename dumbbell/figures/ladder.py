"""Packet ladder: segments, ACKs and SACK blocks as arrows between two hosts (Figures 2.5 to 2.7 and
5.1 of study 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

import altair as alt
import polars as pl

from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.names import where_said
from dumbbell.metrics import Tables
from dumbbell.rows import Where

_MOST_ARROWS = 160
_HEIGHT = 480
#: Labels nearer to each other than this stand in one line.
_LINE_PIXELS = 13
_OUT, _BACK = "out", "back"


@dataclass(frozen=True)
class _Arrow:
    """A packet between the two ends; times in ms, None where it was not seen."""

    direction: str
    left: float | None
    arrived: float | None
    via: str
    again: bool
    row: Mapping[str, Any]


@dataclass(frozen=True)
class _Stretch:
    """Begin and end of the drawing (ms of the run), and one-way delays."""

    begin: float
    end: float
    transit: Mapping[str, float]

    @property
    def span(self) -> float:
        return self.end - self.begin

    def whole(self, arrow: _Arrow) -> tuple[float, float]:
        """Times at which a packet leaves and arrives, guessed where it was not seen."""
        transit = self.transit[arrow.direction]
        left, arrived = arrow.left, arrow.arrived
        left = (arrived or 0.0) - transit if left is None else left
        arrived = left + transit if arrived is None else arrived
        return left - self.begin, arrived - self.begin

    def touched_by(self, arrow: _Arrow) -> bool:
        left, arrived = self.whole(arrow)
        return arrived >= 0 and left <= self.span


def ladder(
    results: Tables,
    *,
    where: Where | None = None,
    flow: str | None = None,
    start_ms: float | None = None,
    end_ms: float | None = None,
    repeat: int | None = None,
    title: str | None = None,
) -> Figure:
    """The packets of one flow in one run between the first and the last tap they pass.

    Time runs downwards, in ms from the beginning of the stretch. Segments are numbered from the
    first byte that occurs in it, an ACK names the segment expected next, and the segments its SACK
    blocks cover; ↺ marks a retransmission. Taps between the two ends tell paths apart. `start_ms`,
    `end_ms`: the stretch of the run to show, by default all that was kept. Raises `ValueError`
    where packets are not kept at two taps, where factors stay open, or where more packets than
    can be told apart are in the stretch.
    """
    packets = _one_run(results, dict(where or {}), flow, repeat)
    every = _arrows(packets)
    stretch = _stretch(every, start_ms, end_ms)
    arrows = [arrow for arrow in every if stretch.touched_by(arrow)]
    if len(arrows) > _MOST_ARROWS:
        raise ValueError(
            f"{len(arrows)} packets are too many for a ladder (at most {_MOST_ARROWS}): "
            "choose a shorter stretch by start_ms and end_ms"
        )
    numbering = _numbering(arrows)
    lines = [_line(arrow, numbering, stretch) for arrow in arrows]
    labels = {side: _labels(arrows, side, numbering, stretch) for side in (_OUT, _BACK)}
    chart = alt.layer(*_layers(lines, labels, stretch))
    heading = title or f"Packets of {packets['flow'][0]}"
    return Figure(heading, _description(arrows), as_spec(chart), height=_HEIGHT)


def _one_run(
    results: Tables, where: dict[str, str | Sequence[str]], flow: str | None, repeat: int | None
) -> pl.DataFrame:
    if not results.has("packets"):
        raise ValueError("no packets are kept here: set sampling.packets to a stretch of time")
    if flow is not None:
        where["flow"] = flow
    packets = results.of_repeat("packets", where, repeat)
    if packets.is_empty():
        raise ValueError(f"no packets are kept{where_said(where)}")
    for column in ("run", "flow"):
        if packets[column].n_unique() > 1:
            factors = [f for f in results.experiment.factors if packets[f].n_unique() > 1]
            fix = ", ".join(factors or [column])
            raise ValueError(f"several runs or flows for one ladder: fix {fix} by where")
    return packets.sort("time_ns", maintain_order=True)


def _arrows(packets: pl.DataFrame) -> list[_Arrow]:
    """Every packet with what it says, in order of sending for each direction."""
    near, far = _ends(packets)
    found = []
    highest = -1
    ordered = packets.sort("direction", "packet_number", "time_ns", maintain_order=True)
    for _, seen in ordered.group_by("direction", "packet_number", maintain_order=True):
        times = dict(zip(seen["tap"], seen["time_ns"] / 1e6, strict=True))
        row = seen.row(0, named=True)
        direction = row["direction"]
        start, end = (near, far) if direction == _OUT else (far, near)
        carries = row["payload_bytes"] > 0 and row["seq_bytes"] >= 0 and direction == _OUT
        again = carries and row["seq_bytes"] <= highest
        highest = max(highest, row["seq_bytes"]) if carries else highest
        via = next((str(tap) for tap in times if tap not in (near, far)), "")
        left, arrived = times.get(start), times.get(end)
        if left is not None or arrived is not None:
            found.append(_Arrow(direction, left, arrived, via, again, row))
    return found


def _ends(packets: pl.DataFrame) -> tuple[str, str]:
    """The taps at the source's and at the destination's side: the first and the last on the way."""
    out = packets.filter(pl.col("direction") == _OUT)
    first = out.group_by("packet_number").agg(pl.col("time_ns").min().alias("first_ns"))
    later = (pl.col("time_ns") - pl.col("first_ns")).mean().alias("later")
    taps = out.join(first, on="packet_number").group_by("tap").agg(later).sort("later")["tap"]
    if len(taps) < 2:
        raise ValueError("a ladder needs packets at two taps, one at each end of the flow")
    return str(taps[0]), str(taps[-1])


def _numbering(arrows: list[_Arrow]) -> _Numbering:
    tcp = [(a.direction, a.row) for a in arrows if a.row["seq_bytes"] >= 0]
    first = [row["seq_bytes"] if side == _OUT else row["ack_bytes"] for side, row in tcp]
    segment = max((row["payload_bytes"] for _, row in tcp), default=0)
    return _Numbering(min(first, default=0), max(1, segment))


@dataclass(frozen=True)
class _Numbering:
    """Segments numbered from 1 at the byte `base`, `segment` bytes each."""

    base: int
    segment: int

    def of(self, start: int, end: int) -> str:
        first = (start - self.base) // self.segment + 1
        last = (max(start, end - 1) - self.base) // self.segment + 1
        return f"{first}" if first == last else f"{first}–{last}"

    def words(self, arrow: _Arrow) -> tuple[str, str]:
        """Label of a packet, and its tooltip."""
        row = arrow.row
        if row["seq_bytes"] < 0:
            return str(
                row["packet_number"]
            ), f"packet {row['packet_number']}, {row['frame_bytes']} bytes"
        if "syn" in row["tcp_flags"]:
            text = "SYN" if row["direction"] == _OUT else "SYN ACK"
            return text, f"{text}, {row['frame_bytes']} bytes"
        if row["payload_bytes"]:
            end = row["seq_bytes"] + row["payload_bytes"]
            kind = "retransmission" if arrow.again else "segment"
            text = self.of(row["seq_bytes"], end) + ("↺" if arrow.again else "")
            return text, f"{kind}, bytes {row['seq_bytes']} to {end - 1}"
        says = f"expects byte {row['ack_bytes']}"
        if row["direction"] == _OUT:
            return "ACK", says
        text = f"ACK {self.of(row['ack_bytes'], row['ack_bytes'])}"
        blocks = [tuple(map(int, block.split("-"))) for block in row["sack_ranges_bytes"].split()]
        if blocks:
            text += " SACK " + ", ".join(self.of(start, end) for start, end in blocks)
            says += "; has " + ", ".join(f"{start} to {end - 1}" for start, end in blocks)
        return text, says


def _stretch(arrows: list[_Arrow], begin: float | None, end: float | None) -> _Stretch:
    """Raises `ValueError` if no packet was seen at both ends, or nothing lies between the times."""
    transit = {}
    for side in (_OUT, _BACK):
        of_side = [a for a in arrows if a.direction == side]
        took = [a.arrived - a.left for a in of_side if a.left is not None and a.arrived is not None]
        if took:
            transit[side] = median(took)
    if _OUT not in transit:
        raise ValueError("no packet of the source was seen at both ends")
    times = [time for a in arrows for time in (a.left, a.arrived) if time is not None]
    begin = min(times) if begin is None else begin
    end = max(times) if end is None else end
    if begin >= end or begin > max(times) or end < min(times):
        kept = f"{min(times):.3f} to {max(times):.3f} ms"
        raise ValueError(f"no packet from {begin} to {end} ms; there are some from {kept}")
    return _Stretch(begin, end, {_BACK: transit[_OUT], **transit})


def _line(arrow: _Arrow, numbering: _Numbering, stretch: _Stretch) -> dict[str, Any]:
    """An arrow in the coordinates of the drawing: x 0 to 1 between the ends, y in ms.

    What lies outside of the stretch is cut off; a packet that ought to have arrived and did not
    ends half-way.
    """
    left, arrived = stretch.whole(arrow)
    lost = arrow.arrived is None and arrived + stretch.transit[arrow.direction] < stretch.span
    until = (left + arrived) / 2 if lost else min(arrived, stretch.span)
    since = max(left, 0.0)
    took = max(arrived - left, 1e-9)
    x, x2 = (since - left) / took, (until - left) / took
    if arrow.direction == _BACK:
        x, x2 = 1 - x, 1 - x2
    end = "lost" if lost else arrow.direction if arrived <= stretch.span else ""
    kind = "data" if arrow.direction == _OUT else "ACKs"
    via = f"{kind}, {arrow.via}" if arrow.via else kind
    numbers = zip("xyXY", (x, since, x2, until), strict=True)
    place = {name: round(number, 4) for name, number in numbers}
    return {**place, "via": via, "says": numbering.words(arrow)[1], "end": end}


def _labels(
    arrows: list[_Arrow], side: str, numbering: _Numbering, stretch: _Stretch
) -> list[dict[str, Any]]:
    """Labels of one side; packets of about one moment share a line."""
    sent = [(stretch.whole(a)[0], a) for a in arrows if a.direction == side and a.left is not None]
    groups: list[tuple[float, list[str]]] = []
    for at, arrow in sorted(sent, key=lambda pair: (pair[0], pair[1].row["packet_number"])):
        text, _ = numbering.words(arrow)
        if at < 0:
            continue
        if groups and at - groups[-1][0] < stretch.span * _LINE_PIXELS / _HEIGHT:
            groups[-1][1].append(text)
        else:
            groups.append((at, [text]))
    x = 0 if side == _OUT else 1
    return [{"x": x, "y": round(at, 4), "text": _joined(texts)} for at, texts in groups]


def _joined(texts: list[str]) -> str:
    """Texts in one line: numbers that follow each other as a range, of many ACKs the outermost."""
    runs: list[list[str]] = []
    for text in texts:
        last = runs[-1][-1] if runs else ""
        if text.isdigit() and last.isdigit() and int(text) == int(last) + 1:
            runs[-1].append(text)
        else:
            runs.append([text])
    words = [run[0] if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    if not any(" " in word for word in words):
        return ", ".join(words)
    return " · ".join(words) if len(words) < 3 else f"{words[0]} … {words[-1]}"


def _layers(
    lines: list[dict[str, Any]], labels: dict[str, list[dict[str, Any]]], stretch: _Stretch
) -> list[alt.Chart]:
    margin = stretch.span / 40
    scale = alt.Scale(domain=[-0.42, 1.6], nice=False)
    down = alt.Scale(domain=[stretch.span + margin, -margin], nice=False)
    x = alt.X("x:Q", axis=None, scale=scale)
    y = alt.Y("y:Q", title="Time (ms)", scale=down, axis=alt.Axis(grid=False, tickCount=8))
    names = sorted({str(line["via"]) for line in lines}, key=lambda name: (name[0] != "d", name))
    color = alt.Color("via:N", scale=alt.Scale(domain=names), title=None)
    tooltip = [
        alt.Tooltip("says:N", title="packet"),
        alt.Tooltip("via:N", title="kind"),
        alt.Tooltip("y:Q", title="from (ms)", format=".3f"),
        alt.Tooltip("Y:Q", title="to (ms)", format=".3f"),
    ]
    hosts = alt.InlineData(values=[{"x": side, "y": 0, "Y": stretch.span} for side in (0, 1)])
    arrows = alt.InlineData(values=lines)
    layers = [
        alt.Chart(hosts).mark_rule(style="host").encode(x=x, y=y, y2="Y:Q"),
        alt.Chart(arrows)
        .mark_rule(strokeWidth=1.3)
        .encode(x=x, y=y, x2="X:Q", y2="Y:Q", color=color, tooltip=tooltip),
    ]
    heads = ((_OUT, "triangle-right", -4), (_BACK, "triangle-left", 4))
    for end, shape, inwards in heads:
        layers.append(
            alt.Chart(arrows)
            .mark_point(shape=shape, size=42, filled=True, xOffset=inwards, opacity=1)
            .encode(x=alt.X("X:Q", axis=None), y=alt.Y("Y:Q"), color=color, tooltip=tooltip)
            .transform_filter(f"datum.end == '{end}'")
        )
    layers.append(
        alt.Chart(arrows)
        .mark_point(style="lost", shape="cross", angle=45, size=60, filled=True, opacity=1)
        .encode(x=alt.X("X:Q", axis=None), y=alt.Y("Y:Q"), tooltip=tooltip)
        .transform_filter("datum.end == 'lost'")
    )
    for side, rows in labels.items():
        align: Literal["left", "right"] = "right" if side == _OUT else "left"
        away = -10 if side == _OUT else 10
        layers.append(
            alt.Chart(alt.InlineData(values=rows))
            .mark_text(style="ladder-label", align=align, dx=away, limit=260)
            .encode(x=x, y=y, text="text:N")
        )
    return layers


def _description(arrows: list[_Arrow]) -> str:
    data = [a for a in arrows if a.direction == _OUT and a.arrived is not None]
    numbers = [a.row["packet_number"] for a in sorted(data, key=lambda a: a.arrived or 0.0)]
    late = sum(any(m > n for m in numbers[:i]) for i, n in enumerate(numbers))
    sacks = sum(bool(a.row["sack_ranges_bytes"]) for a in arrows)
    return (
        f"Packets between two hosts as arrows in time: {len(numbers)} from the source arrive, "
        f"{late} of them reordered; {sacks} ACKs carry SACK blocks."
    )
