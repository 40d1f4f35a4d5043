"""Reports: self-contained, complete, made from tables alone."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dumbbell.experiment.load import load
from dumbbell.face.markup import Markup, escape, tag
from dumbbell.report import render
from dumbbell.report.topology import topology
from dumbbell.results import Results
from tests import synthetic

ROOT = Path(__file__).resolve().parents[1]
VOID = {"meta", "br", "hr", "img", "link"}


def named(results: Results, name: str, yaml: str = "name: x\n") -> Results:
    return replace(results, experiment=replace(results.experiment, name=name, yaml=yaml))


@pytest.fixture(scope="module")
def page() -> str:
    found = {
        name: named(synthetic.multipath(part, repeats=2), name, f"name: {name} # <b>&\n")
        for part, name in (
            ("single-vs-multi", "multipath-single-vs-multi"),
            ("delay", "multipath-delay"),
        )
    }
    return render(dict(found))


class Checker(HTMLParser):
    """Notes elements, ids and links; insists that elements close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        for key in ("href", "src", "xlink:href"):
            value = given.get(key) or ""
            (self.links if value.startswith("#") else self.outside).append(value) if value else 0
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(name, attrs)
        if name not in VOID:
            self.open.pop()

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name


@pytest.mark.slow
def test_the_page_is_well_formed_and_its_links_lead_somewhere(page: str) -> None:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.outside == []  # nothing is loaded
    own = [link for link in checker.links if not link.startswith("#gradient")]
    assert own
    assert {link[1:] for link in own} <= set(checker.ids)
    ours = [one for one in checker.ids if one.startswith(("part-", "claim-", "chart-"))]
    assert len(ours) == len(set(ours))


@pytest.mark.slow
def test_the_page_asks_the_network_for_nothing(page: str) -> None:
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert "@import" not in page
    assert not re.search(r"url\(\s*['\"]?https?:", page)


def test_everything_that_was_asked_for_is_there(page: str) -> None:
    for words in (
        "What does that do to Reno, BIC, CUBIC and BBR",
        "Table 5.1",
        "Figure 5.2",
        "Figure 5.3",
        "Figure 5.4",
        "Figure 5.5",
        "56\u202f215",
        "not reproduced",
        "inconsistent in the source",
        "Digest of all runs",
        "sim 0.1.0+0123456789ab",
        "RFC 6298",
        "doi:10.25126/jtiik.2020752402",
    ):
        assert words in page, words
    assert "name: multipath-delay # &lt;b&gt;&amp;" in page
    assert "Not drawn" not in page


def test_the_page_is_reasonably_small(page: str) -> None:
    assert len(page.encode()) < 2_000_000


@pytest.mark.slow
def test_the_same_tables_give_the_same_page() -> None:
    found = {"multipath-delay": named(synthetic.multipath("delay", 1), "multipath-delay")}
    assert render(dict(found)) == render(dict(found))


@pytest.mark.slow
def test_an_experiment_of_no_study_has_a_report_too() -> None:
    results = named(synthetic.multipath("delay", repeats=2, samples=False), "mine")
    page = render({"mine": results})
    assert "<h1>mine</h1>" in page
    assert "Goodput (Mbit/s)" in page
    Checker().feed(page)


def test_a_study_compared_with_its_reference_has_a_report() -> None:
    results = named(synthetic.multipath("delay", 1, samples=False), "multipath-delay-agreement")
    page = render({"multipath-delay-agreement": results})
    assert "cells agree with Linux 6.1.192 in virtual time" in page
    assert "delay multi 10 ms reno" in page


def test_an_empty_store_is_an_error() -> None:
    with pytest.raises(ValueError, match="no experiment"):
        render({})


def test_markup_escapes_what_is_not_markup() -> None:
    assert tag("p", "<&>", title='"') == '<p title="&#34;">&lt;&amp;&gt;</p>'
    assert tag("p", tag("b", "x")) == "<p><b>x</b></p>"
    assert tag("meta", name="x") == '<meta name="x">'
    assert escape(Markup("<b>")) == "<b>"


def test_topology_names_nodes_limits_and_taps() -> None:
    drawn = topology(synthetic.multipath_scenario())
    for words in ("s1", "p2", "10 Mbit/s", "5 ms · 100 packets", "tap", "sprays round-robin"):
        assert words in drawn
    many = synthetic.multipath_scenario()
    many["nodes"] = [{**many["nodes"][0], "name": f"n{i}"} for i in range(40)]
    assert "40 nodes" in topology(many)


def test_words_beside_a_link_touch_no_node() -> None:
    drawn = topology(load(ROOT / "examples" / "asymmetric.yaml").cells[0].scenario)
    nodes = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawn)
    beside = re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="note">([^<]+)<', drawn)
    assert "4 ms · 300 packets" in [words for _, words in beside]
    for x, words in beside:
        half = 3.6 * len(words)  # as wide as the letters of a page are
        for left, width in nodes:
            clear = float(x) + half < float(left) or float(left) + float(width) < float(x) - half
            assert clear, (words, left)


@pytest.mark.parametrize("package", ["metrics", "figures", "report", "studies"])
def test_tables_are_read_without_engines_and_nothing_is_printed(package: str) -> None:
    for path in (ROOT / "dumbbell" / package).rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", path
            banned = ("dumbbell.engines", "dumbbell.execution", "dumbbell._core")
            assert not any(name.startswith(banned) for name in names), path
