"""Tables of the congestion controls that no kernel has: what their papers state, in numbers."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dumbbell.catalogue import congestion_controls
from dumbbell.results import Results
from dumbbell.studies.pages import Runs, markdown

#: Algorithms of these tables.
NAMES = ("ledbat++", "copa")
#: Slow start is over.
SETTLED_NS = 20_000_000_000
#: Time from which shares with a latecomer count; it begins at 30 s.
SHARED_NS = 60_000_000_000
#: Full frame with Ethernet header, and its payload, bytes.
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448
#: Delayed ACKs as Linux has them, in place of an ACK per packet.
DELAYED = {"cc": "copa", "hosts.defaults.delayed_ack": "adaptive"}


def title(name: str) -> str:
    """Name on pages."""
    return congestion_controls()[name].title


def alone(runs: Runs) -> list[str]:
    """Utilisation and queue of a flow alone; those of Copa with delayed ACKs, too."""
    heads = [
        "algorithm", "line", "receiver", "utilisation", "mean queueing delay",
        "mean queue (95th percentile)",
    ]  # fmt: skip
    rows = list(_alone(runs.experiment("solo.yaml"), "ACK per packet"))
    rows += _alone(runs.experiment("solo.yaml", chosen=DELAYED), "delayed ACKs")
    return markdown(heads, rows)


def _alone(results: Results, receiver: str) -> Iterator[list[str]]:
    frame = results.samples.filter(pl.col("time_ns") >= SETTLED_NS)
    for (name, rate, rtt), of in frame.group_by("cc", "rate", "rtt", maintain_order=True):
        bps, base_s = 1e6 * float(str(rate).split()[0]), 1e-3 * float(str(rtt).split()[0])
        frame_s = 8 * FRAME_BYTES / bps
        # A frame takes its time at the bottleneck, queue or not.
        delays_s = 1e-9 * of["srtt_ns"] - base_s - frame_s
        bits = 8 * (of["delivered_bytes"][-1] - of["delivered_bytes"][0])
        seconds = 1e-9 * (of["time_ns"][-1] - of["time_ns"][0])
        use = bits / seconds / bps * FRAME_BYTES / PAYLOAD_BYTES
        packets = delays_s / frame_s
        high = packets.quantile(0.95, "linear")
        yield [
            title(str(name)), f"{rate}, {rtt}", receiver, f"{100 * use:.1f} %",
            f"{1e3 * delays_s.mean():.1f} ms", f"{packets.mean():.1f} ({high:.1f}) packets",
        ]  # fmt: skip


def shares(runs: Runs) -> list[str]:
    """Shares of two flows: with a latecomer of the same kind, and beside CUBIC."""
    heads = ["algorithm", "line", "beside", "share of the flow"]
    rows = []
    late = runs.experiment("latecomer.yaml").samples.filter(pl.col("time_ns") >= SHARED_NS)
    cell = ["cc", "rate", "rtt", "repeat"]
    for name in NAMES:
        last = pl.col("delivered_bytes").last() - pl.col("delivered_bytes").first()
        of = late.filter(pl.col("cc") == name).group_by(*cell, "flow", maintain_order=True)
        rows += _shares(of.agg(bytes=last), "its like, 30 s later", ["rate", "rtt"])
    for name in NAMES:
        flows = runs.experiment("beside-cubic.yaml", chosen={"cc": name}).flows
        bytes_ = flows.select(*cell, "queue", "flow", bytes="delivered_bytes")
        rows += _shares(bytes_, "CUBIC", ["rate", "rtt", "queue"])
    return markdown(heads, rows)


def _shares(frame: pl.DataFrame, beside: str, line: list[str]) -> Iterator[list[str]]:
    total = pl.col("bytes").sum().over("repeat")
    for (name, *levels), of in frame.group_by("cc", *line, maintain_order=True):
        own = of.with_columns(share=100 * pl.col("bytes") / total).filter(pl.col("flow") == "own")
        mean, low, high = own["share"].mean(), own["share"].min(), own["share"].max()
        shown = f"{mean:.0f} % ({low:.0f} to {high:.0f})"
        yield [title(str(name)), ", ".join(map(str, levels)), beside, shown]
