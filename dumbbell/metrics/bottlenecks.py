"""What each direction of a link carried, marked and dropped, in a run."""

from __future__ import annotations

import math

import polars as pl

from dumbbell.limits.flows import longest_frame_bytes
from dumbbell.limits.pipes import (
    capacity_bits,
    frames_exceed_wire,
    is_in_cells,
    pipes_of,
    policed_bits,
    surplus_bits,
)
from dumbbell.metrics.active import ACTIVE_S, WORDS, active_windows
from dumbbell.metrics.definition import Measurement, Metric, Tables, keys, known, ratio
from dumbbell.metrics.loss import REASONS
from dumbbell.scenario import Pipe, Scenario, shared_scenario

_PLACE = "each direction of each link"
#: Of what a pipe can carry in a window, the most that may leave it beyond that.
_SURPLUS_MOST = 0.05
_NONE = float("nan")


def _measure_throughput(tables: Tables) -> pl.DataFrame:
    frame = tables.pipes.join(active_windows(tables), on="run", how="left", maintain_order="left")
    rate = known("left_bytes") * 8e-6 / ACTIVE_S
    return frame.select(*keys(tables), "pipe", rate.fill_null(_NONE).alias("value"))


_CAPACITY = {
    "run": pl.String,
    "pipe": pl.String,
    "bits": pl.Float64,
    "policed_bits": pl.Float64,
    "overhead_bytes": pl.Int64,
}


def _capacities(tables: Tables) -> pl.DataFrame:
    """Bits that each pipe could carry in the window of its run; null where that is not known."""
    texts = dict(tables.runs.select("run", "scenario").iter_rows())
    read: dict[str, Scenario] = {}
    rows = []
    for run, begin_ns, end_ns in active_windows(tables).iter_rows():
        if (text := texts.get(run)) is None:
            continue
        spec = read.get(text) or read.setdefault(text, shared_scenario(text))
        longest = longest_frame_bytes(spec)
        for name, pipe in pipes_of(spec).items():
            rows.append((run, name, *_of_pipe(pipe, begin_ns, end_ns, longest)))
    return pl.DataFrame(rows, schema=_CAPACITY, orient="row")


def _of_pipe(
    pipe: Pipe, begin_ns: int, end_ns: int, longest_bytes: int
) -> tuple[float | None, float | None, int]:
    """The columns of `_CAPACITY` from `bits` on."""
    bits = capacity_bits(pipe, begin_ns, end_ns)
    policed = policed_bits(pipe, begin_ns, end_ns)
    framing = pipe["framing"]
    told = math.isfinite(bits) and not is_in_cells(pipe) and not frames_exceed_wire(pipe)
    told &= surplus_bits(pipe, longest_bytes) <= _SURPLUS_MOST * bits
    return (
        bits if told else None,
        policed if math.isfinite(policed) else None,
        framing["overhead_bytes"],
    )


def _measure_use(tables: Tables) -> pl.DataFrame:
    columns = [*keys(tables), "pipe"]
    frame = tables.pipes.join(
        _capacities(tables), on=["run", "pipe"], how="left", maintain_order="left"
    )
    on_wire = known("left_bytes") + pl.col("overhead_bytes") * known("left_packets")
    # A policer below the link's rate is what limits it.
    admitted = known("left_bytes") * 8 / pl.col("policed_bits")
    used = pl.max_horizontal(on_wire * 8 / pl.col("bits"), admitted)
    return frame.select(*columns, used.fill_null(_NONE).alias("value"))


def _share_of_offered(column: str) -> Measurement:
    def measure(tables: Tables) -> pl.DataFrame:
        share = ratio(known(column), known("arrived_packets"))
        return tables.pipes.select(*keys(tables), "pipe", share.alias("value"))

    return measure


THROUGHPUT = Metric(
    name="link_throughput_mbps",
    label="Throughput of a link",
    unit="Mbit/s",
    formula="8 · left_bytes (pipes) / time: frames of all flows in this direction, ACKs and "
    "duplicates included",
    place="each direction of each link, where it ends",
    window=WORDS,
    source="RFC 5136 §2.3 (link-layer bits received)",
    computed=_measure_throughput,
    of=("pipe",),
)

USE = Metric(
    name="link_use",
    label="Use of a link",
    unit="share",
    formula="bits of frames that left the pipe (pipes; with the link's overhead per frame) / bits "
    "that its shaper could let through in that time; with a policer the larger of this and the "
    "bits over what the policer admits. NaN without a rate, with ATM cells or an overhead of CAKE, "
    "if frames are shorter on the wire than their length, and if a burst may be more than 5 % of "
    "the bits",
    place=_PLACE,
    window=WORDS,
    source="RFC 5136 §2.3.4 (IP-layer link utilization), with frames",
    computed=_measure_use,
    of=("pipe",),
    bounds=(0.0, 1.0 + _SURPLUS_MOST),
)

MARKED = Metric(
    name="link_marked_share",
    label="Marked packets of a link",
    unit="share",
    formula="marked_packets / arrived_packets (pipes)",
    place=_PLACE,
    window="the whole run",
    source="RFC 3168 §5 (CE codepoint)",
    computed=_share_of_offered("marked_packets"),
    of=("pipe",),
    bounds=(0.0, 1.0),
)

#: Reason of a drop → its metric.
BY_REASON = {
    reason: Metric(
        name=f"loss_ratio_{reason}",
        label=f"Loss ratio of a pipe, {reason}",
        unit="share",
        formula=f"dropped_{reason}_packets / arrived_packets (pipes)",
        place=_PLACE,
        window="the whole run",
        source="RFC 7680 (one-way loss), taken per pipe and reason",
        computed=_share_of_offered(f"dropped_{reason}_packets"),
        of=("pipe",),
        bounds=(0.0, 1.0),
    )
    for reason in REASONS
}

METRICS = (THROUGHPUT, USE, MARKED, *BY_REASON.values())
