"""Pages in a real browser, where one is installed: nothing in the console."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dumbbell.report import render
from tests import synthetic
from tests.test_report import named

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")


@pytest.fixture(scope="module", autouse=True)
def _works(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where a browser is installed but cannot run (no shared memory, say), nothing is tested."""
    empty = tmp_path_factory.mktemp("empty")
    (empty / "page.html").write_text("<!doctype html><p>here</p>", encoding="utf-8")
    try:
        dom, _ = opened(empty / "page.html", empty, 800)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"chromium does not run here: {error}")
    assert "here" in dom


def opened(page: Path, profile: Path, width: int) -> tuple[str, str]:
    """The page's DOM after its scripts ran, and the browser's log."""
    command = [
        str(CHROMIUM),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
        f"--window-size={width},20000",  # charts are drawn when they come into view
        "--virtual-time-budget=20000",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parts = {
        f"multipath-{part}": named(synthetic.multipath(part), f"multipath-{part}")
        for part in ("single-vs-multi", "delay")
    }
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(parts), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_opens_without_a_word_in_the_console(
    page: Path, tmp_path: Path, width: int
) -> None:
    dom, log = opened(page, tmp_path, width)
    assert not re.findall(r"CONSOLE[:(].*", log)
    # Drawn or not yet drawn (when, is the browser's choice), every chart is there.
    assert len(re.findall(r'<div class="chart"[^>]*data-panels', dom)) == 4


def test_the_console_is_heard(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><script>missing()</script>", encoding="utf-8")
    assert re.search(r"CONSOLE[:(].*missing is not defined", opened(page, tmp_path, 390)[1])
