"""A browser that Playwright drives: faults of a page in its console, its width, by axe-core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser import CHROMIUM

#: Flags of the browser that Playwright drives.
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)  # fmt: skip
_AXE = "axe_playwright_python/axe.min.js"
#: Opens what is folded, shows each chart until its drawing begins, and waits for all drawings.
_WHOLE = """async () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  const charts = [...document.querySelectorAll(".chart[data-panels]")];
  const pause = () => new Promise((done) => setTimeout(done, 5));
  for (const chart of charts)
    for (let tries = 0; tries < 1000 && !chart.dataset.drawn; tries++) {
      chart.scrollIntoView();
      await pause();
    }
  for (let tries = 0; tries < 2000 && !charts.every((one) => one.view); tries++) await pause();
  for (const one of charts) if (!one.view) console.error(`${one.id} is not drawn`);
}"""
#: Violations of axe-core's rules: impact, rule, first element.
_VIOLATIONS = """async () => (await axe.run({ resultTypes: ["violations"] })).violations
  .map((one) => [one.impact, one.id, one.nodes[0].html.slice(0, 200)])"""
_GRAVE = ("serious", "critical")
#: Width of the window in which axe-core looks: there tables scroll.
_NARROW = 390


@contextmanager
def driven() -> Iterator[Browser]:
    """A browser for many pages. No test may use asyncio meanwhile: keep it to a module."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        yield browser
        browser.close()


def faults(browser: Browser, page: Path, widths: Sequence[int] = (1280, _NARROW)) -> list[str]:
    """What is wrong with a page with everything unfolded, in windows of these widths.

    Words in the console, more width than the window has; in the narrow one, grave findings of
    axe-core.
    """
    found: list[str] = []
    for width in widths:
        found += [f"{width}: {fault}" for fault in _faults(browser, page, width)]
    return found


def _faults(browser: Browser, page: Path, width: int) -> list[str]:
    found: list[str] = []
    opened = browser.new_page(viewport={"width": width, "height": 1000})
    opened.on("console", lambda one: found.append(f"console: {one.type}: {one.text}"))
    opened.on("pageerror", lambda error: found.append(f"console: {error}"))
    opened.goto(page.as_uri())
    opened.evaluate(_WHOLE)
    wide = opened.evaluate("document.documentElement.scrollWidth")
    if wide > width:
        found.append(f"the page is {wide} pixels wide")
    if width == _NARROW:
        opened.evaluate(distribution("axe-playwright-python").locate_file(_AXE).read_text("utf-8"))
        found += [
            f"axe: {impact}: {rule}: {element}"
            for impact, rule, element in opened.evaluate(_VIOLATIONS)
            if impact in _GRAVE
        ]
    opened.close()
    return found
