"""The playground in a browser, opened from a file without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dumbbell import _core
from dumbbell.errors import DumbbellError
from dumbbell.experiment.load import Opened
from dumbbell.playground.page import page
from tests.browser import CHROMIUM
from tests.helpers import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


def readme_text() -> str:
    found = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


WAIT_MS = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        made = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    try:
        text = page(readme_text(), "two-flows.yaml")
    except DumbbellError as error:
        pytest.skip(str(error))
    path: Path = tmp_path_factory.mktemp("playground") / "play.html"
    path.write_text(text, encoding="utf-8")
    assert path.stat().st_size < 5_000_000
    return path.as_uri()


def opened(browser: Browser, address: str, **options: Any) -> Page:
    context = browser.new_context(offline=True, **options)
    shown = context.new_page()
    shown.on("pageerror", lambda error: pytest.fail(str(error)))
    shown.goto(address)
    shown.wait_for_selector(".status[data-digest]", timeout=WAIT_MS)
    return shown


def native_digest(text: str, cell: int = 0) -> str:
    reading = Opened(text, Path("experiment.yaml"))
    scenario = next(iter(reading.cells(cell, cell + 1))).scenario
    return _core.run(scenario, reading.info.seed).digest


def write(shown: Page, text: str) -> None:
    shown.locator(".cm-content").click()
    shown.keyboard.press("Control+a")
    shown.keyboard.insert_text(text)


def test_readme_runs_and_digests_equal_those_of_the_command_line(
    browser: Browser, address: str
) -> None:
    shown = opened(browser, address)
    assert shown.locator(".uplot").count() == 4
    assert shown.locator(".scroll tbody tr").count() == 3
    status = shown.locator(".status")
    assert status.get_attribute("data-digest") == native_digest(readme_text())
    # Another level of the factor: another run.
    shown.get_by_label("rtt").select_option("80 ms")
    wanted = native_digest(readme_text(), 2)
    shown.wait_for_selector(f'.status[data-digest="{wanted}"]', timeout=WAIT_MS)
    shown.context.close()


def test_wrong_text_keeps_the_picture_and_names_the_line(browser: Browser, address: str) -> None:
    shown = opened(browser, address)
    digest = shown.locator(".status").get_attribute("data-digest")
    good = (
        readme_text()
        .replace("$rtt", "10 ms")
        .replace("factors: {rtt: [10 ms, 40 ms, 80 ms]}\n", "")
    )
    for end in range(30, len(good), 40):
        write(shown, good[:end])
        shown.wait_for_function("document.querySelector('.status').classList.contains('wrong')")
        assert shown.locator(".uplot").count() == 4
    write(shown, good.replace("duration: 30 s", "duration: 30"))
    shown.get_by_text("Line 7: a time needs a unit").first.wait_for(timeout=WAIT_MS)
    assert shown.locator(".cm-lintRange-error").count() == 1
    write(shown, good.replace("10 Mbit/s", "10 Tbit/s"))
    shown.get_by_text("too many for a page").first.wait_for(timeout=WAIT_MS)
    write(shown, good + "programs: [{on: s1, run: iperf3 -s}]\n")
    shown.get_by_text("`programs` is not in the playground").first.wait_for(timeout=WAIT_MS)
    write(shown, good.replace("10 Mbit/s", "5 Mbit/s"))
    shown.wait_for_function(
        "old => document.querySelector('.status').dataset.digest !== old", arg=digest
    )
    assert "wrong" not in (shown.locator(".status").get_attribute("class") or "")
    shown.context.close()


def test_completion_by_keyboard(browser: Browser, address: str) -> None:
    shown = opened(browser, address)
    write(shown, "dumbbell: 1\nflows:\n  - {from: s1, to: d1, tcp: ")
    shown.keyboard.type("cub")
    offers = shown.locator(".cm-tooltip-autocomplete")
    offers.wait_for()
    assert "cubic" in offers.inner_text()
    shown.keyboard.press("Escape")
    write(shown, "dumbbell: 1\n")
    shown.keyboard.type("dur")
    offers.wait_for()
    assert "duration" in offers.inner_text()
    shown.context.close()


def test_link_holds_the_experiment(browser: Browser, address: str) -> None:
    shown = opened(browser, address)
    text = readme_text().replace("two flows", "linked flows")
    write(shown, text)
    shown.get_by_role("button", name="Copy link").click()
    shown.wait_for_function("location.hash.length > 20")
    again = opened(browser, shown.url)
    assert "linked flows" in again.locator(".cm-content").inner_text()
    shown.context.close()
    again.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_fits_and_is_accessible(browser: Browser, address: str, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    size = {"width": width, "height": 850}
    shown = opened(browser, address, viewport=size, color_scheme=scheme)
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(shown).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert serious == [], json.dumps(serious, indent=1)[:3000]
    shown.context.close()
