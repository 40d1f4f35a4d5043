"""The site of the documentation: built without a warning, and looked at in a browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    built = subprocess.run(
        [*command, "-c", "docs", "-d", folder / "doctrees", ".", folder / "html"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[-3000:]
    return folder / "html"


def test_every_page_is_there(site: Path) -> None:
    for page in (*ROOT.glob("docs/**/*.md"), ROOT / "README.md"):
        assert (site / page.relative_to(ROOT).with_suffix(".html")).exists(), page
    assert (site / "searchindex.js").exists()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_in_a_browser(site: Path, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    from tests.browser import CHROMIUM

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM)
        page = browser.new_page(viewport={"width": width, "height": 900})
        for name in ("docs/index", "docs/tutorial/01-first-experiment", "README"):
            page.goto((site / f"{name}.html").as_uri())
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, name
            found = Axe().run(page).response["violations"]
            bad = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
            assert bad == [], name
        page.goto((site / "search.html").as_uri() + "?q=CoDel")
        page.wait_for_selector("#search-results li a")
        assert "disciplines" in page.inner_text("#search-results").lower()
        browser.close()
