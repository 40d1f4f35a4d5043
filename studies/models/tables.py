"""Tables of docs/model-agreement.md: `dumbbell study tables models`.

Each file here has one part of the simulator, with a few repeats. It is run on both engines, and the
metrics named below are compared. Five minutes on two cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

import dumbbell
from dumbbell.engines.linux.kernel import kernels
from dumbbell.metrics import METRICS
from dumbbell.studies.pages import Made, Runs, markdown, number

PAGE = "../../docs/model-agreement.md"
#: Kernel that judges; the files have its profile.
RELEASE = "6.12"
BOTTLENECK = "bottleneck/forward"


@dataclass(frozen=True)
class Counted:
    """A column of a result table that is no metric: its table, and what it is."""

    table: str
    column: str
    label: str


MARKED = Counted("pipes", "marked_packets", "marked packets")
LEFT = Counted("pipes", "left_packets", "packets that left the link")
RECEIVED = Counted("flows", "received_packets", "packets received")
#: By file: names of metrics, and columns.
QUANTITIES: Mapping[str, tuple[str | Counted, ...]] = {
    "arrivals": ("fct_count", "fct_mean_ms", "fct_median_ms", "fct_p99_ms"),
    "duplication": ("goodput_mbps", "srtt_mean_ms", "retransmissions", RECEIVED),
    "ecn": ("goodput_mbps", "srtt_mean_ms", "retransmissions", MARKED),
    "fragments": ("goodput_mbps", "loss_ratio", LEFT),
    "jitter": ("goodput_mbps", "srtt_mean_ms", "retransmissions", "cwnd_mean"),
    "links": ("goodput_mbps", "srtt_mean_ms", "retransmissions", LEFT),
    "loss": ("goodput_mbps", "srtt_mean_ms", "retransmissions", "loss_ratio"),
    "neighbours": ("goodput_mbps", "srtt_mean_ms", "ping_rtt_ms"),
    "ping": ("goodput_mbps", "ping_rtt_ms", "latency_p95_ms"),
    "quic": ("goodput_mbps", "srtt_mean_ms", "retransmissions", "loss_ratio"),
    "rate-traces": ("goodput_mbps", "srtt_mean_ms", "retransmissions", LEFT),
    "rewriting": ("goodput_mbps", "srtt_mean_ms", "retransmissions", LEFT),
    "slow-reader": ("goodput_mbps", "srtt_mean_ms", "retransmissions", "in_flight_mean"),
    "slots": ("goodput_mbps", "srtt_mean_ms", "retransmissions", LEFT),
    "tcp-applications": ("goodput_mbps", "srtt_mean_ms", "retransmissions"),
    "udp": ("goodput_mbps", "srtt_mean_ms", "retransmissions", "loss_ratio"),
    "video": ("goodput_mbps", "srtt_mean_ms", "retransmissions", "loss_ratio"),
    "voice": ("voice_mos", "one_way_delay_p95_ms", "probe_loss_ratio", "goodput_mbps"),
    "web-pages": ("page_load_s", "ttfb_ms", "object_time_ms"),
}


def values(results: dumbbell.Results, wanted: str | Counted) -> pl.DataFrame:
    """A row per run and flow, pipe or group: its levels, `of`, repeat, value."""
    if isinstance(wanted, Counted):
        frame = getattr(results, wanted.table).with_columns(
            value=pl.when(pl.col(wanted.column) >= 0).then(pl.col(wanted.column)).cast(pl.Float64)
        )
        of = "pipe" if wanted.table == "pipes" else "flow"
    else:
        metric = METRICS[wanted]
        frame = metric.measure(results).with_columns(value=pl.col("value").fill_nan(None))
        of = metric.of[0] if metric.of else ""
    if of == "pipe":
        frame = frame.filter(pl.col("pipe") == BOTTLENECK)
    frame = frame.filter(pl.col("value").is_not_null())
    levels = list(results.experiment.factors)
    name = pl.col(of) if of else pl.lit("")
    return frame.select(*levels, name.alias("of"), "repeat", "value")


def words(found: pl.Series) -> str:
    """Mean of repeats, and their range if they differ."""
    low, high = found.min(), found.max()
    mean = number(float(found.mean()))  # type: ignore[arg-type]
    if low == high:
        return mean
    return f"{mean} ({number(float(low))} to {number(float(high))})"  # type: ignore[arg-type]


def rows(ours: dumbbell.Results, theirs: dumbbell.Results, name: str) -> Iterator[list[str]]:
    """Rows of a table: level, what is measured of, quantity, both engines, difference."""
    for wanted in QUANTITIES[name]:
        own = values(ours, wanted)
        keys = [one for one in own.columns if one != "value"]
        both = own.join(values(theirs, wanted), on=keys, suffix="_kernel", maintain_order="left")
        if isinstance(wanted, Counted):
            label, factor = wanted.label, 1.0
        else:
            metric = METRICS[wanted]
            unit, factor = (" (%)", 100.0) if metric.unit == "share" else (f" ({metric.unit})", 1.0)
            label = f"{metric.label}{unit if metric.unit else ''}"
        cells = [one for one in keys if one != "repeat"]
        for levels, part in both.group_by(cells, maintain_order=True):
            first, second = factor * part["value"], factor * part["value_kernel"]
            mean = float(second.mean())  # type: ignore[arg-type]
            relative = float(first.mean()) / mean - 1 if mean else None  # type: ignore[arg-type]
            apart = "–" if relative is None else f"{100 * relative:+.1f} %"
            if first.equals(second, check_names=False):
                apart = "equal"
            yield [*map(str, levels), label, words(first), words(second), apart]


def tables(runs: Runs) -> Iterator[Made]:
    """A table per file, if the kernel is there."""
    if not runs.allows("sim", "linux") or RELEASE not in {one.name for one in kernels()}:
        return
    for name in QUANTITIES:
        ours, theirs = (runs.experiment(f"{name}.yaml", one) for one in ("sim", f"linux:{RELEASE}"))
        heads = [*ours.experiment.factors, "of", "quantity", "simulator", "kernel", "difference"]
        yield PAGE, name, markdown(heads, rows(ours, theirs, name))
