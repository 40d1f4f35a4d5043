"""Pages in Chromium: no word in the console, no overflow, nothing grave that axe-core finds.

Each page is opened with all that is folded, in a wide window and in that of a phone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import dumbbell
from dumbbell.animation.cells import cell_animations
from dumbbell.capture import survey
from dumbbell.capture.page import page as capture_page
from dumbbell.console import err
from dumbbell.fit.fitting import fit
from dumbbell.fit.page import page as fit_page
from dumbbell.report import render, write_report
from dumbbell.report.animations import GZIP
from dumbbell.vega.drawing import Drawer
from tests import synthetic
from tests.browser import needs_browser
from tests.driven import driven, faults
from tests.helpers import ROOT, simulated
from tests.short_examples import shorter
from tests.test_browser import CAPTURED
from tests.test_report import named

pytestmark = [needs_browser, pytest.mark.slow]

EXAMPLES = simulated(sorted((ROOT / "examples").glob("*.yaml")))


@pytest.fixture(scope="module")
def chromium(browser: None) -> Iterator[Browser]:
    del browser  # skips where there is none
    with driven() as made:
        yield made


@pytest.fixture(scope="module")
def drawer() -> Iterator[Drawer]:
    with Drawer() as made:
        yield made


@pytest.mark.parametrize("file", EXAMPLES, ids=[file.stem for file in EXAMPLES])
def test_the_report_of_an_example(
    file: Path, chromium: Browser, drawer: Drawer, tmp_path: Path
) -> None:
    results = dumbbell.run(file, set=shorter(file), repeats=1)
    page = tmp_path / "report.html"
    page.write_text(render({results.experiment.name: results}, drawer), encoding="utf-8")
    assert faults(chromium, page) == []


def test_the_report_of_a_study(chromium: Browser, drawer: Drawer, tmp_path: Path) -> None:
    parts = {
        f"multipath-{part}": named(synthetic.multipath(part), f"multipath-{part}")
        for part in ("single-vs-multi", "delay")
    }
    page = tmp_path / "report.html"
    page.write_text(render(parts, drawer), encoding="utf-8")
    assert faults(chromium, page) == []


def test_the_page_of_a_capture(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(CAPTURED, encoding="utf-8")
    dumbbell.run(file, captures=tmp_path)
    (capture,) = tmp_path.glob("*.pcapng")
    page = tmp_path / "page.html"
    page.write_text(capture_page([survey(capture)]), encoding="utf-8")
    assert faults(chromium, page) == []


def test_the_page_of_a_fit(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(CAPTURED, encoding="utf-8")
    dumbbell.run(file, captures=tmp_path)
    (capture,) = tmp_path.glob("*.pcapng")
    found = fit(capture, algorithms=["reno", "cubic"], draws=1, what_if=["cc=vegas"])
    page = tmp_path / "page.html"
    page.write_text(fit_page(found), encoding="utf-8")
    assert faults(chromium, page) == []


def test_a_report_opens_the_animation_of_a_run(
    chromium: Browser, drawer: Drawer, tmp_path: Path
) -> None:
    """A page that another contains, and the same page as a file."""
    file = tmp_path / "e.yaml"
    file.write_text(CAPTURED.replace("name: c\n", "name: moving\n"), encoding="utf-8")
    dumbbell.run(file, store=tmp_path / "store")
    animations = cell_animations(tmp_path / "store", ["all"], err)
    page = write_report(tmp_path / "store", tmp_path / "report.html", animations, drawer)
    assert faults(chromium, page) == []
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    told: list[str] = []
    context.on("console", lambda message: told.append(message.text))
    report = context.new_page()
    report.goto(page.as_uri())
    with context.expect_page() as waiting:
        report.click("a[data-page]")
    opened = waiting.value
    opened.wait_for_selector("canvas")
    assert opened.title() == "moving: packets moving"
    assert opened.url.startswith("blob:") and told == []
    report.click("a[data-page]")  # once more, unpacked already
    context.close()


def test_the_page_of_an_animation(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(CAPTURED, encoding="utf-8")
    dumbbell.run(file, store=tmp_path / "store")
    (animation,) = cell_animations(tmp_path / "store", ["all"], err)
    page = tmp_path / "animation.html"
    page.write_bytes(zlib.decompress(animation.packed, GZIP))
    assert faults(chromium, page) == []


def test_faults_are_found(chromium: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html lang=en><title>t</title><main><h1>t</h1><img src='data:,'>"
        "<p style='width: 900px'>wide</p></main><script>missing()</script>",
        encoding="utf-8",
    )
    found = faults(chromium, page)
    for words in ("missing is not defined", "390: the page is", "390: axe: critical: image-alt"):
        assert any(words in one for one in found), words
