"""Tables of one run, as writers of formats need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dumbbell.limits.flows import FRAME_BYTES, TCP_OVERHEAD_BYTES, flow_limits
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from dumbbell.scenario import read_scenario

Row = dict[str, Any]


@dataclass(frozen=True)
class OneRun:
    """A run.

    Attributes:
        title: Experiment, levels and repeat.
        results: Its tables.
        notes: What could not be written.
    """

    title: str
    results: Results
    notes: list[str] = field(default_factory=list)

    @property
    def duration_s(self) -> float:
        """Length of the run, s."""
        return read_scenario(self.results.runs["scenario"][0])["duration_ns"] * 1e-9

    @property
    def engine(self) -> str:
        """Engine and its version."""
        return " ".join(self.results.runs.select("engine", "engine_version").row(0))

    def segment_bytes(self, flow: str) -> int:
        """Payload of a full segment of a flow, with timestamps; of one without a path, of 1500."""
        try:
            frame = flow_limits(self.results.runs["scenario"][0], flow).frame_bytes
        except (KeyError, ValueError):  # a flow of a page
            frame = FRAME_BYTES
        return frame - TCP_OVERHEAD_BYTES

    def flows(self, *kinds: str) -> list[Row]:
        """Rows of `flows` of these kinds that began, with the columns of one flow each."""
        frame = self.results.flows.filter(pl.col("kind").is_in(kinds) & (pl.col("start_ns") >= 0))
        return frame.unique("flow", maintain_order=True).to_dicts()

    def samples(self, flow: str) -> pl.DataFrame:
        """Samples of a flow, in order of time."""
        return self._over_time("samples", flow)

    def probes(self, flow: str) -> pl.DataFrame:
        """Probes of a flow, in order of time."""
        return self._over_time("probes", flow)

    def _over_time(self, name: str, flow: str) -> pl.DataFrame:
        frame: pl.DataFrame = getattr(self.results, name)
        return frame.filter(pl.col("flow") == flow).sort("time_ns", maintain_order=True)

    def values(self, metric: str) -> dict[str, float]:
        """Value of a metric by flow; flows without one are left out."""
        found = METRICS[metric].measure(self.results).filter(pl.col("value").is_not_nan())
        return dict(found.select("flow", "value").iter_rows())


def known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values that are known: neither -1, NaN nor empty."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and value == value and value not in (-1, "")
    }


def intervals(flow: Row, samples: pl.DataFrame) -> Iterator[tuple[int, int, int]]:
    """Begin, end (ns) and delivered bytes of the times between samples; at last, to the end.

    They add up to the bytes and the life of the flow, as its row has them.
    """
    begin, before = flow["established_ns"], 0
    if begin < 0 or flow["delivered_bytes"] < 0:
        return
    end, total = flow["end_ns"], flow["delivered_bytes"]
    for time, delivered in samples.select("time_ns", "delivered_bytes").iter_rows():
        if begin < time < end and before <= delivered <= total:
            yield begin, time, delivered - before
            begin, before = time, delivered
    if end > begin:
        yield begin, end, total - before
