"""Formulas of the page give the metrics' values, digit for digit, for every example."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import dumbbell
from dumbbell.experiment import load
from dumbbell.lives import while_alive
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from tests.helpers import ROOT
from tests.playground.test_numbers import TEXTS
from tests.playground.test_page import browser
from tests.scale import tried

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]  # fixture
pytestmark = pytest.mark.browser

SCRIPTS = ROOT / "dumbbell" / "playground" / "scripts"
#: Number of the page → metric, and its factor; for flows and for links.
FLOWS = {
    "mbps": ("goodput_mbps", 1.0),
    "rtt": ("rtt_ms", 1e6),
    "retransmitted": ("retransmitted_share", 100.0),
}
LINKS = {
    "mbps": ("link_throughput_mbps", 1.0),
    "used": ("link_use", 100.0),
    "lost": ("loss_ratio", 100.0),
    "p50": ("queue_delay_p50_ms", 1.0),
    "p95": ("queue_delay_p95_ms", 1.0),
}
#: What the page refuses.
_REFUSED = ("programs", "search:", "plugin", "quic")
#: Links whose capacity shrinks and grows: outages, bursts of buckets, delays, slots, traces.
ODD = {
    "tbf": "forward: {shaper: {tbf: {rate: 8 Mbit/s, burst: 40 KiB}}}",
    "down": "rate: 8 Mbit/s, forward: {changes: [{at: 2 s, state: down}, {at: 3 s, state: up}]}",
    "shorter": "rate: 8 Mbit/s, forward: {changes: [{at: 2 s, delay: 1 ms, rate: 3 Mbit/s}]}",
    "jitter": "rate: 8 Mbit/s, forward: {jitter: 4 ms}",
    "htb": "forward: {queue: {htb: {rate: 8 Mbit/s, queue: fq_codel}}}",
    "bytes": "rate: 8 Mbit/s, forward: {buffer: 40 KiB, framing: {overhead: 18 bytes}}",
}
_TEXT = """\
dumbbell: 1
name: odd
template: {dumbbell: {pairs: 3, rtt: 30 ms, LINK}}
flows:
  - {from: s1, to: d1, tcp: cubic}
  - {from: s2, to: d2, mptcp: cubic, start: 1 s}
  - {from: s3, to: d3, udp: 500 kbit/s, stop: 4 s}
