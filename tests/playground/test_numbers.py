"""The playground's tables have the values of the metrics that they name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import dumbbell
from dumbbell.metrics import METRICS
from dumbbell.results import Results
from tests.playground.test_page import (
    WAIT_MS,
    address,
    browser,
    native_digest,
    opened,
    readme_text,
    write,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["address", "browser"]  # fixtures
pytestmark = pytest.mark.browser

#: Several flows and kinds, a link with a frame's overhead, marks, a policer, a rate that changes.
TEXTS = {
    "readme": readme_text(),
    "kinds": """\
dumbbell: 1
name: kinds
template: {dumbbell: {pairs: 4, rate: 10 Mbit/s, rtt: 40 ms, buffer: 1 BDP}}
flows:
  - {from: s1, to: d1, tcp: bbr}
  - {from: s2, to: d2, tcp: cubic, start: 2 s}
  - {from: s3, to: d3, udp: 1 Mbit/s, stop: 6 s}
  - {from: s4, to: d4, ping: 100 ms}
duration: 10 s
sampling: 100 ms
""",
    "adsl": """\
dumbbell: 1
name: adsl
template:
  dumbbell:
    rtt: 30 ms
    forward: {rate: 8 Mbit/s, buffer: 40 packets, framing: {overhead: 22 bytes, atm: true}}
    backward: {rate: 1 Mbit/s, buffer: 20 packets}
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 10 s
sampling: 100 ms
""",
    "framing": """\
dumbbell: 1
name: framing
template:
  dumbbell:
    rtt: 30 ms
    forward: {rate: 8 Mbit/s, buffer: 40 packets, framing: {overhead: 22 bytes}}
    backward: {rate: 1 Mbit/s, buffer: 20 packets}
flows: [{from: s1, to: d1, tcp: cubic}, {from: d1, to: s1, tcp: reno, start: 1 s}]
duration: 10 s
sampling: 100 ms
""",
    "policed": """\
dumbbell: 1
name: policed
template:
  dumbbell:
    rtt: 30 ms
    rate: 20 Mbit/s
    forward: {policer: {rate: 4 Mbit/s, burst: 50 KiB}}
flows: [{from: s1, to: d1, tcp: cubic}]
duration: 10 s
sampling: 100 ms
""",
    "changes": """\
dumbbell: 1
name: changes
template:
  dumbbell:
    rtt: 30 ms
    rate: 8 Mbit/s
    queue: {codel: {ecn: true}}
    forward: {changes: [{at: 4 s, rate: 3 Mbit/s}], loss: 0.2 %}
hosts: {defaults: {tcp_ecn: 1}}
flows: [{from: s1, to: d1, tcp: reno}, {from: s1, to: d1, mptcp: cubic, start: 1 s}]
duration: 10 s
sampling: 100 ms
""",
}
#: Column of the page → metric, and its factor.
FLOWS = {
    "Mbit/s": ("goodput_mbps", 1),
    "RTT, ms": ("rtt_ms", 1),
    "retransmitted": ("retransmitted_share", 100),
}
LINKS = {
    "Mbit/s": ("link_throughput_mbps", 1),
    "use": ("link_use", 100),
    "queue p50, ms": ("queue_delay_p50_ms", 1),
    "queue p95, ms": ("queue_delay_p95_ms", 1),
    "lost": ("loss_ratio", 100),
}


def shown_tables(page: Page) -> list[list[dict[str, str]]]:
    """Tables of the page: column → text."""
    found = []
    for table in page.locator(".scroll table").all():
        names = table.locator("thead th").all_inner_texts()
        rows = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
        found.append([dict(zip(names, row, strict=True)) for row in rows])
    return found


def value_of(results: Results, metric: str, **only: str) -> float:
    frame = METRICS[metric].measure(results)
    where = [pl.col(name) == value for name, value in only.items()]
    values = frame.filter(*where)["value"].drop_nans()
    return math.nan if values.is_empty() else float(values[0])


def is_shown(text: str, value: float) -> bool:
    """Is a value shown by this text, with its digits?"""
    text = text.removesuffix(" %")
    if text == "–":
        return math.isnan(value)
    digits = len(text.partition(".")[2])
    return abs(float(text) - value) <= 0.5 * 10.0**-digits * 1.0001


@pytest.mark.parametrize("name", TEXTS)
def test_the_page_shows_the_metrics(
    name: str, browser: Browser, address: str, tmp_path: Path
) -> None:
    text = TEXTS[name]
    path = tmp_path / "experiment.yaml"
    path.write_text(text, encoding="utf-8")
    first = {"rtt": "10 ms"} if name == "readme" else {}  # The page shows the first cell.
    results = dumbbell.run(path, repeats=1, set=first)
    page = opened(browser, address)
    write(page, text)
    page.wait_for_selector(f'.status[data-digest="{native_digest(text)}"]', timeout=WAIT_MS)
    flows, links = shown_tables(page)[:2]
    assert flows and links
    for row in flows:
        flow = row["flow"].split(" (")[0].strip()
        for column, (metric, scale) in FLOWS.items():
            value = scale * value_of(results, metric, flow=flow)
            assert is_shown(row[column], value), f"{flow}: {column} {row[column]}, {metric} {value}"
    for row in links:
        pipe = row["bottleneck"].replace(" →", "/forward").replace(" ←", "/backward")
        for column, (metric, scale) in LINKS.items():
            value = scale * value_of(results, metric, pipe=pipe)
            assert is_shown(row[column], value), f"{pipe}: {column} {row[column]}, {metric} {value}"
    page.context.close()
