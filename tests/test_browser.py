"""Pages in a real browser, where one is installed: nothing in the console.

The window is high: charts are drawn when they come into view.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dumbbell
from dumbbell.capture import survey
from dumbbell.capture.page import page as capture_page
from dumbbell.report import render
from tests import synthetic
from tests.browser import needs_browser, opened
from tests.test_report import named

CAPTURED = """\
dumbbell: 1
name: c
template: {dumbbell: {rate: 10 Mbit/s, rtt: 20 ms, buffer: 10 packets}}
flows: [{from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 100 KB}}]
taps: [{at: s1, link: s1-r1}]
sampling: {capture: true}
duration: 3 s
"""

pytestmark = needs_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parts = {
        f"multipath-{part}": named(synthetic.multipath(part), f"multipath-{part}")
        for part in ("single-vs-multi", "delay")
    }
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(parts), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_opens_without_a_word_in_the_console(
    page: Path, tmp_path: Path, width: int
) -> None:
    dom, log = opened(page, tmp_path, (width, 20_000))
    assert not re.findall(r"CONSOLE[:(].*", log)
    # Drawn or not yet drawn (when, is the browser's choice), every chart is there.
    assert len(re.findall(r'<div class="chart"[^>]*data-panels', dom)) == 4


@pytest.mark.slow
def test_the_console_is_heard(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><script>missing()</script>", encoding="utf-8")
    assert re.search(
        r"CONSOLE[:(].*missing is not defined", opened(page, tmp_path, (390, 20_000))[1]
    )


@pytest.mark.slow
def test_the_page_of_a_capture_opens_without_a_word_in_the_console(tmp_path: Path) -> None:
    experiment = tmp_path / "e.yaml"
    experiment.write_text(CAPTURED, encoding="utf-8")
    dumbbell.run(experiment, captures=tmp_path)
    (capture,) = tmp_path.glob("*.pcapng")
    page = tmp_path / "page.html"
    page.write_text(capture_page([survey(capture)]), encoding="utf-8")
    dom, log = opened(page, tmp_path / "profile", (1280, 20_000))
    assert not re.findall(r"CONSOLE[:(].*", log)
    # Rate, time and sequence, round trips, bytes in flight.
    assert len(re.findall(r"<canvas", dom)) == 4
    assert len(re.findall(r'<tr class="chosen"', dom)) == 1
    for words in ("retransmission: fast", "SACK block", "10.0.0.1:20001", "retransmission: fast"):
        assert words in dom
