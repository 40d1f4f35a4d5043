"""A row per cell: what an experiment of many cells looks like at a glance."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dumbbell.metrics import METRICS, Tables, summary
from dumbbell.metrics.numbers import number
from dumbbell.summary.cells import CellLine, FlowLine

#: Metrics of applications, where they were measured, and their headings.
_ASKED = {
    "page_load_s": "page load s",
    "fct_slowdown": "slowdown",
    "voice_mos": "MOS",
    "latency_p95_ms": "RTT p95 under load ms",
}


def rows(cells: list[CellLine], results: Tables) -> tuple[list[str], list[list[str]]]:
    """Headings without the factors, and texts of each cell, without columns that nothing fills."""
    columns: dict[str, list[float | None]] = {}
    for name, heading in _ASKED.items():
        means = _means(results, name, cells)
        if any(value is not None for value in means):
            columns[heading] = means
    for heading, value in _COLUMNS.items():
        columns[heading] = [value(cell) for cell in cells]
    shown = {
        heading: [_text(heading, value) for value in values]
        for heading, values in columns.items()
        if any(value is not None for value in values)
    }
    if any(_each_flow(cell) for cell in cells):
        shown[_EACH] = [_each_flow(cell) for cell in cells]
    return list(shown), [list(texts) for texts in zip(*shown.values(), strict=True)]


def _each_flow(cell: CellLine) -> str:
    """`2.31, 8.64`: goodput of each flow that always has data, if there are a few."""
    flows = [flow for flow in cell.flows if flow.bulk]
    several = 2 <= len(flows) <= _FEW_FLOWS
    return ", ".join(number(flow.goodput_mbps.mean) for flow in flows) if several else ""


def _means(results: Tables, name: str, cells: list[CellLine]) -> list[float | None]:
    factors = list(results.experiment.factors)
    found = summary(results, METRICS[name], by=factors).rows(named=True)
    known = {tuple(row[one] for one in factors): row["mean"] for row in found if row["count"] > 0}
    return [known.get(tuple(cell.levels.values())) for cell in cells]


def _of_links(
    cell: CellLine, name: str, choose: Callable[[Iterable[float]], float]
) -> float | None:
    known = [value for link in cell.links if (value := getattr(link, name)) is not None]
    return choose(known) if known else None


def _of_flows(cell: CellLine, value: Callable[[FlowLine], float | None]) -> float | None:
    """Mean over the flows that carry data."""
    known = [
        (one, flow.count)
        for flow in cell.flows
        if flow.algorithm != "ping" and (one := value(flow)) is not None and one == one  # NaN
    ]
    count = sum(weight for _, weight in known)
    return sum(one * weight for one, weight in known) / count if count else None


def _repeated(flow: FlowLine) -> float | None:
    return None if flow.algorithm == "UDP" else flow.lost


_COLUMNS: dict[str, Callable[[CellLine], float | None]] = {
    "goodput Mbit/s": lambda cell: cell.goodput_mbps,
    "use": lambda cell: _of_links(cell, "used", max),
    "queue ms p50": lambda cell: _of_links(cell, "delay_p50_ms", max),
    "p95": lambda cell: _of_links(cell, "delay_p95_ms", max),
    "RTT ms": lambda cell: _of_flows(cell, lambda flow: flow.rtt_ms.mean),
    "retransmitted": lambda cell: _of_flows(cell, _repeated),
    "dropped": lambda cell: _of_links(cell, "dropped", max),
    "Jain": lambda cell: _of_links(cell, "jain", min),
}
_EACH, _FEW_FLOWS = "each flow Mbit/s", 4
_SHARES = ("use", "retransmitted", "dropped")
CAPTION = (
    "Goodput: payload of all flows over the whole run. Use, queueing delay and drops: of the "
    "bottleneck where they are largest. RTT and retransmitted segments: mean of the flows. Jain's "
    "index: of the flows that always have data."
)


def _text(heading: str, value: float | None) -> str:
    if value is None:
        return ""
    if heading not in _SHARES:
        return number(value)
    percent = 100 * value
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if percent < 10 and percent else f"{percent:.0f} %"
