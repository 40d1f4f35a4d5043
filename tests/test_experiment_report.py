"""The report of an experiment of no study: what it says, and that a browser shows it."""

from __future__ import annotations

import csv
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell.figures import plot
from dumbbell.metrics import METRICS
from dumbbell.report import render, write_report
from tests.browser import needs_browser, opened
from tests.helpers import ROOT
from tests.test_report import Checker

pytestmark = pytest.mark.slow

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
        "4 cells (rtt: 20 ms, 60 ms; cc: cubic, reno), 3 repeats, 10 s each, engine sim.",
        "→ bottleneck has a standing queue",
        "Over time, rtt 20 ms, cc cubic",
        "Goodput against RTT",
        "Goodput against congestion control",
        "Delay and throughput",
        "Queueing delay at bottleneck/forward",
        "CUBIC s1→d1",
    ):
        assert words in page, words
    assert "reproduced" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


def test_the_method_defines_the_index_that_the_page_shows(page: str) -> None:
    """Flows that start apart: the tables have the index of the time in which both send."""
    method = unescape(page[page.index('id="method"') :])
    for words in ("Jain's index at a bottleneck", METRICS["link_jain"].window):
        assert words in method
    assert METRICS["jain"].window not in method.replace(METRICS["goodput_mbps"].window, "")


def test_the_name_of_a_file_in_a_tutorial_is_no_description(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    short = PAIR.replace("repeats: 3", "repeats: 1").replace("duration: 10 s", "duration: 2 s")
    file.write_text("# file: short.yaml\n" + short, encoding="utf-8")
    shown = render({"pair": dumbbell.run(file)})
    assert '<p class="lead">What do two flows do to each other?</p>' in shown


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


def reported(folder: Path, text: str, **options: Any) -> tuple[dumbbell.Results, str]:
    file = folder / "e.yaml"
    file.write_text(text, encoding="utf-8")
    results = dumbbell.run(file, repeats=1, **options)
    return results, render({results.experiment.name: results})


def panels_of(results: dumbbell.Results) -> dict[str, list[tuple[str, float, float]]]:
    """Line, time and value of each point of a run over time, by panel."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    for row in csv.DictReader(plot(results, "series").spec["data"]["values"].splitlines()):
        point = (row["line"], float(row["s"]), float(row["value"]))
        found.setdefault(row["panel"], []).append(point)
    return found


ONE = """\
dumbbell: 1
name: one
description: >-
  A flow ends;
  nothing follows.
template: {dumbbell: {pairs: 1, rate: 5 Mbit/s, rtt: 20 ms, buffer: 4 BDP}}
flows: [{from: s1, to: d1, tcp: {congestion_control: cubic, bytes: 500 KB}}]
duration: 4 s
"""


def test_a_line_ends_with_its_flow(tmp_path: Path) -> None:
    results, page = reported(tmp_path, ONE)
    panels = panels_of(results)
    end_s = results.flows["end_ns"][0] / 1e9
    assert 0.8 < end_s < 2
    for panel in ("Window (packets)", "RTT (ms)"):
        assert end_s - 0.05 < max(at for _, at, _ in panels[panel]) <= end_s
    assert max(at for _, at, _ in panels["Queueing delay (ms)"]) == 4
    assert "Share of all goodput (%)" not in panels and "Jain's index" not in panels
    assert "A flow ends; nothing follows." in page
    assert page.count("<h3>Over time</h3>") == 0


PROBED = """\
dumbbell: 1
name: tied
template: {dumbbell: {pairs: 1, rate: $rate, rtt: $rtt, buffer: 1 BDP}}
flows: [{from: s1, to: d1, tcp: cubic}, {from: s1, to: d1, ping: 100 ms}]
duration: 1 s
factors: {rate: [1 Mbit/s, 2 Mbit/s], rtt: RTTS}
"""


def test_parts_stand_in_the_order_of_their_use(tmp_path: Path) -> None:
    _, page = reported(tmp_path, PROBED.replace("RTTS", "[10 ms]"))
    assert headings(page)[:4] == ["Results", "Applications", "Over time", "Comparison"]
    rtts = ", ".join(f"{rtt} ms" for rtt in range(10, 17))
    _, page = reported(tmp_path, PROBED.replace("RTTS", f"[{rtts}]"))
    assert headings(page)[:4] == ["Results", "Applications", "Comparison", "Over time"]
    assert "Flows and links of all 14 cells" in page
    assert ">Goodput against RTT</h3>" in page and ">Goodput against rate</h3>" in page


def test_factors_that_are_tied_are_compared_once(tmp_path: Path) -> None:
    _, page = reported(
        tmp_path, PROBED.replace("{rate", "{zip: {rate").replace("RTTS}", "[1 ms, 9 ms]}}")
    )
    assert ">Goodput against rate</h3>" in page and ">Goodput against RTT</h3>" not in page


def headings(page: str) -> list[str]:
    return re.findall(r"<h2[^>]*>([^<]*)</h2>", page)


def test_shares_of_subflows_do_not_count_their_connection(tmp_path: Path) -> None:
    file = ROOT / "examples" / "multipath.yaml"
    results = dumbbell.run(file, set={"upload": "both", "duration": "4 s"}, repeats=1)
    panels = panels_of(results)
    shares: dict[float, float] = {}
    for line, at, share in panels["Share of all goodput (%)"]:
        assert line.startswith(("upload/1", "upload/2"))
        shares[at] = shares.get(at, 0) + share
    assert sum(abs(total - 100) < 0.1 for total in shares.values()) > 50
    assert "Jain's index" not in panels
