"""The explorer in Chromium: every view, by mouse and by keys, wide and narrow, and by axe-core."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, Request, expect

import dumbbell
from dumbbell.studies.running import run_study
from tests.browser import needs_browser
from tests.driven import driven
from tests.explore.server import Running, running
from tests.explore.stores import EXPERIMENT, NAME

pytestmark = [needs_browser, pytest.mark.slow]
#: A busy machine is slow, not wrong.
_PATIENCE_MS = 30_000
expect.set_options(timeout=_PATIENCE_MS)

_AXE = "axe_playwright_python/axe.min.js"
_VIOLATIONS = """async () => (await axe.run({ resultTypes: ["violations"] })).violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`)"""
_IN_ROWS = (
    "document.activeElement?.type === 'checkbox' && !!document.activeElement.closest('.rows')"
)


@pytest.fixture(scope="module")
def chromium(browser: None) -> Iterator[Browser]:
    del browser  # skips where there is none
    with driven() as made:
        yield made


@pytest.fixture
def told() -> list[str]:
    """Words in the console of the page of a test, and what it asked of others than the server."""
    return []


@pytest.fixture
def page(chromium: Browser, told: list[str]) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(_PATIENCE_MS)
    made = context.new_page()

    def asked(request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            told.append(request.url)

    made.on("console", lambda one: told.append(one.text))
    made.on("pageerror", lambda error: told.append(str(error)))
    made.on("request", asked)
    yield made
    context.close()


def opened(page: Page, explorer: Running, place: str = "") -> None:
    """Opens the address that the program prints, then a place in the explorer."""
    page.goto(explorer.address)
    page.wait_for_selector("main .view > *")
    if place:
        page.evaluate(f"location.hash = {json.dumps(place)}")
    assert explorer.token not in page.url


def runs_of(explorer: Running) -> list[str]:
    return [row[0] for row in explorer.json("list")["rows"]]


def drawn(page: Page, more: int = 0) -> int:
    """Waits until charts were drawn more often than that. The page forbids `wait_for_function`."""
    until = time.monotonic() + _PATIENCE_MS / 1000
    while time.monotonic() < until:
        place = page.locator(".lines")
        count = int(place.get_attribute("data-drawn") or 0) if place.count() else 0
        if count > more:
            return count
        page.wait_for_timeout(20)
    raise AssertionError("the charts are not drawn")


def shown_window(page: Page) -> tuple[float, float]:
    """Stretch of time on the charts."""
    start, end = (page.get_attribute(".lines", "data-window") or "").split()
    return float(start), float(end)


def test_views_are_narrow_and_accessible(page: Page, explorer: Running, told: list[str]) -> None:
    runs = runs_of(explorer)
    opened(page, explorer)
    page.evaluate(distribution("axe-playwright-python").locate_file(_AXE).read_text("utf-8"))
    places = {
        "runs": "tbody tr",
        "runs?by=cells&sort=rtt": "tbody tr",
        f"compare?runs={','.join(runs[:4])}": ".lines[data-drawn]",
        f"run?run={runs[0]}": ".lines[data-drawn]",
        "edit": ".picture[data-stamp]",
    }
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for place, ready in places.items():
            page.evaluate(f"location.hash = {json.dumps(place)}")
            page.wait_for_selector(f".view {ready}")
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, place
            if width == 390:
                for dark in (True, False):
                    page.emulate_media(color_scheme="dark" if dark else "light")
                    assert page.evaluate(_VIOLATIONS) == [], (place, dark)
    assert told == []
    # The name of the experiment is text, wherever it stands.
    expect(page.locator("h1")).to_have_text(NAME)
    assert page.locator("img").count() == 0


def test_runs_are_filtered_sorted_and_chosen(page: Page, explorer: Running) -> None:
    opened(page, explorer)
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(8)
    page.fill("#filter", "cc = cubic and rtt < 20 ms")
    expect(rows).to_have_count(2)
    page.fill("#filter", "SELECT * FROM runs")
    expect(page.get_by_role("alert")).to_contain_text("filter: not understood")
    expect(rows).to_have_count(2)  # what was shown stays
    page.fill("#filter", "")
    expect(rows).to_have_count(8)
    expect(page.get_by_role("alert")).to_be_empty()
    page.locator("summary", has_text="rtt").click()
    page.get_by_label("50 ms", exact=True).uncheck()
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="Goodput (Mbit/s)").click()
    head = page.locator("th", has_text="Goodput")
    expect(head).to_have_attribute("aria-sort", "descending")
    # The address holds it all: another window shows the same, and the way back leads out.
    assert "sort=goodput_mbps" in page.url and "f.rtt=10" in page.url
    first = rows.first.inner_text()
    page.reload()
    expect(rows).to_have_count(4)
    assert rows.first.inner_text() == first
    page.go_back()
    expect(head).to_have_attribute("aria-sort", "none")
    page.get_by_role("button", name="Cells").click()
    expect(rows).to_have_count(2)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="CSV").click()
    assert pl.read_csv(waiting.value.path()).height == 4


def test_runs_are_compared_and_zoomed(page: Page, explorer: Running) -> None:
    opened(page, explorer)
    for number in (0, 2):
        page.locator("tbody input").nth(number).check()
    page.get_by_role("link", name="Compare 2").click()
    before = drawn(page)
    expect(page.locator(".lines .plot:visible")).to_have_count(4)
    expect(page.get_by_role("group", name="Runs").get_by_role("button")).to_have_count(2)
    box = page.locator(".u-over").first.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=4)
    page.mouse.up()
    drawn(page, before)
    start, end = shown_window(page)
    assert 0.8 < start < 1.0 and 1.4 < end < 1.6
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save SVG").click()
    svg = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert svg.startswith("<svg") and svg.count("<polyline") >= 8 and "<b>" not in svg
    page.reload()  # a link to this stretch
    drawn(page)
    assert shown_window(page) == pytest.approx((start, end))
    page.locator("summary", has_text="Charts").click()
    page.get_by_role("button", name="Pacing rate").click()
    expect(page.locator(".lines h3", has_text="Pacing rate")).to_be_visible()
    page.go_back()
    expect(page.locator(".lines h3", has_text="Pacing rate")).to_have_count(0)


def test_the_tab_compares_the_ticked_runs_and_each_line_has_a_legend(
    page: Page, explorer: Running
) -> None:
    opened(page, explorer)
    for number in (0, 2, 4):
        page.locator("tbody input").nth(number).check()
    page.get_by_role("navigation").get_by_role("link", name="Compare").click()
    drawn(page)
    expect(page.get_by_role("group", name="Runs").get_by_role("button")).to_have_count(3)
    assert page.url.count("runs=") == 1
    charts = page.locator(".lines .plot:visible")
    for number in range(charts.count()):
        lines = int(
            (charts.nth(number).get_attribute("aria-label") or "").split(", ")[1].split()[0]
        )
        expect(charts.nth(number).locator(".u-legend tr:visible")).to_have_count(lines + 1)


def test_a_click_asks_why(page: Page, explorer: Running) -> None:
    run = runs_of(explorer)[0]
    opened(page, explorer, f"run?run={run}")
    drawn(page)
    marks = [one for one in explorer.json("run-facts", run=run)["marks"] if one["flow"] == "a"]
    over = page.locator(".u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    start, end = shown_window(page)
    # Before the other flow begins, the line is that of `a`.
    x = box["x"] + box["width"] * (marks[0]["time_s"] - start) / (end - start)
    page.mouse.click(x, box["y"] + box["height"] / 2)
    why = page.locator(".why")
    expect(why.get_by_role("heading", name="What happened")).to_be_visible()
    expect(why.get_by_role("heading", name="What it cost")).to_be_visible()
    assert re.search(r"flow=a&at=", page.url)
    page.locator("summary", has_text="Incidents (").click()
    page.locator(".ticks button", has_text=" a: ").last.click()
    expect(why.get_by_role("heading", name="What happened")).to_be_visible()
    page.locator("summary", has_text="Packets").click()
    expect(page.locator("details.wide tbody tr").first).to_be_visible()


def test_a_run_is_animated(page: Page, explorer: Running, told: list[str]) -> None:
    run = runs_of(explorer)[0]
    opened(page, explorer, f"run?run={run}")
    drawn(page)
    with page.expect_popup() as waiting:
        page.get_by_role("link", name="Animation", exact=True).click()
    moving = waiting.value
    moving.wait_for_selector("canvas")
    assert moving.title().startswith(NAME) and moving.title().endswith("packets moving")
    # It cannot ask the server anything.
    assert moving.evaluate("fetch('/api/state').then(() => 1, () => 0)") == 0
    assert told == []


def test_everything_is_done_by_keys(page: Page, explorer: Running) -> None:
    opened(page, explorer)
    expect(page.locator("tbody tr")).to_have_count(8)
    page.keyboard.press("/")
    page.keyboard.type("cc = reno")
    expect(page.locator("tbody tr")).to_have_count(4)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(_IN_ROWS):
            break
    page.keyboard.press("Space")
    expect(page.locator("tbody tr.chosen")).to_have_count(1)
    page.keyboard.press("c")
    before = drawn(page)
    page.keyboard.press("+")
    before = drawn(page, before)
    first = shown_window(page)
    page.keyboard.press("ArrowRight")
    before = drawn(page, before)
    assert shown_window(page)[0] > first[0]
    page.keyboard.press("0")
    drawn(page, before)
    assert "from=" not in page.url
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("zoom in")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.evaluate(f"location.hash = 'run?run={runs_of(explorer)[0]}'")
    page.wait_for_selector(".view .lines[data-drawn]")
    page.keyboard.press("s")  # the next change of state
    expect(page.locator(".why h3")).to_contain_text("Why")


def test_an_experiment_is_edited(page: Page, explorer: Running) -> None:
    opened(page, explorer, "edit")
    page.wait_for_selector(".picture[data-stamp]")
    field = page.get_by_label("Experiment file")

    def typed(text: str) -> None:
        field.click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(text)

    typed(EXPERIMENT.replace("tcp: bbr", "tcp: brb"))
    expect(page.locator("#editor-error")).to_contain_text("did you mean bbr?")
    expect(page.locator(".cm-line .cm-lintRange-error")).to_contain_text("tcp: brb")
    assert page.locator(".picture canvas").count() > 0  # the last good picture stays
    typed(EXPERIMENT.replace("cc: [reno, cubic]", "cc: [vegas]"))
    expect(page.locator(".picture .legend")).to_contain_text("vegas")
    expect(page.locator("#editor-error")).to_be_empty()
    expect(page.get_by_text("2 cells,")).to_be_visible()
    typed(EXPERIMENT.replace("cc: [reno, cubic]", "cc: [cubic, bbr]"))
    field.press("Control+Enter")
    expect(page.get_by_text("4 cells,")).to_be_visible()
    typed("dumbbell: 1\n")
    page.keyboard.type("samp")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("sampling")


def test_a_sweep_is_followed(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    dumbbell.run(file, store=tmp_path / "store", set={"cc": "reno"}, repeats=1)
    with running(tmp_path / "store") as explorer:
        opened(page, explorer)
        expect(page.locator("tbody tr")).to_have_count(2)
        dumbbell.run(file, store=tmp_path / "store", set={"cc": "reno"}, repeats=3)
        expect(page.locator("tbody tr")).to_have_count(6)
        shutil.rmtree(tmp_path / "store")
        expect(page.locator(".banner")).to_contain_text("the store is gone")
        expect(page.locator("tbody tr")).to_have_count(6)
    expect(page.locator(".banner")).to_contain_text("The server does not answer")
    expect(page.locator("tbody tr")).to_have_count(6)


def test_the_cell_that_differs_most_is_found_and_exported(page: Page, tmp_path: Path) -> None:
    """By clicks alone, from the first view."""
    run_study("multipath", parts=["single-vs-multi"], repeats=2, store=tmp_path / "store")
    with running(tmp_path / "store") as explorer:
        cells = explorer.json("study")["cells"]
        most = max(cells, key=lambda one: abs(one["difference"]))
        opened(page, explorer)
        page.get_by_role("link", name="Study").click()
        first = page.locator("tbody tr").first
        expect(first).to_contain_text(most["quantity"])
        expect(first).to_contain_text(most["where"][0])
        first.get_by_role("button").click()
        why = page.get_by_role("region", name="Why this cell differs")
        expect(why.locator(".claim").first).to_contain_text("SACK blocks")
        expect(why.locator(".findings li").first).to_be_visible()
        expect(why.locator(".causes li").first).to_be_visible()
        for form, begin in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"panel,")):
            with page.expect_download() as waiting:
                why.get_by_role("link", name=form, exact=True).click()
            assert Path(waiting.value.path()).read_bytes().startswith(begin)
        page.set_viewport_size({"width": 390, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.evaluate(distribution("axe-playwright-python").locate_file(_AXE).read_text("utf-8"))
        assert page.evaluate(_VIOLATIONS) == []
        why.get_by_role("link", name="Open its first run").click()
        drawn(page)
        expect(page.locator("h2").first).to_contain_text("cc reno, repeat 0")
        page.go_back()
        expect(page.get_by_role("region", name="Why this cell differs")).to_be_visible()


def test_another_page_cannot_ask(page: Page, explorer: Running) -> None:
    """A page of another origin, in the browser that has the cookie."""
    opened(page, explorer)
    other = "http://127.0.0.1:9/"
    page.route(other, lambda route: route.fulfill(body="<title>other</title>"))
    page.goto(other)
    address = f"http://127.0.0.1:{explorer.port}/api/state"
    ask = (
        f"fetch('{address}', {{credentials: 'include'}}).then((one) => one.status, () => 'refused')"
    )
    assert page.evaluate(ask) == "refused"


def test_a_store_that_keeps_nothing_over_time_says_so(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    text = re.sub(r"^sampling:.*$", "sampling: none", EXPERIMENT, flags=re.MULTILINE)
    file.write_text(text, encoding="utf-8")
    dumbbell.run(file, store=tmp_path / "store", repeats=1)
    with running(tmp_path / "store") as explorer:
        opened(page, explorer, f"run?run={runs_of(explorer)[0]}")
        expect(page.get_by_text("Nothing over time was kept of these runs")).to_be_visible()
