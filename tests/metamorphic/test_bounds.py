"""No surface shows a number beyond its physical bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dumbbell.metrics import METRICS
from dumbbell.results import Results
from dumbbell.summary.cells import CellLine, cells
from dumbbell.summary.findings import findings
from tests.metamorphic.experiments import EXAMPLES, IDS, drawn, example
from tests.scale import SCALE, tried

pytestmark = pytest.mark.slow

COUNT, AT_ONCE = tried(25, 50) * SCALE, 25
_ROUNDING = 1 + 1e-6


def beyond(results: Results) -> Iterator[str]:
    """Numbers of metrics and lines that cannot be."""
    for metric in METRICS.values():
        yield from metric.breaches(metric.computed(results), results)
    for cell in cells(results):
        yield from _of_cell(cell)


def _of_cell(cell: CellLine) -> Iterator[str]:
    fixed = cell.setting and not any(pipe.changes for pipe in cell.setting.pipes.values())
    for flow in cell.flows:
        base = flow.base_rtt_ms
        if fixed and base and flow.algorithm == "ping" and flow.rtt_ms.mean * _ROUNDING < base[0]:
            yield f"{flow.title}: RTT {flow.rtt_ms.mean} ms on a path of {base[0]} ms"
        shares = {"share": flow.share, "joint share": flow.joint_share, "lost": flow.lost}
        yield from (
            f"{flow.title}: {name} {value}"
            for name, value in shares.items()
            if value is not None and not -1e-9 <= value <= _ROUNDING
        )
    for link in cell.links:
        delays = [link.delay_p10_ms or 0.0, link.delay_p50_ms or 0.0, link.delay_p95_ms or 0.0]
        if delays != sorted(delays):
            yield f"{link.pipe}: quantiles {delays}"
        total = sum(link.drops.values())
        if link.dropped is not None and not total <= link.dropped * _ROUNDING + 1e-9:
            yield f"{link.pipe}: {total} dropped by reason, {link.dropped} in all"
    for finding in findings([cell]):
        if "0 %" in finding.sentence.split() or "nan" in finding.sentence:
            yield finding.sentence


@pytest.mark.parametrize("file", EXAMPLES, ids=IDS)
def test_no_number_of_an_example_is_beyond_its_bound(file: Path) -> None:
    assert list(beyond(example(file))) == []


@pytest.mark.parametrize("begin", range(0, COUNT, AT_ONCE))
def test_no_number_is_beyond_its_bound(begin: int, tmp_path: Path) -> None:
    found: list[str] = []
    for number, results in drawn(range(begin, begin + AT_ONCE), tmp_path):
        found += [f"{number}: {one}" for one in beyond(results)]
    assert not found, "\n".join(found)
