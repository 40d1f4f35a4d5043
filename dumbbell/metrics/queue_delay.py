"""Queueing delay at each pipe, from samples of its queue."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dumbbell.limits.buckets import least_delay_ns, netem_of
from dumbbell.limits.outages import Stretch, outages
from dumbbell.limits.pipes import pipes_of, rate_steps, wire_bytes
from dumbbell.metrics.definition import Measurement, Metric, Tables, keys
from dumbbell.metrics.load import WORDS, load_windows
from dumbbell.scenario import Pipe, shared_scenario

#: From when (ns) on a pipe has which rate, bit/s.
_Steps = list[tuple[int, float]]
_BY = ["run", "pipe"]
_COLUMNS = ("pipe", "time_ns", "queued_packets", "queued_bytes", "sojourn_mean_ns")


def queueing_delays(tables: Tables, quantiles: Mapping[str, float]) -> pl.DataFrame:
    """Quantiles of the queueing delay in the time of load, in ms.

    One row per run and pipe with samples of its queue: `run`, `pipe`, a column per quantile.
    """
    schema = {"run": pl.String, "pipe": pl.String, **dict.fromkeys(quantiles, pl.Float64)}
    done = [pl.DataFrame(schema=schema)]
    found = [
        pl.col("delay_ms").quantile(share, "linear").alias(name)
        for name, share in quantiles.items()
    ]
    for part in queueing_delays_under_load(tables):
        done.append(part.group_by(_BY).agg(found).select(list(schema)))
    return pl.concat(done)


def queueing_delays_under_load(tables: Tables) -> Iterator[pl.DataFrame]:
    """Parts of `run`, `pipe`, `delay_ms` (null: not known): each sample in the time of load."""
    lines = _lines(tables)
    windows = load_windows(tables)
    inside = pl.col("time_ns").is_between(pl.col("load_start_ns"), pl.col("load_end_ns"))
    for part in tables.parts("queues", _COLUMNS):
        yield _with_delay(part.join(windows, on="run").filter(inside), lines).select(
            *_BY, "delay_ms"
        )


def queueing_delay_samples(tables: Tables, runs: Sequence[str]) -> pl.DataFrame:
    """`run`, `pipe`, `time_ns`, `sent_bytes`, `delay_ms` (null: not known) of queues of runs."""
    rows = _with_delay(tables.of_runs("queues", runs, (*_COLUMNS, "sent_bytes")), _lines(tables))
    return rows.select(*_BY, "time_ns", "sent_bytes", "delay_ms").sort(*_BY, "time_ns")


@dataclass(frozen=True)
class _Line:
    """What the queueing delay of a pipe takes from its setting.

    Attributes:
        steps: From when on it has which rate; empty without one.
        own_ms: Fixed delay of netem as its queue, which is no queueing.
        pipe: The pipe, for what a frame takes on its wire.
        down: Times in which the link is down.
    """

    steps: _Steps
    own_ms: float
    pipe: Pipe
    down: list[Stretch]

    @property
    def is_plain(self) -> bool:
        """One rate, no outage, and frames that take their own length on the wire."""
        if len(self.steps) > 1 or self.own_ms or self.down:
            return False
        return wire_bytes(self.pipe, 1000) == 1000


def _line(pipe: Pipe, end_ns: int) -> _Line:
    netem = netem_of(pipe)
    changed = [one["delay_ns"] for one in pipe["changes"] if one["delay_ns"] is not None]
    own_ns = 0 if netem is None else min([least_delay_ns(netem), *changed])
    return _Line(rate_steps(pipe), own_ns / 1e6, pipe, outages(pipe, end_ns))


def _lines(tables: Tables) -> dict[tuple[str, str], _Line]:
    """Of each run and direction of a link."""
    of_texts: dict[str, dict[str, _Line]] = {}
    found = {}
    for run, text in tables.runs.select("run", "scenario").unique("run").iter_rows():
        if text not in of_texts:
            spec = shared_scenario(text)
            end_ns = spec["duration_ns"]
            of_texts[text] = {name: _line(pipe, end_ns) for name, pipe in pipes_of(spec).items()}
        for name, line in of_texts[text].items():
            found[run, name] = line
    return found


def _with_delay(queues: pl.DataFrame, lines: Mapping[tuple[str, str], _Line]) -> pl.DataFrame:
    """Rows of `queues` of known pipes, with `delay_ms`.

    That is the mean time in the queue of the packets that left since the row before, less the delay
    of a netem. Where it is not known, it is the time until what waits has left; null without a
    rate, while the link is down (nothing waits in it), and under a netem's delay, where what waits
    is not all for the rate.
    """
    rates = [(*key, one.steps[0][1] if one.steps else None) for key, one in lines.items()]
    schema = {"run": pl.String, "pipe": pl.String, "rate_bps": pl.Float64}
    rows = queues.join(pl.DataFrame(rates, schema=schema, orient="row"), on=_BY)
    waited = pl.col("sojourn_mean_ns").fill_nan(None) / 1e6
    drained = pl.when(pl.col("rate_bps") > 0).then(
        pl.col("queued_bytes") * 8e3 / pl.col("rate_bps")
    )
    rows = rows.with_columns(waited.alias("waited_ms"), drained.alias("drained_ms"))
    special = {key: one for key, one in lines.items() if not one.is_plain}
    if special and not rows.is_empty():
        rows = pl.concat(
            _of_line(own, special[key]) if (key := (str(run), str(pipe))) in special else own
            for (run, pipe), own in rows.group_by(_BY, maintain_order=True)
        )
    return rows.with_columns(pl.coalesce("waited_ms", "drained_ms").alias("delay_ms"))


def _of_line(rows: pl.DataFrame, line: _Line) -> pl.DataFrame:
    """Rows of a pipe, both delays as its rates, its netem and its wire make them."""
    if line.own_ms:
        nothing = pl.lit(None, pl.Float64).alias("drained_ms")
        return rows.with_columns((pl.col("waited_ms") - line.own_ms).clip(0), nothing)
    if not line.steps:
        return rows
    packets, size = (rows[name].to_numpy() for name in ("queued_packets", "queued_bytes"))
    mean = np.divide(size, packets, where=packets > 0, out=np.zeros(len(rows)))
    on_wire = packets * np.array([wire_bytes(line.pipe, round(one)) for one in mean])
    times = rows["time_ns"].to_numpy()
    ms = drain_ms(line.steps, times, on_wire)
    for begin, end in line.down:
        ms[(times > begin) & (times <= end)] = np.nan
    return rows.with_columns(pl.Series("drained_ms", ms).fill_nan(None))


def drain_ms(
    steps: _Steps, times_ns: NDArray[Any], queued_bytes: NDArray[Any]
) -> NDArray[np.float64]:
    """Milliseconds from each time on until a pipe has sent what is queued; NaN: never.

    Args:
        steps: From when (ns) on it has which rate (bit/s), in order, the first at 0.
        times_ns: Times of the samples.
        queued_bytes: What waits at each, as it is on the wire.
    """
    starts = np.array([at for at, _ in steps], dtype=np.float64)
    rates = np.array([rate for _, rate in steps], dtype=np.float64)
    # Bits that have left by each start, at full use.
    sent = np.concatenate(([0.0], np.cumsum(rates[:-1] * np.diff(starts) / 1e9)))
    now = np.searchsorted(starts, times_ns, side="right") - 1
    goal = sent[now] + rates[now] * (times_ns - starts[now]) / 1e9 + 8.0 * queued_bytes
    # The stretch in which the last of these bits leaves: the first that ends with as many sent.
    last = np.maximum(np.searchsorted(sent, goal, side="left") - 1, now)
    with np.errstate(divide="ignore", invalid="ignore"):
        end_ns = starts[last] + (goal - sent[last]) / rates[last] * 1e9
    waited = np.where(queued_bytes > 0, (end_ns - times_ns) / 1e6, 0.0)
    return np.where(np.isfinite(waited), waited, np.nan)


_QUANTILES = {10: 0.10, 50: 0.50, 95: 0.95}
#: Quantiles of the results that are alive: going through their queues takes a while.
_KNOWN: weakref.WeakKeyDictionary[Tables, pl.DataFrame] = weakref.WeakKeyDictionary()


def _queue_delay(percent: int) -> Measurement:
    """A measurement of this percentile of the queueing delay."""

    def measure(tables: Tables) -> pl.DataFrame:
        if (found := _KNOWN.get(tables)) is None:
            quantiles = {str(name): share for name, share in _QUANTILES.items()}
            found = _KNOWN[tables] = queueing_delays(tables, quantiles)
        base = tables.pipes.select(*keys(tables), "pipe")
        value = pl.col(str(percent)).fill_null(float("nan")).alias("value")
        joined = base.join(found, on=_BY, how="left", maintain_order="left")
        return joined.select(*keys(tables), "pipe", value)

    return measure


METRICS = tuple(
    Metric(
        name=f"queue_delay_p{percent}_ms",
        label=f"{percent}th percentile of the queueing delay",
        unit="ms",
        formula=f"{percent}th percentile over the samples of the queue in the time of load. A "
        "sample is the mean time in the queue of the packets that left since the previous sample; "
        "if that is not known, the time until what is queued has left at the pipe's rates from "
        "then on, with cells and overhead, and no sample while the link is down. The fixed delay "
        "of a netem is no part of it. NaN without samples of queues",
        place="each direction of each link",
        window=WORDS,
        source="RFC 5481 §3 (a quantile of delay), at one queue",
        computed=_queue_delay(percent),
        of=("pipe",),
    )
    for percent in _QUANTILES
)