duration: 6 s
sampling: 50 ms
"""


def _examples() -> Iterator[Any]:
    for name, text in TEXTS.items():
        yield pytest.param(text, id=name)
    for name, link in ODD.items():
        yield pytest.param(_TEXT.replace("LINK", link), id=name)
    files = [
        one
        for one in sorted((ROOT / "examples").glob("*.yaml"))
        if not any(word in one.read_text("utf-8") for word in _REFUSED)
    ]
    for file in files[:: tried(4, 1)]:
        yield pytest.param(file, id=file.stem)


@pytest.fixture(scope="module")
def script(browser: Browser) -> Iterator[Page]:
    """A page that has the formulas alone."""
    made = browser.new_page()
    made.set_content("<p>")
    # Colours are of the face's scripts; no number depends on them.
    made.add_script_tag(content="const algorithmStyle = () => undefined, flowColour = () => '';")
    for name in ("results.js", "figures.js"):
        made.add_script_tag(content=(SCRIPTS / name).read_text("utf-8"))
    yield made
    made.close()


def answer(results: Results) -> dict[str, Any]:
    """Tables and scenario of a run, as the simulator of the page gives them."""
    tables = {
        name: {
            column: [None if value != value else value for value in frame[column].to_list()]
            for column in frame.columns
        }
        for name in ("flows", "samples", "queues", "pipes", "probes")
        if (frame := getattr(results, name)) is not None
    }
    return {"tables": tables, "scenario": json.loads(results.runs["scenario"][0])}


def metric(results: Results, name: str) -> dict[str, float]:
    return dict(METRICS[name].measure(results).select(METRICS[name].of[0], "value").iter_rows())


@pytest.mark.parametrize("source", list(_examples()))
def test_formulas_give_the_metrics(source: str | Path, script: Page, tmp_path: Path) -> None:
    file = source if isinstance(source, Path) else tmp_path / "experiment.yaml"
    if isinstance(source, str):
        file.write_text(source, encoding="utf-8")
    first = dict(load(file, repeats=1).cells[0].levels)
    results = dumbbell.run(file, repeats=1, set=first)
    flows, links = script.evaluate("it => [flowsOf(it), bottlenecksOf(it)]", answer(results))
    assert flows
    for columns, rows, key in ((FLOWS, flows, "name"), (LINKS, links, "pipe")):
        for column, (name, factor) in columns.items():
            values = metric(results, name)
            for row in rows:
                value, shown = factor * values.get(row[key], math.nan), row[column]
                where = f"{row[key]}: {column} {shown}, {name} {value}"
                assert (shown is None) == math.isnan(value), where
                if shown is not None:
                    assert shown == pytest.approx(value, rel=1e-9, abs=1e-12), where


def test_every_number_of_the_page_is_compared() -> None:
    """Numbers that `main.js` shows are fields that are compared above."""
    text = (SCRIPTS / "main.js").read_text("utf-8")
    for what, columns in (("flow", FLOWS), ("pipe", LINKS)):
        shown = set(re.findall(rf"\bfigure\([^()]*?\b{what}\.(\w+)", text))
        assert shown == set(columns)


_DRAWN = """it => described(it, flowsOf(it), bottlenecksOf(it))
    .map(({title, names, data}) => ({title, names, data}))"""


def _points(chart: dict[str, Any], name: str) -> dict[float, float]:
    """Time in s → value of a line, where it has one."""
    column = chart["data"][1 + chart["names"].index(name)]
    pairs = zip(chart["data"][0], column, strict=True)
    return {at: value for at, value in pairs if value is not None}


def _rows(frame: pl.DataFrame, key: str, name: str, column: str) -> dict[float, float]:
    """Time in s → known value of a column."""
    own = frame.filter(pl.col(key) == name, pl.col(column) >= 0)
    return {at / 1e9: value for at, value in own.select("time_ns", column).iter_rows()}


@pytest.mark.parametrize("name", ["kinds", "changes"])
def test_charts_draw_the_rows_of_the_tables(name: str, script: Page, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(TEXTS[name], encoding="utf-8")
    results = dumbbell.run(file, repeats=1)
    charts = {one["title"]: one for one in script.evaluate(_DRAWN, answer(results))}
    assert list(charts) == ["Congestion window", "Goodput", "Round-trip time", "Queue"]
    samples = while_alive(results.samples, results.flows)
    for flow in charts["Congestion window"]["names"]:
        expected = _rows(samples, "flow", flow, "cwnd_packets")
        assert expected and _points(charts["Congestion window"], flow) == expected
    for flow in charts["Round-trip time"]["names"]:
        ping = "ping" in results.flows.filter(flow=flow)["kind"]
        frame, column = (results.probes, "rtt_ns") if ping else (samples, "srtt_ns")
        expected = {at: one / 1e6 for at, one in _rows(frame, "flow", flow, column).items()}
        assert expected and _points(charts["Round-trip time"], flow) == pytest.approx(expected)
    for pipe in charts["Queue"]["names"]:
        stored = pipe.replace(" →", "/forward").replace(" ←", "/backward")
        expected = _rows(results.queues, "pipe", stored, "queued_packets")
        assert expected and _points(charts["Queue"], pipe) == expected
    for flow in charts["Goodput"]["names"]:
        delivered = _rows(samples, "flow", flow, "delivered_bytes")
        times, step = list(delivered), max(1, round(len(delivered) / 100))
        expected = {
            now: (delivered[now] - delivered[before]) * 8e-6 / (now - before)
            for before, now in zip(times, times[step:], strict=False)
        }
        assert expected and _points(charts["Goodput"], flow) == pytest.approx(expected)
