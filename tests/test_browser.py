"""What the page of a capture shows in a real browser; `tests/test_pages.py` opens the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dumbbell
from dumbbell.capture import survey
from dumbbell.capture.page import page as capture_page
from tests.browser import needs_browser, opened

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
