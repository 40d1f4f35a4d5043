"""The site of the documentation: built without a warning, and looked at in a browser."""

from __future__ import annotations

import html.parser
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.helpers import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    built = subprocess.run(
        [*command, "-c", "docs", "-d", folder / "doctrees", ".", folder / "html"],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[-3000:]
    return folder / "html"


def test_excerpts_have_each_text_once(site: Path) -> None:
    text = (site / "_static" / "excerpts.js").read_text(encoding="utf-8")
    assert text.count("CoDel signals while packets wait too long.") == 1
    assert len(text.encode()) < 1_500_000


def test_every_page_is_there(site: Path) -> None:
    for page in (*ROOT.glob("docs/**/*.md"), ROOT / "README.md"):
        assert (site / page.relative_to(ROOT).with_suffix(".html")).exists(), page
    assert (site / "searchindex.js").exists()


def test_the_start_page_has_six_doors_with_a_picture_each(site: Path) -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    begin, _, listed = text.partition("## All pages")
    assert "{toctree}" in listed and "{toctree}" not in begin
    doors = begin.partition("## What do you want to do?")[2].partition("\n## ")[0]
    found = re.findall(r"^### \[.+\]\((\S+)\)\n\n\[!\[.+\]\((\S+)\)\]\(\1\)$", doors, re.MULTILINE)
    assert len(found) == 6 == doors.count("### ")
    for page, picture in found:
        assert (ROOT / "docs" / page).exists()
        assert (ROOT / "docs" / picture).stat().st_size < 60_000
    assert len(_Links((site / "docs" / "index.html").read_text(encoding="utf-8")).links) > 60


class _Links(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {str(found[name]) for name in ("id", "name") if found.get(name)}
        if tag in ("a", "img"):
            self.links |= {str(found[name]) for name in ("href", "src") if found.get(name)}


def test_every_link_leads_to_a_page_and_an_anchor(site: Path) -> None:
    generated = ("genindex.html", "search.html", "playground.html")
    pages = {
        page.resolve(): _Links(page.read_text(encoding="utf-8"))
        for page in site.rglob("*.html")
        if page.name not in generated
    }
    broken = []
    for page, found in pages.items():
        for link in sorted(found.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                # Pages elsewhere are not asked for; only the form of their address is checked.
                good = bool(parts.netloc) if parts.scheme.startswith("http") else True
            else:
                path, anchor = unquote(parts.path), unquote(parts.fragment)
                target = (page.parent / path).resolve() if path else page
                good = target.is_file()
                if good and target in pages:
                    good = anchor in pages[target].anchors
            if not good:
                broken.append(f"{page.relative_to(site.resolve())}: {link}")
    assert broken == []


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
        assert "codel" in page.inner_text("#search-results").lower()
        # A page of `file:` can fetch no other page; its excerpts are there.
        page.wait_for_selector(".search-summary:has-text('found')")
        count = "document.querySelectorAll('#search-results li{}').length"
        page.wait_for_function(f"{count.format('')} === {count.format(' p.context')}")
        for text in page.locator("#search-results p.context").all_inner_texts():
            assert "codel" in text.lower() and "<!--" not in text
        browser.close()
