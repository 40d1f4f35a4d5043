"""Terminal, JSON, report, explorer and sentences show one value for one name."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dumbbell.explore.listing import Listing, Question
from dumbbell.metrics.numbers import number
from dumbbell.metrics.statistics import Interval
from dumbbell.report.experiment import experiment_page
from dumbbell.results import Results
from dumbbell.summary import overview, per_cell
from dumbbell.summary.cells import FIELDS, CellLine, cells
from dumbbell.summary.findings import LOSSY, STARVED, TARGET_MS, UNDERUSED, findings
from tests.metamorphic.experiments import EXAMPLES, IDS, example

pytestmark = pytest.mark.slow

_FEW = ("two-flows", "data-centre", "answers", "call", "multipath", "bufferbloat")
FEW = [(file, name) for file, name in zip(EXAMPLES, IDS, strict=True) if name in _FEW]
_NUMBER = re.compile(r"(?<![\w.])\d[\d\u202f]*(?:\.\d+)?(?:e[-+]?\d+)?")


@pytest.fixture(scope="module", params=[file for file, _ in FEW], ids=[name for _, name in FEW])
def results(request: pytest.FixtureRequest) -> Results:
    return example(cast("Path", request.param))


def test_json_has_the_numbers_of_the_terminal(results: Results) -> None:
    every = cells(results)
    told = overview.to_json(results, every)["tables"]
    for cell in every:
        own = [row for row in told["flows"] if cell.levels.items() <= row.items()]
        for flow in cell.flows:
            if flow.count == 1 and not math.isnan(flow.goodput_mbps.mean):
                pairs = {(row["goodput_mbps"], row["joint_share"], row["rtt_ms"]) for row in own}
                rtt = None if math.isnan(flow.rtt_ms.mean) else flow.rtt_ms.mean
                assert any(
                    _alike(one, other)
                    for one in pairs
                    for other in [(flow.goodput_mbps.mean, flow.joint_share, rtt)]
                ), flow.title
        links = {row["pipe"]: row for row in told["links"] if cell.levels.items() <= row.items()}
        for link in cell.links:
            assert links[link.pipe]["used"] == link.used
            assert links[link.pipe]["dropped"] == link.dropped


def _alike(one: tuple[float | None, ...], other: tuple[float | None, ...]) -> bool:
    return all(
        a is b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9))
        for a, b in zip(one, other, strict=True)
    )


def test_the_report_has_the_texts_of_the_terminal(results: Results) -> None:
    page = re.sub(r"<[^>]*>", "\n", str(experiment_page(results)))
    shown = {html.unescape(one).strip() for one in page.splitlines()}
    drawn = [overview.lines(cell) for cell in cells(results)]
    columns = overview.columns_of(drawn)
    for own in drawn:
        for _, texts in own:
            assert {text for name, text in texts.items() if name in columns} <= shown


def test_the_explorer_lists_the_numbers_of_the_terminal(results: Results) -> None:
    """Metrics of whole runs: those of flows are means over flows there, as their heading says."""
    listing = Listing(cast("Any", SimpleNamespace(results=results)))
    # One flow of the file: a transfer time there is a mean over flows.
    names = [metric for metric in FIELDS.values() if metric != "transfer_s"]
    answer = listing.answer(Question(by="cells", metrics=names))
    factors = list(results.experiment.factors)
    rows = {
        tuple(row[answer["columns"].index(name)] for name in factors): row for row in answer["rows"]
    }
    for cell in cells(results):
        row = rows[tuple(cell.levels.values())]
        for field, metric in FIELDS.items():
            if metric in names:
                listed, value = row[answer["columns"].index(metric)], getattr(cell, field)
                assert math.isnan(listed) if value is None else math.isclose(listed, value), metric


def values(found: object) -> Iterator[float]:
    """All numbers in a cell and its setting."""
    if isinstance(found, Interval):
        yield found.mean
    elif isinstance(found, bool) or found is None or isinstance(found, str):
        return
    elif isinstance(found, int | float):
        yield float(found)
    elif isinstance(found, dict):
        for one in found.values():
            yield from values(one)
    elif isinstance(found, list | tuple):
        for one in found:
            yield from values(one)
    elif is_dataclass(found):
        for field in fields(found):
            yield from values(getattr(found, field.name))


def texts_of(cell: CellLine) -> set[str]:
    """Each number as a sentence may word it: as it is, as a percentage, rounded."""
    known = [value for value in values(cell) if math.isfinite(value)]
    known += [one for pipe in _pipes(cell) for one in pipe.limit_ms or ()]
    known += [pipe.limit_packets or 0.0 for pipe in _pipes(cell)]
    sizes = [pipe.limit_bytes or 0.0 for pipe in _pipes(cell)]
    known += [size / unit for size in sizes for unit in (1 << 10, 1 << 20)]  # told in KiB or MiB
    known += [flow.count for flow in cell.flows]
    found: set[str] = set()
    for value in known:
        found |= {number(value), number(round(value)), number(round(value, 1))}
        found |= {f"{100 * value:.3g}", f"{100 * value:.2g}", f"{100 * value:.0f}"}
    return found


def _pipes(cell: CellLine) -> list[Any]:
    return list(cell.setting.pipes.values()) if cell.setting else []


def words_without_names(sentence: str, cell: CellLine) -> str:
    """The sentence without names of cells, flows and links, and without RFC numbers."""
    names = [
        *(flow.title for flow in cell.flows),
        *(pipe.rpartition("/")[0] for pipe in _links(cell)),
    ]
    names += [f"{name} {level}" for name, level in cell.levels.items()]
    names += [words for pipe in _pipes(cell) for _, words in pipe.changes]
    for name in sorted(names, key=len, reverse=True):
        sentence = sentence.replace(name, "")
    return re.sub(r"RFC \d+", "", sentence).partition(" in ")[0]


def _links(cell: CellLine) -> list[str]:
    return list(cell.setting.pipes) if cell.setting else [link.pipe for link in cell.links]


def test_the_numbers_of_a_finding_stand_in_the_tables(results: Results) -> None:
    every = cells(results)
    limits = {number(100 * one) for one in (STARVED, UNDERUSED, LOSSY)} | {number(TARGET_MS)}
    for cell in every:
        for finding in findings([cell]):
            words = words_without_names(finding.sentence, cell)
            told = set(_NUMBER.findall(words)) - limits
            quotients = [one for one in told if "for each of" in words]
            assert told - texts_of(cell) - set(quotients) == set(), finding.sentence


def test_a_row_of_cells_has_the_numbers_of_its_cell(results: Results) -> None:
    every = cells(results)
    head, rows = per_cell.rows(every, results)
    for cell, row in zip(every, rows, strict=True):
        shown = dict(zip(head, row, strict=True))
        if cell.goodput_mbps is not None:
            assert shown["goodput Mbit/s"] == number(cell.goodput_mbps)
        if cell.tcp_rtt_ms is not None:
            assert shown["TCP RTT ms"] == number(cell.tcp_rtt_ms)
