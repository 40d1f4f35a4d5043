"""`results.plot()` chooses a kind and says so; notebooks show results and figures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import dumbbell
from dumbbell.results import Results
from tests import synthetic
from tests.helpers import ROOT

HEAD = """\
dumbbell: 1
name: "choice <script>alert(1)</script> [/b]"
template: {dumbbell: {pairs: 2, rate: $rate, rtt: 20 ms, buffer: 1 BDP}}
flows:
  - {name: "<img src=x>", from: s1, to: d1, tcp: $cc}
  - {name: b, from: s2, to: d2, tcp: cubic}
duration: 2 s
"""


def ran(factors: str, folder: Path, more: str = "") -> Results:
    file = folder / "e.yaml"
    text = HEAD + more + f"factors: {factors}\n"
    file.write_text(text, encoding="utf-8")
    return dumbbell.run(file, workers=1)


@pytest.mark.parametrize(
    ("factors", "title"),
    [
        ("{rate: [2 Mbit/s, 4 Mbit/s], cc: [bbr]}", "Goodput against rate (sweep)"),
        ("{cc: [reno, bbr], rate: [2 Mbit/s, 4 Mbit/s]}", "Goodput against rate (sweep)"),
        ("{cc: [reno, bbr], rate: [2 Mbit/s]}", "Goodput against congestion control (bars)"),
        ("{cc: [reno], rate: [2 Mbit/s]}", "Congestion window against time (window)"),
    ],
)
def test_factors_decide(factors: str, title: str, tmp_path: Path) -> None:
    figure = ran(factors, tmp_path).plot()
    assert figure.title == title
    ET.fromstring(figure.svg())


def test_what_was_kept_decides(tmp_path: Path) -> None:
    one = "{cc: [reno], rate: [2 Mbit/s]}"
    kept = ran(one, tmp_path, "sampling: {interval: 50 ms, keep: [queues]}\n")
    assert kept.plot().title == "A run over time (series)"
    nothing = ran(one, tmp_path, "sampling: none\n")
    assert nothing.plot().title == "Goodput by flow (bars)"


@pytest.mark.slow
def test_pages_and_arrivals_have_their_own_metrics() -> None:
    examples = ROOT / "examples"
    page = dumbbell.run(examples / "web-page.yaml", repeats=1)
    assert page.plot().title.startswith("Page load time against ")
    short = dumbbell.run(examples / "short-flows.yaml", repeats=1)
    assert short.plot().title.startswith("Flow completion time against ")


def test_options_choose_cells(tmp_path: Path) -> None:
    results = ran("{cc: [reno, bbr], rate: [2 Mbit/s, 4 Mbit/s]}", tmp_path)
    by_rate = results.plot(by="cc", flow="b")
    assert by_rate.title == "Goodput against rate (sweep)"
    assert results.plot(x="cc", by="flow", where={"rate": "2 Mbit/s"}).title.endswith("(bars)")
    assert results.plot(where={"rate": "2 Mbit/s"}, flow="b", title="Mine").title == "Mine"
    assert results.plot("goodput", by="cc", flow="b").title == "Goodput against rate"
    with pytest.raises(ValueError, match="several values"):
        results.plot(where={"cc": "reno"}, x="cc")


def test_nothing_measured_is_said() -> None:
    delay = synthetic.multipath("delay", repeats=1, samples=False)
    empty = delay.with_tables(flows=delay.flows.clear(), runs=delay.runs.clear())
    with pytest.raises(ValueError, match="nothing was measured here"):
        empty.plot()


def test_a_notebook_shows_flows_bottlenecks_and_findings(tmp_path: Path) -> None:
    results = ran("{cc: [reno, bbr], rate: [2 Mbit/s]}", tmp_path)
    html = results._repr_html_()
    assert "<script" not in html and "<img" not in html
    assert "&lt;img src=x&gt;" in html
    assert "choice &lt;script&gt;alert(1)&lt;/script&gt; [/b]" in html
    assert "→ bottleneck" in html
    assert "Mbit/s" in html
    tree = ET.fromstring(f"<div>{html}</div>")
    _, table = tree.findall("table")
    cells = [[cell.text or "" for cell in row] for row in table.findall("tr")]
    assert cells[0][:3] == ["cc", "rate", ""]
    assert [row[0] for row in cells[1:] if row[0]] == ["reno", "bbr"]


def test_a_notebook_shows_a_figure_with_its_title(tmp_path: Path) -> None:
    figure = ran("{cc: [reno, bbr], rate: [2 Mbit/s]}", tmp_path).plot()
    shown = figure._repr_mimebundle_()
    assert "Goodput against congestion control (bars)" in shown["image/svg+xml"]
    assert shown["text/plain"].startswith("Goodput against congestion control (bars): ")
