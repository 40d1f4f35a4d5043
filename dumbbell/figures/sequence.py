"""Time–sequence graph of a TCP flow: sent, acknowledged, SACKed, retransmitted, as of tcptrace."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from dumbbell.figures.figure import Figure, as_spec
from dumbbell.figures.theme import alarm_expression, colour_expression
from dumbbell.metrics import Tables
from dumbbell.metrics.retransmissions import with_retransmissions
from dumbbell.rows import Where

#: Grids over time and sequence numbers; a kind of mark is drawn once in each cell.
_GRIDS = ((400, 250), (200, 125), (100, 60), (50, 30))
_MOST_MARKS = 5000
_SENT, _ACKED, _SACKED, _AGAIN = "sent", "acknowledged", "SACKed", "retransmitted"
_DELIVERED = "delivered in order"
_COLOURS = {
    _SENT: colour_expression(0),
    _ACKED: colour_expression(2),
    _SACKED: colour_expression(4),
    _DELIVERED: colour_expression(0),
    _AGAIN: alarm_expression(),
}
_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))
_SCHEMA = {"kind": pl.String, "s": pl.Float64, "low": pl.Float64, "high": pl.Float64}


def sequence(
    results: Tables,
    *,
    where: Where | None = None,
    flow: str | None = None,
    repeat: int | None = None,
    start_ms: float | None = None,
    end_ms: float | None = None,
    title: str | None = None,
) -> Figure:
    """Sequence numbers of one flow over time.

    Args:
        results: Tables with `packets`: segments and ACKs at the tap next to the sender. Without,
            `samples` say what was acknowledged and delivered, and when segments were retransmitted.
        where: Level of each factor that varies.
        flow: Name of the flow; None: the first TCP flow that was recorded.
        repeat: Repeat to show; None: the first.
        start_ms: Start of the stretch to show.
        end_ms: Its end.
        title: Title of the figure.

    Raises:
        ValueError: Neither packets nor samples of the flow are kept, or factors stay open.
    """
    chosen = dict(where or {}) | ({"flow": flow} if flow is not None else {})
    packets = _of_one_flow(results, "packets", "seq_bytes", chosen, repeat)
    if packets is not None:
        name, marks = str(packets["flow"][0]), _of_packets(packets)
    else:
        samples = _of_one_flow(results, "samples", "acked_bytes", chosen, repeat)
        if samples is None:
            raise ValueError(
                "no packets and no samples of a TCP flow are kept here: set sampling.packets to a "
                "stretch of time, or sampling.keep to [samples]"
            )
        name, marks = str(samples["flow"][0]), _of_samples(samples)
    begin, end = (None if at is None else at / 1e3 for at in (start_ms, end_ms))
    shown = _between(marks, begin, end)
    if shown.is_empty():
        raise ValueError(f"nothing of {name} in this stretch of time")
    counts = {kind: shown.filter(pl.col("kind") == kind).height for kind in _COLOURS}
    text = ", ".join(f"{kind} {count}" for kind, count in counts.items() if count)
    spec = as_spec(_chart(_thinned(shown), [kind for kind, count in counts.items() if count]))
    return Figure(title or f"Sequence numbers of {name}", f"Marks over time: {text}.", spec)


def _of_one_flow(
    results: Tables, table: str, column: str, chosen: Where, repeat: int | None
) -> pl.DataFrame | None:
    """Rows of the first TCP flow, None without any. Raises `ValueError` for several runs."""
    if not results.has(table):
        return None
    rows = results.of_repeat(table, chosen, repeat).filter(pl.col(column) >= 0)
    left = [name for name in results.experiment.factors if rows[name].n_unique() > 1]
    if left:
        raise ValueError(f"several runs: fix {', '.join(left)} by where")
    if rows.is_empty():
        return None
    return rows.filter(pl.col("flow") == rows["flow"][0]).sort("time_ns", maintain_order=True)


def _of_packets(packets: pl.DataFrame) -> pl.DataFrame:
    """Segments and ACKs as they pass the tap that segments pass first."""
    data = packets.filter((pl.col("direction") == "out") & (pl.col("payload_bytes") > 0))
    if data.is_empty():
        raise ValueError(f"no segment of {packets['flow'][0]} was seen")
    place = data.sort("time_ns", maintain_order=True)["tap"][0]
    here = packets.filter(pl.col("tap") == place)
    sent = data.filter(pl.col("tap") == place).with_columns(
        (pl.col("seq_bytes") + pl.col("payload_bytes")).alias("end")
    )
    highest = pl.col("end").cum_max().shift(1).fill_null(-1)
    kind = pl.when(pl.col("seq_bytes") < highest).then(pl.lit(_AGAIN)).otherwise(pl.lit(_SENT))
    acks = here.filter((pl.col("direction") == "back") & (pl.col("ack_bytes") >= 0))
    blocks = acks.select(
        "time_ns", pl.col("sack_ranges_bytes").str.split(" ").list.first().str.split("-")
    ).filter(pl.col("sack_ranges_bytes").list.len() == 2)
    ends = [pl.col("sack_ranges_bytes").list.get(place).cast(pl.Int64) for place in (0, 1)]
    marks = [
        sent.select(kind.alias("kind"), "time_ns", low="seq_bytes", high="end"),
        blocks.select(pl.lit(_SACKED).alias("kind"), "time_ns", low=ends[0], high=ends[1]),
        acks.select(pl.lit(_ACKED).alias("kind"), "time_ns", low="ack_bytes", high="ack_bytes"),
    ]
    return _in_seconds(pl.concat(marks))


def _of_samples(samples: pl.DataFrame) -> pl.DataFrame:
    """Lines of what was acknowledged and delivered; marks where segments were retransmitted."""
    again = with_retransmissions(samples)
    delivered = samples.filter(pl.col("delivered_bytes") >= 0)
    marks = [
        frame.select(pl.lit(kind).alias("kind"), "time_ns", low=column, high=column)
        for frame, kind, column in (
            (samples, _ACKED, "acked_bytes"),
            (delivered, _DELIVERED, "delivered_bytes"),
            (again, _AGAIN, "acked_bytes"),
        )
    ]
    return _in_seconds(pl.concat(marks))


def _in_seconds(marks: pl.DataFrame) -> pl.DataFrame:
    found = marks.select("kind", s=pl.col("time_ns") / 1e9, low=pl.col("low"), high=pl.col("high"))
    return found.cast(pl.Schema(_SCHEMA)).sort("s", maintain_order=True)


def _between(marks: pl.DataFrame, begin: float | None, end: float | None) -> pl.DataFrame:
    if begin is not None:
        marks = marks.filter(pl.col("s") >= begin)
    return marks if end is None else marks.filter(pl.col("s") <= end)


def _thinned(marks: pl.DataFrame) -> pl.DataFrame:
    """Marks of each kind that share a cell of a grid as one; the grid is as fine as it may be."""
    for across, up in _GRIDS:
        found = _merged(marks, across, up)
        if found.height <= _MOST_MARKS:
            break
    return found


def _merged(marks: pl.DataFrame, across: int, up: int) -> pl.DataFrame:
    def cell(value: pl.Expr, count: int) -> pl.Expr:
        least, most = value.min(), value.max()
        return ((value - least) / (most - least) * count).fill_nan(0).floor()

    named = marks.with_columns(
        cell(pl.col("s"), across).alias("across"), cell(pl.col("low"), up).alias("up")
    )
    grouped = named.group_by("kind", "across", "up", maintain_order=True)
    merged = grouped.agg(pl.col("s").min(), pl.col("low").min(), pl.col("high").max())
    return merged.select(*_SCHEMA)


def _chart(marks: pl.DataFrame, kinds: list[str]) -> alt.LayerChart | alt.FacetChart:
    top = float(marks["high"].max() or 0)  # type: ignore[arg-type]
    unit, size = next(one for one in _UNITS if top >= one[1] or one[1] == 1)
    rows = marks.with_columns(
        pl.col("s").round(6), (pl.col("low") / size).round(6), (pl.col("high") / size).round(6)
    )
    parse = dict.fromkeys(("s", "low", "high"), "number")
    data = alt.InlineData(
        values=rows.write_csv(), format=alt.CsvDataFormat(type="csv", parse=parse)
    )
    scale = alt.Scale(domain=kinds, range=[_COLOURS[kind] for kind in kinds])
    legend = alt.Legend(title=None, symbolType="square")
    x_scale = alt.Scale(nice=False, zero=False)
    title = f"Sequence number ({unit})"
    y_scale = alt.Scale(zero=False, nice=False)
    tooltip = [
        alt.Tooltip("kind:N", title="what"),
        alt.Tooltip("s:Q", title="time (s)", format=".6~f"),
        alt.Tooltip("low:Q", title=f"from ({unit})", format=",.7~g"),
        alt.Tooltip("high:Q", title="to", format=",.7~g"),
    ]
    base = alt.Chart(data).encode(
        x=alt.X("s:Q", title="Time (s)", scale=x_scale, axis=alt.Axis(tickCount=8)),
        color=alt.Color("kind:N", scale=scale, sort=kinds, legend=legend),
    )
    low = alt.Y("low:Q", title=title, scale=y_scale)

    def only(*names: str) -> Any:
        return alt.FieldOneOfPredicate(field="kind", oneOf=list(names))

    again = only(_AGAIN)
    return alt.layer(
        base.mark_line(strokeWidth=1.3, interpolate="step-after", clip=True)
        .encode(y=low)
        .transform_filter(only(_ACKED, _DELIVERED)),
        base.mark_rule(strokeWidth=1.8, clip=True, aria=False)
        .encode(y=low, y2="high:Q", tooltip=tooltip)
        .transform_filter(only(_SENT, _SACKED)),
        base.mark_rule(strokeWidth=2.4, clip=True, aria=False)
        .encode(y=low, y2="high:Q", tooltip=tooltip)
        .transform_filter(again),
        base.mark_point(shape="triangle-up", size=18, filled=True, opacity=1, clip=True, aria=False)
        .encode(y=low, tooltip=tooltip)
        .transform_filter(again),
    )
