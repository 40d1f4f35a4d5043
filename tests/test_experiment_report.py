"""The report of an experiment of no study: what it says, and that a browser shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dumbbell
from dumbbell.figures import plot
from dumbbell.report import render, write_report
from tests.browser import needs_browser, opened
from tests.test_report import Checker

HOSTILE = "<script>alert(1)</script>"
PAIR = """\
# What do two flows do to each other?
dumbbell: 1
name: pair
template: {dumbbell: {pairs: 2, rate: 5 Mbit/s, rtt: $rtt, buffer: 4 BDP}}
flows:
  - {from: s1, to: d1, tcp: $cc}
  - {name: "<script>alert(1)</script>", from: s2, to: d2, tcp: bbr, start: 1 s}
duration: 10 s
factors: {rtt: [20 ms, 60 ms], cc: [cubic, reno]}
repeats: 3
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dumbbell.Results:
    file = tmp_path_factory.mktemp("pair") / "pair.yaml"
    file.write_text(PAIR, encoding="utf-8")
    return dumbbell.run(file)


@pytest.fixture(scope="module")
def page(results: dumbbell.Results) -> str:
    return render({"pair": results})


def test_the_page_says_what_happened(page: str) -> None:
    Checker().feed(page)
    for words in (
        "What do two flows do to each other?",
        "4 cells, 3 repeats, 10 s each, engine sim.",
        "a standing queue at bottleneck/forward",
        "Over time, rtt 20 ms, cc cubic",
        "Goodput against RTT",
        "Goodput against congestion control",
        "Delay and throughput",
        "Queueing delay at bottleneck/forward",
        "CUBIC s1→d1",
    ):
        assert words in page, words
    assert "reproduced" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


def test_names_are_text(page: str) -> None:
    assert HOSTILE not in page


def test_nothing_that_was_not_measured_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "bare.yaml"
    file.write_text(PAIR.replace("repeats: 3", "sampling: none"), encoding="utf-8")
    bare = render({"pair": dumbbell.run(file)})
    assert "SACK" not in bare and "Over time" not in bare and "queue ms p50" not in bare
    assert "Goodput against RTT" in bare


@pytest.mark.parametrize("kind", ["series", "delay-throughput", "queue-delay"])
def test_figures(results: dumbbell.Results, kind: str) -> None:
    where = {"rtt": "20 ms", "cc": "cubic"}
    figure = plot(results, kind, where=where)
    assert figure.svg().startswith("<svg")
    assert HOSTILE not in figure.html()


def test_a_run_over_time_has_its_quantities(results: dumbbell.Results) -> None:
    figure = plot(results, "series", where={"rtt": "60 ms", "cc": "reno"})
    data = figure.spec["data"]["values"]
    panels = set(re.findall(r"^\"?([^,\"]+)", data, re.MULTILINE)) - {"panel"}
    assert panels == {
        "Window (packets)", "Goodput (Mbit/s)", "RTT (ms)", "Share of all goodput (%)",
        "Jain's index", "Queueing delay (ms)",
    }  # fmt: skip


def test_a_figure_without_data_says_which_field_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "bare.yaml"
    file.write_text(PAIR.replace("repeats: 3", "sampling: none"), encoding="utf-8")
    bare = dumbbell.run(file, set={"rtt": "20 ms", "cc": "reno"})
    for kind in ("series", "queue-delay"):
        with pytest.raises(ValueError, match="see the field sampling"):
            plot(bare, kind)


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_it_without_a_word(
    results: dumbbell.Results, page: str, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    dom, log = opened(file, tmp_path / "profile", (width, 20_000))
    assert not re.findall(r"CONSOLE[:(].*", log)
    assert "data (CSV)" in dom


@pytest.mark.slow
def test_the_same_store_gives_the_same_page(tmp_path: Path) -> None:
    file = tmp_path / "pair.yaml"
    file.write_text(PAIR.replace("repeats: 3", "repeats: 2"), encoding="utf-8")
    dumbbell.run(file, store=tmp_path / "store")
    pages = [write_report(tmp_path / "store", tmp_path / f"{i}.html").read_text() for i in range(2)]
    assert pages[0] == pages[1]
